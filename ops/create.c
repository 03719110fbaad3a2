/* create.c - tensors out of nothing: ranges and constants. They have no operands; a level that folds constants
 * computes them once.
 *
 * Normalised attributes, dtype always there:
 *   arange start, end, step, dtype (i64 when all three are ints, f32 otherwise); one number is the end
 *   zeros, ones size, dtype; full size, fill_value, dtype (of the number: i64, f32 or bool) */
#include "ops/axes.h"
#include "ops/eval.h"

#include <math.h>

/* ---- binding ---- */

static void bind_arange(Call *c, Binding *b) {
    if (!binding_get(b, A_end)) {
        binding_set(c, b, A_end, *binding_get(b, A_start));
        binding_set(c, b, A_start, d_int(0));
    }
    bool ints = binding_get(b, A_start)->kind == D_INT && binding_get(b, A_end)->kind == D_INT &&
                binding_get(b, A_step)->kind == D_INT;
    if (!binding_get(b, A_dtype)) binding_set(c, b, A_dtype, d_dtype(ints ? DT_I64 : DT_F32));
}

static DType number_dtype(const Datum *d) {
    return d->kind == D_BOOL ? DT_BOOL : d->kind == D_INT ? DT_I64 : DT_F32;
}

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    if (c->info->kind == OP_ARANGE) bind_arange(c, &b);
    if (c->info->kind == OP_FULL && !binding_get(&b, A_dtype))
        binding_set(c, &b, A_dtype, d_dtype(number_dtype(binding_get(&b, A_fill_value))));
    return binding_call(c, &b);
}

/* ---- types ---- */

static const Datum *need_number(Typing *t, AttrName name) {
    const Datum *d = typing_attr(t, name);
    return d && is_number(d) ? d : need_attr(t, name, D_FLOAT);
}

static bool backwards(Typing *t, const char *why) {
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_step), "arange %s", why);
    diag_help(t->ctx, d, "arange counts from start up to, but without, end; a negative step counts down");
    return false;
}

/* ceil((end - start) / step) of integers, exact over the whole range: the distance fits an unsigned. */
static bool count_ints(Typing *t, int64_t start, int64_t end, int64_t step, uint64_t *n) {
    if (step == 0) return backwards(t, "has a step of 0");
    if (step > 0 ? end < start : end > start) return backwards(t, "can never reach its end with this step");
    uint64_t distance = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    *n = distance / stride + (distance % stride != 0);
    return true;
}

static bool count_floats(Typing *t, double start, double end, double step, uint64_t *n) {
    if (!isfinite(start) || !isfinite(end) || isnan(step)) return backwards(t, "needs finite numbers");
    if (step == 0) return backwards(t, "has a step of 0");
    if (step > 0 ? end < start : end > start) return backwards(t, "can never reach its end with this step");
    double count = ceil((end - start) / step);
    if (!(count < 9223372036854775808.0)) {
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "arange has more than 2^63 - 1 elements");
        return false;
    }
    *n = (uint64_t)count;
    return true;
}

/* As ATen: a range of i64 is counted in integers, its bounds cut toward zero; every other in doubles. */
static bool whole(const Datum *d, int64_t *i) {
    if (d->kind == D_INT) *i = d->i;
    else if (fabs(d->f) < 9223372036854775808.0) *i = (int64_t)d->f;
    else return false;
    return true;
}

static bool infer_arange(Typing *t) {
    const Datum *start = need_number(t, A_start), *end = start ? need_number(t, A_end) : NULL,
                *step = end ? need_number(t, A_step) : NULL;
    const Datum *dtype = step ? need_attr(t, A_dtype, D_DTYPE) : NULL;
    if (!dtype) return false;
    if (dtype->dtype == DT_BOOL) {
        diag(t->ctx, DIAG_DTYPE_MISMATCH, typing_span(t, A_dtype), "arange counts in numbers, not in bool");
        return false;
    }
    int64_t a, b, s;
    uint64_t n;
    bool ok = dtype->dtype == DT_I64 && whole(start, &a) && whole(end, &b) && whole(step, &s)
                  ? count_ints(t, a, b, s, &n)
                  : count_floats(t, number_of(start), number_of(end), number_of(step), &n);
    return ok && type_push(t, dtype->dtype, &(Shape){.rank = 1, .dim = {n}});
}

static bool read_sizes(Typing *t, Shape *r) {
    Ints sizes;
    *r = (Shape){0};
    if (!typing_attr(t, A_size)) return need_attr(t, A_size, D_LIST) != NULL;
    if (!need_ints(t, A_size, &sizes)) return false;
    for (uint32_t i = 0; i < sizes.n; i++) {
        if (sizes.v[i] < 0) {
            diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_size), "a size of %s is negative: %lld",
                 op_info(t->kind)->name, (long long)sizes.v[i]);
            return false;
        }
        if (i < MAX_RANK) r->dim[i] = (uint64_t)sizes.v[i];
    }
    r->rank = (uint8_t)sizes.n;
    return true;
}

static bool infer(Typing *t) {
    if (!need_operands(t, 0, 0)) return false;
    if (t->kind == OP_ARANGE) return infer_arange(t);
    const Datum *dtype = need_attr(t, A_dtype, D_DTYPE);
    Shape r;
    if (!dtype || !read_sizes(t, &r)) return false;
    if (t->kind == OP_FULL && !typing_attr(t, A_fill_value)) return need_attr(t, A_fill_value, D_FLOAT) != NULL;
    return need_fitting(t, A_fill_value, dtype->dtype) && type_push(t, dtype->dtype, &r);
}

const OpRules rules_create = {.bind = bind, .infer = infer, .eval = eval_create};
