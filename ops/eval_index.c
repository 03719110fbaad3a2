/* eval_index.c - elements chosen by an integer tensor, one_hot, and triangles of matrices. An index that is none of the
 * axis's places is an error; negative ones are not counted from the end, as in PyTorch. O(elements of the result). */
#include "ops/axes.h"
#include "ops/eval_move.h"

/* The index at place i, one of n. False after a diagnostic. */
static bool index_at(Eval *e, const Tensor *indices, uint64_t i, uint64_t n, uint64_t *at) {
    *at = (uint64_t)indices->i[i];
    if (indices->i[i] >= 0 && *at < n) return true;
    eval_index_error(e, indices, i, n);
    return false;
}

/* The result has the index's shape: at coordinates c it is x[c], with c[dim] replaced by the index there. */
static void gather(Eval *e) {
    const Tensor *x = e->in[0], *index = e->in[1];
    const Shape *s = &x->type.shape, *r = &index->type.shape;
    unsigned axis = (unsigned)op_int(e->op, A_dim), rank = s->rank;
    uint64_t c[MAX_RANK] = {0}, extent = rank ? s->dim[axis] : x->n, at;
    for (uint64_t to = 0; to < e->out->n; to++) {
        if (!index_at(e, index, to, extent, &at)) return;
        uint64_t from = 0;
        for (unsigned i = 0; i < rank; i++) from = from * s->dim[i] + (i == axis ? at : c[i]);
        move_run(e->out, to, x, from, 1);
        for (unsigned i = r->rank; i-- > 0 && ++c[i] == r->dim[i];) c[i] = 0;
    }
}

static void index_select(Eval *e) {
    const Tensor *x = e->in[0], *index = e->in[1];
    const Shape *s = &x->type.shape;
    unsigned axis = (unsigned)op_int(e->op, A_dim);
    uint64_t extent = s->rank ? s->dim[axis] : 1, before = s->rank ? elems_before(s, axis) : 1,
             behind = elems_behind(s, axis), at;
    for (uint64_t i = 0; i < index->n; i++) {
        if (!index_at(e, index, i, extent, &at)) return;
        for (uint64_t b = 0; b < before; b++)
            move_run(e->out, (b * index->n + i) * behind, x, (b * extent + at) * behind, behind);
    }
}

static void one_hot(Eval *e) {
    const Tensor *x = e->in[0];
    uint64_t classes = (uint64_t)op_int(e->op, A_num_classes), at;
    for (uint64_t i = 0; i < x->n; i++) {
        if (!index_at(e, x, i, classes, &at)) return;
        e->out->i[i * classes + at] = 1;
    }
}

/* Element [row, column] stays when column - row <= diagonal (tril) or >= diagonal (triu). */
static void triangle(Eval *e) {
    const Tensor *x = e->in[0];
    const Shape *s = &x->type.shape;
    uint64_t rows = s->dim[s->rank - 2], columns = s->dim[s->rank - 1];
    int64_t diagonal = op_int(e->op, A_diagonal);
    for (uint64_t i = 0; i < x->n; i++) {
        int64_t offset = (int64_t)(i % columns) - (int64_t)(i / columns % rows);
        if (e->op->kind == OP_TRIL ? offset <= diagonal : offset >= diagonal) move_run(e->out, i, x, i, 1);
    }
}

void eval_index(Eval *e) {
    switch (e->op->kind) {
    case OP_GATHER: gather(e); break;
    case OP_INDEX_SELECT: index_select(e); break;
    case OP_ONE_HOT: one_hot(e); break;
    case OP_TRIL: case OP_TRIU: triangle(e); break;
    default: ice("eval: %s is not of the family index", op_info(e->op->kind)->name);
    }
}
