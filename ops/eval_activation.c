/* eval_activation.c - activations, soft maxima and dropout, evaluated by their definitions. NaN goes through each of
 * them, as in PyTorch: a comparison that NaN fails must choose x. Soft maxima subtract the largest element first; a row
 * of -inf alone has no largest and gives NaN. Dropout is the identity: evaluation is inference. O(elements). */
#include "ops/axes.h"
#include "ops/eval.h"

#include <math.h>
#include <string.h>

static const double SELU_ALPHA = 1.6732632423543772848170429916717, SELU_SCALE = 1.0507009873554804934193349852946;

static double clipped(double x, double lo, double hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double softplus(double x, double beta, double threshold) {
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

static double elu(double x, double alpha) {
    return x <= 0 ? alpha * expm1(x) : x;
}

/* Those of one number; a and b are the attributes. */
static double activation(OpKind kind, double x, double a, double b) {
    switch (kind) {
    case OP_RELU: case OP_RELU6: case OP_HARDTANH: return clipped(x, a, b);
    case OP_LEAKY_RELU: return x > 0 ? x : x * a;
    case OP_ELU: return elu(x, a);
    case OP_SELU: return SELU_SCALE * elu(x, SELU_ALPHA);
    case OP_CELU: return x <= 0 ? a * expm1(x / a) : x;
    case OP_GELU: return 0.5 * x * (1 + erf(x / M_SQRT2));
    case OP_SILU: return x * sigmoid(x);
    case OP_MISH: return x * tanh(log1p(exp(x)));
    case OP_HARDSWISH: return x * clipped(x + 3, 0, 6) / 6;
    case OP_HARDSIGMOID: return clipped(x + 3, 0, 6) / 6;
    case OP_SIGMOID: return sigmoid(x);
    case OP_TANH: return tanh(x);
    case OP_SOFTPLUS: return softplus(x, a, b);
    case OP_SOFTSIGN: return x / (1 + fabs(x));
    case OP_DROPOUT: return x;
    default: ice("eval: %s is not of the family activation", op_info(kind)->name);
    }
}

static void map(Eval *e, double a, double b) {
    const Tensor *x = e->in[0];
    for (uint64_t i = 0; i < x->n; i++)
        e->out->f[i] = activation(e->op->kind, x->is_int ? (double)x->i[i] : x->f[i], a, b);
}

/* relu, relu6 and hardtanh, which integers have too. */
static void clip(Eval *e, double lo, double hi) {
    const Tensor *x = e->in[0];
    int64_t least = number_truncate(lo), most = number_truncate(hi);
    if (!x->is_int) map(e, lo, hi);
    for (uint64_t i = 0; x->is_int && i < x->n; i++)
        e->out->i[i] = x->i[i] < least ? least : x->i[i] > most ? most : x->i[i];
}

static void gelu_tanh(Eval *e) {
    for (uint64_t i = 0; i < e->out->n; i++) {
        double x = e->in[0]->f[i];
        e->out->f[i] = 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    }
}

/* ---- with an axis ---- */

/* One weight in all, or one for each place of axis 1. */
static void prelu(Eval *e) {
    const Tensor *x = e->in[0], *w = e->in[1];
    uint64_t behind = w->n > 1 ? elems_behind(&x->type.shape, 1) : 1;
    for (uint64_t i = 0; i < x->n; i++) {
        double slope = w->f[w->n > 1 ? i / behind % w->n : 0];
        e->out->f[i] = x->f[i] > 0 ? x->f[i] : slope * x->f[i];
    }
}

/* The first half of the axis times the sigmoid of the second. */
static void glu(Eval *e) {
    const Tensor *x = e->in[0];
    unsigned axis = (unsigned)op_int(e->op, A_dim);
    uint64_t half = e->out->type.shape.dim[axis] * elems_behind(&x->type.shape, axis);
    for (uint64_t i = 0; i < e->out->n; i++) {
        uint64_t first = i / half * 2 * half + i % half;
        e->out->f[i] = x->f[first] * sigmoid(x->f[first + half]);
    }
}

/* n numbers, `step` apart. */
static void softmax_row(const double *x, double *y, uint64_t n, uint64_t step, bool logarithm) {
    double largest = -INFINITY, sum = 0;
    for (uint64_t k = 0; k < n; k++)
        if (x[k * step] > largest) largest = x[k * step];
    for (uint64_t k = 0; k < n; k++) sum += exp(x[k * step] - largest);
    for (uint64_t k = 0; k < n; k++)
        y[k * step] = logarithm ? x[k * step] - largest - log(sum) : exp(x[k * step] - largest) / sum;
}

static void softmax(Eval *e, bool logarithm) {
    const Tensor *x = e->in[0];
    const Shape *s = &x->type.shape;
    unsigned axis = (unsigned)op_int(e->op, A_dim);
    uint64_t extent = s->rank ? s->dim[axis] : 1, behind = elems_behind(s, axis);
    for (uint64_t i = 0; i < x->n; i += extent * behind)
        for (uint64_t k = 0; k < behind; k++) softmax_row(x->f + i + k, e->out->f + i + k, extent, behind, logarithm);
}

void eval_activation(Eval *e) {
    const Op *op = e->op;
    switch (op->kind) {
    case OP_RELU: clip(e, 0, INFINITY); break;
    case OP_RELU6: clip(e, 0, 6); break;
    case OP_HARDTANH: clip(e, op_float(op, A_min_val), op_float(op, A_max_val)); break;
    case OP_LEAKY_RELU: map(e, op_float(op, A_negative_slope), 0); break;
    case OP_ELU: case OP_CELU: map(e, op_float(op, A_alpha), 0); break;
    case OP_SOFTPLUS: map(e, op_float(op, A_beta), op_float(op, A_threshold)); break;
    case OP_GELU:
        if (strcmp(op_str(op, A_approximate), "tanh") == 0) gelu_tanh(e);
        else map(e, 0, 0);
        break;
    case OP_PRELU: prelu(e); break;
    case OP_GLU: glu(e); break;
    case OP_SOFTMAX: softmax(e, false); break;
    case OP_LOG_SOFTMAX: softmax(e, true); break;
    default: map(e, 0, 0);
    }
}
