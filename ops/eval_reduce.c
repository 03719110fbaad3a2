/* eval_reduce.c - reductions over axes, and orders along one. Integers sum and multiply exactly modulo 2^64. A NaN is
 * larger than every number in an order and wins every amax, amin, argmax and argmin, as in PyTorch; of equal elements
 * the first counts, and orders are stable, also descending ones. The variance takes two passes: mean, then squares of
 * deviations. Orders are merge sorts, O(n log n) for an axis of n; everything else is O(elements). */
#include "ops/axes.h"
#include "ops/eval.h"

#include <math.h>

/* ---- reductions over a set of axes ---- */

/* For every element of x in order, the place in the result it belongs to: reduced axes have step 0. */
typedef struct Fold {
    unsigned rank;
    uint64_t dim[MAX_RANK], at[MAX_RANK], step[MAX_RANK], place;
    uint64_t count;                                       /* elements of x for one of the result */
} Fold;

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

static Fold fold_of(const Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    unsigned set = reduced_axes(e->op);
    Fold f = {.rank = s->rank, .count = 1};
    uint64_t step = 1;
    for (unsigned i = s->rank; i-- > 0;) {
        f.dim[i] = s->dim[i];
        if (set & 1u << i) {
            f.count *= s->dim[i];
            continue;
        }
        f.step[i] = step;
        step *= s->dim[i];
    }
    return f;
}

static void fold_on(Fold *f) {
    for (unsigned i = f->rank; i-- > 0;) {
        f->place += f->step[i];
        if (++f->at[i] < f->dim[i]) return;
        f->place -= f->step[i] * f->dim[i];
        f->at[i] = 0;
    }
}

static void sum(Eval *e) {
    const Tensor *x = e->in[0];
    Fold f = fold_of(e);
    for (uint64_t i = 0; i < x->n; i++, fold_on(&f)) {
        if (!x->is_int) e->out->f[f.place] += x->f[i];
        else e->out->i[f.place] = (int64_t)((uint64_t)e->out->i[f.place] + (uint64_t)x->i[i]);
    }
}

static void mean(Eval *e) {
    double count = (double)fold_of(e).count;
    sum(e);
    for (uint64_t i = 0; i < e->out->n; i++) e->out->f[i] /= count;
}

static void var(Eval *e) {
    const Tensor *x = e->in[0];
    double *means = NEW_ARRAY(e->arena, double, e->out->n);
    double left = (double)fold_of(e).count - (double)op_int(e->op, A_correction);
    mean(e);
    for (uint64_t i = 0; i < e->out->n; i++) {
        means[i] = e->out->f[i];
        e->out->f[i] = 0;
    }
    Fold f = fold_of(e);
    for (uint64_t i = 0; i < x->n; i++, fold_on(&f)) {
        double d = x->f[i] - means[f.place];
        e->out->f[f.place] += d * d;
    }
    for (uint64_t i = 0; i < e->out->n; i++) e->out->f[i] /= left > 0 ? left : 0;
}

static void prod(Eval *e) {
    const Tensor *x = e->in[0];
    for (uint64_t i = 0; i < e->out->n; i++) {
        if (x->is_int) e->out->i[i] = 1;
        else e->out->f[i] = 1;
    }
    Fold f = fold_of(e);
    for (uint64_t i = 0; i < x->n; i++, fold_on(&f)) {
        if (!x->is_int) e->out->f[f.place] *= x->f[i];
        else e->out->i[f.place] = (int64_t)((uint64_t)e->out->i[f.place] * (uint64_t)x->i[i]);
    }
}

/* ---- extremes ---- */

/* Does element i of x come before element k in an order? NaN counts as the largest. */
static bool before(const Tensor *x, uint64_t i, uint64_t k, bool descending) {
    if (x->is_int) return descending ? x->i[i] > x->i[k] : x->i[i] < x->i[k];
    double a = x->f[i], b = x->f[k];
    if (isnan(a) || isnan(b)) return descending ? !isnan(b) : !isnan(a);
    return descending ? a > b : a < b;
}

/* Is element i more extreme than element k? A NaN is more extreme than every number, whichever end is sought. */
static bool beats(const Tensor *x, uint64_t i, uint64_t k, bool largest) {
    if (!x->is_int && isnan(x->f[i])) return !isnan(x->f[k]);
    if (!x->is_int && isnan(x->f[k])) return false;
    return before(x, i, k, largest);
}

/* The place in x of the first extreme, for each element of the result. Every one has elements: infer saw to it. */
static uint64_t *extremes(Eval *e, bool largest) {
    const Tensor *x = e->in[0];
    uint64_t *best = NEW_ARRAY(e->arena, uint64_t, e->out->n);
    bool *seen = NEW_ARRAY(e->arena, bool, e->out->n);
    Fold f = fold_of(e);
    for (uint64_t i = 0; i < x->n; i++, fold_on(&f)) {
        if (!seen[f.place] || beats(x, i, best[f.place], largest)) best[f.place] = i;
        seen[f.place] = true;
    }
    return best;
}

static void take_extremes(Eval *e, bool largest) {
    const uint64_t *best = extremes(e, largest);
    for (uint64_t i = 0; i < e->out->n; i++) {
        if (e->out->is_int) e->out->i[i] = e->in[0]->i[best[i]];
        else e->out->f[i] = e->in[0]->f[best[i]];
    }
}

/* The place along the axis; in the whole tensor when none is named. */
static void arg_extremes(Eval *e, bool largest) {
    const Shape *s = &e->in[0]->type.shape;
    const uint64_t *best = extremes(e, largest);
    bool whole = s->rank == 0 || !op_attr(e->op, A_dim);
    unsigned axis = whole ? 0 : (unsigned)op_int(e->op, A_dim);
    for (uint64_t i = 0; i < e->out->n; i++)
        e->out->i[i] = (int64_t)(whole ? best[i] : best[i] / elems_behind(s, axis) % s->dim[axis]);
}

/* ---- along one axis ---- */

/* Rows of x along the axis `dim`: element k of the row that begins at i is x[i + k * step]. */
typedef struct Rows { uint64_t extent, step; } Rows;

static Rows rows_of(const Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    unsigned axis = (unsigned)op_int(e->op, A_dim);
    return (Rows){s->rank ? s->dim[axis] : 1, elems_behind(s, axis)};
}

static void cumsum(Eval *e) {
    const Tensor *x = e->in[0];
    Rows r = rows_of(e);
    for (uint64_t i = 0; i < x->n; i++) {
        bool first = i / r.step % r.extent == 0;
        if (!x->is_int) e->out->f[i] = first ? x->f[i] : e->out->f[i - r.step] + x->f[i];
        else e->out->i[i] = first ? x->i[i] : (int64_t)((uint64_t)e->out->i[i - r.step] + (uint64_t)x->i[i]);
    }
}

/* Merges places[lo..mid) and places[mid..hi), each in order, into `to`; of equal elements those from the left first. */
static void merge(const Tensor *x, const uint64_t *places, uint64_t lo, uint64_t mid, uint64_t hi, bool descending,
                  uint64_t *to) {
    uint64_t a = lo, b = mid;
    for (uint64_t k = lo; k < hi; k++) {
        bool right = a == mid || (b < hi && before(x, places[b], places[a], descending));
        to[k] = places[right ? b++ : a++];
    }
}

/* Bottom-up merge sort of n places; returns whichever of the two arrays the order ends in. */
static uint64_t *sort_places(const Tensor *x, uint64_t *places, uint64_t *other, uint64_t n, bool descending) {
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            uint64_t mid = n - lo < width ? n : lo + width, hi = n - mid < width ? n : mid + width;
            merge(x, places, lo, mid, hi, descending, other);
        }
        uint64_t *swap = places;
        places = other;
        other = swap;
    }
    return places;
}

/* The first `k` of every row in order, and their places along the axis. */
static void order(Eval *e, uint64_t k, bool descending) {
    const Tensor *x = e->in[0];
    Tensor *values = &e->out[0], *indices = &e->out[1];
    Rows r = rows_of(e);
    uint64_t *a = NEW_ARRAY(e->arena, uint64_t, r.extent), *b = NEW_ARRAY(e->arena, uint64_t, r.extent);
    uint64_t nrows = x->n == 0 ? 0 : x->n / r.extent;
    for (uint64_t row = 0; row < nrows; row++) {
        uint64_t block = row / r.step, start = block * r.extent * r.step + row % r.step;
        for (uint64_t i = 0; i < r.extent; i++) a[i] = start + i * r.step;
        const uint64_t *sorted = sort_places(x, a, b, r.extent, descending);
        for (uint64_t i = 0; i < k; i++) {
            uint64_t to = block * k * r.step + row % r.step + i * r.step;
            if (x->is_int) values->i[to] = x->i[sorted[i]];
            else values->f[to] = x->f[sorted[i]];
            indices->i[to] = (int64_t)(sorted[i] / r.step % r.extent);
        }
    }
}

void eval_reduce(Eval *e) {
    const Op *op = e->op;
    switch (op->kind) {
    case OP_SUM: sum(e); break;
    case OP_MEAN: mean(e); break;
    case OP_VAR: var(e); break;
    case OP_AMAX: take_extremes(e, true); break;
    case OP_AMIN: take_extremes(e, false); break;
    case OP_PROD: prod(e); break;
    case OP_ARGMAX: arg_extremes(e, true); break;
    case OP_ARGMIN: arg_extremes(e, false); break;
    case OP_CUMSUM: cumsum(e); break;
    case OP_SORT: order(e, rows_of(e).extent, op_bool(op, A_descending)); break;
    case OP_TOPK: order(e, (uint64_t)op_int(op, A_k), op_bool(op, A_largest)); break;
    default: ice("eval: %s is not of the family reduce", op_info(op->kind)->name);
    }
}
