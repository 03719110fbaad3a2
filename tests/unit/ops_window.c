/* ops_window.c - convolutions, transposed convolutions and pools against counting: windows are laid down one by one,
 * and multiply-adds are counted by the loops that would do them. */
#include "tests/unit/opcall.h"

typedef struct Case { int64_t in, k, s, p, d; bool ceil; } Case;

/* Lays windows until one does not count. A window counts when it lies inside the padded axis; in ceil mode also when
 * the one before it left elements over and it starts in the input or the padding before it. */
static int64_t count_windows(Case c) {
    int64_t span = (c.k - 1) * c.d + 1, padded = c.in + 2 * c.p, n = 0;
    for (;; n++) {
        bool whole = n * c.s + span <= padded;
        bool started = c.ceil && (n - 1) * c.s + span < padded && n * c.s < c.in + c.p;
        if (!whole && !started) return n;
    }
}

static Op *pool(Lab *l, Case c, bool max) {
    Value *x = lab_input(l, DT_F32, 3, (uint64_t[]){1, 2, (uint64_t)c.in});
    Call *call = lab_call(l, max ? "max_pool1d" : "avg_pool1d");
    lab_set(call, A_x, d_tensor(x));
    lab_set(call, A_kernel_size, lab_ints(call, 1, &c.k));
    lab_set(call, A_stride, lab_ints(call, 1, &c.s));
    lab_set(call, A_padding, lab_ints(call, 1, &c.p));
    if (max) lab_set(call, A_dilation, lab_ints(call, 1, &c.d));
    lab_set(call, A_ceil_mode, d_bool(c.ceil));
    return lab_bind(call);
}

static void check_pool(Case c) {
    Lab l = lab_new();
    int64_t wanted = count_windows(c);
    Op *op = pool(&l, c, true);
    CHECK((op != NULL) == (wanted > 0 && c.p <= c.k / 2));
    if (op) CHECK(op->out[0]->type.shape.dim[2] == (uint64_t)wanted && op->macs == 0 && lab_again(&l, op));
    if (c.d == 1) {
        Op *avg = pool(&l, c, false);
        CHECK((avg != NULL) == (op != NULL));
        if (avg) CHECK(avg->out[0]->type.shape.dim[2] == (uint64_t)wanted);
    }
    ctx_free(l.ctx);
}

static void pools(void) {
    for (int64_t in = 1; in <= 9; in++)
        for (int64_t k = 1; k <= 4; k++)
            for (int64_t s = 1; s <= 4; s++)
                for (int64_t p = 0; p <= 2; p++)
                    for (int64_t d = 1; d <= 2; d++)
                        for (int ceil = 0; ceil < 2; ceil++) check_pool((Case){in, k, s, p, d, ceil});
}

/* ---- convolution */

enum { C = 4, OUT = 6, GROUPS = 2, N = 2 };

static Op *conv(Lab *l, const char *name, Case c, int64_t extra) {
    Value *x = lab_input(l, DT_F32, 3, (uint64_t[]){N, C, (uint64_t)c.in});
    Call *call = lab_call(l, name);
    lab_set(call, A_x, d_tensor(x));
    lab_set(call, A_out, d_int(OUT));
    lab_set(call, A_kernel_size, lab_ints(call, 1, &c.k));
    lab_set(call, A_stride, lab_ints(call, 1, &c.s));
    lab_set(call, A_padding, d_int(c.p));
    lab_set(call, A_dilation, lab_ints(call, 1, &c.d));
    lab_set(call, A_groups, d_int(GROUPS));
    if (call->info->kind == OP_CONV_TRANSPOSE1D) lab_set(call, A_output_padding, lab_ints(call, 1, &extra));
    return lab_bind(call);
}

static uint64_t count_macs(uint64_t places, int64_t k) {
    uint64_t n = 0;
    for (int image = 0; image < N; image++)
        for (int out = 0; out < OUT; out++)
            for (uint64_t place = 0; place < places; place++)
                for (int channel = 0; channel < C / GROUPS; channel++)
                    for (int64_t w = 0; w < k; w++) n++;
    return n;
}

static void check_conv(Case c) {
    Lab l = lab_new();
    int64_t wanted = count_windows(c);
    Op *op = conv(&l, "conv1d", c, 0);
    CHECK((op != NULL) == (wanted > 0));
    if (op) {
        CHECK(op->out[0]->type.shape.dim[2] == (uint64_t)wanted && op->out[0]->type.shape.dim[1] == OUT);
        CHECK(op->macs == count_macs((uint64_t)wanted, c.k));
        CHECK(op->params == OUT * (C / GROUPS) * (uint64_t)c.k + OUT);
        CHECK(lab_again(&l, op));
    }
    ctx_free(l.ctx);
}

/* A transposed convolution gives a size that the convolution of the same window maps back; output_padding runs through
 * all such sizes. It multiplies each element of its input, so it counts as a convolution with `in` places. */
static void check_transposed(Case c, int64_t extra) {
    Lab l = lab_new();
    int64_t largest = c.s > c.d ? c.s : c.d, wanted = (c.in - 1) * c.s + (c.k - 1) * c.d + 1 + extra - 2 * c.p;
    Op *op = conv(&l, "conv_transpose1d", c, extra);
    CHECK((op != NULL) == (extra < largest && wanted >= 1));
    if (op) {
        int64_t size = (int64_t)op->out[0]->type.shape.dim[2];
        CHECK(size == wanted && (extra >= c.s || count_windows((Case){size, c.k, c.s, c.p, c.d, false}) == c.in));
        CHECK(op->macs == count_macs((uint64_t)c.in, c.k));
        CHECK(op->in[1]->type.shape.dim[0] == C && op->in[1]->type.shape.dim[1] == OUT / GROUPS && lab_again(&l, op));
    }
    ctx_free(l.ctx);
}

static void convolutions(void) {
    for (int64_t in = 1; in <= 7; in++)
        for (int64_t k = 1; k <= 4; k++)
            for (int64_t s = 1; s <= 3; s++)
                for (int64_t p = 0; p <= 3; p++)
                    for (int64_t d = 1; d <= 3; d++) {
                        Case c = {in, k, s, p, d, false};
                        check_conv(c);
                        for (int64_t extra = 0; extra <= 3; extra++) check_transposed(c, extra);
                    }
}

/* ---- padding */

static Op *padded(Lab *l, const int64_t kernel[2], const int64_t dilation[2], Datum padding) {
    Call *c = lab_call(l, "conv2d");
    lab_set(c, A_x, d_tensor(lab_input(l, DT_F32, 4, (uint64_t[]){1, 1, 5, 6})));
    lab_set(c, A_out, d_int(1));
    lab_set(c, A_kernel_size, lab_ints(c, 2, kernel));
    lab_set(c, A_dilation, lab_ints(c, 2, dilation));
    lab_set(c, A_padding, padding);
    return lab_bind(c);
}

static bool pads(const Op *op, int64_t top, int64_t left, int64_t bottom, int64_t right) {
    int64_t v[4];
    return op && op_ints(op, A_padding, v, 4) == 4 && v[0] == top && v[1] == left && v[2] == bottom && v[3] == right;
}

/* "same" keeps every size, and the odd one goes behind; each way to write a padding has one form in the graph. */
static void paddings(void) {
    Lab l = lab_new();
    Arena *a = l.ctx->unit;
    const char *same = name_of(l.ctx, "same"), *valid = name_of(l.ctx, "valid");
    int64_t one[2] = {1, 1}, three[2] = {3, 3};
    for (int64_t k = 1; k <= 5; k++)
        for (int64_t d = 1; d <= 3; d++) {
            Op *op = padded(&l, (int64_t[]){k, 2}, (int64_t[]){d, 1}, d_str(same));
            CHECK(op && op->out[0]->type.shape.dim[2] == 5 && op->out[0]->type.shape.dim[3] == 6);
            CHECK(pads(op, (k - 1) * d / 2, 0, (k - 1) * d - (k - 1) * d / 2, 1));
        }
    Datum rows = d_ints(a, (int64_t[]){2, 0}, 2), columns = d_ints(a, (int64_t[]){1, 3}, 2), both[2] = {rows, columns},
          mixed[2] = {rows, d_int(1)};
    CHECK(pads(padded(&l, three, one, d_str(valid)), 0, 0, 0, 0));
    CHECK(pads(padded(&l, three, one, d_int(1)), 1, 1, 1, 1));
    CHECK(pads(padded(&l, three, one, columns), 1, 3, 1, 3));
    CHECK(pads(padded(&l, three, one, d_list(a, both, 2)), 2, 1, 0, 3));
    CHECK(pads(padded(&l, three, one, d_list(a, mixed, 2)), 2, 1, 0, 1));
    CHECK(!diag_failed(l.ctx));
    CHECK(!padded(&l, three, one, d_ints(a, (int64_t[]){1, 1, 1}, 3)));
    CHECK(!padded(&l, three, one, d_int(-1)) && !padded(&l, three, one, d_str(name_of(l.ctx, "full"))));
    ctx_free(l.ctx);
}

/* Sizes near 2^63 are refused and do not wrap. */
static void huge(void) {
    int64_t most = INT64_MAX;
    Case cases[] = {{5, most, 1, 0, 1, false},
                    {5, 3, 1, most, 1, false},
                    {5, 3, most, 0, 1, true},
                    {5, 3, 1, 0, most, false},
                    {most, 3, 1, most / 2, 2, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Lab l = lab_new();
        Type type = {DT_F32, shape_of(3, (uint64_t[]){N, C, (uint64_t)cases[i].in})};
        uint64_t nbytes;
        if (!type_bytes(&type, &nbytes)) cases[i].in = INT64_MAX / (N * C * 4);
        CHECK(i == 2 || !conv(&l, "conv1d", cases[i], 0));
        Op *op = conv(&l, "conv_transpose1d", cases[i], 0);
        CHECK(!op || op->out[0]->type.shape.dim[2] < INT64_MAX / 4);
        ctx_free(l.ctx);
    }
}

int main(void) {
    pools();
    convolutions();
    paddings();
    huge();
    return check_done();
}
