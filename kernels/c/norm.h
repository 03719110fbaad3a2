/* norm.h - normalisations. Means and variances are summed in double, in NORM_LANES parts, and take two passes: first
 * the mean, then the squares of what differs from it. A row is read whole before its first element is written, and
 * element i is written after it was read for the last time: the result may lie over the operand. */

#ifndef NETC_NORM
#define NETC_NORM
enum { NORM_LANES = 8 };
#endif

/* The sum of x, or of the squares of x - mean, over n elements from `first` on. */
KERNEL double K(moment)(const void *env, num (*x)(const void *, size_t), size_t first, size_t n, double mean,
                        int squared) {
    const size_t whole = n / NORM_LANES * NORM_LANES;
    double lane[NORM_LANES] = {0}, sum = 0;
    for (size_t i = 0; i < whole; i += NORM_LANES)
        for (size_t l = 0; l < NORM_LANES; l++) {
            const double v = (double)x(env, first + i + l) - mean;
            lane[l] += squared ? v * v : v;
        }
    for (size_t i = whole; i < n; i++) {
        const double v = (double)x(env, first + i) - mean;
        lane[0] += squared ? v * v : v;
    }
    for (size_t l = 0; l < NORM_LANES; l++) sum += lane[l];
    return sum;
}

/* Rows of `width` elements, each standardised by itself. Weight and bias (NULL: none) have one number for `run`
 * neighbours and `count` numbers: layer_norm 1 and width, group_norm the size of a channel and the number of channels.
 */
KERNEL void K(standardise)(const void *env, num (*x)(const void *, size_t), num (*weight)(const void *, size_t),
                           num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), size_t rows,
                           size_t width, size_t run, size_t count, double eps) {
    for (size_t r = 0; r < rows; r++) {
        const size_t first = r * width;
        const double mean = K(moment)(env, x, first, width, 0, 0) / (double)width;
        const double var = K(moment)(env, x, first, width, mean, 1) / (double)width;
        const num shift = (num)mean, scale = (num)(1 / sqrt(var + eps));
        for (size_t i = first; i < first + width; i++) {
            num v = (x(env, i) - shift) * scale;
            if (weight) v *= weight(env, i / run % count);
            if (bias) v += bias(env, i / run % count);
            y(env, i, v);
        }
    }
}

KERNEL void K(rms_norm)(const void *env, num (*x)(const void *, size_t), num (*weight)(const void *, size_t),
                        void (*y)(const void *, size_t, num), size_t rows, size_t width, double eps) {
    for (size_t r = 0; r < rows; r++) {
        const num scale = (num)(1 / sqrt(K(moment)(env, x, r * width, width, 0, 1) / (double)width + eps));
        for (size_t i = 0; i < width; i++) {
            num v = x(env, r * width + i) * scale;
            if (weight) v *= weight(env, i);
            y(env, r * width + i, v);
        }
    }
}

/* batch_norm without running statistics: x [n, c, run], each channel by those of the batch. */
KERNEL void K(batch_norm)(const void *env, num (*x)(const void *, size_t), num (*weight)(const void *, size_t),
                          num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), size_t n, size_t c,
                          size_t run, double eps) {
    for (size_t k = 0; k < c; k++) {
        double mean = 0, var = 0;
        for (size_t b = 0; b < n; b++) mean += K(moment)(env, x, (b * c + k) * run, run, 0, 0);
        mean /= (double)n * (double)run;
        for (size_t b = 0; b < n; b++) var += K(moment)(env, x, (b * c + k) * run, run, mean, 1);
        var /= (double)n * (double)run;
        const num shift = (num)mean, scale = (num)(1 / sqrt(var + eps));
        for (size_t b = 0; b < n; b++)
            for (size_t i = (b * c + k) * run, end = i + run; i < end; i++) {
                num v = (x(env, i) - shift) * scale;
                if (weight) v *= weight(env, k);
                if (bias) v += bias(env, k);
                y(env, i, v);
            }
    }
}

/* x [n, c, run]: over `size` neighbouring channels, those outside counted as 0. */
KERNEL void K(local_response_norm)(const void *env, num (*x)(const void *, size_t),
                                   void (*y)(const void *, size_t, num), size_t n, size_t c, size_t run, size_t size,
                                   num alpha, num beta, num k) {
    for (size_t i = 0; i < n * c * run; i++) {
        const size_t at = i / run % c, lo = at < size / 2 ? 0 : at - size / 2, end = at + size - size / 2;
        num squares = 0;
        for (size_t q = lo; q < end && q < c; q++) {
            const num v = x(env, i + q * run - at * run);
            squares += v * v;
        }
        y(env, i, x(env, i) / M(pow)(k + alpha * (squares / (num)size), beta));
    }
}

/* x [outer, n, inner], by the p-norm along n: 0 counts what is not zero, the infinities take the greatest and the
 * least. */
KERNEL void K(normalize)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, num),
                         size_t outer, size_t n, size_t inner, double p, num eps) {
    for (size_t o = 0; o < outer; o++)
        for (size_t j = 0; j < inner; j++) {
            double norm = p == -HUGE_VAL ? HUGE_VAL : 0;
            for (size_t k = 0; k < n; k++) {
                const double v = fabs((double)x(env, (o * n + k) * inner + j));
                if (p == 0) norm += v != 0;
                else if (p == HUGE_VAL) norm = isnan(v) || v > norm ? v : norm;
                else if (p == -HUGE_VAL) norm = isnan(v) || v < norm ? v : norm;
                else norm += p == 2 ? v * v : p == 1 ? v : pow(v, p);
            }
            if (p == 2) norm = sqrt(norm);
            else if (p != 0 && p != 1 && p != HUGE_VAL && p != -HUGE_VAL) norm = pow(norm, 1 / p);
            const num divisor = (num)norm < eps ? eps : (num)norm;
            for (size_t k = 0; k < n; k++) y(env, (o * n + k) * inner + j, x(env, (o * n + k) * inner + j) / divisor);
        }
}

/* softmax, or its logarithm, of x [outer, n, inner] along n. A row of -inf alone gives NaN. */
KERNEL void K(softmax)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, num),
                       size_t outer, size_t n, size_t inner, int logarithm) {
    for (size_t o = 0; o < outer; o++)
        for (size_t j = 0; j < inner; j++) {
            const size_t first = o * n * inner + j;
            num largest = -(num)HUGE_VAL;
            double sum = 0;
            for (size_t k = 0; k < n; k++) {
                const num v = x(env, first + k * inner);
                largest = v > largest ? v : largest;
            }
            for (size_t k = 0; k < n; k++) sum += (double)M(exp)(x(env, first + k * inner) - largest);
            const num by = (num)(logarithm ? log(sum) : 1 / sum);
            for (size_t k = 0; k < n; k++) {
                const num v = x(env, first + k * inner) - largest;
                y(env, first + k * inner, logarithm ? v - by : M(exp)(v) * by);
            }
        }
}
