/* loss.h - losses. Sums are in double; reduction 0 writes each loss, 1 their mean, 2 their sum.
 *
 * x is [outer, classes, inner]; a class index of `ignore` counts nowhere, another that is no class is remembered in
 * *status. cross_entropy takes logits, nll_loss logarithms of probabilities. */

KERNEL double K(log_sum)(const void *env, num (*x)(const void *, size_t), size_t first, size_t classes, size_t inner) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t k = 0; k < classes; k++) {
        const double v = (double)x(env, first + k * inner);
        largest = v > largest ? v : largest;
    }
    for (size_t k = 0; k < classes; k++) sum += exp((double)x(env, first + k * inner) - largest);
    return largest + log(sum);
}

KERNEL void K(class_loss)(const void *env, num (*x)(const void *, size_t), int64_t (*target)(const void *, size_t),
                          void (*y)(const void *, size_t, num), size_t outer, size_t classes, size_t inner,
                          int reduction, int logits, double smoothing, int64_t ignore, int *status, int code) {
    double total = 0, counted = 0;
    for (size_t i = 0; i < outer * inner; i++) {
        const size_t first = i / inner * classes * inner + i % inner;
        const int64_t want = target(env, i);
        double loss = 0;
        if (want != ignore) {
            const size_t place = place_within(status, code, want, classes);
            const double by = logits ? K(log_sum)(env, x, first, classes, inner) : 0;
            loss = by - (double)x(env, first + place * inner);
            if (smoothing != 0) {
                double all = 0;
                for (size_t k = 0; k < classes; k++) all += by - (double)x(env, first + k * inner);
                loss = (1 - smoothing) * loss + smoothing / (double)classes * all;
            }
            counted += 1;
        }
        total += loss;
        if (reduction == 0) y(env, i, (num)loss);
    }
    if (reduction != 0) y(env, 0, (num)(reduction == 1 ? total / counted : total));
}

/* target: a probability for each class. */
KERNEL void K(probability_loss)(const void *env, num (*x)(const void *, size_t), num (*target)(const void *, size_t),
                                void (*y)(const void *, size_t, num), size_t outer, size_t classes, size_t inner,
                                int reduction, double smoothing) {
    double total = 0;
    for (size_t i = 0; i < outer * inner; i++) {
        const size_t first = i / inner * classes * inner + i % inner;
        const double by = K(log_sum)(env, x, first, classes, inner);
        double loss = 0;
        for (size_t k = 0; k < classes; k++) {
            const double p = (double)target(env, first + k * inner) * (1 - smoothing) + smoothing / (double)classes;
            loss += p * (by - (double)x(env, first + k * inner));
        }
        total += loss;
        if (reduction == 0) y(env, i, (num)loss);
    }
    if (reduction != 0) y(env, 0, (num)(reduction == 1 ? total / ((double)outer * (double)inner) : total));
}

#ifndef NETC_LOSS
#define NETC_LOSS
enum { LOSS_SQUARE, LOSS_ABSOLUTE, LOSS_SMOOTH, LOSS_LOGITS };
#endif

/* Element by element: mse_loss, l1_loss, smooth_l1_loss, bce_with_logits. */
KERNEL void K(element_loss)(const void *env, num (*x)(const void *, size_t), num (*target)(const void *, size_t),
                            void (*y)(const void *, size_t, num), size_t n, int kind, int reduction, double beta) {
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = (double)x(env, i), b = (double)target(env, i), d = fabs(a - b);
        double loss = d;
        if (kind == LOSS_SQUARE) loss = d * d;
        else if (kind == LOSS_SMOOTH && d < beta) loss = d * d / (2 * beta);
        else if (kind == LOSS_SMOOTH) loss = d - beta / 2;
        else if (kind == LOSS_LOGITS) loss = (a > 0 ? a : 0) - a * b + log1p(exp(-fabs(a)));
        total += loss;
        if (reduction == 0) y(env, i, (num)loss);
    }
    if (reduction != 0) y(env, 0, (num)(reduction == 1 ? total / (double)n : total));
}
