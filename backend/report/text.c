/* text.c - laying out text for a terminal: lines that break between items, columns, names cut from the left (a path's end
 * says more than its beginning), colours, numbers. Nothing here depends on the locale. */
#include "backend/report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void flow_text(Flow *f, const char *text, size_t n) {
    size_t width = display_width(text, n);
    if (f->used > 0 && f->used + 2 + width > f->width) {
        sb_putc(f->sb, '\n');
        f->used = 0;
        for (unsigned i = 0; i < f->indent; i++)
            sb_putc(f->sb, ' ');
        f->used += f->indent;
    } else if (f->used > 0) {
        sb_puts(f->sb, "  ");
        f->used += 2;
    }
    sb_write(f->sb, text, n);
    f->used += (unsigned)width;
}

void flow_item(Flow *f, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = arena_alloc(f->sb->arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    flow_text(f, text, (size_t)n);
}

void flow_end(Flow *f) {
    sb_putc(f->sb, '\n');
    f->used = 0;
}

void put_inked(StrBuf *sb, const Report *r, int ink, const char *text) {
    if (!r->opt->color || ink == INK_NONE) {
        sb_puts(sb, text);
        return;
    }
    if (ink == INK_BOLD)
        sb_puts(sb, "\033[1m");
    else
        sb_printf(sb, "\033[38;5;%dm", ink);
    sb_puts(sb, text);
    sb_puts(sb, "\033[0m");
}

int buffer_ink(BufferKind kind) {
    switch (kind) {
    case BUF_ACTIVATION: return 36;
    case BUF_WORKSPACE: return 247;
    case BUF_IO: return 74;
    case BUF_WEIGHT: return 25;
    case BUF_SAVED: return 36;
    case BUF_GRADIENT: return 166;
    case BUF_OPTIMIZER: return 175;
    }
    ice("buffer kind %d", (int)kind);
}

void put_padded(StrBuf *sb, const char *text, size_t width, bool right) {
    size_t have = display_width(text, strlen(text)), pad = width > have ? width - have : 0;
    for (size_t i = 0; right && i < pad; i++)
        sb_putc(sb, ' ');
    sb_puts(sb, text);
    for (size_t i = 0; !right && i < pad; i++)
        sb_putc(sb, ' ');
}

const char *cut_left(const Report *r, const char *text, size_t width) {
    const char *mark = r->opt->ascii ? ".." : "\xE2\x80\xA6";         /* an ellipsis */
    size_t mark_width = r->opt->ascii ? 2 : 1;
    if (display_width(text, strlen(text)) <= width || width <= mark_width)
        return text;
    while (display_width(text, strlen(text)) > width - mark_width) {
        text++;
        while (((unsigned char)*text & 0xC0) == 0x80)
            text++;
    }
    return arena_printf(r->arena, "%s%s", mark, text);
}

const char *digits(const Report *r, uint64_t n) { return group_digits(r->arena, n); }

const char *iec_beside(const Report *r, uint64_t n) {
    return n < 1024 ? "" : arena_printf(r->arena, " (%s)", iec_bytes(r->arena, n));
}

const char *unit_name(const Report *r) {
    return r->opt->units == UNITS_KIB ? "KiB" : r->opt->units == UNITS_MIB ? "MiB" : "B";
}

const char *in_units(const Report *r, uint64_t nbytes) {
    unsigned shift = r->opt->units == UNITS_KIB ? 10 : r->opt->units == UNITS_MIB ? 20 : 0;
    if (shift == 0)
        return digits(r, nbytes);
    uint64_t unit = (uint64_t)1 << shift, whole = nbytes >> shift;
    uint64_t hundredths = ((nbytes & (unit - 1)) * 100 + unit / 2) >> shift;
    if (hundredths == 100) {
        whole++;
        hundredths = 0;
    }
    return arena_printf(r->arena, "%s.%02" PRIu64, digits(r, whole), hundredths);
}

const char *percent(const Report *r, uint64_t part, uint64_t whole) {
    double ratio = whole > 0 ? (double)part / (double)whole * 10000.0 : 0.0;
    uint64_t hundredths = ratio < 1e15 ? (uint64_t)(ratio + 0.5) : 0;
    return arena_printf(r->arena, "%" PRIu64 ".%02" PRIu64 " %%", hundredths / 100, hundredths % 100);
}
