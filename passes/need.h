/* need.h - what each step needs in memory, as a function of which steps have run: what a bound and a search for an
 * order stand on. Private to passes/.
 *
 * After a set S of steps has run, the arena holds every item that was made in S (or was there from the start) and
 * that a step outside S reads or that stays to the end. While step s runs it holds, besides, all that s makes and
 * its workspace; less, at most, the bytes of the largest donor of s, an operand over which its result may be
 * written once all readers of the donor have run, and no less than what is held after it. So what is held depends
 * on the set alone, and no plan of the level can hold less. */
#ifndef NETC_PASSES_NEED_H
#define NETC_PASSES_NEED_H

#include "passes/steps.h"

typedef struct Readers { uint32_t from, to; } Readers;    /* Needs.readers[from .. to): step numbers, ascending */
typedef struct Item {                                     /* bytes of a leaf that the same steps read */
    uint64_t nbytes;
    uint32_t maker;                                       /* a step; NO_ID: there from the start */
    Readers by;
    bool stays;                                           /* needed to the end */
    bool loose;                                           /* its readers may run before its maker, when nothing is held for them */
} Item;
typedef struct Donor { uint64_t nbytes; Readers by; } Donor;

typedef struct Needs {
    uint32_t nsteps;
    uint32_t nitems;
    const Item *items;
    const uint32_t *readers;
    const uint32_t *makes_from, *makes;                   /* step s makes items makes[makes_from[s] .. makes_from[s + 1]) */
    const uint32_t *reads_from, *reads;                   /* and reads these */
    const uint32_t *donors_from;
    const Donor *donors;
    const uint64_t *scratch;                              /* by step, aligned */
} Needs;

/* need.c. Requires steps and fates, before or after views lost their steps. The numbers of steps are those of the plan's order. */
Needs needs_of(Arena *, const Graph *, const Plan *);
/* The same, as if the steps in `skip` needed, read and left nothing: no order needs less than it does without them. Items and
 * donors keep their numbers. */
Needs needs_without(Arena *, const Needs *, const bool *skip);
/* What each step needs when they run in the order of their numbers. Returns the largest; fills need[nsteps] and held[nsteps + 1],
 * what is held before each step and after the last. Both may be NULL. */
uint64_t needs_in_order(Arena *, const Needs *, uint64_t *need, uint64_t *held);

#endif
