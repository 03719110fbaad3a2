/* dsa_improve.c - squeaky-wheel optimization (Joslin and Clements, JAIR 10, 1999) over canonical dives: lower
 * placements for plain objects, none pinned.
 *
 * Every dive has to stay below the best height so far and is given up at the first step that no longer can. What is
 * alive there and still waits has been placed too late: each such object gets a greater weight in the preorder, by a
 * random factor, and the next dive begins. Weights add up over the dives of a round, so that an object that is in
 * trouble again and again rises until it lies early enough; places that are far apart in time mend themselves side by
 * side. A round starts from equal weights and the next of three preorders: area, life, size. Most dives are given up
 * early and cost a fraction of one that ends. Reaches the load on idealloc's pangu_2.6B and S_1; proves nothing where
 * it does not. Cost: O(n log n) a dive beside the dive itself; the caller bounds the work. */
#include "passes/dsa_rules.h"

enum { ROUND = 1000 };                                    /* dives; a weight grows by GAIN at most: no overflow */
#define GAIN 0.3
#define NOISE 0.05

typedef struct Wheel {
    const DsaProblem *pb;
    Skyline *skyline;
    double *weight, *key;                                 /* key: measure times weight */
    DsaKey *room;
    uint32_t *order;
    uint64_t *offset, seed;
} Wheel;

static Wheel *wheel_new(Arena *arena, const DsaProblem *pb, Skyline *skyline, uint64_t seed) {
    Wheel *w = NEW(arena, Wheel);
    size_t n = pb->n;
    *w = (Wheel){.pb = pb, .skyline = skyline, .seed = seed,
                 .weight = NEW_ARRAY(arena, double, n), .key = NEW_ARRAY(arena, double, n),
                 .room = NEW_ARRAY(arena, DsaKey, n), .order = NEW_ARRAY(arena, uint32_t, n),
                 .offset = NEW_ARRAY(arena, uint64_t, n)};
    return w;
}

static void begin_round(Wheel *w) {
    for (uint32_t i = 0; i < w->pb->n; i++)
        w->weight[i] = 1;
}

static void rank(Wheel *w, const double *measure) {
    const double *const by[3] = {w->key, NULL, NULL};
    for (uint32_t i = 0; i < w->pb->n; i++)
        w->key[i] = measure[i] * w->weight[i];
    dsa_sort(w->room, w->pb->n, by, NOISE, &w->seed, w->order);
}

/* The dive was given up: what waits at the step that ends too high must come earlier. */
static void grease(Wheel *w) {
    uint32_t step = skyline_tallest(w->skyline);
    for (uint32_t i = 0; i < w->pb->n; i++) {
        const DsaPiece *p = &w->pb->objects[i].pieces[0];
        if (w->offset[i] == DSA_NO_OFFSET && p->first <= step && step <= p->last)
            w->weight[i] *= 1 + GAIN * dsa_random(&w->seed);
    }
}

uint64_t dsa_improve_with(Arena *scratch, DsaProblem *pb, Skyline *skyline, const DsaMeasures *by, uint64_t height,
                          uint64_t enough, uint64_t effort, uint64_t seed, uint64_t *work) {
    Wheel *w = wheel_new(scratch, pb, skyline, seed);
    const double *const measure[] = {by->area, by->life, by->size};
    uint64_t used = 0;
    for (uint64_t dive = 0; height > enough && used < effort; dive++) {
        if (dive % ROUND == 0)
            begin_round(w);
        rank(w, measure[dive / ROUND % COUNT_OF(measure)]);
        uint64_t reached = skyline_dive(w->skyline, w->order, height, w->offset, &used);
        used += pb->n;
        if (reached == DSA_NO_HEIGHT) {
            grease(w);
            continue;
        }
        height = reached;
        for (uint32_t i = 0; i < pb->n; i++)
            pb->objects[i].offset = w->offset[i];
    }
    *work += used;
    return height;
}

uint64_t dsa_improve(Arena *scratch, DsaProblem *pb, uint64_t height, uint64_t enough, uint64_t effort, uint64_t seed,
                     uint64_t *work) {
    if (height <= enough || pb->n == 0)
        return height;
    DsaMeasures by = dsa_measure(scratch, pb);
    return dsa_improve_with(scratch, pb, skyline_new(scratch, pb), &by, height, enough, effort, seed, work);
}
