/* budget.c - "does it fit": a diagnostic like any other, at the operator at the peak, with the largest tensors that are alive
 * there as notes, each at its source line. `--budget` is held against everything (weights, arena, the caller's inputs and
 * outputs), `--arena-budget` against the arena alone. */
#include "backend/report/report.h"

#include <inttypes.h>

enum { MAX_NOTES = 5 };

static const char *sized(const Report *r, uint64_t n) {
    return arena_printf(r->arena, "%s B%s", digits(r, n), iec_beside(r, n));
}

static Span span_of(const Report *r, const Alive *a) {
    if (a->value != NULL)
        return a->value->span;
    return a->buffer->op != NO_ID ? r->g->ops.p[a->buffer->op]->span : (Span){0};
}

static void note_alive(const Report *r, Diag *d) {
    uint64_t rest = 0;
    for (size_t i = 0; i < r->alive.n; i++) {
        const Alive *a = &r->alive.p[i];
        if (i < MAX_NOTES)
            diag_note(r->ctx, d, span_of(r, a), "%s B are alive then: %s", digits(r, a->bytes),
                      report_alive_name(r, a));
        else
            rest += a->bytes;
    }
    if (rest > 0)
        diag_note(r->ctx, d, (Span){0}, "%s B in %zu smaller tensors", digits(r, rest), r->alive.n - MAX_NOTES);
}

static bool held(const Report *r, const char *what, uint64_t need, uint64_t budget) {
    const Op *op = report_peak_op(r);
    if (budget == 0 || need <= budget)
        return true;
    Diag *d = diag(r->ctx, DIAG_OVER_BUDGET, op != NULL ? op->span : r->g->span,
                   "%s needs %s of %s, %s B more than the budget of %s", r->g->name, sized(r, need), what,
                   digits(r, need - budget), sized(r, budget));
    if (op != NULL && r->p->arena_bytes > 0)
        diag_note(r->ctx, d, (Span){0}, "the most is alive in step %" PRIu32 ", %s: %s B", r->p->peak_step,
                  report_short(r, op->path), digits(r, r->p->live_peak_bytes));
    note_alive(r, d);
    if (r->p->weights_bytes > budget && budget != r->arena_budget)
        diag_help(r->ctx, d, "the weights alone take %s", sized(r, r->p->weights_bytes));
    else if (r->p->level < LEVEL_FULL)
        diag_help(r->ctx, d, "--plan=full may need less than --plan=%s", level_name(r->p->level));
    return false;
}

bool report_budget(Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    if (!report_collect(&r, ctx, g, p, opt))
        return false;
    bool total = held(&r, "memory", r.total_bytes, r.budget);
    return held(&r, "arena", p->arena_bytes, r.arena_budget) && total;
}
