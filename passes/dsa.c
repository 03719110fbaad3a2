/* dsa.c - dynamic storage allocation: offsets for objects with known lives, so that the height is small. NP-hard;
 * this is a portfolio of rules, the best result is kept, and it stops as soon as the height meets the bound.
 *
 *   in time order over a list of free gaps (dsa_gaps.c): comes first, and is the only rule where no other has room.
 *   canonical dive (MiniMalloc's canonical form as a heuristic): always the object whose lowest free offset is
 *     smallest, ties by a preorder of lifetime W, area A, load T, size Z; bottom-up in address. For plain objects under
 *     a skyline (dsa_skyline.c), which scales to a million of them; else over lists of conflicts (dsa_pairs.c).
 *   greedy, the rules of production planners: by size with three ways to break ties, by life, by conflicts, by first
 *     step, by area; each at the lowest place (first fit) or in the tightest gap (best fit).
 *   squeaky wheel: again and again, what was in trouble goes earlier in the next round. Over dives for plain objects
 *     (dsa_improve.c), over first fits for the others; and dives with noise.
 * Rules over lists of conflicts stop together when MAX_WORK is used up; the others are bounded by the number of
 * objects. */
#include "passes/dsa_rules.h"

#include <string.h>

enum {
    MAX_WORK = 4000000, NOISY_DIVES = 100, WHEEL_ROUNDS = 100,
    GREEDY_FIRST = 1 << 12, GREEDY_OBJECTS = 1 << 15,     /* quadratic: up to so many they are cheap, or done at all */
    DIVE_WORK = 1 << 28,                                  /* no dive begins when more than that is used up */
    IMPROVE_WORK = 2000000, IMPROVE_PER_OBJECT = 2000, IMPROVE_MOST = 100000000
};

typedef struct Dsa {
    DsaProblem *pb;
    Arena *arena;
    DsaMeasures by;
    Skyline *skyline;                                     /* what dives go over: one of the two; both NULL: no dives */
    Pairs *pairs;
    bool plain;
    DsaKey *keys;
    uint32_t *order;
    uint64_t *offset, *best;
    uint64_t bound;                                       /* no placement is lower */
    uint64_t height, work;                                /* of the best placement so far; all work so far */
    const char *rule;                                     /* what made it; NULL: there is none yet */
} Dsa;

static void keep_best(Dsa *d, uint64_t height, const char *rule) {
    if (height == DSA_NO_HEIGHT || (d->rule && height >= d->height))
        return;
    d->height = height;
    d->rule = rule;
    memcpy(d->best, d->offset, d->pb->n * sizeof *d->best);
}

static bool at_bound(const Dsa *d) { return d->rule && d->height <= d->bound; }

static bool done(const Dsa *d) { return at_bound(d) || (d->pairs && d->work > MAX_WORK); }

static void sort_by(Dsa *d, const double *k0, const double *k1, const double *k2, double noise, uint64_t *seed) {
    const double *const by[3] = {k0, k1, k2};
    dsa_sort(d->keys, d->pb->n, by, noise, seed, d->order);
}

static void dive(Dsa *d, const char *rule) {
    if (done(d) || d->work > DIVE_WORK || (!d->skyline && !d->pairs))
        return;
    uint64_t limit = d->rule ? d->height : DSA_NO_HEIGHT;
    keep_best(d, d->skyline ? skyline_dive(d->skyline, d->order, limit, d->offset, &d->work)
                            : pairs_dive(d->pairs, d->order, limit, d->offset, &d->work), rule);
}

static void dives(Dsa *d) {
    const double *a = d->by.area, *w = d->by.life, *t = d->by.load, *z = d->by.size;
    const double *by[5][3] = {{a, w, t}, {z, w, t}, {t, a, w}, {t, w, a}, {w, a, t}};
    static const char *const names[5] = {"dive AWT", "dive ZWT", "dive TAW", "dive TWA", "dive WAT"};
    for (int r = 0; r < 5 && !done(d); r++) {
        sort_by(d, by[r][0], by[r][1], by[r][2], 0, NULL);
        dive(d, names[r]);
    }
}

static void greedy(Dsa *d, bool tight, const char *rule) {
    if (done(d))
        return;
    uint64_t limit = d->rule ? d->height : DSA_NO_HEIGHT;
    keep_best(d, d->plain ? dsa_greedy(d->arena, d->pb, d->order, tight, limit, d->offset, &d->work)
                          : pairs_greedy(d->pairs, d->order, tight, limit, d->offset, &d->work), rule);
}

static void greedies(Dsa *d) {
    const DsaMeasures *m = &d->by;
    const double *by[7][2] = {{m->size, m->life}, {m->size, NULL}, {m->size, m->touching}, {m->life, m->size},
                              {m->area, m->size}, {m->touching, m->size}, {m->early, m->size}};
    static const char *const names[7][2] = {
        {"by size and life, first fit", "by size and life, best fit"}, {"by size, first fit", "by size, best fit"},
        {"by size and conflicts, first fit", "by size and conflicts, best fit"},
        {"by life, first fit", "by life, best fit"}, {"by area, first fit", "by area, best fit"},
        {"by conflicts, first fit", "by conflicts, best fit"}, {"by time, first fit", "by time, best fit"}};
    for (int r = 0; r < 7 && !done(d); r++) {
        sort_by(d, by[r][0], by[r][1], NULL, 0, NULL);
        greedy(d, false, names[r][0]);
        greedy(d, true, names[r][1]);
    }
}

static void noisy_dives(Dsa *d) {
    const double *a = d->by.area, *w = d->by.life, *t = d->by.load, *z = d->by.size;
    const double *by[3][3] = {{w, a, t}, {z, w, t}, {a, w, t}};
    uint64_t seed = 20;
    for (int r = 0; r < NOISY_DIVES && !done(d); r++) {
        sort_by(d, by[r % 3][0], by[r % 3][1], by[r % 3][2], r % 2 ? 0.1 : 0.4, &seed);
        dive(d, "noisy dive");
    }
}

/* Whatever sticks out above the bound was placed too late: it gets a higher priority for the next round. Places far
 * apart in time mend themselves side by side. */
static void squeaky_wheel(Dsa *d, const double *start, const char *rule) {
    uint32_t n = d->pb->n;
    double *weight = NEW_ARRAY(d->arena, double, n);
    uint64_t seed = 3;
    for (uint32_t i = 0; i < n; i++)
        weight[i] = start[i] + 1;
    for (int r = 0; r < WHEEL_ROUNDS && !done(d); r++) {
        sort_by(d, weight, d->by.size, d->by.life, r == 0 ? 0 : 0.05, &seed);
        keep_best(d, pairs_greedy(d->pairs, d->order, false, DSA_NO_HEIGHT, d->offset, &d->work), rule);
        for (uint32_t i = 0; i < n; i++)
            if (d->offset[i] + d->pb->objects[i].nbytes > d->bound)
                weight[i] *= 1.5;
    }
}

static void in_time(Dsa *d, bool tight, const char *rule) {
    if (at_bound(d))
        return;
    Arena *room = arena_new();
    keep_best(d, dsa_in_time(room, d->pb, tight, d->offset), rule);
    arena_free(room);
}

/* Dives below the best of all rules. They start from the objects' offsets and leave theirs there. */
static void improve(Dsa *d) {
    uint64_t effort = IMPROVE_WORK + (uint64_t)IMPROVE_PER_OBJECT * d->pb->n, before = d->height;
    if (done(d) || d->work > DIVE_WORK)
        return;
    effort = effort < IMPROVE_MOST ? effort : IMPROVE_MOST;
    uint64_t height = dsa_improve_with(d->arena, d->pb, d->skyline, &d->by, before, d->bound, effort, 1, &d->work);
    for (uint32_t i = 0; height < before && i < d->pb->n; i++)
        d->offset[i] = d->pb->objects[i].offset;
    keep_best(d, height, "squeaky dive");
}

static void rules_for_plain(Dsa *d) {
    d->skyline = skyline_new(d->arena, d->pb);
    dives(d);
    if (d->pb->n <= GREEDY_FIRST)
        greedies(d);
    improve(d);
    if (d->pb->n > GREEDY_FIRST && d->pb->n <= GREEDY_OBJECTS)
        greedies(d);
}

/* Pinned objects that are plain can be among them, then the greedy rules need no lists. */
static void rules_for_any(Dsa *d) {
    d->pairs = pairs_new(d->arena, d->pb);
    dives(d);
    if (d->pairs || (d->plain && d->pb->n <= GREEDY_OBJECTS))
        greedies(d);
    if (!d->pairs)
        return;
    squeaky_wheel(d, d->by.size, "squeaky wheel by size");
    squeaky_wheel(d, d->by.area, "squeaky wheel by area");
    squeaky_wheel(d, d->by.life, "squeaky wheel by life");
    noisy_dives(d);
}

static bool any_pinned(const DsaProblem *pb) {
    for (uint32_t i = 0; i < pb->n; i++)
        if (pb->objects[i].pinned)
            return true;
    return false;
}

DsaResult dsa_place(Arena *scratch, DsaProblem *pb) {
    size_t n = pb->n;
    if (n == 0)
        return (DsaResult){0, "empty", 0};
    Arena *room = arena_new();                            /* nothing of it is needed by the caller, and it is large */
    Dsa d = {.pb = pb, .arena = room, .plain = dsa_plain(pb), .bound = pb->bound ? pb->bound : dsa_load(room, pb),
             .offset = NEW_ARRAY(room, uint64_t, n), .best = NEW_ARRAY(scratch, uint64_t, n),
             .order = NEW_ARRAY(room, uint32_t, n), .keys = NEW_ARRAY(room, DsaKey, n)};
    in_time(&d, false, "in time order, first gap");
    in_time(&d, true, "in time order, tightest gap");
    if (!done(&d)) {
        d.by = dsa_measure(room, pb);
        if (d.plain && !any_pinned(pb))
            rules_for_plain(&d);
        else
            rules_for_any(&d);
    }
    for (size_t i = 0; i < n; i++)
        pb->objects[i].offset = d.best[i];
    arena_free(room);
    return (DsaResult){d.height, d.rule, d.work};
}
