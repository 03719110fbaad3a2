/* eval_elementwise.c - arithmetic, comparisons and choices, element by element with broadcasting. Integers are computed
 * in uint64_t, so that overflow wraps and narrowing to the dtype's width gives two's complement. PyTorch's rules: floor
 * division and remainder round toward minus infinity (the remainder has the divisor's sign), halves round to even,
 * minimum, maximum and clamp keep NaN, addition and multiplication of truth values are "or" and "and". Division of an
 * integer by zero is an error, as there. O(elements). */
#include "ops/axes.h"
#include "ops/eval.h"

#include <inttypes.h>
#include <math.h>

enum { OPERANDS = 3 };

/* ---- broadcasting: where the operands of a result's element lie ---- */

typedef struct Walk {
    unsigned rank;
    uint64_t dim[MAX_RANK], at[MAX_RANK];                 /* of the result */
    unsigned n;
    uint64_t step[OPERANDS][MAX_RANK], place[OPERANDS];   /* step 0: the operand is stretched along that axis */
} Walk;

static Walk walk_of(const Eval *e) {
    const Shape *r = &e->out->type.shape;
    Walk w = {.rank = r->rank, .n = e->op->nin};
    for (unsigned i = 0; i < r->rank; i++) w.dim[i] = r->dim[i];
    for (unsigned k = 0; k < w.n; k++) {
        const Shape *s = &e->in[k]->type.shape;
        uint64_t step = 1;
        for (unsigned i = 1; i <= s->rank; i++) {
            w.step[k][r->rank - i] = s->dim[s->rank - i] == 1 ? 0 : step;
            step *= s->dim[s->rank - i];
        }
    }
    return w;
}

static void walk_on(Walk *w) {
    for (unsigned i = w->rank; i-- > 0;) {
        for (unsigned k = 0; k < w->n; k++) w->place[k] += w->step[k][i];
        if (++w->at[i] < w->dim[i]) return;
        for (unsigned k = 0; k < w->n; k++) w->place[k] -= w->step[k][i] * w->dim[i];
        w->at[i] = 0;
    }
}

/* ---- floats ---- */

/* floor(a / b) of the exact quotient, and what is left, with b's sign. */
static double remainder_of(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double floor_divided(double a, double b) {
    if (b == 0) return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return copysign(0, a / b);
    double whole = floor(q);
    return q - whole > 0.5 ? whole + 1 : whole;
}

static double least(double a, double b) { return isnan(a) || a < b ? a : b; }
static double most(double a, double b) { return isnan(a) || a > b ? a : b; }

static double arithmetic(OpKind kind, double a, double b) {
    switch (kind) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return a / b;
    case OP_FLOOR_DIV: return floor_divided(a, b);
    case OP_REMAINDER: return remainder_of(a, b);
    case OP_POW: return pow(a, b);
    case OP_MINIMUM: return least(a, b);
    case OP_MAXIMUM: return most(a, b);
    default: ice("eval: %s is no arithmetic", op_info(kind)->name);
    }
}

static bool compare(OpKind kind, double a, double b) {
    switch (kind) {
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    case OP_GE: return a >= b;
    case OP_LOGICAL_AND: return a != 0 && b != 0;
    case OP_LOGICAL_OR: return a != 0 || b != 0;
    default: ice("eval: %s is no comparison", op_info(kind)->name);
    }
}

static double function(OpKind kind, double x) {
    switch (kind) {
    case OP_ABS: return fabs(x);
    case OP_NEG: return -x;
    case OP_EXP: return exp(x);
    case OP_LOG: return log(x);
    case OP_SQRT: return sqrt(x);
    case OP_RSQRT: return 1 / sqrt(x);
    case OP_SIN: return sin(x);
    case OP_COS: return cos(x);
    case OP_ERF: return erf(x);
    case OP_FLOOR: return floor(x);
    case OP_CEIL: return ceil(x);
    case OP_ROUND: return nearbyint(x);
    case OP_COPY: case OP_CAST: return x;
    default: ice("eval: %s is no function of one number", op_info(kind)->name);
    }
}

/* ---- integers ---- */

static int64_t negated(int64_t a) { return (int64_t)(0 - (uint64_t)a); }

/* b is not 0. The one quotient that does not fit, least / -1, wraps. */
static int64_t int_floor_divided(int64_t a, int64_t b) {
    if (b == -1) return negated(a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t int_remainder(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* By repeated squaring. A negative power of a whole number is cut to a whole number: 0 but for 1 and -1. */
static int64_t int_power(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    uint64_t r = 1, square = (uint64_t)a;
    for (uint64_t left = (uint64_t)b; left; left >>= 1, square *= square)
        if (left & 1) r *= square;
    return (int64_t)r;
}

static int64_t int_arithmetic(OpKind kind, int64_t a, int64_t b) {
    switch (kind) {
    case OP_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case OP_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case OP_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case OP_FLOOR_DIV: return int_floor_divided(a, b);
    case OP_REMAINDER: return int_remainder(a, b);
    case OP_POW: return int_power(a, b);
    case OP_MINIMUM: return a < b ? a : b;
    case OP_MAXIMUM: return a > b ? a : b;
    default: ice("eval: %s is no integer arithmetic", op_info(kind)->name);
    }
}

static bool int_compare(OpKind kind, int64_t a, int64_t b) {
    switch (kind) {
    case OP_EQ: return a == b;
    case OP_NE: return a != b;
    case OP_LT: return a < b;
    case OP_LE: return a <= b;
    case OP_GT: return a > b;
    case OP_GE: return a >= b;
    case OP_LOGICAL_AND: return a && b;
    case OP_LOGICAL_OR: return a || b;
    default: ice("eval: %s is no comparison", op_info(kind)->name);
    }
}

static int64_t int_function(OpKind kind, int64_t x) {
    switch (kind) {
    case OP_ABS: return x < 0 ? negated(x) : x;
    case OP_NEG: return negated(x);
    case OP_FLOOR: case OP_CEIL: case OP_ROUND: case OP_COPY: case OP_CAST: return x;
    default: ice("eval: %s is no function of integers", op_info(kind)->name);
    }
}

/* ---- the operators ---- */

static double real_at(const Tensor *x, uint64_t i) {
    return x->is_int ? (double)x->i[i] : x->f[i];
}

/* "[1, 0, 2]" */
static const char *place_text(Arena *a, const Walk *w) {
    Shape at = shape_of(w->rank, w->at);
    return shape_text(a, &at);
}

static bool divides_by_zero(Eval *e, const Walk *w) {
    OpKind kind = e->op->kind;
    if ((kind != OP_FLOOR_DIV && kind != OP_REMAINDER) || e->in[1]->i[w->place[1]] != 0) return false;
    diag(e->ctx, DIAG_ARITHMETIC, e->op->span, "%s divides the integer %" PRId64 " by zero, at %s of its result %s",
         op_info(kind)->name, e->in[0]->i[w->place[0]], place_text(e->arena, w),
         type_text(e->arena, &e->out->type));
    return true;
}

static void int_binary(Eval *e) {
    Walk w = walk_of(e);
    bool truth = e->out->type.dtype == DT_BOOL, compares = op_has(e->op, PREDICATE);
    for (uint64_t i = 0; i < e->out->n; i++, walk_on(&w)) {
        int64_t a = e->in[0]->i[w.place[0]], b = e->in[1]->i[w.place[1]];
        if (!compares && divides_by_zero(e, &w)) return;
        int64_t r = compares ? int_compare(e->op->kind, a, b) : int_arithmetic(e->op->kind, a, b);
        e->out->i[i] = truth ? r != 0 : r;
    }
}

static void binary(Eval *e) {
    const Tensor *a = e->in[0], *b = e->in[1];
    if (a->is_int && e->out->is_int) {
        int_binary(e);
        return;
    }
    Walk w = walk_of(e);
    bool compares = op_has(e->op, PREDICATE);
    for (uint64_t i = 0; i < e->out->n; i++, walk_on(&w)) {
        double x = real_at(a, w.place[0]), y = real_at(b, w.place[1]);
        if (compares) e->out->i[i] = compare(e->op->kind, x, y);
        else e->out->f[i] = arithmetic(e->op->kind, x, y);
    }
}

static void where(Eval *e) {
    Walk w = walk_of(e);
    for (uint64_t i = 0; i < e->out->n; i++, walk_on(&w)) {
        unsigned k = e->in[0]->i[w.place[0]] ? 1 : 2;
        if (e->out->is_int) e->out->i[i] = e->in[k]->i[w.place[k]];
        else e->out->f[i] = e->in[k]->f[w.place[k]];
    }
}

static int64_t int_attr(const Eval *e, AttrName name, int64_t absent) {
    const Datum *d = op_attr(e->op, name);
    return !d ? absent : d->kind == D_BOOL ? d->b : d->i;
}

static void masked_fill(Eval *e) {
    Walk w = walk_of(e);
    bool is_int = e->out->is_int;
    int64_t whole = is_int ? int_attr(e, A_value, 0) : 0;
    double real = is_int ? 0 : op_float(e->op, A_value);
    for (uint64_t i = 0; i < e->out->n; i++, walk_on(&w)) {
        bool fill = e->in[1]->i[w.place[1]] != 0;
        if (is_int) e->out->i[i] = fill ? whole : e->in[0]->i[w.place[0]];
        else e->out->f[i] = fill ? real : e->in[0]->f[w.place[0]];
    }
}

/* Where the bounds cross, the upper one counts. */
static void int_clamp(Eval *e) {
    const int64_t *x = e->in[0]->i, lo = int_attr(e, A_min, INT64_MIN), hi = int_attr(e, A_max, INT64_MAX);
    for (uint64_t i = 0; i < e->out->n; i++) {
        int64_t r = x[i] < lo ? lo : x[i];
        e->out->i[i] = r > hi ? hi : r;
    }
}

static void clamp(Eval *e) {
    const double *x = e->in[0]->f, lo = op_attr(e->op, A_min) ? op_float(e->op, A_min) : -INFINITY,
                 hi = op_attr(e->op, A_max) ? op_float(e->op, A_max) : INFINITY;
    for (uint64_t i = 0; i < e->out->n; i++) {
        double r = x[i] < lo ? lo : x[i];
        e->out->f[i] = r > hi ? hi : r;
    }
}

/* The truth of a float is asked before it is cut to an integer: 0.5 is true. */
static void cast(Eval *e) {
    const Tensor *x = e->in[0];
    bool truth = e->out->type.dtype == DT_BOOL;
    for (uint64_t i = 0; i < x->n; i++) {
        if (!e->out->is_int) e->out->f[i] = real_at(x, i);
        else if (truth) e->out->i[i] = x->is_int ? x->i[i] != 0 : x->f[i] != 0;
        else e->out->i[i] = x->is_int ? x->i[i] : number_truncate(x->f[i]);
    }
}

static void unary(Eval *e) {
    const Tensor *x = e->in[0];
    for (uint64_t i = 0; i < x->n; i++) {
        if (e->op->kind == OP_LOGICAL_NOT) e->out->i[i] = real_at(x, i) == 0;
        else if (e->out->is_int) e->out->i[i] = int_function(e->op->kind, x->i[i]);
        else e->out->f[i] = function(e->op->kind, real_at(x, i));
    }
}

void eval_elementwise(Eval *e) {
    switch (e->op->kind) {
    case OP_WHERE: where(e); break;
    case OP_MASKED_FILL: masked_fill(e); break;
    case OP_CLAMP:
        if (e->out->is_int) int_clamp(e);
        else clamp(e);
        break;
    case OP_CAST: cast(e); break;
    default:
        if (op_has(e->op, BINARY)) binary(e);
        else unary(e);
    }
}
