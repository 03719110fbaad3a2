/* dsa_rules.h - the parts of dsa_place() and dsa_improve(): what orders go by, and three ways to make a placement
 * from an order. Each fills offset by object and returns the height, or DSA_NO_HEIGHT once what it makes would reach
 * `limit`; each adds what it did to *work, one unit for about one object or node looked at. An order is a permutation
 * of all objects. */
#ifndef NETC_DSA_RULES_H
#define NETC_DSA_RULES_H

#include "passes/dsa.h"

#define DSA_NO_HEIGHT UINT64_MAX
#define DSA_NO_OFFSET UINT64_MAX

/* dsa_order.c */
typedef struct DsaMeasures {
    double *life, *area, *size;                           /* by object: steps, bytes times steps, bytes */
    double *load;                                         /* largest load in a step of its life */
    double *touching;                                     /* how many others share a step of its life with it */
    double *early;                                        /* the first step, negative */
} DsaMeasures;
typedef struct DsaKey { double k[3]; uint32_t i; } DsaKey;
DsaMeasures dsa_measure(Arena *, const DsaProblem *);
/* Falling by up to three measures (NULL: none), then by number. With noise > 0 the measures of an object are multiplied
 * by a number in [1 - noise, 1 + noise) that *seed gives. */
void dsa_sort(DsaKey *room, uint32_t n, const double *const by[3], double noise, uint64_t *seed, uint32_t *order);
double dsa_random(uint64_t *seed);                        /* in [0, 1); the same on every machine */

/* dsa_skyline.c - the canonical dive, for plain objects of which none is pinned. One Skyline serves many dives. */
typedef struct Skyline Skyline;
Skyline *skyline_new(Arena *, const DsaProblem *);
/* Of two objects that could lie at the same lowest offset the earlier in the order is taken. Gives up as soon as it is
 * certain that the limit would be reached; what was not placed by then has the offset DSA_NO_OFFSET. */
uint64_t skyline_dive(Skyline *, const uint32_t *order, uint64_t limit, uint64_t *offset, uint64_t *work);
uint32_t skyline_tallest(const Skyline *);                /* of the last dive, done or not: first step that ends highest */

/* dsa_improve.c - dsa_improve() with what its caller has already. */
uint64_t dsa_improve_with(Arena *scratch, DsaProblem *, Skyline *, const DsaMeasures *, uint64_t height,
                          uint64_t enough, uint64_t effort, uint64_t seed, uint64_t *work);

/* dsa_greedy.c - in the order given, each at its lowest place (first fit) or the tightest gap (best fit); plain objects. */
uint64_t dsa_greedy(Arena *scratch, const DsaProblem *, const uint32_t *order, bool tight, uint64_t limit,
                    uint64_t *offset, uint64_t *work);

/* dsa_pairs.c - the same and the canonical dive for any objects, over lists of who must keep away from whom. */
typedef struct Pairs Pairs;
Pairs *pairs_new(Arena *, const DsaProblem *);            /* NULL if there are too many */
uint64_t pairs_greedy(Pairs *, const uint32_t *order, bool tight, uint64_t limit, uint64_t *offset, uint64_t *work);
uint64_t pairs_dive(Pairs *, const uint32_t *order, uint64_t limit, uint64_t *offset, uint64_t *work);

#endif
