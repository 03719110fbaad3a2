/* eval_move.h - operators that only move elements: the result, in its order, reads the operand by strides or by tables.
 * Private to ops/. */
#ifndef NETC_OPS_EVAL_MOVE_H
#define NETC_OPS_EVAL_MOVE_H

#include "ops/eval.h"

/* The result's elements in order are x[start + sum of coordinate * step] for coordinates below `dim`. */
typedef struct Strides {
    unsigned rank;
    uint64_t dim[MAX_RANK], step[MAX_RANK], start;
} Strides;
void strides_push(Strides *, uint64_t dim, uint64_t step);
void move_strided(Tensor *out, const Tensor *x, Strides);

/* The result reads, at coordinate c of axis i, place table[i][c] of that axis of x; -1: nowhere, it keeps what it has.
 * x's shape is given apart, with as many axes as the result has. */
void move_by_tables(Tensor *out, const Tensor *x, const Shape *from, int64_t *const *table);
/* A table for each axis of the result, 0, 1, 2 ...: to be changed. In the arena. */
int64_t **identity_tables(Arena *, const Shape *to);
/* n elements in a row. */
void move_run(Tensor *out, uint64_t to, const Tensor *x, uint64_t from, uint64_t n);
void fill_whole(Tensor *, const Datum *);                 /* a number, converted to the tensor's dtype */

#endif
