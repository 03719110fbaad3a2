/* eval.h - what the operators compute: a plain evaluation of each, of the graph as written, without arena, fusion or
 * layout. It is what generated code is held against, so it is written to be seen right, not to be fast; only products
 * (product.c) are blocked, so that the known networks take seconds.
 *
 * Floats are widened to double, integers and bool to int64_t. An operator computes in these, and what it stores is
 * narrowed to its dtype after it has run (tensor_narrow): f32, f16, bf16 and the f8s round to nearest even, integers
 * wrap to their width, bool becomes 0 or 1. */
#ifndef NETC_OPS_EVAL_H
#define NETC_OPS_EVAL_H

#include "ops/ops.h"

typedef struct Tensor {
    Type type;
    bool is_int;                                          /* integers and bool: the elements are in i, else in f */
    uint64_t n;                                           /* elements */
    double *f;                                            /* contiguous, in C order */
    int64_t *i;
} Tensor;

/* Where inputs and stored tensors come from: reads t->n elements of v, from element `first` on, into t->f or t->i.
 * False after a diagnostic. They are narrowed to v's dtype by the reader's caller. */
typedef struct Supply {
    bool (*read)(void *data, const Value *v, uint64_t first, Tensor *t);
    void *data;
} Supply;

/* One operator at work. */
typedef struct Eval {
    Ctx *ctx;
    Arena *arena;                                         /* for what it needs on the way; gone when it is done */
    const Op *op;
    const Tensor *const *in;                              /* op->nin; NULL: absent, or not read (op_reads) */
    Tensor *out;                                          /* op->nout, allocated, zero, to be filled */
    uint64_t seed;                                        /* for operators that draw numbers: none in inference */
    const Supply *supply;                                 /* for eval_rows */
} Eval;
typedef void (*EvalFn)(Eval *);

/* eval_*.c - one for each family, a field of its OpRules */
void eval_conv(Eval *), eval_dense(Eval *), eval_norm(Eval *), eval_pool(Eval *), eval_activation(Eval *);
void eval_elementwise(Eval *), eval_reduce(Eval *), eval_shape(Eval *), eval_join(Eval *), eval_part(Eval *);
void eval_index(Eval *), eval_create(Eval *), eval_resample(Eval *), eval_attention(Eval *), eval_recurrent(Eval *);
void eval_loss(Eval *);

/* evaluate.c */
static inline const Tensor *eval_in(const Eval *e, uint32_t k) {
    return k < e->op->nin ? e->in[k] : NULL;
}
/* Rows [first, first + n) of operand k, which has rank 2 and floats. The weights of linear and embedding can be larger
 * than all else together: they are read by rows, and in[k]->f may be NULL. `buffer` has room for the rows; what is
 * returned is it, or part of in[k]. NULL after a diagnostic. */
const double *eval_rows(Eval *, uint32_t k, uint64_t first, uint64_t n, double *buffer);
/* An index that is none of the n places of an axis: names the op, the index, and where it stands in `indices`. */
void eval_index_error(Eval *, const Tensor *indices, uint64_t at, uint64_t n);
/* Runs the graph in program order and hands back its results, one for each of g->results, in the arena. A value is
 * freed after its last use; stored tensors are read when an op first needs them. False after a diagnostic. */
bool evaluate_graph(Ctx *, const Graph *, const Supply *, uint64_t seed, Arena *, Tensor *results);

/* number.c - dtypes as numbers */
void tensor_narrow(Tensor *);                             /* every element to the nearest its dtype has */
double number_round(DType, double);                       /* floats: to nearest even; too large: infinity, f8e4m3 NaN */
int64_t number_wrap(DType, int64_t);                      /* integers: two's complement; bool: 0 or 1 */
int64_t number_truncate(double);                          /* toward zero; outside int64_t the nearest of it, NaN is 0 */
double number_decode(DType, uint64_t bits);               /* float dtypes: the number that these bits are */
uint64_t number_encode(DType, double);                    /* floats: the bits of number_round(); NaN quiet, positive */

/* product.c - matrix products in double. A panel is PANEL columns of the right operand: k rows of PANEL numbers. */
enum { PANEL = 4 };
/* out[i * row + j] += sum over p < k of a[i * k + p] * panel[p * PANEL + j], for i < m and j < columns <= PANEL. */
void panel_product(uint64_t m, uint64_t k, const double *a, const double *panel, unsigned columns, double *out,
                   uint64_t row);
/* out[i * row + j] += sum over p < k of a[i * k + p] * b[p * down + j * right], for i < m and j < n. `panel` is room
 * for k * PANEL numbers. */
typedef struct Right { const double *b; uint64_t down, right; } Right;
void matrix_product(uint64_t m, uint64_t n, uint64_t k, const double *a, Right, double *panel, double *out,
                    uint64_t row);

#endif
