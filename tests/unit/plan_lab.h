/* plan_lab.h - for unit tests of passes/: small networks in a few calls (upon opcall.h), plans of them, and what a
 * test asks of a plan. Shapes are f32; a conv is 3x3 with padding 1, so that it keeps the image's size. */
#ifndef NETC_TESTS_PLAN_LAB_H
#define NETC_TESTS_PLAN_LAB_H

#include "passes/passes.h"
#include "tests/unit/opcall.h"

#include <stdlib.h>
#include <string.h>

static inline Value *image(Lab *l, uint64_t channels, uint64_t side) {
    return lab_input(l, DT_F32, 4, (uint64_t[]){1, channels, side, side});
}

static inline Value *bound_result(Call *c) {
    Op *op = lab_bind(c);
    if (!op) ice("%s was refused", c->info->name);
    return op->out[0];
}

static inline Value *conv(Lab *l, Value *x, int64_t out) {
    Call *c = lab_call(l, "conv2d");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_out, d_int(out));
    lab_set(c, A_kernel_size, lab_ints(c, 2, (int64_t[]){3, 3}));
    lab_set(c, A_padding, lab_ints(c, 2, (int64_t[]){1, 1}));
    return bound_result(c);
}

static inline Value *unary(Lab *l, const char *name, Value *x) {
    Call *c = lab_call(l, name);
    lab_set(c, A_x, d_tensor(x));
    return bound_result(c);
}

static inline Value *binary(Lab *l, const char *name, Value *x, Value *y) {
    Call *c = lab_call(l, name);
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_other, d_tensor(y));
    return bound_result(c);
}

static inline Value *cat(Lab *l, Value *const *x, uint32_t n, int64_t dim) {
    Datum list[8];
    Call *c = lab_call(l, "cat");
    for (uint32_t i = 0; i < n; i++) list[i] = d_tensor(x[i]);
    lab_set(c, A_tensors, d_list(l->ctx->unit, list, n));
    lab_set(c, A_dim, d_int(dim));
    return bound_result(c);
}

/* The op, for its results: part k is out[k]. */
static inline Op *chunk(Lab *l, Value *x, int64_t chunks, int64_t dim) {
    Call *c = lab_call(l, "chunk");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_chunks, d_int(chunks));
    lab_set(c, A_dim, d_int(dim));
    return bound_result(c)->def;
}

static inline Value *softmax(Lab *l, Value *x, int64_t dim) {
    Call *c = lab_call(l, "softmax");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_dim, d_int(dim));
    return bound_result(c);
}

static inline void result(Lab *l, Value *v) {
    graph_result(l->g, graph_unique(l->ctx, l->g, "y"), v, (Span){0});
}

/* plan_network verifies what it returns. PRINT_AFTER=PASS in the environment shows what led there. */
static inline Plan *plan_aligned(Lab *l, Level level, IoPlace io, uint64_t align) {
    PlanOptions o = {.level = level, .target = TARGET_C, .io = io, .align = align, .print_after = getenv("PRINT_AFTER")};
    Plan *p = plan_network(l->ctx, l->g, &o);
    CHECK(p != NULL);
    CHECK(p->naive_bytes >= p->arena_bytes && p->arena_bytes >= p->live_peak_bytes && p->live_peak_bytes >= p->bound_bytes);
    CHECK(p->proven == (p->arena_bytes == p->bound_bytes));
    return p;
}

static inline Plan *plan_at(Lab *l, Level level, IoPlace io) { return plan_aligned(l, level, io, 64); }
static inline Plan *full(Lab *l) { return plan_at(l, LEVEL_FULL, IO_CALLER); }
static inline Fate fate_of(const Plan *p, const Value *v) { return p->fate[v->def->id]; }
static inline const Place *place_of(const Plan *p, const Value *v) { return &p->place[v->id]; }
static inline bool shares(const Plan *p, const Value *v, ShareKind kind, const Value *with) {
    return place_of(p, v)->share == kind && place_of(p, v)->with == with->id;
}
static inline bool refused(const Plan *p, const Value *v, Reason why) {
    return place_of(p, v)->share == SHARE_NONE && place_of(p, v)->reason == why;
}
static inline void lab_end(Lab *l) { ctx_free(l->ctx); }

#endif
