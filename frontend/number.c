/* number.c - arithmetic of compile-time values, and the few functions on them:
 *
 *   range(n), range(a, b), range(a, b, step)    a list of ints          len(list or string)     how many items or bytes
 *   min(a, b, ...), max(a, b, ...)              of numbers or a list    int(x)                  truncates toward zero
 *   float(x)                                    an int as a float       abs sqrt floor ceil round   of one number
 *
 * abs, sqrt, floor, ceil and round are operators too: they work here when their argument is a number, not a tensor.
 * floor, ceil and round (half to even) give ints. Integers are 64 bits; what does not fit is an error, never wraps. */
#include "frontend/elab.h"

#include <math.h>
#include <string.h>

static Val overflow(Elab *e, Span at) {
    diag(e->ctx, DIAG_ARITHMETIC, at, "the result does not fit a 64-bit integer (overflow)");
    return v_poison();
}

static Val division_by_zero(Elab *e, AstOp op, Span at) {
    diag(e->ctx, DIAG_ARITHMETIC, at, "the divisor of %s is 0", ast_op_text(op));
    return v_poison();
}

static Val int_divide(Elab *e, AstOp op, Span at, int64_t a, int64_t b) {
    if (b == 0)
        return division_by_zero(e, op, at);
    if (a == INT64_MIN && b == -1)
        return op == AO_MOD ? v_int(0) : overflow(e, at);
    int64_t q = a / b, r = a % b;
    if (op == AO_DIV && r != 0) {
        Diag *d = diag(e->ctx, DIAG_INEXACT_DIVISION, at, "%lld / %lld leaves a remainder of %lld", (long long)a,
                       (long long)b, (long long)r);
        diag_help(e->ctx, d, "/ of ints is exact division; // rounds down, and a float operand gives a float");
        return v_poison();
    }
    if (r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    return v_int(op == AO_MOD ? r : q);
}

static Val int_power(Elab *e, Span at, int64_t base, int64_t exponent) {
    if (exponent < 0)
        return v_float(pow((double)base, (double)exponent));
    int64_t r = 1;
    while (exponent > 0) {
        if ((exponent & 1) && !mul_i64(r, base, &r))
            return overflow(e, at);
        exponent >>= 1;
        if (exponent > 0 && !mul_i64(base, base, &base))
            return overflow(e, at);
    }
    return v_int(r);
}

static Val int_binary(Elab *e, AstOp op, Span at, int64_t a, int64_t b) {
    int64_t r = 0;
    bool fits = true;
    switch (op) {
    case AO_ADD: fits = add_i64(a, b, &r); break;
    case AO_SUB: fits = sub_i64(a, b, &r); break;
    case AO_MUL: fits = mul_i64(a, b, &r); break;
    case AO_DIV: case AO_FLOORDIV: case AO_MOD: return int_divide(e, op, at, a, b);
    case AO_POW: return int_power(e, at, a, b);
    case AO_LT: return v_bool(a < b);
    case AO_LE: return v_bool(a <= b);
    case AO_GT: return v_bool(a > b);
    case AO_GE: return v_bool(a >= b);
    case AO_EQ: case AO_NE: case AO_OR: case AO_AND: case AO_NOT: case AO_MATMUL: case AO_NEG: case AO_POS:
        ice("%s on two ints", ast_op_text(op));
    }
    return fits ? v_int(r) : overflow(e, at);
}

static Val float_result(Elab *e, AstOp op, Span at, double r) {
    if (isnan(r)) {
        diag(e->ctx, DIAG_ARITHMETIC, at, "%s has no result for these numbers", ast_op_text(op));
        return v_poison();
    }
    return v_float(r);
}

static Val float_binary(Elab *e, AstOp op, Span at, double a, double b) {
    if (b == 0 && (op == AO_DIV || op == AO_FLOORDIV || op == AO_MOD))
        return division_by_zero(e, op, at);
    switch (op) {
    case AO_ADD: return float_result(e, op, at, a + b);
    case AO_SUB: return float_result(e, op, at, a - b);
    case AO_MUL: return float_result(e, op, at, a * b);
    case AO_DIV: return float_result(e, op, at, a / b);
    case AO_FLOORDIV: return float_result(e, op, at, floor(a / b));
    case AO_MOD: return float_result(e, op, at, a - b * floor(a / b));
    case AO_POW: return float_result(e, op, at, pow(a, b));
    case AO_LT: return v_bool(a < b);
    case AO_LE: return v_bool(a <= b);
    case AO_GT: return v_bool(a > b);
    case AO_GE: return v_bool(a >= b);
    case AO_EQ: case AO_NE: case AO_OR: case AO_AND: case AO_NOT: case AO_MATMUL: case AO_NEG: case AO_POS: break;
    }
    ice("%s on two floats", ast_op_text(op));
}

static double as_float(Val v) {
    return v.kind == V_INT ? (double)v.i : v.f;
}

static Val wrong_operands(Elab *e, AstOp op, Span at, Val a, Val b) {
    Diag *d = diag(e->ctx, DIAG_OPERAND_TYPE, at, "%s cannot be applied to %s and %s", ast_op_text(op), val_text(e, a),
                   val_text(e, b));
    if ((a.kind == V_STR || b.kind == V_STR) && op == AO_ADD)
        diag_help(e->ctx, d, "strings are put together by interpolation: \"layer{i}\"");
    return v_poison();
}

static Val concatenate(Elab *e, Span at, Val a, Val b) {
    uint64_t n = (uint64_t)a.n + b.n;
    Val r = {.kind = V_LIST, .weight = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX};
    if (!list_fits(e, &r, at))
        return r;
    Val *items = NEW_ARRAY(e->arena, Val, n > 0 ? n : 1);
    for (uint64_t i = 0; i < n; i++)
        items[i] = i < a.n ? a.items[i] : b.items[i - a.n];
    r = v_list(items, (uint32_t)n);
    list_fits(e, &r, at);
    return r;
}

Val number_binary(Elab *e, AstOp op, Span at, Val a, Val b) {
    if (a.kind == V_POISON || b.kind == V_POISON)
        return v_poison();
    if (op == AO_EQ)
        return v_bool(val_equal(a, b));
    if (op == AO_NE)
        return v_bool(!val_equal(a, b));
    if (op == AO_MATMUL)
        return wrong_operands(e, op, at, a, b);
    if (op == AO_ADD && a.kind == V_LIST && b.kind == V_LIST)
        return concatenate(e, at, a, b);
    if (a.kind == V_STR && b.kind == V_STR && op >= AO_LT && op <= AO_GE)
        return int_binary(e, op, at, strcmp(a.s, b.s), 0);
    if (!val_is_number(a) || !val_is_number(b))
        return wrong_operands(e, op, at, a, b);
    if (a.kind == V_INT && b.kind == V_INT)
        return int_binary(e, op, at, a.i, b.i);
    return float_binary(e, op, at, as_float(a), as_float(b));
}

Val number_unary(Elab *e, AstOp op, Span at, Val a) {
    if (a.kind == V_POISON)
        return a;
    if (op == AO_NOT && a.kind == V_BOOL)
        return v_bool(!a.b);
    if (op != AO_NOT && a.kind == V_FLOAT)
        return op == AO_NEG ? v_float(-a.f) : a;
    if (op != AO_NOT && a.kind == V_INT) {
        if (op == AO_NEG && a.i == INT64_MIN)
            return overflow(e, at);
        return op == AO_NEG ? v_int(-a.i) : a;
    }
    diag(e->ctx, DIAG_OPERAND_TYPE, at, "%s cannot be applied to %s", ast_op_text(op), val_text(e, a));
    return v_poison();
}

/* ---- functions */

typedef enum Function {
    F_ABS,
    F_CEIL,
    F_FLOAT,
    F_FLOOR,
    F_INT,
    F_LEN,
    F_MAX,
    F_MIN,
    F_RANGE,
    F_ROUND,
    F_SQRT,
    F_COUNT
} Function;
static const char *const functions[F_COUNT] = {"abs", "ceil", "float", "floor", "int", "len",
                                               "max", "min",  "range", "round", "sqrt"};

const char *const *function_names(size_t *n) {
    *n = F_COUNT;
    return functions;
}

static int function_of(const char *name) {
    for (int i = 0; i < F_COUNT; i++)
        if (strcmp(functions[i], name) == 0)
            return i;
    return -1;
}

bool is_function(const char *name) {
    return function_of(name) >= 0;
}

static Val refuse_argument(Elab *e, const Callee *c, const ArgVal *a, const char *wanted) {
    if (a->v.kind != V_POISON)
        diag(e->ctx, a->v.kind == V_TENSOR ? DIAG_NOT_CONSTANT : DIAG_ARGUMENT_TYPE, a->span, "%s takes %s, not %s",
             c->name, wanted, val_text(e, a->v));
    return v_poison();
}

static Val range_list(Elab *e, const Callee *c, ArgVals args) {
    int64_t v[3] = {0, 0, 1};
    for (uint32_t i = 0; i < args.n; i++) {
        if (args.p[i].v.kind != V_INT)
            return refuse_argument(e, c, &args.p[i], "ints");
        v[args.n == 1 ? 1 : i] = args.p[i].v.i;
    }
    if (v[2] == 0) {
        diag(e->ctx, DIAG_ARGUMENT_VALUE, args.p[2].span, "the step of range is 0");
        return v_poison();
    }
    bool up = v[2] > 0;
    bool any = up ? v[0] < v[1] : v[0] > v[1];
    uint64_t span = up ? (uint64_t)v[1] - (uint64_t)v[0] : (uint64_t)v[0] - (uint64_t)v[1];
    uint64_t step = up ? (uint64_t)v[2] : 0 - (uint64_t)v[2];
    uint64_t n = any ? (span - 1) / step + 1 : 0;
    if (n > e->ctx->max_ops) {
        diag(e->ctx, DIAG_UNROLL_LIMIT, c->span, "a range of %llu items is above the limit of %llu",
             (unsigned long long)n, (unsigned long long)e->ctx->max_ops);
        return v_poison();
    }
    Val *items = NEW_ARRAY(e->arena, Val, n > 0 ? n : 1);
    for (uint64_t i = 0; i < n; i++)
        items[i] = v_int((int64_t)((uint64_t)v[0] + i * (uint64_t)v[2]));      /* each lies between the ends: no wrap */
    return v_list(items, (uint32_t)n);
}

static Val extreme(Elab *e, const Callee *c, ArgVals args, bool largest) {
    const ArgVal *first = &args.p[0];
    bool in_list = args.n == 1 && first->v.kind == V_LIST;
    uint32_t n = in_list ? first->v.n : args.n;
    if (n == 0 || (args.n == 1 && !in_list))
        return refuse_argument(e, c, first, "two or more numbers, or a list of them");
    Val best = v_poison();
    for (uint32_t i = 0; i < n; i++) {
        Val v = in_list ? first->v.items[i] : args.p[i].v;
        if (!val_is_number(v))
            return refuse_argument(e, c, &(ArgVal){.v = v, .span = in_list ? first->span : args.p[i].span}, "numbers");
        if (i == 0 || (largest ? as_float(v) > as_float(best) : as_float(v) < as_float(best)))
            best = v;
    }
    return best;
}

static Val to_int(Elab *e, Span at, double f) {
    if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0))
        return overflow(e, at);
    return v_int((int64_t)f);
}

static Val length(Elab *e, const Callee *c, const ArgVal *a) {
    if (a->v.kind == V_LIST)
        return v_int(a->v.n);
    if (a->v.kind == V_STR)
        return v_int((int64_t)strlen(a->v.s));
    return refuse_argument(e, c, a, "a list or a string");
}

static Val of_number(Elab *e, const Callee *c, Function f, const ArgVal *a) {
    Val v = a->v;
    if (f == F_INT && v.kind == V_BOOL)
        return v_int(v.b);
    if (!val_is_number(v))
        return refuse_argument(e, c, a, "a number");
    switch (f) {
    case F_ABS:
        if (v.kind == V_FLOAT)
            return v_float(fabs(v.f));
        return v.i >= 0 ? v : number_unary(e, AO_NEG, a->span, v);
    case F_FLOAT: return v_float(as_float(v));
    case F_SQRT:
        if (as_float(v) < 0) {
            diag(e->ctx, DIAG_ARITHMETIC, a->span, "sqrt of a negative number");
            return v_poison();
        }
        return v_float(sqrt(as_float(v)));
    case F_INT: return v.kind == V_INT ? v : to_int(e, a->span, trunc(v.f));
    case F_FLOOR: return v.kind == V_INT ? v : to_int(e, a->span, floor(v.f));
    case F_CEIL: return v.kind == V_INT ? v : to_int(e, a->span, ceil(v.f));
    case F_ROUND: return v.kind == V_INT ? v : to_int(e, a->span, nearbyint(v.f));
    case F_LEN: case F_MAX: case F_MIN: case F_RANGE: case F_COUNT: break;
    }
    ice("%s is no function of one number", c->name);
}

Val call_function(Elab *e, const Callee *c, Span span, ArgVals args) {
    Function f = (Function)function_of(c->name);
    uint32_t lo = 1, hi = f == F_RANGE ? 3 : f == F_MAX || f == F_MIN ? UINT32_MAX : 1;
    for (uint32_t i = 0; i < args.n; i++) {
        if (args.p[i].name.name != NULL) {
            diag(e->ctx, DIAG_UNKNOWN_ARGUMENT, args.p[i].name.span, "%s has no argument '%s'", c->name,
                 args.p[i].name.name);
            return v_poison();
        }
        if (val_has_poison(args.p[i].v))
            return v_poison();
    }
    if (args.n < lo) {
        diag(e->ctx, DIAG_MISSING_ARGUMENT, span, "%s needs an argument", c->name);
        return v_poison();
    }
    if (args.n > hi) {
        diag(e->ctx, DIAG_EXTRA_ARGUMENT, args.p[hi].span, "%s takes at most %u argument%s", c->name, (unsigned)hi,
             hi == 1 ? "" : "s");
        return v_poison();
    }
    if (f == F_RANGE)
        return range_list(e, c, args);
    if (f == F_MAX || f == F_MIN)
        return extreme(e, c, args, f == F_MAX);
    return f == F_LEN ? length(e, c, &args.p[0]) : of_number(e, c, f, &args.p[0]);
}
