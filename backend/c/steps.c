/* steps.c - every step of a plan as a C function: which kernel it calls, and copies where bytes have to move. Linear
 * in the operators; scratch memory is given back after each step. */
#include "backend/c/c.h"

#include <inttypes.h>

#define U64 "%" PRIu64

static bool is_family_conv(OpKind k) { return k >= OP_CONV1D && k <= OP_CONV_TRANSPOSE3D; }
static bool is_family_pool(OpKind k) { return k >= OP_MAX_POOL1D && k <= OP_GLOBAL_MAX_POOL3D; }
static bool is_family_norm(OpKind k) {
    return (k >= OP_BATCH_NORM && k <= OP_NORMALIZE) || k == OP_SOFTMAX || k == OP_LOG_SOFTMAX;
}
static bool is_family_reduce(OpKind k) { return k >= OP_SUM && k <= OP_SORT; }
static bool is_family_loss(OpKind k) { return k >= OP_CROSS_ENTROPY && k <= OP_BCE_WITH_LOGITS; }

/* Sums and products of integers are exact modulo 2^64. */
static Arith kernel_arith(const Op *op) {
    Arith a = op->nin && op->in[0] ? arith_of(op->in[0]->type.dtype) : arith_of(op->out[0]->type.dtype);
    bool ring = op->kind == OP_MATMUL || op->kind == OP_SUM || op->kind == OP_PROD || op->kind == OP_CUMSUM;
    return a == ARITH_I64 && ring ? ARITH_RING : a;
}

/* One loop: every operator of the step at the index of the result. */
static void step_points(StepText *s) {
    const Emit *e = s->e;
    const Op *last = e->g->ops.p[s->step->ops.p[s->step->ops.n - 1]];
    StrBuf lines;
    sb_init(&lines, e->c->scratch);
    for (size_t k = 0; k < s->step->ops.n; k++) {
        const Op *op = e->g->ops.p[s->step->ops.p[k]];
        const Value *v = op->out[0];
        point_statements(s, &lines, op, "i");
        if (has_place(s, v)) sb_printf(&lines, "    %s\n", store_text(s, v, "i", local_name(s, v)));
    }
    step_line(s, "for (size_t i = 0; i < " U64 "; i++) {", last->out[0]->nelem);
    for (const char *p = sb_str(&lines), *end; *p; p = end + 1) {
        for (end = p; *end != '\n'; end++) { }
        step_line(s, "%.*s", (int)(end - p), p);
    }
    step_line(s, "}");
}

static void copy_loop(StepText *s, uint64_t n, const Value *to, const char *at, const Value *from, const char *of) {
    if (n == 0) return;
    step_line(s, "for (size_t i = 0; i < " U64 "; i++)", n);
    step_line(s, "    %s", store_text(s, to, at, load_text(s, from, of, arith_of(from->type.dtype))));
}

static bool same_buffer(const StepText *s, const Value *a, const Value *b) {
    return s->e->p->place[a->id].buffer == s->e->p->place[b->id].buffer;
}

/* Operands that do not lie in their slice of the result already. */
static void step_join(StepText *s) {
    const Op *op = s->anchor;
    Map m;
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *x = operand(s, op, k);
        if (x->nelem == 0 || same_buffer(s, x, op->out[0])) continue;
        if (!map_join(op, k, &m)) ice("emit: %s does not join", op->path);
        copy_loop(s, x->nelem, op->out[0], map_text(s->e->c->scratch, &m, "i"), x, "i");
    }
}

static void step_parts(StepText *s) {
    const Op *op = s->anchor;
    const Value *x = operand(s, op, 0);
    Map m;
    for (uint32_t k = 0; k < op->nout; k++) {
        if (!has_place(s, op->out[k]) || same_buffer(s, x, op->out[k])) continue;
        if (!map_move(op, k, &m)) ice("emit: %s has no parts", op->path);
        copy_loop(s, op->out[k]->nelem, op->out[k], "i", x, map_text(s->e->c->scratch, &m, "i"));
    }
}

static void step_body(StepText *s) {
    OpKind k = s->anchor->kind;
    if (is_matmul_attention(s)) step_matmul_attention(s);
    else if (k == OP_SDPA) step_attention(s);
    else if (k == OP_LINEAR || k == OP_BILINEAR || k == OP_MATMUL) step_dense(s);
    else if (is_family_conv(k)) step_conv(s);
    else if (is_family_pool(k)) step_pool(s);
    else if (is_pointwise(s->anchor)) step_points(s);
    else if (is_family_norm(k)) step_norm(s);
    else if (is_family_reduce(k)) step_reduce(s);
    else if (is_family_loss(k)) step_loss(s);
    else if (k == OP_LSTM || k == OP_GRU || k == OP_RNN) step_recurrent(s);
    else if (k == OP_INTERPOLATE) step_interpolate(s);
    else if (op_has(s->anchor, JOINS)) step_join(s);
    else if (op_has(s->anchor, PARTS)) step_parts(s);
    else ice("emit: no kernel for %s", s->anchor->path);
}

/* Functions of numbers, in the types that the step computes in. */
static void note_functions(StepText *s) {
    if (s->arith == ARITH_F32 || s->arith == ARITH_F64) s->e->used[FAMILY_REAL][s->arith] = true;
    for (size_t i = 0; i < s->step->ops.n; i++) {
        Arith a = arith_of(s->e->g->ops.p[s->step->ops.p[i]]->out[0]->type.dtype);
        if (a != ARITH_I64) s->e->used[FAMILY_REAL][a] = true;
    }
}

static bool makes_nothing(const Op *op) {
    for (uint32_t k = 0; k < op->nout; k++)
        if (op->out[k]->nelem > 0) return false;
    return true;
}

static void put_comment(StepText *s) {
    Emit *e = s->e;
    Arena *a = e->c->scratch;
    sb_printf(&e->out, "\n/* step %" PRIu32 ":", s->number);
    for (size_t i = 0; i < s->step->ops.n; i++) {
        const Op *op = e->g->ops.p[s->step->ops.p[i]];
        sb_printf(&e->out, "%s %s", i ? "," : "", comment_text(a, op->path));
    }
    const char *source = span_text(e->c, s->anchor->span);
    sb_printf(&e->out, "%s%s */\n", *source ? "; " : "", comment_text(a, source));
}

static void emit_step(Emit *e, uint32_t number) {
    StepText s = {.e = e, .number = number, .step = &e->p->steps.p[number]};
    s.anchor = e->g->ops.p[s.step->anchor];
    s.arith = kernel_arith(s.anchor);
    sb_init(&s.body, e->c->scratch);
    put_comment(&s);
    note_functions(&s);
    if (!makes_nothing(s.anchor)) step_body(&s);
    sb_printf(&e->out, "static void %s_step%" PRIu32 "(const void *env) {\n", e->name, number);
    sb_printf(&e->out, "    const struct %s_frame here = *RUN;\n    env = &here;\n    (void)env;\n", e->name);
    sb_write(&e->out, s.body.p, s.body.n);
    sb_puts(&e->out, "}\n");
}

void emit_steps(Emit *e) {
    for (uint32_t i = 0; i < e->p->steps.n; i++) {
        emit_step(e, i);
        arena_reset(e->c->scratch);
    }
}
