/* ops_storage.c - op_part and op_join against a walk over every element: on random small shapes (sizes 0 to 4, also
 * 4-bit types) a part is reported exactly when its elements lie one behind the other, at the place where they lie. */
#include "tests/unit/oplab.h"

#include "ir/plan.h"

static Value *random_input(Lab *lab, uint64_t *seed, DType dtype, unsigned lo)
{
    uint64_t dims[4];
    unsigned rank = lo + (unsigned)random_below(seed, 5 - lo);
    for (unsigned i = 0; i < rank; i++) dims[i] = random_below(seed, 8) == 0 ? 0 : 1 + random_below(seed, 4);
    return lab_input(lab, dtype, rank, dims);
}

static DType random_dtype(uint64_t *seed)
{
    static const DType dtypes[] = {DT_F32, DT_F64, DT_I8, DT_BOOL, DT_I4, DT_U4};
    return dtypes[random_below(seed, COUNT_OF(dtypes))];
}

/* Do `n` places follow one another from *first on? */
static bool consecutive(const uint64_t *place, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (place[i] != place[0] + i) return false;
    return true;
}

static bool whole_bytes(DType dtype, uint64_t first, uint64_t n, uint64_t total)
{
    return dtype_bits(dtype) >= 8 || (first % 2 == 0 && (n % 2 == 0 || first + n == total));
}

/* place[i]: where element i of the result lies in the operand. */
static void check_part(const Op *op, uint32_t out, const uint64_t *place)
{
    const Value *x = op->in[0], *r = op->out[out];
    uint64_t offset = 99, first = r->nelem ? place[0] : 0;
    bool expected = consecutive(place, r->nelem) &&
                    (r->nelem == 0 || whole_bytes(x->type.dtype, first, r->nelem, x->nelem));
    CHECK(op_part(op, out, &offset) == expected);
    if (expected) CHECK(offset == first * dtype_bits(x->type.dtype) / 8);
}

/* Results that are cut from one axis: element at[...] comes from at[axis] * step + start. */
static void check_cut(const Op *op, uint32_t out, unsigned axis, uint64_t start, uint64_t step, bool dropped)
{
    const Shape *x = &op->in[0]->type.shape;
    Shape r = *x;
    uint64_t place[256], at[MAX_RANK];
    r.dim[axis] = dropped ? 1 : op->out[out]->type.shape.dim[axis];
    for (uint64_t i = 0; i < op->out[out]->nelem; i++) {
        coordinates_of(&r, i, at);
        at[axis] = start + at[axis] * step;
        place[i] = flat_of(x, at);
    }
    check_part(op, out, place);
}

static void test_pieces(Lab *lab, uint64_t *seed)
{
    Value *x = random_input(lab, seed, random_dtype(seed), 1);
    unsigned axis = (unsigned)random_below(seed, x->type.shape.rank);
    bool chunk = random_below(seed, 2) != 0;
    bool ok = chunk ? CALL(lab, OP_CHUNK, X(x), {A_chunks, d_int(1 + (int64_t)random_below(seed, 4))},
                           {A_dim, d_int(axis)})
                    : CALL(lab, OP_SPLIT, X(x), {A_split_size, d_int(1 + (int64_t)random_below(seed, 3))},
                           {A_dim, d_int(axis)});
    CHECK(ok);
    const Op *op = last_op(lab);
    uint64_t start = 0;
    for (uint32_t i = 0; i < op->nout; i++) {
        check_cut(op, i, axis, start, 1, false);
        start += op->out[i]->type.shape.dim[axis];
    }
    CHECK(start == x->type.shape.dim[axis]);
}

static void test_slice(Lab *lab, uint64_t *seed)
{
    Value *x = random_input(lab, seed, random_dtype(seed), 1);
    unsigned axis = (unsigned)random_below(seed, x->type.shape.rank);
    int64_t extent = (int64_t)x->type.shape.dim[axis], start = (int64_t)random_below(seed, (uint64_t)extent + 1);
    int64_t length = (int64_t)random_below(seed, (uint64_t)(extent - start) + 1),
            step = 1 + (int64_t)random_below(seed, 3);
    CHECK(CALL(lab, OP_SLICE, X(x), {A_dim, d_int(axis)}, {A_start, d_int(start)}, {A_end, d_int(start + length)},
               {A_step, d_int(step)}));
    check_cut(last_op(lab), 0, axis, (uint64_t)start, (uint64_t)step, false);
    CHECK(CALL(lab, OP_NARROW, X(x), {A_dim, d_int(axis)}, {A_start, d_int(start)}, {A_length, d_int(length)}));
    check_cut(last_op(lab), 0, axis, (uint64_t)start, 1, false);
    bool there = start < extent;
    CHECK(CALL(lab, OP_SELECT, X(x), {A_dim, d_int(axis)}, {A_index, d_int(start)}) == there);
    if (there) check_cut(last_op(lab), 0, axis, (uint64_t)start, 1, true);
}

static void test_moves(Lab *lab, uint64_t *seed)
{
    Value *x = random_input(lab, seed, random_dtype(seed), 0);
    unsigned rank = x->type.shape.rank;
    int64_t perm[MAX_RANK];
    for (unsigned i = 0; i < rank; i++) perm[i] = i;
    for (unsigned i = rank; i-- > 1;) {
        unsigned k = (unsigned)random_below(seed, i + 1u);
        int64_t swap = perm[i];
        perm[i] = perm[k];
        perm[k] = swap;
    }
    CHECK(CALL(lab, OP_PERMUTE, X(x), {A_dims, d_ints(lab->ctx->unit, perm, rank)}));
    const Op *op = last_op(lab);
    uint64_t place[256], at[MAX_RANK], from[MAX_RANK];
    for (uint64_t i = 0; i < x->nelem; i++) {
        coordinates_of(&op->out[0]->type.shape, i, at);
        for (unsigned k = 0; k < rank; k++) from[perm[k]] = at[k];
        place[i] = flat_of(&x->type.shape, from);
    }
    check_part(op, 0, place);
    if (rank < 2) return;
    unsigned a = (unsigned)random_below(seed, rank), b = (unsigned)random_below(seed, rank);
    CHECK(CALL(lab, OP_TRANSPOSE, X(x), {A_dim0, d_int(a)}, {A_dim1, d_int((int64_t)b - rank)}));
    op = last_op(lab);
    for (uint64_t i = 0; i < x->nelem; i++) {
        coordinates_of(&op->out[0]->type.shape, i, at);
        uint64_t swap = at[a];
        at[a] = at[b];
        at[b] = swap;
        place[i] = flat_of(&x->type.shape, at);
    }
    check_part(op, 0, place);
}

/* Operands with one extent along the axis each; stack's are equal. */
static void test_join(Lab *lab, uint64_t *seed)
{
    bool stack = random_below(seed, 2) != 0;
    DType dtype = random_dtype(seed);
    Value *x = random_input(lab, seed, dtype, stack ? 0 : 1), *in[3];
    unsigned axis = (unsigned)random_below(seed, x->type.shape.rank + (stack ? 1u : 0u)),
             n = 1 + (unsigned)random_below(seed, 3);
    Datum items[3];
    for (unsigned i = 0; i < n; i++) {
        Shape s = x->type.shape;
        if (!stack && i > 0) s.dim[axis] = random_below(seed, 4);
        in[i] = i == 0 ? x : lab_input(lab, dtype, s.rank, s.dim);
        items[i] = d_tensor(in[i]);
    }
    CHECK(CALL(lab, stack ? OP_STACK : OP_CAT, {A_tensors, d_list(lab->ctx->unit, items, n)}, {A_dim, d_int(axis)}));
    const Op *op = last_op(lab);
    uint64_t start = 0, place[256], at[MAX_RANK];
    for (unsigned i = 0; i < n; i++) {
        Shape s = op->out[0]->type.shape;
        s.dim[axis] = stack ? 1 : in[i]->type.shape.dim[axis];
        for (uint64_t k = 0; k < in[i]->nelem; k++) {
            coordinates_of(&s, k, at);
            at[axis] += start;
            place[k] = flat_of(&op->out[0]->type.shape, at);
        }
        start += s.dim[axis];
        uint64_t offset = 99, total = op->out[0]->nelem, first = in[i]->nelem ? place[0] : 0;
        bool expected = consecutive(place, in[i]->nelem) &&
                        (in[i]->nelem == 0 || whole_bytes(dtype, first, in[i]->nelem, total));
        CHECK(op_join(op, i, &offset) == expected);
        if (expected) CHECK(offset == first * dtype_bits(dtype) / 8);
    }
}

static int reason(const Op *op, uint32_t in)
{
    int why = REASON_NONE;
    return op_can_overwrite(op, in, 0, &why) ? REASON_NONE : why;
}

static void test_overwrite(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){2, 3}), *row = lab_input(lab, DT_F32, 1, (uint64_t[]){3});
    Value *mask = lab_input(lab, DT_BOOL, 2, (uint64_t[]){2, 3}), *bytes = lab_input(lab, DT_U8, 2, (uint64_t[]){2, 3});
    CHECK(CALL(lab, OP_ADD, X(row), {A_other, d_tensor(x)}));
    CHECK(reason(last_op(lab), 0) == REASON_BROADCAST && reason(last_op(lab), 1) == REASON_NONE);
    CHECK(CALL(lab, OP_MUL, X(x), {A_other, d_float(2)}));
    CHECK(reason(last_op(lab), 0) == REASON_NONE && reason(last_op(lab), 1) == REASON_NO_OPERAND &&
          reason(last_op(lab), 2) == REASON_NO_OPERAND);
    CHECK(CALL(lab, OP_GT, X(x), {A_other, d_float(0)}));
    CHECK(reason(last_op(lab), 0) == REASON_DTYPE);
    CHECK(CALL(lab, OP_WHERE, {A_condition, d_tensor(mask)}, X(bytes), {A_other, d_int(1)}));
    CHECK(reason(last_op(lab), 0) == REASON_NONE && reason(last_op(lab), 1) == REASON_NONE &&
          reason(last_op(lab), 2) == REASON_NO_OPERAND);
    CHECK(CALL(lab, OP_SOFTMAX, X(x), {A_dim, d_int(1)}));
    CHECK(reason(last_op(lab), 0) == REASON_NONE);
    CHECK(CALL(lab, OP_PRELU, X(x), {A_num_parameters, d_int(3)}));
    CHECK(reason(last_op(lab), 0) == REASON_NONE && reason(last_op(lab), 1) == REASON_KERNEL);
    CHECK(CALL(lab, OP_FLIP, X(x), {A_dims, d_int(0)}));
    CHECK(reason(last_op(lab), 0) == REASON_KERNEL);
    CHECK(CALL(lab, OP_CAST, X(x), {A_dtype, d_dtype(DT_I32)}));
    CHECK(reason(last_op(lab), 0) == REASON_NONE);
    CHECK(CALL(lab, OP_CUMSUM, X(bytes), {A_dim, d_int(0)}));
    CHECK(reason(last_op(lab), 0) == REASON_DTYPE);
}

int main(void)
{
    Lab lab = lab_new();
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        test_pieces(&lab, &seed);
        test_slice(&lab, &seed);
        test_moves(&lab, &seed);
        test_join(&lab, &seed);
    }
    test_overwrite(&lab);
    ctx_free(lab.ctx);
    return check_done();
}
