/* order.h - inside the order pass: order.c cuts the steps into stretches, order_search.c orders one. */
#ifndef NETC_PASSES_ORDER_H
#define NETC_PASSES_ORDER_H

#include "passes/need.h"

/* Steps [from, to) of a plan, every one of which runs after all steps before `from` and before all from `to` on. */
typedef struct Stretch {
    const Needs *needs;
    const uint32_t *before_from, *before;                 /* step s runs after the steps before[before_from[s] .. before_from[s + 1]) */
    uint32_t from, to;
    uint64_t held;                                        /* bytes held before the first of them */
    uint64_t floor;                                       /* peaks up to here are equally good */
    uint64_t ceiling;                                     /* of the order that is known: only lower peaks are of interest */
} Stretch;

typedef struct OrderLimits { uint64_t states, work; } OrderLimits;               /* what may still be spent; searches take it off */

typedef struct Ordered {
    bool found;                                           /* an order with a peak below the ceiling */
    uint64_t peak;                                        /* of the best order known: the one found, else the ceiling's */
    uint64_t bound;                                       /* no order of the stretch has a peak below */
} Ordered;

/* Writes the steps in their new order into order[0 .. to - from) when it found one. Deterministic; takes what it spent off
 * the limits. */
Ordered order_stretch(const Stretch *, OrderLimits *, uint32_t *order);

enum { ORDER_MAX_STEPS = 1024 };                          /* of a stretch */

#endif
