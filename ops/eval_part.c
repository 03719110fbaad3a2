/* eval_part.c - parts along one axis: every result reads its own stretch of the operand. O(elements). */
#include "ops/axes.h"
#include "ops/eval_move.h"

/* Elements start, start + step, ... of the axis, as many as the result has. */
static void take(const Tensor *x, unsigned axis, uint64_t start, uint64_t step, uint64_t extent, Tensor *out) {
    const Shape *s = &x->type.shape;
    uint64_t behind = elems_behind(s, axis);
    Strides r = {.start = start * behind};
    strides_push(&r, elems_before(s, axis), s->dim[axis] * behind);
    strides_push(&r, extent, step * behind);
    strides_push(&r, behind, 1);
    move_strided(out, x, r);
}

static void pieces(Eval *e, unsigned axis) {
    for (uint64_t i = 0, start = 0; i < e->op->nout; i++) {
        uint64_t extent = e->out[i].type.shape.dim[axis];
        take(e->in[0], axis, start, 1, extent, &e->out[i]);
        start += extent;
    }
}

void eval_part(Eval *e) {
    const Op *op = e->op;
    const Tensor *x = e->in[0];
    unsigned axis = (unsigned)op_int(op, A_dim);
    const Shape *r = &e->out->type.shape;
    switch (op->kind) {
    case OP_CHUNK: case OP_SPLIT: pieces(e, axis); break;
    case OP_SLICE:
        take(x, axis, (uint64_t)op_int(op, A_start), (uint64_t)op_int(op, A_step), r->dim[axis], e->out);
        break;
    case OP_NARROW: take(x, axis, (uint64_t)op_int(op, A_start), 1, r->dim[axis], e->out); break;
    case OP_SELECT: take(x, axis, (uint64_t)op_int(op, A_index), 1, 1, e->out); break;
    default: ice("eval: %s is not of the family part", op_info(op->kind)->name);
    }
}
