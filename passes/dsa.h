/* dsa.h - the offset problem alone (dynamic storage allocation): rigid objects made of pieces, each piece a byte range that
 * is needed for an interval of steps. Knows nothing of networks; `netc plan` and the exact search will stand on it too. */
#ifndef NETC_DSA_H
#define NETC_DSA_H

#include "base/base.h"

typedef struct DsaPiece { uint64_t lo, hi; uint32_t first, last; } DsaPiece;      /* bytes relative to the object; steps included */
typedef struct DsaObject {
    const DsaPiece *pieces;
    uint32_t npieces;
    uint64_t nbytes, align;                               /* size of the object; its offset is a multiple of align */
    uint64_t offset;                                      /* the answer */
} DsaObject;
typedef struct DsaProblem {
    DsaObject *objects;
    uint32_t n;
    uint64_t bound;                                       /* stop when the height meets it; 0 = unknown */
} DsaProblem;
typedef struct DsaResult { uint64_t height; const char *rule; uint64_t work; } DsaResult;

/* dsa.c - a portfolio of placement rules, the canonical dive first; keeps the best, stops at the bound. Deterministic. */
DsaResult dsa_place(Arena *scratch, DsaProblem *);
/* dsa_search.c - is there a placement below a capacity? Exact; bounded by `effort` nodes, whose number is added to *nodes.
 * On DSA_FOUND the objects have their offsets; DSA_IMPOSSIBLE is a proof. Every object has one piece that is all of it. */
typedef enum DsaVerdict { DSA_FOUND, DSA_IMPOSSIBLE, DSA_GAVE_UP } DsaVerdict;
DsaVerdict dsa_search(Arena *scratch, DsaProblem *, uint64_t capacity, uint64_t effort, uint64_t *nodes);
uint64_t dsa_load(Arena *scratch, const DsaProblem *);    /* largest sum of bytes needed in one step */

/* dsa_gaps.c - one block for the hull of each life, in time order, into the first or the tightest gap. Fills offset by object,
 * returns the height. Scales to a million objects. */
uint64_t dsa_in_time(Arena *scratch, const DsaProblem *, bool tight, uint64_t *offset);
uint32_t dsa_first(const DsaObject *), dsa_last(const DsaObject *);              /* the hull of its life */

#endif
