/* value.c - how one element of a value is written and read in C: numbers, places, loads and stores. */
#include "backend/c/c.h"

#include <inttypes.h>
#include <math.h>

Arith arith_of(DType d) {
    return d == DT_F64 ? ARITH_F64 : dtype_is_float(d) ? ARITH_F32 : ARITH_I64;
}

const char *arith_type(Arith a) {
    static const char *const names[ARITH_COUNT] = {"float", "double", "int64_t", "uint64_t"};
    return names[a];
}

const char *arith_suffix(Arith a) {
    static const char *const names[ARITH_COUNT] = {"f32", "f64", "i64", "u64"};
    return names[a];
}

const Value *operand(const StepText *s, const Op *op, uint32_t k) {
    const Graph *g = s->e->g;
    return k < op->nin && op->in[k] ? g->values.p[plan_repl(s->e->p, op->in[k]->id)] : NULL;
}

bool in_step(const StepText *s, const Value *v) {
    if (!v->def) return false;
    Fate f = s->e->p->fate[v->def->id];
    return (f == FATE_RUN || f == FATE_FUSED || f == FATE_FOLDED) && s->e->p->step_of[v->def->id] == s->number;
}

bool has_place(const StepText *s, const Value *v) {
    return s->e->p->place[v->id].buffer != NO_ID;
}

static const char *with_offset(Arena *a, const char *base, uint64_t offset) {
    return offset ? arena_printf(a, "%s + %" PRIu64, base, offset) : base;
}

const char *base_text(const Emit *e, const Value *v) {
    const Place *pl = &e->p->place[v->id];
    Arena *a = e->c->scratch;
    if (pl->buffer == NO_ID) ice("emit: %s has no place", v->name);
    const Buffer *b = &e->p->buffers.p[pl->buffer];
    if (b->in_arena) return with_offset(a, "RUN->arena", b->offset + pl->byte_offset);
    if (b->kind == BUF_WEIGHT) return with_offset(a, "RUN->weights", e->weights->offset[b->id] + pl->byte_offset);
    if (b->kind != BUF_IO || e->io[b->id] == 0) ice("emit: the buffer of %s is nowhere", v->name);
    int32_t io = (int32_t)e->io[b->id];
    const char *base =
        io > 0 ? arena_printf(a, "RUN->in[%d]", (int)(io - 1)) : arena_printf(a, "RUN->out[%d]", (int)(-io - 1));
    return with_offset(a, base, pl->byte_offset);
}

/* A number of a float type, exact: the shortest text that reads back as the same number. */
const char *number_text(Arena *arena, Arith a, double v) {
    StrBuf b;
    if (isnan(v)) return "NAN";
    if (a == ARITH_F32) v = (double)(float)v;
    if (isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
    sb_init(&b, arena);
    if (signbit(v)) sb_putc(&b, '(');
    sb_double(&b, v);
    bool whole = true;
    for (size_t i = 0; i < b.n; i++)
        if (b.p[i] == '.' || b.p[i] == 'e') whole = false;
    sb_puts(&b, whole ? ".0" : "");
    if (a == ARITH_F32) sb_putc(&b, 'f');
    if (signbit(v)) sb_putc(&b, ')');
    return sb_str(&b);
}

const char *whole_text(Arena *arena, int64_t v) {
    if (v == INT64_MIN) return "INT64_MIN";
    if (v == INT64_MAX) return "INT64_MAX";
    if (v >= -32767 && v <= 32767) return arena_printf(arena, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v);
    return arena_printf(arena, v < 0 ? "(-INT64_C(%" PRIu64 "))" : "INT64_C(%" PRIu64 ")",
                        v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

const char *constant_text(Arena *arena, const Value *v, Arith a) {
    const Datum *d = &v->constant;
    int64_t i = d->kind == D_BOOL ? d->b : d->kind == D_INT ? d->i : 0;
    double f = d->kind == D_FLOAT ? d->f : (double)i;
    if (dtype_is_float(v->type.dtype)) f = number_round(v->type.dtype, f);
    if (a == ARITH_I64 || a == ARITH_RING) return whole_text(arena, d->kind == D_FLOAT ? number_truncate(f) : i);
    return number_text(arena, a, f);
}

const char *load_text(const StepText *s, const Value *v, const char *index, Arith as) {
    Arena *a = s->e->c->scratch;
    const char *text = arena_printf(a, "load_%s(%s, %s)", dtype_name(v->type.dtype), base_text(s->e, v), index);
    return arith_of(v->type.dtype) == as ? text : arena_printf(a, "(%s)%s", arith_type(as), text);
}

const char *store_text(const StepText *s, const Value *v, const char *index, const char *value) {
    return arena_printf(s->e->c->scratch, "store_%s(%s, %s, %s);", dtype_name(v->type.dtype), base_text(s->e, v), index,
                        value);
}

const char *local_name(const StepText *s, const Value *v) {
    return arena_printf(s->e->c->scratch, "v%" PRIu32, v->id);
}
