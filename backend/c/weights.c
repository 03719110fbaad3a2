/* weights.c - the block of weights: which tensors are in it, and where.
 *
 * A header of WEIGHTS_HEADER bytes ("NETCWGT1", then little endian 64-bit numbers: the hash, the bytes of the block),
 * then the plan's weight buffers in their order, each aligned to WEIGHTS_ALIGN. The hash (FNV-1a) is over names,
 * types, places and what was folded, so that weights of another network, or of another plan of it, are known as such.
 * Linear. */
#include "backend/c/c.h"

#include <inttypes.h>
#include <string.h>

static uint64_t hash_text(uint64_t h, const char *text) {
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

static void own(WeightLayout *l, const Plan *p, const Value *v) {
    const Place *pl = &p->place[v->id];
    if (pl->buffer == NO_ID || p->repl[v->id] != v->id) return;
    const Buffer *b = &p->buffers.p[pl->buffer];
    if (b->kind == BUF_WEIGHT && pl->byte_offset == 0 && b->nbytes == v->nbytes && !l->owner[b->id])
        l->owner[b->id] = v;
}

static uint64_t place_all(Ctx *c, const Plan *p, WeightLayout *l) {
    uint64_t at = WEIGHTS_HEADER, h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if (b->kind != BUF_WEIGHT) continue;
        const Value *v = l->owner[i];
        if (!v) ice("the weights have a buffer that no tensor fills");
        l->offset[i] = at;
        h = hash_text(h, arena_printf(c->scratch, "%s %s %" PRIu64 "\n", v->name, type_text(c->scratch, &v->type), at));
        if (!add_u64(at, b->nbytes, &at) || !align_up(at, WEIGHTS_ALIGN, &at))
            ice("the weights are larger than 2^64 bytes");
    }
    l->nbytes = at == WEIGHTS_HEADER ? 0 : at;
    return h;
}

WeightLayout *weights_layout(Ctx *c, const Graph *g, const Plan *p) {
    WeightLayout *l = NEW(c->unit, WeightLayout);
    l->offset = NEW_ARRAY(c->unit, uint64_t, p->buffers.n);
    l->owner = NEW_ARRAY(c->unit, const Value *, p->buffers.n);
    for (size_t i = 0; i < g->stored.n; i++) own(l, p, g->stored.p[i]);
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; p->fate[i] == FATE_CONSTANT && k < g->ops.p[i]->nout; k++) own(l, p, g->ops.p[i]->out[k]);
    l->hash = place_all(c, p, l);
    for (size_t i = 0; i < g->ops.n; i++)
        if (p->fate[i] == FATE_FOLDED)
            l->hash = hash_text(l->hash, arena_printf(c->scratch, "folded %s\n", g->ops.p[i]->path));
    return l;
}

/* The norm that was folded into op; it is the next operator that reads its result. */
static const Op *folded_into(const Graph *g, const Plan *p, const Op *op) {
    uint32_t step = p->step_of[op->id];
    if (step == NO_ID) return NULL;
    const Step *s = &p->steps.p[step];
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *norm = g->ops.p[s->ops.p[i]];
        if (p->fate[norm->id] == FATE_FOLDED && p->into[norm->id] == op->id) return norm;
    }
    return NULL;
}

const Value *bias_of(const Graph *g, const Plan *p, const Op *op, uint32_t in) {
    const Value *bias = op_in(op, in);
    const Op *norm = folded_into(g, p, op);
    if (!bias && norm) bias = op_in(norm, 2) ? op_in(norm, 2) : op_in(norm, 3);
    return bias ? g->values.p[plan_repl(p, bias->id)] : NULL;
}

uint64_t emit_c_weights_bytes(Ctx *c, const Graph *g, const Plan *p) {
    return weights_layout(c, g, p)->nbytes;
}
