/* reduce.c - reductions, orders and losses as calls of kernels/c/sum.h, reduce.h and loss.h. */
#include "backend/c/c.h"

#include "ops/axes.h"

#include <inttypes.h>
#include <string.h>

#define U64 "%" PRIu64

static unsigned reduced_axes(const Op *op) {
    int64_t dims[MAX_RANK];
    const Datum *d = op_attr(op, A_dim);
    unsigned set = 0, rank = op->in[0]->type.shape.rank;
    if (!d) return (1u << rank) - 1;
    if (d->kind == D_INT) return rank ? 1u << d->i : 0;
    uint32_t n = op_ints(op, A_dim, dims, MAX_RANK);
    for (uint32_t i = 0; i < n && rank; i++) set |= 1u << dims[i];
    return set;
}

/* Where element r of those that make result o lies. */
static const char *place_of(StepText *s, unsigned set, uint64_t *count) {
    Emit *e = s->e;
    Arena *a = e->c->scratch;
    const Shape *x = &s->anchor->in[0]->type.shape;
    const char *name = arena_printf(a, "%s_step%" PRIu32 "_at", e->name, s->number);
    Map kept = {0}, gone = {0};
    *count = 1;
    for (unsigned i = 0; i < x->rank; i++) {
        bool reduced = set & 1u << i;
        map_run(reduced ? &gone : &kept, x->dim[i], elems_behind(x, i));
        *count *= reduced ? x->dim[i] : 1;
    }
    sb_printf(&e->out, "KERNEL size_t %s(size_t o, size_t r) {\n    (void)o, (void)r;\n    return %s + (%s);\n}\n",
              name, map_text(a, &kept, "o"), map_text(a, &gone, "r"));
    return name;
}

static void fold(StepText *s, Family family, const char *base, const char *rest) {
    const Op *op = s->anchor;
    uint64_t count;
    const char *name = kernel(s, family, base), *x = cb_operand(s, "x", op, 0),
               *at = place_of(s, reduced_axes(op), &count);
    step_line(s, "%s(env, %s, %s, %s, " U64 ", " U64 "%s);", name, x, at, cb_store(s, "y", op), op->out[0]->nelem,
              count, rest);
}

static void mean_or_var(StepText *s, bool var) {
    const Op *op = s->anchor;
    uint64_t count = 1;
    unsigned set = reduced_axes(op);
    for (unsigned i = 0; i < op->in[0]->type.shape.rank; i++)
        if (set & 1u << i) count *= op->in[0]->type.shape.dim[i];
    double divisor = (double)count - (var ? (double)op_int(op, A_correction) : 0);
    fold(s, FAMILY_SUM, var ? "var" : "sum",
         arena_printf(s->e->c->scratch, ", %s", number_text(s->e->c->scratch, ARITH_F64, divisor > 0 ? divisor : 0)));
}

static void extreme_place(StepText *s, bool largest) {
    const Op *op = s->anchor;
    uint64_t count;
    const char *name = kernel(s, FAMILY_REDUCE, "extreme_place"), *x = cb_operand(s, "x", op, 0),
               *at = place_of(s, reduced_axes(op), &count);
    step_line(s, "%s(env, %s, %s, %s, " U64 ", " U64 ", %d);", name, x, at, cb_put(s, "y", op->out[0], ARITH_I64),
              op->out[0]->nelem, count, largest);
}

typedef struct Rows { uint64_t outer, n, inner; } Rows;
static Rows rows_of(const Shape *x, unsigned axis) {
    return x->rank ? (Rows){elems_before(x, axis), x->dim[axis], elems_behind(x, axis)} : (Rows){1, 1, 1};
}

static void cumsum(StepText *s) {
    const Op *op = s->anchor;
    Rows r = rows_of(&op->in[0]->type.shape, (unsigned)op_int(op, A_dim));
    const char *name = kernel(s, FAMILY_SUM, "cumsum"), *x = cb_operand(s, "x", op, 0);
    step_line(s, "%s(env, %s, %s, " U64 ", " U64 ", " U64 ");", name, x, cb_store(s, "y", op), r.outer, r.n, r.inner);
}

static void order(StepText *s) {
    const Op *op = s->anchor;
    Rows r = rows_of(&op->in[0]->type.shape, (unsigned)op_int(op, A_dim));
    bool descending = op_bool(op, op->kind == OP_SORT ? A_descending : A_largest);
    uint64_t k = op->kind == OP_SORT ? r.n : (uint64_t)op_int(op, A_k);
    const char *name = kernel(s, FAMILY_REDUCE, "sort_rows"), *x = cb_operand(s, "x", op, 0),
               *values = cb_put(s, "values", op->out[0], s->arith);
    const char *place = cb_load(s, "place", op->out[1], ARITH_I64),
               *places = cb_put(s, "places", op->out[1], ARITH_I64);
    step_line(s, "%s(env, %s, %s, %s, %s, " U64 ", " U64 ", " U64 ", " U64 ", %d);", name, x, values, place, places,
              r.outer, r.n, r.inner, k, descending);
}

void step_reduce(StepText *s) {
    switch (s->anchor->kind) {
    case OP_SUM: fold(s, FAMILY_SUM, "sum", ", 1"); break;
    case OP_PROD: fold(s, FAMILY_SUM, "prod", ""); break;
    case OP_MEAN: mean_or_var(s, false); break;
    case OP_VAR: mean_or_var(s, true); break;
    case OP_AMAX: fold(s, FAMILY_REDUCE, "extreme", ", 1"); break;
    case OP_AMIN: fold(s, FAMILY_REDUCE, "extreme", ", 0"); break;
    case OP_ARGMAX: extreme_place(s, true); break;
    case OP_ARGMIN: extreme_place(s, false); break;
    case OP_CUMSUM: cumsum(s); break;
    case OP_TOPK: case OP_SORT: order(s); break;
    default: ice("emit: %s is no reduction", s->anchor->path);
    }
}

/* ---- losses ---- */

static int reduction_of(const Op *op) {
    const char *word = op_str(op, A_reduction);
    return strcmp(word, "none") == 0 ? 0 : strcmp(word, "mean") == 0 ? 1 : 2;
}

static void class_loss(StepText *s) {
    const Op *op = s->anchor;
    const Value *target = operand(s, op, 1);
    const Shape *x = &op->in[0]->type.shape;
    Arena *a = s->e->c->scratch;
    bool logits = op->kind == OP_CROSS_ENTROPY;
    Rows r = rows_of(x, x->rank == 1 ? 0 : 1);
    const char *smoothing = number_text(a, ARITH_F64, logits ? op_float(op, A_label_smoothing) : 0);
    if (dtype_is_float(target->type.dtype)) {
        const char *name = kernel(s, FAMILY_LOSS, "probability_loss"), *in = cb_operand(s, "x", op, 0);
        const char *wanted = cb_load(s, "target", target, s->arith);
        step_line(s, "%s(env, %s, %s, %s, " U64 ", " U64 ", " U64 ", %d, %s);", name, in, wanted, cb_store(s, "y", op),
                  r.outer, r.n, r.inner, reduction_of(op), smoothing);
        return;
    }
    const char *name = kernel(s, FAMILY_LOSS, "class_loss"), *in = cb_operand(s, "x", op, 0),
               *wanted = cb_load(s, "target", target, ARITH_I64);
    step_line(s, "%s(env, %s, %s, %s, " U64 ", " U64 ", " U64 ", %d, %d, %s, %s, RUN->status, E_INDEX);", name, in,
              wanted, cb_store(s, "y", op), r.outer, r.n, r.inner, reduction_of(op), logits, smoothing,
              whole_text(a, op_int(op, A_ignore_index)));
}

void step_loss(StepText *s) {
    const Op *op = s->anchor;
    const char *kind = "LOSS_ABSOLUTE";
    if (op->kind == OP_CROSS_ENTROPY || op->kind == OP_NLL_LOSS) {
        class_loss(s);
        return;
    }
    if (op->kind == OP_MSE_LOSS) kind = "LOSS_SQUARE";
    if (op->kind == OP_SMOOTH_L1_LOSS) kind = "LOSS_SMOOTH";
    if (op->kind == OP_BCE_WITH_LOGITS) kind = "LOSS_LOGITS";
    const char *name = kernel(s, FAMILY_LOSS, "element_loss"), *x = cb_operand(s, "x", op, 0);
    const char *target = cb_load(s, "target", operand(s, op, 1), s->arith);
    double beta = op->kind == OP_SMOOTH_L1_LOSS ? op_float(op, A_beta) : 0;
    step_line(s, "%s(env, %s, %s, %s, " U64 ", %s, %d, %s);", name, x, target, cb_store(s, "y", op), op->in[0]->nelem,
              kind, reduction_of(op), number_text(s->e->c->scratch, ARITH_F64, beta));
}
