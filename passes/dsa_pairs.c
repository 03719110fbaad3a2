/* dsa_pairs.c - placement rules for any objects, over lists of who must keep away from whom.
 *
 * Conflicts are found by one sweep over time and kept as lists: i may not lie at a distance in an open interval (lo,
 * hi) from j, one interval for each pair of pieces that are needed in a common step. An object made of pieces is
 * rigid, so others may lie between its pieces or in the gaps of their lives. Pinned objects lie before a rule begins;
 * DsaProblem.apart takes the place of what the pieces of a pair say. O(conflicts log conflicts) for a greedy rule;
 * the dive asks an object again where it fits whenever its turn seems to come, so it is O(conflicts) such questions
 * at worst. Up to MAX_CONFLICTS pairs. */
#include "passes/dsa_rules.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CONFLICTS = 1 << 22 };

typedef struct Conflict { uint32_t other; int64_t lo, hi; } Conflict;            /* offset - other's is not in (lo, hi) */
typedef struct Range { int64_t lo, hi; } Range;
typedef struct Item { uint64_t at; uint32_t rank; } Item;

struct Pairs {
    const DsaProblem *pb;
    Arena *arena;
    uint32_t *start;                                      /* conflicts of i: list[start[i]] .. list[start[i + 1] - 1] */
    Conflict *list;
    DsaApart *apart;                                      /* pairs with an interval of their own, a < b, sorted */
    Range *ranges;                                        /* room for the forbidden ranges of one object */
    Item *heap;
    bool *placed;
    uint64_t *offset, *work;                              /* of the rule at hand */
};

/* events: pieces in the order of their first steps */

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

static Event *events(Arena *arena, const DsaProblem *pb, size_t *n) {
    Event *e = NEW_ARRAY(arena, Event, count_pieces(pb));
    size_t k = 0;
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t j = 0; j < pb->objects[i].npieces; j++) {
            const DsaPiece *p = &pb->objects[i].pieces[j];
            if (p->hi > p->lo)
                e[k++] = (Event){p->first, i, j};
        }
    qsort(e, k, sizeof *e, by_event);
    *n = k;
    return e;
}

/* conflicts */

typedef VEC(Event) Events;

/* Calls on each pair of pieces of different objects that share a step, once; false when there are too many. */
static bool pairs(const DsaProblem *pb, Arena *arena, void (*on)(Pairs *, const Event *, const Event *), Pairs *d) {
    size_t n;
    uint64_t count = 0;
    Event *in = events(arena, pb, &n);
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

static void count_pair(Pairs *d, const Event *a, const Event *b) {
    d->start[a->object + 1]++;
    d->start[b->object + 1]++;
}

static int by_pair(const void *a, const void *b) {
    const DsaApart *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b != y->b ? (x->b < y->b ? -1 : 1) : 0;
}

static void sort_apart(Pairs *d) {
    d->apart = NEW_ARRAY(d->arena, DsaApart, d->pb->napart);
    for (uint32_t i = 0; i < d->pb->napart; i++) {
        DsaApart x = d->pb->apart[i];
        d->apart[i] = x.a < x.b ? x : (DsaApart){x.b, x.a, -x.hi, -x.lo};
    }
    if (d->pb->napart > 0)
        qsort(d->apart, d->pb->napart, sizeof *d->apart, by_pair);
}

/* The interval that was asked for between i and j, if there is one. */
static bool asked_apart(const Pairs *d, uint32_t i, uint32_t j, Conflict *c) {
    DsaApart key = {.a = i < j ? i : j, .b = i < j ? j : i};
    const DsaApart *x = d->pb->napart ? bsearch(&key, d->apart, d->pb->napart, sizeof key, by_pair) : NULL;
    if (x)
        *c = i < j ? (Conflict){j, x->lo, x->hi} : (Conflict){j, -x->hi, -x->lo};
    return x != NULL;
}

static void list_conflict(Pairs *d, const Event *a, const Event *b) {
    const DsaPiece *p = &d->pb->objects[a->object].pieces[a->piece], *q = &d->pb->objects[b->object].pieces[b->piece];
    Conflict *c = &d->list[d->start[a->object]++];
    if (asked_apart(d, a->object, b->object, c))
        return;
    c->other = b->object;
    c->lo = (int64_t)q->lo - (int64_t)p->hi;
    c->hi = (int64_t)q->hi - (int64_t)p->lo;
}

static void list_pair(Pairs *d, const Event *a, const Event *b) {
    list_conflict(d, a, b);
    list_conflict(d, b, a);
}

static bool find_conflicts(Pairs *d) {
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
static uint32_t forbidden(Pairs *d, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = d->start[i]; k < d->start[i + 1]; k++) {
        const Conflict *c = &d->list[k];
        if (!d->placed[c->other])
            continue;
        int64_t at = (int64_t)d->offset[c->other];
        if (at + c->hi > 0)
            d->ranges[n++] = (Range){at + c->lo, at + c->hi};
    }
    *d->work += d->start[i + 1] - d->start[i] + 1;
    qsort(d->ranges, n, sizeof *d->ranges, by_range);
    return n;
}

static int64_t up(int64_t x, uint64_t align) {
    int64_t a = (int64_t)(align ? align : 1);
    return (x + a - 1) / a * a;
}

/* The lowest allowed offset from `from` on. */
static uint64_t first_fit(Pairs *d, uint32_t i, uint64_t from) {
    uint64_t align = d->pb->objects[i].align;
    int64_t at = up((int64_t)from, align);
    uint32_t n = forbidden(d, i);
    for (uint32_t k = 0; k < n && at > d->ranges[k].lo; k++)
        if (at < d->ranges[k].hi)
            at = up(d->ranges[k].hi, align);
    return (uint64_t)at;
}

/* The allowed stretch of offsets with the least room to spare; on top of everything if there is none below. */
static uint64_t best_fit(Pairs *d, uint32_t i) {
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

Pairs *pairs_new(Arena *arena, const DsaProblem *pb) {
    Pairs *d = NEW(arena, Pairs);
    *d = (Pairs){.pb = pb, .arena = arena, .placed = NEW_ARRAY(arena, bool, pb->n),
                 .heap = NEW_ARRAY(arena, Item, pb->n)};
    return find_conflicts(d) ? d : NULL;
}

/* rules */

static void settle(Pairs *d, uint32_t i, uint64_t offset, uint64_t *height) {
    uint64_t top = offset + d->pb->objects[i].nbytes;
    d->offset[i] = offset;
    d->placed[i] = true;
    *height = top > *height ? top : *height;
}

/* Only what is pinned lies. Returns the height. */
static uint64_t start_over(Pairs *d, uint64_t *offset, uint64_t *work) {
    uint64_t height = 0;
    d->offset = offset;
    d->work = work;
    memset(d->placed, 0, d->pb->n * sizeof *d->placed);
    for (uint32_t i = 0; i < d->pb->n; i++)
        if (d->pb->objects[i].pinned)
            settle(d, i, d->pb->objects[i].offset, &height);
    return height;
}

uint64_t pairs_greedy(Pairs *d, const uint32_t *order, bool tight, uint64_t limit, uint64_t *offset, uint64_t *work) {
    uint64_t height = start_over(d, offset, work);
    for (uint32_t k = 0; k < d->pb->n && height < limit; k++)
        if (!d->placed[order[k]])
            settle(d, order[k], tight ? best_fit(d, order[k]) : first_fit(d, order[k], 0), &height);
    return height < limit ? height : DSA_NO_HEIGHT;
}

/* the dive: a binary heap of (lowest offset known, rank) */

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
uint64_t pairs_dive(Pairs *d, const uint32_t *order, uint64_t limit, uint64_t *offset, uint64_t *work) {
    uint32_t n = 0;
    uint64_t height = start_over(d, offset, work);
    for (uint32_t r = 0; r < d->pb->n; r++)
        if (!d->pb->objects[order[r]].pinned)
            d->heap[n++] = (Item){0, r};                  /* equal offsets, rising rank: a heap already */
    while (n > 0 && height < limit) {
        uint32_t i = order[d->heap[0].rank];
        uint64_t at = first_fit(d, i, d->heap[0].at);
        if (at == d->heap[0].at) {
            settle(d, i, at, &height);
            d->heap[0] = d->heap[--n];
        } else {
            d->heap[0].at = at;
            if (at + d->pb->objects[i].nbytes >= limit)
                return DSA_NO_HEIGHT;
        }
        if (n > 0)
            sift_down(d->heap, n, 0);
    }
    return height < limit ? height : DSA_NO_HEIGHT;
}
