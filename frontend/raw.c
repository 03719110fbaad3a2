/* raw.c - elements as bytes of files: little endian on every machine. O(elements). */
#include "frontend/arrays.h"

uint64_t raw_size(DType t) {
    return dtype_bits(t) < 8 ? 1 : dtype_bits(t) / 8;
}

static uint64_t load(const unsigned char *p, uint64_t size) {
    uint64_t bits = 0;
    for (uint64_t k = 0; k < size; k++)
        bits |= (uint64_t)p[k] << 8 * k;
    return bits;
}

/* The sign of a shorter integer is its top bit. */
static int64_t integer(DType t, uint64_t bits) {
    unsigned n = (unsigned)raw_size(t) * 8;
    bool is_signed = t != DT_U8 && t != DT_U4 && t != DT_BOOL;
    if (is_signed && n < 64 && bits >> (n - 1))
        bits |= ~UINT64_C(0) << n;
    return t == DT_BOOL ? bits != 0 : (int64_t)bits;
}

void raw_decode(const unsigned char *bytes, uint64_t first, Tensor *t) {
    DType dtype = t->type.dtype;
    uint64_t size = raw_size(dtype);
    const unsigned char *p = bytes + first * size;
    for (uint64_t k = 0; k < t->n; k++, p += size) {
        uint64_t bits = load(p, size);
        if (t->is_int)
            t->i[k] = integer(dtype, bits);
        else
            t->f[k] = number_decode(dtype, bits);
    }
}

void raw_encode(const Tensor *t, unsigned char *bytes) {
    uint64_t size = raw_size(t->type.dtype);
    for (uint64_t k = 0; k < t->n; k++) {
        uint64_t bits = t->is_int ? (uint64_t)t->i[k] : number_encode(t->type.dtype, t->f[k]);
        for (uint64_t b = 0; b < size; b++)
            *bytes++ = (unsigned char)(bits >> 8 * b);
    }
}
