/* stored.c - stored tensors: their keys, who may share one, and the `param` and `buffer` statements.
 *
 * A key is the path of the block instances, the segment of the call, and PyTorch's name for the tensor, joined by
 * dots. Two claims of one key are an error unless they come through one layer: through the same operator, or through
 * different calls of a block that is a layer. */
#include "frontend/elab.h"

#include <string.h>

/* Two claims of one key share it if they come through different calls of one layer, level by level from outside. */
static bool may_share(const SharedCall *a, const SharedCall *b) {
    while (a != NULL && b != NULL && a->depth > b->depth)
        a = a->outer;
    while (a != NULL && b != NULL && b->depth > a->depth)
        b = b->outer;
    bool shared = false;
    for (; a != NULL && b != NULL; a = a->outer, b = b->outer)
        if (a->call != b->call)
            shared = a->layer == b->layer;                /* the outermost difference decides: it is met last */
    return shared;
}

static Val layer_mismatch(Elab *e, const char *key, const Value *v, const Type *type, Span at, Span first) {
    Diag *d = diag(e->ctx, DIAG_LAYER_MISMATCH, at, "this call needs %s of %s, but it is shared and has %s", key,
                   type_text(e->ctx->scratch, type), type_text(e->ctx->scratch, &v->type));
    diag_note(e->ctx, d, first, "it was made by this call");
    return v_poison();
}

static Val duplicate_weight(Elab *e, const char *key, Span at, Span first) {
    Diag *d = diag(e->ctx, DIAG_DUPLICATE_WEIGHT, at, "there is already a stored tensor called '%s'", key);
    diag_note(e->ctx, d, first, "the first one is here");
    diag_help(e->ctx, d, "two calls share their weights only through one 'layer'; otherwise give each its own name=");
    return v_poison();
}

Val claim_stored(Elab *e, const char *key, Role role, const Type *type, Init init, Span span, Span site,
                 uint64_t serial, const SharedCall *shared) {
    key = name_of(e->ctx, key);
    KeyClaim *claim = namemap_get(e->claims, key);
    if (claim == NULL) {
        claim = NEW(e->arena, KeyClaim);
        claim->value = graph_stored(e->g, role, key, type, init, span);
        claim->span = span;
        claim->site = site;
        namemap_put(e->claims, key, claim);
    } else {
        if (claim->serial != serial && !may_share(claim->shared, shared))
            return duplicate_weight(e, key, span, claim->span);
        const Type *t = &claim->value->type;
        if (t->dtype != type->dtype || !shape_equal(&t->shape, &type->shape))
            return layer_mismatch(e, key, claim->value, type, span, claim->site);
    }
    claim->serial = serial;
    claim->shared = shared;
    return v_tensor(claim->value);
}

static const char *instance_prefix(Instance *in) {
    if (in->prefix == NULL)
        in->prefix = in->segment[0] == '\0' ? in->keys->prefix
                                            : arena_printf(in->e->arena, "%s%s.", in->keys->prefix, in->segment);
    return in->prefix;
}

Value *stored_tensor(Call *c, const char *name, Role role, const Type *type, Init init) {
    Instance *in = c->frontend;
    const char *key = arena_printf(in->e->arena, "%s%s", instance_prefix(in), name);
    Val v = claim_stored(in->e, key, role, type, init, in->span, in->site, in->serial, in->shared);
    return v.kind == V_TENSOR ? v.tensor : NULL;
}

/* ---- param and buffer statements */

static bool init_number(Elab *e, const ArgVal *a, double *r) {
    if (!val_is_number(a->v)) {
        if (a->v.kind != V_POISON)
            diag(e->ctx, DIAG_ARGUMENT_TYPE, a->span, "a start value is made of numbers, not of %s", val_text(e, a->v));
        return false;
    }
    *r = a->v.kind == V_INT ? (double)a->v.i : a->v.f;
    return true;
}

static const struct {
    const char *name;
    InitKind kind;
    uint32_t nargs;
    const char *args[2];
    double dflt[2];
    bool has_dflt;
} inits[] = {
    {"zeros", INIT_ZEROS, 0, {NULL, NULL}, {0, 0}, true},
    {"ones", INIT_ONES, 0, {NULL, NULL}, {0, 0}, true},
    {"constant", INIT_CONSTANT, 1, {"value", NULL}, {0, 0}, false},
    {"normal", INIT_NORMAL, 2, {"mean", "std"}, {0, 1}, true},
    {"uniform", INIT_UNIFORM, 2, {"a", "b"}, {0, 1}, true},
    {"kaiming_uniform", INIT_KAIMING_UNIFORM, 1, {"a", NULL}, {0, 0}, true},
};

bool is_initialiser(const char *name) {
    for (size_t i = 0; i < COUNT_OF(inits); i++)
        if (strcmp(inits[i].name, name) == 0)
            return true;
    return false;
}

static bool init_args(Elab *e, size_t which, const Expr *x, ArgVals args, Init *init) {
    double v[2] = {inits[which].dflt[0], inits[which].dflt[1]};
    bool given[2] = {false, false};
    for (uint32_t i = 0; i < args.n; i++) {
        const ArgVal *a = &args.p[i];
        uint32_t k = i;
        for (k = a->name.name != NULL ? 0 : i; a->name.name != NULL && k < inits[which].nargs; k++)
            if (strcmp(a->name.name, inits[which].args[k]) == 0)
                break;
        if (k >= inits[which].nargs) {
            diag(e->ctx, a->name.name != NULL ? DIAG_UNKNOWN_ARGUMENT : DIAG_EXTRA_ARGUMENT, a->span,
                 "%s takes %u argument%s", inits[which].name, (unsigned)inits[which].nargs,
                 inits[which].nargs == 1 ? "" : "s");
            return false;
        }
        if (given[k]) {
            diag(e->ctx, DIAG_DUPLICATE, a->span, "%s is given twice", inits[which].args[k]);
            return false;
        }
        given[k] = true;
        if (!init_number(e, a, &v[k]))
            return false;
    }
    if (!inits[which].has_dflt && !given[0]) {
        diag(e->ctx, DIAG_MISSING_ARGUMENT, x->span, "%s needs %s", inits[which].name, inits[which].args[0]);
        return false;
    }
    *init = (Init){inits[which].kind, v[0], v[1]};
    if (init->kind == INIT_NORMAL && v[1] < 0)
        diag(e->ctx, DIAG_ARGUMENT_VALUE, x->span, "the standard deviation of normal is not negative");
    else if (init->kind == INIT_UNIFORM && v[1] < v[0])
        diag(e->ctx, DIAG_ARGUMENT_VALUE, x->span, "uniform goes from the lower to the higher number");
    return true;
}

static bool eval_init(Elab *e, const Expr *x, Init *init) {
    *init = (Init){INIT_ZEROS, 0, 0};
    if (x == NULL)
        return true;
    const Expr *name = x->kind == EX_CALL ? x->lhs : x;
    for (size_t i = 0; name->kind == EX_NAME && i < COUNT_OF(inits); i++) {
        if (strcmp(inits[i].name, name->name) != 0 || scope_find(e->scope, name->name) != NULL)
            continue;
        ArgVals args = eval_args(e, x->kind == EX_CALL ? &x->args : NULL, false, v_none(), x->span);
        bool ok = init_args(e, i, x, args, init);
        pop_args(e, args);
        return ok;
    }
    Val v = eval_first(e, x);
    if (v.kind == V_BOOL)
        v = v_int(v.b);
    if (!val_is_number(v)) {
        if (v.kind != V_POISON) {
            Diag *d = diag(e->ctx, DIAG_ARGUMENT_TYPE, x->span,
                           "a start value is a number or one of the initialisers, not %s", val_text(e, v));
            diag_help(e->ctx, d,
                      "there are zeros, ones, constant(v), normal(mean, std), uniform(a, b), kaiming_uniform(a)");
        }
        return false;
    }
    *init = (Init){INIT_CONSTANT, v.kind == V_INT ? (double)v.i : v.f, 0};
    return true;
}

void declare_stored(Elab *e, const Stmt *s) {
    Ident id = s->targets.p[0];
    const Binding *old = scope_find(e->scope, id.name);
    Type type;
    Init init;
    if (old != NULL && old->decl != s) {
        Diag *d = diag(e->ctx, DIAG_DUPLICATE, id.span, "%s is declared already", id.name);
        diag_note(e->ctx, d, old->span, "it is bound here");
        return;
    }
    const char *what = arena_printf(e->ctx->scratch, "%s %s", s->kind == ST_PARAM ? "param" : "buffer", id.name);
    scope_bind(e, e->scope, id, v_poison(), s);
    bool ok = known_type(e, s->type, what, false, &type);
    if (!eval_init(e, s->values.n > 0 ? s->values.p[0] : NULL, &init) || !ok)
        return;
    if (s->kind == ST_PARAM && !dtype_is_float(type.dtype)) {
        Diag *d = diag(e->ctx, DIAG_DTYPE_MISMATCH, s->type->span, "param %s is trained, so it is a float, not %s",
                       id.name, dtype_name(type.dtype));
        diag_help(e->ctx, d, "a stored tensor that is not trained is a buffer");
        return;
    }
    const char *key = arena_printf(e->ctx->scratch, "%s%s", e->scope->keys->prefix, id.name);
    Role role = s->kind == ST_PARAM ? ROLE_PARAM : ROLE_BUFFER;
    Val v = claim_stored(e, key, role, &type, init, s->span, s->span, ++e->serials, e->scope->keys->shared);
    if (v.kind == V_TENSOR)
        v.tensor->declared = true;
    scope_bind(e, e->scope, id, v, s);
}
