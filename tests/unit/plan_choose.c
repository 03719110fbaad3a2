/* plan_choose.c - sharing that is decided greedily and taken back, where the plan without it needs less. */
#include "tests/unit/plan_lab.h"

static const uint64_t channel = 16 * 16 * 4;

/* The first channels of x. */
static Value *first(Lab *l, Value *x, int64_t channels) {
    Call *c = lab_call(l, "narrow");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_dim, d_int(1));
    lab_set(c, A_start, d_int(0));
    lab_set(c, A_length, d_int(channels));
    return bound_result(c);
}

/* Half of a is joined behind a. Shown where it lies, it would keep a from being written into the concatenation, for then the half
 * would have to be copied out of the very buffer it lies in; copied there at once, it does not. */
static void test_view_taken_back(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8), *half = first(&l, a, 4);
    Value *joined = cat(&l, (Value *[]){a, half}, 2, 1);
    result(&l, conv(&l, joined, 1));
    Plan *p = full(&l);
    CHECK(shares(p, a, SHARE_SLICE, joined));
    CHECK(!shares(p, half, SHARE_VIEW, a));
    CHECK(p->live_peak_bytes == 12 * channel && p->arena_bytes == 12 * channel);
    lab_end(&l);
}

/* The same half read by a convolution: to show it costs nothing. */
static void test_view_kept(void) {
    Lab l = lab_new();
    Value *x = image(&l, 3, 16), *a = conv(&l, x, 8), *half = first(&l, a, 4), *b = conv(&l, half, 4);
    result(&l, conv(&l, cat(&l, (Value *[]){a, b}, 2, 1), 1));
    Plan *p = full(&l);
    CHECK(shares(p, half, SHARE_VIEW, a));
    CHECK(p->arena_bytes == 12 * channel && p->proven);
    lab_end(&l);
}

int main(void) {
    test_view_taken_back();
    test_view_kept();
    return check_done();
}
