/* access.c - the strided nest through which a kernel reads an operand that was reshaped, transposed or sliced, without
 * a copy; and the kernels' own word on which nests they follow.
 *
 * ATen's computeStride (strides.c) gives one stride an axis and refuses a reshape that merges axes lying apart. Kernels
 * go over their rows and batches in nested loops anyway, so here such an axis stays a nest of runs. A reshape writes
 * all runs one after the other, joins those that lie contiguously, and deals them out to the new axes from the last;
 * it is refused only where an axis would end inside a run that it does not divide. O(rank + runs) for each operator.
 *
 * What kernels ask for:
 *   scaled_dot_product_attention   q, k, v: the width contiguous, one stride between places; heads and batches any nest
 *   matmul      both operands: one stride for each of the last two axes, one of them contiguous (so a transposed
 *               operand is read as it lies); batches any nest
 *   linear      x: blocks of the last axis contiguous (it may be a nest, as of heads and their width), rows any nest
 *   written     by any of the three: blocks of the last axis contiguous, the rest any nest */
#include "ops/access.h"

#include "ops/axes.h"

bool op_remaps(const Op *op) {
    return op_has(op, RESHAPES | MOVES | PARTS) && op->nin > 0 && op->in[0];
}

bool access_whole(Access *a, const Value *v) {
    const Shape *s = &v->type.shape;
    uint64_t stride = 1;
    if (v->nelem == 0 || dtype_bits(v->type.dtype) < 8) return false;
    *a = (Access){.rank = s->rank};
    for (unsigned i = 0; i < s->rank; i++) {
        a->begin[i + 1] = a->begin[i];
        if (s->dim[i] > 1) a->run[a->begin[i + 1]++].n = s->dim[i];
    }
    for (unsigned i = a->begin[s->rank]; i-- > 0;) {
        a->run[i].stride = stride;
        stride *= a->run[i].n;
    }
    return true;
}

/* ---- reshapes ---- */

/* All runs in order, neighbours that lie contiguously joined; returns how many. */
static unsigned join_runs(const Access *a, Run *run) {
    unsigned n = 0;
    for (unsigned i = 0; i < a->begin[a->rank]; i++) {
        if (n > 0 && run[n - 1].stride == a->run[i].n * a->run[i].stride)
            run[n - 1] = (Run){run[n - 1].n * a->run[i].n, a->run[i].stride};
        else
            run[n++] = a->run[i];
    }
    return n;
}

/* Takes an axis of `extent` from the end of the runs; writes its own, innermost first, and counts them. */
static bool take_axis(Run *run, unsigned *left, uint64_t extent, Run *out, unsigned *nout, unsigned room) {
    while (extent > 1) {
        if (*left == 0 || *nout == room) return false;
        Run *last = &run[*left - 1];
        if (extent >= last->n) {
            if (extent % last->n) return false;
            out[(*nout)++] = *last;
            extent /= last->n;
            --*left;
        } else {
            if (last->n % extent) return false;
            out[(*nout)++] = (Run){extent, last->stride};
            *last = (Run){last->n / extent, last->stride * extent};
            extent = 1;
        }
    }
    return true;
}

static bool reshape(Access *a, const Shape *to) {
    Run run[MAX_RUNS], out[MAX_RUNS];
    unsigned left = join_runs(a, run), n = 0, upto[MAX_RANK];
    for (unsigned i = to->rank; i-- > 0;) {
        if (!take_axis(run, &left, to->dim[i], out, &n, MAX_RUNS)) return false;
        upto[i] = n;
    }
    a->rank = to->rank;
    for (unsigned i = 0; i < n; i++) a->run[i] = out[n - 1 - i];
    a->begin[0] = 0;
    for (unsigned i = 0; i < to->rank; i++) a->begin[i + 1] = i + 1 < to->rank ? n - upto[i + 1] : n;
    return left == 0;
}

/* ---- transposes ---- */

static void axis_order(const Op *op, int64_t *dims) {
    unsigned rank = op->in[0]->type.shape.rank;
    for (unsigned i = 0; i < rank; i++) dims[i] = i;
    if (op->kind == OP_PERMUTE) {
        op_ints(op, A_dims, dims, MAX_RANK);
    } else if (rank > 0) {
        int64_t d0 = op_int(op, A_dim0), d1 = op_int(op, A_dim1);
        dims[d0] = d1;
        dims[d1] = d0;
    }
}

/* New axis i is old axis dims[i]. */
static void reorder(Access *a, const int64_t *dims) {
    Access old = *a;
    for (unsigned i = 0; i < a->rank; i++) {
        a->begin[i + 1] = a->begin[i];
        for (unsigned k = old.begin[dims[i]]; k < old.begin[dims[i] + 1]; k++) a->run[a->begin[i + 1]++] = old.run[k];
    }
}

/* ---- parts ---- */

static void drop_runs(Access *a, unsigned axis) {
    unsigned lo = a->begin[axis], gone = a->begin[axis + 1] - lo, n = a->begin[a->rank];
    for (unsigned i = lo; i + gone < n; i++) a->run[i] = a->run[i + gone];
    for (unsigned i = axis + 1; i <= a->rank; i++) a->begin[i] -= gone;
}

static void select_index(Access *a, unsigned axis, uint64_t index) {
    for (unsigned i = a->begin[axis + 1]; i-- > a->begin[axis];) {
        a->offset += index % a->run[i].n * a->run[i].stride;
        index /= a->run[i].n;
    }
    drop_runs(a, axis);
}

static uint64_t first_index(const Op *op, uint32_t out, unsigned axis) {
    uint64_t sum = 0;
    switch (op->kind) {
    case OP_SELECT: return (uint64_t)op_int(op, A_index);
    case OP_SLICE: case OP_NARROW: return (uint64_t)op_int(op, A_start);
    default:
        for (uint32_t i = 0; i < out; i++) sum += op->out[i]->type.shape.dim[axis];
        return sum;
    }
}

/* Of an axis that is a nest of several runs only all or one element are taken. */
static bool part(Access *a, const Op *op, uint32_t out) {
    unsigned axis = (unsigned)op_int(op, A_dim), runs = a->begin[axis + 1] - a->begin[axis];
    uint64_t extent = op->kind == OP_SELECT ? 1 : op->out[out]->type.shape.dim[axis];
    uint64_t first = first_index(op, out, axis), step = op->kind == OP_SLICE ? (uint64_t)op_int(op, A_step) : 1;
    Run *r = &a->run[a->begin[axis]];
    if (extent == op->in[0]->type.shape.dim[axis]) {
        if (op->kind != OP_SELECT) return true;           /* of all there is, one */
    } else if (extent > 1) {
        if (runs != 1) return false;
        a->offset += first * r->stride;
        *r = (Run){extent, r->stride * step};
        return true;
    }
    select_index(a, axis, first);
    if (op->kind != OP_SELECT) return true;
    for (unsigned i = axis; i < a->rank; i++) a->begin[i] = a->begin[i + 1];
    a->rank--;
    return true;
}

bool access_through(Access *a, const Op *op, uint32_t out) {
    int64_t dims[MAX_RANK];
    if (op->out[out]->nelem == 0) return false;
    if (op_has(op, RESHAPES)) return reshape(a, &op->out[out]->type.shape);
    if (op_has(op, PARTS)) return part(a, op, out);
    if (!op_has(op, MOVES)) return false;
    axis_order(op, dims);
    reorder(a, dims);
    return true;
}

bool access_back(Access *a, const Op *op) {
    int64_t dims[MAX_RANK], back[MAX_RANK];
    if (op_has(op, RESHAPES)) return reshape(a, &op->in[0]->type.shape);
    if (!op_has(op, MOVES)) return false;
    axis_order(op, dims);
    for (unsigned i = 0; i < a->rank; i++) back[dims[i]] = i;
    reorder(a, back);
    return true;
}

/* ---- what kernels can do ---- */

bool op_reads_strided(const Op *op, uint32_t in) {
    switch (op->kind) {
    case OP_SDPA: return in < 3;
    case OP_MATMUL: return in < 2 && op->in[in]->type.shape.rank >= 2;
    case OP_LINEAR: return in == 0;
    default: return false;
    }
}

/* The stride of an axis that is one run, 0 for an extent of 1. */
static bool single_run(const Access *a, unsigned axis, uint64_t *stride) {
    unsigned n = a->begin[axis + 1] - a->begin[axis];
    *stride = n ? a->run[a->begin[axis]].stride : 0;
    return n <= 1;
}

/* Are the elements of the last axis next to each other, or blocks of them? */
static bool contiguous_blocks(const Access *a) {
    unsigned lo = a->begin[a->rank - 1], hi = a->begin[a->rank];
    return lo == hi || a->run[hi - 1].stride == 1;
}

bool access_readable(const Access *a, const Op *op, uint32_t in) {
    uint64_t row, column;
    if (!op_reads_strided(op, in) || a->rank == 0) return false;
    if (op->kind == OP_LINEAR) return contiguous_blocks(a);
    if (!single_run(a, a->rank - 1, &column) || !single_run(a, a->rank - 2, &row)) return false;
    return column <= 1 || (op->kind == OP_MATMUL && row <= 1);
}

bool op_writes_strided(const Op *op) {
    return op->kind == OP_SDPA || op->kind == OP_LINEAR || (op->kind == OP_MATMUL && op->out[0]->type.shape.rank >= 2);
}

bool access_writable(const Access *a) {
    return a->rank > 0 && contiguous_blocks(a);
}

static bool all_equal(const Op *op, AttrName name, int64_t want) {
    int64_t v[2 * MAX_RANK];
    uint32_t n = op_ints(op, name, v, COUNT_OF(v));
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != want) return false;
    return true;
}

/* A convolution of one element a window; its stride may leave elements out. */
static bool is_pointwise_conv(const Op *op) {
    return all_equal(op, A_kernel_size, 1) && all_equal(op, A_padding, 0);
}

bool op_reads_elements(const Op *op, uint32_t in) {
    switch (op->kind) {
    case OP_CONV1D: case OP_CONV2D: case OP_CONV3D: return in == 0 && is_pointwise_conv(op);
    case OP_LINEAR: case OP_MATMUL: return in == 0;
    default: return false;
    }
}

bool op_scales_by_channel(const Op *op) {
    return op->kind == OP_BATCH_NORM && op_in(op, 3) && op_in(op, 4);
}
