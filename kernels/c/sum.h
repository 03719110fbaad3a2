/* sum.h - sums, products and what is made of them. at(o, r) is where element r of those that make result o lies in x;
 * there are `count` of them. `wide` is the type that is summed in: double for floats, num itself for integers, whose
 * sums are exact modulo 2^64. Results are made in index order, each whole before it is written. */

KERNEL void K(sum)(const void *env, num (*x)(const void *, size_t), size_t (*at)(size_t, size_t),
                   void (*y)(const void *, size_t, num), size_t results, size_t count, wide divisor) {
    for (size_t o = 0; o < results; o++) {
        wide sum = 0;
        for (size_t r = 0; r < count; r++) sum += (wide)x(env, at(o, r));
        y(env, o, (num)(sum / divisor));
    }
}

KERNEL void K(prod)(const void *env, num (*x)(const void *, size_t), size_t (*at)(size_t, size_t),
                    void (*y)(const void *, size_t, num), size_t results, size_t count) {
    for (size_t o = 0; o < results; o++) {
        wide product = 1;
        for (size_t r = 0; r < count; r++) product *= (wide)x(env, at(o, r));
        y(env, o, (num)product);
    }
}

/* Two passes: the mean, then the squares of what differs from it, divided by count - correction (never less than 0). */
KERNEL void K(var)(const void *env, num (*x)(const void *, size_t), size_t (*at)(size_t, size_t),
                   void (*y)(const void *, size_t, num), size_t results, size_t count, wide divisor) {
    for (size_t o = 0; o < results; o++) {
        wide mean = 0, sum = 0;
        for (size_t r = 0; r < count; r++) mean += (wide)x(env, at(o, r));
        mean /= (wide)count;
        for (size_t r = 0; r < count; r++) {
            const wide v = (wide)x(env, at(o, r)) - mean;
            sum += v * v;
        }
        y(env, o, (num)(sum / divisor));
    }
}

/* x [outer, n, inner] along n */
KERNEL void K(cumsum)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, num),
                      size_t outer, size_t n, size_t inner) {
    for (size_t o = 0; o < outer; o++)
        for (size_t j = 0; j < inner; j++) {
            wide sum = 0;
            for (size_t k = 0; k < n; k++) {
                sum += (wide)x(env, (o * n + k) * inner + j);
                y(env, (o * n + k) * inner + j, (num)sum);
            }
        }
}
