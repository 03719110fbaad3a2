/* diagprint.c - the three forms of a diagnostic: for people (a frame of source with a caret), short (one line), JSON (one
 * object a line, docs/diagnostic.schema.json).
 *
 *     lenet.net:8:12: error: linear takes 800 features, but the last axis of f32[64, 50, 4, 4] is 4 [in-mismatch]
 *         8 |         |> linear(800 -> 500) |> relu
 *           |            ^~~~~~~~~~~~~~~~~~
 *
 * The caret is placed by display width, tabs are copied, a span of several lines is marked on its first. Bytes that a
 * terminal must not see (control characters, invalid UTF-8) are shown as U+FFFD; of a very long line only the part around
 * the caret is printed. Colour repeats what the words say: nothing is lost without it. */
#include "base/base.h"
#include "base/diagstate.h"

#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 240, BEFORE_CARET = 60 };           /* bytes of source in a frame */

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define MAGENTA "\033[1;35m"
#define CYAN "\033[1;36m"
#define RESET "\033[0m"

typedef struct Printer { Ctx *c; StrBuf *out; bool color; } Printer;

static const char *level_name(DiagLevel level) {
    return level == DIAG_ERROR ? "error" : "warning";
}

static void paint(const Printer *p, const char *color, const char *text) {
    if (p->color)
        sb_puts(p->out, color);
    sb_puts(p->out, text);
    if (p->color)
        sb_puts(p->out, RESET);
}

/* The text of a message on one line: it may quote anything the source contains. */
static void put_message(StrBuf *out, const char *s) {
    for (size_t n = strlen(s); n;) {
        uint32_t c = 0;
        size_t len = utf8_decode(s, n, &c);
        if (c == '\n')
            sb_puts(out, "\\n");
        else if (c == '\t')
            sb_puts(out, "\\t");
        else if (!len || c < 0x20 || (c >= 0x7F && c < 0xA0))
            sb_printf(out, "\\x%02X", len == 2 ? (unsigned)c : (unsigned)(unsigned char)*s);
        else
            sb_write(out, s, len);
        s += len ? len : 1;
        n -= len ? len : 1;
    }
}

typedef struct Line {
    const char *text;
    size_t n;                                             /* without its end of line */
    size_t beg, end;                                      /* the marked bytes */
    bool cut_left, cut_right;
} Line;

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Keeps the part of a long line that shows the caret, cut between characters. */
static void crop(Line *l) {
    if (l->n <= LONGEST_LINE)
        return;
    size_t from = l->beg > BEFORE_CARET ? l->beg - BEFORE_CARET : 0;
    size_t to = from + LONGEST_LINE < l->n ? from + LONGEST_LINE : l->n;
    while (from > 0 && is_continuation(l->text[from]))
        from--;
    while (to > from + 1 && to < l->n && is_continuation(l->text[to]))
        to--;
    l->cut_left = from > 0;
    l->cut_right = to < l->n;
    l->text += from;
    l->n = to - from;
    l->beg -= from;
    l->end = l->end - from < l->n ? l->end - from : l->n;
}

static Line find_line(const Source *s, Span span, uint32_t number) {
    size_t start = s->line_starts[number - 1];
    if (number == 1 && source_has_bom(s))
        start = 3;
    size_t stop = number < s->nlines ? s->line_starts[number] - 1 : s->len;
    if (stop > start && s->text[stop - 1] == '\r')
        stop--;
    Line l = { .text = s->text + start, .n = stop - start };
    l.beg = span.beg > start ? span.beg - start : 0;
    if (l.beg > l.n)
        l.beg = l.n;
    l.end = span.end > start ? span.end - start : 0;
    if (l.end > l.n)
        l.end = l.n;
    if (l.end < l.beg)
        l.end = l.beg;
    crop(&l);
    return l;
}

static void put_source(StrBuf *out, const char *s, size_t n) {
    while (n) {
        uint32_t c = 0;
        size_t len = utf8_decode(s, n, &c);
        if (!len || (c < 0x20 && c != '\t') || (c >= 0x7F && c < 0xA0))
            sb_puts(out, "\xEF\xBF\xBD");
        else
            sb_write(out, s, len);
        s += len ? len : 1;
        n -= len ? len : 1;
    }
}

/* Blanks as wide as the text, tabs kept so that they reach the same column. */
static void put_blanks(StrBuf *out, const char *s, size_t n) {
    while (n) {
        size_t run = 0;
        while (run < n && s[run] != '\t')
            run++;
        for (size_t w = display_width(s, run); w; w--)
            sb_putc(out, ' ');
        if (run < n) {
            sb_putc(out, '\t');
            run++;
        }
        s += run;
        n -= run;
    }
}

static void put_frame(const Printer *p, Span span, const char *color) {
    const Source *s = source_get(p->c, span.file);
    LineCol at = source_linecol(p->c, span.file, span.beg);
    Line l = find_line(s, span, at.line);
    sb_printf(p->out, l.n ? "%5u | " : "%5u |", (unsigned)at.line);
    sb_puts(p->out, l.cut_left ? "..." : "");
    put_source(p->out, l.text, l.n);
    sb_puts(p->out, l.cut_right ? "...\n" : "\n");
    sb_printf(p->out, at.line > 99999 ? "%*s | " : "      | ", at.line > 999999 ? 7 : 6, "");
    sb_puts(p->out, l.cut_left ? "   " : "");
    put_blanks(p->out, l.text, l.beg);
    if (p->color)
        sb_puts(p->out, color);
    sb_putc(p->out, '^');
    for (size_t w = display_width(l.text + l.beg, l.end - l.beg); w > 1; w--)
        sb_putc(p->out, '~');
    if (p->color)
        sb_puts(p->out, RESET);
    sb_putc(p->out, '\n');
}

static void put_place(const Printer *p, Span span) {
    const Source *s = source_get(p->c, span.file);
    if (!s) {
        sb_puts(p->out, "netc: ");
        return;
    }
    LineCol at = source_linecol(p->c, span.file, span.beg);
    put_message(p->out, s->path);
    sb_printf(p->out, ":%u:%u: ", (unsigned)at.line, (unsigned)at.col);
}

static void put_header(const Printer *p, const Diag *d) {
    if (p->color)
        sb_puts(p->out, BOLD);
    put_place(p, d->span);
    if (p->color)
        sb_puts(p->out, RESET);
    paint(p, d->level == DIAG_ERROR ? RED : MAGENTA, d->level == DIAG_ERROR ? "error:" : "warning:");
    sb_putc(p->out, ' ');
    if (p->color)
        sb_puts(p->out, BOLD);
    put_message(p->out, d->text);
    if (p->color)
        sb_puts(p->out, RESET);
    sb_printf(p->out, " [%s]\n", diag_word(d->code));
}

static void put_remark(const Printer *p, const char *kind, const char *text) {
    sb_puts(p->out, "      = ");
    paint(p, CYAN, kind);
    sb_putc(p->out, ' ');
    put_message(p->out, text);
    sb_putc(p->out, '\n');
}

static void put_note(const Printer *p, const Note *n) {
    if (!span_known(n->span)) {
        put_remark(p, "note:", n->text);
        return;
    }
    put_place(p, n->span);
    paint(p, CYAN, "note:");
    sb_putc(p->out, ' ');
    put_message(p->out, n->text);
    sb_putc(p->out, '\n');
    put_frame(p, n->span, CYAN);
}

static void print_human(const Printer *p, const Diag *d) {
    put_header(p, d);
    if (span_known(d->span))
        put_frame(p, d->span, d->level == DIAG_ERROR ? RED : MAGENTA);
    for (size_t i = 0; i < d->notes.n; i++)
        put_note(p, &d->notes.p[i]);
    for (size_t i = 0; i < d->nframes && i < SHOWN_FRAMES; i++)
        put_note(p, &d->frames[i]);
    if (d->nframes > SHOWN_FRAMES)
        put_remark(p, "note:", arena_printf(p->c->perm, "... %zu more", d->nframes - SHOWN_FRAMES));
    for (size_t i = 0; i < d->helps.n; i++)
        put_remark(p, "help:", d->helps.p[i]);
}

static void json_span(Json *j, Ctx *c, Span span) {
    json_key(j, "spans");
    json_array(j);
    const Source *s = source_get(c, span.file);
    if (s) {
        LineCol beg = source_linecol(c, span.file, span.beg), end = source_linecol(c, span.file, span.end);
        json_object(j);
        json_key(j, "file"), json_str(j, s->path);
        json_key(j, "byte_start"), json_u64(j, span.beg);
        json_key(j, "byte_end"), json_u64(j, span.end);
        json_key(j, "line"), json_u64(j, beg.line);
        json_key(j, "column"), json_u64(j, beg.col);
        json_key(j, "line_end"), json_u64(j, end.line);
        json_key(j, "column_end"), json_u64(j, end.col);
        json_key(j, "primary"), json_bool(j, true);
        json_key(j, "label"), json_null(j);
        json_end_object(j);
    }
    json_end_array(j);
}

static void json_child(Json *j, Ctx *c, const char *level, const char *text, Span span) {
    json_object(j);
    json_key(j, "level"), json_str(j, level);
    json_key(j, "message"), json_str(j, text);
    json_span(j, c, span);
    json_end_object(j);
}

static void json_children(Json *j, Ctx *c, const Diag *d) {
    json_key(j, "children");
    json_array(j);
    for (size_t i = 0; i < d->notes.n; i++)
        json_child(j, c, "note", d->notes.p[i].text, d->notes.p[i].span);
    for (size_t i = 0; i < d->nframes && i < SHOWN_FRAMES; i++)
        json_child(j, c, "note", d->frames[i].text, d->frames[i].span);
    for (size_t i = 0; i < d->helps.n; i++)
        json_child(j, c, "help", d->helps.p[i], (Span){ 0 });
    json_end_array(j);
}

static void print_json(Ctx *c, const Diag *d, StrBuf *out) {
    StrBuf rendered;
    sb_init(&rendered, c->perm);
    print_human(&(Printer){ c, &rendered, false }, d);
    Json j;
    json_init(&j, out);
    j.compact = true;
    json_object(&j);
    json_key(&j, "type"), json_str(&j, "diagnostic");
    json_key(&j, "level"), json_str(&j, level_name(d->level));
    json_key(&j, "code"), json_str(&j, diag_word(d->code));
    json_key(&j, "message"), json_str(&j, d->text);
    json_span(&j, c, d->span);
    json_children(&j, c, d);
    json_key(&j, "rendered"), json_str(&j, sb_str(&rendered));
    json_end_object(&j);
    sb_putc(out, '\n');
}

void diag_print(Ctx *c, const Diag *d, StrBuf *out) {
    Printer p = { c, out, ctx_color(c, STDERR_FILENO) };
    switch (c->message_format) {
    case MESSAGE_HUMAN: print_human(&p, d); break;
    case MESSAGE_SHORT: put_header(&p, d); break;
    case MESSAGE_JSON: print_json(c, d, out); break;
    }
}

static void put_count(StrBuf *out, size_t n, const char *what) {
    sb_printf(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static void summary_json(const struct DiagState *s, StrBuf *out) {
    Json j;
    json_init(&j, out);
    j.compact = true;
    json_object(&j);
    json_key(&j, "type"), json_str(&j, "summary");
    json_key(&j, "errors"), json_u64(&j, s->nerrors);
    json_key(&j, "warnings"), json_u64(&j, s->nwarnings);
    json_key(&j, "complete"), json_bool(&j, s->ndropped == 0);
    json_end_object(&j);
    sb_putc(out, '\n');
}

void diag_print_summary(Ctx *c, StrBuf *out) {
    const struct DiagState *s = c->diags;
    if (c->message_format == MESSAGE_JSON) {
        summary_json(s, out);
        return;
    }
    if (s->ndropped)
        sb_printf(out, "too many errors: stopped after %u; --max-errors=0 shows all\n", (unsigned)c->max_errors);
    if (!s->nerrors && !s->nwarnings)
        return;
    if (s->nerrors)
        put_count(out, s->nerrors, "error");
    if (s->nerrors && s->nwarnings)
        sb_puts(out, ", ");
    if (s->nwarnings)
        put_count(out, s->nwarnings, "warning");
    sb_putc(out, '\n');
}
