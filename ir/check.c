/* check.c - what every graph promises, asked of one: ids are dense, operands come before their readers, uses are counted,
 * names are unique, types are as the rules infer them, sums of the rows are the sums of the stored tensors. A broken promise
 * is the compiler's mistake: ice(). Linear; run by tests and after elaboration when asked for. */
#include "ops/ops.h"

#include <string.h>

typedef struct Check {
    Ctx *ctx;
    const Graph *g;
    uint32_t *uses;                                       /* by value id, as found */
    NameMap *names;
} Check;

static void must(bool holds, const char *name, const char *what) {
    if (!holds)
        ice("graph: %s: %s", name, what);
}

static void check_name(Check *c, const char *name) {
    static const char taken[] = "";
    const char *key = name_of(c->ctx, name);
    must(namemap_get(c->names, key) == NULL, name, "its name is taken");
    namemap_put(c->names, key, (void *)(uintptr_t)taken);
}

static void check_value(Check *c, uint32_t id) {
    const Value *v = c->g->values.p[id];
    uint64_t nelem, nbytes;
    must(v->id == id, v->name, "its id is not its index");
    must(type_elems(&v->type, &nelem) && nelem == v->nelem, v->name, "its elements are miscounted");
    must(type_bytes(&v->type, &nbytes) && nbytes == v->nbytes, v->name, "its bytes are miscounted");
    must(v->def == NULL || v->role >= ROLE_ACTIVATION, v->name, "an operator makes what cannot be made");
    must(v->def != NULL || v->role != ROLE_ACTIVATION, v->name, "no operator makes it");
    if (v->def != NULL)
        must(v->out_index < v->def->nout && v->def->out[v->out_index] == v, v->name, "its operator does not know it");
    check_name(c, v->name);
}

static void check_types(Check *c, const Op *op) {
    Typing t = {.ctx = c->ctx, .span = op->span, .kind = op->kind, .in = op->in, .nin = op->nin, .attrs = op->attrs,
                .nattrs = op->nattrs, .arena = c->ctx->scratch};
    must(op_rules(op->kind)->infer(&t), op->path, "its rule refuses it");
    must(t.out.n == op->nout, op->path, "its rule gives another number of results");
    for (uint32_t i = 0; i < op->nout; i++) {
        must(t.out.p[i].dtype == op->out[i]->type.dtype, op->path, "its rule gives another element type");
        must(shape_equal(&t.out.p[i].shape, &op->out[i]->type.shape), op->path, "its rule gives another shape");
    }
}

static void check_op(Check *c, uint32_t id, uint32_t *next_value) {
    const Op *op = c->g->ops.p[id];
    must(op->id == id, op->path, "its id is not its index");
    must((op_info(op->kind)->flags & COMPOSITE) == 0, op->path, "a composite stands in the graph");
    for (uint32_t i = 0; i < op->nout; i++) {
        must(op->out[i]->id >= *next_value, op->path, "its results are out of order");
        *next_value = op->out[i]->id + 1;
    }
    for (uint32_t i = 0; i < op->nin; i++) {
        if (op->in[i] == NULL)
            continue;
        must(op->nout == 0 || op->in[i]->id < op->out[0]->id, op->path, "it reads a value that comes later");
        c->uses[op->in[i]->id]++;
    }
    for (uint32_t i = 0; i < op->nattrs; i++)
        must(op->attrs[i].value.kind != D_TENSOR, op->path, "a tensor among its attributes");
    check_types(c, op);
    if (op->nout != 1)
        check_name(c, op->path);                          /* one result has the operator's own name */
    else if (strcmp(op->path, op->out[0]->name) != 0)
        check_name(c, op->path);
}

/* Saturating, as the counts themselves are. */
static void add(uint64_t *sum, uint64_t n) {
    if (!add_u64(*sum, n, sum))
        *sum = UINT64_MAX;
}

static void check_counts(const Graph *g) {
    uint64_t params = 0, buffers = 0, stored_params = 0, stored_buffers = 0;
    for (size_t i = 0; i < g->ops.n; i++) {
        add(&params, g->ops.p[i]->params);
        add(&buffers, g->ops.p[i]->buffer_elems);
    }
    for (size_t i = 0; i < g->stored.n; i++) {
        const Value *v = g->stored.p[i];
        if (v->declared || v->nuses == v->nresults)       /* rows of their own */
            continue;
        add(v->role == ROLE_PARAM ? &stored_params : &stored_buffers, v->nelem);
    }
    must(params == stored_params, g->name, "the operators' parameters are not the stored ones");
    must(buffers == stored_buffers, g->name, "the operators' buffer elements are not the stored ones");
}

void graph_check(Ctx *ctx, const Graph *g) {
    Check c = {.ctx = ctx, .g = g, .uses = NEW_ARRAY(ctx->scratch, uint32_t, g->values.n + 1), .names = namemap_new(ctx->scratch)};
    uint32_t next_value = 0;
    for (uint32_t i = 0; i < g->values.n; i++)
        check_value(&c, i);
    for (uint32_t i = 0; i < g->ops.n; i++)
        check_op(&c, i, &next_value);
    for (size_t i = 0; i < g->results.n; i++)
        c.uses[g->results.p[i].value->id]++;
    for (size_t i = 0; i < g->values.n; i++)
        must(c.uses[i] == g->values.p[i]->nuses, g->values.p[i]->name, "its uses are miscounted");
    check_counts(g);
}
