/* passes.h - one pass, one file, one exported function. A pass reads the graph, never changes it, and fills its part of a
 * plan. Above each function: what it requires, what it computes, what it makes stale. */
#ifndef NETC_PASSES_H
#define NETC_PASSES_H

#include "ir/plan.h"
#include "ops/ops.h"

typedef struct PlanOptions {
    Level level;
    Target target;
    IoPlace io;
    uint64_t align;                                       /* 0: the target's */
    const char *print_after;                              /* name of a pass, or NULL */
    bool savings;                                         /* also find the figures of the lower levels, and what each decision saves */
    bool verify_ops;                                      /* tests: graph_check after elaboration */
} PlanOptions;

/* passes.c - runs the passes of every level up to the one asked for and keeps the best plan, so that a later level is never
 * worse; verifies what it returns. NULL after diagnostics. print_after prints on standard error. */
Plan *plan_network(Ctx *, const Graph *, const PlanOptions *);
const char *const *pass_names(size_t *n);                 /* in their order */
const char *pass_summary(const char *name);

/* A plan made as p was, up to its bound, but that these decisions (Plan.deny) are not to be taken. */
Plan *plan_again(Ctx *, const Graph *, const PlanOptions *, Arena *, const Plan *p, const uint8_t *deny);
const uint8_t *plan_denied_too(Arena *, const Graph *, const Plan *p, Rewrite r);         /* what p denies, and r */
/* The live peak of a plan made as p was, but for the decision r. */
uint64_t plan_peak_without(Ctx *, const Graph *, const PlanOptions *, const Plan *p, Rewrite r);
/* choose.c: decisions of p without which its live peak is smaller, as Plan.deny; NULL if it found none. */
const uint8_t *plan_choose(Ctx *, const Graph *, const PlanOptions *, const Plan *p);
/* savings.c: fills p->rewrites. */
void plan_savings(Ctx *, const Graph *, const PlanOptions *, Plan *p);
/* The decisions of p that keep something from memory in its peak step, as far as its places and steps say; their number. */
size_t plan_decisions_at_peak(Arena *, const Graph *, const Plan *p, Rewrite **);

bool pass_demand(Ctx *, const Graph *);                   /* demand.c: in-place demands of the source can be met by any plan */
void pass_simplify(Ctx *, const Graph *, Plan *);         /* simplify.c: identities, folded batch norm, constants, duplicates, dead ops */
void pass_fuse(Ctx *, const Graph *, Plan *);             /* fuse.c: which ops run as one step */
void pass_schedule(Ctx *, const Graph *, Plan *);         /* schedule.c: the steps, in program order */
void pass_order(Ctx *, const Graph *, Plan *);            /* order.c: the order of the steps that needs the least memory */
void pass_alias(Ctx *, const Graph *, Plan *);            /* alias.c: which values share a buffer */
void pass_liveness(Ctx *, const Graph *, Plan *);         /* liveness.c: lives, pieces, workspaces, live peak */
void pass_bound(Ctx *, const Graph *, Plan *);            /* bound.c: a lower bound for the level */
void pass_offsets(Ctx *, const Graph *, Plan *);          /* offsets.c: a place in the arena for every buffer */
/* plan_verify.c - replays the plan over a map of the arena's bytes; false and the broken rule in *why (scratch memory). Shares no
 * code with the passes above. */
bool plan_verify(Ctx *, const Graph *, const Plan *, const char **why);

#endif
