/* loss.c - losses, as torch.nn.functional's. The targets of cross_entropy and nll_loss are class indices, i64 of x's
 * shape without the class axis; cross_entropy also takes class probabilities of x's own shape. The others compare
 * element by element: both sides must have one shape (where PyTorch's mse_loss broadcasts with a warning, it is refused).
 *
 * Operands     x, target
 * Attributes   reduction "mean", "sum" or "none"; ignore_index (class indices only); label_smoothing; beta
 * Result       mean, sum: rank 0; none: one number for each target. No multiply-adds. */
#include <math.h>
#include <string.h>

#include "ops/axes.h"
#include "ops/eval.h"

static bool of_classes(OpKind kind) {
    return kind == OP_CROSS_ENTROPY || kind == OP_NLL_LOSS;
}

static bool target_fails(Typing *t, DiagCode code, const char *wants, const char *help) {
    const Value *x = t->in[0], *target = t->in[1];
    Diag *d = diag(t->ctx, code, typing_span(t, A_target), "%s on %s takes %s as target, but this is %s",
                   op_info(t->kind)->name, x_text(t, x), wants, x_text(t, target));
    note_value(t->ctx, d, x);
    note_value(t->ctx, d, target);
    if (help) diag_help(t->ctx, d, "%s", help);
    return false;
}

/* The class axis of x: 1, or 0 when there is no batch. */
static unsigned class_axis(const Value *x) {
    return x->type.shape.rank == 1 ? 0 : 1;
}

static Shape without_classes(const Value *x) {
    const Shape *s = &x->type.shape;
    Shape r = {.rank = (uint8_t)(s->rank - 1)};
    for (unsigned i = 0, k = 0; i < s->rank; i++)
        if (i != class_axis(x)) r.dim[k++] = s->dim[i];
    return r;
}

static bool check_indices(Typing *t, const Value *x, const Value *target) {
    Shape wanted = without_classes(x);
    Type type = {DT_I64, wanted};
    const char *wants = type_text(t->ctx->scratch, &type);
    if (target->type.dtype != DT_I64) {
        const char *help = dtype_is_int(target->type.dtype) ? "cast it first: cast(target, i64)" : NULL;
        return target_fails(t, DIAG_DTYPE_MISMATCH, wants, help);
    }
    return shape_equal(&target->type.shape, &wanted) || target_fails(t, DIAG_SHAPE_MISMATCH, wants, NULL);
}

static bool check_classes(Typing *t, const Value *x, const Value *target) {
    if (!typing_rank(t, x, 1, MAX_RANK, "[N, C, ...] or [C]") || !typing_float(t, x)) return false;
    if (t->kind == OP_CROSS_ENTROPY && shape_equal(&x->type.shape, &target->type.shape) &&
        dtype_is_float(target->type.dtype))
        return typing_same_dtype(t, x, target);
    return check_indices(t, x, target);
}

static bool check_elements(Typing *t, const Value *x, const Value *target) {
    if (!typing_float(t, x) || !typing_same_dtype(t, x, target)) return false;
    if (shape_equal(&x->type.shape, &target->type.shape)) return true;
    return target_fails(t, DIAG_SHAPE_MISMATCH, "the same shape",
                        "give both sides one shape first, for example with expand or squeeze");
}

static bool check_reduction(Typing *t, const char *word) {
    static const char *const words[] = {"mean", "sum", "none"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i]) == 0) return true;
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_reduction), "%s has no reduction \"%s\"",
                   op_info(t->kind)->name, word);
    diag_suggest(t->ctx, d, word, words, COUNT_OF(words));
    return false;
}

static bool check_range(Typing *t, AttrName name, double lo, double hi, const char *range) {
    double v;
    if (!need_real(t, name, &v)) return false;
    if (v >= lo && v <= hi) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, name), "%s of %s must be %s", attr_name(name),
         op_info(t->kind)->name, range);
    return false;
}

/* What each has beside its reduction; ignore_index goes with class indices. */
static bool check_numbers(Typing *t) {
    int64_t ignored;
    if (of_classes(t->kind) && dtype_is_int(t->in[1]->type.dtype) && !need_int(t, A_ignore_index, &ignored))
        return false;
    if (t->kind == OP_CROSS_ENTROPY) return check_range(t, A_label_smoothing, 0, 1, "from 0 to 1");
    return t->kind != OP_SMOOTH_L1_LOSS || check_range(t, A_beta, 0, HUGE_VAL, "0 or more");
}

static bool infer(Typing *t) {
    if (!need_operands(t, 2, 2)) return false;
    const Value *x = t->in[0], *target = t->in[1];
    const Datum *reduction = need_attr(t, A_reduction, D_STR);
    if (!reduction) return false;
    bool classes = of_classes(t->kind), ok = classes ? check_classes(t, x, target) : check_elements(t, x, target);
    if (!ok || !check_reduction(t, reduction->s) || !check_numbers(t)) return false;
    Shape s = {.rank = 0};
    if (strcmp(reduction->s, "none") == 0) s = classes ? without_classes(x) : x->type.shape;
    return type_push(t, x->type.dtype, &s);
}

/* Without class indices there is nothing to ignore: the attribute goes, and a written one is refused. */
static bool bind(Call *c) {
    if (c->info->kind != OP_CROSS_ENTROPY || !dtype_is_float(call_tensor(c, A_target)->type.dtype))
        return bind_plain(c);
    Arg *ignore = call_arg(c, A_ignore_index);
    if (ignore->given && ignore->value.i >= 0) {
        diag(c->ctx, DIAG_ARGUMENT_VALUE, ignore->span,
             "ignore_index needs class indices as target, and this target has class probabilities");
        return false;
    }
    ignore->value = d_none();
    return bind_plain(c);
}

const OpRules rules_loss = {.bind = bind, .infer = infer, .eval = eval_loss};
