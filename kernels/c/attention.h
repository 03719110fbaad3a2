/* attention.h - scaled dot product attention, row by row: the scores of one query with all keys, softmax, the weighted
 * sum of the values. Nothing but a row of ATTENTION_ROW numbers is kept, on the stack; of longer rows the scores are
 * computed again in each pass. score and share see each score before, each probability after softmax: scale, mask,
 * what is fused.
 *
 * q(b, row, e), k(b, key, e), v(b, key, f); score(i, s) and share(i, p) with i in [batch, rows, keys]; y(i) of [batch,
 * rows, width]. A row all of whose scores are -inf gives NaN. */

#ifndef NETC_ATTENTION
#define NETC_ATTENTION
enum { ATTENTION_ROW = 2048, ATTENTION_WIDTH = 64, ATTENTION_LANES = 16 };
typedef struct Attention { size_t batch, rows, keys, depth, width; } Attention;
#endif

KERNEL num K(score_of)(const void *env, num (*q)(const void *, size_t, size_t, size_t),
                       num (*k)(const void *, size_t, size_t, size_t), num (*score)(const void *, size_t, num),
                       Attention s, size_t b, size_t row, size_t key) {
    const size_t whole = s.depth / ATTENTION_LANES * ATTENTION_LANES;
    num lane[ATTENTION_LANES] = {0}, sum = 0;
    for (size_t e = 0; e < whole; e += ATTENTION_LANES)
        for (size_t l = 0; l < ATTENTION_LANES; l++) lane[l] += q(env, b, row, e + l) * k(env, b, key, e + l);
    for (size_t e = whole; e < s.depth; e++) lane[0] += q(env, b, row, e) * k(env, b, key, e);
    for (size_t l = 0; l < ATTENTION_LANES; l++) sum += lane[l];
    return score(env, (b * s.rows + row) * s.keys + key, sum);
}

KERNEL void K(attention)(const void *env, num (*q)(const void *, size_t, size_t, size_t),
                         num (*k)(const void *, size_t, size_t, size_t), num (*v)(const void *, size_t, size_t, size_t),
                         num (*score)(const void *, size_t, num), num (*share)(const void *, size_t, num),
                         void (*y)(const void *, size_t, num), Attention s) {
    for (size_t b = 0; b < s.batch; b++)
        for (size_t row = 0; row < s.rows; row++) {
            num kept[ATTENTION_ROW], largest = -(num)HUGE_VAL;
            double sum = 0;
            for (size_t key = 0; key < s.keys; key++) {
                const num z = K(score_of)(env, q, k, score, s, b, row, key);
                largest = z > largest || isnan(z) ? z : largest;
                if (s.keys <= ATTENTION_ROW) kept[key] = z;
            }
            for (size_t key = 0; key < s.keys; key++) {
                const num z = s.keys <= ATTENTION_ROW ? kept[key] : K(score_of)(env, q, k, score, s, b, row, key);
                const num p = M(exp)(z - largest);
                sum += (double)p;
                if (s.keys <= ATTENTION_ROW) kept[key] = p;
            }
            const num by = (num)(1 / sum);
            for (size_t f = 0; f < s.width; f += ATTENTION_WIDTH) {
                const size_t n = s.width - f < ATTENTION_WIDTH ? s.width - f : ATTENTION_WIDTH;
                num acc[ATTENTION_WIDTH] = {0};
                for (size_t key = 0; key < s.keys; key++) {
                    const num e = s.keys <= ATTENTION_ROW
                                      ? kept[key]
                                      : M(exp)(K(score_of)(env, q, k, score, s, b, row, key) - largest);
                    const num p = share(env, (b * s.rows + row) * s.keys + key, e * by);
                    for (size_t t = 0; t < n; t++) acc[t] += p * v(env, b, key, f + t);
                }
                for (size_t t = 0; t < n; t++) y(env, (b * s.rows + row) * s.width + f + t, acc[t]);
            }
        }
}

/* The same by way of stored scores: kept_at(i) and keep(i, s), i in [batch, rows, keys]. */
KERNEL void K(attention_stored)(const void *env, num (*q)(const void *, size_t, size_t, size_t),
                                num (*k)(const void *, size_t, size_t, size_t),
                                num (*v)(const void *, size_t, size_t, size_t), num (*score)(const void *, size_t, num),
                                num (*kept_at)(const void *, size_t), void (*keep)(const void *, size_t, num),
                                void (*y)(const void *, size_t, num), Attention s) {
    for (size_t b = 0; b < s.batch; b++)
        for (size_t row = 0; row < s.rows; row++) {
            const size_t first = (b * s.rows + row) * s.keys;
            num largest = -(num)HUGE_VAL;
            double sum = 0;
            for (size_t key = 0; key < s.keys; key++) {
                keep(env, first + key, K(score_of)(env, q, k, score, s, b, row, key));
                const num z = kept_at(env, first + key);
                largest = z > largest || isnan(z) ? z : largest;
            }
            for (size_t key = 0; key < s.keys; key++) {
                const num p = M(exp)(kept_at(env, first + key) - largest);
                sum += (double)p;
                keep(env, first + key, p);
            }
            const num by = (num)(1 / sum);
            for (size_t f = 0; f < s.width; f += ATTENTION_WIDTH) {
                const size_t n = s.width - f < ATTENTION_WIDTH ? s.width - f : ATTENTION_WIDTH;
                num acc[ATTENTION_WIDTH] = {0};
                for (size_t key = 0; key < s.keys; key++) {
                    const num p = kept_at(env, first + key) * by;
                    for (size_t t = 0; t < n; t++) acc[t] += p * v(env, b, key, f + t);
                }
                for (size_t t = 0; t < n; t++) y(env, (b * s.rows + row) * s.width + f + t, acc[t]);
            }
        }
}
