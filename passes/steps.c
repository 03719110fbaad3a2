/* steps.c - questions about steps that several passes ask; see steps.h. Each is linear in what it looks at. */
#include "passes/steps.h"

bool *values_results(Arena *arena, const Graph *g, const Plan *p) {
    bool *result = NEW_ARRAY(arena, bool, g->values.n);
    for (size_t i = 0; i < g->results.n; i++)
        result[plan_repl(p, g->results.p[i].value->id)] = true;
    return result;
}

/* A part of an operand that a kernel addresses in its loads: what nobody reads of it is not written either. */
static bool only_loads(const Plan *p, const Op *op) {
    return p->fate[op->id] == FATE_FUSED && op->id < p->into[op->id] && op_has(op, RESHAPES | MOVES | PARTS);
}

/* A value that is read both inside and outside its step is stored; so is one that nobody reads. */
bool *values_stored(Arena *arena, const Graph *g, const Plan *p) {
    size_t n = g->values.n;
    bool *stored = values_results(arena, g, p);
    bool *inside = NEW_ARRAY(arena, bool, n);
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        bool runs = op_runs(p, op);
        if (!runs && p->fate[i] != FATE_VIEW)
            continue;
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = op_tensor(g, p, op, k);
            if (v == NULL)
                continue;
            if (runs && made_in_step(p, v, p->step_of[i]))
                inside[v->id] = true;
            else
                stored[v->id] = true;
        }
    }
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nout && !only_loads(p, g->ops.p[i]); k++) {
            uint32_t v = g->ops.p[i]->out[k]->id;
            if (!inside[v])
                stored[v] = true;
        }
    return stored;
}

static unsigned element_bits(const Value *v) { return dtype_bits(v->type.dtype); }

/* The epilogue (the ops after the anchor) computes the result element by element; what runs before the anchor (the scores
 * of a fused attention) is indexed otherwise. */
static bool op_reads_at_index(const Op *op, uint32_t in, const Op *anchor, const Value *result, Reason *why) {
    int reason = REASON_KERNEL;
    if (op->id < anchor->id || op->nout != 1) {
        *why = REASON_KERNEL;
        return false;
    }
    if (!op_can_overwrite(op, in, 0, &reason)) {
        *why = (Reason)reason;
        return false;
    }
    if (!shape_equal(&op->out[0]->type.shape, &result->type.shape)) {
        *why = REASON_SIZE;
        return false;
    }
    return true;
}

/* Does the step store its result under other indices than it computes it? Then a transpose or a reshape ends it. */
static bool stores_elsewhere(const Graph *g, const Step *step) {
    return step->ops.n > 1 && op_has(g->ops.p[step->ops.p[step->ops.n - 1]], RESHAPES | MOVES | PARTS);
}

bool step_reads_at_index(const Graph *g, const Plan *p, uint32_t s, const Value *v, const Value *result, Reason *why) {
    const Step *step = &p->steps.p[s];
    if (stores_elsewhere(g, step)) {
        *why = REASON_KERNEL;
        return false;
    }
    if (v->nbytes != result->nbytes) {
        *why = REASON_SIZE;
        return false;
    }
    if (element_bits(v) != element_bits(result)) {
        *why = REASON_DTYPE;
        return false;
    }
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++)
            if (op_tensor(g, p, op, k) == v && !op_reads_at_index(op, k, g->ops.p[step->anchor], result, why))
                return false;
    }
    return true;
}

/* The kernel of the anchor goes through its result in index order, and so does what follows it in the step, element by
 * element; an op that runs before the anchor in the step may read anything at any time. */
static bool step_in_order(const Graph *g, const Plan *p, const Step *step, const Value *result) {
    const Op *anchor = g->ops.p[step->anchor];
    uint64_t lead;
    if (step->ops.p[0] != anchor->id || anchor->nin == 0 || !op_lead(anchor, 0, 0, &lead))
        return false;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = g->ops.p[step->ops.p[i]];
        if (op != anchor && !op_has(op, ELEMENTWISE) && p->fate[op->id] != FATE_FOLDED)
            return false;
        if (op->nout != 1 || !shape_equal(&op->out[0]->type.shape, &result->type.shape) ||
            element_bits(op->out[0]) != element_bits(result))
            return false;
    }
    return true;
}

bool step_lead(const Graph *g, const Plan *p, uint32_t s, const Value *v, const Value *result, uint64_t *lead) {
    const Step *step = &p->steps.p[s];
    *lead = 0;
    if (!step_in_order(g, p, step, result))
        return false;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            uint64_t one = 0;
            if (op_tensor(g, p, op, k) != v)
                continue;
            if (p->fate[op->id] == FATE_FOLDED || !op_lead(op, k, 0, &one))
                return false;
            *lead = one > *lead ? one : *lead;
        }
    }
    return true;
}

uint64_t step_scratch(const Graph *g, const Plan *p, uint32_t s) {
    const Step *step = &p->steps.p[s];
    bool fused = p->level >= LEVEL_FULL && !(p->without & WITHOUT_ATTENTION);
    uint64_t sum = 0;
    for (size_t i = 0; i < step->ops.n; i++)
        if (!add_u64(sum, op_scratch(g->ops.p[step->ops.p[i]], fused), &sum))
            return UINT64_MAX;
    return sum;
}
