/* dsa_greedy.c - greedy placement of plain objects in a given order, first fit or best fit: the family of rules of
 * most production planners (TFLite and TFLite Micro by size, TVM by size or conflicts, ONNX Runtime by time).
 *
 * What lies is kept in the order of addresses, so that the free gaps for an object are found by one walk over it:
 * O(n^2) at worst, about 1 ns for each object passed, no lists of conflicts. Pinned objects lie before the rule
 * begins. */
#include "passes/dsa_rules.h"

#include <string.h>

typedef struct Lying { uint64_t offset, top; uint32_t first, last; } Lying;
typedef struct Shelf { Lying *p; uint32_t n; uint64_t height; } Shelf;           /* by offset */

static uint64_t up(uint64_t x, uint64_t align) {
    return align > 1 ? (x + align - 1) / align * align : x;
}

static void put(Shelf *s, const DsaObject *o, uint64_t offset) {
    uint32_t a = 0, b = s->n;
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (s->p[mid].offset < offset) a = mid + 1;
        else b = mid;
    }
    memmove(&s->p[a + 1], &s->p[a], (s->n - a) * sizeof *s->p);
    s->p[a] = (Lying){offset, offset + o->nbytes, o->pieces[0].first, o->pieces[0].last};
    s->n++;
    if (offset + o->nbytes > s->height)
        s->height = offset + o->nbytes;
}

/* The lowest gap that is wide enough, or the tightest one; on top of all that is in the way where there is none. */
static uint64_t fit(const Shelf *s, const DsaObject *o, bool tight, uint64_t *work) {
    uint32_t first = o->pieces[0].first, last = o->pieces[0].last, k = 0;
    uint64_t at = 0, best = 0, least = UINT64_MAX;
    for (; k < s->n; k++) {
        const Lying *l = &s->p[k];
        if (l->last < first || last < l->first)
            continue;
        if (l->offset >= at && l->offset - at >= o->nbytes && l->offset - at < least) {
            best = at;
            least = l->offset - at;
            if (!tight)
                break;
        }
        if (l->top > at)
            at = up(l->top, o->align);
    }
    *work += k / 8 + 1;
    return least == UINT64_MAX ? at : best;
}

uint64_t dsa_greedy(Arena *scratch, const DsaProblem *pb, const uint32_t *order, bool tight, uint64_t limit,
                    uint64_t *offset, uint64_t *work) {
    Shelf s = {.p = NEW_ARRAY(scratch, Lying, (size_t)pb->n + 1)};
    for (uint32_t i = 0; i < pb->n; i++)
        if (pb->objects[i].pinned) {
            offset[i] = pb->objects[i].offset;
            put(&s, &pb->objects[i], offset[i]);
        }
    for (uint32_t k = 0; k < pb->n && s.height < limit; k++) {
        const DsaObject *o = &pb->objects[order[k]];
        if (o->pinned)
            continue;
        offset[order[k]] = o->nbytes > 0 ? fit(&s, o, tight, work) : 0;
        if (o->nbytes > 0)
            put(&s, o, offset[order[k]]);
    }
    return s.height < limit ? s.height : DSA_NO_HEIGHT;
}
