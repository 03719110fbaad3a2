/* report.h - every figure of a report, collected once by rows.c; the styles only print it. Private to backend/report/.
 *
 * Sizes are bytes, lives are steps with both ends included. A row is an input, an operator as written, or a stored tensor
 * that no operator counts (a `param` or `buffer` statement); rows stand in program order and their sums are the totals. */
#ifndef NETC_BACKEND_REPORT_H
#define NETC_BACKEND_REPORT_H

#include "backend/backend.h"

typedef enum RowKind { ROW_INPUT, ROW_STORED, ROW_OP } RowKind;

typedef struct Row {
    RowKind kind;
    const Op *op;                                         /* ROW_OP */
    const Value *value;                                   /* the input, the stored tensor, or the op's first result */
    const Op *host;                                       /* the op whose step it was fused or folded into, or NULL */
    const Value *written;                                 /* the first value its step leaves in memory, or NULL */
    uint64_t params, buffer_elems, macs;
    uint64_t made_bytes;                                  /* of new storage its step fills: 0 in place, for views, when fused */
    uint32_t step;                                        /* NO_ID: it runs in none */
    uint64_t live_bytes;                                  /* of the arena in that step */
} Row;

typedef struct Output {                                   /* a tensor of a row */
    const Value *value;
    const Op *made_by;                                    /* an op fused into the row's step that leaves it in memory; NULL: the row's own */
    bool placed;                                          /* its storage belongs to this row */
} Output;

typedef struct Alive {                                    /* a buffer of the arena that is needed at the peak */
    const Buffer *buffer;
    const Value *value;                                   /* the largest value in it then; NULL for a workspace */
    uint64_t bytes;                                       /* of it that are needed, aligned as the plan counts them; without `shared` */
    uint64_t shared;                                      /* bytes at most that it lies over a buffer that dies there, and that count there */
    uint32_t nvalues;                                     /* that lie in it then */
    uint32_t last;                                        /* step that needs those bytes last */
} Alive;

typedef struct Report {
    Ctx *ctx;
    Arena *arena;                                         /* of the figures, then of the texts of one line at a time */
    const Graph *g;
    const Plan *p;
    const ReportOptions *opt;
    size_t prefix;                                        /* bytes that every op's path begins with, to a '/' */
    VEC(Row) rows;
    uint64_t params, buffer_elems, macs, made_bytes;      /* sums of the rows */
    uint64_t total_bytes;                                 /* weights + arena (+ io when the caller owns it) */
    uint64_t budget, arena_budget;                        /* of the options, else of @memory; 0 = none */
    uint64_t *live;                                       /* by step */
    uint32_t *in_buffer_from, *in_buffer;                 /* values of buffer b: in_buffer[in_buffer_from[b] .. in_buffer_from[b + 1]) */
    VEC(Alive) alive;                                     /* at the peak, largest first; sums to the live peak */
} Report;

/* rows.c */
bool report_collect(Report *, Ctx *, const Graph *, const Plan *, const ReportOptions *);   /* false after [too-large] */
void report_begin_lines(Report *);                        /* texts made from here on live to the next report_next_line() */
void report_next_line(Report *);
void report_end_lines(Report *);
Output *report_outputs(const Report *, const Row *, size_t *n);                  /* of a ROW_OP; none for the others */
const Place *report_place(const Report *, const Value *); /* where a value lies: its own place, or that of its stand-in */
const Buffer *report_buffer(const Report *, const Value *);                      /* NULL: it has no storage */
const Buffer *report_overlapped(const Report *, const Value *);                  /* the dying buffer that this result's may lie over in part; NULL */
const char *report_overlap(const Report *, const Buffer *);                      /* "over conv2d#1, which dies there"; NULL */
const Op *report_peak_op(const Report *);                 /* NULL when nothing runs */
const char *report_short(const Report *, const char *name);                      /* without what all paths begin with */
const char *report_tensor(const Report *, const Value *);  /* as its row is called: the op's short name, .2 for its second result */
const char *report_row_name(const Report *, const Row *); /* short */
const char *report_shares(const Report *, const Value *); /* "in place with x", "view of x", "slice of x", "is x"; NULL */
const char *report_why_not(const Report *, const Value *);                       /* the reason it shares nothing; NULL */
const char *report_alive_name(const Report *, const Alive *);                    /* short */
const char *report_dims(const Report *, const Shape *, const char *x);           /* "1x20x24x24"; "scalar" for rank 0 */
const char *report_op_text(const Report *, const Op *);   /* "conv2d 5x5 s2 p2" */

/* text.c - laying out text for a terminal of opt->width columns */
typedef struct Flow { StrBuf *sb; unsigned width, used, indent; } Flow;           /* items with two spaces between, broken at the margin */
void flow_item(Flow *, const char *fmt, ...) PRINTF_LIKE(2, 3);
void flow_end(Flow *);
enum { INK_NONE = 0, INK_BOLD = 1, INK_GOOD = 36, INK_BAD = 166 };                /* else an ANSI 256 colour */
void put_inked(StrBuf *, const Report *, int ink, const char *);
int buffer_ink(BufferKind);                               /* Okabe and Ito's palette, which colour-blind readers can tell apart */
void put_padded(StrBuf *, const char *, size_t width, bool right);
const char *cut_left(const Report *, const char *, size_t width);                /* the end of a name that is too long */
const char *digits(const Report *, uint64_t);             /* 1,234,567 */
const char *in_units(const Report *, uint64_t nbytes);    /* a column's bytes as --units says, without the unit */
const char *iec_beside(const Report *, uint64_t nbytes);  /* " (1.50 KiB)"; nothing where it would repeat the bytes */
const char *unit_name(const Report *);                    /* "B", "KiB", "MiB" */
const char *percent(const Report *, uint64_t part, uint64_t whole);              /* "12.34 %"; of 0 it is 0 */

/* headline.c - what the network needs, whether that fits, how good the plan is, who is alive at the peak */
void report_headline(StrBuf *, const Report *);

#endif
