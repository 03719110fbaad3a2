/* headline.c - the first lines of a report: what network and plan this is, what it needs and whether that fits, how far the
 * arena is from what is provably needed, and who is alive when most is. */
#include "backend/report/report.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_ALIVE = 6, MAX_ENDS = 6 };

static Flow flow_on(StrBuf *sb, const Report *r) {
    return (Flow){.sb = sb, .width = r->opt->width > 20 ? r->opt->width : 100, .indent = 4};
}

static const char *type_short(const Report *r, const Value *v) {
    const Type *t = &v->type;
    return arena_printf(r->arena, "%s[%s]", dtype_name(t->dtype), t->shape.rank > 0 ? report_dims(r, &t->shape, ",") : "");
}

static void put_what(StrBuf *sb, const Report *r) {
    const Graph *g = r->g;
    const Plan *p = r->p;
    Flow f = flow_on(sb, r);
    if (g->source[0] != '\0')
        flow_item(&f, "%s", g->source);
    flow_item(&f, "%s", g->name);
    for (size_t i = 0; i < g->inputs.n && i < MAX_ENDS; i++)
        flow_item(&f, "%s %s", g->inputs.p[i]->name, type_short(r, g->inputs.p[i]));
    for (size_t i = 0; i < g->results.n && i < MAX_ENDS; i++)
        flow_item(&f, "-> %s %s", g->results.p[i].name, type_short(r, g->results.p[i].value));
    if (g->inputs.n + g->results.n > 2 * MAX_ENDS)
        flow_item(&f, "[%zu inputs, %zu results]", g->inputs.n, g->results.n);
    for (size_t i = 0; i < g->dims.n; i++)
        flow_item(&f, "%s%s%" PRIu64, g->dims.p[i].name, g->dims.p[i].is_bound ? "<=" : "=", g->dims.p[i].value);
    flow_item(&f, "inference");
    flow_item(&f, "plan %s, target %s, align %s B", level_name(p->level), p->target == TARGET_CUDA ? "cuda" : "c",
              digits(r, p->align));
    flow_end(&f);
}

/* How much of a line fits: to the last blank before the margin, or a word that is longer than the line. */
static size_t fitting(const char *text, size_t n, size_t width) {
    size_t fits = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && text[i] != ' ')
            continue;
        if (fits > 0 && display_width(text, i) > width)
            break;
        fits = i;
    }
    return fits;
}

/* The lines of a doc comment, under what they speak of. */
static void put_doc(StrBuf *sb, const Report *r, const char *name, const char *doc) {
    size_t width = (r->opt->width > 20 ? r->opt->width : 100) - 2;
    const char *text = doc == NULL ? "" : name == NULL ? doc : arena_printf(r->arena, "%s: %s", name, doc);
    while (*text != '\0') {
        size_t line = strcspn(text, "\n"), n = fitting(text, line, width);
        sb_puts(sb, "  ");
        sb_write(sb, text, n);
        sb_putc(sb, '\n');
        text += n + (text[n] == '\n' || text[n] == ' ');
    }
}

static void put_docs(StrBuf *sb, const Report *r) {
    put_doc(sb, r, NULL, r->g->doc);
    for (size_t i = 0; i < r->g->inputs.n; i++)
        put_doc(sb, r, r->g->inputs.p[i]->name, r->g->inputs.p[i]->doc);
    for (size_t i = 0; i < r->g->results.n; i++)
        put_doc(sb, r, r->g->results.p[i].name, r->g->results.p[i].doc);
}

static void put_fits(Flow *f, const Report *r, const char *what, uint64_t need, uint64_t budget) {
    if (budget == 0)
        return;
    bool fits = need <= budget;
    StrBuf sb;
    sb_init(&sb, r->arena);
    put_inked(&sb, r, fits ? INK_GOOD : INK_BAD, fits ? "fits" : "DOES NOT FIT");
    flow_item(f, "%s %s: %s, %s B %s", what, iec_bytes(r->arena, budget), sb_str(&sb),
              digits(r, fits ? budget - need : need - budget), fits ? "left" : "too much");
}

static void put_need(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    Flow f = flow_on(sb, r);
    StrBuf peak;
    sb_init(&peak, r->arena);
    put_inked(&peak, r, INK_BOLD, arena_printf(r->arena, "PEAK %s B", digits(r, r->total_bytes)));
    flow_item(&f, "%s", sb_str(&peak));
    if (r->total_bytes >= 1024)
        flow_item(&f, "%s", iec_bytes(r->arena, r->total_bytes));
    if (p->io == IO_CALLER)
        flow_item(&f, "= weights %s + arena %s + io %s", digits(r, p->weights_bytes), digits(r, p->arena_bytes),
                  digits(r, p->io_bytes));
    else
        flow_item(&f, "= weights %s + arena %s", digits(r, p->weights_bytes), digits(r, p->arena_bytes));
    put_fits(&f, r, "budget", r->total_bytes, r->budget);
    put_fits(&f, r, "arena budget", p->arena_bytes, r->arena_budget);
    flow_end(&f);
}

static void put_arena(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    uint64_t gap = p->arena_bytes - p->bound_bytes;
    Flow f = flow_on(sb, r);
    flow_item(&f, "arena %s B", digits(r, p->arena_bytes));
    if (p->arena_bytes >= 1024)
        flow_item(&f, "%s", iec_bytes(r->arena, p->arena_bytes));
    if (p->live_peak_bytes != p->arena_bytes)
        flow_item(&f, "live peak %s B", digits(r, p->live_peak_bytes));
    flow_item(&f, "lower bound %s B", digits(r, p->bound_bytes));
    flow_item(&f, "gap %s B (%s, %s)", digits(r, gap), percent(r, gap, p->bound_bytes), p->proven ? "proven" : "not proven");
    flow_item(&f, "naive %s B, saved %s", digits(r, p->naive_bytes), percent(r, p->naive_bytes - p->arena_bytes, p->naive_bytes));
    if (p->order_states > 0)
        flow_item(&f, "order %s, %s state%s", p->order_kind, digits(r, p->order_states), p->order_states == 1 ? "" : "s");
    if (p->workspace_bytes > 0)
        flow_item(&f, "workspace %s B", digits(r, p->workspace_bytes));
    flow_end(&f);
}

static void put_peak(StrBuf *sb, const Report *r) {
    const Op *op = report_peak_op(r);
    Flow f = flow_on(sb, r);
    uint64_t rest = 0;
    if (op == NULL || r->alive.n == 0)
        return;
    flow_item(&f, "peak at step %" PRIu32 " %s:", r->p->peak_step, report_short(r, op->path));
    for (size_t i = 0; i < r->alive.n; i++) {
        const Alive *a = &r->alive.p[i];
        if (i < MAX_ALIVE || r->alive.n == MAX_ALIVE + 1)
            flow_item(&f, "%s%s %s", i > 0 ? "+ " : "", report_alive_name(r, a), digits(r, a->bytes));
        else
            rest += a->bytes;
    }
    if (rest > 0)
        flow_item(&f, "+ [%zu others] %s", r->alive.n - MAX_ALIVE, digits(r, rest));
    flow_item(&f, "= %s", digits(r, r->p->live_peak_bytes));
    flow_end(&f);
}

void report_headline(StrBuf *sb, const Report *r) {
    put_what(sb, r);
    put_docs(sb, r);
    put_need(sb, r);
    put_arena(sb, r);
    put_peak(sb, r);
}
