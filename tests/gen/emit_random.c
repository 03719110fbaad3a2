/* emit_random.c - many networks as generated C in one file: `emit_random DIR [--first=N --count=N]
 * [FILE.net[:NAME=VALUE,...] ...]` writes DIR/all.c, what it includes, and DIR/data: inputs and what the reference
 * evaluator makes of them. The networks are those of the files, dims and constants set, and random ones of the seeds,
 * each at every plan level; all.c includes tests/emit/harness.h, which runs them. */
#include "backend/emit_c.h"
#include "frontend/arrays.h"
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/gen/gen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Level levels[] = {LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_REORDER, LEVEL_FULL};

typedef struct Out {
    const char *dir;
    FILE *all, *data;
    StrBuf table;
    uint64_t at;                                          /* bytes of data */
    Arena *arena;
} Out;

typedef struct Case { Ctx *c; Graph *g; Range *ranges; uint64_t seed; } Case;

static bool supply_read(void *data, const Value *v, uint64_t first, Tensor *t) {
    const Case *k = data;
    seeded_read(v, k->seed, k->ranges[v->id], first, t);
    return true;
}

static void put_data(Out *o, const void *bytes, uint64_t n) {
    if (n && fwrite(bytes, 1, n, o->data) != n) die("data:");
    o->at += n;
}

/* How coarse numbers of a type are; integers are exact. */
static unsigned coarseness(DType d) {
    static const DType finest_first[] = {DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2};
    for (unsigned i = 0; i < COUNT_OF(finest_first); i++)
        if (finest_first[i] == d) return i;
    return 0;
}

/* By value id: the coarsest type among all that the value is made of. A fused chain does not round where the reference does. */
static DType *coarsest_types(const Case *k) {
    DType *t = NEW_ARRAY(k->c->unit, DType, k->g->values.n);
    for (size_t v = 0; v < k->g->values.n; v++) t[v] = k->g->values.p[v]->type.dtype;
    for (size_t i = 0; i < k->g->ops.n; i++) {
        const Op *op = k->g->ops.p[i];
        for (uint32_t n = 0; n < op->nin * op->nout; n++) {
            const Value *x = op->in[n / op->nout], *y = op->out[n % op->nout];
            if (x && coarseness(t[x->id]) > coarseness(t[y->id])) t[y->id] = t[x->id];
        }
    }
    return t;
}

static void put_row(Out *o, const Value *v, DType bound) {
    fprintf(o->all, "    {\"%s\", \"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "},\n", dtype_name(v->type.dtype), dtype_name(bound),
            v->nbytes, v->nelem, o->at);
}

/* The inputs' bytes, then the expected results' numbers, and the tables of both. */
static bool put_tensors(Out *o, Case *k, unsigned id) {
    Supply supply = {supply_read, k};
    fprintf(o->all, "static const TestTensor in_%u[] = {\n", id);
    for (size_t i = 0; i < k->g->inputs.n; i++) {
        const Value *v = k->g->inputs.p[i];
        Tensor t = {.type = v->type, .is_int = !dtype_is_float(v->type.dtype), .n = v->nelem};
        t.f = NEW_ARRAY(k->c->unit, double, t.n);
        t.i = NEW_ARRAY(k->c->unit, int64_t, t.n);
        supply_read(k, v, 0, &t);
        tensor_narrow(&t);
        unsigned char *bytes = NEW_ARRAY(k->c->unit, unsigned char, v->nbytes + 1);
        emit_c_encode(&t, 0, bytes);
        put_row(o, v, v->type.dtype);
        put_data(o, bytes, v->nbytes);
    }
    fprintf(o->all, "    {NULL, NULL, 0, 0, 0}\n};\nstatic const TestTensor out_%u[] = {\n", id);
    Tensor *results = NEW_ARRAY(k->c->unit, Tensor, k->g->results.n);
    const DType *coarsest = coarsest_types(k);
    if (!evaluate_graph(k->c, k->g, &supply, 0, k->c->unit, results)) return false;
    for (size_t i = 0; i < k->g->results.n; i++) {
        put_row(o, k->g->results.p[i].value, coarsest[k->g->results.p[i].value->id]);
        put_data(o, results[i].is_int ? (const void *)results[i].i : (const void *)results[i].f, 8 * results[i].n);
    }
    fprintf(o->all, "    {NULL, NULL, 0, 0, 0}\n};\n");
    return true;
}

static uint64_t highest_end(const Plan *p) {
    uint64_t most = 0;
    for (size_t i = 0; i < p->buffers.n; i++) {
        uint64_t end = p->buffers.p[i].offset + p->buffers.p[i].nbytes;
        if (p->buffers.p[i].in_arena && end > most) most = end;
    }
    return most;
}

static bool put_net(Out *o, Case *k, unsigned id, Level level, const char *title) {
    PlanOptions options = {.level = level, .target = TARGET_C, .io = id % 4 == 3 ? IO_ARENA : IO_CALLER};
    const Plan *p = plan_network(k->c, k->g, &options);
    if (!p) return false;
    Arena *a = o->arena;
    const char *n = arena_printf(a, "n%u_%s", id, level_name(level)), *base = arena_printf(a, "%s/%s", o->dir, n);
    k->g->name = n;
    StrBuf source, header;
    sb_init(&source, k->c->unit);
    sb_init(&header, k->c->unit);
    if (!emit_c(k->c, k->g, p, arena_printf(a, "%s.h", n), &source, &header)) return false;
    if (!outfile_write(k->c, arena_printf(a, "%s.c", base), source.p, source.n)) return false;
    if (!outfile_write(k->c, arena_printf(a, "%s.h", base), header.p, header.n)) return false;
    Supply supply = {supply_read, k};
    OutStream *w = outstream_open(k->c, arena_printf(a, "%s.weights", base));
    if (!w || !emit_c_weights(k->c, k->g, p, &supply, w) || !outstream_flush(w) || !outstream_rename(w)) return false;
    fprintf(o->all, "#include \"%s.c\"\nstatic int call_%s(void *arena, const void *weights, ", n, n);
    fprintf(
        o->all,
        "unsigned char *const *in, unsigned char *const *out) {\n    %s net;\n    int code = %s_init(&net, arena, weights);\n",
        n, n);
    fprintf(o->all, "    (void)in, (void)out;\n    if (code) return code;\n    code = %s_run(&net", n);
    for (size_t i = 0; i < k->g->inputs.n; i++) fprintf(o->all, ", (const void *)in[%zu]", i);
    for (size_t i = 0; i < k->g->results.n; i++) fprintf(o->all, ", (void *)out[%zu]", i);
    fprintf(o->all, ");\n    %s_free(&net);\n    return code;\n}\n", n);
    sb_printf(&o->table, "    {\"%s, %s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64, title, level_name(level),
              p->arena_bytes, highest_end(p), p->align, emit_c_weights_bytes(k->c, k->g, p));
    sb_printf(&o->table, ", call_%s, %s_read_weights, \"%s.weights\", in_%u, out_%u, %d, %d},\n", n, n, n, id, id,
              level != LEVEL_NAIVE && level != LEVEL_FULL, level == LEVEL_NAIVE);
    return true;
}

static bool put_case(Out *o, unsigned id, Case *k, Module *m, const char *title, ElabOptions options) {
    k->g = m->failed ? NULL : elaborate(k->c, m, &options);
    if (!k->g || diag_failed(k->c) || !pass_demand(k->c, k->g)) return false;
    k->ranges = input_ranges(k->c->unit, k->g);
    bool ok = put_tensors(o, k, id);
    for (size_t i = 0; ok && i < COUNT_OF(levels); i++) ok = put_net(o, k, id, levels[i], title);
    return ok;
}

/* False after messages: the reference refused to run it (an index out of range), or something is broken. */
static bool put_random(Out *o, unsigned id, uint64_t seed) {
    static const DiagCode expected[] = {DIAG_UNUSED_VALUE, DIAG_UNUSED_NAME, DIAG_MISSING_FLATTEN};
    Case k = {.c = ctx_new(), .seed = seed};
    GenOptions gen = {.style = (GenStyle)(seed % 3), .size = 4 + (unsigned)(seed / 3 % 20)};
    StrBuf text;
    for (size_t i = 0; i < COUNT_OF(expected); i++) diag_set_level(k.c, expected[i], 0);
    sb_init(&text, k.c->perm);
    gen_program(&text, seed, &gen);
    Module *m = parse_file(k.c, source_add(k.c, "random.net", sb_str(&text), text.n));
    bool ok = put_case(o, id, &k, m, arena_printf(o->arena, "seed %" PRIu64, seed), (ElabOptions){0});
    if (!ok) fprintf(stderr, "seed %" PRIu64 " cannot be emitted\n", seed);
    diag_finish(k.c);
    ctx_free(k.c);
    return ok;
}

/* PATH, or PATH:NAME=VALUE,NAME=VALUE with dims and constants set. */
static bool put_file(Out *o, unsigned id, const char *argument) {
    const char *why, *colon = strchr(argument, ':');
    Case k = {.c = ctx_new(), .seed = id};
    VEC(Setting) settings = {0};
    const char *path = colon ? arena_strndup(o->arena, argument, (size_t)(colon - argument)) : argument;
    for (const char *p = colon; p && *p; p += strcspn(p, ",")) {
        size_t n = strcspn(++p, "="), m = strcspn(p, ",");
        if (n >= m) die("%s: the form is PATH:NAME=VALUE,NAME=VALUE", argument);
        Setting s = {.name = intern_n(k.c->names, p, n), .value = arena_strndup(o->arena, p + n + 1, m - n - 1)};
        vec_push(o->arena, &settings, s);
    }
    uint32_t file = source_read(k.c, path, &why);
    ElabOptions options = {.settings = settings.p, .nsettings = settings.n};
    bool ok = file && put_case(o, id, &k, import_all(k.c, file, (ImportPath){0}), argument, options);
    if (!ok) fprintf(stderr, "%s cannot be emitted\n", argument);
    diag_finish(k.c);
    ctx_free(k.c);
    return ok;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    Out o = {.dir = argv[1], .arena = arena_new()};
    uint64_t first = 0, count = 0;
    unsigned id = 0;
    bool ok = true;
    o.all = fopen(arena_printf(o.arena, "%s/all.c", o.dir), "w");
    o.data = fopen(arena_printf(o.arena, "%s/data", o.dir), "wb");
    if (!o.all || !o.data) die("cannot write to %s:", o.dir);
    sb_init(&o.table, o.arena);
    fprintf(o.all, "#include \"tests/emit/harness.h\"\n");
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--first=", 8) == 0) first = strtoull(argv[i] + 8, NULL, 10);
        else if (strncmp(argv[i], "--count=", 8) == 0) count = strtoull(argv[i] + 8, NULL, 10);
        else ok = put_file(&o, id++, argv[i]) && ok;
    }
    for (uint64_t i = 0; i < count; i++) ok = put_random(&o, id++, first + i) && ok;
    fprintf(
        o.all,
        "static const TestNet nets[] = {\n%s};\nint main(void) { return check_all(nets, sizeof nets / sizeof *nets, \"data\"); }\n",
        sb_str(&o.table));
    if (fclose(o.all) != 0 || fclose(o.data) != 0) die("cannot write to %s:", o.dir);
    arena_free(o.arena);
    return ok ? 0 : 1;
}
