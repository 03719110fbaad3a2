/* eval_dense.c - the reference evaluation of linear, bilinear, matmul and embedding against their definitions, in
 * numbers that are exact in any order. */
#include "tests/unit/evallab.h"

/* 600000 columns are more than a block of weights: the rows come one by one. */
static void linear(uint64_t rows, uint64_t in, uint64_t out, bool bias) {
    Bench b = bench_new(rows * 31 + in * 7 + out);
    const double *x = quarters(&b, rows * in), *w = quarters(&b, in * out), *offset = quarters(&b, out);
    CHECK(CALL(&b.lab, OP_LINEAR, X(given(&b, DT_F64, DIMS(rows, in), x)), {A_out, d_int((int64_t)out)},
               {A_bias, d_bool(bias)}));
    feed(&b, last_op(&b.lab)->in[1], w);
    if (bias) feed(&b, last_op(&b.lab)->in[2], offset);
    double *wanted = NEW_ARRAY(b.lab.ctx->unit, double, rows * out);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t o = 0; o < out; o++) {
            double sum = bias ? offset[o] : 0;
            for (uint64_t i = 0; i < in; i++) sum += x[r * in + i] * w[o * in + i];
            wanted[r * out + o] = sum;
        }
    CHECK(bench_run(&b) && results_near(&b, wanted, 0));
    bench_free(&b);
}

static void bilinear(void) {
    Bench b = bench_new(5);
    enum { ROWS = 3, IN1 = 4, IN2 = 5, OUT = 2 };
    const double *x1 = quarters(&b, ROWS * IN1), *x2 = quarters(&b, ROWS * IN2), *w = quarters(&b, OUT * IN1 * IN2);
    CHECK(CALL(&b.lab, OP_BILINEAR, {A_x1, d_tensor(given(&b, DT_F64, DIMS(ROWS, IN1), x1))},
               {A_x2, d_tensor(given(&b, DT_F64, DIMS(ROWS, IN2), x2))}, {A_out, d_int(OUT)}));
    feed(&b, last_op(&b.lab)->in[2], w);
    feed(&b, last_op(&b.lab)->in[3], DOUBLES(&b, 10, -20));
    double wanted[ROWS * OUT];
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            double sum = o == 0 ? 10 : -20;
            for (int i = 0; i < IN1 * IN2; i++)
                sum += x1[r * IN1 + i / IN2] * w[o * IN1 * IN2 + i] * x2[r * IN2 + i % IN2];
            wanted[r * OUT + o] = sum;
        }
    CHECK(bench_run(&b) && results_near(&b, wanted, 0));
    bench_free(&b);
}

/* ---- matmul */

/* Where the matrix of an operand is for a place of the result's leading axes; ranks are brought to the same first. */
static uint64_t matrix_start(const Shape *s, const Shape *batch, const uint64_t *at) {
    uint64_t r = 0;
    for (unsigned i = 0; i + 2 < s->rank; i++)
        r = r * s->dim[i] + (s->dim[i] == 1 ? 0 : at[batch->rank - (s->rank - 2u) + i]);
    return r * s->dim[s->rank - 2] * s->dim[s->rank - 1];
}

static void matmul(Shape s, Shape t, DType dtype) {
    Bench b = bench_new(99);
    double *x = quarters(&b, shape_elems(&s)), *y = quarters(&b, shape_elems(&t));
    for (uint64_t i = 0; !dtype_is_float(dtype) && i < shape_elems(&s); i++) x[i] *= 4;
    for (uint64_t i = 0; !dtype_is_float(dtype) && i < shape_elems(&t); i++) y[i] *= 4;
    CHECK(CALL(&b.lab, OP_MATMUL, X(given(&b, dtype, s.rank, s.dim, x)),
               {A_other, d_tensor(given(&b, dtype, t.rank, t.dim, y))}));
    if (s.rank == 1) s = shape_of(2, (uint64_t[]){1, s.dim[0]});
    if (t.rank == 1) t = shape_of(2, (uint64_t[]){t.dim[0], 1});
    Shape batch = {.rank = 0};
    for (unsigned n = s.rank > t.rank ? s.rank : t.rank, i = 0; i + 2 < n; i++) {
        uint64_t p = i + s.rank >= n ? s.dim[i + s.rank - n] : 1, q = i + t.rank >= n ? t.dim[i + t.rank - n] : 1;
        batch.dim[batch.rank++] = p == 1 ? q : p;
    }
    uint64_t m = s.dim[s.rank - 2], k = s.dim[s.rank - 1], n = t.dim[t.rank - 1];
    double *wanted = NEW_ARRAY(b.lab.ctx->unit, double, shape_elems(&batch) * m * n);
    for (uint64_t i = 0; i < shape_elems(&batch) * m * n; i++) {
        uint64_t at[MAX_RANK], row = i / n % m, column = i % n;
        coordinates_of(&batch, i / n / m, at);
        const double *left = x + matrix_start(&s, &batch, at), *right = y + matrix_start(&t, &batch, at);
        for (uint64_t p = 0; p < k; p++) wanted[i] += left[row * k + p] * right[p * n + column];
        if (dtype == DT_I8) wanted[i] = (double)number_wrap(DT_I8, (int64_t)wanted[i]);
    }
    CHECK(bench_run(&b) && results_near(&b, wanted, 0));
    bench_free(&b);
}

#define SHAPE(...) shape_of(DIMS(__VA_ARGS__))

static void matmuls(void) {
    static const DType dtypes[] = {DT_F64, DT_I32, DT_I8};
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        matmul(SHAPE(3, 4), SHAPE(4, 6), dtypes[i]);
        matmul(SHAPE(7, 9), SHAPE(9, 5), dtypes[i]);
        matmul(SHAPE(2, 3, 4), SHAPE(4, 5), dtypes[i]);
        matmul(SHAPE(3, 4), SHAPE(2, 4, 5), dtypes[i]);
        matmul(SHAPE(2, 1, 3, 4), SHAPE(5, 4, 2), dtypes[i]);
        matmul(SHAPE(1, 3, 2, 4), SHAPE(2, 1, 4, 3), dtypes[i]);
        matmul(SHAPE(6), SHAPE(6), dtypes[i]);
        matmul(SHAPE(4), SHAPE(2, 4, 3), dtypes[i]);
        matmul(SHAPE(2, 3, 4), SHAPE(4), dtypes[i]);
        matmul(SHAPE(2, 3, 0), SHAPE(0, 4), dtypes[i]);
        matmul(SHAPE(0, 3, 2), SHAPE(2, 4), dtypes[i]);
    }
}

/* Sums of 2^62 wrap as int64_t without being undefined: 4 * 2^61 * 2 = 2^64 = 0. */
static void wide_integers(void) {
    Bench b = bench_new(1);
    const double *x = DOUBLES(&b, 0x1p61, 0x1p61, 0x1p61, 0x1p61), *y = DOUBLES(&b, 2, 2, 2, 2);
    CHECK(CALL(&b.lab, OP_MATMUL, X(given(&b, DT_I64, DIMS(4), x)),
               {A_other, d_tensor(given(&b, DT_I64, DIMS(4), y))}));
    CHECK(bench_run(&b) && RESULTS(&b, 0, 0));
    bench_free(&b);
}

/* ---- embedding */

static bool embed(Bench *b, const double *ids) {
    CHECK(CALL(&b->lab, OP_EMBEDDING, X(given(b, DT_I64, DIMS(2, 2), ids)), {A_num_embeddings, d_int(3)},
               {A_embedding_dim, d_int(2)}));
    feed(b, last_op(&b->lab)->in[1], DOUBLES(b, 0, 1, 10, 11, 20, 21));
    return bench_run(b);
}

static void embedding(void) {
    Bench b = bench_new(1), high = bench_new(1), low = bench_new(1);
    CHECK(embed(&b, DOUBLES(&b, 2, 0, 1, 2)) && RESULTS(&b, 0, 20, 21, 0, 1, 10, 11, 20, 21));
    CHECK(!embed(&high, DOUBLES(&high, 0, 1, 3, 0)) && diag_failed(high.lab.ctx));
    CHECK(!embed(&low, DOUBLES(&low, 0, -1, 0, 0)) && diag_failed(low.lab.ctx));
    bench_free(&b);
    bench_free(&high);
    bench_free(&low);
}

int main(void) {
    linear(1, 7, 5, true);
    linear(6, 9, 11, true);
    linear(5, 4, 8, false);
    linear(2, 600000, 3, true);
    linear(0, 4, 3, true);
    bilinear();
    matmuls();
    wide_integers();
    embedding();
    return check_done();
}
