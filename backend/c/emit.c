/* emit.c - model.c and model.h of a planned network: the interface, the kernels its steps use, the steps, the call that runs
 * them in the order of the plan.
 *
 * Every activation lies at a constant offset of one arena, which has exactly the plan's arena_bytes. The program needs the
 * standard headers alone, allocates at most once, when it is initialised without an arena, and has no globals. With
 * NETC_POISON defined each byte is filled with 0xff, NaN in every float type, the moment its last reader has run. Time
 * and memory are linear in the operators. */
#include "backend/c/c.h"

#include <inttypes.h>

#define U64 "%" PRIu64

extern const char kernel_base[], kernel_whole[];
#define FAMILY(id, file) extern const char kernel_##file[];
#include "backend/c/family.def"
#undef FAMILY

static const char *const family_texts[] = {
#define FAMILY(id, file) kernel_##file,
#include "backend/c/family.def"
#undef FAMILY
};
static const char *const family_names[] = {
#define FAMILY(id, file) #id,
#include "backend/c/family.def"
#undef FAMILY
};

/* ---- the header ---- */

static const char *interface_type(DType d) {
    switch (d) {
    case DT_F64: return "double";
    case DT_F32: return "float";
    case DT_F16: case DT_BF16: return "uint16_t";
    case DT_I64: return "int64_t";
    case DT_I32: return "int32_t";
    case DT_I16: return "int16_t";
    case DT_I8: return "int8_t";
    default: return "uint8_t";
    }
}

static void put_parameters(StrBuf *b, const Emit *e) {
    sb_printf(b, "%s *self", e->name);
    for (size_t i = 0; i < e->g->inputs.n; i++)
        sb_printf(b, ", const %s *%s", interface_type(e->g->inputs.p[i]->type.dtype), e->in_names[i]);
    for (size_t i = 0; i < e->g->results.n; i++)
        sb_printf(b, ", %s *%s", interface_type(e->g->results.p[i].value->type.dtype), e->out_names[i]);
}

static void put_tensors(StrBuf *b, const Emit *e) {
    Arena *a = e->c->scratch;
    for (size_t i = 0; i < e->g->inputs.n; i++)
        sb_printf(b, " *   in   %s: %s\n", e->in_names[i], type_text(a, &e->g->inputs.p[i]->type));
    for (size_t i = 0; i < e->g->results.n; i++)
        sb_printf(b, " *   out  %s: %s\n", e->out_names[i], type_text(a, &e->g->results.p[i].value->type));
}

static void put_header(StrBuf *b, const Emit *e) {
    const char *n = e->name, *u = e->upper;
    sb_printf(b, "/* %s - made by netc " NETC_VERSION " from %s.\n *\n", n, comment_text(e->c->scratch, e->g->source));
    put_tensors(b, e);
    sb_printf(b, " *\n * Tensors lie contiguously, the last axis first; f16, bf16 and the f8s are their bits, 4-bit elements lie two in\n"
                 " * a byte, the first in the low half. Contexts share the weights and nothing else: each has an arena, and as many\n"
                 " * may run at once. Functions return 0, or one of the codes below. */\n");
    sb_printf(b, "#ifndef NETC_MODEL_%s_H\n#define NETC_MODEL_%s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", u, u);
    sb_printf(b, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    sb_printf(b, "#define %s_ARENA_BYTES UINT64_C(" U64 ")\n#define %s_ARENA_ALIGN " U64 "\n#define %s_WEIGHTS_BYTES UINT64_C(" U64 ")\n\n", u,
              e->p->arena_bytes, u, e->p->align, u, e->weights->nbytes);
    sb_printf(b, "enum {\n    %s_OK,\n    %s_E_ARENA,       /* the arena is not aligned to %s_ARENA_ALIGN */\n"
                 "    %s_E_MEMORY,      /* no memory for an arena */\n    %s_E_NULL,        /* a pointer that is needed is NULL */\n"
                 "    %s_E_WEIGHTS,     /* not a block of weights, or not aligned to 16 */\n", u, u, u, u, u, u);
    sb_printf(b, "    %s_E_MODEL,       /* weights of another network, or of another plan of it */\n"
                 "    %s_E_FILE,        /* a file of weights cannot be read */\n    %s_E_LENGTH,      /* it is shorter or longer than the weights are */\n"
                 "    %s_E_INDEX,       /* while running: an index that is out of range; the results mean nothing */\n"
                 "    %s_E_DIVISION     /* while running: an integer was divided by zero */\n};\n\n", u, u, u, u, u);
    sb_printf(b, "typedef struct %s {\n    unsigned char *arena;\n    const unsigned char *weights;\n    void *own;            /* the arena, when it was allocated */\n} %s;\n\n", n, n);
    sb_printf(b, "/* arena: %s_ARENA_BYTES bytes of the caller's, or NULL: one allocation. weights: the bytes of model.weights,\n"
                 " * mapped or read, which must stay there; NULL when there are none. */\n", u);
    sb_printf(b, "int %s_init(%s *self, void *arena, const void *weights);\n", n, n);
    sb_printf(b, "int %s_run(", n);
    put_parameters(b, e);
    sb_printf(b, ");\nvoid %s_free(%s *self);\nconst char *%s_error(int code);\n", n, n, n);
    sb_printf(b, "/* Reads a file of weights into %s_WEIGHTS_BYTES bytes of the caller's. */\nint %s_read_weights(const char *path, void *weights);\n\n", u, n);
    sb_puts(b, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the source ---- */

static void put_kernels(StrBuf *b, const Emit *e) {
    static const char *const wide[] = {"double", "double", "int64_t", "uint64_t"};
    sb_printf(b, "#ifndef NETC_KERNEL_BASE\n#define NETC_KERNEL_BASE\n%s\n%s#endif\n", kernel_base, kernel_whole);
    for (Arith a = 0; a < ARITH_COUNT; a++)
        for (Family f = 0; f < FAMILY_COUNT; f++) {
            if (!e->used[f][a]) continue;
            const char *suffix = arith_suffix(a);
            sb_printf(b, "\n#ifndef NETC_KERNEL_%s_%s\n#define NETC_KERNEL_%s_%s\n", family_names[f], suffix, family_names[f], suffix);
            sb_printf(b, "#define num %s\n#define wide %s\n#define K(name) name##_%s\n#define M(name) name%s\n", arith_type(a), wide[a], suffix,
                      a == ARITH_F32 ? "##f" : "");
            sb_printf(b, "%s#undef num\n#undef wide\n#undef K\n#undef M\n#endif\n", family_texts[f]);
        }
}

/* What a buffer holds: its values are listed by name, the first few of them. */
enum { MAX_LISTED = 4 };
static void put_buffers(StrBuf *b, const Emit *e) {
    const Plan *p = e->p;
    size_t nb = p->buffers.n;
    uint32_t *first = NEW_ARRAY(e->c->scratch, uint32_t, nb), *next = NEW_ARRAY(e->c->scratch, uint32_t, e->g->values.n + 1);
    for (size_t v = e->g->values.n; v-- > 0;) {           /* lists by buffer, of 1 + id */
        uint32_t buffer = p->place[v].buffer;
        if (buffer == NO_ID || p->repl[v] != v) continue;
        next[v] = first[buffer];
        first[buffer] = (uint32_t)v + 1;
    }
    sb_printf(b, "\n/* The arena, " U64 " bytes: each buffer's bytes, offset, and the steps in which it is needed.\n *\n", p->arena_bytes);
    for (size_t i = 0; i < nb; i++) {
        const Buffer *u = &p->buffers.p[i];
        if (!u->in_arena) continue;
        sb_printf(b, " *   " U64 " bytes at " U64 ", steps %" PRIu32 " to %" PRIu32 ":", u->nbytes, u->offset, u->first, u->last);
        if (u->kind == BUF_WORKSPACE) sb_printf(b, " workspace of %s", comment_text(e->c->scratch, e->g->ops.p[u->op]->path));
        unsigned listed = 0;
        for (uint32_t v = first[i]; v && listed < MAX_LISTED; v = next[v - 1], listed++) {
            const Value *x = e->g->values.p[v - 1];
            sb_printf(b, "%s %s %s", listed ? "," : "", comment_text(e->c->scratch, x->name), type_text(e->c->scratch, &x->type));
            if (listed + 1 == MAX_LISTED && next[v - 1]) sb_puts(b, ", ...");
        }
        sb_putc(b, '\n');
    }
    sb_puts(b, " */\n");
}

static void put_frame(StrBuf *b, const Emit *e) {
    size_t in = e->g->inputs.n ? e->g->inputs.n : 1, out = e->g->results.n ? e->g->results.n : 1;
    sb_printf(b, "\n/* What the steps of one run work on. */\nstruct %s_frame {\n    unsigned char *arena;\n    const unsigned char *weights;\n"
                 "    const unsigned char *in[%zu];\n    unsigned char *out[%zu];\n    int *status;\n};\n", e->name, in, out);
    sb_printf(b, "#define RUN ((const struct %s_frame *)env)\n#define E_INDEX %s_E_INDEX\n#define E_DIVISION %s_E_DIVISION\n", e->name, e->upper,
              e->upper);
    sb_puts(b, "#ifdef NETC_POISON\n#define POISON(at, n) memset(frame.arena + (at), 0xff, (n))\n#else\n#define POISON(at, n) ((void)0)\n#endif\n");
}

/* ---- poison ---- */

/* Pieces by the step they end in and begin in, as lists: the bytes that die after a step are those of its pieces that end,
 * less what a buffer that was born in it took over. */
typedef struct Ends { uint32_t *ends, *begins, *next_end, *next_begin; const Piece **piece; uint64_t *base; uint32_t n; } Ends;

static Ends ends_of(const Emit *e) {
    const Plan *p = e->p;
    Arena *a = e->c->unit;
    Ends x = {0};
    for (size_t b = 0; b < p->buffers.n; b++) x.n += p->buffers.p[b].in_arena ? (uint32_t)p->buffers.p[b].pieces.n : 0;
    x.ends = NEW_ARRAY(a, uint32_t, p->steps.n + 1);
    x.begins = NEW_ARRAY(a, uint32_t, p->steps.n + 1);
    x.next_end = NEW_ARRAY(a, uint32_t, x.n + 1);
    x.next_begin = NEW_ARRAY(a, uint32_t, x.n + 1);
    x.piece = NEW_ARRAY(a, const Piece *, x.n + 1);
    x.base = NEW_ARRAY(a, uint64_t, x.n + 1);
    uint32_t at = 0;
    for (size_t b = 0; b < p->buffers.n; b++)
        for (size_t i = 0; p->buffers.p[b].in_arena && i < p->buffers.p[b].pieces.n; i++) {
            const Piece *q = &p->buffers.p[b].pieces.p[i];
            x.piece[++at] = q;
            x.base[at] = p->buffers.p[b].offset;
            x.next_end[at] = x.ends[q->last];
            x.ends[q->last] = at;
            x.next_begin[at] = x.begins[q->first];
            x.begins[q->first] = at;
        }
    return x;
}

/* Bytes [lo, hi) after step s, but for those of pieces that begin in s (a result over its dying operand) and last. */
static void put_poison(StrBuf *b, const Ends *x, uint32_t s, uint64_t lo, uint64_t hi) {
    while (lo < hi) {
        uint64_t free_to = hi, skip_to = lo;
        for (uint32_t k = x->begins[s]; k; k = x->next_begin[k]) {
            uint64_t from = x->base[k] + x->piece[k]->lo, to = x->base[k] + x->piece[k]->hi;
            if (x->piece[k]->last == s) continue;
            if (from <= lo && lo < to && to > skip_to) skip_to = to;
            if (from > lo && from < free_to) free_to = from;
        }
        if (skip_to > lo) {
            lo = skip_to;
            continue;
        }
        sb_printf(b, "    POISON(" U64 ", " U64 ");\n", lo, free_to - lo);
        lo = free_to;
    }
}

/* ---- the run ---- */

static const Value *result_value(const Emit *e, size_t i) {
    return e->g->values.p[plan_repl(e->p, e->g->results.p[i].value->id)];
}

/* Where a result lies when all steps have run, if that is not the caller's memory for it already. */
static void put_copy_out(StrBuf *b, const Emit *e, size_t i) {
    const Value *v = result_value(e, i);
    const Place *pl = &e->p->place[v->id];
    if (v->nbytes == 0) return;
    if (pl->buffer != NO_ID && e->io[pl->buffer] == UINT32_MAX - i && !e->p->buffers.p[pl->buffer].in_arena) return;
    sb_printf(b, "    { const void *env = &frame; memcpy(frame.out[%zu], %s, " U64 "); }\n", i, base_text(e, v), v->nbytes);
}

static void put_run(StrBuf *b, const Emit *e) {
    const Plan *p = e->p;
    Ends ends = ends_of(e);
    sb_printf(b, "\nint %s_run(", e->name);
    put_parameters(b, e);
    sb_puts(b, ") {\n    int status = 0;\n    if (!self");
    for (size_t i = 0; i < e->g->inputs.n; i++)
        if (e->g->inputs.p[i]->nelem) sb_printf(b, " || !%s", e->in_names[i]);
    for (size_t i = 0; i < e->g->results.n; i++)
        if (e->g->results.p[i].value->nelem) sb_printf(b, " || !%s", e->out_names[i]);
    sb_printf(b, ") return %s_E_NULL;\n", e->upper);
    sb_printf(b, "    const struct %s_frame frame = {\n        self->arena, self->weights, {", e->name);
    for (size_t i = 0; i < e->g->inputs.n; i++) sb_printf(b, "%s(const unsigned char *)%s", i ? ", " : "", e->in_names[i]);
    sb_puts(b, e->g->inputs.n ? "}, {" : "NULL}, {");
    for (size_t i = 0; i < e->g->results.n; i++) sb_printf(b, "%s(unsigned char *)%s", i ? ", " : "", e->out_names[i]);
    sb_puts(b, e->g->results.n ? "}, &status\n    };\n" : "NULL}, &status\n    };\n");
    if (p->arena_bytes) sb_printf(b, "    POISON(0, " U64 ");\n", p->arena_bytes);
    for (size_t i = 0; i < e->g->inputs.n; i++) {
        const Value *v = e->g->inputs.p[i];
        const Place *pl = &p->place[v->id];
        if (v->nbytes && pl->buffer != NO_ID && p->buffers.p[pl->buffer].in_arena)
            sb_printf(b, "    memcpy(frame.arena + " U64 ", frame.in[%zu], " U64 ");\n", p->buffers.p[pl->buffer].offset + pl->byte_offset, i,
                      v->nbytes);
    }
    for (uint32_t s = 0; s < p->steps.n; s++) {
        sb_printf(b, "    %s_step%" PRIu32 "(&frame);\n", e->name, s);
        for (uint32_t k = ends.ends[s]; k && s + 1 < p->steps.n; k = ends.next_end[k])
            put_poison(b, &ends, s, ends.base[k] + ends.piece[k]->lo, ends.base[k] + ends.piece[k]->hi);
    }
    for (size_t i = 0; i < e->g->results.n; i++) put_copy_out(b, e, i);
    sb_puts(b, "    (void)frame;\n    return status;\n}\n");
}

static void put_life(StrBuf *b, const Emit *e) {
    const char *n = e->name, *u = e->upper;
    sb_printf(b, "\nstatic int %s_check(const unsigned char *weights) {\n", n);
    if (e->weights->nbytes == 0) {
        sb_puts(b, "    (void)weights;\n    return 0;\n}\n");
    } else {
        sb_printf(b, "    static const unsigned char header[24] = {\"NETCWGT1\"");
        sb_puts(b, "};\n    const uint64_t numbers[2] = {");
        sb_printf(b, "UINT64_C(" U64 "), UINT64_C(" U64 ")};\n", e->weights->hash, e->weights->nbytes);
        sb_printf(b, "    if (!weights) return %s_E_NULL;\n", u);
        sb_printf(b, "    if ((uintptr_t)weights %% 16 != 0 || memcmp(weights, header, 8) != 0) return %s_E_WEIGHTS;\n", u);
        sb_puts(b, "    for (int i = 0; i < 16; i++)\n");
        sb_printf(b, "        if (weights[8 + i] != (numbers[i / 8] >> i %% 8 * 8 & 255)) return %s_E_MODEL;\n    return 0;\n}\n", u);
    }
    sb_printf(b, "\nint %s_init(%s *self, void *arena, const void *weights) {\n    if (!self) return %s_E_NULL;\n    self->own = NULL;\n    self->arena = NULL;\n", n, n, u);
    sb_printf(b, "    int code = %s_check(weights);\n    if (code) return code;\n", n);
    sb_printf(b, "    if ((uintptr_t)arena %% %s_ARENA_ALIGN != 0) return %s_E_ARENA;\n", u, u);
    if (e->p->arena_bytes) {
        uint64_t whole = e->p->arena_bytes;
        if (!align_up(whole, e->p->align, &whole)) whole = e->p->arena_bytes;
        sb_printf(b, "    if (!arena) arena = self->own = aligned_alloc(%s_ARENA_ALIGN, (size_t)UINT64_C(" U64 "));\n    if (!arena) return %s_E_MEMORY;\n", u, whole, u);
    }
    sb_printf(b, "    self->arena = arena;\n    self->weights = weights;\n    return 0;\n}\n");
    sb_printf(b, "\nvoid %s_free(%s *self) {\n    if (!self) return;\n    free(self->own);\n    self->own = NULL;\n    self->arena = NULL;\n}\n", n, n);
    sb_printf(b, "\nint %s_read_weights(const char *path, void *weights) {\n    FILE *f = fopen(path, \"rb\");\n    if (!f) return %s_E_FILE;\n", n, u);
    sb_printf(b, "    const size_t nbytes = (size_t)%s_WEIGHTS_BYTES;\n    size_t got = nbytes ? fread(weights, 1, nbytes, f) : 0;\n", u);
    sb_printf(b, "    const int more = got == nbytes && getc(f) != EOF, failed = ferror(f);\n    fclose(f);\n    if (failed) return %s_E_FILE;\n"
                 "    return got < nbytes || more ? %s_E_LENGTH : 0;\n}\n", u, u);
    sb_printf(b, "\nconst char *%s_error(int code) {\n    switch (code) {\n    case %s_OK: return \"no error\";\n", n, u);
    sb_printf(b, "    case %s_E_ARENA: return \"the arena is not aligned\";\n    case %s_E_MEMORY: return \"no memory for an arena\";\n", u, u);
    sb_printf(b, "    case %s_E_NULL: return \"a pointer is NULL\";\n    case %s_E_WEIGHTS: return \"not a block of weights\";\n", u, u);
    sb_printf(b, "    case %s_E_MODEL: return \"weights of another model\";\n    case %s_E_FILE: return \"the file of weights cannot be read\";\n", u, u);
    sb_printf(b, "    case %s_E_LENGTH: return \"the file of weights has another length\";\n", u);
    sb_printf(b, "    case %s_E_INDEX: return \"an index is out of range\";\n    case %s_E_DIVISION: return \"an integer is divided by zero\";\n", u, u);
    sb_puts(b, "    default: return \"unknown error\";\n    }\n}\n");
}

/* ---- all of it ---- */

static void find_places(Emit *e) {
    const Plan *p = e->p;
    e->io = NEW_ARRAY(e->c->unit, uint32_t, p->buffers.n);
    e->workspace = NEW_ARRAY(e->c->unit, uint32_t, p->steps.n);
    for (size_t i = 0; i < e->g->inputs.n; i++) {
        uint32_t b = p->place[e->g->inputs.p[i]->id].buffer;
        if (b != NO_ID) e->io[b] = (uint32_t)i + 1;
    }
    for (size_t i = e->g->results.n; i-- > 0;) {
        uint32_t b = p->place[result_value(e, i)->id].buffer;
        if (b != NO_ID && p->buffers.p[b].kind == BUF_IO && (e->io[b] == 0 || e->io[b] > UINT32_MAX / 2)) e->io[b] = UINT32_MAX - (uint32_t)i;
    }
    for (size_t s = 0; s < p->steps.n; s++) e->workspace[s] = NO_ID;
    for (size_t b = 0; b < p->buffers.n; b++)
        if (p->buffers.p[b].kind == BUF_WORKSPACE) e->workspace[p->step_of[p->buffers.p[b].op]] = (uint32_t)b;
}

bool emit_c(Ctx *c, const Graph *g, const Plan *p, const char *header, StrBuf *source, StrBuf *declarations) {
    Emit e = {.c = c, .g = g, .p = p, .weights = weights_layout(c, g, p)};
    name_parameters(&e);
    find_places(&e);
    sb_init(&e.out, c->unit);
    emit_steps(&e);
    if (diag_failed(c)) return false;
    put_header(declarations, &e);
    sb_printf(source, "/* %s - made by netc " NETC_VERSION " from %s, plan %s. */\n", e.name, comment_text(c->scratch, g->source),
              level_name(p->level));
    sb_printf(source, "#include \"%s\"\n\n#include <stdio.h>\n#include <stdlib.h>\n", header);
    put_kernels(source, &e);
    put_buffers(source, &e);
    put_frame(source, &e);
    sb_write(source, e.out.p, e.out.n);
    put_run(source, &e);
    put_life(source, &e);
    sb_puts(source, "#undef RUN\n#undef E_INDEX\n#undef E_DIVISION\n#undef POISON\n");
    return true;
}
