/* bound.c - a lower bound for the arena of any plan that runs these steps, whatever it shares: in this order below the
 * level `reorder`, in any order from there on.
 *
 * requires steps and fates; computes bound_bytes and bound_kind; needs no places of its own choice.
 *
 * In program order it is the most that a step needs (need.h). Over all orders the search of order.c has found it: the
 * least that any order needs where the search was exhaustive, else what single steps need in every order. Linear after
 * need.c. */
#include "passes/need.h"
#include "passes/passes.h"

void pass_bound(Ctx *ctx, const Graph *g, Plan *p) {
    if (p->order != NULL) {
        p->bound_bytes = p->order->bound;
        p->bound_kind = p->order->bound_kind;
        return;
    }
    Needs n = needs_of(ctx->scratch, g, p);
    p->bound_bytes = needs_in_order(ctx->scratch, &n, NULL, NULL);
    p->bound_kind = "program order";
}
