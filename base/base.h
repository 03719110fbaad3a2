/* base.h - what every room uses and nothing that knows of networks: memory, names, source spans, diagnostics,
 * checked size arithmetic, text buffers, JSON writing, output files.
 *
 * There are no mutable globals: a Ctx carries the files, arenas and diagnostics of one compilation, so that a
 * fuzzer or an editor may run many in one process. Three kinds of failure are never mixed (see diag.c):
 * the user's mistake is a diagnostic (exit 1), the machine's failure is die() (exit 2), a broken invariant of
 * the compiler is ice() (exit 3). */
#ifndef NETC_BASE_H
#define NETC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#else
#define PRINTF_LIKE(fmt, args)
#define NORETURN
#endif

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))
#define NETC_VERSION "0.1.0"

typedef struct Arena Arena;
typedef struct Ctx Ctx;
typedef struct Source Source;
typedef struct Diag Diag;
typedef struct StrBuf StrBuf;
typedef struct Json Json;

/* arena.c - region memory. Everything is zeroed and aligned to 16 bytes; nothing is freed one by one. */
Arena *arena_new(void);
void arena_free(Arena *);
void arena_reset(Arena *);                                /* keeps its first block, forgets everything in it */
void *arena_alloc(Arena *, size_t nbytes);                /* never NULL: out of memory is die() */
void *arena_array(Arena *, size_t n, size_t size);        /* checked n * size */
void *arena_copy(Arena *, const void *, size_t nbytes);
char *arena_strndup(Arena *, const char *, size_t n);
char *arena_printf(Arena *, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(Arena *, const char *fmt, va_list) PRINTF_LIKE(2, 0);
size_t arena_used(const Arena *);                         /* bytes handed out since the last reset */

/* Memory on its own, for what is large and dies before any arena: n * size zeroed bytes; never NULL. */
void *chunk_new(size_t n, size_t size);
void chunk_free(void *);

#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define NEW_ARRAY(arena, T, n) ((T *)arena_array((arena), (n), sizeof(T)))

/* vec - a growing array inside an arena: VEC(Op *) ops; vec_push(arena, &ops, op); ops.p[i], ops.n */
#define VEC(T) struct { T *p; size_t n, cap; }
#define vec_push(arena, v, x) \
    (vec_reserve((arena), (void **)&(v)->p, &(v)->cap, (v)->n + 1, sizeof *(v)->p), (v)->p[(v)->n++] = (x))
void vec_reserve(Arena *, void **p, size_t *cap, size_t need, size_t size);      /* arena.c */

/* intern.c - one copy of every name: interned strings are equal exactly when their pointers are. */
typedef struct Intern Intern;
Intern *intern_new(Arena *);
const char *intern_n(Intern *, const char *, size_t n);

/* A map from interned names (by pointer) to pointers, in insertion order. Insertion of a present key replaces. */
typedef struct NameMap NameMap;
NameMap *namemap_new(Arena *);
void *namemap_get(const NameMap *, const char *interned);
void namemap_put(NameMap *, const char *interned, void *value);
size_t namemap_count(const NameMap *);
const char *namemap_key(const NameMap *, size_t i);       /* i-th in insertion order */
void *namemap_value(const NameMap *, size_t i);

/* source.c - files read whole; positions are byte offsets and become line:column only when printed. */
typedef struct Span {
    uint32_t file;                                        /* index into Ctx.sources; 0 = no place */
    uint32_t beg, end;                                    /* bytes [beg, end) */
} Span;
struct Source {
    const char *path;                                     /* as it is printed */
    const char *text;
    size_t len;
    uint32_t *line_starts;                                /* byte offset of each line */
    uint32_t nlines;
    uint64_t device, inode;                               /* of a regular file, to know it under another path; 0 otherwise */
};
typedef struct LineCol { uint32_t line, col; } LineCol;   /* 1-based; col counts bytes */
Span span_join(Span a, Span b);
static inline bool span_known(Span s) { return s.file != 0; }
/* Reads a file (path "-" is standard input) whole; returns its index, 0 with a message in *why if it cannot be read.
 * A file of more than 256 MiB is refused. A path that was read before gives the same index. */
uint32_t source_read(Ctx *, const char *path, const char **why);
uint32_t source_add(Ctx *, const char *path, const char *text, size_t len);
const Source *source_get(const Ctx *, uint32_t file);
LineCol source_linecol(const Ctx *, uint32_t file, uint32_t byte);
bool source_has_bom(const Source *);                      /* starts with a byte order mark */
const char *span_text(Ctx *, Span);                       /* "path:line:col", for reports; "" if unknown */

/* diag.c - what the compiler says to its user. Codes are words and never change their meaning (diag.def). */
typedef enum DiagCode {
#define DIAG(id, word, severity, summary) DIAG_##id,
#include "base/diag.def"
#undef DIAG
    DIAG_COUNT
} DiagCode;
/* Queues a diagnostic; the code gives its severity, which -W options change. Returns it for notes and help.
 * The message states the fact, in lower case, without a full stop; the way to mend it is a help. */
Diag *diag(Ctx *, DiagCode, Span, const char *fmt, ...) PRINTF_LIKE(4, 5);
void diag_note(Ctx *, Diag *, Span, const char *fmt, ...) PRINTF_LIKE(4, 5);
void diag_help(Ctx *, Diag *, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A help "did you mean 'x'?" if one of the n candidates is near enough, else the valid ones if they are few. */
void diag_suggest(Ctx *, Diag *, const char *got, const char *const *candidates, size_t n);
/* Where elaboration is: pushed frames become notes of every diagnostic ("in basic called from here"); at most 3 are
 * printed, then "... 5 more". */
void diag_push_frame(Ctx *, Span, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_pop_frame(Ctx *);
bool diag_failed(const Ctx *);                            /* true when an error was queued or printed */
size_t diag_count(const Ctx *);                           /* how many were queued so far, printed ones included */
Diag *diag_since(Ctx *, size_t count);                    /* the first one queued after diag_count was that; NULL if there is none */
bool diag_full(const Ctx *);                              /* the error limit is reached: stop finding more */
void diag_flush(Ctx *);                                   /* prints what is queued, sorted by position */
void diag_finish(Ctx *);                                  /* flush, then "2 errors, 1 warning" */
bool diag_code_by_word(const char *word, DiagCode *);
const char *diag_word(DiagCode);
const char *diag_summary(DiagCode);                       /* one line, for lists */
bool diag_is_warning(DiagCode);                           /* by default: what -W options may change */
NORETURN void die(const char *fmt, ...) PRINTF_LIKE(1, 2);    /* the machine: exit 2; a ':' at the end adds strerror */
/* On standard error, at once: "netc: " and the text; a ':' at its end adds strerror. For usage and output errors. */
void complain(const char *fmt, ...) PRINTF_LIKE(1, 2);
void diag_dump(const char *text, size_t n);              /* what --print-after prints, on standard error as it is */
NORETURN void ice(const char *fmt, ...) PRINTF_LIKE(1, 2);    /* our mistake: exit 3 */

/* suggest.c - case-insensitive equality first, then restricted Damerau-Levenshtein distance <= max(len, 3) / 3. */
const char *suggest(const char *got, const char *const *candidates, size_t n);   /* NULL if none is near */
size_t edit_distance(const char *a, const char *b, size_t limit);                /* limit + 1 when above it */

/* checked.c - sizes never wrap: false when the result does not fit. */
bool mul_u64(uint64_t a, uint64_t b, uint64_t *r);
bool add_u64(uint64_t a, uint64_t b, uint64_t *r);
bool mul_i64(int64_t a, int64_t b, int64_t *r);
bool add_i64(int64_t a, int64_t b, int64_t *r);
bool sub_i64(int64_t a, int64_t b, int64_t *r);
bool align_up(uint64_t n, uint64_t align, uint64_t *r);   /* align is a power of two */
int64_t floor_div(int64_t a, int64_t b);                  /* b > 0 */

/* strbuf.c - text that grows, in an arena. Numbers do not depend on the locale. */
struct StrBuf { Arena *arena; char *p; size_t n, cap; };
void sb_init(StrBuf *, Arena *);
void sb_putc(StrBuf *, char);
void sb_puts(StrBuf *, const char *);
void sb_write(StrBuf *, const char *, size_t n);
void sb_printf(StrBuf *, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sb_vprintf(StrBuf *, const char *fmt, va_list) PRINTF_LIKE(2, 0);
void sb_double(StrBuf *, double);                         /* the shortest text that reads back as the same double */
const char *sb_str(StrBuf *);                             /* NUL-terminated */
const char *group_digits(Arena *, uint64_t);              /* 1,234,567 */
const char *iec_bytes(Arena *, uint64_t);                 /* 22.97 KiB */

/* utf8.c */
size_t utf8_decode(const char *, size_t nbytes, uint32_t *c);    /* length of the character there, 0 if it is not UTF-8 */
size_t display_width(const char *, size_t nbytes);        /* terminal columns of UTF-8 text */
bool utf8_valid(const char *, size_t nbytes, size_t *bad);

/* json.c - a writer: commas, quotes and nesting are its business, the order of keys is the caller's. */
struct Json {
    StrBuf *out;
    int depth, indent;
    bool first[64], compact;                              /* compact: everything on one line */
    bool inlined, after_key;
    int inline_depth;
};
void json_init(Json *, StrBuf *);
void json_object(Json *), json_end_object(Json *), json_array(Json *), json_end_array(Json *);
void json_key(Json *, const char *);
void json_str(Json *, const char *);
void json_u64(Json *, uint64_t);
void json_i64(Json *, int64_t);
void json_bool(Json *, bool);
void json_null(Json *);
void json_inline(Json *, bool on);                        /* on: each object or array opened from here stays on one line */

/* outfile.c - a temporary beside the target, renamed when complete: a failed run leaves nothing half-written. */
bool outfile_write(Ctx *, const char *path, const char *text, size_t len);       /* "-" = standard output; false after a message */

/* outstream.c - the same piece by piece. open gives NULL, the others false after a message; flush ends the writing, rename puts the
 * file in place, drop removes what was not renamed (NULL is fine). */
typedef struct OutStream OutStream;
OutStream *outstream_open(Ctx *, const char *path);
bool outstream_put(OutStream *, const void *bytes, size_t n);
bool outstream_flush(OutStream *);
bool outstream_rename(OutStream *);
void outstream_drop(OutStream *);

/* mapfile.c - a regular file as memory; bytes is NULL when it is empty. False with the reason in *why. */
typedef struct MappedFile { const unsigned char *bytes; uint64_t size; } MappedFile;
bool file_map(const char *path, MappedFile *, const char **why);
void file_unmap(MappedFile *);

/* ctx.c */
typedef enum ColorWhen { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorWhen;
typedef enum MessageFormat { MESSAGE_HUMAN, MESSAGE_SHORT, MESSAGE_JSON } MessageFormat;
struct Ctx {
    Arena *perm;                                          /* files, names, diagnostics: lives as long as the Ctx */
    Arena *unit;                                          /* AST, graph, plans of this compilation */
    Arena *scratch;                                       /* reset by the driver after each pass */
    Intern *names;
    VEC(Source *) sources;                                /* [0] is no file */
    struct DiagState *diags;                              /* diag.c */
    ColorWhen color;
    MessageFormat message_format;
    uint32_t max_errors;                                  /* 0 = all */
    uint64_t max_ops;                                     /* unrolling limit: operators in one network */
};
Ctx *ctx_new(void);
void ctx_free(Ctx *);
static inline const char *name_of(Ctx *c, const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return intern_n(c->names, s, n);
}
bool ctx_color(const Ctx *, int fd);                      /* should output on this file be coloured? */
void diag_set_level(Ctx *, DiagCode, int level);          /* 0 off, 1 warning, 2 error: -W options */
void diag_warnings_as_errors(Ctx *);

#endif
