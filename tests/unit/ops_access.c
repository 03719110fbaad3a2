/* ops_access.c - the nests of access.c against a walk over every element: random chains of reshapes, transposes and
 * slices on small shapes. Where a nest is given, each element lies where it says; one operator alone always has one;
 * and what kernels say of nests they follow. */
#include "tests/unit/oplab.h"

#include "ops/access.h"

enum { MAX_ELEMS = 4096, MAX_OPS = 6 };

typedef struct Tally { unsigned chains, nests, stores; } Tally;

static Value *random_input(Lab *lab, uint64_t *seed)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 6};
    uint64_t dims[4];
    unsigned rank = 1 + (unsigned)random_below(seed, 4);
    for (unsigned i = 0; i < rank; i++) dims[i] = sizes[random_below(seed, COUNT_OF(sizes))];
    return lab_input(lab, DT_F32, rank, dims);
}

static bool transpose(Lab *lab, uint64_t *seed, Value *x)
{
    unsigned rank = x->type.shape.rank;
    int64_t perm[MAX_RANK];
    if (rank > 1 && random_below(seed, 2))
        return CALL(lab, OP_TRANSPOSE, X(x), {A_dim0, d_int((int64_t)random_below(seed, rank))},
                    {A_dim1, d_int((int64_t)random_below(seed, rank))});
    for (unsigned i = 0; i < rank; i++) perm[i] = i;
    for (unsigned i = rank; i-- > 1;) {
        unsigned k = (unsigned)random_below(seed, i + 1u);
        int64_t swap = perm[i];
        perm[i] = perm[k];
        perm[k] = swap;
    }
    return CALL(lab, OP_PERMUTE, X(x), {A_dims, d_ints(lab->ctx->unit, perm, rank)});
}

/* Prime factors dealt out to the axes of another shape. */
static bool reshape(Lab *lab, uint64_t *seed, Value *x)
{
    unsigned rank = 1 + (unsigned)random_below(seed, 5);
    int64_t dims[5] = {1, 1, 1, 1, 1};
    uint64_t left = x->nelem;
    for (uint64_t p = 2; left > 1;)
        if (left % p == 0) {
            dims[random_below(seed, rank)] *= (int64_t)p;
            left /= p;
        } else {
            p++;
        }
    return CALL(lab, OP_RESHAPE, X(x), {A_shape, d_ints(lab->ctx->unit, dims, rank)});
}

static bool take_part(Lab *lab, uint64_t *seed, Value *x)
{
    unsigned axis = (unsigned)random_below(seed, x->type.shape.rank);
    int64_t extent = (int64_t)x->type.shape.dim[axis], start = (int64_t)random_below(seed, (uint64_t)extent);
    int64_t length = 1 + (int64_t)random_below(seed, (uint64_t)(extent - start));
    switch (random_below(seed, 3)) {
    case 0: return CALL(lab, OP_SELECT, X(x), {A_dim, d_int(axis)}, {A_index, d_int(start)});
    case 1: return CALL(lab, OP_CHUNK, X(x), {A_chunks, d_int(2)}, {A_dim, d_int(axis)});
    default: return CALL(lab, OP_SLICE, X(x), {A_dim, d_int(axis)}, {A_start, d_int(start)},
                         {A_end, d_int(start + length)}, {A_step, d_int(1 + (int64_t)random_below(seed, 3))});
    }
}

/* Coordinates in the operand of an element of the result, by the operators' definitions. */
static uint64_t source_of(const Op *op, uint32_t out, uint64_t i)
{
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[out]->type.shape;
    uint64_t at[MAX_RANK], from[MAX_RANK], first = 0;
    int64_t dims[MAX_RANK];
    if (op->kind == OP_RESHAPE) return i;
    coordinates_of(y, i, at);
    for (unsigned k = 0; k < y->rank; k++) from[k] = at[k];
    if (op->kind == OP_PERMUTE) {
        op_ints(op, A_dims, dims, MAX_RANK);
        for (unsigned k = 0; k < y->rank; k++) from[dims[k]] = at[k];
    } else if (op->kind == OP_TRANSPOSE) {
        from[op_int(op, A_dim0)] = at[op_int(op, A_dim1)];
        from[op_int(op, A_dim1)] = at[op_int(op, A_dim0)];
    } else if (op->kind == OP_SELECT) {
        unsigned axis = (unsigned)op_int(op, A_dim);
        for (unsigned k = axis; k < y->rank; k++) from[k + 1] = at[k];
        from[axis] = (uint64_t)op_int(op, A_index);
    } else if (op->kind == OP_SLICE) {
        from[op_int(op, A_dim)] = (uint64_t)op_int(op, A_start) + at[op_int(op, A_dim)] * (uint64_t)op_int(op, A_step);
    } else {
        for (uint32_t k = 0; k < out; k++) first += op->out[k]->type.shape.dim[op_int(op, A_dim)];
        from[op_int(op, A_dim)] += first;
    }
    return flat_of(x, from);
}

/* Where the nest says that element i of a tensor of shape s lies. */
static uint64_t address(const Access *a, const Shape *s, uint64_t i)
{
    uint64_t at[MAX_RANK], sum = a->offset;
    coordinates_of(s, i, at);
    for (unsigned k = 0; k < s->rank; k++)
        for (unsigned r = a->begin[k + 1]; r-- > a->begin[k];) {
            sum += at[k] % a->run[r].n * a->run[r].stride;
            at[k] /= a->run[r].n;
        }
    return sum;
}

static void check_nest(const Access *a, const Value *v, const uint64_t *place)
{
    CHECK(a->rank == v->type.shape.rank);
    for (unsigned k = 0; k < a->rank; k++) {
        uint64_t extent = 1;
        for (unsigned r = a->begin[k]; r < a->begin[k + 1]; r++) extent *= a->run[r].n;
        CHECK(extent == v->type.shape.dim[k]);
    }
    bool right = true;
    for (uint64_t i = 0; i < v->nelem; i++) right = right && address(a, &v->type.shape, i) == place[i];
    CHECK(right);
}

/* A result that is written through the nest back from the last of a chain: element i of x lies at the place of the one
 * that becomes it. */
static void check_store(const Op *const *chain, unsigned n, const Value *x, const uint64_t *place, Tally *t)
{
    Access a;
    uint64_t inverse[MAX_ELEMS];
    const Value *y = chain[n - 1]->out[0];
    bool ok = access_whole(&a, y);
    for (unsigned i = n; ok && i-- > 0;) ok = access_back(&a, chain[i]);
    if (!ok) return;
    for (uint64_t i = 0; i < y->nelem; i++) inverse[place[i]] = i;
    check_nest(&a, x, inverse);
    t->stores++;
}

static void random_chain(Lab *lab, uint64_t *seed, Tally *t)
{
    Value *x = random_input(lab, seed), *v = x;
    uint64_t place[MAX_ELEMS], old[MAX_ELEMS];
    unsigned n = 1 + (unsigned)random_below(seed, MAX_OPS), parts = 0;
    const Op *chain[MAX_OPS];
    Access a;
    CHECK(access_whole(&a, x));
    for (uint64_t i = 0; i < x->nelem; i++) place[i] = i;
    t->chains++;
    for (unsigned k = 0; k < n && v->type.shape.rank > 0; k++) {
        uint64_t form = random_below(seed, 5);
        CHECK(form < 2 ? transpose(lab, seed, v) : form < 4 ? reshape(lab, seed, v) : take_part(lab, seed, v));
        const Op *op = last_op(lab);
        uint32_t out = (uint32_t)random_below(seed, op->nout);
        for (uint64_t i = 0; i < v->nelem; i++) old[i] = place[i];
        v = op->out[out];
        for (uint64_t i = 0; i < v->nelem; i++) place[i] = old[source_of(op, out, i)];
        parts += form == 4;
        chain[k] = op;
        bool ok = access_through(&a, op, out);
        CHECK(ok || k > 0);
        if (!ok) return;
        check_nest(&a, v, place);
        if (!parts) check_store(chain, k + 1, x, place, t);
        t->nests++;
    }
}

/* x [2, 8, 12] is a packed projection of 3 parts of 2 heads of width 2. */
static void test_kernels(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 3, (uint64_t[]){2, 8, 12});
    Value *q = lab_input(lab, DT_F32, 4, (uint64_t[]){2, 2, 8, 2}), *y;
    Access a, b;
    CHECK(CALL(lab, OP_SDPA, {A_q, d_tensor(q)}, {A_k, d_tensor(q)}, {A_v, d_tensor(q)}));
    const Op *attention = last_op(lab);
    CHECK(op_reads_strided(attention, 2) && !op_reads_strided(attention, 3) && op_writes_strided(attention));
    CHECK(access_whole(&a, x));
    CHECK(CALL(lab, OP_RESHAPE, X(x), {A_shape, INTS(lab, 2, 8, 3, 2, 2)}) && access_through(&a, last_op(lab), 0));
    y = last_op(lab)->out[0];
    CHECK(CALL(lab, OP_PERMUTE, X(y), {A_dims, INTS(lab, 2, 0, 3, 1, 4)}) && access_through(&a, last_op(lab), 0));
    y = last_op(lab)->out[0];
    CHECK(CALL(lab, OP_SELECT, X(y), {A_dim, d_int(0)}, {A_index, d_int(1)}) && access_through(&a, last_op(lab), 0));
    CHECK(a.offset == 4 && access_readable(&a, attention, 1) && access_writable(&a));
    b = a;                                                /* width and places exchanged: the width is not contiguous */
    y = last_op(lab)->out[0];
    CHECK(CALL(lab, OP_TRANSPOSE, X(y), {A_dim0, d_int(2)}, {A_dim1, d_int(3)}) && access_through(&b, last_op(lab), 0));
    CHECK(!access_readable(&b, attention, 1) && !access_writable(&b));
    CHECK(CALL(lab, OP_MATMUL, X(q), {A_other, d_tensor(last_op(lab)->out[0])}));
    CHECK(access_readable(&b, last_op(lab), 1) && access_readable(&a, last_op(lab), 0));
    /* places and heads merged are two runs: rows of linear, but no place axis of an attention */
    CHECK(CALL(lab, OP_RESHAPE, X(q), {A_shape, INTS(lab, 2, 16, 2)}) && access_through(&a, last_op(lab), 0));
    CHECK(CALL(lab, OP_LINEAR, X(last_op(lab)->out[0]), {A_out, d_int(3)}) && access_readable(&a, last_op(lab), 0));
    CHECK(!op_reads_strided(last_op(lab), 1) && !access_readable(&a, attention, 0));
}

static void test_elements(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 4, (uint64_t[]){1, 4, 6, 6});
    CHECK(CALL(lab, OP_CONV2D, X(x), {A_out, d_int(4)}, {A_kernel_size, INTS(lab, 1, 1)}, {A_stride, INTS(lab, 2, 2)}));
    CHECK(op_reads_elements(last_op(lab), 0) && !op_reads_elements(last_op(lab), 1));
    CHECK(CALL(lab, OP_CONV2D, X(x), {A_out, d_int(4)}, {A_kernel_size, INTS(lab, 1, 1)}, {A_padding, d_int(1)}));
    CHECK(!op_reads_elements(last_op(lab), 0));
    CHECK(CALL(lab, OP_CONV2D, X(x), {A_out, d_int(4)}, {A_kernel_size, INTS(lab, 3, 3)}));
    CHECK(!op_reads_elements(last_op(lab), 0));
    CHECK(CALL(lab, OP_BATCH_NORM, X(x)) && op_scales_by_channel(last_op(lab)));
    CHECK(CALL(lab, OP_BATCH_NORM, X(x), {A_track_running_stats, d_bool(false)}));
    CHECK(!op_scales_by_channel(last_op(lab)));
    Access a;
    CHECK(!access_whole(&a, lab_input(lab, DT_I4, 1, (uint64_t[]){8})));
    CHECK(!access_whole(&a, lab_input(lab, DT_F32, 2, (uint64_t[]){0, 8})));
}

int main(void)
{
    uint64_t seed = 7;
    Tally t = {0};
    for (int i = 0; i < 40; i++) {
        Lab lab = lab_new();
        for (int k = 0; k < 100; k++) random_chain(&lab, &seed, &t);
        ctx_free(lab.ctx);
    }
    Lab lab = lab_new();
    test_kernels(&lab);
    test_elements(&lab);
    ctx_free(lab.ctx);
    CHECK(t.nests > 2 * t.chains && t.stores > t.chains);
    return check_done();
}
