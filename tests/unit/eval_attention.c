/* eval_attention.c - the reference evaluation of attention: every score from its definition, with each kind of mask,
 * and by hand where the softmax is plain to see. */
#include "tests/unit/evallab.h"

typedef struct Case {
    uint64_t batch, heads, groups, l, s, e, f;
    bool causal;
    int mask;                                             /* 0 none, 1 bool, 2 added; its rank below */
    unsigned mask_rank;
} Case;

/* The mask's element for a score: its axes are the last of [batch, heads, L, S]. */
static double mask_of(Case c, const double *mask, uint64_t n, uint64_t h, uint64_t i, uint64_t j) {
    uint64_t at = i * c.s + j;
    if (c.mask_rank >= 3) at += h * c.l * c.s;
    if (c.mask_rank == 4) at += n * c.heads * c.l * c.s;
    return mask[at];
}

static void attend(Case c, const double *q, const double *k, const double *v, const double *mask, double *y) {
    for (uint64_t r = 0; r < c.batch * c.heads * c.l; r++) {
        uint64_t i = r % c.l, h = r / c.l % c.heads, n = r / c.l / c.heads, g = n * c.groups + h / (c.heads / c.groups);
        double weights[16], sum = 0;
        for (uint64_t j = 0; j < c.s; j++) {
            double score = 0;
            for (uint64_t e = 0; e < c.e; e++) score += q[r * c.e + e] * k[(g * c.s + j) * c.e + e];
            score /= sqrt((double)c.e);
            if (c.mask == 2) score += mask_of(c, mask, n, h, i, j);
            bool out = (c.causal && j > i) || (c.mask == 1 && mask_of(c, mask, n, h, i, j) == 0);
            sum += weights[j] = out ? 0 : exp(score);
        }
        for (uint64_t f = 0; f < c.f; f++) {
            y[r * c.f + f] = 0;
            for (uint64_t j = 0; j < c.s; j++) y[r * c.f + f] += weights[j] / sum * v[(g * c.s + j) * c.f + f];
        }
    }
}

static Value *operand(Bench *b, Case c, uint64_t heads, uint64_t rows, uint64_t width, const double *data) {
    uint64_t dims[] = {c.batch, heads, rows, width};
    return c.batch == 1 ? given(b, DT_F64, 3, dims + 1, data) : given(b, DT_F64, 4, dims, data);
}

static void check(Case c) {
    Bench b = bench_new(c.l * 100 + c.s);
    const double *q = quarters(&b, c.batch * c.heads * c.l * c.e), *k = quarters(&b, c.batch * c.groups * c.s * c.e);
    const double *v = quarters(&b, c.batch * c.groups * c.s * c.f);
    double *mask = quarters(&b, c.batch * c.heads * c.l * c.s);
    for (uint64_t i = 0; c.mask == 1 && i < c.batch * c.heads * c.l * c.s; i++) mask[i] = mask[i] < 2;
    uint64_t dims[] = {c.batch, c.heads, c.l, c.s};
    Datum masked = d_none();
    if (c.mask) masked = d_tensor(given(&b, c.mask == 1 ? DT_BOOL : DT_F64, c.mask_rank, dims + 4 - c.mask_rank, mask));
    CHECK(CALL(&b.lab, OP_SDPA, {A_q, d_tensor(operand(&b, c, c.heads, c.l, c.e, q))},
               {A_k, d_tensor(operand(&b, c, c.groups, c.s, c.e, k))},
               {A_v, d_tensor(operand(&b, c, c.groups, c.s, c.f, v))}, {A_attn_mask, masked},
               {A_is_causal, d_bool(c.causal)}, {A_enable_gqa, d_bool(c.groups != c.heads)}));
    double *wanted = NEW_ARRAY(b.lab.ctx->unit, double, c.batch * c.heads * c.l * c.f);
    attend(c, q, k, v, mask, wanted);
    CHECK(bench_run(&b) && results_near(&b, wanted, 1e-13));
    bench_free(&b);
}

/* One query; keys 0 and 0 score alike, so that softmax is 1/2, 1/2; scale and masks shift it by known amounts. */
static void by_hand(void) {
    Bench b = bench_new(1), none = bench_new(1);
    const double q[] = {1}, k[] = {0, 0, 5}, v[] = {2, 4, 100}, mask[] = {1, 1, 0}, nothing[] = {0, 0, 0};
    CHECK(CALL(&b.lab, OP_SDPA, {A_q, d_tensor(given(&b, DT_F64, DIMS(1, 1, 1), q))},
               {A_k, d_tensor(given(&b, DT_F64, DIMS(1, 3, 1), k))},
               {A_v, d_tensor(given(&b, DT_F64, DIMS(1, 3, 1), v))},
               {A_attn_mask, d_tensor(given(&b, DT_BOOL, DIMS(1, 3), mask))}, {A_scale, d_float(7)}));
    CHECK(bench_run(&b) && RESULTS(&b, 0, 3));
    CHECK(CALL(&none.lab, OP_SDPA, {A_q, d_tensor(given(&none, DT_F64, DIMS(1, 1, 1), q))},
               {A_k, d_tensor(given(&none, DT_F64, DIMS(1, 3, 1), k))},
               {A_v, d_tensor(given(&none, DT_F64, DIMS(1, 3, 1), v))},
               {A_attn_mask, d_tensor(given(&none, DT_BOOL, DIMS(3), nothing))}));
    CHECK(bench_run(&none) && RESULTS(&none, 0, NAN));
    bench_free(&b);
    bench_free(&none);
}

int main(void) {
    static const Case cases[] = {{1, 2, 2, 3, 5, 4, 2, false, 0, 0}, {2, 2, 2, 5, 5, 3, 4, true, 0, 0},
                                 {2, 1, 1, 3, 5, 3, 4, true, 0, 0},  {2, 4, 2, 3, 3, 5, 1, false, 0, 0},
                                 {2, 6, 2, 4, 4, 2, 3, true, 0, 0},  {2, 2, 2, 3, 7, 4, 2, false, 1, 2},
                                 {2, 2, 2, 3, 7, 4, 2, false, 2, 2}, {2, 3, 3, 3, 4, 4, 2, false, 2, 3},
                                 {2, 3, 1, 3, 4, 4, 2, false, 2, 4}, {1, 3, 3, 3, 9, 4, 2, false, 1, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) check(cases[i]);
    by_hand();
    return check_done();
}
