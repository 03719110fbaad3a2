/* opcall.h - for unit tests of operators: calls built without a parser. A Lab is a graph with inputs made on demand and
 * a service of stored tensors as the frontend's, without layers; its diagnostics are counted and never printed. */
#ifndef NETC_TESTS_OPCALL_H
#define NETC_TESTS_OPCALL_H

#include "ops/ops.h"
#include "tests/unit/check.h"

typedef struct Lab { Ctx *ctx; Graph *g; } Lab;

static inline Lab lab_new(void) {
    Ctx *ctx = ctx_new();
    return (Lab){ctx, graph_new(ctx->unit, "lab")};
}

static inline Value *lab_input(Lab *l, DType dtype, unsigned rank, const uint64_t *dims) {
    Type type = {dtype, shape_of(rank, dims)};
    return graph_input(l->g, graph_unique(l->ctx, l->g, "x"), &type, (Span){0});
}

static inline Value *lab_stored(Call *c, const char *name, Role role, const Type *type, Init init) {
    return graph_stored(c->g, role, graph_unique(c->ctx, c->g, name), type, init, c->span);
}

/* A call of the operator with every argument at its default; required ones are to be set. */
static inline Call *lab_call(Lab *l, const char *name) {
    Call *c = NEW(l->ctx->unit, Call);
    *c = (Call){.ctx = l->ctx, .g = l->g, .info = op_info_by_name(name), .stored = lab_stored};
    if (!c->info) ice("no operator %s", name);
    c->args = NEW_ARRAY(l->ctx->unit, Arg, c->info->nparams);
    for (uint32_t i = 0; i < c->info->nparams; i++) c->args[i].value = c->info->params[i].dflt;
    c->path = graph_unique(l->ctx, l->g, name);
    return c;
}

static inline void lab_set(Call *c, AttrName name, Datum value) {
    Arg *a = call_arg(c, name);
    a->value = value;
    a->given = true;
}

static inline Datum lab_ints(Call *c, unsigned n, const int64_t *v) {
    return d_ints(c->ctx->unit, v, n);
}

/* The op made, or NULL when the call was refused. Refused without a diagnostic is a failure. */
static inline Op *lab_bind(Call *c) {
    bool ok = op_rules(c->info->kind)->bind(c);
    CHECK(ok || diag_failed(c->ctx));
    if (!ok) return NULL;
    return c->g->ops.p[c->g->ops.n - 1];
}

/* The op as its own rule sees it once more, without the call: what a printed graph goes through. */
static inline bool lab_again(Lab *l, const Op *op) {
    Typing t = {.ctx = l->ctx, .kind = op->kind, .in = op->in, .nin = op->nin, .arena = l->ctx->unit};
    t.attrs = op->attrs;
    t.nattrs = op->nattrs;
    if (!op_rules(op->kind)->infer(&t) || t.out.n != op->nout) return false;
    for (uint32_t i = 0; i < op->nout; i++)
        if (t.out.p[i].dtype != op->out[i]->type.dtype || !shape_equal(&t.out.p[i].shape, &op->out[i]->type.shape))
            return false;
    return true;
}

#endif
