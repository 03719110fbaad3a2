/* norm.c - normalisation, as torch.nn's BatchNorm, LayerNorm, GroupNorm, InstanceNorm, RMSNorm, LocalResponseNorm and
 * torch.nn.functional.normalize. The result has the type of x; there are no multiply-adds.
 *
 * Operands (absent ones NULL)
 *   batch_norm           x [N, C, ...], weight, bias, running_mean, running_var [C], num_batches_tracked i64[]
 *   layer_norm, rms_norm x, weight, bias (layer_norm only), of the shape of x's last `dims` axes
 *   group_norm, instance_norm  x [N, C, ...], weight, bias [C]
 *   local_response_norm, normalize  x
 * Attributes
 *   batch_norm eps, momentum; layer_norm and rms_norm dims, eps; group_norm num_groups, eps; instance_norm eps;
 *   local_response_norm size, alpha, beta, k; normalize p, dim (not negative), eps.
 *   rms_norm's `eps = none` is resolved to the dtype's epsilon. instance_norm keeps no running statistics, so its
 *   momentum has no effect, as in PyTorch. */
#include <float.h>

#include "ops/axes.h"
#include "ops/eval.h"

static const char *op_text(const Typing *t) {
    return op_info(t->kind)->name;
}

static bool check_eps(Typing *t) {
    double eps;
    if (!need_real(t, A_eps, &eps)) return false;
    if (eps >= 0) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_eps), "eps of %s must not be negative", op_text(t));
    return false;
}

static Attr eps_attr(Call *c) {
    return (Attr){A_eps, d_float(call_float(c, A_eps))};
}

/* Which tensors have one number for each channel, and the ranks PyTorch's modules take. */
static bool check_channels(Typing *t, const Value *x) {
    switch (t->kind) {
    case OP_BATCH_NORM: return typing_rank(t, x, 2, 5, "[N, C, ...]") && typing_float(t, x);
    case OP_GROUP_NORM: return typing_rank(t, x, 2, MAX_RANK, "[N, C, ...]") && typing_float(t, x);
    default: return typing_rank(t, x, 3, 5, "[N, C, spatial...]") && typing_float(t, x);
    }
}

/* PyTorch refuses statistics over one element: the result would be 0 whatever x is. */
static bool check_statistics(Typing *t, const Value *x, uint64_t nelem, const char *what) {
    if (nelem != 1) return true;
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s of %s would normalise over one element a %s", op_text(t),
                   x_text(t, x), what);
    note_value(t->ctx, d, x);
    return false;
}

static bool check_groups(Typing *t, const Value *x, int64_t groups) {
    uint64_t channels = x->type.shape.dim[1];
    if (!typing_at_least(t, A_num_groups, &groups, 1, 1)) return false;
    if (channels % (uint64_t)groups == 0)
        return channels == 0 || check_statistics(t, x, x->nelem / (uint64_t)groups, "group");
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_num_groups),
                   "%lld groups do not divide the %llu channels of group_norm", (long long)groups,
                   (unsigned long long)channels);
    note_value(t->ctx, d, x);
    return false;
}

static bool check_dims(Typing *t, const Value *x, int64_t dims) {
    unsigned rank = x->type.shape.rank;
    if (!typing_rank(t, x, 1, MAX_RANK, "one axis at least") || !typing_float(t, x) ||
        !typing_at_least(t, A_dims, &dims, 1, 1))
        return false;
    if (dims <= rank) return true;
    Diag *d = diag(t->ctx, DIAG_AXIS_RANGE, typing_span(t, A_dims), "%s over %lld axes, but %s has %u", op_text(t),
                   (long long)dims, x_text(t, x), rank);
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "dims is how many of the last axes are normalised; their sizes are inferred");
    return false;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const Init zeros = {INIT_ZEROS, 0, 0}, ones = {INIT_ONES, 0, 0};

/* weight and, when wanted, bias. */
static bool make_affine(Call *c, Value **in, unsigned rank, const uint64_t *dims, bool bias) {
    DType dtype = in[0]->type.dtype;
    in[1] = call_stored(c, "weight", ROLE_PARAM, dtype, rank, dims, ones);
    if (!in[1]) return false;
    if (bias) in[2] = call_stored(c, "bias", ROLE_PARAM, dtype, rank, dims, zeros);
    return !bias || in[2];
}

static bool make_running(Call *c, Value **in, const uint64_t *channels) {
    DType dtype = in[0]->type.dtype;
    in[3] = call_stored(c, "running_mean", ROLE_BUFFER, dtype, 1, channels, zeros);
    in[4] = in[3] ? call_stored(c, "running_var", ROLE_BUFFER, dtype, 1, channels, ones) : NULL;
    in[5] = in[4] ? call_stored(c, "num_batches_tracked", ROLE_BUFFER, DT_I64, 0, NULL, zeros) : NULL;
    return in[5] != NULL;
}

static bool bind_batch_norm(Call *c, Typing *t, Value **in) {
    const uint64_t *channels = &in[0]->type.shape.dim[1];
    if (!check_channels(t, in[0])) return false;
    if (call_bool(c, A_affine) && !make_affine(c, in, 1, channels, true)) return false;
    if (call_bool(c, A_track_running_stats) && !make_running(c, in, channels)) return false;
    Attr attrs[2] = {eps_attr(c), {A_momentum, d_float(call_float(c, A_momentum))}};
    return call_result(c, call_op(c, OP_BATCH_NORM, in, 6, attrs, 2, NULL));
}

/* group_norm and instance_norm */
static bool bind_channels(Call *c, Typing *t, Value **in) {
    OpKind kind = c->info->kind;
    if (!check_channels(t, in[0])) return false;
    if (kind == OP_GROUP_NORM && !check_groups(t, in[0], call_int(c, A_num_groups))) return false;
    if (call_bool(c, A_affine) && !make_affine(c, in, 1, &in[0]->type.shape.dim[1], true)) return false;
    Attr attrs[2] = {eps_attr(c)};
    if (kind == OP_GROUP_NORM) attrs[1] = (Attr){A_num_groups, d_int(call_int(c, A_num_groups))};
    return call_result(c, call_op(c, kind, in, 3, attrs, kind == OP_GROUP_NORM ? 2 : 1, NULL));
}

static double epsilon_of(DType dtype) {
    switch (dtype) {
    case DT_F64: return DBL_EPSILON;
    case DT_F32: return FLT_EPSILON;
    case DT_F16: return 0x1p-10;
    case DT_BF16: return 0x1p-7;
    case DT_F8E4M3: return 0x1p-3;
    case DT_F8E5M2: return 0x1p-2;
    default: ice("%s has no epsilon", dtype_name(dtype));
    }
}

/* layer_norm and rms_norm: over the last axes */
static bool bind_rows(Call *c, Typing *t, Value **in) {
    bool layer = c->info->kind == OP_LAYER_NORM;
    int64_t dims = call_int(c, A_dims);
    if (!check_dims(t, in[0], dims)) return false;
    const Shape *s = &in[0]->type.shape;
    if (call_bool(c, A_affine) &&
        !make_affine(c, in, (unsigned)dims, s->dim + s->rank - dims, layer && call_bool(c, A_bias)))
        return false;
    double eps = call_is_none(c, A_eps) ? epsilon_of(in[0]->type.dtype) : call_float(c, A_eps);
    Attr attrs[2] = {{A_dims, d_int(dims)}, {A_eps, d_float(eps)}};
    return call_result(c, call_op(c, c->info->kind, in, layer ? 3 : 2, attrs, 2, NULL));
}

static bool bind_normalize(Call *c) {
    Binding b;
    binding_plain(c, &b);
    binding_axis(&b, A_dim, b.in[0]->type.shape.rank);
    return binding_call(c, &b);
}

static bool bind(Call *c) {
    Typing t = call_typing(c);
    Value *in[6] = {call_tensor(c, A_x)};
    switch (c->info->kind) {
    case OP_BATCH_NORM: return bind_batch_norm(c, &t, in);
    case OP_LAYER_NORM: case OP_RMS_NORM: return bind_rows(c, &t, in);
    case OP_GROUP_NORM: case OP_INSTANCE_NORM: return bind_channels(c, &t, in);
    case OP_NORMALIZE: return bind_normalize(c);
    default: return bind_plain(c);
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Operands first to last, where present, have this shape and x's dtype. Those of a call of the language always do. */
static bool check_stored(Typing *t, uint32_t first, uint32_t last, unsigned rank, const uint64_t *dims) {
    Shape wanted = shape_of(rank, dims);
    for (uint32_t i = first; i <= last; i++) {
        const Value *v = typing_in(t, i);
        if (!v) continue;
        if (!typing_same_dtype(t, t->in[0], v)) return false;
        if (shape_equal(&v->type.shape, &wanted)) continue;
        Diag *d =
            diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "operand %u of %s must have the shape %s, but this is %s",
                 (unsigned)i, op_text(t), shape_text(t->ctx->scratch, &wanted), x_text(t, v));
        note_value(t->ctx, d, v);
        note_value(t->ctx, d, t->in[0]);
        return false;
    }
    return true;
}

static bool check_instance(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    uint64_t nelem = 1;
    for (unsigned i = 2; i < s->rank; i++) nelem *= s->dim[i];        /* a part of a checked product */
    return check_statistics(t, x, nelem, "channel");
}

static bool check_lrn(Typing *t, const Value *x) {
    int64_t size;
    double number;
    return need_real(t, A_alpha, &number) && need_real(t, A_beta, &number) && need_real(t, A_k, &number) &&
           need_int(t, A_size, &size) && typing_rank(t, x, 3, MAX_RANK, "[N, C, spatial...]") && typing_float(t, x) &&
           typing_at_least(t, A_size, &size, 1, 1);
}

static bool check(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    int64_t n;
    double number;
    unsigned axis;
    switch (t->kind) {
    case OP_BATCH_NORM:
        return need_real(t, A_momentum, &number) && check_channels(t, x) && check_stored(t, 1, 4, 1, &s->dim[1]);
    case OP_GROUP_NORM:
        return need_int(t, A_num_groups, &n) && check_channels(t, x) && check_groups(t, x, n) &&
               check_stored(t, 1, 2, 1, &s->dim[1]);
    case OP_INSTANCE_NORM: return check_channels(t, x) && check_instance(t, x) && check_stored(t, 1, 2, 1, &s->dim[1]);
    case OP_LAYER_NORM: case OP_RMS_NORM:
        return need_int(t, A_dims, &n) && check_dims(t, x, n) &&
               check_stored(t, 1, 2, (unsigned)n, s->dim + s->rank - n);
    case OP_LOCAL_RESPONSE_NORM: return check_lrn(t, x);
    case OP_NORMALIZE: return need_real(t, A_p, &number) && typing_float(t, x) && need_axis(t, A_dim, s->rank, &axis);
    default: ice("operator %d is no normalisation", (int)t->kind);
    }
}

static bool infer(Typing *t) {
    if (!need_operands(t, 1, t->kind == OP_BATCH_NORM ? 6 : 3) || !check(t, t->in[0])) return false;
    if (t->kind != OP_LOCAL_RESPONSE_NORM && !check_eps(t)) return false;
    const Value *x = t->in[0];
    return type_push(t, x->type.dtype, &x->type.shape);
}

const OpRules rules_norm = {.bind = bind, .infer = infer, .eval = eval_norm};
