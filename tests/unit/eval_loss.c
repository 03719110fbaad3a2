/* eval_loss.c - the reference evaluation of losses: numbers worked out by hand, class losses against their definition
 * for every reduction, ignored places, smoothing and probabilities. */
#include <string.h>

#include "tests/unit/evallab.h"

#define WORD(b, s) d_str(name_of((b)->lab.ctx, (s)))
static const char *const reductions[] = {"mean", "sum", "none"};

/* -log of the softmax of class k at a place of x [N, C, L]. */
static double surprise(const double *x, int n, int classes, int length, int at, int k) {
    double sum = 0;
    for (int i = 0; i < classes; i++) sum += exp(x[(n * classes + i) * length + at]);
    return log(sum) - x[(n * classes + k) * length + at];
}

enum { N = 2, C = 4, L = 3 };

static void reduce(const double each[N * L], double counted, const char *reduction, double *wanted) {
    double sum = 0;
    for (int i = 0; i < N * L; i++) sum += wanted[i] = each[i];
    if (strcmp(reduction, "none") != 0) wanted[0] = strcmp(reduction, "sum") == 0 ? sum : sum / counted;
}

static void class_indices(OpKind kind, const char *reduction, double smoothing, int64_t ignored) {
    Bench b = bench_new(77);
    static const double targets[] = {0, 3, 1, 2, 3, 0};
    double *x = quarters(&b, N * C * L), each[N * L], wanted[N * L], counted = 0;
    Attr args[] = {X(given(&b, DT_F64, DIMS(N, C, L), x)), {A_target, d_tensor(given(&b, DT_I64, DIMS(N, L), targets))},
                   {A_reduction, WORD(&b, reduction)}, {A_ignore_index, d_int(ignored)},
                   {A_label_smoothing, d_float(smoothing)}};
    CHECK(call_op_by(&b.lab, kind, args, kind == OP_CROSS_ENTROPY ? 5 : 4));
    for (int i = 0; i < N * L; i++) {
        int n = i / L, at = i % L, k = (int)targets[i];
        each[i] = 0;
        if (k == ignored) continue;
        counted++;
        if (kind == OP_NLL_LOSS) each[i] = -x[(n * C + k) * L + at];
        else each[i] = (1 - smoothing) * surprise(x, n, C, L, at, k);
        for (int j = 0; j < C && kind == OP_CROSS_ENTROPY; j++)
            each[i] += smoothing / C * surprise(x, n, C, L, at, j);
    }
    reduce(each, counted, reduction, wanted);
    CHECK(bench_run(&b) && results_near(&b, wanted, 1e-14));
    bench_free(&b);
}

static void class_probabilities(const char *reduction, double smoothing) {
    Bench b = bench_new(78);
    double *x = quarters(&b, N * C * L), *p = quarters(&b, N * C * L), each[N * L], wanted[N * L];
    CHECK(CALL(&b.lab, OP_CROSS_ENTROPY, X(given(&b, DT_F64, DIMS(N, C, L), x)),
               {A_target, d_tensor(given(&b, DT_F64, DIMS(N, C, L), p))}, {A_reduction, WORD(&b, reduction)},
               {A_label_smoothing, d_float(smoothing)}));
    for (int i = 0; i < N * L; i++) {
        each[i] = 0;
        for (int k = 0; k < C; k++)
            each[i] += (p[(i / L * C + k) * L + i % L] * (1 - smoothing) + smoothing / C) *
                       surprise(x, i / L, C, L, i % L, k);
    }
    reduce(each, N * L, reduction, wanted);
    CHECK(bench_run(&b) && results_near(&b, wanted, 1e-13));
    bench_free(&b);
}

/* One place; whether it evaluates, and to what. */
static bool one_place(Bench *b, OpKind kind, const double *x, double target, const char *reduction) {
    CHECK(CALL(&b->lab, kind, X(given(b, DT_F64, DIMS(3), x)),
               {A_target, d_tensor(given(b, DT_I64, 0, NULL, copied(b, &target, 1)))},
               {A_reduction, WORD(b, reduction)}));
    return bench_run(b);
}

static void corners(void) {
    Bench far = bench_new(1), ignored = bench_new(1), none = bench_new(1), outside = bench_new(1), inf = bench_new(1);
    Bench above = bench_new(1);
    const double x[] = {1000, 0, -1000}, infinite[] = {0, -INFINITY, 0}, top[] = {INFINITY, 0, 0};
    CHECK(one_place(&far, OP_CROSS_ENTROPY, x, 2, "mean") && RESULTS(&far, 0, 2000));
    CHECK(one_place(&ignored, OP_CROSS_ENTROPY, x, -100, "mean") && RESULTS(&ignored, 0, NAN));
    CHECK(one_place(&none, OP_NLL_LOSS, x, -100, "none") && RESULTS(&none, 0, 0));
    CHECK(!one_place(&outside, OP_NLL_LOSS, x, 3, "sum") && diag_failed(outside.lab.ctx));
    CHECK(one_place(&inf, OP_CROSS_ENTROPY, infinite, 0, "sum") && RESULTS(&inf, 1e-15, log(2)));
    CHECK(one_place(&above, OP_CROSS_ENTROPY, top, 1, "sum") && RESULTS(&above, 0, NAN));
    bench_free(&above);
    bench_free(&far);
    bench_free(&ignored);
    bench_free(&none);
    bench_free(&outside);
    bench_free(&inf);
}

static void elements(OpKind kind, double beta, const double *each) {
    for (size_t r = 0; r < COUNT_OF(reductions); r++) {
        Bench b = bench_new(1);
        const double x[] = {1, -2, 0.5, 3}, target[] = {0, 1, 0.25, 3};
        Attr args[] = {X(given(&b, DT_F64, DIMS(2, 2), x)), {A_target, d_tensor(given(&b, DT_F64, DIMS(2, 2), target))},
                       {A_reduction, WORD(&b, reductions[r])}, {A_beta, d_float(beta)}};
        CHECK(call_op_by(&b.lab, kind, args, kind == OP_SMOOTH_L1_LOSS ? 4 : 3));
        double sum = each[0] + each[1] + each[2] + each[3], mean = sum / 4;
        CHECK(bench_run(&b) && results_near(&b, r == 0 ? &mean : r == 1 ? &sum : each, 1e-14));
        bench_free(&b);
    }
}

/* Differences are 1, -3, 1/4 and 0. */
static void element_losses(void) {
    elements(OP_MSE_LOSS, 0, (const double[]){1, 9, 0.0625, 0});
    elements(OP_L1_LOSS, 0, (const double[]){1, 3, 0.25, 0});
    elements(OP_SMOOTH_L1_LOSS, 1, (const double[]){0.5, 2.5, 0.03125, 0});
    elements(OP_SMOOTH_L1_LOSS, 2, (const double[]){0.25, 2, 0.015625, 0});
    elements(OP_SMOOTH_L1_LOSS, 0, (const double[]){1, 3, 0.25, 0});
    /* -t log s(x) - (1 - t) log (1 - s(x)) */
    elements(OP_BCE_WITH_LOGITS, 0, (const double[]){log(1 + exp(1)), log(1 + exp(2)),
                                                     0.25 * log(1 + exp(-0.5)) + 0.75 * log(1 + exp(0.5)),
                                                     3 * log(1 + exp(-3)) - 2 * log(1 + exp(3))});
    Bench b = bench_new(1);
    const double x[] = {800, -800}, target[] = {0, 1};
    CHECK(CALL(&b.lab, OP_BCE_WITH_LOGITS, X(given(&b, DT_F64, DIMS(2), x)),
               {A_target, d_tensor(given(&b, DT_F64, DIMS(2), target))}, {A_reduction, WORD(&b, "none")}));
    CHECK(bench_run(&b) && RESULTS(&b, 0, 800, 800));
    bench_free(&b);
}

int main(void) {
    for (size_t r = 0; r < COUNT_OF(reductions); r++) {
        for (int64_t ignored = -100; ignored <= 3; ignored += 103) {
            class_indices(OP_CROSS_ENTROPY, reductions[r], 0, ignored);
            class_indices(OP_CROSS_ENTROPY, reductions[r], 0.25, ignored);
            class_indices(OP_NLL_LOSS, reductions[r], 0, ignored);
        }
        class_probabilities(reductions[r], 0);
        class_probabilities(reductions[r], 0.25);
    }
    corners();
    element_losses();
    return check_done();
}
