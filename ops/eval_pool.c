/* eval_pool.c - pooling (see pool.c): each place of the result is the greatest element or the average of a region of x,
 * a box of places that a sliding window, the adaptive rule or the whole image gives.
 *
 * Greatest: padding is never chosen, NaN is, and a window of padding alone (dilation can step over x) has the dtype's
 * least value. Average: the divisor is divisor_override, or how many elements the window has in x, or with
 * count_include_pad in x and its padding; what ceil_mode adds beyond the padding counts nowhere. O(result * window). */
#include <math.h>

#include "ops/eval.h"
#include "ops/pool.h"
#include "ops/window.h"

/* The places first, first + step ... below end on one axis, all inside x, and how many places count for an average. */
typedef struct Range { int64_t first, end, step, counted; } Range;

/* Everything in WINDOW_AXES axes; those that a pool does not have are 1 in front. */
typedef struct Frame {
    Pool pool;
    Window window;
    bool include_pad;
    int64_t divisor;                                      /* 0: not given */
    int64_t in[WINDOW_AXES], out[WINDOW_AXES];
} Frame;

static Range sliding(const Window *w, unsigned i, int64_t in, int64_t o) {
    int64_t first = o * w->stride[i] - w->begin[i], end = first + w->dilation[i] * (w->kernel[i] - 1) + 1;
    int64_t reach = end < in + w->end[i] ? end : in + w->end[i];
    Range r = {first, end < in ? end : in, w->dilation[i], reach - first};
    if (first < 0) r.first = first + (-first + r.step - 1) / r.step * r.step;
    return r;
}

/* From floor(o * in / out) up to ceil((o + 1) * in / out); a global pool has one place. */
static Range adaptive(int64_t in, int64_t out, int64_t o) {
    int64_t first = o * in / out, end = ((o + 1) * in + out - 1) / out;
    return (Range){first, end, 1, end - first};
}

static Range range_of(const Frame *f, unsigned axis, int64_t o) {
    if (f->pool.kind == POOL_SLIDING) return sliding(&f->window, axis, f->in[axis], o);
    return adaptive(f->in[axis], f->out[axis], o);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool is_greater(const Tensor *x, uint64_t at, uint64_t best) {
    if (x->is_int) return x->i[at] > x->i[best];
    return x->f[at] > x->f[best] || isnan(x->f[at]);
}

static void set_least(Tensor *y, uint64_t at) {
    DType dtype = y->type.dtype;
    if (!y->is_int) y->f[at] = -INFINITY;
    else y->i[at] = dtype == DT_U8 || dtype == DT_U4 ? 0 : -(INT64_C(1) << (dtype_bits(dtype) - 2)) * 2;
}

/* Into element `to` of y, from the image whose first element is `image`. */
static void pool_max(const Frame *f, const Range r[WINDOW_AXES], const Tensor *x, uint64_t image, Tensor *y,
                     uint64_t to) {
    uint64_t best = UINT64_MAX;
    for (int64_t d = r[0].first; d < r[0].end; d += r[0].step)
        for (int64_t h = r[1].first; h < r[1].end; h += r[1].step)
            for (int64_t w = r[2].first; w < r[2].end; w += r[2].step) {
                uint64_t at = image + (uint64_t)((d * f->in[1] + h) * f->in[2] + w);
                if (best == UINT64_MAX || is_greater(x, at, best)) best = at;
            }
    if (best == UINT64_MAX) set_least(y, to);
    else if (x->is_int) y->i[to] = x->i[best];
    else y->f[to] = x->f[best];
}

static double pool_average(const Frame *f, const Range r[WINDOW_AXES], const double *image) {
    double sum = 0;
    int64_t counted = 1;
    for (unsigned i = 0; i < WINDOW_AXES; i++) {
        if (r[i].first >= r[i].end) return 0;             /* of padding alone */
        counted *= f->include_pad ? r[i].counted : r[i].end - r[i].first;
    }
    for (int64_t d = r[0].first; d < r[0].end; d++)
        for (int64_t h = r[1].first; h < r[1].end; h++)
            for (int64_t w = r[2].first; w < r[2].end; w++) sum += image[(d * f->in[1] + h) * f->in[2] + w];
    return sum / (double)(f->divisor ? f->divisor : counted);
}

static Frame frame_of(const Eval *e) {
    const Op *op = e->op;
    const Shape *x = &e->in[0]->type.shape, *y = &e->out[0].type.shape;
    Frame f = {.pool = pool_of(op->kind), .in = {1, 1, 1}, .out = {1, 1, 1}};
    for (unsigned i = 1; i <= f.pool.n; i++) {
        f.in[WINDOW_AXES - i] = (int64_t)x->dim[x->rank - i];
        f.out[WINDOW_AXES - i] = (int64_t)y->dim[y->rank - i];
    }
    if (f.pool.kind != POOL_SLIDING) return f;
    f.window = window_of_op(op, f.pool.n);
    f.include_pad = !f.pool.max && op_bool(op, A_count_include_pad);
    f.divisor = op_attr(op, A_divisor_override) ? op_int(op, A_divisor_override) : 0;
    return f;
}

void eval_pool(Eval *e) {
    const Tensor *x = e->in[0];
    Frame f = frame_of(e);
    uint64_t in = (uint64_t)(f.in[0] * f.in[1] * f.in[2]), to = 0;
    for (uint64_t image = 0; image < x->n; image += in)
        for (int64_t d = 0; d < f.out[0]; d++)
            for (int64_t h = 0; h < f.out[1]; h++)
                for (int64_t w = 0; w < f.out[2]; w++, to++) {
                    Range r[WINDOW_AXES] = {range_of(&f, 0, d), range_of(&f, 1, h), range_of(&f, 2, w)};
                    if (f.pool.max) pool_max(&f, r, x, image, &e->out[0], to);
                    else e->out[0].f[to] = pool_average(&f, r, x->f + image);
                }
}
