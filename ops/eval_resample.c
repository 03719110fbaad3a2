/* eval_resample.c - pad, tile, flip, roll: each axis of the result reads the operand's by a table of places;
 * interpolate: by a table of weighted places, the taps, so that one loop does every mode.
 *
 * Sampled places are PyTorch's. Nearest is the one mode in which rounding chooses between elements: its scale and
 * product are in float, as there, unless the tensor is f64. The others compute in double: linear from clamped places,
 * cubic (a = -0.75) from places clamped tap by tap, area from the bounds of adaptive average pools. What an integer
 * tensor gets is rounded to nearest even and clamped to its range. O(elements of the result times taps). */
#include "ops/axes.h"
#include "ops/eval_move.h"

#include <math.h>
#include <string.h>

/* ---- pad, tile, flip, roll ---- */

/* Which place of an axis of n elements the result reads at k, when `before` are added in front and `after` behind;
 * -1: none. Negative amounts crop. What goes round, goes round what is left of the axis. */
static int64_t padded(const char *mode, int64_t k, int64_t n, int64_t before, int64_t after) {
    int64_t p = k - before;
    if (p >= 0 && p < n && (strcmp(mode, "circular") != 0 || (before >= 0 && after >= 0))) return p;
    if (strcmp(mode, "constant") == 0) return -1;
    if (strcmp(mode, "replicate") == 0) return p < 0 ? 0 : n - 1;
    if (strcmp(mode, "reflect") == 0) return p < 0 ? -p : 2 * (n - 1) - p;
    int64_t first = before < 0 ? -before : 0, left = n - first + (after < 0 ? after : 0);
    p = (k - (before > 0 ? before : 0)) % left;
    return first + (p < 0 ? p + left : p);
}

static void pad(Eval *e) {
    const Shape *s = &e->in[0]->type.shape, *r = &e->out->type.shape;
    int64_t amounts[2 * MAX_RANK], **table = identity_tables(e->arena, r);
    uint32_t n = op_ints(e->op, A_pad, amounts, 2 * MAX_RANK);
    const char *mode = op_str(e->op, A_mode);
    for (uint32_t i = 0; i < n / 2; i++) {
        unsigned axis = r->rank - 1u - i;
        for (uint64_t k = 0; k < r->dim[axis]; k++)
            table[axis][k] = padded(mode, (int64_t)k, (int64_t)s->dim[axis], amounts[2 * i], amounts[2 * i + 1]);
    }
    if (strcmp(mode, "constant") == 0) fill_whole(e->out, op_attr(e->op, A_value));
    move_by_tables(e->out, e->in[0], s, table);
}

/* Axes that are new stand in front, with one element. */
static void tile(Eval *e) {
    const Shape *s = &e->in[0]->type.shape, *r = &e->out->type.shape;
    int64_t **table = identity_tables(e->arena, r);
    Shape from = {.rank = r->rank};
    for (unsigned i = 0; i < r->rank; i++) {
        from.dim[i] = i + s->rank < r->rank ? 1 : s->dim[i + s->rank - r->rank];
        for (uint64_t k = 0; k < r->dim[i]; k++) table[i][k] = (int64_t)(k % from.dim[i]);
    }
    move_by_tables(e->out, e->in[0], &from, table);
}

static void flip(Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    int64_t dims[MAX_RANK], **table = identity_tables(e->arena, s);
    uint32_t n = op_ints(e->op, A_dims, dims, MAX_RANK);
    for (uint32_t i = 0; i < n && s->rank > 0; i++)
        for (uint64_t k = 0; k < s->dim[dims[i]]; k++) table[dims[i]][k] = (int64_t)(s->dim[dims[i]] - 1 - k);
    move_by_tables(e->out, e->in[0], s, table);
}

/* Shifts lie below the extent. Without axes the tensor is one axis. */
static void roll(Eval *e) {
    const Tensor *x = e->in[0];
    Shape s = x->type.shape;
    int64_t shifts[2 * MAX_RANK], dims[2 * MAX_RANK] = {0};
    uint32_t n = op_ints(e->op, A_shifts, shifts, 2 * MAX_RANK);
    if (op_attr(e->op, A_dims)) op_ints(e->op, A_dims, dims, 2 * MAX_RANK);
    else s = shape_of(1, &x->n);
    Tensor out = *e->out;
    out.type.shape = s;
    int64_t **table = identity_tables(e->arena, &s);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t extent = s.dim[dims[i]];
        for (uint64_t k = 0; k < extent; k++)
            table[dims[i]][k] = (int64_t)(((uint64_t)table[dims[i]][k] + extent - (uint64_t)shifts[i]) % extent);
    }
    move_by_tables(&out, x, &s, table);
}

/* ---- interpolate: the taps of an axis ---- */

enum { CUBIC_TAPS = 4 };

/* For every place of the result's axis: the elements it is made of, `most` of them at most, and their weights. */
typedef struct Taps {
    uint64_t most;
    uint64_t *place;                                      /* [extent][most] */
    double *weight;                                       /* 0 behind the last tap */
} Taps;

typedef struct Axis {
    uint64_t in, out;
    double scale;                                         /* scale_factor; 0 where it has no say */
    bool corners;
} Axis;

/* How far apart samples lie. */
static double spacing(const Axis *a) {
    if (a->corners) return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
    return a->scale > 0 ? 1 / a->scale : (double)a->in / (double)a->out;
}

static double sampled(const Axis *a, uint64_t i) {
    return a->corners ? spacing(a) * (double)i : spacing(a) * ((double)i + 0.5) - 0.5;
}

static uint64_t within(double place, uint64_t n) {
    return place <= 0 ? 0 : place >= (double)(n - 1) ? n - 1 : (uint64_t)place;
}

/* Nearest takes the element left of the sample, nearest-exact the one around its middle. */
static void nearest_tap(const Axis *a, uint64_t i, bool exact, bool in_double, uint64_t *place, double *weight) {
    double middle = exact ? (double)i + 0.5 : (double)i, at = middle * spacing(a);
    if (!in_double) {
        float step = a->scale > 0 ? (float)(1 / a->scale) : (float)a->in / (float)a->out;
        at = (float)middle * step;
    }
    *place = within(floor(at), a->in);
    *weight = 1;
}

static void linear_taps(const Axis *a, uint64_t i, uint64_t *place, double *weight) {
    double at = sampled(a, i);
    if (at < 0) at = 0;
    place[0] = within(floor(at), a->in);
    place[1] = place[0] + 1 < a->in ? place[0] + 1 : place[0];
    weight[1] = at - (double)place[0];
    if (weight[1] > 1) weight[1] = 1;
    weight[0] = 1 - weight[1];
}

/* Keys' cubic convolution at distance d from the sample. */
static double cubic(double d) {
    const double a = -0.75;
    d = fabs(d);
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static void cubic_taps(const Axis *a, uint64_t i, uint64_t *place, double *weight) {
    double at = sampled(a, i), left = floor(at);
    for (int k = 0; k < CUBIC_TAPS; k++) {
        place[k] = within(left + k - 1, a->in);
        weight[k] = cubic(at - (left + k - 1));
    }
}

static void area_taps(const Axis *a, uint64_t i, uint64_t *place, double *weight) {
    uint64_t start = i * a->in / a->out, end = ((i + 1) * a->in + a->out - 1) / a->out;
    for (uint64_t k = start; k < end; k++) {
        place[k - start] = k;
        weight[k - start] = 1 / (double)(end - start);
    }
}

static Taps taps_of(Arena *arena, const Axis *a, const char *mode, bool in_double) {
    bool exact = strcmp(mode, "nearest-exact") == 0, nearest = exact || strcmp(mode, "nearest") == 0;
    bool is_cubic = strcmp(mode, "bicubic") == 0, area = strcmp(mode, "area") == 0;
    Taps t = {.most = nearest ? 1 : is_cubic ? CUBIC_TAPS : area ? a->in / a->out + 2 : 2};
    t.place = NEW_ARRAY(arena, uint64_t, a->out * t.most);
    t.weight = NEW_ARRAY(arena, double, a->out * t.most);
    for (uint64_t i = 0; i < a->out; i++) {
        uint64_t *place = t.place + i * t.most;
        double *weight = t.weight + i * t.most;
        if (nearest) nearest_tap(a, i, exact, in_double, place, weight);
        else if (is_cubic) cubic_taps(a, i, place, weight);
        else if (area) area_taps(a, i, place, weight);
        else linear_taps(a, i, place, weight);
    }
    return t;
}

/* ---- interpolate ---- */

enum { SPATIAL = 3 };
typedef struct Sampling {
    uint64_t in[SPATIAL], out[SPATIAL];                   /* depth, height, width; 1 for those the tensor has not */
    Taps taps[SPATIAL];
} Sampling;

static Sampling sampling_of(const Eval *e) {
    const Shape *s = &e->in[0]->type.shape, *r = &e->out->type.shape;
    const Datum *corners = op_attr(e->op, A_align_corners), *scale = op_attr(e->op, A_scale_factor);
    unsigned missing = SPATIAL + 2u - s->rank;
    Sampling m;
    for (unsigned i = 0; i < SPATIAL; i++) {
        bool own = i >= missing;
        Axis a = {.in = own ? s->dim[i - missing + 2] : 1, .out = own ? r->dim[i - missing + 2] : 1,
                  .scale = own && scale ? number_of(&scale->list.p[i - missing]) : 0, .corners = corners && corners->b};
        m.in[i] = a.in;
        m.out[i] = a.out;
        m.taps[i] = taps_of(e->arena, &a, own ? op_str(e->op, A_mode) : "nearest", e->in[0]->type.dtype == DT_F64);
    }
    return m;
}

/* One element of the result, at (d, h, w) of the plane that begins at `plane`. */
static double sample(const Tensor *x, uint64_t plane, const Sampling *m, uint64_t d, uint64_t h, uint64_t w) {
    const Taps *td = &m->taps[0], *th = &m->taps[1], *tw = &m->taps[2];
    double sum = 0;
    for (uint64_t i = d * td->most; i < (d + 1) * td->most; i++)
        for (uint64_t j = h * th->most; j < (h + 1) * th->most; j++)
            for (uint64_t k = w * tw->most; k < (w + 1) * tw->most; k++) {
                double weight = td->weight[i] * th->weight[j] * tw->weight[k];
                uint64_t at = plane + (td->place[i] * m->in[1] + th->place[j]) * m->in[2] + tw->place[k];
                if (weight != 0) sum += weight * (x->is_int ? (double)x->i[at] : x->f[at]);
            }
    return sum;
}

static int64_t rounded(DType dtype, double v) {
    if (dtype != DT_U8) return number_truncate(nearbyint(v));
    return (int64_t)nearbyint(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void interpolate(Eval *e) {
    const Tensor *x = e->in[0];
    Sampling m = sampling_of(e);
    uint64_t planes = x->type.shape.dim[0] * x->type.shape.dim[1], to = 0;
    for (uint64_t p = 0; p < planes; p++)
        for (uint64_t d = 0; d < m.out[0]; d++)
            for (uint64_t h = 0; h < m.out[1]; h++)
                for (uint64_t w = 0; w < m.out[2]; w++, to++) {
                    double v = sample(x, p * m.in[0] * m.in[1] * m.in[2], &m, d, h, w);
                    if (e->out->is_int) e->out->i[to] = rounded(x->type.dtype, v);
                    else e->out->f[to] = v;
                }
}

void eval_resample(Eval *e) {
    switch (e->op->kind) {
    case OP_PAD: pad(e); break;
    case OP_TILE: tile(e); break;
    case OP_FLIP: flip(e); break;
    case OP_ROLL: roll(e); break;
    case OP_INTERPOLATE: interpolate(e); break;
    default: ice("eval: %s is not of the family resample", op_info(e->op->kind)->name);
    }
}
