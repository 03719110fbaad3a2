/* json.c - the report as one JSON document; docs/report.schema.json and the project's contract say what stands in it.
 * Sizes are whole bytes, lives are steps with both ends included; fields are only ever added. */
#include "backend/report/report.h"

#include <string.h>

static void put_u64(Json *j, const char *key, uint64_t n) {
    json_key(j, key);
    json_u64(j, n);
}

static void put_str(Json *j, const char *key, const char *s) {
    json_key(j, key);
    json_str(j, s);
}

static void put_step(Json *j, const char *key, uint32_t step) {
    json_key(j, key);
    if (step == NO_ID)
        json_null(j);
    else
        json_u64(j, step);
}

static void put_source(Json *j, Ctx *ctx, Span s) {
    if (span_known(s))
        put_str(j, "source", span_text(ctx, s));
}

static void put_type(Json *j, const Value *v) {
    put_str(j, "dtype", dtype_name(v->type.dtype));
    json_key(j, "shape");
    json_array(j);
    for (unsigned i = 0; i < v->type.shape.rank; i++)
        json_u64(j, v->type.shape.dim[i]);
    json_end_array(j);
    put_u64(j, "bytes", v->nbytes);
}

/* Where a value lies and how it came there. `own`: the row it stands in is the one whose step fills it. */
static void put_storage(Json *j, const Report *r, const Value *v, bool own) {
    const Buffer *b = own ? report_buffer(r, v) : NULL;
    const Place *l = report_place(r, v);
    const char *shares = report_shares(r, v), *why_not = report_why_not(r, v);
    json_key(j, "buffer");
    if (b == NULL) {
        json_null(j);
    } else {
        json_u64(j, b->id);
        put_u64(j, "byte_offset", l->byte_offset);
        put_u64(j, "first", l->first);
        put_u64(j, "last", l->last);
    }
    if (b != NULL && shares != NULL)
        put_str(j, "shares", shares);
    if (b != NULL && why_not != NULL)
        put_str(j, "why_not_shared", why_not);
}

static void put_overlap(Json *j, const Report *r, const Buffer *dying, const Value *v) {
    if (dying == NULL)
        return;
    json_key(j, "overlaps");
    json_object(j);
    put_u64(j, "buffer", dying->id);
    put_u64(j, "bytes", report_buffer(r, v)->overlap_bytes);
    json_end_object(j);
}

static void put_output(Json *j, const Report *r, const Value *v, bool own, const Op *made_by) {
    json_inline(j, true);
    json_object(j);
    put_str(j, "name", v->name);
    put_type(j, v);
    put_storage(j, r, v, own);
    if (made_by != NULL)
        put_str(j, "made_by", made_by->path);
    put_overlap(j, r, own ? report_overlapped(r, v) : NULL, v);
    json_end_object(j);
    json_inline(j, false);
}

static void put_outputs(Json *j, const Report *r, const Row *row) {
    size_t n;
    const Output *out = report_outputs(r, row, &n);
    json_key(j, "outputs");
    json_array(j);
    for (size_t i = 0; i < n; i++)
        put_output(j, r, out[i].value, out[i].placed, out[i].made_by);
    json_end_array(j);
}

static void put_inputs(Json *j, const Op *op) {
    json_key(j, "inputs");
    json_array(j);
    for (uint32_t i = 0; op != NULL && i < op->nin; i++)
        if (op->in[i] != NULL && op->in[i]->role != ROLE_CONST)
            json_str(j, op->in[i]->name);
    json_end_array(j);
}

static void put_layer(Json *j, const Report *r, const Row *row) {
    const Op *op = row->op;
    json_object(j);
    put_str(j, "name", op != NULL ? op->path : row->value->name);
    put_str(j, "op", op != NULL ? op_info(op->kind)->name : row->value->role == ROLE_PARAM ? "param" : "buffer");
    put_source(j, r->ctx, op != NULL ? op->span : row->value->span);
    json_inline(j, true);
    put_inputs(j, op);
    json_inline(j, false);
    put_outputs(j, r, row);
    put_u64(j, "params", row->params);
    put_u64(j, "buffer_elements", row->buffer_elems);
    put_u64(j, "macs", row->macs);
    put_step(j, "step", row->step);
    json_key(j, "live_bytes");
    if (row->step == NO_ID)
        json_null(j);
    else
        json_u64(j, row->live_bytes);
    if (op != NULL) {
        put_str(j, "phase", op->phase == PHASE_FORWARD ? "forward" : op->phase == PHASE_BACKWARD ? "backward" : "update");
        put_str(j, "fate", fate_name(r->p->fate[op->id]));
    }
    if (row->host != NULL)
        put_str(j, "fused_into", row->host->path);
    json_end_object(j);
}

static void put_pieces(Json *j, const Buffer *b) {
    json_key(j, "pieces");
    json_array(j);
    for (size_t i = 0; i < b->pieces.n; i++) {
        const Piece *q = &b->pieces.p[i];
        json_object(j);
        put_u64(j, "byte_offset", q->lo);
        put_u64(j, "bytes", q->hi - q->lo);
        put_u64(j, "first", q->first);
        put_u64(j, "last", q->last);
        json_end_object(j);
    }
    json_end_array(j);
}

static void put_buffer(Json *j, const Report *r, const Buffer *b) {
    json_inline(j, true);
    json_object(j);
    put_u64(j, "id", b->id);
    put_str(j, "kind", buffer_kind_name(b->kind));
    put_u64(j, "bytes", b->nbytes);
    json_key(j, "offset");
    if (b->in_arena)
        json_u64(j, b->offset);
    else
        json_null(j);
    put_u64(j, "first", b->first);
    put_u64(j, "last", b->last);
    if (b->op != NO_ID)
        put_str(j, "op", r->g->ops.p[b->op]->path);
    json_key(j, "tensors");
    json_array(j);
    for (uint32_t k = r->in_buffer_from[b->id]; k < r->in_buffer_from[b->id + 1]; k++)
        json_str(j, r->g->values.p[r->in_buffer[k]]->name);
    json_end_array(j);
    if (b->pieces.n > 1)
        put_pieces(j, b);
    json_end_object(j);
    json_inline(j, false);
}

static void put_totals(Json *j, const Report *r) {
    const Plan *p = r->p;
    json_key(j, "totals");
    json_object(j);
    put_u64(j, "params", r->params);
    put_u64(j, "buffer_elements", r->buffer_elems);
    put_u64(j, "macs", r->macs);
    put_u64(j, "weights_bytes", p->weights_bytes);
    put_u64(j, "naive_bytes", p->naive_bytes);
    put_u64(j, "arena_bytes", p->arena_bytes);
    put_u64(j, "live_peak_bytes", p->live_peak_bytes);
    put_u64(j, "bound_bytes", p->bound_bytes);
    put_u64(j, "gap_bytes", p->arena_bytes - p->bound_bytes);
    json_key(j, "proven");
    json_bool(j, p->proven);
    put_str(j, "bound_kind", p->bound_kind != NULL ? p->bound_kind : "none");
    put_u64(j, "workspace_bytes", p->workspace_bytes);
    put_u64(j, "io_bytes", p->io_bytes);
    put_u64(j, "gradient_bytes", 0);
    put_u64(j, "optimizer_bytes", 0);
    put_u64(j, "saved_bytes", 0);
    put_u64(j, "total_bytes", r->total_bytes);
    json_end_object(j);
}

static void put_ends(Json *j, const Report *r) {
    const Graph *g = r->g;
    json_key(j, "inputs");
    json_array(j);
    for (size_t i = 0; i < g->inputs.n; i++)
        put_output(j, r, g->inputs.p[i], true, NULL);
    json_end_array(j);
    json_key(j, "outputs");
    json_array(j);
    for (size_t i = 0; i < g->results.n; i++) {
        const Result *res = &g->results.p[i];
        json_inline(j, true);
        json_object(j);
        put_str(j, "name", res->name);
        put_str(j, "tensor", res->value->name);
        put_type(j, res->value);
        put_storage(j, r, res->value, true);
        json_end_object(j);
        json_inline(j, false);
    }
    json_end_array(j);
}

static void put_head(Json *j, const Report *r) {
    const Plan *p = r->p;
    put_u64(j, "schema", 1);
    put_str(j, "netc", NETC_VERSION);
    put_str(j, "network", r->g->name);
    put_str(j, "source", r->g->source);
    if (r->g->doc != NULL)
        put_str(j, "doc", r->g->doc);
    put_str(j, "mode", "inference");
    put_str(j, "target", p->target == TARGET_CUDA ? "cuda" : "c");
    put_u64(j, "align", p->align);
    put_str(j, "plan", level_name(p->level));
    put_str(j, "made_by", level_name(p->made_by));
    put_str(j, "rule", p->rule != NULL ? p->rule : "none");
    put_str(j, "order", p->order_kind);
    put_u64(j, "order_states", p->order_states);
    put_str(j, "io", p->io == IO_CALLER ? "caller" : "arena");
    json_key(j, "dims");
    json_inline(j, true);
    json_object(j);
    for (size_t i = 0; i < r->g->dims.n; i++)
        put_u64(j, r->g->dims.p[i].name, r->g->dims.p[i].value);
    json_end_object(j);
    json_inline(j, false);
}

static void put_peak(Json *j, const Report *r) {
    const Op *op = report_peak_op(r);
    json_key(j, "peak");
    json_inline(j, true);
    json_object(j);
    put_u64(j, "step", r->p->peak_step);
    if (op != NULL)
        put_str(j, "op", op->path);
    json_key(j, "tensors");
    json_array(j);
    for (size_t i = 0; i < r->alive.n; i++)
        json_str(j, r->alive.p[i].value != NULL ? r->alive.p[i].value->name : report_alive_name(r, &r->alive.p[i]));
    json_end_array(j);
    json_end_object(j);
    json_inline(j, false);
}

static void put_level(Json *j, const LevelFigures *f) {
    json_inline(j, true);
    json_object(j);
    put_str(j, "level", level_name(f->level));
    put_u64(j, "arena_bytes", f->arena_bytes);
    put_u64(j, "live_peak_bytes", f->live_peak_bytes);
    put_u64(j, "bound_bytes", f->bound_bytes);
    json_end_object(j);
    json_inline(j, false);
}

static void put_rewrite(Json *j, const Report *r, const Rewrite *w) {
    json_inline(j, true);
    json_object(j);
    put_str(j, "kind", rewrite_name(w->kind));
    if (w->op != NO_ID)
        put_str(j, "op", r->g->ops.p[w->op]->path);
    put_u64(j, "saved_bytes", w->saved_bytes);
    json_end_object(j);
    json_inline(j, false);
}

static void put_savings(Json *j, const Report *r) {
    json_key(j, "levels");
    json_array(j);
    for (size_t i = 0; i < r->p->levels.n; i++)
        put_level(j, &r->p->levels.p[i]);
    json_end_array(j);
    json_key(j, "rewrites");
    json_array(j);
    for (size_t i = 0; i < r->p->rewrites.n; i++)
        put_rewrite(j, r, &r->p->rewrites.p[i]);
    json_end_array(j);
}

void report_json(StrBuf *out, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    Json j;
    if (!report_collect(&r, ctx, g, p, opt))
        return;
    json_init(&j, out);
    json_object(&j);
    put_head(&j, &r);
    put_ends(&j, &r);
    put_totals(&j, &r);
    put_peak(&j, &r);
    json_key(&j, "layers");
    json_array(&j);
    report_begin_lines(&r);
    for (size_t i = 0; i < r.rows.n; i++, report_next_line(&r))
        if (r.rows.p[i].kind != ROW_INPUT)
            put_layer(&j, &r, &r.rows.p[i]);
    report_end_lines(&r);
    json_end_array(&j);
    json_key(&j, "buffers");
    json_array(&j);
    for (size_t i = 0; i < p->buffers.n; i++)
        put_buffer(&j, &r, &p->buffers.p[i]);
    json_end_array(&j);
    if (p->levels.n > 0)
        put_savings(&j, &r);
    json_end_object(&j);
    sb_putc(out, '\n');
}
