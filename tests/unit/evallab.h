/* evallab.h - for unit tests of the evaluator: one op with operands of known content, evaluated as a graph of its own.
 * Data are doubles whatever the dtype. Random ones are multiples of 1/4 below 4, so that sums of products of a few
 * thousand of them are exact in any order, and results can be compared for equality. */
#ifndef NETC_TESTS_EVALLAB_H
#define NETC_TESTS_EVALLAB_H

#include <math.h>

#include "ops/eval.h"
#include "tests/unit/oplab.h"

typedef struct Bench {
    Lab lab;
    VEC(const double *) data;                             /* by value id, NULL: not given */
    uint64_t seed;
    Tensor results[4];
} Bench;

static inline Bench bench_new(uint64_t seed) {
    return (Bench){.lab = lab_new(), .seed = seed};
}

static inline void bench_free(Bench *b) {
    ctx_free(b->lab.ctx);
}

static inline void feed(Bench *b, const Value *v, const double *data) {
    while (b->data.n <= v->id) vec_push(b->lab.ctx->unit, &b->data, NULL);
    b->data.p[v->id] = data;
}

static inline double *quarters(Bench *b, uint64_t n) {
    double *x = NEW_ARRAY(b->lab.ctx->unit, double, n);
    for (uint64_t i = 0; i < n; i++) x[i] = ((double)random_below(&b->seed, 31) - 15) / 4;
    return x;
}

static inline const double *copied(Bench *b, const double *data, size_t n) {
    return arena_copy(b->lab.ctx->unit, data, n * sizeof *data);
}
#define DOUBLES(b, ...) \
    copied((b), (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__})))

static inline Value *given(Bench *b, DType dtype, unsigned rank, const uint64_t *dims, const double *data) {
    Value *v = lab_input(&b->lab, dtype, rank, dims);
    feed(b, v, data);
    return v;
}
#define DIMS(...) COUNT_OF(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]){__VA_ARGS__}

static inline bool bench_read(void *data, const Value *v, uint64_t first, Tensor *t) {
    Bench *b = data;
    if (v->id >= b->data.n || !b->data.p[v->id]) ice("%s was not given", v->name);
    const double *from = b->data.p[v->id] + first;
    for (uint64_t i = 0; i < t->n; i++) {
        if (t->is_int) t->i[i] = (int64_t)from[i];
        else t->f[i] = from[i];
    }
    return true;
}

/* Makes n values results and evaluates the graph: b->results. False after a diagnostic. */
static inline bool bench_evaluate(Bench *b, Value *const *values, uint32_t n) {
    Supply supply = {bench_read, b};
    for (uint32_t i = 0; i < n; i++) graph_result(b->lab.g, values[i]->name, values[i], values[i]->span);
    return evaluate_graph(b->lab.ctx, b->lab.g, &supply, 0, b->lab.ctx->unit, b->results);
}

/* The same for the results of the last op. */
static inline bool bench_run(Bench *b) {
    return bench_evaluate(b, last_op(&b->lab)->out, last_op(&b->lab)->nout);
}

/* |a - b| within `tolerance` of the larger of |b| and 1; NaN is near NaN. */
static inline bool is_near(double a, double b, double tolerance) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * fmax(fabs(b), 1);
}

static inline bool results_near(const Bench *b, const double *wanted, double tolerance) {
    const Tensor *t = &b->results[0];
    for (uint64_t i = 0; i < t->n; i++) {
        double got = t->is_int ? (double)t->i[i] : t->f[i];
        if (is_near(got, wanted[i], tolerance)) continue;
        fprintf(stderr, "element %llu of %s is %.17g, not %.17g\n", (unsigned long long)i,
                last_op(&b->lab)->path, got, wanted[i]);
        return false;
    }
    return true;
}
#define RESULTS(b, tolerance, ...)                                                     \
    ((b)->results[0].n == COUNT_OF(((const double[]){__VA_ARGS__})) &&                  \
     results_near((b), (const double[]){__VA_ARGS__}, (tolerance)))

#endif
