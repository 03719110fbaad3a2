/* plan_verify.c - an independent check of a finished plan, by replaying it.
 *
 * Lifetimes are not compared. The schedule is run over a map of byte intervals that says which content lies where: before
 * a step, every operand must be found whole at its place; then scratch and results overwrite what lies at theirs. So a wrong
 * order, alias, slice, offset or in-place decision shows as a read that does not find what it needs. Content is named by
 * leaves: a view or a slice of x is bytes of x, a concatenation is the contents of its operands one after the other, and it
 * does not matter by which route they came to lie there.
 *
 * Besides: every write is inside its buffer and aligned; what a step writes overlaps what it reads only where the kernel
 * allows it; results, kept values and the caller's inputs are whole at the end; the lives and pieces that the plan states
 * cover what the replay did, no two of them share a byte in a common step, and the totals follow from them.
 *
 * requires a whole plan; computes nothing but the verdict. O(n log n) for n segments read and written. Shares no code with
 * the planner or with liveness; op_part, op_join and op_can_overwrite (ops/) are the kernels' own word. */
#include "passes/bytemap.h"
#include "passes/passes.h"
#include "passes/verify.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Segment { uint64_t lo, hi; uint32_t leaf; uint64_t leaf_off; } Segment;    /* bytes [lo, hi) of a value */
typedef struct Content { const Segment *seg; uint32_t n; } Content;
typedef VEC(Segment) Segments;

typedef struct Access { const Op *op; uint32_t index; const Value *value; uint64_t lo, hi; } Access;    /* of a step, by address */
typedef VEC(Access) Accesses;

typedef struct Replay {
    Verifier v;
    Arena *arena;
    Content *content;                                     /* by value id */
    uint64_t *base;                                       /* by buffer id: its address; buffers outside the arena follow after it */
    ByteMap map;
    Accesses reads, writes;                               /* of the step at hand */
} Replay;

#define SCRATCH_LEAF (UINT32_MAX - 1)                     /* wider than an enumerator may be */

bool refuse(Verifier *v, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *text = arena_alloc(v->ctx->scratch, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(args);
    va_end(again);
    if (!v->why) v->why = text;
    return false;
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static void append(Arena *a, Segments *s, Segment x) {
    Segment *last = s->n ? &s->p[s->n - 1] : NULL;
    if (x.lo == x.hi) return;
    if (last && last->leaf == x.leaf && last->leaf_off + (last->hi - last->lo) == x.leaf_off)
        last->hi += x.hi - x.lo;
    else
        vec_push(a, s, x);
}

static Content leaf_content(Replay *r, const Value *x) {
    Segment *s = NEW(r->arena, Segment);
    *s = (Segment){0, x->nbytes, x->id, 0};
    return (Content){s, x->nbytes ? 1 : 0};
}

/* Bytes [offset, offset + n) of a content. */
static Content part_content(Replay *r, Content whole, uint64_t offset, uint64_t n) {
    if (whole.n && offset == 0 && whole.seg[whole.n - 1].hi == n) return whole;
    Segments part = {0};
    for (uint32_t i = 0; i < whole.n; i++) {
        Segment s = whole.seg[i];
        uint64_t lo = s.lo > offset ? s.lo : offset, hi = s.hi < offset + n ? s.hi : offset + n;
        if (lo < hi) append(r->arena, &part, (Segment){lo - offset, hi - offset, s.leaf, s.leaf_off + (lo - s.lo)});
    }
    return (Content){part.p, (uint32_t)part.n};
}

static Content content_of(const Replay *r, const Value *x) {
    return r->content[plan_repl(r->v.p, x->id)];
}

static bool joined_content(Replay *r, const Op *op, Content *out) {
    Segments all = {0};
    for (uint32_t i = 0; i < op->nin; i++) {
        uint64_t offset;
        if (!op_join(op, i, &offset)) return false;
        Content c = content_of(r, op->in[i]);
        for (uint32_t k = 0; k < c.n; k++) {
            Segment s = c.seg[k];
            append(r->arena, &all, (Segment){s.lo + offset, s.hi + offset, s.leaf, s.leaf_off});
        }
    }
    *out = (Content){all.p, (uint32_t)all.n};
    return true;
}

/* In program order, so that operands come first. */
static void find_contents(Replay *r) {
    const Graph *g = r->v.g;
    for (size_t i = 0; i < g->values.n; i++)
        if (!g->values.p[i]->def) r->content[i] = leaf_content(r, g->values.p[i]);
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        for (uint32_t k = 0; k < op->nout; k++) {
            const Value *y = op->out[k];
            uint64_t offset;
            Content *c = &r->content[y->id];
            bool part = op_has(op, RESHAPES | PARTS | MOVES) || op->kind == OP_EXPAND;
            if (part && op_part(op, k, &offset))
                *c = part_content(r, content_of(r, op->in[0]), offset, y->nbytes);
            else if (!(op_has(op, JOINS) && joined_content(r, op, c)))
                *c = op->kind == OP_COPY ? content_of(r, op->in[0]) : leaf_content(r, y);
        }
    }
}

/* ---- where things lie -------------------------------------------------------------------------------------------- */

static bool verify_buffers(Replay *r) {
    const Plan *p = r->v.p;
    uint64_t outside = p->arena_bytes;
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        uint64_t end;
        if (b->id != i) return refuse(&r->v, "buffer: number %zu calls itself %u", i, b->id);
        if (!b->in_arena) {
            r->base[i] = outside;
            if (!add_u64(outside, b->nbytes, &outside)) return refuse(&r->v, "bounds: buffers overflow");
            continue;
        }
        r->base[i] = b->offset;
        if (b->offset % p->align) return refuse(&r->v, "align: buffer %zu at offset %llu", i, (unsigned long long)b->offset);
        if (!add_u64(b->offset, b->nbytes, &end) || end > p->arena_bytes)
            return refuse(&r->v, "bounds: buffer %zu leaves the arena", i);
    }
    return true;
}

/* Bytes [lo, hi) of the address map where value x lies. False when it lies nowhere. */
static bool locate(const Replay *r, const Value *x, uint64_t *lo, uint64_t *hi) {
    const Place *at = &r->v.p->place[x->id];
    if (at->buffer >= r->v.p->buffers.n) return false;
    *lo = r->base[at->buffer] + at->byte_offset;
    *hi = *lo + x->nbytes;
    return true;
}

static bool verify_place(Replay *r, const Value *x) {
    const Plan *p = r->v.p;
    const Place *at = &p->place[x->id];
    uint64_t end, element = dtype_bits(x->type.dtype) / 8;
    if (at->buffer == NO_ID) return true;
    if (at->buffer >= p->buffers.n) return refuse(&r->v, "bounds: %s lies in buffer %u, which does not exist", x->name, at->buffer);
    const Buffer *b = &p->buffers.p[at->buffer];
    if (!add_u64(at->byte_offset, x->nbytes, &end) || end > b->nbytes)
        return refuse(&r->v, "bounds: %s leaves buffer %u", x->name, at->buffer);
    return !element || at->byte_offset % element == 0 || refuse(&r->v, "align: %s at byte %llu of buffer %u", x->name,
                                                                (unsigned long long)at->byte_offset, at->buffer);
}

/* The stated pieces of a buffer are sorted, and those over bytes [lo, hi) include the step. */
static bool pieces_cover(const Buffer *b, uint64_t lo, uint64_t hi, uint32_t step) {
    size_t a = 0, z = b->pieces.n;
    while (a < z) {
        size_t mid = a + (z - a) / 2;
        if (b->pieces.p[mid].hi <= lo) a = mid + 1; else z = mid;
    }
    for (uint64_t at = lo; at < hi; a++) {
        if (a == b->pieces.n || b->pieces.p[a].lo > at) return false;
        const Piece *q = &b->pieces.p[a];
        if (q->first <= step && step <= q->last && q->hi > at) at = q->hi;
    }
    return true;
}

static bool verify_life(Replay *r, const Value *x, uint32_t step) {
    const Place *at = &r->v.p->place[x->id];
    const Buffer *b = &r->v.p->buffers.p[at->buffer];
    if (step < at->first || step > at->last)
        return refuse(&r->v, "life: %s is used in step %u, its life is %u..%u", x->name, step, at->first, at->last);
    if (b->in_arena && !pieces_cover(b, at->byte_offset, at->byte_offset + x->nbytes, step))
        return refuse(&r->v, "life: no piece of buffer %u holds %s in step %u", b->id, x->name, step);
    return true;
}

/* ---- replay ------------------------------------------------------------------------------------------------------ */

static bool all_weights(const Replay *r, const Value *x) {
    Content c = content_of(r, x);
    for (uint32_t i = 0; i < c.n; i++)
        if (!is_weight(&r->v, r->v.g->values.p[c.seg[i].leaf])) return false;
    return true;
}

static const char *leaf_name(const Replay *r, uint32_t leaf) {
    if (leaf == SCRATCH_LEAF) return "scratch";
    return leaf < r->v.g->values.n ? r->v.g->values.p[leaf]->name : "nothing";
}

static bool find_whole(Replay *r, const Value *x, const char *reader) {
    uint64_t lo, hi;
    uint32_t found;
    if (!locate(r, x, &lo, &hi)) return refuse(&r->v, "read: %s needs %s, which lies nowhere", reader, x->name);
    Content c = content_of(r, x);
    for (uint32_t i = 0; i < c.n; i++)
        if (!bytemap_holds(&r->map, lo + c.seg[i].lo, lo + c.seg[i].hi, c.seg[i].leaf, c.seg[i].leaf_off, &found))
            return refuse(&r->v, "read: %s needs %s and finds %s", reader, x->name, leaf_name(r, found));
    return true;
}

static void store(Replay *r, const Value *x) {
    uint64_t lo, hi;
    if (!locate(r, x, &lo, &hi)) return;
    Content c = content_of(r, x);
    for (uint32_t i = 0; i < c.n; i++)
        bytemap_write(&r->map, lo + c.seg[i].lo, lo + c.seg[i].hi, c.seg[i].leaf, c.seg[i].leaf_off);
}

static bool made_in_step(const Replay *r, const Value *x, uint32_t step) {
    return x->def && r->v.p->step_of[x->def->id] == step && r->v.p->fate[x->def->id] != FATE_VIEW;
}

/* The operands that a step takes from memory; each must be whole there before it begins. */
static bool read_operands(Replay *r, uint32_t step) {
    const Step *s = &r->v.p->steps.p[step];
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = r->v.g->ops.p[s->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *x = op->in[k] ? r->v.g->values.p[plan_repl(r->v.p, op->in[k]->id)] : NULL;
            Access a = {op, k, x, 0, 0};
            if (!x || is_weight(&r->v, x) || made_in_step(r, x, step)) continue;
            if (!locate(r, x, &a.lo, &a.hi) && all_weights(r, x)) continue;
            if (!find_whole(r, x, op->path) || !verify_life(r, x, step)) return false;
            vec_push(r->arena, &r->reads, a);
        }
    }
    return true;
}

static bool read_outside(const Replay *r, const Value *x, uint32_t step) {
    return r->v.p->place[x->id].buffer != NO_ID && made_in_step(r, x, step);
}

static void written_results(Replay *r, uint32_t step) {
    const Step *s = &r->v.p->steps.p[step];
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = r->v.g->ops.p[s->ops.p[i]];
        for (uint32_t k = 0; k < op->nout; k++) {
            Access a = {op, k, op->out[k], 0, 0};
            if (read_outside(r, op->out[k], step) && locate(r, op->out[k], &a.lo, &a.hi)) vec_push(r->arena, &r->writes, a);
        }
    }
}

/* A copying join leaves an operand alone that lies in its slice already; everything else it reads must be apart. */
static bool copies_in_place(const Access *w, const Access *read) {
    uint64_t offset;
    if (read->op != w->op) return false;
    if (op_has(w->op, JOINS)) return op_join(w->op, read->index, &offset) && read->lo == w->lo + offset;
    if (op_has(w->op, RESHAPES | PARTS | MOVES)) return op_part(w->op, w->index, &offset) && w->lo == read->lo + offset;
    return false;
}

static bool overlap(const Access *a, const Access *b) {
    return a->lo < b->hi && b->lo < a->hi;
}

static bool verify_writes(Replay *r, uint32_t step) {
    const Accesses *reads = &r->reads, *writes = &r->writes;
    const Step *s = &r->v.p->steps.p[step];
    for (size_t i = 0; i < writes->n; i++) {
        const Access *w = &writes->p[i];
        if (!verify_life(r, w->value, step)) return false;
        for (size_t k = 0; k < reads->n; k++) {
            const Access *q = &reads->p[k];
            if (!overlap(w, q) || copies_in_place(w, q)) continue;
            if (q->lo >= w->lo && verify_overlap(&r->v, s, w->value, q->value, q->lo - w->lo)) continue;
            if (q->lo != w->lo || q->hi != w->hi || !verify_overwrite(&r->v, s, w->value, q->value))
                return refuse(&r->v, "inplace: %s writes %s over %s, which its kernel still reads", w->op->path, w->value->name, q->value->name);
        }
        for (size_t k = 0; k < i; k++)
            if (overlap(w, &writes->p[k]))
                return refuse(&r->v, "inplace: %s and %s are written over each other", w->value->name, writes->p[k].value->name);
    }
    return true;
}

/* Scratch of the step's operators: large enough, apart from what the step reads and writes; what lay there is gone. */
static bool take_scratch(Replay *r, uint32_t step, const uint32_t *scratch_of) {
    const Plan *p = r->v.p;
    const Step *s = &p->steps.p[step];
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = r->v.g->ops.p[s->ops.p[i]];
        uint64_t need = op_scratch(op, p->made_by >= LEVEL_FULL);
        if (!need) continue;
        const Buffer *b = scratch_of[op->id] < p->buffers.n ? &p->buffers.p[scratch_of[op->id]] : NULL;
        if (!b || b->nbytes < need || !b->in_arena) return refuse(&r->v, "workspace: %s has none of %llu bytes", op->path, (unsigned long long)need);
        if (!pieces_cover(b, 0, b->nbytes, step)) return refuse(&r->v, "workspace: that of %s is not live in its step", op->path);
        Access w = {op, 0, NULL, r->base[b->id], r->base[b->id] + b->nbytes};
        for (size_t k = 0; k < r->reads.n + r->writes.n; k++)
            if (overlap(&w, k < r->reads.n ? &r->reads.p[k] : &r->writes.p[k - r->reads.n]))
                return refuse(&r->v, "workspace: that of %s lies over its operands or results", op->path);
        bytemap_write(&r->map, w.lo, w.hi, SCRATCH_LEAF, 0);
    }
    return true;
}

static bool replay_step(Replay *r, uint32_t step, const uint32_t *scratch_of) {
    r->reads.n = r->writes.n = 0;
    if (!read_operands(r, step)) return false;
    written_results(r, step);
    if (!verify_writes(r, step) || !take_scratch(r, step, scratch_of)) return false;
    for (size_t i = 0; i < r->writes.n; i++) store(r, r->writes.p[i].value);
    return true;
}

static bool verify_end(Replay *r) {
    const Graph *g = r->v.g;
    const Plan *p = r->v.p;
    uint8_t *taken = NEW_ARRAY(r->arena, uint8_t, p->buffers.n + 1);
    for (size_t i = 0; i < g->results.n; i++) {
        const Value *x = g->values.p[plan_repl(p, g->results.p[i].value->id)];
        const Place *at = &p->place[x->id];
        if (!find_whole(r, x, "the caller")) return false;
        const Buffer *b = &p->buffers.p[at->buffer];
        if (b->kind != BUF_IO || at->byte_offset != 0 || b->nbytes != x->nbytes || taken[b->id]++)
            return refuse(&r->v, "result: %s has no buffer of its own", x->name);
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Place *at = &p->place[g->inputs.p[i]->id];
        if (at->buffer < p->buffers.n && !p->buffers.p[at->buffer].in_arena && !find_whole(r, g->inputs.p[i], "the caller")) return false;
    }
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        for (uint32_t k = 0; op->keep && k < op->nout; k++)
            if (p->place[op->out[k]->id].buffer != NO_ID && !find_whole(r, op->out[k], "@keep")) return false;
    }
    return true;
}

/* ---- what the plan says of itself -------------------------------------------------------------------------------- */

/* Bytes [lo, hi) of the arena begin or cease to be a buffer's, and the live bytes change. */
typedef struct Event { uint32_t step; uint8_t begins; uint32_t buffer; uint64_t lo, hi, more, less; } Event;
typedef VEC(Event) Events;

static int by_step(const void *a, const void *b) {
    const Event *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? 1 : -1;
    if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Bytes that a piece counts for: one that ends at its buffer's end is rounded up to the alignment. */
static uint64_t piece_bytes(const Plan *p, const Buffer *b, const Piece *q) {
    uint64_t hi = q->hi;
    if (hi == b->nbytes && !align_up(hi, p->align, &hi)) return UINT64_MAX;
    return hi - q->lo;
}

static bool verify_form_of_pieces(Replay *r, const Buffer *b) {
    uint32_t first = UINT32_MAX, last = 0;
    for (size_t i = 0; i < b->pieces.n; i++) {
        const Piece *q = &b->pieces.p[i], *before = i ? q - 1 : NULL;
        bool in_order = !before || before->hi <= q->lo || (before->lo == q->lo && before->hi == q->hi && before->last < q->first);
        if (!in_order || q->first > q->last || q->hi > b->nbytes || q->lo > q->hi)
            return refuse(&r->v, "pieces: buffer %u states a piece out of order", b->id);
        first = q->first < first ? q->first : first;
        last = q->last > last ? q->last : last;
    }
    if (!b->pieces.n || first != b->first || last != b->last) return refuse(&r->v, "pieces: buffer %u lives %u..%u", b->id, b->first, b->last);
    return true;
}

/* The bytes of the arena that hold what is alive of a buffer in a step. */
static Access alive_at(const Plan *p, uint32_t buffer, uint32_t step) {
    const Buffer *b = &p->buffers.p[buffer];
    Access a = {NULL, buffer, NULL, UINT64_MAX, 0};
    for (size_t i = 0; i < b->pieces.n; i++) {
        const Piece *q = &b->pieces.p[i];
        if (step < q->first || q->last < step) continue;
        a.lo = b->offset + q->lo < a.lo ? b->offset + q->lo : a.lo;
        a.hi = b->offset + q->hi > a.hi ? b->offset + q->hi : a.hi;
    }
    return a;
}

/* What the plan says a buffer shares with one that dies where it begins; whether the kernel allows it the replay has seen. */
static bool verify_overlaps(Replay *r, const Buffer *b) {
    const Plan *p = r->v.p;
    if (b->overlaps == NO_ID) return b->overlap_bytes == 0 || refuse(&r->v, "overlap: buffer %u shares bytes with none", b->id);
    const Buffer *o = b->overlaps < p->buffers.n ? &p->buffers.p[b->overlaps] : NULL;
    bool fine = o && o != b && o->in_arena && o->last == b->first && b->overlap_bytes <= b->nbytes && b->overlap_bytes <= o->nbytes;
    if (!fine) return refuse(&r->v, "overlap: buffer %u does not begin where buffer %u ends", b->id, b->overlaps);
    Access own = alive_at(p, b->id, b->first), other = alive_at(p, o->id, b->first);
    uint64_t lo = own.lo > other.lo ? own.lo : other.lo, hi = own.hi < other.hi ? own.hi : other.hi;
    return lo >= hi || hi - lo <= b->overlap_bytes ||
           refuse(&r->v, "overlap: buffers %u and %u share %llu bytes", o->id, b->id, (unsigned long long)(hi - lo));
}

/* A piece over bytes that another buffer still holds in its first step gets those one step later. */
static void piece_events(Replay *r, Events *events, const Buffer *b, const Piece *q) {
    const Plan *p = r->v.p;
    uint64_t lo = b->offset + q->lo, hi = b->offset + q->hi, n = piece_bytes(p, b, q), cut_lo = hi, cut_hi = hi;
    if (b->overlaps != NO_ID && q->first == b->first) {
        Access o = alive_at(p, b->overlaps, q->first);
        cut_lo = o.lo > lo ? o.lo : lo, cut_hi = o.hi < hi ? o.hi : hi;
        if (cut_lo >= cut_hi) cut_lo = cut_hi = hi;
    }
    vec_push(r->arena, events, ((Event){q->first, 1, b->id, lo, cut_lo, n, 0}));
    if (cut_hi < hi) vec_push(r->arena, events, ((Event){q->first, 1, b->id, cut_hi, hi, 0, 0}));
    if (cut_lo < cut_hi && q->last > q->first) vec_push(r->arena, events, ((Event){q->first + 1, 1, b->id, cut_lo, cut_hi, 0, 0}));
    vec_push(r->arena, events, ((Event){q->last + 1, 0, b->id, lo, hi, 0, n}));
}

static bool collect_events(Replay *r, Events *events) {
    const Plan *p = r->v.p;
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if (!b->in_arena) continue;
        if (!verify_form_of_pieces(r, b) || !verify_overlaps(r, b)) return false;
        for (uint32_t k = 0; k < b->pieces.n; k++) {
            if (b->pieces.p[k].last == UINT32_MAX) return refuse(&r->v, "pieces: buffer %zu never dies", i);
            if (b->pieces.p[k].lo < b->pieces.p[k].hi) piece_events(r, events, b, &b->pieces.p[k]);
        }
        if (b->overlap_bytes == 0) continue;
        vec_push(r->arena, events, ((Event){b->first, 0, b->id, 0, 0, 0, b->overlap_bytes}));
        vec_push(r->arena, events, ((Event){b->first + 1, 0, b->id, 0, 0, b->overlap_bytes, 0}));
    }
    if (events->n) qsort(events->p, events->n, sizeof *events->p, by_step);
    return true;
}

/* Sweeps the stated pieces by step: no two share a byte in a common step but what one may lie over the other, and the largest
 * sum at the end of a step's events is the live peak. */
static bool verify_pieces(Replay *r) {
    const Plan *p = r->v.p;
    Events events = {0};
    ByteMap live;
    bytemap_init(&live, r->arena);
    if (!collect_events(r, &events)) return false;
    uint64_t now = 0, peak = 0;                           /* wraps between the events of a step, never at its end */
    for (size_t i = 0; i < events.n; i++) {
        const Event *e = &events.p[i];
        now += e->more - e->less;
        if (!e->begins && e->lo < e->hi) bytemap_erase(&live, e->lo, e->hi);
        if (e->begins && e->lo < e->hi) {
            uint32_t other = bytemap_any(&live, e->lo, e->hi);
            if (other != UINT32_MAX) return refuse(&r->v, "overlap: buffers %u and %u share bytes in step %u", other, e->buffer, e->step);
            bytemap_write(&live, e->lo, e->hi, e->buffer, 0);
        }
        if (i + 1 == events.n || events.p[i + 1].step != e->step) peak = now > peak ? now : peak;
    }
    return peak == p->live_peak_bytes || refuse(&r->v, "totals: the pieces' peak is %llu, the plan says %llu",
                                                (unsigned long long)peak, (unsigned long long)p->live_peak_bytes);
}

static bool verify_totals(Replay *r) {
    const Plan *p = r->v.p;
    if (p->naive_bytes < p->arena_bytes || p->arena_bytes < p->live_peak_bytes || p->live_peak_bytes < p->bound_bytes)
        return refuse(&r->v, "totals: naive >= arena >= live peak >= bound does not hold");
    if (p->proven && p->arena_bytes != p->bound_bytes) return refuse(&r->v, "totals: proven, but the arena is above the bound");
    uint64_t top = 0;
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        uint64_t end;
        if (!b->in_arena) continue;
        if (!align_up(b->offset + b->nbytes, p->align, &end)) return refuse(&r->v, "totals: the arena overflows");
        top = end > top ? end : top;
    }
    return top == p->arena_bytes || refuse(&r->v, "totals: the highest byte used is %llu, the arena has %llu",
                                           (unsigned long long)top, (unsigned long long)p->arena_bytes);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static uint32_t *find_scratch(Replay *r) {
    uint32_t *scratch_of = NEW_ARRAY(r->arena, uint32_t, r->v.g->ops.n + 1);
    for (size_t i = 0; i < r->v.g->ops.n; i++) scratch_of[i] = NO_ID;
    for (size_t i = 0; i < r->v.p->buffers.n; i++) {
        const Buffer *b = &r->v.p->buffers.p[i];
        if (b->kind == BUF_WORKSPACE && b->op < r->v.g->ops.n) scratch_of[b->op] = b->id;
    }
    return scratch_of;
}

static bool replay(Replay *r) {
    const Graph *g = r->v.g;
    for (size_t i = 0; i < g->values.n; i++)
        if (!verify_place(r, g->values.p[i])) return false;
    find_contents(r);
    for (size_t i = 0; i < g->inputs.n; i++) store(r, g->inputs.p[i]);
    for (size_t i = 0; i < g->values.n; i++)              /* loaded before the first step; views of them are read like any other */
        if (is_weight(&r->v, g->values.p[i])) store(r, g->values.p[i]);
    const uint32_t *scratch_of = find_scratch(r);
    for (uint32_t s = 0; s < r->v.p->steps.n; s++)
        if (!replay_step(r, s, scratch_of)) return false;
    return verify_end(r);
}

bool plan_verify(Ctx *ctx, const Graph *g, const Plan *p, const char **why) {
    Arena *arena = arena_new();
    Replay r = {.v = {.ctx = ctx, .g = g, .p = p}, .arena = arena};
    r.content = NEW_ARRAY(arena, Content, g->values.n + 1);
    r.base = NEW_ARRAY(arena, uint64_t, p->buffers.n + 1);
    bytemap_init(&r.map, arena);
    bool ok = (p->align && !(p->align & (p->align - 1))) || refuse(&r.v, "align: %llu is no power of two", (unsigned long long)p->align);
    ok = ok && verify_decisions(&r.v) && verify_buffers(&r) && replay(&r) && verify_pieces(&r) && verify_totals(&r);
    arena_free(arena);
    *why = r.v.why;
    return ok;
}
