/* plan_dsa.c - offsets on random problems: no two pieces that share a step share a byte, offsets are aligned, the
 * height is what the objects reach, never below the load, and never below the true optimum; which for plain objects
 * is the best first fit over all orders, and is met nearly always. Rigid objects interlock; a million objects in a
 * chain take two places. */
#include "tests/unit/check.h"

#include "passes/dsa.h"

#include <string.h>

enum { MAX_OBJECTS = 12, MAX_PIECES = 3 };

typedef struct Problem {
    DsaObject objects[MAX_OBJECTS];
    DsaPiece pieces[MAX_OBJECTS][MAX_PIECES];
    DsaProblem pb;
} Problem;

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static void make(Problem *p, uint64_t *seed, uint32_t n, bool rigid)
{
    memset(p, 0, sizeof *p);
    p->pb = (DsaProblem){.objects = p->objects, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        DsaObject *o = &p->objects[i];
        uint32_t count = rigid ? 1 + below(seed, MAX_PIECES) : 1;
        uint64_t at = 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t first = below(seed, 8);
            p->pieces[i][k] = (DsaPiece){at, at + 1 + below(seed, 9), first, first + below(seed, 5)};
            at = p->pieces[i][k].hi;
        }
        *o = (DsaObject){.pieces = p->pieces[i], .npieces = count, .nbytes = at, .align = rigid ? 1u << below(seed, 3) : 1};
    }
}

static bool collide(const DsaObject *a, const DsaPiece *p, const DsaObject *b, const DsaPiece *q)
{
    return p->first <= q->last && q->first <= p->last && a->offset + p->lo < b->offset + q->hi && b->offset + q->lo < a->offset + p->hi;
}

static uint64_t check_placement(const DsaProblem *pb)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < pb->n; i++) {
        const DsaObject *a = &pb->objects[i];
        CHECK(a->offset % a->align == 0);
        height = a->offset + a->nbytes > height ? a->offset + a->nbytes : height;
        for (uint32_t j = 0; j < i; j++)
            for (uint32_t k = 0; k < a->npieces; k++)
                for (uint32_t l = 0; l < pb->objects[j].npieces; l++)
                    CHECK(!collide(a, &a->pieces[k], &pb->objects[j], &pb->objects[j].pieces[l]));
    }
    return height;
}

static uint64_t lowest_place(DsaProblem *pb, const uint32_t *order, uint32_t placed, uint32_t i)
{
    DsaObject *o = &pb->objects[i];
    for (o->offset = 0; ; o->offset++) {
        bool free = true;
        for (uint32_t k = 0; free && k < placed; k++)
            free = !collide(o, o->pieces, &pb->objects[order[k]], pb->objects[order[k]].pieces);
        if (free) return o->offset + o->nbytes;
    }
}

/* Plain objects: any packing can be pushed down in the order of its offsets, so some order of first fits is optimal. */
static uint64_t optimum(DsaProblem *pb, uint32_t *order, uint32_t placed, uint32_t used, uint64_t height, uint64_t best)
{
    if (height >= best || placed == pb->n) return height < best ? height : best;
    for (uint32_t i = 0; i < pb->n; i++) {
        if (used & (1u << i)) continue;
        uint64_t top = lowest_place(pb, order, placed, i);
        order[placed] = i;
        best = optimum(pb, order, placed + 1, used | (1u << i), top > height ? top : height, best);
        lowest_place(pb, order, placed, i);
    }
    return best;
}

static void test_against_optimum(Arena *a)
{
    uint64_t seed = 7;
    uint32_t met = 0, all = 1500;
    for (uint32_t r = 0; r < all; r++) {
        Problem p;
        uint32_t order[MAX_OBJECTS];
        make(&p, &seed, 1 + below(&seed, 6), false);
        uint64_t load = dsa_load(a, &p.pb), best = optimum(&p.pb, order, 0, 0, 0, UINT64_MAX);
        DsaResult d = dsa_place(a, &p.pb);
        CHECK(check_placement(&p.pb) == d.height);
        CHECK(load <= best);
        CHECK(best <= d.height);
        met += best == d.height;
        arena_reset(a);
    }
    CHECK(met * 100 >= all * 99);
}

static void test_rigid(Arena *a)
{
    uint64_t seed = 11;
    for (int r = 0; r < 4000; r++) {
        Problem p;
        make(&p, &seed, 1 + below(&seed, MAX_OBJECTS), true);
        uint64_t load = dsa_load(a, &p.pb);
        DsaResult d = dsa_place(a, &p.pb);
        CHECK(check_placement(&p.pb) == d.height);
        CHECK(load <= d.height);
        arena_reset(a);
    }
}

/* The half that is written late leaves room for what dies before: 24, not 32. */
static void test_gap_in_a_rigid_object(Arena *a)
{
    DsaPiece whole[] = {{0, 8, 0, 9}, {8, 16, 6, 9}}, early[] = {{0, 8, 0, 5}}, late[] = {{0, 8, 6, 9}};
    DsaObject o[] = {{.pieces = whole, .npieces = 2, .nbytes = 16, .align = 8},
                     {.pieces = early, .npieces = 1, .nbytes = 8, .align = 8},
                     {.pieces = late, .npieces = 1, .nbytes = 8, .align = 8}};
    DsaProblem pb = {.objects = o, .n = 3};
    CHECK(dsa_load(a, &pb) == 24);
    CHECK(dsa_place(a, &pb).height == 24);
    CHECK(check_placement(&pb) == 24);
}

static void test_empty(Arena *a)
{
    DsaPiece none = {0, 0, 2, 3}, some = {0, 5, 2, 3};
    DsaObject o[] = {{.pieces = &none, .npieces = 1, .align = 4}, {.pieces = &some, .npieces = 1, .nbytes = 5, .align = 4}};
    DsaProblem pb = {.objects = o, .n = 2}, nothing = {.objects = o};
    CHECK(dsa_place(a, &pb).height == 5);
    CHECK(check_placement(&pb) == 5);
    CHECK(dsa_place(a, &nothing).height == 0);
}

static void test_a_million(Arena *a)
{
    uint32_t n = 1000000;
    DsaObject *o = NEW_ARRAY(a, DsaObject, n);
    DsaPiece *p = NEW_ARRAY(a, DsaPiece, n);
    for (uint32_t i = 0; i < n; i++) {
        p[i] = (DsaPiece){0, 64, i, i + 1};
        o[i] = (DsaObject){.pieces = &p[i], .npieces = 1, .nbytes = 64, .align = 64};
    }
    DsaProblem pb = {.objects = o, .n = n, .bound = 128};
    CHECK(dsa_place(a, &pb).height == 128);
    for (uint32_t i = 1; i < n; i++)
        if (o[i].offset == o[i - 1].offset) {
            CHECK(!"neighbours in the chain share a place");
            break;
        }
}

/* All alive at once: nothing can be shared, and nothing is quadratic. */
static void test_all_at_once(Arena *a)
{
    uint32_t n = 20000;
    uint64_t sum = 0;
    DsaObject *o = NEW_ARRAY(a, DsaObject, n);
    DsaPiece *p = NEW_ARRAY(a, DsaPiece, n);
    for (uint32_t i = 0; i < n; i++) {
        p[i] = (DsaPiece){0, 1 + i % 7, 0, 1};
        o[i] = (DsaObject){.pieces = &p[i], .npieces = 1, .nbytes = p[i].hi, .align = 1};
        sum += p[i].hi;
    }
    DsaProblem pb = {.objects = o, .n = n};
    CHECK(dsa_load(a, &pb) == sum);
    CHECK(dsa_place(a, &pb).height == sum);
}

int main(void)
{
    Arena *a = arena_new();
    test_against_optimum(a);
    test_rigid(a);
    test_gap_in_a_rigid_object(a);
    test_empty(a);
    arena_reset(a);
    test_a_million(a);
    arena_reset(a);
    test_all_at_once(a);
    arena_free(a);
    return check_done();
}
