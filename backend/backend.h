/* backend.h - reads a finished plan and prints. Nothing here plans. */
#ifndef NETC_BACKEND_H
#define NETC_BACKEND_H

#include "ir/plan.h"
#include "ops/ops.h"

typedef enum Units { UNITS_B, UNITS_KIB, UNITS_MIB } Units;
typedef struct ReportOptions {
    unsigned width;                                       /* columns of the terminal; 100 when not a terminal */
    unsigned rows;                                        /* -n N: table rows, 0 = all */
    Units units;
    bool ascii, plain, color;                             /* plain: no bars, for screen readers */
    uint64_t budget, arena_budget;                        /* 0 = none */
} ReportOptions;

/* report/rows.c collects every number once; the styles only print them. */
void report_table(StrBuf *, Ctx *, const Graph *, const Plan *, const ReportOptions *);
void report_json(StrBuf *, Ctx *, const Graph *, const Plan *, const ReportOptions *);
void report_csv(StrBuf *, Ctx *, const Graph *, const Plan *, const ReportOptions *);
void report_why(StrBuf *, Ctx *, const Graph *, const Plan *, const ReportOptions *);
void report_map(StrBuf *, Ctx *, const Graph *, const Plan *, const ReportOptions *);
/* report/budget.c: a diagnostic at the op at the peak with the five largest live tensors, when over a budget; true when it fits. */
bool report_budget(Ctx *, const Graph *, const Plan *, const ReportOptions *);

void emit_weights_list(StrBuf *, const Graph *);          /* weights_list.c: name,dtype,shape of every stored tensor */
void csv_field(StrBuf *, const char *);                   /* weights_list.c: quoted when it must be (RFC 4180) */

#endif
