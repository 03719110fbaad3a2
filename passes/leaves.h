/* leaves.h - what must be stored whatever a plan decides, independent of the order of the steps. Private to
 * passes/.
 *
 * Call a value a leaf when some step computes it and the level has no way to make it bytes of other values: not a
 * part or a reshape of another, not a concatenation that could lie in its slices. Every byte that a reader will
 * still read, through whatever views and joins, is a byte of a leaf; distinct bytes of distinct leaves are distinct
 * information. */
#ifndef NETC_PASSES_LEAVES_H
#define NETC_PASSES_LEAVES_H

#include "passes/steps.h"

typedef struct Segment { uint32_t leaf; uint64_t lo, hi; } Segment;              /* bytes of a leaf */
typedef struct Content { const Segment *s; uint32_t n; bool unknown; } Content;  /* what a value is made of, in its order of bytes */

typedef struct Leaves {
    const Graph *g;
    const Plan *p;
    Arena *arena;
    bool views;                                           /* the level can share bytes between a value and its views and joins */
    bool *stored;
    Content *content;                                     /* by value id */
    bool *free;                                           /* by value id: a leaf outside the arena */
    bool *fixed;                                          /* by value id: a leaf nothing is written over: inputs, results, @keep */
    bool *solo;                                           /* by value id: a leaf that surely fills a buffer of its own size */
    bool *stays;                                          /* by value id: needed to the end */
} Leaves;

/* leaves.c. Requires steps and fates, before or after views lost their steps; the memory is `arena`'s. */
Leaves leaves_of(Arena *, const Graph *, const Plan *);
/* Could this level make result k of op bytes of its operands? Then the op reads nothing. */
bool leaves_could_share(const Leaves *, const Op *, uint32_t k);
/* The size of a part of a leaf; with the padding behind it where it surely ends a buffer. */
uint64_t leaves_rounded(const Leaves *, uint32_t leaf, uint64_t lo, uint64_t hi);
/* The one result of step s that its kernel may write over an operand; NULL if there is none. */
const Value *leaves_result(const Leaves *, uint32_t s);
/* The result f of step s may lie over u, for all that kernels say. */
bool leaves_overwrites(const Leaves *, uint32_t s, const Value *u, const Value *f);

#endif
