/* pack.c - the block of weights as a file: tensors converted to the bytes that generated code reads, batch norms
 * folded into what they follow, constants computed by the reference evaluator.
 *
 * Stored tensors are read and written CHUNK elements at a time, so that a tensor of any size takes a few MiB; what a
 * constant is made of is in memory whole, until its last use. */
#include "backend/c/c.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 18 };

typedef struct Pack {
    Ctx *c;
    const Graph *g;
    const Plan *p;
    const Supply *supply;
    const WeightLayout *layout;
    OutStream *out;
    Arena *scratch;
    const Op **norm; /* by value id of a weight or bias: the norm folded into it, or NULL */
    Tensor *values; /* by value id: constants and what they read; without memory: not there */
    uint32_t *left;                                       /* by value id: constants that still read it */
    uint32_t next;                                        /* the next op to look at for constants */
} Pack;

static const Value *standing(const Pack *k, const Value *v) {
    return v ? k->g->values.p[plan_repl(k->p, v->id)] : NULL;
}

/* ---- tensors ---- */

static bool put_tensor(Pack *k, const Tensor *t) {
    unsigned bits = dtype_bits(t->type.dtype);
    uint64_t nbytes = bits < 8 ? (t->n + 1) / 2 : t->n * (bits / 8);
    unsigned char *bytes = NEW_ARRAY(k->scratch, unsigned char, nbytes + 1);
    emit_c_encode(t, 0, bytes);
    return outstream_put(k->out, bytes, nbytes);
}

/* ---- folded batch norm ---- */

/* A small tensor whole, in double; NULL for an absent one. False after a diagnostic. */
static bool read_whole(Pack *k, const Value *v, double **f) {
    *f = NULL;
    if (!v) return true;
    Tensor t = {.type = v->type, .n = v->nelem, .f = NEW_ARRAY(k->scratch, double, v->nelem)};
    if (!k->supply->read(k->supply->data, v, 0, &t)) return false;
    tensor_narrow(&t);
    *f = t.f;
    return true;
}

/* scale = weight / sqrt(var + eps), shift = (old bias - mean) * scale + bias, by channel. */
static bool read_norm(Pack *k, const Op *norm, double **scale, double **shift) {
    double *weight, *bias, *mean, *var, *old;
    const Op *into = k->g->ops.p[k->p->into[norm->id]];
    uint64_t n = norm->in[0]->type.shape.dim[1];
    double eps = op_float(norm, A_eps);
    if (!read_whole(k, standing(k, op_in(norm, 1)), &weight) || !read_whole(k, standing(k, op_in(norm, 2)), &bias) ||
        !read_whole(k, standing(k, op_in(norm, 3)), &mean) || !read_whole(k, standing(k, op_in(norm, 4)), &var) ||
        !read_whole(k, standing(k, op_in(into, 2)), &old))
        return false;
    *scale = NEW_ARRAY(k->scratch, double, n);
    *shift = NEW_ARRAY(k->scratch, double, n);
    for (uint64_t i = 0; i < n; i++) {
        (*scale)[i] = (weight ? weight[i] : 1) / sqrt(var[i] + eps);
        (*shift)[i] = ((old ? old[i] : 0) - mean[i]) * (*scale)[i] + (bias ? bias[i] : 0);
    }
    return true;
}

/* The channel of the result that element i of a weight makes: rows of [out, ..], or for transposed [in, out / groups,
 * ..] the second axis within the group of the first. */
static uint64_t channel_of(const Op *op, const Value *w, uint64_t i) {
    const Shape *s = &w->type.shape;
    bool transposed =
        op->kind == OP_CONV_TRANSPOSE1D || op->kind == OP_CONV_TRANSPOSE2D || op->kind == OP_CONV_TRANSPOSE3D;
    uint64_t row = w->nelem / s->dim[0];
    if (!transposed) return i / row;
    uint64_t each = s->dim[0] / (uint64_t)op_int(op, A_groups), kernel = row / s->dim[1];
    return i / row / each * s->dim[1] + i % row / kernel;
}

static void find_folded(Pack *k) {
    for (size_t i = 0; i < k->g->ops.n; i++) {
        const Op *norm = k->g->ops.p[i];
        if (k->p->fate[i] != FATE_FOLDED) continue;
        const Op *into = k->g->ops.p[k->p->into[i]];
        k->norm[standing(k, into->in[1])->id] = norm;
        k->norm[bias_of(k->g, k->p, into, 2)->id] = norm;
    }
}

/* ---- stored tensors ---- */

static bool put_stored(Pack *k, const Value *v) {
    const Op *norm = k->norm[v->id], *into = norm ? k->g->ops.p[k->p->into[norm->id]] : NULL;
    bool weight = norm && standing(k, into->in[1]) == v;
    double *scale = NULL, *shift = NULL;
    bool ok = !norm || read_norm(k, norm, &scale, &shift);
    Tensor t = {.type = v->type, .is_int = !dtype_is_float(v->type.dtype)};
    t.f = chunk_new(CHUNK, sizeof *t.f);
    t.i = chunk_new(CHUNK, sizeof *t.i);
    unsigned char *bytes = chunk_new(CHUNK, 8);
    for (uint64_t first = 0; ok && first < v->nelem; first += t.n) {
        t.n = v->nelem - first < CHUNK ? v->nelem - first : CHUNK;
        t.type.shape = shape_of(1, &t.n);
        if (norm && !weight) memcpy(t.f, shift + first, t.n * sizeof *t.f);
        else ok = k->supply->read(k->supply->data, v, first, &t);
        if (!ok) break;
        tensor_narrow(&t);
        for (uint64_t i = 0; weight && i < t.n; i++) t.f[i] *= scale[channel_of(into, v, first + i)];
        emit_c_encode(&t, first, bytes);
        unsigned bits = dtype_bits(v->type.dtype);
        ok = outstream_put(k->out, bytes, bits < 8 ? (t.n + 1) / 2 : t.n * (bits / 8));
    }
    chunk_free(t.f);
    chunk_free(t.i);
    chunk_free(bytes);
    arena_reset(k->scratch);
    return ok;
}

/* ---- constants ---- */

static void tensor_new(Tensor *t, const Value *v) {
    *t = (Tensor){.type = v->type, .is_int = !dtype_is_float(v->type.dtype), .n = v->nelem};
    if (t->is_int) t->i = chunk_new(t->n ? t->n : 1, sizeof *t->i);
    else t->f = chunk_new(t->n ? t->n : 1, sizeof *t->f);
}

static void tensor_free(Tensor *t) {
    chunk_free(t->f);
    chunk_free(t->i);
    t->f = NULL;
    t->i = NULL;
}

static bool fetch(Pack *k, const Value *v) {
    Tensor *t = &k->values[v->id];
    if (t->f || t->i) return true;
    tensor_new(t, v);
    if (v->role != ROLE_CONST) {
        if (!k->supply->read(k->supply->data, v, 0, t)) return false;
    } else if (v->constant.kind == D_FLOAT) {
        t->f[0] = v->constant.f;
    } else {
        int64_t i = v->constant.kind == D_BOOL ? v->constant.b : v->constant.i;
        if (t->is_int) t->i[0] = i;
        else t->f[0] = (double)i;
    }
    tensor_narrow(t);
    return true;
}

static bool evaluate(Pack *k, const Op *op) {
    const Tensor **in = NEW_ARRAY(k->scratch, const Tensor *, op->nin);
    Tensor *out = NEW_ARRAY(k->scratch, Tensor, op->nout);
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *v = standing(k, op->in[i]);
        if (!v || !op_reads(op, i)) continue;
        if (!fetch(k, v)) return false;
        Tensor *seen = NEW(k->scratch, Tensor);
        *seen = k->values[v->id];
        seen->type = op->in[i]->type;
        in[i] = seen;
    }
    for (uint32_t i = 0; i < op->nout; i++) {
        tensor_new(&k->values[op->out[i]->id], op->out[i]);
        out[i] = k->values[op->out[i]->id];
    }
    Eval e = {.ctx = k->c, .arena = k->scratch, .op = op, .in = in, .out = out, .supply = k->supply};
    op_rules(op->kind)->eval(&e);
    if (diag_failed(k->c)) return false;
    for (uint32_t i = 0; i < op->nout; i++) tensor_narrow(&out[i]);
    return true;
}

static void release(Pack *k, const Value *v) {
    if (v && --k->left[v->id] == 0) tensor_free(&k->values[v->id]);
}

static bool is_constant(const Pack *k, size_t op) { return k->p->fate[op] == FATE_CONSTANT; }

static void count_reads(Pack *k) {
    for (size_t i = 0; i < k->g->ops.n; i++) {
        const Op *op = k->g->ops.p[i];
        for (uint32_t n = 0; is_constant(k, i) && n < op->nin; n++)
            if (op->in[n] && op_reads(op, n)) k->left[standing(k, op->in[n])->id]++;
        for (uint32_t n = 0; is_constant(k, i) && n < op->nout; n++)
            if (k->p->place[op->out[n]->id].buffer != NO_ID) k->left[op->out[n]->id]++; /* until it is written */
    }
}

/* Buffers of constants come in program order, so that the ops before v's are done when v is wanted. */
static bool put_constant(Pack *k, const Value *v) {
    for (; k->next <= v->def->id; k->next++) {
        const Op *op = k->g->ops.p[k->next];
        if (!is_constant(k, k->next)) continue;
        if (!evaluate(k, op)) return false;
        for (uint32_t i = 0; i < op->nin; i++)
            if (op->in[i] && op_reads(op, i)) release(k, standing(k, op->in[i]));
        arena_reset(k->scratch);
    }
    bool ok = put_tensor(k, &k->values[v->id]);
    release(k, v);
    arena_reset(k->scratch);
    return ok;
}

/* ---- the file ---- */

static bool put_padding(Pack *k, uint64_t *at, uint64_t to) {
    static const unsigned char zeros[WEIGHTS_ALIGN];
    bool ok = *at <= to && to - *at <= sizeof zeros;
    if (!ok) ice("the weights do not lie in their order");
    ok = outstream_put(k->out, zeros, to - *at);
    *at = to;
    return ok;
}

static bool put_header(Pack *k) {
    unsigned char header[WEIGHTS_HEADER] = "NETCWGT1";
    uint64_t numbers[2] = {k->layout->hash, k->layout->nbytes};
    for (unsigned i = 0; i < 16; i++) header[8 + i] = (unsigned char)(numbers[i / 8] >> i % 8 * 8);
    return outstream_put(k->out, header, sizeof header);
}

static bool put_all(Pack *k) {
    uint64_t at = WEIGHTS_HEADER;
    if (k->layout->nbytes == 0) return true;
    bool ok = put_header(k);
    for (size_t i = 0; ok && i < k->p->buffers.n; i++) {
        const Buffer *b = &k->p->buffers.p[i];
        if (b->kind != BUF_WEIGHT) continue;
        const Value *v = k->layout->owner[i];
        ok = put_padding(k, &at, k->layout->offset[i]) && (v->def ? put_constant(k, v) : put_stored(k, v));
        at += b->nbytes;
    }
    return ok && put_padding(k, &at, k->layout->nbytes);
}

bool emit_c_weights(Ctx *c, const Graph *g, const Plan *p, const Supply *supply, OutStream *out) {
    Arena *own = arena_new();
    Pack k = {.c = c,
              .g = g,
              .p = p,
              .supply = supply,
              .layout = weights_layout(c, g, p),
              .out = out,
              .scratch = arena_new()};
    k.norm = NEW_ARRAY(own, const Op *, g->values.n);
    k.values = NEW_ARRAY(own, Tensor, g->values.n);
    k.left = NEW_ARRAY(own, uint32_t, g->values.n);
    find_folded(&k);
    count_reads(&k);
    bool ok = put_all(&k);
    for (size_t i = 0; i < g->values.n; i++) tensor_free(&k.values[i]);
    arena_free(k.scratch);
    arena_free(own);
    return ok;
}
