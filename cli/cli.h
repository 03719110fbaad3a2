/* cli.h - the command line as one struct. */
#ifndef NETC_CLI_H
#define NETC_CLI_H

#include "backend/backend.h"
#include "frontend/frontend.h"
#include "passes/passes.h"

/* In the order of the option's values in option.def. */
typedef enum EmitKind { EMIT_REPORT, EMIT_IR, EMIT_AST, EMIT_WEIGHTS_LIST, EMIT_C } EmitKind;
typedef enum RunBackend { BACKEND_REF, BACKEND_C } RunBackend;
typedef enum ReportStyle { STYLE_TABLE, STYLE_JSON, STYLE_CSV, STYLE_WHY, STYLE_MAP } ReportStyle;

typedef enum Command { COMMAND_REPORT, COMMAND_PLAN, COMMAND_RUN } Command;

/* --capacity=N, of every bank that has none of its own (bank NULL), or --capacity=BANK=N. */
typedef struct Capacity { const char *bank; uint64_t nbytes; } Capacity;

typedef struct InputFile { const char *name, *path; } InputFile;                 /* --input=NAME=FILE */

typedef struct Options {
    Command command;
    const char *file;                                     /* "-": standard input */
    const char *output;                                   /* "-": standard output */
    EmitKind emit;
    ReportStyle style;
    ImportPath imports;
    ElabOptions elab;
    PlanOptions plan;
    ReportOptions report;
    const Capacity *capacities;
    size_t ncapacities;
    uint64_t effort;                                      /* units of counted work (passes/dsa.h) */
    const InputFile *inputs;
    size_t ninputs;
    const char *weights, *output_dir;                     /* NULL: none */
    uint64_t seed;
    RunBackend backend;
    bool given[64];                                       /* by OptionId */
} Options;

/* Exit statuses; RUN is none of them: the command line asks for a compilation. */
enum { RUN = -1, EXIT_FINE = 0, EXIT_PROGRAM = 1, EXIT_USAGE = 2 };

/* cli.c - reads the command line into Options, whose memory is the Ctx's. RUN, or the exit status after a message or after
 * what was asked for (--help, --version, --list-passes, --explain) was printed. */
int options_read(Ctx *, int argc, char **argv, Options *);

/* plan.c - netc plan: an exit status, after everything that is to be said was printed. */
int plan_problem(Ctx *, const Options *);

/* run.c - netc run: an exit status, after the figures of every result were printed. */
int run_network(Ctx *, const Options *, const Graph *);
/* run_c.c - its backend c: generates the network's program, compiles and runs it; results as evaluate_graph leaves them, in
 * ctx->unit. EXIT_FINE, or another exit status after messages. */
struct Supply;
struct Tensor;
int run_generated(Ctx *, const Options *, const Graph *, const struct Supply *, struct Tensor *results);

/* generate.c - --emit=c: model.c, model.h and, where weights are known, model.weights. An exit status. */
int generate_c(Ctx *, const Options *, const Graph *, const Plan *);

/* explain.c - the section of docs/errors.md on one code; an exit status. */
int explain_code(Ctx *, const char *word);

#endif
