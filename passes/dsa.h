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
    bool pinned;                                          /* its offset is given, whatever align says */
    uint64_t offset;                                      /* the answer; where it is pinned, given */
} DsaObject;
/* Two objects that share a step, and what is asked of them instead of sharing no byte: offset of a - offset of b is not in the
 * open interval (lo, hi). Narrower than the pieces say: they may overlap in part, as a row-wise operator's input and output. */
typedef struct DsaApart { uint32_t a, b; int64_t lo, hi; } DsaApart;
typedef struct DsaProblem {
    DsaObject *objects;
    uint32_t n;
    uint64_t bound;                                       /* stop when the height meets it; 0 = unknown */
    const DsaApart *apart;                                /* each pair once at most */
    uint32_t napart;
} DsaProblem;
typedef struct DsaResult { uint64_t height; const char *rule; uint64_t work; } DsaResult;

/* dsa.c - a portfolio of placement rules, the canonical dive first; keeps the best, stops at the bound. Deterministic. */
DsaResult dsa_place(Arena *scratch, DsaProblem *);
/* dsa_improve.c - many dives, each below the last success. For plain objects (dsa_plain: one piece that is all of it, no apart),
 * none of them pinned. Looks for heights below `height`, stops at one that is not above `enough` or when `effort` units of
 * work, which are added to *work, are used up. Returns the lowest height found, with the objects' offsets; `height` if none was,
 * and the offsets are as they were. A capacity is asked for by height = capacity + 1, enough = capacity. Another seed makes other
 * dives; dsa_place() has spent some effort with seed 1 already. */
uint64_t dsa_improve(Arena *scratch, DsaProblem *, uint64_t height, uint64_t enough, uint64_t effort, uint64_t seed, uint64_t *work);
bool dsa_plain(const DsaProblem *);
/* dsa_search.c - is there a placement below a capacity? Exact; bounded by `effort` nodes, whose number is added to *nodes: the
 * first `steady` of them without chance, the rest in restarts, others for another seed. On DSA_FOUND the objects have their
 * offsets; DSA_IMPOSSIBLE is a proof. Every object has one piece that is all of it, and no pair is in apart. */
typedef enum DsaVerdict { DSA_FOUND, DSA_IMPOSSIBLE, DSA_GAVE_UP } DsaVerdict;
DsaVerdict dsa_search(Arena *scratch, DsaProblem *, uint64_t capacity, uint64_t steady, uint64_t effort, uint64_t seed, uint64_t *nodes);
/* dsa_sweep.c - the same question, for any objects: exact by dynamic programming in the order of time, bounded by `effort` nodes and
 * by its memory. Settles long problems of which few objects are alive at a time, on few possible offsets. */
DsaVerdict dsa_sweep(Arena *scratch, DsaProblem *, uint64_t capacity, uint64_t effort, uint64_t *nodes);
/* dsa_bound.c */
uint64_t dsa_load(Arena *scratch, const DsaProblem *);    /* largest sum of bytes needed in one step; what apart lets overlap counts once */
uint64_t dsa_bound(Arena *scratch, const DsaProblem *);   /* the load, or more where alignment or pins say so: no placement is lower */
uint64_t dsa_unit(const DsaProblem *);                    /* divides every height a rule or search can find */
/* Objects needed in one step whose bytes together exceed the capacity, none to spare; NULL if there are none. */
uint32_t *dsa_clique(Arena *scratch, const DsaProblem *, uint64_t capacity, uint32_t *n);
/* dsa_check.c - do the offsets respect all that was asked? If not, *pair are two objects in each other's way, or one object
 * twice whose offset is no multiple of its alignment. */
bool dsa_check(Arena *scratch, const DsaProblem *, uint32_t pair[2]);

/* dsa_solve.c - the whole solver: portfolio, bounds, exact search. What it can say of its placement, in words of dsa_status_text. */
typedef enum DsaStatus {
    DSA_MEETS_BOUND,                                      /* optimal: nothing can be lower than the bound, and this is not higher */
    DSA_EXHAUSTED,                                        /* optimal: a search through everything lower found nothing */
    DSA_WITHIN,                                           /* a placement; the optimum lies between bound and height */
    DSA_INFEASIBLE,                                       /* proven: no placement under the capacity, or none at all (pins) */
    DSA_NOT_FOUND                                         /* none under the capacity was found, none was excluded */
} DsaStatus;
typedef struct DsaLimits {
    uint64_t capacity;                                    /* bytes; 0: minimise. Else the first placement that fits is enough */
    uint64_t effort;                                      /* units of counted work; a search node costs about DSA_NODE_WORK of them */
} DsaLimits;
typedef struct DsaSolution {
    DsaStatus status;
    uint64_t height, load, bound;                         /* height: of the best placement known, also when it is above the capacity */
    bool placed;                                          /* the objects have offsets that respect everything but the capacity */
    const char *rule;                                     /* what made the placement */
    uint64_t nodes, work;
    uint32_t *conflict;                                   /* DSA_INFEASIBLE: objects that cannot lie together, as few as was found */
    uint32_t nconflict;
} DsaSolution;
enum { DSA_NODE_WORK = 16 };
#define DSA_EFFORT UINT64_C(40000000)                     /* when the user says nothing */
DsaSolution dsa_solve(Arena *scratch, DsaProblem *, const DsaLimits *);
const char *dsa_status_text(Arena *, const DsaSolution *);                       /* "within 3.33 % (bound 986112)" */

/* dsa_gaps.c - one block for the hull of each life, in time order, into the first or the tightest gap. Fills offset by object,
 * returns the height. Scales to a million objects. */
uint64_t dsa_in_time(Arena *scratch, const DsaProblem *, bool tight, uint64_t *offset);
uint32_t dsa_first(const DsaObject *), dsa_last(const DsaObject *);              /* the hull of its life */

#endif
