/* plan_share.c - what plans of small networks share and what they refuse, with the reason; levels in their order.
 * The bytes expected are worked out by hand in the comments. */
#include "tests/unit/plan_lab.h"

enum { K = 1024 };                                        /* an image [1, 16, 4, 4] of f32 */

static const Level levels[] = {LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_FULL};

/* conv, conv + shortcut: the sum is accumulated into the shortcut, which dies there. */
static void residual(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, a, 16), *c = conv(&l, b, 16);
    Value *sum = binary(&l, "add", c, a), *y = unary(&l, "relu", sum), *z = conv(&l, y, 16);
    result(&l, z);
    Plan *p = full(&l);
    CHECK(p->steps.n == 4);
    CHECK(fate_of(p, sum) == FATE_FUSED && fate_of(p, y) == FATE_FUSED);
    CHECK(p->into[y->def->id] == c->def->id && p->into[sum->def->id] == c->def->id);
    CHECK(shares(p, y, SHARE_INPLACE, a));
    CHECK(place_of(p, c)->buffer == NO_ID && place_of(p, sum)->buffer == NO_ID);
    CHECK(p->arena_bytes == 2 * K && p->proven);
    /* Unfused, in place: a, b, c while the third conv runs. */
    p = plan_at(&l, LEVEL_INPLACE, IO_CALLER);
    CHECK(shares(p, sum, SHARE_INPLACE, c) && shares(p, y, SHARE_INPLACE, sum));
    CHECK(p->arena_bytes == 3 * K);
    lab_end(&l);
}

/* The shortcut is read once more: then the sum needs room of its own. */
static void residual_read_again(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *c = conv(&l, conv(&l, a, 16), 16);
    Value *sum = binary(&l, "add", c, a);
    result(&l, conv(&l, binary(&l, "mul", conv(&l, sum, 16), a), 16));
    Plan *p = full(&l);
    CHECK(refused(p, sum, REASON_STILL_NEEDED) && place_of(p, sum)->reason_value == a->id);
    CHECK(p->arena_bytes == 3 * K);
    lab_end(&l);
}

static void addition_waits_for_the_later_branch(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, x, 16), *sum = binary(&l, "add", a, b);
    result(&l, conv(&l, sum, 16));
    Plan *p = full(&l);
    CHECK(p->into[sum->def->id] == b->def->id);
    CHECK(shares(p, sum, SHARE_INPLACE, a));
    CHECK(p->arena_bytes == K);
    lab_end(&l);
}

/* Both halves are written into the concatenation; the step of the cat vanishes. */
static void concatenation(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, x, 32), *y = cat(&l, (Value *[]){a, b}, 2, 1);
    result(&l, conv(&l, y, 16));
    Plan *p = full(&l);
    CHECK(fate_of(p, y) == FATE_VIEW && p->step_of[y->def->id] == NO_ID && p->steps.n == 3);
    CHECK(shares(p, a, SHARE_SLICE, y) && shares(p, b, SHARE_SLICE, y));
    CHECK(place_of(p, a)->byte_offset == 0 && place_of(p, b)->byte_offset == K);
    CHECK(p->buffers.p[place_of(p, y)->buffer].pieces.n == 2);
    CHECK(p->arena_bytes == 3 * K && p->proven);
    CHECK(plan_at(&l, LEVEL_INPLACE, IO_CALLER)->arena_bytes == 6 * K);
    lab_end(&l);
}

static void concatenation_refusals(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, a, 16);
    Value *across = cat(&l, (Value *[]){a, b}, 2, 3), *twice = cat(&l, (Value *[]){b, b, x}, 3, 1);
    Value *again = cat(&l, (Value *[]){b, a}, 2, 1);
    result(&l, conv(&l, across, 16));
    result(&l, conv(&l, twice, 16));
    result(&l, conv(&l, again, 16));
    Plan *p = full(&l);
    CHECK(fate_of(p, across) == FATE_RUN && fate_of(p, twice) == FATE_RUN && fate_of(p, again) == FATE_VIEW);
    CHECK(shares(p, b, SHARE_SLICE, again) && shares(p, a, SHARE_SLICE, again));
    lab_end(&l);
}

/* The reason stays with the value that wanted to be a slice. */
static void concatenation_reasons(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, x, 16), *c = conv(&l, x, 16), *d = conv(&l, x, 16);
    Value *first = cat(&l, (Value *[]){a, a, x}, 3, 1), *second = cat(&l, (Value *[]){b, x}, 2, 2);
    Value *third = cat(&l, (Value *[]){c, d}, 2, 1);
    result(&l, first), result(&l, second), result(&l, c);
    result(&l, conv(&l, third, 16));
    Plan *p = plan_at(&l, LEVEL_ALIAS, IO_CALLER);
    CHECK(refused(p, a, REASON_TWICE) && place_of(p, a)->reason_value == first->id);
    CHECK(refused(p, b, REASON_NOT_CONTIGUOUS) && place_of(p, b)->reason_value == second->id);
    CHECK(refused(p, c, REASON_RESULT) && place_of(p, c)->reason_value == c->id);
    CHECK(shares(p, d, SHARE_SLICE, third) && fate_of(p, third) == FATE_RUN);
    lab_end(&l);
}

/* A slice that is overwritten in place inside its concatenation, and one of an input. */
static void nested_concatenation(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *r = unary(&l, "relu", a), *b = conv(&l, x, 16);
    Value *inner = cat(&l, (Value *[]){r, b}, 2, 1), *c = conv(&l, inner, 16), *outer = cat(&l, (Value *[]){inner, c}, 2, 1);
    result(&l, conv(&l, outer, 8));
    Plan *p = plan_at(&l, LEVEL_ALIAS, IO_CALLER);
    CHECK(fate_of(p, inner) == FATE_VIEW && fate_of(p, outer) == FATE_VIEW);
    CHECK(shares(p, r, SHARE_INPLACE, a) && shares(p, a, SHARE_SLICE, inner) && shares(p, inner, SHARE_SLICE, outer));
    CHECK(place_of(p, b)->buffer == place_of(p, outer)->buffer && place_of(p, b)->byte_offset == K);
    CHECK(place_of(p, c)->byte_offset == 2 * K);
    CHECK(p->arena_bytes == 3 * K && p->proven);
    lab_end(&l);
}

/* Parts die one by one: the second half of the chunk is free while the first is still read. */
static void parts(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 32);
    Op *halves = chunk(&l, a, 2, 1);
    Value *c = conv(&l, halves->out[1], 16), *d = conv(&l, c, 16), *e = binary(&l, "add", d, halves->out[0]);
    result(&l, conv(&l, e, 16));
    Plan *p = full(&l);
    CHECK(p->fate[halves->id] == FATE_VIEW);
    CHECK(shares(p, halves->out[0], SHARE_VIEW, a) && place_of(p, halves->out[1])->byte_offset == K);
    CHECK(p->buffers.p[place_of(p, a)->buffer].pieces.n == 2);
    CHECK(shares(p, e, SHARE_INPLACE, halves->out[0]));
    CHECK(p->arena_bytes == 3 * K && p->proven);
    lab_end(&l);
}

/* A part that another reader still sees through the whole may not be overwritten. */
static void part_of_the_living(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 32);
    Op *halves = chunk(&l, a, 2, 1);
    Value *r = unary(&l, "relu", halves->out[0]);
    result(&l, conv(&l, r, 16));
    result(&l, conv(&l, a, 16));
    Plan *p = plan_at(&l, LEVEL_ALIAS, IO_CALLER);
    CHECK(refused(p, r, REASON_VIEW_ALIVE));
    CHECK(p->arena_bytes == 3 * K);
    p = full(&l);                                         /* with the other reader first, nobody sees it any more */
    CHECK(shares(p, r, SHARE_INPLACE, halves->out[0]));
    CHECK(p->arena_bytes == 2 * K && p->proven);
    lab_end(&l);
}

static void kernels_and_sizes(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *b = conv(&l, a, 16), *square = binary(&l, "mul", b, b);
    Value *half = unary(&l, "global_avg_pool2d", square), *scaled = binary(&l, "mul", square, half);
    result(&l, conv(&l, scaled, 16));
    Plan *p = plan_at(&l, LEVEL_ALIAS, IO_CALLER);
    CHECK(refused(p, b, REASON_KERNEL) && place_of(p, b)->reason_value == a->id);
    CHECK(refused(p, a, REASON_KERNEL));
    CHECK(shares(p, square, SHARE_INPLACE, b));
    CHECK(place_of(p, half)->share == SHARE_NONE);
    CHECK(shares(p, scaled, SHARE_INPLACE, square));
    lab_end(&l);
}

static void inputs_and_results(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = unary(&l, "relu", x), *b = unary(&l, "neg", a), *c = binary(&l, "add", x, b);
    result(&l, a);
    result(&l, c);
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        Plan *p = plan_at(&l, levels[i], IO_CALLER);
        const Buffer *in = &p->buffers.p[place_of(p, x)->buffer], *out = &p->buffers.p[place_of(p, a)->buffer];
        CHECK(in->kind == BUF_IO && !in->in_arena && out->kind == BUF_IO && !out->in_arena);
        CHECK(place_of(p, c)->buffer != place_of(p, a)->buffer && place_of(p, c)->buffer != place_of(p, x)->buffer);
        CHECK(p->io_bytes == 3 * K);
        CHECK(p->arena_bytes == (levels[i] == LEVEL_FULL ? 0 : K));
    }
    Plan *p = plan_at(&l, LEVEL_INPLACE, IO_CALLER);
    CHECK(refused(p, b, REASON_RESULT) && place_of(p, b)->reason_value == a->id);
    CHECK(refused(p, a, REASON_RESULT_PLACE));
    p = plan_at(&l, LEVEL_FULL, IO_ARENA);
    CHECK(p->io_bytes == 0 && p->arena_bytes == 3 * K && p->proven);
    CHECK(plan_at(&l, LEVEL_NAIVE, IO_ARENA)->arena_bytes == 4 * K);
    lab_end(&l);
}

static void input_is_not_overwritten(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = unary(&l, "relu", x), *b = conv(&l, a, 16);
    result(&l, b);
    Plan *p = plan_at(&l, LEVEL_FULL, IO_ARENA);
    CHECK(refused(p, a, REASON_INPUT) && place_of(p, a)->reason_value == x->id);
    CHECK(p->arena_bytes == 2 * K && p->proven);          /* the result lies where the input was */
    lab_end(&l);
}

/* A result that is a mere reshape is written where the caller wants it. */
static void result_is_a_view(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *flat = unary(&l, "flatten", a);
    result(&l, flat);
    Plan *p = full(&l);
    CHECK(fate_of(p, flat) == FATE_VIEW && p->steps.n == 1 && p->arena_bytes == 0);
    CHECK(place_of(p, a)->buffer == place_of(p, flat)->buffer && p->buffers.p[place_of(p, a)->buffer].kind == BUF_IO);
    CHECK(plan_at(&l, LEVEL_REUSE, IO_CALLER)->steps.n == 2);
    lab_end(&l);
}

static void simplified(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *n = unary(&l, "batch_norm", a), *d = unary(&l, "dropout", n);
    Value *flat = unary(&l, "flatten", d), *r = unary(&l, "relu", flat), *twin = unary(&l, "relu", flat);
    Value *dead = unary(&l, "exp", flat);
    result(&l, binary(&l, "mul", r, twin));
    Plan *p = full(&l);
    CHECK(fate_of(p, n) == FATE_FOLDED && p->into[n->def->id] == a->def->id);
    CHECK(fate_of(p, d) == FATE_IDENTITY && plan_repl(p, d->id) == n->id);
    CHECK(place_of(p, n)->buffer != NO_ID && place_of(p, a)->buffer == NO_ID);
    CHECK(fate_of(p, twin) == FATE_DUPLICATE && p->into[twin->def->id] == r->def->id);
    CHECK(fate_of(p, dead) == FATE_DEAD);
    /* weight and bias of the convolution; the norm's four vectors are in them */
    CHECK(p->weights_bytes == (16 * 16 * 9 + 16) * 4);
    CHECK(plan_at(&l, LEVEL_ALIAS, IO_CALLER)->weights_bytes == (16 * 16 * 9 + 16 + 4 * 16) * 4);
    lab_end(&l);
}

/* softmax(q k) v: the scores [64, 64] are never stored. */
static void attention(void) {
    Lab l = lab_new();
    Value *x = lab_input(&l, DT_F32, 2, (uint64_t[]){64, 16}), *t = lab_input(&l, DT_F32, 2, (uint64_t[]){16, 64});
    Value *q = unary(&l, "relu", x), *k = unary(&l, "exp", t), *v = unary(&l, "neg", x);
    Value *scores = binary(&l, "matmul", q, k), *probs = softmax(&l, unary(&l, "relu6", scores), -1);
    Value *out = binary(&l, "matmul", probs, v);
    result(&l, out);
    Plan *p = full(&l);
    CHECK(fate_of(p, scores) == FATE_FUSED && p->into[scores->def->id] == out->def->id);
    CHECK(fate_of(p, probs) == FATE_FUSED && p->into[probs->def->id] == out->def->id);
    /* relu runs in the load of the first matmul: x is the caller's and there anyway */
    CHECK(fate_of(p, q) == FATE_FUSED && p->into[q->def->id] == out->def->id);
    CHECK(p->arena_bytes == 2 * 64 * 16 * 4 && p->proven);
    CHECK(plan_at(&l, LEVEL_ALIAS, IO_CALLER)->arena_bytes > 64 * 64 * 4);
    lab_end(&l);
}

static void unread_results_need_room(void) {
    Lab l = lab_new();
    Value *x = lab_input(&l, DT_F32, 2, (uint64_t[]){4, 64});
    Op *halves = chunk(&l, x, 2, 1);                      /* across the rows: copies */
    Value *r = unary(&l, "relu", halves->out[0]), *y = binary(&l, "add", halves->out[0], r);
    result(&l, y);
    Plan *p = plan_at(&l, LEVEL_ALIAS, IO_CALLER);
    const Place *a = place_of(p, halves->out[0]), *b = place_of(p, halves->out[1]);
    CHECK(a->buffer != b->buffer && b->buffer != NO_ID);
    CHECK(refused(p, halves->out[0], REASON_NOT_CONTIGUOUS));
    CHECK(p->arena_bytes == 2 * 4 * 32 * 4);
    lab_end(&l);
}

static void wishes(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *a = conv(&l, x, 16), *r = unary(&l, "relu", a), *s = unary(&l, "exp", r);
    r->def->inplace = INPLACE_FORBID;
    s->def->keep = true;
    result(&l, conv(&l, conv(&l, s, 16), 16));
    Plan *p = full(&l);
    CHECK(fate_of(p, r) == FATE_RUN && fate_of(p, s) == FATE_RUN);
    CHECK(refused(p, r, REASON_FORBIDDEN));
    CHECK(place_of(p, s)->last == p->steps.n - 1);
    l.g->mem_noreuse = true;
    p = full(&l);
    CHECK(refused(p, r, REASON_NOREUSE) && p->arena_bytes == 4 * K);
    lab_end(&l);
}

/* Demands are judged on the graph alone. */
static void demands(void) {
    Lab good = lab_new(), late = lab_new(), view = lab_new(), input = lab_new();
    Value *a = conv(&good, image(&good, 16, 4), 16), *b = unary(&good, "relu", a);
    b->def->inplace = INPLACE_DEMAND;
    result(&good, b);
    CHECK(pass_demand(good.ctx, good.g) && !diag_failed(good.ctx));
    a = conv(&late, image(&late, 16, 4), 16), b = unary(&late, "relu", a);
    b->def->inplace = INPLACE_DEMAND;
    result(&late, binary(&late, "add", a, b));
    CHECK(!pass_demand(late.ctx, late.g) && diag_failed(late.ctx));
    a = conv(&view, image(&view, 16, 4), 16);
    Value *flat = unary(&view, "flatten", a);
    b = unary(&view, "relu", a);
    b->def->inplace = INPLACE_DEMAND;
    result(&view, unary(&view, "exp", flat));
    result(&view, b);
    CHECK(!pass_demand(view.ctx, view.g));
    b = unary(&input, "relu", image(&input, 16, 4));
    b->def->inplace = INPLACE_DEMAND;
    result(&input, b);
    CHECK(!pass_demand(input.ctx, input.g));
    lab_end(&good), lab_end(&late), lab_end(&view), lab_end(&input);
}

/* Half of the concatenation waits from the start, the other half is made at the end: the arena is one operator's need. */
static void slices_keep_their_own_lives(void) {
    Lab l = lab_new();
    Value *x = image(&l, 16, 4), *skip = conv(&l, x, 16), *deep = skip;
    for (int i = 0; i < 4; i++) deep = conv(&l, deep, 16);
    result(&l, conv(&l, cat(&l, (Value *[]){skip, deep}, 2, 1), 16));
    Plan *p = full(&l);
    CHECK(p->arena_bytes == 3 * K && p->proven);
    lab_end(&l);
}

static void too_large(void) {
    Lab l = lab_new();
    Value *x = lab_input(&l, DT_F32, 1, (uint64_t[]){UINT64_C(1) << 60});
    for (int i = 0; i < 4; i++) x = unary(&l, "relu", x);
    result(&l, x);
    PlanOptions o = {.level = LEVEL_FULL, .target = TARGET_C};
    CHECK(plan_network(l.ctx, l.g, &o) == NULL && diag_failed(l.ctx));
    lab_end(&l);
}

int main(void) {
    residual();
    residual_read_again();
    addition_waits_for_the_later_branch();
    concatenation();
    concatenation_refusals();
    concatenation_reasons();
    nested_concatenation();
    parts();
    part_of_the_living();
    kernels_and_sizes();
    inputs_and_results();
    input_is_not_overwritten();
    result_is_a_view();
    simplified();
    attention();
    unread_results_need_room();
    wishes();
    demands();
    slices_keep_their_own_lives();
    too_large();
    return check_done();
}
