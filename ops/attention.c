/* attention.c - scaled_dot_product_attention as one operator, and multihead_attention, which bind expands into linear,
 * reshape, permute, select and scaled_dot_product_attention, with torch.nn.MultiheadAttention's parameters.
 *
 * scaled_dot_product_attention
 *   Operands     q [..., H, L, E], k [..., G, S, E], v [..., G, S, F], attn_mask or none: bool (true takes part) or of
 *                q's dtype (added to the scores), broadcast to [..., H, L, S]. Rank 3 or 4 for all of q, k, v.
 *   Attributes   is_causal, scale (none of the source is resolved to 1 / sqrt(E)), enable_gqa: G may divide H
 *   Result       [..., H, L, F]
 *   Multiply-adds  both products whole, also when causal: rows * S * (E + F)
 *   Workspace    the scores, unless fused: then softmax runs online over the keys (Milakov and Gimelshein 2018)
 *   Leading axes must be equal; PyTorch's math path would broadcast them.
 *
 * multihead_attention: x is [N, L, E], [L, N, E] with batch_first=false, or [L, E]. As in PyTorch, and unlike above,
 * true in a bool attn_mask means "left out"; a mask is [L, S] or [N * heads, L, S]. */
#include <math.h>

#include "ops/axes.h"
#include "ops/eval.h"

typedef unsigned long long ull;

static uint64_t axis_from_end(const Value *v, unsigned i) {
    return v->type.shape.dim[v->type.shape.rank - i];
}

/* Two operands do not fit: says which axes, and where both come from. */
static bool unfit(Typing *t, const Value *a, const Value *b, const char *why) {
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s on %s and %s: %s", op_info(t->kind)->name, x_text(t, a),
                   x_text(t, b), why);
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    return false;
}

static bool masked_twice(Ctx *ctx, Span span, const char *name) {
    Diag *d = diag(ctx, DIAG_ARGUMENT_VALUE, span, "%s takes attn_mask or is_causal=true, not both", name);
    diag_help(ctx, d, "put the causal part into the mask");
    return false;
}

/* ---- scaled_dot_product_attention */

/* The default scale is a value like one that was written, so that the attributes have one order. */
static bool bind_sdpa(Call *c) {
    const Value *q = call_tensor(c, A_q);
    Arg *scale = call_arg(c, A_scale);
    if (scale->value.kind == D_NONE && q->type.shape.rank > 0 && axis_from_end(q, 1) > 0)
        scale->value = d_float(1 / sqrt((double)axis_from_end(q, 1)));
    return bind_plain(c);
}

/* Are the heads of k (or v) those of q, or groups of them where that is asked for? */
static bool check_heads(Typing *t, const Value *q, const Value *k, bool grouped) {
    uint64_t heads = axis_from_end(q, 3), groups = axis_from_end(k, 3);
    bool divides = groups > 0 && heads % groups == 0;
    if (heads == groups || (grouped && divides)) return true;
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s on %s and %s: %llu heads %s %llu", op_info(t->kind)->name,
                   x_text(t, q), x_text(t, k), (ull)heads, grouped ? "are no multiple of" : "meet", (ull)groups);
    note_value(t->ctx, d, q);
    note_value(t->ctx, d, k);
    if (divides) diag_help(t->ctx, d, "grouped heads are asked for: enable_gqa=true");
    return false;
}

static bool check_keys(Typing *t, const Value *q, const Value *k, const Value *v) {
    bool grouped = flag_of(t, A_enable_gqa);
    if (!typing_rank(t, q, 3, 4, "[..., heads, length, width]") || !typing_float(t, q)) return false;
    if (k->type.shape.rank != q->type.shape.rank) return unfit(t, q, k, "their ranks differ");
    if (v->type.shape.rank != q->type.shape.rank) return unfit(t, q, v, "their ranks differ");
    if (!typing_same_dtype(t, q, k) || !typing_same_dtype(t, q, v)) return false;
    if (axis_from_end(q, 1) != axis_from_end(k, 1)) return unfit(t, q, k, "the widths of queries and keys differ");
    if (axis_from_end(q, 1) == 0) return unfit(t, q, k, "queries and keys are empty");
    if (axis_from_end(k, 2) != axis_from_end(v, 2)) return unfit(t, k, v, "the numbers of keys and values differ");
    if (q->type.shape.rank == 4 && axis_from_end(q, 4) != axis_from_end(k, 4))
        return unfit(t, q, k, "the batches differ");
    if (q->type.shape.rank == 4 && axis_from_end(q, 4) != axis_from_end(v, 4))
        return unfit(t, q, v, "the batches differ");
    return check_heads(t, q, k, grouped) && check_heads(t, q, v, grouped);
}

static Shape scores_shape(const Value *q, const Value *k) {
    Shape s = q->type.shape;
    s.dim[s.rank - 1] = axis_from_end(k, 2);
    return s;
}

static bool check_mask(Typing *t, const Value *mask, const Shape *scores) {
    const Shape *m = &mask->type.shape;
    DType dtype = t->in[0]->type.dtype;
    bool fits = m->rank <= scores->rank;
    for (unsigned i = 1; fits && i <= m->rank; i++) {
        uint64_t n = axis_from_end(mask, i);
        fits = n == 1 || n == scores->dim[scores->rank - i];
    }
    if (fits && (mask->type.dtype == DT_BOOL || mask->type.dtype == dtype)) return true;
    Diag *d =
        diag(t->ctx, fits ? DIAG_DTYPE_MISMATCH : DIAG_SHAPE_MISMATCH, typing_span(t, A_attn_mask),
             fits ? "the mask of %s must be bool or %s, but this is %s"
                  : "the mask of %s must broadcast to %s, but this is %s",
             op_info(t->kind)->name, fits ? dtype_name(dtype) : shape_text(t->ctx->scratch, scores), x_text(t, mask));
    note_value(t->ctx, d, mask);
    return false;
}

static bool infer(Typing *t) {
    if (!need_operands(t, 3, 4) || !need_attr(t, A_is_causal, D_BOOL) ||
        !need_attr(t, A_enable_gqa, D_BOOL))
        return false;
    const Value *q = t->in[0], *k = t->in[1], *v = t->in[2], *mask = typing_in(t, 3);
    if (!check_keys(t, q, k, v) || !need_attr(t, A_scale, D_FLOAT)) return false;
    Shape scores = scores_shape(q, k), s = q->type.shape;
    Type score_type = {q->type.dtype, scores};
    uint64_t nbytes;
    if (!type_bytes(&score_type, &nbytes)) {
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "the scores of %s, %s, are larger than 2^63 - 1 bytes",
             op_info(t->kind)->name, type_text(t->ctx->scratch, &score_type));
        return false;
    }
    if (mask && flag_of(t, A_is_causal))
        return masked_twice(t->ctx, typing_span(t, A_is_causal), op_info(t->kind)->name);
    if (mask && !check_mask(t, mask, &scores)) return false;
    s.dim[s.rank - 1] = axis_from_end(v, 1);
    return type_push(t, q->type.dtype, &s);
}

static uint64_t score_elems(const Op *op) {
    Shape s = scores_shape(op->in[0], op->in[1]);
    return shape_elems(&s);
}

static uint64_t macs(const Op *op) {
    uint64_t widths, n;
    bool fits = add_u64(axis_from_end(op->in[0], 1), axis_from_end(op->in[2], 1), &widths) &&
                mul_u64(score_elems(op), widths, &n);
    return fits ? n : UINT64_MAX;
}

static uint64_t scratch(const Op *op, bool fused) {
    Type t = {op->in[0]->type.dtype, scores_shape(op->in[0], op->in[1])};
    uint64_t nbytes;
    if (!type_bytes(&t, &nbytes)) ice("the scores of %s were not checked", op->path);
    return fused ? 0 : nbytes;
}

/* ---- multihead_attention */

typedef struct Heads {
    Call *c;
    bool batched, batch_first;
    int64_t batch, heads, width;                          /* width: of one head */
} Heads;

static Value *only(Op *op) {
    return op ? op->out[0] : NULL;
}

static Value *reshape(Call *c, Value *x, const int64_t *dims, uint32_t n, const char *suffix) {
    Attr shape = {A_shape, d_ints(c->ctx->unit, dims, n)};
    return only(call_op(c, OP_RESHAPE, &x, 1, &shape, 1, suffix));
}

static Value *permute(Call *c, Value *x, const int64_t *dims, uint32_t n, const char *suffix) {
    Attr order = {A_dims, d_ints(c->ctx->unit, dims, n)};
    return only(call_op(c, OP_PERMUTE, &x, 1, &order, 1, suffix));
}

/* Rows lo to hi of a weight or bias; the whole of it is itself. */
static Value *rows(Call *c, Value *w, int64_t lo, int64_t hi, const char *suffix) {
    if (!w || (lo == 0 && (uint64_t)hi == w->type.shape.dim[0])) return w;
    Attr attrs[4] = {{A_dim, d_int(0)}, {A_start, d_int(lo)}, {A_end, d_int(hi)}, {A_step, d_int(1)}};
    return only(call_op(c, OP_SLICE, &w, 1, attrs, 4, suffix));
}

/* [N, L, parts * E] to `parts` values [N, heads, L, width]: one permute, whose parts then lie one behind the other. */
static bool split_heads(const Heads *h, Value *x, uint32_t parts, Value **out) {
    int64_t dims[5], order[5];
    uint32_t lead = h->batched ? 2 : 1, n = 0, m = 0, sequence = h->batched && h->batch_first ? 1 : 0;
    for (; n < lead; n++) dims[n] = (int64_t)x->type.shape.dim[n];
    if (parts > 1) {
        order[m++] = n;
        dims[n++] = parts;
    }
    dims[n] = h->heads;
    dims[n + 1] = h->width;
    if (h->batched) order[m++] = 1 - sequence;
    order[m++] = n;
    order[m++] = sequence;
    order[m++] = n + 1;
    Value *split = reshape(h->c, x, dims, n + 2, "split"),
          *moved = split ? permute(h->c, split, order, m, "heads") : NULL;
    out[0] = moved;
    for (uint32_t i = 0; moved && parts > 1 && i < parts; i++) {
        Attr attrs[2] = {{A_dim, d_int(0)}, {A_index, d_int(i)}};
        out[i] = only(call_op(h->c, OP_SELECT, &moved, 1, attrs, 2, "part"));
        if (!out[i]) return false;
    }
    return moved != NULL;
}

/* [N, heads, L, width] back to the form of the query. */
static Value *join_heads(const Heads *h, Value *x, const Value *q) {
    static const int64_t first[] = {0, 2, 1, 3}, second[] = {2, 0, 1, 3}, alone[] = {1, 0, 2};
    const int64_t *order = !h->batched ? alone : h->batch_first ? first : second;
    Value *moved = permute(h->c, x, order, h->batched ? 4 : 3, "join");
    int64_t dims[3];
    for (unsigned i = 0; i < q->type.shape.rank; i++) dims[i] = (int64_t)q->type.shape.dim[i];
    return moved ? reshape(h->c, moved, dims, q->type.shape.rank, "merge") : NULL;
}

static Value *linear(Call *c, Value *x, Value *weight, Value *bias, const char *suffix) {
    Value *in[3] = {x, weight, bias};
    return weight ? only(call_op(c, OP_LINEAR, in, 3, NULL, 0, suffix)) : NULL;
}

/* The parameters, in PyTorch's order. weight[0] alone is in_proj_weight; else there is one for each of q, k, v. */
typedef struct Stored { Value *weight[3], *in_bias, *out_weight, *out_bias; bool packed; } Stored;

static Value *projection(Call *c, const char *name, uint64_t out, uint64_t in) {
    double bound = in + out > 0 ? sqrt(6 / (double)(in + out)) : 0;                    /* xavier_uniform */
    return call_stored(c, name, ROLE_PARAM, call_tensor(c, A_q)->type.dtype, 2, (uint64_t[]){out, in},
                       (Init){INIT_UNIFORM, -bound, bound});
}

static bool make_stored(Call *c, const Value *q, const Value *k, const Value *v, Stored *s) {
    uint64_t e = axis_from_end(q, 1), kdim = axis_from_end(k, 1), vdim = axis_from_end(v, 1);
    DType dtype = q->type.dtype;
    Init zeros = {INIT_ZEROS, 0, 0};
    bool bias = call_bool(c, A_bias);
    *s = (Stored){.packed = kdim == e && vdim == e};
    s->weight[0] = s->packed ? projection(c, "in_proj_weight", 3 * e, e) : projection(c, "q_proj_weight", e, e);
    if (!s->packed && s->weight[0]) s->weight[1] = projection(c, "k_proj_weight", e, kdim);
    if (!s->packed && s->weight[1]) s->weight[2] = projection(c, "v_proj_weight", e, vdim);
    if (!s->weight[s->packed ? 0 : 2]) return false;
    if (bias && !(s->in_bias = call_stored(c, "in_proj_bias", ROLE_PARAM, dtype, 1, (uint64_t[]){3 * e}, zeros)))
        return false;
    s->out_weight = call_stored(c, "out_proj.weight", ROLE_PARAM, dtype, 2, (uint64_t[]){e, e},
                                (Init){INIT_KAIMING_UNIFORM, sqrt(5), 0});
    if (s->out_weight && bias) s->out_bias = call_stored(c, "out_proj.bias", ROLE_PARAM, dtype, 1, &e, zeros);
    return s->out_weight && (!bias || s->out_bias);
}

/* Projects operands that are the same tensor together: self-attention is one product, a common memory of keys and
 * values two. */
static bool project(const Heads *h, Value *const x[3], const Stored *s, Value *out[3]) {
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    int64_t e = h->heads * h->width;
    for (uint32_t i = 0, n; i < 3; i += n) {
        for (n = 1; s->packed && i + n < 3 && x[i + n] == x[i];) n++;
        const char *name = n > 1 ? "in_proj" : names[i];
        Value *weight = s->packed ? rows(h->c, s->weight[0], i * e, (i + n) * e, "in_proj_weight") : s->weight[i];
        Value *bias = rows(h->c, s->in_bias, i * e, (i + n) * e, "in_proj_bias");
        Value *y = linear(h->c, x[i], weight, bias, name);
        if (!y || !split_heads(h, y, n, out + i)) return false;
    }
    return true;
}

/* A mask in the form that the operator takes: true takes part, heads an axis of their own. */
static bool convert_mask(const Heads *h, Value *mask, Value **out) {
    *out = mask;
    if (mask && mask->type.shape.rank == 3 && h->batched) {
        int64_t dims[4] = {h->batch, h->heads, (int64_t)mask->type.shape.dim[1], (int64_t)mask->type.shape.dim[2]};
        *out = reshape(h->c, mask, dims, 4, "mask");
    }
    if (*out && mask->type.dtype == DT_BOOL) *out = only(call_op(h->c, OP_LOGICAL_NOT, out, 1, NULL, 0, "taking_part"));
    return *out || !mask;
}

static bool check_width(Call *c, Typing *t, AttrName name, const Value *q, const Value *k) {
    uint64_t actual = axis_from_end(k, 1), wanted = axis_from_end(q, 1);
    const Arg *a = call_arg(c, name);
    if (a->value.kind == D_INT) wanted = a->value.i < 0 ? 0 : (uint64_t)a->value.i;
    if (actual == wanted && actual > 0) return true;
    Diag *d =
        diag(t->ctx, DIAG_SHAPE_MISMATCH, a->span, "%s of multihead_attention is %llu, but the last axis of %s is %llu",
             attr_name(name), (ull)wanted, x_text(t, k), (ull)actual);
    note_value(t->ctx, d, k);
    if (a->value.kind != D_INT)
        diag_help(t->ctx, d, "another width than the query's is written: %s=%llu", attr_name(name), (ull)actual);
    return false;
}

static bool check_operands(Call *c, Typing *t, Value *const x[3], const Heads *h) {
    const Value *q = x[0], *k = x[1], *v = x[2];
    const char *form = h->batch_first ? "[N, L, E] or [L, E]" : "[L, N, E] or [L, E]";
    uint64_t e = axis_from_end(q, 1);
    unsigned rank = q->type.shape.rank, batch = h->batch_first ? 0 : 1, sequence = h->batched ? 1 - batch : 0;
    if (!typing_float(t, q) || !typing_rank(t, k, rank, rank, form) || !typing_rank(t, v, rank, rank, form))
        return false;
    if (!typing_same_dtype(t, q, k) || !typing_same_dtype(t, q, v)) return false;
    if (!typing_at_least(t, A_num_heads, &h->heads, 1, 1)) return false;
    if (e == 0 || e % (uint64_t)h->heads != 0) {
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_num_heads),
                       "%lld heads do not divide the width %llu of %s", (long long)h->heads, (ull)e, x_text(t, q));
        note_value(t->ctx, d, q);
        return false;
    }
    if (h->batched && k->type.shape.dim[batch] != q->type.shape.dim[batch]) return unfit(t, q, k, "the batches differ");
    if (h->batched && v->type.shape.dim[batch] != q->type.shape.dim[batch]) return unfit(t, q, v, "the batches differ");
    if (k->type.shape.dim[sequence] != v->type.shape.dim[sequence])
        return unfit(t, k, v, "the numbers of keys and values differ");
    return check_width(c, t, A_kdim, q, k) && check_width(c, t, A_vdim, q, v);
}

static bool check_mha_mask(Call *c, Typing *t, const Value *mask, const Heads *h, uint64_t length, uint64_t keys) {
    if (!mask) return true;
    if (call_bool(c, A_is_causal)) return masked_twice(c->ctx, call_arg(c, A_is_causal)->span, c->info->name);
    DType dtype = call_tensor(c, A_q)->type.dtype;
    uint64_t rows_of_all;
    if (!mul_u64((uint64_t)h->batch, (uint64_t)h->heads, &rows_of_all)) rows_of_all = UINT64_MAX;
    Shape flat = shape_of(2, (uint64_t[]){length, keys}), each = shape_of(3, (uint64_t[]){rows_of_all, length, keys});
    bool fits = shape_equal(&mask->type.shape, &flat) || shape_equal(&mask->type.shape, &each);
    if (fits && (mask->type.dtype == DT_BOOL || mask->type.dtype == dtype)) return true;
    const char *wants = fits ? arena_printf(c->ctx->scratch, "bool or %s", dtype_name(dtype))
                             : arena_printf(c->ctx->scratch, "%s or %s", shape_text(c->ctx->scratch, &flat),
                                            shape_text(c->ctx->scratch, &each));
    Diag *d = diag(c->ctx, fits ? DIAG_DTYPE_MISMATCH : DIAG_SHAPE_MISMATCH, call_arg(c, A_attn_mask)->span,
                   "the mask of multihead_attention must be %s, but this is %s", wants, x_text(t, mask));
    note_value(c->ctx, d, mask);
    return false;
}

static Heads heads_of(Call *c, const Value *q) {
    Heads h = {.c = c, .batched = q->type.shape.rank == 3, .batch_first = call_bool(c, A_batch_first), .batch = 1};
    h.heads = call_int(c, A_num_heads);
    if (h.batched) h.batch = (int64_t)q->type.shape.dim[h.batch_first ? 0 : 1];
    if (h.heads > 0) h.width = (int64_t)axis_from_end(q, 1) / h.heads;
    return h;
}

static bool bind_mha(Call *c) {
    Typing t = call_typing(c);
    Value *q = call_tensor(c, A_q), *k = call_tensor(c, A_k), *v = call_tensor(c, A_v),
          *mask = call_tensor(c, A_attn_mask);
    if (!typing_rank(&t, q, 2, 3, call_bool(c, A_batch_first) ? "[N, L, E] or [L, E]" : "[L, N, E] or [L, E]"))
        return false;
    Value *x[3] = {q, k ? k : q, v ? v : k ? k : q}, *in[4] = {NULL};
    Heads h = heads_of(c, q);
    Stored s;
    if (!check_operands(c, &t, x, &h)) return false;
    unsigned sequence = h.batched && h.batch_first ? 1 : 0;
    if (!check_mha_mask(c, &t, mask, &h, q->type.shape.dim[sequence], x[1]->type.shape.dim[sequence])) return false;
    if (!make_stored(c, q, x[1], x[2], &s) || !project(&h, x, &s, in) || !convert_mask(&h, mask, &in[3])) return false;
    Attr attrs[3] = {{A_is_causal, d_bool(call_bool(c, A_is_causal))},
                     {A_scale, d_float(1 / sqrt((double)h.width))},
                     {A_enable_gqa, d_bool(false)}};
    Value *y = only(call_op(c, OP_SDPA, in, 4, attrs, 3, "attention"));
    if (y) y = join_heads(&h, y, q);
    Value *out[3] = {y, s.out_weight, s.out_bias};
    return y && call_result(c, call_op(c, OP_LINEAR, out, 3, NULL, 0, NULL));
}

static bool bind(Call *c) {
    return c->info->kind == OP_SDPA ? bind_sdpa(c) : bind_mha(c);
}

const OpRules rules_attention = {
    .bind = bind, .infer = infer, .macs = macs, .scratch = scratch, .eval = eval_attention};
