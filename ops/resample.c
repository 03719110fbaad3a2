/* resample.c - elements moved, repeated, added at the borders or interpolated: pad, tile, flip, roll, interpolate.
 *
 * Normalised attributes:
 *   pad    pad: PyTorch's flat tuple (last axis first, begin and end of each; negative crops); mode; value (constant)
 *   tile   reps: one per axis of the result
 *   flip   dims: from the front
 *   roll   dims (from the front, absent: the tensor rolls as if flat), shifts: of each, reduced to 0 .. extent - 1
 *   interpolate  size: of every spatial axis; mode; align_corners (linear, bilinear, bicubic, trilinear only);
 *                scale_factor: floats, only where they change the sampled places, when not exactly out / in */
#include "ops/axes.h"
#include "ops/eval.h"

#include <math.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- binding ---- */

static void bind_tile(Call *c, Binding *b, unsigned rank) {
    Ints reps, full = {0};
    if (!datum_ints(binding_get(b, A_reps), &reps) || reps.n >= rank) return;
    while (full.n < rank - reps.n) full.v[full.n++] = 1;
    for (uint32_t i = 0; i < reps.n; i++) full.v[full.n++] = reps.v[i];
    binding_set(c, b, A_reps, ints_datum(c, &full));
}

static int64_t modulo(int64_t a, uint64_t n) {
    return n == 0 ? 0 : a >= 0 ? (int64_t)((uint64_t)a % n) : (int64_t)((n - (0 - (uint64_t)a) % n) % n);
}

static void bind_roll(Call *c, Binding *b, const Value *x) {
    Ints shifts, dims = {0};
    const Datum *d = binding_get(b, A_dims);
    binding_axes(c, b, A_dims, x->type.shape.rank);
    if (!datum_ints(binding_get(b, A_shifts), &shifts) || (d && !datum_ints(d, &dims))) return;
    if (dims.n == 0) binding_drop(b, A_dims);
    if (shifts.n != (dims.n ? dims.n : 1)) return;
    for (uint32_t i = 0; i < shifts.n; i++) {
        if (i < dims.n && (dims.v[i] < 0 || dims.v[i] >= x->type.shape.rank)) return;
        shifts.v[i] = modulo(shifts.v[i], dims.n ? x->type.shape.dim[dims.v[i]] : x->nelem);
    }
    binding_set(c, b, A_shifts, ints_datum(c, &shifts));
}

/* value means something for constant padding only; a value given to another mode stays, for infer to refuse. */
static void bind_pad(Call *c, Binding *b) {
    Ints pad;
    const Datum *mode = binding_get(b, A_mode);
    if (datum_ints(binding_get(b, A_pad), &pad)) binding_set(c, b, A_pad, ints_datum(c, &pad));
    if (strcmp(mode->s, "constant") != 0 && !call_arg(c, A_value)->given) binding_drop(b, A_value);
}

/* ---- pad ---- */

static bool pad_fails(Typing *t, DiagCode code, const char *why) {
    Diag *d = diag(t->ctx, code, typing_span(t, A_pad), "pad of %s: %s", x_text(t, t->in[0]), why);
    note_value(t->ctx, d, t->in[0]);
    return false;
}

#define SAY(t, ...) arena_printf((t)->ctx->scratch, __VA_ARGS__)

/* How much padding a mode can take from an axis of n elements; each mode reads what it copies from inside. */
static bool border_fits(Typing *t, const char *mode, unsigned axis, uint64_t n, int64_t before, int64_t after) {
    int64_t most = before > after ? before : after;
    if (strcmp(mode, "reflect") == 0 && most > 0 && (uint64_t)most >= n)
        return pad_fails(t, DIAG_SHAPE_MISMATCH,
                         SAY(t, "reflect needs more than %lld elements at axis %u, which has %llu", (long long)most,
                             axis, (ull)n));
    if (strcmp(mode, "circular") == 0 && most > 0 && (uint64_t)most > n)
        return pad_fails(t, DIAG_SHAPE_MISMATCH,
                         SAY(t, "circular needs at least %lld elements at axis %u, which has %llu", (long long)most,
                             axis, (ull)n));
    if (strcmp(mode, "constant") != 0 && n == 0)
        return pad_fails(t, DIAG_SHAPE_MISMATCH,
                         SAY(t, "%s has nothing to copy at axis %u, which is empty", mode, axis));
    return true;
}

static bool pad_axis(Typing *t, const char *mode, unsigned axis, int64_t before, int64_t after, uint64_t *n) {
    int64_t r;
    if (!border_fits(t, mode, axis, *n, before, after)) return false;
    if (!add_i64((int64_t)*n, before, &r) || !add_i64(r, after, &r))
        return pad_fails(t, DIAG_TOO_LARGE, "the result is larger than 2^63 - 1");
    if (r < 0 || (r == 0 && strcmp(mode, "constant") != 0))
        return pad_fails(t, DIAG_SHAPE_MISMATCH,
                         SAY(t, "axis %u of %llu elements would keep %lld", axis, (ull)*n, (long long)r));
    *n = (uint64_t)r;
    return true;
}

static bool pad_mode(Typing *t, const char **mode) {
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const Datum *d = need_attr(t, A_mode, D_STR);
    if (!d) return false;
    *mode = d->s;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (strcmp(d->s, modes[i]) == 0) return true;
    Diag *e = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_mode), "pad has no mode '%s'", d->s);
    diag_suggest(t->ctx, e, d->s, modes, COUNT_OF(modes));
    return false;
}

static bool pad_value_fits(Typing *t, const char *mode) {
    const Datum *v = typing_attr(t, A_value);
    bool constant = strcmp(mode, "constant") == 0;
    if (v && !constant) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_value),
             "pad takes a value in the mode constant only, not in %s", mode);
        return false;
    }
    if (constant && !v) return need_attr(t, A_value, D_FLOAT) != NULL;
    return need_fitting(t, A_value, t->in[0]->type.dtype);
}

/* Modes that read the border know images only: 1 to 3 padded axes behind a channel axis and maybe a batch axis. */
static bool pad_rank_fits(Typing *t, const char *mode, const Ints *pad) {
    unsigned rank = t->in[0]->type.shape.rank, axes = pad->n / 2;
    if (pad->n % 2 != 0)
        return pad_fails(t, DIAG_ARGUMENT_VALUE, SAY(t, "%u numbers are no pairs of begin and end", pad->n));
    if (axes > rank)
        return pad_fails(t, DIAG_RANK_MISMATCH,
                         SAY(t, "%u numbers pad %u axes, but it has rank %u", pad->n, axes, rank));
    if (strcmp(mode, "constant") == 0 || (axes >= 1 && axes <= 3 && (rank == axes + 1 || rank == axes + 2)))
        return true;
    return pad_fails(
        t, DIAG_RANK_MISMATCH,
        SAY(t, "%s pads the last 1, 2 or 3 axes of [C, ...] or [N, C, ...], not %u of %u", mode, axes, rank));
}

static bool infer_pad(Typing *t, const Value *x) {
    const char *mode;
    Ints pad;
    Shape r = x->type.shape;
    if (!typing_attr(t, A_pad)) return need_attr(t, A_pad, D_LIST) != NULL;
    if (!pad_mode(t, &mode) || !need_ints(t, A_pad, &pad) || !pad_rank_fits(t, mode, &pad) ||
        !pad_value_fits(t, mode))
        return false;
    for (uint32_t i = 0; i < pad.n / 2; i++) {
        unsigned axis = r.rank - 1u - i;
        if (!pad_axis(t, mode, axis, pad.v[2 * i], pad.v[2 * i + 1], &r.dim[axis])) return false;
    }
    return type_push(t, x->type.dtype, &r);
}

/* ---- tile, flip, roll ---- */

static bool infer_tile(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    Ints reps;
    if (!typing_attr(t, A_reps)) return need_attr(t, A_reps, D_LIST) != NULL;
    if (!need_ints(t, A_reps, &reps)) return false;
    unsigned rank = reps.n;
    Shape r = {.rank = (uint8_t)rank};
    if (rank < s->rank) return refuse_form(t, A_reps, "has a number for every axis in a graph");
    if (rank > MAX_RANK) return type_push(t, x->type.dtype, &r);
    for (unsigned i = 0; i < rank; i++) {
        int64_t rep = reps.v[i];
        uint64_t extent = i + s->rank < rank ? 1 : s->dim[i + s->rank - rank];
        if (rep < 0) {
            diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_reps), "tile cannot repeat an axis %lld times",
                 (long long)rep);
            return false;
        }
        if (!mul_u64(extent, (uint64_t)rep, &r.dim[i])) r.dim[i] = UINT64_MAX;
    }
    return type_push(t, x->type.dtype, &r);
}

static bool infer_flip(Typing *t, const Value *x) {
    unsigned set;
    return need_axes(t, A_dims, x->type.shape.rank, &set) && type_push(t, x->type.dtype, &x->type.shape);
}

static bool roll_normal(Typing *t, const Value *x, const Ints *shifts, const Ints *dims) {
    for (uint32_t i = 0; i < shifts->n; i++) {
        if (i < dims->n && (dims->v[i] < 0 || dims->v[i] >= x->type.shape.rank))
            return refuse_form(t, A_dims, "is counted from the front in a graph");
        uint64_t extent = dims->n ? x->type.shape.dim[dims->v[i]] : x->nelem;
        if (shifts->v[i] != modulo(shifts->v[i], extent))
            return refuse_form(t, A_shifts, "is below the extent in a graph");
    }
    return type_push(t, x->type.dtype, &x->type.shape);
}

/* An axis may be named twice: its shifts add up. */
static bool infer_roll(Typing *t, const Value *x) {
    Ints shifts, dims;
    if (!need_ints(t, A_shifts, &shifts) || !need_ints(t, A_dims, &dims)) return false;
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t dim = dims.v[i];
        if (x->type.shape.rank > 0 && axis_wrap(&dim, x->type.shape.rank)) continue;
        axis_missing(t, A_dims, dims.v[i], x->type.shape.rank);
        return false;
    }
    if (shifts.n == (dims.n ? dims.n : 1)) return roll_normal(t, x, &shifts, &dims);
    Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_shifts), "roll has %u shift%s for %u ax%s", shifts.n,
                   shifts.n == 1 ? "" : "s", dims.n, dims.n == 1 ? "is" : "es");
    if (dims.n == 0) diag_help(t->ctx, d, "name the axes: roll(x, shifts=(1, 2), dims=(0, 1))");
    return false;
}

/* ---- interpolate ---- */

typedef struct Mode {
    const char *name;
    unsigned lo, hi;                                      /* ranks */
    bool corners, scaled;                                 /* has align_corners; scale_factor moves the samples */
} Mode;
static const Mode modes[] = {{"nearest", 3, 5, false, true}, {"nearest-exact", 3, 5, false, true},
                             {"area", 3, 5, false, false},   {"linear", 3, 3, true, true},
                             {"bilinear", 4, 4, true, true}, {"bicubic", 4, 4, true, true},
                             {"trilinear", 5, 5, true, true}};

static const Mode *mode_named(const char *name) {
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (strcmp(modes[i].name, name) == 0) return &modes[i];
    return NULL;
}

/* floor(in * scale), in doubles as PyTorch computes it. */
static bool scaled_size(uint64_t in, double scale, int64_t *out) {
    double r = floor((double)in * scale);
    if (!(r < 9223372036854775808.0)) return false;
    *out = (int64_t)r;
    return true;
}

static bool bind_refused(Call *c, AttrName name, const char *why) {
    diag(c->ctx, DIAG_ARGUMENT_VALUE, call_arg(c, name)->span, "interpolate: %s", why);
    return false;
}

/* size and scale_factor: one number for every spatial axis, or one for each. Exactly one of the two is given. */
static bool bind_sizes(Call *c, Binding *b, const Shape *x, const Mode *mode, bool corners) {
    const Datum *size = binding_get(b, A_size), *scale = binding_get(b, A_scale_factor);
    uint32_t n = x->rank - 2u;
    if ((size != NULL) == (scale != NULL))
        return bind_refused(c, A_size,
                            size ? "size and scale_factor are both given" : "neither size nor scale_factor is given");
    const Datum *d = size ? size : scale;
    AttrName name = size ? A_size : A_scale_factor;
    if (d->kind == D_LIST && d->list.n != n)
        return bind_refused(c, name,
                            arena_printf(c->ctx->scratch, "%s has %u numbers, but %u axes are spatial",
                                         attr_name(name), d->list.n, n));
    Ints out = {.n = n};
    Datum scales[3];
    bool exact = true;
    for (uint32_t i = 0; i < n; i++) {
        const Datum *v = d->kind == D_LIST ? &d->list.p[i] : d;
        if (size ? v->kind != D_INT : !is_number(v))
            return bind_refused(c, name,
                                size ? "size must be an int or a tuple of ints"
                                     : "scale_factor must be a number or a tuple of numbers");
        if (size) {
            out.v[i] = v->i;
            continue;
        }
        double s = number_of(v);
        if (!(s > 0) || !scaled_size(x->dim[i + 2], s, &out.v[i]))
            return bind_refused(c, name, "a scale_factor must be positive and finite");
        scales[i] = d_float(s);
        exact = exact && (double)out.v[i] == (double)x->dim[i + 2] * s;
    }
    binding_set(c, b, A_size, ints_datum(c, &out));
    if (!size && (exact || corners || !mode->scaled)) binding_drop(b, A_scale_factor);
    else if (!size) binding_set(c, b, A_scale_factor, d_list(c->ctx->unit, scales, n));
    return true;
}

/* Ranks and modes that do not fit stay for infer, which looks at them first. */
static bool bind_interpolate(Call *c, Binding *b, const Shape *x) {
    const Mode *mode = mode_named(binding_get(b, A_mode)->s);
    if (!mode || x->rank < mode->lo || x->rank > mode->hi) return true;
    const Datum *corners = binding_get(b, A_align_corners);
    if (!bind_sizes(c, b, x, mode, corners && corners->b)) return false;
    if (mode->corners && !corners) binding_set(c, b, A_align_corners, d_bool(false));
    return true;
}

static bool mode_fits(Typing *t, const Value *x, const Mode **mode) {
    const Datum *d = need_attr(t, A_mode, D_STR);
    if (!d) return false;
    *mode = mode_named(d->s);
    if (!*mode) {
        const char *names[COUNT_OF(modes)];
        for (size_t i = 0; i < COUNT_OF(modes); i++) names[i] = modes[i].name;
        Diag *e = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_mode), "interpolate has no mode '%s'", d->s);
        diag_suggest(t->ctx, e, d->s, names, COUNT_OF(modes));
        diag_help(t->ctx, e, "modes are nearest, nearest-exact, linear, bilinear, bicubic, trilinear and area");
        return false;
    }
    if (typing_attr(t, A_align_corners) && !(*mode)->corners) {
        Diag *e = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_align_corners),
                       "mode %s of interpolate has no align_corners", d->s);
        diag_help(t->ctx, e, "linear, bilinear, bicubic and trilinear have it");
        return false;
    }
    static const char *const forms[] = {"[N, C, W]", "[N, C, H, W]", "[N, C, D, H, W]"};
    const char *form = (*mode)->lo == (*mode)->hi ? forms[(*mode)->lo - 3] : "[N, C, ...]";
    return typing_rank(t, x, (*mode)->lo, (*mode)->hi, SAY(t, "%s in the mode %s", form, d->s));
}

static bool sampled_dtype(Typing *t, const Value *x, const Mode *mode) {
    bool bytes = x->type.dtype == DT_U8 && x->type.shape.rank == 4;      /* images: PyTorch takes them as they are */
    return bytes || (x->type.dtype == DT_U8 && strncmp(mode->name, "nearest", 7) == 0) || typing_float(t, x);
}

static bool infer_interpolate(Typing *t, const Value *x) {
    const Mode *mode;
    Ints size;
    Shape r = x->type.shape;
    if (!mode_fits(t, x, &mode) || !sampled_dtype(t, x, mode)) return false;
    if (!typing_attr(t, A_size)) return need_attr(t, A_size, D_LIST) != NULL;
    if (!need_ints(t, A_size, &size)) return false;
    for (unsigned i = 0; i < r.rank - 2u; i++) {
        int64_t out = i < size.n ? size.v[i] : 0;
        if (out < 1 || size.n != r.rank - 2u || r.dim[i + 2] == 0) {
            Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span,
                           "interpolate cannot make %lld element%s of axis %u of %s", (long long)out,
                           out == 1 ? "" : "s", i + 2, x_text(t, x));
            note_value(t->ctx, d, x);
            return false;
        }
        r.dim[i + 2] = (uint64_t)out;
    }
    return type_push(t, x->type.dtype, &r);
}

/* ---- the family ---- */

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    const Value *x = b.in[0];
    switch (c->info->kind) {
    case OP_PAD: bind_pad(c, &b); break;
    case OP_TILE: bind_tile(c, &b, x->type.shape.rank); break;
    case OP_FLIP: binding_axes(c, &b, A_dims, x->type.shape.rank); break;
    case OP_ROLL: bind_roll(c, &b, x); break;
    case OP_INTERPOLATE:
        if (!bind_interpolate(c, &b, &x->type.shape)) return false;
        break;
    default: break;
    }
    return binding_call(c, &b);
}

static bool infer(Typing *t) {
    if (!need_operands(t, 1, 1)) return false;
    const Value *x = t->in[0];
    switch (t->kind) {
    case OP_PAD: return infer_pad(t, x);
    case OP_TILE: return infer_tile(t, x);
    case OP_FLIP: return infer_flip(t, x);
    case OP_ROLL: return infer_roll(t, x);
    case OP_INTERPOLATE: return infer_interpolate(t, x);
    default: ice("infer: %s is not of the family resample", op_info(t->kind)->name);
    }
}

const OpRules rules_resample = {.bind = bind, .infer = infer, .eval = eval_resample};
