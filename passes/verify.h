/* verify.h - inside the verifier: plan_verify.c replays bytes, verify_decisions.c judges what was decided about ops,
 * verify_steps.c what runs as one kernel. */
#ifndef NETC_VERIFY_H
#define NETC_VERIFY_H

#include "ir/plan.h"
#include "ops/ops.h"

typedef struct Verifier {
    Ctx *ctx;
    const Graph *g;
    const Plan *p;
    const char *why;                                      /* the first broken rule */
} Verifier;

/* Records the first broken rule, "rule: what was found"; returns false. */
bool refuse(Verifier *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Every op's fate is one its kind and its operands allow; every step is something one kernel can do. */
bool verify_decisions(Verifier *);
/* verify_steps.c: the ops of a step, which all run and are in order, are something one kernel can do. */
bool verify_kernel(Verifier *, const Step *);
/* May this step write result `out` of its op over the bytes of `read`, an operand from outside the step? */
bool verify_overwrite(Verifier *, const Step *, const Value *out, const Value *read);
/* May it write `out` over bytes of `read`, which lies `distance` bytes above it? */
bool verify_overlap(Verifier *, const Step *, const Value *out, const Value *read, uint64_t distance);
bool is_weight(const Verifier *, const Value *);          /* stored, a scalar constant, or computed when the weights are loaded */

#endif
