/* schedule.c - the order of the steps: program order, each step at the place of its anchor. Linear.
 *
 * Requires fates and `into`; computes steps and step_of; makes every later fact stale. order.c may bring them into another
 * order. */
#include "passes/steps.h"
#include "passes/passes.h"

static uint32_t step_anchor(const Plan *p, const Op *op) {
    return p->fate[op->id] == FATE_RUN ? op->id : p->into[op->id];
}

/* Lays the lists of all steps into one array, each with its exact room. */
static void reserve_ops(const Graph *g, Plan *p) {
    size_t total = 0, at = 0;
    for (size_t i = 0; i < g->ops.n; i++)
        if (op_runs(p, g->ops.p[i])) {
            p->steps.p[p->step_of[step_anchor(p, g->ops.p[i])]].ops.cap++;
            total++;
        }
    uint32_t *pool = NEW_ARRAY(p->arena, uint32_t, total);
    for (size_t s = 0; s < p->steps.n; s++) {
        p->steps.p[s].ops.p = pool + at;
        at += p->steps.p[s].ops.cap;
    }
}

void pass_schedule(Ctx *ctx, const Graph *g, Plan *p) {
    size_t nsteps = 0;
    (void)ctx;
    for (size_t i = 0; i < g->ops.n; i++)
        nsteps += p->fate[i] == FATE_RUN;
    p->steps.p = NEW_ARRAY(p->arena, Step, nsteps);
    p->steps.cap = nsteps;
    p->steps.n = 0;
    for (size_t i = 0; i < g->ops.n; i++)
        if (p->fate[i] == FATE_RUN) {
            p->step_of[i] = (uint32_t)p->steps.n;
            p->steps.p[p->steps.n++].anchor = (uint32_t)i;
        }
    reserve_ops(g, p);
    for (size_t i = 0; i < g->ops.n; i++) {
        if (!op_runs(p, g->ops.p[i]))
            continue;
        uint32_t s = p->step_of[step_anchor(p, g->ops.p[i])];
        Step *step = &p->steps.p[s];
        p->step_of[i] = s;
        step->ops.p[step->ops.n++] = (uint32_t)i;
    }
}
