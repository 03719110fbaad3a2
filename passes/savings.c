/* savings.c - what each decision of a plan saves: the plan is made again without it, everything else being decided anew, and
 * the live peaks are compared.
 *
 * requires a whole plan; computes Plan.levels and Plan.rewrites. Only decisions are looked at whose loss could be felt: the
 * bytes that come back, on top of what lives in that step, would pass the peak. The largest come first, as many as a limit of
 * counted work allows: a plan made again costs one unit for each operator and value. So a figure in the list is exact, and a
 * decision that is not in it saves nothing by itself, or was beyond the limit. Decisions that only help together show as 0
 * each: a saving is not a share of the whole. */
#include "passes/steps.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORK = 1 << 18, MAX_TRIES = 64 };

typedef struct Candidate { Rewrite r; uint64_t above; } Candidate;               /* above: bytes over the peak that its loss could cost */

typedef struct Savings {
    Ctx *ctx;
    const Graph *g;
    const Plan *p;
    Arena *arena;
    uint64_t *live;                                       /* by step; NULL: what is alive in the peak step is asked for */
    VEC(Candidate) found;
} Savings;

/* Sums wrap and unwrap, as in liveness.c. */
static void find_live(Savings *s) {
    const Plan *p = s->p;
    s->live = NEW_ARRAY(s->arena, uint64_t, p->steps.n + 2);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        s->live[b->first] -= b->overlap_bytes;
        s->live[b->first + 1] += b->overlap_bytes;
        for (size_t k = 0; b->in_arena && k < b->pieces.n; k++) {
            uint64_t hi = b->pieces.p[k].hi;
            if (hi == b->nbytes)
                align_up(hi, p->align, &hi);
            s->live[b->pieces.p[k].first] += hi - b->pieces.p[k].lo;
            s->live[b->pieces.p[k].last + 1] -= hi - b->pieces.p[k].lo;
        }
    }
    for (size_t i = 1; i < p->steps.n; i++)
        s->live[i] += s->live[i - 1];
}

/* A decision of op that gives back at most n bytes in a step. */
static void candidate(Savings *s, RewriteKind kind, uint32_t op, uint32_t step, uint64_t n) {
    const Place *l = &s->p->place[s->g->ops.p[op]->out[0]->id];
    uint64_t then;
    if (s->live == NULL) {
        if (step == s->p->peak_step || (l->buffer != NO_ID && l->first <= s->p->peak_step && s->p->peak_step <= l->last))
            vec_push(s->arena, &s->found, ((Candidate){{kind, op, 0}, n}));
        return;
    }
    if (step >= s->p->steps.n || !align_up(n, s->p->align, &n) || !add_u64(s->live[step], n, &then) || then <= s->p->live_peak_bytes)
        return;
    vec_push(s->arena, &s->found, ((Candidate){{kind, op, 0}, then - s->p->live_peak_bytes}));
}

/* In place over an operand that an epilogue adds to what the anchor computes: into the residual, as reports say. */
static bool accumulates(const Savings *s, const Value *v) {
    uint32_t step = s->p->step_of[v->def->id];
    const Op *anchor = s->g->ops.p[s->p->steps.p[step].anchor];
    if (!op_has(anchor, MACS) || anchor == v->def)
        return false;
    for (uint32_t k = 0; k < anchor->nin; k++)
        if (op_tensor(s->g, s->p, anchor, k) == s->g->values.p[s->p->place[v->id].with])
            return false;
    return true;
}

static void sharing(Savings *s, const Value *v) {
    const Plan *p = s->p;
    const Place *l = &p->place[v->id];
    if (v->def == NULL || l->buffer == NO_ID || p->repl[v->id] != v->id || !p->buffers.p[l->buffer].in_arena)
        return;
    if (l->share == SHARE_INPLACE)
        candidate(s, accumulates(s, v) ? REWRITE_ACCUMULATE : REWRITE_INPLACE, v->def->id, l->first, v->nbytes);
    else if (l->share == SHARE_VIEW && v->out_index == 0)
        candidate(s, REWRITE_VIEW, v->def->id, l->first, v->nbytes);
    else if (l->share == SHARE_SLICE)
        candidate(s, REWRITE_SLICE, v->def->id, p->place[l->with].first, v->nbytes);
    const Buffer *b = &p->buffers.p[l->buffer];
    if (b->overlaps != NO_ID && l->first == b->first && op_runs(p, v->def))
        candidate(s, REWRITE_OVERLAP, v->def->id, l->first, b->overlap_bytes);
}

/* What runs inside a step would leave its operand or its result in memory for the next; what runs before the anchor is one
 * decision, the anchor's. */
static void fusion(Savings *s, uint32_t step) {
    const Step *st = &s->p->steps.p[step];
    uint64_t before = 0;
    for (size_t i = 0; i < st->ops.n; i++) {
        const Op *op = s->g->ops.p[st->ops.p[i]];
        if (op->id < st->anchor)
            before = op->out[0]->nbytes > before ? op->out[0]->nbytes : before;
        else if (s->p->fate[op->id] == FATE_FOLDED)
            candidate(s, REWRITE_FOLD, op->id, step, op->out[0]->nbytes);
        else if (op->id > st->anchor)
            candidate(s, REWRITE_FUSE, op->id, step, op->out[0]->nbytes);
    }
    if (before > 0)
        candidate(s, REWRITE_FUSE, st->anchor, step, before);
}

static int by_effect(const void *x, const void *y) {
    const Candidate *a = x, *b = y;
    if (a->above != b->above)
        return a->above > b->above ? -1 : 1;
    if (a->r.op != b->r.op)
        return a->r.op < b->r.op ? -1 : 1;
    return a->r.kind < b->r.kind ? -1 : a->r.kind > b->r.kind;
}

static int by_saving(const void *x, const void *y) {
    const Rewrite *a = x, *b = y;
    if (a->saved_bytes != b->saved_bytes)
        return a->saved_bytes > b->saved_bytes ? -1 : 1;
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static void find_decisions(Savings *s) {
    for (size_t v = 0; v < s->g->values.n; v++)
        sharing(s, s->g->values.p[v]);
    for (uint32_t i = 0; i < s->p->steps.n; i++)
        fusion(s, i);
    if (s->found.n > 1)
        qsort(s->found.p, s->found.n, sizeof *s->found.p, by_effect);
}

static void measure(Savings *s, const PlanOptions *o, Plan *p) {
    uint64_t each = s->g->ops.n + s->g->values.n + 1, tries = MAX_WORK / each;
    tries = tries < MAX_TRIES ? tries : MAX_TRIES;
    for (size_t i = 0; i < s->found.n && i < tries; i++) {
        Rewrite r = s->found.p[i].r;
        uint64_t peak = plan_peak_without(s->ctx, s->g, o, p, r);
        if (peak <= p->live_peak_bytes)
            continue;
        r.saved_bytes = peak - p->live_peak_bytes;
        vec_push(p->arena, &p->rewrites, r);
    }
    if (p->rewrites.n > 1)
        qsort(p->rewrites.p, p->rewrites.n, sizeof *p->rewrites.p, by_saving);
}

void plan_savings(Ctx *ctx, const Graph *g, const PlanOptions *o, Plan *p) {
    Arena *arena = arena_new();
    Savings s = {.ctx = ctx, .g = g, .p = p, .arena = arena};
    find_live(&s);
    find_decisions(&s);
    if (p->order != NULL && p->order->changed && !(p->without & WITHOUT_ORDER))
        vec_push(arena, &s.found, ((Candidate){{REWRITE_ORDER, NO_ID, 0}, UINT64_MAX}));
    measure(&s, o, p);
    arena_free(arena);
}

size_t plan_decisions_at_peak(Arena *arena, const Graph *g, const Plan *p, Rewrite **list) {
    Savings s = {.g = g, .p = p, .arena = arena};
    find_decisions(&s);
    *list = NEW_ARRAY(arena, Rewrite, s.found.n);
    for (size_t i = 0; i < s.found.n; i++)
        (*list)[i] = s.found.p[i].r;
    return s.found.n;
}
