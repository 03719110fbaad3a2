/* storage.c - how results relate to operands, byte by byte: which results are contiguous parts of operand 0, which
 * operands contiguous parts of result 0, and which operands a kernel may write its result over. Facts about kernels
 * alone; who is alive, stored or wanted later is the planner's business.
 *
 * A part of an axis is contiguous exactly when the axes before it have no extent (product 1) or the whole axis is
 * taken, and its step is 1. 4-bit elements share bytes: their parts must begin and end on whole bytes. Each query is
 * O(rank), and O(number of parts before this one) for chunk, split and cat. */
#include "ir/plan.h"
#include "ops/axes.h"

typedef struct Cut { unsigned axis; uint64_t start, extent, step; } Cut;       /* extent: elements taken along the axis */

/* Bytes of `nelem` elements from element `first` of a tensor of `total`, if they begin and end on whole bytes. */
static bool byte_range(DType dtype, uint64_t first, uint64_t nelem, uint64_t total, uint64_t *offset) {
    unsigned bits = dtype_bits(dtype);
    if (bits >= 8) {
        *offset = first * (bits / 8);
        return true;
    }
    unsigned per_byte = 8 / bits;
    *offset = first / per_byte;
    return first % per_byte == 0 && (nelem % per_byte == 0 || first + nelem == total);
}

/* ---- parts ---- */

static uint64_t results_before(const Op *op, unsigned axis, uint32_t out) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < out; i++) sum += op->out[i]->type.shape.dim[axis];
    return sum;
}

static Cut cut_of(const Op *op, uint32_t out) {
    unsigned axis = (unsigned)op_int(op, A_dim);
    const Shape *r = &op->out[out]->type.shape;
    switch (op->kind) {
    case OP_CHUNK: case OP_SPLIT: return (Cut){axis, results_before(op, axis, out), r->dim[axis], 1};
    case OP_SLICE: return (Cut){axis, (uint64_t)op_int(op, A_start), r->dim[axis], (uint64_t)op_int(op, A_step)};
    case OP_NARROW: return (Cut){axis, (uint64_t)op_int(op, A_start), r->dim[axis], 1};
    case OP_SELECT: return (Cut){axis, (uint64_t)op_int(op, A_index), 1, 1};
    default: ice("cut_of: %s does not cut", op_info(op->kind)->name);
    }
}

static bool cut_part(const Op *op, uint32_t out, uint64_t *offset) {
    const Value *x = op->in[0], *r = op->out[out];
    Cut cut = cut_of(op, out);
    bool whole = cut.extent == x->type.shape.dim[cut.axis];
    if (r->nelem == 0 || whole) {
        *offset = 0;
        return true;
    }
    if (elems_before(&x->type.shape, cut.axis) != 1 || (cut.step != 1 && cut.extent > 1)) return false;
    return byte_range(x->type.dtype, cut.start * elems_behind(&x->type.shape, cut.axis), r->nelem, x->nelem, offset);
}

/* Do the axes with more than one element keep their order? */
static bool order_kept(const Op *op) {
    const Shape *x = &op->in[0]->type.shape;
    int64_t perm[MAX_RANK], last = -1;
    for (unsigned i = 0; i < x->rank; i++) perm[i] = i;
    if (op->kind == OP_PERMUTE) {
        op_ints(op, A_dims, perm, MAX_RANK);
    } else if (x->rank > 0) {
        int64_t a = op_int(op, A_dim0), b = op_int(op, A_dim1);
        perm[a] = b;
        perm[b] = a;
    }
    for (unsigned i = 0; i < x->rank; i++) {
        if (x->dim[perm[i]] <= 1) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

bool op_part(const Op *op, uint32_t out, uint64_t *offset) {
    *offset = 0;
    if (op_has(op, RESHAPES)) return true;
    if (op_has(op, PARTS)) return cut_part(op, out, offset);
    if (op_has(op, MOVES)) return op->in[0]->nelem == 0 || order_kept(op);
    return op->kind == OP_EXPAND && op->in[0]->nelem == op->out[0]->nelem;
}

/* ---- joins ---- */

bool op_join(const Op *op, uint32_t in, uint64_t *offset) {
    *offset = 0;
    if (!op_has(op, JOINS)) return false;
    const Value *x = op->in[in], *r = op->out[0];
    if (x->nelem == 0 || x->nelem == r->nelem) return true;
    unsigned axis = (unsigned)op_int(op, A_dim);
    if (elems_before(&r->type.shape, axis) != 1) return false;
    uint64_t first = 0;                                   /* no axis before it: operands follow one another whole */
    for (uint32_t i = 0; i < in; i++) first += op->in[i]->nelem;
    return byte_range(x->type.dtype, first, x->nelem, r->nelem, offset);
}

/* ---- in place ---- */

bool op_reads(const Op *op, uint32_t in) {
    return !(op->kind == OP_BATCH_NORM && in == 5);
}

/* May the kernel write while it still reads this operand? */
static bool kernel_allows(const Op *op, uint32_t in) {
    if (op_has(op, INPLACE0)) return in == 0;
    if (!op_has(op, ELEMENTWISE)) return false;
    return op->kind != OP_PRELU || in == 0;               /* prelu reads its weight again for every row */
}

/* A stretched operand is read again after its element was overwritten. */
static bool is_broadcast(const Shape *x, const Shape *r) {
    if (x->rank > r->rank) return false;
    for (unsigned i = 1; i <= x->rank; i++)
        if (x->dim[x->rank - i] != r->dim[r->rank - i] && x->dim[x->rank - i] != 1) return false;
    return true;
}

bool op_can_overwrite(const Op *op, uint32_t in, uint32_t out, int *why) {
    const Value *x = in < op->nin ? op->in[in] : NULL, *r = op->out[out];
    Reason reason = REASON_NONE;
    if (!x || x->role == ROLE_CONST) reason = REASON_NO_OPERAND;
    else if (out != 0 || !kernel_allows(op, in)) reason = REASON_KERNEL;
    else if (x->nelem != r->nelem)
        reason = is_broadcast(&x->type.shape, &r->type.shape) ? REASON_BROADCAST : REASON_SIZE;
    else if (dtype_bits(x->type.dtype) != dtype_bits(r->type.dtype)) reason = REASON_DTYPE;
    if (reason != REASON_NONE) *why = (int)reason;
    return reason == REASON_NONE;
}
