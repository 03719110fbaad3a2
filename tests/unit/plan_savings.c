/* plan_savings.c - what each decision is said to save is what the network needs more when it is written so that the decision
 * cannot be taken, or planned for a target that does not have it; the levels' figures are those of the levels planned alone. */
#include "tests/unit/plan_lab.h"

static Plan *saved(Lab *l, Level level) {
    PlanOptions o = {.level = level, .target = TARGET_C, .align = 64, .savings = true};
    Plan *p = plan_network(l->ctx, l->g, &o);
    CHECK(p != NULL);
    return p;
}

static uint64_t saving(const Plan *p, RewriteKind kind, const Value *v) {
    for (size_t i = 0; i < p->rewrites.n; i++)
        if (p->rewrites.p[i].kind == kind && p->rewrites.p[i].op == v->def->id) return p->rewrites.p[i].saved_bytes;
    return 0;
}

/* Most important first; none that saves nothing. */
static void check_order(const Plan *p) {
    for (size_t i = 0; i < p->rewrites.n; i++) {
        CHECK(p->rewrites.p[i].saved_bytes > 0);
        CHECK(i == 0 || p->rewrites.p[i].saved_bytes <= p->rewrites.p[i - 1].saved_bytes);
    }
}

static void check_levels(Lab *l, const Plan *p) {
    CHECK(p->levels.n > 0 && p->levels.p[p->levels.n - 1].arena_bytes == p->arena_bytes);
    for (size_t i = 0; i < p->levels.n; i++) {
        const Plan *alone = plan_at(l, p->levels.p[i].level, IO_CALLER);
        CHECK(alone->arena_bytes == p->levels.p[i].arena_bytes && alone->live_peak_bytes == p->levels.p[i].live_peak_bytes);
        CHECK(i == 0 || p->levels.p[i].arena_bytes <= p->levels.p[i - 1].arena_bytes);
    }
}

/* Level inplace: a relu whose operand dies, and the same one told not to. */
static void test_in_place(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8), *b = unary(&l, "relu", a), *c = conv(&l, b, 2);
    result(&l, unary(&l, "tanh", c));
    Plan *p = saved(&l, LEVEL_INPLACE);
    CHECK(shares(p, b, SHARE_INPLACE, a));
    check_order(p);
    check_levels(&l, p);
    b->def->inplace = INPLACE_FORBID;
    CHECK(saving(p, REWRITE_INPLACE, b) == plan_at(&l, LEVEL_INPLACE, IO_CALLER)->live_peak_bytes - p->live_peak_bytes);
    CHECK(saving(p, REWRITE_INPLACE, b) > 0);
    lab_end(&l);
}

/* Level full: the sum of a residual block goes over its other operand, in the epilogue of the last convolution. Written with the
 * sum kept apart, the network needs so much more. */
static void test_accumulate(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = unary(&l, "relu", conv(&l, x, 8)), *b = unary(&l, "relu", conv(&l, a, 4)), *c = conv(&l, b, 8);
    Value *sum = binary(&l, "add", c, a), *end = conv(&l, sum, 1);
    result(&l, end);
    Plan *p = saved(&l, LEVEL_FULL);
    uint64_t part = saving(p, REWRITE_ACCUMULATE, sum), big = 8 * 16 * 16 * 4, small = big / 2;
    CHECK(fate_of(p, sum) == FATE_FUSED && shares(p, sum, SHARE_INPLACE, a));
    CHECK(p->live_peak_bytes == big + small);             /* a, and b beside it */
    CHECK(part == big);                                   /* without: the sum beside a and b */
    check_order(p);
    check_levels(&l, p);
    lab_end(&l);
}

/* Target cuda at the same alignment: every decision but the overlap. */
static void test_overlap(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8);
    Call *c = lab_call(&l, "max_pool2d");
    lab_set(c, A_x, d_tensor(a));
    lab_set(c, A_kernel_size, lab_ints(c, 2, (int64_t[]){2, 2}));
    Value *pool = bound_result(c);
    result(&l, conv(&l, pool, 1));
    Plan *p = saved(&l, LEVEL_FULL);
    PlanOptions cuda = {.level = LEVEL_FULL, .target = TARGET_CUDA, .align = 64};
    const Plan *q = plan_network(l.ctx, l.g, &cuda);
    const Buffer *b = &p->buffers.p[place_of(p, pool)->buffer];
    CHECK(q != NULL && b->overlaps == place_of(p, a)->buffer && b->overlap_bytes == pool->nbytes);
    CHECK(saving(p, REWRITE_OVERLAP, pool) == q->live_peak_bytes - p->live_peak_bytes);
    CHECK(saving(p, REWRITE_OVERLAP, pool) == pool->nbytes);
    CHECK(p->proven && p->arena_bytes == a->nbytes);
    lab_end(&l);
}

/* Two convolutions write into a concatenation; with one of them copied, its bytes are there twice. */
static void test_slice(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8), *b = conv(&l, x, 8), *joined = cat(&l, (Value *[]){a, b}, 2, 1);
    result(&l, conv(&l, joined, 1));
    Plan *p = saved(&l, LEVEL_FULL);
    CHECK(fate_of(p, joined) == FATE_VIEW && p->live_peak_bytes == joined->nbytes);
    CHECK(saving(p, REWRITE_SLICE, a) == a->nbytes && saving(p, REWRITE_SLICE, b) == b->nbytes);
    check_order(p);
    check_levels(&l, p);
    lab_end(&l);
}

/* An activation that runs in a convolution's step costs nothing; apart from it, it would run in place: nothing is saved. */
static void test_nothing(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8), *b = unary(&l, "relu", a);
    result(&l, conv(&l, b, 1));
    Plan *p = saved(&l, LEVEL_FULL);
    CHECK(fate_of(p, b) == FATE_FUSED && saving(p, REWRITE_FUSE, b) == 0 && p->rewrites.n == 0);
    lab_end(&l);
}

/* Figures cost time: nobody who did not ask has them. */
static void test_unasked(void) {
    Lab l = lab_new();
    result(&l, conv(&l, image(&l, 3, 16), 8));
    CHECK(full(&l)->levels.n == 0 && full(&l)->rewrites.n == 0);
    lab_end(&l);
}

int main(void) {
    test_in_place();
    test_accumulate();
    test_overlap();
    test_slice();
    test_nothing();
    test_unasked();
    return check_done();
}
