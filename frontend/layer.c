/* layer.c - `layer f = stage`: one instance of an operator or block that every f(x) shares. The stage's arguments are
 * evaluated where the layer is declared and follow those of each call, as in a pipe. Its tensors get their shapes
 * from the first call; f.weight reads them afterwards. */
#include "frontend/elab.h"

#include <string.h>

static ArgVals args_join(Elab *e, ArgVals given, ArgVals own) {
    ArgVals all = {NEW_ARRAY(e->arena, ArgVal, given.n + own.n + 1), given.n + own.n};
    for (uint32_t i = 0; i < all.n; i++)
        all.p[i] = i < given.n ? given.p[i] : own.p[i - given.n];
    return all;
}

static Val call_layer_block(Elab *e, Layer *l, Span site, ArgVals args) {
    SharedCall *shared = NEW(e->arena, SharedCall);
    *shared = (SharedCall){.outer = l->shared,
                           .layer = l,
                           .call = ++e->serials,
                           .depth = l->shared ? l->shared->depth + 1 : 1};
    Keys *keys = NEW(e->arena, Keys);
    keys->prefix = l->prefix;
    keys->shared = shared;
    return call_block(e, l->callee.block, site, args, keys, block_path(e, l->callee.name));
}

Val call_layer(Elab *e, Layer *l, Span site, ArgVals args) {
    Common common = {0};
    const OpInfo *op = l->callee.op;
    if (!take_common(e, &args, op != NULL && (op->flags & WISH), &common))
        return v_poison();
    if (common.has_name) {
        diag(e->ctx, DIAG_DUPLICATE, common.name_span, "the layer %s has a name already", l->name);
        return v_poison();
    }
    ArgVals all = args_join(e, args, l->args);
    l->ncalls++;
    diag_push_frame(e->ctx, site, "in %s called from here", l->name);
    Val v;
    if (l->callee.kind == C_BLOCK) {
        diag_pop_frame(e->ctx);
        return call_layer_block(e, l, site, all);
    }
    Instance in =
        {.e = e, .prefix = l->prefix, .shared = l->shared, .serial = l->serial, .span = l->span, .site = site};
    v = call_op_with(e, op, l->span, site, all, common.inplace != INPLACE_AUTO ? common.inplace : l->inplace, &in);
    diag_pop_frame(e->ctx);
    return v;
}

static void layer_from_stage(Elab *e, const Stmt *s, Layer *l, Callee c, ArgVals args) {
    Common common = {0};
    bool wish = c.kind == C_OP && (c.op->flags & WISH);
    if (args_poisoned(args) || !take_common(e, &args, wish, &common))
        return;
    const char *segment = common.has_name ? common.name : l->name;
    Keys *keys = e->scope->keys;
    l->span = s->cond->span;
    l->callee = c;
    l->inplace = common.inplace;
    l->shared = keys->shared;
    l->prefix = segment[0] == '\0' ? keys->prefix : arena_printf(e->arena, "%s%s.", keys->prefix, segment);
    l->serial = ++e->serials;
    l->args = args_copy(e, args);
    scope_bind(e, e->scope, s->targets.p[0], (Val){.kind = V_LAYER, .layer = l}, s);
}

void declare_layer(Elab *e, const Stmt *s) {
    Ident id = s->targets.p[0];
    const Expr *stage = s->cond, *name = stage->kind == EX_CALL ? stage->lhs : stage;
    const Binding *old = scope_find(e->scope, id.name);
    if (old != NULL && old->decl != s) {
        Diag *d = diag(e->ctx, DIAG_DUPLICATE, id.span, "%s is declared already", id.name);
        diag_note(e->ctx, d, old->span, "it is bound here");
        return;
    }
    Callee c;
    scope_bind(e, e->scope, id, v_poison(), s);           /* so that calls of a faulty layer stay silent */
    if (!resolve_stage(e, name, &c))
        return;
    if (c.kind != C_OP && c.kind != C_BLOCK) {
        diag(e->ctx, DIAG_UNKNOWN_OP, name->span, "a layer is an operator or a block, and %s is %s", c.name,
             c.kind == C_LAYER ? "a layer already" : "a function of numbers");
        return;
    }
    Layer *l = NEW(e->arena, Layer);
    l->name = id.name;
    ArgVals args = eval_args(e, stage->kind == EX_CALL ? &stage->args : NULL, false, v_none(), stage->span);
    ArgVals kept = args;
    layer_from_stage(e, s, l, c, args);
    pop_args(e, kept);
}

/* a.conv1 of a layer that is a block: what has tensors called a.conv1.something. It can be looked into, not called. */
static Layer *layer_part(Elab *e, const Expr *x, const Layer *l) {
    const char *prefix = arena_printf(e->arena, "%s%s.", l->prefix, x->name);
    for (size_t i = 0; i < e->g->stored.n; i++) {
        if (strncmp(e->g->stored.p[i]->name, prefix, strlen(prefix)) != 0)
            continue;
        Layer *part = NEW(e->arena, Layer);
        *part = (Layer){.name = arena_printf(e->arena, "%s.%s", l->name, x->name),
                        .prefix = prefix,
                        .span = x->span,
                        .ncalls = 1};
        return part;
    }
    return NULL;
}

Val layer_member(Elab *e, const Expr *x, const Layer *l) {
    if (l->ncalls == 0) {
        Diag *d = diag(e->ctx, DIAG_NOT_YET_SHAPED, x->span, "%s.%s has no shape yet: %s was not called before",
                       l->name, x->name, l->name);
        diag_help(e->ctx, d, "the first call of a layer gives its tensors their shapes; read them after it");
        return v_poison();
    }
    const KeyClaim *claim =
        namemap_get(e->claims, name_of(e->ctx, arena_printf(e->ctx->scratch, "%s%s", l->prefix, x->name)));
    if (claim != NULL)
        return v_tensor(claim->value);
    size_t n = 0, len = strlen(l->prefix);
    Layer *part = layer_part(e, x, l);
    if (part != NULL)
        return (Val){.kind = V_LAYER, .layer = part};
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, e->g->stored.n + 1);
    for (size_t i = 0; i < e->g->stored.n; i++)
        if (strncmp(e->g->stored.p[i]->name, l->prefix, len) == 0)
            names[n++] = e->g->stored.p[i]->name + len;
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_MEMBER, x->op_span, "the layer %s has no tensor '%s'", l->name, x->name);
    diag_suggest(e->ctx, d, x->name, names, n);
    return v_poison();
}
