/* eval_dense.c - linear, bilinear, matmul and embedding (see dense.c for operands). Weights of linear and embedding are
 * read by rows, a block at a time. Integers multiply and add modulo 2^64, which is right modulo any lesser width. */
#include "ops/eval.h"

enum { BLOCK_ELEMS = 1 << 20 };                           /* of a weight in memory at once: 8 MiB */

static void fill_bias(double *y, uint64_t rows, uint64_t width, const Tensor *bias) {
    for (uint64_t i = 0; bias && i < rows; i++)
        for (uint64_t j = 0; j < width; j++) y[i * width + j] = bias->f[j];
}

static void eval_linear(Eval *e) {
    const Tensor *x = e->in[0];
    uint64_t out = e->in[1]->type.shape.dim[0], in = e->in[1]->type.shape.dim[1];
    uint64_t rows = out ? e->out[0].n / out : 0, block = in > BLOCK_ELEMS ? 1 : BLOCK_ELEMS / (in ? in : 1);
    if (block > out) block = out;
    double *buffer = NEW_ARRAY(e->arena, double, block * in), *panel = NEW_ARRAY(e->arena, double, in * PANEL);
    fill_bias(e->out[0].f, rows, out, eval_in(e, 2));
    for (uint64_t first = 0, n; first < out; first += n) {
        n = out - first < block ? out - first : block;
        const double *weight = eval_rows(e, 1, first, n, buffer);
        if (!weight) return;
        matrix_product(rows, n, in, x->f, (Right){weight, 1, in}, panel, e->out[0].f + first, out);
    }
}

/* y[o] = sum over i, j of x1[i] weight[o, i, j] x2[j] + bias[o] */
static void eval_bilinear(Eval *e) {
    const Tensor *x1 = e->in[0], *x2 = e->in[1], *weight = e->in[2];
    uint64_t out = weight->type.shape.dim[0], n1 = weight->type.shape.dim[1], n2 = weight->type.shape.dim[2];
    uint64_t rows = out ? e->out[0].n / out : 0;
    fill_bias(e->out[0].f, rows, out, eval_in(e, 3));
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t o = 0; o < out; o++)
            for (uint64_t i = 0; i < n1; i++) {
                double inner = 0;
                for (uint64_t j = 0; j < n2; j++) inner += weight->f[(o * n1 + i) * n2 + j] * x2->f[r * n2 + j];
                e->out[0].f[r * out + o] += x1->f[r * n1 + i] * inner;
            }
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Products of (m, k) by (k, n), one for each place of the broadcast leading axes; an operand of rank 1 is a row on the
 * left, a column on the right. */
typedef struct Matmul { uint64_t m, k, n; } Matmul;

/* Where an operand's matrix for place `at` of the result's leading axes starts. */
static uint64_t matrix_of(const Tensor *t, const Shape *batch, uint64_t at, uint64_t elems) {
    const Shape *s = &t->type.shape;
    unsigned lead = s->rank > 2 ? s->rank - 2u : 0;
    uint64_t r = 0, step = 1;
    for (unsigned i = 1; i <= batch->rank; i++) {
        uint64_t size = batch->dim[batch->rank - i], place = at % size;
        at /= size;
        if (i > lead) continue;
        if (s->dim[lead - i] != 1) r += place * step;
        step *= s->dim[lead - i];
    }
    return r * elems;
}

static void multiply_integers(const Matmul *p, const int64_t *a, const int64_t *b, int64_t *y) {
    for (uint64_t i = 0; i < p->m; i++)
        for (uint64_t j = 0; j < p->n; j++) {
            uint64_t sum = 0;
            for (uint64_t k = 0; k < p->k; k++) sum += (uint64_t)a[i * p->k + k] * (uint64_t)b[k * p->n + j];
            y[i * p->n + j] = (int64_t)sum;
        }
}

static void eval_matmul(Eval *e) {
    const Tensor *a = e->in[0], *b = e->in[1];
    const Shape *s = &a->type.shape, *t = &b->type.shape;
    Tensor *y = &e->out[0];
    Matmul p = {s->rank > 1 ? s->dim[s->rank - 2] : 1, s->dim[s->rank - 1], t->rank > 1 ? t->dim[t->rank - 1] : 1};
    Shape batch = y->type.shape;
    batch.rank = (uint8_t)(batch.rank - (s->rank > 1) - (t->rank > 1));
    double *panel = NEW_ARRAY(e->arena, double, p.k * PANEL);
    for (uint64_t at = 0; y->n > 0 && at < shape_elems(&batch); at++) {
        uint64_t left = matrix_of(a, &batch, at, p.m * p.k), right = matrix_of(b, &batch, at, p.k * p.n);
        uint64_t to = at * p.m * p.n;
        if (y->is_int) multiply_integers(&p, a->i + left, b->i + right, y->i + to);
        else matrix_product(p.m, p.n, p.k, a->f + left, (Right){b->f + right, p.n, 1}, panel, y->f + to, p.n);
    }
}

static void eval_embedding(Eval *e) {
    const Tensor *ids = e->in[0];
    uint64_t rows = e->in[1]->type.shape.dim[0], width = e->in[1]->type.shape.dim[1];
    double *buffer = NEW_ARRAY(e->arena, double, width);
    for (uint64_t i = 0; i < ids->n; i++) {
        if (ids->i[i] < 0 || (uint64_t)ids->i[i] >= rows) {
            eval_index_error(e, ids, i, rows);
            return;
        }
        const double *row = eval_rows(e, 1, (uint64_t)ids->i[i], 1, buffer);
        if (!row) return;
        for (uint64_t j = 0; j < width; j++) e->out[0].f[i * width + j] = row[j];
    }
}

void eval_dense(Eval *e) {
    switch (e->op->kind) {
    case OP_LINEAR: eval_linear(e); return;
    case OP_BILINEAR: eval_bilinear(e); return;
    case OP_MATMUL: eval_matmul(e); return;
    case OP_EMBEDDING: eval_embedding(e); return;
    default: ice("operator %d is not dense", (int)e->op->kind);
    }
}
