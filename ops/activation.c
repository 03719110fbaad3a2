/* activation.c - activations, soft maxima and dropout: one result of the operand's shape (glu: half of one axis). The
 * rules are PyTorch's: floats only, but relu, relu6 and hardtanh take integers too, and sigmoid, tanh and softsign of
 * integers are f32.
 *
 * Normalised attributes:
 *   leaky_relu negative_slope; elu, celu alpha; hardtanh min_val, max_val; softplus beta, threshold; dropout p
 *   gelu       approximate: "none" or "tanh"
 *   glu, softmax, log_softmax   dim: counted from the front
 *   prelu      no attributes; its second operand is the weight, of one element or one per channel (axis 1) */
#include "ops/axes.h"
#include "ops/eval.h"

#include <string.h>

static bool bind_axis(Call *c) {
    Binding b;
    binding_plain(c, &b);
    binding_axis(&b, A_dim, b.in[0]->type.shape.rank);
    return binding_call(c, &b);
}

/* The weight of prelu: stored under this call's name, or a tensor that was given, whose size then speaks for itself. */
static bool bind_prelu(Call *c) {
    const Arg *n = call_arg(c, A_num_parameters);
    Value *x = call_tensor(c, A_x), *weight = call_tensor(c, A_weight);
    int64_t count = n->value.i;
    if (count < 1) {
        diag(c->ctx, DIAG_ARGUMENT_VALUE, n->span, "num_parameters of prelu must be at least 1, not %lld",
             (long long)count);
        return false;
    }
    if (weight && n->given && weight->nelem != (uint64_t)count) {
        Diag *d = diag(c->ctx, DIAG_SHAPE_MISMATCH, call_arg(c, A_weight)->span,
                       "the weight of prelu has %llu elements, but num_parameters is %lld",
                       (unsigned long long)weight->nelem, (long long)count);
        note_value(c->ctx, d, weight);
        return false;
    }
    if (!weight) {
        uint64_t dims[] = {(uint64_t)count};
        weight = call_stored(c, "weight", ROLE_PARAM, x->type.dtype, 1, dims, (Init){INIT_CONSTANT, 0.25, 0});
        if (!weight) return false;
    }
    return call_result(c, call_op(c, OP_PRELU, (Value *[]){x, weight}, 2, NULL, 0, NULL));
}

static bool bind(Call *c) {
    switch (c->info->kind) {
    case OP_PRELU: return bind_prelu(c);
    case OP_GLU: case OP_SOFTMAX: case OP_LOG_SOFTMAX: return bind_axis(c);
    default: return bind_plain(c);
    }
}

/* ---- types ---- */

/* relu of a bool has no meaning in PyTorch either. */
static bool infer_clipped(Typing *t) {
    const Value *x = t->in[0];
    if (x->type.dtype == DT_BOOL) return typing_float(t, x);
    return type_push(t, x->type.dtype, &x->type.shape);
}

static bool limits_ordered(Typing *t) {
    const Datum *lo = need_attr(t, A_min_val, D_FLOAT), *hi = need_attr(t, A_max_val, D_FLOAT);
    if (!lo || !hi) return false;
    if (lo->f <= hi->f) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_min_val), "min_val of hardtanh is larger than max_val");
    return false;
}

static bool infer_glu(Typing *t) {
    const Value *x = t->in[0];
    Shape r = x->type.shape;
    unsigned axis;
    if (!typing_float(t, x) || !typing_rank(t, x, 1, MAX_RANK, "a tensor with an axis to halve")) return false;
    if (!need_axis(t, A_dim, r.rank, &axis)) return false;
    if (r.dim[axis] % 2 != 0) {
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_dim),
                       "glu halves axis %u of %s, but %llu is odd", axis, x_text(t, x),
                       (unsigned long long)r.dim[axis]);
        note_value(t->ctx, d, x);
        return false;
    }
    r.dim[axis] /= 2;
    return type_push(t, x->type.dtype, &r);
}

static bool infer_softmax(Typing *t) {
    const Value *x = t->in[0];
    unsigned axis;
    return typing_float(t, x) && need_axis(t, A_dim, x->type.shape.rank, &axis) &&
           type_push(t, x->type.dtype, &x->type.shape);
}

static bool infer_prelu(Typing *t) {
    const Value *x = t->in[0], *w = t->in[1];
    uint64_t channels = x->type.shape.rank > 1 ? x->type.shape.dim[1] : 1;
    if (!typing_float(t, x) || !typing_same_dtype(t, x, w)) return false;
    if (w->type.shape.rank > 1 || (w->nelem != 1 && w->nelem != channels)) {
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_num_parameters),
                       "prelu has a weight of %s, but %s has %llu channel%s", x_text(t, w), x_text(t, x),
                       (unsigned long long)channels, channels == 1 ? "" : "s");
        note_value(t->ctx, d, x);
        if (channels > 1)
            diag_help(t->ctx, d, "channels are axis 1: prelu(%llu), or prelu for one weight in all",
                      (unsigned long long)channels);
        return false;
    }
    return type_push(t, x->type.dtype, &x->type.shape);
}

static bool gelu_known(Typing *t) {
    static const char *const forms[] = {"none", "tanh"};
    const Datum *a = need_attr(t, A_approximate, D_STR);
    if (!a) return false;
    if (strcmp(a->s, "none") == 0 || strcmp(a->s, "tanh") == 0) return true;
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_approximate), "gelu has no approximation '%s'", a->s);
    diag_suggest(t->ctx, d, a->s, forms, COUNT_OF(forms));
    return false;
}

static bool probability(Typing *t) {
    const Datum *p = need_attr(t, A_p, D_FLOAT);
    if (!p) return false;
    if (p->f >= 0 && p->f <= 1) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_p), "dropout's p is a probability in the range 0 to 1, not %g",
         p->f);
    return false;
}

static bool alpha_usable(Typing *t) {
    const Datum *alpha = need_attr(t, A_alpha, D_FLOAT);
    if (!alpha) return false;
    if (t->kind != OP_CELU || alpha->f != 0) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_alpha), "celu divides by alpha, which is 0");
    return false;
}

/* The attributes of the element-wise ones that have any. */
static bool attrs_usable(Typing *t) {
    switch (t->kind) {
    case OP_GELU: return gelu_known(t);
    case OP_DROPOUT: return probability(t);
    case OP_ELU: case OP_CELU: return alpha_usable(t);
    case OP_LEAKY_RELU: return need_attr(t, A_negative_slope, D_FLOAT) != NULL;
    case OP_SOFTPLUS: return need_attr(t, A_beta, D_FLOAT) && need_attr(t, A_threshold, D_FLOAT);
    default: return true;
    }
}

static bool infer(Typing *t) {
    uint32_t n = t->kind == OP_PRELU ? 2 : 1;
    if (!need_operands(t, n, n)) return false;
    const Value *x = t->in[0];
    bool is_float = dtype_is_float(x->type.dtype);
    switch (t->kind) {
    case OP_PRELU: return infer_prelu(t);
    case OP_GLU: return infer_glu(t);
    case OP_SOFTMAX: case OP_LOG_SOFTMAX: return infer_softmax(t);
    case OP_HARDTANH: return limits_ordered(t) && infer_clipped(t);
    case OP_RELU: case OP_RELU6: return infer_clipped(t);
    case OP_SIGMOID: case OP_TANH: case OP_SOFTSIGN:
        return type_push(t, is_float ? x->type.dtype : DT_F32, &x->type.shape);
    default: return attrs_usable(t) && typing_float(t, x) && type_push(t, x->type.dtype, &x->type.shape);
    }
}

const OpRules rules_activation = {.bind = bind, .infer = infer, .eval = eval_activation};
