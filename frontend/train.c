/* train.c - train blocks, parsed and checked whole: the keys are closed, whatever else is bound must be used, the loss
 * is elaborated over the net's results in a graph of its own and must be a scalar float that depends on them. */
#include "frontend/trainforms.h"

#include <string.h>

static const char *const keys[] = {"loss", "optimizer", "schedule", "amp", "accumulate", "clip_norm", "checkpoint"};

bool train_key(const char *name) {
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i], name) == 0)
            return true;
    return false;
}

bool train_key_stmt(const Stmt *s) {
    return s->kind == ST_ASSIGN && s->targets.n == 1 && strcmp(s->targets.p[0].name, "loss") != 0 &&
           train_key(s->targets.p[0].name);
}

static const Decl *net_of(Elab *e, ModuleEnv *m, const Decl *train) {
    Global *g = module_find(m, train->name.name);
    if (g != NULL && g->kind == G_NET)
        return g->decl;
    size_t n = 0;
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, namemap_count(m->globals) + 1);
    for (size_t i = 0; i < namemap_count(m->globals); i++)
        if (((const Global *)namemap_value(m->globals, i))->kind == G_NET)
            names[n++] = namemap_key(m->globals, i);
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_NAME, train->name.span, "there is no net '%s' to train", train->name.name);
    diag_suggest(e->ctx, d, train->name.name, names, n);
    return NULL;
}

void check_train_names(Elab *e, ModuleEnv *m, Decl *train) {
    const Decl *net = net_of(e, m, train);
    if (net != NULL)
        check_train_body(e, m, train, net, keys, COUNT_OF(keys));
}

/* ---- keys */

static void read_amp(Elab *e, const Expr *x, Train *t) {
    Val v = eval_first(e, x);
    if (v.kind == V_NONE || v.kind == V_POISON)
        return;
    if (v.kind != V_DTYPE || (v.dtype != DT_BF16 && v.dtype != DT_F16)) {
        diag(e->ctx, DIAG_TRAIN, x->span, "amp is bf16, f16 or none, not %s", val_text(e, v));
        return;
    }
    t->has_amp = true;
    t->amp = v.dtype;
}

static void read_accumulate(Elab *e, const Expr *x, Train *t) {
    int64_t n;
    if (!eval_int(e, x, "accumulate", &n))
        return;
    if (n < 1)
        diag(e->ctx, DIAG_TRAIN, x->span, "accumulate counts micro-batches, at least 1, not %lld", (long long)n);
    else
        t->accumulate = (uint64_t)n;
}

static void read_clip_norm(Elab *e, const Expr *x, Train *t) {
    Val v = eval_first(e, x);
    if (v.kind == V_NONE || v.kind == V_POISON)
        return;
    double norm = v.kind == V_INT ? (double)v.i : v.kind == V_FLOAT ? v.f : 0;
    if (norm > 0)
        t->clip_norm = norm;
    else
        diag(e->ctx, DIAG_TRAIN, x->span, "clip_norm is a number above 0 or none, not %s", val_text(e, v));
}

static void read_key(Elab *e, const Stmt *s, Train *t, bool *has_optimizer) {
    const char *key = s->targets.p[0].name;
    const Expr *x = s->values.p[0];
    if (s->values.n != 1) {
        names_and_values_differ(e, span_join(x->span, s->values.p[s->values.n - 1]->span), 1, s->values.n);
    } else if (strcmp(key, "optimizer") == 0) {
        *has_optimizer = true;
        read_optimizer(e, x, &t->optimizer);
    } else if (strcmp(key, "schedule") == 0) {
        read_schedule(e, x, &t->schedule);
    } else if (strcmp(key, "amp") == 0) {
        read_amp(e, x, t);
    } else if (strcmp(key, "accumulate") == 0) {
        read_accumulate(e, x, t);
    } else if (strcmp(key, "clip_norm") == 0) {
        read_clip_norm(e, x, t);
    } else {
        read_checkpoint(e, x, &t->checkpoint, &t->segments);
    }
}

/* ---- the body */

/* Each key once at the top of the body. */
static bool key_again(Elab *e, const Decl *d, size_t i) {
    const Ident id = d->body.p[i]->targets.p[0];
    for (size_t k = 0; k < i; k++) {
        const Stmt *s = d->body.p[k];
        if ((s->kind != ST_ASSIGN && s->kind != ST_TYPED) || s->targets.p[0].name != id.name)
            continue;
        Diag *diagnostic = diag(e->ctx, DIAG_DUPLICATE, id.span, "%s is given twice", id.name);
        diag_note(e->ctx, diagnostic, s->targets.p[0].span, "the first one is here");
        return true;
    }
    return false;
}

static void refuse_statement(Elab *e, const Stmt *s) {
    const char *what = s->kind == ST_RETURN  ? "return"
                       : s->kind == ST_LAYER ? "layer"
                       : s->kind == ST_PARAM ? "param"
                                             : "buffer";
    Diag *d = diag(e->ctx, DIAG_TRAIN, s->span, "%s has no place in a train block", what);
    diag_help(e->ctx, d,
              "what the network computes and stores stands in its net; a train block binds loss, optimizer, ...");
}

static void exec_train(Elab *e, const Decl *d, Train *t, bool *has_optimizer) {
    for (size_t i = 0; i < d->body.n && !e->stopped; i++) {
        Stmt *s = d->body.p[i];
        bool binds = s->kind == ST_ASSIGN || s->kind == ST_TYPED;
        if (s->kind == ST_RETURN || s->kind == ST_LAYER || s->kind == ST_PARAM || s->kind == ST_BUFFER)
            refuse_statement(e, s);
        else if (binds && train_key(s->targets.p[0].name) && key_again(e, d, i))
            continue;
        else if (train_key_stmt(s))
            read_key(e, s, t, has_optimizer);
        else
            exec_body(e, &(Stmts){.p = &d->body.p[i], .n = 1, .cap = 1});
    }
}

static void bind_results(Elab *e, Graph *net) {
    for (size_t i = 0; i < net->results.n; i++) {
        const Result *r = &net->results.p[i];
        Value *v = graph_input(e->g, r->name, &r->value->type, r->span);
        scope_bind(e, e->scope, (Ident){name_of(e->ctx, r->name), r->span}, v_tensor(v), NULL);
    }
    for (size_t i = 0; i < net->inputs.n; i++) {
        const Value *in = net->inputs.p[i];
        const char *name = name_of(e->ctx, in->name);
        if (scope_find(e->scope, name) == NULL)
            scope_bind(e, e->scope, (Ident){name, in->span}, v_tensor(graph_input(e->g, name, &in->type, in->span)),
                       NULL);
    }
}

static void bind_targets(Elab *e, const Decl *d) {
    for (size_t i = 0; i < d->params.n; i++) {
        const ParamNode *p = &d->params.p[i];
        Val v = v_poison();
        Type type;
        const Binding *old = scope_find(e->scope, p->name.name);
        if (old != NULL) {
            Diag *again = diag(e->ctx, DIAG_DUPLICATE, p->name.span, "%s is an input or result of the net already",
                               p->name.name);
            diag_note(e->ctx, again, old->span, "it is declared here");
            continue;
        }
        if (p->type == NULL)
            diag(e->ctx, DIAG_ARGUMENT_TYPE, p->span, "%s needs a type: a dtype and a shape", p->name.name);
        else if (is_scalar_type(p->type) && p->dflt != NULL)
            v = eval_first(e, p->dflt);
        else if (known_type(e, p->type, p->name.name, false, &type))
            v = v_tensor(graph_input(e->g, p->name.name, &type, p->span));
        scope_bind(e, e->scope, p->name, v, NULL);
    }
}

/* ---- the loss */

/* Marks what the first n inputs reach; true if v is among it. One pass in program order. */
static bool depends_on(Elab *e, const Value *v, size_t n) {
    bool *reached = NEW_ARRAY(e->ctx->scratch, bool, e->g->values.n + 1);
    for (size_t i = 0; i < n; i++)
        reached[e->g->inputs.p[i]->id] = true;
    for (size_t i = 0; i < e->g->ops.n; i++) {
        const Op *op = e->g->ops.p[i];
        bool any = false;
        for (uint32_t k = 0; k < op->nin; k++)
            any = any || (op->in[k] != NULL && reached[op->in[k]->id]);
        for (uint32_t k = 0; k < op->nout; k++)
            reached[op->out[k]->id] = any;
    }
    return reached[v->id];
}

static void check_loss(Elab *e, const Decl *d, size_t nresults) {
    const Binding *b = scope_find(e->scope, name_of(e->ctx, "loss"));
    if (b == NULL) {
        if (!diag_failed(e->ctx))
            diag(e->ctx, DIAG_TRAIN, d->name.span, "train %s has no loss", d->name.name);
        return;
    }
    if (b->v.kind == V_POISON)
        return;
    if (b->v.kind != V_TENSOR || b->v.tensor->type.shape.rank != 0 || !dtype_is_float(b->v.tensor->type.dtype)) {
        Diag *bad = diag(e->ctx, DIAG_TRAIN, b->span, "the loss is a single float, f32[], not %s", val_text(e, b->v));
        if (b->v.kind == V_TENSOR)
            diag_help(e->ctx, bad, "reduce it: reduction=\"mean\" of a loss, or |> mean");
        return;
    }
    if (!depends_on(e, b->v.tensor, nresults))
        diag(e->ctx, DIAG_TRAIN, b->span, "the loss does not depend on a result of %s", d->name.name);
    graph_result(e->g, "loss", b->v.tensor, b->span);
}

static Train *check_train(Elab *e, ModuleEnv *m, const Decl *d, Graph *net) {
    Train *t = NEW(e->arena, Train);
    *t = (Train){.net = d->name.name, .span = d->span, .accumulate = 1};
    bool has_optimizer = false;
    Graph *outer = e->g;
    e->g = t->loss_graph = graph_new(e->arena, d->name.name);
    e->claims = namemap_new(e->arena);
    Keys keys_of_loss = {.prefix = ""};
    Scope s = {.module = m, .decl = d, .path = d->name.name, .keys = &keys_of_loss};
    e->scope = &s;
    bind_results(e, net);
    size_t nresults = net->results.n;
    bind_targets(e, d);
    exec_train(e, d, t, &has_optimizer);
    check_loss(e, d, nresults);
    if (!has_optimizer && !diag_failed(e->ctx)) {
        Diag *bad = diag(e->ctx, DIAG_TRAIN, d->name.span, "train %s has no optimizer", d->name.name);
        diag_help(e->ctx, bad, "write optimizer = sgd(lr=0.1), adam, adamw, adagrad, rmsprop, adafactor or adam8bit");
    }
    if (t->loss_graph->stored.n > 0)
        diag(e->ctx, DIAG_TRAIN, t->loss_graph->stored.p[0]->span,
             "a train block stores no tensors: weights belong in the net");
    e->scope = NULL;
    e->g = outer;
    return t;
}

/* The chosen net's train block is kept in the options; the others are checked alike, each over its own net. */
void check_trains(Elab *e, ModuleEnv *m, const Global *chosen, Graph *g) {
    const Decl *seen = NULL;
    for (size_t i = 0; i < m->ast->decls.n && !e->stopped; i++) {
        const Decl *d = m->ast->decls.p[i];
        Global *net = d->kind == DE_TRAIN ? module_find(m, d->name.name) : NULL;
        if (net == NULL || net->kind != G_NET)
            continue;
        Graph *of = net->decl == chosen->decl ? g : elaborate_net(e, net);
        Train *t = check_train(e, m, d, of);
        if (net->decl != chosen->decl)
            continue;
        if (seen != NULL) {
            Diag *again = diag(e->ctx, DIAG_DUPLICATE, d->name.span, "%s has two train blocks", d->name.name);
            diag_note(e->ctx, again, seen->name.span, "the first one is here");
        }
        seen = d;
        e->options->train = t;
    }
}
