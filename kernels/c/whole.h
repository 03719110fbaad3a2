/* whole.h - functions of integers. They wrap like two's complement of 64 bits; division rounds toward minus infinity.
 * A division by zero is remembered in *status and gives 0. */

KERNEL int64_t add_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
KERNEL int64_t sub_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
KERNEL int64_t mul_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
KERNEL int64_t least_i64(int64_t a, int64_t b) { return a < b ? a : b; }
KERNEL int64_t most_i64(int64_t a, int64_t b) { return a > b ? a : b; }
KERNEL int64_t clip_i64(int64_t x, int64_t lo, int64_t hi) {
    int64_t y = x < lo ? lo : x;
    return y > hi ? hi : y;
}
KERNEL int64_t abs_i64(int64_t x) { return x < 0 ? sub_i64(0, x) : x; }
KERNEL int64_t floor_divided_i64(int *status, int code, int64_t a, int64_t b) {
    if (b == 0) {
        *status = code;
        return 0;
    }
    if (b == -1) return sub_i64(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
KERNEL int64_t remainder_of_i64(int *status, int code, int64_t a, int64_t b) {
    if (b == 0) {
        *status = code;
        return 0;
    }
    if (b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
HELPER int64_t power_i64(int64_t a, int64_t b) {
    uint64_t r = 1, square = (uint64_t)a;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    for (uint64_t left = (uint64_t)b; left; left >>= 1, square *= square)
        if (left & 1) r *= square;
    return (int64_t)r;
}
