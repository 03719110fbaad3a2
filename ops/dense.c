/* dense.c - linear, bilinear, matmul and embedding, as torch.nn.Linear, Bilinear, torch.matmul and nn.Embedding.
 *
 * linear       operands x [..., in], weight [out, in], bias [out] or none; no attributes; result [..., out]; in * out
 *              multiply-adds a row. Nothing is flattened: it works on the last axis, and x may have rank 1.
 * bilinear     x1 [..., in1], x2 [..., in2] with equal leading axes, weight [out, in1, in2], bias [out] or none
 * matmul       NumPy's: rank 1 stands for a row on the left and a column on the right, which the result does not have;
 *              leading axes broadcast. Any dtype but bool.
 * embedding    ids i32 or i64 of any shape, weight [num_embeddings, embedding_dim]; attribute padding_idx when given,
 *              counted from 0; result: ids' axes, then embedding_dim. A lookup has no multiply-adds.
 *
 * `weight=` ties linear and embedding to a tensor that exists: it is checked, not made. */
#include <math.h>

#include "ops/axes.h"
#include "ops/eval.h"

static uint64_t last_axis(const Value *v) {
    return v->type.shape.dim[v->type.shape.rank - 1];
}

static bool has_shape(const Value *v, unsigned rank, const uint64_t *dims) {
    Shape wanted = shape_of(rank, dims);
    return shape_equal(&v->type.shape, &wanted);
}

static Init uniform_within(double fan_in) {
    double bound = fan_in > 0 ? 1 / sqrt(fan_in) : 0;
    return (Init){INIT_UNIFORM, -bound, bound};
}

/* A tied weight that does not fit. */
static bool wrong_weight(Typing *t, const Value *weight, unsigned rank, const uint64_t *dims, const Value *x) {
    Shape wanted = shape_of(rank, dims);
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_weight), "%s on %s needs a weight %s, but this is %s",
                   op_info(t->kind)->name, x_text(t, x), shape_text(t->ctx->scratch, &wanted), x_text(t, weight));
    note_value(t->ctx, d, weight);
    note_value(t->ctx, d, x);
    return false;
}

static bool check_bias(Typing *t, const Value *x, const Value *bias, uint64_t out) {
    if (!bias) return true;
    if (has_shape(bias, 1, &out)) return typing_same_dtype(t, x, bias);
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "the bias of %s must be [%llu], but this is %s",
                   op_info(t->kind)->name, (unsigned long long)out, x_text(t, bias));
    note_value(t->ctx, d, bias);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Ops that keep an image an image: what they read decides whether it is one. */
static bool keeps_layout(const Op *op) {
    switch (op->kind) {
    case OP_BATCH_NORM: case OP_GROUP_NORM: case OP_INSTANCE_NORM: case OP_LOCAL_RESPONSE_NORM: return true;
    default: return op_has(op, ELEMENTWISE);
    }
}

static bool makes_image(OpKind kind) {
    switch (kind) {
    case OP_CONV2D: case OP_CONV_TRANSPOSE2D: case OP_MAX_POOL2D: case OP_AVG_POOL2D: case OP_ADAPTIVE_AVG_POOL2D:
    case OP_ADAPTIVE_MAX_POOL2D:
    case OP_GLOBAL_AVG_POOL2D:
    case OP_GLOBAL_MAX_POOL2D:
    case OP_INTERPOLATE:
    case OP_PIXEL_SHUFFLE:
    case OP_PIXEL_UNSHUFFLE: case OP_CHANNEL_SHUFFLE: return true;
    default: return false;
    }
}

/* [N, C, H, W] by where it comes from: made by an operator on images, or a square input of the net. Axes that were
 * permuted to [N, H, W, C] do not count. The walk is bounded, so that it costs O(1) a call. */
static bool is_image(const Value *x) {
    const Shape *s = &x->type.shape;
    if (s->rank != 4) return false;
    for (int steps = 0; steps < 64; steps++) {
        if (!x->def) return x->role == ROLE_INPUT && s->dim[2] == s->dim[3] && s->dim[2] > 1;
        if (makes_image(x->def->kind)) return true;
        if (!keeps_layout(x->def) || !op_in(x->def, 0)) return false;
        x = x->def->in[0];
    }
    return false;
}

/* A forgotten flatten still type-checks when the input width is inferred. Written out, `5 -> 10`, it is meant. */
static void warn_missing_flatten(Call *c, const Value *x) {
    const Arg *out = call_arg(c, A_out);
    if (out->has_from || !is_image(x)) return;
    Diag *d = diag(c->ctx, DIAG_MISSING_FLATTEN, c->span, "linear on the image-shaped %s works on its last axis, %llu",
                   type_text(c->ctx->scratch, &x->type), (unsigned long long)last_axis(x));
    note_value(c->ctx, d, x);
    diag_help(c->ctx, d,
              "flatten first: |> flatten |> linear(%lld), or write linear(%llu -> %lld) if the last axis is meant",
              (long long)out->value.i, (unsigned long long)last_axis(x), (long long)out->value.i);
}

static bool bind_linear(Call *c) {
    Typing t = call_typing(c);
    Value *x = call_tensor(c, A_x), *in[3] = {x, call_tensor(c, A_weight), NULL};
    int64_t out = call_int(c, A_out);
    if (!typing_rank(&t, x, 1, MAX_RANK, "[..., features]") || !typing_float(&t, x) ||
        !typing_at_least(&t, A_out, &out, 1, 1) || !call_check_from(c, A_out, last_axis(x), "features", x))
        return false;
    warn_missing_flatten(c, x);
    uint64_t dims[2] = {(uint64_t)out, last_axis(x)};
    if (in[1] && !has_shape(in[1], 2, dims)) return wrong_weight(&t, in[1], 2, dims, x);
    if (!in[1])
        in[1] = call_stored(c, "weight", ROLE_PARAM, x->type.dtype, 2, dims, (Init){INIT_KAIMING_UNIFORM, sqrt(5), 0});
    if (in[1] && call_bool(c, A_bias)) {
        in[2] = call_stored(c, "bias", ROLE_PARAM, x->type.dtype, 1, dims, uniform_within((double)dims[1]));
        if (!in[2]) return false;
    }
    return in[1] && call_result(c, call_op(c, OP_LINEAR, in, 3, NULL, 0, NULL));
}

static bool infer_linear(Typing *t) {
    if (!need_operands(t, 2, 3)) return false;
    const Value *x = t->in[0], *weight = t->in[1], *bias = typing_in(t, 2);
    if (!typing_rank(t, x, 1, MAX_RANK, "[..., features]") || !typing_float(t, x)) return false;
    uint64_t out = weight->type.shape.rank == 2 ? weight->type.shape.dim[0] : 0, dims[2] = {out, last_axis(x)};
    if (!has_shape(weight, 2, dims)) return wrong_weight(t, weight, 2, dims, x);
    if (!typing_same_dtype(t, x, weight) || !check_bias(t, x, bias, out)) return false;
    Shape s = x->type.shape;
    s.dim[s.rank - 1] = out;
    return type_push(t, x->type.dtype, &s);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool check_rows(Typing *t, const Value *a, const Value *b) {
    Shape x = a->type.shape, y = b->type.shape;
    if (!typing_rank(t, a, 1, MAX_RANK, "[..., features]") || !typing_rank(t, b, 1, MAX_RANK, "[..., features]"))
        return false;
    x.dim[x.rank - 1] = y.dim[y.rank - 1] = 1;
    if (shape_equal(&x, &y)) return typing_float(t, a) && typing_same_dtype(t, a, b);
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "bilinear needs equal leading axes, but these are %s and %s",
                   x_text(t, a), x_text(t, b));
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    return false;
}

static bool bind_bilinear(Call *c) {
    Typing t = call_typing(c);
    Value *in[4] = {call_tensor(c, A_x1), call_tensor(c, A_x2), NULL, NULL};
    int64_t out = call_int(c, A_out);
    if (!check_rows(&t, in[0], in[1]) || !typing_at_least(&t, A_out, &out, 1, 1) ||
        !call_check_from(c, A_out, last_axis(in[0]), "features", in[0]))
        return false;
    uint64_t dims[3] = {(uint64_t)out, last_axis(in[0]), last_axis(in[1])};
    Init init = uniform_within((double)dims[1]);
    in[2] = call_stored(c, "weight", ROLE_PARAM, in[0]->type.dtype, 3, dims, init);
    if (in[2] && call_bool(c, A_bias)) {
        in[3] = call_stored(c, "bias", ROLE_PARAM, in[0]->type.dtype, 1, dims, init);
        if (!in[3]) return false;
    }
    return in[2] && call_result(c, call_op(c, OP_BILINEAR, in, 4, NULL, 0, NULL));
}

static bool infer_bilinear(Typing *t) {
    if (!need_operands(t, 3, 4)) return false;
    const Value *a = t->in[0], *b = t->in[1], *weight = t->in[2], *bias = typing_in(t, 3);
    if (!check_rows(t, a, b)) return false;
    uint64_t out = weight->type.shape.rank == 3 ? weight->type.shape.dim[0] : 0,
             dims[3] = {out, last_axis(a), last_axis(b)};
    if (!has_shape(weight, 3, dims)) return wrong_weight(t, weight, 3, dims, a);
    if (!typing_same_dtype(t, a, weight) || !check_bias(t, a, bias, out)) return false;
    Shape s = a->type.shape;
    s.dim[s.rank - 1] = out;
    return type_push(t, a->type.dtype, &s);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* The axis of each operand that is summed over. */
static uint64_t inner_right(const Value *b) {
    const Shape *s = &b->type.shape;
    return s->dim[s->rank == 1 ? 0 : s->rank - 2];
}

/* The leading axes of both, broadcast; rows and columns are the caller's. */
static bool batch_axes(Typing *t, const Value *a, const Value *b, Shape *s) {
    const Shape *x = &a->type.shape, *y = &b->type.shape;
    unsigned nx = x->rank > 2 ? x->rank - 2u : 0, ny = y->rank > 2 ? y->rank - 2u : 0, n = nx > ny ? nx : ny;
    for (unsigned i = 1; i <= n; i++) {
        uint64_t dx = i <= nx ? x->dim[nx - i] : 1, dy = i <= ny ? y->dim[ny - i] : 1;
        if (dx != dy && dx != 1 && dy != 1) {
            Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span,
                           "matmul cannot broadcast the leading axes of %s and %s: %llu and %llu", x_text(t, a),
                           x_text(t, b), (unsigned long long)dx, (unsigned long long)dy);
            note_value(t->ctx, d, a);
            note_value(t->ctx, d, b);
            return false;
        }
        s->dim[n - i] = dx == 1 ? dy : dx;
    }
    s->rank = (uint8_t)n;
    return true;
}

static bool wrong_inner(Typing *t, const Value *a, const Value *b) {
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span,
                   "matmul of %s and %s: the last axis of the left is %llu, but %s of the right is %llu", x_text(t, a),
                   x_text(t, b), (unsigned long long)last_axis(a),
                   b->type.shape.rank == 1 ? "the axis" : "the last axis but one", (unsigned long long)inner_right(b));
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    if (b->type.shape.rank >= 2 && last_axis(b) == last_axis(a))
        diag_help(t->ctx, d, "transpose the right: .transpose(-2, -1)");
    return false;
}

static bool infer_matmul(Typing *t) {
    if (!need_operands(t, 2, 2)) return false;
    const Value *a = t->in[0], *b = t->in[1];
    Shape s = {.rank = 0};
    if (!typing_rank(t, a, 1, MAX_RANK, "vectors and matrices") ||
        !typing_rank(t, b, 1, MAX_RANK, "vectors and matrices") || !need_numbers(t, a, "cast it first: |> cast(f32)") ||
        !typing_same_dtype(t, a, b))
        return false;
    if (last_axis(a) != inner_right(b)) return wrong_inner(t, a, b);
    if (!batch_axes(t, a, b, &s)) return false;
    if (a->type.shape.rank > 1) s.dim[s.rank++] = a->type.shape.dim[a->type.shape.rank - 2];
    if (b->type.shape.rank > 1) s.dim[s.rank++] = last_axis(b);
    return type_push(t, a->type.dtype, &s);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool check_ids(Typing *t, const Value *ids) {
    if (ids->type.dtype == DT_I64 || ids->type.dtype == DT_I32) return true;
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, t->span, "embedding takes integer ids, i64 or i32, but this is %s",
                   x_text(t, ids));
    note_value(t->ctx, d, ids);
    if (!dtype_is_float(ids->type.dtype)) diag_help(t->ctx, d, "cast it first: |> cast(i64)");
    return false;
}

static bool padding_row(Call *c, int64_t rows, int64_t *row) {
    const Arg *a = call_arg(c, A_padding_idx);
    *row = a->value.i < 0 ? a->value.i + rows : a->value.i;
    if (*row >= 0 && *row < rows) return true;
    diag(c->ctx, DIAG_ARGUMENT_VALUE, a->span, "padding_idx %lld is no row of an embedding of %lld",
         (long long)a->value.i, (long long)rows);
    return false;
}

static bool bind_embedding(Call *c) {
    Typing t = call_typing(c);
    Value *in[2] = {call_tensor(c, A_x), call_tensor(c, A_weight)};
    int64_t rows = call_int(c, A_num_embeddings), width = call_int(c, A_embedding_dim), row;
    uint64_t dims[2] = {(uint64_t)rows, (uint64_t)width};
    Attr attr;
    uint32_t nattrs = 0;
    if (!check_ids(&t, in[0]) || !typing_at_least(&t, A_num_embeddings, &rows, 1, 1) ||
        !typing_at_least(&t, A_embedding_dim, &width, 1, 1))
        return false;
    if (!call_is_none(c, A_padding_idx)) {
        if (!padding_row(c, rows, &row)) return false;
        attr = (Attr){A_padding_idx, d_int(row)};
        nattrs = 1;
    }
    if (in[1] && !has_shape(in[1], 2, dims)) return wrong_weight(&t, in[1], 2, dims, in[0]);
    if (!in[1]) in[1] = call_stored(c, "weight", ROLE_PARAM, DT_F32, 2, dims, (Init){INIT_NORMAL, 0, 1});
    return in[1] && call_result(c, call_op(c, OP_EMBEDDING, in, 2, &attr, nattrs, NULL));
}

static bool infer_embedding(Typing *t) {
    if (!need_operands(t, 2, 2)) return false;
    const Value *ids = t->in[0], *weight = t->in[1];
    if (!check_ids(t, ids) || !typing_float(t, weight)) return false;
    if (!typing_rank(t, ids, 0, MAX_RANK - 1, "ids") || !typing_rank(t, weight, 2, 2, "a weight [rows, width]"))
        return false;
    Shape s = ids->type.shape;
    s.dim[s.rank++] = weight->type.shape.dim[1];
    return type_push(t, weight->type.dtype, &s);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool bind(Call *c) {
    switch (c->info->kind) {
    case OP_LINEAR: return bind_linear(c);
    case OP_BILINEAR: return bind_bilinear(c);
    case OP_EMBEDDING: return bind_embedding(c);
    default: return bind_plain(c);
    }
}

static bool infer(Typing *t) {
    switch (t->kind) {
    case OP_LINEAR: return infer_linear(t);
    case OP_BILINEAR: return infer_bilinear(t);
    case OP_MATMUL: return infer_matmul(t);
    case OP_EMBEDDING: return infer_embedding(t);
    default: ice("operator %d is not dense", (int)t->kind);
    }
}

/* Each element of the result sums over the weight's inner axes, or over matmul's inner axis. */
static uint64_t macs(const Op *op) {
    uint64_t inner, n;
    switch (op->kind) {
    case OP_LINEAR: inner = last_axis(op->in[0]); break;
    case OP_MATMUL: inner = last_axis(op->in[0]); break;
    case OP_BILINEAR:
        if (!mul_u64(last_axis(op->in[0]), last_axis(op->in[1]), &inner)) return UINT64_MAX;
        break;
    default: return 0;
    }
    return mul_u64(op->out[0]->nelem, inner, &n) ? n : UINT64_MAX;
}

const OpRules rules_dense = {.bind = bind, .infer = infer, .macs = macs, .eval = eval_dense};
