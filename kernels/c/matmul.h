/* matmul.h - products of matrices, a batch of them.
 *
 * From MATMUL_FEW rows and columns on a product is made of register tiles (vec.h): panels of the right operand
 * and rows of the left one are copied into local arrays, whatever their order in memory. Narrower ones read the
 * right operand once, where it lies, in one of two forms: matmul where neighbours along the result's row are
 * neighbours in memory, matmul_dot where neighbours along the sum are (linear's weight, a transposed operand);
 * there the sum runs in MATMUL_LANES parts, which are added at the end. In all of them what is fused in front of
 * the product is computed once for a block of columns, not for each of them. */

#ifndef NETC_MATMUL
#define NETC_MATMUL
enum { MATMUL_ROWS = 4, MATMUL_COLUMNS = 256, MATMUL_DEPTH = 256, MATMUL_LANES = 16, MATMUL_FEW = 8 };
typedef struct Matmul {
    size_t batch, m, n, k;
} Matmul;
#endif

/* a(batch, row, p), b(batch, p, column), bias(column) or NULL; y(i) of [batch, m, n] */
KERNEL void K(matmul_few)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
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

KERNEL void K(matmul_dot_few)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
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

KERNEL num K(local)(const void *p, size_t i) { return ((const num *)p)[i]; }

/* b's rows from p on and columns from j on, into a panel; by columns where those are what lies contiguously. */
KERNEL void K(matmul_fill)(num *panel, const void *env, num (*b)(const void *, size_t, size_t, size_t), size_t g,
                           size_t p, size_t depth, size_t j, size_t columns, size_t width, int dot) {
    if (dot) {
        for (size_t c = 0; c < columns; c++)
            for (size_t q = 0; q < depth; q++) panel[q * K(PANEL) + c] = b(env, g, p + q, j + c);
    } else {
        for (size_t q = 0; q < depth; q++)
            for (size_t c = 0; c < columns; c++) panel[q * K(PANEL) + c] = b(env, g, p + q, j + c);
    }
    for (size_t q = 0; q < depth; q++)
        for (size_t c = columns; c < width; c++) panel[q * K(PANEL) + c] = 0;
}

/* Panels of PANEL_DEPTH by PANEL_VECS vectors of b against PANEL_ROWS rows of a, TILE_ROWS of them at a time. */
KERNEL void K(matmul_panels)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
                             num (*b)(const void *, size_t, size_t, size_t), num (*bias)(const void *, size_t),
                             void (*y)(const void *, size_t, num), Matmul s, int dot) {
    const size_t width = K(panel_vecs)(s.n) * K(LANES);
    for (size_t g = 0; g < s.batch; g++)
        for (size_t i = 0; i < s.m; i += PANEL_ROWS)
            for (size_t j = 0; j < s.n; j += width) {
                _Alignas(64) num panel[PANEL_DEPTH * K(PANEL)], sum[PANEL_ROWS * K(PANEL)],
                    left[TILE_ROWS * PANEL_DEPTH];
                const size_t rows = s.m - i < PANEL_ROWS ? s.m - i : PANEL_ROWS,
                             columns = s.n - j < width ? s.n - j : width;
                const size_t vecs = (columns + K(LANES) - 1) / K(LANES);
                for (size_t c = 0; c < vecs * K(LANES); c++) sum[c] = bias && c < columns ? bias(env, j + c) : 0;
                for (size_t r = 1; r < rows; r++)
                    for (size_t c = 0; c < vecs * K(LANES); c++) sum[r * K(PANEL) + c] = sum[c];
                for (size_t p = 0; p < s.k; p += PANEL_DEPTH) {
                    const size_t depth = s.k - p < PANEL_DEPTH ? s.k - p : PANEL_DEPTH;
                    K(matmul_fill)(panel, env, b, g, p, depth, j, columns, vecs * K(LANES), dot);
                    for (size_t r = 0; r < rows; r += TILE_ROWS) {
                        const size_t count = rows - r < TILE_ROWS ? rows - r : TILE_ROWS;
                        for (size_t t = 0; t < count; t++)
                            for (size_t q = 0; q < depth; q++) left[t * PANEL_DEPTH + q] = a(env, g, i + r + t, p + q);
                        K(panel)(sum + r * K(PANEL), left, K(local), 0, PANEL_DEPTH, 1, panel, depth, count, s.m, vecs);
                    }
                }
                for (size_t r = 0; r < rows; r++)
                    for (size_t c = 0; c < columns; c++) y(env, (g * s.m + i + r) * s.n + j + c, sum[r * K(PANEL) + c]);
            }
}

KERNEL void K(matmul)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
                      num (*b)(const void *, size_t, size_t, size_t), num (*bias)(const void *, size_t),
                      void (*y)(const void *, size_t, num), Matmul s) {
    if (s.m < MATMUL_FEW || s.n < MATMUL_FEW)
        K(matmul_few)(env, a, b, bias, y, s);
    else
        K(matmul_panels)(env, a, b, bias, y, s, 0);
}

KERNEL void K(matmul_dot)(const void *env, num (*a)(const void *, size_t, size_t, size_t),
                          num (*b)(const void *, size_t, size_t, size_t), num (*bias)(const void *, size_t),
                          void (*y)(const void *, size_t, num), Matmul s) {
    if (s.m < MATMUL_FEW || s.n < MATMUL_FEW)
        K(matmul_dot_few)(env, a, b, bias, y, s);
    else
        K(matmul_panels)(env, a, b, bias, y, s, 1);
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
