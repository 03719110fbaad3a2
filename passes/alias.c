/* alias.c - which values share a buffer: views, in place, writes into slices of a concatenation.
 *
 * requires steps in their order; computes Place.buffer, byte_offset, share and reason of every value, the buffers
 * but for their lives, FATE_VIEW (whose steps vanish); makes lives, bounds and offsets stale.
 *
 * One sweep over the steps in their order. Values live in classes: a union-find of would-be buffers with byte
 * offsets. A new result opens a class, or joins its operand's as a view, or lies over a dying operand. A
 * concatenation opens a class and takes in whole classes of operands as slices. Each class lists its values that
 * are still needed, so that "who else needs these bytes" is asked of few; a value is dropped from the list when it
 * is met dead. Decisions are greedy in program order. A slice keeps its own life (pieces.c), so taking one in never
 * raises the live peak; it can only make the placement stiffer, which the driver tries both ways. Cost: near
 * linear; a class with more than MAX_LIVE living values takes no further result in place.
 *
 * A result of the net lies in the caller's memory. When it is a mere view of a value, that value is written there
 * directly. */
#include "passes/steps.h"
#include "passes/passes.h"

enum { MAX_LIVE = 4096 };

typedef struct Class {
    uint32_t parent;                                      /* itself when it is a buffer of its own */
    uint64_t delta;                                       /* its offset in parent, bytes */
    uint64_t nbytes;
    BufferKind kind;
    bool is_input, is_result;
    uint32_t owner;                                       /* the value it was opened for */
    uint32_t head, tail;                                  /* values that may still be needed, through Alias.next */
    uint32_t joined_by, joined_twice_by;                  /* 1 + id of the last op that joined it (more than once) */
    uint32_t buffer;                                      /* in the end */
} Class;

typedef struct Alias {
    const Graph *g;
    Plan *p;
    VEC(Class) classes;
    Arena *scratch;
    uint32_t *cls;                                        /* by value id, NO_ID: no storage (yet) */
    uint64_t *off;                                        /* by value id, in that class */
    uint32_t *next;
    uint32_t *last;                                       /* by value id: the last step that needs it, before views vanish */
    uint32_t *io;                                         /* by value id: the result in whose memory it lies, or NO_ID */
    bool *kept;                                           /* by value id: @keep */
    bool *stored;
} Alias;

static uint32_t class_root(const Alias *a, uint32_t c, uint64_t *off) {
    while (a->classes.p[c].parent != c) {
        *off += a->classes.p[c].delta;
        c = a->classes.p[c].parent;
    }
    return c;
}

/* Where v lies: its buffer-to-be and the offset there. */
static uint32_t locate(const Alias *a, uint32_t v, uint64_t *off) {
    *off = a->off[v];
    return class_root(a, a->cls[v], off);
}

static void class_list(Alias *a, uint32_t c, uint32_t v) {
    Class *k = &a->classes.p[c];
    a->next[v] = NO_ID;
    if (k->head == NO_ID)
        k->head = v;
    else
        a->next[k->tail] = v;
    k->tail = v;
}

static uint32_t class_open(Alias *a, const Value *v, BufferKind kind) {
    uint32_t c = (uint32_t)a->classes.n;
    Class k = {.parent = c, .nbytes = v->nbytes, .kind = kind, .owner = v->id, .head = NO_ID, .tail = NO_ID, .buffer = NO_ID};
    vec_push(a->scratch, &a->classes, k);
    a->cls[v->id] = c;
    a->off[v->id] = 0;
    class_list(a, c, v->id);
    return c;
}

static void refuse(Alias *a, uint32_t v, Reason why, uint32_t of) {
    Place *pl = &a->p->place[v];
    pl->share = SHARE_NONE;
    pl->reason = why;
    pl->reason_value = of;
}

static void put_in(Alias *a, const Value *v, uint32_t c, uint64_t off, ShareKind share, uint32_t with) {
    Place *pl = &a->p->place[v->id];
    a->cls[v->id] = c;
    a->off[v->id] = off;
    class_list(a, c, v->id);
    pl->share = share;
    pl->with = with;
    pl->reason = REASON_NONE;
}

/* A buffer of its own for a step's result; a result of the net, or what stands in for it, gets the caller's memory. */
static void open_result(Alias *a, const Value *v) {
    bool io = a->io[v->id] != NO_ID;
    uint32_t c = class_open(a, v, io ? BUF_IO : BUF_ACTIVATION);
    a->classes.p[c].is_result = io;
}

static uint64_t element_bytes(const Value *v) {
    unsigned bits = dtype_bits(v->type.dtype);
    return bits < 8 ? 1 : bits / 8;
}

/* views */

static bool try_view(Alias *a, const Op *op, uint32_t k) {
    const Value *v = op->out[k], *u = op_tensor(a->g, a->p, op, 0);
    uint64_t part, off;
    if (u == NULL || a->cls[u->id] == NO_ID)
        return false;
    if (!op_is_view(op, k, &part)) {
        refuse(a, v->id, REASON_NOT_CONTIGUOUS, u->id);
        return false;
    }
    uint32_t c = locate(a, u->id, &off);
    if (a->io[v->id] != NO_ID && a->io[v->id] != a->io[u->id]) {
        refuse(a, v->id, REASON_RESULT_PLACE, NO_ID);
        return false;
    }
    if ((off + part) % element_bytes(v) != 0) {
        refuse(a, v->id, REASON_ALIGNMENT, u->id);
        return false;
    }
    put_in(a, v, c, off + part, SHARE_VIEW, u->id);
    return true;
}

/* The step of an op whose results are bytes of its operand; those that cannot be views are copied by it. */
static void views(Alias *a, const Op *op) {
    bool all = true;
    for (uint32_t k = 0; k < op->nout; k++) {
        if (!plan_denies(a->p, REWRITE_VIEW, op->id) && try_view(a, op, k))
            continue;
        all = false;
        open_result(a, op->out[k]);
    }
    if (all)
        a->p->fate[op->id] = FATE_VIEW;
}

/* slices of a concatenation */

/* A class that an op joins twice, whole or in parts, would have to be copied out of the very buffer it was taken into. */
static void count_joined(Alias *a, const Op *op) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *u = op_tensor(a->g, a->p, op, k);
        uint64_t off;
        if (u == NULL || a->cls[u->id] == NO_ID)
            continue;
        Class *c = &a->classes.p[locate(a, u->id, &off)];
        if (c->joined_by == op->id + 1)
            c->joined_twice_by = op->id + 1;
        c->joined_by = op->id + 1;
    }
}

static Reason slice_refusal(const Alias *a, const Op *op, uint32_t in, const Value *u, uint64_t *at, uint32_t *cls) {
    uint64_t off;
    if (u == NULL)
        return REASON_NO_OPERAND;
    if (!op_join(op, in, at))
        return REASON_NOT_CONTIGUOUS;
    if (a->cls[u->id] == NO_ID)
        return REASON_STORED;
    *cls = locate(a, u->id, &off);
    const Class *c = &a->classes.p[*cls];
    if (c->is_input) return REASON_INPUT;
    if (c->joined_twice_by == op->id + 1) return REASON_TWICE;
    if (c->is_result) return REASON_RESULT;
    if (c->kind != BUF_ACTIVATION) return REASON_STORED;
    if (a->p->without & WITHOUT_SLICES || (a->p->no_slice && a->p->no_slice[c->owner])) return REASON_COSTS_MORE;
    if (plan_denies(a->p, REWRITE_SLICE, a->g->values.p[c->owner]->def->id)) return REASON_COSTS_MORE;
    if (*at % element_bytes(u) != 0) return REASON_ALIGNMENT;
    if (off != 0 || u->nbytes != c->nbytes) return REASON_PLACED;
    return REASON_NONE;
}

static void take_in(Alias *a, uint32_t from, uint32_t into, uint64_t at, uint32_t y) {
    Class *f = &a->classes.p[from], *c = &a->classes.p[into];
    f->parent = into;
    f->delta = at;
    if (f->head != NO_ID) {
        if (c->head == NO_ID)
            c->head = f->head;
        else
            a->next[c->tail] = f->head;
        c->tail = f->tail;
    }
    Place *pl = &a->p->place[f->owner];
    pl->share = SHARE_SLICE;
    pl->with = y;
    pl->reason = REASON_NONE;
    pl->reason_value = NO_ID;
}

/* A value that shares already says how it does; its refusal as a slice has no place to stand. */
static void note_refusal(Alias *a, const Value *u, Reason why, const Value *y) {
    const Place *pl = &a->p->place[u->id];
    if (u->def == NULL || pl->share != SHARE_NONE)
        return;
    bool speaks_of_u = why == REASON_INPUT || why == REASON_RESULT || why == REASON_STORED;
    refuse(a, u->id, why, speaks_of_u ? u->id : y->id);
}

static void join(Alias *a, const Op *op) {
    const Value *y = op->out[0];
    uint32_t taken = 0;
    count_joined(a, op);
    open_result(a, y);
    uint32_t c = a->cls[y->id];
    refuse(a, y->id, a->io[y->id] != NO_ID ? REASON_RESULT_PLACE : REASON_NO_OPERAND, NO_ID);
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *u = op_tensor(a->g, a->p, op, k);
        uint64_t at = 0;
        uint32_t from = NO_ID;
        Reason why = slice_refusal(a, op, k, u, &at, &from);
        if (why == REASON_NONE) {
            take_in(a, from, c, at, y->id);
            taken++;
        } else if (u != NULL) {
            note_refusal(a, u, why, y);
        }
    }
    if (taken == op->nin)
        a->p->fate[op->id] = FATE_VIEW;
}

/* in place */

typedef struct Refusal { Reason why; uint32_t of; int rank; } Refusal;   /* rank: how much it tells the reader of a report */

/* Who else needs bytes of [lo, hi) in class c at step s or later? Drops the dead from the class's list on the way. */
static Refusal others_need(Alias *a, uint32_t c, uint64_t lo, uint64_t hi, const Value *u, uint32_t s, const Value *f) {
    Refusal none = {REASON_NONE, NO_ID, 0};
    uint32_t prev = NO_ID, n = 0;
    Class *k = &a->classes.p[c];
    for (uint32_t v = k->head, after; v != NO_ID; v = after) {
        uint64_t off;
        Reason why;
        after = a->next[v];
        if (a->last[v] < s) {
            if (prev == NO_ID) k->head = after;
            else a->next[prev] = after;
            if (k->tail == v) k->tail = prev;
            continue;
        }
        prev = v;
        if (++n > MAX_LIVE)
            return (Refusal){REASON_VIEW_ALIVE, u->id, 3};
        const Value *z = a->g->values.p[v];
        locate(a, v, &off);
        if (off >= hi || off + z->nbytes <= lo)
            continue;
        if (a->kept[v])
            return (Refusal){REASON_KEEP, v, 3};
        if (a->last[v] > s)
            return (Refusal){v == u->id ? REASON_STILL_NEEDED : REASON_VIEW_ALIVE, u->id, 3};
        if (off != lo || off + z->nbytes != hi || !step_reads_at_index(a->g, a->p, s, z, f, &why))
            return (Refusal){REASON_KERNEL, NO_ID, 2};
    }
    return none;
}

static Refusal inplace_refusal(Alias *a, uint32_t s, const Value *u, const Value *f) {
    uint64_t off;
    Reason why = REASON_NONE;
    if (is_stored(u) || a->cls[u->id] == NO_ID)
        return (Refusal){REASON_STORED, u->id, 1};
    uint32_t c = locate(a, u->id, &off);
    if (a->classes.p[c].kind == BUF_WEIGHT)
        return (Refusal){REASON_STORED, u->id, 1};
    if (!step_reads_at_index(a->g, a->p, s, u, f, &why))
        return (Refusal){why, u->id, 2};
    if (a->classes.p[c].is_input)
        return (Refusal){REASON_INPUT, u->id, 3};
    if (a->classes.p[c].is_result)
        return (Refusal){REASON_RESULT, u->id, 3};
    if (a->kept[u->id])
        return (Refusal){REASON_KEEP, u->id, 3};
    if (a->last[u->id] > s)
        return (Refusal){REASON_STILL_NEEDED, u->id, 3};
    return others_need(a, c, off, off + u->nbytes, u, s, f);
}

static bool step_forbids(const Alias *a, const Step *step) {
    for (size_t i = 0; i < step->ops.n; i++)
        if (a->g->ops.p[step->ops.p[i]]->inplace == INPLACE_FORBID)
            return true;
    return false;
}

/* Tries every tensor the step reads, in order; keeps the refusal that tells most. */
static bool try_operands(Alias *a, uint32_t s, const Value *f, Refusal *best) {
    const Step *step = &a->p->steps.p[s];
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = a->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *u = op_tensor(a->g, a->p, op, k);
            uint64_t off;
            if (u == NULL || made_in_step(a->p, u, s))
                continue;
            Refusal r = inplace_refusal(a, s, u, f);
            if (r.why == REASON_NONE) {
                uint32_t c = locate(a, u->id, &off);
                put_in(a, f, c, off, SHARE_INPLACE, u->id);
                return true;
            }
            if (r.rank > best->rank)
                *best = r;
        }
    }
    return false;
}

static bool denied(const Plan *p, const Op *op) {
    return plan_denies(p, REWRITE_INPLACE, op->id) || plan_denies(p, REWRITE_ACCUMULATE, op->id);
}

static void compute(Alias *a, uint32_t s) {
    const Step *step = &a->p->steps.p[s];
    const Op *last = a->g->ops.p[step->ops.p[step->ops.n - 1]];
    bool single = last->nout == 1;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = a->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nout; k++) {
            const Value *f = op->out[k];
            Refusal r = {REASON_NO_OPERAND, NO_ID, 0};
            if (!a->stored[f->id])
                continue;
            if (a->g->mem_noreuse) r.why = REASON_NOREUSE;
            else if (!plan_inplace(a->g, a->p)) r.why = REASON_LEVEL;
            else if (a->io[f->id] != NO_ID) r.why = REASON_RESULT_PLACE;
            else if (step_forbids(a, step)) r.why = REASON_FORBIDDEN;
            else if (single && op == last && !denied(a->p, op) && try_operands(a, s, f, &r)) continue;
            open_result(a, f);
            refuse(a, f->id, r.why, r.of);
        }
    }
}

/* what is known before the sweep */

/* Until which step each value is needed, counting a view or concatenation as a reader at its own step. */
static void find_last_reads(Alias *a) {
    const Plan *p = a->p;
    uint32_t end = p->steps.n ? (uint32_t)p->steps.n - 1 : 0;
    bool *result = values_results(a->scratch, a->g, p);
    for (size_t s = 0; s < p->steps.n; s++) {
        const Step *step = &p->steps.p[s];
        for (size_t i = 0; i < step->ops.n; i++) {
            const Op *op = a->g->ops.p[step->ops.p[i]];
            for (uint32_t k = 0; k < op->nout; k++) {
                a->last[op->out[k]->id] = (uint32_t)s;
                a->kept[op->out[k]->id] = op->keep;
            }
            for (uint32_t k = 0; k < op->nin; k++) {
                const Value *v = op_tensor(a->g, p, op, k);
                if (v != NULL)
                    a->last[v->id] = (uint32_t)s;
            }
        }
    }
    for (size_t v = 0; v < a->g->values.n; v++)
        if (result[v] || a->kept[v])
            a->last[v] = end;
}

/* The value under a view that covers it whole and that this plan may place for the view, else NULL. */
static const Value *viewed_whole(const Alias *a, const Value *v) {
    uint64_t part;
    if (v->def == NULL || a->p->fate[v->def->id] != FATE_RUN || !op_is_view(v->def, v->out_index, &part) || part != 0)
        return NULL;
    const Value *u = op_tensor(a->g, a->p, v->def, 0);
    if (u == NULL || u->def == NULL || u->nbytes != v->nbytes || !op_runs(a->p, u->def) || a->io[u->id] != NO_ID)
        return NULL;
    return u;
}

static void find_io(Alias *a) {
    for (size_t i = 0; i < a->g->results.n; i++) {
        const Value *v = a->g->values.p[plan_repl(a->p, a->g->results.p[i].value->id)];
        a->io[v->id] = v->id;
    }
    if (!plan_views(a->g, a->p))
        return;
    for (size_t i = 0; i < a->g->results.n; i++) {
        const Value *v = a->g->values.p[plan_repl(a->p, a->g->results.p[i].value->id)];
        for (const Value *u; (u = viewed_whole(a, v)) != NULL; v = u)
            a->io[u->id] = a->io[v->id];
    }
}

static void open_given(Alias *a) {
    for (size_t i = 0; i < a->g->inputs.n; i++) {
        uint32_t c = class_open(a, a->g->inputs.p[i], BUF_IO);
        a->classes.p[c].is_input = true;
    }
    for (size_t i = 0; i < a->g->stored.n; i++)
        class_open(a, a->g->stored.p[i], BUF_WEIGHT);
    for (size_t i = 0; i < a->g->ops.n; i++)
        for (uint32_t k = 0; a->p->fate[i] == FATE_CONSTANT && k < a->g->ops.p[i]->nout; k++)
            class_open(a, a->g->ops.p[i]->out[k], BUF_WEIGHT);
}

/* what is written down after it */

/* Steps of views vanish; the others move up. */
static void drop_view_steps(Alias *a) {
    Plan *p = a->p;
    size_t n = 0;
    for (size_t s = 0; s < p->steps.n; s++) {
        bool gone = p->fate[p->steps.p[s].anchor] == FATE_VIEW;
        for (size_t i = 0; i < p->steps.p[s].ops.n; i++)
            p->step_of[p->steps.p[s].ops.p[i]] = gone ? NO_ID : (uint32_t)n;
        if (!gone)
            p->steps.p[n++] = p->steps.p[s];
    }
    p->steps.n = n;
}

/* Marks the weights that running steps read, and with them the buffers of the stored tensors that inference loads. */
static bool *weights_read(Alias *a) {
    const Plan *p = a->p;
    bool *used = NEW_ARRAY(a->scratch, bool, a->classes.n);
    for (size_t i = 0; i < a->g->ops.n; i++) {
        const Op *op = a->g->ops.p[i];
        uint64_t off;
        for (uint32_t k = 0; op_runs(p, op) && k < op->nin; k++) {
            const Value *v = op_tensor(a->g, p, op, k);
            if (v != NULL && a->cls[v->id] != NO_ID)
                used[locate(a, v->id, &off)] = true;
        }
    }
    return used;
}

static void make_buffers(Alias *a) {
    Plan *p = a->p;
    bool *used = weights_read(a);
    size_t n = 0;
    for (size_t c = 0; c < a->classes.n; c++)
        n += a->classes.p[c].parent == c && (a->classes.p[c].kind != BUF_WEIGHT || used[c]);
    p->buffers.p = NEW_ARRAY(p->arena, Buffer, n);
    p->buffers.cap = n;
    p->buffers.n = 0;
    for (size_t c = 0; c < a->classes.n; c++) {
        Class *k = &a->classes.p[c];
        if (k->parent != c || (k->kind == BUF_WEIGHT && !used[c]))
            continue;
        k->buffer = (uint32_t)p->buffers.n;
        p->buffers.p[p->buffers.n++] = (Buffer){
            .id = k->buffer, .kind = k->kind, .nbytes = k->nbytes, .op = NO_ID, .overlaps = NO_ID,
            .in_arena = k->kind == BUF_ACTIVATION || (k->kind == BUF_IO && p->io == IO_ARENA)};
    }
}

static void place_values(Alias *a) {
    Plan *p = a->p;
    for (size_t v = 0; v < a->g->values.n; v++) {
        Place *pl = &p->place[v];
        uint64_t off;
        if (a->cls[v] == NO_ID)
            continue;
        pl->buffer = a->classes.p[locate(a, (uint32_t)v, &off)].buffer;
        pl->byte_offset = pl->buffer == NO_ID ? 0 : off;
    }
}

void pass_alias(Ctx *ctx, const Graph *g, Plan *p) {
    size_t n = g->values.n;
    Arena *s = ctx->scratch;
    Alias a = {.g = g, .p = p, .scratch = s};
    a.cls = NEW_ARRAY(s, uint32_t, n);
    a.off = NEW_ARRAY(s, uint64_t, n);
    a.next = NEW_ARRAY(s, uint32_t, n);
    a.last = NEW_ARRAY(s, uint32_t, n);
    a.io = NEW_ARRAY(s, uint32_t, n);
    a.kept = NEW_ARRAY(s, bool, n);
    for (size_t i = 0; i < n; i++)
        a.cls[i] = a.next[i] = a.io[i] = NO_ID;
    a.stored = values_stored(s, g, p);
    find_last_reads(&a);
    find_io(&a);
    open_given(&a);
    bool sharing = plan_views(g, p);
    for (uint32_t t = 0; t < p->steps.n; t++) {
        const Op *op = g->ops.p[p->steps.p[t].anchor];
        bool alone = p->steps.p[t].ops.n == 1;
        uint64_t part;
        if (sharing && alone && (op_has(op, PARTS) || op_is_view(op, 0, &part)) && op_tensor(g, p, op, 0) != NULL)
            views(&a, op);
        else if (sharing && alone && op_has(op, JOINS))
            join(&a, op);
        else
            compute(&a, t);
    }
    drop_view_steps(&a);
    make_buffers(&a);
    place_values(&a);
}
