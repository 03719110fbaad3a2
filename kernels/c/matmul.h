/* matmul.h - products of matrices, a batch of them. MATMUL_ROWS rows of the left operand are read into a local tile, so
 * that what is fused in front of the product is computed once for each MATMUL_COLUMNS results, not for each of them.
 *
 * Two forms, by how the right operand lies: matmul where neighbours along the result's row are neighbours in memory,
 * matmul_dot where neighbours along the sum are (linear's weight, a transposed operand); there the sum runs in
 * MATMUL_LANES parts, which are added at the end. */

#ifndef NETC_MATMUL
#define NETC_MATMUL
enum { MATMUL_ROWS = 4, MATMUL_COLUMNS = 256, MATMUL_DEPTH = 256, MATMUL_LANES = 16 };
typedef struct Matmul { size_t batch, m, n, k; } Matmul;
#endif

/* a(batch, row, p), b(batch, p, column), bias(column) or NULL; y(i) of [batch, m, n] */
KERNEL void K(matmul)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
                      num (*b)(const void *, size_t, size_t, size_t), num (*bias)(const void *, size_t),
                      void (*y)(const void *, size_t, num), Matmul s) {
    for (size_t g = 0; g < s.batch; g++)
        for (size_t i = 0; i < s.m; i += MATMUL_ROWS)
            for (size_t j = 0; j < s.n; j += MATMUL_COLUMNS) {
                const size_t rows = s.m - i < MATMUL_ROWS ? s.m - i : MATMUL_ROWS;
                const size_t columns = s.n - j < MATMUL_COLUMNS ? s.n - j : MATMUL_COLUMNS;
                num acc[MATMUL_ROWS][MATMUL_COLUMNS], tile[MATMUL_ROWS][MATMUL_DEPTH];
                for (size_t r = 0; r < rows; r++)
                    for (size_t c = 0; c < columns; c++) acc[r][c] = bias ? bias(env, j + c) : 0;
                for (size_t p = 0; p < s.k; p += MATMUL_DEPTH) {
                    const size_t depth = s.k - p < MATMUL_DEPTH ? s.k - p : MATMUL_DEPTH;
                    for (size_t r = 0; r < rows; r++)
                        for (size_t q = 0; q < depth; q++) tile[r][q] = a(env, g, i + r, p + q);
                    for (size_t q = 0; q < depth; q++)
                        for (size_t r = 0; r < rows; r++)
                            for (size_t c = 0; c < columns; c++) acc[r][c] += tile[r][q] * b(env, g, p + q, j + c);
                }
                for (size_t r = 0; r < rows; r++)
                    for (size_t c = 0; c < columns; c++) y(env, (g * s.m + i + r) * s.n + j + c, acc[r][c]);
            }
}

KERNEL void K(matmul_dot)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
                          num (*b)(const void *, size_t, size_t, size_t), num (*bias)(const void *, size_t),
                          void (*y)(const void *, size_t, num), Matmul s) {
    for (size_t g = 0; g < s.batch; g++)
        for (size_t i = 0; i < s.m; i += MATMUL_ROWS)
            for (size_t j = 0; j < s.n; j += MATMUL_COLUMNS) {
                const size_t rows = s.m - i < MATMUL_ROWS ? s.m - i : MATMUL_ROWS;
                const size_t columns = s.n - j < MATMUL_COLUMNS ? s.n - j : MATMUL_COLUMNS;
                num acc[MATMUL_ROWS][MATMUL_COLUMNS], tile[MATMUL_ROWS][MATMUL_DEPTH];
                for (size_t r = 0; r < rows; r++)
                    for (size_t c = 0; c < columns; c++) acc[r][c] = bias ? bias(env, j + c) : 0;
                for (size_t p = 0; p < s.k; p += MATMUL_DEPTH) {
                    const size_t depth = s.k - p < MATMUL_DEPTH ? s.k - p : MATMUL_DEPTH;
                    for (size_t r = 0; r < rows; r++)
                        for (size_t q = 0; q < depth; q++) tile[r][q] = a(env, g, i + r, p + q);
                    for (size_t c = 0; c < columns; c++)
                        for (size_t r = 0; r < rows; r++) {
                            const size_t whole = depth / MATMUL_LANES * MATMUL_LANES;
                            num lane[MATMUL_LANES] = {0}, sum = 0;
                            for (size_t q = 0; q < whole; q += MATMUL_LANES)
                                for (size_t l = 0; l < MATMUL_LANES; l++)
                                    lane[l] += tile[r][q + l] * b(env, g, p + q + l, j + c);
                            for (size_t q = whole; q < depth; q++) lane[0] += tile[r][q] * b(env, g, p + q, j + c);
                            for (size_t l = 0; l < MATMUL_LANES; l++) sum += lane[l];
                            acc[r][c] += sum;
                        }
                }
                for (size_t r = 0; r < rows; r++)
                    for (size_t c = 0; c < columns; c++) y(env, (g * s.m + i + r) * s.n + j + c, acc[r][c]);
            }
}

/* y[r, o] = bias[o] + sum over i, j of x1[r, i] w[o, i, j] x2[r, j] */
KERNEL void K(bilinear)(const void *env, num (*x1)(const void *, size_t), num (*x2)(const void *, size_t),
                        num (*w)(const void *, size_t), num (*bias)(const void *, size_t),
                        void (*y)(const void *, size_t, num), size_t rows, size_t out, size_t n1, size_t n2) {
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            num sum = bias ? bias(env, o) : 0;
            for (size_t i = 0; i < n1; i++) {
                num inner = 0;
                for (size_t j = 0; j < n2; j++) inner += w(env, (o * n1 + i) * n2 + j) * x2(env, r * n2 + j);
                sum += x1(env, r * n1 + i) * inner;
            }
            y(env, r * out + o, sum);
        }
}
