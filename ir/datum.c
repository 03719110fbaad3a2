/* datum.c - compile-time values: making, comparing and printing them.
 *
 * Two data are equal when no operator could tell them apart: floats compare by their bits, so that 0.0 and -0.0 differ
 * and a NaN equals itself. The printed form is the language's own and reads back as the same datum. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

Datum d_none(void) { return (Datum){.kind = D_NONE}; }
Datum d_bool(bool b) { return (Datum){.kind = D_BOOL, .b = b}; }
Datum d_int(int64_t i) { return (Datum){.kind = D_INT, .i = i}; }
Datum d_float(double f) { return (Datum){.kind = D_FLOAT, .f = f}; }
Datum d_str(const char *interned) { return (Datum){.kind = D_STR, .s = interned}; }
Datum d_dtype(DType t) { return (Datum){.kind = D_DTYPE, .dtype = t}; }
Datum d_tensor(Value *v) { return (Datum){.kind = D_TENSOR, .tensor = v}; }

Datum d_list(Arena *a, const Datum *p, uint32_t n) {
    Datum d = {.kind = D_LIST};
    d.list.p = n > 0 ? arena_copy(a, p, n * sizeof *p) : NULL;
    d.list.n = n;
    return d;
}

Datum d_ints(Arena *a, const int64_t *v, uint32_t n) {
    Datum d = {.kind = D_LIST};
    d.list.p = n > 0 ? NEW_ARRAY(a, Datum, n) : NULL;
    d.list.n = n;
    for (uint32_t i = 0; i < n; i++)
        d.list.p[i] = d_int(v[i]);
    return d;
}

/* Lists nest as deep as the source that wrote them, which the grammar limits. */
bool datum_equal(const Datum *a, const Datum *b) {
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case D_NONE: return true;
    case D_BOOL: return a->b == b->b;
    case D_INT: return a->i == b->i;
    case D_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case D_STR: return a->s == b->s || strcmp(a->s, b->s) == 0;
    case D_DTYPE: return a->dtype == b->dtype;
    case D_TENSOR: return a->tensor == b->tensor;
    case D_LIST: break;
    }
    if (a->list.n != b->list.n)
        return false;
    for (uint32_t i = 0; i < a->list.n; i++)
        if (!datum_equal(&a->list.p[i], &b->list.p[i]))
            return false;
    return true;
}

/* A float keeps a point or an exponent, so that it does not read back as an integer. */
static void print_float(StrBuf *sb, double f) {
    if (isnan(f)) {
        sb_puts(sb, signbit(f) ? "-nan" : "nan");
        return;
    }
    if (isinf(f)) {
        sb_puts(sb, f < 0 ? "-inf" : "inf");
        return;
    }
    size_t from = sb->n;
    sb_double(sb, f);
    for (size_t i = from; i < sb->n; i++)
        if (sb->p[i] == '.' || sb->p[i] == 'e')
            return;
    sb_puts(sb, ".0");
}

static void print_str(StrBuf *sb, const char *s) {
    sb_putc(sb, '"');
    for (; *s != '\0'; s++)
        switch (*s) {
        case '"': sb_puts(sb, "\\\""); break;
        case '\\': sb_puts(sb, "\\\\"); break;
        case '\n': sb_puts(sb, "\\n"); break;
        case '\t': sb_puts(sb, "\\t"); break;
        default: sb_putc(sb, *s); break;
        }
    sb_putc(sb, '"');
}

static void print_list(StrBuf *sb, const Datum *d) {
    sb_putc(sb, '(');
    for (uint32_t i = 0; i < d->list.n; i++) {
        if (i > 0)
            sb_puts(sb, ", ");
        datum_print(sb, &d->list.p[i]);
    }
    sb_puts(sb, d->list.n == 1 ? ",)" : ")");
}

void datum_print(StrBuf *sb, const Datum *d) {
    switch (d->kind) {
    case D_NONE: sb_puts(sb, "none"); break;
    case D_BOOL: sb_puts(sb, d->b ? "true" : "false"); break;
    case D_INT: sb_printf(sb, "%lld", (long long)d->i); break;
    case D_FLOAT: print_float(sb, d->f); break;
    case D_STR: print_str(sb, d->s); break;
    case D_DTYPE: sb_puts(sb, dtype_name(d->dtype)); break;
    case D_TENSOR: sb_puts(sb, d->tensor->name); break;
    case D_LIST: print_list(sb, d); break;
    }
}
