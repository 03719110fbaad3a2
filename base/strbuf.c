/* strbuf.c - text that grows in an arena, and numbers as people read them. Nothing here depends on the locale. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_init(StrBuf *b, Arena *arena) {
    *b = (StrBuf){ .arena = arena };
}

/* Keeps a byte for the NUL that sb_str writes. */
static void sb_reserve(StrBuf *b, size_t more) {
    if (more >= SIZE_MAX - b->n)
        die("out of memory");
    if (b->n + more + 1 > b->cap) {
        size_t need = b->n + more + 1;
        vec_reserve(b->arena, (void **)&b->p, &b->cap, need < 128 ? 128 : need, 1);
    }
}

void sb_putc(StrBuf *b, char c) {
    sb_reserve(b, 1);
    b->p[b->n++] = c;
}

void sb_write(StrBuf *b, const char *s, size_t n) {
    if (!n)
        return;
    sb_reserve(b, n);
    memcpy(b->p + b->n, s, n);
    b->n += n;
}

void sb_puts(StrBuf *b, const char *s) {
    sb_write(b, s, strlen(s));
}

void sb_vprintf(StrBuf *b, const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    sb_reserve(b, 64);
    int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, args);
    if (n < 0)
        ice("cannot format '%s'", fmt);
    if ((size_t)n >= b->cap - b->n) {
        sb_reserve(b, (size_t)n);
        vsnprintf(b->p + b->n, b->cap - b->n, fmt, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

void sb_printf(StrBuf *b, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sb_vprintf(b, fmt, args);
    va_end(args);
}

/* printf writes 1e-05; the shortest is 1e-5. The decimal point may be a locale's comma. */
static void put_short_number(StrBuf *b, const char *s) {
    for (; *s && *s != 'e'; s++)
        sb_putc(b, *s == '-' || (*s >= '0' && *s <= '9') ? *s : '.');
    if (*s != 'e')
        return;
    sb_putc(b, *s++);
    if (*s == '-')
        sb_putc(b, '-');
    s += *s == '-' || *s == '+';
    while (*s == '0')
        s++;
    sb_puts(b, s);
}

void sb_double(StrBuf *b, double v) {
    if (isnan(v) || isinf(v)) {
        sb_puts(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (memcmp(&back, &v, sizeof v) == 0)
            break;
    }
    put_short_number(b, text);
}

const char *sb_str(StrBuf *b) {
    sb_reserve(b, 0);
    b->p[b->n] = '\0';
    return b->p;
}

const char *group_digits(Arena *a, uint64_t v) {
    char text[32];
    char *p = text + sizeof text - 1;
    *p = '\0';
    for (unsigned digits = 0; !digits || v; v /= 10, digits++) {
        if (digits && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + v % 10);
    }
    return arena_strndup(a, p, strlen(p));
}

/* Rounded half up to two decimals, in integers: 1,048,575 B is 1.00 MiB, not 1024.00 KiB. */
const char *iec_bytes(Arena *a, uint64_t n) {
    static const char units[] = "BKMGTPE";
    unsigned unit = 0;
    while (unit < 6 && n >> (10 * unit) >= 1024)
        unit++;
    if (!unit)
        return arena_printf(a, "%u B", (unsigned)n);
    unsigned shift = 10 * unit;
    uint64_t whole = n >> shift, rest = n & ((UINT64_C(1) << shift) - 1);
    if (shift > 50) {                                     /* rest * 100 must fit */
        rest >>= 10;
        shift -= 10;
    }
    uint64_t hundredths = (rest * 100 + (UINT64_C(1) << (shift - 1))) >> shift;
    whole += hundredths / 100;
    hundredths %= 100;
    if (whole == 1024 && unit < 6) {
        whole = 1;
        unit++;
    }
    return arena_printf(a, "%u.%02u %ciB", (unsigned)whole, (unsigned)hundredths, units[unit]);
}
