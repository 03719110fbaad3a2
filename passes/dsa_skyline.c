/* dsa_skyline.c - the canonical dive without lists of conflicts: bottom-left placement under a skyline.
 *
 * Objects are placed bottom-up, always the one whose lowest free offset is smallest, by a preorder among equals
 * (MiniMalloc's canonical form as a heuristic). So what lies is a skyline over time, and the lowest free offset of an
 * object is the highest point of the skyline over its life. Hence the next object is the first, by preorder, of those
 * whose lives lie within the lowest stretch of the skyline; if there is none, that stretch is raised to its lower
 * neighbour, and what is below is waste.
 *
 * Stretches are a linked list and a heap by height. Lives are points (first, last) packed along a Z-order curve into
 * a tree whose nodes know the best rank among their unplaced points: a query looks at about sqrt(n) nodes, a
 * placement takes a few queries, so a dive is O(n sqrt n) and far from it on most problems; a million objects take
 * seconds. A segment tree over the steps knows the height that each step must reach in the end: skyline, which holds
 * the waste, and the bytes still to come. A dive that cannot stay below its limit is given up as soon as that is
 * certain. Where alignments differ among the objects they are kept, but an object is chosen by its lowest free offset
 * before that is rounded up. */
#include "passes/dsa_rules.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF = 4, STACK = 128 };
#define NONE UINT32_MAX

typedef struct Node {
    uint32_t first_lo, first_hi, last_lo, last_hi;        /* box around its points */
    uint32_t best;                                        /* least rank of an unplaced point, NONE without one */
} Node;

typedef struct Point { uint32_t first, last, object; uint64_t key; } Point;

typedef struct Stretch {
    uint64_t height;
    uint32_t left, right;                                 /* neighbours; NONE at the ends */
    uint32_t first, last;                                 /* steps, both included */
    bool gone;                                            /* merged into another; its place may be used again */
} Stretch;

typedef struct Low { uint64_t height; uint32_t stretch; } Low;

typedef struct Column {                                   /* of a range of steps */
    uint64_t end;                                         /* largest height in the end */
    uint64_t raised;                                      /* by how much they were raised together */
} Column;

struct Skyline {
    Arena *arena;
    const DsaProblem *pb;
    uint32_t n, leaves;                                   /* objects of some size; leaves of the tree, a power of two */
    Point *point;                                         /* in the order of the curve */
    uint32_t *place;                                      /* by object: where its point is; NONE without bytes */
    uint32_t *rank;                                       /* by point; NONE once placed */
    uint32_t *holder;                                     /* by rank: the point */
    Node *empty, *node;                                   /* the boxes alone; [1]: the root, [leaves + i]: a leaf */
    uint32_t *step, nsteps;                               /* distinct first steps, sorted */
    uint32_t columns;                                     /* a power of two above their number */
    Column *load, *column;                                /* before anything lies; now */
    VEC(Stretch) stretch;
    VEC(uint32_t) spare;                                  /* stretches that are gone */
    VEC(Low) low;                                         /* binary heap; stale: of another height than its stretch */
};

bool dsa_plain(const DsaProblem *pb) {
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        if (o->npieces != 1 || o->pieces[0].lo != 0 || o->pieces[0].hi != o->nbytes)
            return false;
    }
    return pb->napart == 0;
}

/* the tree of lives */

static int by_first(const void *a, const void *b) {
    const Point *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static int by_last(const void *a, const void *b) {
    const Point *x = a, *y = b;
    if (x->last != y->last) return x->last < y->last ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static int by_curve(const void *a, const void *b) {
    const Point *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* The bits of x at the even places of 64. */
static uint64_t spread(uint32_t x) {
    uint64_t v = x;
    v = (v | v << 16) & UINT64_C(0x0000ffff0000ffff);
    v = (v | v << 8) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v | v << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    v = (v | v << 2) & UINT64_C(0x3333333333333333);
    return (v | v << 1) & UINT64_C(0x5555555555555555);
}

/* Coordinates are positions in sorted order, so that crowded times do not crowd the tree. */
static void sort_points(Skyline *s) {
    for (uint32_t i = 0; i < s->pb->n; i++) {
        const DsaObject *o = &s->pb->objects[i];
        s->place[i] = NONE;
        if (o->nbytes > 0)
            s->point[s->n++] = (Point){o->pieces[0].first, o->pieces[0].last, i, 0};
    }
    qsort(s->point, s->n, sizeof *s->point, by_first);
    for (uint32_t p = 0; p < s->n; p++) {
        s->point[p].key = spread(p) << 1;
        if (p == 0 || s->point[p].first != s->step[s->nsteps - 1])
            s->step[s->nsteps++] = s->point[p].first;
    }
    qsort(s->point, s->n, sizeof *s->point, by_last);
    for (uint32_t p = 0; p < s->n; p++)
        s->point[p].key |= spread(p);
    qsort(s->point, s->n, sizeof *s->point, by_curve);
    for (uint32_t p = 0; p < s->n; p++)
        s->place[s->point[p].object] = p;
}

static void find_boxes(Skyline *s) {
    for (uint32_t k = 0; k < 2 * s->leaves; k++)
        s->empty[k] = (Node){NONE, 0, NONE, 0, NONE};
    for (uint32_t p = 0; p < s->n; p++) {
        Node *d = &s->empty[s->leaves + p / LEAF];
        const Point *x = &s->point[p];
        d->first_lo = x->first < d->first_lo ? x->first : d->first_lo;
        d->first_hi = x->first > d->first_hi ? x->first : d->first_hi;
        d->last_lo = x->last < d->last_lo ? x->last : d->last_lo;
        d->last_hi = x->last > d->last_hi ? x->last : d->last_hi;
    }
    for (uint32_t k = s->leaves; --k > 0; ) {
        const Node *a = &s->empty[2 * k], *b = a + 1;
        Node *d = &s->empty[k];
        d->first_lo = a->first_lo < b->first_lo ? a->first_lo : b->first_lo;
        d->first_hi = a->first_hi > b->first_hi ? a->first_hi : b->first_hi;
        d->last_lo = a->last_lo < b->last_lo ? a->last_lo : b->last_lo;
        d->last_hi = a->last_hi > b->last_hi ? a->last_hi : b->last_hi;
    }
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t best_of_leaf(const Skyline *s, uint32_t leaf) {
    uint32_t best = NONE;
    for (uint32_t p = leaf * LEAF; p < (leaf + 1) * LEAF && p < s->n; p++)
        best = least(best, s->rank[p]);
    return best;
}

static void rank_points(Skyline *s, const uint32_t *order) {
    uint32_t r = 0;
    for (uint32_t k = 0; k < s->pb->n; k++) {
        uint32_t p = s->place[order[k]];
        if (p == NONE)
            continue;
        s->holder[r] = p;
        s->rank[p] = r++;
    }
    memcpy(s->node, s->empty, 2 * (size_t)s->leaves * sizeof *s->node);
    for (uint32_t k = 0; k < s->leaves; k++)
        s->node[s->leaves + k].best = best_of_leaf(s, k);
    for (uint32_t k = s->leaves; --k > 0; )
        s->node[k].best = least(s->node[2 * k].best, s->node[2 * k + 1].best);
}

static void remove_point(Skyline *s, uint32_t p) {
    uint32_t k = s->leaves + p / LEAF;
    s->rank[p] = NONE;
    s->node[k].best = best_of_leaf(s, p / LEAF);
    for (k /= 2; k > 0; k /= 2)
        s->node[k].best = least(s->node[2 * k].best, s->node[2 * k + 1].best);
}

/* The least rank of an unplaced object whose life lies within the steps; NONE if there is none. */
static uint32_t first_within(const Skyline *s, uint32_t first, uint32_t last, uint64_t *work) {
    uint32_t stack[STACK], depth = 0, best = NONE;
    stack[depth++] = 1;
    while (depth > 0) {
        uint32_t k = stack[--depth];
        const Node *d = &s->node[k];
        ++*work;
        if (d->best >= best || d->first_hi < first || d->last_lo > last)
            continue;
        if (d->first_lo >= first && d->last_hi <= last) {
            best = d->best;
        } else if (k >= s->leaves) {
            uint32_t p = (k - s->leaves) * LEAF, end = least(p + LEAF, s->n);
            for (; p < end; p++)
                if (s->rank[p] < best && s->point[p].first >= first && s->point[p].last <= last)
                    best = s->rank[p];
        } else {
            uint32_t better = s->node[2 * k].best <= s->node[2 * k + 1].best ? 2 * k : 2 * k + 1;
            stack[depth++] = better ^ 1;
            stack[depth++] = better;
        }
    }
    return best;
}

/* the tree of steps */

/* How many distinct first steps lie before this one. */
static uint32_t steps_before(const Skyline *s, uint64_t step) {
    uint32_t a = 0, b = s->nsteps;
    while (a < b) {
        uint32_t mid = a + (b - a) / 2;
        if (s->step[mid] < step) a = mid + 1;
        else b = mid;
    }
    return a;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void find_end(Column *c, uint32_t k) {
    c[k].end = c[k].raised + larger(c[2 * k].end, c[2 * k + 1].end);
}

/* All steps from first to last end higher by so much. */
static void raise_steps(const Skyline *s, Column *c, uint32_t first, uint32_t last, uint64_t by) {
    uint32_t a = s->columns + steps_before(s, first), b = s->columns + steps_before(s, (uint64_t)last + 1);
    uint32_t left = a, right = b - 1;
    if (a >= b)
        return;
    for (; a < b; a /= 2, b /= 2) {
        if (a & 1) c[a].end += by, c[a].raised += by, a++;
        if (b & 1) b--, c[b].end += by, c[b].raised += by;
    }
    for (left /= 2; left > 0; left /= 2)
        find_end(c, left);
    for (right /= 2; right > 0; right /= 2)
        find_end(c, right);
}

Skyline *skyline_new(Arena *arena, const DsaProblem *pb) {
    Skyline *s = NEW(arena, Skyline);
    size_t n = pb->n;
    s->arena = arena;
    s->pb = pb;
    s->point = NEW_ARRAY(arena, Point, n);
    s->place = NEW_ARRAY(arena, uint32_t, n);
    s->rank = NEW_ARRAY(arena, uint32_t, n);
    s->holder = NEW_ARRAY(arena, uint32_t, n);
    s->step = NEW_ARRAY(arena, uint32_t, n + 1);
    sort_points(s);
    for (s->leaves = 1; (uint64_t)s->leaves * LEAF < s->n; )
        s->leaves *= 2;
    for (s->columns = 1; s->columns <= s->nsteps; )
        s->columns *= 2;
    s->empty = NEW_ARRAY(arena, Node, 2 * (size_t)s->leaves);
    s->node = NEW_ARRAY(arena, Node, 2 * (size_t)s->leaves);
    s->load = NEW_ARRAY(arena, Column, 2 * (size_t)s->columns);
    s->column = NEW_ARRAY(arena, Column, 2 * (size_t)s->columns);
    find_boxes(s);
    for (uint32_t p = 0; p < s->n; p++)
        raise_steps(s, s->load, s->point[p].first, s->point[p].last, pb->objects[s->point[p].object].nbytes);
    return s;
}

/* the skyline: stretches in a list and in a heap, lowest first */

static bool lower(const Low *a, const Low *b) {
    return a->height != b->height ? a->height < b->height : a->stretch < b->stretch;
}

static void push_low(Skyline *s, uint32_t stretch) {
    Low x = {s->stretch.p[stretch].height, stretch};
    vec_push(s->arena, &s->low, x);
    Low *low = s->low.p;
    size_t i = s->low.n - 1;
    for (; i > 0 && lower(&x, &low[(i - 1) / 2]); i = (i - 1) / 2)
        low[i] = low[(i - 1) / 2];
    low[i] = x;
}

static Low pop_low(Skyline *s) {
    Low *low = s->low.p, top = low[0], x = low[--s->low.n];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < s->low.n; i = c) {
        if (c + 1 < s->low.n && lower(&low[c + 1], &low[c]))
            c++;
        if (!lower(&low[c], &x))
            break;
        low[i] = low[c];
    }
    low[i] = x;
    return top;
}

static bool as_high(const Skyline *s, uint32_t stretch, uint64_t height) {
    return stretch != NONE && s->stretch.p[stretch].height == height;
}

static Stretch *leave(Skyline *s, uint32_t at) {
    vec_push(s->arena, &s->spare, at);
    s->stretch.p[at].gone = true;
    return &s->stretch.p[at];
}

/* Takes in neighbours of the same height. */
static void widen(Skyline *s, uint32_t at) {
    Stretch *x = &s->stretch.p[at];
    while (as_high(s, x->left, x->height)) {
        Stretch *y = leave(s, x->left);
        x->first = y->first;
        x->left = y->left;
    }
    while (as_high(s, x->right, x->height)) {
        Stretch *y = leave(s, x->right);
        x->last = y->last;
        x->right = y->right;
    }
    if (x->left != NONE) s->stretch.p[x->left].right = at;
    if (x->right != NONE) s->stretch.p[x->right].left = at;
}

/* The lowest stretch, as wide as it is; it leaves the heap. */
static uint32_t lowest(Skyline *s) {
    for (;;) {
        Low l = pop_low(s);
        const Stretch *x = &s->stretch.p[l.stretch];
        if (x->gone || x->height != l.height)
            continue;
        widen(s, l.stretch);
        return l.stretch;
    }
}

/* Up to the lower neighbour. */
static void raise_stretch(Skyline *s, uint32_t at) {
    Stretch *x = &s->stretch.p[at];
    uint64_t left = x->left != NONE ? s->stretch.p[x->left].height : UINT64_MAX;
    uint64_t right = x->right != NONE ? s->stretch.p[x->right].height : UINT64_MAX;
    uint64_t to = left < right ? left : right;
    raise_steps(s, s->column, x->first, x->last, to - x->height);
    x->height = to;
    push_low(s, at);
}

static uint32_t new_stretch(Skyline *s, uint32_t first, uint32_t last, uint64_t height, uint32_t left, uint32_t right) {
    uint32_t at = s->spare.n > 0 ? s->spare.p[--s->spare.n] : (uint32_t)s->stretch.n;
    Stretch x = {.height = height, .left = left, .right = right, .first = first, .last = last};
    if (at == s->stretch.n)
        vec_push(s->arena, &s->stretch, x);
    else
        s->stretch.p[at] = x;
    if (left != NONE) s->stretch.p[left].right = at;
    if (right != NONE) s->stretch.p[right].left = at;
    push_low(s, at);
    return at;
}

/* Steps first to last of the stretch get another height; what is beside them stays as low as it was. */
static void cut(Skyline *s, uint32_t at, uint32_t first, uint32_t last, uint64_t height) {
    Stretch old = s->stretch.p[at];
    s->stretch.p[at].first = first;
    s->stretch.p[at].last = last;
    s->stretch.p[at].height = height;
    push_low(s, at);
    if (old.first < first)
        new_stretch(s, old.first, first - 1, old.height, old.left, at);
    if (last < old.last)
        new_stretch(s, last + 1, old.last, old.height, at, old.right);
}

static uint64_t up(uint64_t x, uint64_t align) {
    return align > 1 ? (x + align - 1) / align * align : x;
}

uint64_t skyline_dive(Skyline *s, const uint32_t *order, uint64_t limit, uint64_t *offset, uint64_t *work) {
    uint64_t height = 0;
    uint32_t left = s->n;
    rank_points(s, order);
    memcpy(s->column, s->load, 2 * (size_t)s->columns * sizeof *s->column);
    s->stretch.n = s->spare.n = s->low.n = 0;
    new_stretch(s, 0, UINT32_MAX, 0, NONE, NONE);
    for (uint32_t i = 0; i < s->pb->n; i++)
        offset[i] = s->place[i] == NONE ? 0 : DSA_NO_OFFSET;
    *work += s->n;
    while (left > 0) {
        uint32_t at = lowest(s), r = first_within(s, s->stretch.p[at].first, s->stretch.p[at].last, work);
        if (r == NONE) {
            raise_stretch(s, at);
        } else {
            const Point *p = &s->point[s->holder[r]];
            const DsaObject *o = &s->pb->objects[p->object];
            uint64_t from = s->stretch.p[at].height, to = up(from, o->align);
            offset[p->object] = to;
            height = larger(height, to + o->nbytes);
            if (to > from)
                raise_steps(s, s->column, p->first, p->last, to - from);
            remove_point(s, s->holder[r]);
            cut(s, at, p->first, p->last, to + o->nbytes);
            left--;
        }
        if (s->column[1].end >= limit)
            return DSA_NO_HEIGHT;
    }
    return height;
}

uint32_t skyline_tallest(const Skyline *s) {
    uint32_t k = 1;
    while (k < s->columns)
        k = s->column[2 * k].end >= s->column[2 * k + 1].end ? 2 * k : 2 * k + 1;
    return s->step[k - s->columns];
}
