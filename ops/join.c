/* join.c - cat along an axis, stack along a new one. Ranks, dtypes and all other axes must agree; as in PyTorch, cat
 * passes over operands of shape [0], whatever the rank of the others.
 *
 * Normalised attribute: dim, counted from the front (of the result, for stack). */
#include "ops/axes.h"
#include "ops/eval.h"

static bool passed_over(const Value *x) {
    return x->type.shape.rank == 1 && x->type.shape.dim[0] == 0;
}

/* The first operand that counts; the first of all when none does. */
static uint32_t leader(Value *const *in, uint32_t nin) {
    for (uint32_t i = 0; i < nin; i++)
        if (!passed_over(in[i])) return i;
    return 0;
}

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    if (c->info->kind == OP_STACK && b.nin > 0) binding_axis(&b, A_dim, b.in[0]->type.shape.rank + 1u);
    if (c->info->kind == OP_CAT && b.nin > 0) binding_axis(&b, A_dim, b.in[leader(b.in, b.nin)]->type.shape.rank);
    return binding_call(c, &b);
}

static bool operands_there(Typing *t) {
    bool ok = t->nin > 0;
    for (uint32_t i = 0; i < t->nin; i++) ok = ok && t->in[i];
    if (!ok) diag(t->ctx, DIAG_ARGUMENT_VALUE, t->span, "%s needs at least one tensor", op_info(t->kind)->name);
    return ok;
}

static Diag *mismatch(Typing *t, DiagCode code, uint32_t i, uint32_t first, const char *what) {
    const Value *a = t->in[first], *b = t->in[i];
    Diag *d = diag(t->ctx, code, typing_span(t, A_tensors), "%s: %s: tensor %u is %s, tensor %u is %s",
                   op_info(t->kind)->name, what, first + 1, x_text(t, a), i + 1, x_text(t, b));
    note_value(t->ctx, d, a);
    note_value(t->ctx, d, b);
    return d;
}

static bool same_dtype(Typing *t, uint32_t i, uint32_t first) {
    DType dt = t->in[first]->type.dtype;
    if (t->in[i]->type.dtype == dt) return true;
    Diag *d = mismatch(t, DIAG_DTYPE_MISMATCH, i, first, "element types differ");
    diag_help(t->ctx, d, "make them equal with cast, for example cast(x, %s)", dtype_name(dt));
    return false;
}

/* Adds operand i to the extent of the result r along the axis. */
static bool append(Typing *t, uint32_t i, uint32_t first, unsigned axis, Shape *r) {
    const Shape *s = &t->in[i]->type.shape;
    if (!same_dtype(t, i, first)) return false;
    if (passed_over(t->in[i])) return true;
    if (s->rank != r->rank) {
        mismatch(t, DIAG_RANK_MISMATCH, i, first, "ranks differ");
        return false;
    }
    for (unsigned k = 0; k < r->rank; k++) {
        if (k == axis || s->dim[k] == r->dim[k]) continue;
        Diag *d = mismatch(t, DIAG_SHAPE_MISMATCH, i, first, "shapes differ beside the axis they are joined at");
        diag_help(t->ctx, d, "cat joins at axis %u; axis %u must be equal, but is %llu and %llu", axis, k,
                  (unsigned long long)r->dim[k], (unsigned long long)s->dim[k]);
        return false;
    }
    if (add_u64(r->dim[axis], s->dim[axis], &r->dim[axis])) return true;
    diag(t->ctx, DIAG_TOO_LARGE, t->span, "the result of cat is larger than 2^63 - 1 elements");
    return false;
}

static bool infer_cat(Typing *t) {
    uint32_t first = leader(t->in, t->nin);
    Shape r = t->in[first]->type.shape;
    unsigned axis;
    for (uint32_t i = 0; i < t->nin; i++) {
        if (t->in[i]->type.shape.rank > 0) continue;
        Diag *d = diag(t->ctx, DIAG_RANK_MISMATCH, typing_span(t, A_tensors),
                       "cat joins along an axis, but tensor %u is %s and has none", i + 1, x_text(t, t->in[i]));
        note_value(t->ctx, d, t->in[i]);
        diag_help(t->ctx, d, "stack joins scalars along a new axis");
        return false;
    }
    if (!need_axis(t, A_dim, r.rank, &axis)) return false;
    r.dim[axis] = 0;
    for (uint32_t i = 0; i < t->nin; i++)
        if (!append(t, i, first, axis, &r)) return false;
    return type_push(t, t->in[first]->type.dtype, &r);
}

static bool infer_stack(Typing *t) {
    const Shape *x = &t->in[0]->type.shape;
    unsigned axis;
    if (!need_axis(t, A_dim, x->rank + 1u, &axis)) return false;
    for (uint32_t i = 1; i < t->nin; i++) {
        if (!same_dtype(t, i, 0)) return false;
        if (shape_equal(x, &t->in[i]->type.shape)) continue;
        Diag *d = mismatch(t, DIAG_SHAPE_MISMATCH, i, 0, "shapes differ");
        diag_help(t->ctx, d, "stack takes tensors of one shape; cat joins along an axis they have");
        return false;
    }
    if (x->rank == MAX_RANK) return type_push(t, t->in[0]->type.dtype, &(Shape){.rank = MAX_RANK + 1});
    Shape r = {.rank = (uint8_t)(x->rank + 1)};
    for (unsigned i = 0, k = 0; i < r.rank; i++) r.dim[i] = i == axis ? t->nin : x->dim[k++];
    return type_push(t, t->in[0]->type.dtype, &r);
}

static bool infer(Typing *t) {
    if (!operands_there(t)) return false;
    return t->kind == OP_CAT ? infer_cat(t) : infer_stack(t);
}

const OpRules rules_join = {.bind = bind, .infer = infer, .eval = eval_join};
