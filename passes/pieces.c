/* pieces.c - when are which bytes of a buffer needed? The union of rectangles (byte range x life) as disjoint
 * pieces.
 *
 * A sweep over the byte boundaries: between two of them the set of uses is constant, and the union of their lives
 * is one or more intervals of steps. Cost O(n log n + sum over uses of the boundaries they cross); when that sum
 * passes a limit (a buffer with thousands of nested slices) the whole buffer becomes one piece with the hull of the
 * lives, which is always safe. */
#include "passes/steps.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORK = 1 << 24 };

typedef struct Life { uint32_t first, last; } Life;
typedef VEC(Life) Lives;

static int by_place(const void *a, const void *b) {
    const Use *x = a, *y = b;
    if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : 0;
}
static int by_life(const void *a, const void *b) {
    const Life *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : 0;
}
static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x != y ? (x < y ? -1 : 1) : 0;
}

/* Lives that touch (one ends in the step before the other begins) are joined: the bytes are never free between them. */
static void unite(Lives *l) {
    size_t n = 0;
    qsort(l->p, l->n, sizeof *l->p, by_life);
    for (size_t i = 0; i < l->n; i++) {
        if (n > 0 && l->p[i].first <= l->p[n - 1].last + (l->p[n - 1].last != UINT32_MAX)) {
            if (l->p[i].last > l->p[n - 1].last)
                l->p[n - 1].last = l->p[i].last;
        } else {
            l->p[n++] = l->p[i];
        }
    }
    l->n = n;
}

static void hull(Arena *out, const Use *uses, uint32_t n, Pieces *pieces) {
    Piece p = {uses[0].lo, uses[0].hi, uses[0].first, uses[0].last};
    for (uint32_t i = 1; i < n; i++) {
        p.lo = uses[i].lo < p.lo ? uses[i].lo : p.lo;
        p.hi = uses[i].hi > p.hi ? uses[i].hi : p.hi;
        p.first = uses[i].first < p.first ? uses[i].first : p.first;
        p.last = uses[i].last > p.last ? uses[i].last : p.last;
    }
    vec_push(out, pieces, p);
}

/* Appends the pieces of [lo, hi); a range whose lives equal its left neighbour's lengthens that one's pieces. */
static void emit(Arena *out, Pieces *pieces, size_t *run, uint64_t lo, uint64_t hi, const Lives *l) {
    size_t n = pieces->n - *run;
    bool same = n == l->n && n > 0 && pieces->p[*run].hi == lo;
    for (size_t i = 0; same && i < n; i++)
        same = pieces->p[*run + i].first == l->p[i].first && pieces->p[*run + i].last == l->p[i].last;
    if (same) {
        for (size_t i = 0; i < n; i++)
            pieces->p[*run + i].hi = hi;
        return;
    }
    *run = pieces->n;
    for (size_t i = 0; i < l->n; i++)
        vec_push(out, pieces, ((Piece){lo, hi, l->p[i].first, l->p[i].last}));
}

static uint64_t *boundaries(Arena *scratch, const Use *uses, uint32_t n, uint32_t *count) {
    uint64_t *b = NEW_ARRAY(scratch, uint64_t, 2 * (size_t)n);
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        b[2 * (size_t)i] = uses[i].lo;
        b[2 * (size_t)i + 1] = uses[i].hi;
    }
    qsort(b, 2 * (size_t)n, sizeof *b, by_size);
    for (size_t i = 0; i < 2 * (size_t)n; i++)
        if (k == 0 || b[i] != b[k - 1])
            b[k++] = b[i];
    *count = k;
    return b;
}

/* Sweep: `active` holds the uses that reach over the range [b[i], b[i + 1]). */
static bool sweep(Arena *out, Arena *scratch, const Use *uses, uint32_t n, const uint64_t *b, uint32_t nb, Pieces *pieces) {
    uint32_t *active = NEW_ARRAY(scratch, uint32_t, n);
    uint32_t nactive = 0, next = 0;
    size_t run = pieces->n;
    uint64_t work = 0;
    Lives lives = {0};
    for (uint32_t i = 0; i + 1 < nb; i++) {
        uint32_t kept = 0;
        while (next < n && uses[next].lo <= b[i])
            active[nactive++] = next++;
        lives.n = 0;
        for (uint32_t k = 0; k < nactive; k++)
            if (uses[active[k]].hi > b[i]) {
                active[kept++] = active[k];
                vec_push(scratch, &lives, ((Life){uses[active[k]].first, uses[active[k]].last}));
            }
        work += nactive;
        nactive = kept;
        if (work > MAX_WORK)
            return false;
        unite(&lives);
        emit(out, pieces, &run, b[i], b[i + 1], &lives);
    }
    return true;
}

bool pieces_of(Arena *out, Arena *scratch, Use *uses, uint32_t n, Pieces *pieces) {
    uint32_t nb;
    if (n == 1) {
        hull(out, uses, n, pieces);
        return true;
    }
    qsort(uses, n, sizeof *uses, by_place);
    const uint64_t *b = boundaries(scratch, uses, n, &nb);
    size_t before = pieces->n;
    if (nb > 1 && sweep(out, scratch, uses, n, b, nb, pieces))
        return true;
    pieces->n = before;
    hull(out, uses, n, pieces);
    return false;
}
