/* eval_move.c - elements moved by strides and by tables, see eval_move.h. An odometer of coordinates runs over the
 * result in C order; each step adds to the operand's place what the coordinate that turned is worth. O(elements). */
#include "ops/eval_move.h"

void move_run(Tensor *out, uint64_t to, const Tensor *x, uint64_t from, uint64_t n) {
    for (uint64_t k = 0; k < n; k++) {
        if (out->is_int) out->i[to + k] = x->i[from + k];
        else out->f[to + k] = x->f[from + k];
    }
}

void strides_push(Strides *s, uint64_t dim, uint64_t step) {
    if (s->rank == MAX_RANK) ice("strides of more than %d axes", MAX_RANK);
    s->dim[s->rank] = dim;
    s->step[s->rank++] = step;
}

void move_strided(Tensor *out, const Tensor *x, Strides s) {
    uint64_t at[MAX_RANK] = {0}, from = s.start;
    for (uint64_t to = 0; to < out->n; to++) {
        move_run(out, to, x, from, 1);
        for (unsigned i = s.rank; i-- > 0;) {
            from += s.step[i];
            if (++at[i] < s.dim[i]) break;
            from -= s.step[i] * s.dim[i];
            at[i] = 0;
        }
    }
}

int64_t **identity_tables(Arena *a, const Shape *to) {
    int64_t **table = NEW_ARRAY(a, int64_t *, MAX_RANK);
    for (unsigned i = 0; i < to->rank; i++) {
        table[i] = NEW_ARRAY(a, int64_t, to->dim[i]);
        for (uint64_t k = 0; k < to->dim[i]; k++) table[i][k] = (int64_t)k;
    }
    return table;
}

void move_by_tables(Tensor *out, const Tensor *x, const Shape *from, int64_t *const *table) {
    const Shape *r = &out->type.shape;
    uint64_t at[MAX_RANK] = {0};
    for (uint64_t to = 0; to < out->n; to++) {
        uint64_t place = 0;
        bool inside = true;
        for (unsigned i = 0; i < r->rank; i++) {
            inside = inside && table[i][at[i]] >= 0;
            place = place * from->dim[i] + (uint64_t)table[i][at[i]];
        }
        if (inside) move_run(out, to, x, place, 1);
        for (unsigned i = r->rank; i-- > 0 && ++at[i] == r->dim[i];) at[i] = 0;
    }
}

void fill_whole(Tensor *t, const Datum *d) {
    int64_t whole = d->kind == D_BOOL ? d->b : d->kind == D_INT ? d->i : number_truncate(d->f);
    double real = d->kind == D_FLOAT ? d->f : (double)whole;
    if (t->type.dtype == DT_BOOL) whole = real != 0;
    for (uint64_t k = 0; k < t->n; k++) {
        if (t->is_int) t->i[k] = whole;
        else t->f[k] = real;
    }
}
