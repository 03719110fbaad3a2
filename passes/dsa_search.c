/* dsa_search.c - exact search for offsets under a capacity: branch and bound over canonical packings, after MiniMalloc
 * (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023).
 *
 * Objects are placed bottom-up, each at its lowest possible offset; the sequence of (offset, rank) never decreases. Every
 * feasible packing has such a form, so that a search through all of them that finds nothing proves the capacity infeasible.
 * Steps are gathered into sections (maximal cliques). What cuts the tree: a section's floor plus what is still to be placed
 * in it exceeds the capacity; an offset at which some unplaced object would fit below is dominated; parts of the problem
 * that no unplaced object joins any more are solved apart; when an object that nothing unplaced touches fails, so do its
 * siblings. Since offsets never decrease, capacity minus the largest remainder of a section bounds every child at once.
 *
 * Sizes are divided by their greatest common divisor. A pinned item waits at its offset: whatever would raise it fails. Work
 * is counted in nodes and bounded by the caller; a node costs O(neighbours + sections). Restarts follow Luby's sequence, each
 * with sort keys disturbed by up to 5 % and a rule of its own. Objects of several pieces are not for this search (they may
 * rest on each other): the caller keeps them away. */
#include "passes/dsa.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX                                   /* wider than an enumerator may be */
enum { RULE_KEYS = 3 };
#define PLACED INT64_MAX

typedef struct Item {
    int64_t size, align;
    uint32_t s0, s1;                                      /* sections [s0, s1) */
    uint32_t first, last;                                 /* steps */
    uint32_t touch0, ntouch;                              /* its conflicting items: Search.touch[touch0 ...] */
    int64_t pin;                                          /* where it must lie; 0 where it may choose */
    bool pinned;
} Item;

typedef struct Undo { int64_t *at, old; } Undo;           /* one changed word */

typedef struct Search {
    Arena *arena;
    uint32_t n, nsections;
    Item *item;
    uint32_t *touch;
    int64_t *low;                                         /* by item: its lowest possible offset; PLACED once it lies somewhere */
    int64_t *offset;                                      /* by item: where it lies, once placed */
    int64_t *floor, *left;                                /* by section: lowest address still free above all; bytes to be placed */
    int64_t *crossing;                                    /* by border before a section: unplaced items on both sides of it */
    uint32_t **member;                                    /* by section: its items, ended by NONE */
    uint32_t *witness;                                    /* by section: a member that lately kept the floor down; only a hint */
    uint32_t *next, *prev, *rank;                         /* the list of the part at hand; n + depth of its part are list heads */
    int64_t capacity;
    const char *rule;
    uint64_t nodes, limit, seed;
    bool out_of_nodes;
    Undo *trail;
    size_t ntrail, trail_room;
    VEC(uint32_t) candidates;
    double *key[RULE_KEYS];
} Search;

/* ---- setting up -------------------------------------------------------------------------------------------------- */

typedef struct Edge { uint32_t step; uint8_t begins; uint32_t item; } Edge;

static int by_step(const void *a, const void *b) {
    const Edge *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? 1 : -1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* A section begins where an object begins after another has ended: the sets between are cliques inside these. */
static void find_sections(Search *s) {
    Edge *edge = NEW_ARRAY(s->arena, Edge, 2 * (size_t)s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) {
        edge[2 * i] = (Edge){s->item[i].first, 1, i};
        edge[2 * i + 1] = (Edge){s->item[i].last + 1, 0, i};
    }
    qsort(edge, 2 * (size_t)s->n, sizeof *edge, by_step);
    bool ended = true;
    for (size_t i = 0; i < 2 * (size_t)s->n; i++) {
        if (edge[i].begins && ended) s->nsections++;
        ended = !edge[i].begins;
        if (edge[i].begins) s->item[edge[i].item].s0 = s->nsections - 1;
        else s->item[edge[i].item].s1 = s->nsections;
    }
}

static void find_members(Search *s) {
    s->member = NEW_ARRAY(s->arena, uint32_t *, s->nsections + 1);
    uint32_t *count = NEW_ARRAY(s->arena, uint32_t, s->nsections + 1);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = s->item[i].s0; k < s->item[i].s1; k++) count[k]++;
    for (uint32_t k = 0; k < s->nsections; k++) {
        s->member[k] = NEW_ARRAY(s->arena, uint32_t, (size_t)count[k] + 1);
        s->member[k][count[k]] = NONE;
        count[k] = 0;
    }
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = s->item[i].s0; k < s->item[i].s1; k++) s->member[k][count[k]++] = i;
}

static void find_touching(Search *s) {
    VEC(uint32_t) all = {0};
    uint32_t *seen = NEW_ARRAY(s->arena, uint32_t, s->n + 1);
    for (uint32_t i = 0; i < s->n; i++) {
        Item *a = &s->item[i];
        a->touch0 = (uint32_t)all.n;
        for (uint32_t k = a->s0; k < a->s1; k++)
            for (const uint32_t *m = s->member[k]; *m != NONE; m++)
                if (*m != i && seen[*m] != i + 1) {
                    seen[*m] = i + 1;
                    vec_push(s->arena, &all, *m);
                }
        a->ntouch = (uint32_t)all.n - a->touch0;
    }
    s->touch = all.p;
}

static Search *search_new(Arena *arena, const DsaProblem *p, uint64_t *unit) {
    Search *s = NEW(arena, Search);
    s->arena = arena;
    s->n = p->n;
    s->item = NEW_ARRAY(arena, Item, p->n + 1);
    *unit = dsa_unit(p);
    for (uint32_t i = 0; i < p->n; i++) {
        const DsaObject *o = &p->objects[i];
        uint64_t align = o->align / *unit;
        s->item[i] = (Item){.size = (int64_t)(o->nbytes / *unit), .align = align > 1 ? (int64_t)align : 1,
                            .first = o->pieces[0].first, .last = o->pieces[0].last,
                            .pin = o->pinned ? (int64_t)(o->offset / *unit) : 0, .pinned = o->pinned};
    }
    find_sections(s);
    find_members(s);
    find_touching(s);
    s->offset = NEW_ARRAY(arena, int64_t, s->n + 1);
    s->low = NEW_ARRAY(arena, int64_t, s->n + 1);
    s->floor = NEW_ARRAY(arena, int64_t, s->nsections + 1);
    s->left = NEW_ARRAY(arena, int64_t, s->nsections + 1);
    s->crossing = NEW_ARRAY(arena, int64_t, s->nsections + 1);
    s->witness = NEW_ARRAY(arena, uint32_t, s->nsections + 1);
    s->next = NEW_ARRAY(arena, uint32_t, 2 * (size_t)s->n + 2);
    s->prev = NEW_ARRAY(arena, uint32_t, 2 * (size_t)s->n + 2);
    s->rank = NEW_ARRAY(arena, uint32_t, s->n + 1);
    for (int k = 0; k < RULE_KEYS; k++) s->key[k] = NEW_ARRAY(arena, double, s->n + 1);
    return s;
}

static void search_reset(Search *s) {
    for (uint32_t k = 0; k < s->nsections; k++) s->witness[k] = s->member[k][0];
    for (uint32_t i = 0; i < s->n; i++) s->low[i] = s->item[i].pin;
    memset(s->floor, 0, s->nsections * sizeof *s->floor);
    memset(s->left, 0, s->nsections * sizeof *s->left);
    memset(s->crossing, 0, (s->nsections + 1) * sizeof *s->crossing);
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t k = s->item[i].s0; k < s->item[i].s1; k++) s->left[k] += s->item[i].size;
        for (uint32_t k = s->item[i].s0 + 1; k < s->item[i].s1; k++) s->crossing[k]++;
    }
    s->ntrail = 0;
    s->nodes = 0;
    s->out_of_nodes = false;
}

/* ---- parts: lists of unplaced items in the order of a rule -------------------------------------------------------- */

static double noise(Search *s) {
    if (!s->seed) return 1.0;
    s->seed ^= s->seed << 13, s->seed ^= s->seed >> 7, s->seed ^= s->seed << 17;
    return 0.95 + 0.1 * (double)(s->seed >> 11) / 9007199254740992.0;
}

/* W: length of life; A: area; T: largest remainder of a section on the way; Z: size. */
static double key_of(const Search *s, const Item *a, char letter) {
    double life = (double)a->last - a->first + 1, most = 0;
    switch (letter) {
    case 'W': return life;
    case 'A': return life * (double)a->size;
    case 'Z': return (double)a->size;
    default:
        for (uint32_t k = a->s0; k < a->s1; k++)
            if ((double)s->left[k] > most) most = (double)s->left[k];
        return most;
    }
}

static bool ranks_before(const Search *s, uint32_t a, uint32_t b) {
    for (int k = 0; k < RULE_KEYS; k++)
        if (s->key[k][a] != s->key[k][b]) return s->key[k][a] > s->key[k][b];
    return a < b;
}

/* Merge sort by the rule: deterministic, and qsort has no room for the search. */
static void sort_items(const Search *s, uint32_t *v, uint32_t *tmp, uint32_t n) {
    if (n < 2) return;
    uint32_t half = n / 2, a = 0, b = half;
    sort_items(s, v, tmp, half);
    sort_items(s, v + half, tmp, n - half);
    for (uint32_t k = 0; k < n; k++) tmp[k] = b == n || (a < half && !ranks_before(s, v[b], v[a])) ? v[a++] : v[b++];
    memcpy(v, tmp, n * sizeof *v);
}

static void set_word(Search *s, int64_t *at, int64_t value) {
    if (s->ntrail == s->trail_room) vec_reserve(s->arena, (void **)&s->trail, &s->trail_room, s->ntrail + 1, sizeof *s->trail);
    s->trail[s->ntrail++] = (Undo){at, *at};
    *at = value;
}

static void undo_to(Search *s, size_t mark) {
    while (s->ntrail > mark) {
        Undo u = s->trail[--s->ntrail];
        *u.at = u.old;
    }
}

/* Links the unplaced items of sections [s0, s1) behind list head `head`, best first. */
static void make_part(Search *s, uint32_t head, const uint32_t *items, uint32_t n, uint32_t *room) {
    uint32_t *v = room, at = head;
    memcpy(v, items, n * sizeof *v);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < RULE_KEYS; k++) s->key[k][v[i]] = key_of(s, &s->item[v[i]], s->rule[k]) * (k ? 1.0 : noise(s));
    sort_items(s, v, room + n, n);
    for (uint32_t i = 0; i < n; i++) {
        s->next[at] = v[i];
        s->prev[v[i]] = at;
        s->rank[v[i]] = i;
        at = v[i];
    }
    s->next[at] = head;
    s->prev[head] = at;
}

/* ---- one placement ----------------------------------------------------------------------------------------------- */

static int64_t aligned(int64_t offset, int64_t align) {
    return align == 1 ? offset : (offset + align - 1) / align * align;
}

/* The lowest offset that an unplaced item of the section can take; its floor is not below that. */
static bool raise_floor(Search *s, uint32_t k) {
    int64_t low = PLACED;
    if (s->low[s->witness[k]] <= s->floor[k]) return true;
    for (const uint32_t *m = s->member[k]; *m != NONE; m++) {
        if (s->low[*m] >= low) continue;
        low = s->low[*m];
        s->witness[k] = *m;
        if (low <= s->floor[k]) return true;
    }
    set_word(s, &s->floor[k], low);
    return low + s->left[k] <= s->capacity;
}

/* Puts item i at its lowest offset and draws the consequences; false when some section or item no longer fits. */
static bool place(Search *s, uint32_t i) {
    const Item *a = &s->item[i];
    int64_t top = s->low[i] + a->size;
    bool fits = true;
    s->offset[i] = s->low[i];
    set_word(s, &s->low[i], PLACED);
    for (uint32_t k = a->s0; k < a->s1; k++) {
        set_word(s, &s->left[k], s->left[k] - a->size);
        set_word(s, &s->floor[k], top);
        fits = fits && top + s->left[k] <= s->capacity;
        if (k > a->s0) set_word(s, &s->crossing[k], s->crossing[k] - 1);
    }
    uint32_t low = a->s0, high = a->s1;
    for (uint32_t t = 0; fits && t < a->ntouch; t++) {
        uint32_t j = s->touch[a->touch0 + t];
        if (s->low[j] >= top) continue;
        int64_t to = aligned(top, s->item[j].align);
        set_word(s, &s->low[j], to);
        fits = to + s->item[j].size <= s->capacity && !s->item[j].pinned;
        if (s->item[j].s0 < low) low = s->item[j].s0;
        if (s->item[j].s1 > high) high = s->item[j].s1;
    }
    for (uint32_t k = low; fits && k < high; k++)
        if (s->left[k]) fits = raise_floor(s, k);
    return fits;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

static bool solve_list(Search *s, uint32_t head, uint32_t s0, uint32_t s1, int64_t from, uint32_t from_rank);

static bool has_loose_neighbour(const Search *s, uint32_t i) {
    for (uint32_t t = 0; t < s->item[i].ntouch; t++)
        if (s->low[s->touch[s->item[i].touch0 + t]] != PLACED) return true;
    return false;
}

/* Solves what is left of a part: as it is, or as the parts into which the last placement has cut it. */
static bool solve_rest(Search *s, uint32_t head, uint32_t s0, uint32_t s1, uint32_t last) {
    const Item *a = &s->item[last];
    bool cut = false;
    for (uint32_t k = a->s0; k <= a->s1 && !cut; k++) cut = k > s0 && k < s1 && s->crossing[k] == 0;
    if (!cut) return solve_list(s, head, s0, s1, s->offset[last], s->rank[last]);
    Arena *arena = arena_new();
    uint32_t *items = NEW_ARRAY(arena, uint32_t, s->n + 1), *room = NEW_ARRAY(arena, uint32_t, 2 * (size_t)s->n + 2), n = 0;
    for (uint32_t i = s->next[head]; i != head; i = s->next[i]) items[n++] = i;
    uint32_t *old_next = arena_copy(arena, s->next, (2 * (size_t)s->n + 2) * sizeof *s->next);
    uint32_t *old_prev = arena_copy(arena, s->prev, (2 * (size_t)s->n + 2) * sizeof *s->prev);
    uint32_t *old_rank = arena_copy(arena, s->rank, ((size_t)s->n + 1) * sizeof *s->rank);
    uint32_t *part = NEW_ARRAY(arena, uint32_t, s->n + 1);
    bool ok = true;
    for (uint32_t k0 = s0, k1; ok && k0 < s1; k0 = k1) {
        uint32_t count = 0;
        for (k1 = k0 + 1; k1 < s1 && s->crossing[k1];) k1++;
        for (uint32_t i = 0; i < n; i++)
            if (s->item[items[i]].s0 >= k0 && s->item[items[i]].s0 < k1) part[count++] = items[i];
        if (!count) continue;
        make_part(s, head, part, count, room);
        ok = solve_list(s, head, k0, k1, s->offset[last], 0);
    }
    memcpy(s->next, old_next, (2 * (size_t)s->n + 2) * sizeof *s->next);
    memcpy(s->prev, old_prev, (2 * (size_t)s->n + 2) * sizeof *s->prev);
    memcpy(s->rank, old_rank, ((size_t)s->n + 1) * sizeof *s->rank);
    arena_free(arena);
    return ok;
}

/* The items that may come next, lowest offset first and by rank among equals, on top of the stack of candidates. */
static void find_candidates(Search *s, uint32_t head, uint32_t s0, uint32_t s1, int64_t from, uint32_t from_rank) {
    int64_t lowest_top = INT64_MAX, most_left = 0;
    for (uint32_t i = s->next[head]; i != head; i = s->next[i]) {
        int64_t top = s->low[i] + s->item[i].size;
        if (top < lowest_top) lowest_top = top;
    }
    for (uint32_t k = s0; k < s1; k++)
        if (s->left[k] > most_left) most_left = s->left[k];
    int64_t highest = s->capacity - most_left;
    size_t begin = s->candidates.n;
    for (uint32_t i = s->next[head]; i != head; i = s->next[i]) {
        int64_t o = s->low[i];
        if (o >= lowest_top || o > highest || o < from || (o == from && s->rank[i] < from_rank)) continue;
        vec_push(s->arena, &s->candidates, i);
        size_t at = s->candidates.n - 1;
        for (; at > begin && s->low[s->candidates.p[at - 1]] > o; at--) s->candidates.p[at] = s->candidates.p[at - 1];
        s->candidates.p[at] = i;
    }
}

static bool solve_list(Search *s, uint32_t head, uint32_t s0, uint32_t s1, int64_t from, uint32_t from_rank) {
    if (s->next[head] == head) return true;
    if (++s->nodes > s->limit) s->out_of_nodes = true;
    size_t begin = s->candidates.n;
    find_candidates(s, head, s0, s1, from, from_rank);
    bool ok = false, hopeless = false;
    size_t end = s->candidates.n;
    for (size_t c = begin; c < end && !ok && !hopeless && !s->out_of_nodes; c++) {
        uint32_t i = s->candidates.p[c], before = s->prev[i], after = s->next[i];
        size_t mark = s->ntrail;
        s->next[before] = after, s->prev[after] = before;
        ok = place(s, i) && solve_rest(s, head, s0, s1, i);
        s->next[before] = i, s->prev[after] = i;
        if (ok) break;
        undo_to(s, mark);
        hopeless = !has_loose_neighbour(s, i);
    }
    s->candidates.n = begin;
    return ok;
}

/* ---- drivers ----------------------------------------------------------------------------------------------------- */

static DsaVerdict try_once(Search *s, const char *rule, uint64_t seed, uint64_t limit) {
    search_reset(s);
    s->rule = rule;
    s->seed = seed;
    s->limit = limit;
    Arena *arena = arena_new();
    uint32_t *all = NEW_ARRAY(arena, uint32_t, s->n + 1), *room = NEW_ARRAY(arena, uint32_t, 2 * (size_t)s->n + 2), n = 0;
    bool fits = true;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->item[i].size) all[n++] = i;
        fits = fits && s->item[i].pin + s->item[i].size <= s->capacity;
    }
    for (uint32_t k = 0; k < s->nsections; k++) fits = fits && s->left[k] <= s->capacity;
    make_part(s, s->n, all, n, room);
    arena_free(arena);
    if (!fits) return DSA_IMPOSSIBLE;
    if (solve_list(s, s->n, 0, s->nsections, 0, 0)) return DSA_FOUND;
    return s->out_of_nodes ? DSA_GAVE_UP : DSA_IMPOSSIBLE;
}

static uint64_t luby(uint64_t i) {
    for (uint64_t k = 1;; k = 2 * k + 1) {
        if (i == k) return (k + 1) / 2;
        if (i > k && i < 2 * k + 1) return luby(i - k);
    }
}

static const char *const RULES[] = {"WAT", "TAW", "TWA"};

DsaVerdict dsa_search(Arena *arena, DsaProblem *p, uint64_t capacity, uint64_t steady_effort, uint64_t effort, uint64_t seed,
                      uint64_t *nodes) {
    uint64_t unit, spent = 0;
    Search *s = search_new(arena, p, &unit);
    s->capacity = (int64_t)(capacity / unit);
    DsaVerdict verdict = DSA_GAVE_UP;
    uint64_t limit = 2 * (uint64_t)p->n, restart = 1;
    for (uint32_t round = 0; verdict == DSA_GAVE_UP && spent < effort; round++) {
        bool steady = spent < steady_effort;
        uint64_t room = effort - spent, want = steady ? limit : 2000 * luby(restart);
        verdict = try_once(s, RULES[round % COUNT_OF(RULES)], steady ? 0 : 0x9e3779b97f4a7c15u * (restart + (seed << 32)), want < room ? want : room);
        spent += s->nodes;
        if (!steady) restart++;
        else if (round % COUNT_OF(RULES) == COUNT_OF(RULES) - 1) limit *= 2;
    }
    *nodes += spent;
    for (uint32_t i = 0; verdict == DSA_FOUND && i < p->n; i++)
        if (!p->objects[i].pinned) p->objects[i].offset = (uint64_t)s->offset[i] * unit;
    return verdict;
}
