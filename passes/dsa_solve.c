/* dsa_solve.c - the offset solver: bounds first, then the portfolio of rules, then the exact searches, each only as far as needed.
 *
 * What does not touch in time is searched part by part, the tallest first; a part need not become lower than another one is.
 * Under a capacity the search decides. Without one it minimises: first at the bound, which proves most instances at once, then
 * by more dives (dsa_improve.c), then on a ladder of capacities between bound and incumbent. A rung that is found brings the
 * incumbent down, one that is impossible brings the bound up to the next height there can be; when neither happens the rungs
 * come nearer to the incumbent, and at last get more effort. How long a search takes has a heavy tail, so many rungs with a
 * moderate effort each beat few with a large one. All heights are multiples of one unit (dsa_unit).
 *
 * A capacity is put to the sweep over time first (dsa_sweep.c), which is quick where it is any good and is dropped for a part
 * where it once gave up; then to the search by address (dsa_search.c), which takes plain objects only. Work is counted, never
 * timed. */
#include "passes/dsa.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCH_OBJECTS = 4096,                                /* the search recurses once for each object */
    SEARCH_PAIRS = 1 << 22,
    STEADY_NODES = 250000,                                /* of a search, before it restarts with noise */
    SWEEP_NODES = 50000, MORE_SWEEP_NODES = 1000000,      /* of the first sweep of a part, and of the next once one settled something */
    RUNGS = 16, FIRST_RUNG = 8, NEXT_RUNG = 6,            /* rungs in the gap, and how many below the incumbent a cycle begins */
    RUNG_NODES = 120000,
    CYCLES = 3, MOST_GROWTH = 30,                         /* down the ladder; then all efforts double, and the bound is tried again */
    DIVE_SEED = 7,
    FILTER_NODES = 20000, FILTER_SHARE = 4                /* of one test of the deletion filter; it takes a fourth of the effort */
};

typedef struct Part {
    DsaProblem pb;                                        /* copies of the objects */
    uint32_t *object;                                     /* which they are */
    uint64_t height, bound;
    bool sweep, swept, search, dives;                     /* which searches may settle something; a sweep did */
} Part;
typedef VEC(Part) Parts;

typedef struct Solver {
    Arena *arena;
    DsaProblem *pb;
    uint64_t capacity;                                    /* 0: minimise */
    uint64_t known;                                       /* the bound before any search */
    uint64_t nodes, limit;
    uint64_t seed;                                        /* of the searches of a cycle */
    uint64_t dive_work, dive_limit;
    const char *rule;                                     /* of the last thing that brought a part down */
    DsaSolution out;
} Solver;

static uint64_t top_of(const DsaProblem *pb) {
    uint64_t top = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        uint64_t t = pb->objects[i].offset + pb->objects[i].nbytes;
        top = t > top ? t : top;
    }
    return top;
}

/* The problem of some of the objects alone. */
static DsaProblem subproblem(Arena *arena, const DsaProblem *pb, const uint32_t *object, uint32_t n) {
    DsaProblem sub = { .objects = NEW_ARRAY(arena, DsaObject, n), .n = n };
    VEC(DsaApart) apart = { 0 };
    for (uint32_t i = 0; i < n; i++)
        sub.objects[i] = pb->objects[object[i]];
    if (pb->napart == 0)
        return sub;
    uint32_t *number = NEW_ARRAY(arena, uint32_t, pb->n); /* 1 + its number among the n */
    for (uint32_t i = 0; i < n; i++)
        number[object[i]] = i + 1;
    for (uint32_t k = 0; k < pb->napart; k++) {
        DsaApart x = pb->apart[k];
        if (number[x.a] && number[x.b])
            vec_push(arena, &apart, ((DsaApart){ number[x.a] - 1, number[x.b] - 1, x.lo, x.hi }));
    }
    sub.apart = apart.p;
    sub.napart = (uint32_t)apart.n;
    return sub;
}

/* Only plain objects, and not more pairs of them than the search has room for. */
static bool searchable(const DsaProblem *pb) {
    if (pb->n > SEARCH_OBJECTS || pb->napart > 0)
        return false;
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *a = &pb->objects[i];
        if (a->npieces != 1 || a->pieces[0].lo != 0 || a->pieces[0].hi != a->nbytes)
            return false;
        for (uint32_t j = 0; j < i; j++)
            pairs += a->pieces[0].first <= pb->objects[j].pieces[0].last && pb->objects[j].pieces[0].first <= a->pieces[0].last;
    }
    return pairs <= SEARCH_PAIRS;
}

/* A load or bound, whose sweep needs as much room as a million objects do. */
static uint64_t known_of(uint64_t (*of)(Arena *, const DsaProblem *), const DsaProblem *pb) {
    Arena *room = arena_new();
    uint64_t known = of(room, pb);
    arena_free(room);
    return known;
}

/* parts: what is connected in time */

typedef struct Life { uint32_t first, last, object; } Life;

static int by_first(const void *a, const void *b) {
    const Life *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static void add_part(Solver *s, Parts *parts, const Life *life, uint32_t n) {
    Part part = { .object = NEW_ARRAY(s->arena, uint32_t, n), .sweep = true };
    for (uint32_t i = 0; i < n; i++)
        part.object[i] = life[i].object;
    part.pb = subproblem(s->arena, s->pb, part.object, n);
    part.height = top_of(&part.pb);
    part.bound = known_of(dsa_bound, &part.pb);
    part.search = searchable(&part.pb);
    part.dives = dsa_plain(&part.pb);
    for (uint32_t i = 0; i < n; i++)
        part.dives = part.dives && !part.pb.objects[i].pinned;
    vec_push(s->arena, parts, part);
}

static int by_height(const void *a, const void *b) {
    const Part *x = a, *y = b;
    if (x->height != y->height) return x->height > y->height ? -1 : 1;
    return x->object[0] < y->object[0] ? -1 : x->object[0] > y->object[0];
}

/* The parts in falling height. */
static Parts split(Solver *s) {
    Parts parts = { 0 };
    uint32_t n = s->pb->n, start = 0;
    Life *life = NEW_ARRAY(s->arena, Life, n);
    for (uint32_t i = 0; i < n; i++)
        life[i] = (Life){ dsa_first(&s->pb->objects[i]), dsa_last(&s->pb->objects[i]), i };
    qsort(life, n, sizeof *life, by_first);
    uint64_t end = n ? (uint64_t)life[0].last + 1 : 0;
    for (uint32_t i = 1; i <= n; i++) {
        if (i < n && life[i].first < end) {
            end = (uint64_t)life[i].last + 1 > end ? (uint64_t)life[i].last + 1 : end;
            continue;
        }
        add_part(s, &parts, life + start, i - start);
        start = i;
        end = i < n ? (uint64_t)life[i].last + 1 : 0;
    }
    if (parts.n > 0)
        qsort(parts.p, parts.n, sizeof *parts.p, by_height);
    return parts;
}

/* one search */

/* Is there a placement of the part under the capacity? */
static DsaVerdict ask(Solver *s, Part *part, DsaProblem *pb, uint64_t capacity, uint64_t limit, uint64_t steady, uint64_t effort) {
    Arena *room = arena_new();
    DsaVerdict v = DSA_GAVE_UP;
    uint64_t left = limit > s->nodes ? limit - s->nodes : 0;
    if (part->sweep && left > 0) {
        uint64_t most = part->swept ? MORE_SWEEP_NODES : SWEEP_NODES;
        v = dsa_sweep(room, pb, capacity, left < most ? left : most, &s->nodes);
        part->swept = part->sweep = v != DSA_GAVE_UP;
        left = limit > s->nodes ? limit - s->nodes : 0;
    }
    if (v == DSA_GAVE_UP && part->search)
        v = dsa_search(room, pb, capacity, steady, effort < left ? effort : left, s->seed, &s->nodes);
    arena_free(room);
    return v;
}

static DsaVerdict search(Solver *s, Part *part, uint64_t capacity, uint64_t steady, uint64_t effort) {
    DsaVerdict v = ask(s, part, &part->pb, capacity, s->limit, steady, effort);
    if (v == DSA_FOUND) {
        part->height = top_of(&part->pb);
        s->rule = part->swept ? "sweep over time" : "exact search";
    }
    return v;
}

/* More dives: all that is left of their effort where no search will follow, else a part of it. */
static void dive_more(Solver *s, Part *part, uint64_t goal) {
    uint64_t left = s->dive_limit > s->dive_work ? s->dive_limit - s->dive_work : 0, before = part->height;
    if (!part->dives)
        return;
    Arena *room = arena_new();
    part->height = dsa_improve(room, &part->pb, part->height, goal, part->search ? left / 4 : left, DIVE_SEED, &s->dive_work);
    arena_free(room);
    if (part->height < before)
        s->rule = "squeaky dive";
}

/* The lowest height above one that is impossible. */
static uint64_t above(uint64_t impossible, uint64_t unit) { return (impossible / unit + 1) * unit; }

/* Asks at one capacity; what it says moves the incumbent down or the bound up. False: it said nothing. */
static bool rung(Solver *s, Part *part, uint64_t capacity, uint64_t steady, uint64_t effort) {
    DsaVerdict v = search(s, part, capacity, steady, effort);
    if (v == DSA_IMPOSSIBLE)
        part->bound = above(capacity, dsa_unit(&part->pb));
    return v != DSA_GAVE_UP;
}

static bool finished(const Solver *s, const Part *part, uint64_t goal) {
    return part->height <= goal || part->height <= part->bound || s->nodes >= s->limit;
}

/* k of the RUNGS parts of the gap, in whole units; at least one. */
static uint64_t step_down(uint64_t gap, uint64_t k, uint64_t unit) {
    uint64_t step = gap / RUNGS * k + gap % RUNGS * k / RUNGS;
    return step < unit ? unit : step / unit * unit;
}

/* Brings the part down to the goal, or bound and height together, or the effort to its end. The searches of a cycle make the same
 * restarts: an order of the objects that leads to one capacity often leads to a lower one, and then in fewer nodes. */
static void minimise(Solver *s, Part *part, uint64_t goal) {
    uint64_t unit = dsa_unit(&part->pb);
    part->bound = above(part->bound - 1, unit);
    for (uint64_t cycle = 0; !finished(s, part, goal); cycle++) {
        s->seed = cycle;
        uint64_t growth = cycle / CYCLES < MOST_GROWTH ? cycle / CYCLES : MOST_GROWTH, lowest = part->bound > goal ? part->bound : goal;
        if (cycle % CYCLES == 0)
            rung(s, part, lowest, STEADY_NODES << growth, STEADY_NODES << growth);
        if (cycle == 0 && !finished(s, part, goal))
            dive_more(s, part, lowest);
        if (!part->search && !part->sweep)
            break;
        for (uint64_t k = cycle == 0 ? FIRST_RUNG : NEXT_RUNG; k > 0 && !finished(s, part, goal); ) {
            lowest = part->bound > goal ? part->bound : goal;
            uint64_t step = step_down(part->height - lowest, k, unit);
            if (step > part->height - lowest || !rung(s, part, part->height - step, 0, RUNG_NODES << growth))
                k--;
        }
    }
}

/* a set of objects that cannot lie together */

static bool still_impossible(Solver *s, Part *part, uint64_t limit, const uint32_t *keep, uint32_t n) {
    Arena *room = arena_new();
    DsaProblem pb = subproblem(room, &part->pb, keep, n);
    part->sweep = true;
    bool impossible = n > 0 && ask(s, part, &pb, s->capacity, limit, FILTER_NODES, FILTER_NODES) == DSA_IMPOSSIBLE;
    arena_free(room);
    return impossible;
}

/* Deletion filter: drops whatever is not needed for the proof, first in large pieces, then one by one. Irreducible if the
 * effort lasts and each proof is short. */
static void filter_conflict(Solver *s, Part *part) {
    uint32_t n = part->pb.n, *keep = NEW_ARRAY(s->arena, uint32_t, n), *rest = NEW_ARRAY(s->arena, uint32_t, n);
    uint64_t limit = s->nodes + s->limit / FILTER_SHARE;
    for (uint32_t i = 0; i < n; i++)
        keep[i] = i;
    for (uint32_t chunk = n / 2; chunk > 0; chunk /= 2)
        for (uint32_t at = 0; at < n; ) {
            uint32_t end = at + chunk < n ? at + chunk : n, m = 0;
            for (uint32_t i = 0; i < n; i++)
                if (i < at || i >= end)
                    rest[m++] = keep[i];
            if (still_impossible(s, part, limit, rest, m)) {
                memcpy(keep, rest, m * sizeof *keep);
                n = m;
            } else {
                at = end;
            }
        }
    for (uint32_t i = 0; i < n; i++)
        keep[i] = part->object[keep[i]];
    s->out.conflict = keep;
    s->out.nconflict = n;
}

/* the whole */

static void take(Solver *s, const Part *part) {
    for (uint32_t i = 0; i < part->pb.n; i++)
        s->pb->objects[part->object[i]].offset = part->pb.objects[i].offset;
}

static void decide_parts(Solver *s, Parts *parts) {
    for (size_t k = 0; k < parts->n; k++) {
        Part *part = &parts->p[k];
        if (part->height <= s->capacity)
            continue;
        if (!part->search)
            dive_more(s, part, s->capacity);
        DsaVerdict v = part->height <= s->capacity ? DSA_FOUND : search(s, part, s->capacity, STEADY_NODES, s->limit);
        if (v == DSA_IMPOSSIBLE) {
            s->out.status = DSA_INFEASIBLE;
            s->out.bound = above(s->capacity, dsa_unit(&part->pb));
            filter_conflict(s, part);
            return;
        }
        if (v == DSA_GAVE_UP)
            return;
        take(s, part);
    }
}

static void minimise_parts(Solver *s, Parts *parts) {
    uint64_t goal = s->out.bound;
    for (size_t k = 0; k < parts->n; k++) {
        Part *part = &parts->p[k];
        if (part->height > goal)
            minimise(s, part, goal);
        goal = part->height > goal ? part->height : goal;
        s->out.bound = part->bound > s->out.bound ? part->bound : s->out.bound;
        take(s, part);
    }
}

static void search_parts(Solver *s) {
    uint64_t before = s->out.height;
    Parts parts = split(s);
    if (s->capacity)
        decide_parts(s, &parts);
    else
        minimise_parts(s, &parts);
    s->out.height = top_of(s->pb);
    if (s->out.height < before)
        s->out.rule = s->rule;
}

static void set_conflict(Solver *s, uint32_t a, uint32_t b) {
    s->out.status = DSA_INFEASIBLE;
    s->out.conflict = NEW_ARRAY(s->arena, uint32_t, 2);
    s->out.conflict[0] = a;
    s->out.conflict[1] = b;
    s->out.nconflict = a == b ? 1 : 2;
}

/* Pinned objects in each other's way: nothing can help. */
static bool pins_collide(Solver *s) {
    uint32_t *object = NEW_ARRAY(s->arena, uint32_t, s->pb->n), pair[2], n = 0;
    for (uint32_t i = 0; i < s->pb->n; i++)
        if (s->pb->objects[i].pinned)
            object[n++] = i;
    DsaProblem pins = subproblem(s->arena, s->pb, object, n);
    if (dsa_check(s->arena, &pins, pair))
        return false;
    set_conflict(s, object[pair[0]], object[pair[1]]);
    return true;
}

/* The bound is above the capacity: which objects say so? */
static void explain_bound(Solver *s) {
    s->out.status = DSA_INFEASIBLE;
    for (uint32_t i = 0; i < s->pb->n; i++) {
        const DsaObject *o = &s->pb->objects[i];
        if (o->nbytes + (o->pinned ? o->offset : 0) > s->capacity) {
            set_conflict(s, i, i);
            return;
        }
    }
    s->out.conflict = dsa_clique(s->arena, s->pb, s->capacity, &s->out.nconflict);
}

static void judge(Solver *s) {
    DsaSolution *out = &s->out;
    if (out->height <= out->bound)
        out->status = out->bound > s->known ? DSA_EXHAUSTED : DSA_MEETS_BOUND;
    else
        out->status = s->capacity && out->height > s->capacity ? DSA_NOT_FOUND : DSA_WITHIN;
}

DsaSolution dsa_solve(Arena *scratch, DsaProblem *pb, const DsaLimits *limits) {
    Solver s = { .arena = scratch, .pb = pb, .capacity = limits->capacity, .limit = limits->effort / DSA_NODE_WORK };
    s.dive_limit = limits->effort;
    s.known = known_of(dsa_bound, pb);
    s.known = pb->bound > s.known ? pb->bound : s.known;
    s.out = (DsaSolution){ .load = known_of(dsa_load, pb), .bound = s.known, .rule = "none" };
    if (pins_collide(&s))
        return s.out;
    uint64_t enough = s.capacity > s.out.bound ? s.capacity : s.out.bound;
    DsaProblem stop = *pb;
    stop.bound = enough;
    DsaResult r = dsa_place(scratch, &stop);
    s.out.height = r.height;
    s.out.rule = r.rule;
    s.out.placed = true;
    if (s.capacity && s.out.bound > s.capacity)
        explain_bound(&s);
    else if (r.height > enough)
        search_parts(&s);
    if (s.out.status != DSA_INFEASIBLE)
        judge(&s);
    s.out.nodes = s.nodes;
    s.out.work = r.work + s.dive_work + s.nodes * DSA_NODE_WORK;
    return s.out;
}

const char *dsa_status_text(Arena *arena, const DsaSolution *s) {
    switch (s->status) {
    case DSA_MEETS_BOUND: return "optimal (meets bound)";
    case DSA_EXHAUSTED: return "optimal (search exhausted)";
    case DSA_INFEASIBLE: return "infeasible (proven)";
    case DSA_NOT_FOUND: return "not found";
    case DSA_WITHIN: break;
    }
    uint64_t gap = s->height - s->bound, percent;
    if (!mul_u64(gap, 10000, &percent))
        percent = gap / s->bound * 10000;
    else
        percent = percent / s->bound + (percent % s->bound > 0);
    return arena_printf(arena, "within %" PRIu64 ".%02" PRIu64 " %% (bound %" PRIu64 ")", percent / 100, percent % 100, s->bound);
}
