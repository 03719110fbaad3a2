/* steps.h - what the passes ask of a step again and again: what it reads, what it leaves behind. Private to passes/.
 *
 * A step reads the operands of its ops that come from outside it, each under the value that stands for it (Plan.repl).
 * A value made inside a step needs storage only if somebody outside reads it, or if nobody reads it at all and its
 * kernel writes it all the same (the second result of a topk). */
#ifndef NETC_PASSES_STEPS_H
#define NETC_PASSES_STEPS_H

#include "ir/plan.h"
#include "ops/ops.h"

/* Techniques a try of the driver leaves out (Plan.without), so that the better of two plans can be kept. */
enum { WITHOUT_SLICES = 1, WITHOUT_CONSTANTS = 2, WITHOUT_ATTENTION = 4, WITHOUT_LOADS = 8, WITHOUT_OVERLAPS = 16, WITHOUT_ORDER = 32,
       WITHOUT_ROUNDING = 64 };                           /* the bound counts bare bytes */
enum { WITHOUT_STEPS = WITHOUT_CONSTANTS | WITHOUT_ATTENTION | WITHOUT_LOADS };      /* those that change what the steps are */

/* Operands of batch_norm: x, weight, bias, running_mean, running_var. Folded away, it is in the weight and the bias of the op it
 * follows. When that has no bias, the new one is written where the norm's own lies, or its mean when it has none. */
static inline bool folded_reads(const Graph *g, const Plan *p, const Op *norm, uint32_t i) {
    const Op *into = g->ops.p[p->into[norm->id]];
    return i == 0 || (op_in(into, 2) == NULL && i == (op_in(norm, 2) != NULL ? 2u : 3u));
}

/* The tensor operand i of op is read from, NULL if the kernel reads none there: absent, folded, or a number in the code. */
static inline Value *op_tensor(const Graph *g, const Plan *p, const Op *op, uint32_t i) {
    if (op->in[i] == NULL || !op_reads(op, i) || (p->fate[op->id] == FATE_FOLDED && !folded_reads(g, p, op, i)))
        return NULL;
    Value *v = g->values.p[plan_repl(p, op->in[i]->id)];
    return v->role == ROLE_CONST ? NULL : v;
}

/* Is op part of a step? A folded norm is, though its arithmetic is in the weights: the step's result is the norm's. */
static inline bool op_runs(const Plan *p, const Op *op) {
    Fate f = p->fate[op->id];
    return f == FATE_RUN || f == FATE_FUSED || f == FATE_FOLDED;
}

static inline bool is_stored(const Value *v) { return v->role == ROLE_PARAM || v->role == ROLE_BUFFER; }

/* v is made inside step s: reading it there costs no storage. */
static inline bool made_in_step(const Plan *p, const Value *v, uint32_t s) {
    return v->def != NULL && op_runs(p, v->def) && p->step_of[v->def->id] == s;
}

/* Level and options allow values to share bytes in this way. */
static inline bool plan_views(const Graph *g, const Plan *p) {
    return p->level >= LEVEL_ALIAS && !g->mem_noreuse;
}
static inline bool plan_inplace(const Graph *g, const Plan *p) {
    return p->level >= LEVEL_INPLACE && !g->mem_noreuse;
}

/* A result may lie over a dying operand in part: blocks of a CUDA grid have no order, loops of C have. */
static inline bool plan_overlaps(const Graph *g, const Plan *p) {
    return p->level >= LEVEL_FULL && p->target == TARGET_C && !g->mem_noreuse && !(p->without & WITHOUT_OVERLAPS);
}

/* Is this decision about op one that the plan is to do without? */
static inline bool plan_denies(const Plan *p, RewriteKind kind, uint32_t op) {
    return p->deny != NULL && (p->deny[op] >> kind & 1);
}

/* storage.c's answer for an op whose result may be bytes of operand 0. */
static inline bool op_is_view(const Op *op, uint32_t out, uint64_t *offset) {
    return op->nin > 0 && op->in[0] != NULL && op_part(op, out, offset);
}

/* steps.c */
/* By value id: outlives its step, so that it needs storage. Requires steps. */
bool *values_stored(Arena *, const Graph *, const Plan *);
/* By value id: a result of the net is (or is represented by) this value. */
bool *values_results(Arena *, const Graph *, const Plan *);
/* Does every op of step s that reads v do so at the very index it then writes of `result` (the value of `last`, the last op of
 * the step)? Then the step may write over v as far as its kernel goes. On false *why is a Reason. */
bool step_reads_at_index(const Graph *, const Plan *, uint32_t s, const Value *v, const Value *result, Reason *why);
/* By how many bytes must `result`, made by step s, begin before its operand v, so that it may lie over it in part (op_lead, for
 * the step as a whole)? False: not at all. */
bool step_lead(const Graph *, const Plan *, uint32_t s, const Value *v, const Value *result, uint64_t *lead);
/* Workspace of step s in bytes, not aligned. */
uint64_t step_scratch(const Graph *, const Plan *, uint32_t s);
/* The stored tensor whose place takes the bias that folding op (FATE_FOLDED) leaves, NULL if the bias of `into` takes it. */
Value *folded_bias(const Graph *, const Op *);

/* overlap.c */
/* Which buffer each step's new buffer may lie over in part (Buffer.overlaps). Requires lives and pieces. */
void find_overlaps(const Graph *, Plan *);

/* pieces.c */
typedef struct Use { uint64_t lo, hi; uint32_t first, last; } Use;               /* bytes [lo, hi) are needed in steps [first, last] */
typedef VEC(Piece) Pieces;
/* The union of n uses (reordered) as pieces disjoint in bytes x steps, sorted by lo, then first; neighbours with the same lives are one.
 * False when that took too much work, or there are no bytes: then it is one piece, the hull. */
bool pieces_of(Arena *out, Arena *scratch, Use *uses, uint32_t n, Pieces *);

#endif
