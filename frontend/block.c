/* block.c - a call of a block (or of a net as a block): arguments to parameters, shape patterns, the body, its results.
 *
 * The order in which names are bound: all given values; the patterns of given tensors, left to right; defaults, left to
 * right, which may use what was bound; then the axes that are expressions are compared. So `ff: int = 4 * D` and
 * `x: [N, heads * 64], heads: int` both work. */
#include "frontend/elab.h"

#include <string.h>

static const char *what_param(Elab *e, const Decl *decl, const ParamNode *p) {
    return arena_printf(e->ctx->scratch, "argument %s of %s", p->name.name, decl->name.name);
}

static uint32_t param_index(const Decl *decl, const char *name) {
    uint32_t i = 0;
    while (i < decl->params.n && decl->params.p[i].name.name != name)
        i++;
    return i;
}

void check_block_keyword(Elab *e, const Decl *decl, Ident id) {
    if (param_index(decl, id.name) < decl->params.n || strcmp(id.name, "name") == 0)
        return;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, decl->params.n + 1);
    for (size_t i = 0; i < decl->params.n; i++)
        names[i] = decl->params.p[i].name.name;
    names[decl->params.n] = "name";
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_ARGUMENT, id.span, "%s has no argument '%s'", decl->name.name, id.name);
    diag_suggest(e->ctx, d, id.name, names, decl->params.n + 1);
    diag_note(e->ctx, d, decl->name.span, "%s is declared here", decl->name.name);
}

void too_many_arguments(Elab *e, const Decl *decl, Span at) {
    Diag *d = diag(e->ctx, DIAG_EXTRA_ARGUMENT, at, "%s takes %u argument%s, and this is one more", decl->name.name,
                   (unsigned)decl->params.n, decl->params.n == 1 ? "" : "s");
    diag_note(e->ctx, d, decl->name.span, "%s is declared here", decl->name.name);
}

void missing_argument(Elab *e, const Decl *decl, const ParamNode *p, Span site) {
    Diag *d = diag(e->ctx, DIAG_MISSING_ARGUMENT, site, "%s needs the argument %s", decl->name.name, p->name.name);
    diag_note(e->ctx, d, p->span, "it is declared here");
}

/* Which argument each parameter gets: slot[i] is NULL where none is given. */
static bool assign_params(Elab *e, const Decl *decl, ArgVals args, const ArgVal **slot) {
    uint32_t next = 0;
    bool ok = true;
    for (uint32_t k = 0; k < args.n; k++) {
        const ArgVal *a = &args.p[k];
        uint32_t i = a->name.name != NULL ? param_index(decl, a->name.name) : next++;
        if (a->has_from) {
            diag(e->ctx, DIAG_ARGUMENT_TYPE, a->span, "'in -> out' is an argument of operators, not of the block %s",
                 decl->name.name);
            ok = false;
        } else if (i >= decl->params.n) {
            if (a->name.name != NULL)
                check_block_keyword(e, decl, a->name);
            else if (ok)
                too_many_arguments(e, decl, a->span);
            ok = false;
        } else if (slot[i] != NULL) {
            Span at = a->name.name != NULL ? a->name.span : a->span;
            Diag *d = diag(e->ctx, DIAG_DUPLICATE, at, "%s is given twice to %s", decl->params.p[i].name.name,
                           decl->name.name);
            diag_note(e->ctx, d, slot[i]->span, "it has a value already");
            ok = false;
        } else {
            slot[i] = a;
        }
    }
    return ok;
}

static bool required_given(Elab *e, const Decl *decl, const ArgVal *const *slot, Span site) {
    for (size_t i = 0; i < decl->params.n; i++) {
        if (slot[i] != NULL || decl->params.p[i].dflt != NULL)
            continue;
        missing_argument(e, decl, &decl->params.p[i], site);
        return false;
    }
    return true;
}

static TypeUse use_of_param(Elab *e, const Decl *decl, const ParamNode *p, Span at) {
    return (TypeUse){.code = DIAG_SHAPE_MISMATCH,
                     .what = what_param(e, decl, p),
                     .at = at,
                     .declared = p->type->span,
                     .binds = true,
                     .lenient = decl->kind == DE_NET};
}

/* The type of a parameter but for axes that are expressions. */
static bool match_param(Elab *e, const Decl *decl, const ParamNode *p, Val *v, Span at) {
    if (p->type == NULL || v->kind == V_POISON)
        return v->kind != V_POISON;
    TypeUse use = use_of_param(e, decl, p, at);
    if (is_scalar_type(p->type))
        return check_scalar_type(e, p->type, v, &use);
    if (v->kind == V_TENSOR)
        return match_names(e, p->type, v->tensor, &use);
    Diag *d = diag(e->ctx, DIAG_ARGUMENT_TYPE, at, "%s is a tensor, not %s", use.what, val_text(e, *v));
    diag_note(e->ctx, d, p->span, "it is declared here");
    return false;
}

/* A parameter that may be none when its default is: `mask: [N, T] = none`. */
static bool is_absent(const ParamNode *p, Val v) {
    return v.kind == V_NONE && p->dflt != NULL && p->dflt->kind == EX_NONE;
}

static bool bind_given(Elab *e, const Decl *decl, const ArgVal *const *slot) {
    bool ok = true;
    for (size_t i = 0; i < decl->params.n; i++)
        if (slot[i] != NULL)
            scope_bind(e, e->scope, decl->params.p[i].name, v_first(slot[i]->v), NULL);
    for (size_t i = 0; i < decl->params.n; i++) {
        const ParamNode *p = &decl->params.p[i];
        if (slot[i] == NULL)
            continue;
        Val v = v_first(slot[i]->v);
        if (!is_absent(p, v))
            ok = match_param(e, decl, p, &v, slot[i]->span) && ok;
        scope_bind(e, e->scope, p->name, v, NULL);
    }
    return ok;
}

static bool bind_defaults(Elab *e, const Decl *decl, const ArgVal *const *slot) {
    bool ok = true;
    for (size_t i = 0; i < decl->params.n; i++) {
        const ParamNode *p = &decl->params.p[i];
        if (slot[i] != NULL)
            continue;
        Val v = eval_first(e, p->dflt);
        if (!is_absent(p, v))
            ok = match_param(e, decl, p, &v, p->dflt->span) && ok;
        scope_bind(e, e->scope, p->name, v, NULL);
    }
    return ok;
}

static bool match_expressions(Elab *e, const Decl *decl, const ArgVal *const *slot, Span site) {
    bool ok = true;
    for (size_t i = 0; i < decl->params.n; i++) {
        const ParamNode *p = &decl->params.p[i];
        Val v = scope_find(e->scope, p->name.name)->v;
        if (p->type == NULL || v.kind != V_TENSOR)
            continue;
        TypeUse use = use_of_param(e, decl, p, slot[i] != NULL ? slot[i]->span : site);
        ok = match_exact(e, p->type, v.tensor, &use) && ok;
    }
    return ok;
}

static bool bind_params(Elab *e, const Decl *decl, const ArgVal *const *slot, Span site) {
    return bind_given(e, decl, slot) && bind_defaults(e, decl, slot) && match_expressions(e, decl, slot, site);
}

/* A cycle is refused at the call that closes it: the frames of the diagnostic are the chain. */
static bool recursive(Elab *e, const Decl *decl, Span site) {
    uint32_t depth = 0;
    for (const Scope *s = e->scope; s != NULL; s = s->caller, depth++) {
        if (s->decl != decl)
            continue;
        StrBuf chain;
        sb_init(&chain, e->ctx->scratch);
        for (const Scope *t = e->scope; t != s; t = t->caller)
            if (t != e->scope || t->decl != decl)
                sb_printf(&chain, "%s%s", chain.n > 0 ? ", called by " : " through ", t->decl->name.name);
        diag(e->ctx, DIAG_RECURSION, site, "%s calls itself%s", decl->name.name, sb_str(&chain));
        return true;
    }
    if (depth < MAX_BLOCK_DEPTH)
        return false;
    diag(e->ctx, DIAG_NESTING, site, "blocks call blocks more than %d deep", (int)MAX_BLOCK_DEPTH);
    return true;
}

static Val results_of(Elab *e, const Scope *s) {
    if (!s->returned) {
        if (!e->stopped)
            diag(e->ctx, DIAG_NO_RETURN, s->decl->end, "%s ends without a return", s->decl->name.name);
        return v_poison();
    }
    if (s->results.n == 1)
        return s->results.p[0];
    return v_list(s->results.p, (uint32_t)s->results.n);
}

static Val elaborate_call(Elab *e, const Global *g, const ArgVal *const *slot, Span site) {
    uint32_t outer = e->checkpoint;
    if (has_annot(&g->decl->annots, "checkpoint"))
        e->checkpoint = ++e->ncheckpoints;
    Val v = v_poison();
    if (bind_params(e, g->decl, slot, site)) {
        exec_body(e, &g->decl->body);
        v = results_of(e, e->scope);
    }
    e->checkpoint = outer;
    return v;
}

Val call_block(Elab *e, const Global *g, Span site, ArgVals args, Keys *keys, const char *path) {
    const Decl *decl = g->decl;
    if (recursive(e, decl, site))
        return v_poison();
    const ArgVal **slot = NEW_ARRAY(e->arena, const ArgVal *, decl->params.n + 1);
    if (!assign_params(e, decl, args, slot) || !required_given(e, decl, slot, site))
        return v_poison();
    Scope *s = NEW(e->arena, Scope);
    s->module = g->home;
    s->decl = decl;
    s->caller = e->scope;
    s->path = path;
    s->keys = keys;
    diag_push_frame(e->ctx, site, "in %s called from here", decl->name.name);
    e->scope = s;
    Val v = elaborate_call(e, g, slot, site);
    e->scope = s->caller;
    diag_pop_frame(e->ctx);
    return v;
}
