/* dsa_solve.c - the offset solver against brute force on random problems of up to 8 objects, with alignments and pins: the optimum
 * is found and proven, one unit less is refused, and the objects named as the reason really do not fit; the same with objects of
 * several pieces and pairs that may overlap in part. Each exact search is also asked alone. The checker of placements is checked
 * against comparing all pairs byte by byte. */
#include "tests/unit/check.h"

#include "passes/dsa.h"

#include <string.h>

enum { MAX_OBJECTS = 8, MAX_PIECES = 3, EFFORT = 20000000 };

typedef struct Problem {
    DsaObject objects[MAX_OBJECTS];
    DsaPiece pieces[MAX_OBJECTS][MAX_PIECES];
    DsaApart apart[MAX_OBJECTS];
    DsaProblem pb;
} Problem;

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static void make(Problem *p, uint64_t *seed, uint32_t n, uint32_t unit)
{
    memset(p, 0, sizeof *p);
    p->pb = (DsaProblem){.objects = p->objects, .n = n};
    uint32_t steps = 3 + below(seed, 10);
    bool aligned = below(seed, 2) == 0, pins = below(seed, 3) == 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = below(seed, steps);
        uint64_t size = (1 + below(seed, 9)) * unit;
        p->pieces[i][0] = (DsaPiece){0, size, first, first + below(seed, steps - first)};
        p->objects[i] = (DsaObject){.pieces = p->pieces[i], .npieces = 1, .nbytes = size, .align = aligned ? unit << below(seed, 3) : 1};
        if (pins && below(seed, 4) == 0) {
            p->objects[i].pinned = true;
            p->objects[i].offset = below(seed, 4) * p->objects[i].align;
        }
    }
}

/* Cuts an object of one piece into several: its life has a hole, or its halves lives of their own. */
static void cut(Problem *p, uint64_t *seed, uint32_t i)
{
    DsaPiece *q = p->pieces[i], whole = q[0];
    if (whole.last - whole.first >= 2 && below(seed, 2) == 0) {
        q[0] = (DsaPiece){0, whole.hi, whole.first, whole.first};
        q[1] = (DsaPiece){0, whole.hi, whole.first + 2, whole.last};
        p->objects[i].npieces = 2;
    } else if (whole.hi >= 2) {
        uint64_t half = 1 + below(seed, (uint32_t)whole.hi - 1);
        q[0] = (DsaPiece){0, half, whole.first, whole.last};
        q[1] = (DsaPiece){half, whole.hi, whole.last, whole.last + below(seed, 3)};
        p->objects[i].npieces = 2;
    }
}

static bool share_step(const DsaObject *a, const DsaObject *b) { return dsa_first(a) <= dsa_last(b) && dsa_first(b) <= dsa_last(a); }

/* Byte by byte and step by step: the definition. */
static bool collide(const DsaProblem *pb, uint32_t i, uint32_t j)
{
    const DsaObject *a = &pb->objects[i], *b = &pb->objects[j];
    for (uint32_t k = 0; k < pb->napart; k++) {
        const DsaApart *x = &pb->apart[k];
        if (((x->a == i && x->b == j) || (x->a == j && x->b == i)) && share_step(a, b)) {
            int64_t d = (int64_t)pb->objects[x->a].offset - (int64_t)pb->objects[x->b].offset;
            return x->lo < d && d < x->hi;
        }
    }
    for (uint32_t k = 0; k < a->npieces; k++)
        for (uint32_t l = 0; l < b->npieces; l++) {
            const DsaPiece *p = &a->pieces[k], *q = &b->pieces[l];
            if (p->first <= q->last && q->first <= p->last)
                for (uint64_t byte = a->offset + p->lo; byte < a->offset + p->hi; byte++)
                    if (byte >= b->offset + q->lo && byte < b->offset + q->hi) return true;
        }
    return false;
}

static bool collides_below(const DsaProblem *pb, uint32_t i, uint32_t n)
{
    for (uint32_t j = 0; j < pb->n; j++)
        if (j != i && (j < n || pb->objects[j].pinned) && collide(pb, i, j)) return true;
    return false;
}

/* The lowest height below `best`: every offset of every object is tried. UINT64_MAX if pins collide. */
static uint64_t optimum(DsaProblem *pb, uint32_t i, uint64_t height, uint64_t best)
{
    if (i == pb->n) return height;
    DsaObject *o = &pb->objects[i];
    if (o->pinned) {
        uint64_t top = o->offset + o->nbytes;
        if (top >= best || collides_below(pb, i, i)) return best;
        return optimum(pb, i + 1, top > height ? top : height, best);
    }
    uint64_t keep = o->offset;
    for (o->offset = 0; o->offset + o->nbytes < best; o->offset += o->align)
        if (!collides_below(pb, i, i)) {
            uint64_t top = o->offset + o->nbytes, h = optimum(pb, i + 1, top > height ? top : height, best);
            best = h < best ? h : best;
        }
    o->offset = keep;
    return best;
}

static uint64_t brute(const DsaProblem *pb, uint64_t limit)
{
    DsaObject objects[MAX_OBJECTS];
    DsaProblem copy = *pb;
    memcpy(objects, pb->objects, pb->n * sizeof *objects);
    copy.objects = objects;
    return optimum(&copy, 0, 0, limit);
}

/* The same for plain objects: any packing can be pushed down in the order of its offsets, so some order in which each object takes
 * the lowest place among pins and those before it is optimal. placed: bits. */
static uint64_t by_order(DsaProblem *pb, uint32_t placed, uint64_t height, uint64_t best)
{
    if (height >= best) return best;
    if (placed == (1u << pb->n) - 1) return height;
    for (uint32_t i = 0; i < pb->n; i++) {
        DsaObject *o = &pb->objects[i];
        if (placed & (1u << i)) continue;
        for (o->offset = 0; o->offset + o->nbytes < best; o->offset += o->align) {
            bool free = true;
            for (uint32_t j = 0; free && j < pb->n; j++) free = !(placed & (1u << j)) || !collide(pb, i, j);
            if (!free) continue;
            uint64_t top = o->offset + o->nbytes;
            best = by_order(pb, placed | (1u << i), top > height ? top : height, best);
            break;
        }
    }
    return best;
}

/* Of the objects in `which`, or of all. */
static uint64_t best_order(const DsaProblem *pb, const uint32_t *which, uint32_t n, uint64_t limit)
{
    DsaObject objects[MAX_OBJECTS];
    DsaProblem sub = {.objects = objects, .n = n};
    uint64_t height = 0;
    uint32_t pins = 0;
    for (uint32_t i = 0; i < n; i++) {
        objects[i] = pb->objects[which ? which[i] : i];
        if (!objects[i].pinned) continue;
        pins |= 1u << i;
        height = objects[i].offset + objects[i].nbytes > height ? objects[i].offset + objects[i].nbytes : height;
    }
    return by_order(&sub, pins, height, limit);
}

/* The objects named as the reason do not fit, by trying every offset. */
static void check_conflict(const DsaProblem *pb, const DsaSolution *s, uint64_t capacity)
{
    DsaObject objects[MAX_OBJECTS];
    DsaProblem sub = {.objects = objects, .n = s->nconflict};
    CHECK(s->nconflict > 0 && s->nconflict <= pb->n);
    for (uint32_t i = 0; i < s->nconflict; i++) objects[i] = pb->objects[s->conflict[i]];
    CHECK(optimum(&sub, 0, 0, capacity + 1) == capacity + 1);
}

static void check_infeasible(Arena *a, Problem *p, uint64_t capacity)
{
    DsaLimits limits = {.capacity = capacity, .effort = EFFORT};
    DsaSolution s = dsa_solve(a, &p->pb, &limits);
    CHECK(s.status == DSA_INFEASIBLE);
    CHECK(s.bound > capacity);
    CHECK(s.nconflict > 0 && s.nconflict <= p->pb.n);
    CHECK(best_order(&p->pb, s.conflict, s.nconflict, capacity + 1) == capacity + 1);
}

static void test_plain(Arena *a)
{
    uint64_t seed = 5;
    uint32_t above_load = 0, by_search = 0;
    for (uint32_t r = 0; r < 400; r++) {
        Problem p;
        uint32_t n = 1 + below(&seed, MAX_OBJECTS);
        make(&p, &seed, n, 1);
        DsaLimits limits = {.effort = EFFORT};
        DsaSolution s = dsa_solve(a, &p.pb, &limits);
        if (!s.placed) {
            CHECK(s.status == DSA_INFEASIBLE && s.nconflict == 2);
            CHECK(p.pb.objects[s.conflict[0]].pinned && p.pb.objects[s.conflict[1]].pinned && collide(&p.pb, s.conflict[0], s.conflict[1]));
            continue;
        }
        uint32_t pair[2];
        uint64_t height = s.height;
        CHECK(dsa_check(a, &p.pb, pair));
        CHECK(s.status == DSA_MEETS_BOUND || s.status == DSA_EXHAUSTED);
        CHECK(s.bound == height && s.load <= height);
        CHECK(best_order(&p.pb, NULL, n, height) == height);
        CHECK(n > 4 || brute(&p.pb, height) == height);
        above_load += height > s.load;
        by_search += s.status == DSA_EXHAUSTED;
        limits.capacity = height;
        s = dsa_solve(a, &p.pb, &limits);
        CHECK(s.placed && s.status == (s.bound == height ? DSA_MEETS_BOUND : DSA_WITHIN) && s.height == height);
        if (height > 1) check_infeasible(a, &p, height - 1);
        arena_reset(a);
    }
    CHECK(above_load > 30);                              /* the problems are not all easy */
    CHECK(by_search > 5);
}

/* Sizes, alignments and pins have a common divisor, heights too. */
static void test_units(Arena *a)
{
    uint64_t seed = 9;
    for (uint32_t r = 0; r < 60; r++) {
        Problem p;
        make(&p, &seed, 1 + below(&seed, 8), 4096);
        DsaLimits limits = {.effort = EFFORT};
        DsaSolution s = dsa_solve(a, &p.pb, &limits);
        CHECK(!s.placed || s.status == DSA_MEETS_BOUND || s.status == DSA_EXHAUSTED);
        arena_reset(a);
    }
}

static void test_pieces(Arena *a)
{
    uint64_t seed = 21;
    uint32_t above_load = 0;
    for (uint32_t r = 0; r < 200; r++) {
        Problem p;
        uint32_t n = 2 + below(&seed, 3);
        make(&p, &seed, n, 1);
        for (uint32_t i = 0; i < n; i++)
            if (below(&seed, 2)) cut(&p, &seed, i);
        DsaLimits limits = {.effort = EFFORT};
        DsaSolution s = dsa_solve(a, &p.pb, &limits);
        if (!s.placed) continue;
        uint32_t pair[2];
        uint64_t best = brute(&p.pb, s.height);
        CHECK(dsa_check(a, &p.pb, pair));
        CHECK(s.height == best && s.bound == best && (s.status == DSA_MEETS_BOUND || s.status == DSA_EXHAUSTED));
        above_load += best > s.load;
        if (best > 1) {
            limits.capacity = best - 1;
            s = dsa_solve(a, &p.pb, &limits);
            CHECK(s.status == DSA_INFEASIBLE);
            check_conflict(&p.pb, &s, best - 1);
        }
        arena_reset(a);
    }
    CHECK(above_load > 8);
}

static void test_partial_overlap(Arena *a)
{
    uint64_t seed = 33;
    uint32_t overlapped = 0, all = 150;
    for (uint32_t r = 0; r < all; r++) {
        Problem p;
        uint32_t n = 2 + below(&seed, 3), pair[2];
        make(&p, &seed, n, 1);
        for (uint32_t i = 0; i < n; i++) p.objects[i].pinned = false;
        for (uint32_t i = 0; i + 1 < n && i < 2; i++) {
            int64_t size = (int64_t)p.objects[i].nbytes, other = (int64_t)p.objects[i + 1].nbytes;
            DsaApart x = {i, i + 1, -size, other};
            if (below(&seed, 2)) x.lo = -(int64_t)below(&seed, (uint32_t)size + 1);
            else x.hi = (int64_t)below(&seed, (uint32_t)other + 1);
            p.apart[p.pb.napart++] = x;
        }
        p.pb.apart = p.apart;
        uint64_t without = p.pb.napart;
        p.pb.napart = 0;
        uint64_t plain = brute(&p.pb, 100);
        p.pb.napart = (uint32_t)without;
        DsaLimits limits = {.effort = EFFORT};
        DsaSolution s = dsa_solve(a, &p.pb, &limits);
        uint64_t best = brute(&p.pb, s.height);
        CHECK(s.placed && dsa_check(a, &p.pb, pair));
        CHECK(s.height == best && s.bound == best && best <= plain && s.status != DSA_WITHIN);
        overlapped += s.height < plain;
        arena_reset(a);
    }
    CHECK(overlapped * 10 >= all);                        /* it is used */
}

/* Both exact searches on the same problems: they agree with the optimum and with each other. */
static void test_searches(Arena *a)
{
    uint64_t seed = 77;
    for (uint32_t r = 0; r < 400; r++) {
        Problem p;
        uint64_t nodes = 0;
        uint32_t pair[2];
        make(&p, &seed, 1 + below(&seed, 7), 1);
        for (uint32_t i = 0; i < p.pb.n; i++) p.objects[i].pinned = p.objects[i].pinned && i == 0;
        uint64_t best = best_order(&p.pb, NULL, p.pb.n, 200);
        for (int below_best = 0; below_best < 2; below_best++) {
            DsaVerdict expected = below_best ? DSA_IMPOSSIBLE : DSA_FOUND;
            CHECK(dsa_search(a, &p.pb, best - (uint64_t)below_best, EFFORT, EFFORT, 0, &nodes) == expected);
            CHECK(below_best || dsa_check(a, &p.pb, pair));
            CHECK(dsa_sweep(a, &p.pb, best - (uint64_t)below_best, EFFORT, &nodes) == expected);
            CHECK(below_best || dsa_check(a, &p.pb, pair));
        }
        arena_reset(a);
    }
}

static void test_checker(Arena *a)
{
    uint64_t seed = 3;
    uint32_t bad = 0, all = 3000;
    for (uint32_t r = 0; r < all; r++) {
        Problem p;
        uint32_t n = 1 + below(&seed, 5), pair[2] = {0, 0};
        make(&p, &seed, n, 1);
        bool wrong = false;
        for (uint32_t i = 0; i < n; i++) {
            if (below(&seed, 2)) cut(&p, &seed, i);
            p.objects[i].pinned = false;
            p.objects[i].offset = below(&seed, 30);
        }
        for (uint32_t i = 0; i < n; i++) {
            wrong = wrong || p.objects[i].offset % p.objects[i].align != 0;
            for (uint32_t j = 0; j < i; j++) wrong = wrong || collide(&p.pb, i, j);
        }
        CHECK(dsa_check(a, &p.pb, pair) == !wrong);
        bad += wrong;
        arena_reset(a);
    }
    CHECK(bad > all / 10 && bad < all - all / 10);
}

/* Two hard halves that do not touch in time: each is solved alone, and the verdict holds for both. */
static void test_parts(Arena *a)
{
    DsaPiece p[4] = {{0, 2, 0, 4}, {0, 4, 0, 4}, {0, 2, 9, 9}, {0, 5, 9, 12}};
    DsaObject o[4] = {{.pieces = &p[0], .npieces = 1, .nbytes = 2, .align = 1, .pinned = true, .offset = 3},
                      {.pieces = &p[1], .npieces = 1, .nbytes = 4, .align = 1},
                      {.pieces = &p[2], .npieces = 1, .nbytes = 2, .align = 1, .pinned = true, .offset = 4},
                      {.pieces = &p[3], .npieces = 1, .nbytes = 5, .align = 1}};
    DsaProblem pb = {.objects = o, .n = 4};
    DsaLimits limits = {.effort = EFFORT};
    DsaSolution s = dsa_solve(a, &pb, &limits);
    CHECK(s.load == 7 && s.height == 11 && s.status == DSA_EXHAUSTED);
    limits.capacity = 10;
    s = dsa_solve(a, &pb, &limits);
    CHECK(s.status == DSA_INFEASIBLE && s.nconflict == 2 && s.conflict[0] == 2 && s.conflict[1] == 3);
    limits = (DsaLimits){.capacity = 10};
    s = dsa_solve(a, &pb, &limits);
    CHECK(s.status == DSA_NOT_FOUND && s.height == 11 && s.bound == 7);
}

int main(void)
{
    Arena *a = arena_new();
    test_plain(a);
    test_units(a);
    test_pieces(a);
    test_partial_overlap(a);
    test_searches(a);
    test_checker(a);
    test_parts(a);
    arena_free(a);
    return check_done();
}
