/* table.c - the report for a reader: the headline, then a row for every input, operator and declared tensor in program
 * order. Bytes are exact; TOTAL is the sum of the printed rows. What does not fit the terminal is taken from the names
 * first, then from the bars.
 *
 *     #          the step it runs in; 3' = inside step 3; none: no code of its own
 *     out        new storage its step fills: nothing in place, for views, inside another's step
 *     live       what is needed of the arena in its step; > marks the peak
 *     offset     in the arena, ~ where it may lie over a dying operand in part; =3 lies in the bytes of step 3's result, =x in
 *                the input x; io is the caller's memory; what did not come to run says why: fused, folded, identity,
 *                duplicate, constant, dead
 *     life       steps from left to right, # where the peak is; scaled down when there are many */
#include "backend/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum Column { T_STEP, T_NAME, T_OP, T_OUTPUT, T_PARAMS, T_MACS, T_BYTES, T_LIVE, T_OFFSET, T_LIFE, NCOLUMNS } Column;
enum { MAX_BAR = 24, MIN_BAR = 8, MIN_NAME = 10, MAX_SHARER = 8 };

typedef struct Table {
    Report *r;
    size_t width[NCOLUMNS];
    uint32_t bar;                                         /* characters of a life; 0 = no bars */
    unsigned gap;                                         /* blanks between columns */
    bool terse;                                           /* operators without their windows */
    bool no_op;                                           /* not even operators: names end with them */
    bool *shown;                                          /* by row, with -n */
    size_t nhidden;
    Row hidden;                                           /* sums of the rows that are not shown */
} Table;

typedef struct Cells { const char *text[NCOLUMNS]; } Cells;

static const bool right_aligned[NCOLUMNS] = {
    [T_STEP] = true, [T_PARAMS] = true, [T_MACS] = true, [T_BYTES] = true, [T_LIVE] = true, [T_OFFSET] = true,
};

/* ---- cells */

static const char *step_text(const Report *r, const Row *row) {
    if (row->kind != ROW_OP || row->step == NO_ID)
        return "";
    return arena_printf(r->arena, "%" PRIu32 "%s", row->step, row->host != NULL ? "'" : " ");
}

static const char *op_text(const Table *t, const Row *row) {
    if (t->no_op)
        return "";
    if (row->kind == ROW_INPUT)
        return "input";
    if (row->kind == ROW_STORED)
        return row->value->role == ROLE_PARAM ? "param" : "buffer";
    return t->terse ? op_info(row->op->kind)->name : report_op_text(t->r, row->op);
}

static const char *count_text(const Report *r, uint64_t n) { return n > 0 ? digits(r, n) : "-"; }

/* A view has no step: the step that filled its bytes is meant. NULL when that can only be said at length. */
static const char *sharer(const Report *r, const Value *with) {
    const Plan *p = r->p;
    while (with->def != NULL && p->step_of[with->def->id] == NO_ID && p->place[with->id].share != SHARE_NONE &&
           p->place[with->id].with < with->id)
        with = r->g->values.p[p->place[with->id].with];
    uint32_t step = with->def != NULL ? p->step_of[with->def->id] : NO_ID;
    const char *name = report_tensor(r, with);
    if (step == NO_ID && strlen(name) > MAX_SHARER)
        return NULL;
    return step != NO_ID ? arena_printf(r->arena, "=%" PRIu32, step) : arena_printf(r->arena, "=%s", name);
}

static const char *offset_text(const Report *r, const Row *row) {
    const Value *v = row->written;
    const Buffer *b = v != NULL ? report_buffer(r, v) : NULL;
    if (b == NULL)
        return row->kind == ROW_OP && r->p->fate[row->op->id] != FATE_RUN ? fate_name(r->p->fate[row->op->id]) : "";
    const Place *l = report_place(r, v);
    bool shares = (l->share == SHARE_INPLACE || l->share == SHARE_VIEW) && l->with != NO_ID;
    const char *with = shares ? sharer(r, r->g->values.p[l->with]) : NULL;
    if (with != NULL)
        return with;
    if (b->in_arena)
        return arena_printf(r->arena, "%s%s", report_overlapped(r, v) != NULL ? "~" : "", digits(r, b->offset + l->byte_offset));
    return b->kind == BUF_WEIGHT ? "weights" : "io";
}

/* ---- lives */

static uint32_t nsteps(const Report *r) { return r->p->steps.n > 0 ? (uint32_t)r->p->steps.n : 1; }

static uint32_t bar_at(const Table *t, uint32_t step) {
    uint32_t n = nsteps(t->r);
    return n <= t->bar ? step : (uint32_t)((uint64_t)step * t->bar / n);
}

static const char *life_bar(const Table *t, const Value *v) {
    const Report *r = t->r;
    const Place *l = report_place(r, v);
    const char *alive = r->opt->ascii ? "=" : "\xE2\x94\x81", *peak = r->opt->ascii ? "#" : "\xE2\x96\x88";
    uint32_t width = nsteps(r) <= t->bar ? nsteps(r) : t->bar;
    uint32_t first = bar_at(t, l->first), last = bar_at(t, l->last), top = bar_at(t, r->p->peak_step);
    bool at_peak = l->first <= r->p->peak_step && r->p->peak_step <= l->last;
    StrBuf sb;
    sb_init(&sb, r->arena);
    for (uint32_t i = 0; i < width && i <= last; i++)
        sb_puts(&sb, i < first ? " " : at_peak && i == top ? peak : alive);
    return sb_str(&sb);
}

static const char *life_text(const Table *t, const Row *row) {
    const Value *v = row->written;
    if (v == NULL || report_buffer(t->r, v) == NULL)
        return "";
    const Place *l = report_place(t->r, v);
    if (t->r->opt->plain)
        return arena_printf(t->r->arena, "%" PRIu32 " to %" PRIu32, l->first, l->last);
    return t->bar > 0 ? life_bar(t, v) : "";
}

static Cells row_cells(const Table *t, const Row *row) {
    const Report *r = t->r;
    bool runs = row->kind == ROW_OP && row->host == NULL && row->step != NO_ID;
    bool peak = runs && row->step == r->p->peak_step && r->p->arena_bytes > 0;
    uint64_t made = row->kind == ROW_INPUT ? row->value->nbytes : row->made_bytes;
    Cells c = {{0}};
    c.text[T_STEP] = step_text(r, row);
    c.text[T_NAME] = report_row_name(r, row);
    c.text[T_OP] = op_text(t, row);
    c.text[T_OUTPUT] = row->value != NULL ? report_dims(r, &row->value->type.shape, "x") : "";
    c.text[T_PARAMS] = count_text(r, row->params);
    c.text[T_MACS] = count_text(r, row->macs);
    c.text[T_BYTES] = made > 0 || runs ? in_units(r, made) : "-";
    c.text[T_LIVE] = runs ? arena_printf(r->arena, "%s%s", peak ? "> " : "", in_units(r, row->live_bytes)) : "";
    c.text[T_OFFSET] = offset_text(r, row);
    c.text[T_LIFE] = life_text(t, row);
    return c;
}

static Cells head_cells(const Table *t) {
    const char *unit = unit_name(t->r);
    Cells c = {{"# ", "layer", t->no_op ? "" : "op", "output", "params", "MACs", NULL, NULL, "offset", "life"}};
    c.text[T_BYTES] = arena_printf(t->r->arena, "out %s", unit);
    c.text[T_LIVE] = arena_printf(t->r->arena, "live %s", unit);
    return c;
}

static Cells total_cells(const Table *t) {
    const Report *r = t->r;
    Cells c = {{"", "TOTAL", "", ""}};
    uint64_t inputs = 0, all;
    for (size_t i = 0; i < r->g->inputs.n; i++)
        inputs += r->g->inputs.p[i]->nbytes;
    c.text[T_PARAMS] = count_text(r, r->params);
    c.text[T_MACS] = count_text(r, r->macs);
    c.text[T_BYTES] = add_u64(r->made_bytes, inputs, &all) ? in_units(r, all) : "-";
    c.text[T_LIVE] = in_units(r, r->p->live_peak_bytes);
    c.text[T_OFFSET] = c.text[T_LIFE] = "";
    return c;
}

static Cells hidden_cells(const Table *t) {
    const Report *r = t->r;
    Cells c = {{"", arena_printf(r->arena, "[%zu others]", t->nhidden), "", ""}};
    c.text[T_PARAMS] = count_text(r, t->hidden.params);
    c.text[T_MACS] = count_text(r, t->hidden.macs);
    c.text[T_BYTES] = in_units(r, t->hidden.made_bytes);
    c.text[T_LIVE] = c.text[T_OFFSET] = c.text[T_LIFE] = "";
    return c;
}

/* ---- which rows, and how wide */

typedef struct Ranked { uint64_t bytes; size_t row; } Ranked;

static int ranked_order(const void *x, const void *y) {
    const Ranked *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static uint64_t row_bytes(const Row *row) { return row->kind == ROW_INPUT ? row->value->nbytes : row->made_bytes; }

/* With -n N the N largest rows stay, in program order; the others are one row of sums. The sums cannot overflow: those of
 * all rows did not. */
static void choose_rows(Table *t) {
    const Report *r = t->r;
    if (r->opt->rows == 0 || r->opt->rows >= r->rows.n)
        return;
    Ranked *order = NEW_ARRAY(r->arena, Ranked, r->rows.n);
    for (size_t i = 0; i < r->rows.n; i++)
        order[i] = (Ranked){row_bytes(&r->rows.p[i]), i};
    qsort(order, r->rows.n, sizeof *order, ranked_order);
    t->shown = NEW_ARRAY(r->arena, bool, r->rows.n);
    for (size_t i = 0; i < r->rows.n; i++) {
        const Row *row = &r->rows.p[order[i].row];
        t->shown[order[i].row] = i < r->opt->rows;
        if (i < r->opt->rows)
            continue;
        t->nhidden++;
        t->hidden.params += row->params;
        t->hidden.macs += row->macs;
        t->hidden.made_bytes += row_bytes(row);
    }
}

static bool is_shown(const Table *t, size_t row) { return t->shown == NULL || t->shown[row]; }

static void widen(Table *t, const Cells *c) {
    for (int k = 0; k < NCOLUMNS; k++) {
        size_t w = display_width(c->text[k], strlen(c->text[k]));
        t->width[k] = w > t->width[k] ? w : t->width[k];
    }
}

static void take(size_t *width, size_t least, size_t *excess) {
    size_t spare = *width > least ? *width - least : 0, n = spare < *excess ? spare : *excess;
    *width -= n;
    *excess -= n;
}

static void measure_rows(Table *t) {
    Report *r = t->r;
    Cells head = head_cells(t), total = total_cells(t);
    memset(t->width, 0, sizeof t->width);
    widen(t, &head);
    widen(t, &total);
    for (size_t i = 0; i < r->rows.n; i++, report_next_line(r))
        if (is_shown(t, i)) {
            Cells c = row_cells(t, &r->rows.p[i]);
            widen(t, &c);
        }
    if (t->bar > 0)
        t->width[T_LIFE] = t->bar > strlen("life") ? t->bar : strlen("life");
}

static size_t excess_width(const Table *t) {
    size_t total = 0;
    for (int k = 0; k < NCOLUMNS; k++)
        total += t->width[k] + (k > 0 && t->width[k] > 0 ? t->gap : 0);
    return total > t->r->opt->width ? total - t->r->opt->width : 0;
}

/* Names give way first, then bars, then what operators say of their windows, then operators whole; at last bars and names. */
static void measure(Table *t) {
    const Report *r = t->r;
    size_t excess, least = t->nhidden > 0 ? strlen(hidden_cells(t).text[T_NAME]) : 0;
    t->bar = r->opt->plain ? 0 : nsteps(r) < MAX_BAR ? nsteps(r) : MAX_BAR;
    for (;;) {
        measure_rows(t);
        excess = excess_width(t);
        take(&t->width[T_NAME], 2 * MIN_NAME, &excess);
        if (t->bar > 0)
            take(&t->width[T_LIFE], MIN_BAR, &excess);
        if (excess == 0 || t->no_op)
            break;
        t->no_op = t->terse;
        t->terse = true;
    }
    if (t->bar > 0 && excess > 0) {
        take(&t->width[T_LIFE], 0, &excess);
        t->width[T_LIFE] = t->bar = 0;
        excess = excess_width(t);
    }
    take(&t->width[T_NAME], least > MIN_NAME ? least : MIN_NAME, &excess);
    if (excess > 0)
        t->gap = 1;
    if (t->bar > t->width[T_LIFE])
        t->bar = (uint32_t)t->width[T_LIFE];
}

/* ---- printing */

static void put_cells(StrBuf *sb, const Table *t, const Cells *c, int life_ink) {
    const Report *r = t->r;
    size_t last = NCOLUMNS - 1;
    while (last > 0 && c->text[last][0] == '\0')
        last--;
    for (size_t k = 0; k <= last; k++) {
        if (t->width[k] == 0)
            continue;
        for (unsigned i = 0; k > 0 && i < t->gap; i++)
            sb_putc(sb, ' ');
        const char *text = k == T_NAME ? cut_left(r, c->text[k], t->width[k]) : c->text[k];
        if (k == T_LIFE)
            put_inked(sb, r, life_ink, text);
        else
            put_padded(sb, text, k == last && !right_aligned[k] ? 0 : t->width[k], right_aligned[k]);
    }
    while (sb->n > 0 && sb->p[sb->n - 1] == ' ')
        sb->n--;
    sb_putc(sb, '\n');
}

/* What the signs mean, as far as they occur. */
static void put_legend(StrBuf *sb, const Report *r, const Table *t) {
    Flow f = {.sb = sb, .width = r->opt->width > 20 ? r->opt->width : 100};
    bool inside = false, shares = false, overlaps = false;
    for (size_t i = 0; i < r->rows.n; i++) {
        const Row *row = &r->rows.p[i];
        const Place *l = row->written != NULL ? report_place(r, row->written) : NULL;
        inside = inside || (is_shown(t, i) && row->host != NULL);
        overlaps = overlaps || (is_shown(t, i) && l != NULL && report_overlapped(r, row->written) != NULL);
        shares = shares || (is_shown(t, i) && l != NULL && (l->share == SHARE_INPLACE || l->share == SHARE_VIEW));
    }
    if (inside)
        flow_item(&f, "3' runs inside step 3");
    if (shares)
        flow_item(&f, "=3 lies in the bytes of step 3");
    if (overlaps)
        flow_item(&f, "~ may lie over its dying operand in part");
    if (r->p->arena_bytes > 0)
        flow_item(&f, "> is the peak");
    if (t->bar > 0 && nsteps(r) > t->bar)
        flow_item(&f, "1 character of life is %" PRIu32 " steps", (nsteps(r) + t->bar - 1) / t->bar);
    if (f.used > 0)
        flow_end(&f);
}

static void put_footer(StrBuf *sb, const Report *r) {
    if (r->buffer_elems > 0)
        sb_printf(sb, "params are trainable; %s further stored element%s not\n", digits(r, r->buffer_elems),
                  r->buffer_elems == 1 ? " (of buffers) is" : "s (of buffers) are");
    if (r->p->target == TARGET_CUDA)
        sb_puts(sb, "not counted: the CUDA context\n");
}

void report_table(StrBuf *out, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    if (!report_collect(&r, ctx, g, p, opt))
        return;
    Table t = {.r = &r, .gap = 2};
    report_headline(out, &r);
    sb_putc(out, '\n');
    choose_rows(&t);
    report_begin_lines(&r);
    measure(&t);
    Cells c = head_cells(&t);
    put_cells(out, &t, &c, INK_NONE);
    for (size_t i = 0; i < r.rows.n; i++, report_next_line(&r)) {
        const Row *row = &r.rows.p[i];
        const Buffer *b = row->written != NULL ? report_buffer(&r, row->written) : NULL;
        if (!is_shown(&t, i))
            continue;
        c = row_cells(&t, row);
        put_cells(out, &t, &c, b != NULL ? buffer_ink(b->kind) : INK_NONE);
    }
    if (t.nhidden > 0) {
        c = hidden_cells(&t);
        put_cells(out, &t, &c, INK_NONE);
    }
    c = total_cells(&t);
    put_cells(out, &t, &c, INK_NONE);
    put_legend(out, &r, &t);
    put_footer(out, &r);
    report_end_lines(&r);
}
