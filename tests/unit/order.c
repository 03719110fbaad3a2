/* order.c - the search for an order against brute force.
 *
 * Random networks of up to 10 steps, unfused, with branches, concatenations, views, in-place operators and results
 * on the way. Every topological order is tried; what an order needs is computed here step by step from the items
 * and donors of need.h, by an obvious simulation. The order that was found must be a topological one and need the
 * least; where it says "exact", its bound is that least, and no bound is ever above it. Needs themselves are
 * checked against plans: the live peak of a plan in that order is never below. Besides: cuts, demands of the
 * source, floating steps, the beam. */
#include "passes/leaves.h"
#include "passes/order.h"
#include "tests/unit/plan_lab.h"

enum { MOST_STEPS = 10 };

typedef struct Brute {
    const Needs *n;
    bool before[MOST_STEPS][MOST_STEPS];                  /* [a][b]: a reads what b makes */
    uint32_t steps, orders;
    uint64_t least;
} Brute;

static bool all_in(const Needs *n, Readers by, uint32_t set) {
    for (uint32_t k = by.from; k < by.to; k++)
        if (!(set >> n->readers[k] & 1)) return false;
    return true;
}

/* What is held after the steps of `set` have run. */
static uint64_t held_after(const Needs *n, uint32_t set) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->nitems; i++) {
        const Item *x = &n->items[i];
        bool made = x->maker == NO_ID || set >> x->maker & 1;
        bool wanted = x->stays || !all_in(n, x->by, set);
        if (made && wanted) sum += x->nbytes;
    }
    return sum;
}

static uint64_t need_of(const Needs *n, uint32_t set, uint32_t s) {
    uint64_t sum = held_after(n, set) + n->scratch[s], off = 0;
    for (uint32_t i = 0; i < n->nitems; i++)
        if (n->items[i].maker == s) sum += n->items[i].nbytes;
    for (uint32_t k = n->donors_from[s]; k < n->donors_from[s + 1]; k++)
        if (all_in(n, n->donors[k].by, set | 1u << s) && n->donors[k].nbytes > off) off = n->donors[k].nbytes;
    uint64_t after = held_after(n, set | 1u << s);
    return sum - off > after ? sum - off : after;
}

static void try_all(Brute *b, uint32_t set, uint64_t most) {
    if (set == (1u << b->steps) - 1) {
        b->orders++;
        if (most < b->least) b->least = most;
        return;
    }
    for (uint32_t s = 0; s < b->steps; s++) {
        bool ready = !(set >> s & 1);
        for (uint32_t k = 0; k < b->steps && ready; k++) ready = !b->before[s][k] || set >> k & 1;
        if (!ready) continue;
        uint64_t need = need_of(b->n, set, s);
        try_all(b, set | 1u << s, need > most ? need : most);
    }
}

/* The steps of a plan before any search: program order. */
static Plan *unordered(Lab *l, IoPlace io, Target target) {
    Plan *p = plan_new(l->ctx->unit, l->g, LEVEL_REORDER, target, io, 64);
    pass_schedule(l->ctx, l->g, p);
    return p;
}

static void find_edges(Lab *l, const Plan *p, Brute *b) {
    for (size_t i = 0; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        for (uint32_t k = 0; k < op->nin; k++)
            if (op->in[k] && op->in[k]->def && p->step_of[op->in[k]->def->id] != p->step_of[i])
                b->before[p->step_of[i]][p->step_of[op->in[k]->def->id]] = true;
    }
}

static uint32_t below(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static Value *any_step(Lab *l, uint64_t *seed, Value **v, uint32_t n) {
    Value *x = v[below(seed, n)], *y = v[below(seed, n)];
    switch (below(seed, 8)) {
    case 0: case 1: return conv(l, x, 1 + below(seed, 8));
    case 2: return unary(l, "relu", x);
    case 3: return shape_equal(&x->type.shape, &y->type.shape) ? binary(l, "add", x, y) : unary(l, "exp", x);
    case 4: return cat(l, (Value *[]){x, y}, 2, 1);
    case 5: {
        Op *op = x->type.shape.dim[1] % 2 == 0 ? chunk(l, x, 2, 1) : unary(l, "tanh", x)->def;
        return op->out[op->nout - 1];
    }
    case 6: return softmax(l, x, 3);
    default: return unary(l, "dropout", x);
    }
}

static void random_net(Lab *l, uint64_t *seed) {
    Value *v[MOST_STEPS + 1];
    uint32_t n = 1, most = 3 + below(seed, 7);
    v[0] = image(l, 2 + 2 * below(seed, 2), 4);
    while (l->g->ops.n < most) {
        Value *x = any_step(l, seed, v, n);
        v[n++] = x;
    }
    for (uint32_t i = 1; i < n; i++)                      /* what nobody reads is a result, and sometimes something else is */
        if ((v[i]->nuses == 0 || below(seed, 6) == 0) && v[i]->nresults == 0) result(l, v[i]);
}

static bool is_topological(const Graph *g, const Plan *p) {
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nin; k++) {
            const Value *v = g->ops.p[i]->in[k];
            if (v && v->def && p->step_of[v->def->id] > p->step_of[i]) return false;
        }
    return true;
}

static uint64_t need_in_order(const Brute *b, const Plan *before, const Plan *after) {
    uint32_t set = 0;
    uint64_t most = 0;
    for (uint32_t s = 0; s < b->steps; s++) {
        uint32_t was = before->step_of[after->steps.p[s].anchor];
        uint64_t need = need_of(b->n, set, was);
        most = need > most ? need : most;
        set |= 1u << was;
    }
    return most;
}

typedef struct Tally { uint32_t nets, changed, exact, orders; } Tally;

static void check_net(uint64_t seed, IoPlace io, Target target, Tally *t) {
    Lab l = lab_new();
    uint64_t s = seed * 7919 + 3;
    random_net(&l, &s);
    Plan *before = unordered(&l, io, target), *p = unordered(&l, io, target);
    if (before->steps.n <= MOST_STEPS) {
        Needs n = needs_of(l.ctx->unit, l.g, before);
        Brute b = {.n = &n, .steps = (uint32_t)before->steps.n, .least = UINT64_MAX};
        find_edges(&l, before, &b);
        try_all(&b, 0, 0);
        pass_order(l.ctx, l.g, p);
        CHECK(is_topological(l.g, p));
        CHECK(need_in_order(&b, before, p) == b.least);
        CHECK(p->order->bound <= b.least);
        CHECK(p->order->changed == (needs_in_order(l.ctx->unit, &n, NULL, NULL) > b.least));
        if (strcmp(p->order->kind, "beam") != 0 && !p->order->changed) CHECK(p->order->bound == b.least);
        Plan *whole = plan_at(&l, LEVEL_REORDER, io);
        CHECK(whole->live_peak_bytes >= whole->bound_bytes);
        t->nets++;
        t->orders += b.orders;
        t->changed += p->order->changed;
        t->exact += p->order->bound == b.least;
    }
    lab_end(&l);
}

static void test_against_brute_force(void) {
    Tally t = {0};
    for (uint64_t seed = 0; seed < 400; seed++)
        check_net(seed, seed % 2 ? IO_ARENA : IO_CALLER, seed / 2 % 2 ? TARGET_C : TARGET_CUDA, &t);
    printf("%u networks, %u orders: %u better than program order, %u bounds met\n", t.nets, t.orders, t.changed, t.exact);
    CHECK(t.nets > 300 && t.changed > 20 && t.exact > t.nets * 9 / 10);
}

/* Two branches that begin large and end small: one after the other is better than both at a time. */
static Value *branches(Lab *l, Value *x, int n) {
    Value *wide[8], *sum = NULL;
    for (int i = 0; i < n; i++) wide[i] = conv(l, x, 32);
    for (int i = 0; i < n; i++) {
        Value *y = conv(l, wide[i], 4);
        sum = sum == NULL ? y : binary(l, "add", sum, y);
    }
    return sum;
}

static void test_branches(void) {
    Lab l = lab_new();
    result(&l, conv(&l, branches(&l, image(&l, 4, 8), 3), 4));
    Plan *program = plan_at(&l, LEVEL_ALIAS, IO_CALLER), *p = plan_at(&l, LEVEL_REORDER, IO_CALLER);
    CHECK(strcmp(p->order_kind, "exact") == 0 && p->order_states > 0);
    CHECK(strcmp(p->bound_kind, "every order") == 0 || strcmp(p->bound_kind, "single operator") == 0);
    CHECK(p->proven && p->arena_bytes < program->arena_bytes);
    CHECK(strcmp(program->order_kind, "program") == 0 && strcmp(program->bound_kind, "program order") == 0);
    Plan *full_plan = full(&l);
    CHECK(full_plan->arena_bytes <= p->arena_bytes);
    lab_end(&l);
}

/* x += y: whoever reads the old x runs before, however much better it were to wait. */
static void test_demand(void) {
    Lab l = lab_new();
    Value *x = conv(&l, image(&l, 4, 8), 4), *old = conv(&l, x, 64);
    Value *sum = binary(&l, "add", x, conv(&l, x, 4));
    sum->def->inplace = INPLACE_DEMAND;
    Value *late = conv(&l, conv(&l, sum, 64), 4);
    result(&l, binary(&l, "add", late, conv(&l, old, 4)));
    Plan *p = unordered(&l, IO_CALLER, TARGET_C);
    CHECK(pass_demand(l.ctx, l.g));
    pass_order(l.ctx, l.g, p);
    CHECK(p->step_of[old->def->id] < p->step_of[sum->def->id]);
    CHECK(is_topological(l.g, p));
    Plan *whole = plan_at(&l, LEVEL_REORDER, IO_CALLER);
    CHECK(shares(whole, sum, SHARE_INPLACE, x));
    lab_end(&l);
}

/* A side result on every second step of a long chain does not keep it from being cut. */
static void test_long_chain(void) {
    Lab l = lab_new();
    Value *x = conv(&l, image(&l, 4, 8), 4);
    for (int i = 0; i < 300; i++) {
        x = i % 50 == 7 ? branches(&l, x, 2) : conv(&l, x, 4);
        if (i % 60 == 0) result(&l, unary(&l, "exp", x));
    }
    result(&l, x);
    Plan *p = plan_at(&l, LEVEL_REORDER, IO_CALLER);
    CHECK(strcmp(p->order_kind, "exact") == 0);
    CHECK(p->proven && p->order_states < 5000);
    CHECK(p->arena_bytes < plan_at(&l, LEVEL_ALIAS, IO_CALLER)->arena_bytes);
    lab_end(&l);
}

/* Too wide for the exact search: the beam says so, and still beats program order. */
static void test_beam(void) {
    Lab l = lab_new();
    Value *x = image(&l, 4, 8), *all[64], *sum = NULL;
    for (int i = 0; i < 64; i++) all[i] = conv(&l, conv(&l, x, 8 + i % 7), 4 + i % 5);
    for (int i = 0; i < 64; i++) {
        Value *a = conv(&l, all[(i * 29 + 3) % 64], 9), *b = conv(&l, all[(i * 23 + 1) % 64], 9);
        all[i] = conv(&l, binary(&l, "mul", a, b), 3);
    }
    for (int i = 0; i < 64; i++) sum = sum == NULL ? all[i] : binary(&l, "add", sum, all[i]);
    result(&l, sum);
    Plan *p = plan_at(&l, LEVEL_REORDER, IO_CALLER);
    CHECK(strcmp(p->order_kind, "beam") == 0);
    CHECK(!p->proven && p->bound_bytes < p->arena_bytes);
    CHECK(p->arena_bytes < plan_at(&l, LEVEL_ALIAS, IO_CALLER)->arena_bytes);
    lab_end(&l);
}

int main(void) {
    test_against_brute_force();
    test_branches();
    test_demand();
    test_long_chain();
    test_beam();
    return check_done();
}
