/* eval_graph.c - the run of a graph by the reference evaluator: every operator has an evaluation, values are fetched
 * once and only when they are read, large weights by rows, results are narrowed to their dtype, a long chain neither
 * recurses nor keeps what is dead. */
#include <sys/resource.h>

#include "tests/unit/evallab.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif

static void every_operator(void) {
    for (unsigned kind = 0; kind < OP_COUNT; kind++) {
        bool stands = !(op_info((OpKind)kind)->flags & COMPOSITE);
        CHECK(!stands || op_rules((OpKind)kind)->eval != NULL);
    }
}

/* ---- what is read */

typedef struct Log { Bench *b; uint64_t calls[16], elems[16], largest; } Log;    /* by value id */

static bool logged_read(void *data, const Value *v, uint64_t first, Tensor *t) {
    Log *log = data;
    log->calls[v->id]++;
    log->elems[v->id] += t->n;
    if (t->n > log->largest) log->largest = t->n;
    return bench_read(log->b, v, first, t);
}

static bool run_logged(Bench *b, Log *log) {
    Supply supply = {logged_read, log};
    *log = (Log){.b = b};
    return evaluate_graph(b->lab.ctx, b->lab.g, &supply, 0, b->lab.ctx->unit, b->results);
}

static void result(Bench *b, Value *v) {
    graph_result(b->lab.g, "r", v, (Span){0});
}

static void inputs_as_results(void) {
    Bench b = bench_new(1);
    Log log;
    Value *x = given(&b, DT_F32, DIMS(2), DOUBLES(&b, 1, 1.0000000001));
    Value *unread = given(&b, DT_F32, DIMS(2), DOUBLES(&b, 0, 0)), *empty = given(&b, DT_I64, DIMS(0), NULL);
    feed(&b, empty, DOUBLES(&b, 0));
    Datum two = d_float(2);
    result(&b, x);
    result(&b, x);
    result(&b, graph_scalar(b.lab.g, DT_F64, &two, (Span){0}));
    result(&b, empty);
    CHECK(run_logged(&b, &log) && RESULTS(&b, 0, 1, 1));  /* narrowed to f32 */
    CHECK(b.results[1].f[0] == 1 && b.results[2].f[0] == 2 && b.results[3].n == 0 && b.results[3].is_int);
    CHECK(log.calls[x->id] == 1 && log.calls[unread->id] == 0);
    bench_free(&b);
}

/* An embedding and a linear tied to one weight read it by rows; matmul, in between, wants it whole. */
static void tied_weight(void) {
    Bench b = bench_new(1);
    Log log;
    Value *ids = given(&b, DT_I64, DIMS(2), DOUBLES(&b, 2, 0)), *h, *w;
    CHECK(CALL(&b.lab, OP_EMBEDDING, X(ids), {A_num_embeddings, d_int(3)}, {A_embedding_dim, d_int(3)}));
    h = last_op(&b.lab)->out[0], w = last_op(&b.lab)->in[1];
    feed(&b, w, DOUBLES(&b, 1, 2, 0, 0, 1, 0, 0, 0, 2));
    CHECK(CALL(&b.lab, OP_MATMUL, X(h), {A_other, d_tensor(w)}));
    h = last_op(&b.lab)->out[0];
    CHECK(CALL(&b.lab, OP_LINEAR, X(h), {A_out, d_int(3)}, {A_bias, d_bool(false)}, {A_weight, d_tensor(w)}));
    result(&b, last_op(&b.lab)->out[0]);
    /* rows 2 and 0: [0 0 2], [1 2 0]; times w: [0 0 4], [1 4 0]; times its transpose: */
    CHECK(run_logged(&b, &log) && RESULTS(&b, 0, 0, 0, 8, 9, 4, 0));
    CHECK(log.calls[w->id] == 3 && log.elems[w->id] == 3 + 3 + 9);
    bench_free(&b);
}

static void unread_operands(void) {
    Bench b = bench_new(1);
    Log log;
    CHECK(CALL(&b.lab, OP_BATCH_NORM, X(given(&b, DT_F32, DIMS(1, 1), DOUBLES(&b, 3))), {A_eps, d_float(0)}));
    const Op *op = last_op(&b.lab);
    for (uint32_t i = 1; i < 5; i++) feed(&b, op->in[i], DOUBLES(&b, 1));
    result(&b, op->out[0]);
    CHECK(run_logged(&b, &log) && RESULTS(&b, 0, 3) && log.calls[op->in[5]->id] == 0);
    bench_free(&b);
}

/* 3000 rows of 3000: no more than a block of them is asked for at a time. */
static void large_weight(void) {
    Bench b = bench_new(1);
    Log log;
    enum { SIDE = 3000 };
    CHECK(CALL(&b.lab, OP_LINEAR, X(given(&b, DT_F32, DIMS(1, SIDE), quarters(&b, SIDE))), {A_out, d_int(SIDE)},
               {A_bias, d_bool(false)}));
    Value *w = last_op(&b.lab)->in[1];
    feed(&b, w, quarters(&b, SIDE * SIDE));
    result(&b, last_op(&b.lab)->out[0]);
    CHECK(run_logged(&b, &log) && log.elems[w->id] == SIDE * SIDE && log.largest <= 1 << 20);
    bench_free(&b);
}

static bool failing_read(void *data, const Value *v, uint64_t first, Tensor *t) {
    (void)t;
    diag(data, DIAG_UNSUPPORTED, v->span, "no element %llu", (unsigned long long)first);
    return false;
}

static void failing_supply(void) {
    Bench b = bench_new(1);
    CHECK(CALL(&b.lab, OP_RELU, X(given(&b, DT_F32, DIMS(2), NULL))));
    result(&b, last_op(&b.lab)->out[0]);
    Supply supply = {failing_read, b.lab.ctx};
    CHECK(!evaluate_graph(b.lab.ctx, b.lab.g, &supply, 0, b.lab.ctx->unit, b.results) && diag_failed(b.lab.ctx));
    bench_free(&b);
}

/* ---- narrowing between ops: 2049 has no f16, 127 + 1 no i8 */

static void narrowed(DType dtype, double x, double once, double twice) {
    Bench b = bench_new(1);
    Value *v = given(&b, dtype, DIMS(1), DOUBLES(&b, x)), *one = given(&b, dtype, DIMS(1), DOUBLES(&b, 1));
    for (int i = 0; i < 2; i++) {
        CHECK(CALL(&b.lab, OP_ADD, X(v), {A_other, d_tensor(one)}));
        v = last_op(&b.lab)->out[0];
        result(&b, v);
    }
    Log log;
    CHECK(run_logged(&b, &log) && RESULTS(&b, 0, once));
    CHECK((b.results[1].is_int ? (double)b.results[1].i[0] : b.results[1].f[0]) == twice);
    bench_free(&b);
}

/* ---- a long chain */

/* 0 under the address sanitizer, which keeps what is freed for a while. */
static long peak_kib(void) {
    struct rusage u;
#ifdef WITH_ASAN
    return 0;
#endif
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static Value *chain(Bench *b, Value *v, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        const char *path = arena_printf(b->lab.ctx->unit, "neg%u", i);
        v = graph_op(b->lab.g, OP_NEG, &v, 1, NULL, 0, &v->type, 1, path, (Span){0})->out[0];
    }
    return v;
}

static void chains(void) {
    Bench lengthy = bench_new(1), wide = bench_new(1);
    Log log;
    result(&lengthy, chain(&lengthy, given(&lengthy, DT_F32, DIMS(1), DOUBLES(&lengthy, 7)), 100001));
    CHECK(run_logged(&lengthy, &log) && RESULTS(&lengthy, 0, -7));
    /* 100 values of 8 MiB each: dead ones are freed */
    enum { WIDE = 1 << 20 };
    result(&wide, chain(&wide, given(&wide, DT_F64, DIMS(WIDE), quarters(&wide, WIDE)), 100));
    long before = peak_kib();
    CHECK(run_logged(&wide, &log) && wide.results[0].f[WIDE - 1] == wide.data.p[0][WIDE - 1]);
    CHECK(peak_kib() - before < 100 * 1024);
    bench_free(&lengthy);
    bench_free(&wide);
}

int main(void) {
    chains();                                             /* first: the peak of the others would hide this one's */
    every_operator();
    inputs_as_results();
    tied_weight();
    unread_operands();
    large_weight();
    failing_supply();
    narrowed(DT_F16, 2047, 2048, 2048);
    narrowed(DT_F64, 2048, 2049, 2050);
    narrowed(DT_BF16, 255, 256, 256);
    narrowed(DT_F8E4M3, 448, 448, 448);
    narrowed(DT_I8, 126, 127, -128);
    narrowed(DT_U8, 254, 255, 0);
    narrowed(DT_I64, 126, 127, 128);
    return check_done();
}
