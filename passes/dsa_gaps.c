/* dsa_gaps.c - the placement rule that scales: objects in the order of their first steps, each as one block for the
 * hull of its life, put into the first or the tightest of the free gaps, else on top (linear scan allocation, as an
 * online allocator would do it). Gaps are kept sorted by address. O(n * gaps), with at most LOOK gaps looked at for
 * each object, so that a million objects take seconds; pieces and their own lives are not used. Where objects are
 * pinned, the others lie above the highest of them. */
#include "passes/dsa.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK = 4096 };

typedef struct Moment { uint32_t step, object; } Moment;

typedef struct Gap { uint64_t lo, hi; } Gap;
typedef VEC(Gap) Gaps;

static uint64_t up(uint64_t x, uint64_t align) {
    return align > 1 ? (x + align - 1) / align * align : x;
}

static void give_back(Arena *arena, Gaps *gaps, uint64_t lo, uint64_t hi) {
    size_t a = 0, b = gaps->n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (gaps->p[m].lo < lo) a = m + 1;
        else b = m;
    }
    bool left = a > 0 && gaps->p[a - 1].hi == lo, right = a < gaps->n && gaps->p[a].lo == hi;
    if (left && right) {
        gaps->p[a - 1].hi = gaps->p[a].hi;
        memmove(&gaps->p[a], &gaps->p[a + 1], (gaps->n - a - 1) * sizeof *gaps->p);
        gaps->n--;
    } else if (left) {
        gaps->p[a - 1].hi = hi;
    } else if (right) {
        gaps->p[a].lo = lo;
    } else {
        vec_push(arena, gaps, ((Gap){lo, hi}));
        memmove(&gaps->p[a + 1], &gaps->p[a], (gaps->n - a - 1) * sizeof *gaps->p);
        gaps->p[a] = (Gap){lo, hi};
    }
}

/* Takes the first or the tightest gap that holds nbytes, else the end; *top is where everything ends. Looks at limited gaps. */
static uint64_t take(Arena *arena, Gaps *gaps, uint64_t nbytes, uint64_t align, bool tight, uint64_t *top) {
    size_t found = SIZE_MAX;
    uint64_t at = 0;
    for (size_t k = 0; k < gaps->n && k < LOOK; k++) {
        uint64_t lo = up(gaps->p[k].lo, align);
        if (lo + nbytes > gaps->p[k].hi)
            continue;
        if (found == SIZE_MAX || gaps->p[k].hi - gaps->p[k].lo < gaps->p[found].hi - gaps->p[found].lo) {
            found = k;
            at = lo;
        }
        if (!tight)
            break;
    }
    if (found == SIZE_MAX) {
        /* The last gap may reach the top: it is lengthened rather than skipped. */
        bool end = gaps->n > 0 && gaps->p[gaps->n - 1].hi == *top;
        Gap g = end ? gaps->p[gaps->n - 1] : (Gap){*top, *top};
        if (end)
            gaps->n--;
        at = up(g.lo, align);
        *top = at + nbytes;
        if (at > g.lo)
            give_back(arena, gaps, g.lo, at);
        return at;
    }
    Gap g = gaps->p[found];
    memmove(&gaps->p[found], &gaps->p[found + 1], (gaps->n - found - 1) * sizeof *gaps->p);
    gaps->n--;
    if (at > g.lo)
        give_back(arena, gaps, g.lo, at);
    if (at + nbytes < g.hi)
        give_back(arena, gaps, at + nbytes, g.hi);
    return at;
}

uint32_t dsa_first(const DsaObject *o) {
    uint32_t t = o->pieces[0].first;
    for (uint32_t i = 1; i < o->npieces; i++)
        t = o->pieces[i].first < t ? o->pieces[i].first : t;
    return t;
}

uint32_t dsa_last(const DsaObject *o) {
    uint32_t t = o->pieces[0].last;
    for (uint32_t i = 1; i < o->npieces; i++)
        t = o->pieces[i].last > t ? o->pieces[i].last : t;
    return t;
}

static int by_moment(const void *a, const void *b) {
    const Moment *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->object != y->object ? (x->object < y->object ? -1 : 1) : 0;
}

static Moment *moments(Arena *scratch, const DsaProblem *pb, bool ends) {
    Moment *m = NEW_ARRAY(scratch, Moment, pb->n);
    for (uint32_t i = 0; i < pb->n; i++)
        m[i] = (Moment){ends ? dsa_last(&pb->objects[i]) : dsa_first(&pb->objects[i]), i};
    qsort(m, pb->n, sizeof *m, by_moment);
    return m;
}

/* Fills in the offsets of what is pinned; where the highest of it ends. */
static uint64_t top_of_pins(const DsaProblem *pb, uint64_t *offset) {
    uint64_t top = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        if (!o->pinned)
            continue;
        offset[i] = o->offset;
        top = o->offset + o->nbytes > top ? o->offset + o->nbytes : top;
    }
    return top;
}

uint64_t dsa_in_time(Arena *scratch, const DsaProblem *pb, bool tight, uint64_t *offset) {
    uint64_t top = top_of_pins(pb, offset), height = top;
    uint32_t out = 0;
    Moment *in = moments(scratch, pb, false), *ends = moments(scratch, pb, true);
    Gaps gaps = {0};
    for (uint32_t k = 0; k < pb->n; k++) {
        const DsaObject *o = &pb->objects[in[k].object];
        uint64_t *at = &offset[in[k].object];
        if (o->pinned)
            continue;
        for (; out < pb->n && ends[out].step < in[k].step; out++) {
            const DsaObject *gone = &pb->objects[ends[out].object];
            uint64_t lo = offset[ends[out].object];
            if (gone->nbytes > 0 && !gone->pinned)
                give_back(scratch, &gaps, lo, lo + gone->nbytes);
        }
        *at = o->nbytes > 0 ? take(scratch, &gaps, o->nbytes, o->align, tight, &top) : 0;
        height = *at + o->nbytes > height ? *at + o->nbytes : height;
    }
    return height;
}
