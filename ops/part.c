/* part.c - parts of one operand along one axis: chunk, split, slice, select, narrow. Python's and PyTorch's rules:
 * slice bounds are clamped, an index is not; chunk rounds the size of a piece up and so may give fewer pieces than
 * asked for.
 *
 * Normalised attributes, dim and positions counted from the front:
 *   chunk  chunks, dim; split  split_size: the sizes of all pieces, dim
 *   slice  dim, start, end, step with 0 <= start <= end <= extent, step >= 1
 *   select dim, index; narrow dim, start, length */
#include "ops/axes.h"
#include "ops/eval.h"

typedef unsigned long long ull;

/* ---- binding ---- */

static int64_t clamp_bound(int64_t i, int64_t extent) {
    if (i < 0) i = i < -extent ? 0 : i + extent;
    return i > extent ? extent : i;
}

static void bind_slice(Call *c, Binding *b, int64_t extent) {
    const Datum *start = binding_get(b, A_start), *end = binding_get(b, A_end);
    int64_t lo = start ? clamp_bound(start->i, extent) : 0, hi = end ? clamp_bound(end->i, extent) : extent;
    binding_set(c, b, A_start, d_int(lo));
    binding_set(c, b, A_end, d_int(hi < lo ? lo : hi));
}

/* One size for all pieces becomes the list of them. Too many to list, or a size that cannot be, stays for infer. */
static void bind_split(Call *c, Binding *b, int64_t extent) {
    const Datum *d = binding_get(b, A_split_size);
    if (!d || d->kind != D_INT || d->i < 0 || (d->i == 0 && extent > 0)) return;
    int64_t size = d->i, n = extent == 0 ? 1 : (extent - 1) / size + 1;
    if ((uint64_t)n > c->ctx->max_ops) return;
    int64_t *sizes = NEW_ARRAY(c->ctx->unit, int64_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) sizes[i] = i < n - 1 ? size : extent - size * (n - 1);
    binding_set(c, b, A_split_size, d_ints(c->ctx->unit, sizes, (uint32_t)n));
}

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    const Shape *s = &b.in[0]->type.shape;
    binding_axis(&b, A_dim, s->rank);
    int64_t dim = binding_get(&b, A_dim)->i;
    if (dim < 0 || dim >= s->rank) return binding_call(c, &b);
    int64_t extent = (int64_t)s->dim[dim];
    switch (c->info->kind) {
    case OP_SLICE: bind_slice(c, &b, extent); break;
    case OP_SPLIT: bind_split(c, &b, extent); break;
    case OP_SELECT: case OP_NARROW: {
        Datum *at = binding_get(&b, c->info->kind == OP_SELECT ? A_index : A_start);
        if (at->i < 0 && at->i >= -extent) at->i += extent;
        break;
    }
    default: break;
    }
    return binding_call(c, &b);
}

/* ---- types ---- */

static bool too_many(Typing *t, uint64_t n) {
    if (n <= t->ctx->max_ops) return false;
    diag(t->ctx, DIAG_UNROLL_LIMIT, t->span, "%s would make %llu pieces, more than the limit of %llu operators",
         op_info(t->kind)->name, (ull)n, (ull)t->ctx->max_ops);
    return true;
}

static bool push_part(Typing *t, unsigned axis, uint64_t extent) {
    const Value *x = t->in[0];
    Shape r = x->type.shape;
    r.dim[axis] = extent;
    return type_push(t, x->type.dtype, &r);
}

static bool out_of_axis(Typing *t, DiagCode code, AttrName name, unsigned axis, const char *text) {
    const Value *x = t->in[0];
    Diag *d = diag(t->ctx, code, typing_span(t, name), "%s, but axis %u of %s has %llu element%s", text, axis,
                   x_text(t, x), (ull)x->type.shape.dim[axis], x->type.shape.dim[axis] == 1 ? "" : "s");
    note_value(t->ctx, d, x);
    return false;
}

/* ATen splits an empty axis into as many empty chunks as were asked for. */
static bool infer_chunk(Typing *t, unsigned axis, uint64_t extent) {
    int64_t chunks;
    if (!need_int(t, A_chunks, &chunks)) return false;
    if (chunks < 1) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_chunks), "chunk cannot make %lld pieces", (long long)chunks);
        return false;
    }
    uint64_t size = extent / (uint64_t)chunks + (extent % (uint64_t)chunks != 0);
    uint64_t n = size ? (extent - 1) / size + 1 : (uint64_t)chunks;
    if (too_many(t, n)) return false;
    for (uint64_t i = 0; i < n; i++)
        if (!push_part(t, axis, i < n - 1 ? size : extent - size * (n - 1))) return false;
    return true;
}

static bool split_size_refused(Typing *t, int64_t size) {
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_split_size), "split cannot make pieces of size %lld",
                   (long long)size);
    note_value(t->ctx, d, t->in[0]);
    return false;
}

static bool sizes_are_ints(Typing *t, const Datum *sizes) {
    bool ok = sizes->kind == D_LIST;
    for (uint32_t i = 0; ok && i < sizes->list.n; i++) ok = sizes->list.p[i].kind == D_INT;
    if (!ok)
        diag(t->ctx, DIAG_ARGUMENT_TYPE, typing_span(t, A_split_size),
             "split_size must be an int or a tuple of ints");
    return ok;
}

static bool infer_split(Typing *t, unsigned axis, uint64_t extent) {
    const Datum *sizes = typing_attr(t, A_split_size);
    if (!sizes) return need_attr(t, A_split_size, D_LIST) != NULL;
    if (sizes->kind == D_INT && sizes->i > 0 && too_many(t, extent / (uint64_t)sizes->i + 1)) return false;
    if (sizes->kind == D_INT) return split_size_refused(t, sizes->i);
    if (!sizes_are_ints(t, sizes)) return false;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sizes->list.n; i++) {
        int64_t size = sizes->list.p[i].i;
        if (size < 0) return split_size_refused(t, size);
        if (!add_u64(sum, (uint64_t)size, &sum)) sum = UINT64_MAX;
    }
    if (sum != extent || sizes->list.n == 0)
        return out_of_axis(t, DIAG_SHAPE_MISMATCH, A_split_size, axis,
                           arena_printf(t->ctx->scratch, "the sizes of split have the sum %llu", (ull)sum));
    for (uint32_t i = 0; i < sizes->list.n; i++)
        if (!push_part(t, axis, (uint64_t)sizes->list.p[i].i)) return false;
    return true;
}

static bool infer_slice(Typing *t, unsigned axis, uint64_t extent) {
    int64_t start, end, step;
    if (!need_int(t, A_start, &start) || !need_int(t, A_end, &end) || !need_int(t, A_step, &step)) return false;
    if (step < 1) {
        Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_step),
                       "the step of a slice must be positive, not %lld", (long long)step);
        diag_help(t->ctx, d, "flip(x, dims=%u) reverses an axis", axis);
        return false;
    }
    if (start < 0 || end < start || (uint64_t)end > extent)
        return out_of_axis(t, DIAG_INDEX_RANGE, A_start, axis,
                           arena_printf(t->ctx->scratch, "slice from %lld to %lld", (long long)start, (long long)end));
    uint64_t span = (uint64_t)(end - start), n = span / (uint64_t)step + (span % (uint64_t)step != 0);
    return push_part(t, axis, n);
}

static bool infer_select(Typing *t, unsigned axis, uint64_t extent) {
    const Value *x = t->in[0];
    Shape r = {0};
    int64_t index;
    if (!need_int(t, A_index, &index)) return false;
    if (index < 0 || (uint64_t)index >= extent)
        return out_of_axis(t, DIAG_INDEX_RANGE, A_index, axis,
                           arena_printf(t->ctx->scratch, "index %lld is asked for", (long long)index));
    for (unsigned i = 0; i < x->type.shape.rank; i++)
        if (i != axis) r.dim[r.rank++] = x->type.shape.dim[i];
    return type_push(t, x->type.dtype, &r);
}

static bool infer_narrow(Typing *t, unsigned axis, uint64_t extent) {
    int64_t start, length;
    if (!need_int(t, A_start, &start) || !need_int(t, A_length, &length)) return false;
    if (length < 0) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_length), "the length of narrow cannot be negative: %lld",
             (long long)length);
        return false;
    }
    if (start < 0 || (uint64_t)start > extent || (uint64_t)length > extent - (uint64_t)start)
        return out_of_axis(
            t, DIAG_INDEX_RANGE, A_start, axis,
            arena_printf(t->ctx->scratch, "narrow takes %lld elements from %lld on", (long long)length, (long long)start));
    return push_part(t, axis, (uint64_t)length);
}

static bool infer(Typing *t) {
    if (!need_operands(t, 1, 1)) return false;
    const Shape *s = &t->in[0]->type.shape;
    unsigned axis;
    if (!typing_rank(t, t->in[0], 1, MAX_RANK, "a tensor with an axis to cut") ||
        !need_axis(t, A_dim, s->rank, &axis))
        return false;
    switch (t->kind) {
    case OP_CHUNK: return infer_chunk(t, axis, s->dim[axis]);
    case OP_SPLIT: return infer_split(t, axis, s->dim[axis]);
    case OP_SLICE: return infer_slice(t, axis, s->dim[axis]);
    case OP_SELECT: return infer_select(t, axis, s->dim[axis]);
    case OP_NARROW: return infer_narrow(t, axis, s->dim[axis]);
    default: ice("infer: %s is not of the family part", op_info(t->kind)->name);
    }
}

const OpRules rules_part = {.bind = bind, .infer = infer, .eval = eval_part};
