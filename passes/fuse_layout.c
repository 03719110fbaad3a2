/* fuse_layout.c - reshapes, transposes and slices that run in the loads or the store of a kernel (level full).
 *
 * requires the groups of fuse.c; fuses further ops into them.
 *
 * Loads. For an anchor whose kernel follows a strided nest (ops/access.h) the ops that only address their operand anew
 * are collected backwards from its operands: they form a small tree, or with the parts of a packed projection a graph.
 * One is given up when somebody outside reads its result, or when the nest from the stored tensor to the operand is
 * none the kernel follows; with it goes what it was made of. Ops next to the stored tensor that are views by
 * themselves need no kernel and are left as they are. The rest runs in the anchor's loads: q, k and v are read where
 * the projection left them. The source then lives until the anchor runs instead of its copy: done only where what is
 * kept for this alone is no larger than the copies, so it never raises the peak.
 *
 * Stores. Transposes and reshapes after the anchor, each the only reader of the one before, run in the store of its
 * kernel, if it writes nothing in place: no epilogue reads another activation. The result takes the place of what was
 * copied. O(ops), each looked at by at most MAX_FOLD others. */
#include "ops/access.h"
#include "passes/fuse.h"

enum { MAX_FOLD = 32, MAX_CHAIN = 16 };

typedef struct Layout {
    Fuse *f;
    Arena *scratch;
    uint32_t *start, *readers;                            /* by value id: readers[start[v]] up to [start[v + 1]] */
    uint32_t op[MAX_FOLD], n;                             /* the candidates of one anchor */
    uint32_t *chosen;                                     /* by op id: 1 + the anchor it is a candidate of */
    uint32_t anchor;
} Layout;

static Value *operand(const Layout *l, const Op *op, uint32_t k) { return op_tensor(l->f->g, l->f->p, op, k); }

static void find_readers(Layout *l) {
    const Graph *g = l->f->g;
    size_t total = 0;
    l->start = NEW_ARRAY(l->scratch, uint32_t, g->values.n + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < g->ops.n; i++)
            for (uint32_t k = 0; op_runs(l->f->p, g->ops.p[i]) && k < g->ops.p[i]->nin; k++) {
                const Value *v = operand(l, g->ops.p[i], k);
                if (v != NULL && fill)
                    l->readers[l->start[v->id + 1]++] = (uint32_t)i;
                else if (v != NULL)
                    l->start[v->id + 2]++, total++;
            }
        for (size_t v = 0; !fill && v < g->values.n; v++)
            l->start[v + 2] += l->start[v + 1];
        if (!fill)
            l->readers = NEW_ARRAY(l->scratch, uint32_t, total);
    }
}

static bool is_candidate(const Layout *l, const Value *v) {
    return v != NULL && v->def != NULL && l->chosen[v->def->id] == l->anchor + 1;
}

/* A running op that stands alone and does nothing but address its operand anew. */
static bool can_remap(const Layout *l, const Value *v) {
    if (v == NULL || v->def == NULL || l->f->p->fate[v->def->id] != FATE_RUN || l->f->next[v->def->id] != NO_ID)
        return false;
    return op_remaps(v->def) && !fuse_apart(v->def) && operand(l, v->def, 0) != NULL;
}

static bool is_view(const Op *op) {
    uint64_t offset;
    for (uint32_t k = 0; k < op->nout; k++)
        if (!op_part(op, k, &offset))
            return false;
    return true;
}

static void collect(Layout *l, const Value *v) {
    for (; can_remap(l, v) && !is_candidate(l, v) && l->n < MAX_FOLD; v = operand(l, v->def, 0)) {
        l->chosen[v->def->id] = l->anchor + 1;
        l->op[l->n++] = v->def->id;
    }
}

static void give_up(Layout *l, uint32_t i) {
    l->chosen[l->op[i]] = 0;
    l->op[i] = l->op[--l->n];
}

/* Is v read by candidates, and by the group where it loads through a nest, alone? */
static bool read_inside(const Layout *l, const Value *v) {
    if (l->f->last_reader[v->id] == NO_ID)
        return false;
    for (uint32_t r = l->start[v->id]; r < l->start[v->id + 1]; r++) {
        const Op *op = l->f->g->ops.p[l->readers[r]];
        if (l->chosen[op->id] == l->anchor + 1)
            continue;
        if (l->f->anchor[op->id] != l->anchor)
            return false;
        for (uint32_t k = 0; k < op->nin; k++)
            if (operand(l, op, k) == v && !op_reads_strided(op, k))
                return false;
    }
    return true;
}

/* Gives up one candidate that others read, or that is a view next to what is stored; false when there is none. */
static bool prune(Layout *l) {
    for (uint32_t i = 0; i < l->n; i++) {
        const Op *op = l->f->g->ops.p[l->op[i]];
        bool drop = !is_candidate(l, operand(l, op, 0)) && is_view(op);
        for (uint32_t k = 0; k < op->nout && !drop; k++)
            drop = !read_inside(l, op->out[k]);
        if (drop) {
            give_up(l, i);
            return true;
        }
    }
    return false;
}

static void give_up_op(Layout *l, const Op *op) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->op[i] == op->id) {
            give_up(l, i);
            return;
        }
}

/* The nest from the stored tensor to operand k of op. When the kernel does not follow it, the candidate next to the
 * tensor is given up. */
static bool check_load(Layout *l, const Op *op, uint32_t k) {
    const Value *chain[MAX_CHAIN], *v = operand(l, op, k);
    uint32_t n = 0;
    Access a;
    for (; is_candidate(l, v) && n < MAX_CHAIN; v = operand(l, v->def, 0))
        chain[n++] = v;
    if (n == 0)
        return true;
    bool ok = !is_candidate(l, v) && access_whole(&a, v);
    for (uint32_t i = n; ok && i-- > 0; )
        ok = access_through(&a, chain[i]->def, chain[i]->out_index);
    if (ok && access_readable(&a, op, k))
        return true;
    give_up_op(l, chain[n - 1]->def);
    return false;
}

/* All nests of the group; false when a candidate was given up. */
static bool check_loads(Layout *l) {
    for (uint32_t m = l->anchor; m != NO_ID; m = l->f->next[m]) {
        const Op *op = l->f->g->ops.p[m];
        for (uint32_t k = 0; k < op->nin; k++)
            if (op_reads_strided(op, k) && !check_load(l, op, k))
                return false;
    }
    return true;
}

static bool seen_before(const Layout *l, uint32_t i, const Value *v) {
    for (uint32_t k = 0; k < i; k++)
        if (operand(l, l->f->g->ops.p[l->op[k]], 0) == v)
            return true;
    return false;
}

/* What is kept until the anchor runs, against the copies that it would have read. */
static bool pays(const Layout *l) {
    uint64_t kept = 0, saved = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const Op *op = l->f->g->ops.p[l->op[i]];
        const Value *u = operand(l, op, 0);
        if (!is_candidate(l, u) && !seen_before(l, i, u))
            kept += fuse_keeps(l->f, u, l->anchor);
        for (uint32_t k = 0; k < op->nout; k++) {
            bool copied = false;
            for (uint32_t r = l->start[op->out[k]->id]; r < l->start[op->out[k]->id + 1]; r++)
                copied = copied || l->f->anchor[l->readers[r]] == l->anchor;
            saved += copied ? op->out[k]->nbytes : 0;
        }
    }
    return kept <= saved;
}

static void fold_loads(Layout *l, uint32_t anchor) {
    Fuse *f = l->f;
    l->anchor = anchor;
    l->n = 0;
    for (uint32_t m = anchor; m != NO_ID; m = f->next[m])
        for (uint32_t k = 0; k < f->g->ops.p[m]->nin; k++)
            if (op_reads_strided(f->g->ops.p[m], k))
                collect(l, operand(l, f->g->ops.p[m], k));
    do
        while (prune(l)) { }
    while (!check_loads(l));
    bool worth = pays(l);
    for (uint32_t i = 0; i < l->n; i++)
        if (worth)
            fuse_into(f, l->op[i], anchor);
        else
            l->chosen[l->op[i]] = 0;
}

/* stores */

/* Does the epilogue read activations from outside? Then the step may write over one of them. */
static bool has_residual(const Layout *l, uint32_t anchor) {
    const Fuse *f = l->f;
    for (uint32_t m = f->next[anchor]; m != NO_ID; m = f->next[m])
        for (uint32_t k = 0; m > anchor && k < f->g->ops.p[m]->nin; k++) {
            const Value *v = operand(l, f->g->ops.p[m], k);
            if (v != NULL && !is_stored(v) && (v->def == NULL || f->anchor[v->def->id] != anchor))
                return true;
        }
    return false;
}

static void fold_store(Layout *l, uint32_t anchor) {
    Fuse *f = l->f;
    const Value *v = f->g->ops.p[f->tail[anchor]]->out[0];
    const Op *chain[MAX_CHAIN];
    uint32_t n = 0;
    Access a;
    if (f->g->ops.p[f->tail[anchor]]->nout != 1 || f->g->ops.p[f->tail[anchor]]->keep || has_residual(l, anchor))
        return;
    for (uint32_t r; n < MAX_CHAIN && (r = f->reader[v->id]) != NO_ID; v = chain[n - 1]->out[0]) {
        const Op *op = f->g->ops.p[r];
        if (op->nout != 1 || op_has(op, PARTS) || !can_remap(l, op->out[0]) || operand(l, op, 0) != v)
            break;
        if (plan_denies(f->p, REWRITE_FUSE, r))
            break;
        chain[n++] = op;
    }
    while (n > 0 && is_view(chain[n - 1]))
        n--;
    if (n == 0 || !access_whole(&a, chain[n - 1]->out[0]))
        return;
    for (uint32_t i = n; i-- > 0; )
        if (!access_back(&a, chain[i]))
            return;
    if (!access_writable(&a))
        return;
    for (uint32_t i = 0; i < n; i++)
        fuse_into(f, chain[i]->id, anchor);
    f->tail[anchor] = chain[n - 1]->id;
}

void fuse_layout(Ctx *ctx, Fuse *f) {
    Layout l = {.f = f, .scratch = ctx->scratch};
    l.chosen = NEW_ARRAY(ctx->scratch, uint32_t, f->g->ops.n);
    find_readers(&l);
    for (uint32_t i = 0; i < f->g->ops.n; i++)
        if (f->p->fate[i] == FATE_RUN && op_writes_strided(f->g->ops.p[i]) && !plan_denies(f->p, REWRITE_FUSE, i))
            fold_loads(&l, i);
    for (uint32_t i = 0; i < f->g->ops.n; i++)
        if (f->p->fate[i] == FATE_RUN && op_writes_strided(f->g->ops.p[i]))
            fold_store(&l, i);
}
