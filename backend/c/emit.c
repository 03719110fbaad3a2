/* emit.c - model.c and model.h of a planned network: the interface, the kernels its steps use, the steps, the call
 * that runs them in the order of the plan.
 *
 * Every activation lies at a constant offset of one arena, which has exactly the plan's arena_bytes. The program needs
 * the standard headers alone, allocates at most once, when it is initialised without an arena, and has no globals.
 * With NETC_POISON defined each byte is filled with 0xff, NaN in every float type, the moment its last reader has run.
 * Time and memory are linear in the operators. */
#include "backend/c/c.h"

#include <inttypes.h>
#include <string.h>

#define U64 "%" PRIu64

extern const char kernel_base[], kernel_whole[], template_interface[], template_frame[], template_life[];
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

/* ---- the interface ---- */

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

/* ---- fixed texts ---- */

static const char *text_of(void (*put)(StrBuf *, const Emit *), const Emit *e) {
    StrBuf b;
    sb_init(&b, e->c->scratch);
    put(&b, e);
    return sb_str(&b);
}

static const char *number(const Emit *e, uint64_t n) { return arena_printf(e->c->scratch, U64, n); }

/* A text with $words in it: the longest word of the table that stands there. */
static void put_template(StrBuf *b, const Emit *e, const char *text) {
    uint64_t whole = e->p->arena_bytes;
    if (!align_up(whole, e->p->align, &whole)) whole = e->p->arena_bytes;
    const struct { const char *word, *text;
    } words[] = {
        {"net", e->name},
        {"NET", e->upper},
        {"version", NETC_VERSION},
        {"source", comment_text(e->c->scratch, e->g->source)},
        {"tensors", text_of(put_tensors, e)},
        {"parameters", text_of(put_parameters, e)},
        {"arena", number(e, e->p->arena_bytes)},
        {"align", number(e, e->p->align)},
        {"weights", number(e, e->weights->nbytes)},
        {"hash", number(e, e->weights->hash)},
        {"whole", number(e, whole)},
        {"nin", number(e, e->g->inputs.n ? e->g->inputs.n : 1)},
        {"nout", number(e, e->g->results.n ? e->g->results.n : 1)},
    };
    for (const char *p = text; *p; p++) {
        size_t i = 0;
        while (*p == '$' && i < COUNT_OF(words) && strncmp(p + 1, words[i].word, strlen(words[i].word)) != 0) i++;
        if (*p != '$') {
            sb_putc(b, *p);
            continue;
        }
        if (i == COUNT_OF(words)) ice("a template has a word that is none: %.20s", p);
        sb_puts(b, words[i].text);
        p += strlen(words[i].word);
    }
}

/* ---- the source ---- */

static void put_kernels(StrBuf *b, const Emit *e) {
    static const char *const wide[] = {"double", "double", "int64_t", "uint64_t"};
    sb_printf(b, "#ifndef NETC_KERNEL_BASE\n#define NETC_KERNEL_BASE\n%s\n%s#endif\n", kernel_base, kernel_whole);
    for (Arith a = 0; a < ARITH_COUNT; a++)
        for (Family f = 0; f < FAMILY_COUNT; f++) {
            if (!e->used[f][a]) continue;
            const char *suffix = arith_suffix(a);
            sb_printf(b, "\n#ifndef NETC_KERNEL_%s_%s\n#define NETC_KERNEL_%s_%s\n", family_names[f], suffix,
                      family_names[f], suffix);
            sb_printf(b, "#define num %s\n#define wide %s\n#define K(name) name##_%s\n#define M(name) name%s\n",
                      arith_type(a), wide[a], suffix, a == ARITH_F32 ? "##f" : "");
            sb_printf(b, "%s#undef num\n#undef wide\n#undef K\n#undef M\n#endif\n", family_texts[f]);
        }
}

/* What a buffer holds: its values are listed by name, the first few of them. */
enum { MAX_LISTED = 4 };
static void put_buffers(StrBuf *b, const Emit *e) {
    const Plan *p = e->p;
    size_t nb = p->buffers.n;
    uint32_t *first = NEW_ARRAY(e->c->scratch, uint32_t, nb),
             *next = NEW_ARRAY(e->c->scratch, uint32_t, e->g->values.n + 1);
    for (size_t v = e->g->values.n; v-- > 0;) {           /* lists by buffer, of 1 + id */
        uint32_t buffer = p->place[v].buffer;
        if (buffer == NO_ID || p->repl[v] != v) continue;
        next[v] = first[buffer];
        first[buffer] = (uint32_t)v + 1;
    }
    sb_printf(b,
              "\n/* The arena, " U64 " bytes: each buffer's bytes, offset, and the steps in which it is needed.\n *\n",
              p->arena_bytes);
    for (size_t i = 0; i < nb; i++) {
        const Buffer *u = &p->buffers.p[i];
        if (!u->in_arena) continue;
        sb_printf(b, " *   " U64 " bytes at " U64 ", steps %" PRIu32 " to %" PRIu32 ":", u->nbytes, u->offset, u->first,
                  u->last);
        if (u->kind == BUF_WORKSPACE)
            sb_printf(b, " workspace of %s", comment_text(e->c->scratch, e->g->ops.p[u->op]->path));
        unsigned listed = 0;
        for (uint32_t v = first[i]; v && listed < MAX_LISTED; v = next[v - 1], listed++) {
            const Value *x = e->g->values.p[v - 1];
            sb_printf(b, "%s %s %s", listed ? "," : "", comment_text(e->c->scratch, x->name),
                      type_text(e->c->scratch, &x->type));
            if (listed + 1 == MAX_LISTED && next[v - 1]) sb_puts(b, ", ...");
        }
        sb_putc(b, '\n');
    }
    sb_puts(b, " */\n");
}

/* ---- poison ---- */

/* Pieces by the step they end in and begin in, as lists: the bytes that die after a step are those of its pieces that
 * end, less what a buffer that was born in it took over. */
typedef struct Ends {
    uint32_t *ends, *begins, *next_end, *next_begin;
    const Piece **piece;
    uint64_t *base;
    uint32_t n;
} Ends;

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
    sb_printf(b, "    { const void *env = &frame; memcpy(frame.out[%zu], %s, " U64 "); }\n", i, base_text(e, v),
              v->nbytes);
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
    for (size_t i = 0; i < e->g->inputs.n; i++)
        sb_printf(b, "%s(const unsigned char *)%s", i ? ", " : "", e->in_names[i]);
    sb_puts(b, e->g->inputs.n ? "}, {" : "NULL}, {");
    for (size_t i = 0; i < e->g->results.n; i++) sb_printf(b, "%s(unsigned char *)%s", i ? ", " : "", e->out_names[i]);
    sb_puts(b, e->g->results.n ? "}, &status\n    };\n" : "NULL}, &status\n    };\n");
    if (p->arena_bytes) sb_printf(b, "    POISON(0, " U64 ");\n", p->arena_bytes);
    for (size_t i = 0; i < e->g->inputs.n; i++) {
        const Value *v = e->g->inputs.p[i];
        const Place *pl = &p->place[v->id];
        if (v->nbytes && pl->buffer != NO_ID && p->buffers.p[pl->buffer].in_arena)
            sb_printf(b, "    memcpy(frame.arena + " U64 ", frame.in[%zu], " U64 ");\n",
                      p->buffers.p[pl->buffer].offset + pl->byte_offset, i, v->nbytes);
    }
    for (uint32_t s = 0; s < p->steps.n; s++) {
        sb_printf(b, "    %s_step%" PRIu32 "(&frame);\n", e->name, s);
        for (uint32_t k = ends.ends[s]; k && s + 1 < p->steps.n; k = ends.next_end[k])
            put_poison(b, &ends, s, ends.base[k] + ends.piece[k]->lo, ends.base[k] + ends.piece[k]->hi);
    }
    for (size_t i = 0; i < e->g->results.n; i++) put_copy_out(b, e, i);
    sb_puts(b, "    (void)frame;\n    return status;\n}\n");
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
        if (b != NO_ID && p->buffers.p[b].kind == BUF_IO && (e->io[b] == 0 || e->io[b] > UINT32_MAX / 2))
            e->io[b] = UINT32_MAX - (uint32_t)i;
    }
    for (size_t s = 0; s < p->steps.n; s++) e->workspace[s] = NO_ID;
    for (size_t b = 0; b < p->buffers.n; b++)
        if (p->buffers.p[b].kind == BUF_WORKSPACE) e->workspace[p->step_of[p->buffers.p[b].op]] = (uint32_t)b;
}

/* A plan made with an alignment below that of an element may place it where C cannot reach it. */
static bool check_place(const Emit *e, Span span, const char *name, uint64_t at, unsigned size) {
    if (size < 2 || at % size == 0) return true;
    Diag *d = diag(e->c, DIAG_UNSUPPORTED, span, "generated C cannot reach %s at offset " U64 " of the arena", name, at);
    diag_help(e->c, d, "its elements have %u bytes: --align=%u or more", size, size);
    return false;
}

static bool check_places(const Emit *e) {
    const Plan *p = e->p;
    for (size_t v = 0; v < e->g->values.n; v++) {
        const Value *x = e->g->values.p[v];
        const Buffer *b = p->place[v].buffer == NO_ID ? NULL : &p->buffers.p[p->place[v].buffer];
        unsigned size = dtype_bits(x->type.dtype) / 8;
        if (b && b->in_arena && !check_place(e, x->span, x->name, b->offset + p->place[v].byte_offset, size))
            return false;
    }
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        const Op *op = b->kind == BUF_WORKSPACE ? e->g->ops.p[b->op] : NULL;
        unsigned size = op ? dtype_bits(op->in[0]->type.dtype) / 8 : 0;
        if (op && !check_place(e, op->span, op->path, b->offset, size > 4 ? size : 4)) return false;
    }
    return true;
}

bool emit_c(Ctx *c, const Graph *g, const Plan *p, const char *header, StrBuf *source, StrBuf *declarations) {
    Emit e = {.c = c, .g = g, .p = p, .weights = weights_layout(c, g, p)};
    name_parameters(&e);
    find_places(&e);
    if (!check_places(&e)) return false;
    sb_init(&e.out, c->unit);
    emit_steps(&e);
    put_template(declarations, &e, template_interface);
    sb_printf(source, "/* %s - made by netc " NETC_VERSION " from %s, plan %s. */\n", e.name,
              comment_text(c->scratch, g->source), level_name(p->level));
    sb_printf(source, "#include \"%s\"\n\n#include <stdio.h>\n#include <stdlib.h>\n", header);
    put_kernels(source, &e);
    put_buffers(source, &e);
    put_template(source, &e, template_frame);
    sb_write(source, e.out.p, e.out.n);
    put_run(source, &e);
    put_template(source, &e, template_life);
    return true;
}
