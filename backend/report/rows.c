/* rows.c - collects the figures of a report from a graph and its plan. The only arithmetic of reports is here: sums of
 * rows (checked: a network may be larger than 64 bits count), bytes live in each step, who is alive at the peak.
 *
 * Live bytes follow the plan's own rule: a piece that reaches the end of its buffer is as long as the aligned buffer is.
 * Linear in ops, values and pieces, but for sorting the few buffers at the peak. */
#include "backend/report/report.h"

#include <stdlib.h>
#include <string.h>

static bool too_large(Report *r, const char *what) {
    diag(r->ctx, DIAG_TOO_LARGE, r->g->span, "the %s of %s add up to more than 64 bits hold", what, r->g->name);
    return false;
}

const Place *report_place(const Report *r, const Value *v) { return &r->p->place[plan_repl(r->p, v->id)]; }

const Buffer *report_buffer(const Report *r, const Value *v) {
    const Place *l = report_place(r, v);
    return l->buffer != NO_ID ? &r->p->buffers.p[l->buffer] : NULL;
}

const Buffer *report_overlapped(const Report *r, const Value *v) {
    const Place *l = report_place(r, v);
    const Buffer *b = report_buffer(r, v);
    bool own = b != NULL && (l->share == SHARE_NONE || l->share == SHARE_SLICE) && plan_repl(r->p, v->id) == v->id;
    return own && b->overlaps != NO_ID && l->first == b->first ? &r->p->buffers.p[b->overlaps] : NULL;
}

const Op *report_peak_op(const Report *r) {
    return r->p->peak_step < r->p->steps.n ? r->g->ops.p[r->p->steps.p[r->p->peak_step].anchor] : NULL;
}

/* ---- rows */

/* A net whose body is one call of a block has that call in every path: it says nothing. */
static void find_prefix(Report *r) {
    const Graph *g = r->g;
    const char *first = g->ops.n > 0 ? g->ops.p[0]->path : "";
    size_t n = strlen(first);
    for (size_t i = 1; i < g->ops.n && n > 0; i++) {
        size_t k = 0;
        while (k < n && g->ops.p[i]->path[k] == first[k])
            k++;
        n = k;
    }
    while (n > 0 && first[n - 1] != '/')
        n--;
    r->prefix = n;
}

static void add_input(Report *r, const Value *v) {
    Row row = {.kind = ROW_INPUT, .value = v, .written = v, .step = NO_ID};
    vec_push(r->arena, &r->rows, row);
}

static void add_stored(Report *r, const Value *v) {
    Row row = {.kind = ROW_STORED, .value = v, .step = NO_ID};
    *(v->role == ROLE_PARAM ? &row.params : &row.buffer_elems) = v->nelem;
    vec_push(r->arena, &r->rows, row);
}

static bool lies_somewhere(const Report *r, const Value *v) {
    return r->p->place[v->id].buffer != NO_ID && r->p->repl[v->id] == v->id;
}

/* What the step of an op leaves in memory belongs to the row of its anchor, whichever of its ops computes it. */
static bool add_written(Report *r, Row *row, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++) {
        const Value *v = op->out[i];
        if (!lies_somewhere(r, v))
            continue;
        if (row->written == NULL)
            row->written = v;
        ShareKind share = r->p->place[v->id].share;
        if (share != SHARE_INPLACE && share != SHARE_VIEW && !add_u64(row->made_bytes, v->nbytes, &row->made_bytes))
            return false;
    }
    return true;
}

static bool step_writes(Report *r, Row *row, const Step *s) {
    for (size_t i = 0; i < s->ops.n; i++)
        if (!add_written(r, row, r->g->ops.p[s->ops.p[i]]))
            return too_large(r, "results");
    return true;
}

static bool add_op(Report *r, const Op *op) {
    const Plan *p = r->p;
    Fate fate = p->fate[op->id];
    Row row = {.kind = ROW_OP, .op = op, .value = op->nout > 0 ? op->out[0] : NULL, .params = op->params,
               .buffer_elems = op->buffer_elems, .macs = op->macs, .step = p->step_of[op->id]};
    if ((fate == FATE_FUSED || fate == FATE_FOLDED) && p->into[op->id] != NO_ID) {
        row.host = r->g->ops.p[p->into[op->id]];
        row.step = p->step_of[row.host->id];
    }
    if (row.step != NO_ID && row.step < p->steps.n)
        row.live_bytes = r->live[row.step];
    if (fate == FATE_RUN && row.step < p->steps.n && !step_writes(r, &row, &p->steps.p[row.step]))
        return false;
    if (fate == FATE_VIEW && row.value != NULL && lies_somewhere(r, row.value))
        row.written = row.value;
    vec_push(r->arena, &r->rows, row);
    return true;
}

/* Values are numbered in program order, so that walking them puts declared tensors where they were declared. A stored
 * tensor that no op counts (it is declared, or nothing but results reads it) has a row of its own. */
static bool collect_rows(Report *r) {
    const Graph *g = r->g;
    for (size_t i = 0; i < g->values.n; i++) {
        const Value *v = g->values.p[i];
        if (v->role == ROLE_INPUT)
            add_input(r, v);
        else if ((v->role == ROLE_PARAM || v->role == ROLE_BUFFER) && (v->declared || v->nuses == v->nresults))
            add_stored(r, v);
        else if (v->def != NULL && v->out_index == 0 && !add_op(r, v->def))
            return false;
    }
    return true;
}

static bool sum_rows(Report *r) {
    for (size_t i = 0; i < r->rows.n; i++) {
        const Row *row = &r->rows.p[i];
        if (!add_u64(r->params, row->params, &r->params))
            return too_large(r, "parameters");
        if (!add_u64(r->buffer_elems, row->buffer_elems, &r->buffer_elems))
            return too_large(r, "buffer elements");
        if (row->macs == UINT64_MAX || !add_u64(r->macs, row->macs, &r->macs))
            return too_large(r, "multiply-adds");
        if (!add_u64(r->made_bytes, row->made_bytes, &r->made_bytes))
            return too_large(r, "results");
    }
    const Plan *p = r->p;
    if (!add_u64(p->weights_bytes, p->arena_bytes, &r->total_bytes) ||
        (p->io == IO_CALLER && !add_u64(r->total_bytes, p->io_bytes, &r->total_bytes)))
        return too_large(r, "bytes");
    return true;
}

/* Ops fused into a step have rows without buffers: what they leave in memory stands in the row of the step's anchor. */
Output *report_outputs(const Report *r, const Row *row, size_t *n) {
    const Plan *p = r->p;
    const Op *op = row->op;
    VEC(Output) out = {0};
    for (uint32_t i = 0; op != NULL && i < op->nout; i++)
        vec_push(r->arena, &out, ((Output){op->out[i], NULL, row->host == NULL}));
    if (op != NULL && p->fate[op->id] == FATE_RUN && row->step < p->steps.n) {
        const Step *s = &p->steps.p[row->step];
        for (size_t k = 0; k < s->ops.n; k++) {
            const Op *other = r->g->ops.p[s->ops.p[k]];
            for (uint32_t i = 0; other != op && i < other->nout; i++)
                if (lies_somewhere(r, other->out[i]))
                    vec_push(r->arena, &out, ((Output){other->out[i], other, true}));
        }
    }
    *n = out.n;
    return out.p;
}

/* ---- live bytes */

static uint64_t piece_bytes(const Plan *p, const Buffer *b, const Piece *q) {
    uint64_t hi = q->hi;
    if (hi == b->nbytes && !align_up(hi, p->align, &hi))
        ice("buffer %u has no aligned size", (unsigned)b->id);
    return hi - q->lo;
}

/* The bytes that a buffer shares with another one in its first step, counted there. */
static uint64_t counted_elsewhere(const Buffer *b) { return b->overlaps != NO_ID ? b->overlap_bytes : 0; }

/* Sums wrap and unwrap modulo 2^64: every one of them is at most the live peak, which the plan has checked. */
static void collect_live(Report *r) {
    const Plan *p = r->p;
    r->live = NEW_ARRAY(r->arena, uint64_t, p->steps.n + 1);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if (counted_elsewhere(b) > 0) {
            r->live[b->first] -= counted_elsewhere(b);
            r->live[b->first + 1] += counted_elsewhere(b);
        }
        for (size_t k = 0; b->in_arena && k < b->pieces.n; k++) {
            const Piece *q = &b->pieces.p[k];
            if (q->last >= p->steps.n)
                continue;
            r->live[q->first] += piece_bytes(p, b, q);
            r->live[q->last + 1] -= piece_bytes(p, b, q);
        }
    }
    for (size_t s = 1; s < p->steps.n; s++)
        r->live[s] += r->live[s - 1];
}

static void collect_tenants(Report *r) {
    const Plan *p = r->p;
    const Graph *g = r->g;
    size_t nbuffers = p->buffers.n, total = 0;
    r->in_buffer_from = NEW_ARRAY(r->arena, uint32_t, nbuffers + 2);
    uint32_t *from = r->in_buffer_from + 1;               /* counted one place further, then shifted by the filling */
    for (size_t i = 0; i < g->values.n; i++) {
        const Buffer *b = report_buffer(r, g->values.p[i]);
        if (b != NULL && ++total)
            from[b->id + 1]++;
    }
    for (size_t b = 1; b <= nbuffers; b++)
        from[b] += from[b - 1];
    r->in_buffer = NEW_ARRAY(r->arena, uint32_t, total + 1);
    for (size_t i = 0; i < g->values.n; i++) {
        const Buffer *b = report_buffer(r, g->values.p[i]);
        if (b != NULL)
            r->in_buffer[from[b->id]++] = (uint32_t)i;
    }
}

/* ---- the peak */

static Alive alive_in(const Report *r, const Buffer *b) {
    Alive a = {.buffer = b};
    uint32_t at = r->p->peak_step;
    for (size_t k = 0; k < b->pieces.n; k++)
        if (b->pieces.p[k].first <= at && at <= b->pieces.p[k].last) {
            a.bytes += piece_bytes(r->p, b, &b->pieces.p[k]);
            a.last = b->pieces.p[k].last > a.last ? b->pieces.p[k].last : a.last;
        }
    for (uint32_t k = r->in_buffer_from[b->id]; k < r->in_buffer_from[b->id + 1]; k++) {
        const Value *v = r->g->values.p[r->in_buffer[k]];
        const Place *l = report_place(r, v);
        if (at < l->first || l->last < at || !lies_somewhere(r, v))
            continue;
        a.nvalues++;
        if (a.value == NULL || v->nbytes > a.value->nbytes)
            a.value = v;
    }
    return a;
}

static int alive_order(const void *x, const void *y) {
    const Alive *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->buffer->id < b->buffer->id ? -1 : a->buffer->id > b->buffer->id;
}

static void collect_alive(Report *r) {
    const Plan *p = r->p;
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if (!b->in_arena || p->peak_step < b->first || b->last < p->peak_step)
            continue;
        Alive a = alive_in(r, b);
        if (a.bytes == 0)
            continue;
        a.shared = p->peak_step == b->first ? counted_elsewhere(b) : 0;
        a.bytes -= a.shared;
        vec_push(r->arena, &r->alive, a);
    }
    if (r->alive.n > 1)
        qsort(r->alive.p, r->alive.n, sizeof *r->alive.p, alive_order);
}

bool report_collect(Report *r, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    *r = (Report){.ctx = ctx, .arena = ctx->scratch, .g = g, .p = p, .opt = opt};
    r->budget = opt->budget > 0 ? opt->budget : g->mem_budget;
    r->arena_budget = opt->arena_budget;
    find_prefix(r);
    collect_live(r);
    collect_tenants(r);
    collect_alive(r);
    return collect_rows(r) && sum_rows(r);
}

/* A million rows have many texts: each line's are forgotten when it is printed. */
void report_begin_lines(Report *r) { r->arena = arena_new(); }

void report_next_line(Report *r) { arena_reset(r->arena); }

void report_end_lines(Report *r) {
    arena_free(r->arena);
    r->arena = r->ctx->scratch;
}
