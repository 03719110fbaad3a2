/* liveness.c - when is each value needed, and so which bytes of each buffer; workspaces; the live peak.
 *
 * requires steps, fates and places; computes first and last of every place, the pieces and hull of every buffer, a
 * workspace buffer for each step that needs one, which buffers may overlap in part (overlap.c), weights, workspace and
 * io bytes, live_peak_bytes, peak_step; makes offsets stale.
 *
 * A value made by a step is born there. A view is there as soon as the value it shows; a concatenation that lies in
 * its slices is there when the last slice is written, and each slice must last that long. What is read last at step
 * t is needed through t. Inputs are there from step 0, results stay to the last step. Linear, but for the unions of
 * pieces.c. */
#include "passes/steps.h"
#include "passes/passes.h"

typedef struct Lives {
    const Graph *g;
    Plan *p;
    Arena *scratch;
    uint32_t end;                                         /* number of the last step */
} Lives;

static void need_until(Plan *p, uint32_t v, uint32_t step) {
    if (p->place[v].last < step)
        p->place[v].last = step;
}

static void births(const Lives *l) {
    Plan *p = l->p;
    for (size_t v = 0; v < l->g->values.n; v++) {
        bool weight = p->place[v].buffer != NO_ID && p->buffers.p[p->place[v].buffer].kind == BUF_WEIGHT;
        p->place[v].first = 0;
        p->place[v].last = weight ? l->end : 0;
    }
    for (size_t i = 0; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        uint32_t first = op_runs(p, op) ? p->step_of[i] : 0;
        if (!op_runs(p, op) && p->fate[i] != FATE_VIEW)
            continue;
        for (uint32_t k = 0; p->fate[i] == FATE_VIEW && k < op->nin; k++) {
            const Value *u = op_tensor(l->g, p, op, k);
            if (u != NULL && p->place[u->id].first > first)
                first = p->place[u->id].first;
        }
        for (uint32_t k = 0; k < op->nout; k++) {
            p->place[op->out[k]->id].first = first;
            need_until(p, op->out[k]->id, first);
        }
    }
}

static void reads(const Lives *l) {
    Plan *p = l->p;
    for (size_t i = 0; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        bool joins = p->fate[i] == FATE_VIEW && op_has(op, JOINS);
        for (uint32_t k = 0; op->keep && k < op->nout; k++)
            need_until(p, op->out[k]->id, l->end);
        if (!op_runs(p, op) && !joins)
            continue;
        uint32_t step = joins ? p->place[op->out[0]->id].first : p->step_of[i];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = op_tensor(l->g, p, op, k);
            if (v != NULL)
                need_until(p, v->id, step);
        }
    }
    for (size_t i = 0; i < l->g->results.n; i++)
        need_until(p, plan_repl(p, l->g->results.p[i].value->id), l->end);
}

/* A value another one stands for lies where that one lies. */
static void mirror(const Lives *l) {
    Plan *p = l->p;
    for (uint32_t v = 0; v < l->g->values.n; v++) {
        uint32_t r = plan_repl(p, v);
        if (r == v)
            continue;
        p->place[v] = p->place[r];
        p->place[v].share = p->place[r].buffer == NO_ID ? SHARE_NONE : SHARE_VIEW;
        p->place[v].with = p->place[r].buffer == NO_ID ? NO_ID : r;
        p->place[v].reason = REASON_NONE;
        p->place[v].reason_value = NO_ID;
    }
}

static void buffer_pieces(const Lives *l, Buffer *b, Use *uses, uint32_t n) {
    Pieces pieces = {0};
    pieces_of(l->p->arena, l->scratch, uses, n, &pieces);
    b->pieces.p = pieces.p;
    b->pieces.n = pieces.n;
    b->pieces.cap = pieces.cap;
    b->first = b->pieces.p[0].first;
    b->last = b->pieces.p[0].last;
    for (size_t i = 1; i < b->pieces.n; i++) {
        b->first = b->pieces.p[i].first < b->first ? b->pieces.p[i].first : b->first;
        b->last = b->pieces.p[i].last > b->last ? b->pieces.p[i].last : b->last;
    }
}

/* Sorts the values by buffer (counting sort) and unites the lives of each. */
static void all_pieces(const Lives *l) {
    const Plan *p = l->p;
    size_t nb = p->buffers.n, nv = l->g->values.n;
    uint32_t *start = NEW_ARRAY(l->scratch, uint32_t, nb + 2);
    for (size_t v = 0; v < nv; v++)
        if (p->place[v].buffer != NO_ID && p->repl[v] == v)
            start[p->place[v].buffer + 2]++;
    for (size_t b = 0; b < nb; b++)
        start[b + 2] += start[b + 1];
    Use *uses = NEW_ARRAY(l->scratch, Use, start[nb + 1]);
    for (size_t v = 0; v < nv; v++) {
        const Place *pl = &p->place[v];
        if (pl->buffer == NO_ID || p->repl[v] != v)
            continue;
        uint64_t lo = pl->byte_offset;
        uses[start[pl->buffer + 1]++] = (Use){lo, lo + l->g->values.p[v]->nbytes, pl->first, pl->last};
    }
    for (size_t b = 0; b < nb; b++)
        buffer_pieces(l, &p->buffers.p[b], uses + start[b], start[b + 1] - start[b]);
}

static void workspaces(const Lives *l) {
    Plan *p = l->p;
    for (uint32_t s = 0; s < p->steps.n; s++) {
        uint64_t nbytes = step_scratch(l->g, p, s);
        if (nbytes == 0)
            continue;
        Buffer b = {.id = (uint32_t)p->buffers.n, .kind = BUF_WORKSPACE, .in_arena = true, .nbytes = nbytes,
                    .first = s, .last = s, .op = p->steps.p[s].anchor, .overlaps = NO_ID};
        vec_push(p->arena, &b.pieces, ((Piece){0, nbytes, s, s}));
        vec_push(p->arena, &p->buffers, b);
        p->workspace_bytes = nbytes > p->workspace_bytes ? nbytes : p->workspace_bytes;
    }
}

/* Sizes that meet the end of their buffer are rounded up, as the arena's next buffer cannot begin before. */
static void find_peak(const Lives *l) {
    Plan *p = l->p;
    uint64_t *delta = NEW_ARRAY(l->scratch, uint64_t, (size_t)l->end + 2);
    uint64_t now = 0;
    for (size_t b = 0; b < p->buffers.n; b++)             /* bytes that two buffers share count once */
        if (p->buffers.p[b].overlaps != NO_ID) {
            delta[p->buffers.p[b].first] -= p->buffers.p[b].overlap_bytes;
            delta[p->buffers.p[b].first + 1] += p->buffers.p[b].overlap_bytes;
        }
    for (size_t b = 0; b < p->buffers.n; b++) {
        const Buffer *buf = &p->buffers.p[b];
        for (size_t i = 0; buf->in_arena && i < buf->pieces.n; i++) {
            const Piece *x = &buf->pieces.p[i];
            uint64_t hi = x->hi;
            if (hi == buf->nbytes)
                align_up(hi, p->align, &hi);
            delta[x->first] += hi - x->lo;
            delta[x->last + 1] -= hi - x->lo;
        }
    }
    for (uint32_t s = 0; s <= l->end; s++) {
        now += delta[s];
        if (now > p->live_peak_bytes) {
            p->live_peak_bytes = now;
            p->peak_step = s;
        }
    }
}

static void outside_bytes(Plan *p) {
    p->weights_bytes = p->io_bytes = 0;
    for (size_t b = 0; b < p->buffers.n; b++) {
        const Buffer *buf = &p->buffers.p[b];
        if (buf->kind == BUF_WEIGHT)
            p->weights_bytes += buf->nbytes;
        else if (buf->kind == BUF_IO && !buf->in_arena)
            p->io_bytes += buf->nbytes;
    }
}

void pass_liveness(Ctx *ctx, const Graph *g, Plan *p) {
    Lives l = {.g = g, .p = p, .scratch = ctx->scratch, .end = p->steps.n ? (uint32_t)p->steps.n - 1 : 0};
    p->workspace_bytes = p->live_peak_bytes = 0;
    p->peak_step = 0;
    births(&l);
    reads(&l);
    mirror(&l);
    all_pieces(&l);
    workspaces(&l);
    find_overlaps(g, p);
    find_peak(&l);
    outside_bytes(p);
}
