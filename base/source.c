/* source.c - source files read whole. A position is a byte offset; it becomes line and column only when it is printed, by
 * binary search in the file's table of line starts. Columns count bytes from 1; a byte order mark is no column. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const uint64_t LARGEST_FILE = UINT64_C(256) << 20;

Span span_join(Span a, Span b) {
    if (!a.file || (b.file && b.file != a.file))
        return a.file ? a : b;
    if (!b.file)
        return a;
    return (Span){ a.file, a.beg < b.beg ? a.beg : b.beg, a.end > b.end ? a.end : b.end };
}

static void find_lines(Ctx *c, Source *s) {
    uint32_t n = 1;
    const char *end = s->text + s->len;
    for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        n++;
    s->line_starts = NEW_ARRAY(c->perm, uint32_t, n);
    s->nlines = n;
    n = 1;
    for (const char *p = s->text; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        s->line_starts[n++] = (uint32_t)(p + 1 - s->text);
}

static Source *add_source(Ctx *c, const char *path, const char *text, size_t len) {
    Source *s = NEW(c->perm, Source);
    s->path = name_of(c, path);
    s->text = text;
    s->len = len;
    find_lines(c, s);
    vec_push(c->perm, &c->sources, s);
    return s;
}

uint32_t source_add(Ctx *c, const char *path, const char *text, size_t len) {
    if (len > LARGEST_FILE)
        ice("source text of %zu bytes", len);
    add_source(c, path, arena_strndup(c->perm, text, len), len);
    return (uint32_t)c->sources.n - 1;
}

/* The whole stream, with a NUL after it; NULL and the reason in *why. */
static char *read_all(Ctx *c, FILE *f, uint64_t expected, size_t *len, const char **why) {
    VEC(char) text = { 0 };
    vec_reserve(c->perm, (void **)&text.p, &text.cap, (size_t)expected + 2, 1);
    for (;;) {
        size_t n = fread(text.p + text.n, 1, text.cap - text.n - 1, f);
        text.n += n;
        if (text.n > LARGEST_FILE) {
            *why = "it is larger than 256 MiB";
            return NULL;
        }
        if (ferror(f)) {
            *why = arena_printf(c->perm, "%s", strerror(errno));
            return NULL;
        }
        if (feof(f))
            break;
        if (text.n + 1 == text.cap)
            vec_reserve(c->perm, (void **)&text.p, &text.cap, text.cap + 1, 1);
    }
    *len = text.n;
    return text.p;
}

/* One file under two spellings is one source: imports must not read it twice. */
static uint32_t find_inode(const Ctx *c, const struct stat *st) {
    for (size_t i = 1; i < c->sources.n; i++) {
        const Source *s = c->sources.p[i];
        if (s->inode && s->inode == (uint64_t)st->st_ino && s->device == (uint64_t)st->st_dev)
            return (uint32_t)i;
    }
    return 0;
}

static uint32_t read_stream(Ctx *c, FILE *f, const char *printed_path, const char **why) {
    struct stat st;
    if (fstat(fileno(f), &st) != 0) {
        *why = arena_printf(c->perm, "%s", strerror(errno));
        return 0;
    }
    if (S_ISDIR(st.st_mode)) {
        *why = "it is a directory";
        return 0;
    }
    bool regular = S_ISREG(st.st_mode);
    uint32_t known = regular ? find_inode(c, &st) : 0;
    if (known)
        return known;
    if (regular && (uint64_t)st.st_size > LARGEST_FILE) {
        *why = "it is larger than 256 MiB";
        return 0;
    }
    size_t len;
    char *text = read_all(c, f, regular ? (uint64_t)st.st_size : 4096, &len, why);
    if (!text)
        return 0;
    Source *s = add_source(c, printed_path, text, len);
    if (regular) {
        s->device = (uint64_t)st.st_dev;
        s->inode = (uint64_t)st.st_ino;
    }
    return (uint32_t)c->sources.n - 1;
}

uint32_t source_read(Ctx *c, const char *path, const char **why) {
    if (strcmp(path, "-") == 0)
        return read_stream(c, stdin, "<stdin>", why);
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = arena_printf(c->perm, "%s", strerror(errno));
        return 0;
    }
    uint32_t file = read_stream(c, f, path, why);
    fclose(f);
    return file;
}

const Source *source_get(const Ctx *c, uint32_t file) {
    return file < c->sources.n ? c->sources.p[file] : NULL;
}

LineCol source_linecol(const Ctx *c, uint32_t file, uint32_t byte) {
    const Source *s = source_get(c, file);
    if (!s)
        return (LineCol){ 0, 0 };
    uint32_t lo = 0, hi = s->nlines;                      /* line_starts[lo] <= byte < line_starts[hi] */
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->line_starts[mid] <= byte)
            lo = mid;
        else
            hi = mid;
    }
    uint32_t start = s->line_starts[lo];
    if (lo == 0 && source_has_bom(s))
        start = byte < 3 ? byte : 3;
    return (LineCol){ lo + 1, byte - start + 1 };
}

bool source_has_bom(const Source *s) {
    return s->len >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0;
}

const char *span_text(Ctx *c, Span span) {
    const Source *s = source_get(c, span.file);
    if (!s)
        return "";
    LineCol at = source_linecol(c, span.file, span.beg);
    return arena_printf(c->unit, "%s:%u:%u", s->path, (unsigned)at.line, (unsigned)at.col);
}
