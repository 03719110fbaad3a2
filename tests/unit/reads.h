/* reads.h - for unit tests: which elements of operand 0 a kernel reads to make one element of its result, by coordinates,
 * for the operators whose results may lie over their operand in part. Written from the operators' definitions and shared
 * by a test of that distance and one that runs plans. */
#ifndef NETC_TESTS_READS_H
#define NETC_TESTS_READS_H

#include "ops/ops.h"

#include <string.h>

typedef enum ReadForm { READ_WHOLE, READ_WINDOW, READ_GLOBAL, READ_ADAPTIVE, READ_RUN } ReadForm;

static inline bool named(const Op *op, const char *begin) {
    return strncmp(op_info(op->kind)->name, begin, strlen(begin)) == 0;
}

/* READ_WHOLE: nothing is known here, the kernel may read all of it. */
static inline ReadForm read_form(const Op *op) {
    if (named(op, "max_pool") || named(op, "avg_pool")) return READ_WINDOW;
    if (named(op, "global_")) return READ_GLOBAL;
    if (named(op, "adaptive_")) return READ_ADAPTIVE;
    bool reduces = named(op, "sum") || named(op, "mean") || named(op, "var") || named(op, "amax") || named(op, "amin");
    if (reduces) {
        int64_t dims[MAX_RANK];
        uint32_t n = op_ints(op, A_dim, dims, MAX_RANK), rank = op->in[0]->type.shape.rank;
        for (uint32_t i = 0; i < n; i++)
            if (dims[i] < (int64_t)(rank - n)) return READ_WHOLE;
        return READ_RUN;
    }
    bool conv = named(op, "conv1d") || named(op, "conv2d") || named(op, "conv3d");
    return conv && op_int(op, A_groups) == (int64_t)op->in[0]->type.shape.dim[1] ? READ_WINDOW : READ_WHOLE;
}

static inline unsigned digit_of(const Op *op) {           /* max_pool2d: 2 */
    const char *name = op_info(op->kind)->name;
    return (unsigned)(name[strlen(name) - 2] - '0');
}

static inline bool axis_reads(const Op *op, unsigned i, unsigned n, uint64_t places, uint64_t extent, uint64_t at, uint64_t e) {
    int64_t kernel[3], stride[3], padding[6], dilation[3] = {1, 1, 1};
    switch (read_form(op)) {
    case READ_GLOBAL: return true;
    case READ_ADAPTIVE: return at * extent / places <= e && e < ((at + 1) * extent + places - 1) / places;
    default: break;
    }
    op_ints(op, A_kernel_size, kernel, n);
    op_ints(op, A_stride, stride, n);
    op_ints(op, A_padding, padding, 2 * n);
    if (op_attr(op, A_dilation)) op_ints(op, A_dilation, dilation, n);
    for (int64_t k = 0; k < kernel[i]; k++)
        if ((int64_t)at * stride[i] - padding[i] + k * dilation[i] == (int64_t)e) return true;
    return false;
}

/* Does element i of result 0 read element e of operand 0? */
static inline bool reads_element(const Op *op, uint64_t i, uint64_t e) {
    const Shape *x = &op->in[0]->type.shape, *r = &op->out[0]->type.shape;
    ReadForm form = read_form(op);
    if (form == READ_WHOLE) return true;
    if (form == READ_RUN) return e / (op->in[0]->nelem / op->out[0]->nelem) == i;
    unsigned n = digit_of(op);
    bool reads = true;
    for (unsigned a = x->rank; a-- > 0;) {
        uint64_t at = i % r->dim[a], from = e % x->dim[a];
        i /= r->dim[a], e /= x->dim[a];
        if (a + n >= x->rank) reads = reads && axis_reads(op, a + n - x->rank, n, r->dim[a], x->dim[a], at, from);
        else reads = reads && at / (r->dim[a] / x->dim[a]) == from;   /* batch; channels, several results of each */
    }
    return reads;
}

#endif
