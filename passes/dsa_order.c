/* dsa_order.c - what the orders of placement rules go by, and sorting by it. O(n log n); the largest load in a life
 * comes from a sparse table over the distinct first steps, since the load rises nowhere else. Measures are doubles:
 * exact below 2^53, and the same on every machine above. */
#include "passes/dsa_rules.h"

#include <stdlib.h>

typedef struct Change { uint32_t step; uint64_t bytes; } Change;

static int by_step(const void *a, const void *b) {
    const Change *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* What begins (or ends) when, in the order of time. */
static Change *changes(Arena *arena, const DsaProblem *pb, bool ends, size_t *n) {
    size_t count = 0, k = 0;
    for (uint32_t i = 0; i < pb->n; i++)
        count += pb->objects[i].npieces;
    Change *c = NEW_ARRAY(arena, Change, count + 1);
    for (uint32_t i = 0; i < pb->n; i++)
        for (uint32_t j = 0; j < pb->objects[i].npieces; j++) {
            const DsaPiece *p = &pb->objects[i].pieces[j];
            if (p->hi > p->lo)
                c[k++] = (Change){ends ? p->last : p->first, p->hi - p->lo};
        }
    qsort(c, k, sizeof *c, by_step);
    *n = k;
    return c;
}

/* How many of the n sorted steps are below x. */
static size_t below(const uint32_t *step, size_t n, uint64_t x) {
    size_t a = 0, b = n;
    while (a < b) {
        size_t mid = a + (b - a) / 2;
        if (step[mid] < x) a = mid + 1;
        else b = mid;
    }
    return a;
}

enum { LEVELS = 33 };

typedef struct LoadTable {
    uint32_t *step;                                       /* distinct first steps, m of them */
    size_t m;
    double *level[LEVELS];                                /* level[l][i]: the largest load at steps i to i + 2^l - 1 */
} LoadTable;

static void fill_load(Arena *arena, const DsaProblem *pb, LoadTable *t) {
    size_t n, e = 0;
    Change *in = changes(arena, pb, false, &n), *out = changes(arena, pb, true, &n);
    uint64_t now = 0;
    t->step = NEW_ARRAY(arena, uint32_t, n + 1);
    t->level[0] = NEW_ARRAY(arena, double, n + 1);
    for (size_t i = 0; i < n; i++) {
        for (; e < n && out[e].step < in[i].step; e++)
            now -= out[e].bytes;
        now += in[i].bytes;
        if (t->m == 0 || t->step[t->m - 1] != in[i].step)
            t->step[t->m++] = in[i].step;
        t->level[0][t->m - 1] = (double)now;
    }
    for (int l = 1; ((size_t)1 << l) <= t->m; l++) {
        size_t half = (size_t)1 << (l - 1);
        t->level[l] = NEW_ARRAY(arena, double, t->m);
        for (size_t i = 0; i + 2 * half <= t->m; i++) {
            double a = t->level[l - 1][i], b = t->level[l - 1][i + half];
            t->level[l][i] = a > b ? a : b;
        }
    }
}

static double largest_load(const LoadTable *t, uint32_t first, uint32_t last) {
    size_t a = below(t->step, t->m, first), b = below(t->step, t->m, (uint64_t)last + 1);
    int l = 0;
    if (a >= b)
        return 0;
    while (((size_t)2 << l) <= b - a)
        l++;
    double x = t->level[l][a], y = t->level[l][b - ((size_t)1 << l)];
    return x > y ? x : y;
}

/* All others, less those that begin after its end or end before its beginning. */
static void count_touching(Arena *arena, const DsaProblem *pb, double *touching) {
    uint32_t *first = NEW_ARRAY(arena, uint32_t, pb->n), *last = NEW_ARRAY(arena, uint32_t, pb->n);
    for (uint32_t i = 0; i < pb->n; i++) {
        first[i] = dsa_first(&pb->objects[i]);
        last[i] = dsa_last(&pb->objects[i]);
    }
    qsort(first, pb->n, sizeof *first, by_number);
    qsort(last, pb->n, sizeof *last, by_number);
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *o = &pb->objects[i];
        size_t begun = below(first, pb->n, (uint64_t)dsa_last(o) + 1), ended = below(last, pb->n, dsa_first(o));
        touching[i] = (double)begun - (double)ended - 1;
    }
}

DsaMeasures dsa_measure(Arena *arena, const DsaProblem *pb) {
    size_t n = pb->n;
    Arena *room = arena_new();                            /* the table is larger than all measures together */
    LoadTable table = {0};
    DsaMeasures m = {.life = NEW_ARRAY(arena, double, n), .area = NEW_ARRAY(arena, double, n),
                     .size = NEW_ARRAY(arena, double, n), .load = NEW_ARRAY(arena, double, n),
                     .touching = NEW_ARRAY(arena, double, n), .early = NEW_ARRAY(arena, double, n)};
    fill_load(room, pb, &table);
    count_touching(room, pb, m.touching);
    for (size_t i = 0; i < n; i++) {
        const DsaObject *o = &pb->objects[i];
        uint32_t first = dsa_first(o), last = dsa_last(o);
        m.size[i] = (double)o->nbytes;
        m.life[i] = (double)last - (double)first + 1;
        m.early[i] = -(double)first;
        m.load[i] = largest_load(&table, first, last);
        for (const DsaPiece *p = o->pieces; p < o->pieces + o->npieces; p++)
            m.area[i] += (double)(p->hi - p->lo) * ((double)p->last - (double)p->first + 1);
    }
    arena_free(room);
    return m;
}

double dsa_random(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 40) / (double)(1 << 24);
}

static int by_key(const void *a, const void *b) {
    const DsaKey *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x->k[k] != y->k[k])
            return x->k[k] > y->k[k] ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

void dsa_sort(DsaKey *room, uint32_t n, const double *const by[3], double noise, uint64_t *seed, uint32_t *order) {
    for (uint32_t i = 0; i < n; i++) {
        double factor = noise > 0 ? 1 + noise * (2 * dsa_random(seed) - 1) : 1;
        room[i].i = i;
        for (int k = 0; k < 3; k++)
            room[i].k[k] = by[k] ? by[k][i] * factor : 0;
    }
    qsort(room, n, sizeof *room, by_key);
    for (uint32_t i = 0; i < n; i++)
        order[i] = room[i].i;
}
