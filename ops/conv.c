/* conv.c - convolution and transposed convolution over 1 to 3 spatial axes, as torch.nn.ConvNd and ConvTransposeNd.
 *
 * Operands     x [N, C, spatial...], weight, bias or none
 *              weight: [out, C / groups, kernel...]; transposed: [C, out / groups, kernel...]; bias: [out]
 * Attributes   kernel_size, stride, padding, dilation as in window.h; groups; transposed: output_padding, n integers.
 *              kernel_size repeats the weight's last axes; `out` and `bias` are told by the operands.
 * Result       conv: window.h; transposed: (in - 1) * stride - begin - end + span + output_padding
 * Multiply-adds  each element of the result (transposed: of x) meets channels / groups * kernel weights, padding or not
 *
 * The batch axis must be written: PyTorch also takes [C, H, W], here it is refused with a hint, since a forgotten batch
 * would otherwise pass. N may be 0, the other axes may not. */
#include <math.h>

#include "ops/eval.h"
#include "ops/window.h"

static unsigned spatial_axes(OpKind kind) {
    switch (kind) {
    case OP_CONV1D: case OP_CONV_TRANSPOSE1D: return 1;
    case OP_CONV2D: case OP_CONV_TRANSPOSE2D: return 2;
    case OP_CONV3D: case OP_CONV_TRANSPOSE3D: return 3;
    default: ice("operator %d is no convolution", (int)kind);
    }
}

static bool is_transposed(OpKind kind) {
    return kind == OP_CONV_TRANSPOSE1D || kind == OP_CONV_TRANSPOSE2D || kind == OP_CONV_TRANSPOSE3D;
}

/* What must hold of x before a weight can be made for it. */
static bool check_input(Typing *t, const Value *x, unsigned n) {
    return typing_rank(t, x, n + 2, n + 2, window_form(n)) && typing_float(t, x) && window_not_empty(t, x, n);
}

static bool check_divides(Typing *t, int64_t groups, uint64_t channels, const char *which, const Value *x) {
    if (channels % (uint64_t)groups == 0) return true;
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_groups),
                   "%lld groups do not divide the %llu %s channels of %s", (long long)groups,
                   (unsigned long long)channels, which, op_info(t->kind)->name);
    note_value(t->ctx, d, x);
    return false;
}

static bool check_groups(Typing *t, const Value *x, int64_t groups, uint64_t out) {
    return typing_at_least(t, A_groups, &groups, 1, 1) && check_divides(t, groups, x->type.shape.dim[1], "input", x) &&
           check_divides(t, groups, out, "output", x);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* PyTorch's: weights uniform within 1 / sqrt(fan in), which is kaiming with a = sqrt(5); the bias likewise. */
static bool make_weights(Call *c, const Value *x, const Window *w, int64_t groups, int64_t out, Value **in) {
    bool transposed = is_transposed(c->info->kind);
    uint64_t dims[2 + WINDOW_AXES] = {transposed ? x->type.shape.dim[1] : (uint64_t)out,
                                      (transposed ? (uint64_t)out : x->type.shape.dim[1]) / (uint64_t)groups};
    double fan_in = (double)dims[1];
    for (unsigned i = 0; i < w->n; i++) {
        dims[2 + i] = (uint64_t)w->kernel[i];
        fan_in *= (double)w->kernel[i];
    }
    Init uniform = {INIT_UNIFORM, -1 / sqrt(fan_in), 1 / sqrt(fan_in)}, kaiming = {INIT_KAIMING_UNIFORM, sqrt(5), 0};
    in[1] = call_stored(c, "weight", ROLE_PARAM, x->type.dtype, 2 + w->n, dims, kaiming);
    if (!in[1]) return false;
    if (!call_bool(c, A_bias)) return true;
    in[2] = call_stored(c, "bias", ROLE_PARAM, x->type.dtype, 1, (uint64_t[]){(uint64_t)out}, uniform);
    return in[2] != NULL;
}

static bool bind(Call *c) {
    OpKind kind = c->info->kind;
    Typing t = call_typing(c);
    Value *x = call_tensor(c, A_x), *in[3] = {x, NULL, NULL};
    int64_t out = call_int(c, A_out), groups = call_int(c, A_groups);
    Window w;
    window_of_call(c, spatial_axes(kind), true, &w);
    if (!check_input(&t, x, w.n) || !call_check_from(c, A_out, x->type.shape.dim[1], "channels", x) ||
        !typing_at_least(&t, A_out, &out, 1, 1) || !window_padding(c, &w, !is_transposed(kind)) ||
        !window_check(&t, &w) || !check_groups(&t, x, groups, (uint64_t)out) ||
        !make_weights(c, x, &w, groups, out, in))
        return false;
    Attr attrs[6];
    uint32_t n = window_attrs(c->ctx->unit, &w, attrs);
    attrs[n++] = (Attr){A_groups, d_int(groups)};
    if (is_transposed(kind)) attrs[n++] = (Attr){A_output_padding, call_arg(c, A_output_padding)->value};
    return call_result(c, call_op(c, kind, in, 3, attrs, n, NULL));
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool wrong_weight(Typing *t, const Value *x, const Value *v, const char *what) {
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "the %s %s does not fit %s of %s", what,
                   x_text(t, v), op_info(t->kind)->name, x_text(t, x));
    note_value(t->ctx, d, v);
    note_value(t->ctx, d, x);
    return false;
}

/* The weights are this call's own and fit; from ONNX or printed IR they may not. */
static bool check_weights(Typing *t, const Window *w, int64_t groups, uint64_t *out) {
    const Value *x = t->in[0], *weight = typing_in(t, 1), *bias = typing_in(t, 2);
    const Shape *s = &weight->type.shape;
    bool transposed = is_transposed(t->kind), fits = s->rank == w->n + 2 && groups > 0;
    for (unsigned i = 0; fits && i < w->n; i++) fits = s->dim[2 + i] == (uint64_t)w->kernel[i];
    uint64_t inner = 0;
    if (fits) fits = mul_u64(s->dim[1], (uint64_t)groups, &inner) && inner > 0;
    if (fits) fits = x->type.shape.dim[1] == (transposed ? s->dim[0] : inner);
    if (!fits) return wrong_weight(t, x, weight, "weight");
    *out = transposed ? inner : s->dim[0];
    if (bias && (bias->type.shape.rank != 1 || bias->type.shape.dim[0] != *out))
        return wrong_weight(t, x, bias, "bias");
    return typing_same_dtype(t, x, weight) && (!bias || typing_same_dtype(t, x, bias));
}

static bool too_small(Typing *t, const Value *x, unsigned axis, int64_t size) {
    Diag *d = diag(t->ctx, DIAG_WINDOW, t->span, "axis %u of the result of %s on %s would have %lld elements", axis,
                   op_info(t->kind)->name, x_text(t, x), (long long)size);
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "padding takes elements away from a transposed convolution's result");
    return false;
}

/* (in - 1) * stride - begin - end + span + output_padding */
static bool transposed_places(Typing *t, const Window *w, unsigned i, int64_t extra, uint64_t *places) {
    const Value *x = t->in[0];
    int64_t n, span;
    if (extra >= w->stride[i] && extra >= w->dilation[i]) {
        Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_output_padding),
                       "output_padding %lld is not smaller than the stride %lld or the dilation %lld", (long long)extra,
                       (long long)w->stride[i], (long long)w->dilation[i]);
        diag_help(t->ctx, d, "it chooses among the sizes that the stride makes equal: 0 to stride - 1");
        return false;
    }
    if (!mul_i64((int64_t)x->type.shape.dim[2 + i] - 1, w->stride[i], &n) || !sub_i64(n, w->begin[i], &n) ||
        !sub_i64(n, w->end[i], &n) || !window_span(w, i, &span) || !add_i64(n, span, &n) || !add_i64(n, extra, &n)) {
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "the result of %s is larger than 2^63 - 1", op_info(t->kind)->name);
        return false;
    }
    *places = (uint64_t)n;
    return n >= 1 || too_small(t, x, 2 + i, n);
}

static bool infer(Typing *t) {
    unsigned n = spatial_axes(t->kind);
    int64_t groups, extra[WINDOW_AXES] = {0};
    Window w;
    Shape s = {.rank = (uint8_t)(n + 2)};
    if (!need_operands(t, 2, 3) || !need_int(t, A_groups, &groups) || !window_of_attrs(t, n, true, &w)) return false;
    if (is_transposed(t->kind) && !window_numbers(t, A_output_padding, n, extra)) return false;
    const Value *x = t->in[0];
    if (!check_input(t, x, n) || !window_check(t, &w) || !typing_at_least(t, A_output_padding, extra, n, 0) ||
        !check_weights(t, &w, groups, &s.dim[1]) || !check_groups(t, x, groups, s.dim[1]))
        return false;
    s.dim[0] = x->type.shape.dim[0];
    for (unsigned i = 0; i < n; i++)
        if (is_transposed(t->kind) ? !transposed_places(t, &w, i, extra[i], &s.dim[2 + i])
                                   : !window_places(t, &w, i, x, false, &s.dim[2 + i]))
            return false;
    return type_push(t, x->type.dtype, &s);
}

/* The weight's first axis is the result's channels, or x's when transposed: the rest of it meets each element. */
static uint64_t macs(const Op *op) {
    const Value *meets = is_transposed(op->kind) ? op->in[0] : op->out[0], *weight = op->in[1];
    uint64_t n;
    return mul_u64(meets->nelem, weight->nelem / weight->type.shape.dim[0], &n) ? n : UINT64_MAX;
}

const OpRules rules_conv = {.bind = bind, .infer = infer, .macs = macs, .eval = eval_conv};
