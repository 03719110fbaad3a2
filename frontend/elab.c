/* elab.c - the module level of elaboration: what files declare, dims and settings, the choice of the net, its inputs
 * and results. A dim or const is evaluated when it is first read, so the order of declarations does not matter.
 *
 * Linear in the number of operators; nothing recurses on the depth of the graph. */
#include "frontend/elab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages about names */

void unknown_name(Elab *e, const Scope *s, ModuleEnv *m, DiagCode code, Ident id, const NameMap *more) {
    size_t n = 0, nlocals = s != NULL ? s->names.n : 0, nmore = more != NULL ? namemap_count(more) : 0;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, nlocals + nmore + namemap_count(m->globals) + 1);
    for (size_t i = 0; i < nlocals; i++)
        if (!s->names.p[i]->hidden && (code != DIAG_UNKNOWN_DIM || s->names.p[i]->v.kind == V_INT))
            names[n++] = s->names.p[i]->name;
    for (size_t i = 0; i < nmore; i++)
        names[n++] = namemap_key(more, i);
    for (size_t i = 0; i < namemap_count(m->globals); i++) {
        const Global *g = namemap_value(m->globals, i);
        if (g->kind == G_DIM || g->kind == G_CONST || (g->kind == G_MODULE && code != DIAG_UNKNOWN_DIM))
            names[n++] = g->name;
    }
    Diag *d = code == DIAG_UNKNOWN_DIM
                  ? diag(e->ctx, code, id.span, "no dim, const or parameter is called '%s'", id.name)
                  : diag(e->ctx, code, id.span, "unknown name '%s'", id.name);
    const char *near = suggest(id.name, names, n);
    if (near != NULL)
        diag_help(e->ctx, d, "did you mean '%s'?", near);
    else if (code == DIAG_UNKNOWN_DIM)
        diag_help(e->ctx, d, "a dim is declared before use: dim %s = 64", id.name);
}

Global *module_find(ModuleEnv *m, const char *name) {
    return namemap_get(m->globals, name);
}

/* ---- settings: -D NAME=VALUE */

static Setting *find_setting(Elab *e, const char *name) {
    Setting *found = NULL;                                /* the last of several holds */
    for (size_t i = 0; i < e->options->nsettings; i++)
        if (strcmp(e->options->settings[i].name, name) == 0)
            found = &e->options->settings[i];
    for (size_t i = 0; found != NULL && i < e->options->nsettings; i++)
        if (strcmp(e->options->settings[i].name, name) == 0)
            e->options->settings[i].used = true;
    return found;
}

/* A decimal integer with '_' between digits, in `end` what follows it. */
static bool parse_setting_int(const char *text, int64_t *r) {
    bool negative = text[0] == '-';
    const char *p = text + negative;
    uint64_t n = 0;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p != '\0'; p++) {
        if (*p == '_' && p[1] != '\0')
            continue;
        if (*p < '0' || *p > '9' || !mul_u64(n, 10, &n) || !add_u64(n, (uint64_t)(*p - '0'), &n) || n > INT64_MAX)
            return false;
    }
    *r = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static Val setting_value(Elab *e, const char *text, Val like) {
    int64_t i;
    DType dtype;
    if (like.kind == V_STR)
        return v_str(name_of(e->ctx, text));
    if (parse_setting_int(text, &i))
        return like.kind == V_FLOAT ? v_float((double)i) : v_int(i);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return v_bool(text[0] == 't');
    if (strcmp(text, "none") == 0)
        return v_none();
    if (dtype_by_name(text, &dtype))
        return v_dtype(dtype);
    char *end;
    bool digits = strspn(text, "+-.0123456789eE") == strlen(text) && text[0] != '\0';
    double f = digits ? strtod(text, &end) : 0;
    return digits && *end == '\0' ? v_float(f) : v_poison();
}

bool setting_of(Elab *e, const char *name, Val like, Span at, Val *v) {
    const Setting *s = find_setting(e, name);
    if (s == NULL)
        return false;
    *v = setting_value(e, s->value, like);
    bool fits = v->kind == like.kind || like.kind == V_NONE || like.kind == V_POISON;
    if (!fits || v->kind == V_POISON) {
        static const char *const kinds[] =
            {[V_BOOL] = "true or false", [V_INT] = "an int", [V_FLOAT] = "a number", [V_DTYPE] = "a dtype"};
        const char *wanted =
            like.kind < COUNT_OF(kinds) && kinds[like.kind] != NULL ? kinds[like.kind] : "a value of its kind";
        diag(e->ctx, DIAG_DIM_VALUE, at, "%s is set to '%s', but it is %s", name, s->value, wanted);
        *v = v_poison();
    }
    return true;
}

static void unknown_setting(Elab *e, const Setting *s) {
    size_t n = 0;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, namemap_count(e->root->own) + e->g->dims.n + 1);
    for (size_t i = 0; i < namemap_count(e->root->own); i++) {
        const Global *g = namemap_value(e->root->own, i);
        if (g->kind == G_DIM || g->kind == G_CONST)
            names[n++] = g->name;
    }
    for (size_t i = 0; i < e->g->dims.n; i++)
        names[n++] = e->g->dims.p[i].name;
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_DIM, (Span){0}, "-D %s=%s: the program has no dim or const of this name",
                   s->name, s->value);
    diag_suggest(e->ctx, d, s->name, names, n);
}

/* ---- dims and consts */

void record_dim(Elab *e, const char *name, Val v, bool is_bound, Span span) {
    if (v.kind != V_INT || v.i < 0)
        return; /* a Dim is a size: consts of other kinds are in the source alone */
    vec_push(e->arena, &e->g->dims, ((Dim){name, (uint64_t)v.i, is_bound, span}));
}

static Val dim_value(Elab *e, const Global *g) {
    const DimNode *dim = g->dim;
    Val v = v_poison(), given;
    bool has_given = g->home == e->root && setting_of(e, g->name, v_int(0), g->span, &given);
    if (dim->value != NULL) {
        int64_t i;
        if (!eval_int(e, dim->value, arena_printf(e->ctx->scratch, "dim %s", g->name), &i))
            return v;
        v = v_int(i);
    }
    if (has_given && dim->is_bound && v.kind == V_INT && given.kind == V_INT && given.i > v.i) {
        diag(e->ctx, DIAG_DIM_VALUE, g->span, "%s is set to %lld, above its bound of %lld", g->name,
             (long long)given.i, (long long)v.i);
        return v_poison();
    }
    if (has_given)
        v = given;
    else if (dim->value == NULL) {
        Diag *d = diag(e->ctx, DIAG_DIM_VALUE, g->span, "dim %s has no value", g->name);
        diag_help(e->ctx, d, "give it on the command line: -D %s=64", g->name);
    }
    if (v.kind == V_INT && v.i < 0) {
        diag(e->ctx, DIAG_DIM_VALUE, dim->value != NULL && !has_given ? dim->value->span : g->span,
             "dim %s is the negative %lld", g->name, (long long)v.i);
        return v_poison();
    }
    return v;
}

static Val const_value(Elab *e, const Global *g) {
    Val v = eval_first(e, g->decl->value), given;
    if (g->home == e->root && setting_of(e, g->name, v, g->span, &given))
        return given;
    return v;
}

/* Evaluated in its own module, outside any body. */
Val global_value(Elab *e, Global *g) {
    if (g->state == EVALUATED)
        return g->value;
    if (g->state == EVALUATING) {
        diag(e->ctx, DIAG_RECURSION, g->span, "the value of %s depends on itself", g->name);
        return v_poison();
    }
    g->state = EVALUATING;
    Scope *outer = e->scope;
    Scope own = {.module = g->home};
    e->scope = &own;
    g->value = g->kind == G_DIM ? dim_value(e, g) : const_value(e, g);
    e->scope = outer;
    g->state = EVALUATED;
    return g->value;
}

/* ---- what a module declares */

static void declare_as(Elab *e, ModuleEnv *m, Ident id, Global *g) {
    Global *old = namemap_get(m->globals, id.name);
    if (old != NULL) {
        Diag *d = diag(e->ctx, DIAG_DUPLICATE, id.span, "%s is declared already", id.name);
        diag_note(e->ctx, d, old->span, "the first declaration is here");
        return;
    }
    namemap_put(m->globals, id.name, g);
}

static void declare(Elab *e, ModuleEnv *m, Global *g) {
    declare_as(e, m, (Ident){g->name, g->span}, g);
    if (namemap_get(m->globals, g->name) == g)
        namemap_put(m->own, g->name, g);
}

static Global *global_new(Elab *e, ModuleEnv *m, GlobalKind kind, Ident id, const Decl *decl) {
    Global *g = NEW(e->arena, Global);
    g->kind = kind;
    g->name = id.name;
    g->span = id.span;
    g->home = m;
    g->decl = decl;
    return g;
}

/* import "dir/resnet.net" is called resnet. */
static const char *module_name(Elab *e, const char *path) {
    const char *slash = strrchr(path, '/'), *stem = slash != NULL ? slash + 1 : path;
    size_t n = strlen(stem);
    if (n > 4 && strcmp(stem + n - 4, ".net") == 0)
        n -= 4;
    return intern_n(e->ctx->names, stem, n);
}

static void declare_items(Elab *e, ModuleEnv *m, const Decl *d, ModuleEnv *from) {
    for (size_t i = 0; i < d->items.n; i++) {
        Ident id = d->items.p[i].name, as = d->items.p[i].as;
        Global *g = namemap_get(from->own, id.name);
        if (g == NULL) {
            if (from->ast->failed)
                continue;
            size_t n = namemap_count(from->own);
            const char **names = NEW_ARRAY(e->ctx->scratch, const char *, n + 1);
            for (size_t k = 0; k < n; k++)
                names[k] = namemap_key(from->own, k);
            Diag *bad = diag(e->ctx, DIAG_UNKNOWN_MEMBER, id.span, "%s declares no '%s'", d->path.name, id.name);
            diag_suggest(e->ctx, bad, id.name, names, n);
            continue;
        }
        declare_as(e, m, as.name != NULL ? as : id, g);
    }
}

static ModuleEnv *module_env(Elab *e, const Module *ast);

static void declare_import(Elab *e, ModuleEnv *m, const Decl *d, const Module *imported) {
    if (imported == NULL)
        return;                                           /* import.c has said why */
    ModuleEnv *from = module_env(e, imported);
    if (d->kind == DE_FROM) {
        declare_items(e, m, d, from);
        return;
    }
    Ident id = d->name.name != NULL ? d->name : (Ident){module_name(e, d->path.name), d->path.span};
    Global *g = global_new(e, m, G_MODULE, id, d);
    g->module = from;
    declare_as(e, m, id, g);
}

/* Recursion over imports is bounded by import.c, which refuses cycles. */
static ModuleEnv *module_env(Elab *e, const Module *ast) {
    const char *key = name_of(e->ctx, arena_printf(e->ctx->scratch, "%u", (unsigned)ast->file));
    ModuleEnv *m = namemap_get(e->modules, key);
    if (m != NULL)
        return m;
    m = NEW(e->arena, ModuleEnv);
    m->ast = ast;
    m->globals = namemap_new(e->arena);
    m->own = namemap_new(e->arena);
    namemap_put(e->modules, key, m);
    size_t import = 0;
    for (size_t i = 0; i < ast->decls.n; i++) {
        const Decl *d = ast->decls.p[i];
        switch (d->kind) {
        case DE_IMPORT: case DE_FROM:
            declare_import(e, m, d, import < ast->imports.n ? ast->imports.p[import] : NULL);
            import++;
            break;
        case DE_DIM:
            for (size_t k = 0; k < d->dims.n; k++) {
                Global *g = global_new(e, m, G_DIM, d->dims.p[k].name, d);
                g->dim = &d->dims.p[k];
                declare(e, m, g);
            }
            break;
        case DE_CONST: declare(e, m, global_new(e, m, G_CONST, d->name, d)); break;
        case DE_NET: declare(e, m, global_new(e, m, G_NET, d->name, d)); break;
        case DE_BLOCK: declare(e, m, global_new(e, m, G_BLOCK, d->name, d)); break;
        case DE_TRAIN: break;
        }
    }
    return m;
}

/* ---- the choice of the net */

static Span last_line(Elab *e, const Module *m) {
    const Source *s = source_get(e->ctx, m->file);
    uint32_t end = (uint32_t)s->len;
    while (end > 0 && (s->text[end - 1] == '\n' || s->text[end - 1] == '\r'))
        end--;
    uint32_t beg = end;
    while (beg > 0 && s->text[beg - 1] != '\n')
        beg--;
    return (Span){m->file, beg, end};
}

static const Global *named_net(Elab *e, const char *name) {
    size_t n = 0;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, namemap_count(e->root->own) + 1);
    for (size_t i = 0; i < namemap_count(e->root->own); i++) {
        const Global *g = namemap_value(e->root->own, i);
        if (g->kind != G_NET)
            continue;
        if (strcmp(g->name, name) == 0)
            return g;
        names[n++] = g->name;
    }
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_NAME, (Span){0}, "--net=%s: the program has no net of this name", name);
    diag_suggest(e->ctx, d, name, names, n);
    return NULL;
}

/* The one that train blocks name; NULL with *several set when they name different ones. */
static const Global *trained_net(Elab *e, const Decl **first, const Decl **other) {
    const Global *net = NULL;
    for (size_t i = 0; i < e->root->ast->decls.n; i++) {
        const Decl *d = e->root->ast->decls.p[i];
        Global *g = d->kind == DE_TRAIN ? namemap_get(e->root->own, d->name.name) : NULL;
        if (g == NULL || g->kind != G_NET || g == net)
            continue;
        if (net != NULL) {
            *other = d;
            return NULL;
        }
        net = g;
        *first = d;
    }
    return net;
}

static const Global *choose_net(Elab *e) {
    const Global *last = NULL;
    size_t nnets = 0;
    const Decl *first = NULL, *other = NULL;
    for (size_t i = 0; i < namemap_count(e->root->own); i++) {
        const Global *g = namemap_value(e->root->own, i);
        if (g->kind == G_NET) {
            last = g;
            nnets++;
        }
    }
    if (nnets == 0) {
        Diag *d = diag(e->ctx, DIAG_NO_NET, last_line(e, e->root->ast), "the file declares no net");
        diag_help(e->ctx, d, "a network starts with a net: net name(x: f32[1, 3, 224, 224]) { ... }");
        return NULL;
    }
    if (e->options->net != NULL)
        return named_net(e, e->options->net);
    const Global *trained = nnets > 1 ? trained_net(e, &first, &other) : NULL;
    if (other != NULL) {
        Diag *d = diag(e->ctx, DIAG_WHICH_NET, other->name.span, "the file trains several nets, and none was chosen");
        diag_note(e->ctx, d, first->name.span, "another one is %s", first->name.name);
        diag_help(e->ctx, d, "choose one with --net=%s", other->name.name);
        return NULL;
    }
    return trained != NULL ? trained : last;
}

/* ---- @memory */

static void memory_align(Elab *e, const ArgVal *a) {
    if (a->v.kind != V_INT || a->v.i <= 0 || (a->v.i & (a->v.i - 1)) != 0)
        diag(e->ctx, DIAG_ANNOTATION, a->span, "align is a power of two, not %s", val_text(e, a->v));
    else
        e->g->mem_align = (uint64_t)a->v.i;
}

static void memory_argument(Elab *e, const ArgVal *a) {
    const char *name = a->name.name != NULL ? a->name.name : "";
    if (a->v.kind == V_POISON)
        return;
    if (strcmp(name, "align") == 0) {
        memory_align(e, a);
    } else if (strcmp(name, "budget") == 0) {
        if (a->v.kind != V_INT || a->v.i <= 0)
            diag(e->ctx, DIAG_ANNOTATION, a->span, "budget is a size such as 16MiB, not %s", val_text(e, a->v));
        else
            e->g->mem_budget = (uint64_t)a->v.i;
    } else if (strcmp(name, "reuse") == 0) {
        if (a->v.kind != V_BOOL)
            diag(e->ctx, DIAG_ANNOTATION, a->span, "reuse is true or false, not %s", val_text(e, a->v));
        else
            e->g->mem_noreuse = !a->v.b;
    }
}

/* Names and places were checked by check.c. */
static void net_annotations(Elab *e, const Decl *decl) {
    for (size_t i = 0; i < decl->annots.n; i++) {
        const Annot *an = &decl->annots.p[i];
        if (strcmp(an->name.name, "alias") == 0)
            e->g->alias_io = true;
        if (strcmp(an->name.name, "memory") != 0)
            continue;
        ArgVals args = eval_args(e, &an->args, false, v_none(), an->span);
        for (uint32_t k = 0; k < args.n; k++)
            memory_argument(e, &args.p[k]);
        pop_args(e, args);
    }
}

/* ---- inputs and results */

static void net_input(Elab *e, const ParamNode *p) {
    const char *what = arena_printf(e->ctx->scratch, "the input %s", p->name.name);
    Type type;
    if (is_scalar_type(p->type)) {
        if (p->dflt == NULL) {
            Diag *d = diag(e->ctx, DIAG_MISSING_ARGUMENT, p->span,
                           "%s has no value: as the entry point, the net is called without arguments", p->name.name);
            diag_help(e->ctx, d, "give it a default: %s: %s = ...", p->name.name, p->type->dtype.name);
            scope_bind(e, e->scope, p->name, v_poison(), NULL);
            return;
        }
        Val v = eval_first(e, p->dflt);
        TypeUse use = {.code = DIAG_SHAPE_MISMATCH, .what = p->name.name, .at = p->dflt->span};
        if (!check_scalar_type(e, p->type, &v, &use))
            v = v_poison();
        scope_bind(e, e->scope, p->name, v, NULL);
        return;
    }
    if (p->type == NULL && p->dflt != NULL) {
        scope_bind(e, e->scope, p->name, eval_first(e, p->dflt), NULL);
        return;
    }
    Val v = v_poison();
    if (p->type == NULL) {
        Diag *d = diag(e->ctx, DIAG_ARGUMENT_TYPE, p->span, "%s needs a type", what);
        diag_help(e->ctx, d, "write %s: f32[1, 3, 224, 224]", p->name.name);
    } else if (known_type(e, p->type, what, true, &type)) {
        v = v_tensor(graph_input(e->g, p->name.name, &type, p->span));
        v.tensor->doc = p->doc;
    }
    scope_bind(e, e->scope, p->name, v, NULL);
}

static bool is_result_already(const Graph *g, const Value *v) {
    return v->nresults > 0 && g->results.n > 0;
}

/* A result is a buffer of its own: what is stored elsewhere, or is a result already, is copied. */
static Val own_result(Elab *e, Val v, Span at) {
    if (val_is_number(v) || v.kind == V_BOOL) {
        Datum d = val_datum(e, v);
        DType dtype = v.kind == V_INT ? DT_I64 : v.kind == V_FLOAT ? DT_F32 : DT_BOOL;
        v = v_tensor(graph_scalar(e->g, dtype, &d, at));
    }
    if (v.kind != V_TENSOR)
        return v;
    if (v.tensor->def != NULL && !is_result_already(e->g, v.tensor))
        return v;
    return op_direct(e, OP_COPY, at, &v, &at, INPLACE_AUTO);
}

static bool is_result_name(const Graph *g, const char *name) {
    for (size_t i = 0; i < g->results.n; i++)
        if (g->results.p[i].name == name)
            return true;
    return false;
}

/* Its declared name, else that of the variable returned, else output, output1, ... */
static const char *result_name(Elab *e, const Scope *s, size_t i) {
    const Decl *d = s->decl;
    if (i < d->results.n && d->results.p[i].name.name != NULL)
        return d->results.p[i].name.name;
    const Expr *x = s->result_exprs->n == s->results.n ? s->result_exprs->p[i] : NULL;
    if (d->results.n == 0 && x != NULL && x->kind == EX_NAME && !is_result_name(e->g, x->name))
        return x->name;
    return s->results.n == 1 ? "output" : arena_printf(e->arena, "output%u", (unsigned)i + 1);
}

static void net_results(Elab *e, Scope *s) {
    for (size_t i = 0; i < s->results.n; i++) {
        Span at = s->result_spans.p[i];
        Val v = own_result(e, v_first(s->results.p[i]), at);
        const char *name = name_of(e->ctx, result_name(e, s, i));
        if (v.kind == V_TENSOR) {
            bind_target(e, (Ident){name, at}, v);
            graph_result(e->g, name, v.tensor, at);
            e->g->results.p[e->g->results.n - 1].doc = i < s->decl->results.n ? s->decl->results.p[i].doc : NULL;
        } else if (v.kind != V_POISON) {
            diag(e->ctx, DIAG_RESULT_TYPE, at, "a result of a net is a tensor, not %s", val_text(e, v));
        }
    }
}

Graph *elaborate_net(Elab *e, const Global *net) {
    const Decl *decl = net->decl;
    Graph *g = graph_new(e->arena, net->name), *outer = e->g;
    g->source = source_get(e->ctx, decl->span.file)->path;
    g->doc = decl->doc;
    g->span = decl->span;
    e->g = g;
    e->claims = namemap_new(e->arena);
    Keys *keys = NEW(e->arena, Keys);
    keys->prefix = "";
    Scope *s = NEW(e->arena, Scope);
    *s = (Scope){.module = net->home, .decl = decl, .path = graph_unique(e->ctx, g, net->name), .keys = keys};
    e->scope = s;
    for (size_t i = 0; i < decl->params.n; i++)
        net_input(e, &decl->params.p[i]);
    net_annotations(e, decl);
    exec_body(e, &decl->body);
    if (s->returned && !e->stopped)
        net_results(e, s);
    else if (!e->stopped)
        diag(e->ctx, DIAG_NO_RETURN, decl->end, "%s ends without a return", decl->name.name);
    e->scope = NULL;
    if (outer != NULL)
        e->g = outer;
    return g;
}

/* ---- */

/* Dims and consts of the root file, in their order, before those that the net declares in place. */
static void record_dims(Elab *e, Graph *g) {
    VEC(Dim) in_place = {g->dims.p, g->dims.n, g->dims.cap};
    g->dims.p = NULL;
    g->dims.n = g->dims.cap = 0;
    e->g = g;
    for (size_t i = 0; i < namemap_count(e->root->own); i++) {
        Global *global = namemap_value(e->root->own, i);
        if (global->kind == G_DIM || global->kind == G_CONST)
            record_dim(e, global->name, global_value(e, global), global->kind == G_DIM && global->dim->is_bound,
                       global->span);
    }
    for (size_t i = 0; i < in_place.n; i++)
        vec_push(e->arena, &g->dims, in_place.p[i]);
}

static void check_modules(Elab *e) {
    for (size_t i = 0; i < namemap_count(e->modules); i++)
        check_module(e, namemap_value(e->modules, i));
}

Graph *elaborate(Ctx *ctx, const Module *module, ElabOptions *options) {
    Elab e = {.ctx = ctx, .arena = ctx->unit, .options = options};
    e.modules = namemap_new(e.arena);
    e.root = module_env(&e, module);
    check_modules(&e);
    bool names_are_right = !diag_failed(ctx);             /* a misspelt key has its message by now */
    const Global *net = choose_net(&e);
    if (net == NULL)
        return NULL;
    Graph *g = elaborate_net(&e, net);
    record_dims(&e, g);
    if (names_are_right)
        check_trains(&e, e.root, net, g);
    for (size_t i = 0; i < options->nsettings; i++)
        if (!options->settings[i].used)
            unknown_setting(&e, &options->settings[i]);
    return diag_failed(ctx) ? NULL : g;
}
