/* overlap.c - which new buffers may lie over a dying one in part: for kernels that go through their result in index order
 * and never read again what lies before the element they write (op_lead).
 *
 * requires lives and pieces; computes Buffer.overlaps and overlap_bytes. Only on target c and at level full: the blocks of
 * a CUDA grid have no order.
 *
 * A step's only stored result and one operand qualify when the result's buffer begins its life there, the operand's buffer
 * ends its life there, both lie in the arena, and nothing else the step reads lies in that buffer. Their places are found
 * later; what is decided here is how much they may share: the result must begin `lead` bytes before the operand, so that
 * all but lead of its bytes may lie over it, in whole multiples of the alignment, since offsets are. Sharing never costs
 * anything: where it does not help, the two are placed apart. Of several operands the one that gives most is taken. Linear
 * in operands and the pieces of their buffers. */
#include "passes/steps.h"

typedef struct Overlap { const Graph *g; Plan *p; } Overlap;

/* The step's result, when nothing else of it is stored; else NULL. */
static const Value *only_result(const Overlap *o, const Step *step) {
    const Value *only = NULL;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = o->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nout; k++) {
            if (o->p->place[op->out[k]->id].buffer == NO_ID)
                continue;
            if (only != NULL)
                return NULL;
            only = op->out[k];
        }
    }
    return only;
}

/* Bytes that a value takes to the next one in its buffer: to the rounded end of the buffer when it is the last. */
static uint64_t taken(const Plan *p, const Buffer *b, uint64_t off, uint64_t nbytes) {
    uint64_t end = off + nbytes;
    if (end == b->nbytes)
        align_up(end, p->align, &end);
    return end - off;
}

/* All that is alive of b in its last step is bytes of the value at `off`. */
static bool dies_alone(const Buffer *b, uint64_t off, uint64_t nbytes) {
    for (size_t i = 0; i < b->pieces.n; i++)
        if (b->pieces.p[i].last == b->last && (b->pieces.p[i].lo < off || b->pieces.p[i].hi > off + nbytes))
            return false;
    return true;
}

/* The step reads nothing but u in u's buffer. */
static bool read_alone(const Overlap *o, const Step *step, const Value *u) {
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = o->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *z = op_tensor(o->g, o->p, op, k);
            if (z != NULL && z != u && o->p->place[z->id].buffer == o->p->place[u->id].buffer)
                return false;
        }
    }
    return true;
}

/* Does a value that is kept to the end lie in the buffer? Then its life ends with the last step, but it does not die there. */
static bool is_kept(const Overlap *o, uint32_t buffer) {
    for (size_t i = 0; i < o->g->ops.n; i++) {
        const Op *op = o->g->ops.p[i];
        for (uint32_t k = 0; op->keep && k < op->nout; k++)
            if (o->p->place[op->out[k]->id].buffer == buffer)
                return true;
    }
    return false;
}

/* How many bytes f may share with its operand u. */
static uint64_t shareable(const Overlap *o, uint32_t s, const Value *u, const Value *f) {
    const Plan *p = o->p;
    const Place *from = &p->place[u->id], *to = &p->place[f->id];
    if (from->buffer == NO_ID || from->buffer == to->buffer)
        return 0;
    const Buffer *a = &p->buffers.p[from->buffer], *b = &p->buffers.p[to->buffer];
    uint64_t lead, room = taken(p, b, to->byte_offset, f->nbytes), most = u->nbytes < f->nbytes ? u->nbytes : f->nbytes;
    if (!a->in_arena || a->kind == BUF_IO || a->last != s || !step_lead(o->g, p, s, u, f, &lead))
        return 0;
    if (from->byte_offset % p->align || to->byte_offset % p->align || room % p->align ||
        taken(p, a, from->byte_offset, u->nbytes) % p->align)
        return 0;
    if (!align_up(lead, p->align, &lead) || lead >= room || !dies_alone(a, from->byte_offset, u->nbytes) ||
        !read_alone(o, &p->steps.p[s], u))
        return 0;
    if (s + 1 == p->steps.n && is_kept(o, from->buffer))
        return 0;
    most -= most % p->align;
    return room - lead < most ? room - lead : most;
}

static void step_overlap(const Overlap *o, uint32_t s) {
    const Step *step = &o->p->steps.p[s];
    const Value *f = only_result(o, step);
    if (f == NULL || o->p->place[f->id].share == SHARE_INPLACE || plan_denies(o->p, REWRITE_OVERLAP, f->def->id))
        return;
    Buffer *b = &o->p->buffers.p[o->p->place[f->id].buffer];
    if (!b->in_arena || b->kind == BUF_IO || b->first != s)
        return;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = o->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *u = op_tensor(o->g, o->p, op, k);
            uint64_t n = u != NULL && !made_in_step(o->p, u, s) ? shareable(o, s, u, f) : 0;
            if (n > b->overlap_bytes) {
                b->overlap_bytes = n;
                b->overlaps = o->p->place[u->id].buffer;
            }
        }
    }
}

void find_overlaps(const Graph *g, Plan *p) {
    Overlap o = {g, p};
    if (!plan_overlaps(g, p))
        return;
    for (uint32_t s = 0; s < p->steps.n; s++)
        step_overlap(&o, s);
}
