/* csv.c - the report as one table (RFC 4180 quoting, a header, lines end with LF). The first column says what a line is:
 *
 *     input    an input of the net
 *     layer    an operator or a declared tensor; one line for each result, and for each tensor that operators fused into
 *              its step leave in memory (made_by). params, buffer_elements and macs stand on the first, so that a
 *              column's sum is the total
 *     buffer   where it lies: bytes, offset (empty: outside the arena), life
 *     total    name and value, the totals of --report=json
 *
 * The numbers are those of --report=json. */
#include "backend/report/report.h"

#include <inttypes.h>

typedef enum Column {
    C_ROW, C_NAME, C_OP, C_SOURCE, C_TENSOR, C_DTYPE, C_SHAPE, C_BYTES, C_PARAMS, C_BUFFER_ELEMENTS, C_MACS, C_STEP,
    C_LIVE_BYTES, C_BUFFER, C_BYTE_OFFSET, C_OFFSET, C_FIRST, C_LAST, C_SHARES, C_WHY_NOT_SHARED, C_FATE, C_FUSED_INTO,
    C_MADE_BY, C_VALUE, C_OVERLAPS, C_OVERLAP_BYTES, NCOLUMNS
} Column;

static const char *const header[NCOLUMNS] = {
    [C_ROW] = "row", [C_NAME] = "name", [C_OP] = "op", [C_SOURCE] = "source", [C_TENSOR] = "tensor", [C_DTYPE] = "dtype",
    [C_SHAPE] = "shape", [C_BYTES] = "bytes", [C_PARAMS] = "params", [C_BUFFER_ELEMENTS] = "buffer_elements",
    [C_MACS] = "macs", [C_STEP] = "step", [C_LIVE_BYTES] = "live_bytes", [C_BUFFER] = "buffer",
    [C_BYTE_OFFSET] = "byte_offset", [C_OFFSET] = "offset", [C_FIRST] = "first", [C_LAST] = "last", [C_SHARES] = "shares",
    [C_WHY_NOT_SHARED] = "why_not_shared", [C_FATE] = "fate", [C_FUSED_INTO] = "fused_into",
    [C_MADE_BY] = "made_by", [C_VALUE] = "value", [C_OVERLAPS] = "overlaps", [C_OVERLAP_BYTES] = "overlap_bytes",
};

typedef struct Line { Arena *arena; const char *field[NCOLUMNS]; } Line;          /* NULL: empty */

static void set(Line *l, Column c, uint64_t n) { l->field[c] = arena_printf(l->arena, "%" PRIu64, n); }

static void put_line(StrBuf *sb, const char *const *field) {
    for (int c = 0; c < NCOLUMNS; c++) {
        if (c > 0)
            sb_putc(sb, ',');
        if (field[c] != NULL)
            csv_field(sb, field[c]);
    }
    sb_putc(sb, '\n');
}

static void set_tensor(Line *l, const Report *r, const Value *v, bool own) {
    const Buffer *b = own ? report_buffer(r, v) : NULL;
    const Place *place = report_place(r, v);
    l->field[C_TENSOR] = v->name;
    l->field[C_DTYPE] = dtype_name(v->type.dtype);
    l->field[C_SHAPE] = v->type.shape.rank > 0 ? report_dims(r, &v->type.shape, "x") : NULL;
    set(l, C_BYTES, v->nbytes);
    if (b == NULL)
        return;
    set(l, C_BUFFER, b->id);
    set(l, C_BYTE_OFFSET, place->byte_offset);
    if (b->in_arena)
        set(l, C_OFFSET, b->offset + place->byte_offset);
    set(l, C_FIRST, place->first);
    set(l, C_LAST, place->last);
    l->field[C_SHARES] = report_shares(r, v);
    l->field[C_WHY_NOT_SHARED] = report_why_not(r, v);
    if (report_overlapped(r, v) != NULL) {
        set(l, C_OVERLAPS, b->overlaps);
        set(l, C_OVERLAP_BYTES, b->overlap_bytes);
    }
}

static Line row_line(const Report *r, const Row *row) {
    const Op *op = row->op;
    Span span = op != NULL ? op->span : row->value->span;
    Line l = {.arena = r->arena};
    l.field[C_ROW] = row->kind == ROW_INPUT ? "input" : "layer";
    l.field[C_NAME] = op != NULL ? op->path : row->value->name;
    l.field[C_OP] = op != NULL ? op_info(op->kind)->name
                               : row->kind == ROW_INPUT ? NULL : row->value->role == ROLE_PARAM ? "param" : "buffer";
    l.field[C_SOURCE] = span_known(span) ? span_text(r->ctx, span) : NULL;
    if (op != NULL)
        l.field[C_FATE] = fate_name(r->p->fate[op->id]);
    if (row->host != NULL)
        l.field[C_FUSED_INTO] = row->host->path;
    if (row->step != NO_ID) {
        set(&l, C_STEP, row->step);
        set(&l, C_LIVE_BYTES, row->live_bytes);
    }
    return l;
}

/* A row's own figures stand on its first line only. */
static void put_row(StrBuf *sb, const Report *r, const Row *row) {
    size_t n;
    const Output *out = report_outputs(r, row, &n);
    for (size_t i = 0; i == 0 || i < n; i++) {
        Line l = row_line(r, row);
        if (i == 0 && row->kind != ROW_INPUT) {
            set(&l, C_PARAMS, row->params);
            set(&l, C_BUFFER_ELEMENTS, row->buffer_elems);
            set(&l, C_MACS, row->macs);
        }
        if (row->kind != ROW_STORED)
            set_tensor(&l, r, n > 0 ? out[i].value : row->value, n == 0 || out[i].placed);
        if (n > 0 && out[i].made_by != NULL)
            l.field[C_MADE_BY] = out[i].made_by->path;
        put_line(sb, l.field);
    }
}

static void put_buffer(StrBuf *sb, const Report *r, const Buffer *b) {
    Line l = {.arena = r->arena};
    l.field[C_ROW] = "buffer";
    l.field[C_NAME] = buffer_kind_name(b->kind);
    set(&l, C_BUFFER, b->id);
    set(&l, C_BYTES, b->nbytes);
    if (b->in_arena)
        set(&l, C_OFFSET, b->offset);
    set(&l, C_FIRST, b->first);
    set(&l, C_LAST, b->last);
    put_line(sb, l.field);
}

static void put_total(StrBuf *sb, const Report *r, const char *name, uint64_t n) {
    Line l = {.arena = r->arena};
    l.field[C_ROW] = "total";
    l.field[C_NAME] = name;
    set(&l, C_VALUE, n);
    put_line(sb, l.field);
}

static void put_totals(StrBuf *sb, const Report *r) {
    const Plan *p = r->p;
    put_total(sb, r, "params", r->params);
    put_total(sb, r, "buffer_elements", r->buffer_elems);
    put_total(sb, r, "macs", r->macs);
    put_total(sb, r, "weights_bytes", p->weights_bytes);
    put_total(sb, r, "naive_bytes", p->naive_bytes);
    put_total(sb, r, "arena_bytes", p->arena_bytes);
    put_total(sb, r, "live_peak_bytes", p->live_peak_bytes);
    put_total(sb, r, "bound_bytes", p->bound_bytes);
    put_total(sb, r, "gap_bytes", p->arena_bytes - p->bound_bytes);
    put_total(sb, r, "proven", p->proven);
    put_total(sb, r, "workspace_bytes", p->workspace_bytes);
    put_total(sb, r, "io_bytes", p->io_bytes);
    put_total(sb, r, "gradient_bytes", 0);
    put_total(sb, r, "optimizer_bytes", 0);
    put_total(sb, r, "saved_bytes", 0);
    put_total(sb, r, "total_bytes", r->total_bytes);
}

void report_csv(StrBuf *out, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    if (!report_collect(&r, ctx, g, p, opt))
        return;
    report_begin_lines(&r);
    put_line(out, header);
    for (size_t i = 0; i < r.rows.n; i++, report_next_line(&r))
        put_row(out, &r, &r.rows.p[i]);
    for (size_t i = 0; i < p->buffers.n; i++, report_next_line(&r))
        put_buffer(out, &r, &p->buffers.p[i]);
    put_totals(out, &r);
    report_end_lines(&r);
}
