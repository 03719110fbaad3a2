/* plan_random.c - random networks at every level, inputs and results outside and inside the arena: each plan passes
 * the verifier whatever the alignment, the four figures are in their order, a later level never has a larger arena,
 * planning twice gives the same plan. */
#include "tests/unit/plan_lab.h"

static const Level levels[] = {LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_REORDER, LEVEL_FULL};

typedef struct Net {
    Lab l;
    uint64_t seed;
    Value *v[64];                                         /* images [1, C, 4, 4], C a multiple of 4, or [1, C, 4, 8] */
    uint32_t n;
} Net;

static uint32_t below(Net *net, uint32_t n) {
    net->seed = net->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(net->seed >> 33) % n;
}

static Value *pick(Net *net) {
    uint32_t recent = net->n < 6 || below(net, 3) == 0 ? net->n : 6;
    return net->v[net->n - 1 - below(net, recent)];
}

/* A value of the same type as x, x itself when there is none. */
static Value *like(Net *net, const Value *x, Value *dflt) {
    for (int tries = 0; tries < 8; tries++) {
        Value *y = pick(net);
        if (y != x && shape_equal(&x->type.shape, &y->type.shape)) return y;
    }
    return dflt;
}

static Value *join_some(Net *net, Value *x) {
    Value *list[4] = {x};
    uint32_t n = 1 + below(net, 3), dim = 1;
    for (uint32_t i = 1; i < n; i++) {
        list[i] = like(net, x, x);
        if (below(net, 8) == 0) dim = 2;
    }
    return cat(&net->l, list, n, dim);
}

static Value *reshaped(Net *net, Value *x) {
    Call *c = lab_call(&net->l, "view");
    lab_set(c, A_x, d_tensor(x));
    Shape *s = &x->type.shape;
    lab_set(c, A_shape, lab_ints(c, 4, (int64_t[]){1, (int64_t)s->dim[1], (int64_t)s->dim[3], (int64_t)s->dim[2]}));
    return bound_result(c);
}

static Value *by_number(Net *net, const char *op, Value *x, int64_t n) {
    Datum d = d_int(n);
    Call *c = lab_call(&net->l, op);
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_other, d_tensor(graph_scalar(net->l.g, DT_F32, &d, (Span){0})));
    return bound_result(c);
}

static Value *any_op(Net *net) {
    static const char *const unaries[] = {"relu", "exp", "sigmoid", "gelu", "dropout", "copy", "batch_norm", "relu"};
    static const char *const binaries[] = {"add", "mul", "sub", "maximum"};
    Value *x = pick(net);
    switch (below(net, 16)) {
    case 0: case 1: case 2: return conv(&net->l, x, 4 * (1 + below(net, 3)));
    case 3: case 4: case 5: return unary(&net->l, unaries[below(net, 8)], x);
    case 6: case 7: case 8: return binary(&net->l, binaries[below(net, 4)], x, like(net, x, x));
    case 9: case 10: return join_some(net, x);
    case 11: case 12: {
        Op *op = chunk(&net->l, x, 2, below(net, 4) ? 1 : 2);
        if (op->nout == 2) net->v[net->n++] = op->out[1];
        return op->out[0];
    }
    case 13: return reshaped(net, x);
    case 14: return softmax(&net->l, x, 3);
    default: return by_number(net, below(net, 2) ? "mul" : "add", x, below(net, 2));
    }
}

/* A result of its own, as elaboration makes it. */
static void add_result(Net *net, Value *v) {
    result(&net->l, v->def == NULL || v->nresults > 0 ? unary(&net->l, "copy", v) : v);
}

static Net make(uint64_t seed) {
    Net net = {.l = lab_new(), .seed = seed * 977 + 5};
    uint32_t ops = 1 + below(&net, 24);
    net.v[net.n++] = image(&net.l, 8, 4);
    if (below(&net, 2)) net.v[net.n++] = image(&net.l, 8, 4);
    for (uint32_t i = 0; i < ops; i++) {
        Value *v = any_op(&net);
        net.v[net.n++] = v;
        v->def->keep = below(&net, 24) == 0;
        if (below(&net, 24) == 0) v->def->inplace = INPLACE_FORBID;
    }
    add_result(&net, net.v[net.n - 1]);
    for (uint32_t i = below(&net, 3); i > 0; i--) add_result(&net, pick(&net));
    return net;
}

static bool same_plan(const Graph *g, const Plan *p, const Plan *q) {
    bool same = p->arena_bytes == q->arena_bytes && p->buffers.n == q->buffers.n && p->steps.n == q->steps.n;
    for (size_t i = 0; same && i < p->buffers.n; i++) same = p->buffers.p[i].offset == q->buffers.p[i].offset;
    for (size_t v = 0; same && v < g->values.n; v++)
        same = p->place[v].buffer == q->place[v].buffer && p->place[v].byte_offset == q->place[v].byte_offset;
    return same;
}

int main(int argc, char **argv) {
    uint64_t from = 0, to = 1500, proven = 0, total = 0;
    if (argc == 3 && sscanf(argv[1], "%llu", (unsigned long long *)&from) == 1 && sscanf(argv[2], "%llu", (unsigned long long *)&to) == 1)
        fprintf(stderr, "seeds %llu to %llu\n", (unsigned long long)from, (unsigned long long)to);
    for (uint64_t seed = from; seed < to; seed++) {
        Net net = make(seed);
        if (argc == 3) fprintf(stderr, "%llu\n", (unsigned long long)seed);
        for (IoPlace io = IO_CALLER; io <= IO_ARENA; io++) {
            uint64_t before = UINT64_MAX, align = UINT64_C(1) << below(&net, 11);
            for (size_t i = 0; i < COUNT_OF(levels); i++) {
                Plan *p = plan_aligned(&net.l, levels[i], io, align);
                CHECK(p->arena_bytes <= before);
                before = p->arena_bytes;
                total++;
                proven += p->proven;
            }
            CHECK(same_plan(net.l.g, plan_aligned(&net.l, LEVEL_FULL, io, align), plan_aligned(&net.l, LEVEL_FULL, io, align)));
        }
        lab_end(&net.l);
    }
    if (argc == 3) fprintf(stderr, "%llu of %llu proven\n", (unsigned long long)proven, (unsigned long long)total);
    return check_done();
}
