/* call.c - calls: what a name calls, its arguments, operators and layers, and the names of stored tensors.
 *
 * x |> f(a), x.f(a) and f(x, a) are one call. A name is looked up among the layers of the body, then the blocks of the
 * module, then the operators, then the functions of numbers. Every call of an operator with weights makes an instance
 * of its own; a layer is one instance for all its calls. An instance's tensors are called prefix + segment + "." +
 * PyTorch's name, where the segment is name=, the layer's name, or the operator's name and a counter ("conv2d1"). */
#include "frontend/elab.h"

#include <string.h>

enum { MAX_PARAMS = 24 };

/* ---- what a name calls */

void unknown_callable(Elab *e, const Scope *s, ModuleEnv *m, Ident id, const NameMap *layers) {
    size_t nops, nfunctions, n = 0;
    const char *const *ops = op_names(&nops), *const *functions = function_names(&nfunctions);
    size_t nglobals = namemap_count(m->globals), nlocals = s != NULL ? s->names.n : 0,
           nlayers = layers != NULL ? namemap_count(layers) : 0;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, nops + nfunctions + nglobals + nlocals + nlayers);
    for (size_t i = 0; i < nlocals; i++)
        if (s->names.p[i]->v.kind == V_LAYER)
            names[n++] = s->names.p[i]->name;
    for (size_t i = 0; i < nlayers; i++)
        names[n++] = namemap_key(layers, i);
    for (size_t i = 0; i < nglobals; i++) {
        const Global *g = namemap_value(m->globals, i);
        if (g->kind == G_BLOCK || g->kind == G_NET)
            names[n++] = g->name;
    }
    for (size_t i = 0; i < nops; i++)
        names[n++] = ops[i];
    for (size_t i = 0; i < nfunctions; i++)
        names[n++] = functions[i];
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_OP, id.span, "nothing called '%s' can be called here", id.name);
    diag_suggest(e->ctx, d, id.name, names, n);
}

static bool not_callable(Elab *e, Ident id, Val v) {
    if (v.kind == V_POISON)
        return false;
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_OP, id.span, "%s is %s: it cannot be called", id.name, val_text(e, v));
    if (v.kind == V_TENSOR)
        diag_help(e->ctx, d, "elements are taken with brackets: %s[0]", id.name);
    return false;
}

static bool callee_of_global(Elab *e, Global *g, Ident id, Callee *c) {
    if (g->kind == G_BLOCK || g->kind == G_NET) {
        c->kind = C_BLOCK;
        c->block = g;
        return true;
    }
    if (g->kind == G_MODULE) {
        diag(e->ctx, DIAG_UNKNOWN_OP, id.span, "%s is a module: it cannot be called", id.name);
        return false;
    }
    return not_callable(e, id, global_value(e, g));
}

static bool resolve_name(Elab *e, Ident id, Callee *c) {
    *c = (Callee){.name = id.name, .span = id.span};
    Binding *local = scope_find(e->scope, id.name);
    if (local != NULL && local->v.kind == V_LAYER && local->v.layer->callee.kind != C_NOTHING) {
        c->kind = C_LAYER;
        c->layer = local->v.layer;
        return true;
    }
    Global *g = module_find(e->scope != NULL ? e->scope->module : e->root, id.name);
    if (g != NULL && (g->kind == G_BLOCK || g->kind == G_NET))
        return callee_of_global(e, g, id, c);
    c->op = op_info_by_name(id.name);
    c->also_function = is_function(id.name);
    if (c->op != NULL || c->also_function) {
        c->kind = c->op != NULL ? C_OP : C_FUNCTION;
        return true;
    }
    if (local != NULL)
        return not_callable(e, id, local->v);
    if (g != NULL)
        return callee_of_global(e, g, id, c);
    unknown_callable(e, e->scope, e->scope != NULL ? e->scope->module : e->root, id, NULL);
    return false;
}

static ModuleEnv *module_of(Elab *e, const Expr *x) {
    if (x->kind != EX_NAME || scope_find(e->scope, x->name) != NULL)
        return NULL;
    Global *g = module_find(e->scope != NULL ? e->scope->module : e->root, x->name);
    return g != NULL && g->kind == G_MODULE ? g->module : NULL;
}

static bool resolve_in_module(Elab *e, ModuleEnv *m, const Expr *x, Callee *c) {
    Ident id = {x->name, x->op_span};
    *c = (Callee){.name = id.name, .span = id.span};
    Global *g = namemap_get(m->own, x->name);
    if (g != NULL)
        return callee_of_global(e, g, id, c);
    size_t n = namemap_count(m->own);
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, n > 0 ? n : 1);
    for (size_t i = 0; i < n; i++)
        names[i] = namemap_key(m->own, i);
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_MEMBER, id.span, "the module has no member '%s'", id.name);
    diag_suggest(e->ctx, d, id.name, names, n);
    return false;
}

bool resolve_stage(Elab *e, const Expr *x, Callee *c) {
    if (x->kind == EX_NAME)
        return resolve_name(e, (Ident){x->name, x->span}, c);
    if (x->kind == EX_MEMBER) {
        ModuleEnv *m = module_of(e, x->lhs);
        if (m != NULL)
            return resolve_in_module(e, m, x, c);
        diag(e->ctx, DIAG_UNKNOWN_OP, x->span,
             "this cannot be called: only module.block has a dot before the arguments here");
        return false;
    }
    diag(e->ctx, DIAG_UNKNOWN_OP, x->span,
         "this cannot be called: a call starts with the name of an operator, block or layer");
    return false;
}

/* ---- arguments */

ArgVals eval_args(Elab *e, const ArgNodes *nodes, bool has_first, Val first, Span first_span) {
    size_t base = e->args.n;
    if (has_first)
        vec_push(e->arena, &e->args, ((ArgVal){.v = first, .span = first_span}));
    for (size_t i = 0; nodes != NULL && i < nodes->n; i++) {
        const ArgNode *node = &nodes->p[i];
        ArgVal a = {.name = node->name, .span = node->value->span};
        const Expr *value = node->value;
        if (value->kind == EX_ARROW) {
            a.has_from = true;
            a.from = eval_first(e, value->lhs);
            a.from_span = value->lhs->span;
            value = value->rhs;
            a.span = value->span;
        }
        a.v = eval(e, value);
        vec_push(e->arena, &e->args, a);
    }
    return (ArgVals){e->args.p ? e->args.p + base : NULL, (uint32_t)(e->args.n - base)};
}

void pop_args(Elab *e, ArgVals args) {
    e->args.n -= args.n;
}

bool args_poisoned(ArgVals args) {
    for (uint32_t i = 0; i < args.n; i++)
        if (val_has_poison(args.p[i].v) || (args.p[i].has_from && args.p[i].from.kind == V_POISON))
            return true;
    return false;
}

static bool take_name(Elab *e, Common *c, const ArgVal *a) {
    if (c->has_name) {
        diag(e->ctx, DIAG_DUPLICATE, a->name.span, "name is given twice");
        return false;
    }
    if (a->v.kind != V_STR) {
        diag(e->ctx, DIAG_ARGUMENT_TYPE, a->span, "name is a string, not %s", val_text(e, a->v));
        return false;
    }
    c->has_name = true;
    c->name = a->v.s;
    c->name_span = a->span;
    return true;
}

static bool take_inplace(Elab *e, Common *c, const ArgVal *a) {
    if (c->inplace != INPLACE_AUTO) {
        diag(e->ctx, DIAG_DUPLICATE, a->name.span, "inplace is given twice");
        return false;
    }
    if (a->v.kind != V_BOOL) {
        diag(e->ctx, DIAG_ARGUMENT_TYPE, a->span, "inplace is true or false, not %s", val_text(e, a->v));
        return false;
    }
    c->inplace = a->v.b ? INPLACE_DEMAND : INPLACE_FORBID;
    return true;
}

bool take_common(Elab *e, ArgVals *args, bool inplace_too, Common *c) {
    const char *name = name_of(e->ctx, "name"), *inplace = name_of(e->ctx, "inplace");
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->n; i++) {
        const ArgVal *a = &args->p[i];
        if (a->name.name != NULL && a->name.name == name) {
            if (!take_name(e, c, a))
                return false;
        } else if (a->name.name != NULL && a->name.name == inplace && inplace_too) {
            if (!take_inplace(e, c, a))
                return false;
        } else {
            args->p[n++] = *a;
        }
    }
    args->n = n;
    return true;
}

/* ---- operators */

static void help_in_channels(Elab *e, const OpInfo *info, ArgVals args, size_t nbefore) {
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < args.n; i++)
        numbers += args.p[i].name.name == NULL && args.p[i].v.kind == V_INT;
    Diag *d = strncmp(info->name, "conv", 4) == 0 && numbers >= 3 ? diag_since(e->ctx, nbefore) : NULL;
    if (d != NULL)
        diag_help(e->ctx, d, "in_channels is inferred: write %s(20, 5) or %s(1 -> 20, 5), not %s(1, 20, 5)",
                  info->name, info->name, info->name);
}

static bool too_many_ops(Elab *e, Span at) {
    if (e->g->ops.n < e->ctx->max_ops)
        return false;
    if (!e->stopped) {
        Diag *d = diag(e->ctx, DIAG_UNROLL_LIMIT, at, "the network has more than %llu operators",
                       (unsigned long long)e->ctx->max_ops);
        diag_help(e->ctx, d, "--max-ops=N raises the limit");
    }
    e->stopped = true;
    return true;
}

/* The op that made several elements of v one in memory, as PyTorch's expand does; looked for through views. */
static const Op *expanded_by(const Value *v) {
    for (const Op *op = v->def; op != NULL; op = op->in[0] != NULL ? op->in[0]->def : NULL) {
        if (op->kind == OP_EXPAND)
            return op->in[0]->nelem != op->out[0]->nelem ? op : NULL;
        bool view = op_has(op, PARTS) || op_has(op, MOVES) || op->kind == OP_VIEW || op->kind == OP_SQUEEZE ||
                    op->kind == OP_UNSQUEEZE;
        if (!view)
            return NULL;
    }
    return NULL;
}

/* A demand to run in place needs an operand of the result's own type, each element with a place of its own. */
static bool check_inplace(Elab *e, const Call *c) {
    const Datum *x = &c->args[0].value;
    if (c->inplace != INPLACE_DEMAND || c->result.kind != D_TENSOR || x->kind != D_TENSOR)
        return true;
    const Type *from = &x->tensor->type, *to = &c->result.tensor->type;
    const Op *expand = expanded_by(x->tensor);
    if (from->dtype != to->dtype || !shape_equal(&from->shape, &to->shape)) {
        diag(e->ctx, DIAG_INPLACE, c->span, "the result %s cannot be written in place over %s",
             type_text(e->ctx->scratch, to), type_text(e->ctx->scratch, from));
        return false;
    }
    if (expand != NULL) {
        Diag *d =
            diag(e->ctx, DIAG_INPLACE, c->span, "an expanded tensor cannot be written in place: its elements overlap");
        diag_note(e->ctx, d, expand->span, "it was expanded here");
    }
    return expand == NULL;
}

/* Binds a call whose arguments are in c->args. The ops it makes are placed at `site`, where the result is wanted. */
static Val finish_op(Elab *e, Call *c, Span site, ArgVals args) {
    if (too_many_ops(e, site))
        return v_poison();
    uint32_t number = count_up(e->arena, &e->scope->counters, c->info->name);
    const char *path = arena_printf(e->ctx->scratch, "%s/%s#%u", e->scope->path, c->info->name, (unsigned)number);
    c->path = graph_unique(e->ctx, e->g, path);
    c->ctx = e->ctx;
    c->g = e->g;
    c->checkpoint = e->checkpoint;
    c->stored = stored_tensor;
    size_t first_op = e->g->ops.n, ndiags = diag_count(e->ctx);
    if (!op_rules(c->info->kind)->bind(c)) {
        help_in_channels(e, c->info, args, ndiags);
        return v_poison();
    }
    if (!check_inplace(e, c))
        return v_poison();
    for (size_t i = first_op; i < e->g->ops.n; i++) {
        Op *op = e->g->ops.p[i];
        op->span = site;
        for (uint32_t k = 0; k < op->nout; k++)
            op->out[k]->span = site;
    }
    return val_from_datum(e, &c->result);
}

Val op_direct(Elab *e, OpKind kind, Span span, const Val *values, const Span *spans, InplaceWish wish) {
    const OpInfo *info = op_info(kind);
    Arg args[MAX_PARAMS] = {0};
    for (uint32_t i = 0; i < info->nparams; i++)
        args[i] = (Arg){.value = val_datum(e, values[i]), .span = spans[i], .given = true};
    Instance in = {.e = e, .keys = e->scope->keys, .segment = "", .serial = ++e->serials, .span = span, .site = span};
    Call c = {.info = info, .span = span, .args = args, .inplace = wish, .frontend = &in};
    return finish_op(e, &c, span, (ArgVals){0});
}

Val call_op_with(Elab *e, const OpInfo *info, Span span, Span site, ArgVals args, InplaceWish wish,
                        Instance *in) {
    if (info->nparams > MAX_PARAMS)
        ice("%s has more than %d arguments", info->name, (int)MAX_PARAMS);
    Arg bound[MAX_PARAMS] = {0};
    Call c = {.info = info, .span = span, .args = bound, .inplace = wish, .frontend = in};
    return bind_signature(e, &c, args) ? finish_op(e, &c, site, args) : v_poison();
}

static const char *segment_of(Elab *e, Keys *keys, const char *callee, const Common *common) {
    if (common->has_name)
        return common->name;
    return arena_printf(e->ctx->scratch, "%s%u", callee, (unsigned)count_up(e->arena, &keys->counters, callee));
}

static bool only_numbers(ArgVals args) {
    for (uint32_t i = 0; i < args.n; i++)
        if (val_has_tensor(v_first(args.p[i].v)))
            return false;
    return args.n > 0;
}

/* Not in the value of a dim or const. */
static bool in_body(const Elab *e) {
    return e->scope != NULL && e->scope->keys != NULL;
}

static Val call_operator(Elab *e, const Callee *c, Span span, ArgVals args) {
    if (c->also_function && only_numbers(args))
        return call_function(e, c, span, args);
    if (!in_body(e)) {
        diag(e->ctx, DIAG_NOT_CONSTANT, span, "an operator cannot stand here: the value must be known at compile time");
        return v_poison();
    }
    Common common = {0};
    if (!take_common(e, &args, (c->op->flags & WISH) != 0, &common))
        return v_poison();
    Keys *keys = e->scope->keys;
    Instance in = {.e = e, .keys = keys, .shared = keys->shared, .serial = ++e->serials, .span = span, .site = span};
    in.segment = segment_of(e, keys, c->name, &common);
    return call_op_with(e, c->op, span, span, args, common.inplace, &in);
}

/* ---- blocks */

static Keys *keys_below(Elab *e, Keys *outer, const char *segment) {
    if (segment[0] == '\0')
        return outer;
    Keys *k = NEW(e->arena, Keys);
    k->prefix = arena_printf(e->arena, "%s%s.", outer->prefix, segment);
    k->shared = outer->shared;
    return k;
}

const char *block_path(Elab *e, const char *name) {
    return arena_printf(e->arena, "%s/%s#%u", e->scope->path, name,
                        (unsigned)count_up(e->arena, &e->scope->counters, name));
}

/* The arguments outlive the stack: the block's body evaluates arguments of its own. */
ArgVals args_copy(Elab *e, ArgVals args) {
    if (args.n > 0)
        args.p = arena_copy(e->arena, args.p, args.n * sizeof *args.p);
    return args;
}

static Val call_named_block(Elab *e, const Callee *c, Span span, ArgVals args) {
    if (!in_body(e)) {
        diag(e->ctx, DIAG_NOT_CONSTANT, span, "a block cannot be called here: the value must be known at compile time");
        return v_poison();
    }
    Common common = {0};
    if (!take_common(e, &args, false, &common))
        return v_poison();
    Keys *keys = keys_below(e, e->scope->keys, segment_of(e, e->scope->keys, c->name, &common));
    return call_block(e, c->block, span, args_copy(e, args), keys, block_path(e, c->name));
}

/* ---- */

static Val call(Elab *e, const Callee *c, Span span, ArgVals args) {
    if (args_poisoned(args))
        return v_poison();
    switch (c->kind) {
    case C_OP: return call_operator(e, c, span, args);
    case C_BLOCK: return call_named_block(e, c, span, args);
    case C_LAYER: return call_layer(e, c->layer, span, args);
    case C_FUNCTION: return call_function(e, c, span, args);
    case C_NOTHING: break;
    }
    return v_poison();
}

static Val call_with(Elab *e, const Callee *c, Span span, const ArgNodes *nodes, bool has_first, Val first,
                     Span first_span) {
    ArgVals args = eval_args(e, nodes, has_first, first, first_span);
    Val v = call(e, c, span, args);
    pop_args(e, args);
    return v;
}

Val call_stage(Elab *e, const Expr *stage, Val first, Span first_span) {
    Callee c;
    const Expr *name = stage->kind == EX_CALL ? stage->lhs : stage;
    if (!resolve_stage(e, name, &c))
        return v_poison();
    return call_with(e, &c, stage->span, stage->kind == EX_CALL ? &stage->args : NULL, true, first, first_span);
}

/* x.f(a) is f(x, a), unless x is a module. */
Val eval_call(Elab *e, const Expr *x) {
    Callee c;
    const Expr *f = x->lhs;
    if (f->kind != EX_MEMBER || module_of(e, f->lhs) != NULL)
        return resolve_stage(e, f, &c) ? call_with(e, &c, x->span, &x->args, false, v_none(), x->span) : v_poison();
    Val first = eval(e, f->lhs);
    if (first.kind == V_POISON || !resolve_name(e, (Ident){f->name, f->op_span}, &c))
        return v_poison();
    Span span = {x->span.file, f->op_span.beg, x->span.end};
    return call_with(e, &c, span, &x->args, true, first, f->lhs->span);
}
