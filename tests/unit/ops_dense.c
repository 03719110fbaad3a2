/* ops_dense.c - matmul's broadcasting against an own statement of NumPy's rule, and the parameters and multiply-adds of
 * the dense, attention and recurrent families against figures of PyTorch models and against formulas written out. */
#include <string.h>

#include "tests/unit/opcall.h"

/* NumPy's rule: pad both to matrices, broadcast what leads, drop what was padded. False when it does not fit. */
static bool numpy_matmul(Shape a, Shape b, Shape *r) {
    bool row = a.rank == 1, column = b.rank == 1;
    if (row) a = shape_of(2, (uint64_t[]){1, a.dim[0]});
    if (column) b = shape_of(2, (uint64_t[]){b.dim[0], 1});
    if (a.dim[a.rank - 1] != b.dim[b.rank - 2]) return false;
    unsigned rank = a.rank > b.rank ? a.rank : b.rank;
    uint64_t dims[MAX_RANK];
    for (unsigned i = 0; i + 2 < rank; i++) {
        unsigned from_end = rank - i;
        uint64_t x = from_end <= a.rank ? a.dim[a.rank - from_end] : 1,
                 y = from_end <= b.rank ? b.dim[b.rank - from_end] : 1;
        if (x != y && x != 1 && y != 1) return false;
        dims[i] = x == 1 ? y : x;
    }
    unsigned n = rank - 2;
    if (!row) dims[n++] = a.dim[a.rank - 2];
    if (!column) dims[n++] = b.dim[b.rank - 1];
    *r = shape_of(n, dims);
    return true;
}

/* The i-th shape of rank 1 to 4 with sizes 1 to 3. */
static bool nth_shape(unsigned i, Shape *s) {
    unsigned rank = 1, count = 3;
    for (; rank <= 4 && i >= count; i -= count, count *= 3) rank++;
    if (rank > 4) return false;
    uint64_t dims[4];
    for (unsigned k = 0; k < rank; k++, i /= 3) dims[k] = 1 + i % 3;
    *s = shape_of(rank, dims);
    return true;
}

static void matmuls(void) {
    Shape a, b, wanted;
    for (unsigned i = 0; nth_shape(i, &a); i++) {
        Lab l = lab_new();
        for (unsigned k = 0; nth_shape(k, &b); k++) {
            Call *c = lab_call(&l, "matmul");
            lab_set(c, A_x, d_tensor(lab_input(&l, DT_F32, a.rank, a.dim)));
            lab_set(c, A_other, d_tensor(lab_input(&l, DT_F32, b.rank, b.dim)));
            Op *op = lab_bind(c);
            CHECK((op != NULL) == numpy_matmul(a, b, &wanted));
            if (op)
                CHECK(shape_equal(&op->out[0]->type.shape, &wanted) &&
                      op->macs == shape_elems(&wanted) * a.dim[a.rank - 1]);
        }
        ctx_free(l.ctx);
    }
}

/* ---- sums over a graph */

static uint64_t params(const Graph *g) {
    uint64_t n = 0;
    for (size_t i = 0; i < g->ops.n; i++) n += g->ops.p[i]->params;
    return n;
}

static uint64_t macs(const Graph *g) {
    uint64_t n = 0;
    for (size_t i = 0; i < g->ops.n; i++) n += g->ops.p[i]->macs;
    return n;
}

static bool stored_are(const Graph *g, const char *wanted) {
    StrBuf sb;
    sb_init(&sb, g->arena);
    for (size_t i = 0; i < g->stored.n; i++)
        sb_printf(&sb, "%s%s%s", i ? " " : "", g->stored.p[i]->name, shape_text(g->arena, &g->stored.p[i]->type.shape));
    if (strcmp(sb_str(&sb), wanted) == 0) return true;
    fprintf(stderr, "stored: %s\n", sb_str(&sb));
    return false;
}

static bool all_again(Lab *l) {
    for (size_t i = 0; i < l->g->ops.n; i++)
        if (!lab_again(l, l->g->ops.p[i])) return false;
    return true;
}

/* ---- attention */

static Op *mha(Lab *l, Value *q, Value *k, Value *v, int64_t heads, bool batch_first) {
    Call *c = lab_call(l, "multihead_attention");
    lab_set(c, A_q, d_tensor(q));
    if (k) lab_set(c, A_k, d_tensor(k));
    if (v) lab_set(c, A_v, d_tensor(v));
    if (k && k->type.shape.dim[2] != q->type.shape.dim[2]) lab_set(c, A_kdim, d_int((int64_t)k->type.shape.dim[2]));
    if (v && v->type.shape.dim[2] != q->type.shape.dim[2]) lab_set(c, A_vdim, d_int((int64_t)v->type.shape.dim[2]));
    lab_set(c, A_num_heads, d_int(heads));
    lab_set(c, A_batch_first, d_bool(batch_first));
    return lab_bind(c);
}

/* Width 64, 4 heads, 10 tokens: 16,640 parameters and 176,640 multiply-adds, in each of the three forms of x. */
static void self_attention(void) {
    static const uint64_t forms[][3] = {{1, 10, 64}, {10, 1, 64}, {10, 64}};
    for (unsigned i = 0; i < 3; i++) {
        Lab l = lab_new();
        Op *op = mha(&l, lab_input(&l, DT_F32, i == 2 ? 2 : 3, forms[i]), NULL, NULL, 4, i == 0);
        CHECK(op && shape_equal(&op->out[0]->type.shape, &l.g->inputs.p[0]->type.shape));
        CHECK(params(l.g) == 16640 && macs(l.g) == 176640 && all_again(&l));
        CHECK(stored_are(l.g, "in_proj_weight[192, 64] in_proj_bias[192] out_proj.weight[64, 64] out_proj.bias[64]"));
        ctx_free(l.ctx);
    }
}

/* Keys and values of another tensor: 2 x 7 queries, 5 keys, width 8, 2 heads; packed, then with widths of their own. */
static void cross_attention(void) {
    Lab l = lab_new();
    Value *q = lab_input(&l, DT_F32, 3, (uint64_t[]){2, 7, 8}), *k = lab_input(&l, DT_F32, 3, (uint64_t[]){2, 5, 8});
    CHECK(mha(&l, q, k, NULL, 2, true) && params(l.g) == 4 * 8 * 8 + 4 * 8);
    CHECK(macs(l.g) == 2 * (7 * 64 + 2 * 5 * 64 + 7 * 64) + 2 * 2 * 7 * 5 * (4 + 4) && all_again(&l));
    ctx_free(l.ctx);
    l = lab_new();
    q = lab_input(&l, DT_F32, 3, (uint64_t[]){2, 7, 8}), k = lab_input(&l, DT_F32, 3, (uint64_t[]){2, 5, 3});
    Value *v = lab_input(&l, DT_F32, 3, (uint64_t[]){2, 5, 6});
    CHECK(mha(&l, q, k, v, 2, true) && params(l.g) == 8 * (8 + 3 + 6 + 8) + 4 * 8 && all_again(&l));
    CHECK(stored_are(l.g, "q_proj_weight[8, 8] k_proj_weight[8, 3] v_proj_weight[8, 6] in_proj_bias[24] "
                          "out_proj.weight[8, 8] out_proj.bias[8]"));
    CHECK(!mha(&l, q, k, v, 3, true) && !mha(&l, q, k, q, 2, true));
    ctx_free(l.ctx);
}

static Op *sdpa(Lab *l, const uint64_t q[4], const uint64_t k[4], const uint64_t v[4], bool grouped) {
    Call *c = lab_call(l, "scaled_dot_product_attention");
    lab_set(c, A_q, d_tensor(lab_input(l, DT_F16, 4, q)));
    lab_set(c, A_k, d_tensor(lab_input(l, DT_F16, 4, k)));
    lab_set(c, A_v, d_tensor(lab_input(l, DT_F16, 4, v)));
    lab_set(c, A_enable_gqa, d_bool(grouped));
    return lab_bind(c);
}

static void grouped_attention(void) {
    Lab l = lab_new();
    uint64_t q[] = {2, 8, 3, 16}, k[] = {2, 2, 5, 16}, v[] = {2, 4, 5, 6}, odd[] = {2, 3, 5, 16};
    Op *op = sdpa(&l, q, k, v, true);
    CHECK(op && shape_equal(&op->out[0]->type.shape, &(Shape){4, {2, 8, 3, 6}}) && op_float(op, A_scale) == 0.25);
    CHECK(op->macs == 2 * 8 * 3 * 5 * (16 + 6));
    CHECK(op_scratch(op, false) == 2 * 8 * 3 * 5 * 2 && op_scratch(op, true) == 0);
    CHECK(!diag_failed(l.ctx) && !sdpa(&l, q, k, v, false) && !sdpa(&l, q, odd, odd, true));
    ctx_free(l.ctx);
}

/* ---- recurrence */

/* The call; its result is a list of the sequence and the states. NULL when it was refused. */
static Call *recurrent(Lab *l, const char *name, unsigned rank, const uint64_t *dims, int64_t hidden, int64_t layers,
                       bool both, bool bias) {
    Call *c = lab_call(l, name);
    lab_set(c, A_x, d_tensor(lab_input(l, DT_F32, rank, dims)));
    lab_set(c, A_hidden_size, d_int(hidden));
    lab_set(c, A_num_layers, d_int(layers));
    lab_set(c, A_bidirectional, d_bool(both));
    lab_set(c, A_bias, d_bool(bias));
    return lab_bind(c) ? c : NULL;
}

static bool result_is(const Call *c, uint32_t i, unsigned rank, const uint64_t *dims) {
    Shape want = shape_of(rank, dims);
    const Datum *r = &c->result;
    return r->kind == D_LIST && i < r->list.n && shape_equal(&r->list.p[i].tensor->type.shape, &want);
}

/* The same layers as one operator, as printed IR may have it: its counts are those of its parts together. */
static bool as_one(Lab *l, Call *c, int64_t layers) {
    Value *in[64] = {l->g->inputs.p[0]};
    Attr attrs[8];
    const Op *part = NULL;
    uint32_t n = c->info->kind == OP_LSTM ? 3 : 2;
    for (size_t i = 0; i < l->g->ops.n; i++)
        if (l->g->ops.p[i]->kind == c->info->kind) part = l->g->ops.p[i];
    for (size_t i = 0; i < l->g->stored.n; i++) in[n++] = l->g->stored.p[i];
    for (uint32_t i = 0; i < part->nattrs; i++) {
        attrs[i] = part->attrs[i];
        if (attrs[i].name == A_num_layers) attrs[i].value = d_int(layers);
    }
    uint64_t want = macs(l->g);
    const Op *op = call_op(c, c->info->kind, in, n, attrs, part->nattrs, "whole");
    return op && op->macs == want && lab_again(l, op) &&
           shape_equal(&op->out[1]->type.shape, &c->result.list.p[1].tensor->type.shape);
}

/* Multiply-adds by the loops that would do them. */
static uint64_t count_recurrent(uint64_t gates, uint64_t steps, uint64_t batch, uint64_t input, uint64_t hidden,
                                uint64_t layers, uint64_t directions) {
    uint64_t n = 0;
    for (uint64_t layer = 0; layer < layers; layer++)
        for (uint64_t cell = 0; cell < directions * steps * batch; cell++)
            for (uint64_t gate = 0; gate < gates * hidden; gate++)
                n += (layer == 0 ? input : directions * hidden) + hidden;
    return n;
}

static void recurrences(void) {
    Lab l = lab_new();
    Call *c = recurrent(&l, "lstm", 3, (uint64_t[]){10, 1, 32}, 48, 2, false, true);
    CHECK(c && params(l.g) == 34560 && macs(l.g) == 337920 && c->result.list.n == 3 && c->result.list.lead);
    CHECK(op_scratch(l.g->ops.p[0], true) == 4 * 48 * 4);
    ctx_free(l.ctx);
    static const struct { const char *name; uint64_t gates; } kinds[] = {{"lstm", 4}, {"gru", 3}, {"rnn", 1}};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned layers = 1; layers <= 3; layers++)
            for (unsigned both = 0; both < 2; both++) {
                l = lab_new();
                c = recurrent(&l, kinds[i].name, 3, (uint64_t[]){4, 2, 3}, 5, layers, both, false);
                CHECK(c && macs(l.g) == count_recurrent(kinds[i].gates, 4, 2, 3, 5, layers, both + 1));
                CHECK(c && result_is(c, 0, 3, (uint64_t[]){4, 2, 5 * (both + 1)}));
                CHECK(c && result_is(c, 1, 3, (uint64_t[]){layers * (both + 1), 2, 5}));
                CHECK(c && as_one(&l, c, layers));
                ctx_free(l.ctx);
            }
    l = lab_new();
    c = recurrent(&l, "gru", 2, (uint64_t[]){4, 3}, 2, 1, true, true);
    CHECK(c && result_is(c, 1, 2, (uint64_t[]){2, 2}));
    CHECK(stored_are(l.g,
                     "weight_ih_l0[6, 3] weight_hh_l0[6, 2] bias_ih_l0[6] bias_hh_l0[6] weight_ih_l0_reverse[6, 3] "
                     "weight_hh_l0_reverse[6, 2] bias_ih_l0_reverse[6] bias_hh_l0_reverse[6]"));
    CHECK(!diag_failed(l.ctx) && !recurrent(&l, "rnn", 3, (uint64_t[]){0, 2, 3}, 5, 1, false, true));
    ctx_free(l.ctx);
}

/* Two layers: the first one's input dies before the second runs; given states are cut, the last ones joined. */
static void layers(void) {
    Lab l = lab_new();
    Call *c = lab_call(&l, "gru");
    lab_set(c, A_x, d_tensor(lab_input(&l, DT_F32, 3, (uint64_t[]){4, 2, 3})));
    lab_set(c, A_h0, d_tensor(lab_input(&l, DT_F32, 3, (uint64_t[]){4, 2, 5})));
    lab_set(c, A_hidden_size, d_int(5));
    lab_set(c, A_num_layers, d_int(2));
    lab_set(c, A_bidirectional, d_bool(true));
    CHECK(lab_bind(c) && l.g->ops.n == 5);
    static const OpKind kinds[] = {OP_SLICE, OP_GRU, OP_SLICE, OP_GRU, OP_CAT};
    for (size_t i = 0; i < l.g->ops.n && i < COUNT_OF(kinds); i++) CHECK(l.g->ops.p[i]->kind == kinds[i]);
    CHECK(l.g->ops.p[3]->in[0] == l.g->ops.p[1]->out[0] && l.g->ops.p[3]->in[1] == l.g->ops.p[2]->out[0]);
    CHECK(l.g->ops.p[4]->in[0] == l.g->ops.p[1]->out[1] && l.g->ops.p[4]->in[1] == l.g->ops.p[3]->out[1]);
    ctx_free(l.ctx);
    l = lab_new();                                        /* the whole of h0 is checked, before it is cut */
    c = lab_call(&l, "rnn");
    lab_set(c, A_x, d_tensor(lab_input(&l, DT_F32, 3, (uint64_t[]){4, 2, 3})));
    lab_set(c, A_h0, d_tensor(lab_input(&l, DT_F32, 3, (uint64_t[]){3, 2, 5})));
    lab_set(c, A_hidden_size, d_int(5));
    lab_set(c, A_num_layers, d_int(2));
    CHECK(!lab_bind(c) && l.g->ops.n == 0);
    ctx_free(l.ctx);
}

/* ---- parameters are counted once, where they are first read */

static void tied(void) {
    Lab l = lab_new();
    Value *x = lab_input(&l, DT_F32, 2, (uint64_t[]){1, 64});
    Call *c = lab_call(&l, "linear");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_out, d_int(64));
    lab_set(c, A_bias, d_bool(false));
    Op *first = lab_bind(c);
    CHECK(first != NULL && first->params == 4096);
    Call *again = lab_call(&l, "linear");
    lab_set(again, A_x, d_tensor(first->out[0]));
    lab_set(again, A_out, d_int(64));
    lab_set(again, A_bias, d_bool(false));
    lab_set(again, A_weight, d_tensor(first->in[1]));
    Op *second = lab_bind(again);
    CHECK(second != NULL && second->params == 0 && macs(l.g) == 8192 && params(l.g) == 4096);
    ctx_free(l.ctx);
}

/* 2^90 multiply-adds: the count stops at the top and does not wrap. */
static void saturated(void) {
    Lab l = lab_new();
    Call *c = lab_call(&l, "matmul");
    uint64_t a[] = {UINT64_C(1) << 30, UINT64_C(1) << 30}, b[] = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    lab_set(c, A_x, d_tensor(lab_input(&l, DT_I8, 2, a)));
    lab_set(c, A_other, d_tensor(lab_input(&l, DT_I8, 2, b)));
    Op *op = lab_bind(c);
    CHECK(op && op->macs == UINT64_MAX);
    ctx_free(l.ctx);
}

int main(void) {
    matmuls();
    self_attention();
    cross_attention();
    grouped_attention();
    recurrences();
    layers();
    tied();
    saturated();
    return check_done();
}
