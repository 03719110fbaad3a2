/* eval_norm.c - normalisations (see norm.c for operands), as PyTorch computes them in inference. Variances are biased
 * and of two passes: first the mean, then the squares of what differs from it. batch_norm takes its running statistics;
 * one that keeps none takes those of the batch, as PyTorch does. */
#include <math.h>

#include "ops/axes.h"
#include "ops/eval.h"

typedef struct Statistics { double mean, var; } Statistics;

/* Over `blocks` runs of n neighbours, `step` apart. */
static Statistics statistics_of(const double *x, uint64_t blocks, uint64_t step, uint64_t n) {
    Statistics s = {0, 0};
    double count = (double)blocks * (double)n;
    for (uint64_t b = 0; b < blocks; b++)
        for (uint64_t i = 0; i < n; i++) s.mean += x[b * step + i];
    s.mean /= count;
    for (uint64_t b = 0; b < blocks; b++)
        for (uint64_t i = 0; i < n; i++) s.var += (x[b * step + i] - s.mean) * (x[b * step + i] - s.mean);
    s.var /= count;
    return s;
}

static double standardised(double x, Statistics s, double eps) {
    return (x - s.mean) / sqrt(s.var + eps);
}

/* out = out * weight + bias; neighbours of `run` elements share a number, and there are n of them. */
static void affine(Eval *e, uint64_t run, uint64_t n) {
    const Tensor *weight = eval_in(e, 1), *bias = eval_in(e, 2);
    for (uint64_t i = 0; i < e->out[0].n; i++) {
        double *y = &e->out[0].f[i];
        if (weight) *y *= weight->f[i / run % n];
        if (bias) *y += bias->f[i / run % n];
    }
}

static void batch_norm(Eval *e, double eps) {
    const Tensor *x = e->in[0], *mean = eval_in(e, 3), *var = eval_in(e, 4);
    const Shape *s = &x->type.shape;
    uint64_t channels = s->dim[1], run = elems_behind(s, 1);
    for (uint64_t c = 0; c < channels; c++) {
        Statistics of = mean && var ? (Statistics){mean->f[c], var->f[c]}
                                    : statistics_of(x->f + c * run, s->dim[0], channels * run, run);
        for (uint64_t n = 0; n < s->dim[0]; n++)
            for (uint64_t i = (n * channels + c) * run, end = i + run; i < end; i++)
                e->out[0].f[i] = standardised(x->f[i], of, eps);
    }
    affine(e, run, channels);
}

/* Each run of n neighbours by its own statistics. */
static void standardise_runs(Eval *e, uint64_t n, double eps) {
    const Tensor *x = e->in[0];
    for (uint64_t first = 0; first < x->n; first += n) {
        Statistics s = statistics_of(x->f + first, 1, 0, n);
        for (uint64_t i = first; i < first + n; i++) e->out[0].f[i] = standardised(x->f[i], s, eps);
    }
}

static void group_norm(Eval *e, double eps) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t groups = e->op->kind == OP_GROUP_NORM ? (uint64_t)op_int(e->op, A_num_groups) : s->dim[1];
    uint64_t run = elems_behind(s, 1);
    standardise_runs(e, s->dim[1] / groups * run, eps);
    affine(e, run, s->dim[1]);
}

/* Elements of the axes that layer_norm and rms_norm go over. */
static uint64_t last_axes(const Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t n = 1;
    for (unsigned i = s->rank - (unsigned)op_int(e->op, A_dims); i < s->rank; i++) n *= s->dim[i];
    return n;
}

static void rms_norm(Eval *e, double eps) {
    const Tensor *x = e->in[0];
    uint64_t n = last_axes(e);
    for (uint64_t first = 0; first < x->n; first += n) {
        double squares = 0;
        for (uint64_t i = first; i < first + n; i++) squares += x->f[i] * x->f[i];
        for (uint64_t i = first; i < first + n; i++) e->out[0].f[i] = x->f[i] / sqrt(squares / (double)n + eps);
    }
    affine(e, 1, n);
}

/* The window over channels begins size / 2 before; the sum is divided by size even where it has fewer, as avg_pool
 * counts its padding. */
static void local_response_norm(Eval *e) {
    const Tensor *x = e->in[0];
    const Shape *s = &x->type.shape;
    int64_t size = op_int(e->op, A_size), channels = (int64_t)s->dim[1];
    double alpha = op_float(e->op, A_alpha), beta = op_float(e->op, A_beta), k = op_float(e->op, A_k);
    uint64_t run = elems_behind(s, 1);
    for (uint64_t i = 0; i < x->n; i++) {
        int64_t c = (int64_t)(i / run % s->dim[1]), first = c - size / 2, end = first + size;
        const double *column = x->f + i - (uint64_t)c * run;
        double squares = 0;
        for (int64_t at = first < 0 ? 0 : first; at < end && at < channels; at++)
            squares += column[(uint64_t)at * run] * column[(uint64_t)at * run];
        e->out[0].f[i] = x->f[i] / pow(k + alpha * (squares / (double)size), beta);
    }
}

/* The p-norm of n numbers `step` apart; 0 counts what is not zero, the infinities are the greatest and the least. */
static double norm_of(const double *x, uint64_t n, uint64_t step, double p) {
    double r = p == -INFINITY ? INFINITY : 0;
    for (uint64_t i = 0; i < n; i++) {
        double v = fabs(x[i * step]);
        if (p == 0) r += v != 0;
        else if (isinf(p)) r = isnan(v) || (p > 0 ? v > r : v < r) ? v : r;
        else r += p == 2 ? v * v : pow(v, p);
    }
    return p == 0 || isinf(p) ? r : p == 2 ? sqrt(r) : pow(r, 1 / p);
}

static void normalize(Eval *e, double eps) {
    const Tensor *x = e->in[0];
    const Shape *s = &x->type.shape;
    unsigned axis = (unsigned)op_int(e->op, A_dim);
    uint64_t n = s->rank ? s->dim[axis] : 1, run = s->rank ? elems_behind(s, axis) : 1;
    for (uint64_t i = 0; i < x->n; i++) {
        uint64_t place = i / run % n;
        if (place > 0) continue;
        double norm = norm_of(x->f + i, n, run, op_float(e->op, A_p));
        if (norm < eps) norm = eps;                       /* NaN stays */
        for (uint64_t k = 0; k < n; k++) e->out[0].f[i + k * run] = x->f[i + k * run] / norm;
    }
}

void eval_norm(Eval *e) {
    if (e->in[0]->n == 0) return;
    double eps = e->op->kind == OP_LOCAL_RESPONSE_NORM ? 0 : op_float(e->op, A_eps);
    switch (e->op->kind) {
    case OP_BATCH_NORM: batch_norm(e, eps); return;
    case OP_GROUP_NORM: case OP_INSTANCE_NORM: group_norm(e, eps); return;
    case OP_LAYER_NORM:
        standardise_runs(e, last_axes(e), eps);
        affine(e, 1, last_axes(e));
        return;
    case OP_RMS_NORM: rms_norm(e, eps); return;
    case OP_LOCAL_RESPONSE_NORM: local_response_norm(e); return;
    case OP_NORMALIZE: normalize(e, eps); return;
    default: ice("operator %d is no normalisation", (int)e->op->kind);
    }
}
