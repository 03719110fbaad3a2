/* product.c - matrix products in double, the inner loop of convolution, linear, matmul, attention and recurrence.
 *
 * The right operand is taken PANEL columns at a time, copied so that they lie together; four rows of the left one meet
 * them at once, so that each number loaded is used four times (register blocking; Goto and van de Geijn 2008, without
 * their blocking for caches). The sums run over p in order, one by one, whatever m and n are. O(m n k). */
#include "ops/eval.h"

enum { ROWS = 4 };

static void four_rows(uint64_t k, const double *a, const double *panel, double sum[ROWS][PANEL]) {
    double s[ROWS][PANEL] = {{0}};
    for (uint64_t p = 0; p < k; p++)
        for (unsigned i = 0; i < ROWS; i++)
            for (unsigned j = 0; j < PANEL; j++) s[i][j] += a[i * k + p] * panel[p * PANEL + j];
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < PANEL; j++) sum[i][j] = s[i][j];
}

static void one_row(uint64_t k, const double *a, const double *panel, double sum[PANEL]) {
    double s[PANEL] = {0};
    for (uint64_t p = 0; p < k; p++)
        for (unsigned j = 0; j < PANEL; j++) s[j] += a[p] * panel[p * PANEL + j];
    for (unsigned j = 0; j < PANEL; j++) sum[j] = s[j];
}

void panel_product(uint64_t m, uint64_t k, const double *a, const double *panel, unsigned columns, double *out,
                   uint64_t row) {
    double sum[ROWS][PANEL];
    for (uint64_t i = 0, n; i < m; i += n) {
        n = m - i >= ROWS ? ROWS : 1;
        if (n == ROWS) four_rows(k, a + i * k, panel, sum);
        else one_row(k, a + i * k, panel, sum[0]);
        for (uint64_t r = 0; r < n; r++)
            for (unsigned j = 0; j < columns; j++) out[(i + r) * row + j] += sum[r][j];
    }
}

void matrix_product(uint64_t m, uint64_t n, uint64_t k, const double *a, Right b, double *panel, double *out,
                    uint64_t row) {
    for (uint64_t j = 0; j < n; j += PANEL) {
        unsigned columns = n - j < PANEL ? (unsigned)(n - j) : PANEL;
        for (unsigned c = 0; c < PANEL; c++)
            for (uint64_t p = 0; p < k; p++)
                panel[p * PANEL + c] = c < columns ? b.b[p * b.down + (j + c) * b.right] : 0;
        panel_product(m, k, a, panel, columns, out + j, row);
    }
}
