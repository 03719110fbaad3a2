/* plan.h - "when" and "where": everything that was decided about one graph. Made by passes/, read by backend/.
 *
 * An op's fate says whether and in which step it runs. A step is one kernel call: an anchor op and the ops fused into
 * it, in program order; values made and read only inside one step need no storage. A value lives in a buffer at a byte
 * offset; several values share a buffer when one is a view of another, when a step writes in place, or when a producer
 * writes straight into its slice of a concatenation. A buffer's pieces say which of its bytes are needed when. */
#ifndef NETC_PLAN_H
#define NETC_PLAN_H

#include "ir/ir.h"

typedef enum Level { LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_REORDER, LEVEL_FULL, LEVEL_STREAM, LEVEL_COUNT } Level;
typedef enum Target { TARGET_CUDA, TARGET_C } Target;
typedef enum IoPlace { IO_CALLER, IO_ARENA } IoPlace;

#define NO_ID UINT32_MAX

typedef enum Fate {
    FATE_RUN,                                             /* anchor of a step */
    FATE_FUSED,                                           /* runs inside the step of op `into` */
    FATE_FOLDED,                                          /* its arithmetic is in the weights of op `into` (batch norm) */
    FATE_IDENTITY,                                        /* its result is its operand (dropout in inference, cast to the same dtype) */
    FATE_VIEW,                                            /* no code: its results are bytes of its operand's buffer */
    FATE_CONSTANT,                                        /* computed once when the weights are loaded */
    FATE_DUPLICATE,                                       /* the same as op `into` */
    FATE_DEAD                                             /* nobody needs its results */
} Fate;

/* Why a value could not share its operand's buffer: data for --report=why. `reason.def` has the texts. */
typedef enum Reason {
#define REASON(id, text) REASON_##id,
#include "ir/reason.def"
#undef REASON
    REASON_COUNT
} Reason;

typedef enum ShareKind { SHARE_NONE, SHARE_INPLACE, SHARE_VIEW, SHARE_SLICE } ShareKind;

typedef struct Place {                                    /* of one value */
    uint32_t buffer;                                      /* NO_ID: no storage (constants, values inside a step, dead values) */
    uint64_t byte_offset;                                 /* inside the buffer; the value is contiguous there */
    ShareKind share;                                      /* how it came to share the buffer */
    uint32_t with;                                        /* the value it shares with, or NO_ID */
    Reason reason;                                        /* why it does not share, when share is SHARE_NONE */
    uint32_t reason_value;                                /* the value or reader the reason speaks of, or NO_ID */
    uint32_t first, last;                                 /* steps: its own life, both included */
} Place;

typedef enum BufferKind { BUF_ACTIVATION, BUF_WORKSPACE, BUF_IO, BUF_WEIGHT, BUF_SAVED, BUF_GRADIENT, BUF_OPTIMIZER } BufferKind;

typedef struct Piece { uint64_t lo, hi; uint32_t first, last; } Piece;    /* bytes [lo, hi) of the buffer are needed in steps [first, last] */

typedef struct Buffer {
    uint32_t id;
    BufferKind kind;
    bool in_arena;                                        /* else the caller's or the weights' */
    uint64_t nbytes;
    uint32_t first, last;                                 /* hull of the pieces */
    VEC(Piece) pieces;                                    /* at least one; disjoint in bytes x steps; sorted by lo, then first */
    uint64_t offset;                                      /* in the arena, aligned to Plan.align */
    uint32_t op;                                          /* workspace: whose; else NO_ID */
    uint32_t overlaps;                                    /* a buffer that dies in this one's first step, which may write ... */
    uint64_t overlap_bytes;                               /* ... this one's last bytes over its first, so many at most; or NO_ID and 0 */
} Buffer;

typedef struct Step {
    uint32_t anchor;                                      /* op id */
    VEC(uint32_t) ops;                                    /* all its ops, anchor included, in program order */
} Step;

typedef struct Order {                                    /* what was found out about the order of the steps */
    const char *kind;                                     /* "program": no search was needed; "exact"; "beam": the searches left a gap */
    uint64_t states;                                      /* sets of executed steps that were looked at */
    uint64_t bound;                                       /* no order of these steps needs less */
    const char *bound_kind;                               /* "every order": by exhaustive search; "single operator" */
    bool changed;                                         /* an order better than program order was found */
    uint32_t n;
    const uint32_t *anchors;                              /* then: the n steps' anchors in that order */
    Level level;                                          /* whose steps, and of which try, these are */
    unsigned without;
} Order;

/* A decision that could be taken otherwise, and what the live peak would grow by without it. */
typedef enum RewriteKind {
    REWRITE_INPLACE,                                      /* the op's result lies over an operand */
    REWRITE_ACCUMULATE,                                   /* so, over one that its step adds to a product or a convolution */
    REWRITE_VIEW,                                         /* the op's result is bytes of its operand */
    REWRITE_SLICE,                                        /* the op writes into its part of a concatenation */
    REWRITE_FOLD,                                         /* the batch norm is in the weights */
    REWRITE_FUSE,                                         /* the op runs in another one's step; an anchor: what runs before it there */
    REWRITE_OVERLAP,                                      /* the op's result may lie over its operand in part */
    REWRITE_ORDER                                         /* of the steps, of no op in particular */
} RewriteKind;
typedef struct Rewrite { RewriteKind kind; uint32_t op; uint64_t saved_bytes; } Rewrite;
typedef struct LevelFigures { Level level; uint64_t arena_bytes, live_peak_bytes, bound_bytes; } LevelFigures;

typedef struct Plan {
    Arena *arena;
    Level level;                                          /* asked for */
    Level made_by;                                        /* the level whose plan this is (a later level is never worse) */
    unsigned without;                                     /* techniques this try leaves out (passes/steps.h); 0 in a plan nobody tried to better */
    const bool *no_slice;                                 /* by value id, or NULL: slices a try found to cost more than the copy */
    const uint8_t *deny;                                  /* by op id, a bit for each RewriteKind, or NULL: decisions not to be taken */
    VEC(LevelFigures) levels;                             /* of the levels up to this one, where they were asked for (PlanOptions.savings) */
    VEC(Rewrite) rewrites;                                /* likewise: what saves anything, the most first */
    Target target;
    IoPlace io;
    uint64_t align;
    Fate *fate;                                           /* by op id */
    uint32_t *into;                                       /* by op id; NO_ID */
    uint32_t *step_of;                                    /* by op id; NO_ID where it has none */
    uint32_t *repl;                                       /* by value id: the value that stands for it (identity, duplicate); itself else */
    VEC(Step) steps;                                      /* the schedule: index = step number */
    Place *place;                                         /* by value id */
    VEC(Buffer) buffers;
    uint64_t arena_bytes, live_peak_bytes, bound_bytes, naive_bytes;   /* naive >= arena >= live peak >= bound */
    uint64_t weights_bytes, workspace_bytes, io_bytes;
    uint32_t peak_step;
    bool proven;                                          /* arena equals a bound that holds for the level */
    const char *bound_kind;                               /* what the bound is: "program order", "single operator", "every order" */
    const char *order_kind;                               /* of the steps: "program"; "exact", the least by search; "beam" */
    uint64_t order_states;                                /* sets of executed steps that the search looked at */
    const Order *order;                                   /* what is known of all orders, from the level reorder on; NULL below it */
    const char *rule;                                     /* the offset rule that made the placement */
    uint64_t search_nodes;                                /* counted work of searches */
} Plan;

/* plan.c - building blocks for passes; no decisions here. */
Plan *plan_new(Arena *, const Graph *, Level, Target, IoPlace, uint64_t align);  /* every op FATE_RUN, no steps yet */
static inline uint32_t plan_repl(const Plan *p, uint32_t v) {
    while (p->repl[v] != v) v = p->repl[v];
    return v;
}
bool plan_is_result(const Graph *, const Value *);        /* the net hands it to its caller */
const char *rewrite_name(RewriteKind);                    /* "in place", "accumulate", ... */
const char *level_name(Level), *fate_name(Fate), *buffer_kind_name(BufferKind), *reason_text(Reason), *share_name(ShareKind);
bool level_by_name(const char *, Level *);

#endif
