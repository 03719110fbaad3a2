/* eval_create.c - ranges and constants. A range of floats is start + i * step, computed in double and rounded once; one
 * of integers is counted in integers, its numbers cut toward zero first, as ATen does. O(elements). */
#include "ops/axes.h"
#include "ops/eval_move.h"

static int64_t whole(const Datum *d) {
    return d->kind == D_INT ? d->i : number_truncate(d->f);
}

static void arange(Eval *e) {
    const Datum *start = op_attr(e->op, A_start), *step = op_attr(e->op, A_step);
    for (uint64_t i = 0; i < e->out->n; i++) {
        if (e->out->is_int) e->out->i[i] = (int64_t)((uint64_t)whole(start) + i * (uint64_t)whole(step));
        else e->out->f[i] = number_of(start) + (double)i * number_of(step);
    }
}

void eval_create(Eval *e) {
    Datum one = d_int(1), zero = d_int(0);
    switch (e->op->kind) {
    case OP_ARANGE: arange(e); break;
    case OP_ZEROS: fill_whole(e->out, &zero); break;
    case OP_ONES: fill_whole(e->out, &one); break;
    case OP_FULL: fill_whole(e->out, op_attr(e->op, A_fill_value)); break;
    default: ice("eval: %s is not of the family create", op_info(e->op->kind)->name);
    }
}
