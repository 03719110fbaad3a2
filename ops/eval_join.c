/* eval_join.c - cat and stack: for each place of the axes before the joined one, a run of every operand in turn. An
 * empty operand adds nothing, whatever its rank. O(elements). */
#include "ops/axes.h"
#include "ops/eval_move.h"

void eval_join(Eval *e) {
    const Shape *r = &e->out->type.shape;
    uint64_t blocks = elems_before(r, (unsigned)op_int(e->op, A_dim)), to = 0;
    for (uint64_t block = 0; block < blocks; block++) {
        for (uint32_t k = 0; k < e->op->nin; k++) {
            uint64_t run = e->in[k]->n / blocks;
            move_run(e->out, to, e->in[k], block * run, run);
            to += run;
        }
    }
}
