/* places.c - the sources that spans of printed IR speak of.
 *
 * A source is taken as it is on disk when it is a plain file and every printed line and column agrees with it. Otherwise
 * (the file moved on, or is not here) a text of blanks is made whose lines begin where the printed places say, so that the
 * graph prints as it was read. Sorting the places costs O(n log n). */
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BLANK_TEXT = 64 << 20 };

static int mark_order(const void *a, const void *b) {
    const Mark *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->beg != y->beg)
        return x->beg < y->beg ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool agrees(const Ctx *ctx, uint32_t source, const char *path, const Mark *m, size_t n) {
    const Source *s = source_get(ctx, source);
    if (s == NULL || strcmp(s->path, path) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        LineCol at = source_linecol(ctx, source, m[i].beg);
        if (m[i].end > s->len || at.line != m[i].line || at.col != m[i].col)
            return false;
    }
    return true;
}

static uint32_t find_source(Ctx *ctx, const char *path, const Mark *m, size_t n) {
    struct stat st;
    const char *why;
    for (size_t i = 1; i < ctx->sources.n; i++)
        if (agrees(ctx, (uint32_t)i, path, m, n))
            return (uint32_t)i;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    uint32_t source = source_read(ctx, path, &why);
    return source != 0 && agrees(ctx, source, path, m, n) ? source : 0;
}

/* Ends lines so that `line` begins at byte `start`; false when the places before it leave no room. */
static bool break_lines(char *text, uint32_t *line, uint64_t *free_from, uint32_t to_line, uint64_t start) {
    if (to_line == *line)
        return true;
    if (to_line < *line || start < *free_from || start - *free_from < to_line - *line)
        return false;
    memset(text + start - (to_line - *line), '\n', to_line - *line);
    *line = to_line;
    return true;
}

static bool blank_source(Reader *r, FileLine *f, const Mark *m, size_t n) {
    uint64_t len = 0, free_from = 0;
    uint32_t line = 1;
    for (size_t i = 0; i < n; i++)
        len = m[i].end > len ? m[i].end : len;
    if (len > MAX_BLANK_TEXT)
        return read_fail(r, m[0].at, "'%s' cannot be read, and is too large to do without", f->path);
    char *text = arena_alloc(r->ctx->scratch, len + 1);
    memset(text, ' ', len);
    for (size_t i = 0; i < n; i++) {
        uint64_t start = (uint64_t)m[i].beg - (m[i].col - 1);
        bool marked = m[i].line == 1 && start == 3;       /* a byte order mark is no column */
        if (m[i].col - 1 > m[i].beg || !break_lines(text, &line, &free_from, m[i].line, start))
            return read_fail(r, m[i].at, "a place that contradicts the places before it");
        if (marked)
            memcpy(text, "\xEF\xBB\xBF", 3);
        free_from = m[i].beg;
    }
    f->source = source_add(r->ctx, f->path, text, len);
    return agrees(r->ctx, f->source, f->path, m, n) ||
           read_fail(r, m[0].at, "places in '%s' that contradict each other", f->path);
}

static void settle(const Reader *r, Span *s) {
    if (span_known(*s))
        s->file = r->files.p[s->file - 1].source;
}

static void settle_graph(const Reader *r) {
    Graph *g = r->g;
    settle(r, &g->span);
    for (size_t i = 0; i < g->dims.n; i++)
        settle(r, &g->dims.p[i].span);
    for (size_t i = 0; i < g->values.n; i++)
        settle(r, &g->values.p[i]->span);
    for (size_t i = 0; i < g->ops.n; i++)
        settle(r, &g->ops.p[i]->span);
    for (size_t i = 0; i < g->results.n; i++)
        settle(r, &g->results.p[i].span);
}

bool read_settle_files(Reader *r) {
    size_t from = 0;
    if (r->marks.n > 1)
        qsort(r->marks.p, r->marks.n, sizeof *r->marks.p, mark_order);
    for (size_t f = 0; f < r->files.n; f++) {
        size_t to = from;
        while (to < r->marks.n && r->marks.p[to].file == f + 1)
            to++;
        const Mark *m = &r->marks.p[from];
        r->files.p[f].source = from < to ? find_source(r->ctx, r->files.p[f].path, m, to - from) : 0;
        if (from < to && r->files.p[f].source == 0 && !blank_source(r, &r->files.p[f], m, to - from))
            return false;
        from = to;
    }
    settle_graph(r);
    return true;
}
