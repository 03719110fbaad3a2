/* strides.c - the strides a value has in PyTorch, where a transpose, an expansion or a slice only addresses its
 * operand's elements anew. netc's own kernels write every value contiguously, but `view` is defined by these strides:
 * it is refused where PyTorch refuses it, so that a program means the same in both.
 *
 * The strides are found by walking back over the view-like operators to one that computes, and forward again; the
 * rule for a new shape is ATen's computeStride. O(MAX_CHAIN * rank); a longer chain of view-like operators counts as
 * contiguous at its far end. */
#include "ops/strides.h"

#include "ops/ops.h"

enum { MAX_CHAIN = 16 };

typedef struct Strided { Shape shape; uint64_t stride[MAX_RANK]; } Strided;      /* in elements; 0 where expanded */

static Strided contiguous(const Shape *s) {
    Strided r = {.shape = *s};
    uint64_t stride = 1;
    for (unsigned i = s->rank; i-- > 0;) {
        r.stride[i] = stride;
        if (s->dim[i] > 1) stride *= s->dim[i];
    }
    return r;
}

/* Groups the old axes into runs that lie contiguously, from the last; each run must be cut up by new axes exactly. */
static bool restride(const Strided *x, const Shape *to, Strided *r) {
    *r = contiguous(to);
    if (x->shape.rank == 0 || shape_elems(to) == 0) return true;
    unsigned next = to->rank;                             /* new axes from here on have their strides */
    uint64_t base = x->stride[x->shape.rank - 1], run = 1, cut = 1;
    for (unsigned i = x->shape.rank; i-- > 0;) {
        run *= x->shape.dim[i];
        if (i > 0 && (x->shape.dim[i - 1] == 1 || x->stride[i - 1] == run * base)) continue;
        while (next > 0 && (cut < run || to->dim[next - 1] == 1)) {
            r->stride[--next] = cut * base;
            cut *= to->dim[next];
        }
        if (cut != run) return false;
        if (i > 0) base = x->stride[i - 1];
        run = cut = 1;
    }
    return next == 0;
}

static bool only_addresses(OpKind kind) {
    switch (kind) {
    case OP_VIEW: case OP_RESHAPE: case OP_FLATTEN: case OP_UNFLATTEN: case OP_SQUEEZE: case OP_UNSQUEEZE:
    case OP_TRANSPOSE: case OP_PERMUTE: case OP_EXPAND: case OP_CHUNK: case OP_SPLIT: case OP_SLICE: case OP_SELECT: case OP_NARROW:
        return true;
    default:
        return false;
    }
}

static void swap_axes(Strided *s, unsigned a, unsigned b) {
    uint64_t stride = s->stride[a];
    s->stride[a] = s->stride[b];
    s->stride[b] = stride;
}

static void permute_axes(Strided *s, const Op *op) {
    int64_t dims[MAX_RANK];
    uint32_t n = op_ints(op, A_dims, dims, MAX_RANK);
    Strided old = *s;
    for (uint32_t i = 0; i < n; i++) s->stride[i] = old.stride[dims[i]];
}

/* Axes that were added in front, or grew from 1, repeat one element. */
static void expand_axes(Strided *s, const Shape *to) {
    Strided old = *s;
    unsigned fresh = to->rank - old.shape.rank;
    for (unsigned i = 0; i < to->rank; i++)
        s->stride[i] = i < fresh || old.shape.dim[i - fresh] != to->dim[i] ? 0 : old.stride[i - fresh];
}

static void drop_axis(Strided *s, unsigned axis) {
    for (unsigned i = axis; i + 1u < s->shape.rank; i++) s->stride[i] = s->stride[i + 1];
}

/* From the strides of an operator's operand to those of its result. */
static void step_over(Strided *s, const Op *op, const Shape *to) {
    Strided r;
    switch (op->kind) {
    case OP_TRANSPOSE: swap_axes(s, (unsigned)op_int(op, A_dim0), (unsigned)op_int(op, A_dim1)); break;
    case OP_PERMUTE: permute_axes(s, op); break;
    case OP_EXPAND: expand_axes(s, to); break;
    case OP_SLICE: s->stride[op_int(op, A_dim)] *= (uint64_t)op_int(op, A_step); break;
    case OP_SELECT: drop_axis(s, (unsigned)op_int(op, A_dim)); break;
    case OP_CHUNK: case OP_SPLIT: case OP_NARROW: break;
    default:                                              /* a new shape; where it cannot be a view it was copied */
        if (!restride(s, to, &r)) r = contiguous(to);
        *s = r;
    }
    s->shape = *to;
}

bool view_possible(const Value *x, const Shape *to) {
    const Value *chain[MAX_CHAIN];
    unsigned n = 0;
    while (n < MAX_CHAIN && x->def && only_addresses(x->def->kind)) {
        chain[n++] = x;
        x = x->def->in[0];
    }
    Strided s = contiguous(&x->type.shape), r;
    while (n-- > 0) step_over(&s, chain[n]->def, &chain[n]->type.shape);
    return restride(&s, to, &r);
}
