/* main.c - the compiler as a list of calls: command line, front end, plan, output.
 *
 * Each stage ends with its diagnostics printed; the first stage with errors is the last that runs. */
#include "cli/cli.h"
#include "cli/option.h"

#include <signal.h>
#include <string.h>

/* What a compilation has made so far. */
typedef struct Unit {
    Ctx *c;
    Options *o;
    Module *module;                                       /* NULL when printed IR was read */
    Graph *graph;
    Plan *plan;                                           /* NULL where none was asked for */
} Unit;

/* Ends a stage: prints what it said; true when the next may run. */
static bool stage_done(Ctx *c) {
    diag_flush(c);
    arena_reset(c->scratch);
    return !diag_failed(c);
}

/* Printed IR is known by its first word. */
static bool is_printed_ir(const Source *s) {
    static const char word[] = "netir ";
    return s->len >= sizeof word - 1 && memcmp(s->text, word, sizeof word - 1) == 0;
}

/* An option that only a .net file can use, given with printed IR; NULL if there is none. */
static const char *source_only_option(const Options *o) {
    static const OptionId ids[] = { OPT_DIM, OPT_IMPORT_PATH, OPT_NET, OPT_MAX_OPS };
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (o->given[ids[i]])
            return option_info(ids[i])->name;
    return NULL;
}

/* A dump remembers what its plan was made for; the command line is stronger. */
static void take_plan_options(Options *o, const Plan *p) {
    if (!o->given[OPT_PLAN])
        o->plan.level = p->level;
    if (!o->given[OPT_TARGET] && o->emit != EMIT_C)
        o->plan.target = p->target;
    if (!o->given[OPT_IO])
        o->plan.io = p->io;
    if (!o->given[OPT_ALIGN])
        o->plan.align = p->align;
}

static bool read_printed_ir(Unit *u, uint32_t file) {
    u->graph = ir_parse(u->c, file, &u->plan);
    if (!stage_done(u->c))
        return false;
    if (u->plan)
        take_plan_options(u->o, u->plan);
    return true;
}

static bool read_program(Unit *u, uint32_t file) {
    u->module = import_all(u->c, file, u->o->imports);
    if (!stage_done(u->c))
        return false;
    if (u->o->emit == EMIT_AST)
        return true;
    u->graph = elaborate(u->c, u->module, &u->o->elab);
    return stage_done(u->c);
}

/* A dump is printed as it was read, unless a plan is asked for by an option. */
static bool wants_plan(const Unit *u) {
    static const OptionId ids[] = { OPT_PLAN, OPT_TARGET, OPT_ALIGN, OPT_IO, OPT_BUDGET, OPT_ARENA_BUDGET, OPT_PRINT_AFTER };
    const Options *o = u->o;
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (o->given[ids[i]])
            return true;
    return o->emit == EMIT_REPORT || o->emit == EMIT_C || (o->emit == EMIT_IR && u->module);
}

static bool make_plan(Unit *u) {
    if (!u->o->report.budget)
        u->o->report.budget = u->graph->mem_budget;       /* @memory(budget=...) */
    if (!pass_demand(u->c, u->graph) || !stage_done(u->c))
        return stage_done(u->c);
    u->plan = plan_network(u->c, u->graph, &u->o->plan);
    return stage_done(u->c);
}

static void print_report(StrBuf *out, const Unit *u) {
    const ReportOptions *o = &u->o->report;
    switch (u->o->style) {
    case STYLE_TABLE: report_table(out, u->c, u->graph, u->plan, o); break;
    case STYLE_JSON: report_json(out, u->c, u->graph, u->plan, o); break;
    case STYLE_CSV: report_csv(out, u->c, u->graph, u->plan, o); break;
    case STYLE_WHY: report_why(out, u->c, u->graph, u->plan, o); break;
    case STYLE_MAP: report_map(out, u->c, u->graph, u->plan, o); break;
    }
}

static bool write_output(const Unit *u) {
    StrBuf out;
    sb_init(&out, u->c->unit);
    switch (u->o->emit) {
    case EMIT_REPORT: print_report(&out, u); break;
    case EMIT_IR: ir_print(&out, u->c, u->graph, u->plan); break;
    case EMIT_AST: ast_print(&out, u->module); break;
    case EMIT_WEIGHTS_LIST: emit_weights_list(&out, u->graph); break;
    case EMIT_C: break;                                   /* files of its own */
    }
    return diag_failed(u->c) || outfile_write(u->c, u->o->output, out.p, out.n);
}

/* The whole compiler. An exit status. */
static int compile(Ctx *c, Options *o) {
    Unit u = { .c = c, .o = o };
    const char *why;
    uint32_t file = source_read(c, o->file, &why);
    if (!file) {
        complain("cannot read %s: %s", o->file, why);
        return EXIT_USAGE;
    }
    bool ir = is_printed_ir(source_get(c, file));
    if (ir && source_only_option(o)) {
        complain("%s is printed IR: --%s has no effect on it", o->file, source_only_option(o));
        return EXIT_USAGE;
    }
    if (ir && o->emit == EMIT_AST) {
        complain("%s is printed IR: it has no syntax tree", o->file);
        return EXIT_USAGE;
    }
    if (!(ir ? read_printed_ir(&u, file) : read_program(&u, file)))
        return EXIT_PROGRAM;
    if (o->command == COMMAND_RUN)
        return run_network(c, o, u.graph);
    if (u.graph && wants_plan(&u) && !make_plan(&u))
        return EXIT_PROGRAM;
    if (o->emit == EMIT_C) {
        int status = generate_c(c, o, u.graph, u.plan);
        if (status != EXIT_FINE)
            return status;
    } else if (!write_output(&u)) {
        return EXIT_USAGE;
    }
    if (u.plan)
        report_budget(c, u.graph, u.plan, &o->report);
    return diag_failed(c) ? EXIT_PROGRAM : EXIT_FINE;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);                             /* a closed pipe is a write error like any other */
    Ctx *c = ctx_new();
    Options o;
    int status = options_read(c, argc, argv, &o);
    if (status == RUN && o.command == COMMAND_PLAN) {
        status = plan_problem(c, &o);
    } else if (status == RUN) {
        status = compile(c, &o);
        diag_finish(c);
    }
    ctx_free(c);
    return status;
}
