/* shape.c - the same elements under another shape or in another order of axes. Sizes of 0 and rank 0 are shapes like
 * any other; PyTorch's rules, also for what it refuses: `view` only where no element moves (strides.c), one -1 among
 * sizes and none that is ambiguous.
 *
 * Normalised attributes, sizes resolved and axes counted from the front:
 *   view, reshape  shape; expand sizes (of the result); unflatten dim, sizes
 *   flatten        start_dim, end_dim; squeeze dim: the axes that go, a list; unsqueeze dim (of the result)
 *   transpose      dim0 <= dim1; permute dims
 *   channel_shuffle groups; pixel_shuffle upscale_factor; pixel_unshuffle downscale_factor */
#include "ops/axes.h"
#include "ops/eval.h"
#include "ops/strides.h"

typedef unsigned long long ull;

/* ---- sizes with a -1 ---- */

typedef enum SizeFault {
    SIZES_FIT, SIZES_RANK, SIZES_NEGATIVE, SIZES_TWO_OPEN, SIZES_AMBIGUOUS, SIZES_COUNT
} SizeFault;

/* Sizes that must hold `total` elements, one of them maybe -1. */
static SizeFault resolve(const Ints *sizes, uint64_t total, Shape *r) {
    unsigned open = MAX_RANK;
    uint64_t known = 1;
    *r = (Shape){0};
    if (sizes->n > MAX_RANK) return SIZES_RANK;
    for (uint32_t i = 0; i < sizes->n; i++) {
        if (sizes->v[i] < -1) return SIZES_NEGATIVE;
        if (sizes->v[i] == -1 && open != MAX_RANK) return SIZES_TWO_OPEN;
        if (sizes->v[i] == -1) open = i;
        r->dim[r->rank++] = sizes->v[i] == -1 ? 1 : (uint64_t)sizes->v[i];
    }
    for (unsigned i = 0; i < r->rank; i++)
        if (r->dim[i] == 0) known = 0;
    for (unsigned i = 0; known && i < r->rank; i++)
        if (!mul_u64(known, r->dim[i], &known)) return SIZES_COUNT;
    if (open == MAX_RANK) return known == total ? SIZES_FIT : SIZES_COUNT;
    if (known == 0) return total == 0 ? SIZES_AMBIGUOUS : SIZES_COUNT;
    r->dim[open] = total / known;
    return total % known == 0 ? SIZES_FIT : SIZES_COUNT;
}

static Ints dims_of(const Shape *s) {
    Ints r = {.n = s->rank};
    for (unsigned i = 0; i < s->rank; i++) r.v[i] = (int64_t)s->dim[i];
    return r;
}

static const char *const resolved = "has every size resolved in a graph";

static bool has_open(const Ints *sizes) {
    for (uint32_t i = 0; i < sizes->n; i++)
        if (sizes->v[i] == -1) return true;
    return false;
}

static const char *sizes_text(const Typing *t, const Ints *sizes) {
    StrBuf b;
    sb_init(&b, t->ctx->scratch);
    sb_putc(&b, '[');
    for (uint32_t i = 0; i < sizes->n; i++) sb_printf(&b, i ? ", %lld" : "%lld", (long long)sizes->v[i]);
    sb_putc(&b, ']');
    return sb_str(&b);
}

/* Says what is wrong with sizes for `total` elements: those of x, or of its axis `axis` when that is not negative. */
static bool refuse_sizes(Typing *t, AttrName name, SizeFault fault, const Ints *sizes, uint64_t total, int axis) {
    const char *op = op_info(t->kind)->name, *to = sizes_text(t, sizes), *x = x_text(t, t->in[0]);
    Span at = typing_span(t, name);
    Diag *d = NULL;
    switch (fault) {
    case SIZES_FIT: ice("sizes that fit were refused");
    case SIZES_RANK:
        d = diag(t->ctx, DIAG_RANK_MISMATCH, at, "%s to %s has %u sizes, but a tensor has at most %d axes", op, to,
                 sizes->n, MAX_RANK);
        break;
    case SIZES_NEGATIVE:
        d = diag(t->ctx, DIAG_ARGUMENT_VALUE, at, "%s to %s has a negative size", op, to);
        diag_help(t->ctx, d, "one size may be -1, to have it inferred");
        break;
    case SIZES_TWO_OPEN:
        d = diag(t->ctx, DIAG_ARGUMENT_VALUE, at, "%s to %s leaves two sizes open", op, to);
        diag_help(t->ctx, d, "only one size may be -1, to have it inferred");
        break;
    case SIZES_AMBIGUOUS:
        d = diag(t->ctx, DIAG_SHAPE_MISMATCH, at,
                 "%s of %s to %s: any size would do for -1, since there are no elements", op, x, to);
        break;
    case SIZES_COUNT:
        if (axis >= 0)
            d = diag(t->ctx, DIAG_SHAPE_MISMATCH, at, "%s cannot cut axis %d of %s, which is %llu, into %s", op, axis,
                     x, (ull)total, to);
        else
            d = diag(t->ctx, DIAG_SHAPE_MISMATCH, at, "%s cannot give %s, which has %llu elements, the shape %s", op,
                     x, (ull)total, to);
        break;
    }
    note_value(t->ctx, d, t->in[0]);
    return false;
}

/* ---- binding ---- */

/* False after a diagnostic: a view that PyTorch would refuse. */
static bool bind_sizes(Call *c, Binding *b, const Value *x) {
    Ints sizes;
    Shape to;
    if (!datum_ints(binding_get(b, A_shape), &sizes) || resolve(&sizes, x->nelem, &to) != SIZES_FIT) return true;
    sizes = dims_of(&to);
    binding_set(c, b, A_shape, ints_datum(c, &sizes));
    if (c->info->kind != OP_VIEW || view_possible(x, &to)) return true;
    Diag *d = diag(c->ctx, DIAG_SHAPE_MISMATCH, c->span,
                   "view cannot give %s the shape %s: its elements do not lie in that order",
                   type_text(c->ctx->scratch, &x->type), shape_text(c->ctx->scratch, &to));
    note_value(c->ctx, d, x);
    diag_help(c->ctx, d,
              "a view moves no elements, and these strides are not contiguous; reshape copies where it must");
    return false;
}

static void bind_unflatten(Call *c, Binding *b, const Shape *x) {
    Ints sizes;
    Shape to;
    int64_t dim = binding_get(b, A_dim)->i;
    if (x->rank == 0 || !axis_wrap(&dim, x->rank) || !datum_ints(binding_get(b, A_sizes), &sizes)) return;
    binding_axis(b, A_dim, x->rank);
    if (resolve(&sizes, x->dim[dim], &to) != SIZES_FIT) return;
    sizes = dims_of(&to);
    binding_set(c, b, A_sizes, ints_datum(c, &sizes));
}

/* The list of the axes that really go: of size 1, and among those that were named if any were. */
static void bind_squeeze(Call *c, Binding *b, const Shape *x) {
    Ints named = {0}, gone = {0};
    const Datum *d = binding_get(b, A_dim);
    unsigned set = d ? 0 : ~0u;
    if (d && !datum_ints(d, &named)) return;
    for (uint32_t i = 0; i < named.n; i++) {
        if (!axis_wrap(&named.v[i], x->rank) || set & 1u << named.v[i]) return;
        set |= 1u << named.v[i];
    }
    for (unsigned i = 0; i < x->rank; i++)
        if (set & 1u << i && x->dim[i] == 1) gone.v[gone.n++] = i;
    binding_set(c, b, A_dim, ints_datum(c, &gone));
}

static void bind_transpose(Binding *b, unsigned rank) {
    binding_axis(b, A_dim0, rank);
    binding_axis(b, A_dim1, rank);
    Datum *a0 = binding_get(b, A_dim0), *a1 = binding_get(b, A_dim1);
    if (a0->i >= 0 && a1->i >= 0 && a0->i > a1->i && a0->i < rank) {
        Datum swap = *a0;
        *a0 = *a1;
        *a1 = swap;
    }
}

/* -1 keeps an axis that x has; what does not fit stays for infer. */
static void bind_expand(Call *c, Binding *b, const Shape *x) {
    Ints sizes;
    if (!datum_ints(binding_get(b, A_sizes), &sizes) || sizes.n < x->rank) return;
    uint32_t fresh = sizes.n - x->rank;
    for (uint32_t i = fresh; i < sizes.n; i++)
        if (sizes.v[i] == -1) sizes.v[i] = (int64_t)x->dim[i - fresh];
    binding_set(c, b, A_sizes, ints_datum(c, &sizes));
}

static bool bind(Call *c) {
    Binding b;
    binding_plain(c, &b);
    const Value *x = b.in[0];
    const Shape *s = &x->type.shape;
    switch (c->info->kind) {
    case OP_VIEW: case OP_RESHAPE:
        if (!bind_sizes(c, &b, x)) return false;
        break;
    case OP_FLATTEN:
        binding_axis(&b, A_start_dim, s->rank);
        binding_axis(&b, A_end_dim, s->rank);
        break;
    case OP_UNFLATTEN: bind_unflatten(c, &b, s); break;
    case OP_SQUEEZE: bind_squeeze(c, &b, s); break;
    case OP_UNSQUEEZE: binding_axis(&b, A_dim, s->rank + 1u); break;
    case OP_TRANSPOSE: bind_transpose(&b, s->rank); break;
    case OP_PERMUTE: binding_axes(c, &b, A_dims, s->rank); break;
    case OP_EXPAND: bind_expand(c, &b, s); break;
    default: break;
    }
    return binding_call(c, &b);
}

/* ---- types ---- */

static bool infer_reshape(Typing *t, const Value *x) {
    Ints sizes;
    Shape r;
    if (!typing_attr(t, A_shape)) return need_attr(t, A_shape, D_LIST) != NULL;
    if (!need_ints(t, A_shape, &sizes)) return false;
    SizeFault fault = resolve(&sizes, x->nelem, &r);
    if (fault) return refuse_sizes(t, A_shape, fault, &sizes, x->nelem, -1);
    return !has_open(&sizes) ? type_push(t, x->type.dtype, &r) : refuse_form(t, A_shape, resolved);
}

static bool infer_unflatten(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    unsigned axis;
    Ints sizes;
    Shape cut, r = {0};
    if (!typing_rank(t, x, 1, MAX_RANK, "a tensor with an axis to cut up") || !need_axis(t, A_dim, s->rank, &axis))
        return false;
    if (!need_ints(t, A_sizes, &sizes)) return false;
    SizeFault fault = resolve(&sizes, s->dim[axis], &cut);
    if (!fault && s->rank - 1u + cut.rank > MAX_RANK) fault = SIZES_RANK;
    if (fault || cut.rank == 0)
        return refuse_sizes(t, A_sizes, fault ? fault : SIZES_COUNT, &sizes, s->dim[axis], (int)axis);
    if (has_open(&sizes)) return refuse_form(t, A_sizes, resolved);
    for (unsigned i = 0; i < s->rank; i++) {
        if (i != axis) r.dim[r.rank++] = s->dim[i];
        for (unsigned k = 0; i == axis && k < cut.rank; k++) r.dim[r.rank++] = cut.dim[k];
    }
    return type_push(t, x->type.dtype, &r);
}

static bool infer_flatten(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    unsigned start, end;
    if (!need_axis(t, A_start_dim, s->rank, &start) || !need_axis(t, A_end_dim, s->rank, &end)) return false;
    if (start > end) {
        Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_start_dim),
                       "flatten of %s from axis %u to axis %u runs backwards", x_text(t, x), start, end);
        note_value(t->ctx, d, x);
        return false;
    }
    Shape r = {0};
    for (unsigned i = 0; i < start; i++) r.dim[r.rank++] = s->dim[i];
    Shape run = shape_of(s->rank ? end + 1 - start : 0, s->dim + start);
    r.dim[r.rank++] = elems_before(&run, run.rank);
    for (unsigned i = end + 1; i < s->rank; i++) r.dim[r.rank++] = s->dim[i];
    return type_push(t, x->type.dtype, &r);
}

static bool infer_squeeze(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    unsigned set;
    Shape r = {0};
    if (!need_attr(t, A_dim, D_LIST) || !need_axes(t, A_dim, s->rank, &set)) return false;
    for (unsigned i = 0; i < s->rank; i++) {
        if (!(set & 1u << i)) r.dim[r.rank++] = s->dim[i];
        else if (s->dim[i] != 1) return refuse_form(t, A_dim, "names axes of size 1 only in a graph");
    }
    return type_push(t, x->type.dtype, &r);
}

static bool infer_unsqueeze(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    unsigned axis;
    if (!need_axis(t, A_dim, s->rank + 1u, &axis)) return false;
    Shape r = {.rank = (uint8_t)(s->rank + 1)};
    if (s->rank < MAX_RANK)
        for (unsigned i = 0, k = 0; i < r.rank; i++) r.dim[i] = i == axis ? 1 : s->dim[k++];
    return type_push(t, x->type.dtype, &r);
}

static bool infer_transpose(Typing *t, const Value *x) {
    Shape r = x->type.shape;
    unsigned a, b;
    if (!need_axis(t, A_dim0, r.rank, &a) || !need_axis(t, A_dim1, r.rank, &b)) return false;
    uint64_t dim = r.dim[a];
    r.dim[a] = r.dim[b];
    r.dim[b] = dim;
    return type_push(t, x->type.dtype, &r);
}

static bool infer_permute(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    Ints dims;
    unsigned set;
    if (!need_ints(t, A_dims, &dims)) return false;
    if (dims.n != s->rank) {
        Diag *d = diag(t->ctx, DIAG_RANK_MISMATCH, typing_span(t, A_dims),
                       "permute names %u axes, but %s has rank %u", dims.n, x_text(t, x), (unsigned)s->rank);
        note_value(t->ctx, d, x);
        return false;
    }
    if (!need_axes(t, A_dims, s->rank, &set)) return false;
    Shape r = {.rank = s->rank};
    for (uint32_t i = 0; i < dims.n; i++) r.dim[i] = s->dim[dims.v[i]];
    return type_push(t, x->type.dtype, &r);
}

static bool expand_refused(Typing *t, const Value *x, const Ints *sizes, const char *why) {
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, A_sizes), "expand cannot make %s of %s: %s",
                   sizes_text(t, sizes), x_text(t, x), why);
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "only axes of size 1 can grow; sizes are matched from the last axis, and -1 keeps an axis");
    return false;
}

static bool infer_expand(Typing *t, const Value *x) {
    const Shape *s = &x->type.shape;
    Ints sizes;
    if (!need_ints(t, A_sizes, &sizes)) return false;
    if (sizes.n < s->rank) return expand_refused(t, x, &sizes, "it has more axes than that");
    if (sizes.n > MAX_RANK) return refuse_sizes(t, A_sizes, SIZES_RANK, &sizes, x->nelem, -1);
    Shape r = {.rank = (uint8_t)sizes.n};
    for (uint32_t i = 0, fresh = sizes.n - s->rank; i < sizes.n; i++) {
        bool old = i >= fresh;
        uint64_t have = old ? s->dim[i - fresh] : 1;
        if (sizes.v[i] < (old ? -1 : 0))
            return expand_refused(t, x, &sizes, old ? "a size is negative" : "a new axis in front needs its size");
        if (sizes.v[i] == -1) return refuse_form(t, A_sizes, resolved);
        r.dim[i] = (uint64_t)sizes.v[i];
        if (have != 1 && r.dim[i] != have)
            return expand_refused(t, x, &sizes,
                                  arena_printf(t->ctx->scratch, "axis %u has %llu elements", i - fresh, (ull)have));
    }
    return type_push(t, x->type.dtype, &r);
}

/* ---- shuffles ---- */

static bool positive(Typing *t, AttrName name, uint64_t *v) {
    int64_t i;
    if (!need_int(t, name, &i)) return false;
    *v = (uint64_t)i;
    if (i >= 1) return true;
    diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, name), "%s of %s must be at least 1, not %lld", attr_name(name),
         op_info(t->kind)->name, (long long)i);
    return false;
}

static bool divisible(Typing *t, AttrName name, unsigned axis, const char *axis_name, uint64_t by) {
    const Value *x = t->in[0];
    if (x->type.shape.dim[axis] % by == 0) return true;
    Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, typing_span(t, name),
                   "%s needs a multiple of %llu %s, but %s has %llu", op_info(t->kind)->name, (ull)by, axis_name,
                   x_text(t, x), (ull)x->type.shape.dim[axis]);
    note_value(t->ctx, d, x);
    return false;
}

static bool infer_channel_shuffle(Typing *t, const Value *x) {
    uint64_t groups;
    return typing_rank(t, x, 3, MAX_RANK, "[N, C, ...]") && positive(t, A_groups, &groups) &&
           divisible(t, A_groups, 1, "channels", groups) && type_push(t, x->type.dtype, &x->type.shape);
}

static bool infer_pixel_shuffle(Typing *t, const Value *x) {
    AttrName name = t->kind == OP_PIXEL_SHUFFLE ? A_upscale_factor : A_downscale_factor;
    Shape r = x->type.shape;
    uint64_t f, area;
    if (!typing_rank(t, x, 3, MAX_RANK, "[..., C, H, W]") || !positive(t, name, &f)) return false;
    unsigned c = r.rank - 3u, h = c + 1, w = c + 2;
    if (!mul_u64(f, f, &area)) area = UINT64_MAX;
    bool ok;
    if (t->kind == OP_PIXEL_SHUFFLE) {
        if (!divisible(t, name, c, "channels", area)) return false;
        r.dim[c] /= area;
        ok = mul_u64(r.dim[h], f, &r.dim[h]) && mul_u64(r.dim[w], f, &r.dim[w]);
    } else {
        if (!divisible(t, name, h, "rows", f) || !divisible(t, name, w, "columns", f)) return false;
        ok = mul_u64(r.dim[c], area, &r.dim[c]);
        r.dim[h] /= f;
        r.dim[w] /= f;
    }
    if (!ok)
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "the result of %s is larger than 2^63 - 1 elements",
             op_info(t->kind)->name);
    return ok && type_push(t, x->type.dtype, &r);
}

static bool infer(Typing *t) {
    if (!need_operands(t, 1, 1)) return false;
    const Value *x = t->in[0];
    switch (t->kind) {
    case OP_VIEW: case OP_RESHAPE: return infer_reshape(t, x);
    case OP_UNFLATTEN: return infer_unflatten(t, x);
    case OP_FLATTEN: return infer_flatten(t, x);
    case OP_SQUEEZE: return infer_squeeze(t, x);
    case OP_UNSQUEEZE: return infer_unsqueeze(t, x);
    case OP_TRANSPOSE: return infer_transpose(t, x);
    case OP_PERMUTE: return infer_permute(t, x);
    case OP_EXPAND: return infer_expand(t, x);
    case OP_CHANNEL_SHUFFLE: return infer_channel_shuffle(t, x);
    case OP_PIXEL_SHUFFLE: case OP_PIXEL_UNSHUFFLE: return infer_pixel_shuffle(t, x);
    default: ice("infer: %s is not of the family shape", op_info(t->kind)->name);
    }
}

const OpRules rules_shape = {.bind = bind, .infer = infer, .eval = eval_shape};
