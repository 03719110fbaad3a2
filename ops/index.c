/* index.c - elements chosen by an integer tensor (gather, index_select), one_hot, and triangles of matrices. Index
 * tensors are i64 or i32; their values are known at run time only.
 *
 * Normalised attributes: gather, index_select dim (from the front), index is operand 1; one_hot num_classes; tril,
 * triu diagonal. */
#include "ops/axes.h"
#include "ops/eval.h"

typedef unsigned long long ull;

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    binding_axis(&b, A_dim, b.in[0]->type.shape.rank);
    return binding_call(c, &b);
}

/* A scalar counts as one axis of one element, as in PyTorch. */
static Shape at_least_1d(const Shape *s) {
    return s->rank ? *s : shape_of(1, (uint64_t[]){1});
}

static bool infer_gather(Typing *t, const Value *x, const Value *index) {
    Shape from = at_least_1d(&x->type.shape), at = at_least_1d(&index->type.shape);
    unsigned axis;
    if (!need_integer_index(t, A_index, index) || !need_axis(t, A_dim, x->type.shape.rank, &axis)) return false;
    if (from.rank != at.rank) {
        Diag *d = diag(t->ctx, DIAG_RANK_MISMATCH, t->span,
                       "gather takes an index of x's rank, but x is %s and the index %s", x_text(t, x),
                       x_text(t, index));
        note_value(t->ctx, d, x);
        note_value(t->ctx, d, index);
        diag_help(t->ctx, d, "index_select takes whole rows by a list of indices");
        return false;
    }
    for (unsigned i = 0; i < at.rank && index->nelem > 0; i++) {
        if (i == axis || at.dim[i] <= from.dim[i]) continue;
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span,
                       "gather along axis %u: the index %s is larger than x, %s, at axis %u", axis, x_text(t, index),
                       x_text(t, x), i);
        note_value(t->ctx, d, x);
        note_value(t->ctx, d, index);
        return false;
    }
    return type_push(t, x->type.dtype, &index->type.shape);
}

static bool infer_index_select(Typing *t, const Value *x, const Value *index) {
    Shape r = x->type.shape;
    unsigned axis;
    if (!need_integer_index(t, A_index, index) || !typing_rank(t, index, 0, 1, "a list of indices")) return false;
    if (!need_axis(t, A_dim, r.rank, &axis)) return false;
    uint64_t extent = r.rank ? r.dim[axis] : 1;
    if ((r.rank == 0 && index->nelem != 1) || (extent == 0 && index->nelem > 0)) {
        Diag *d = diag(t->ctx, DIAG_INDEX_RANGE, t->span,
                       "index_select of %llu element%s along axis %u of %s, which has %llu", (ull)index->nelem,
                       index->nelem == 1 ? "" : "s", axis, x_text(t, x), (ull)extent);
        note_value(t->ctx, d, x);
        return false;
    }
    if (r.rank) r.dim[axis] = index->nelem;
    return type_push(t, x->type.dtype, &r);
}

static bool infer_one_hot(Typing *t, const Value *x) {
    Shape r = x->type.shape;
    int64_t classes;
    if (!need_int(t, A_num_classes, &classes)) return false;
    if (x->type.dtype != DT_I64) {
        Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, t->span, "one_hot takes class numbers of i64, but this is %s",
                       x_text(t, x));
        note_value(t->ctx, d, x);
        diag_help(t->ctx, d, "convert them: cast(x, i64)");
        return false;
    }
    if (classes < 1) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_num_classes),
             "num_classes of one_hot must be at least 1, not %lld", (long long)classes);
        return false;
    }
    if (r.rank < MAX_RANK) r.dim[r.rank] = (uint64_t)classes;
    r.rank++;
    return type_push(t, DT_I64, &r);
}

static bool infer_triangle(Typing *t, const Value *x) {
    int64_t diagonal;
    return typing_rank(t, x, 2, MAX_RANK, "[..., rows, columns]") && need_int(t, A_diagonal, &diagonal) &&
           type_push(t, x->type.dtype, &x->type.shape);
}

static bool infer(Typing *t) {
    uint32_t n = t->kind == OP_GATHER || t->kind == OP_INDEX_SELECT ? 2 : 1;
    if (!need_operands(t, n, n)) return false;
    switch (t->kind) {
    case OP_GATHER: return infer_gather(t, t->in[0], t->in[1]);
    case OP_INDEX_SELECT: return infer_index_select(t, t->in[0], t->in[1]);
    case OP_ONE_HOT: return infer_one_hot(t, t->in[0]);
    case OP_TRIL: case OP_TRIU: return infer_triangle(t, t->in[0]);
    default: ice("infer: %s is not of the family index", op_info(t->kind)->name);
    }
}

const OpRules rules_index = {.bind = bind, .infer = infer, .eval = eval_index};
