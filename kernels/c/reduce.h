/* reduce.h - reductions. at(o, r) is where element r of those that make result o lies in x; there are `count` of them.
 * Results are made in index order, each whole before it is written. Of equal extremes the first counts; a NaN is more
 * extreme than every number. */

/* Is a more extreme than b? */
KERNEL int K(beats)(num a, num b, int largest) {
    const num same_a = a, same_b = b;
    if (a != same_a) return b == same_b;
    if (b != same_b) return 0;
    return largest ? a > b : a < b;
}

KERNEL void K(extreme)(const void *env, num (*x)(const void *, size_t), size_t (*at)(size_t, size_t),
                       void (*y)(const void *, size_t, num), size_t results, size_t count, int largest) {
    for (size_t o = 0; o < results; o++) {
        num best = x(env, at(o, 0));
        for (size_t r = 1; r < count; r++) {
            const num v = x(env, at(o, r));
            best = K(beats)(v, best, largest) ? v : best;
        }
        y(env, o, best);
    }
}

KERNEL void K(extreme_place)(const void *env, num (*x)(const void *, size_t), size_t (*at)(size_t, size_t),
                             void (*y)(const void *, size_t, int64_t), size_t results, size_t count, int largest) {
    for (size_t o = 0; o < results; o++) {
        size_t best = 0;
        for (size_t r = 1; r < count; r++)
            if (K(beats)(x(env, at(o, r)), x(env, at(o, best)), largest)) best = r;
        y(env, o, (int64_t)best);
    }
}

/* An order: NaN counts as the largest number, of equal ones the first comes first. */
KERNEL int K(precedes)(num a, int64_t i, num b, int64_t j, int descending) {
    const num same_a = a, same_b = b;
    if (a != same_a || b != same_b) return a != same_a && b != same_b ? i < j : (a != same_a) == descending;
    return a == b ? i < j : descending ? a > b : a < b;
}

/* The first k of the n elements of each row in order: heapsort in the memory of the resulting places. A heap of k
 * places, the last in order on top, takes in the row; then it is taken down. x [outer, n, inner] along n; O(n log k) a
 * row. */
KERNEL void K(sort_rows)(const void *env, num (*x)(const void *, size_t), void (*values)(const void *, size_t, num),
                         int64_t (*place)(const void *, size_t), void (*places)(const void *, size_t, int64_t),
                         size_t outer, size_t n, size_t inner, size_t k, int descending) {
    for (size_t row = 0; k > 0 && row < outer * inner; row++) {
        const size_t from = row / inner * n * inner + row % inner, to = row / inner * k * inner + row % inner;
        size_t size = 0;
        for (size_t i = 0; i < n + k; i++) {
            int64_t hole; /* the place that looks for a seat, from node `at` downwards */
            size_t at = 0;
            if (i < k) {                                  /* it grows: the new place rises */
                for (at = size++; at > 0; at = (at - 1) / 2) {
                    const int64_t up = place(env, to + (at - 1) / 2 * inner);
                    if (!K(precedes)(x(env, from + (size_t)up * inner), up, x(env, from + i * inner), (int64_t)i,
                                     descending))
                        break;
                    places(env, to + at * inner, up);
                }
                places(env, to + at * inner, (int64_t)i);
                continue;
            }
            const int64_t top = place(env, to);
            if (i < n) { /* it is full: the new place replaces the top, or is none of the first */
                hole = (int64_t)i;
                if (!K(precedes)(x(env, from + i * inner), hole, x(env, from + (size_t)top * inner), top, descending))
                    continue;
            } else { /* it shrinks: the top goes where the last one was */
                hole = place(env, to + --size * inner);
                places(env, to + size * inner, top);
                values(env, to + size * inner, x(env, from + (size_t)top * inner));
                if (size == 0) break;
            }
            for (size_t child; (child = 2 * at + 1) < size; at = child) {
                int64_t down = place(env, to + child * inner);
                if (child + 1 < size) {
                    const int64_t other = place(env, to + (child + 1) * inner);
                    if (K(precedes)(x(env, from + (size_t)down * inner), down, x(env, from + (size_t)other * inner),
                                    other, descending)) {
                        down = other;
                        child++;
                    }
                }
                if (!K(precedes)(x(env, from + (size_t)hole * inner), hole, x(env, from + (size_t)down * inner), down,
                                 descending))
                    break;
                places(env, to + at * inner, down);
            }
            places(env, to + at * inner, hole);
        }
    }
}
