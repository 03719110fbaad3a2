/* types.c - written types: `f32[N, 3, H, W]`, `[N, C, ...]`, `int`.
 *
 * In a block's signature a bare name is a pattern: bound to the axis on first use, it must agree afterwards.
 * Everywhere else names must be known: a misspelt dim is an error, never a new dim. "_" stands for any size, "..." for
 * any number of axes. */
#include "frontend/elab.h"

#include <string.h>

/* ---- scalars and dtypes */

static const struct { const char *name; ValKind kind; } scalar_types[] = {
    {"int", V_INT}, {"float", V_FLOAT}, {"bool", V_BOOL}, {"str", V_STR}, {"dtype", V_DTYPE},
};

/* The kind a scalar type stands for; V_POISON if it is none. `bool[N]` is a tensor. */
static ValKind scalar_kind(const TypeNode *t) {
    for (size_t i = 0; t->dtype.name != NULL && !t->has_shape && i < COUNT_OF(scalar_types); i++)
        if (strcmp(t->dtype.name, scalar_types[i].name) == 0)
            return scalar_types[i].kind;
    return V_POISON;
}

bool is_scalar_type(const TypeNode *t) {
    return t != NULL && scalar_kind(t) != V_POISON;
}

bool check_scalar_type(Elab *e, const TypeNode *t, Val *v, const TypeUse *use) {
    ValKind kind = scalar_kind(t);
    if (v->kind == V_POISON || v->kind == kind)
        return v->kind == kind;
    if (kind == V_FLOAT && v->kind == V_INT) {
        *v = v_float((double)v->i);
        return true;
    }
    DiagCode code = use->code != DIAG_SHAPE_MISMATCH ? use->code
                    : v->kind == V_TENSOR            ? DIAG_NOT_CONSTANT
                                                     : DIAG_ARGUMENT_TYPE;
    Diag *d = diag(e->ctx, code, use->at, "%s is %s %s, not %s", use->what, article(t->dtype.name), t->dtype.name,
                   val_text(e, *v));
    diag_note(e->ctx, d, t->span, "it is declared here");
    return false;
}

/* What other systems call the dtypes. */
static const struct {
    const char *other, *ours;
} dtype_aliases[] = {
    {"float32", "f32"},
    {"float", "f32"},
    {"single", "f32"},
    {"float64", "f64"},
    {"double", "f64"},
    {"float16", "f16"},
    {"half", "f16"},
    {"bfloat16", "bf16"},
    {"int64", "i64"},
    {"long", "i64"},
    {"int32", "i32"},
    {"int", "i32"},
    {"int16", "i16"},
    {"short", "i16"},
    {"int8", "i8"},
    {"uint8", "u8"},
    {"byte", "u8"},
    {"boolean", "bool"},
    {"float8_e4m3fn", "f8e4m3"},
    {"float8_e5m2", "f8e5m2"},
};

bool written_dtype(Elab *e, const TypeNode *t, DType *dtype) {
    if (dtype_by_name(t->dtype.name, dtype))
        return true;
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_DTYPE, t->dtype.span, "there is no dtype '%s'", t->dtype.name);
    for (size_t i = 0; i < COUNT_OF(dtype_aliases); i++) {
        if (strcmp(dtype_aliases[i].other, t->dtype.name) == 0) {
            diag_help(e->ctx, d, "did you mean '%s'?", dtype_aliases[i].ours);
            return false;
        }
    }
    size_t n;
    const char *const *names = dtype_names(&n);
    const char **all = NEW_ARRAY(e->ctx->scratch, const char *, n + COUNT_OF(scalar_types));
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        all[count++] = names[i];
    for (size_t i = 0; !t->has_shape && i < COUNT_OF(scalar_types); i++)
        all[count++] = scalar_types[i].name;
    diag_suggest(e->ctx, d, t->dtype.name, all, count);
    return false;
}

/* ---- matching */

static bool is_wildcard(const AxisNode *a) {
    return a->expr != NULL && a->expr->kind == EX_NAME && a->name.name == NULL && strcmp(a->expr->name, "_") == 0;
}

static bool is_bare_name(const AxisNode *a) {
    return !a->ellipsis && a->name.name == NULL && a->expr->kind == EX_NAME;
}

static Diag *mismatch(Elab *e, const TypeUse *use, DiagCode code, const char *text) {
    Diag *d = diag(e->ctx, use->code == DIAG_SHAPE_MISMATCH ? code : use->code, use->at, "%s", text);
    if (span_known(use->declared))
        diag_note(e->ctx, d, use->declared, "the type is written here");
    return d;
}

static bool match_dtype(Elab *e, const TypeNode *t, const Value *v, const TypeUse *use) {
    DType dtype;
    if (t->dtype.name == NULL)
        return true;
    if (!written_dtype(e, t, &dtype))
        return false;
    if (dtype == v->type.dtype)
        return true;
    const char *text = arena_printf(e->ctx->scratch, "%s is %s, not %s", use->what,
                                    type_text(e->ctx->scratch, &v->type), dtype_name(dtype));
    Diag *d = mismatch(e, use, DIAG_DTYPE_MISMATCH, text);
    note_value(e->ctx, d, v);
    diag_help(e->ctx, d, "cast(x, %s) converts it", dtype_name(dtype));
    return false;
}

/* The place of "..." among the axes; naxes if there is none. */
static size_t ellipsis_at(const TypeNode *t) {
    for (size_t i = 0; i < t->axes.n; i++)
        if (t->axes.p[i].ellipsis)
            return i;
    return t->axes.n;
}

static bool match_rank(Elab *e, const TypeNode *t, const Value *v, const TypeUse *use) {
    size_t dots = ellipsis_at(t), rank = v->type.shape.rank, fixed = t->axes.n;
    if (dots < fixed ? rank >= fixed - 1 : rank == fixed)
        return true;
    const char *at_least = dots < fixed ? "at least " : "";
    const char *text =
        arena_printf(e->ctx->scratch, "%s has rank %u, not %s%u: it is %s", use->what, (unsigned)rank, at_least,
                     (unsigned)(dots < fixed ? fixed - 1 : fixed), type_text(e->ctx->scratch, &v->type));
    note_value(e->ctx, mismatch(e, use, DIAG_RANK_MISMATCH, text), v);
    return false;
}

/* Which axis of the value the i-th written axis is. */
static size_t actual_axis(const TypeNode *t, size_t i, const Value *v) {
    return i < ellipsis_at(t) ? i : v->type.shape.rank - (t->axes.n - i);
}

static bool axis_differs(Elab *e, const Value *v, size_t axis, const char *written, int64_t wanted,
                         const Binding *bound, const TypeUse *use) {
    uint64_t actual = v->type.shape.dim[axis];
    const char *means = written != NULL ? arena_printf(e->ctx->scratch, "%s = %lld", written, (long long)wanted)
                                        : arena_printf(e->ctx->scratch, "%lld", (long long)wanted);
    const char *text =
        arena_printf(e->ctx->scratch, "axis %u of %s is %llu, not %s: it is %s", (unsigned)axis, use->what,
                     (unsigned long long)actual, means, type_text(e->ctx->scratch, &v->type));
    Diag *d = mismatch(e, use, DIAG_SHAPE_MISMATCH, text);
    if (bound != NULL)
        diag_note(e->ctx, d, bound->span, "%s was bound to %lld here", bound->name, (long long)wanted);
    note_value(e->ctx, d, v);
    return false;
}

static bool match_name(Elab *e, Ident id, const Value *v, size_t axis, const TypeUse *use) {
    int64_t actual = (int64_t)v->type.shape.dim[axis];
    const Binding *b = scope_find(e->scope, id.name);
    if (b == NULL) {
        scope_bind(e, e->scope, id, v_int(actual), NULL);
        return true;
    }
    if (b->v.kind == V_POISON)
        return false;
    if (b->v.kind != V_INT) {
        diag(e->ctx, DIAG_ARGUMENT_TYPE, id.span, "%s stands for an axis, but it is %s", id.name, val_text(e, b->v));
        return false;
    }
    return b->v.i == actual || axis_differs(e, v, axis, id.name, b->v.i, b, use);
}

static bool one_ellipsis(Elab *e, const TypeNode *t) {
    for (size_t i = ellipsis_at(t) + 1; i < t->axes.n; i++) {
        if (t->axes.p[i].ellipsis) {
            diag(e->ctx, DIAG_RANK_MISMATCH, t->axes.p[i].span, "a shape has at most one '...'");
            return false;
        }
    }
    return true;
}

bool match_names(Elab *e, const TypeNode *t, const Value *v, const TypeUse *use) {
    if (!match_dtype(e, t, v, use))
        return false;
    if (!t->has_shape)
        return true;
    if (!one_ellipsis(e, t) || !match_rank(e, t, v, use))
        return false;
    bool ok = true;
    for (size_t i = 0; i < t->axes.n && use->binds; i++) {
        const AxisNode *a = &t->axes.p[i];
        size_t axis = actual_axis(t, i, v);
        if (a->name.name != NULL)
            ok = match_name(e, a->name, v, axis, use) && ok;
        else if (is_bare_name(a) && !is_wildcard(a))
            ok = match_name(e, (Ident){a->expr->name, a->expr->span}, v, axis, use) && ok;
    }
    return ok;
}

/* An axis that is an expression; a bare name that nothing defines is an unknown dim. */
static bool axis_value(Elab *e, const Expr *x, int64_t *r) {
    ModuleEnv *m = e->scope != NULL ? e->scope->module : e->root;
    if (x->kind == EX_NAME && scope_find(e->scope, x->name) == NULL && module_find(m, x->name) == NULL) {
        unknown_name(e, e->scope, m, DIAG_UNKNOWN_DIM, (Ident){x->name, x->span}, NULL);
        return false;
    }
    return eval_int(e, x, "an axis", r);
}

bool match_exact(Elab *e, const TypeNode *t, const Value *v, const TypeUse *use) {
    bool ok = true;
    for (size_t i = 0; t->has_shape && i < t->axes.n; i++) {
        const AxisNode *a = &t->axes.p[i];
        int64_t wanted;
        if (a->ellipsis || is_wildcard(a) || (use->binds && is_bare_name(a)) || (use->lenient && a->name.name != NULL))
            continue;
        if (!axis_value(e, a->expr, &wanted))
            return false;
        size_t axis = actual_axis(t, i, v);
        const char *written = a->expr->kind == EX_NAME ? a->expr->name : NULL;
        if (wanted < 0 || (uint64_t)wanted != v->type.shape.dim[axis])
            ok = axis_differs(e, v, axis, written, wanted, NULL, use) && ok;
        if (a->name.name != NULL && !use->binds)
            scope_bind(e, e->scope, a->name, v_int(wanted), NULL);
    }
    return ok;
}

/* A number where a single element is wanted: 3.0 as f32[]. Outside a graph there are no tensors. */
static void number_to_tensor(Elab *e, const TypeNode *t, Val *v, Span at) {
    DType dtype;
    bool single = t->has_shape && t->axes.n == 0 && t->dtype.name != NULL && dtype_by_name(t->dtype.name, &dtype);
    if (!single || e->g == NULL)
        return;
    bool fits = v->kind == V_BOOL  ? dtype == DT_BOOL
                : v->kind == V_INT ? dtype != DT_BOOL
                                   : v->kind == V_FLOAT && dtype_is_float(dtype);
    if (!fits)
        return;
    Datum d = val_datum(e, *v);
    *v = v_tensor(graph_scalar(e->g, dtype, &d, at));
}

bool match_type(Elab *e, const TypeNode *t, Val *v, const TypeUse *use) {
    if (is_scalar_type(t))
        return check_scalar_type(e, t, v, use);
    *v = v_first(*v);
    number_to_tensor(e, t, v, use->at);
    if (v->kind == V_TENSOR)
        return match_names(e, t, v->tensor, use) && match_exact(e, t, v->tensor, use);
    if (v->kind != V_POISON)
        mismatch(e, use, DIAG_ARGUMENT_TYPE,
                 arena_printf(e->ctx->scratch, "%s is a tensor, not %s", use->what, val_text(e, *v)));
    return false;
}

/* ---- known types */

static bool known_axis(Elab *e, const AxisNode *a, const char *what, bool settable, uint64_t *dim) {
    int64_t size;
    if (a->ellipsis || is_wildcard(a)) {
        diag(e->ctx, DIAG_UNKNOWN_DIM, a->span, "every axis of %s has a size of its own, '%s' says none", what,
             a->ellipsis ? "..." : "_");
        return false;
    }
    if (!axis_value(e, a->expr, &size))
        return false;
    if (a->name.name != NULL) {
        Val given;
        if (settable && setting_of(e, a->name.name, v_int(size), a->name.span, &given)) {
            if (given.kind == V_POISON)
                return false;
            size = given.i;
        }
        scope_bind(e, e->scope, a->name, v_int(size), NULL);
        if (settable)
            record_dim(e, a->name.name, v_int(size), false, a->name.span);
    }
    if (size < 0) {
        diag(e->ctx, DIAG_DIM_VALUE, a->span, "an axis has a size of at least 0, not the negative %lld",
             (long long)size);
        return false;
    }
    *dim = (uint64_t)size;
    return true;
}

bool known_type(Elab *e, const TypeNode *t, const char *what, bool settable, Type *type) {
    *type = (Type){0};
    if (t->dtype.name == NULL || !t->has_shape) {
        DType dtype;
        if (t->dtype.name != NULL && !written_dtype(e, t, &dtype))
            return false;
        Diag *d = diag(e->ctx, DIAG_ARGUMENT_TYPE, t->span, "%s needs a dtype and a shape", what);
        diag_help(e->ctx, d, "write f32[N, 3], or f32[] for a single number");
        return false;
    }
    bool ok = written_dtype(e, t, &type->dtype);
    if (t->axes.n > MAX_RANK) {
        diag(e->ctx, DIAG_RANK_MISMATCH, t->span, "%s has %u axes; there are at most %d", what, (unsigned)t->axes.n,
             (int)MAX_RANK);
        return false;
    }
    type->shape.rank = (uint8_t)t->axes.n;
    for (size_t i = 0; i < t->axes.n; i++)
        ok = known_axis(e, &t->axes.p[i], what, settable, &type->shape.dim[i]) && ok;
    uint64_t nbytes;
    if (ok && !type_bytes(type, &nbytes)) {
        diag(e->ctx, DIAG_TOO_LARGE, t->span, "the size of %s does not fit 63 bits", type_text(e->ctx->scratch, type));
        return false;
    }
    return ok;
}
