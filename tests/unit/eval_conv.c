/* eval_conv.c - the reference evaluation of convolutions against their definition: the input is read from its padded
 * copy and every product is added where it belongs, in one to three axes, with groups, strides, dilations and uneven
 * padding. All numbers are multiples of 1/4, so that both sides are exact. */
#include "tests/unit/evallab.h"

enum { N = 2, GROUPS = 2, CHANNELS = 3, OUT = 5 };        /* the last two of one group */
typedef struct Axis { int64_t in, k, s, before, after, d, extra, out; } Axis;

/* The element of x at a place of its padded copy; axes a case does not have are 1. */
static double padded(const Axis a[3], const double *x, int64_t z, int64_t y, int64_t w) {
    z -= a[0].before;
    y -= a[1].before;
    w -= a[2].before;
    if (z < 0 || y < 0 || w < 0 || z >= a[0].in || y >= a[1].in || w >= a[2].in) return 0;
    return x[(z * a[1].in + y) * a[2].in + w];
}

static double one_element(const Axis a[3], const double *x, const double *weight, int64_t z, int64_t y, int64_t w) {
    int64_t image = a[0].in * a[1].in * a[2].in, at = 0;
    double sum = 0;
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t i = 0; i < a[0].k; i++)
            for (int64_t j = 0; j < a[1].k; j++)
                for (int64_t k = 0; k < a[2].k; k++)
                    sum += weight[at++] * padded(a, x + c * image, z * a[0].s + i * a[0].d, y * a[1].s + j * a[1].d,
                                                 w * a[2].s + k * a[2].d);
    return sum;
}

/* One image and group, [OUT, out places]. */
static void convolve(const Axis a[3], const double *x, const double *weight, double *y) {
    int64_t patch = CHANNELS * a[0].k * a[1].k * a[2].k;
    for (int64_t o = 0; o < OUT; o++)
        for (int64_t i = 0; i < a[0].out; i++)
            for (int64_t j = 0; j < a[1].out; j++)
                for (int64_t k = 0; k < a[2].out; k++)
                    *y++ += one_element(a, x, weight + o * patch, i, j, k);
}

/* Scatters each element of x, weight [CHANNELS, OUT, kernel]. */
static void scatter(const Axis a[3], const double *x, const double *weight, double *y) {
    int64_t kernel = a[0].k * a[1].k * a[2].k, image = a[0].in * a[1].in * a[2].in;
    for (int64_t t = 0; t < CHANNELS * image * OUT * kernel; t++) {
        int64_t k = t % kernel, o = t / kernel % OUT, at = t / kernel / OUT % image, c = t / kernel / OUT / image;
        int64_t to[3] = {at / a[2].in / a[1].in, at / a[2].in % a[1].in, at % a[2].in};
        int64_t tap[3] = {k / a[2].k / a[1].k, k / a[2].k % a[1].k, k % a[2].k};
        bool inside = true;
        for (int i = 0; i < 3; i++) {
            to[i] = to[i] * a[i].s - a[i].before + tap[i] * a[i].d;
            inside = inside && to[i] >= 0 && to[i] < a[i].out;
        }
        if (inside)
            y[((o * a[0].out + to[0]) * a[1].out + to[1]) * a[2].out + to[2]] +=
                x[c * image + at] * weight[(c * OUT + o) * kernel + k];
    }
}

static Op *call_conv(Bench *b, const Axis *a, unsigned n, bool transposed, const double *x) {
    static const char *const names[2][3] = {{"conv1d", "conv2d", "conv3d"},
                                            {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}};
    uint64_t dims[5] = {N, GROUPS * CHANNELS};
    int64_t v[5][3];
    Call *c = lab_call(&b->lab, names[transposed][n - 1]);
    Datum pads[3];
    for (unsigned i = 0; i < n; i++) {
        dims[2 + i] = (uint64_t)a[i].in;
        v[0][i] = a[i].k, v[1][i] = a[i].s, v[2][i] = a[i].d, v[3][i] = a[i].extra;
        pads[i] = lab_ints(c, 2, (int64_t[]){a[i].before, a[i].after});
    }
    lab_set(c, A_x, d_tensor(given(b, DT_F64, n + 2, dims, x)));
    lab_set(c, A_out, d_int(GROUPS * OUT));
    lab_set(c, A_groups, d_int(GROUPS));
    lab_set(c, A_kernel_size, lab_ints(c, n, v[0]));
    lab_set(c, A_stride, lab_ints(c, n, v[1]));
    lab_set(c, A_dilation, lab_ints(c, n, v[2]));
    if (transposed) lab_set(c, A_output_padding, lab_ints(c, n, v[3]));
    lab_set(c, A_padding, d_list(b->lab.ctx->unit, pads, n));
    return lab_bind(c);
}

/* `a` has n axes; result sizes are taken from the op, whose rule ops_window.c checks. */
static void check_conv(Axis *a, unsigned n, bool transposed, uint64_t seed) {
    Bench b = bench_new(seed);
    Axis full[3] = {{1, 1, 1, 0, 0, 1, 0, 1}, {1, 1, 1, 0, 0, 1, 0, 1}, {1, 1, 1, 0, 0, 1, 0, 1}};
    int64_t image = CHANNELS, kernel = 1, places = OUT;
    for (unsigned i = 0; i < n; i++) image *= a[i].in, kernel *= a[i].k;
    double *x = quarters(&b, (uint64_t)(N * GROUPS * image));
    Op *op = call_conv(&b, a, n, transposed, x);
    CHECK(op != NULL);
    if (!op) return;
    for (unsigned i = 0; i < n; i++) {
        a[i].out = (int64_t)op->out[0]->type.shape.dim[2 + i];
        full[3 - n + i] = a[i];
        places *= a[i].out;
    }
    double *weight = quarters(&b, op->in[1]->nelem), *bias = quarters(&b, GROUPS * OUT);
    feed(&b, op->in[1], weight);
    feed(&b, op->in[2], bias);
    double *wanted = NEW_ARRAY(b.lab.ctx->unit, double, op->out[0]->nelem);
    for (int64_t i = 0; i < N * GROUPS * places; i++) wanted[i] = bias[i / (places / OUT) % (GROUPS * OUT)];
    for (int64_t i = 0; i < N * GROUPS; i++)
        (transposed ? scatter : convolve)(full, x + i * image, weight + i % GROUPS * OUT * CHANNELS * kernel,
                                          wanted + i * places);
    CHECK(bench_run(&b) && results_near(&b, wanted, 0));
    bench_free(&b);
}

static Axis random_axis(uint64_t *seed, bool transposed) {
    Axis a = {.k = 1 + (int64_t)random_below(seed, 3), .s = 1 + (int64_t)random_below(seed, 3),
              .d = 1 + (int64_t)random_below(seed, 2), .before = (int64_t)random_below(seed, 3)};
    int64_t span = (a.k - 1) * a.d + 1;
    a.after = (int64_t)random_below(seed, 3);
    a.in = (transposed ? 4 : span) + (int64_t)random_below(seed, 4);
    if (transposed) {                                     /* which cuts its result: at most what one window has */
        a.before %= span;
        a.after %= span;
        a.extra = (int64_t)random_below(seed, (uint64_t)(a.s > a.d ? a.s : a.d));
    }
    return a;
}

int main(void) {
    uint64_t seed = 2463534242u;
    for (unsigned i = 0; i < 120; i++) {
        bool transposed = i % 2;
        Axis a[3] = {random_axis(&seed, transposed), random_axis(&seed, transposed), random_axis(&seed, transposed)};
        check_conv(a, 1 + i / 2 % 3, transposed, seed);
    }
    return check_done();
}
