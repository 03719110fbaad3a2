/* diag.c - what the compiler says to its user: queueing, counting, limits. diagprint.c gives it its form.
 *
 * Three kinds of failure are never mixed. The user's mistake is diag(): queued, counted, printed sorted by position when a
 * stage ends; the work goes on where it makes sense. The machine's failure is die(), exit 2. A broken invariant of the
 * compiler is ice(), exit 3. Nothing else in the program writes to standard error.
 *
 * The same code, place and message is said once, however often a loop unrolls into it. Errors above the limit are counted
 * but not kept; diag_full() then tells the stages to stop looking. */
#include "base/base.h"
#include "base/diagstate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { E = DIAG_ERROR, W = DIAG_WARNING };
static const struct { const char *word; uint8_t level; const char *summary; } codes[] = {
#define DIAG(id, word, severity, summary) { word, severity, summary },
#include "base/diag.def"
#undef DIAG
};

struct DiagState *diagstate_new(Arena *a) {
    struct DiagState *s = NEW(a, struct DiagState);
    s->seen = namemap_new(a);
    for (size_t i = 0; i < DIAG_COUNT; i++)
        s->levels[i] = codes[i].level;
    return s;
}

static DiagLevel level_of(const struct DiagState *s, DiagCode code) {
    return s->levels[code] == DIAG_WARNING && s->warnings_are_errors ? DIAG_ERROR : (DiagLevel)s->levels[code];
}

/* Records that this was said; true the first time. */
static bool first_time(Ctx *c, const Diag *d) {
    Span at = d->span;
    const char *text = arena_printf(c->scratch, "%d/%u/%u/%u/%s", (int)d->code, (unsigned)at.file, (unsigned)at.beg,
                                    (unsigned)at.end, d->text);
    const char *key = name_of(c, text);
    if (namemap_get(c->diags->seen, key))
        return false;
    namemap_put(c->diags->seen, key, c->diags);
    return true;
}

/* Counts a diagnostic; false if it is not to be printed. */
static bool admit(Ctx *c, const Diag *d) {
    struct DiagState *s = c->diags;
    if (d->level == DIAG_OFF || !first_time(c, d))
        return false;
    if (d->level == DIAG_WARNING) {
        s->nwarnings++;
        return true;
    }
    if (c->max_errors && s->nerrors >= c->max_errors) {
        s->ndropped++;
        return false;
    }
    s->nerrors++;
    return true;
}

static void copy_frames(Ctx *c, Diag *d) {
    const struct DiagState *s = c->diags;
    d->nframes = s->frames.n;
    for (size_t i = 0; i < SHOWN_FRAMES && i < d->nframes; i++) {
        const Frame *f = &s->frames.p[d->nframes - 1 - i];
        d->frames[i] = (Note){ f->span, arena_strndup(c->perm, f->text, strlen(f->text)) };
    }
}

Diag *diag(Ctx *c, DiagCode code, Span span, const char *fmt, ...) {
    struct DiagState *s = c->diags;
    Diag *d = NEW(c->perm, Diag);
    d->code = code;
    d->level = level_of(s, code);
    d->span = span;
    va_list args;
    va_start(args, fmt);
    d->text = arena_vprintf(c->perm, fmt, args);
    va_end(args);
    if (!admit(c, d))
        return d;                                         /* takes notes like any other, but nobody sees them */
    copy_frames(c, d);
    d->order = s->nqueued++;
    vec_push(c->perm, &s->queue, d);
    return d;
}

void diag_note(Ctx *c, Diag *d, Span span, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vec_push(c->perm, &d->notes, ((Note){ span, arena_vprintf(c->perm, fmt, args) }));
    va_end(args);
}

void diag_help(Ctx *c, Diag *d, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vec_push(c->perm, &d->helps, arena_vprintf(c->perm, fmt, args));
    va_end(args);
}

void diag_suggest(Ctx *c, Diag *d, const char *got, const char *const *candidates, size_t n) {
    enum { FEW = 6 };
    const char *near = suggest(got, candidates, n);
    if (near) {
        diag_help(c, d, "did you mean '%s'?", near);
        return;
    }
    if (n == 0 || n > FEW)
        return;
    StrBuf list;
    sb_init(&list, c->perm);
    for (size_t i = 0; i < n; i++)
        sb_printf(&list, "%s%s", i ? ", " : "", candidates[i]);
    diag_help(c, d, n == 1 ? "there is only %s" : "there are %s", sb_str(&list));
}

void diag_push_frame(Ctx *c, Span span, const char *fmt, ...) {
    struct DiagState *s = c->diags;
    size_t depth = s->frames.n;
    if (depth == s->nframes_made) {
        vec_push(c->perm, &s->frames, ((Frame){ .text = arena_alloc(c->perm, 96), .cap = 96 }));
        s->nframes_made++;
    } else {
        s->frames.n++;
    }
    Frame *f = &s->frames.p[depth];
    f->span = span;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(f->text, f->cap, fmt, args);
    if (n >= 0 && (size_t)n >= f->cap) {
        f->cap = (size_t)n + 1;
        f->text = arena_alloc(c->perm, f->cap);
        vsnprintf(f->text, f->cap, fmt, again);
    }
    va_end(again);
    va_end(args);
}

void diag_pop_frame(Ctx *c) {
    if (c->diags->frames.n == 0)
        ice("a diagnostic frame is popped that was never pushed");
    c->diags->frames.n--;
}

size_t diag_count(const Ctx *c) {
    return c->diags->nqueued;
}

Diag *diag_since(Ctx *c, size_t count) {
    const struct DiagState *s = c->diags;
    for (size_t i = 0; i < s->queue.n; i++)
        if (s->queue.p[i]->order >= count)
            return s->queue.p[i];
    return NULL;
}

bool diag_failed(const Ctx *c) {
    return c->diags->nerrors > 0;
}

bool diag_full(const Ctx *c) {
    return c->diags->ndropped > 0;
}

static int by_position(const void *pa, const void *pb) {
    const Diag *a = *(Diag *const *)pa, *b = *(Diag *const *)pb;
    if (a->span.file != b->span.file)
        return a->span.file < b->span.file ? -1 : 1;
    if (a->span.beg != b->span.beg)
        return a->span.beg < b->span.beg ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void diag_flush(Ctx *c) {
    struct DiagState *s = c->diags;
    if (s->queue.n == 0)
        return;
    qsort(s->queue.p, s->queue.n, sizeof *s->queue.p, by_position);
    StrBuf out;
    sb_init(&out, c->perm);
    for (size_t i = 0; i < s->queue.n; i++)
        diag_print(c, s->queue.p[i], &out);
    s->queue.n = 0;
    diag_dump(out.p, out.n);
}

void diag_finish(Ctx *c) {
    diag_flush(c);
    StrBuf out;
    sb_init(&out, c->perm);
    diag_print_summary(c, &out);
    diag_dump(out.p, out.n);
}

bool diag_code_by_word(const char *word, DiagCode *code) {
    for (size_t i = 0; i < DIAG_COUNT; i++) {
        if (strcmp(codes[i].word, word) == 0) {
            *code = (DiagCode)i;
            return true;
        }
    }
    return false;
}

const char *diag_word(DiagCode code) {
    return codes[code].word;
}

const char *diag_summary(DiagCode code) {
    return codes[code].summary;
}

bool diag_is_warning(DiagCode code) {
    return codes[code].level == DIAG_WARNING;
}

void diag_set_level(Ctx *c, DiagCode code, int level) {
    c->diags->levels[code] = (uint8_t)level;
}

void diag_warnings_as_errors(Ctx *c) {
    c->diags->warnings_are_errors = true;
}

/* If standard error itself cannot be written there is nobody left to tell. */
void diag_dump(const char *text, size_t n) {
    if (n)
        fwrite(text, 1, n, stderr);
}

/* One write, so that messages of parallel runs do not mix within a line. */
static void say(const char *prefix, const char *fmt, va_list args, const char *suffix) {
    int error = errno;
    size_t len = strlen(fmt);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    bool with_error = len && fmt[len - 1] == ':';
    fprintf(stderr, "netc: %s%s%s%s%s\n", prefix, text, with_error ? " " : "", with_error ? strerror(error) : "", suffix);
}

void complain(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("", fmt, args, "");
    va_end(args);
}

void die(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("", fmt, args, "");
    va_end(args);
    exit(2);
}

void ice(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("internal error: ", fmt, args, "; please report it with the program that shows it");
    va_end(args);
    exit(3);
}
