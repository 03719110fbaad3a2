/* dsa_check.c - is a placement right? Pieces in the order of their first steps enter a map of the bytes in use, and leave it when
 * their last step is over: O(n log n). Shares no code with what places. Objects that may overlap others in part are compared
 * with every other object instead, one by one. */
#include "passes/bytemap.h"
#include "passes/dsa.h"

#include <stdlib.h>

typedef struct Moment { uint64_t step; uint32_t object, piece; bool begins; } Moment;

static int by_moment(const void *a, const void *b) {
    const Moment *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? 1 : -1;
    if (x->object != y->object) return x->object < y->object ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

/* What was asked of a pair instead of sharing no byte; NULL if nothing was. */
static const DsaApart *asked(const DsaProblem *pb, uint32_t i, uint32_t j) {
    for (uint32_t k = 0; k < pb->napart; k++)
        if ((pb->apart[k].a == i && pb->apart[k].b == j) || (pb->apart[k].a == j && pb->apart[k].b == i))
            return &pb->apart[k];
    return NULL;
}

static bool pieces_collide(const DsaObject *a, const DsaPiece *p, const DsaObject *b, const DsaPiece *q) {
    return p->first <= q->last && q->first <= p->last && a->offset + p->lo < b->offset + q->hi && b->offset + q->lo < a->offset + p->hi;
}

static bool share_step(const DsaObject *a, const DsaObject *b) {
    return dsa_first(a) <= dsa_last(b) && dsa_first(b) <= dsa_last(a);
}

static bool collide(const DsaProblem *pb, uint32_t i, uint32_t j) {
    const DsaObject *a = &pb->objects[i], *b = &pb->objects[j];
    const DsaApart *x = share_step(a, b) ? asked(pb, i, j) : NULL;
    if (x != NULL) {
        int64_t distance = (int64_t)pb->objects[x->a].offset - (int64_t)pb->objects[x->b].offset;
        return x->lo < distance && distance < x->hi;
    }
    for (uint32_t k = 0; k < a->npieces; k++)
        for (uint32_t l = 0; l < b->npieces; l++)
            if (pieces_collide(a, &a->pieces[k], b, &b->pieces[l]))
                return true;
    return false;
}

static bool check_pairs(const DsaProblem *pb, const bool *alone, uint32_t pair[2]) {
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t j = 0; alone[i] && j < pb->n; j++)
            if (i != j && collide(pb, i, j)) {
                pair[0] = i;
                pair[1] = j;
                return false;
            }
    return true;
}

static bool check_map(Arena *scratch, const DsaProblem *pb, const bool *alone, uint32_t pair[2]) {
    VEC(Moment) moments = { 0 };
    ByteMap map;
    bytemap_init(&map, scratch);
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t k = 0; !alone[i] && k < pb->objects[i].npieces; k++) {
            const DsaPiece *p = &pb->objects[i].pieces[k];
            if (p->hi == p->lo)
                continue;
            vec_push(scratch, &moments, ((Moment){ p->first, i, k, true }));
            vec_push(scratch, &moments, ((Moment){ (uint64_t)p->last + 1, i, k, false }));
        }
    if (moments.n > 0)
        qsort(moments.p, moments.n, sizeof *moments.p, by_moment);
    for (size_t m = 0; m < moments.n; m++) {
        uint32_t i = moments.p[m].object;
        const DsaPiece *p = &pb->objects[i].pieces[moments.p[m].piece];
        uint64_t lo = pb->objects[i].offset + p->lo, hi = pb->objects[i].offset + p->hi;
        uint32_t there = moments.p[m].begins ? bytemap_any(&map, lo, hi) : UINT32_MAX;
        if (there != UINT32_MAX) {
            pair[0] = there;
            pair[1] = i;
            return false;
        }
        if (moments.p[m].begins)
            bytemap_write(&map, lo, hi, i, 0);
        else
            bytemap_erase(&map, lo, hi);
    }
    return true;
}

bool dsa_check(Arena *scratch, const DsaProblem *pb, uint32_t pair[2]) {
    bool *alone = NEW_ARRAY(scratch, bool, (size_t)pb->n + 1);
    for (uint32_t k = 0; k < pb->napart; k++)
        alone[pb->apart[k].a] = alone[pb->apart[k].b] = true;
    for (uint32_t i = 0; i < pb->n; i++)
        if (!pb->objects[i].pinned && pb->objects[i].align > 1 && pb->objects[i].offset % pb->objects[i].align != 0) {
            pair[0] = pair[1] = i;
            return false;
        }
    return check_map(scratch, pb, alone, pair) && check_pairs(pb, alone, pair);
}
