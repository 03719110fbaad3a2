/* index.c - x[...]: of a list, an item or a part; of a tensor, a chain of slice, select and unsqueeze operators.
 *
 * As in PyTorch: negative positions count from the end, the bounds of a slice are clamped, an index outside its axis
 * is an error, `...` stands for the axes not named, `none` adds an axis of 1. Steps are positive. A whole slice makes
 * no operator. */
#include "frontend/elab.h"

/* Where the work on a tensor stands. */
typedef struct Cursor {
    Val v;
    unsigned axis;                                        /* the next axis of v */
    Span span;
} Cursor;

static bool optional_int(Elab *e, const Expr *x, const char *what, Val *v) {
    int64_t i;
    *v = v_none();
    if (x == NULL || x->kind == EX_NONE)
        return true;
    if (!eval_int(e, x, what, &i))
        return false;
    *v = v_int(i);
    return true;
}

static bool range_of(Elab *e, const IndexNode *n, Val *lo, Val *hi, Val *step) {
    bool ok = optional_int(e, n->lo, "the start of a slice", lo);
    ok = optional_int(e, n->hi, "the end of a slice", hi) && ok;
    ok = optional_int(e, n->step, "the step of a slice", step) && ok;
    if (ok && step->kind == V_INT && step->i <= 0) {
        diag(e->ctx, DIAG_ARGUMENT_VALUE, n->step->span, "the step of a slice is positive, not %lld",
             (long long)step->i);
        return false;
    }
    if (step->kind == V_NONE)
        *step = v_int(1);
    return ok;
}

/* ---- lists */

static Val list_item(Elab *e, Val list, const IndexNode *n) {
    int64_t i;
    if (!eval_int(e, n->at, "an index", &i))
        return v_poison();
    int64_t at = i < 0 ? i + (int64_t)list.n : i;
    if (at < 0 || at >= (int64_t)list.n) {
        diag(e->ctx, DIAG_INDEX_RANGE, n->span, "index %lld is outside a list of %u", (long long)i, (unsigned)list.n);
        return v_poison();
    }
    return list.items[at];
}

static int64_t clamp_bound(Val v, int64_t absent, int64_t n) {
    int64_t i = v.kind == V_NONE ? absent : v.i;
    if (i < 0)
        i = i < -n ? 0 : i + n;
    return i > n ? n : i;
}

static Val list_part(Elab *e, Val list, const IndexNode *n) {
    Val lo, hi, step;
    if (!range_of(e, n, &lo, &hi, &step))
        return v_poison();
    int64_t from = clamp_bound(lo, 0, list.n), to = clamp_bound(hi, list.n, list.n);
    Val *items = NEW_ARRAY(e->arena, Val, list.n > 0 ? list.n : 1);
    uint32_t n_items = 0;
    for (int64_t i = from; i < to;) {
        items[n_items++] = list.items[i];
        if (!add_i64(i, step.i, &i))
            break;
    }
    return v_list(items, n_items);
}

static Val index_list(Elab *e, const Expr *x, Val list) {
    if (x->indices.n != 1 || x->indices.p[0].kind == IX_ELLIPSIS) {
        diag(e->ctx, DIAG_OPERAND_TYPE, x->span, "a list takes one index or slice");
        return v_poison();
    }
    const IndexNode *n = &x->indices.p[0];
    return n->kind == IX_AT ? list_item(e, list, n) : list_part(e, list, n);
}

/* ---- tensors */

static void apply(Elab *e, Cursor *c, OpKind kind, const Val *args, uint32_t nargs, Span at) {
    Span spans[5];
    for (uint32_t i = 0; i < nargs; i++)
        spans[i] = i == 0 ? c->span : at;
    c->v = op_direct(e, kind, c->span, args, spans, INPLACE_AUTO);
}

static uint64_t axis_size(const Cursor *c) {
    return c->v.tensor->type.shape.dim[c->axis];
}

static void take_part(Elab *e, Cursor *c, const IndexNode *n) {
    Val lo, hi, step;
    if (!range_of(e, n, &lo, &hi, &step)) {
        c->v = v_poison();
        return;
    }
    int64_t size = (int64_t)axis_size(c);
    bool whole = clamp_bound(lo, 0, size) == 0 && clamp_bound(hi, size, size) == size && step.i == 1;
    if (!whole)
        apply(e, c, OP_SLICE, (Val[]){c->v, v_int(c->axis), lo, hi, step}, 5, n->span);
    c->axis++;
}

static void take_item(Elab *e, Cursor *c, const IndexNode *n, int64_t i) {
    uint64_t size = axis_size(c);
    int64_t at = i < 0 ? i + (int64_t)size : i;
    if (at < 0 || (uint64_t)at >= size) {
        Diag *d =
            diag(e->ctx, DIAG_INDEX_RANGE, n->span, "index %lld is out of range: axis %u of %s has size %llu",
                 (long long)i, c->axis, type_text(e->ctx->scratch, &c->v.tensor->type), (unsigned long long)size);
        note_value(e->ctx, d, c->v.tensor);
        c->v = v_poison();
        return;
    }
    apply(e, c, OP_SELECT, (Val[]){c->v, v_int(c->axis), v_int(at)}, 3, n->span);
}

static void add_axis(Elab *e, Cursor *c, const IndexNode *n) {
    apply(e, c, OP_UNSQUEEZE, (Val[]){c->v, v_int(c->axis)}, 2, n->span);
    c->axis++;
}

static void take_at(Elab *e, Cursor *c, const IndexNode *n) {
    Val v = eval_first(e, n->at);
    if (v.kind == V_INT) {
        take_item(e, c, n, v.i);
        return;
    }
    if (v.kind == V_NONE) {
        add_axis(e, c, n);
        return;
    }
    if (v.kind == V_TENSOR) {
        Diag *d =
            diag(e->ctx, DIAG_NOT_CONSTANT, n->span, "an index must be known at compile time, not %s", val_text(e, v));
        diag_help(e->ctx, d, "index_select(x, dim, index) and gather(x, dim, index) take indices from a tensor");
    } else if (v.kind != V_POISON) {
        diag(e->ctx, DIAG_OPERAND_TYPE, n->span, "an index is an int or a slice, not %s", val_text(e, v));
    }
    c->v = v_poison();
}

static bool adds_axis(const IndexNode *n) {
    return n->kind == IX_AT && n->at->kind == EX_NONE;
}

/* How many axes the indices name; false when they are too many, or "..." stands twice. */
static bool count_axes(Elab *e, const Expr *x, const Value *t, unsigned *named) {
    unsigned dots = 0;
    *named = 0;
    for (size_t i = 0; i < x->indices.n; i++) {
        const IndexNode *n = &x->indices.p[i];
        if (n->kind == IX_ELLIPSIS && ++dots > 1) {
            diag(e->ctx, DIAG_RANK_MISMATCH, n->span, "'...' stands twice in one index");
            return false;
        }
        if (n->kind != IX_ELLIPSIS && !adds_axis(n) && ++*named > t->type.shape.rank) {
            Diag *d = diag(e->ctx, DIAG_RANK_MISMATCH, n->span, "too many indices: %s has %u axes",
                           type_text(e->ctx->scratch, &t->type), (unsigned)t->type.shape.rank);
            note_value(e->ctx, d, t);
            return false;
        }
    }
    return true;
}

static Val index_tensor(Elab *e, const Expr *x, Value *t) {
    unsigned named, rank = t->type.shape.rank;
    if (!count_axes(e, x, t, &named))
        return v_poison();
    Cursor c = {.v = v_tensor(t), .span = x->span};
    for (size_t i = 0; i < x->indices.n && c.v.kind == V_TENSOR; i++) {
        const IndexNode *n = &x->indices.p[i];
        if (n->kind == IX_ELLIPSIS)
            c.axis += rank - named;
        else if (n->kind == IX_RANGE)
            take_part(e, &c, n);
        else
            take_at(e, &c, n);
    }
    return c.v;
}

Val eval_subscript(Elab *e, const Expr *x) {
    Val v = eval(e, x->lhs);
    if (v.kind == V_LIST)
        return index_list(e, x, v);
    if (v.kind == V_TENSOR)
        return index_tensor(e, x, v.tensor);
    if (v.kind != V_POISON)
        diag(e->ctx, DIAG_OPERAND_TYPE, x->span, "%s cannot be indexed", val_text(e, v));
    return v_poison();
}
