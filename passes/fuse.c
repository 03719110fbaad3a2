/* fuse.c - which ops run as one step (level full).
 *
 * requires fates, folded norms and repl of simplify; computes FATE_FUSED and `into` (the anchor's op id); makes
 * steps stale.
 *
 * Vertical fusion, one sweep in program order. A group is an anchor and the ops that run inside its step. An
 * element-wise op joins the group that makes one of its operands when it is the only reader of that operand and of
 * its shape; its other operands must be there when the anchor runs. Of two such producers the later anchor is
 * taken, for then the other one's result is there already: a residual addition runs in the epilogue of the branch
 * that is computed last. The result takes the place of the value it consumes, no operand lives longer, so fusing
 * never raises the peak. Attention written out (matmul, element-wise ops, softmax over the last axis, matmul)
 * becomes the step of its second matmul, whose kernel goes through the scores row by row and never stores them.
 * This makes q and k live until then, so it is done only where the scores are worth more than that. Linear.
 *
 * A prologue: batch norm and element-wise ops whose result only the element reads of a kernel look at (a 1x1
 * convolution without padding, linear, the first operand of matmul) are computed there as it is read, where that
 * saves bytes: what they read is needed later anyway. An operand that dies there would be overwritten in place at
 * no cost, so they stay a step of their own, which computes each element once. Layout ops: fuse_layout.c. */
#include "ops/access.h"
#include "passes/fuse.h"
#include "passes/passes.h"

static void count_reads(Fuse *f) {
    for (size_t v = 0; v < f->g->values.n; v++)
        f->reader[v] = NO_ID;
    for (size_t i = 0; i < f->g->ops.n; i++) {
        const Op *op = f->g->ops.p[i];
        for (uint32_t k = 0; op_runs(f->p, op) && k < op->nin; k++) {
            const Value *v = op_tensor(f->g, f->p, op, k);
            if (v == NULL)
                continue;
            f->reader[v->id] = f->nreads[v->id] == 0 || f->reader[v->id] == op->id ? op->id : NO_ID;
            f->last_reader[v->id] = op->id;
            f->nreads[v->id]++;
        }
        for (uint32_t k = 0; op->keep && k < op->nout; k++)
            f->last_reader[op->out[k]->id] = NO_ID;
    }
    for (size_t i = 0; i < f->g->results.n; i++) {
        uint32_t v = plan_repl(f->p, f->g->results.p[i].value->id);
        f->reader[v] = f->last_reader[v] = NO_ID;
    }
}

/* Kernels that compute one element of their result after another and can go on to work on it in registers. */
static bool takes_epilogue(const Op *op) {
    switch (op->kind) {
    case OP_CONV1D: case OP_CONV2D: case OP_CONV3D:
    case OP_CONV_TRANSPOSE1D: case OP_CONV_TRANSPOSE2D: case OP_CONV_TRANSPOSE3D:
    case OP_LINEAR: case OP_BILINEAR: case OP_MATMUL:
    case OP_BATCH_NORM: case OP_LAYER_NORM: case OP_GROUP_NORM: case OP_INSTANCE_NORM: case OP_RMS_NORM:
    case OP_SOFTMAX:
    case OP_MAX_POOL1D: case OP_MAX_POOL2D: case OP_MAX_POOL3D:
    case OP_AVG_POOL1D: case OP_AVG_POOL2D: case OP_AVG_POOL3D:
    case OP_ADAPTIVE_AVG_POOL1D: case OP_ADAPTIVE_AVG_POOL2D: case OP_ADAPTIVE_AVG_POOL3D:
    case OP_GLOBAL_AVG_POOL1D: case OP_GLOBAL_AVG_POOL2D: case OP_GLOBAL_AVG_POOL3D:
        return true;
    default:
        return op_has(op, ELEMENTWISE);
    }
}

static bool stays_apart(const Op *op) { return fuse_apart(op) || op->nout != 1; }

/* The anchor of the running group that ends with v and nobody but `op` reads, NO_ID if there is none. */
static uint32_t producer(const Fuse *f, const Value *v, const Op *op) {
    if (v == NULL || v->def == NULL || !op_runs(f->p, v->def) || stays_apart(v->def) || f->reader[v->id] != op->id)
        return NO_ID;
    uint32_t a = f->anchor[v->def->id];
    return f->tail[a] == v->def->id ? a : NO_ID;
}

/* Is v there when `anchor` runs? Its step, or the op that is a view for all we know here, must come before. */
static bool there_before(const Fuse *f, const Value *v, uint32_t anchor) {
    if (v->def == NULL || f->p->fate[v->def->id] == FATE_CONSTANT)
        return true;
    return f->anchor[v->def->id] < anchor;
}

static bool others_there(const Fuse *f, const Op *op, const Value *chain, uint32_t anchor) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(f->g, f->p, op, k);
        if (v != NULL && v != chain && !there_before(f, v, anchor))
            return false;
    }
    return true;
}

static void fuse_elementwise(Fuse *f, const Op *op) {
    uint32_t best = NO_ID;
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(f->g, f->p, op, k);
        uint32_t a = producer(f, v, op);
        if (a == NO_ID || !takes_epilogue(f->g->ops.p[a]) || !shape_equal(&v->type.shape, &op->out[0]->type.shape))
            continue;
        if (op->out[0]->nbytes > v->nbytes || !others_there(f, op, v, a))
            continue;
        if (best == NO_ID || a > best)
            best = a;
    }
    if (best == NO_ID)
        return;
    fuse_into(f, op->id, best);
    f->tail[best] = op->id;
}

/* The scores of an attention: a matmul and element-wise ops on it, their result read by `softmax` alone. */
static const Op *scores_matmul(const Fuse *f, const Op *softmax) {
    const Value *s = op_tensor(f->g, f->p, softmax, 0);
    unsigned rank = softmax->out[0]->type.shape.rank;
    int64_t dim = op_int(softmax, A_dim);
    uint32_t a = producer(f, s, softmax);
    if (rank == 0 || (dim != -1 && dim != (int64_t)rank - 1) || a == NO_ID)
        return NULL;
    const Op *m = f->g->ops.p[a];
    return m->kind == OP_MATMUL && m->out[0]->type.shape.rank == rank ? m : NULL;
}

static bool worth_it(const Fuse *f, const Op *scores, const Op *op) {
    const Value *q = op_tensor(f->g, f->p, scores, 0), *k = op_tensor(f->g, f->p, scores, 1);
    uint64_t s = scores->out[0]->nbytes, qk;
    if (op->out[0]->nbytes <= s)
        return true;
    return q != NULL && k != NULL && add_u64(q->nbytes, k->nbytes, &qk) && qk <= s;
}

/* Moves a whole group into the step of `anchor`. */
static void move_group(Fuse *f, uint32_t from, uint32_t anchor) {
    uint32_t after;
    for (uint32_t op = from; op != NO_ID; op = after) {
        after = f->next[op];
        f->next[op] = NO_ID;
        fuse_into(f, op, anchor);
    }
}

/* op is the second matmul: probabilities @ v. */
static void fuse_attention(Fuse *f, const Op *op) {
    const Value *probs = op_tensor(f->g, f->p, op, 0);
    uint32_t s = producer(f, probs, op);
    if (s == NO_ID || f->g->ops.p[s]->kind != OP_SOFTMAX || stays_apart(op))
        return;
    const Op *scores = scores_matmul(f, f->g->ops.p[s]);
    if (scores == NULL || !worth_it(f, scores, op))
        return;
    move_group(f, scores->id, op->id);
    move_group(f, s, op->id);
}

/* Is a group computed element by element? Then *kept is what it reads from outside and would keep alive for op. */
static bool pointwise_group(const Fuse *f, uint32_t a, uint32_t op, uint64_t *kept) {
    *kept = 0;
    for (uint32_t m = a; m != NO_ID; m = f->next[m]) {
        const Op *o = f->g->ops.p[m];
        if ((!op_has(o, ELEMENTWISE) && !op_scales_by_channel(o)) || f->p->fate[m] == FATE_FOLDED)
            return false;
        for (uint32_t k = 0; k < o->nin; k++) {
            const Value *v = op_tensor(f->g, f->p, o, k);
            bool inside = v != NULL && v->def != NULL && op_runs(f->p, v->def) && f->anchor[v->def->id] == a;
            if (v != NULL && !inside && !add_u64(*kept, fuse_keeps(f, v, op), kept))
                return false;
        }
    }
    return true;
}

static void fuse_prologue(Fuse *f, const Op *op) {
    const Value *x = op_tensor(f->g, f->p, op, 0);
    uint64_t kept;
    if (x == NULL || stays_apart(op) || !op_reads_elements(op, 0))
        return;
    for (uint32_t k = 1; k < op->nin; k++)
        if (op_tensor(f->g, f->p, op, k) == x)
            return;
    uint32_t a = producer(f, x, op);
    if (a != NO_ID && pointwise_group(f, a, op->id, &kept) && kept < x->nbytes)
        move_group(f, a, op->id);
}

void pass_fuse(Ctx *ctx, const Graph *g, Plan *p) {
    Fuse f = {.g = g, .p = p};
    size_t n = g->ops.n;
    f.nreads = NEW_ARRAY(ctx->scratch, uint32_t, g->values.n);
    f.reader = NEW_ARRAY(ctx->scratch, uint32_t, g->values.n);
    f.last_reader = NEW_ARRAY(ctx->scratch, uint32_t, g->values.n);
    f.anchor = NEW_ARRAY(ctx->scratch, uint32_t, n);
    f.tail = NEW_ARRAY(ctx->scratch, uint32_t, n);
    f.next = NEW_ARRAY(ctx->scratch, uint32_t, n);
    f.end = NEW_ARRAY(ctx->scratch, uint32_t, n);
    count_reads(&f);
    for (uint32_t i = 0; i < n; i++) {
        const Op *op = g->ops.p[i];
        f.anchor[i] = f.tail[i] = f.end[i] = i;
        f.next[i] = NO_ID;
        if (!op_runs(p, op))
            continue;
        if (p->fate[i] == FATE_FOLDED) {
            f.anchor[i] = p->into[i];
            f.tail[p->into[i]] = i;
            f.next[f.end[p->into[i]]] = i;
            f.end[p->into[i]] = i;
            continue;
        }
        if (plan_denies(p, REWRITE_FUSE, i))
            continue;
        if (op->kind == OP_MATMUL && !(p->without & WITHOUT_ATTENTION))
            fuse_attention(&f, op);
        if (!(p->without & WITHOUT_LOADS) && p->fate[i] == FATE_RUN && f.next[i] == NO_ID)
            fuse_prologue(&f, op);
        if (op_has(op, ELEMENTWISE) && !stays_apart(op))
            fuse_elementwise(&f, op);
    }
    if (!(p->without & WITHOUT_LOADS))
        fuse_layout(ctx, &f);
}
