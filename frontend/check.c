/* check.c - the static half: what must hold of all code, also of branches that are not taken and blocks that nothing
 * calls.
 *
 * For each body: every name is known, calls name what exists and their keyword arguments too, the numbers of names and
 * values agree where both are written out, annotations exist and stand in their place, strings can be taken apart.
 * Names that nothing ever reads are warnings in the file itself, not in what it imports. One walk, linear in the
 * program.
 *
 * Elaboration finds the same mistakes in the code it reaches, in the same words: a diagnostic is printed once. */
#include "frontend/elab.h"

#include <string.h>

typedef enum UseKind { U_VALUE, U_LAYER, U_STORED, U_PARAM, U_LOOP, U_DIM } UseKind;
typedef struct Use {
    Span span;
    UseKind kind;
    bool read;
} Use;

typedef struct Checker {
    Elab *e;
    ModuleEnv *m;
    NameMap *names; /* every name the body binds somewhere -> Use; NULL outside bodies */
    NameMap *layers, *dims; /* those that are layers; that may stand in a shape */
    bool warn;
} Checker;

static void check_expr(Checker *, Expr *);

/* ---- the names of a body */

static void bind_name(Checker *c, Ident id, UseKind kind) {
    if (namemap_get(c->names, id.name) != NULL)
        return;
    Use *u = NEW(c->e->ctx->scratch, Use);
    u->span = id.span;
    u->kind = kind;
    namemap_put(c->names, id.name, u);
    if (kind == U_LAYER)
        namemap_put(c->layers, id.name, u);
    if (kind == U_DIM)
        namemap_put(c->dims, id.name, u);
}

static void bind_axes(Checker *c, const TypeNode *t, bool bare_too) {
    for (size_t i = 0; t != NULL && i < t->axes.n; i++) {
        const AxisNode *a = &t->axes.p[i];
        if (a->name.name != NULL)
            bind_name(c, a->name, U_DIM);
        else if (bare_too && a->expr != NULL && a->expr->kind == EX_NAME)
            bind_name(c, (Ident){a->expr->name, a->expr->span}, U_DIM);
    }
}

static UseKind kind_of_target(const Stmt *s) {
    switch (s->kind) {
    case ST_LAYER: return U_LAYER;
    case ST_PARAM: case ST_BUFFER: return U_STORED;
    case ST_FOR: return U_LOOP;
    case ST_ASSIGN: case ST_TYPED: case ST_AUGMENT: case ST_RETURN: case ST_ASSERT: case ST_REPEAT: case ST_IF: break;
    }
    return U_VALUE;
}

/* Depth is that of braces, which the parser bounds; a chain of else-ifs is one level. */
static void collect(Checker *c, const Stmts *body) {
    for (size_t i = 0; i < body->n; i++) {
        for (const Stmt *s = body->p[i]; s != NULL;) {
            for (size_t k = 0; k < s->targets.n && s->kind != ST_AUGMENT; k++)
                bind_name(c, s->targets.p[k], kind_of_target(s));
            bind_axes(c, s->type, false);
            collect(c, &s->body);
            bool chain = s->orelse.n == 1 && s->orelse.p[0]->kind == ST_IF;
            if (!chain)
                collect(c, &s->orelse);
            s = chain ? s->orelse.p[0] : NULL;
        }
    }
}

/* Breadth first, without recursion: only asked on the way to a message. */
const Stmt *body_binder(const Decl *decl, const char *name) {
    VEC(const Stmts *) pending = {0};
    Arena *arena = arena_new();
    const Stmt *found = NULL;
    vec_push(arena, &pending, &decl->body);
    for (size_t next = 0; next < pending.n && found == NULL; next++) {
        const Stmts *body = pending.p[next];
        for (size_t i = 0; i < body->n && found == NULL; i++) {
            const Stmt *s = body->p[i];
            for (size_t k = 0; k < s->targets.n; k++)
                if (s->targets.p[k].name == name)
                    found = s;
            vec_push(arena, &pending, &s->body);
            vec_push(arena, &pending, &s->orelse);
        }
    }
    arena_free(arena);
    return found;
}

/* ---- names */

static bool builtin_value(const char *name) {
    DType dtype;
    return strcmp(name, "inf") == 0 || dtype_by_name(name, &dtype);
}

/* Marks a read; true if something in the body or the module has this name. */
static bool read_name(Checker *c, const char *name) {
    Use *u = c->names != NULL ? namemap_get(c->names, name) : NULL;
    if (u != NULL) {
        u->read = true;
        return true;
    }
    Global *g = module_find(c->m, name);
    if (g != NULL)
        g->read = true;
    return g != NULL;
}

static void check_name(Checker *c, const Expr *x) {
    if (!read_name(c, x->name) && !builtin_value(x->name) && op_info_by_name(x->name) == NULL && !is_function(x->name))
        unknown_name(c->e, NULL, c->m, DIAG_UNKNOWN_NAME, (Ident){x->name, x->span}, c->names);
}

/* ---- calls */

static void check_args(Checker *c, ArgNodes *args) {
    for (size_t i = 0; i < args->n; i++) {
        Expr *v = args->p[i].value;
        if (v->kind == EX_ARROW) {
            check_expr(c, v->lhs);
            check_expr(c, v->rhs);
        } else {
            check_expr(c, v);
        }
    }
}

static const Global *block_called(Checker *c, const Expr *f) {
    if (f->kind == EX_MEMBER) {
        const Global *m = f->lhs->kind == EX_NAME ? module_find(c->m, f->lhs->name) : NULL;
        const Global *g = m != NULL && m->kind == G_MODULE ? namemap_get(m->module->own, f->name) : NULL;
        return g != NULL && (g->kind == G_BLOCK || g->kind == G_NET) ? g : NULL;
    }
    const Use *u = f->kind == EX_NAME && c->names != NULL ? namemap_get(c->names, f->name) : NULL;
    const Global *g = f->kind == EX_NAME && (u == NULL || u->kind != U_LAYER) ? module_find(c->m, f->name) : NULL;
    return g != NULL && (g->kind == G_BLOCK || g->kind == G_NET) ? g : NULL;
}

static bool is_method(Checker *c, const Expr *f) {
    if (f->kind != EX_MEMBER)
        return false;
    const Global *m = f->lhs->kind == EX_NAME && (c->names == NULL || namemap_get(c->names, f->lhs->name) == NULL)
                          ? module_find(c->m, f->lhs->name) : NULL;
    return m == NULL || m->kind != G_MODULE;
}

/* Callable names: layers of the body, blocks, operators, functions. */
static void check_callee(Checker *c, Ident id) {
    if (!read_name(c, id.name) && op_info_by_name(id.name) == NULL && !is_function(id.name))
        unknown_callable(c->e, NULL, c->m, id, c->layers);
}

static void check_keywords(Checker *c, const Expr *f, const ArgNodes *args) {
    const Global *g = block_called(c, f);
    const char *name = f->name;
    const Use *u = f->kind == EX_NAME && c->names != NULL ? namemap_get(c->names, name) : NULL;
    const OpInfo *op = g == NULL && !(u != NULL && u->kind == U_LAYER) && (f->kind == EX_NAME || is_method(c, f))
                           ? op_info_by_name(name)
                           : NULL;
    for (size_t i = 0; i < args->n; i++) {
        Ident id = args->p[i].name;
        for (size_t k = 0; k < i && id.name != NULL; k++) {
            if (args->p[k].name.name != id.name)
                continue;
            Diag *d = diag(c->e->ctx, DIAG_DUPLICATE, id.span, "%s is given twice to %s", id.name, name);
            diag_note(c->e->ctx, d, args->p[k].value->span, "it has a value already");
            break;
        }
        if (id.name != NULL && g != NULL)
            check_block_keyword(c->e, g->decl, id);
        else if (id.name != NULL && op != NULL)
            check_op_keyword(c->e, op, id);
    }
}

/* A call of a block gives every argument that has no default, and no more than there are. */
static void check_block_arity(Checker *c, const Global *g, const ArgNodes *args, bool piped, Span site) {
    const ParamNodes *params = &g->decl->params;
    size_t positional = piped;
    for (size_t i = 0; i < args->n; i++) {
        if (args->p[i].name.name != NULL)
            continue;
        if (++positional > params->n) {
            too_many_arguments(c->e, g->decl, args->p[i].value->span);
            return;
        }
    }
    for (size_t p = positional; p < params->n; p++) {
        bool given = params->p[p].dflt != NULL;
        for (size_t i = 0; i < args->n && !given; i++)
            given = args->p[i].name.name == params->p[p].name.name;
        if (!given) {
            missing_argument(c->e, g->decl, &params->p[p], site);
            return;
        }
    }
}

/* f(args), x |> f(args); `layer l = f(args)` leaves arguments for its calls to give. */
static void check_call(Checker *c, Expr *f, ArgNodes *args, bool piped, bool is_layer, Span site) {
    bool method = is_method(c, f) && !piped && !is_layer;
    if (f->kind == EX_NAME)
        check_callee(c, (Ident){f->name, f->span});
    else
        check_expr(c, method ? f->lhs : f);
    if (method)
        check_callee(c, (Ident){f->name, f->op_span});
    const Global *g = f->kind == EX_NAME || !method ? block_called(c, f) : NULL;
    if (f->kind == EX_NAME || f->kind == EX_MEMBER)
        check_keywords(c, f, args);
    if (g != NULL && !is_layer)
        check_block_arity(c, g, args, piped, site);
    check_args(c, args);
}

/* ---- expressions */

static void check_stage(Checker *c, Expr *stage, bool piped, bool is_layer) {
    ArgNodes none = {0};
    if (stage->kind == EX_CALL)
        check_call(c, stage->lhs, &stage->args, piped, is_layer, stage->span);
    else
        check_call(c, stage, &none, piped, is_layer, stage->span);
}

static void check_indices(Checker *c, Expr *x) {
    for (size_t i = 0; i < x->indices.n; i++) {
        const IndexNode *n = &x->indices.p[i];
        Expr *parts[] = {n->at, n->lo, n->hi, n->step};
        for (size_t k = 0; k < COUNT_OF(parts); k++)
            if (parts[k] != NULL)
                check_expr(c, parts[k]);
    }
}

static void check_string(Checker *c, Expr *x) {
    if (!text_split(c->e->ctx, x))
        return;
    for (size_t i = 0; i < x->items.n; i++)
        if (x->items.p[i]->kind != EX_STR)
            check_expr(c, x->items.p[i]);
}

static void check_expr(Checker *c, Expr *x) {
    for (; x->kind == EX_PIPE; x = x->lhs)
        check_stage(c, x->rhs, true, false);
    switch (x->kind) {
    case EX_NAME: check_name(c, x); break;
    case EX_STR: check_string(c, x); break;
    case EX_MEMBER: check_expr(c, x->lhs); break;
    case EX_CALL: check_call(c, x->lhs, &x->args, false, false, x->span); break;
    case EX_INDEX:
        check_expr(c, x->lhs);
        check_indices(c, x);
        break;
    case EX_TUPLE: case EX_LIST:
        for (size_t i = 0; i < x->items.n; i++)
            check_expr(c, x->items.p[i]);
        break;
    case EX_COND: check_expr(c, x->cond); /* fall through */
    case EX_BINARY: case EX_ARROW: check_expr(c, x->rhs); /* fall through */
    case EX_UNARY: check_expr(c, x->lhs); break;
    case EX_INT: case EX_FLOAT: case EX_SIZE: case EX_BOOL: case EX_NONE: case EX_PIPE: break;
    }
}

/* ---- types */

static void check_axis_name(Checker *c, const Expr *x) {
    if (strcmp(x->name, "_") != 0 && !read_name(c, x->name))
        unknown_name(c->e, NULL, c->m, DIAG_UNKNOWN_DIM, (Ident){x->name, x->span}, c->dims);
}

static void check_type(Checker *c, const TypeNode *t) {
    DType dtype;
    if (t == NULL)
        return;
    if (t->dtype.name != NULL && !is_scalar_type(t))
        written_dtype(c->e, t, &dtype);
    for (size_t i = 0; i < t->axes.n; i++) {
        const AxisNode *a = &t->axes.p[i];
        if (a->expr != NULL && a->expr->kind == EX_NAME)
            check_axis_name(c, a->expr);
        else if (a->expr != NULL)
            check_expr(c, a->expr);
    }
}

/* ---- statements */

static unsigned place_of_stmt(const Stmt *s) {
    switch (s->kind) {
    case ST_FOR: case ST_REPEAT: return ON_LOOP;
    case ST_ASSIGN: case ST_TYPED: case ST_AUGMENT: return ON_BINDING;
    case ST_RETURN: return ON_RETURN;
    case ST_LAYER: case ST_PARAM: case ST_BUFFER: case ST_ASSERT: case ST_IF: break;
    }
    return ON_OTHER;
}

static bool always_returns(const Stmts *body);

static bool stmt_returns(const Stmt *s) {
    while (s->kind == ST_IF) {
        if (!s->has_else || !always_returns(&s->body))
            return false;
        if (s->orelse.n != 1 || s->orelse.p[0]->kind != ST_IF)
            return always_returns(&s->orelse);
        s = s->orelse.p[0];
    }
    return s->kind == ST_RETURN;
}

static bool always_returns(const Stmts *body) {
    for (size_t i = 0; i < body->n; i++)
        if (stmt_returns(body->p[i]))
            return true;
    return false;
}

/* Names and values that are both written out. */
static void check_arity(Checker *c, const Stmt *s) {
    size_t names = s->targets.n, values = s->values.n;
    const Expr *only = values == 1 ? s->values.p[0] : NULL;
    if (s->kind != ST_ASSIGN)
        return;
    if (names > 1 && only != NULL && (only->kind == EX_TUPLE || only->kind == EX_LIST))
        values = only->items.n;
    else if (only != NULL)
        return;
    if (names == values)
        return;
    Span at = span_join(s->values.p[0]->span, s->values.p[s->values.n - 1]->span);
    names_and_values_differ(c->e, at, names, values);
}

static void check_body(Checker *c, Stmts *body);

static void check_annots(Checker *c, Annots *annots, unsigned place) {
    check_annotations(c->e, annots, place);
    for (size_t i = 0; i < annots->n; i++)
        check_args(c, &annots->p[i].args);
}

/* normal(0, 0.02): initialisers are no operators. */
static void check_start_value(Checker *c, Expr *x) {
    const Expr *name = x->kind == EX_CALL ? x->lhs : x;
    if (name->kind != EX_NAME || !is_initialiser(name->name))
        check_expr(c, x);
    else if (x->kind == EX_CALL)
        check_args(c, &x->args);
}

static void check_stmt(Checker *c, Stmt *s) {
    check_annots(c, &s->annots, place_of_stmt(s));
    check_type(c, s->type);
    if (s->cond != NULL && s->kind == ST_LAYER)
        check_stage(c, s->cond, false, true);
    else if (s->cond != NULL)
        check_expr(c, s->cond);
    if (s->message != NULL)
        check_string(c, s->message);
    if (s->kind == ST_AUGMENT && !read_name(c, s->targets.p[0].name))
        unknown_name(c->e, NULL, c->m, DIAG_UNKNOWN_NAME, s->targets.p[0], c->names);
    bool stored = s->kind == ST_PARAM || s->kind == ST_BUFFER;
    for (size_t i = 0; i < s->values.n; i++)
        stored ? check_start_value(c, s->values.p[i]) : check_expr(c, s->values.p[i]);
    check_arity(c, s);
    check_body(c, &s->body);
}

static void check_body(Checker *c, Stmts *body) {
    bool returned = false;
    for (size_t i = 0; i < body->n; i++) {
        if (returned) {
            if (c->warn)
                diag(c->e->ctx, DIAG_UNREACHABLE, body->p[i]->span,
                     "this is never reached: the statement before it returns");
            returned = false;
        }
        for (Stmt *s = body->p[i]; s != NULL;) {
            check_stmt(c, s);
            bool chain = s->orelse.n == 1 && s->orelse.p[0]->kind == ST_IF;
            if (!chain)
                check_body(c, &s->orelse);
            s = chain ? s->orelse.p[0] : NULL;
        }
        returned = stmt_returns(body->p[i]);
    }
}

/* ---- functions and modules */

/* Values and layers that nothing reads. A parameter with a shape may be there for its dims. */
static void warn_unused(Checker *c, const Decl *decl) {
    static const char *const what[] = {[U_LAYER] = "layer", [U_STORED] = "stored tensor", [U_PARAM] = "argument"};
    for (size_t i = 0; i < namemap_count(c->names); i++) {
        const char *name = namemap_key(c->names, i);
        const Use *u = namemap_value(c->names, i);
        if (u->read || name[0] == '_' || u->kind == U_LOOP || u->kind == U_DIM)
            continue;
        if (u->kind == U_VALUE)
            diag(c->e->ctx, DIAG_UNUSED_VALUE, u->span, "the value of '%s' is never used", name);
        else if (u->kind != U_PARAM || decl->kind == DE_NET)
            diag(c->e->ctx, DIAG_UNUSED_NAME, u->span, "%s '%s' is never used",
                 u->kind == U_PARAM ? "input" : what[u->kind], name);
    }
}

static void check_duplicate_params(Checker *c, const Decl *d) {
    static const char *const taken[] = {"name", "inplace"};
    for (size_t i = 0; i < d->params.n; i++) {
        Ident id = d->params.p[i].name;
        for (size_t k = 0; k < i; k++)
            if (d->params.p[k].name.name == id.name)
                diag(c->e->ctx, DIAG_DUPLICATE, id.span, "%s has two arguments called '%s'", d->name.name, id.name);
        if (d->kind != DE_TRAIN && (strcmp(id.name, taken[0]) == 0 || strcmp(id.name, taken[1]) == 0))
            diag(c->e->ctx, DIAG_DUPLICATE, id.span,
                 "an argument cannot be called '%s': every call has one of this name already", id.name);
    }
    for (size_t i = 0; i < d->results.n; i++)
        for (size_t k = 0; k < i; k++)
            if (d->results.p[i].name.name != NULL && d->results.p[k].name.name == d->results.p[i].name.name)
                diag(c->e->ctx, DIAG_DUPLICATE, d->results.p[i].span, "%s has two results called '%s'", d->name.name,
                     d->results.p[i].name.name);
}

static void start_function(Checker *c, Elab *e, ModuleEnv *m, const Decl *d) {
    *c = (Checker){.e = e, .m = m, .names = namemap_new(e->ctx->scratch), .warn = m == e->root};
    c->layers = namemap_new(e->ctx->scratch);
    c->dims = namemap_new(e->ctx->scratch);
    for (size_t i = 0; i < d->params.n; i++) {
        bind_name(c, d->params.p[i].name, U_PARAM);
        if (is_scalar_type(d->params.p[i].type))
            namemap_put(c->dims, d->params.p[i].name.name, c);
    }
    for (size_t i = 0; i < d->params.n; i++)
        bind_axes(c, d->params.p[i].type, d->kind == DE_BLOCK);
    collect(c, &d->body);
}

static void check_signature(Checker *c, const Decl *d) {
    check_duplicate_params(c, d);
    for (size_t i = 0; i < d->params.n; i++) {
        check_type(c, d->params.p[i].type);
        if (d->params.p[i].dflt != NULL)
            check_expr(c, d->params.p[i].dflt);
    }
    for (size_t i = 0; i < d->results.n; i++) {
        bind_axes(c, d->results.p[i].type, false);
        check_type(c, d->results.p[i].type);
    }
}

/* A dim that a block's signature binds is read by being there. */
static void check_function(Elab *e, ModuleEnv *m, Decl *d) {
    Checker c;
    start_function(&c, e, m, d);
    check_annots(&c, &d->annots, d->kind == DE_NET ? ON_NET : ON_BLOCK);
    check_signature(&c, d);
    check_body(&c, &d->body);
    if (c.warn)
        warn_unused(&c, d);
}

/* The names that result_name() gives the results of a net that declares none. */
static void bind_returned(Checker *c, const Stmts *body) {
    for (size_t i = 0; i < body->n; i++) {
        const Stmt *s = body->p[i];
        for (size_t k = 0; s->kind == ST_RETURN && k < s->values.n; k++)
            if (s->values.p[k]->kind == EX_NAME)
                bind_name(c, (Ident){s->values.p[k]->name, s->values.p[k]->span}, U_PARAM);
        bind_returned(c, &s->body);
        bind_returned(c, &s->orelse);
    }
}

void check_train_body(Elab *e, ModuleEnv *m, Decl *train, const Decl *net, const char *const *keys, size_t nkeys) {
    Checker c;
    start_function(&c, e, m, train);
    for (size_t i = 0; i < net->results.n; i++)
        if (net->results.p[i].name.name != NULL)
            bind_name(&c, net->results.p[i].name, U_PARAM);
    if (net->results.n == 0)
        bind_returned(&c, &net->body);
    for (size_t i = 0; i < net->params.n; i++)
        bind_name(&c, net->params.p[i].name, U_PARAM);
    check_signature(&c, train);
    Stmts plain = {0}; /* all but `optimizer = ...` and the like, which are no expressions */
    for (size_t i = 0; i < train->body.n; i++)
        if (!train_key_stmt(train->body.p[i]) &&
            !(train->body.p[i]->values.n == 1 && is_optimizer_call(train->body.p[i]->values.p[0])))
            vec_push(e->ctx->scratch, &plain, train->body.p[i]);
    check_body(&c, &plain);
    for (size_t i = 0; i < namemap_count(c.names); i++) {
        const char *name = namemap_key(c.names, i);
        const Use *u = namemap_value(c.names, i);
        if (u->kind != U_VALUE || u->read || train_key(name))
            continue;
        Diag *d = diag(e->ctx, DIAG_UNKNOWN_KEY, u->span, "'%s' is no key of a train block, and nothing uses it", name);
        diag_suggest(e->ctx, d, name, keys, nkeys);
    }
}

static void check_unused_globals(Elab *e, ModuleEnv *m) {
    for (size_t i = 0; i < namemap_count(m->own); i++) {
        const Global *g = namemap_value(m->own, i);
        if ((g->kind == G_DIM || g->kind == G_CONST) && !g->read && g->name[0] != '_')
            diag(e->ctx, DIAG_UNUSED_NAME, g->span, "%s '%s' is never used", g->kind == G_DIM ? "dim" : "const",
                 g->name);
    }
}

void check_module(Elab *e, ModuleEnv *m) {
    Checker c = {.e = e, .m = m, .warn = m == e->root};
    for (size_t i = 0; i < m->ast->decls.n; i++) {
        Decl *d = m->ast->decls.p[i];
        for (size_t k = 0; k < d->dims.n; k++)
            if (d->dims.p[k].value != NULL)
                check_expr(&c, d->dims.p[k].value);
        if (d->value != NULL)
            check_expr(&c, d->value);
        if (d->kind == DE_NET || d->kind == DE_BLOCK)
            check_function(e, m, d);
        else if (d->kind == DE_TRAIN)
            check_train_names(e, m, d);
        else
            check_annots(&c, &d->annots, ON_OTHER);
    }
    if (c.warn)
        check_unused_globals(e, m);
}
