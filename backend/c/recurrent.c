/* recurrent.c - lstm, gru and rnn as calls of kernels/c/recurrent.h, one for each layer and direction.
 *
 * With one direction every layer writes its sequence into y, and a further one overwrites it step by step. With two, a
 * further layer needs the whole sequence that it reads: sequences take turns between y and the workspace, so that the
 * last layer's comes to lie in y. */
#include "backend/c/c.h"

#include <inttypes.h>
#include <string.h>

#define U64 "%" PRIu64

typedef struct Cells {
    const Op *op;
    uint64_t hidden, layers, directions, input, steps, batch;
    bool bias, batch_first, batched, lstm;
    unsigned kept;                                        /* gates in the workspace */
    uint64_t workspace, gate_bytes;                       /* offset in the arena; bytes of the gates */
    DType gate;
} Cells;

static Cells cells_of(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    Cells c = {.op = op,
               .hidden = (uint64_t)op_int(op, A_hidden_size),
               .layers = (uint64_t)op_int(op, A_num_layers),
               .directions = op_bool(op, A_bidirectional) ? 2 : 1,
               .input = x->dim[x->rank - 1],
               .bias = op_bool(op, A_bias),
               .batch_first = op_bool(op, A_batch_first),
               .batched = x->rank == 3,
               .lstm = op->kind == OP_LSTM,
               .kept = op->kind == OP_RNN ? 1 : 4,
               .gate = op->in[0]->type.dtype == DT_F64 ? DT_F64 : DT_F32};
    c.steps = x->dim[c.batched && c.batch_first ? 1 : 0];
    c.batch = c.batched ? x->dim[c.batch_first ? 0 : 1] : 1;
    c.gate_bytes = c.batch * c.kept * c.hidden * dtype_bits(c.gate) / 8;
    if (s->e->workspace[s->number] != NO_ID) c.workspace = s->e->p->buffers.p[s->e->workspace[s->number]].offset;
    return c;
}

/* Elements of a dtype that lie at a place of the arena and are no value. */
static const char *raw(StepText *s, const char *suffix, DType d, uint64_t offset, bool put) {
    Emit *e = s->e;
    const char *name = arena_printf(e->c->scratch, "%s_step%" PRIu32 "_%s", e->name, s->number, suffix),
               *type = arith_type(s->arith);
    if (put)
        sb_printf(&e->out,
                  "KERNEL void %s(const void *env, size_t i, %s value) {\n    store_%s(RUN->arena + " U64
                  ", i, value);\n}\n",
                  name, type, dtype_name(d), offset);
    else
        sb_printf(&e->out,
                  "KERNEL %s %s(const void *env, size_t i) {\n    return load_%s(RUN->arena + " U64 ", i);\n}\n", type,
                  name, dtype_name(d), offset);
    return name;
}

static const char *kind_name(const Op *op) {
    if (op->kind == OP_LSTM) return "RECURRENT_LSTM";
    if (op->kind == OP_GRU) return "RECURRENT_GRU";
    return strcmp(op_str(op, A_nonlinearity), "relu") == 0 ? "RECURRENT_RELU" : "RECURRENT_TANH";
}

static void put_strides(StepText *s, const Cells *c, const char *name, uint64_t width) {
    uint64_t step = c->batched && !c->batch_first ? c->batch * width : width,
             row = c->batch_first ? c->steps * width : width;
    step_line(s, "        .%s_step = " U64 ", .%s_row = " U64 ",", name, step, name, c->batched ? row : 0);
}

/* What all layers share. */
typedef struct Shared {
    const char *x, *h0, *c0, *h, *put_h, *c, *put_c, *gate, *put_gate, *y, *put_y, *sequence, *put_sequence, *name;
} Shared;

static void step_cell(StepText *s, const Cells *c, const Shared *f, uint64_t layer, uint64_t d) {
    Arena *a = s->e->c->scratch;
    const Op *op = c->op;
    uint64_t cell = layer * c->directions + d, width = c->directions * c->hidden, in = layer ? width : c->input;
    uint32_t at = (uint32_t)(1 + (c->lstm ? 2 : 1) + cell * (c->bias ? 4 : 2));
    static const char *const names[] = {"w_ih", "w_hh", "b_ih", "b_hh"};
    const char *weight[4];
    for (uint32_t i = 0; i < 4; i++)
        weight[i] = i < 2 || c->bias
                        ? cb_load(s, arena_printf(a, "%s" U64, names[i], cell), operand(s, op, at + i), s->arith)
                        : "NULL";
    bool turns = c->directions == 2 && c->layers > 1, to_y = !turns || (c->layers - 1 - layer) % 2 == 0;
    const char *from = layer == 0 ? f->x : !turns || !to_y ? f->y : f->sequence;
    step_line(s, "{");
    step_line(s, "    static const Recurrent shape = {");
    step_line(s, "        .kind = %s, .reverse = %d,", kind_name(op), (int)d);
    step_line(s, "        .steps = " U64 ", .batch = " U64 ", .in = " U64 ", .hidden = " U64 ",", c->steps, c->batch,
              in, c->hidden);
    put_strides(s, c, "x", in);
    put_strides(s, c, "y", width);
    step_line(s, "        .y_first = " U64 ", .state = " U64 ",", d * c->hidden, cell * c->batch * c->hidden);
    step_line(s, "    };");
    step_line(s, "    %s(env, %s, %s, %s, %s, %s,", f->name, from, weight[0], weight[1], weight[2], weight[3]);
    step_line(s, "        %s, %s, %s, %s, %s, %s, %s, %s,", f->h0, f->c0, f->h, f->put_h, f->c, f->put_c, f->gate,
              f->put_gate);
    step_line(s, "        %s, shape);", to_y ? f->put_y : f->put_sequence);
    step_line(s, "}");
}

void step_recurrent(StepText *s) {
    Cells c = cells_of(s);
    const Op *op = c.op;
    bool turns = c.directions == 2 && c.layers > 1;
    DType d = op->out[0]->type.dtype;
    s->e->used[FAMILY_REAL][s->arith] = true;
    /* One after the other, so that they come in the same order whoever compiles this. */
    Shared f = {.name = kernel(s, FAMILY_RECURRENT, "recurrent"), .c0 = "NULL", .c = "NULL", .put_c = "NULL"};
    f.x = cb_operand(s, "x", op, 0);
    f.h0 = cb_load(s, "h0", operand(s, op, 1), s->arith);
    f.h = cb_load(s, "h", op->out[1], s->arith);
    f.put_h = cb_put(s, "put_h", op->out[1], s->arith);
    f.gate = raw(s, "gate", c.gate, c.workspace, false);
    f.put_gate = raw(s, "put_gate", c.gate, c.workspace, true);
    f.y = cb_load(s, "y", op->out[0], s->arith);
    f.put_y = cb_put(s, "put_y", op->out[0], s->arith);
    if (c.lstm) {
        f.c0 = cb_load(s, "c0", operand(s, op, 2), s->arith);
        f.c = cb_load(s, "c", op->out[2], s->arith);
        f.put_c = cb_put(s, "put_c", op->out[2], s->arith);
    }
    if (turns) {
        f.sequence = raw(s, "sequence", d, c.workspace + c.gate_bytes, false);
        f.put_sequence = raw(s, "put_sequence", d, c.workspace + c.gate_bytes, true);
    }
    for (uint64_t layer = 0; layer < c.layers; layer++)
        for (uint64_t direction = 0; direction < c.directions; direction++) step_cell(s, &c, &f, layer, direction);
}
