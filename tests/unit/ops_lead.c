/* ops_lead.c - op_lead against memory: every geometry of pools and depthwise convolutions with sizes up to 6, and random
 * casts, broadcasts and reductions, run element by element on an array of bytes in which the result lies `lead` bytes
 * before the operand. Nothing may be read that was overwritten; with one byte less something always is, so that no
 * smaller distance would do. */
#include "tests/unit/oplab.h"
#include "tests/unit/reads.h"

static unsigned tight, tried;                             /* how many distances were above 0; of how many */

/* Which element of operand `in` a broadcasting operator reads for element i. */
static uint64_t broadcast_of(const Value *x, const Value *r, uint64_t i) {
    uint64_t at[MAX_RANK], own[MAX_RANK];
    unsigned shift = r->type.shape.rank - x->type.shape.rank;
    coordinates_of(&r->type.shape, i, at);
    for (unsigned a = 0; a < x->type.shape.rank; a++) own[a] = x->type.shape.dim[a] == 1 ? 0 : at[a + shift];
    return flat_of(&x->type.shape, own);
}

static bool reads_of(const Op *op, uint32_t in, uint64_t i, uint64_t e) {
    return op_has(op, ELEMENTWISE) ? broadcast_of(op->in[in], op->out[0], i) == e : reads_element(op, i, e);
}

/* Runs the kernel with its result `lead` bytes before operand `in`; false when it reads what it has overwritten. */
static bool survives(const Op *op, uint32_t in, uint64_t lead) {
    const Value *x = op->in[in], *r = op->out[0];
    uint64_t so = dtype_bits(r->type.dtype) / 8, si = dtype_bits(x->type.dtype) / 8, written = 0;
    for (uint64_t i = 0; i < r->nelem; i++) {
        for (uint64_t e = 0; e < x->nelem && lead + e * si < written; e++)
            if (reads_of(op, in, i, e)) return false;
        written = (i + 1) * so;                           /* index order: the bytes below are the result's */
    }
    return true;
}

static void check_lead(const Op *op, uint32_t in) {
    uint64_t lead = 99;
    CHECK(op_lead(op, in, 0, &lead));
    CHECK(survives(op, in, lead));
    tried++;
    if (lead == 0) return;
    tight++;
    CHECK(!survives(op, in, lead - 1));
}

static void fresh(Lab *lab) {
    ctx_free(lab->ctx);
    *lab = lab_new();
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void check_pool1d(Lab *lab, bool max, int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
    Value *x = lab_input(lab, DT_F32, 3, (uint64_t[]){2, 2, (uint64_t)size});
    Call *c = lab_call(lab, max ? "max_pool1d" : "avg_pool1d");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_kernel_size, lab_ints(c, 1, &kernel));
    lab_set(c, A_stride, lab_ints(c, 1, &stride));
    lab_set(c, A_padding, lab_ints(c, 1, &pad));
    if (max) lab_set(c, A_dilation, lab_ints(c, 1, &dilation));
    lab_set(c, A_ceil_mode, d_bool(ceil));
    if (op_rules(c->info->kind)->bind(c)) check_lead(last_op(lab), 0);
}

static void test_pool1d(Lab *lab) {
    for (int64_t size = 1; size <= 6; size++)
        for (int64_t kernel = 1; kernel <= 6; kernel++)
            for (int64_t stride = 1; stride <= 4; stride++)
                for (int64_t pad = 0; pad <= kernel / 2; pad++)
                    for (int64_t dilation = 1; dilation <= 3; dilation++)
                        for (int ceil = 0; ceil < 2; ceil++) {
                            check_pool1d(lab, true, size, kernel, stride, pad, dilation, ceil);
                            if (dilation == 1) check_pool1d(lab, false, size, kernel, stride, pad, 1, ceil);
                        }
    fresh(lab);
}

static void check_conv1d(Lab *lab, int64_t size, int64_t times, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
    Value *x = lab_input(lab, DT_F32, 3, (uint64_t[]){2, 2, (uint64_t)size});
    Call *c = lab_call(lab, "conv1d");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_out, d_int(2 * times));
    lab_set(c, A_groups, d_int(2));
    lab_set(c, A_kernel_size, lab_ints(c, 1, &kernel));
    lab_set(c, A_stride, lab_ints(c, 1, &stride));
    lab_set(c, A_padding, d_int(pad));
    lab_set(c, A_dilation, lab_ints(c, 1, &dilation));
    if (op_rules(c->info->kind)->bind(c)) check_lead(last_op(lab), 0);
}

/* A convolution may pad by more than its kernel: some of its places then read nothing. */
static void test_depthwise1d(Lab *lab) {
    for (int64_t size = 1; size <= 6; size++)
        for (int64_t kernel = 1; kernel <= 4; kernel++)
            for (int64_t stride = 1; stride <= 3; stride++)
                for (int64_t pad = 0; pad <= 3; pad++)
                    for (int64_t dilation = 1; dilation <= 3; dilation++)
                        for (int64_t times = 1; times <= 3; times++) check_conv1d(lab, size, times, kernel, stride, pad, dilation);
    fresh(lab);
}

static int64_t among(uint64_t *seed, int64_t lo, int64_t hi) {
    return lo + (int64_t)random_below(seed, (uint64_t)(hi - lo + 1));
}

/* Kernel, stride, padding and dilation of each axis on its own. */
static void random_window(Call *c, uint64_t *seed, unsigned n, bool dilated) {
    int64_t kernel[3], stride[3], dilation[3];
    Datum pads[3];
    for (unsigned i = 0; i < n; i++) {
        kernel[i] = among(seed, 1, 4);
        stride[i] = among(seed, 1, 3);
        dilation[i] = among(seed, 1, 2);
        pads[i] = d_ints(c->ctx->unit, (int64_t[]){among(seed, 0, kernel[i] / 2), among(seed, 0, kernel[i] / 2)}, 2);
    }
    lab_set(c, A_kernel_size, lab_ints(c, n, kernel));
    lab_set(c, A_stride, lab_ints(c, n, stride));
    lab_set(c, A_padding, n == 1 ? pads[0] : d_list(c->ctx->unit, pads, n));
    if (dilated) lab_set(c, A_dilation, lab_ints(c, n, dilation));
}

static void test_windows(Lab *lab, uint64_t *seed) {
    static const char *const names[] = {"max_pool2d", "avg_pool2d", "conv2d", "conv2d", "max_pool3d", "avg_pool3d", "conv3d"};
    for (int round = 0; round < 4000; round++) {
        const char *name = names[random_below(seed, COUNT_OF(names))];
        unsigned n = name[strlen(name) - 2] == '2' ? 2 : 3;
        bool conv = name[0] == 'c';
        uint64_t dims[5] = {(uint64_t)among(seed, 1, 2), (uint64_t)among(seed, conv ? 2 : 1, 3)};
        for (unsigned i = 0; i < n; i++) dims[2 + i] = (uint64_t)among(seed, 1, n == 2 ? 6 : 4);
        Value *x = lab_input(lab, random_below(seed, 2) ? DT_F32 : DT_F16, 2 + n, dims);
        Call *c = lab_call(lab, name);
        lab_set(c, A_x, d_tensor(x));
        random_window(c, seed, n, conv || name[0] == 'm');
        if (conv) lab_set(c, A_out, d_int((int64_t)dims[1] * among(seed, 1, 2)));
        if (conv) lab_set(c, A_groups, d_int((int64_t)dims[1]));
        else lab_set(c, A_ceil_mode, d_bool(random_below(seed, 2)));
        if (op_rules(c->info->kind)->bind(c)) check_lead(last_op(lab), 0);
        if (round % 200 == 0) fresh(lab);
    }
}

/* Adaptive pools whose result may be larger than the operand, too; global pools. */
static void test_whole_pools(Lab *lab) {
    for (uint64_t h = 1; h <= 6; h++)
        for (uint64_t w = 1; w <= 4; w++) {
            Value *x = lab_input(lab, DT_F32, 4, (uint64_t[]){1, 2, h, w});
            if (CALL(lab, OP_GLOBAL_AVG_POOL2D, X(x))) check_lead(last_op(lab), 0);
            if (CALL(lab, OP_GLOBAL_MAX_POOL2D, X(x))) check_lead(last_op(lab), 0);
            for (int64_t oh = 1; oh <= 7; oh++)
                for (int64_t ow = 1; ow <= 5; ow++)
                    if (CALL(lab, OP_ADAPTIVE_AVG_POOL2D, X(x), {A_output_size, INTS(lab, oh, ow)})) check_lead(last_op(lab), 0);
        }
    fresh(lab);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void test_casts(Lab *lab, uint64_t *seed) {
    static const DType dtypes[] = {DT_F32, DT_F64, DT_F16, DT_I8, DT_I64};
    for (int round = 0; round < 300; round++) {
        Value *x = lab_input(lab, dtypes[random_below(seed, COUNT_OF(dtypes))], 1, (uint64_t[]){(uint64_t)among(seed, 1, 20)});
        if (CALL(lab, OP_CAST, X(x), {A_dtype, d_dtype(dtypes[random_below(seed, COUNT_OF(dtypes))])})) check_lead(last_op(lab), 0);
    }
    fresh(lab);
}

static void test_broadcasts(Lab *lab, uint64_t *seed) {
    for (int round = 0; round < 600; round++) {
        uint64_t big[3], small[3];
        unsigned cut = (unsigned)random_below(seed, 3);
        for (unsigned i = 0; i < 3; i++) {
            big[i] = (uint64_t)among(seed, 1, 4);
            small[i] = random_below(seed, 2) ? 1 : big[i];
        }
        Value *x = lab_input(lab, DT_F32, 3 - cut, small + cut), *y = lab_input(lab, DT_F32, 3, big);
        if (!CALL(lab, OP_ADD, X(x), {A_other, d_tensor(y)})) continue;
        check_lead(last_op(lab), 0);
        check_lead(last_op(lab), 1);
    }
    fresh(lab);
}

static void test_reductions(Lab *lab) {
    uint64_t lead;
    for (uint64_t a = 1; a <= 4; a++)
        for (uint64_t b = 1; b <= 4; b++) {
            Value *x = lab_input(lab, DT_F32, 3, (uint64_t[]){2, a, b}), *small = lab_input(lab, DT_I8, 2, (uint64_t[]){a, b});
            if (CALL(lab, OP_MEAN, X(x), {A_dim, INTS(lab, 2)})) check_lead(last_op(lab), 0);
            if (CALL(lab, OP_AMAX, X(x), {A_dim, INTS(lab, 1, 2)})) check_lead(last_op(lab), 0);
            if (CALL(lab, OP_SUM, X(small), {A_dim, INTS(lab, 1)})) check_lead(last_op(lab), 0);
            if (CALL(lab, OP_SUM, X(x), {A_dim, INTS(lab, 0)})) CHECK(!op_lead(last_op(lab), 0, 0, &lead));
        }
    fresh(lab);
}

/* Kernels that read again what lies before the element they write. */
static void test_refused(Lab *lab) {
    uint64_t lead;
    Value *x = lab_input(lab, DT_F32, 4, (uint64_t[]){1, 4, 5, 5}), *grey = lab_input(lab, DT_F32, 4, (uint64_t[]){1, 1, 5, 5});
    Value *half = lab_input(lab, DT_I4, 1, (uint64_t[]){8});
    Attr kernel = {A_kernel_size, INTS(lab, 1, 1)}, three = {A_kernel_size, INTS(lab, 3, 3)};
    CHECK(CALL(lab, OP_CONV2D, X(x), {A_out, d_int(2)}, kernel) && !op_lead(last_op(lab), 0, 0, &lead));
    CHECK(CALL(lab, OP_CONV2D, X(x), {A_out, d_int(4)}, three, {A_groups, d_int(2)}) && !op_lead(last_op(lab), 0, 0, &lead));
    CHECK(CALL(lab, OP_CONV2D, X(grey), {A_out, d_int(4)}, three) && !op_lead(last_op(lab), 0, 0, &lead));
    CHECK(CALL(lab, OP_MAX_POOL2D, X(x), three) && !op_lead(last_op(lab), 1, 0, &lead) && !op_lead(last_op(lab), 0, 1, &lead));
    CHECK(CALL(lab, OP_CAST, X(half), {A_dtype, d_dtype(DT_F32)}) && !op_lead(last_op(lab), 0, 0, &lead));
    fresh(lab);
}

int main(void) {
    uint64_t seed = 88172645463325252u;
    Lab lab = lab_new();
    test_pool1d(&lab);
    test_depthwise1d(&lab);
    test_windows(&lab, &seed);
    test_whole_pools(&lab);
    test_casts(&lab, &seed);
    test_broadcasts(&lab, &seed);
    test_reductions(&lab);
    test_refused(&lab);
    CHECK(tight > 500 && tried - tight > 500);
    printf("%u distances, %u of them above 0 and no smaller one possible\n", tried, tight);
    ctx_free(lab.ctx);
    return check_done();
}
