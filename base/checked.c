/* checked.c - arithmetic on sizes that says when a result does not fit instead of wrapping. */
#include "base/base.h"

bool mul_u64(uint64_t a, uint64_t b, uint64_t *r) {
    return !__builtin_mul_overflow(a, b, r);
}

bool add_u64(uint64_t a, uint64_t b, uint64_t *r) {
    return !__builtin_add_overflow(a, b, r);
}

bool mul_i64(int64_t a, int64_t b, int64_t *r) {
    return !__builtin_mul_overflow(a, b, r);
}

bool add_i64(int64_t a, int64_t b, int64_t *r) {
    return !__builtin_add_overflow(a, b, r);
}

bool sub_i64(int64_t a, int64_t b, int64_t *r) {
    return !__builtin_sub_overflow(a, b, r);
}

bool align_up(uint64_t n, uint64_t align, uint64_t *r) {
    if (!add_u64(n, align - 1, r))
        return false;
    *r &= ~(align - 1);
    return true;
}

int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}
