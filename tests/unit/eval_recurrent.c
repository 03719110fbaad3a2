/* eval_recurrent.c - the reference evaluation of lstm, gru and rnn against torch.nn's formulas, element by element, of
 * several layers, both directions, each layout, with and without states and biases; and the order of gates by hand. */
#include "tests/unit/evallab.h"

typedef struct Case {
    OpKind kind;
    uint64_t steps, batch, input, hidden, layers, directions;
    bool batch_first, bias, states, relu, unbatched;
} Case;

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* The weights of one cell: [gates * H, in], [gates * H, H], and the biases, NULL for none. */
typedef struct Weights { const double *ih, *hh, *bih, *bhh; uint64_t input; } Weights;

static double from_input(const Weights *w, uint64_t row, const double *x) {
    double sum = w->bih ? w->bih[row] : 0;
    for (uint64_t i = 0; i < w->input; i++) sum += w->ih[row * w->input + i] * x[i];
    return sum;
}

static double from_state(const Weights *w, uint64_t hidden, uint64_t row, const double *h) {
    double sum = w->bhh ? w->bhh[row] : 0;
    for (uint64_t i = 0; i < hidden; i++) sum += w->hh[row * hidden + i] * h[i];
    return sum;
}

/* One step of one row: h and c from the states before it. */
static void step(Case k, const Weights *w, const double *x, double *h, double *c) {
    double before[8];
    uint64_t n = k.hidden;
    for (uint64_t j = 0; j < n; j++) before[j] = h[j];
    for (uint64_t j = 0; j < n; j++) {
        double a[4], s[4];
        for (unsigned g = 0; g < (k.kind == OP_LSTM ? 4u : k.kind == OP_GRU ? 3u : 1u); g++) {
            a[g] = from_input(w, g * n + j, x);
            s[g] = from_state(w, n, g * n + j, before);
        }
        if (k.kind == OP_LSTM) {
            c[j] = sigmoid(a[1] + s[1]) * c[j] + sigmoid(a[0] + s[0]) * tanh(a[2] + s[2]);
            h[j] = sigmoid(a[3] + s[3]) * tanh(c[j]);
        } else if (k.kind == OP_GRU) {
            double z = sigmoid(a[1] + s[1]);
            h[j] = (1 - z) * tanh(a[2] + sigmoid(a[0] + s[0]) * s[2]) + z * before[j];
        } else {
            h[j] = k.relu ? fmax(a[0] + s[0], 0) : tanh(a[0] + s[0]);
        }
    }
}

static uint64_t sequence_row(Case k, uint64_t t, uint64_t n) {
    return k.batch_first ? n * k.steps + t : t * k.batch + n;
}

/* x [rows, in] to y [rows, directions * H]; states of this layer begin in h and c [directions, N, H] and end there. */
static void layer(Case k, const Weights *w, const double *x, double *h, double *c, double *y) {
    for (uint64_t d = 0; d < k.directions; d++)
        for (uint64_t n = 0; n < k.batch; n++)
            for (uint64_t i = 0; i < k.steps; i++) {
                uint64_t row = sequence_row(k, d ? k.steps - 1 - i : i, n), state = (d * k.batch + n) * k.hidden;
                step(k, &w[d], x + row * w[d].input, h + state, c + state);
                for (uint64_t j = 0; j < k.hidden; j++) y[(row * k.directions + d) * k.hidden + j] = h[state + j];
            }
}

/* The operator under test: its results, and its weights as the graph's stored tensors, cell by cell. */
typedef struct Made { Value *results[3]; uint32_t nresults; } Made;

static uint32_t attributes(Bench *b, Case k, Attr *attrs) {
    attrs[0] = (Attr){A_hidden_size, d_int((int64_t)k.hidden)};
    attrs[1] = (Attr){A_num_layers, d_int((int64_t)k.layers)};
    attrs[2] = (Attr){A_bias, d_bool(k.bias)};
    attrs[3] = (Attr){A_batch_first, d_bool(k.batch_first)};
    attrs[4] = (Attr){A_bidirectional, d_bool(k.directions == 2)};
    if (k.kind == OP_RNN) attrs[5] = (Attr){A_nonlinearity, d_str(name_of(b->lab.ctx, k.relu ? "relu" : "tanh"))};
    return k.kind == OP_RNN ? 6 : 5;
}

/* As a call of the language, which makes an operator for each layer. */
static Made made_by_call(Bench *b, Case k, Value *const *operands) {
    Attr attrs[6];
    uint32_t n = attributes(b, k, attrs);
    Call *c = lab_call(&b->lab, op_info(k.kind)->name);
    lab_set(c, A_x, d_tensor(operands[0]));
    if (k.states) lab_set(c, A_h0, d_tensor(operands[1]));
    if (k.states && k.kind == OP_LSTM) lab_set(c, A_c0, d_tensor(operands[2]));
    for (uint32_t i = 0; i < n; i++) lab_set(c, attrs[i].name, attrs[i].value);
    CHECK(lab_bind(c) != NULL);
    Made m = {.nresults = c->result.list.n};
    for (uint32_t i = 0; i < m.nresults; i++) m.results[i] = c->result.list.p[i].tensor;
    return m;
}

/* As one operator of all layers, which printed IR may have. */
static Made made_whole(Bench *b, Case k, Value *const *operands) {
    uint64_t rows = (k.kind == OP_LSTM ? 4 : k.kind == OP_GRU ? 3 : 1) * k.hidden;
    Value *in[64] = {operands[0], operands[1], operands[2]};
    uint32_t nin = k.kind == OP_LSTM ? 3 : 2;
    for (uint64_t cell = 0; cell < k.layers * k.directions; cell++)
        for (unsigned w = 0; w < (k.bias ? 4u : 2u); w++) {
            uint64_t dims[] = {rows, w == 1 ? k.hidden : cell < k.directions ? k.input : k.directions * k.hidden};
            Type type = {DT_F64, shape_of(w < 2 ? 2 : 1, dims)};
            const char *name = graph_unique(b->lab.ctx, b->lab.g, "w");
            in[nin++] = graph_stored(b->lab.g, ROLE_PARAM, name, &type, (Init){INIT_ZEROS, 0, 0}, (Span){0});
        }
    Attr attrs[6];
    Typing t = {.ctx = b->lab.ctx, .kind = k.kind, .in = in, .nin = nin, .attrs = attrs, .arena = b->lab.ctx->unit};
    t.nattrs = attributes(b, k, attrs);
    CHECK(op_rules(k.kind)->infer(&t));
    const char *path = graph_unique(b->lab.ctx, b->lab.g, "whole");
    Op *op = graph_op(b->lab.g, k.kind, in, nin, attrs, t.nattrs, t.out.p, (uint32_t)t.out.n, path, (Span){0});
    Made m = {.nresults = op->nout};
    for (uint32_t i = 0; i < m.nresults; i++) m.results[i] = op->out[i];
    return m;
}

static Made make(Bench *b, Case k, const double *x, const double *h, const double *c, bool whole) {
    uint64_t dims[] = {k.batch_first ? k.batch : k.steps, k.batch_first ? k.steps : k.batch, k.input};
    uint64_t states[] = {k.layers * k.directions, k.batch, k.hidden};
    if (k.unbatched) dims[0] = k.steps, dims[1] = k.input, states[1] = k.hidden;
    unsigned rank = k.unbatched ? 2 : 3;
    Value *operands[3] = {given(b, DT_F64, rank, dims, x)};
    if (k.states) operands[1] = given(b, DT_F64, rank, states, h);
    if (k.states && k.kind == OP_LSTM) operands[2] = given(b, DT_F64, rank, states, c);
    return whole ? made_whole(b, k, operands) : made_by_call(b, k, operands);
}

/* Random content for the next stored tensor. */
static const double *feed_next(Bench *b, uint32_t *at) {
    const Value *v = b->lab.g->stored.p[(*at)++];
    const double *data = quarters(b, v->nelem);
    feed(b, v, data);
    return data;
}

static bool tensor_near(const Tensor *t, const double *wanted) {
    for (uint64_t i = 0; i < t->n; i++)
        if (!is_near(t->f[i], wanted[i], 1e-13)) return false;
    return true;
}

static void check_made_so(Case k, bool whole) {
    Bench b = bench_new(k.steps * 1000 + k.hidden);
    Arena *a = b.lab.ctx->unit;
    uint64_t rows = k.steps * k.batch, cell = k.directions * k.batch * k.hidden, all = k.layers * cell;
    double *x = quarters(&b, rows * k.input), *h = quarters(&b, all), *c = quarters(&b, all);
    Made m = make(&b, k, x, arena_copy(a, h, all * sizeof *h), arena_copy(a, c, all * sizeof *c), whole);
    for (uint64_t i = 0; !k.states && i < all; i++) h[i] = c[i] = 0;
    uint32_t at = 0;
    for (uint64_t l = 0; l < k.layers; l++) {
        Weights w[2];
        for (uint64_t d = 0; d < k.directions; d++) {
            w[d] = (Weights){.input = l == 0 ? k.input : k.directions * k.hidden};
            w[d].ih = feed_next(&b, &at);
            w[d].hh = feed_next(&b, &at);
            if (k.bias) w[d].bih = feed_next(&b, &at), w[d].bhh = feed_next(&b, &at);
        }
        double *y = NEW_ARRAY(a, double, rows * k.directions * k.hidden);
        layer(k, w, x, h + l * cell, c + l * cell, y);
        x = y;
    }
    CHECK(at == b.lab.g->stored.n && bench_evaluate(&b, m.results, m.nresults));
    CHECK(tensor_near(&b.results[0], x) && tensor_near(&b.results[1], h));
    if (k.kind == OP_LSTM) CHECK(tensor_near(&b.results[2], c));
    bench_free(&b);
}

static void check(Case k) {
    check_made_so(k, false);
    check_made_so(k, true);
}

/* All weights 0 and a different bias for each gate: what is left shows which gate is which. */
static void gates_by_hand(OpKind kind, uint32_t biased, double h, double c) {
    Bench b = bench_new(1);
    Case k = {kind, 1, 1, 1, 1, 1, 1, false, true, true, false, false};
    const double one[] = {1}, half[] = {0.5}, none[] = {0, 0, 0, 0}, bias[] = {0.1, 0.2, 0.3, 0.4};
    Made m = make(&b, k, one, half, one, false);
    for (uint32_t i = 0; i < 4; i++) feed(&b, b.lab.g->stored.p[i], i == biased ? bias : none);
    CHECK(bench_evaluate(&b, m.results, m.nresults) && RESULTS(&b, 1e-15, h));
    if (kind == OP_LSTM) CHECK(is_near(b.results[2].f[0], c, 1e-15));
    bench_free(&b);
}

int main(void) {
    static const OpKind kinds[] = {OP_LSTM, OP_GRU, OP_RNN};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        OpKind kind = kinds[i];
        check((Case){kind, 4, 2, 3, 5, 1, 1, false, true, false, false, false});
        check((Case){kind, 4, 3, 3, 4, 1, 1, true, true, true, true, false});
        check((Case){kind, 3, 2, 3, 2, 3, 1, false, false, true, false, false});
        check((Case){kind, 3, 2, 5, 2, 2, 2, true, true, true, true, false});
        check((Case){kind, 5, 2, 1, 3, 2, 2, false, true, false, false, false});
        check((Case){kind, 4, 1, 3, 2, 2, 2, false, true, true, false, true});
        check((Case){kind, 1, 0, 3, 2, 2, 1, false, true, true, false, false});
    }
    double c = sigmoid(0.2) * 1 + sigmoid(0.1) * tanh(0.3), z = sigmoid(0.2);
    gates_by_hand(OP_LSTM, 2, sigmoid(0.4) * tanh(c), c);
    gates_by_hand(OP_LSTM, 3, sigmoid(0.4) * tanh(c), c);
    gates_by_hand(OP_GRU, 3, (1 - z) * tanh(sigmoid(0.1) * 0.3) + z * 0.5, 0);            /* bias_hh */
    gates_by_hand(OP_GRU, 2, (1 - z) * tanh(0.3) + z * 0.5, 0);
    return check_done();
}
