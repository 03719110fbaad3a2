/* eval_pool.c - the reference evaluation of pools: sliding ones against a copy in its padding in which each element
 * knows what it counts, adaptive ones against the rule over all divisions of small axes, PyTorch's corners by hand. */
#include "tests/unit/evallab.h"

typedef struct Slide { int64_t in, k, s, p, d; bool ceil, include; int64_t divisor; } Slide;

/* Windows over the padded axis; a place is in x, in the padding, or beyond, where nothing counts. */
static double one_window(Slide c, const double *x, int64_t o, bool max) {
    double best = -INFINITY, sum = 0;
    int64_t counted = 0, inside = 0;
    for (int64_t j = 0; j < c.k; j++) {
        int64_t at = o * c.s + j * c.d - c.p;
        if (at >= c.in + c.p) continue;
        bool real = at >= 0 && at < c.in;
        counted += real || c.include;
        inside += real;
        if (real) sum += x[at];
        if (real && x[at] > best) best = x[at];
    }
    if (max) return best;
    return inside == 0 ? 0 : sum / (double)(c.divisor ? c.divisor : counted);
}

static bool call_slide(Bench *b, Slide c, bool max, const double *x, DType dtype) {
    Value *v = given(b, dtype, DIMS(2, 1, (uint64_t)c.in), x);
    Datum k = INTS(&b->lab, c.k), s = INTS(&b->lab, c.s), p = INTS(&b->lab, c.p), d = INTS(&b->lab, c.d);
    if (max)
        return CALL(&b->lab, OP_MAX_POOL1D, X(v), {A_kernel_size, k}, {A_stride, s}, {A_padding, p}, {A_dilation, d},
                    {A_ceil_mode, d_bool(c.ceil)});
    return CALL(&b->lab, OP_AVG_POOL1D, X(v), {A_kernel_size, k}, {A_stride, s}, {A_padding, p},
                {A_ceil_mode, d_bool(c.ceil)}, {A_count_include_pad, d_bool(c.include)});
}

static void check_slide(Slide c, bool max, uint64_t seed) {
    Bench b = bench_new(seed);
    double *x = quarters(&b, 2 * (uint64_t)c.in), wanted[64];
    if (call_slide(&b, c, max, x, DT_F64)) {              /* else there is no such pool */
        int64_t places = (int64_t)last_op(&b.lab)->out[0]->type.shape.dim[2];
        for (int64_t i = 0; i < 2 * places; i++) wanted[i] = one_window(c, x + i / places * c.in, i % places, max);
        CHECK(bench_run(&b) && results_near(&b, wanted, 1e-15));
    }
    bench_free(&b);
}

static void sliding(void) {
    uint64_t seed = 521288629u;
    for (int64_t in = 1; in <= 7; in++)
        for (int64_t k = 1; k <= 4; k++)
            for (int64_t s = 1; s <= 3; s++)
                for (int64_t p = 0; p <= k / 2; p++)
                    for (int ceil = 0; ceil < 2; ceil++) {
                        check_slide((Slide){in, k, s, p, 1, ceil, false, 0}, false, seed++);
                        check_slide((Slide){in, k, s, p, 1, ceil, true, 0}, false, seed++);
                        check_slide((Slide){in, k, s, p, 1, ceil, false, 0}, true, seed++);
                        check_slide((Slide){in, k, s, p, 2, ceil, false, 0}, true, seed++);
                    }
}

/* Axes do not mix: [1, 1, 2, 3] by a window of 2 x 2 with padding 1, counted by hand. */
static void two_axes(void) {
    Bench b = bench_new(1), d = bench_new(1);
    const double x[] = {1, 2, 3, 4, 5, 6};
    CHECK(CALL(&b.lab, OP_AVG_POOL2D, X(given(&b, DT_F64, DIMS(1, 1, 2, 3), x)), {A_kernel_size, INTS(&b.lab, 2, 2)},
               {A_padding, INTS(&b.lab, 1, 1)}, {A_count_include_pad, d_bool(false)}));
    CHECK(bench_run(&b) && RESULTS(&b, 1e-15, 1, 2.5, 4, 5.5));
    CHECK(CALL(&d.lab, OP_AVG_POOL2D, X(given(&d, DT_F64, DIMS(1, 1, 2, 3), x)), {A_kernel_size, INTS(&d.lab, 2, 3)},
               {A_divisor_override, d_int(-2)}));
    CHECK(bench_run(&d) && RESULTS(&d, 0, -10.5));
    bench_free(&b);
    bench_free(&d);
}

static void adaptive(int64_t in, int64_t out, bool max) {
    Bench b = bench_new((uint64_t)(in * 97 + out));
    double *x = quarters(&b, (uint64_t)in), wanted[16];
    Value *v = given(&b, DT_F64, DIMS(1, (uint64_t)in), x);
    CHECK(CALL(&b.lab, max ? OP_ADAPTIVE_MAX_POOL1D : OP_ADAPTIVE_AVG_POOL1D, X(v), {A_output_size, d_int(out)}));
    for (int64_t o = 0; o < out; o++) {
        double best = -INFINITY, sum = 0, n = 0;
        for (int64_t i = 0; i < in; i++) {
            bool meet = (i + 1) * out > o * in && i * out < (o + 1) * in;    /* [i, i + 1) / in, [o, o + 1) / out */
            if (!meet) continue;
            sum += x[i], n++;
            if (x[i] > best) best = x[i];
        }
        wanted[o] = max ? best : sum / n;
    }
    CHECK(bench_run(&b) && results_near(&b, wanted, 1e-15));
    bench_free(&b);
}

static void global(void) {
    Bench b = bench_new(1), m = bench_new(1);
    const double x[] = {1, 2, 3, 4, -1, -2, -3, -4};
    CHECK(CALL(&b.lab, OP_GLOBAL_AVG_POOL2D, X(given(&b, DT_F64, DIMS(1, 2, 2, 2), x))));
    CHECK(bench_run(&b) && RESULTS(&b, 0, 2.5, -2.5));
    CHECK(CALL(&m.lab, OP_GLOBAL_MAX_POOL1D, X(given(&m, DT_I8, DIMS(1, 2, 4), x))));
    CHECK(bench_run(&m) && RESULTS(&m, 0, 4, -1));
    bench_free(&b);
    bench_free(&m);
}

/* NaN wins wherever it stands; windows that dilation leaves without an element have the least value there is. */
static void corners(void) {
    Bench nan = bench_new(1), f = bench_new(1), i = bench_new(1);
    Slide wide = {1, 2, 1, 1, 3, false, false, 0};        /* places -1 and 2 of one element */
    CHECK(call_slide(&nan, (Slide){4, 2, 1, 0, 1, false, false, 0}, true,
                     DOUBLES(&nan, NAN, 1, 2, NAN, 1, NAN, 5, -1), DT_F64));
    CHECK(bench_run(&nan) && RESULTS(&nan, 0, NAN, 2, NAN, NAN, NAN, 5));
    wide.in = 2, wide.d = 4, wide.p = 1;                  /* span 5 over 4 */
    CHECK(!call_slide(&f, wide, true, DOUBLES(&f, 1, 2, 3, 4), DT_F64));
    wide.d = 3;
    bench_free(&f);
    f = bench_new(1);
    CHECK(call_slide(&f, wide, true, DOUBLES(&f, 1, 2, 3, 4), DT_F64) && bench_run(&f));
    CHECK(RESULTS(&f, 0, -INFINITY, -INFINITY));
    CHECK(call_slide(&i, wide, true, DOUBLES(&i, 1, 2, 3, 4), DT_I8) && bench_run(&i) && RESULTS(&i, 0, -128, -128));
    bench_free(&nan);
    bench_free(&f);
    bench_free(&i);
}

int main(void) {
    sliding();
    two_axes();
    for (int64_t in = 1; in <= 8; in++)
        for (int64_t out = 1; out <= 9; out++) {
            adaptive(in, out, true);
            adaptive(in, out, false);
        }
    global();
    corners();
    return check_done();
}
