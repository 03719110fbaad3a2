/* signature.c - the arguments of a call against the signature of an operator.
 *
 * Positional arguments go by kind (ir/op.def): a tensor takes the first free argument that may be a tensor, anything
 * else the first free one that may be something else, so that lstm(x, 48) and lstm(x, h0, c0, 48) both read well and
 * where(c, 0.0, x) keeps its order. Values are converted to what the signature says: int[2] from one int or two, a
 * list from `ints`, an int where a float is wanted. Each mistake is reported at the argument. */
#include "frontend/elab.h"

#include <string.h>

typedef struct Binder {
    Elab *e;
    Call *call;
    const OpInfo *info;
    Arg *args;
} Binder;

static bool takes_tensor(ParamType t) {
    return t == P_TENSOR || t == P_OPERAND || t == P_TENSORS;
}

static bool takes_other(ParamType t) {
    return t != P_TENSOR && t != P_TENSORS;
}

static const char *param_name(const Binder *b, uint32_t i) {
    return attr_name(b->info->params[i].name);
}

static void help_signature(Binder *b, Diag *d) {
    diag_help(b->e->ctx, d, "it is %s(%s)", b->info->name, b->info->signature);
}

/* PyTorch's habit of writing the input width first. */
static void help_inferred(Elab *e, const OpInfo *info, Diag *d) {
    if (strncmp(info->name, "conv", 4) == 0)
        diag_help(e->ctx, d, "in_channels is inferred: write %s(20, 5) or %s(1 -> 20, 5), not %s(1, 20, 5)",
                  info->name, info->name, info->name);
    else if (info->kind == OP_LINEAR)
        diag_help(e->ctx, d, "in_features is inferred: write linear(10) or linear(500 -> 10), not linear(500, 10)");
}

/* ---- conversion */

static bool refuse_kind(Binder *b, uint32_t i, const ArgVal *a, const char *wanted) {
    DiagCode code = val_has_tensor(a->v) ? DIAG_NOT_CONSTANT : DIAG_ARGUMENT_TYPE;
    Diag *d = diag(b->e->ctx, code, a->span, "argument %s of %s is %s, not %s", param_name(b, i), b->info->name, wanted,
                   val_text(b->e, a->v));
    if (a->name.name == NULL && b->info->params[i].type == P_BOOL)
        help_inferred(b->e, b->info, d);
    return false;
}

static bool all_ints(Val v) {
    for (uint32_t i = 0; i < v.n; i++)
        if (v.items[i].kind != V_INT)
            return false;
    return true;
}

static bool to_ints(Binder *b, uint32_t i, const ArgVal *a, Datum *out) {
    if (a->v.kind == V_INT) {
        *out = d_ints(b->e->arena, &a->v.i, 1);
        return true;
    }
    if (a->v.kind != V_LIST || !all_ints(a->v))
        return refuse_kind(b, i, a, "an int or a tuple of ints");
    *out = val_datum(b->e, a->v);
    return true;
}

static bool to_int_n(Binder *b, uint32_t i, const ArgVal *a, Datum *out) {
    uint32_t n = b->info->params[i].n;
    int64_t v[8];
    const char *wanted =
        n == 1 ? "an int" : arena_printf(b->e->ctx->scratch, "an int or a tuple of %u ints", (unsigned)n);
    if (a->v.kind != V_INT && (a->v.kind != V_LIST || !all_ints(a->v) || a->v.n != n))
        return refuse_kind(b, i, a, wanted);
    for (uint32_t k = 0; k < n; k++)
        v[k] = a->v.kind == V_INT ? a->v.i : a->v.items[k].i;
    *out = d_ints(b->e->arena, v, n);
    return true;
}

static bool to_tensors(Binder *b, uint32_t i, const ArgVal *a, Datum *out) {
    if (a->v.kind != V_LIST || a->v.n == 0)
        return refuse_kind(b, i, a, "a list of tensors");
    Datum *items = NEW_ARRAY(b->e->arena, Datum, a->v.n);
    for (uint32_t k = 0; k < a->v.n; k++) {
        Val v = v_first(a->v.items[k]);
        if (v.kind != V_TENSOR)
            return refuse_kind(b, i, &(ArgVal){.v = v, .span = a->span}, "a list of tensors");
        items[k] = d_tensor(v.tensor);
    }
    *out = d_list(b->e->arena, items, a->v.n);
    return true;
}

static bool plain_data(Val v) {
    if (v.kind == V_LAYER || v.kind == V_MODULE || v.kind == V_TENSOR)
        return false;
    for (uint32_t i = 0; v.kind == V_LIST && i < v.n; i++)
        if (!plain_data(v.items[i]))
            return false;
    return true;
}

static bool to_operand(Binder *b, uint32_t i, const ArgVal *a, Datum *out) {
    Val v = v_first(a->v);
    if (v.kind != V_TENSOR && !val_is_number(v) && v.kind != V_BOOL)
        return refuse_kind(b, i, a, "a tensor or a number");
    *out = val_datum(b->e, v);
    return true;
}

static bool to_tensor(Binder *b, uint32_t i, const ArgVal *a, Datum *out) {
    Val v = v_first(a->v);
    if (v.kind != V_TENSOR)
        return refuse_kind(b, i, a, "a tensor");
    *out = d_tensor(v.tensor);
    return true;
}

static bool of_kind(Binder *b, uint32_t i, const ArgVal *a, ValKind kind, const char *wanted, Datum *out) {
    if (a->v.kind != kind)
        return refuse_kind(b, i, a, wanted);
    *out = val_datum(b->e, a->v);
    return true;
}

static bool to_number(Binder *b, uint32_t i, const ArgVal *a, bool as_float, Datum *out) {
    if (!val_is_number(a->v) && (as_float || a->v.kind != V_BOOL))
        return refuse_kind(b, i, a, as_float ? "a float" : "a number");
    *out = as_float && a->v.kind == V_INT ? d_float((double)a->v.i) : val_datum(b->e, a->v);
    return true;
}

static bool to_channels(Binder *b, uint32_t i, const ArgVal *a, Arg *out) {
    if (!of_kind(b, i, a, V_INT, "an int", &out->value))
        return false;
    if (!a->has_from)
        return true;
    if (a->from.kind != V_INT)
        return refuse_kind(b, i, &(ArgVal){.v = a->from, .span = a->from_span}, "an int");
    out->has_from = true;
    out->from = a->from.i;
    out->from_span = a->from_span;
    return true;
}

static bool convert(Binder *b, uint32_t i, const ArgVal *a, Arg *out) {
    const Param *p = &b->info->params[i];
    Datum *d = &out->value;
    if (a->has_from && p->type != P_CHANNELS) {
        diag(b->e->ctx, DIAG_ARGUMENT_TYPE, a->span, "'in -> out' is only for channels and features, not for %s",
             param_name(b, i));
        return false;
    }
    if (a->v.kind == V_NONE && p->optional && p->dflt.kind == D_NONE) {
        *d = d_none();
        return true;
    }
    switch (p->type) {
    case P_TENSOR: return to_tensor(b, i, a, d);
    case P_OPERAND: return to_operand(b, i, a, d);
    case P_TENSORS: return to_tensors(b, i, a, d);
    case P_CHANNELS: return to_channels(b, i, a, out);
    case P_INT: return of_kind(b, i, a, V_INT, "an int", d);
    case P_FLOAT: return to_number(b, i, a, true, d);
    case P_NUMBER: return to_number(b, i, a, false, d);
    case P_BOOL: return of_kind(b, i, a, V_BOOL, "true or false", d);
    case P_STR: return of_kind(b, i, a, V_STR, "a string", d);
    case P_DTYPE: return of_kind(b, i, a, V_DTYPE, "a dtype", d);
    case P_INTS: case P_VARINTS: return to_ints(b, i, a, d);
    case P_INT_N: return to_int_n(b, i, a, d);
    case P_ANY:
        if (!plain_data(a->v))
            return refuse_kind(b, i, a, "a compile-time value");
        *d = val_datum(b->e, a->v);
        return true;
    }
    ice("%s: a parameter of type %d", b->info->name, (int)p->type);
}

static bool fill(Binder *b, uint32_t i, const ArgVal *a) {
    Arg *out = &b->args[i];
    if (out->given) {
        Diag *d = diag(b->e->ctx, DIAG_DUPLICATE, a->name.name != NULL ? a->name.span : a->span,
                       "%s is given twice to %s", param_name(b, i), b->info->name);
        diag_note(b->e->ctx, d, out->span, "it has a value already");
        return false;
    }
    out->given = true;
    out->span = a->span;
    return convert(b, i, a, out);
}

/* ---- positional arguments */

/* The free argument that a positional value takes; nparams if none. `none` takes the first that may be none. */
static uint32_t place_of(const Binder *b, Val v) {
    bool tensor = val_has_tensor(v_first(v)) || (v.kind == V_LIST && v.n == 0 && b->info->params[0].type == P_TENSORS);
    for (uint32_t i = 0; i < b->info->nparams; i++) {
        const Param *p = &b->info->params[i];
        if (b->args[i].given)
            continue;
        if (v.kind == V_NONE ? p->optional && p->dflt.kind == D_NONE
            : tensor         ? takes_tensor(p->type)
                             : takes_other(p->type))
            return i;
    }
    return b->info->nparams;
}

/* view(2, 3, 4): the ints from here on are one argument. */
static bool fill_varints(Binder *b, uint32_t i, ArgVals args, uint32_t *k) {
    VEC(int64_t) ints = {0};
    Span span = args.p[*k].span;
    for (; *k < args.n && args.p[*k].name.name == NULL; ++*k) {
        const ArgVal *a = &args.p[*k];
        if (val_has_tensor(v_first(a->v)))
            break;
        if (a->v.kind != V_INT || a->has_from)
            return refuse_kind(b, i, a, "ints or one tuple of ints");
        vec_push(b->e->arena, &ints, a->v.i);
        span = span_join(span, a->span);
    }
    b->args[i].given = true;
    b->args[i].span = span;
    b->args[i].value = d_ints(b->e->arena, ints.p, (uint32_t)ints.n);
    return true;
}

static bool no_place(Binder *b, const ArgVal *a) {
    const OpInfo *info = b->info;
    bool tensor = val_has_tensor(v_first(a->v)), lacks = false;
    for (uint32_t i = 0; i < info->nparams; i++)
        lacks = lacks || (!tensor && !b->args[i].given && !info->params[i].optional);
    if (lacks) {
        Diag *d = diag(b->e->ctx, DIAG_ARGUMENT_TYPE, a->span, "%s takes a tensor here, not %s", info->name,
                       val_text(b->e, a->v));
        help_signature(b, d);
        return false;
    }
    Diag *d = diag(b->e->ctx, DIAG_EXTRA_ARGUMENT, a->span, "%s has no argument left for %s: too many arguments",
                   info->name, val_text(b->e, a->v));
    help_signature(b, d);
    help_inferred(b->e, b->info, d);
    return false;
}

/* An argument that was given by keyword keeps its place: a positional value for it is a duplicate. */
static bool bind_positional(Binder *b, ArgVals args, uint32_t *k) {
    const ArgVal *a = &args.p[*k];
    uint32_t i = place_of(b, a->v);
    if (i == b->info->nparams)
        return no_place(b, a);
    if (b->info->params[i].type == P_VARINTS && a->v.kind != V_LIST && a->v.kind != V_NONE)
        return fill_varints(b, i, args, k);
    ++*k;
    return fill(b, i, a);
}

/* ---- keywords */

static bool bind_extra(Binder *b, const ArgVal *a, uint32_t capacity) {
    Call *c = b->call;
    if (a->v.kind != V_INT) {
        diag(b->e->ctx, DIAG_ARGUMENT_TYPE, a->span, "the size of '%s' is an int, not %s", a->name.name,
             val_text(b->e, a->v));
        return false;
    }
    if (c->extra_names == NULL) {
        c->extra_names = NEW_ARRAY(b->e->arena, const char *, capacity);
        c->extra_values = NEW_ARRAY(b->e->arena, int64_t, capacity);
        c->extra_spans = NEW_ARRAY(b->e->arena, Span, capacity);
    }
    c->extra_names[c->nextra] = a->name.name;
    c->extra_values[c->nextra] = a->v.i;
    c->extra_spans[c->nextra++] = span_join(a->name.span, a->span);
    return true;
}

void check_op_keyword(Elab *e, const OpInfo *info, Ident id) {
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, info->nparams + 2);
    uint32_t n = 0;
    for (uint32_t i = 0; i < info->nparams; i++)
        names[n++] = attr_name(info->params[i].name);
    names[n++] = "name";
    if (info->flags & WISH)
        names[n++] = "inplace";
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], id.name) == 0)
            return;
    if (info->flags & EXTRA)
        return;
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_ARGUMENT, id.span, "%s has no argument '%s'", info->name, id.name);
    if (strncmp(id.name, "in_", 3) == 0)
        help_inferred(e, info, d);
    else
        diag_suggest(e->ctx, d, id.name, names, n);
}

static bool bind_keyword(Binder *b, const ArgVal *a, uint32_t nargs) {
    for (uint32_t i = 0; i < b->info->nparams; i++)
        if (strcmp(param_name(b, i), a->name.name) == 0)
            return fill(b, i, a);
    if (b->info->flags & EXTRA)
        return bind_extra(b, a, nargs);
    check_op_keyword(b->e, b->info, a->name);
    return false;
}

/* ---- */

static bool fill_defaults(Binder *b) {
    bool ok = true;
    for (uint32_t i = 0; i < b->info->nparams; i++) {
        const Param *p = &b->info->params[i];
        Arg *a = &b->args[i];
        if (a->given)
            continue;
        a->value = p->dflt;
        a->span = b->call->span;
        if (p->optional)
            continue;
        bool tensor = takes_tensor(p->type);
        Diag *d = diag(b->e->ctx, DIAG_MISSING_ARGUMENT, b->call->span, "%s needs %s%s", b->info->name,
                       tensor ? "the tensor " : "", param_name(b, i));
        help_signature(b, d);
        ok = false;
        break;
    }
    return ok;
}

/* Positional values first, so that a keyword for the same argument is the duplicate; the first mistake ends it. */
bool bind_signature(Elab *e, Call *call, ArgVals args) {
    Binder b = {.e = e, .call = call, .info = call->info, .args = call->args};
    for (uint32_t k = 0; k < args.n;) {
        if (args.p[k].name.name != NULL)
            k++;
        else if (!bind_positional(&b, args, &k))
            return false;
    }
    for (uint32_t k = 0; k < args.n; k++)
        if (args.p[k].name.name != NULL && !bind_keyword(&b, &args.p[k], args.n))
            return false;
    return fill_defaults(&b);
}
