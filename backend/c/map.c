/* map.c - an index of one tensor as a function of an index of another, as C text.
 *
 * A map is a nest of runs, outermost first, over which the index counts: run r contributes (index / P) % n * stride, P
 * being the elements of all runs behind it. Neighbouring runs that lie contiguously (or are both broadcast) are one, so
 * that a map that changes nothing is the index itself. O(rank). */
#include "backend/c/c.h"

#include "ops/axes.h"

#include <inttypes.h>

void map_run(Map *m, uint64_t n, uint64_t stride) {
    if (n == 1) return;
    Run *last = m->n > 0 ? &m->run[m->n - 1] : NULL;
    if (last && last->stride == n * stride) {
        *last = (Run){last->n * n, stride};
        return;
    }
    if (m->n == MAX_MAP) ice("an index of more than %d runs", MAX_MAP);
    m->run[m->n++] = (Run){n, stride};
}

void map_axes(Map *m, const Access *a, unsigned first, unsigned end) {
    for (unsigned i = a->begin[first]; i < a->begin[end]; i++) map_run(m, a->run[i].n, a->run[i].stride);
}

Map map_whole(uint64_t n) {
    Map m = {0};
    map_run(&m, n, 1);
    return m;
}

Map map_broadcast(const Shape *from, const Shape *to) {
    Map m = {0};
    unsigned lead = to->rank - from->rank;
    for (unsigned i = 0; i < to->rank; i++) {
        bool own = i >= lead && from->dim[i - lead] != 1;
        map_run(&m, to->dim[i], own ? elems_behind(from, i - lead) : 0);
    }
    return m;
}

static void permuted(const Op *op, Map *m) {
    const Shape *x = &op->in[0]->type.shape;
    int64_t dims[MAX_RANK];
    for (unsigned i = 0; i < x->rank; i++) dims[i] = i;
    if (op->kind == OP_PERMUTE) {
        op_ints(op, A_dims, dims, MAX_RANK);
    } else if (x->rank > 0) {
        int64_t a = op_int(op, A_dim0), b = op_int(op, A_dim1);
        dims[a] = b;
        dims[b] = a;
    }
    for (unsigned i = 0; i < x->rank; i++) map_run(m, x->dim[dims[i]], elems_behind(x, (unsigned)dims[i]));
}

static uint64_t first_of_part(const Op *op, unsigned axis, uint32_t out) {
    uint64_t sum = 0;
    switch (op->kind) {
    case OP_SELECT: return (uint64_t)op_int(op, A_index);
    case OP_SLICE: case OP_NARROW: return (uint64_t)op_int(op, A_start);
    default:
        for (uint32_t i = 0; i < out; i++) sum += op->out[i]->type.shape.dim[axis];
        return sum;
    }
}

static void part(const Op *op, uint32_t out, Map *m) {
    const Shape *x = &op->in[0]->type.shape;
    unsigned axis = (unsigned)op_int(op, A_dim);
    uint64_t behind = elems_behind(x, axis), step = op->kind == OP_SLICE ? (uint64_t)op_int(op, A_step) : 1;
    uint64_t taken = op->kind == OP_SELECT ? 1 : op->out[out]->type.shape.dim[axis];
    m->offset = first_of_part(op, axis, out) * behind;
    map_run(m, elems_before(x, axis), x->dim[axis] * behind);
    map_run(m, taken, behind * step);
    map_run(m, behind, 1);
}

/* [.., C, H, W] with squares of r * r: a channel's places among those of an image r times as high and wide. */
static void pixel_shuffle(const Op *op, bool back, Map *m) {
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[0]->type.shape;
    const Shape *wide = back ? x : y, *deep = back ? y : x;
    uint64_t r = (uint64_t)op_int(op, back ? A_downscale_factor : A_upscale_factor), c = wide->dim[wide->rank - 3];
    uint64_t h = deep->dim[deep->rank - 2], w = deep->dim[deep->rank - 1];
    map_run(m, elems_before(x, x->rank - 3u), c * h * w * r * r);
    if (back) {
        map_run(m, c, h * r * w * r);
        map_run(m, r, w * r);
        map_run(m, r, 1);
        map_run(m, h, r * w * r);
        map_run(m, w, r);
    } else {
        map_run(m, c, r * r * h * w);
        map_run(m, h, w);
        map_run(m, r, r * h * w);
        map_run(m, w, 1);
        map_run(m, r, h * w);
    }
}

static void channel_shuffle(const Op *op, Map *m) {
    const Shape *x = &op->in[0]->type.shape;
    uint64_t groups = (uint64_t)op_int(op, A_groups), behind = elems_behind(x, 1), each = x->dim[1] / groups;
    map_run(m, x->dim[0], x->dim[1] * behind);
    map_run(m, each, behind);
    map_run(m, groups, each * behind);
    map_run(m, behind, 1);
}

bool map_move(const Op *op, uint32_t out, Map *m) {
    *m = (Map){0};
    if (op_has(op, RESHAPES)) *m = map_whole(op->out[0]->nelem);
    else if (op_has(op, PARTS)) part(op, out, m);
    else if (op_has(op, MOVES)) permuted(op, m);
    else if (op->kind == OP_EXPAND) *m = map_broadcast(&op->in[0]->type.shape, &op->out[0]->type.shape);
    else if (op->kind == OP_CHANNEL_SHUFFLE) channel_shuffle(op, m);
    else if (op->kind == OP_PIXEL_SHUFFLE) pixel_shuffle(op, false, m);
    else if (op->kind == OP_PIXEL_UNSHUFFLE) pixel_shuffle(op, true, m);
    else return false;
    return true;
}

/* Operand `in` of a cat or stack is a slab of the result along an axis. */
bool map_join(const Op *op, uint32_t in, Map *m) {
    const Shape *r = &op->out[0]->type.shape, *x = &op->in[in]->type.shape;
    unsigned axis = (unsigned)op_int(op, A_dim);
    uint64_t behind = elems_behind(r, axis), before = 0, own = op->kind == OP_STACK ? 1 : x->dim[axis];
    if (!op_has(op, JOINS)) return false;
    for (uint32_t i = 0; i < in; i++)
        if (op->in[i]->nelem > 0) before += op->kind == OP_STACK ? 1 : op->in[i]->type.shape.dim[axis];
    *m = (Map){.offset = before * behind};
    map_run(m, elems_before(r, axis), r->dim[axis] * behind);
    map_run(m, own, behind);
    map_run(m, behind, 1);
    return true;
}

const char *map_text(Arena *a, const Map *m, const char *index) {
    StrBuf b;
    uint64_t behind = 1;
    sb_init(&b, a);
    for (unsigned i = 0; i < m->n; i++) behind *= m->run[i].n;
    if (behind == 0) return "0";                          /* there is no index to follow */
    for (unsigned i = 0; i < m->n; i++) {
        const Run *r = &m->run[i];
        behind /= r->n;
        if (r->stride == 0) continue;
        if (b.n > 0) sb_puts(&b, " + ");
        sb_puts(&b, index);
        if (behind > 1) sb_printf(&b, " / %" PRIu64, behind);
        if (i > 0) sb_printf(&b, " %% %" PRIu64, r->n);
        if (r->stride > 1) sb_printf(&b, " * %" PRIu64, r->stride);
    }
    if (m->offset > 0 || b.n == 0) sb_printf(&b, "%s%" PRIu64, b.n > 0 ? " + " : "", m->offset);
    return sb_str(&b);
}

const char *coordinate(Arena *a, const Shape *s, unsigned axis, const char *index) {
    uint64_t behind = elems_behind(s, axis);
    const char *text = behind > 1 ? arena_printf(a, "%s / %" PRIu64, index, behind) : index;
    return elems_before(s, axis) == 1 ? text : arena_printf(a, "%s %% %" PRIu64, text, s->dim[axis]);
}
