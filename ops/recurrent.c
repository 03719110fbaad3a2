/* recurrent.c - lstm, gru and rnn of several layers, one or both directions, as torch.nn.LSTM, GRU and RNN.
 *
 * Operands     x [T, N, I], or [N, T, I] with batch_first, or [T, I] without a batch; the initial states h0 (and c0 for
 *              lstm) [layers * directions, N, H] or none; then for each layer and direction weight_ih [G * H, in],
 *              weight_hh [G * H, H] and, with bias, bias_ih and bias_hh [G * H]. G = 4 (lstm), 3 (gru), 1 (rnn) gates;
 *              in = I in the first layer, directions * H in the others. Names end in _l0, _l0_reverse, _l1 ...
 * Attributes   hidden_size, num_layers, bias, batch_first, bidirectional; rnn: nonlinearity "tanh" or "relu"
 * Results      y: x's form with directions * H wide; the last states h (and c) of the form of h0
 * Multiply-adds  a step, row, layer and direction: G * H * (in + H)
 * A call with several layers is bound to one operator a layer, lstm#1/l0, lstm#1/l1 ..., so that what a layer read can
 * die before the next one runs: h0 and c0 are cut into the layers' parts, the last states joined again. Both directions
 * of a layer stay one operator. An operator of several layers, as printed IR may have it, means the same.
 *
 * Workspace    What a kernel needs that steps through time with all rows of the batch at once: the gates of one step
 *              (gru keeps the two halves of its new gate apart, so 4), in f32 at least; cell states live in the result
 *              c. A further layer of one direction may overwrite y step by step; with two directions it needs the whole
 *              sequence that it reads beside y, so one more sequence. */
#include <math.h>
#include <string.h>

#include "ops/axes.h"
#include "ops/eval.h"

typedef unsigned long long ull;

/* The sizes of a call or op, all checked to be at least 1 but for the batch. */
typedef struct Recurrence {
    OpKind kind;
    uint64_t hidden, layers, directions, gates;           /* gates: G */
    uint64_t input, batch, steps;
    bool bias, batch_first, batched;
    uint32_t nstates;                                     /* h alone, or h and c */
} Recurrence;

static uint64_t gates_of(OpKind kind) {
    return kind == OP_LSTM ? 4 : kind == OP_GRU ? 3 : 1;
}

/* The shape of the input sequence, with hidden, layers and directions already known. */
static bool read_input(Typing *t, const Value *x, Recurrence *r) {
    const char *form = r->batch_first ? "[N, T, features] or [T, features]" : "[T, N, features] or [T, features]";
    if (!typing_rank(t, x, 2, 3, form) || !typing_float(t, x)) return false;
    const Shape *s = &x->type.shape;
    r->batched = s->rank == 3;
    r->input = s->dim[s->rank - 1];
    r->steps = s->dim[r->batched && r->batch_first ? 1 : 0];
    r->batch = r->batched ? s->dim[r->batch_first ? 0 : 1] : 1;
    if (r->input > 0 && r->steps > 0) return true;
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s needs at least one %s, but this is %s",
                   op_info(t->kind)->name, r->steps == 0 ? "step" : "feature", x_text(t, x));
    note_value(t->ctx, d, x);
    return false;
}

static bool read_sizes(Typing *t, int64_t hidden, int64_t layers, Recurrence *r) {
    if (!typing_at_least(t, A_hidden_size, &hidden, 1, 1) || !typing_at_least(t, A_num_layers, &layers, 1, 1))
        return false;
    r->kind = t->kind;
    r->gates = gates_of(t->kind);
    r->nstates = t->kind == OP_LSTM ? 2 : 1;
    r->hidden = (uint64_t)hidden;
    r->layers = (uint64_t)layers;
    if (r->hidden <= INT64_MAX / 8 && r->layers <= t->ctx->max_ops)
        return true; /* then their products by 8 do not wrap */
    diag(t->ctx, r->layers > t->ctx->max_ops ? DIAG_UNROLL_LIMIT : DIAG_TOO_LARGE, t->span,
         "%s of %lld features and %lld layers is too large", op_info(t->kind)->name, (long long)hidden,
         (long long)layers);
    return false;
}

static uint64_t input_of_layer(const Recurrence *r, uint64_t layer) {
    return layer == 0 ? r->input : r->directions * r->hidden;
}

/* [layers * directions, N, H], or without N */
static Shape state_shape(const Recurrence *r) {
    if (!r->batched) return shape_of(2, (uint64_t[]){r->layers * r->directions, r->hidden});
    return shape_of(3, (uint64_t[]){r->layers * r->directions, r->batch, r->hidden});
}

static uint32_t weights_of_cell(const Recurrence *r) {
    return r->bias ? 4 : 2;
}

static uint32_t count_operands(const Recurrence *r) {
    return 1 + r->nstates + (uint32_t)(r->layers * r->directions) * weights_of_cell(r);
}

/* The shape of the w-th weight of a cell: weight_ih, weight_hh, bias_ih, bias_hh. */
static Shape weight_shape(const Recurrence *r, uint64_t layer, uint32_t w) {
    uint64_t rows = r->gates * r->hidden;
    if (w >= 2) return shape_of(1, &rows);
    return shape_of(2, (uint64_t[]){rows, w == 0 ? input_of_layer(r, layer) : r->hidden});
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const char *const weight_names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};

/* The weights of one layer and direction; PyTorch draws all of them within 1 / sqrt(H). */
static bool make_cell(Call *c, const Recurrence *r, uint64_t layer, uint64_t direction, Value **in) {
    double bound = 1 / sqrt((double)r->hidden);
    for (uint32_t w = 0; w < weights_of_cell(r); w++) {
        const char *name =
            arena_printf(c->ctx->unit, "%s_l%llu%s", weight_names[w], (ull)layer, direction ? "_reverse" : "");
        Shape s = weight_shape(r, layer, w);
        in[w] = call_stored(c, name, ROLE_PARAM, call_tensor(c, A_x)->type.dtype, s.rank, s.dim,
                            (Init){INIT_UNIFORM, -bound, bound});
        if (!in[w]) return false;
    }
    return true;
}

static bool check_operand(Typing *t, const Value *v, const Shape *wanted, const char *what, Span span) {
    const Value *x = t->in[0];
    if (!shape_equal(&v->type.shape, wanted)) {
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, span, "%s of %s on %s must be %s, but this is %s", what,
                       op_info(t->kind)->name, x_text(t, x), shape_text(t->ctx->scratch, wanted), x_text(t, v));
        note_value(t->ctx, d, v);
        note_value(t->ctx, d, x);
        return false;
    }
    return typing_same_dtype(t, x, v);
}

static bool check_states_given(Call *c) {
    if (c->info->kind != OP_LSTM || call_is_none(c, A_h0) == call_is_none(c, A_c0)) return true;
    Diag *d = diag(c->ctx, DIAG_MISSING_ARGUMENT, c->span, "lstm takes both initial states or none, and %s is missing",
                   call_is_none(c, A_h0) ? "h0" : "c0");
    diag_help(c->ctx, d, "the states follow the input: lstm(x, h0, c0, hidden_size)");
    return false;
}

/* A slice of the layers' states; absent ones stay absent. */
static Value *states_of_layer(Call *c, const Recurrence *r, Value *states, uint64_t layer, const char *suffix) {
    int64_t first = (int64_t)(layer * r->directions), end = first + (int64_t)r->directions;
    Attr attrs[4] = {{A_dim, d_int(0)}, {A_start, d_int(first)}, {A_end, d_int(end)}, {A_step, d_int(1)}};
    Op *op = states ? call_op(c, OP_SLICE, &states, 1, attrs, 4, suffix) : NULL;
    return op ? op->out[0] : NULL;
}

/* An operator of `layers` layers from `first` on, the weights of which follow its operands x and states. */
static Op *make_op(Call *c, const Recurrence *r, Value **in, uint64_t first, uint64_t layers, const char *suffix) {
    Value **next = in + 1 + r->nstates;
    for (uint64_t layer = first; layer < first + layers; layer++)
        for (uint64_t d = 0; d < r->directions; d++, next += weights_of_cell(r))
            if (!make_cell(c, r, layer, d, next)) return NULL;
    Attr attrs[6] = {{A_hidden_size, d_int((int64_t)r->hidden)},
                     {A_num_layers, d_int((int64_t)layers)},
                     {A_bias, d_bool(r->bias)},
                     {A_batch_first, d_bool(r->batch_first)},
                     {A_bidirectional, d_bool(r->directions == 2)}};
    if (r->kind == OP_RNN) attrs[5] = (Attr){A_nonlinearity, d_str(call_str(c, A_nonlinearity))};
    return call_op(c, r->kind, in, (uint32_t)(next - in), attrs, r->kind == OP_RNN ? 6 : 5, suffix);
}

static bool join_states(Call *c, const Recurrence *r, Op *const *layers, Datum *results) {
    static const char *const names[] = {"h", "c"};
    Value **parts = NEW_ARRAY(c->ctx->unit, Value *, r->layers);
    Attr dim = {A_dim, d_int(0)};
    for (uint32_t s = 0; s < r->nstates; s++) {
        for (uint64_t i = 0; i < r->layers; i++) parts[i] = layers[i]->out[1 + s];
        Op *op = call_op(c, OP_CAT, parts, (uint32_t)r->layers, &dim, 1, names[s]);
        if (!op) return false;
        results[1 + s] = d_tensor(op->out[0]);
    }
    return true;
}

static bool bind_layers(Call *c, const Recurrence *r, Value *const *given) {
    static const char *const names[] = {"h0", "c0"};
    Op **layers = NEW_ARRAY(c->ctx->unit, Op *, r->layers);
    Datum results[3] = {0};
    Value **in = NEW_ARRAY(c->ctx->unit, Value *, count_operands(r));
    in[0] = given[0];
    for (uint64_t i = 0; i < r->layers; i++) {
        const char *name = arena_printf(c->ctx->unit, "l%llu", (ull)i);
        for (uint32_t s = 0; s < r->nstates; s++) {
            in[1 + s] = states_of_layer(c, r, given[1 + s], i, arena_printf(c->ctx->unit, "%s_%s", name, names[s]));
            if (given[1 + s] && !in[1 + s]) return false;
        }
        layers[i] = make_op(c, r, in, i, 1, name);
        if (!layers[i]) return false;
        in[0] = layers[i]->out[0];
    }
    if (!join_states(c, r, layers, results)) return false;
    results[0] = d_tensor(in[0]);
    c->result = d_list(c->ctx->unit, results, 1 + r->nstates);
    c->result.list.lead = true;
    return true;
}

/* The whole h0 and c0, before they are cut. */
static bool check_states(Call *c, Typing *t, const Recurrence *r, Value *const *given) {
    static const AttrName names[] = {A_h0, A_c0};
    Shape state = state_shape(r);
    t->in = given;
    for (uint32_t s = 0; s < r->nstates; s++)
        if (given[1 + s] &&
            !check_operand(t, given[1 + s], &state, attr_name(names[s]), call_arg(c, names[s])->span))
            return false;
    return true;
}

static bool bind(Call *c) {
    Typing t = call_typing(c);
    Recurrence r = {.bias = call_bool(c, A_bias), .batch_first = call_bool(c, A_batch_first)};
    r.directions = call_bool(c, A_bidirectional) ? 2 : 1;
    Value *c0 = c->info->kind == OP_LSTM ? call_tensor(c, A_c0) : NULL;
    Value *given[3] = {call_tensor(c, A_x), call_tensor(c, A_h0), c0};
    if (!read_sizes(&t, call_int(c, A_hidden_size), call_int(c, A_num_layers), &r) || !read_input(&t, given[0], &r) ||
        !check_states_given(c))
        return false;
    if (r.layers > 1) return check_states(c, &t, &r, given) && bind_layers(c, &r, given);
    Value **in = NEW_ARRAY(c->ctx->unit, Value *, count_operands(&r));
    for (uint32_t i = 0; i <= r.nstates; i++) in[i] = given[i];
    return call_result(c, make_op(c, &r, in, 0, 1, NULL));
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool check_operands(Typing *t, const Recurrence *r) {
    uint32_t at = 1 + r->nstates;
    Shape state = state_shape(r);
    if (!need_operands(t, 1, count_operands(r))) return false;
    if (typing_in(t, 1) && !check_operand(t, t->in[1], &state, "h0", typing_span(t, A_h0))) return false;
    if (r->nstates == 2 && typing_in(t, 2) && !check_operand(t, t->in[2], &state, "c0", typing_span(t, A_c0)))
        return false;
    for (uint64_t cell = 0; cell < r->layers * r->directions; cell++)
        for (uint32_t w = 0; w < weights_of_cell(r); w++, at++) {
            Shape s = weight_shape(r, cell / r->directions, w);
            if (!typing_in(t, at)) return need_operands(t, count_operands(r), count_operands(r));
            if (!check_operand(t, t->in[at], &s, weight_names[w], t->span)) return false;
        }
    return true;
}

static bool check_nonlinearity(Typing *t) {
    static const char *const words[] = {"tanh", "relu"};
    const Datum *word = need_attr(t, A_nonlinearity, D_STR);
    if (!word) return false;
    if (strcmp(word->s, "tanh") == 0 || strcmp(word->s, "relu") == 0) return true;
    Diag *d =
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_nonlinearity), "rnn has no nonlinearity \"%s\"", word->s);
    diag_suggest(t->ctx, d, word->s, words, COUNT_OF(words));
    return false;
}

static bool need_flags(Typing *t) {
    return need_attr(t, A_bias, D_BOOL) && need_attr(t, A_batch_first, D_BOOL) && need_attr(t, A_bidirectional, D_BOOL);
}

static bool infer(Typing *t) {
    int64_t hidden, layers;
    Recurrence r = {.bias = flag_of(t, A_bias),
                    .batch_first = flag_of(t, A_batch_first),
                    .directions = flag_of(t, A_bidirectional) ? 2 : 1};
    if (!need_flags(t) || !need_int(t, A_hidden_size, &hidden) || !need_int(t, A_num_layers, &layers) ||
        !read_sizes(t, hidden, layers, &r) || (t->kind == OP_RNN && !check_nonlinearity(t)) || t->nin == 0 ||
        !t->in[0] || !read_input(t, t->in[0], &r) || !check_operands(t, &r))
        return false;
    DType dtype = t->in[0]->type.dtype;
    Shape y = t->in[0]->type.shape, state = state_shape(&r);
    y.dim[y.rank - 1] = r.directions * r.hidden;
    return type_push(t, dtype, &y) && type_push(t, dtype, &state) && (r.nstates == 1 || type_push(t, dtype, &state));
}

/* ------------------------------------------------------------------------------------------------------------------ */

static Recurrence recurrence_of(const Op *op) {
    const Shape *s = &op->in[0]->type.shape;
    Recurrence r = {.kind = op->kind,
                    .gates = gates_of(op->kind),
                    .nstates = op->kind == OP_LSTM ? 2 : 1,
                    .batch_first = op_bool(op, A_batch_first)};
    r.hidden = (uint64_t)op_int(op, A_hidden_size);
    r.layers = (uint64_t)op_int(op, A_num_layers);
    r.directions = op_bool(op, A_bidirectional) ? 2 : 1;
    r.batched = s->rank == 3;
    r.input = s->dim[s->rank - 1];
    r.steps = s->dim[r.batched && r.batch_first ? 1 : 0];
    r.batch = r.batched ? s->dim[r.batch_first ? 0 : 1] : 1;
    return r;
}

static uint64_t product(uint64_t a, uint64_t b) {
    uint64_t n;
    return mul_u64(a, b, &n) ? n : UINT64_MAX;
}

static uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t n;
    return add_u64(a, b, &n) ? n : UINT64_MAX;
}

static uint64_t macs(const Op *op) {
    Recurrence r = recurrence_of(op);
    uint64_t first = sum(r.input, r.hidden), further = product(r.layers - 1, (r.directions + 1) * r.hidden);
    uint64_t of_step = product(product(r.directions * r.gates, r.hidden), sum(first, further));
    return product(of_step, product(r.steps, r.batch));
}

static uint64_t scratch(const Op *op, bool fused) {
    (void)fused;
    Recurrence r = recurrence_of(op);
    uint64_t elem = dtype_bits(op->in[0]->type.dtype) / 8, gate = elem > 4 ? elem : 4,
             kept = op->kind == OP_RNN ? 1 : 4;
    uint64_t gates = product(product(r.batch, kept * r.hidden), gate);
    bool sequence = r.layers > 1 && r.directions == 2;
    return sequence ? sum(gates, op->out[0]->nbytes) : gates;
}

const OpRules rules_recurrent = {
    .bind = bind, .infer = infer, .macs = macs, .scratch = scratch, .eval = eval_recurrent};
