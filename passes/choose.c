/* choose.c - which of the sharings that were decided greedily are better not taken: steepest descent on the live peak.
 *
 * requires a plan up to its bound; computes decisions to deny. Looked at only where the live peak is above the bound: each
 * sharing that is alive in the peak step is denied in turn, the plan made again, and the denial kept that lowers the peak
 * most; then the same from the new plan, until none does or the work is used up. A plan made again costs one unit for each
 * operator and value. What shares nothing has nothing to deny, so that the levels below `inplace` cost nothing here. */
#include "passes/steps.h"
#include "passes/passes.h"

enum { MAX_WORK = 1 << 17, MAX_TRIES = 48 };

/* Decisions that leave the steps as they are. */
static bool is_sharing(RewriteKind k) {
    return k == REWRITE_INPLACE || k == REWRITE_ACCUMULATE || k == REWRITE_VIEW || k == REWRITE_SLICE;
}

const uint8_t *plan_choose(Ctx *ctx, const Graph *g, const PlanOptions *o, const Plan *p) {
    Arena *aside = arena_new();
    const Plan *now = p;
    const uint8_t *deny = NULL;
    uint64_t tries = MAX_WORK / (g->ops.n + g->values.n + 1);
    tries = tries < MAX_TRIES ? tries : MAX_TRIES;
    while (now->live_peak_bytes > now->bound_bytes && tries > 0) {
        Rewrite *list;
        size_t n = plan_decisions_at_peak(aside, g, now, &list), pick = n;
        uint64_t least = now->live_peak_bytes;
        for (size_t i = 0; i < n && tries > 0; i++) {
            if (!is_sharing(list[i].kind))
                continue;
            tries--;
            uint64_t peak = plan_peak_without(ctx, g, o, now, list[i]);
            if (peak < least) {
                least = peak;
                pick = i;
            }
        }
        if (pick == n)
            break;
        deny = plan_denied_too(ctx->unit, g, now, list[pick]);
        now = plan_again(ctx, g, o, aside, now, deny);
    }
    arena_free(aside);
    return deny;
}
