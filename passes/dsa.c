/* dsa.c - dynamic storage allocation: offsets for objects with known lives, so that the height is small. NP-hard;
 * this is a portfolio of rules, the best result is kept, and it stops as soon as the height meets the bound.
 *
 * Which objects conflict is found by one sweep over time and kept as lists: i may not lie at a distance in an open
 * interval (lo, hi) from j, one interval for each pair of pieces that are needed in a common step. An object made
 * of pieces is rigid, so others may lie between its pieces or in the gaps of their lives. Pinned objects lie before
 * any rule begins; DsaProblem.apart takes the place of what the pieces of a pair say. Rules:
 *   canonical dive (MiniMalloc's canonical form as a heuristic): always the object whose lowest free offset is
 *     smallest, ties by a preorder of lifetime W, area A, load T, size Z; bottom-up in address. With noise in the
 *     preorder while work is left.
 *   greedy: by size, life, area, or first step; each at the lowest place (first fit) or in the tightest gap (best
 *     fit).
 *   squeaky wheel: greedy again and again, what stuck out above the bound goes earlier in the next round.
 *   in time order over a list of free gaps (dsa_gaps.c): needs no conflict lists, comes first, and is the only rule
 *     when there are too many conflicts.
 * Cost of the others: O(conflicts log conflicts) each; all stop together when the work limit is used up. */
#include "passes/dsa.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CONFLICTS = 1 << 22, MAX_WORK = 4000000, NOISY_DIVES = 100, WHEEL_ROUNDS = 100 };

typedef struct Conflict { uint32_t other; int64_t lo, hi; } Conflict;            /* offset - other's offset is not in (lo, hi) */
typedef struct Range { int64_t lo, hi; } Range;

typedef struct Key { double k[3]; uint32_t i; } Key;

typedef struct Dsa {
    DsaProblem *pb;
    Arena *arena;
    uint32_t *start;                                      /* conflicts of i: list[start[i]] .. list[start[i + 1] - 1] */
    Conflict *list;
    DsaApart *apart;                                      /* pairs with an interval of their own, a < b, sorted */
    uint64_t *offset, *best;
    bool *placed;
    Range *ranges;                                        /* room for the forbidden ranges of one object */
    uint32_t *order;
    Key *keys;
    double *life, *area, *size, *load;                    /* what orders go by */
    uint64_t bound;                                       /* no placement is lower */
    uint64_t height, work;                                /* of the best placement so far; all work so far */
    const char *rule;
    bool noted;                                           /* best is filled */
} Dsa;

/* events: pieces in the order of their first steps, and of their last ones */

typedef struct Event { uint32_t step, object, piece; } Event;

static int by_event(const void *a, const void *b) {
    const Event *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return x->piece != y->piece ? (x->piece < y->piece ? -1 : 1) : 0;
}

static size_t count_pieces(const DsaProblem *pb) {
    size_t n = 0;
    for (uint32_t i = 0; i < pb->n; i++)
        n += pb->objects[i].npieces;
    return n;
}

static Event *events(Arena *arena, const DsaProblem *pb, bool ends, size_t *n) {
    Event *e = NEW_ARRAY(arena, Event, count_pieces(pb));
    size_t k = 0;
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t j = 0; j < pb->objects[i].npieces; j++) {
            const DsaPiece *p = &pb->objects[i].pieces[j];
            if (p->hi > p->lo)
                e[k++] = (Event){ends ? p->last : p->first, i, j};
        }
    qsort(e, k, sizeof *e, by_event);
    *n = k;
    return e;
}

static uint64_t piece_bytes(const DsaProblem *pb, const Event *e) {
    const DsaPiece *p = &pb->objects[e->object].pieces[e->piece];
    return p->hi - p->lo;
}

/* conflicts */

typedef VEC(Event) Events;

/* Calls on each pair of pieces of different objects that share a step, once; false when there are too many. */
static bool pairs(const DsaProblem *pb, Arena *arena, void (*on)(Dsa *, const Event *, const Event *), Dsa *d) {
    size_t n;
    uint64_t count = 0;
    Event *in = events(arena, pb, false, &n);
    Events live = {0};
    for (size_t i = 0; i < n; i++) {
        size_t kept = 0;
        count += live.n;
        if (count > MAX_CONFLICTS)
            return false;
        for (size_t k = 0; k < live.n; k++) {
            const Event *e = &live.p[k];
            if (pb->objects[e->object].pieces[e->piece].last < in[i].step)
                continue;
            live.p[kept++] = *e;
            if (e->object != in[i].object)
                on(d, e, &in[i]);
        }
        live.n = kept;
        vec_push(arena, &live, in[i]);
    }
    return true;
}

static void count_pair(Dsa *d, const Event *a, const Event *b) {
    d->start[a->object + 1]++;
    d->start[b->object + 1]++;
}

static int by_pair(const void *a, const void *b) {
    const DsaApart *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b != y->b ? (x->b < y->b ? -1 : 1) : 0;
}

static void sort_apart(Dsa *d) {
    d->apart = NEW_ARRAY(d->arena, DsaApart, d->pb->napart);
    for (uint32_t i = 0; i < d->pb->napart; i++) {
        DsaApart x = d->pb->apart[i];
        d->apart[i] = x.a < x.b ? x : (DsaApart){x.b, x.a, -x.hi, -x.lo};
    }
    if (d->pb->napart > 0)
        qsort(d->apart, d->pb->napart, sizeof *d->apart, by_pair);
}

/* The interval that was asked for between i and j, if there is one. */
static bool asked_apart(const Dsa *d, uint32_t i, uint32_t j, Conflict *c) {
    DsaApart key = {.a = i < j ? i : j, .b = i < j ? j : i};
    const DsaApart *x = d->pb->napart ? bsearch(&key, d->apart, d->pb->napart, sizeof key, by_pair) : NULL;
    if (x)
        *c = i < j ? (Conflict){j, x->lo, x->hi} : (Conflict){j, -x->hi, -x->lo};
    return x != NULL;
}

static void list_conflict(Dsa *d, const Event *a, const Event *b) {
    const DsaPiece *p = &d->pb->objects[a->object].pieces[a->piece], *q = &d->pb->objects[b->object].pieces[b->piece];
    Conflict *c = &d->list[d->start[a->object]++];
    if (asked_apart(d, a->object, b->object, c))
        return;
    c->other = b->object;
    c->lo = (int64_t)q->lo - (int64_t)p->hi;
    c->hi = (int64_t)q->hi - (int64_t)p->lo;
}

static void list_pair(Dsa *d, const Event *a, const Event *b) {
    list_conflict(d, a, b);
    list_conflict(d, b, a);
}

static bool find_conflicts(Dsa *d) {
    uint32_t n = d->pb->n, most = 0;
    d->start = NEW_ARRAY(d->arena, uint32_t, (size_t)n + 1);
    if (!pairs(d->pb, d->arena, count_pair, d))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        most = d->start[i + 1] > most ? d->start[i + 1] : most;
        d->start[i + 1] += d->start[i];
    }
    d->list = NEW_ARRAY(d->arena, Conflict, d->start[n]);
    sort_apart(d);
    pairs(d->pb, d->arena, list_pair, d);
    for (uint32_t i = n; i > 0; i--)                      /* filling moved each start to its end */
        d->start[i] = d->start[i - 1];
    d->start[0] = 0;
    d->ranges = NEW_ARRAY(d->arena, Range, most + 1);
    return true;
}

/* placing one object among those that lie */

static int by_range(const void *a, const void *b) {
    const Range *x = a, *y = b;
    if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
    return x->hi != y->hi ? (x->hi < y->hi ? -1 : 1) : 0;
}

/* Where i must not begin, given what is placed: n open ranges of offsets, sorted. */
static uint32_t forbidden(Dsa *d, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = d->start[i]; k < d->start[i + 1]; k++) {
        const Conflict *c = &d->list[k];
        if (!d->placed[c->other])
            continue;
        int64_t at = (int64_t)d->offset[c->other];
        if (at + c->hi > 0)
            d->ranges[n++] = (Range){at + c->lo, at + c->hi};
    }
    d->work += d->start[i + 1] - d->start[i] + 1;
    qsort(d->ranges, n, sizeof *d->ranges, by_range);
    return n;
}

static int64_t up(int64_t x, uint64_t align) {
    int64_t a = (int64_t)(align ? align : 1);
    return (x + a - 1) / a * a;
}

/* The lowest allowed offset from `from` on. */
static uint64_t first_fit(Dsa *d, uint32_t i, uint64_t from) {
    uint64_t align = d->pb->objects[i].align;
    int64_t at = up((int64_t)from, align);
    uint32_t n = forbidden(d, i);
    for (uint32_t k = 0; k < n && at > d->ranges[k].lo; k++)
        if (at < d->ranges[k].hi)
            at = up(d->ranges[k].hi, align);
    return (uint64_t)at;
}

/* The allowed stretch of offsets with the least room to spare; on top of everything if there is none below. */
static uint64_t best_fit(Dsa *d, uint32_t i) {
    uint64_t align = d->pb->objects[i].align;
    int64_t at = 0, best = -1, least = INT64_MAX;
    uint32_t n = forbidden(d, i);
    for (uint32_t k = 0; k < n; k++) {
        const Range *r = &d->ranges[k];
        if (at <= r->lo && r->lo - at < least) {
            least = r->lo - at;
            best = at;
        }
        if (at < r->hi)
            at = up(r->hi, align);
    }
    return (uint64_t)(best >= 0 ? best : at);
}

static void settle(Dsa *d, uint32_t i, uint64_t offset, uint64_t *height) {
    uint64_t top = offset + d->pb->objects[i].nbytes;
    d->offset[i] = offset;
    d->placed[i] = true;
    *height = top > *height ? top : *height;
}

/* Only what is pinned lies. Returns the height. */
static uint64_t start_over(Dsa *d) {
    uint64_t height = 0;
    memset(d->placed, 0, d->pb->n * sizeof *d->placed);
    for (uint32_t i = 0; i < d->pb->n; i++)
        if (d->pb->objects[i].pinned)
            settle(d, i, d->pb->objects[i].offset, &height);
    return height;
}

static void keep_best(Dsa *d, uint64_t height, const char *rule) {
    if (d->noted && height >= d->height)
        return;
    d->height = height;
    d->rule = rule;
    d->noted = true;
    memcpy(d->best, d->offset, d->pb->n * sizeof *d->best);
}

static bool done(const Dsa *d) {
    return (d->noted && d->height <= d->bound) || d->work > MAX_WORK;
}

/* orders */

static int by_key(const void *a, const void *b) {
    const Key *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->k[k] != y->k[k])
            return x->k[k] > y->k[k] ? -1 : 1;
    return x->i != y->i ? (x->i < y->i ? -1 : 1) : 0;
}

/* Descending by up to three keys, then by number; each key is multiplied by 1 + noise * a number in [-1, 1). */
static void sort_by(Dsa *d, const double *k0, const double *k1, const double *k2, double noise, uint64_t *seed) {
    const double *by[3] = {k0, k1, k2};
    for (uint32_t i = 0; i < d->pb->n; i++) {
        double factor = 1;
        if (noise > 0) {
            *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            factor = 1 + noise * ((double)(*seed >> 40) / (double)(1 << 23) - 1);
        }
        d->keys[i].i = i;
        for (int k = 0; k < 3; k++)
            d->keys[i].k[k] = by[k] ? by[k][i] * factor : 0;
    }
    qsort(d->keys, d->pb->n, sizeof *d->keys, by_key);
    for (uint32_t i = 0; i < d->pb->n; i++)
        d->order[i] = d->keys[i].i;
}

static void greedy(Dsa *d, bool tight, const char *rule) {
    if (done(d))
        return;
    uint64_t height = start_over(d);
    for (uint32_t k = 0; k < d->pb->n; k++) {
        uint32_t i = d->order[k];
        if (d->placed[i])
            continue;
        settle(d, i, tight ? best_fit(d, i) : first_fit(d, i, 0), &height);
        if (d->noted && (height >= d->height || d->work > MAX_WORK))
            return;
    }
    keep_best(d, height, rule);
}

/* the dive: a binary heap of (lowest offset known, rank) */

typedef struct Item { uint64_t at; uint32_t rank; } Item;

static bool before(const Item *a, const Item *b) { return a->at != b->at ? a->at < b->at : a->rank < b->rank; }

static void sift_down(Item *h, uint32_t n, uint32_t i) {
    Item x = h[i];
    for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && before(&h[c + 1], &h[c]))
            c++;
        if (!before(&h[c], &x))
            break;
        h[i] = h[c];
    }
    h[i] = x;
}

/* Offsets only rise while an object waits, so that a stale top is found out by asking again where it fits. */
static void dive(Dsa *d, const char *rule) {
    uint32_t n = 0;
    if (done(d))
        return;
    uint64_t height = start_over(d);
    Item *heap = (Item *)(void *)d->keys;                 /* the keys are spent: order has what they said */
    for (uint32_t r = 0; r < d->pb->n; r++)
        if (!d->pb->objects[d->order[r]].pinned)
            heap[n++] = (Item){0, r};                     /* equal offsets, rising rank: a heap already */
    while (n > 0) {
        uint32_t i = d->order[heap[0].rank];
        uint64_t at = first_fit(d, i, heap[0].at);
        if (d->noted && (at + d->pb->objects[i].nbytes >= d->height || d->work > MAX_WORK))
            return;
        if (at == heap[0].at) {
            settle(d, i, at, &height);
            heap[0] = heap[--n];
        } else {
            heap[0].at = at;
        }
        if (n > 0)
            sift_down(heap, n, 0);
    }
    keep_best(d, height, rule);
}

/* each object as one block for the hull of its life */

static void in_time(Dsa *d, bool tight, const char *rule) {
    if (d->noted && d->height <= d->bound)
        return;
    keep_best(d, dsa_in_time(d->arena, d->pb, tight, d->offset), rule);
}

/* what orders go by */

/* Largest load in the life of each object, by a sparse table over the distinct first steps (the load rises nowhere else). */
static void measure_load(Dsa *d) {
    size_t n, m = 0, e = 0;
    Event *in = events(d->arena, d->pb, false, &n), *out = events(d->arena, d->pb, true, &n);
    uint32_t *step = NEW_ARRAY(d->arena, uint32_t, n + 1);
    double *row = NEW_ARRAY(d->arena, double, n + 1), *table[32] = {row};
    double now = 0;
    for (size_t i = 0; i < n; i++) {
        for (; e < n && out[e].step < in[i].step; e++)
            now -= (double)piece_bytes(d->pb, &out[e]);
        now += (double)piece_bytes(d->pb, &in[i]);
        if (m == 0 || step[m - 1] != in[i].step)
            step[m++] = in[i].step;
        row[m - 1] = now;
    }
    int levels = 1;
    for (; ((size_t)1 << levels) <= m; levels++) {
        size_t half = (size_t)1 << (levels - 1);
        table[levels] = NEW_ARRAY(d->arena, double, m);
        for (size_t i = 0; i + 2 * half <= m; i++) {
            double a = table[levels - 1][i], b = table[levels - 1][i + half];
            table[levels][i] = a > b ? a : b;
        }
    }
    for (uint32_t i = 0; i < d->pb->n; i++) {
        uint32_t first = dsa_first(&d->pb->objects[i]), last = dsa_last(&d->pb->objects[i]);
        size_t lo = 0, hi = 0;
        for (size_t a = 0, b = m; a < b; ) {              /* first index with step >= first */
            size_t mid = (a + b) / 2;
            if (step[mid] < first) a = mid + 1;
            else b = mid;
            lo = a;
        }
        for (size_t a = lo, b = m; a < b; ) {             /* first index with step > last */
            size_t mid = (a + b) / 2;
            if (step[mid] <= last) a = mid + 1;
            else b = mid;
            hi = a;
        }
        if (hi <= lo)
            continue;
        int l = 0;
        while (((size_t)2 << l) <= hi - lo)
            l++;
        double a = table[l][lo], b = table[l][hi - ((size_t)1 << l)];
        d->load[i] = a > b ? a : b;
    }
}

static void measure(Dsa *d) {
    uint32_t n = d->pb->n;
    d->life = NEW_ARRAY(d->arena, double, n);
    d->area = NEW_ARRAY(d->arena, double, n);
    d->size = NEW_ARRAY(d->arena, double, n);
    d->load = NEW_ARRAY(d->arena, double, n);
    for (uint32_t i = 0; i < n; i++) {
        const DsaObject *o = &d->pb->objects[i];
        d->size[i] = (double)o->nbytes;
        d->life[i] = (double)dsa_last(o) - (double)dsa_first(o) + 1;
        for (uint32_t k = 0; k < o->npieces; k++)
            d->area[i] += (double)(o->pieces[k].hi - o->pieces[k].lo) * ((double)o->pieces[k].last - (double)o->pieces[k].first + 1);
    }
    measure_load(d);
}

static void dives(Dsa *d) {
    const double *a = d->area, *w = d->life, *t = d->load, *z = d->size;
    const double *by[5][3] = {{a, w, t}, {z, w, t}, {t, a, w}, {t, w, a}, {w, a, t}};
    static const char *const names[5] = {"dive AWT", "dive ZWT", "dive TAW", "dive TWA", "dive WAT"};
    uint64_t seed = 1;
    for (int r = 0; r < 5; r++) {
        sort_by(d, by[r][0], by[r][1], by[r][2], 0, &seed);
        dive(d, names[r]);
    }
}

static void greedies(Dsa *d) {
    uint32_t n = d->pb->n;
    double *early = NEW_ARRAY(d->arena, double, n);
    for (uint32_t i = 0; i < n; i++)
        early[i] = -(double)dsa_first(&d->pb->objects[i]);
    const double *by[4][2] = {{d->size, d->life}, {d->life, d->size}, {d->area, d->size}, {early, d->size}};
    static const char *const names[4][2] = {{"by size, first fit", "by size, best fit"}, {"by life, first fit", "by life, best fit"},
                                            {"by area, first fit", "by area, best fit"}, {"by time, first fit", "by time, best fit"}};
    uint64_t seed = 1;
    for (int r = 0; r < 4; r++) {
        sort_by(d, by[r][0], by[r][1], NULL, 0, &seed);
        greedy(d, false, names[r][0]);
        greedy(d, true, names[r][1]);
    }
}

static void noisy_dives(Dsa *d) {
    const double *a = d->area, *w = d->life, *t = d->load, *z = d->size;
    const double *by[3][3] = {{w, a, t}, {z, w, t}, {a, w, t}};
    uint64_t seed = 20;
    for (int r = 0; r < NOISY_DIVES && !done(d); r++) {
        sort_by(d, by[r % 3][0], by[r % 3][1], by[r % 3][2], r % 2 ? 0.1 : 0.4, &seed);
        dive(d, "noisy dive");
    }
}

/* Whatever sticks out above the bound was placed too late: it gets a higher priority for the next round. Places far apart in
 * time mend themselves side by side. */
static void squeaky_wheel(Dsa *d, const double *start, const char *rule) {
    uint32_t n = d->pb->n;
    double *weight = NEW_ARRAY(d->arena, double, n);
    uint64_t seed = 3;
    for (uint32_t i = 0; i < n; i++)
        weight[i] = start[i] + 1;
    for (int r = 0; r < WHEEL_ROUNDS && !done(d); r++) {
        sort_by(d, weight, d->size, d->life, r == 0 ? 0 : 0.05, &seed);
        uint64_t height = start_over(d);
        for (uint32_t k = 0; k < n; k++)
            if (!d->pb->objects[d->order[k]].pinned)
                settle(d, d->order[k], first_fit(d, d->order[k], 0), &height);
        for (uint32_t i = 0; i < n; i++)
            if (d->offset[i] + d->pb->objects[i].nbytes > d->bound)
                weight[i] *= 1.5;
        keep_best(d, height, rule);
    }
}

DsaResult dsa_place(Arena *scratch, DsaProblem *pb) {
    Dsa d = {.pb = pb, .arena = scratch, .rule = "empty"};
    size_t n = pb->n;
    if (n == 0)
        return (DsaResult){0, d.rule, 0};
    d.bound = pb->bound ? pb->bound : dsa_load(scratch, pb);
    d.offset = NEW_ARRAY(scratch, uint64_t, n);
    d.best = NEW_ARRAY(scratch, uint64_t, n);
    d.placed = NEW_ARRAY(scratch, bool, n);
    d.order = NEW_ARRAY(scratch, uint32_t, n);
    d.keys = NEW_ARRAY(scratch, Key, n);
    in_time(&d, false, "in time order, first gap");
    in_time(&d, true, "in time order, tightest gap");
    if (!done(&d) && find_conflicts(&d)) {
        measure(&d);
        dives(&d);
        greedies(&d);
        squeaky_wheel(&d, d.size, "squeaky wheel by size");
        squeaky_wheel(&d, d.area, "squeaky wheel by area");
        squeaky_wheel(&d, d.life, "squeaky wheel by life");
        noisy_dives(&d);
    }
    for (size_t i = 0; i < n; i++)
        pb->objects[i].offset = d.best[i];
    return (DsaResult){d.height, d.rule, d.work};
}
