/* plan_csv.h - a planning problem as CSV: buffers with lives, sizes and what is asked of their places (docs/planner.md). */
#ifndef NETC_PLAN_CSV_H
#define NETC_PLAN_CSV_H

#include "base/base.h"

typedef struct CsvGap {
    int64_t lower, upper;                                 /* times [lower, upper) inside the life */
    uint64_t lo, hi;                                      /* bytes of the buffer that are needed meanwhile; lo == hi: none */
} CsvGap;
typedef struct CsvAfter {
    uint32_t row;                                         /* the other buffer */
    bool above;                                           /* may start `distance` bytes above the other's start; else below */
    uint64_t distance;
} CsvAfter;
typedef struct CsvRow {
    const char *id;
    Span span;                                            /* of the id */
    uint32_t beg, end;                                    /* the record's bytes in the file */
    uint32_t offset_beg, offset_end;                      /* of its field `offset`, where there is that column */
    int64_t lower, upper;                                 /* life [lower, upper) */
    uint64_t size, align;                                 /* align >= 1 */
    bool pinned;
    uint64_t offset;                                      /* of a pinned buffer; the caller fills in the others */
    uint32_t bank;                                        /* index into CsvProblem.banks */
    VEC(CsvGap) gaps;                                     /* sorted by time, disjoint */
    VEC(CsvAfter) after;
} CsvRow;
typedef struct CsvProblem {
    uint32_t file;
    uint32_t header_beg, header_end;                      /* bytes of the first record */
    bool offset_column;                                   /* the file has a column `offset` */
    VEC(CsvRow) rows;
    VEC(const char *) banks;                              /* in the order of their first rows; one called "" without the column */
} CsvProblem;

/* Reads a file that is in ctx; NULL after diagnostics. All sizes, alignments and pins together fit in 62 bits. */
CsvProblem *csv_read_problem(Ctx *, uint32_t file);
/* The same rows and columns with every row's offset: in the column `offset` if there is one, else as a column behind the others. */
void csv_write_problem(StrBuf *, const Ctx *, const CsvProblem *);

#endif
