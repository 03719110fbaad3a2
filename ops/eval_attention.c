/* eval_attention.c - scaled_dot_product_attention (see attention.c): softmax(q k^T * scale + mask) v, with the scores
 * of one head in memory. A row of which every key is masked is NaN, as 0 / 0 is. O(heads * L * S * (E + F)). */
#include <math.h>

#include "ops/eval.h"

/* L queries and S keys of width E, values of width F. */
typedef struct Heads {
    uint64_t batch, heads, key_groups, value_groups, l, s, e, f;
    bool causal;
    double scale;
} Heads;

static uint64_t axis_from_end(const Tensor *t, unsigned i) {
    return t->type.shape.dim[t->type.shape.rank - i];
}

static Heads heads_of(const Eval *e) {
    const Tensor *q = e->in[0], *k = e->in[1], *v = e->in[2];
    return (Heads){.batch = q->type.shape.rank == 4 ? q->type.shape.dim[0] : 1, .heads = axis_from_end(q, 3),
                   .key_groups = axis_from_end(k, 3), .value_groups = axis_from_end(v, 3), .l = axis_from_end(q, 2),
                   .s = axis_from_end(k, 2), .e = axis_from_end(q, 1), .f = axis_from_end(v, 1),
                   .causal = op_bool(e->op, A_is_causal), .scale = op_float(e->op, A_scale)};
}

/* Where the mask's element for [batch, head, query, key] is: axes of 1, and those in front that it lacks, are the same
 * for all. */
static uint64_t mask_at(const Tensor *mask, const uint64_t place[4]) {
    const Shape *s = &mask->type.shape;
    uint64_t at = 0, step = 1;
    for (unsigned i = 1; i <= s->rank; i++) {
        uint64_t size = s->dim[s->rank - i];
        if (size > 1) at += place[4 - i] * step;
        step *= size;
    }
    return at;
}

static void mask_scores(const Heads *h, const Tensor *mask, uint64_t batch, uint64_t head, double *scores) {
    for (uint64_t i = 0; i < h->l; i++)
        for (uint64_t j = 0; j < h->s; j++) {
            double *score = &scores[i * h->s + j];
            if (h->causal && j > i) *score = -INFINITY;
            if (!mask) continue;
            uint64_t at = mask_at(mask, (uint64_t[]){batch, head, i, j});
            if (!mask->is_int) *score += mask->f[at];
            else if (!mask->i[at]) *score = -INFINITY;
        }
}

static void softmax(double *row, uint64_t n) {
    double top = -INFINITY, sum = 0;
    for (uint64_t j = 0; j < n; j++)
        if (!(row[j] <= top)) top = row[j];
    for (uint64_t j = 0; j < n; j++) sum += row[j] = exp(row[j] - top);
    for (uint64_t j = 0; j < n; j++) row[j] /= sum;
}

static void attend(const Eval *e, const Heads *h, uint64_t batch, uint64_t head, double *scores, double *panel) {
    uint64_t key = batch * h->key_groups + head * h->key_groups / h->heads;
    uint64_t value = batch * h->value_groups + head * h->value_groups / h->heads, query = batch * h->heads + head;
    const double *q = e->in[0]->f + query * h->l * h->e, *k = e->in[1]->f + key * h->s * h->e;
    const double *v = e->in[2]->f + value * h->s * h->f;
    for (uint64_t i = 0; i < h->l * h->s; i++) scores[i] = 0;
    matrix_product(h->l, h->s, h->e, q, (Right){k, 1, h->e}, panel, scores, h->s);
    for (uint64_t i = 0; i < h->l * h->s; i++) scores[i] *= h->scale;
    mask_scores(h, eval_in(e, 3), batch, head, scores);
    for (uint64_t i = 0; i < h->l; i++) softmax(scores + i * h->s, h->s);
    matrix_product(h->l, h->f, h->s, scores, (Right){v, h->f, 1}, panel, e->out[0].f + query * h->l * h->f, h->f);
}

void eval_attention(Eval *e) {
    Heads h = heads_of(e);
    if (e->out[0].n == 0) return;
    double *scores = NEW_ARRAY(e->arena, double, h.l * h.s);
    double *panel = NEW_ARRAY(e->arena, double, (h.s > h.e ? h.s : h.e) * PANEL);
    for (uint64_t batch = 0; batch < h.batch; batch++)
        for (uint64_t head = 0; head < h.heads; head++) attend(e, &h, batch, head, scores, panel);
}
