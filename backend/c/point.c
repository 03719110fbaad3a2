/* point.c - operators whose result at an index follows from that index alone: element-wise ones, moves of elements,
 * parts, choices by an index tensor, ranges. Each becomes one expression, so that a chain of them fused into a step,
 * in front of a kernel, behind one or alone, is a few lines of C. Expressions follow ops/eval_*.c; the functions they
 * call are those of kernels/c/real.h and whole.h. */
#include "backend/c/c.h"

#include "ops/axes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct Point {
    const StepText *s;
    StrBuf *b;                                            /* statements in front of the expression */
    const Op *op;
    const char *i;
    Arena *a;
    Arith in, out;                                        /* of operand 0, of the result */
} Point;

#define TEXT(p, ...) arena_printf((p)->a, __VA_ARGS__)

bool is_pointwise(const Op *op) {
    switch (op->kind) {
    case OP_BATCH_NORM: return op_in(op, 3) && op_in(op, 4);
    case OP_GLU:
    case OP_EXPAND:
    case OP_CHANNEL_SHUFFLE:
    case OP_PIXEL_SHUFFLE:
    case OP_PIXEL_UNSHUFFLE:
    case OP_EMBEDDING:
    case OP_GATHER: case OP_INDEX_SELECT: case OP_ONE_HOT: case OP_TRIL: case OP_TRIU:
    case OP_ARANGE: case OP_ZEROS: case OP_ONES: case OP_FULL: case OP_PAD: case OP_TILE: case OP_FLIP: case OP_ROLL:
        return true;
    default:
        return op_has(op, ELEMENTWISE | RESHAPES | MOVES) || (op_has(op, PARTS) && op->nout == 1);
    }
}

/* Operand k at the place that broadcasting gives it. */
static const char *at(const Point *p, uint32_t k, Arith as) {
    const Value *v = operand(p->s, p->op, k);
    if (!v) ice("emit: %s has no operand %u", p->op->path, (unsigned)k);
    if (v->role == ROLE_CONST) return constant_text(p->a, v, as);
    if (in_step(p->s, v)) {
        const char *name = local_name(p->s, v);
        return arith_of(v->type.dtype) == as ? name : TEXT(p, "(%s)%s", arith_type(as), name);
    }
    Map m = map_broadcast(&p->op->in[k]->type.shape, &p->op->out[0]->type.shape);
    return load_text(p->s, v, map_text(p->a, &m, p->i), as);
}

/* Operand 0 at a place of its own. */
static const char *load_at(const Point *p, uint32_t k, const char *index) {
    return load_text(p->s, operand(p->s, p->op, k), index, p->out);
}

static const char *number(const Point *p, Arith as, double v) { return number_text(p->a, as, v); }
static const char *attr_text(const Point *p, AttrName name, Arith as) {
    const Datum *d = op_attr(p->op, name);
    if (as != ARITH_I64) return number(p, as, d->kind == D_BOOL ? d->b : number_of(d));
    return whole_text(p->a, d->kind == D_BOOL ? d->b : d->kind == D_INT ? d->i : number_truncate(d->f));
}

/* ---- arithmetic ---- */

/* f(x) of the C library, in the result's type. */
static const char *libm(const Point *p, const char *f) {
    return TEXT(p, "%s%s(%s)", f, p->out == ARITH_F32 ? "f" : "", at(p, 0, p->out));
}

static const char *call1(const Point *p, const char *f) {
    return TEXT(p, "%s_%s(%s)", f, arith_suffix(p->out), at(p, 0, p->out));
}

static const char *call2(const Point *p, const char *f, const char *b) {
    return TEXT(p, "%s_%s(%s, %s)", f, arith_suffix(p->out), at(p, 0, p->out), b);
}

static const char *clipped(const Point *p, double lo, double hi) {
    const char *low = p->out == ARITH_I64 ? whole_text(p->a, number_truncate(lo)) : number(p, p->out, lo);
    const char *high = p->out == ARITH_I64 ? whole_text(p->a, number_truncate(hi)) : number(p, p->out, hi);
    return TEXT(p, "clip_%s(%s, %s, %s)", arith_suffix(p->out), at(p, 0, p->out), low, high);
}

static const char *infix(const Point *p, const char *op, Arith as) {
    return TEXT(p, "(%s %s %s)", at(p, 0, as), op, at(p, 1, as));
}

static const char *binary(const Point *p) {
    bool whole = p->out == ARITH_I64;
    const char *checked = whole ? "RUN->status, E_DIVISION, " : "";
    switch (p->op->kind) {
    case OP_ADD: return whole ? call2(p, "add", at(p, 1, p->out)) : infix(p, "+", p->out);
    case OP_SUB: return whole ? call2(p, "sub", at(p, 1, p->out)) : infix(p, "-", p->out);
    case OP_MUL: return whole ? call2(p, "mul", at(p, 1, p->out)) : infix(p, "*", p->out);
    case OP_DIV: return infix(p, "/", p->out);
    case OP_FLOOR_DIV:
        return TEXT(p, "floor_divided_%s(%s%s, %s)", arith_suffix(p->out), checked, at(p, 0, p->out), at(p, 1, p->out));
    case OP_REMAINDER:
        return TEXT(p, "remainder_of_%s(%s%s, %s)", arith_suffix(p->out), checked, at(p, 0, p->out), at(p, 1, p->out));
    case OP_POW: return call2(p, "power", at(p, 1, p->out));
    case OP_MINIMUM: return call2(p, "least", at(p, 1, p->out));
    case OP_MAXIMUM: return call2(p, "most", at(p, 1, p->out));
    case OP_EQ: return infix(p, "==", p->in);
    case OP_NE: return infix(p, "!=", p->in);
    case OP_LT: return infix(p, "<", p->in);
    case OP_LE: return infix(p, "<=", p->in);
    case OP_GT: return infix(p, ">", p->in);
    case OP_GE: return infix(p, ">=", p->in);
    case OP_LOGICAL_AND: return TEXT(p, "(%s != 0 && %s != 0)", at(p, 0, p->in), at(p, 1, p->in));
    case OP_LOGICAL_OR: return TEXT(p, "(%s != 0 || %s != 0)", at(p, 0, p->in), at(p, 1, p->in));
    default: ice("emit: %s has no expression", p->op->path);
    }
}

/* The truth of a float is asked before it is cut to an integer: 0.5 is true. */
static const char *cast(const Point *p) {
    if (p->op->out[0]->type.dtype == DT_BOOL) return TEXT(p, "(%s != 0)", at(p, 0, p->in));
    if (p->out == ARITH_I64 && p->in != ARITH_I64) return TEXT(p, "truncate_double((double)%s)", at(p, 0, p->in));
    return at(p, 0, p->out);
}

static const char *clamp(const Point *p) {
    bool whole = p->out == ARITH_I64;
    const char *lo = op_attr(p->op, A_min) ? attr_text(p, A_min, p->out) : whole ? "INT64_MIN" : "-INFINITY";
    const char *hi = op_attr(p->op, A_max) ? attr_text(p, A_max, p->out) : whole ? "INT64_MAX" : "INFINITY";
    return TEXT(p, "clip_%s(%s, %s, %s)", arith_suffix(p->out), at(p, 0, p->out), lo, hi);
}

static const char *unary(const Point *p) {
    bool whole = p->out == ARITH_I64;
    switch (p->op->kind) {
    case OP_LOGICAL_NOT: return TEXT(p, "(%s == 0)", at(p, 0, p->in));
    case OP_ABS: return whole ? call1(p, "abs") : libm(p, "fabs");
    case OP_NEG: return whole ? TEXT(p, "sub_i64(0, %s)", at(p, 0, p->out)) : TEXT(p, "-(%s)", at(p, 0, p->out));
    case OP_EXP: return libm(p, "exp");
    case OP_LOG: return libm(p, "log");
    case OP_SQRT: return libm(p, "sqrt");
    case OP_RSQRT: return TEXT(p, "1 / %s", libm(p, "sqrt"));
    case OP_SIN: return libm(p, "sin");
    case OP_COS: return libm(p, "cos");
    case OP_ERF: return libm(p, "erf");
    case OP_FLOOR: return whole ? at(p, 0, p->out) : libm(p, "floor");
    case OP_CEIL: return whole ? at(p, 0, p->out) : libm(p, "ceil");
    case OP_ROUND: return whole ? at(p, 0, p->out) : libm(p, "nearbyint");
    case OP_COPY: case OP_DROPOUT: return at(p, 0, p->out);
    case OP_CAST: return cast(p);
    case OP_CLAMP: return clamp(p);
    default: return NULL;
    }
}

static const char *activation(const Point *p) {
    const Op *op = p->op;
    switch (op->kind) {
    case OP_RELU: return p->out == ARITH_I64 ? call2(p, "most", "0") : call1(p, "relu");
    case OP_RELU6: return clipped(p, 0, 6);
    case OP_HARDTANH: return clipped(p, op_float(op, A_min_val), op_float(op, A_max_val));
    case OP_LEAKY_RELU: return call2(p, "leaky", attr_text(p, A_negative_slope, p->out));
    case OP_ELU: return call2(p, "elu", attr_text(p, A_alpha, p->out));
    case OP_CELU: return call2(p, "celu", attr_text(p, A_alpha, p->out));
    case OP_SELU: return call1(p, "selu");
    case OP_GELU: return call1(p, strcmp(op_str(op, A_approximate), "tanh") == 0 ? "gelu_tanh" : "gelu");
    case OP_SILU: return call1(p, "silu");
    case OP_MISH: return call1(p, "mish");
    case OP_HARDSWISH: return call1(p, "hardswish");
    case OP_HARDSIGMOID: return call1(p, "hardsigmoid");
    case OP_SIGMOID: return call1(p, "sigmoid");
    case OP_TANH: return libm(p, "tanh");
    case OP_SOFTSIGN: return call1(p, "softsign");
    case OP_SOFTPLUS:
        return TEXT(p, "softplus_%s(%s, %s, %s)", arith_suffix(p->out), at(p, 0, p->out), attr_text(p, A_beta, p->out),
                    attr_text(p, A_threshold, p->out));
    default: return NULL;
    }
}

/* The place of a channel (axis 1). */
static const char *channel(const Point *p) {
    const Shape *s = &p->op->out[0]->type.shape;
    return s->rank > 1 ? coordinate(p->a, s, 1, p->i) : "0";
}

static const char *prelu(const Point *p) {
    const Value *w = operand(p->s, p->op, 1);
    return call2(p, "leaky", load_text(p->s, w, w->nelem > 1 ? channel(p) : "0", p->out));
}

static const char *batch_norm(const Point *p) {
    const Value *w = operand(p->s, p->op, 1), *b = operand(p->s, p->op, 2);
    const char *c = channel(p);
    const char *y = TEXT(p, "standardised_%s(%s, %s, %s, %s)", arith_suffix(p->out), at(p, 0, p->out), load_at(p, 3, c),
                         load_at(p, 4, c), attr_text(p, A_eps, p->out));
    if (w) y = TEXT(p, "%s * %s", y, load_at(p, 1, c));
    return b ? TEXT(p, "%s + %s", y, load_at(p, 2, c)) : y;
}

static const char *glu(const Point *p) {
    const Op *op = p->op;
    unsigned axis = (unsigned)op_int(op, A_dim);
    uint64_t half = op->out[0]->type.shape.dim[axis] * elems_behind(&op->out[0]->type.shape, axis);
    sb_printf(p->b, "    const size_t first = %s / %" PRIu64 " * %" PRIu64 " + %s %% %" PRIu64 ";\n", p->i, half,
              2 * half, p->i, half);
    return TEXT(p, "%s * sigmoid_%s(%s)", load_at(p, 0, "first"), arith_suffix(p->out),
                load_at(p, 0, TEXT(p, "first + %" PRIu64, half)));
}

/* ---- choices by index ---- */

static const char *placed(const Point *p, uint32_t k, const char *index, uint64_t n) {
    return TEXT(p, "place_within(RUN->status, E_INDEX, %s, %" PRIu64 ")",
                load_text(p->s, operand(p->s, p->op, k), index, ARITH_I64), n);
}

static const char *embedding(const Point *p) {
    const Value *w = p->op->in[1];
    uint64_t width = w->type.shape.dim[1];
    sb_printf(p->b, "    const size_t row = %s;\n",
              placed(p, 0, TEXT(p, "%s / %" PRIu64, p->i, width), w->type.shape.dim[0]));
    return load_at(p, 1, TEXT(p, "row * %" PRIu64 " + %s %% %" PRIu64, width, p->i, width));
}

static const char *gather(const Point *p) {
    const Shape *s = &p->op->in[0]->type.shape, *r = &p->op->out[0]->type.shape;
    unsigned axis = (unsigned)op_int(p->op, A_dim);
    StrBuf place;
    sb_init(&place, p->a);
    sb_printf(p->b, "    const size_t place = %s;\n", placed(p, 1, p->i, s->rank ? s->dim[axis] : 1));
    for (unsigned k = 0; k < s->rank; k++)
        sb_printf(&place, "%s%s * %" PRIu64, k ? " + " : "", k == axis ? "place" : coordinate(p->a, r, k, p->i),
                  elems_behind(s, k));
    return load_at(p, 0, s->rank ? sb_str(&place) : "place");
}

static const char *index_select(const Point *p) {
    const Shape *s = &p->op->in[0]->type.shape;
    unsigned axis = (unsigned)op_int(p->op, A_dim);
    uint64_t extent = s->rank ? s->dim[axis] : 1, behind = elems_behind(s, axis), n = p->op->in[1]->nelem;
    sb_printf(p->b, "    const size_t place = %s;\n",
              placed(p, 1, TEXT(p, "%s / %" PRIu64 " %% %" PRIu64, p->i, behind, n), extent));
    return load_at(p, 0,
                   TEXT(p, "(%s / %" PRIu64 " * %" PRIu64 " + place) * %" PRIu64 " + %s %% %" PRIu64, p->i, n * behind,
                        extent, behind, p->i, behind));
}

static const char *one_hot(const Point *p) {
    uint64_t classes = (uint64_t)op_int(p->op, A_num_classes);
    const char *place = placed(p, 0, TEXT(p, "%s / %" PRIu64, p->i, classes), classes);
    return TEXT(p, "(%s == %s %% %" PRIu64 ")", place, p->i, classes);
}

static const char *triangle(const Point *p) {
    const Shape *s = &p->op->out[0]->type.shape;
    const char *row = coordinate(p->a, s, s->rank - 2u, p->i), *column = coordinate(p->a, s, s->rank - 1u, p->i);
    const char *zero = p->out == ARITH_I64 ? "0" : number(p, p->out, 0);
    return TEXT(p, "((int64_t)(%s) - (int64_t)(%s) %s %s ? %s : %s)", column, row, p->op->kind == OP_TRIL ? "<=" : ">=",
                whole_text(p->a, op_int(p->op, A_diagonal)), at(p, 0, p->out), zero);
}

/* ---- ranges and constants ---- */

static const char *filled(const Point *p, const Datum *d) {
    double f = d->kind == D_BOOL ? d->b : number_of(d);
    if (p->out != ARITH_I64) return number(p, p->out, number_round(p->op->out[0]->type.dtype, f));
    if (p->op->out[0]->type.dtype == DT_BOOL) return f != 0 ? "1" : "0";
    return whole_text(p->a, d->kind == D_BOOL ? d->b : d->kind == D_INT ? d->i : number_truncate(d->f));
}

static const char *arange(const Point *p) {
    const Datum *start = op_attr(p->op, A_start), *step = op_attr(p->op, A_step);
    if (p->out == ARITH_I64)
        return TEXT(p, "add_i64(%s, mul_i64((int64_t)%s, %s))", attr_text(p, A_start, ARITH_I64), p->i,
                    attr_text(p, A_step, ARITH_I64));
    return TEXT(p, "(%s)(%s + (double)%s * %s)", arith_type(p->out), number(p, ARITH_F64, number_of(start)), p->i,
                number(p, ARITH_F64, number_of(step)));
}

/* ---- axis by axis ---- */

/* Sums the places of all axes; c[k] is the text of the place on axis k of the operand. */
static const char *joined(const Point *p, const Shape *x, const char **c) {
    StrBuf b;
    sb_init(&b, p->a);
    for (unsigned k = 0; k < x->rank; k++) {
        uint64_t behind = elems_behind(x, k);
        sb_printf(&b, "%s(%s)", k ? " + " : "", c[k]);
        if (behind > 1) sb_printf(&b, " * %" PRIu64, behind);
    }
    if (x->rank == 0) sb_puts(&b, "0");
    return sb_str(&b);
}

static const char *tile(const Point *p) {
    const Shape *x = &p->op->in[0]->type.shape, *r = &p->op->out[0]->type.shape;
    const char *c[MAX_RANK];
    for (unsigned k = 0; k < x->rank; k++) {
        unsigned axis = k + r->rank - x->rank;
        c[k] = coordinate(p->a, r, axis, p->i);
        if (r->dim[axis] != x->dim[k]) c[k] = TEXT(p, "%s %% %" PRIu64, c[k], x->dim[k]);
    }
    return load_at(p, 0, joined(p, x, c));
}

static const char *flip(const Point *p) {
    const Shape *x = &p->op->in[0]->type.shape;
    int64_t dims[MAX_RANK];
    uint32_t n = op_ints(p->op, A_dims, dims, MAX_RANK);
    const char *c[MAX_RANK];
    for (unsigned k = 0; k < x->rank; k++) c[k] = coordinate(p->a, x, k, p->i);
    for (uint32_t k = 0; k < n && x->rank > 0; k++)
        c[dims[k]] = TEXT(p, "%" PRIu64 " - %s", x->dim[dims[k]] - 1, c[dims[k]]);
    return load_at(p, 0, joined(p, x, c));
}

static const char *roll(const Point *p) {
    Shape flat = shape_of(1, &p->op->in[0]->nelem);
    const Shape *x = op_attr(p->op, A_dims) ? &p->op->in[0]->type.shape : &flat;
    int64_t shifts[2 * MAX_RANK], dims[2 * MAX_RANK] = {0};
    uint32_t n = op_ints(p->op, A_shifts, shifts, 2 * MAX_RANK);
    uint64_t by[MAX_RANK] = {0};
    const char *c[MAX_RANK];
    if (op_attr(p->op, A_dims)) op_ints(p->op, A_dims, dims, 2 * MAX_RANK);
    for (uint32_t k = 0; k < n; k++)
        if (x->dim[dims[k]] > 0) by[dims[k]] = (by[dims[k]] + (uint64_t)shifts[k]) % x->dim[dims[k]];
    for (unsigned k = 0; k < x->rank; k++) {
        c[k] = coordinate(p->a, x, k, p->i);
        if (by[k]) c[k] = TEXT(p, "(%s + %" PRIu64 ") %% %" PRIu64, c[k], x->dim[k] - by[k], x->dim[k]);
    }
    return load_at(p, 0, joined(p, x, c));
}

/* The place on an axis of n elements where `before` were added in front and `after` behind (negative: cropped). */
static const char *padded(const Point *p, const char *mode, const char *c, int64_t n, int64_t before, int64_t after) {
    const char *at_axis = TEXT(p, "(int64_t)(%s) - %s", c, whole_text(p->a, before));
    if (before <= 0 && after <= 0 && strcmp(mode, "circular") != 0) return at_axis;
    if (strcmp(mode, "replicate") == 0) return TEXT(p, "clip_i64(%s, 0, %s)", at_axis, whole_text(p->a, n - 1));
    if (strcmp(mode, "reflect") == 0)
        return TEXT(p, "%s - llabs(%s - llabs(%s))", whole_text(p->a, n - 1), whole_text(p->a, n - 1), at_axis);
    if (strcmp(mode, "constant") == 0) return at_axis;
    int64_t first = before < 0 ? -before : 0, left = n - first + (after < 0 ? after : 0),
            lead = before > 0 ? before : 0;
    return TEXT(p, "%s + ((int64_t)(%s) + %s) %% %s", whole_text(p->a, first), c,
                whole_text(p->a, lead % left ? left - lead % left : 0), whole_text(p->a, left));
}

static const char *pad(const Point *p) {
    const Shape *x = &p->op->in[0]->type.shape, *r = &p->op->out[0]->type.shape;
    int64_t amounts[2 * MAX_RANK] = {0};
    uint32_t n = op_ints(p->op, A_pad, amounts, 2 * MAX_RANK);
    const char *mode = op_str(p->op, A_mode), *c[MAX_RANK];
    bool constant = strcmp(mode, "constant") == 0;
    StrBuf inside;
    sb_init(&inside, p->a);
    for (unsigned k = 0; k < x->rank; k++) {
        uint32_t from_end = x->rank - 1u - k;
        int64_t before = from_end < n / 2 ? amounts[2 * from_end] : 0,
                after = from_end < n / 2 ? amounts[2 * from_end + 1] : 0;
        const char *place = coordinate(p->a, r, k, p->i);
        c[k] = TEXT(p, "c%u", k);
        if (before == 0 && after == 0) {
            sb_printf(p->b, "    const size_t c%u = %s;\n", k, place);
            continue;
        }
        sb_printf(p->b, "    const size_t c%u = (size_t)(%s);\n", k,
                  padded(p, mode, place, (int64_t)x->dim[k], before, after));
        if (constant && (before > 0 || after > 0))
            sb_printf(&inside, "%sc%u < %" PRIu64, inside.n ? " && " : "", k, x->dim[k]);
    }
    if (constant && p->op->in[0]->nelem == 0) return filled(p, op_attr(p->op, A_value));
    const char *value = load_at(p, 0, joined(p, x, c));
    return inside.n ? TEXT(p, "(%s ? %s : %s)", sb_str(&inside), value, filled(p, op_attr(p->op, A_value))) : value;
}

static const char *moved(const Point *p) {
    Datum one = d_int(1), zero = d_int(0);
    Map m;
    switch (p->op->kind) {
    case OP_BATCH_NORM: return batch_norm(p);
    case OP_PRELU: return prelu(p);
    case OP_GLU: return glu(p);
    case OP_WHERE: return TEXT(p, "(%s ? %s : %s)", at(p, 0, ARITH_I64), at(p, 1, p->out), at(p, 2, p->out));
    case OP_MASKED_FILL:
        return TEXT(p, "(%s ? %s : %s)", at(p, 1, ARITH_I64), attr_text(p, A_value, p->out), at(p, 0, p->out));
    case OP_EMBEDDING: return embedding(p);
    case OP_GATHER: return gather(p);
    case OP_INDEX_SELECT: return index_select(p);
    case OP_ONE_HOT: return one_hot(p);
    case OP_TRIL: case OP_TRIU: return triangle(p);
    case OP_ARANGE: return arange(p);
    case OP_ZEROS: return filled(p, &zero);
    case OP_ONES: return filled(p, &one);
    case OP_FULL: return filled(p, op_attr(p->op, A_fill_value));
    case OP_PAD: return pad(p);
    case OP_TILE: return tile(p);
    case OP_FLIP: return flip(p);
    case OP_ROLL: return roll(p);
    default:
        if (!map_move(p->op, 0, &m)) return NULL;
        return load_at(p, 0, map_text(p->a, &m, p->i));
    }
}

/* Names in front of the expression (row, place, c0 ...) are unique: operators that need them are never fused with
 * others. */
void point_statements(const StepText *s, StrBuf *b, const Op *op, const char *index) {
    Arena *a = s->e->c->scratch;
    StrBuf before;
    sb_init(&before, a);
    Arith out = arith_of(op->out[0]->type.dtype), in = op->nin && op->in[0] ? arith_of(op->in[0]->type.dtype) : out;
    Point p = {.s = s, .b = &before, .op = op, .i = index, .a = a, .in = in, .out = out};
    const char *text = s->e->p->fate[op->id] == FATE_FOLDED ? at(&p, 0, out) : moved(&p),
               *name = local_name(s, op->out[0]);
    if (!text && (op_info(op->kind)->flags & BINARY)) text = binary(&p);
    if (!text) text = unary(&p);
    if (!text) text = activation(&p);
    if (!text) ice("emit: %s has no expression", op->path);
    DType d = op->out[0]->type.dtype;
    if (out == ARITH_I64 && d != DT_I64) text = arena_printf(a, "wrap_%s(%s)", dtype_name(d), text);
    sb_write(b, before.p, before.n);
    sb_printf(b, "    const %s %s = %s;\n", arith_type(out), name, text);
}
