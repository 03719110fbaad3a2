/* dsa_bound.c - what no placement can be below: the load (the largest sum of bytes needed in one step), the same with what
 * alignment wastes, the top of what is pinned. Sweeps over the steps, O(n log n).
 *
 * Of a pair that may overlap in part, the load counts what they may share at most only once (Bonferroni's inequality: a union is
 * not smaller than the sum of its parts less the sum of what pairs share). */
#include "passes/dsa.h"

#include <stdlib.h>

typedef struct Change { uint64_t step; uint64_t bytes; bool less; } Change;      /* the load changes at the beginning of a step */
typedef VEC(Change) Changes;

static int by_step(const void *a, const void *b) {
    const Change *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

static void change(Arena *arena, Changes *v, uint64_t bytes, uint64_t first, uint64_t last, bool less) {
    if (bytes == 0 || last < first)
        return;
    vec_push(arena, v, ((Change){ first, bytes, less }));
    vec_push(arena, v, ((Change){ last + 1, bytes, !less }));
}

/* The most that objects of a pair may share: when one lies as far into the other as (lo, hi) allows. */
static uint64_t shared(const DsaProblem *pb, const DsaApart *x) {
    uint64_t a = pb->objects[x->a].nbytes, b = pb->objects[x->b].nbytes, most = 0;
    uint64_t below = x->lo < 0 ? (uint64_t)-x->lo : 0, above = x->hi > 0 ? (uint64_t)x->hi : 0;
    if (x->lo >= x->hi)
        return a < b ? a : b;
    if (a > below)
        most = a - below < b ? a - below : b;
    if (b > above && (b - above < a ? b - above : a) > most)
        most = b - above < a ? b - above : a;
    return most;
}

static void share(Arena *arena, Changes *v, const DsaProblem *pb, const DsaApart *x) {
    const DsaObject *a = &pb->objects[x->a], *b = &pb->objects[x->b];
    uint32_t first = dsa_first(a) > dsa_first(b) ? dsa_first(a) : dsa_first(b);
    uint32_t last = dsa_last(a) < dsa_last(b) ? dsa_last(a) : dsa_last(b);
    change(arena, v, shared(pb, x), first, last, true);
}

static uint64_t up(uint64_t x, uint64_t unit) { return unit > 1 ? (x + unit - 1) / unit * unit : x; }

/* The largest load when every piece counts as a whole number of units; *step is where it is. */
static uint64_t largest_load(Arena *arena, const DsaProblem *pb, uint64_t unit, uint32_t *step) {
    Changes v = { 0 };
    uint64_t plus = 0, minus = 0, most = 0;
    vec_reserve(arena, (void **)&v.p, &v.cap, 2 * ((size_t)pb->n + pb->napart), sizeof *v.p);
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t k = 0; k < pb->objects[i].npieces; k++) {
            const DsaPiece *p = &pb->objects[i].pieces[k];
            change(arena, &v, up(p->hi - p->lo, unit), p->first, p->last, false);
        }
    for (uint32_t k = 0; k < pb->napart; k++)
        share(arena, &v, pb, &pb->apart[k]);
    if (v.n > 0)
        qsort(v.p, v.n, sizeof *v.p, by_step);
    *step = 0;
    for (size_t i = 0; i < v.n; i++) {
        *(v.p[i].less ? &minus : &plus) += v.p[i].bytes;
        bool complete = i + 1 == v.n || v.p[i + 1].step != v.p[i].step;
        if (complete && plus > minus && plus - minus > most) {
            most = plus - minus;
            *step = (uint32_t)v.p[i].step;
        }
    }
    return most;
}

uint64_t dsa_load(Arena *scratch, const DsaProblem *pb) {
    uint32_t step;
    return largest_load(scratch, pb, 1, &step);
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

uint64_t dsa_unit(const DsaProblem *pb) {
    uint64_t unit = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        unit = gcd(gcd(unit, o->nbytes), o->pinned ? o->offset : o->align > 1 ? o->align : 0);
        for (uint32_t k = 0; k < o->npieces && o->npieces > 1; k++)
            unit = gcd(gcd(unit, o->pieces[k].lo), o->pieces[k].hi);
    }
    for (uint32_t k = 0; k < pb->napart; k++) {
        int64_t lo = pb->apart[k].lo, hi = pb->apart[k].hi;
        unit = gcd(gcd(unit, (uint64_t)(lo < 0 ? -lo : lo)), (uint64_t)(hi < 0 ? -hi : hi));
    }
    return unit ? unit : 1;
}

/* Every offset is a multiple of the common divisor of all alignments, so in any step all objects but the topmost one take up
 * whole units of it. Of the topmost one's last unit, `waste` bytes at most are not needed. */
typedef struct Grid { uint64_t unit, waste; } Grid;

static Grid grid_of(const DsaProblem *pb) {
    Grid g = { 0, 0 };
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        if (o->npieces != 1 || pb->napart > 0)            /* what lies between pieces need not be whole units */
            return (Grid){ 1, 0 };
        g.unit = gcd(g.unit, o->pinned ? o->offset : o->align ? o->align : 1);
    }
    for (uint32_t i = 0; i < pb->n; i++) {
        uint64_t w = up(pb->objects[i].nbytes, g.unit) - pb->objects[i].nbytes;
        g.waste = w > g.waste ? w : g.waste;
    }
    return g;
}

uint64_t dsa_bound(Arena *scratch, const DsaProblem *pb) {
    uint32_t step;
    Grid g = grid_of(pb);
    uint64_t bound = dsa_load(scratch, pb), aligned = g.unit > 1 ? largest_load(scratch, pb, g.unit, &step) : bound;
    if (aligned > g.waste && aligned - g.waste > bound)
        bound = aligned - g.waste;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        uint64_t top = o->nbytes + (o->pinned ? o->offset : 0);
        bound = top > bound ? top : bound;
    }
    return bound;
}

/* the clique over the load */

typedef struct Member { uint64_t bytes; uint32_t object; } Member;

static int by_bytes(const void *a, const void *b) {
    const Member *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

/* The objects needed in a step, by falling bytes in whole units. */
static Member *members_of(Arena *arena, const DsaProblem *pb, uint32_t step, uint64_t unit, uint32_t *n) {
    Member *m = NEW_ARRAY(arena, Member, pb->n);
    *n = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        Member x = { 0, i };
        for (uint32_t k = 0; k < pb->objects[i].npieces; k++) {
            const DsaPiece *p = &pb->objects[i].pieces[k];
            x.bytes += p->first <= step && step <= p->last ? up(p->hi - p->lo, unit) : 0;
        }
        if (x.bytes > 0)
            m[(*n)++] = x;
    }
    if (*n > 0)
        qsort(m, *n, sizeof *m, by_bytes);
    return m;
}

uint32_t *dsa_clique(Arena *scratch, const DsaProblem *pb, uint64_t capacity, uint32_t *n) {
    uint32_t step, all;
    uint64_t sum = 0;
    Grid g = { 1, 0 };
    *n = 0;
    if (pb->napart > 0)
        return NULL;
    if (largest_load(scratch, pb, 1, &step) <= capacity) {
        g = grid_of(pb);
        if (largest_load(scratch, pb, g.unit, &step) <= capacity + g.waste)
            return NULL;
    }
    Member *m = members_of(scratch, pb, step, g.unit, &all);
    uint32_t *members = NEW_ARRAY(scratch, uint32_t, all);
    while (sum <= capacity + g.waste) {
        sum += m[*n].bytes;
        members[*n] = m[*n].object;
        ++*n;
    }
    return members;
}
