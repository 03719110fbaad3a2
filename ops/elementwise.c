/* elementwise.c - arithmetic, comparisons and choices, element by element with NumPy's broadcasting (rank 0 and size
 * 0 included). Operands have one dtype; a number literal takes the tensor's. What comes out is PyTorch's: comparisons
 * and logic give bool, division and the functions of real numbers (exp, sqrt, ...) turn integers into f32, everything
 * else keeps the dtype.
 *
 * Normalised form: numbers among the operands of binary operators and of where are scalar constants. Attributes:
 *   masked_fill value; clamp min, max (either may be absent; numbers of the operand's kind); cast dtype */
#include "ops/axes.h"
#include "ops/eval.h"

/* ---- binding ---- */

static Value *operand(Call *c, const Arg *a, DType dtype) {
    return a->value.kind == D_TENSOR ? a->value.tensor : call_scalar(c, a, dtype);
}

static bool bind_binary(Call *c) {
    const Arg *a = &c->args[0], *b = &c->args[1];
    bool left = a->value.kind == D_TENSOR, right = b->value.kind == D_TENSOR;
    if (!left && !right) {
        Diag *d = diag(c->ctx, DIAG_ARGUMENT_TYPE, c->span, "%s needs a tensor among its operands", c->info->name);
        diag_help(c->ctx, d, "between numbers alone, write compile-time arithmetic");
        return false;
    }
    DType dtype = (left ? a : b)->value.tensor->type.dtype;
    Value *in[2] = {operand(c, a, dtype), operand(c, b, dtype)};
    if (!in[0] || !in[1]) return false;
    return call_result(c, call_op(c, c->info->kind, in, 2, NULL, 0, NULL));
}

/* Two numbers as branches choose their own dtype, as in PyTorch: f32 when one of them is a float, else i64. */
static DType branch_dtype(const Datum *a, const Datum *b) {
    if (a->kind == D_TENSOR) return a->tensor->type.dtype;
    if (b->kind == D_TENSOR) return b->tensor->type.dtype;
    if (a->kind == D_BOOL && b->kind == D_BOOL) return DT_BOOL;
    return a->kind == D_FLOAT || b->kind == D_FLOAT ? DT_F32 : DT_I64;
}

static bool bind_where(Call *c) {
    const Arg *a = call_arg(c, A_x), *b = call_arg(c, A_other);
    DType dtype = branch_dtype(&a->value, &b->value);
    Value *in[3] = {call_tensor(c, A_condition), operand(c, a, dtype), operand(c, b, dtype)};
    if (!in[1] || !in[2]) return false;
    return call_result(c, call_op(c, OP_WHERE, in, 3, NULL, 0, NULL));
}

static bool bind(Call *c) {
    if (c->info->kind == OP_WHERE) return bind_where(c);
    return c->info->flags & BINARY ? bind_binary(c) : bind_plain(c);
}

/* ---- types ---- */

static bool require_bool(Typing *t, AttrName name, const Value *x) {
    if (x->type.dtype == DT_BOOL) return true;
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, typing_span(t, name), "the %s of %s must be bool, but it is %s",
                   attr_name(name), op_info(t->kind)->name, x_text(t, x));
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "a comparison gives bool: x > 0, or cast(x, bool)");
    return false;
}

/* An integer tensor raised to a negative integer leaves the integers. */
static bool exponent_fits(Typing *t) {
    const Value *x = t->in[0], *e = t->in[1];
    if (e->role != ROLE_CONST || e->constant.kind != D_INT || e->constant.i >= 0 || !dtype_is_int(x->type.dtype))
        return true;
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_exponent), "%s to the power %lld is no integer",
                   x_text(t, x), (long long)e->constant.i);
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "cast the tensor first: cast(x, f32)");
    return false;
}

static bool binary_dtype(Typing *t, DType *r) {
    const Value *x = t->in[0];
    *r = x->type.dtype;
    if (op_info(t->kind)->flags & PREDICATE) *r = DT_BOOL;
    switch (t->kind) {
    case OP_DIV:
        if (!dtype_is_float(*r)) *r = DT_F32;
        return true;
    case OP_SUB: return need_numbers(t, x, "ne(a, b) is true where two truth values differ");
    case OP_FLOOR_DIV: case OP_REMAINDER: return need_numbers(t, x, "cast it to an integer first");
    case OP_POW: return need_numbers(t, x, "cast it to a number first") && exponent_fits(t);
    default: return true;
    }
}

static bool infer_binary(Typing *t) {
    Shape shape;
    DType dtype;
    return need_operands(t, 2, 2) && typing_same_dtype(t, t->in[0], t->in[1]) && binary_dtype(t, &dtype) &&
           typing_broadcast(t, t->in[0], t->in[1], &shape) && type_push(t, dtype, &shape);
}

/* Both branches first; `branches` then stands for a value of their common shape. */
static bool infer_where(Typing *t) {
    if (!need_operands(t, 3, 3)) return false;
    const Value *c = t->in[0], *x = t->in[1], *y = t->in[2];
    if (!require_bool(t, A_condition, c) || !typing_same_dtype(t, x, y)) return false;
    Value branches = *x;
    Shape shape;
    if (!typing_broadcast(t, x, y, &branches.type.shape)) return false;
    return typing_broadcast(t, c, &branches, &shape) && type_push(t, x->type.dtype, &shape);
}

static bool infer_masked_fill(Typing *t) {
    if (!need_operands(t, 2, 2)) return false;
    const Value *x = t->in[0], *mask = t->in[1];
    Shape shape;
    if (!typing_attr(t, A_value)) return need_attr(t, A_value, D_FLOAT) != NULL;
    return require_bool(t, A_mask, mask) && need_fitting(t, A_value, x->type.dtype) &&
           typing_broadcast(t, x, mask, &shape) && type_push(t, x->type.dtype, &shape);
}

static bool infer_clamp(Typing *t) {
    const Value *x = t->in[0];
    const Datum *min = typing_attr(t, A_min), *max = typing_attr(t, A_max);
    if (!min && !max) {
        Diag *d = diag(t->ctx, DIAG_MISSING_ARGUMENT, t->span, "clamp needs min, max or both");
        diag_help(t->ctx, d, "clamp(x, min=0), clamp(x, max=6), or clamp(x, 0, 6)");
        return false;
    }
    return need_numbers(t, x, "cast it to a number first") && need_fitting(t, A_min, x->type.dtype) &&
           need_fitting(t, A_max, x->type.dtype) && type_push(t, x->type.dtype, &x->type.shape);
}

static bool infer_cast(Typing *t) {
    const Datum *d = need_attr(t, A_dtype, D_DTYPE);
    return d && type_push(t, d->dtype, &t->in[0]->type.shape);
}

static bool infer_unary(Typing *t) {
    if (!need_operands(t, 1, 1)) return false;
    const Value *x = t->in[0];
    DType dt = x->type.dtype;
    switch (t->kind) {
    case OP_CAST: return infer_cast(t);
    case OP_CLAMP: return infer_clamp(t);
    case OP_COPY: break;
    case OP_LOGICAL_NOT: dt = DT_BOOL; break;
    case OP_NEG:
        if (!need_numbers(t, x, "logical_not(x) inverts truth values")) return false;
        break;
    case OP_ABS: case OP_FLOOR: case OP_CEIL: case OP_ROUND:
        if (!need_numbers(t, x, "cast it to a number first")) return false;
        break;
    default:                                              /* the functions of real numbers */
        if (!dtype_is_float(dt)) dt = DT_F32;
    }
    return type_push(t, dt, &x->type.shape);
}

static bool infer(Typing *t) {
    if (t->kind == OP_WHERE) return infer_where(t);
    if (t->kind == OP_MASKED_FILL) return infer_masked_fill(t);
    return op_info(t->kind)->flags & BINARY ? infer_binary(t) : infer_unary(t);
}

const OpRules rules_elementwise = {.bind = bind, .infer = infer, .eval = eval_elementwise};
