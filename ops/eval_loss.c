/* eval_loss.c - losses (see loss.c), as torch.nn.functional's.
 *
 * Class losses run over places: a place is one index of the batch and the axes behind the classes, its C numbers lie
 * `run` apart. With class indices "mean" divides by the places that are not ignored (0 of them: NaN), with class
 * probabilities by all. Label smoothing mixes the target with 1 / C for every class. */
#include <math.h>
#include <string.h>

#include "ops/axes.h"
#include "ops/eval.h"

typedef struct Classes {
    const double *x;                                      /* of the place's class 0 */
    uint64_t n, run;
    double smoothing;
} Classes;

/* log(sum of exp(x)), stable: the greatest is taken out. Where that is infinite, it is NaN, as in PyTorch. */
static double log_sum_exp(const Classes *c) {
    double top = -INFINITY, sum = 0;
    for (uint64_t k = 0; k < c->n; k++)
        if (!(c->x[k * c->run] <= top)) top = c->x[k * c->run];
    for (uint64_t k = 0; k < c->n; k++) sum += exp(c->x[k * c->run] - top);
    return top + log(sum);
}

static double cross_entropy_index(const Classes *c, uint64_t target) {
    double lse = log_sum_exp(c), all = 0;
    double one = lse - c->x[target * c->run];
    if (c->smoothing == 0) return one;
    for (uint64_t k = 0; k < c->n; k++) all += lse - c->x[k * c->run];
    return (1 - c->smoothing) * one + c->smoothing / (double)c->n * all;
}

static double cross_entropy_probabilities(const Classes *c, const double *target) {
    double lse = log_sum_exp(c), sum = 0;
    for (uint64_t k = 0; k < c->n; k++) {
        double p = target[k * c->run];
        if (c->smoothing != 0) p = p * (1 - c->smoothing) + c->smoothing / (double)c->n;
        sum += p * (lse - c->x[k * c->run]);
    }
    return sum;
}

/* Where a loss goes: to its own place, or to the sum. */
typedef struct Sink { double *each, sum, count; } Sink;

static void take(Sink *s, uint64_t place, double loss, bool counts) {
    if (s->each) s->each[place] = loss;
    s->sum += loss;
    s->count += counts;
}

static void class_losses(Eval *e, Sink *s) {
    const Tensor *x = e->in[0], *target = e->in[1];
    const Shape *shape = &x->type.shape;
    bool entropy = e->op->kind == OP_CROSS_ENTROPY;
    unsigned axis = shape->rank == 1 ? 0 : 1;
    Classes c = {.n = shape->dim[axis], .run = elems_behind(shape, axis)};
    if (entropy) c.smoothing = op_float(e->op, A_label_smoothing);
    uint64_t places = elems_before(shape, axis) * c.run;
    for (uint64_t i = 0; i < places; i++) {
        uint64_t first = i / c.run * c.run * c.n + i % c.run;
        c.x = x->f + first;
        if (!target->is_int) {
            take(s, i, cross_entropy_probabilities(&c, target->f + first), true);
            continue;
        }
        int64_t class = target->i[i];
        bool ignored = class == op_int(e->op, A_ignore_index);
        if (!ignored && (class < 0 || (uint64_t)class >= c.n)) {
            eval_index_error(e, target, i, c.n);
            return;
        }
        double loss = ignored ? 0 : entropy ? cross_entropy_index(&c, (uint64_t)class) : -c.x[(uint64_t)class * c.run];
        take(s, i, loss, !ignored);
    }
}

static double element_loss(OpKind kind, double x, double t, double beta) {
    double d = fabs(x - t);
    switch (kind) {
    case OP_MSE_LOSS: return d * d;
    case OP_L1_LOSS: return d;
    case OP_SMOOTH_L1_LOSS: return d < beta ? 0.5 * d * d / beta : d - 0.5 * beta;
    case OP_BCE_WITH_LOGITS: return (1 - t) * x + (x < 0 ? -x : 0) + log1p(exp(-fabs(x)));
    default: ice("operator %d is no loss", (int)kind);
    }
}

static void element_losses(Eval *e, Sink *s) {
    const Tensor *x = e->in[0], *target = e->in[1];
    double beta = e->op->kind == OP_SMOOTH_L1_LOSS ? op_float(e->op, A_beta) : 0;
    for (uint64_t i = 0; i < x->n; i++) take(s, i, element_loss(e->op->kind, x->f[i], target->f[i], beta), true);
}

void eval_loss(Eval *e) {
    const char *reduction = op_str(e->op, A_reduction);
    Sink s = {.each = strcmp(reduction, "none") == 0 ? e->out[0].f : NULL};
    if (e->op->kind == OP_CROSS_ENTROPY || e->op->kind == OP_NLL_LOSS) class_losses(e, &s);
    else element_losses(e, &s);
    if (s.each) return;
    e->out[0].f[0] = strcmp(reduction, "mean") == 0 ? s.sum / s.count : s.sum;
}
