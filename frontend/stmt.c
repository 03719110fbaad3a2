/* stmt.c - statements of a body, elaborated from top to bottom like tracing: each binding is a new value, loops and
 * branches are unrolled, and what they rebind is what comes out. Names live as long as the body, a loop's variables as
 * long as the loop. The number of statements elaborated is bounded with the number of operators, so that empty loops
 * end too. */
#include "frontend/elab.h"

#include <string.h>

/* ---- binding */

/* A value still called by its operator's path takes the first name the source gives it. */
static void name_value(Elab *e, const char *name, Value *v) {
    if (v->def == NULL || strcmp(name, "_") == 0)
        return;
    size_t len = strlen(v->def->path);
    bool unnamed = v->name == v->def->path ||
                   (v->def->nout > 1 && strncmp(v->name, v->def->path, len) == 0 && v->name[len] == '.');
    if (unnamed)
        v->name = graph_unique(e->ctx, e->g, arena_printf(e->ctx->scratch, "%s/%s", e->scope->path, name));
}

void bind_target(Elab *e, Ident id, Val v) {
    scope_bind(e, e->scope, id, v, NULL);
    if (v.kind == V_TENSOR)
        name_value(e, id.name, v.tensor);
}

static void assign(Elab *e, Ident id, Val v) {
    const Binding *b = scope_find(e->scope, id.name);
    if (b != NULL && b->decl != NULL && b->decl->kind == ST_LAYER) {
        Diag *d = diag(e->ctx, DIAG_DUPLICATE, id.span, "%s is a layer: it cannot be bound again", id.name);
        diag_note(e->ctx, d, b->span, "it is declared here");
        return;
    }
    bind_target(e, id, v);
}

static void assign_poison(Elab *e, const Idents *targets) {
    for (size_t i = 0; i < targets->n; i++)
        assign(e, targets->p[i], v_poison());
}

void names_and_values_differ(Elab *e, Span at, size_t names, size_t values) {
    diag(e->ctx, DIAG_ARITY, at, "%u name%s on the left, but %u value%s on the right", (unsigned)names,
         names == 1 ? "" : "s", (unsigned)values, values == 1 ? "" : "s");
}

static void wrong_arity(Elab *e, const Stmt *s, size_t nvalues) {
    names_and_values_differ(e, span_join(s->values.p[0]->span, s->values.p[s->values.n - 1]->span), s->targets.n,
                            nvalues);
    assign_poison(e, &s->targets);
}

/* a, b = f(x): one value that is a list. */
static void assign_unpacked(Elab *e, const Stmt *s, Val v) {
    size_t n = s->targets.n;
    if (v.kind == V_POISON)
        assign_poison(e, &s->targets);
    else if (v.kind != V_LIST)
        wrong_arity(e, s, 1);
    else if (v.n != n && !(v.lead && v.n > n))
        wrong_arity(e, s, v.n);
    else
        for (size_t i = 0; i < n; i++)
            assign(e, s->targets.p[i], v_first(v.items[i]));
}

static void keep_values(Elab *e, const Stmt *s) {
    if (!has_annot(&s->annots, "keep"))
        return;
    for (size_t i = 0; i < s->targets.n; i++) {
        const Binding *b = scope_find(e->scope, s->targets.p[i].name);
        if (b != NULL && b->v.kind == V_TENSOR && b->v.tensor->def != NULL)
            b->v.tensor->def->keep = true;
    }
}

static void exec_assign(Elab *e, const Stmt *s) {
    size_t n = s->targets.n;
    if (n > 1 && s->values.n == 1) {
        assign_unpacked(e, s, eval(e, s->values.p[0]));
        return;
    }
    Val *v = NEW_ARRAY(n == 1 ? e->ctx->scratch : e->arena, Val, s->values.n);
    for (size_t i = 0; i < s->values.n; i++)
        v[i] = eval_first(e, s->values.p[i]);
    if (s->values.n != n) {
        wrong_arity(e, s, s->values.n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        assign(e, s->targets.p[i], v[i]);
}

static void exec_typed(Elab *e, const Stmt *s) {
    Ident id = s->targets.p[0];
    Val v = eval_first(e, s->values.p[0]);
    TypeUse use = {.code = DIAG_TYPE_ANNOTATION,
                   .what = id.name,
                   .at = s->values.p[0]->span,
                   .declared = s->type->span};
    match_type(e, s->type, &v, &use);
    assign(e, id, v);
}

/* y += v demands to run in place when y is a tensor. */
static void exec_augment(Elab *e, const Stmt *s) {
    Ident id = s->targets.p[0];
    const Binding *b = scope_find(e->scope, id.name);
    const Expr *x = s->values.p[0];
    if (b == NULL) {
        unknown_name(e, e->scope, e->scope->module, DIAG_UNKNOWN_NAME, id, NULL);
        return;
    }
    Val old = b->v, v = eval(e, x);
    if (old.kind != V_TENSOR && old.kind != V_POISON && v_first(v).kind == V_TENSOR) {
        Diag *d = diag(e->ctx, DIAG_OPERAND_TYPE, id.span, "%s is %s: there is no tensor to write in place", id.name,
                       val_text(e, old));
        diag_help(e->ctx, d, "write %s = %s %s ...", id.name, id.name, ast_op_text(s->op));
        v = v_poison();
    }
    bool demand = old.kind == V_TENSOR;
    assign(e, id,
           eval_binary(e, s->op, s->span, id.span, old, id.span, v, x->span, demand ? INPLACE_DEMAND : INPLACE_AUTO));
}

/* ---- loops and branches */

static bool iterate(Elab *e, const Stmt *s, uint64_t i) {
    diag_push_frame(e->ctx, s->span, "in iteration %llu of this loop", (unsigned long long)i + 1);
    if (has_annot(&s->annots, "checkpoint"))
        e->checkpoint = ++e->ncheckpoints;
    exec_body(e, &s->body);
    diag_pop_frame(e->ctx);
    return !e->stopped && !e->scope->returned;
}

static void exec_repeat(Elab *e, const Stmt *s) {
    int64_t n;
    if (!eval_int(e, s->cond, "the count of repeat", &n))
        return;
    if (n < 0) {
        diag(e->ctx, DIAG_ARGUMENT_VALUE, s->cond->span, "repeat takes a count that is not negative, not %lld",
             (long long)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (!iterate(e, s, (uint64_t)i))
            break;
}

static bool bind_loop(Elab *e, const Stmt *s, Val item) {
    size_t n = s->targets.n;
    if (n == 1) {
        assign(e, s->targets.p[0], item);
        return true;
    }
    if (item.kind == V_LIST && item.n == n) {
        for (size_t i = 0; i < n; i++)
            assign(e, s->targets.p[i], item.items[i]);
        return true;
    }
    if (item.kind != V_POISON)
        diag(e->ctx, DIAG_ARITY, s->cond->span, "the loop has %u names, but an item is %s", (unsigned)n,
             item.kind == V_LIST ? arena_printf(e->ctx->scratch, "a tuple of %u values", (unsigned)item.n)
                                 : val_text(e, item));
    return false;
}

/* A loop's variables are not visible after it; names they hid are again. */
static void exec_for(Elab *e, const Stmt *s) {
    Val seq = eval(e, s->cond);
    size_t n = s->targets.n;
    if (seq.kind != V_LIST) {
        if (seq.kind != V_POISON) {
            Diag *d = diag(e->ctx, DIAG_OPERAND_TYPE, s->cond->span, "a loop goes over a list, not over %s",
                           val_text(e, seq));
            if (seq.kind == V_INT)
                diag_help(e->ctx, d, "range(%lld) is the list of 0 up to it; repeat %lld { ... } needs no name",
                          (long long)seq.i, (long long)seq.i);
            else if (seq.kind == V_TENSOR)
                diag_help(e->ctx, d, "range(x.shape[0]) counts along an axis, chunk and split make lists of parts");
        }
        return;
    }
    Binding *before = NEW_ARRAY(e->arena, Binding, n);
    for (size_t i = 0; i < n; i++) {
        const Binding *b = scope_find(e->scope, s->targets.p[i].name);
        before[i] = b != NULL ? *b : (Binding){.hidden = true};
    }
    for (uint32_t i = 0; i < seq.n; i++)
        if (!bind_loop(e, s, seq.items[i]) || !iterate(e, s, i))
            break;
    for (size_t i = 0; i < n && !e->scope->returned; i++) {
        Binding *b = scope_find(e->scope, s->targets.p[i].name);
        if (b != NULL && before[i].hidden)
            b->hidden = true;
        else if (b != NULL)
            *b = before[i];
    }
}

/* `else if` is an `if` alone in the other branch: a long chain is walked in a loop. */
static void exec_if(Elab *e, const Stmt *s) {
    for (;;) {
        bool truth;
        if (!eval_condition(e, s->cond, &truth))
            return;
        if (truth) {
            exec_body(e, &s->body);
            return;
        }
        if (s->orelse.n != 1 || s->orelse.p[0]->kind != ST_IF || s->orelse.p[0]->annots.n > 0) {
            exec_body(e, &s->orelse);
            return;
        }
        s = s->orelse.p[0];
    }
}

/* ---- the rest */

static void exec_assert(Elab *e, const Stmt *s) {
    bool truth;
    if (!eval_condition(e, s->cond, &truth) || truth)
        return;
    const char *text = s->message != NULL ? text_eval(e, s->message) : "the assertion does not hold";
    if (text != NULL)
        diag(e->ctx, DIAG_ASSERT, s->cond->span, "%s", text);
}

/* The i-th result against its declaration; `at` is its expression. */
static void check_result(Elab *e, size_t i, Val *v, Span at) {
    const ResultNode *r = &e->scope->decl->results.p[i];
    const char *what =
        r->name.name != NULL ? arena_printf(e->ctx->scratch, "the result %s", r->name.name) : "the result";
    TypeUse use = {.code = DIAG_RESULT_TYPE, .what = what, .at = at, .declared = r->span};
    if (v->kind != V_POISON && !match_type(e, r->type, v, &use) && v->kind != V_TENSOR)
        *v = v_poison();
}

static void exec_return(Elab *e, const Stmt *s) {
    Scope *scope = e->scope;
    size_t declared = scope->decl->results.n;
    for (size_t i = 0; i < s->values.n; i++) {
        Val v = eval(e, s->values.p[i]);
        vec_push(e->arena, &scope->results, v);
        vec_push(e->arena, &scope->result_spans, s->values.p[i]->span);
    }
    Val only = scope->results.p[0];
    bool unpack = s->values.n == 1 && only.kind == V_LIST && declared != 1 && declared > 0;
    if (unpack && (only.n == declared || (only.lead && only.n > declared))) {
        scope->results.n = scope->result_spans.n = 0;
        for (size_t i = 0; i < declared; i++) {
            vec_push(e->arena, &scope->results, only.items[i]);
            vec_push(e->arena, &scope->result_spans, s->values.p[0]->span);
        }
    }
    scope->returned = true;
    scope->result_exprs = &s->values;
    size_t n = scope->results.n;
    if (declared > 0 && n != declared) {
        if (n == 1 && only.kind == V_POISON)
            return;
        Diag *d =
            diag(e->ctx, DIAG_ARITY, s->span, "%s returns %u value%s here, but declares %u result%s",
                 scope->decl->name.name, (unsigned)n, n == 1 ? "" : "s", (unsigned)declared, declared == 1 ? "" : "s");
        diag_note(e->ctx, d, scope->decl->results.p[0].span, "the results are declared here");
        scope->results.n = 0;
        vec_push(e->arena, &scope->results, v_poison());
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (declared > 0)
            check_result(e, i, &scope->results.p[i], scope->result_spans.p[i]);
        if (has_annot(&s->annots, "keep") && scope->results.p[i].kind == V_TENSOR &&
            scope->results.p[i].tensor->def != NULL)
            scope->results.p[i].tensor->def->keep = true;
    }
}

static void exec_kind(Elab *e, const Stmt *s) {
    switch (s->kind) {
    case ST_ASSIGN: exec_assign(e, s); break;
    case ST_TYPED: exec_typed(e, s); break;
    case ST_AUGMENT: exec_augment(e, s); break;
    case ST_LAYER: declare_layer(e, s); break;
    case ST_PARAM: case ST_BUFFER: declare_stored(e, s); break;
    case ST_RETURN: exec_return(e, s); break;
    case ST_ASSERT: exec_assert(e, s); break;
    case ST_FOR: exec_for(e, s); break;
    case ST_REPEAT: exec_repeat(e, s); break;
    case ST_IF: exec_if(e, s); break;
    }
}

static void exec_stmt(Elab *e, const Stmt *s) {
    if (++e->steps > 16 * e->ctx->max_ops + 100000) {
        diag(e->ctx, DIAG_UNROLL_LIMIT, s->span, "loops unroll to more than %llu statements",
             (unsigned long long)e->steps - 1);
        e->stopped = true;
        return;
    }
    if (s->annots.n == 0) {
        exec_kind(e, s);
        return;
    }
    uint32_t outer = e->checkpoint;
    if (has_annot(&s->annots, "checkpoint") && s->kind != ST_FOR && s->kind != ST_REPEAT)
        e->checkpoint = ++e->ncheckpoints;
    exec_kind(e, s);
    e->checkpoint = outer;
    if (s->kind == ST_ASSIGN || s->kind == ST_TYPED || s->kind == ST_AUGMENT)
        keep_values(e, s);
}

void exec_body(Elab *e, const Stmts *body) {
    for (size_t i = 0; i < body->n && !e->scope->returned && !e->stopped; i++) {
        exec_stmt(e, body->p[i]);
        e->stopped = e->stopped || diag_full(e->ctx);
    }
}
