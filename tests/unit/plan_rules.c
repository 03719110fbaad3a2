/* plan_rules.c - each placement rule against a slow, obvious version of it: the canonical dive under a skyline and
 * over lists of conflicts, greedy rules by address and over lists, measures. Limits are kept exactly, improving never
 * makes worse, and the portfolio is never above a rule of another planner (bench/peers.h). */
#include "tests/unit/check.h"

#include "bench/peers.h"
#include "passes/dsa_rules.h"

enum { MAX = 80 };

typedef struct Problem {
    DsaObject objects[MAX];
    DsaPiece pieces[MAX];
    PeerBuffer buffers[MAX];
    DsaProblem pb;
    uint32_t order[MAX];
} Problem;

static uint32_t below(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

/* Few sizes and steps, so that there are many ties; some objects without bytes. */
static void make(Problem *p, uint64_t *seed, uint32_t n, uint32_t steps, uint64_t align) {
    memset(p, 0, sizeof *p);
    p->pb = (DsaProblem){.objects = p->objects, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = below(seed, steps), last = first + below(seed, 1 + below(seed, steps)), j = below(seed, i + 1);
        uint64_t size = align * below(seed, 12);
        p->pieces[i] = (DsaPiece){0, size, first, last};
        p->objects[i] = (DsaObject){.pieces = &p->pieces[i], .npieces = 1, .nbytes = size, .align = align};
        p->buffers[i] = (PeerBuffer){first, (int64_t)last + 1, size};
        p->order[i] = p->order[j];
        p->order[j] = i;
    }
}

static bool meet(const DsaObject *a, const DsaObject *b) {
    return a->pieces->first <= b->pieces->last && b->pieces->first <= a->pieces->last;
}

/* Always the unplaced object with the lowest free offset, then the earliest in the order. Without bytes: at 0. */
static uint64_t slow_dive(const Problem *p, uint64_t *offset) {
    bool placed[MAX] = {false};
    uint64_t low[MAX] = {0}, height = 0;
    for (uint32_t k = 0; k < p->pb.n; k++) {
        uint32_t best = MAX;
        for (uint32_t r = 0; r < p->pb.n; r++) {
            uint32_t i = p->order[r];
            if (!placed[i] && (best == MAX || low[i] < low[best]))
                best = i;
        }
        const DsaObject *o = &p->objects[best];
        uint64_t top = low[best] + o->nbytes;
        placed[best] = true;
        offset[best] = o->nbytes ? low[best] : 0;
        height = top > height && o->nbytes ? top : height;
        for (uint32_t j = 0; j < p->pb.n && o->nbytes; j++)
            if (!placed[j] && meet(o, &p->objects[j]) && low[j] < top)
                low[j] = top;
    }
    return height;
}

static bool right(Arena *a, Problem *p, const uint64_t *offset, uint64_t height) {
    uint32_t pair[2];
    uint64_t top = 0;
    for (uint32_t i = 0; i < p->pb.n; i++) {
        p->objects[i].offset = offset[i];
        top = offset[i] + p->objects[i].nbytes > top ? offset[i] + p->objects[i].nbytes : top;
    }
    return top == height && dsa_check(a, &p->pb, pair);
}

static void test_dive(Arena *a) {
    uint64_t seed = 3, work = 0;
    for (int r = 0; r < 1500; r++) {
        Problem p;
        uint64_t slow[MAX], fast[MAX];
        make(&p, &seed, 1 + below(&seed, MAX), 1 + below(&seed, 40), 1u << below(&seed, 3));
        Skyline *s = skyline_new(a, &p.pb);
        uint64_t height = slow_dive(&p, slow);
        CHECK(skyline_dive(s, p.order, DSA_NO_HEIGHT, fast, &work) == height);
        CHECK(memcmp(slow, fast, p.pb.n * sizeof *slow) == 0);
        CHECK(skyline_dive(s, p.order, height, fast, &work) == DSA_NO_HEIGHT || height == 0);
        CHECK(skyline_dive(s, p.order, height + 1, fast, &work) == height);
        CHECK(memcmp(slow, fast, p.pb.n * sizeof *slow) == 0);
        CHECK(right(a, &p, fast, height));
        Pairs *pairs = pairs_new(a, &p.pb);
        CHECK(pairs != NULL && pairs_dive(pairs, p.order, DSA_NO_HEIGHT, fast, &work) == height);
        CHECK(memcmp(slow, fast, p.pb.n * sizeof *slow) == 0);
        CHECK(pairs_dive(pairs, p.order, height, fast, &work) == DSA_NO_HEIGHT);
        arena_reset(a);
    }
}

/* Alignments that differ: no longer the same dive, but a placement that keeps them. */
static void test_mixed_alignment(Arena *a) {
    uint64_t seed = 5, work = 0;
    for (int r = 0; r < 300; r++) {
        Problem p;
        uint64_t offset[MAX];
        make(&p, &seed, 1 + below(&seed, MAX), 20, 1);
        for (uint32_t i = 0; i < p.pb.n; i++)
            p.objects[i].align = 1 + below(&seed, 5);
        uint64_t height = skyline_dive(skyline_new(a, &p.pb), p.order, DSA_NO_HEIGHT, offset, &work);
        CHECK(right(a, &p, offset, height));
        height = dsa_greedy(a, &p.pb, p.order, r % 2, DSA_NO_HEIGHT, offset, &work);
        CHECK(right(a, &p, offset, height));
        arena_reset(a);
    }
}

static void test_greedy(Arena *a) {
    uint64_t seed = 9, work = 0;
    for (int r = 0; r < 1500; r++) {
        Problem p;
        uint64_t slow[MAX], fast[MAX], lists[MAX];
        bool tight = r % 2;
        make(&p, &seed, 1 + below(&seed, MAX), 1 + below(&seed, 40), 1);
        for (uint32_t i = 0; i < p.pb.n; i++)             /* one without bytes may lie anywhere, so there is none */
            p.pieces[i].hi = p.buffers[i].size = p.objects[i].nbytes += 1;
        Pairs *pairs = pairs_new(a, &p.pb);
        uint64_t height = peer_place(a, p.buffers, p.pb.n, p.order, tight, slow);
        CHECK(dsa_greedy(a, &p.pb, p.order, tight, DSA_NO_HEIGHT, fast, &work) == height);
        CHECK(memcmp(slow, fast, p.pb.n * sizeof *slow) == 0);
        CHECK(pairs && pairs_greedy(pairs, p.order, tight, DSA_NO_HEIGHT, lists, &work) == height);
        CHECK(memcmp(slow, lists, p.pb.n * sizeof *slow) == 0);
        CHECK(dsa_greedy(a, &p.pb, p.order, tight, height, fast, &work) == DSA_NO_HEIGHT);
        CHECK(pairs_greedy(pairs, p.order, tight, height, fast, &work) == DSA_NO_HEIGHT);
        CHECK(right(a, &p, slow, height));
        arena_reset(a);
    }
}

/* What is pinned stays, and the others keep away from it. */
static void test_pins(Arena *a) {
    uint64_t seed = 13, work = 0;
    for (int r = 0; r < 500; r++) {
        Problem p;
        uint64_t offset[MAX], first[MAX];
        make(&p, &seed, 2 + below(&seed, MAX - 1), 20, 1);
        dsa_greedy(a, &p.pb, p.order, false, DSA_NO_HEIGHT, first, &work);
        for (uint32_t i = 0; i < p.pb.n; i++)
            if (below(&seed, 4) == 0) {
                p.objects[i].pinned = true;
                p.objects[i].offset = first[i] + 3;
            }
        uint64_t height = dsa_greedy(a, &p.pb, p.order, r % 2, DSA_NO_HEIGHT, offset, &work);
        for (uint32_t i = 0; i < p.pb.n; i++)
            CHECK(!p.objects[i].pinned || offset[i] == first[i] + 3);
        CHECK(right(a, &p, offset, height));
        DsaResult d = dsa_place(a, &p.pb);
        CHECK(dsa_bound(a, &p.pb) <= d.height);
        for (uint32_t i = 0; i < p.pb.n; i++) {
            CHECK(!p.objects[i].pinned || p.objects[i].offset == first[i] + 3);
            offset[i] = p.objects[i].offset;
        }
        CHECK(right(a, &p, offset, d.height));
        arena_reset(a);
    }
}

static void test_measures(Arena *a) {
    uint64_t seed = 17;
    for (int r = 0; r < 300; r++) {
        Problem p;
        make(&p, &seed, 1 + below(&seed, MAX), 30, 1);
        DsaMeasures m = dsa_measure(a, &p.pb);
        for (uint32_t i = 0; i < p.pb.n; i++) {
            double touching = 0, most = 0;
            for (uint32_t j = 0; j < p.pb.n; j++)
                touching += j != i && meet(&p.objects[i], &p.objects[j]);
            for (uint32_t t = p.pieces[i].first; t <= p.pieces[i].last; t++) {
                double load = 0;
                for (uint32_t j = 0; j < p.pb.n; j++)
                    load += p.pieces[j].first <= t && t <= p.pieces[j].last ? (double)p.objects[j].nbytes : 0;
                most = load > most ? load : most;
            }
            CHECK(m.touching[i] == touching);
            CHECK(m.load[i] == most || p.objects[i].nbytes == 0);
            CHECK(m.area[i] == m.life[i] * m.size[i]);
            CHECK(m.early[i] == -(double)p.pieces[i].first);
        }
        arena_reset(a);
    }
}

static void test_improve(Arena *a) {
    uint64_t seed = 23, better = 0;
    for (int r = 0; r < 200; r++) {
        Problem p;
        uint64_t offset[MAX], again[MAX], work = 0, work2 = 0;
        make(&p, &seed, 20 + below(&seed, MAX - 20), 30, 1);
        uint64_t load = dsa_load(a, &p.pb), start = dsa_greedy(a, &p.pb, p.order, false, DSA_NO_HEIGHT, offset, &work);
        CHECK(right(a, &p, offset, start));
        work = 0;
        uint64_t height = dsa_improve(a, &p.pb, start, load, 100000, 1, &work);
        CHECK(load <= height && height <= start && work < 200000);
        better += height < start;
        for (uint32_t i = 0; i < p.pb.n; i++)
            again[i] = p.objects[i].offset;
        CHECK(right(a, &p, again, height));
        CHECK(height < start || memcmp(offset, again, p.pb.n * sizeof *offset) == 0);
        CHECK(right(a, &p, offset, start));
        CHECK(dsa_improve(a, &p.pb, start, load, 100000, 1, &work2) == height && work2 == work);
        for (uint32_t i = 0; i < p.pb.n; i++)
            CHECK(p.objects[i].offset == again[i]);
        CHECK(dsa_improve(a, &p.pb, load, 0, 20000, 7, &work) == load);          /* nothing is below the load */
        CHECK(p.objects[0].offset == again[0]);
        arena_reset(a);
    }
    CHECK(better > 100);
}

static void test_never_above_peers(Arena *a) {
    uint64_t seed = 29;
    for (int r = 0; r < 150; r++) {
        Problem p;
        make(&p, &seed, 1 + below(&seed, MAX), 1 + below(&seed, 60), 1);
        CHECK(peer_load(p.buffers, p.pb.n) == dsa_load(a, &p.pb));
        DsaResult d = dsa_place(a, &p.pb);
        for (size_t k = 0; k < COUNT_OF(peer_rules); k++)
            CHECK(d.height <= peer_height(a, p.buffers, p.pb.n, &peer_rules[k]));
        CHECK(d.height <= peer_slots(a, p.buffers, p.pb.n));
        if (p.pb.n > 1 && r % 10 == 0)
            CHECK(peer_hill_climb(a, p.buffers, p.pb.n, 20) >= dsa_load(a, &p.pb));
        arena_reset(a);
    }
}

/* All share one step and none fits under another: no rule may be quadratic in the pairs. */
static void test_all_at_once(Arena *a) {
    uint32_t n = 50000, *order = NEW_ARRAY(a, uint32_t, n);
    uint64_t sum = 0, work = 0, *offset = NEW_ARRAY(a, uint64_t, n);
    DsaObject *o = NEW_ARRAY(a, DsaObject, n);
    DsaPiece *q = NEW_ARRAY(a, DsaPiece, n);
    for (uint32_t i = 0; i < n; i++) {
        q[i] = (DsaPiece){0, 1 + i % 9, n - i, n + i};
        o[i] = (DsaObject){.pieces = &q[i], .npieces = 1, .nbytes = q[i].hi, .align = 1};
        sum += q[i].hi;
        order[i] = i;
    }
    DsaProblem pb = {.objects = o, .n = n};
    CHECK(skyline_dive(skyline_new(a, &pb), order, DSA_NO_HEIGHT, offset, &work) == sum);
    CHECK(work < (uint64_t)n * 1000);
}

int main(void) {
    Arena *a = arena_new();
    test_dive(a);
    test_mixed_alignment(a);
    test_greedy(a);
    test_pins(a);
    test_measures(a);
    test_improve(a);
    test_never_above_peers(a);
    test_all_at_once(a);
    arena_free(a);
    return check_done();
}
