/* read.h - what the reader of printed IR is made of: tokens of a line (lex.c), sources of spans (places.c), the graph
 * (parse.c) and the plan (parse_plan.c). Everything returns false after the first diagnostic, which ends the reading. */
#ifndef NETC_IR_READ_H
#define NETC_IR_READ_H

#include "ir/plan.h"

typedef struct FileLine { const char *path; uint32_t source; } FileLine;          /* `file N "path"`; source: in Ctx.sources, at the end */
typedef struct Mark { uint32_t file, line, col, beg, end; uint32_t at; } Mark;    /* a span as it was printed; at: where in the text */

typedef struct Reader {
    Ctx *ctx;
    uint32_t file;                                        /* the printed IR itself */
    const char *text;                                     /* NUL-terminated */
    size_t pos, line_beg;
    Graph *g;
    Plan *plan;
    VEC(FileLine) files;                                  /* numbered from 1 */
    VEC(Mark) marks;
} Reader;

/* lex.c */
bool read_fail(Reader *, size_t from, const char *fmt, ...) PRINTF_LIKE(3, 4);     /* [ir-syntax] at [from, pos); false */
bool read_end(Reader *);                                  /* nothing but a comment is left on the line */
bool read_is(Reader *, char);                             /* takes the character if it is next */
bool read_is_word(Reader *, const char *word);            /* takes the word if it is next */
bool read_need(Reader *, char);
bool read_need_word(Reader *, const char *word);
bool read_name(Reader *, const char **name);              /* bare or quoted; interned */
bool read_quoted(Reader *, const char **text);
bool read_u64(Reader *, uint64_t *, uint64_t max, const char *what);
bool read_u32(Reader *, uint32_t *, uint32_t max, const char *what);
bool read_value(Reader *, Value **);                      /* %id of a value that is already there */
bool read_type(Reader *, Type *);
bool read_datum(Reader *, Datum *);
bool read_span(Reader *, Span *);                         /* optional: unknown when none is next. Its file is a FileLine's number */
bool read_doc(Reader *, const char **doc);                /* optional */

/* places.c */
bool read_settle_files(Reader *);                         /* finds or makes the sources and turns file numbers into them */

/* parse_plan.c */
bool read_plan_line(Reader *, const char *word, size_t from);     /* one line of a plan whose first word was taken */
bool read_plan_check(Reader *);                           /* the plan as a whole: references and replacements */

#endif
