/* callbacks.c - the functions of an index that a step's kernel reads its operands and writes its result through. Each
 * is one static function in the output; what is fused in front of the kernel stands in those that read, what is fused
 * behind it in the one that writes. The operators of a step are gone through in program order, never by recursion. */
#include "backend/c/c.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <string.h>

enum { MAX_CHAIN = 64 };

static const char *callback_name(const StepText *s, const char *name) {
    return arena_printf(s->e->c->scratch, "%s_step%" PRIu32 "_%s", s->e->name, s->number, name);
}

static const Op *op_at(const StepText *s, size_t i) { return s->e->g->ops.p[s->step->ops.p[i]]; }

void step_line(StepText *s, const char *fmt, ...) {
    va_list ap;
    sb_puts(&s->body, "    ");
    va_start(ap, fmt);
    sb_vprintf(&s->body, fmt, ap);
    va_end(ap);
    sb_putc(&s->body, '\n');
}

const char *kernel(StepText *s, Family f, const char *base) {
    s->e->used[f][s->arith] = true;
    if (f == FAMILY_CONV || f == FAMILY_MATMUL) s->e->used[FAMILY_VEC][s->arith] = true;
    return arena_printf(s->e->c->scratch, "%s_%s", base, arith_suffix(s->arith));
}

const char *comment_text(Arena *a, const char *text) {
    StrBuf b;
    sb_init(&b, a);
    for (; *text; text++)
        sb_putc(&b, *text == '*' || (unsigned char)*text < ' ' || *text == 127 || *text == '\\' ? '.' : *text);
    return sb_str(&b);
}

/* An operator that is computed at the index at which it is read: no remap, nothing wide. */
static bool in_front(const Op *op, const Op *reader) {
    return op->id < reader->id && is_pointwise(op) && !op_remaps(op);
}

static void front_statements(const StepText *s, StrBuf *b, const Op *reader, const char *index) {
    for (size_t i = 0; i < s->step->ops.n; i++)
        if (in_front(op_at(s, i), reader)) point_statements(s, b, op_at(s, i), index);
}

static void put_result(StrBuf *out, Arith from, Arith to, const char *text) {
    if (from == to) sb_printf(out, "    return %s;\n}\n", text);
    else sb_printf(out, "    return (%s)%s;\n}\n", arith_type(to), text);
}

static void put_head(const StepText *s, const char *type, const char *name, const char *parameters) {
    sb_printf(&s->e->out, "KERNEL %s %s(const void *env, %s) {\n    (void)env;\n", type, name, parameters);
}

/* ---- reading ---- */

const char *cb_load(StepText *s, const char *name, const Value *v, Arith as) {
    StrBuf *out = &s->e->out;
    if (!v) return "NULL";
    name = callback_name(s, name);
    put_head(s, arith_type(as), name, "size_t i");
    if (v->role == ROLE_CONST)
        sb_printf(out, "    (void)i;\n    return %s;\n}\n", constant_text(s->e->c->scratch, v, as));
    else sb_printf(out, "    return %s;\n}\n", load_text(s, v, "i", as));
    return name;
}

const char *cb_operand(StepText *s, const char *name, const Op *op, uint32_t k) {
    const Value *v = operand(s, op, k);
    if (!v || !in_step(s, v)) return cb_load(s, name, v, s->arith);
    StrBuf *out = &s->e->out;
    name = callback_name(s, name);
    put_head(s, arith_type(s->arith), name, "size_t i");
    front_statements(s, out, op, "i");
    put_result(out, arith_of(v->type.dtype), s->arith, local_name(s, v));
    return name;
}

/* Copies text, but for what divides i by `plane`, which is the parameter of that name. */
static void put_planes(StrBuf *out, Arena *a, const char *text, uint64_t plane) {
    const char *quotient = arena_printf(a, "i / %" PRIu64, plane), *at;
    size_t n = strlen(quotient);
    for (; (at = strstr(text, quotient)) != NULL; text = at + n) {
        bool apart = !(at[n] >= '0' && at[n] <= '9') && (at == text || at[-1] == ' ' || at[-1] == '(');
        sb_write(out, text, (size_t)(at - text));
        sb_puts(out, apart ? "plane" : quotient);
    }
    sb_puts(out, text);
}

const char *cb_plane(StepText *s, const char *name, const Op *op, uint32_t k, uint64_t plane) {
    const Value *v = operand(s, op, k);
    Arena *a = s->e->c->scratch;
    StrBuf *out = &s->e->out, statements;
    name = callback_name(s, name);
    put_head(s, arith_type(s->arith), name, "size_t plane, size_t place");
    sb_printf(out, "    const size_t i = plane * %" PRIu64 " + place;\n    (void)i;\n", plane);
    sb_init(&statements, a);
    if (in_step(s, v)) front_statements(s, &statements, op, "i");
    put_planes(out, a, sb_str(&statements), plane);
    if (in_step(s, v)) put_result(out, arith_of(v->type.dtype), s->arith, local_name(s, v));
    else if (v->role == ROLE_CONST) sb_printf(out, "    return %s;\n}\n", constant_text(a, v, s->arith));
    else sb_printf(out, "    return %s;\n}\n", load_text(s, v, "i", s->arith));
    return name;
}

const Value *operand_access(const StepText *s, const Op *op, uint32_t k, Access *a) {
    const Value *chain[MAX_CHAIN], *v = operand(s, op, k);
    unsigned n = 0;
    for (; v && in_step(s, v) && op_remaps(v->def); v = operand(s, v->def, 0)) {
        if (n == MAX_CHAIN) ice("emit: %s reads through more than %d operators", op->path, MAX_CHAIN);
        chain[n++] = v;
    }
    if (!v || !access_whole(a, v)) {
        *a = (Access){.rank = op->in[k] ? op->in[k]->type.shape.rank : 0};
        return n == 0 ? v : NULL;
    }
    while (n-- > 0)
        if (!access_through(a, chain[n]->def, chain[n]->out_index))
            ice("emit: %s cannot read its operand %u", op->path, (unsigned)k);
    return v;
}

/* The sum of three places, those that are not 0. */
static const char *summed(Arena *a, const char *x, const char *y, const char *z) {
    const char *part[] = {x, y, z}, *sum = NULL;
    for (size_t i = 0; i < COUNT_OF(part); i++)
        if (strcmp(part[i], "0") != 0) sum = sum ? arena_printf(a, "%s + %s", sum, part[i]) : part[i];
    return sum ? sum : "0";
}

const char *cb_matrix(StepText *s, const char *name, const Op *op, uint32_t k, const Map *batch, const Map *row,
                      const Map *column) {
    Access access;
    const Value *v = operand_access(s, op, k, &access);
    Arena *a = s->e->c->scratch;
    StrBuf *out = &s->e->out;
    name = callback_name(s, name);
    put_head(s, arith_type(s->arith), name, "size_t g, size_t r, size_t c");
    if (!v || v->nelem == 0) {
        sb_printf(out, "    (void)g, (void)r, (void)c;\n    return 0;\n}\n");
        return name;
    }
    sb_printf(out, "    (void)g, (void)r, (void)c;\n    const size_t i = %s;\n",
              summed(a, map_text(a, batch, "g"), map_text(a, row, "r"), map_text(a, column, "c")));
    if (in_step(s, v)) {
        front_statements(s, out, op, "i");
        put_result(out, arith_of(v->type.dtype), s->arith, local_name(s, v));
    } else if (v->role == ROLE_CONST) {
        sb_printf(out, "    (void)i;\n    return %s;\n}\n", constant_text(a, v, s->arith));
    } else {
        sb_printf(out, "    return %s;\n}\n", load_text(s, v, "i", s->arith));
    }
    return name;
}

/* ---- writing ---- */

/* `value` as the kernel hands it over becomes the local of v. */
static void put_value(const StepText *s, const Value *v, Arith from) {
    Arith as = arith_of(v->type.dtype);
    const char *text = from == as ? "value" : arena_printf(s->e->c->scratch, "(%s)value", arith_type(as));
    if (as == ARITH_I64 && v->type.dtype != DT_I64)
        text = arena_printf(s->e->c->scratch, "wrap_%s(%s)", dtype_name(v->type.dtype), text);
    sb_printf(&s->e->out, "    const %s %s = %s;\n", arith_type(as), local_name(s, v), text);
}

/* The index, in the last value of a chain of remaps [from, n), of element i of what they start from. */
static const char *stored_index(const StepText *s, size_t from, const Value *last) {
    Access access;
    Map m = {0};
    if (!access_whole(&access, last)) return "i";
    for (size_t i = s->step->ops.n; i-- > from;)
        if (!access_back(&access, op_at(s, i))) ice("emit: %s cannot be stored through its reshapes", last->name);
    map_axes(&m, &access, 0, access.rank);
    m.offset = access.offset;
    return map_text(s->e->c->scratch, &m, "i");
}

const char *cb_store(StepText *s, const char *name, const Op *of) {
    StrBuf *out = &s->e->out;
    const Value *last = of->out[0];
    name = callback_name(s, name);
    put_head(s, "void", name, arena_printf(s->e->c->scratch, "size_t i, %s value", arith_type(s->arith)));
    put_value(s, last, s->arith);
    if (has_place(s, last)) sb_printf(out, "    %s\n", store_text(s, last, "i", local_name(s, last)));
    size_t k = 0;
    while (k < s->step->ops.n && op_at(s, k)->id <= of->id) k++;
    for (; k < s->step->ops.n && !op_remaps(op_at(s, k)); k++) {
        point_statements(s, out, op_at(s, k), "i");
        last = op_at(s, k)->out[0];
        if (has_place(s, last)) sb_printf(out, "    %s\n", store_text(s, last, "i", local_name(s, last)));
    }
    if (k < s->step->ops.n) {                             /* reshapes and transposes say where it is stored */
        const Value *v = op_at(s, s->step->ops.n - 1)->out[0];
        sb_printf(out, "    %s\n", store_text(s, v, stored_index(s, k, v), local_name(s, last)));
    }
    sb_puts(out, "}\n");
    return name;
}

const char *cb_put(StepText *s, const char *name, const Value *v, Arith from) {
    Arith as = arith_of(v->type.dtype);
    const char *value = from == as ? "value" : arena_printf(s->e->c->scratch, "(%s)value", arith_type(as));
    name = callback_name(s, name);
    put_head(s, "void", name, arena_printf(s->e->c->scratch, "size_t i, %s value", arith_type(from)));
    sb_printf(&s->e->out, "    %s\n}\n", store_text(s, v, "i", value));
    return name;
}

const char *cb_between(StepText *s, const char *name, const Value *from, const Value *to) {
    StrBuf *out = &s->e->out;
    name = callback_name(s, name);
    put_head(s, arith_type(s->arith), name, arena_printf(s->e->c->scratch, "size_t i, %s value", arith_type(s->arith)));
    sb_puts(out, "    (void)i;\n");
    put_value(s, from, s->arith);
    for (size_t k = 0; k < s->step->ops.n; k++) {
        const Op *op = op_at(s, k);
        if (op->id > from->def->id && op->id <= to->def->id && is_pointwise(op) && !op_remaps(op))
            point_statements(s, out, op, "i");
    }
    put_result(out, arith_of(to->type.dtype), s->arith, local_name(s, to));
    return name;
}
