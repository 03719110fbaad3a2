/* ops_shapes.c - shape rules against enumeration: slices against Python's loop, chunks and ranges against counting,
 * reductions and broadcasting axis by axis, and `view` against the places its elements really have: it is possible
 * exactly when constant strides reach them. Then what must be refused, and corners by hand. */
#include "tests/unit/oplab.h"

#include "ops/strides.h"

static const Value *last(const Lab *lab)
{
    return last_op(lab)->out[last_op(lab)->nout - 1];
}

static bool last_is(const Lab *lab, DType dtype, unsigned rank, const uint64_t *dims)
{
    Shape s = shape_of(rank, dims);
    return last(lab)->type.dtype == dtype && shape_equal(&last(lab)->type.shape, &s);
}
#define IS(lab, dtype, ...) \
    last_is((lab), (dtype), COUNT_OF(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]){__VA_ARGS__})

/* ---- slices ---- */

/* How many indices x[start:end:step] visits: bounds from the end, then cut to the axis, then one index after the
 * other. */
static uint64_t python_slice(int64_t n, int64_t start, int64_t end, int64_t step)
{
    uint64_t count = 0;
    if (start < 0) start += n;
    if (end < 0) end += n;
    if (start < 0) start = 0;
    for (int64_t i = start; i < end && i < n; i += step) count++;
    return count;
}

static void test_slices(Lab *lab)
{
    for (int64_t n = 0; n <= 4; n++)
        for (int64_t start = -6; start <= 6; start++)
            for (int64_t end = -6; end <= 6; end++)
                for (int64_t step = 1; step <= 3; step++) {
                    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){2, (uint64_t)n});
                    CHECK(CALL(lab, OP_SLICE, X(x), {A_dim, d_int(-1)}, {A_start, d_int(start)}, {A_end, d_int(end)},
                               {A_step, d_int(step)}));
                    CHECK(IS(lab, DT_F32, 2, python_slice(n, start, end, step)));
                }
}

/* ---- chunk, split ---- */

static void test_chunks(Lab *lab)
{
    for (uint64_t n = 0; n <= 9; n++)
        for (int64_t k = 1; k <= 9; k++) {
            Value *x = lab_input(lab, DT_F32, 1, &n);
            uint64_t size = 0, pieces = 0, left = n;
            while (size * (uint64_t)k < n) size++;        /* the least size of which k cover the axis */
            for (; left > 0; left -= left < size ? left : size) pieces++;
            CHECK(CALL(lab, OP_CHUNK, X(x), {A_chunks, d_int(k)}, {A_dim, d_int(0)}));
            CHECK(last(lab)->def->nout == (n == 0 ? (uint64_t)k : pieces));
            CHECK(last(lab)->nelem == (n == 0 ? 0 : n - (pieces - 1) * size));
            CHECK(CALL(lab, OP_SPLIT, X(x), {A_split_size, d_int(k)}, {A_dim, d_int(0)}));
            CHECK(last(lab)->def->nout == (n == 0 ? 1 : (n + (uint64_t)k - 1) / (uint64_t)k));
        }
    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){2, 6});
    CHECK(CALL(lab, OP_SPLIT, X(x), {A_split_size, INTS(lab, 1, 0, 5)}, {A_dim, d_int(1)}) && IS(lab, DT_F32, 2, 5));
    CHECK(!CALL(lab, OP_SPLIT, X(x), {A_split_size, INTS(lab, 2)}, {A_dim, d_int(1)}));
    CHECK(!CALL(lab, OP_SPLIT, X(x), {A_split_size, INTS(lab, 7, -1)}, {A_dim, d_int(1)}));
    CHECK(!CALL(lab, OP_SPLIT, X(x), {A_split_size, d_int(0)}, {A_dim, d_int(1)}));
    CHECK(!CALL(lab, OP_CHUNK, X(x), {A_chunks, d_int(0)}, {A_dim, d_int(1)}));
}

/* ---- arange ---- */

static void test_ranges(Lab *lab)
{
    for (int64_t start = -3; start <= 3; start++)
        for (int64_t end = -3; end <= 3; end++)
            for (int64_t step = -3; step <= 3; step++) {
                bool possible = step > 0 ? end >= start : step < 0 && end <= start;
                uint64_t n = 0;
                for (int64_t i = start; possible && (step > 0 ? i < end : i > end); i += step) n++;
                CHECK(CALL(lab, OP_ARANGE, {A_start, d_int(start)}, {A_end, d_int(end)}, {A_step, d_int(step)}) ==
                      possible);
                if (possible) CHECK(IS(lab, DT_I64, n));
                CHECK(CALL(lab, OP_ARANGE, {A_start, d_float((double)start)}, {A_end, d_int(end)},
                           {A_step, d_int(step)}) == possible);
                if (possible) CHECK(IS(lab, DT_F32, n));
            }
    CHECK(CALL(lab, OP_ARANGE, {A_start, d_int(5)}) && IS(lab, DT_I64, 5));
    CHECK(CALL(lab, OP_ARANGE, {A_start, d_float(0)}, {A_end, d_float(1)}, {A_step, d_float(0.3)}) &&
          IS(lab, DT_F32, 4));
    CHECK(CALL(lab, OP_ARANGE, {A_start, d_int(INT64_MIN)}, {A_end, d_int(INT64_MAX)}, {A_step, d_int(INT64_MAX)}) &&
          IS(lab, DT_I64, 3));
    CHECK(!CALL(lab, OP_ARANGE, {A_start, d_int(INT64_MIN)}, {A_end, d_int(INT64_MAX)}));
    CHECK(CALL(lab, OP_ARANGE, {A_start, d_float(2.9)}, {A_dtype, d_dtype(DT_I64)}) && IS(lab, DT_I64, 2));
}

/* ---- reductions ---- */

static void test_reductions(Lab *lab)
{
    Value *x = lab_input(lab, DT_I32, 3, (uint64_t[]){2, 3, 4});
    for (unsigned set = 0; set < 8; set++)
        for (int keep = 0; keep < 2; keep++) {
            int64_t dims[3];
            uint64_t left[3];
            unsigned n = 0, rank = 0;
            for (int64_t i = 2; i >= 0; i--)              /* backwards, from the end: that does not matter */
                if (set & 1u << i) dims[n++] = i - 3;
            for (unsigned i = 0; i < 3; i++) {
                bool reduced = set == 0 || set & 1u << i;
                if (!reduced) left[rank++] = x->type.shape.dim[i];
                else if (keep) left[rank++] = 1;
            }
            CHECK(CALL(lab, OP_SUM, X(x), {A_dim, d_ints(lab->ctx->unit, dims, n)}, {A_keepdim, d_bool(keep)}));
            CHECK(last_is(lab, DT_I64, rank, left));
        }
    CHECK(!CALL(lab, OP_SUM, X(x), {A_dim, INTS(lab, 0, -3)}));
    CHECK(!CALL(lab, OP_SUM, X(x), {A_dim, INTS(lab, 3)}));
    CHECK(!CALL(lab, OP_MEAN, X(x)));
    CHECK(CALL(lab, OP_AMAX, X(x)) && last_is(lab, DT_I32, 0, NULL));
    CHECK(CALL(lab, OP_ARGMAX, X(x), {A_keepdim, d_bool(true)}) && IS(lab, DT_I64, 1, 1, 1));
    CHECK(CALL(lab, OP_PROD, X(x), {A_dim, d_int(-2)}) && IS(lab, DT_I64, 2, 4));
    CHECK(CALL(lab, OP_TOPK, X(x), {A_k, d_int(4)}) && !CALL(lab, OP_TOPK, X(x), {A_k, d_int(5)}));
    CHECK(!CALL(lab, OP_TOPK, X(x), {A_k, d_int(-1)}));
    Value *empty = lab_input(lab, DT_F32, 2, (uint64_t[]){0, 3}), *scalar = lab_input(lab, DT_F32, 0, NULL);
    CHECK(CALL(lab, OP_SUM, X(empty), {A_dim, INTS(lab, 0)}) && IS(lab, DT_F32, 3));
    CHECK(!CALL(lab, OP_AMAX, X(empty), {A_dim, INTS(lab, 0)}) && !CALL(lab, OP_ARGMIN, X(empty)));
    CHECK(CALL(lab, OP_AMAX, X(empty), {A_dim, INTS(lab, 1)}) && IS(lab, DT_F32, 0));
    CHECK(CALL(lab, OP_SUM, X(scalar), {A_dim, INTS(lab, -1)}) && last_is(lab, DT_F32, 0, NULL));
    CHECK(CALL(lab, OP_CUMSUM, X(scalar), {A_dim, d_int(0)}) && CALL(lab, OP_SORT, X(scalar)));
    CHECK(!CALL(lab, OP_SOFTMAX, X(scalar), {A_dim, d_int(1)}));
}

/* ---- views ---- */

typedef struct Places { const Value *v; uint64_t at[64]; } Places;        /* of v's elements in the first tensor */

static bool affine(const Places *p, const Shape *to)
{
    uint64_t coord[MAX_RANK];
    int64_t stride[MAX_RANK] = {0}, step = 1;
    for (unsigned i = to->rank; i-- > 0; step *= (int64_t)to->dim[i])
        if (to->dim[i] > 1) stride[i] = (int64_t)p->at[step] - (int64_t)p->at[0];
    for (uint64_t i = 0; i < p->v->nelem; i++) {
        int64_t at = (int64_t)p->at[0];
        coordinates_of(to, i, coord);
        for (unsigned k = 0; k < to->rank; k++) at += (int64_t)coord[k] * stride[k];
        if (at != (int64_t)p->at[i]) return false;
    }
    return true;
}

/* One random view-like operator; the places of its elements come from its definition. */
static bool random_move(Lab *lab, uint64_t *seed, Places *p)
{
    Value *x = (Value *)(uintptr_t)p->v;
    const Shape *s = &x->type.shape;
    Places old = *p;
    unsigned rank = s->rank, a = (unsigned)random_below(seed, rank), b = (unsigned)random_below(seed, rank),
             kind = (unsigned)random_below(seed, 4);
    uint64_t start = random_below(seed, s->dim[a]), coord[MAX_RANK], fresh = 1 + random_below(seed, 2);
    int64_t sizes[MAX_RANK] = {0};
    bool ok = true;
    if (kind == 0) ok = CALL(lab, OP_TRANSPOSE, X(x), {A_dim0, d_int(a)}, {A_dim1, d_int(b)});
    if (kind == 1)
        ok = CALL(lab, OP_SLICE, X(x), {A_dim, d_int(a)}, {A_start, d_int((int64_t)start)}, {A_step, d_int(2)});
    if (kind == 2) ok = rank > 1 && CALL(lab, OP_SELECT, X(x), {A_dim, d_int(a)}, {A_index, d_int((int64_t)start)});
    if (kind == 3) {
        for (unsigned i = 0; i < rank; i++) sizes[i + 1] = s->dim[i] == 1 ? 2 : -1;
        sizes[0] = (int64_t)fresh;
        ok = rank < 4 && x->nelem <= 8 &&
             CALL(lab, OP_EXPAND, X(x), {A_sizes, d_ints(lab->ctx->unit, sizes, rank + 1)});
    }
    if (!ok) return false;
    p->v = last(lab);
    for (uint64_t i = 0; i < p->v->nelem; i++) {
        uint64_t from[MAX_RANK] = {0};
        coordinates_of(&p->v->type.shape, i, coord);
        for (unsigned k = 0; k < rank; k++) {
            if (kind == 0) from[k] = coord[k == a ? b : k == b ? a : k];
            if (kind == 1) from[k] = k == a ? start + 2 * coord[k] : coord[k];
            if (kind == 2) from[k] = k == a ? start : coord[k > a ? k - 1 : k];
            if (kind == 3) from[k] = s->dim[k] == 1 ? 0 : coord[k + 1];
        }
        p->at[i] = old.at[flat_of(s, from)];
    }
    return true;
}

/* Random factors of n as a shape. */
static Shape random_factors(uint64_t *seed, uint64_t n)
{
    Shape r = {0};
    while (r.rank < 5 && (n > 1 || random_below(seed, 2))) {
        uint64_t f = 1 + random_below(seed, n);
        while (n % f != 0) f--;
        r.dim[r.rank++] = f;
        n /= f;
    }
    if (n > 1) r.dim[r.rank - 1] *= n;
    return r;
}

static void test_views(Lab *lab, uint64_t *seed)
{
    unsigned possible = 0, refused = 0;
    for (int round = 0; round < 4000; round++) {
        uint64_t dims[3];
        unsigned rank = 1 + (unsigned)random_below(seed, 3);
        for (unsigned i = 0; i < rank; i++) dims[i] = 1 + random_below(seed, 3);
        Places p = {.v = lab_input(lab, DT_F32, rank, dims)};
        for (uint64_t i = 0; i < p.v->nelem; i++) p.at[i] = i;
        for (uint64_t moves = random_below(seed, 4); moves > 0; moves--) random_move(lab, seed, &p);
        if (p.v->nelem > 32) continue;
        Shape to = random_factors(seed, p.v->nelem);
        uint64_t n = shape_elems(&to);
        CHECK(n == p.v->nelem);
        bool expected = affine(&p, &to);
        CHECK(view_possible(p.v, &to) == expected);
        *(expected ? &possible : &refused) += 1;
    }
    CHECK(possible > 500 && refused > 100);               /* both happen, or this proves little */
}

/* ---- corners ---- */

static void test_sizes(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){2, 6}), *empty = lab_input(lab, DT_F32, 2, (uint64_t[]){0, 3});
    Value *scalar = lab_input(lab, DT_F32, 0, NULL);
    CHECK(CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, 3, -1)}) && IS(lab, DT_F32, 3, 4));
    CHECK(!CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, -1, -1)}) &&
          !CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, 5, -1)}));
    CHECK(!CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, 0, -1)}) &&
          !CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, -2, -6)}));
    CHECK(CALL(lab, OP_RESHAPE, X(empty), {A_shape, INTS(lab, -1, 7)}) && IS(lab, DT_F32, 0, 7));
    CHECK(!CALL(lab, OP_RESHAPE, X(empty), {A_shape, INTS(lab, -1, 0)}));
    CHECK(CALL(lab, OP_RESHAPE, X(scalar), {A_shape, INTS(lab, 1, 1)}) && IS(lab, DT_F32, 1, 1));
    CHECK(CALL(lab, OP_VIEW, X(scalar), {A_shape, d_ints(lab->ctx->unit, NULL, 0)}) && last_is(lab, DT_F32, 0, NULL));
    CHECK(CALL(lab, OP_FLATTEN, X(scalar), {A_start_dim, d_int(0)}) && IS(lab, DT_F32, 1) &&
          !CALL(lab, OP_FLATTEN, X(scalar)));
    CHECK(CALL(lab, OP_FLATTEN, X(empty), {A_start_dim, d_int(0)}) && IS(lab, DT_F32, 0));
    CHECK(!CALL(lab, OP_FLATTEN, X(x), {A_start_dim, d_int(1)}, {A_end_dim, d_int(0)}));
    CHECK(CALL(lab, OP_UNFLATTEN, X(x), {A_dim, d_int(-1)}, {A_sizes, INTS(lab, 2, -1)}) && IS(lab, DT_F32, 2, 2, 3));
    CHECK(!CALL(lab, OP_UNFLATTEN, X(x), {A_dim, d_int(-1)}, {A_sizes, INTS(lab, 4, -1)}));
    CHECK(CALL(lab, OP_EXPAND, X(scalar), {A_sizes, INTS(lab, 2, 0)}) && IS(lab, DT_F32, 2, 0));
    CHECK(!CALL(lab, OP_EXPAND, X(x), {A_sizes, INTS(lab, -1, 2, 6)}) &&
          !CALL(lab, OP_EXPAND, X(x), {A_sizes, INTS(lab, 6)}));
    CHECK(CALL(lab, OP_SQUEEZE, X(x), {A_dim, INTS(lab, 0)}) && IS(lab, DT_F32, 2, 6));
    Value *ones = lab_input(lab, DT_F32, 3, (uint64_t[]){1, 4, 1});
    CHECK(CALL(lab, OP_SQUEEZE, X(ones)) && IS(lab, DT_F32, 4));
    CHECK(CALL(lab, OP_SQUEEZE, X(ones), {A_dim, INTS(lab, -1)}) && IS(lab, DT_F32, 1, 4));
    CHECK(!CALL(lab, OP_SQUEEZE, X(ones), {A_dim, INTS(lab, 0, -3)}));
    CHECK(CALL(lab, OP_UNSQUEEZE, X(x), {A_dim, d_int(-3)}) && IS(lab, DT_F32, 1, 2, 6) &&
          !CALL(lab, OP_UNSQUEEZE, X(x), {A_dim, d_int(3)}));
    CHECK(!CALL(lab, OP_PERMUTE, X(x), {A_dims, INTS(lab, 0, -2)}) &&
          !CALL(lab, OP_PERMUTE, X(x), {A_dims, INTS(lab, 0)}));
    Value *deep = lab_input(lab, DT_F32, 8, (uint64_t[]){1, 1, 1, 1, 1, 1, 1, 2});
    CHECK(!CALL(lab, OP_UNSQUEEZE, X(deep), {A_dim, d_int(0)}) &&
          !CALL(lab, OP_TILE, X(deep), {A_reps, INTS(lab, 1, 1, 1, 1, 1, 1, 1, 1, 1)}));
}

static void test_dtypes(Lab *lab)
{
    Value *i = lab_input(lab, DT_I64, 1, (uint64_t[]){3}), *b = lab_input(lab, DT_BOOL, 1, (uint64_t[]){3}),
          *f = lab_input(lab, DT_F16, 1, (uint64_t[]){3});
    CHECK(CALL(lab, OP_DIV, X(i), {A_other, d_int(2)}) && IS(lab, DT_F32, 3));
    CHECK(CALL(lab, OP_FLOOR_DIV, X(i), {A_other, d_int(2)}) && IS(lab, DT_I64, 3));
    CHECK(CALL(lab, OP_DIV, X(f), {A_other, d_int(2)}) && IS(lab, DT_F16, 3) && CALL(lab, OP_EXP, X(i)) &&
          IS(lab, DT_F32, 3));
    CHECK(!CALL(lab, OP_ADD, X(i), {A_other, d_float(0.5)}) && !CALL(lab, OP_ADD, X(i), {A_other, d_tensor(f)}));
    CHECK(CALL(lab, OP_MUL, X(b), {A_other, d_tensor(b)}) && IS(lab, DT_BOOL, 3) &&
          !CALL(lab, OP_SUB, X(b), {A_other, d_tensor(b)}));
    CHECK(CALL(lab, OP_GT, X(f), {A_other, d_int(0)}) && IS(lab, DT_BOOL, 3));
    CHECK(!CALL(lab, OP_POW, X(i), {A_exponent, d_int(-1)}) && CALL(lab, OP_POW, X(i), {A_exponent, d_int(2)}) &&
          IS(lab, DT_I64, 3));
    CHECK(CALL(lab, OP_WHERE, {A_condition, d_tensor(b)}, {A_x, d_int(1)}, {A_other, d_float(0)}) &&
          IS(lab, DT_F32, 3));
    CHECK(CALL(lab, OP_WHERE, {A_condition, d_tensor(b)}, {A_x, d_int(1)}, {A_other, d_int(0)}) && IS(lab, DT_I64, 3));
    CHECK(!CALL(lab, OP_CLAMP, X(i), {A_min, d_float(0.5)}) && !CALL(lab, OP_CLAMP, X(i)) &&
          CALL(lab, OP_CLAMP, X(i), {A_max, d_int(2)}));
    CHECK(CALL(lab, OP_RELU, X(i)) && IS(lab, DT_I64, 3) && !CALL(lab, OP_GELU, X(i)) && !CALL(lab, OP_RELU, X(b)));
    CHECK(!CALL(lab, OP_MASKED_FILL, X(i), {A_mask, d_tensor(b)}, {A_value, d_float(0.5)}));
    CHECK(!CALL(lab, OP_FULL, {A_size, INTS(lab, 2)}, {A_fill_value, d_int(256)}, {A_dtype, d_dtype(DT_U8)}));
    CHECK(CALL(lab, OP_FULL, {A_size, INTS(lab, 2)}, {A_fill_value, d_int(255)}, {A_dtype, d_dtype(DT_U8)}));
    CHECK(CALL(lab, OP_FULL, {A_size, INTS(lab, 2)}, {A_fill_value, d_bool(true)}) && IS(lab, DT_BOOL, 2));
}

static void test_borders(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 3, (uint64_t[]){1, 2, 3});
    Datum reflect = d_str("reflect"), circular = d_str("circular"), linear = d_str("linear"), area = d_str("area");
    CHECK(CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 2, 2)}, {A_mode, reflect}) && IS(lab, DT_F32, 1, 2, 7));
    CHECK(!CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 3, 0)}, {A_mode, reflect}));
    CHECK(CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 3, 0)}, {A_mode, circular}) &&
          !CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 4, 0)}, {A_mode, circular}));
    CHECK(CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, -1, 0, 1, 1)}) && IS(lab, DT_F32, 1, 4, 2));
    CHECK(CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, -2, -1)}) && IS(lab, DT_F32, 1, 2, 0) &&
          !CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, -2, -2)}));
    CHECK(!CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 1)}) &&
          !CALL(lab, OP_PAD, X(x), {A_pad, INTS(lab, 0, 0, 0, 0, 0, 0, 1, 1)}));
    CHECK(CALL(lab, OP_TILE, X(x), {A_reps, INTS(lab, 2, 0)}) && IS(lab, DT_F32, 1, 4, 0));
    CHECK(CALL(lab, OP_ROLL, X(x), {A_shifts, INTS(lab, -7)}) &&
          !CALL(lab, OP_ROLL, X(x), {A_shifts, INTS(lab, 1, 2)}));
    CHECK(op_attr(last(lab)->def, A_shifts)->list.p[0].i == 5);
    CHECK(CALL(lab, OP_INTERPOLATE, X(x), {A_scale_factor, d_float(1.5)}, {A_mode, linear}) &&
          IS(lab, DT_F32, 1, 2, 4));
    CHECK(op_attr(last(lab)->def, A_scale_factor) && !op_bool(last(lab)->def, A_align_corners));
    CHECK(CALL(lab, OP_INTERPOLATE, X(x), {A_scale_factor, d_int(2)}) && IS(lab, DT_F32, 1, 2, 6) &&
          !op_attr(last(lab)->def, A_scale_factor));
    CHECK(!CALL(lab, OP_INTERPOLATE, X(x), {A_size, d_int(2)}, {A_mode, area}, {A_align_corners, d_bool(false)}));
    CHECK(!CALL(lab, OP_INTERPOLATE, X(x), {A_size, d_int(2)}, {A_scale_factor, d_int(2)}) &&
          !CALL(lab, OP_INTERPOLATE, X(x)));
    CHECK(!CALL(lab, OP_INTERPOLATE, X(x), {A_size, INTS(lab, 2, 2)}) &&
          !CALL(lab, OP_INTERPOLATE, X(x), {A_scale_factor, d_float(0.1)}));
}

/* What is not normalised, or lacks an attribute, is no graph: storage and kernels count on one form. */
static bool infers(Lab *lab, OpKind kind, Value *x, const Attr *attrs, uint32_t n)
{
    Typing t = {.ctx = lab->ctx, .kind = kind, .in = &x, .nin = 1, .attrs = attrs, .nattrs = n, .arena = lab->ctx->unit};
    return op_rules(kind)->infer(&t);
}
#define INFERS(kind, ...) \
    infers(lab, (kind), x, (const Attr[]){__VA_ARGS__}, COUNT_OF(((const Attr[]){__VA_ARGS__})))

static void test_forms(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){2, 3});
    Datum keep = d_bool(false);
    CHECK(INFERS(OP_SOFTMAX, {A_dim, d_int(1)}) && !INFERS(OP_SOFTMAX, {A_dim, d_int(-1)}));
    CHECK(!INFERS(OP_SOFTMAX, {A_dim, d_float(1)}) && !INFERS(OP_SOFTMAX, {A_k, d_int(1)}));
    CHECK(INFERS(OP_SUM, {A_dim, INTS(lab, 0, 1)}, {A_keepdim, keep}) && !INFERS(OP_SUM, {A_dim, INTS(lab, -1)}, {A_keepdim, keep}));
    CHECK(!INFERS(OP_SUM, {A_keepdim, keep}) && !INFERS(OP_SUM, {A_dim, d_str("0")}));
    CHECK(INFERS(OP_VIEW, {A_shape, INTS(lab, 6)}) && !INFERS(OP_VIEW, {A_shape, INTS(lab, -1)}));
    CHECK(!INFERS(OP_SQUEEZE, {A_dim, INTS(lab, 0)}) && !INFERS(OP_EXPAND, {A_sizes, INTS(lab, -1, 3)}));
    CHECK(!INFERS(OP_PERMUTE, {A_dims, INTS(lab, -1, 0)}) && !INFERS(OP_TILE, {A_reps, INTS(lab, 2)}));
    CHECK(!INFERS(OP_SLICE, {A_dim, d_int(0)}, {A_start, d_int(-1)}, {A_end, d_int(2)}, {A_step, d_int(1)}));
    CHECK(!INFERS(OP_SLICE, {A_dim, d_int(0)}, {A_start, d_int(0)}, {A_end, d_int(3)}, {A_step, d_int(1)}));
    CHECK(!INFERS(OP_SELECT, {A_dim, d_int(-2)}, {A_index, d_int(0)}) && !INFERS(OP_SELECT, {A_dim, d_int(0)}, {A_index, d_int(-1)}));
    CHECK(!INFERS(OP_SPLIT, {A_dim, d_int(1)}, {A_split_size, d_int(1)}) && !INFERS(OP_ROLL, {A_shifts, INTS(lab, 7)}));
    CHECK(!INFERS(OP_REARRANGE, {A_pattern, d_str("a b -> b a")}) && !INFERS(OP_ADD, {A_dim, d_int(0)}));
}

int main(void)
{
    Lab lab = lab_new();
    uint64_t seed = 1;
    test_slices(&lab);
    test_chunks(&lab);
    test_ranges(&lab);
    test_reductions(&lab);
    test_views(&lab, &seed);
    test_sizes(&lab);
    test_dtypes(&lab);
    test_borders(&lab);
    test_forms(&lab);
    ctx_free(lab.ctx);
    return check_done();
}
