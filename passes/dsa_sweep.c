/* dsa_sweep.c - exact search for offsets under a capacity in the order of time: dynamic programming over the live sets (the path
 * decomposition of the conflict graph), depth first with a table of dead ends.
 *
 * Objects are placed in the order of their first steps. What is still to come depends on nothing but where the objects lie that
 * are alive then, so that a state (next object, their offsets) that failed once need not be tried again; objects of equal size
 * and end are interchangeable in it. Complete, for objects of several pieces, pins and partial overlap too: any placement can be
 * pushed down until all offsets are sums of the distances at which pairs may touch, which are multiples of dsa_unit(). For plain
 * objects whose sizes are multiples of all alignments the sums of sizes are enough. Strong where few objects are alive at a time
 * and few offsets are possible, as in networks, however long; where they are many it gives up (dsa_search.c is for those).
 * A state costs positions * conflicts; a node is a state, or COST_OF_NODE of these steps where that is more. */
#include "passes/dsa.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_POSITIONS = 4096, MAX_LIVE = 1 << 22, MAX_GRID = 1 << 22, MAX_TABLE_WORDS = 1 << 23, COST_OF_NODE = 256 };

typedef struct Forbidden { uint32_t live; int64_t lo, hi; } Forbidden;           /* not at a distance in (lo, hi) from the live object */

typedef struct Turn {                                     /* of one object, in the order of time */
    uint32_t object;
    uint32_t live0, nlive;                                /* Sweep.live[live0 ...]: turns of who is alive, interchangeable ones together */
    uint32_t forbidden0, nforbidden;
} Turn;

typedef struct Frame {                                    /* of a turn that is being tried */
    size_t first, next, end;                              /* its candidates on the stack, in the order they are tried */
    bool known;                                           /* its state is a dead end in the table */
} Frame;

typedef struct Sweep {
    Arena *arena;
    const DsaProblem *pb;
    uint32_t n;
    uint64_t unit, capacity;                              /* in bytes; all else in units */
    Turn *turn;
    VEC(uint32_t) live;
    VEC(Forbidden) forbidden;
    bool *related;                                        /* by object: it may overlap another in part */
    uint32_t *class_of;                                   /* by turn: equal for interchangeable objects */
    uint32_t *position, npositions;                       /* where an object may lie, rising */
    uint32_t *at;                                         /* by turn: where it lies */
    VEC(uint32_t) candidates;
    VEC(uint32_t) words;                                  /* dead ends: turn and offsets, one after the other */
    uint32_t *slot;                                       /* hash table: 1 + index into words */
    size_t nslots, nkeys;
    uint32_t *key;                                        /* room for one state */
} Sweep;

/* turns */

static const DsaObject *object_at(const Sweep *s, uint32_t t) { return &s->pb->objects[s->turn[t].object]; }

typedef struct Life { uint64_t nbytes; uint32_t first, last, object; } Life;

static int by_first(const void *a, const void *b) {
    const Life *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->nbytes != y->nbytes) return x->nbytes > y->nbytes ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static bool plain(const DsaObject *o) {
    return o->npieces == 1 && o->pieces[0].lo == 0 && o->pieces[0].hi == o->nbytes;
}

/* Turns in the order of time; each a class of its own for now. */
static void make_turns(Sweep *s) {
    Life *life = NEW_ARRAY(s->arena, Life, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        const DsaObject *o = &s->pb->objects[i];
        life[i] = (Life){ o->nbytes, dsa_first(o), dsa_last(o), i };
    }
    if (s->n > 0)
        qsort(life, s->n, sizeof *life, by_first);
    for (uint32_t t = 0; t < s->n; t++) {
        s->turn[t].object = life[t].object;
        s->class_of[t] = t;
    }
}

static bool interchangeable(const Sweep *s, uint32_t t, uint32_t u) {
    const DsaObject *a = object_at(s, t), *b = object_at(s, u);
    return a->nbytes == b->nbytes && dsa_last(a) == dsa_last(b) && plain(a) && plain(b) && !s->related[s->turn[t].object] &&
           !s->related[s->turn[u].object];
}

/* The distances at which turn t must not lie from turn u, which is alive then. */
static void add_forbidden(Sweep *s, uint32_t t, uint32_t u) {
    const DsaObject *a = object_at(s, t), *b = object_at(s, u);
    uint32_t i = s->turn[t].object, j = s->turn[u].object;
    int64_t unit = (int64_t)s->unit;
    for (uint32_t k = 0; s->related[i] && s->related[j] && k < s->pb->napart; k++) {
        const DsaApart *x = &s->pb->apart[k];
        if ((x->a != i || x->b != j) && (x->a != j || x->b != i))
            continue;
        Forbidden f = { u, x->lo / unit, x->hi / unit };
        vec_push(s->arena, &s->forbidden, (x->a == i ? f : (Forbidden){ u, -f.hi, -f.lo }));
        return;
    }
    for (uint32_t k = 0; k < a->npieces; k++)
        for (uint32_t l = 0; l < b->npieces; l++) {
            const DsaPiece *p = &a->pieces[k], *q = &b->pieces[l];
            if (p->first <= q->last && q->first <= p->last && p->lo < p->hi && q->lo < q->hi)
                vec_push(s->arena, &s->forbidden, ((Forbidden){ u, ((int64_t)q->lo - (int64_t)p->hi) / unit,
                                                                ((int64_t)q->hi - (int64_t)p->lo) / unit }));
        }
}

/* Who is alive at each turn; false when that is more than there is room for. */
static bool find_live(Sweep *s) {
    VEC(uint32_t) live = { 0 };
    for (uint32_t t = 0; t < s->n; t++) {
        uint32_t first = dsa_first(object_at(s, t));
        size_t kept = 0;
        for (size_t k = 0; k < live.n; k++)
            if (dsa_last(object_at(s, live.p[k])) >= first)
                live.p[kept++] = live.p[k];
        live.n = kept;
        s->turn[t].live0 = (uint32_t)s->live.n;
        s->turn[t].nlive = (uint32_t)kept;
        s->turn[t].forbidden0 = (uint32_t)s->forbidden.n;
        if (s->live.n + kept > MAX_LIVE || s->forbidden.n > MAX_LIVE)
            return false;
        for (size_t k = 0; k < kept; k++) {
            vec_push(s->arena, &s->live, live.p[k]);
            add_forbidden(s, t, live.p[k]);
        }
        s->turn[t].nforbidden = (uint32_t)s->forbidden.n - s->turn[t].forbidden0;
        size_t at = kept;
        for (size_t k = 0; k < kept && at == kept; k++)
            if (interchangeable(s, t, live.p[k])) {
                s->class_of[t] = s->class_of[live.p[k]];
                at = k + 1;
            }
        vec_push(s->arena, &live, t);
        memmove(&live.p[at + 1], &live.p[at], (kept - at) * sizeof *live.p);
        live.p[at] = t;                                   /* beside its like, so that a class is one run */
    }
    return true;
}

/* positions */

/* Are sums of sizes enough? Then every alignment divides every size. */
static bool sums_suffice(const DsaProblem *pb) {
    uint64_t align = 1;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        if (pb->napart > 0 || !plain(o))
            return false;
        align = o->align > align ? o->align : align;
    }
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        if (o->nbytes % align != 0 || align % (o->align ? o->align : 1) != 0 || (o->pinned && o->offset % align != 0))
            return false;
    }
    return true;
}

/* Offsets from 0 to the capacity that a pushed-down placement can use; false when they are too many. */
static bool find_positions(Sweep *s) {
    uint64_t top = s->capacity / s->unit;
    bool sums = sums_suffice(s->pb);
    if (top >= (sums ? (uint64_t)MAX_GRID : MAX_POSITIONS))
        return false;
    bool *reached = NEW_ARRAY(s->arena, bool, (size_t)top + 1), *used = NEW_ARRAY(s->arena, bool, (size_t)top + 1);
    VEC(uint32_t) sizes = { 0 };
    reached[0] = true;
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t size = s->pb->objects[i].nbytes / s->unit, pin = s->pb->objects[i].offset / s->unit;
        if (s->pb->objects[i].pinned && pin + size <= top)
            reached[pin] = reached[pin + size] = true;
        if (size == 0 || size > top || used[size])
            continue;
        used[size] = true;
        vec_push(s->arena, &sizes, (uint32_t)size);
    }
    s->position = NEW_ARRAY(s->arena, uint32_t, MAX_POSITIONS);
    for (uint64_t at = 0; at <= top; at++) {
        if (!reached[at] && sums)
            continue;
        if (s->npositions == MAX_POSITIONS)
            return false;
        s->position[s->npositions++] = (uint32_t)at;
        for (size_t k = 0; k < sizes.n; k++)
            if (at + sizes.p[k] <= top)
                reached[at + sizes.p[k]] = true;
    }
    return true;
}

/* The offsets at which turn t may lie, on the stack: those where it touches something first. */
static Frame list_candidates(Sweep *s, uint32_t t) {
    const DsaObject *o = object_at(s, t);
    int64_t size = (int64_t)(o->nbytes / s->unit), top = (int64_t)(s->capacity / s->unit);
    uint64_t align = o->align > 1 ? o->align / s->unit : 1;
    Frame f = { .first = s->candidates.n };
    for (int touching = 1; touching >= 0; touching--)
        for (uint32_t p = 0; p < s->npositions; p++) {
            int64_t at = s->position[p];
            bool fits = at + size <= top && (o->pinned ? at == (int64_t)(o->offset / s->unit) : (uint64_t)at % align == 0);
            bool touches = at == 0 || at + size == top;
            for (uint32_t k = 0; fits && k < s->turn[t].nforbidden; k++) {
                const Forbidden *x = &s->forbidden.p[s->turn[t].forbidden0 + k];
                int64_t distance = at - (int64_t)s->at[x->live];
                fits = distance <= x->lo || distance >= x->hi;
                touches = touches || distance == x->lo || distance == x->hi;
            }
            if (fits && touches == (touching == 1))
                vec_push(s->arena, &s->candidates, (uint32_t)at);
        }
    f.next = f.first;
    f.end = s->candidates.n;
    return f;
}

/* dead ends */

/* The state before turn t; interchangeable objects in rising offset. Returns its number of words. */
static uint32_t make_key(Sweep *s, uint32_t t) {
    const Turn *turn = &s->turn[t];
    uint32_t n = 0, run = 1;
    s->key[n++] = t;
    for (uint32_t k = 0; k < turn->nlive; k++) {
        uint32_t u = s->live.p[turn->live0 + k], at = s->at[u], j = n++;
        if (k > 0 && s->class_of[u] != s->class_of[s->live.p[turn->live0 + k - 1]])
            run = j;
        for (; j > run && s->key[j - 1] > at; j--)
            s->key[j] = s->key[j - 1];
        s->key[j] = at;
    }
    return n;
}

static size_t find_slot(const Sweep *s, const uint32_t *key, uint32_t n) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (uint32_t k = 0; k < n; k++)
        h = (h ^ key[k]) * UINT64_C(1099511628211);
    size_t i = (size_t)(h ^ h >> 32) & (s->nslots - 1);
    while (s->slot[i] && (s->words.p[s->slot[i] - 1] != key[0] || memcmp(&s->words.p[s->slot[i] - 1], key, n * sizeof *key) != 0))
        i = (i + 1) & (s->nslots - 1);
    return i;
}

static void grow_table(Sweep *s) {
    uint32_t *old = s->slot;
    size_t n = s->nslots;
    s->nslots = n ? 2 * n : 1024;
    s->slot = NEW_ARRAY(s->arena, uint32_t, s->nslots);
    for (size_t i = 0; i < n; i++)
        if (old[i]) {
            const uint32_t *key = &s->words.p[old[i] - 1];
            s->slot[find_slot(s, key, s->turn[key[0]].nlive + 1)] = old[i];
        }
}

static bool is_dead_end(Sweep *s, uint32_t t) {
    uint32_t n = make_key(s, t);
    return s->slot[find_slot(s, s->key, n)] != 0;
}

static void note_dead_end(Sweep *s, uint32_t t) {
    uint32_t n = make_key(s, t);
    if (2 * s->nkeys >= s->nslots)
        grow_table(s);
    s->slot[find_slot(s, s->key, n)] = (uint32_t)s->words.n + 1;
    for (uint32_t k = 0; k < n; k++)
        vec_push(s->arena, &s->words, s->key[k]);
    s->nkeys++;
}

/* the search, on a stack of its own: it is as deep as there are objects */

static Frame enter(Sweep *s, uint32_t t) {
    if (!is_dead_end(s, t))
        return list_candidates(s, t);
    return (Frame){ s->candidates.n, s->candidates.n, s->candidates.n, true };
}

static DsaVerdict run(Sweep *s, uint64_t effort, uint64_t *nodes) {
    Frame *frame = NEW_ARRAY(s->arena, Frame, s->n);
    uint64_t limit = *nodes + effort;
    for (uint32_t t = 0; t < s->n; t++) {
        if (*nodes >= limit || s->words.n > MAX_TABLE_WORDS)
            return DSA_GAVE_UP;
        *nodes += 1 + (uint64_t)s->npositions * s->turn[t].nforbidden / COST_OF_NODE;
        frame[t] = enter(s, t);
        while (frame[t].next == frame[t].end) {
            s->candidates.n = frame[t].first;
            if (!frame[t].known)
                note_dead_end(s, t);
            if (t == 0)
                return DSA_IMPOSSIBLE;
            t--;
        }
        s->at[t] = s->candidates.p[frame[t].next++];
    }
    return DSA_FOUND;
}

DsaVerdict dsa_sweep(Arena *arena, DsaProblem *pb, uint64_t capacity, uint64_t effort, uint64_t *nodes) {
    Sweep s = { .arena = arena, .pb = pb, .n = pb->n, .unit = dsa_unit(pb), .capacity = capacity };
    s.turn = NEW_ARRAY(arena, Turn, s.n);
    s.class_of = NEW_ARRAY(arena, uint32_t, s.n);
    s.related = NEW_ARRAY(arena, bool, s.n);
    s.at = NEW_ARRAY(arena, uint32_t, s.n);
    s.key = NEW_ARRAY(arena, uint32_t, (size_t)s.n + 1);
    for (uint32_t k = 0; k < pb->napart; k++)
        s.related[pb->apart[k].a] = s.related[pb->apart[k].b] = true;
    make_turns(&s);
    if (!find_positions(&s) || !find_live(&s))
        return DSA_GAVE_UP;
    grow_table(&s);
    DsaVerdict verdict = run(&s, effort, nodes);
    for (uint32_t t = 0; verdict == DSA_FOUND && t < s.n; t++)
        pb->objects[s.turn[t].object].offset = s.at[t] * s.unit;
    return verdict;
}
