/* reduce.c - reductions over axes, and orders along one axis. PyTorch's rules: sum, prod and cumsum of integers and
 * bools are i64, mean and var take floats only, argmax and argmin give i64, extremes of nothing are refused, and a
 * scalar may be addressed as if it had one axis.
 *
 * Normalised attributes:
 *   sum, mean, var, amax, amin   dim: the reduced axes, from the front, ascending, all of them where none were given;
 *                                keepdim; var correction
 *   prod, argmax, argmin         dim: one axis from the front, absent for all; keepdim
 *   cumsum, topk, sort           dim: from the front; topk k, largest, sorted; sort descending, stable */
#include "ops/axes.h"
#include "ops/eval.h"

static bool takes_list(OpKind kind) {
    return kind == OP_SUM || kind == OP_MEAN || kind == OP_VAR || kind == OP_AMAX || kind == OP_AMIN;
}

/* Ascending, and all axes for none; a list that will not do (an axis twice, out of range) stays for infer to refuse. */
static void normalise_axes(Call *c, Binding *b, unsigned rank) {
    Ints given = {0}, sorted = {0};
    Datum *d = binding_get(b, A_dim);
    if (d && !datum_ints(d, &given)) return;
    unsigned set = given.n == 0 ? (1u << rank) - 1 : 0;
    for (uint32_t i = 0; i < given.n; i++) {
        if (!axis_wrap(&given.v[i], rank) || set & 1u << given.v[i]) return;
        set |= 1u << given.v[i];
    }
    for (unsigned i = 0; i < rank; i++)
        if (set & 1u << i) sorted.v[sorted.n++] = i;
    binding_set(c, b, A_dim, ints_datum(c, &sorted));
}

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    unsigned rank = b.in[0]->type.shape.rank;
    if (takes_list(c->info->kind)) normalise_axes(c, &b, rank);
    else binding_axis(&b, A_dim, rank);
    return binding_call(c, &b);
}

/* ---- types ---- */

static const char *const to_number = "cast it to a number first: |> cast(i64)";

/* An extreme of no elements does not exist. */
static bool has_elements(Typing *t, unsigned set) {
    const Value *x = t->in[0];
    for (unsigned i = 0; i < x->type.shape.rank; i++) {
        if (!(set & 1u << i) || x->type.shape.dim[i] != 0) continue;
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span, "%s has no value over axis %u of %s, which is empty",
                       op_info(t->kind)->name, i, x_text(t, x));
        note_value(t->ctx, d, x);
        return false;
    }
    return true;
}

static bool reduced_dtype(Typing *t, unsigned set, DType *r) {
    const Value *x = t->in[0];
    *r = x->type.dtype;
    switch (t->kind) {
    case OP_SUM: case OP_PROD:
        if (!dtype_is_float(*r)) *r = DT_I64;
        return true;
    case OP_VAR: {
        int64_t correction;
        if (!need_int(t, A_correction, &correction)) return false;
        return typing_float(t, x);
    }
    case OP_MEAN: return typing_float(t, x);
    case OP_AMAX: case OP_AMIN: return has_elements(t, set);
    default:                                              /* argmax, argmin */
        *r = DT_I64;
        return need_numbers(t, t->in[0], to_number) && has_elements(t, set);
    }
}

/* The reduced axes as bits. One axis that is absent means all, as does the empty list of a scalar. */
static bool reduced_axes(Typing *t, unsigned *set) {
    unsigned rank = t->in[0]->type.shape.rank, axis;
    *set = 0;
    if (takes_list(t->kind)) {
        if (!need_attr(t, A_dim, D_LIST) || !need_axes(t, A_dim, rank, set)) return false;
        if (*set == 0 && rank > 0) return refuse_form(t, A_dim, "names every reduced axis in a graph");
    } else if (typing_attr(t, A_dim)) {
        if (!need_axis(t, A_dim, rank, &axis)) return false;
        *set = 1u << axis;
    }
    if (*set == 0) *set = (1u << rank) - 1;
    return true;
}

static bool infer_reduction(Typing *t) {
    const Shape *x = &t->in[0]->type.shape;
    bool keep = flag_of(t, A_keepdim);
    unsigned set;
    DType dtype;
    if (!reduced_axes(t, &set) || !reduced_dtype(t, set, &dtype)) return false;
    Shape r = {0};
    for (unsigned i = 0; i < x->rank; i++) {
        if (!(set & 1u << i)) r.dim[r.rank++] = x->dim[i];
        else if (keep) r.dim[r.rank++] = 1;
    }
    return type_push(t, dtype, &r);
}

static bool infer_cumsum(Typing *t) {
    const Value *x = t->in[0];
    unsigned axis;
    return need_axis(t, A_dim, x->type.shape.rank, &axis) &&
           type_push(t, dtype_is_float(x->type.dtype) ? x->type.dtype : DT_I64, &x->type.shape);
}

static bool infer_sort(Typing *t) {
    const Value *x = t->in[0];
    unsigned axis;
    return need_axis(t, A_dim, x->type.shape.rank, &axis) && type_push(t, x->type.dtype, &x->type.shape) &&
           type_push(t, DT_I64, &x->type.shape);
}

static bool infer_topk(Typing *t) {
    const Value *x = t->in[0];
    Shape r = x->type.shape;
    unsigned axis;
    int64_t k;
    if (!need_numbers(t, x, to_number) || !need_axis(t, A_dim, r.rank, &axis) || !need_int(t, A_k, &k)) return false;
    uint64_t extent = r.rank ? r.dim[axis] : 1;
    if (k < 0 || (uint64_t)k > extent) {
        Diag *d = diag(t->ctx, DIAG_INDEX_RANGE, typing_span(t, A_k),
                       "topk of k = %lld, but axis %u of %s has %llu element%s", (long long)k, axis, x_text(t, x),
                       (unsigned long long)extent, extent == 1 ? "" : "s");
        note_value(t->ctx, d, x);
        return false;
    }
    if (r.rank) r.dim[axis] = (uint64_t)k;
    return type_push(t, x->type.dtype, &r) && type_push(t, DT_I64, &r);
}

static bool infer(Typing *t) {
    if (!need_operands(t, 1, 1)) return false;
    switch (t->kind) {
    case OP_CUMSUM: return infer_cumsum(t);
    case OP_SORT: return infer_sort(t);
    case OP_TOPK: return infer_topk(t);
    default: return infer_reduction(t);
    }
}

const OpRules rules_reduce = {.bind = bind, .infer = infer, .eval = eval_reduce};
