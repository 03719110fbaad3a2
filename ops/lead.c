/* lead.c - how far a result may lie over the operand it is made from, when the kernel goes through the result in index
 * order: element k is made whole, from all it reads, before it is written.
 *
 * Let the result begin `lead` bytes before the operand. Element k may be written where no later element reads:
 * before the first byte that any k' > k touches. So lead is the largest k' * (bytes of a result's element) - m(k') *
 * (bytes of an operand's element) over all k' that read the operand at all, m(k') the lowest index k' reads, and 0 at
 * least. In these operators k' and m(k') are sums over axes, so the maximum is the sum of each axis' own: that is the
 * whole calculation (the idea of Diagonal Memory Optimisation, in closed form and exact).
 *
 * Operators: pooling (sliding, adaptive, global), depthwise convolution, element-wise operators on an operand that is
 * broadcast or has elements of another size, reductions over the last axes. Not: convolutions that sum over channels,
 * products of matrices, reductions over other axes: their kernels go through the result in blocks and read a channel
 * or a row again after the first blocks were written. Each query costs O(rank), plus the size of the padding, or of
 * the result's axis where an adaptive pool has uneven windows. */
#include "ops/axes.h"
#include "ops/window.h"

enum { MAX_SCAN = 1 << 16 };                              /* places of an axis that are looked at one by one */

/* One axis of the result: where its places begin to read on the operand's axis. */
typedef struct Walk {
    uint64_t places, extent;                              /* of the result, of the operand */
    uint64_t write, read;                                 /* bytes from one place to the next, of each */
} Walk;

static uint64_t element_bytes(const Value *v) { return dtype_bits(v->type.dtype) / 8; }

/* What place x of the axis adds, when it reads from `from` on. Both products are within the tensors' bytes. */
static int64_t added(const Walk *w, uint64_t x, uint64_t from) {
    return (int64_t)(x * w->write) - (int64_t)(from * w->read);
}

static void raise_to(int64_t *most, int64_t n) { *most = n > *most ? n : *most; }

/* Place x reads from x / each on: linear but for the rest of the division. */
static int64_t stepped(const Walk *w, uint64_t each) {
    uint64_t last = w->places - 1, rest = last < each - 1 ? last : each - 1;
    int64_t most = added(w, rest, 0);
    raise_to(&most, added(w, last, last / each));
    return most;
}

/* A window's first element inside the operand. In the padding before it the places are met one by one; behind that the
 * sum is linear, and the last place that reads at all decides. INT64_MIN: none does. False: too many places are in the padding. */
static bool windowed(const Walk *w, uint64_t kernel, uint64_t stride, uint64_t dilation, uint64_t pad, int64_t *most) {
    uint64_t inside = pad / stride + (pad % stride != 0), last = (w->extent - 1 + pad) / stride;
    uint64_t n = w->places < inside + 1 ? w->places : inside + 1;
    *most = INT64_MIN;
    if (n > MAX_SCAN)
        return false;
    last = w->places - 1 < last ? w->places - 1 : last;
    for (uint64_t i = 0; i <= n; i++) {
        uint64_t x = i < n ? i : last, at = x * stride, skipped = 0;
        if (at < pad)
            skipped = (pad - at) / dilation + ((pad - at) % dilation != 0);
        if (skipped < kernel && at + skipped * dilation - pad < w->extent)
            raise_to(most, added(w, x, at + skipped * dilation - pad));
    }
    return true;
}

/* PyTorch's adaptive windows begin at floor(x * extent / places). */
static bool adaptive(const Walk *w, int64_t *most) {
    *most = INT64_MIN;
    if (w->places > MAX_SCAN || w->extent > UINT64_MAX / MAX_SCAN)
        return false;
    for (uint64_t x = 0; x < w->places; x++)
        raise_to(most, added(w, x, x * w->extent / w->places));
    return true;
}

static bool is_adaptive(OpKind k) {
    return k == OP_ADAPTIVE_AVG_POOL1D || k == OP_ADAPTIVE_AVG_POOL2D || k == OP_ADAPTIVE_AVG_POOL3D ||
           k == OP_ADAPTIVE_MAX_POOL1D || k == OP_ADAPTIVE_MAX_POOL2D || k == OP_ADAPTIVE_MAX_POOL3D;
}

/* A convolution sums over the channels of a group: with one channel in each there is nothing to sum. An image of one
 * channel is not meant: its kernel makes several channels at a time. */
static bool is_depthwise(const Op *op) {
    const Value *weight = op_in(op, 1);
    bool conv = op->kind == OP_CONV1D || op->kind == OP_CONV2D || op->kind == OP_CONV3D;
    return conv && weight && weight->type.shape.dim[1] == 1 && op_int(op, A_groups) > 1;
}

static bool spatial_axis(const Op *op, unsigned i, unsigned n, const Walk *w, int64_t *most) {
    int64_t kernel[WINDOW_AXES], stride[WINDOW_AXES], padding[2 * WINDOW_AXES], dilation[WINDOW_AXES] = {1, 1, 1};
    if (is_adaptive(op->kind))
        return adaptive(w, most);
    if (!op_attr(op, A_kernel_size)) {                    /* global: its one place reads all */
        *most = 0;
        return true;
    }
    op_ints(op, A_kernel_size, kernel, n);
    op_ints(op, A_stride, stride, n);
    op_ints(op, A_padding, padding, 2 * n);
    if (op_attr(op, A_dilation))
        op_ints(op, A_dilation, dilation, n);
    return windowed(w, (uint64_t)kernel[i], (uint64_t)stride[i], (uint64_t)dilation[i], (uint64_t)padding[i], most);
}

static unsigned spatial_axes(const Op *op) {
    switch (op->kind) {
    case OP_CONV1D: case OP_MAX_POOL1D: case OP_AVG_POOL1D: case OP_ADAPTIVE_AVG_POOL1D: case OP_ADAPTIVE_MAX_POOL1D:
    case OP_GLOBAL_AVG_POOL1D: case OP_GLOBAL_MAX_POOL1D:
        return 1;
    case OP_CONV2D: case OP_MAX_POOL2D: case OP_AVG_POOL2D: case OP_ADAPTIVE_AVG_POOL2D: case OP_ADAPTIVE_MAX_POOL2D:
    case OP_GLOBAL_AVG_POOL2D: case OP_GLOBAL_MAX_POOL2D:
        return 2;
    case OP_CONV3D: case OP_MAX_POOL3D: case OP_AVG_POOL3D: case OP_ADAPTIVE_AVG_POOL3D: case OP_ADAPTIVE_MAX_POOL3D:
    case OP_GLOBAL_AVG_POOL3D: case OP_GLOBAL_MAX_POOL3D:
        return 3;
    default:
        return 0;
    }
}

static Walk walk_of(const Value *x, const Value *r, unsigned axis, unsigned of) {
    return (Walk){r->type.shape.dim[axis], x->type.shape.dim[of], elems_behind(&r->type.shape, axis) * element_bytes(r),
                  elems_behind(&x->type.shape, of) * element_bytes(x)};
}

/* Pools and depthwise convolutions: batch and channels go along, the last n axes are windows. Where an axis has no place
 * that reads, everything is made of padding. */
static bool lead_of_windows(const Op *op, unsigned n, int64_t *lead) {
    const Value *x = op->in[0], *r = op->out[0];
    unsigned rank = r->type.shape.rank;
    bool nothing = false;
    for (unsigned i = 0; i < rank; i++) {
        Walk w = walk_of(x, r, i, i);
        int64_t most;
        if (i + n < rank)
            most = stepped(&w, w.places / w.extent);
        else if (!spatial_axis(op, i + n - rank, n, &w, &most))
            return false;
        nothing = nothing || most == INT64_MIN;
        *lead += nothing ? 0 : most;
    }
    *lead = nothing ? 0 : *lead;
    return true;
}

/* An axis that is broadcast adds its places and reads nothing further. */
static bool lead_of_elements(const Value *x, const Value *r, int64_t *lead) {
    unsigned shift = r->type.shape.rank - x->type.shape.rank;
    for (unsigned i = 0; i < r->type.shape.rank; i++) {
        Walk w = i < shift ? (Walk){r->type.shape.dim[i], 1, elems_behind(&r->type.shape, i) * element_bytes(r), 0}
                           : walk_of(x, r, i, i - shift);
        *lead += stepped(&w, w.extent == 1 ? w.places : 1);
    }
    return true;
}

/* Over the last axes: element k reads the operand's k-th run. */
static bool lead_of_reduction(const Op *op, int64_t *lead) {
    const Value *x = op->in[0], *r = op->out[0];
    int64_t dims[MAX_RANK];
    unsigned rank = x->type.shape.rank, first = rank;
    uint32_t n = op_ints(op, A_dim, dims, MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        first = (unsigned)dims[i] < first ? (unsigned)dims[i] : first;
    if (first + n != rank || x->nelem == 0 || r->nelem == 0)
        return false;
    Walk w = {r->nelem, r->nelem, element_bytes(r), x->nelem / r->nelem * element_bytes(x)};
    *lead += stepped(&w, 1);
    return true;
}

static bool is_reduction(OpKind k) {
    return k == OP_SUM || k == OP_MEAN || k == OP_VAR || k == OP_AMAX || k == OP_AMIN;
}

bool op_lead(const Op *op, uint32_t in, uint32_t out, uint64_t *lead) {
    const Value *x = op_in(op, in);
    int64_t most = 0;
    bool known = false;
    if (!x || out != 0 || op->nout != 1 || x->role == ROLE_CONST || x->nelem == 0 || op->out[0]->nelem == 0)
        return false;
    if (dtype_bits(x->type.dtype) < 8 || dtype_bits(op->out[0]->type.dtype) < 8)
        return false;
    unsigned n = spatial_axes(op);
    if (op_has(op, ELEMENTWISE) && (op->kind != OP_PRELU || in == 0))
        known = lead_of_elements(x, op->out[0], &most);
    else if (in == 0 && n > 0 && (is_depthwise(op) || op_info(op->kind)->flags == 0))
        known = lead_of_windows(op, n, &most);
    else if (in == 0 && is_reduction(op->kind))
        known = lead_of_reduction(op, &most);
    *lead = most > 0 ? (uint64_t)most : 0;
    return known;
}
