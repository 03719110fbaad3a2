/* eval_norm.c - the reference evaluation of normalisations: numbers worked out by hand (means and deviations are chosen
 * to be whole), and each variant against the one it must equal. */
#include <float.h>

#include "tests/unit/evallab.h"

#define EPS(x) {A_eps, d_float(x)}
static const double loose = 1e-14;

/* Channel 0 of both images: 1, 3, 5, 7 (mean 4, variance 5); channel 1: 0, 0, 8, 8 (mean 4, variance 16). */
static const double images[] = {1, 3, 0, 0, 5, 7, 8, 8};

static void batch_norm(void) {
    Bench b = bench_new(1), s = bench_new(1);
    CHECK(CALL(&b.lab, OP_BATCH_NORM, X(given(&b, DT_F64, DIMS(2, 2, 2), images)), EPS(1)));
    Op *op = b.lab.g->ops.p[0];
    feed(&b, op->in[1], DOUBLES(&b, 2, 10));              /* weight */
    feed(&b, op->in[2], DOUBLES(&b, 100, 0));             /* bias */
    feed(&b, op->in[3], DOUBLES(&b, 1, 4));               /* running_mean */
    feed(&b, op->in[4], DOUBLES(&b, 3, 15));              /* running_var; num_batches_tracked is not read */
    CHECK(bench_run(&b) && RESULTS(&b, 0, 100, 102, -10, -10, 104, 106, 10, 10));
    CHECK(CALL(&s.lab, OP_BATCH_NORM, X(given(&s, DT_F64, DIMS(2, 2, 2), images)), EPS(0), {A_affine, d_bool(false)},
               {A_track_running_stats, d_bool(false)}));
    double u = 1 / sqrt(5);
    CHECK(bench_run(&s) && RESULTS(&s, loose, -3 * u, -u, -1, -1, u, 3 * u, 1, 1));
    bench_free(&b);
    bench_free(&s);
}

static void layer_norm(void) {
    Bench b = bench_new(1), t = bench_new(1);
    const double x[] = {1, 1, 5, 5, 0, 8, 0, 8};
    CHECK(CALL(&b.lab, OP_LAYER_NORM, X(given(&b, DT_F64, DIMS(2, 4), x)), EPS(0)));
    feed(&b, last_op(&b.lab)->in[1], DOUBLES(&b, 1, 2, 3, 4));
    feed(&b, last_op(&b.lab)->in[2], DOUBLES(&b, 0, 0, 0, 10));
    CHECK(bench_run(&b) && RESULTS(&b, 0, -1, -2, 3, 14, -1, 2, -3, 14));
    /* over all three axes, eps 5 beside a variance of 11: the root of 16; weight alone */
    const double y[] = {-2, 0, 2, 4, -4, 0, 3, -3, 0, 4, 6, -10};
    CHECK(CALL(&t.lab, OP_LAYER_NORM, X(given(&t, DT_F64, DIMS(1, 2, 6), y)), {A_dims, d_int(3)}, EPS(5),
               {A_bias, d_bool(false)}));
    feed(&t, last_op(&t.lab)->in[1], DOUBLES(&t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2));
    double squares = 0, wanted[12];
    for (int i = 0; i < 12; i++) squares += y[i] * y[i];  /* their mean is 0 */
    for (int i = 0; i < 12; i++) wanted[i] = y[i] / sqrt(squares / 12 + 5) * (i == 11 ? 2 : 1);
    CHECK(bench_run(&t) && results_near(&t, wanted, loose));
    bench_free(&b);
    bench_free(&t);
}

static void group_norm(void) {
    Bench g = bench_new(1), i = bench_new(1);
    /* two groups of two channels and two places: mean 2, deviation 1 and mean 0, deviation 2 */
    const double x[] = {1, 3, 1, 3, -2, 2, 2, -2};
    CHECK(CALL(&g.lab, OP_GROUP_NORM, X(given(&g, DT_F64, DIMS(1, 4, 2), x)), {A_num_groups, d_int(2)}, EPS(0)));
    feed(&g, last_op(&g.lab)->in[1], DOUBLES(&g, 1, 2, 3, 4));
    feed(&g, last_op(&g.lab)->in[2], DOUBLES(&g, 0, 0, 0, 1));
    CHECK(bench_run(&g) && RESULTS(&g, 0, -1, 1, -2, 2, -3, 3, 5, -3));
    /* instance_norm: a group for each channel */
    CHECK(CALL(&i.lab, OP_INSTANCE_NORM, X(given(&i, DT_F64, DIMS(2, 2, 2), images)), EPS(0)));
    /* a variance of 0 and no eps: 0 / 0 */
    CHECK(bench_run(&i) && RESULTS(&i, 0, -1, 1, NAN, NAN, -1, 1, NAN, NAN));
    bench_free(&g);
    bench_free(&i);
}

static void rms_norm(void) {
    Bench b = bench_new(1), d = bench_new(1);
    const double x[] = {1, -1, 1, -1, 3, 4, 0, 0};
    CHECK(CALL(&b.lab, OP_RMS_NORM, X(given(&b, DT_F64, DIMS(2, 4), x)), EPS(0)));
    feed(&b, last_op(&b.lab)->in[1], DOUBLES(&b, 1, 2, 3, 4));
    CHECK(bench_run(&b) && RESULTS(&b, loose, 1, -2, 3, -4, 1.2, 3.2, 0, 0));
    /* eps = none is the dtype's epsilon: of f32 here, and it decides when x is this small */
    const double tiny[] = {0x1p-20, 0x1p-20};
    CHECK(CALL(&d.lab, OP_RMS_NORM, X(given(&d, DT_F32, DIMS(2), tiny)), {A_affine, d_bool(false)}));
    double wanted = (double)(float)(0x1p-20 / sqrt(0x1p-40 + FLT_EPSILON));
    CHECK(bench_run(&d) && RESULTS(&d, 0, wanted, wanted));
    bench_free(&b);
    bench_free(&d);
}

/* size 2: a channel and the one before it; size 3: one on either side. Divided by size also at the ends. */
static void local_response_norm(void) {
    static const int64_t sizes[] = {1, 2, 3, 4, 9};
    const double x[] = {1, -2, 3, 4, 5, 1, 2, 2, -1, 0, 3, 1};            /* [1, 6, 2] */
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        Bench b = bench_new(1);
        double wanted[12];
        CHECK(CALL(&b.lab, OP_LOCAL_RESPONSE_NORM, X(given(&b, DT_F64, DIMS(1, 6, 2), x)), {A_size, d_int(sizes[k])},
                   {A_alpha, d_float(0.5)}, {A_beta, d_float(0.75)}, {A_k, d_float(2)}));
        for (int i = 0; i < 12; i++) {
            double sum = 0;
            for (int64_t j = 0; j < sizes[k]; j++) {
                int64_t c = i / 2 - sizes[k] / 2 + j;
                if (c >= 0 && c < 6) sum += x[c * 2 + i % 2] * x[c * 2 + i % 2];
            }
            wanted[i] = x[i] / pow(2 + 0.5 * sum / (double)sizes[k], 0.75);
        }
        CHECK(bench_run(&b) && results_near(&b, wanted, loose));
        bench_free(&b);
    }
}

static void normalize(double p, int64_t dim, const double wanted[4], double eps) {
    Bench b = bench_new(1);
    const double x[] = {3, -4, -4, 3};                    /* [2, 2] */
    CHECK(CALL(&b.lab, OP_NORMALIZE, X(given(&b, DT_F64, DIMS(2, 2), x)), {A_p, d_float(p)}, {A_dim, d_int(dim)},
               EPS(eps)));
    CHECK(bench_run(&b) && results_near(&b, wanted, loose));
    bench_free(&b);
}

static void normalizes(void) {
    static const double two[] = {0.6, -0.8, -0.8, 0.6}, one[] = {3. / 7, -4. / 7, -4. / 7, 3. / 7},
                        most[] = {0.75, -1, -1, 0.75}, least[] = {1, -4. / 3, -4. / 3, 1}, count[] = {1.5, -2, -2, 1.5},
                        by_eps[] = {0.3, -0.4, -0.4, 0.3};
    for (int64_t dim = -1; dim <= 1; dim++) {             /* x is symmetric, so are the results */
        normalize(2, dim, two, 1e-12);
        normalize(1, dim, one, 1e-12);
        normalize(INFINITY, dim, most, 1e-12);
        normalize(-INFINITY, dim, least, 1e-12);
        normalize(0, dim, count, 1e-12);
        normalize(2, dim, by_eps, 10);
    }
    Bench b = bench_new(1);
    const double x[] = {1, 2, NAN, 4};                    /* [2, 2]: columns 1, NaN and 2, 4 */
    CHECK(CALL(&b.lab, OP_NORMALIZE, X(given(&b, DT_F64, DIMS(2, 2), x)), {A_dim, d_int(0)}));
    CHECK(bench_run(&b) && RESULTS(&b, loose, NAN, 1 / sqrt(5), NAN, 2 / sqrt(5)));
    bench_free(&b);
}

int main(void) {
    batch_norm();
    layer_norm();
    group_norm();
    rms_norm();
    local_response_norm();
    normalizes();
    return check_done();
}
