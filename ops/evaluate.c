/* evaluate.c - the reference evaluation of a graph: every op in program order, each value in memory of its own.
 *
 * Inputs, stored tensors and constants are fetched when an op first reads them, and a value is freed after its last
 * use, so that what is in memory is what is alive plus the operands of one op. Weights that are taken by rows (linear,
 * embedding) are not fetched at all: their evaluation reads them in blocks. O(ops + elements) beside the ops' work. */
#include "ops/eval.h"

typedef struct Run {
    Ctx *ctx;
    const Supply *supply;
    uint64_t seed;
    Arena *scratch;                                       /* reset after each op */
    Tensor *values;                                       /* by id; without memory: not there, yet or any more */
    uint64_t *left;                                       /* by id: operands and results that still read it */
} Run;

static Tensor tensor_like(const Value *v) {
    return (Tensor){.type = v->type, .is_int = !dtype_is_float(v->type.dtype), .n = v->nelem};
}

static void tensor_new(Tensor *t, const Value *v) {
    *t = tensor_like(v);
    if (t->is_int) t->i = chunk_new(t->n, sizeof *t->i);
    else t->f = chunk_new(t->n, sizeof *t->f);
}

static void tensor_free(Tensor *t) {
    chunk_free(t->f);
    chunk_free(t->i);
    t->f = NULL;
    t->i = NULL;
}

static void set_constant(Tensor *t, const Datum *d) {
    if (d->kind == D_FLOAT) t->f[0] = d->f;
    else if (t->is_int) t->i[0] = d->kind == D_BOOL ? d->b : d->i;
    else t->f[0] = (double)d->i;
}

/* The value, in memory. False after a diagnostic. */
static bool fetch(Run *r, const Value *v) {
    Tensor *t = &r->values[v->id];
    if (t->f || t->i) return true;
    if (v->def) ice("%s is read after its last use", v->name);
    tensor_new(t, v);
    if (v->role == ROLE_CONST) set_constant(t, &v->constant);
    else if (!r->supply->read(r->supply->data, v, 0, t)) return false;
    tensor_narrow(t);
    return true;
}

static bool by_rows(const Op *op, uint32_t k) {
    return k == 1 && (op->kind == OP_LINEAR || op->kind == OP_EMBEDDING) && !op->in[k]->def;
}

const double *eval_rows(Eval *e, uint32_t k, uint64_t first, uint64_t n, double *buffer) {
    const Tensor *whole = e->in[k];
    uint64_t width = whole->type.shape.dim[1];
    if (whole->f) return whole->f + first * width;
    Tensor rows = {.type = whole->type, .n = n * width, .f = buffer};
    rows.type.shape.dim[0] = n;
    if (!e->supply->read(e->supply->data, e->op->in[k], first * width, &rows)) return NULL;
    tensor_narrow(&rows);
    return buffer;
}

void eval_index_error(Eval *e, const Tensor *indices, uint64_t at, uint64_t n) {
    uint64_t place[MAX_RANK] = {0}, rest = at;
    const Shape *s = &indices->type.shape;
    for (unsigned i = s->rank; i-- > 0; rest /= s->dim[i]) place[i] = rest % s->dim[i];
    Shape where = shape_of(s->rank, place);
    diag(e->ctx, DIAG_INDEX_RANGE, e->op->span, "index %lld at %s is out of range for %s: its axis has %llu",
         (long long)indices->i[at], shape_text(e->ctx->scratch, &where), e->op->path, (unsigned long long)n);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void use_done(Run *r, const Value *v) {
    if (--r->left[v->id] == 0) tensor_free(&r->values[v->id]);
}

/* The operands by position: NULL where absent or not read, without memory where read by rows. */
static bool fetch_operands(Run *r, const Op *op, const Tensor **in) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op->in[k];
        if (!v || !op_reads(op, k)) continue;
        in[k] = &r->values[v->id];
        if (by_rows(op, k)) {
            if (!in[k]->f) r->values[v->id] = tensor_like(v);
        } else if (!fetch(r, v)) {
            return false;
        }
    }
    return true;
}

static bool run_op(Run *r, const Op *op) {
    const Tensor **in = NEW_ARRAY(r->scratch, const Tensor *, op->nin);
    Tensor *out = NEW_ARRAY(r->scratch, Tensor, op->nout);
    if (!fetch_operands(r, op, in)) return false;
    for (uint32_t k = 0; k < op->nout; k++) {
        tensor_new(&r->values[op->out[k]->id], op->out[k]);
        out[k] = r->values[op->out[k]->id];
    }
    Eval e = {r->ctx, r->scratch, op, in, out, r->seed, r->supply};
    op_rules(op->kind)->eval(&e);
    if (diag_failed(r->ctx)) return false;
    for (uint32_t k = 0; k < op->nout; k++) tensor_narrow(&out[k]);
    for (uint32_t k = 0; k < op->nin; k++)
        if (op->in[k]) use_done(r, op->in[k]);
    for (uint32_t k = 0; k < op->nout; k++)
        if (r->left[op->out[k]->id] == 0) tensor_free(&r->values[op->out[k]->id]);
    arena_reset(r->scratch);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void count_uses(Run *r, const Graph *g) {
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nin; k++)
            if (g->ops.p[i]->in[k]) r->left[g->ops.p[i]->in[k]->id]++;
    for (size_t i = 0; i < g->results.n; i++) r->left[g->results.p[i].value->id]++;
}

static bool hand_back(Run *r, const Value *v, Arena *a, Tensor *result) {
    if (!fetch(r, v)) return false;
    *result = r->values[v->id];
    if (result->is_int) result->i = arena_copy(a, result->i, result->n * sizeof *result->i);
    else result->f = arena_copy(a, result->f, result->n * sizeof *result->f);
    use_done(r, v);
    return true;
}

bool evaluate_graph(Ctx *ctx, const Graph *g, const Supply *supply, uint64_t seed, Arena *a, Tensor *results) {
    Arena *own = arena_new();
    Run r = {.ctx = ctx, .supply = supply, .seed = seed, .scratch = arena_new()};
    r.values = NEW_ARRAY(own, Tensor, g->values.n);
    r.left = NEW_ARRAY(own, uint64_t, g->values.n);
    count_uses(&r, g);
    bool ok = true;
    for (size_t i = 0; ok && i < g->ops.n; i++) ok = run_op(&r, g->ops.p[i]);
    for (size_t i = 0; ok && i < g->results.n; i++) ok = hand_back(&r, g->results.p[i].value, a, &results[i]);
    for (size_t i = 0; i < g->values.n; i++) tensor_free(&r.values[i]);
    arena_free(r.scratch);
    arena_free(own);
    return ok;
}
