/* dense.c - products of matrices and attention as calls of kernels/c/matmul.h and attention.h.
 *
 * Operands are read by (batch, row, column). The last two axes have one stride each, the leading ones any nest
 * (ops/access.h), stretched where they broadcast; so a transposed or sliced operand is read where it lies. */
#include "backend/c/c.h"

#include "ops/axes.h"

#include <inttypes.h>
#include <string.h>

/* The stride of an axis that is one run. */
static uint64_t stride_of(const Access *a, unsigned axis) {
    return a->begin[axis + 1] > a->begin[axis] ? a->run[a->begin[axis]].stride : 0;
}

static Map axis_map(const Access *a, unsigned axis) {
    Map m = {0};
    map_axes(&m, a, axis, axis + 1);
    return m;
}

/* Leading axes of an operand (those before its last `own`) over the leading axes of the result. A head axis of fewer
 * groups serves several heads in a row. */
static Map batch_map(const Access *a, const Shape *x, unsigned own, const Shape *r, unsigned lead, bool grouped) {
    Map m = {.offset = a->offset};
    unsigned have = x->rank > own ? x->rank - own : 0;
    for (unsigned i = 0; i < lead; i++) {
        unsigned back = lead - i;                         /* counted from the last leading axis */
        if (back > have || (x->dim[have - back] == 1 && r->dim[i] != 1)) {
            map_run(&m, r->dim[i], 0);
            continue;
        }
        map_axes(&m, a, have - back, have - back + 1);
        if (grouped && x->dim[have - back] != r->dim[i]) map_run(&m, r->dim[i] / x->dim[have - back], 0);
    }
    return m;
}

static void step_linear(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    uint64_t out = op->in[1]->type.shape.dim[0], in = op->in[1]->type.shape.dim[1], rows = op->out[0]->nelem / out;
    Access a;
    operand_access(s, op, 0, &a);
    Map batch = {.offset = a.offset}, row = {0}, column = axis_map(&a, x->rank - 1u);
    map_axes(&row, &a, 0, x->rank - 1u);
    const char *left = cb_matrix(s, "x", op, 0, &batch, &row, &column);
    Map none = {0}, w_row = map_whole(in), w_column = {0};
    map_run(&w_column, out, in);
    const char *right = cb_matrix(s, "w", op, 1, &none, &w_row, &w_column);
    const char *bias = cb_load(s, "bias", bias_of(s->e->g, s->e->p, op, 2), s->arith), *y = cb_store(s, "y", op);
    step_line(s, "static const Matmul shape = {.batch = 1, .m = %" PRIu64 ", .n = %" PRIu64 ", .k = %" PRIu64 "};",
              rows, out, in);
    step_line(s, "%s(env, %s, %s, %s, %s, shape);", kernel(s, FAMILY_MATMUL, "matmul_dot"), left, right, bias, y);
}

static void step_bilinear(StepText *s) {
    const Op *op = s->anchor;
    const Shape *w = &op->in[2]->type.shape;
    const char *name = kernel(s, FAMILY_MATMUL, "bilinear");
    const char *x1 = cb_load(s, "x1", operand(s, op, 0), s->arith), *x2 = cb_load(s, "x2", operand(s, op, 1), s->arith);
    const char *weight = cb_load(s, "w", operand(s, op, 2), s->arith),
               *bias = cb_load(s, "bias", operand(s, op, 3), s->arith);
    step_line(s, "%s(env, %s, %s, %s, %s, %s, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ");", name, x1, x2,
              weight, bias, cb_store(s, "y", op), op->out[0]->nelem / w->dim[0], w->dim[0], w->dim[1], w->dim[2]);
}

/* The sizes of a matmul, and maps for its operands; rank 1 is a row on the left, a column on the right. */
typedef struct Product { uint64_t batch, m, n, k; unsigned lead; bool dot; const char *a, *b; } Product;

static Product product(StepText *s, const Op *op, const char *left, const char *right) {
    const Shape *x = &op->in[0]->type.shape, *y = &op->in[1]->type.shape, *r = &op->out[0]->type.shape;
    bool row = x->rank > 1, column = y->rank > 1;
    Product p = {.m = row ? x->dim[x->rank - 2] : 1,
                 .k = x->dim[x->rank - 1],
                 .n = column ? y->dim[y->rank - 1] : 1,
                 .batch = 1};
    Access a, b;
    Map zero = {0}, batch, down, across;
    p.lead = r->rank - row - column;
    for (unsigned i = 0; i < p.lead; i++) p.batch *= r->dim[i];
    operand_access(s, op, 0, &a);
    batch = batch_map(&a, x, 2, r, p.lead, false);
    down = row ? axis_map(&a, x->rank - 2u) : zero;
    across = axis_map(&a, x->rank - 1u);
    if (left) p.a = cb_matrix(s, left, op, 0, &batch, &down, &across);
    operand_access(s, op, 1, &b);
    batch = batch_map(&b, y, 2, r, p.lead, false);
    down = axis_map(&b, column ? y->rank - 2u : 0);
    across = column ? axis_map(&b, y->rank - 1u) : zero;
    p.dot = p.n == 1 || (stride_of(&b, column ? y->rank - 2u : 0) == 1 && stride_of(&b, y->rank - 1u) != 1);
    if (right) p.b = cb_matrix(s, right, op, 1, &batch, &down, &across);
    return p;
}

static void step_matmul(StepText *s) {
    const Op *op = s->anchor;
    Product p = product(s, op, "a", "b");
    const char *y = cb_store(s, "y", op);
    step_line(
        s, "static const Matmul shape = {.batch = %" PRIu64 ", .m = %" PRIu64 ", .n = %" PRIu64 ", .k = %" PRIu64 "};",
        p.batch, p.m, p.n, p.k);
    step_line(s, "%s(env, %s, %s, NULL, %s, shape);", kernel(s, FAMILY_MATMUL, p.dot ? "matmul_dot" : "matmul"), p.a,
              p.b, y);
}

void step_dense(StepText *s) {
    if (s->anchor->kind == OP_LINEAR) step_linear(s);
    else if (s->anchor->kind == OP_BILINEAR) step_bilinear(s);
    else step_matmul(s);
}

/* ---- attention ---- */

static void put_attention(StepText *s, uint64_t batch, uint64_t rows, uint64_t keys, uint64_t depth, uint64_t width) {
    step_line(s,
              "static const Attention shape = {.batch = %" PRIu64 ", .rows = %" PRIu64 ", .keys = %" PRIu64
              ", .depth = %" PRIu64 ", .width = %" PRIu64 "};",
              batch, rows, keys, depth, width);
}

static Shape score_shape(const Op *op) {
    Shape s = op->in[0]->type.shape;
    s.dim[s.rank - 1] = op->in[1]->type.shape.dim[s.rank - 2];
    return s;
}

/* Scale, and the mask: true takes part, a number is added. */
static const char *scaled_score(StepText *s, const Op *op) {
    Emit *e = s->e;
    Arena *a = e->c->scratch;
    Shape scores = score_shape(op);
    const Value *mask = operand(s, op, 3);
    const char *type = arith_type(s->arith), *name = arena_printf(a, "%s_step%" PRIu32 "_score", e->name, s->number);
    sb_printf(&e->out, "KERNEL %s %s(const void *env, size_t i, %s value) {\n    (void)env, (void)i;\n", type, name,
              type);
    sb_printf(&e->out, "    value *= %s;\n", number_text(a, s->arith, op_float(op, A_scale)));
    if (op_bool(op, A_is_causal))
        sb_printf(&e->out, "    if (%s > %s) return -INFINITY;\n", coordinate(a, &scores, scores.rank - 1u, "i"),
                  coordinate(a, &scores, scores.rank - 2u, "i"));
    if (mask) {
        Map m = map_broadcast(&op->in[3]->type.shape, &scores);
        bool truth = mask->type.dtype == DT_BOOL;
        const char *load = load_text(s, mask, map_text(a, &m, "i"), truth ? ARITH_I64 : s->arith);
        sb_printf(&e->out, truth ? "    if (!%s) return -INFINITY;\n" : "    value += %s;\n", load);
    }
    sb_puts(&e->out, "    return value;\n}\n");
    return name;
}

static const char *kept_scores(StepText *s, bool put) {
    Emit *e = s->e;
    Arena *a = e->c->scratch;
    const Buffer *b = &e->p->buffers.p[e->workspace[s->number]];
    const char *type = arith_type(s->arith), *dtype = dtype_name(s->anchor->in[0]->type.dtype);
    const char *name = arena_printf(a, "%s_step%" PRIu32 "_%s", e->name, s->number, put ? "keep" : "kept");
    sb_printf(&e->out, "KERNEL %s %s(const void *env, size_t i%s%s) {\n", put ? "void" : type, name, put ? ", " : "",
              put ? arena_printf(a, "%s value", type) : "");
    sb_printf(&e->out,
              put ? "    store_%s(RUN->arena + %" PRIu64 ", i, value);\n}\n"
                  : "    return load_%s(RUN->arena + %" PRIu64 ", i);\n}\n",
              dtype, b->offset);
    return name;
}

static const char *unchanged(StepText *s) {
    Emit *e = s->e;
    const char *name = arena_printf(e->c->scratch, "%s_step%" PRIu32 "_share", e->name, s->number),
               *type = arith_type(s->arith);
    sb_printf(&e->out,
              "KERNEL %s %s(const void *env, size_t i, %s value) {\n    (void)env, (void)i;\n    return value;\n}\n",
              type, name, type);
    return name;
}

void step_attention(StepText *s) {
    const Op *op = s->anchor;
    static const char *const names[] = {"q", "k", "v"};
    const char *read[3];
    const Shape *q = &op->in[0]->type.shape, *r = &op->out[0]->type.shape;
    unsigned rank = q->rank;
    uint64_t batch = 1;
    for (unsigned i = 0; i + 2 < rank; i++) batch *= q->dim[i];
    for (uint32_t k = 0; k < 3; k++) {
        Access a;
        operand_access(s, op, k, &a);
        Map lead = batch_map(&a, &op->in[k]->type.shape, 2, r, rank - 2u, true), row = axis_map(&a, rank - 2u),
            column = axis_map(&a, rank - 1u);
        read[k] = cb_matrix(s, names[k], op, k, &lead, &row, &column);
    }
    const char *score = scaled_score(s, op), *out = cb_store(s, "y", op);
    put_attention(s, batch, q->dim[rank - 2], op->in[1]->type.shape.dim[rank - 2], q->dim[rank - 1], r->dim[rank - 1]);
    if (s->e->workspace[s->number] == NO_ID) {
        step_line(s, "%s(env, %s, %s, %s, %s, %s, %s, shape);", kernel(s, FAMILY_ATTENTION, "attention"), read[0],
                  read[1], read[2], score, unchanged(s), out);
        return;
    }
    const char *kept = kept_scores(s, false), *keep = kept_scores(s, true);
    step_line(s, "%s(env, %s, %s, %s, %s, %s, %s, %s, shape);", kernel(s, FAMILY_ATTENTION, "attention_stored"),
              read[0], read[1], read[2], score, kept, keep, out);
}

static const Op *first_of_kind(const StepText *s, OpKind kind) {
    for (size_t i = 0; i < s->step->ops.n; i++) {
        const Op *op = s->e->g->ops.p[s->step->ops.p[i]];
        if (op->kind == kind) return op;
    }
    return NULL;
}

bool is_matmul_attention(const StepText *s) {
    return s->anchor->kind == OP_MATMUL && first_of_kind(s, OP_SOFTMAX) != NULL;
}

/* q @ k, element-wise operators, softmax, element-wise operators, @ v. The right operand of a matmul is read as (key,
 * e). */
void step_matmul_attention(StepText *s) {
    const Op *scores = first_of_kind(s, OP_MATMUL), *softmax = first_of_kind(s, OP_SOFTMAX), *op = s->anchor;
    const Shape *k = &scores->in[1]->type.shape, *v = &op->in[1]->type.shape, *r = &scores->out[0]->type.shape;
    Product first = product(s, scores, "q", NULL), second = product(s, op, NULL, "v");
    Access a;
    operand_access(s, scores, 1, &a);
    Map batch = batch_map(&a, k, 2, r, first.lead, false), key = axis_map(&a, k->rank - 1u),
        e = axis_map(&a, k->rank - 2u);
    const char *keys = cb_matrix(s, "k", scores, 1, &batch, &key, &e);
    const char *score = cb_between(s, "score", scores->out[0], operand(s, softmax, 0));
    const char *share = cb_between(s, "share", softmax->out[0], operand(s, op, 0)), *out = cb_store(s, "y", op);
    put_attention(s, second.batch, second.m, first.n, first.k, v->dim[v->rank - 1]);
    step_line(s, "%s(env, %s, %s, %s, %s, %s, %s, shape);", kernel(s, FAMILY_ATTENTION, "attention"), first.a, keys,
              second.b, score, share, out);
}
