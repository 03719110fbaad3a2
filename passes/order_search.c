/* order_search.c - the order of a stretch of steps that needs the least memory: a bottleneck shortest path through
 * the sets of executed steps (the dynamic program of SERENITY, best first), a beam search beside it.
 *
 * A state is a set of executed steps; what is held after it depends on the set alone (need.h), so of two ways to
 * the same set the one with the lower peak so far dominates. States are taken by their peak so far, the deeper and
 * then the smaller first; the first complete one is optimal. A beam finds an incumbent first, whose peak caps the
 * exact search. When the exact search runs out of its limits, the least peak of an open state is still a lower
 * bound, since every completion passes through one, and a wider beam tries to come near it.
 *
 * Free moves. A step s that can run after set S, needs no more than the peak g so far, and leaves no more held than
 * before, is run at once and is the only successor. Proof: take the best completion of S and move s to its front. s
 * itself needs at most g. Every later set R becomes R + s until the place where s had stood, and equal behind it.
 * Running s adds to what is held the bytes it makes for readers still to run, of which there are no more after R
 * than after S; it frees the bytes that only s still had to read, of which there are no fewer after R, since R
 * contains S. So its growth after R is at most that after S, which is not positive: no set between holds more. And
 * a donor that dies at a step after R dies there after R + s, too, so no step between needs more. The peak did not
 * rise.
 *
 * Early moves. Let a step p read one item I and make one value of m bytes, not less than I, in place where it is
 * the last to read I. While every reader of p waits for some other step that cannot run at once, p need not run:
 * take a completion that runs it, and move it back to where that ends. The sets between hold m less and at most I
 * more. A step between that had overwritten I, now read by p, gains no more than I by that, and m are gone. p
 * itself then needs what was held after it before. (A reader that waits only for such steps as p, ready to run,
 * does not wait; each move takes p later, so they end.)
 *
 * Cost: the number of states times the steps that are ready; both are counted against OrderLimits. */
#include "passes/order.h"

#include <string.h>

enum { NARROW = 16, WIDE = 128, MAX_POOL_WORDS = 1 << 23 };

/* Bytes that are free once all readers have run; a loose item's only if its maker has. */
typedef struct Gain { uint64_t nbytes; Readers by; uint32_t maker; } Gain;

typedef struct Search {
    const Stretch *st;
    Arena *arena;
    OrderLimits *limits;
    uint32_t n, words;                                    /* steps; words of a set */
    uint64_t *makes, *keeps;                              /* by step: bytes while it runs, with workspace; bytes left for readers */
    Gain *frees, *donors;
    uint32_t *frees_from, *donors_from;
    uint32_t *after_from, *after;                         /* the steps that wait for a step */
    bool *patient;                                        /* by step: it may run early (above) */
    uint64_t best;                                        /* peak of the best order known */
    uint32_t *order;                                      /* where it is written */
    bool found;
} Search;

/* States of one search. The sets of state i are sets[2 * i * words ..): executed, then ready. */
typedef struct Pool {
    VEC(uint64_t) sets;
    VEC(uint64_t) held;
    VEC(uint64_t) peak;
    VEC(uint32_t) parent;
    VEC(uint32_t) move;
    VEC(uint32_t) left;                                   /* steps not yet executed */
} Pool;

typedef struct State { uint64_t *done, *ready, held, peak; uint32_t left; } State;     /* one in the making */

static bool has(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static void put(uint64_t *set, uint32_t i) { set[i / 64] |= UINT64_C(1) << i % 64; }
static void drop(uint64_t *set, uint32_t i) { set[i / 64] &= ~(UINT64_C(1) << i % 64); }

static uint32_t lowest_bit(uint64_t w) {
    uint32_t i = 0;
    for (uint32_t half = 32; half > 0; half /= 2)
        if ((w & ((UINT64_C(1) << half) - 1)) == 0) {
            w >>= half;
            i += half;
        }
    return i;
}

/* The first member at or after i; n if there is none. */
static uint32_t next_in(const Search *q, const uint64_t *set, uint32_t i) {
    for (uint32_t w = i / 64; w < q->words; w++) {
        uint64_t bits = set[w];
        if (w == i / 64)
            bits &= ~UINT64_C(0) << i % 64;
        if (bits != 0)
            return w * 64 + lowest_bit(bits);
    }
    return q->n;
}

/* what a step costs */

/* Have all of them run once step i has? Steps before the stretch have; none lies behind it. */
static bool all_ran(const Search *q, const uint64_t *done, Readers by, uint32_t i) {
    uint32_t from = q->st->from;
    for (uint32_t k = by.from; k < by.to; k++) {
        uint32_t r = q->st->needs->readers[k];
        if (r >= from && r - from != i && !has(done, r - from))
            return false;
    }
    return true;
}

static bool was_made(const Search *q, const uint64_t *done, uint32_t maker, uint32_t i) {
    return maker == NO_ID || maker < q->st->from || maker - q->st->from == i || has(done, maker - q->st->from);
}

typedef struct Cost { uint64_t need, after; } Cost;       /* while step i runs after the state's set; held after it */

static Cost cost_of(const Search *q, const State *s, uint32_t i) {
    Cost c = {s->held + q->makes[i], s->held + q->keeps[i]};
    uint64_t off = 0;
    for (uint32_t k = q->donors_from[i]; k < q->donors_from[i + 1]; k++)
        if (q->donors[k].nbytes > off && all_ran(q, s->done, q->donors[k].by, i))
            off = q->donors[k].nbytes;
    for (uint32_t k = q->frees_from[i]; k < q->frees_from[i + 1]; k++)
        if (all_ran(q, s->done, q->frees[k].by, i) && was_made(q, s->done, q->frees[k].maker, i))
            c.after -= q->frees[k].nbytes;
    c.need -= off < c.need ? off : c.need;
    c.need = c.after > c.need ? c.after : c.need;         /* it is held before the next one runs */
    q->limits->work -= q->limits->work > 0;
    return c;
}

static void run(const Search *q, State *s, uint32_t i, Cost c) {
    put(s->done, i);
    drop(s->ready, i);
    s->held = c.after;
    s->peak = c.need > s->peak ? c.need : s->peak;
    s->left--;
    for (uint32_t k = q->after_from[i]; k < q->after_from[i + 1]; k++) {
        uint32_t t = q->after[k], step = q->st->from + t;
        bool waits = false;
        for (uint32_t j = q->st->before_from[step]; j < q->st->before_from[step + 1] && !waits; j++)
            waits = q->st->before[j] >= q->st->from && !has(s->done, q->st->before[j] - q->st->from);
        if (!waits)
            put(s->ready, t);
    }
}

/* Runs every free move, and again those that became free by it. `to` takes down the steps, or is NULL. */
static void run_free(const Search *q, State *s, uint32_t **to) {
    for (bool again = true; again; ) {
        again = false;
        for (uint32_t i = next_in(q, s->ready, 0); i < q->n; i = next_in(q, s->ready, i + 1)) {
            Cost c = cost_of(q, s, i);
            if (c.need > s->peak || c.after > s->held)
                continue;
            run(q, s, i, c);
            if (to != NULL)
                *(*to)++ = q->st->from + i;
            again = true;
        }
    }
}

/* Does step t wait for another than i that cannot run at once? */
static bool waits_beside(const Search *q, const uint64_t *done, const uint64_t *ready, uint32_t t, uint32_t i) {
    uint32_t step = q->st->from + t;
    for (uint32_t k = q->st->before_from[step]; k < q->st->before_from[step + 1]; k++) {
        uint32_t b = q->st->before[k] - q->st->from;
        if (q->st->before[k] >= q->st->from && b != i && !has(done, b) && !(q->patient[b] && has(ready, b)))
            return true;
    }
    return false;
}

static bool is_early(const Search *q, const State *s, uint32_t i) {
    if (!q->patient[i])
        return false;
    for (uint32_t k = q->after_from[i]; k < q->after_from[i + 1]; k++)
        if (!waits_beside(q, s->done, s->ready, q->after[k], i))
            return false;
    return true;
}

static State first_state(const Search *q) {
    State s = {.done = NEW_ARRAY(q->arena, uint64_t, q->words), .ready = NEW_ARRAY(q->arena, uint64_t, q->words),
               .held = q->st->held, .peak = q->st->floor, .left = q->n};
    for (uint32_t i = 0; i < q->n; i++) {
        uint32_t step = q->st->from + i;
        bool waits = false;
        for (uint32_t j = q->st->before_from[step]; j < q->st->before_from[step + 1]; j++)
            waits = waits || q->st->before[j] >= q->st->from;
        if (!waits)
            put(s.ready, i);
    }
    return s;
}

static void load(const Search *q, const Pool *pool, uint32_t i, State *s) {
    const uint64_t *sets = pool->sets.p + 2 * (size_t)i * q->words;
    memcpy(s->done, sets, q->words * sizeof *sets);
    memcpy(s->ready, sets + q->words, q->words * sizeof *sets);
    s->held = pool->held.p[i];
    s->peak = pool->peak.p[i];
    s->left = pool->left.p[i];
}

static uint32_t keep(const Search *q, Pool *pool, const State *s, uint32_t parent, uint32_t move) {
    for (uint32_t w = 0; w < 2 * q->words; w++)
        vec_push(q->arena, &pool->sets, w < q->words ? s->done[w] : s->ready[w - q->words]);
    vec_push(q->arena, &pool->held, s->held);
    vec_push(q->arena, &pool->peak, s->peak);
    vec_push(q->arena, &pool->left, s->left);
    vec_push(q->arena, &pool->parent, parent);
    vec_push(q->arena, &pool->move, move);
    q->limits->states -= q->limits->states > 0;
    return (uint32_t)pool->held.n - 1;
}

/* The way to state i, replayed: each move, then what was free after it. */
static void write_order(Search *q, const Pool *pool, uint32_t i) {
    uint32_t depth = 0, *path = NEW_ARRAY(q->arena, uint32_t, q->n + 1), *to = q->order;
    State s = first_state(q);
    for (uint32_t k = i; k != NO_ID; k = pool->parent.p[k])
        path[depth++] = k;
    while (depth-- > 0) {
        uint32_t k = path[depth];
        if (pool->move.p[k] != NO_ID) {
            *to++ = q->st->from + pool->move.p[k];
            run(q, &s, pool->move.p[k], cost_of(q, &s, pool->move.p[k]));
        }
        run_free(q, &s, &to);
    }
    if (s.left != 0 || s.peak != pool->peak.p[i])
        ice("order: a path that leads elsewhere when it is replayed");
    q->found = true;
    q->best = s.peak;
}

/* sets that were met */

typedef struct Table { uint32_t *slot; size_t mask, n; } Table;                  /* open addressing: 1 + state, 0 empty */

static uint64_t hash_set(const Search *q, const uint64_t *set) {
    uint64_t h = 0;
    for (uint32_t w = 0; w < q->words; w++) {
        h = (h ^ set[w]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static uint32_t *find_set(const Search *q, const Table *t, const Pool *pool, const uint64_t *set) {
    for (size_t at = hash_set(q, set) & t->mask; ; at = (at + 1) & t->mask) {
        uint32_t *slot = &t->slot[at];
        if (*slot == 0 || memcmp(pool->sets.p + 2 * (size_t)(*slot - 1) * q->words, set, q->words * sizeof *set) == 0)
            return slot;
    }
}

static void new_table(const Search *q, Table *t, size_t slots) {
    t->slot = NEW_ARRAY(q->arena, uint32_t, slots);
    t->mask = slots - 1;
    t->n = 0;
}

static void add_set(const Search *q, Table *t, const Pool *pool, uint32_t *slot, uint32_t state) {
    *slot = state + 1;
    if (++t->n * 2 <= t->mask)
        return;
    new_table(q, t, 2 * (t->mask + 1));
    for (uint32_t i = 0; i < pool->held.n; i++, t->n++)
        *find_set(q, t, pool, pool->sets.p + 2 * (size_t)i * q->words) = i + 1;
}

/* exact: best first */

typedef struct Open { uint64_t peak, held; uint32_t left, state; } Open;
typedef VEC(Open) Heap;

static bool sooner(const Open *a, const Open *b) {
    if (a->peak != b->peak) return a->peak < b->peak;
    if (a->left != b->left) return a->left < b->left;
    if (a->held != b->held) return a->held < b->held;
    return a->state < b->state;
}

static void heap_push(Arena *arena, Heap *h, Open x) {
    size_t i = h->n;
    vec_push(arena, h, x);
    for (; i > 0 && sooner(&x, &h->p[(i - 1) / 2]); i = (i - 1) / 2)
        h->p[i] = h->p[(i - 1) / 2];
    h->p[i] = x;
}

static Open heap_pop(Heap *h) {
    Open top = h->p[0], x = h->p[--h->n];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < h->n; i = c) {
        c += c + 1 < h->n && sooner(&h->p[c + 1], &h->p[c]);
        if (!sooner(&h->p[c], &x))
            break;
        h->p[i] = h->p[c];
    }
    h->p[i] = x;
    return top;
}

/* A state that was met before with a peak no higher is dominated. */
static void offer(Search *q, Pool *pool, Table *t, Heap *h, const State *s, uint32_t parent, uint32_t move) {
    uint32_t *slot = find_set(q, t, pool, s->done), i = *slot - 1;
    if (s->peak >= q->best || (*slot != 0 && pool->peak.p[i] <= s->peak))
        return;
    if (*slot == 0) {
        i = keep(q, pool, s, parent, move);
        add_set(q, t, pool, slot, i);
    } else {
        pool->peak.p[i] = s->peak;
        pool->parent.p[i] = parent;
        pool->move.p[i] = move;
    }
    heap_push(q->arena, h, (Open){s->peak, s->held, s->left, i});
}

/* Returns a lower bound for every order of the stretch: the best peak itself when the search came to its end. */
static uint64_t best_first(Search *q) {
    Pool pool = {0};
    Table t;
    Heap h = {0};
    State s = first_state(q);
    size_t most = MAX_POOL_WORDS / (2 * q->words);
    uint64_t for_the_beam = q->limits->work / 4;
    new_table(q, &t, 1024);
    run_free(q, &s, NULL);
    offer(q, &pool, &t, &h, &s, NO_ID, NO_ID);
    while (h.n > 0) {
        Open o = heap_pop(&h);
        if (o.peak > pool.peak.p[o.state])
            continue;                                     /* came back with a lower one */
        if (o.left == 0) {
            write_order(q, &pool, o.state);
            return q->best;
        }
        if (q->limits->states == 0 || q->limits->work <= for_the_beam || pool.held.n >= most)
            return o.peak;
        const uint64_t *ready = pool.sets.p + (2 * (size_t)o.state + 1) * q->words;
        for (uint32_t i = next_in(q, ready, 0); i < q->n; i = next_in(q, ready, i + 1)) {
            load(q, &pool, o.state, &s);
            if (is_early(q, &s, i))
                continue;
            Cost c = cost_of(q, &s, i);
            if (c.need >= q->best)
                continue;
            run(q, &s, i, c);
            run_free(q, &s, NULL);
            offer(q, &pool, &t, &h, &s, o.state, i);
            ready = pool.sets.p + (2 * (size_t)o.state + 1) * q->words;
        }
    }
    return q->best;
}

/* beam: the best few states of each generation */

typedef struct Child { uint64_t peak, held; uint32_t left, state; } Child;

static bool worse(const Child *a, const Child *b) {
    if (a->peak != b->peak) return a->peak > b->peak;
    if (a->held != b->held) return a->held > b->held;
    if (a->left != b->left) return a->left > b->left;
    return a->state > b->state;
}

/* Keeps the best `width` of those offered: a heap with the worst on top. */
static void choose(Child *beam, uint32_t *n, uint32_t width, Child x) {
    uint32_t i;
    if (*n < width) {
        for (i = (*n)++; i > 0 && worse(&x, &beam[(i - 1) / 2]); i = (i - 1) / 2)
            beam[i] = beam[(i - 1) / 2];
        beam[i] = x;
        return;
    }
    if (!worse(&beam[0], &x))
        return;
    i = 0;
    for (uint32_t c; (c = 2 * i + 1) < width; i = c) {
        c += c + 1 < width && worse(&beam[c + 1], &beam[c]);
        if (!worse(&beam[c], &x))
            break;
        beam[i] = beam[c];
    }
    beam[i] = x;
}

/* All successors of one state; the complete ones are orders, the others stand for the next generation. */
static void expand(Search *q, Pool *pool, Table *t, uint32_t from, State *s, Child *beam, uint32_t *n, uint32_t width) {
    const uint64_t *ready = pool->sets.p + (2 * (size_t)from + 1) * q->words;
    for (uint32_t i = next_in(q, ready, 0); i < q->n; i = next_in(q, ready, i + 1)) {
        load(q, pool, from, s);
        if (is_early(q, s, i))
            continue;
        Cost c = cost_of(q, s, i);
        if (c.need >= q->best)
            continue;
        run(q, s, i, c);
        run_free(q, s, NULL);
        uint32_t *slot = find_set(q, t, pool, s->done);
        bool full = *n == width && worse(&(Child){s->peak, s->held, s->left, NO_ID}, &beam[0]);
        if (s->peak >= q->best || full || (*slot != 0 && pool->peak.p[*slot - 1] <= s->peak))
            continue;
        uint32_t state = keep(q, pool, s, from, i);
        if (*slot == 0)
            add_set(q, t, pool, slot, state);
        else
            *slot = state + 1;
        ready = pool->sets.p + (2 * (size_t)from + 1) * q->words;
        if (s->left == 0)
            write_order(q, pool, state);
        else
            choose(beam, n, width, (Child){s->peak, s->held, s->left, state});
    }
}

static void beam_search(Search *q, uint32_t width) {
    Pool pool = {0};
    Table t;
    State s = first_state(q);
    Child *beam = NEW_ARRAY(q->arena, Child, width), *next = NEW_ARRAY(q->arena, Child, width), *swap;
    uint32_t n = 0, nnext;
    size_t most = MAX_POOL_WORDS / (2 * q->words);
    new_table(q, &t, 1024);
    run_free(q, &s, NULL);
    uint32_t root = keep(q, &pool, &s, NO_ID, NO_ID);
    if (s.left == 0 && s.peak < q->best)
        write_order(q, &pool, root);
    else
        beam[n++] = (Child){s.peak, s.held, s.left, root};
    while (n > 0 && q->best > q->st->floor && q->limits->work > 0 && pool.held.n < most) {
        nnext = 0;
        for (uint32_t i = 0; i < n; i++)
            if (beam[i].peak < q->best)
                expand(q, &pool, &t, beam[i].state, &s, next, &nnext, width);
        swap = beam;
        beam = next;
        next = swap;
        n = nnext;
    }
}

/* the stretch in the form the search wants */

/* Can what these steps read die inside the stretch? Readers are listed in their order. */
static bool dies_inside(const Search *q, Readers by) {
    return by.to > by.from && q->st->needs->readers[by.to - 1] < q->st->to;
}

static void compile_costs(Search *q) {
    const Needs *m = q->st->needs;
    uint32_t nfrees = 0, ndonors = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        uint32_t s = q->st->from + i;
        q->makes[i] = m->scratch[s];
        for (uint32_t k = m->makes_from[s]; k < m->makes_from[s + 1]; k++) {
            const Item *x = &m->items[m->makes[k]];
            q->makes[i] += x->nbytes;
            q->keeps[i] += x->stays || x->by.to > x->by.from ? x->nbytes : 0;
            if (x->loose && !x->stays && dies_inside(q, x->by))
                q->frees[nfrees++] = (Gain){x->nbytes, x->by, s};
        }
        for (uint32_t k = m->reads_from[s]; k < m->reads_from[s + 1]; k++) {
            const Item *x = &m->items[m->reads[k]];
            if (!x->stays && dies_inside(q, x->by))
                q->frees[nfrees++] = (Gain){x->nbytes, x->by, x->loose ? x->maker : NO_ID};
        }
        for (uint32_t k = m->donors_from[s]; k < m->donors_from[s + 1]; k++)
            if (dies_inside(q, m->donors[k].by))
                q->donors[ndonors++] = (Gain){m->donors[k].nbytes, m->donors[k].by, NO_ID};
        q->frees_from[i + 1] = nfrees;
        q->donors_from[i + 1] = ndonors;
    }
}

/* All readers of what step i makes are in the stretch, it reads one item, which it can lie over, and no more than it makes. */
static bool is_patient(const Search *q, uint32_t i) {
    const Needs *m = q->st->needs;
    uint32_t s = q->st->from + i;
    if (m->makes_from[s + 1] - m->makes_from[s] != 1 || m->reads_from[s + 1] - m->reads_from[s] != 1 ||
        m->scratch[s] != 0)
        return false;
    const Item *made = &m->items[m->makes[m->makes_from[s]]], *read = &m->items[m->reads[m->reads_from[s]]];
    if (made->stays || made->loose || read->loose || made->nbytes < read->nbytes || !dies_inside(q, made->by))
        return false;
    for (uint32_t k = q->donors_from[i]; k < q->donors_from[i + 1]; k++) {
        Readers by = q->donors[k].by;
        if (q->donors[k].nbytes == made->nbytes && by.from == read->by.from && by.to == read->by.to)
            return true;
    }
    return false;
}

static void compile_after(Search *q) {
    const Stretch *st = q->st;
    uint32_t total = st->before_from[st->to] - st->before_from[st->from];
    uint32_t *at = NEW_ARRAY(q->arena, uint32_t, (size_t)q->n + 2);
    q->after = NEW_ARRAY(q->arena, uint32_t, total);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < q->n; i++)
            for (uint32_t k = st->before_from[st->from + i]; k < st->before_from[st->from + i + 1]; k++) {
                if (st->before[k] < st->from)
                    continue;
                uint32_t b = st->before[k] - st->from;
                if (fill)
                    q->after[at[b + 1]++] = i;
                else
                    at[b + 2]++;
            }
        for (uint32_t i = 0; !fill && i < q->n; i++)
            at[i + 2] += at[i + 1];
    }
    q->after_from = at;
}

Ordered order_stretch(const Stretch *st, OrderLimits *limits, uint32_t *order) {
    const Needs *m = st->needs;
    uint32_t nreads = m->reads_from[st->to] - m->reads_from[st->from];
    uint32_t nmakes = m->makes_from[st->to] - m->makes_from[st->from];
    Search q = {.st = st, .arena = arena_new(), .limits = limits, .n = st->to - st->from, .order = order};
    q.best = st->ceiling;
    q.words = (q.n + 63) / 64;
    q.makes = NEW_ARRAY(q.arena, uint64_t, q.n);
    q.keeps = NEW_ARRAY(q.arena, uint64_t, q.n);
    q.frees = NEW_ARRAY(q.arena, Gain, (size_t)nreads + nmakes);
    q.donors = NEW_ARRAY(q.arena, Gain, m->donors_from[st->to] - m->donors_from[st->from]);
    q.frees_from = NEW_ARRAY(q.arena, uint32_t, (size_t)q.n + 1);
    q.donors_from = NEW_ARRAY(q.arena, uint32_t, (size_t)q.n + 1);
    compile_costs(&q);
    compile_after(&q);
    q.patient = NEW_ARRAY(q.arena, bool, q.n);
    for (uint32_t i = 0; i < q.n; i++)
        q.patient[i] = is_patient(&q, i);
    beam_search(&q, NARROW);
    uint64_t bound = q.best > st->floor ? best_first(&q) : q.best;
    if (bound < q.best)
        beam_search(&q, WIDE);
    arena_free(q.arena);
    return (Ordered){q.found, q.best, bound < q.best ? bound : q.best};
}
