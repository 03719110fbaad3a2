/* eval_recurrent.c - lstm, gru and rnn (see recurrent.c), layer by layer, direction by direction, step by step, with
 * torch.nn's order of gates: lstm input, forget, cell, output; gru reset, update, new. States are doubles throughout:
 * what is stored, and so narrowed, are the sequence and the last states. O(multiply-adds). */
#include <math.h>
#include <string.h>

#include "ops/eval.h"

typedef struct Layers {
    OpKind kind;
    uint64_t hidden, gates, layers, directions, batch, steps;
    bool batch_first, bias, relu;
    uint32_t nstates;                                     /* h alone, or h and c */
} Layers;

/* One layer in one direction. */
typedef struct Cell {
    const double *weight_ih, *weight_hh, *bias_ih, *bias_hh;   /* biases NULL without bias */
    uint64_t input, direction;
    double *from_x, *from_h;                              /* gates: (steps * batch, G * H); of a step (batch, G * H) */
    double *h, *c;                                        /* (batch, H) */
    double *panel;
} Cell;

static Layers layers_of(const Eval *e) {
    const Op *op = e->op;
    const Shape *s = &e->in[0]->type.shape;
    Layers r = {.kind = op->kind, .gates = op->kind == OP_LSTM ? 4 : op->kind == OP_GRU ? 3 : 1,
                .nstates = op->kind == OP_LSTM ? 2 : 1, .hidden = (uint64_t)op_int(op, A_hidden_size),
                .layers = (uint64_t)op_int(op, A_num_layers), .directions = op_bool(op, A_bidirectional) ? 2 : 1,
                .batch_first = op_bool(op, A_batch_first), .bias = op_bool(op, A_bias)};
    r.relu = op->kind == OP_RNN && strcmp(op_str(op, A_nonlinearity), "relu") == 0;
    r.steps = s->dim[s->rank == 3 && r.batch_first ? 1 : 0];
    r.batch = s->rank == 2 ? 1 : s->dim[r.batch_first ? 0 : 1];
    return r;
}

/* The row of a sequence that holds step t of batch n. */
static uint64_t row_of(const Layers *r, uint64_t t, uint64_t n) {
    return r->batch_first ? n * r->steps + t : t * r->batch + n;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

/* One row: x and h are its gates before they are added, biases included. */
static void step_lstm(uint64_t hidden, const double *x, const double *h, double *state, double *cell) {
    for (uint64_t j = 0; j < hidden; j++) {
        double gate[4];
        for (unsigned g = 0; g < 4; g++) gate[g] = x[g * hidden + j] + h[g * hidden + j];
        cell[j] = sigmoid(gate[1]) * cell[j] + sigmoid(gate[0]) * tanh(gate[2]);
        state[j] = sigmoid(gate[3]) * tanh(cell[j]);
    }
}

/* The reset gate takes h's part of the new one after its bias: torch.nn.GRU's form. */
static void step_gru(uint64_t hidden, const double *x, const double *h, double *state) {
    for (uint64_t j = 0; j < hidden; j++) {
        double reset = sigmoid(x[j] + h[j]), update = sigmoid(x[hidden + j] + h[hidden + j]);
        double new = tanh(x[2 * hidden + j] + reset * h[2 * hidden + j]);
        state[j] = (1 - update) * new + update * state[j];
    }
}

static void step_rnn(uint64_t hidden, const double *x, const double *h, double *state, bool relu) {
    for (uint64_t j = 0; j < hidden; j++) {
        double sum = x[j] + h[j];
        state[j] = !relu ? tanh(sum) : sum < 0 ? 0 : sum; /* NaN stays */
    }
}

/* out = in weight^T + bias, (rows, gates * hidden) */
static void gates_of(const Layers *r, uint64_t rows, uint64_t width, const double *in, const double *weight,
                     const double *bias, double *panel, double *out) {
    uint64_t n = r->gates * r->hidden;
    for (uint64_t i = 0; i < rows * n; i++) out[i] = bias ? bias[i % n] : 0;
    matrix_product(rows, n, width, in, (Right){weight, 1, width}, panel, out, n);
}

static void step(const Layers *r, const Cell *c, uint64_t t, double *y) {
    uint64_t gates = r->gates * r->hidden;
    gates_of(r, r->batch, r->hidden, c->h, c->weight_hh, c->bias_hh, c->panel, c->from_h);
    for (uint64_t n = 0; n < r->batch; n++) {
        uint64_t row = row_of(r, t, n);
        const double *x = c->from_x + row * gates, *h = c->from_h + n * gates;
        double *state = c->h + n * r->hidden;
        if (r->kind == OP_LSTM) step_lstm(r->hidden, x, h, state, c->c + n * r->hidden);
        else if (r->kind == OP_GRU) step_gru(r->hidden, x, h, state);
        else step_rnn(r->hidden, x, h, state, r->relu);
        memcpy(y + (row * r->directions + c->direction) * r->hidden, state, r->hidden * sizeof *state);
    }
}

/* The sequence x into the cell's half of y; its states begin in c->h and c->c and end there. */
static void run_cell(const Layers *r, const Cell *c, const double *x, double *y) {
    gates_of(r, r->steps * r->batch, c->input, x, c->weight_ih, c->bias_ih, c->panel, c->from_x);
    for (uint64_t i = 0; i < r->steps; i++) step(r, c, c->direction ? r->steps - 1 - i : i, y);
}

/* Operands of the cell-th layer and direction, and its states, which are part of the results. */
static void set_cell(Eval *e, const Layers *r, uint64_t cell, Cell *c) {
    uint32_t each = r->bias ? 4 : 2, at = 1 + r->nstates + (uint32_t)cell * each;
    uint64_t elems = r->batch * r->hidden;
    c->weight_ih = e->in[at]->f;
    c->weight_hh = e->in[at + 1]->f;
    c->bias_ih = r->bias ? e->in[at + 2]->f : NULL;
    c->bias_hh = r->bias ? e->in[at + 3]->f : NULL;
    c->input = e->in[at]->type.shape.dim[1];
    c->direction = cell % r->directions;
    for (uint32_t s = 0; s < r->nstates; s++) {
        const Tensor *initial = eval_in(e, 1 + s);
        double *state = e->out[1 + s].f + cell * elems;
        if (initial) memcpy(state, initial->f + cell * elems, elems * sizeof *state);
        *(s == 0 ? &c->h : &c->c) = state;
    }
}

void eval_recurrent(Eval *e) {
    Layers r = layers_of(e);
    uint64_t rows = r.steps * r.batch, gates = r.gates * r.hidden, width = r.directions * r.hidden;
    const Shape *s = &e->in[0]->type.shape;
    uint64_t widest = s->dim[s->rank - 1] > width ? s->dim[s->rank - 1] : width;
    Cell c = {.from_x = NEW_ARRAY(e->arena, double, rows * gates),
              .from_h = NEW_ARRAY(e->arena, double, r.batch * gates),
              .panel = NEW_ARRAY(e->arena, double, widest * PANEL)};
    const double *x = e->in[0]->f;
    for (uint64_t layer = 0; layer < r.layers; layer++) {
        double *y = layer + 1 == r.layers ? e->out[0].f : NEW_ARRAY(e->arena, double, rows * width);
        for (uint64_t d = 0; d < r.directions; d++) {
            set_cell(e, &r, layer * r.directions + d, &c);
            run_cell(&r, &c, x, y);
        }
        x = y;
    }
}
