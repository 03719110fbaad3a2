/* gen.c - the frame of a random program: splitmix64 numbers, the pool of values in scope, statements and control
 * flow, inputs and results. A statement is chosen, finds operands in the pool or gives up; so every program is valid
 * by construction. */
#include "tests/gen/gen.h"

#include <stdio.h>
#include <string.h>

/* ---- random numbers ---- */

static uint64_t next_random(Gen *g) {
    uint64_t z = g->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
uint64_t gen_below(Gen *g, uint64_t n) { return next_random(g) % n; }
bool gen_chance(Gen *g, unsigned percent) { return gen_below(g, 100) < percent; }
uint64_t gen_pick(Gen *g, const uint64_t *of, size_t n) { return of[gen_below(g, n)]; }

/* ---- values ---- */

uint64_t gen_elems(const GenValue *v) {
    uint64_t n = 1;
    for (unsigned i = 0; i < v->rank; i++) n *= v->dim[i];
    return n;
}

bool gen_same_shape(const GenValue *a, const GenValue *b) {
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

bool gen_is_float(const Gen *g, const GenValue *v) { return v->dtype == g->dtype; }
bool gen_is_image(const Gen *g, const GenValue *v) { return gen_is_float(g, v) && v->rank == 4; }
bool gen_is_sequence(const Gen *g, const GenValue *v) { return gen_is_float(g, v) && v->rank == 3; }

GenValue *gen_find(Gen *g, GenLikes likes) {
    unsigned fit[GEN_POOL], n = 0;
    for (unsigned i = 0; i < g->npool; i++)
        if (likes(g, &g->pool[i])) fit[n++] = i;
    if (!n) return NULL;
    uint64_t a = gen_below(g, n), b = gen_below(g, n);
    return &g->pool[fit[a > b ? a : b]];
}

GenValue gen_like(Gen *g, const GenValue *x) {
    GenValue v = *x;
    snprintf(v.name, sizeof v.name, "t%u", ++g->nnames);
    v.owns = v.used = false;
    return v;
}

void gen_read(GenValue *v) {
    v->used = true;
    v->owns = false;
}

/* The oldest value that was used makes room; if all are unused, the oldest. */
void gen_bind(Gen *g, GenValue v) {
    if (g->npool == GEN_POOL) {
        unsigned victim = 0;
        while (victim < GEN_POOL / 2 && !g->pool[victim].used) victim++;
        if (victim == GEN_POOL / 2) victim = 0;
        memmove(&g->pool[victim], &g->pool[victim + 1], (GEN_POOL - 1 - victim) * sizeof v);
        g->npool--;
    }
    g->pool[g->npool++] = v;
}

/* ---- text ---- */

void gen_line(Gen *g, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (unsigned i = 0; i < g->indent; i++) sb_puts(g->out, "    ");
    sb_printf(g->out, "%s\n", text);
}

const char *gen_call(Gen *g, GenValue *x, const char *op, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    gen_read(x);
    Arena *a = g->out->arena;
    switch (gen_below(g, 4)) {
    case 0: return arena_printf(a, "%s(%s%s%s)", op, x->name, *text ? ", " : "", text);
    case 1: return arena_printf(a, "%s.%s(%s)", x->name, op, text);
    default: return arena_printf(a, *text ? "%s |> %s(%s)" : "%s |> %s", x->name, op, text);
    }
}

/* ---- control flow: bodies that leave the shape of one value as it was ---- */

static void same_shape_line(Gen *g, const char *name) {
    static const char *const forms[] = {"%s = relu(%s)", "%s = %s * 0.5", "%s = %s |> tanh", "%s = %s + %s",
                                        "%s = %s |> sigmoid |> abs", "%s = layer_norm(%s)", "%s = maximum(%s, 0.25) - %s"};
    char text[96];
    const char *form = forms[gen_below(g, COUNT_OF(forms))];
    snprintf(text, sizeof text, form, name, name, name);
    gen_line(g, "%s", text);
}

static bool loop(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank == 0) return false;
    GenValue v = gen_like(g, x);
    gen_read(x);
    gen_line(g, "%s = %s", v.name, x->name);
    if (gen_chance(g, 50)) gen_line(g, "repeat %u {", 1 + (unsigned)gen_below(g, 4));
    else gen_line(g, "for i%u in [1, 2, 3] {", g->nnames);
    g->indent++;
    for (uint64_t n = 1 + gen_below(g, 3); n--;) same_shape_line(g, v.name);
    g->indent--;
    gen_line(g, "}");
    gen_bind(g, v);
    return true;
}

static bool branch(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank == 0) return false;
    GenValue v = gen_like(g, x);
    gen_read(x);
    gen_line(g, "%s = %s", v.name, x->name);
    gen_line(g, "if DEPTH > %u {", (unsigned)gen_below(g, 4));
    g->indent++;
    same_shape_line(g, v.name);
    g->indent--;
    if (gen_chance(g, 60)) {
        gen_line(g, "} else {");
        g->indent++;
        same_shape_line(g, v.name);
        g->indent--;
    }
    gen_line(g, "}");
    gen_bind(g, v);
    return true;
}

static void statement(Gen *g) {
    for (unsigned attempt = 0; attempt < 8; attempt++) {
        uint64_t kind = gen_below(g, 100);
        bool done = kind < 10 ? gen_block_call(g) : kind < 14 ? loop(g) : kind < 17 ? branch(g)
                  : kind < 22 ? gen_shared_layer(g) : gen_operator(g);
        if (done) return;
    }
}

/* ---- the program ---- */

static void input(Gen *g, DType dtype, unsigned rank, const uint64_t *dims) {
    GenValue v = {.dtype = dtype, .rank = rank};
    snprintf(v.name, sizeof v.name, "x%u", g->npool + 1);
    sb_printf(g->out, "%s%s: %s[", g->npool ? ", " : "", v.name, dtype_name(dtype));
    for (unsigned i = 0; i < rank; i++) {
        v.dim[i] = dims[i];
        if (i == 0) sb_puts(g->out, "N");
        else sb_printf(g->out, ", %llu", (unsigned long long)dims[i]);
    }
    sb_puts(g->out, "]");
    gen_bind(g, v);
}

static void inputs(Gen *g) {
    uint64_t image[4] = {g->batch, GEN_PICK(g, 1, 3, 4, 8), GEN_PICK(g, 8, 12, 15, 16), GEN_PICK(g, 8, 12, 15, 16)};
    uint64_t sequence[3] = {g->batch, GEN_PICK(g, 3, 7, 8), GEN_PICK(g, 8, 12, 16)};
    GenStyle s = g->o->style;
    if (s != GEN_TRANSFORMER) input(g, g->dtype, 4, image);
    if (s != GEN_CNN) input(g, g->dtype, 3, sequence);
    if (gen_chance(g, 30)) input(g, g->dtype, s == GEN_TRANSFORMER ? 3 : 4, s == GEN_TRANSFORMER ? sequence : image);
    if (gen_chance(g, 30)) input(g, DT_I64, 2, sequence);
    if (gen_chance(g, 20)) input(g, DT_BOOL, 3, sequence);
    if (gen_chance(g, 20)) input(g, (DType)GEN_PICK(g, DT_I32, DT_U8, DT_I8, DT_I16), 4, image);
}

static void print_type(StrBuf *out, const GenValue *v) {
    sb_printf(out, "%s[", dtype_name(v->dtype));
    for (unsigned i = 0; i < v->rank; i++) sb_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)v->dim[i]);
    sb_puts(out, "]");
}

/* Some values that nothing uses are results, at least the newest one is; their types are declared most of the time. */
static void results(Gen *g, StrBuf *header) {
    const GenValue *list[4];
    unsigned n = 0;
    for (unsigned i = g->npool; i-- > 0 && n < COUNT_OF(list);)
        if (!g->pool[i].used && g->pool[i].name[0] == 't') list[n++] = &g->pool[i];
    if (!n) list[n++] = &g->pool[g->npool - 1];
    bool typed = gen_chance(g, 75);
    sb_puts(header, typed ? " -> (" : "");
    sb_puts(g->out, "    return ");
    for (unsigned i = 0; i < n; i++) {
        if (typed) sb_printf(header, "%sy%u: ", i ? ", " : "", i + 1);
        if (typed) print_type(header, list[i]);
        sb_printf(g->out, "%s%s", i ? ", " : "", list[i]->name);
    }
    sb_puts(header, typed ? ") {\n" : " {\n");
    sb_puts(g->out, "\n}\n");
}

void gen_program(StrBuf *out, uint64_t seed, const GenOptions *o) {
    StrBuf body;
    sb_init(&body, out->arena);
    Gen g = {.out = out, .state = seed * 0x2545F4914F6CDD1Du + 1, .o = o, .indent = 1};
    g.dtype = gen_chance(&g, 70) ? DT_F32 : (DType)GEN_PICK(&g, DT_F16, DT_BF16, DT_F64);
    g.batch = GEN_PICK(&g, 1, 1, 2, 3);
    sb_printf(out, "# seed %llu\ndim N = %llu\nconst DEPTH = %llu\n\n", (unsigned long long)seed,
              (unsigned long long)g.batch, (unsigned long long)gen_below(&g, 5));
    gen_declare_blocks(&g);
    if (gen_chance(&g, 15)) sb_puts(out, "@memory(align=512)\n");
    sb_puts(out, "net t(");
    inputs(&g);
    sb_puts(out, ")");
    g.out = &body;
    for (unsigned i = 0; i < o->size; i++) statement(&g);
    results(&g, out);
    sb_write(out, body.p, body.n);
}
