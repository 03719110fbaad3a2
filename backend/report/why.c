/* why.c - why the arena is as large as it is: what is alive at the peak, largest first, who made it, who reads it last and
 * why it could not lie in somebody else's bytes. The listed bytes add up to the live peak exactly. Then every result that
 * was refused its operand's storage, with the reason, which the alias pass left as data. */
#include "backend/report/report.h"

#include <inttypes.h>
#include <string.h>

static const char *place_text(const Report *r, Span s) {
    const char *text = span_known(s) ? span_text(r->ctx, s) : "";
    return text[0] != '\0' ? arena_printf(r->arena, " (%s)", text) : "";
}

static const char *step_name(const Report *r, uint32_t step) {
    if (step >= r->p->steps.n)
        return "the end";
    const Op *op = r->g->ops.p[r->p->steps.p[step].anchor];
    return arena_printf(r->arena, "%s, step %" PRIu32, report_short(r, op->path), step);
}

static bool is_result(const Report *r, const Value *v) {
    for (size_t i = 0; i < r->g->results.n; i++)
        if (plan_repl(r->p, r->g->results.p[i].value->id) == v->id)
            return true;
    return false;
}

static const char *maker(const Report *r, const Value *v) {
    if (v->def == NULL)
        return arena_printf(r->arena, "%s of the net%s", v->role == ROLE_INPUT ? "input" : "stored tensor", place_text(r, v->span));
    uint32_t step = r->p->step_of[v->def->id];
    const char *at = step != NO_ID ? arena_printf(r->arena, " in step %" PRIu32, step) : "";
    const char *name = report_short(r, v->name);
    const char *called = strcmp(name, report_tensor(r, v)) != 0 ? arena_printf(r->arena, ", called %s", name) : "";
    return arena_printf(r->arena, "made by %s%s%s%s", op_info(v->def->kind)->name, at, called, place_text(r, v->def->span));
}

static void put_line(StrBuf *sb, size_t indent, const char *text) {
    for (size_t i = 0; i < indent; i++)
        sb_putc(sb, ' ');
    sb_puts(sb, text);
    sb_putc(sb, '\n');
}

static void put_workspace(StrBuf *sb, const Report *r, const Alive *a, size_t indent) {
    if (a->buffer->op != NO_ID)
        put_line(sb, indent, arena_printf(r->arena, "needed in step %" PRIu32 " only%s", a->buffer->first,
                                          place_text(r, r->g->ops.p[a->buffer->op]->span)));
}

static void put_value(StrBuf *sb, const Report *r, const Alive *a, size_t indent) {
    const Value *v = a->value;
    const char *shares = report_shares(r, v), *why_not = report_why_not(r, v);
    put_line(sb, indent, maker(r, v));
    put_line(sb, indent, is_result(r, v) ? "a result: kept for the caller"
                                         : arena_printf(r->arena, "last read by %s", step_name(r, a->last)));
    if (shares != NULL)
        put_line(sb, indent, arena_printf(r->arena, "shares its buffer: %s", shares));
    else if (why_not != NULL)
        put_line(sb, indent, arena_printf(r->arena, "has a buffer of its own: %s", why_not));
    if (a->shared > 0)
        put_line(sb, indent, arena_printf(r->arena, "%s B of it may lie %s, and count there", digits(r, a->shared),
                                          report_overlap(r, a->buffer)));
    if (a->nvalues > 1)
        put_line(sb, indent, arena_printf(r->arena, "%" PRIu32 " tensors lie in this buffer then", a->nvalues));
}

static void put_alive(StrBuf *sb, const Report *r) {
    const Op *op = report_peak_op(r);
    size_t width = strlen(digits(r, r->p->live_peak_bytes));
    sb_printf(sb, "peak %s B%s", digits(r, r->p->live_peak_bytes), iec_beside(r, r->p->live_peak_bytes));
    if (op != NULL)
        sb_printf(sb, " in step %" PRIu32 ", %s%s", r->p->peak_step, report_short(r, op->path), place_text(r, op->span));
    sb_printf(sb, ": %zu buffer%s alive\n", r->alive.n, r->alive.n == 1 ? "" : "s");
    for (size_t i = 0; i < r->alive.n; i++) {
        const Alive *a = &r->alive.p[i];
        put_padded(sb, digits(r, a->bytes), width + 2, true);
        sb_printf(sb, "  %s\n", report_alive_name(r, a));
        if (a->value != NULL)
            put_value(sb, r, a, width + 4);
        else
            put_workspace(sb, r, a, width + 4);
    }
    put_padded(sb, digits(r, r->p->live_peak_bytes), width + 2, true);
    sb_puts(sb, "  = live peak\n");
}

static void put_arena(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    uint64_t above = p->arena_bytes - p->live_peak_bytes, gap = p->arena_bytes - p->bound_bytes;
    sb_printf(sb, "arena %s B: ", digits(r, p->arena_bytes));
    if (above == 0)
        sb_puts(sb, "no byte is lost to fragmentation");
    else
        sb_printf(sb, "%s B (%s) above the live peak, lost to fragmentation", digits(r, above), percent(r, above, p->live_peak_bytes));
    sb_printf(sb, "\nlower bound %s B (%s): ", digits(r, p->bound_bytes), p->bound_kind != NULL ? p->bound_kind : "none");
    if (p->proven)
        sb_puts(sb, "no plan of this level needs less\n");
    else
        sb_printf(sb, "the arena is %s B (%s) above it, not proven to be the least\n", digits(r, gap),
                  percent(r, gap, p->bound_bytes));
}

/* Results that asked for somebody's storage and were refused. */
static bool was_refused(const Report *r, const Value *v) {
    const Buffer *b = report_buffer(r, v);
    return v->def != NULL && b != NULL && b->kind != BUF_WEIGHT && report_why_not(r, v) != NULL && report_overlapped(r, v) == NULL &&
           r->p->place[v->id].reason != REASON_LEVEL && r->p->place[v->id].reason != REASON_NO_OPERAND &&
           r->p->place[v->id].reason != REASON_KERNEL;
}

static void put_refusals(StrBuf *sb, const Report *r) {
    size_t n = 0, by_kernel = 0;
    uint32_t limit = r->opt->rows;
    for (size_t i = 0; i < r->g->values.n; i++) {
        const Value *v = r->g->values.p[i];
        by_kernel += v->def != NULL && report_buffer(r, v) != NULL && r->p->place[v->id].reason == REASON_KERNEL;
        if (!was_refused(r, v))
            continue;
        if (n++ == 0)
            sb_puts(sb, "\nnot in place, and no part of another buffer:\n");
        if (limit == 0 || n <= limit)
            sb_printf(sb, "  %s: %s%s\n", report_tensor(r, v), report_why_not(r, v), place_text(r, v->span));
    }
    if (limit > 0 && n > limit)
        sb_printf(sb, "  [%zu others: -n 0]\n", n - limit);
    if (by_kernel > 0)
        sb_printf(sb, "\n%zu result%s apart from %s operands: %s\n", by_kernel, by_kernel == 1 ? " lies" : "s lie",
                  by_kernel == 1 ? "its" : "their", reason_text(REASON_KERNEL));
}

/* The levels, one a line, with what each takes off the one before. */
static void put_levels(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    if (p->levels.n < 2)
        return;
    size_t width = strlen(digits(r, p->levels.p[0].arena_bytes));
    sb_puts(sb, "\narena by level:\n");
    for (size_t i = 0; i < p->levels.n; i++) {
        const LevelFigures *f = &p->levels.p[i];
        uint64_t before = i > 0 ? p->levels.p[i - 1].arena_bytes : f->arena_bytes;
        put_padded(sb, digits(r, f->arena_bytes), width + 2, true);
        sb_printf(sb, "  %s", level_name(f->level));
        if (before > f->arena_bytes)
            sb_printf(sb, ": -%s B", digits(r, before - f->arena_bytes));
        sb_putc(sb, '\n');
    }
}

static const char *rewrite_text(const Report *r, const Rewrite *w) {
    static const char *const texts[] = {
        [REWRITE_INPLACE] = "in place", [REWRITE_ACCUMULATE] = "accumulate into the residual", [REWRITE_VIEW] = "a view, no copy",
        [REWRITE_SLICE] = "written into its part of a concatenation", [REWRITE_FOLD] = "folded into the weights",
        [REWRITE_FUSE] = "in another one's step", [REWRITE_OVERLAP] = "over its dying operand in part", [REWRITE_ORDER] = "the order of the steps",
    };
    bool anchor = w->kind == REWRITE_FUSE && r->p->fate[w->op] == FATE_RUN;
    return anchor ? "what it reads is made in its step" : texts[w->kind];
}

/* Each line stands for itself: what the live peak would be more without this one decision. */
static void put_rewrites(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    uint32_t limit = r->opt->rows;
    if (p->rewrites.n == 0)
        return;
    size_t width = strlen(digits(r, p->rewrites.p[0].saved_bytes)) + 1;
    sb_puts(sb, "\nwithout one of these the live peak would be larger by\n");
    for (size_t i = 0; i < p->rewrites.n && (limit == 0 || i < limit); i++) {
        const Rewrite *w = &p->rewrites.p[i];
        put_padded(sb, digits(r, w->saved_bytes), width + 2, true);
        sb_printf(sb, " B  %s%s%s\n", w->op != NO_ID ? report_short(r, r->g->ops.p[w->op]->path) : "", w->op != NO_ID ? ": " : "",
                  rewrite_text(r, w));
    }
    if (limit > 0 && p->rewrites.n > limit)
        sb_printf(sb, "  [%zu others: -n 0]\n", p->rewrites.n - limit);
}

void report_why(StrBuf *out, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    if (!report_collect(&r, ctx, g, p, opt))
        return;
    if (p->arena_bytes == 0) {
        sb_puts(out, "the arena has no bytes: nothing is alive in it\n");
    } else {
        put_alive(out, &r);
        put_arena(out, &r);
    }
    put_levels(out, &r);
    put_rewrites(out, &r);
    put_refusals(out, &r);
}
