/* need.c - what each step needs in memory, as a function of which steps have run; see need.h.
 *
 * requires steps and fates. Leaves (leaves.h) are cut where the sets of their readers change: each part with its
 * readers is an item. In place is one operand for the one result of a step, so for each step the most that a legal
 * operand could give is its donation: all of it where the operand might be a copy, for a copy may be overwritten
 * though its source may not. Where the result may lie over an operand in part (op_lead), it is what the two can
 * share. That a plan copies, keeps a result out of place or loses bytes to the shape of holes otherwise only adds.
 *
 * Cost O(n log n) for n reads; a leaf that is cut into so many parts that it takes more than MAX_WORK counts
 * nothing. */
#include "passes/leaves.h"
#include "passes/need.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORK = 1 << 22 };

typedef struct Part { uint64_t lo, hi; uint32_t value; } Part;                   /* bytes of a leaf that a value is made of */

typedef struct Maker {
    Leaves l;
    Arena *arena;
    uint32_t nsteps;
    Readers *readers_of;                                  /* by value id */
    VEC(uint32_t) readers;
    VEC(Item) items;
    VEC(Donor) donors;
    uint32_t *donors_from;
    uint64_t *last;                                       /* scratch of unite(): by step, the range that listed it last */
    uint64_t range;
} Maker;

/* Does op, which runs in step s, read operand k from memory? */
static const Value *read_operand(const Maker *m, const Op *op, uint32_t k, uint32_t s) {
    const Value *v = op_tensor(m->l.g, m->l.p, op, k);
    return v == NULL || leaves_could_share(&m->l, op, 0) || made_in_step(m->l.p, v, s) ? NULL : v;
}

/* Two sweeps in step order: count, then fill; a step that reads a value twice is listed once. */
static void find_readers(Maker *m) {
    size_t nv = m->l.g->values.n;
    uint32_t *seen = NEW_ARRAY(m->arena, uint32_t, nv), total = 0;
    for (int fill = 0; fill < 2; fill++) {
        memset(seen, 0, nv * sizeof *seen);
        for (uint32_t s = 0; s < m->nsteps; s++) {
            const Step *step = &m->l.p->steps.p[s];
            for (size_t i = 0; i < step->ops.n; i++) {
                const Op *op = m->l.g->ops.p[step->ops.p[i]];
                for (uint32_t k = 0; k < op->nin; k++) {
                    const Value *v = read_operand(m, op, k, s);
                    if (v == NULL || seen[v->id] == s + 1)
                        continue;
                    seen[v->id] = s + 1;
                    if (fill)
                        m->readers.p[m->readers_of[v->id].to++] = s;
                    else
                        m->readers_of[v->id].to++;
                }
            }
        }
        for (size_t v = 0; !fill && v < nv; v++) {
            uint32_t n = m->readers_of[v].to;
            m->readers_of[v] = (Readers){total, total};
            total += n;
        }
        if (!fill) {
            vec_reserve(m->arena, (void **)&m->readers.p, &m->readers.cap, total, sizeof *m->readers.p);
            m->readers.n = total;
        }
    }
}

static uint32_t maker_of(const Maker *m, uint32_t leaf) {
    const Value *v = m->l.g->values.p[leaf];
    return v->def != NULL && op_runs(m->l.p, v->def) ? m->l.p->step_of[v->def->id] : NO_ID;
}

static int by_step(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x != y ? (x < y ? -1 : 1) : 0;
}

/* The readers of all parts that reach over [lo, hi). */
static Item unite(Maker *m, const Part *parts, uint32_t n, uint32_t leaf, uint64_t lo, uint64_t hi) {
    Item item = {.nbytes = leaves_rounded(&m->l, leaf, lo, hi), .maker = maker_of(m, leaf)};
    uint32_t covering = 0, last = NO_ID;
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].lo <= lo && hi <= parts[i].hi) {
            item.stays = item.stays || m->l.stays[parts[i].value];
            covering += m->readers_of[parts[i].value].to > m->readers_of[parts[i].value].from;
            last = m->readers_of[parts[i].value].to > m->readers_of[parts[i].value].from ? parts[i].value : last;
        }
    if (covering <= 1) {
        item.by = last == NO_ID ? (Readers){0, 0} : m->readers_of[last];
        return item;
    }
    m->range++;
    item.by.from = (uint32_t)m->readers.n;
    for (uint32_t i = 0; i < n; i++) {
        Readers by = parts[i].lo <= lo && hi <= parts[i].hi ? m->readers_of[parts[i].value] : (Readers){0, 0};
        for (uint32_t k = by.from; k < by.to; k++) {
            uint32_t s = m->readers.p[k];
            if (m->last[s] == m->range)
                continue;
            m->last[s] = m->range;
            vec_push(m->arena, &m->readers, s);
        }
    }
    item.by.to = (uint32_t)m->readers.n;
    qsort(m->readers.p + item.by.from, item.by.to - item.by.from, sizeof *m->readers.p, by_step);
    return item;
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x != y ? (x < y ? -1 : 1) : 0;
}

/* An input that nobody reads is there at the first step, whichever that is, and counts nothing. */
static void add_item(Maker *m, Item x) {
    if (x.maker != NO_ID || x.stays || x.by.to > x.by.from)
        vec_push(m->arena, &m->items, x);
}

static void cut_leaf(Maker *m, uint32_t leaf, const Part *parts, uint32_t n) {
    if (n == 1) {
        add_item(m, unite(m, parts, 1, leaf, parts[0].lo, parts[0].hi));
        return;
    }
    if ((uint64_t)n * n > MAX_WORK)
        return;
    uint64_t *at = NEW_ARRAY(m->arena, uint64_t, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        at[2 * (size_t)i] = parts[i].lo;
        at[2 * (size_t)i + 1] = parts[i].hi;
    }
    qsort(at, 2 * (size_t)n, sizeof *at, by_size);
    for (uint32_t i = 0; i + 1 < 2 * n; i++) {
        if (at[i] == at[i + 1])
            continue;
        add_item(m, unite(m, parts, n, leaf, at[i], at[i + 1]));
    }
}

/* Gathers the parts of each leaf (counting sort) and cuts it. */
static void find_items(Maker *m) {
    size_t nv = m->l.g->values.n;
    uint32_t *start = NEW_ARRAY(m->arena, uint32_t, nv + 2);
    Part *parts = NULL;
    m->last = NEW_ARRAY(m->arena, uint64_t, (size_t)m->nsteps + 1);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t v = 0; v < nv; v++) {
            const Content *c = &m->l.content[v];
            bool read = m->readers_of[v].to > m->readers_of[v].from;
            bool matters = read || m->l.stays[v] || (c->n == 1 && c->s[0].leaf == v);
            for (uint32_t k = 0; matters && m->l.p->repl[v] == v && k < c->n; k++) {
                if (m->l.free[c->s[k].leaf])
                    continue;
                if (fill)
                    parts[start[c->s[k].leaf + 1]++] = (Part){c->s[k].lo, c->s[k].hi, v};
                else
                    start[c->s[k].leaf + 2]++;
            }
        }
        for (size_t v = 0; !fill && v < nv; v++)
            start[v + 2] += start[v + 1];
        if (!fill)
            parts = NEW_ARRAY(m->arena, Part, start[nv + 1]);
    }
    for (uint32_t v = 0; v < nv; v++)
        if (start[v + 1] > start[v])
            cut_leaf(m, v, parts + start[v], start[v + 1] - start[v]);
}

/* What operand u gives up at most when it dies. */
static uint64_t donation(const Maker *m, const Value *u) {
    const Content *c = &m->l.content[u->id];
    uint64_t sum = 0;
    if (m->l.stays[u->id])
        return 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t leaf = c->s[i].leaf;
        if (m->l.fixed[leaf] && leaf == u->id)
            return 0;                                     /* but a view of it might be a copy, which may be written over */
        if (!m->l.free[leaf])
            sum += leaves_rounded(&m->l, leaf, c->s[i].lo, c->s[i].hi);
    }
    return sum;
}

/* What f may lie over its operand u in part: all but what it must begin before it. Where f fills a buffer, both are counted
 * in steps of the alignment, and no more is shared than f has bytes. */
static uint64_t overlap(const Maker *m, uint32_t s, const Value *u, const Value *f) {
    uint64_t lead, own = leaves_rounded(&m->l, f->id, 0, f->nbytes), whole = f->nbytes - f->nbytes % m->l.p->align, d;
    if (u == NULL || !plan_overlaps(m->l.g, m->l.p) || made_in_step(m->l.p, u, s) || !step_lead(m->l.g, m->l.p, s, u, f, &lead))
        return 0;
    if (m->l.solo[f->id])
        align_up(lead, m->l.p->align, &lead);
    d = donation(m, u);
    own = lead < own ? own - lead : 0;
    own = m->l.solo[f->id] && whole < own ? whole : own;
    return d < own ? d : own;
}

static void step_donors(Maker *m, uint32_t s) {
    const Value *f = m->l.p->level >= LEVEL_INPLACE ? leaves_result(&m->l, s) : NULL;
    const Step *step = &m->l.p->steps.p[s];
    if (f == NULL || m->l.content[f->id].n != 1 || m->l.free[f->id])
        return;
    uint64_t own = leaves_rounded(&m->l, f->id, 0, f->nbytes);
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = m->l.g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *u = op_tensor(m->l.g, m->l.p, op, k);
            uint64_t d = leaves_overwrites(&m->l, s, u, f) ? donation(m, u) : overlap(m, s, u, f);
            if (d == 0)
                continue;
            vec_push(m->arena, &m->donors, ((Donor){d < own ? d : own, m->readers_of[u->id]}));
        }
    }
}

/* Lists of item numbers by step: those the step makes, or those it reads. */
static const uint32_t *items_by_step(Arena *arena, const Needs *n, bool reads, const uint32_t **from) {
    uint32_t *start = NEW_ARRAY(arena, uint32_t, (size_t)n->nsteps + 2), *list = NULL;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < n->nitems; i++) {
            const Item *x = &n->items[i];
            uint32_t first = reads ? x->by.from : 0, end = reads ? x->by.to : x->maker != NO_ID;
            for (uint32_t k = first; k < end; k++) {
                uint32_t s = reads ? n->readers[k] : x->maker;
                if (fill)
                    list[start[s + 1]++] = i;
                else
                    start[s + 2]++;
            }
        }
        for (size_t s = 0; !fill && s < n->nsteps; s++)
            start[s + 2] += start[s + 1];
        if (!fill)
            list = NEW_ARRAY(arena, uint32_t, start[n->nsteps + 1]);
    }
    *from = start;
    return list;
}

Needs needs_of(Arena *arena, const Graph *g, const Plan *p) {
    Maker m = {.l = leaves_of(arena, g, p), .arena = arena, .nsteps = (uint32_t)p->steps.n};
    Needs n = {.nsteps = m.nsteps};
    uint64_t *scratch = NEW_ARRAY(arena, uint64_t, (size_t)m.nsteps + 1);
    m.readers_of = NEW_ARRAY(arena, Readers, g->values.n);
    m.donors_from = NEW_ARRAY(arena, uint32_t, (size_t)m.nsteps + 1);
    find_readers(&m);
    find_items(&m);
    for (uint32_t s = 0; s < m.nsteps; s++) {
        step_donors(&m, s);
        m.donors_from[s + 1] = (uint32_t)m.donors.n;
        if (!align_up(step_scratch(g, p, s), p->align, &scratch[s]))
            scratch[s] = UINT64_MAX;
    }
    n.items = m.items.p;
    n.nitems = (uint32_t)m.items.n;
    n.readers = m.readers.p;
    n.makes = items_by_step(arena, &n, false, &n.makes_from);
    n.reads = items_by_step(arena, &n, true, &n.reads_from);
    n.donors = m.donors.p;
    n.donors_from = m.donors_from;
    n.scratch = scratch;
    return n;
}

/* The readers that are not skipped, in a list of their own. */
static Readers without(const Needs *n, Readers by, const bool *skip, uint32_t *to, uint32_t *at) {
    Readers r = {*at, *at};
    for (uint32_t k = by.from; k < by.to; k++)
        if (!skip[n->readers[k]])
            to[r.to++] = n->readers[k];
    *at = r.to;
    return r;
}

/* An item that a skipped step makes is there when the first of its readers runs, at the latest. */
static Item item_without(const Needs *n, Item x, const bool *skip, uint32_t *to, uint32_t *at) {
    x.by = without(n, x.by, skip, to, at);
    if (x.maker == NO_ID || !skip[x.maker])
        return x;
    if (x.by.to == x.by.from)
        return (Item){.maker = NO_ID, .by = x.by};
    x.maker = to[x.by.from++];
    x.loose = true;
    return x;
}

static uint32_t count_readers(const Needs *n) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n->nitems; i++)
        sum += n->items[i].by.to - n->items[i].by.from;
    for (uint32_t i = 0; i < n->donors_from[n->nsteps]; i++)
        sum += n->donors[i].by.to - n->donors[i].by.from;
    return sum;
}

Needs needs_without(Arena *arena, const Needs *n, const bool *skip) {
    Needs r = *n;
    uint32_t *readers = NEW_ARRAY(arena, uint32_t, count_readers(n)), at = 0;
    uint64_t *scratch = NEW_ARRAY(arena, uint64_t, (size_t)n->nsteps + 1);
    Item *items = NEW_ARRAY(arena, Item, n->nitems);
    Donor *donors = NEW_ARRAY(arena, Donor, n->donors_from[n->nsteps]);
    for (uint32_t i = 0; i < n->nitems; i++)
        items[i] = item_without(n, n->items[i], skip, readers, &at);
    for (uint32_t s = 0; s < n->nsteps; s++) {
        scratch[s] = skip[s] ? 0 : n->scratch[s];
        for (uint32_t k = n->donors_from[s]; k < n->donors_from[s + 1]; k++)
            donors[k] = (Donor){skip[s] ? 0 : n->donors[k].nbytes, without(n, n->donors[k].by, skip, readers, &at)};
    }
    r.items = items;
    r.readers = readers;
    r.makes = items_by_step(arena, &r, false, &r.makes_from);
    r.reads = items_by_step(arena, &r, true, &r.reads_from);
    r.donors = donors;
    r.scratch = scratch;
    return r;
}

/* Readers are listed in the order of the steps, so the last one listed is the last to run. */
static uint32_t last_reader(const Needs *n, Readers by) { return by.to > by.from ? n->readers[by.to - 1] : 0; }

static uint64_t best_donation(const Needs *n, uint32_t s) {
    uint64_t best = 0;
    for (uint32_t i = n->donors_from[s]; i < n->donors_from[s + 1]; i++)
        if (n->donors[i].nbytes > best && last_reader(n, n->donors[i].by) <= s)
            best = n->donors[i].nbytes;
    return best;
}

uint64_t needs_in_order(Arena *arena, const Needs *n, uint64_t *need, uint64_t *held) {
    uint64_t now = 0, most = 0, *dies = NEW_ARRAY(arena, uint64_t, (size_t)n->nsteps + 1);
    for (uint32_t i = 0; i < n->nitems; i++) {
        const Item *x = &n->items[i];
        uint32_t first = x->maker == NO_ID ? 0 : x->maker, last = last_reader(n, x->by);
        if (x->maker == NO_ID)
            now += x->nbytes;
        if (!x->stays)
            dies[last > first ? last : first] += x->nbytes;
    }
    for (uint32_t s = 0; s < n->nsteps; s++) {
        uint64_t made = 0, off = best_donation(n, s);
        for (uint32_t k = n->makes_from[s]; k < n->makes_from[s + 1]; k++)
            made += n->items[n->makes[k]].nbytes;
        uint64_t here = now + made - (off < now + made ? off : now + made) + n->scratch[s];
        if (held != NULL)
            held[s] = now;
        now += made - dies[s];
        here = now > here ? now : here;
        if (need != NULL)
            need[s] = here;
        most = here > most ? here : most;
    }
    if (held != NULL)
        held[n->nsteps] = now;
    return most;
}
