/* typing.c - what the shape rules of all families share: finding attributes, pushing result types, broadcasting,
 * and the diagnostics of dtypes and ranks. Every message names the operator and both sides, and notes where each value
 * comes from. All of it is O(rank + number of attributes). */
#include "ops/axes.h"

static const char *op_text(const Typing *t) {
    return op_info(t->kind)->name;
}

bool type_push(Typing *t, DType dtype, const Shape *shape) {
    Type type = {dtype, *shape};
    uint64_t nbytes;
    if (shape->rank > MAX_RANK) {
        diag(t->ctx, DIAG_RANK_MISMATCH, t->span,
             "the result of %s would have %u axes, and %d is the most a tensor may have", op_text(t),
             (unsigned)shape->rank, (int)MAX_RANK);
        return false;
    }
    if (!type_bytes(&type, &nbytes)) {
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "the result of %s, %s, is larger than 2^63 - 1 bytes", op_text(t),
             type_text(t->ctx->scratch, &type));
        return false;
    }
    vec_push(t->arena, &t->out, type);
    return true;
}

const Datum *typing_attr(const Typing *t, AttrName name) {
    for (uint32_t i = 0; i < t->nattrs; i++)
        if (t->attrs[i].name == name) return &t->attrs[i].value;
    return NULL;
}

/* The call's argument `name`, if this op is what the call spells; composites make ops that have no argument of their
 * own. */
static const Arg *argument(const Typing *t, AttrName name) {
    const Call *c = t->call;
    if (!c || c->info->kind != t->kind) return NULL;
    for (uint32_t i = 0; i < c->info->nparams; i++)
        if (c->info->params[i].name == name) return &c->args[i];
    return NULL;
}

Span typing_span(const Typing *t, AttrName name) {
    const Arg *a = argument(t, name);
    return a && a->given ? a->span : t->span;
}

bool typing_at_least(Typing *t, AttrName name, const int64_t *v, uint32_t n, int64_t least) {
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] >= least) continue;
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, name), "%s of %s must be at least %lld, not %lld",
             attr_name(name), op_text(t), (long long)least, (long long)v[i]);
        return false;
    }
    return true;
}

static bool broadcast_fails(Typing *t, const Value *a, const Value *b, unsigned from_end, uint64_t na, uint64_t nb) {
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s cannot broadcast %s with %s: axis -%u is %llu and %llu",
                   op_text(t), x_text(t, a), x_text(t, b), from_end, (unsigned long long)na, (unsigned long long)nb);
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    diag_help(t->ctx, d, "counted from the last axis, two sizes must be equal or one of them 1");
    return false;
}

bool typing_broadcast(Typing *t, const Value *a, const Value *b, Shape *out) {
    const Shape *x = &a->type.shape, *y = &b->type.shape;
    Shape r = {.rank = x->rank > y->rank ? x->rank : y->rank};
    for (unsigned i = 1; i <= r.rank; i++) {
        uint64_t nx = i <= x->rank ? x->dim[x->rank - i] : 1, ny = i <= y->rank ? y->dim[y->rank - i] : 1;
        if (nx != ny && nx != 1 && ny != 1) return broadcast_fails(t, a, b, i, nx, ny);
        r.dim[r.rank - i] = nx == 1 ? ny : nx;
    }
    *out = r;
    return true;
}

bool typing_same_dtype(Typing *t, const Value *a, const Value *b) {
    if (a->type.dtype == b->type.dtype) return true;
    Diag *d =
        diag(t->ctx, DIAG_DTYPE_MISMATCH, t->span, "%s takes operands of one element type, but these are %s and %s",
             op_text(t), x_text(t, a), x_text(t, b));
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    diag_help(t->ctx, d, "make them equal with cast, for example cast(x, %s)", dtype_name(a->type.dtype));
    return false;
}

bool typing_float(Typing *t, const Value *v) {
    if (dtype_is_float(v->type.dtype)) return true;
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, t->span, "%s is defined on floats only, but this is %s", op_text(t),
                   x_text(t, v));
    note_value(t->ctx, d, v);
    diag_help(t->ctx, d, "cast it first: |> cast(f32)");
    return false;
}

static const char *rank_range(const Typing *t, unsigned lo, unsigned hi) {
    if (lo == hi) return arena_printf(t->ctx->scratch, "%u", lo);
    if (hi >= MAX_RANK) return arena_printf(t->ctx->scratch, "%u or more", lo);
    return arena_printf(t->ctx->scratch, hi == lo + 1 ? "%u or %u" : "%u to %u", lo, hi);
}

bool typing_rank(Typing *t, const Value *v, unsigned lo, unsigned hi, const char *form) {
    unsigned rank = v->type.shape.rank;
    if (rank >= lo && rank <= hi) return true;
    Diag *d = diag(t->ctx, DIAG_RANK_MISMATCH, t->span, "%s takes %s (rank %s), but this is %s (rank %u)", op_text(t),
                   form, rank_range(t, lo, hi), x_text(t, v), rank);
    note_value(t->ctx, d, v);
    if (rank >= 2 && rank + 1 == lo) diag_help(t->ctx, d, "an axis of size 1 can be added: |> unsqueeze(0)");
    return false;
}
