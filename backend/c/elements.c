/* elements.c - tensors as the bytes that generated code works on: elements as they lie in memory, 4-bit ones two in a
 * byte, the first in the low half. The program is compiled for a little-endian machine. O(elements). */
#include "backend/emit_c.h"

void emit_c_encode(const Tensor *t, uint64_t first, unsigned char *bytes) {
    DType d = t->type.dtype;
    unsigned bits = dtype_bits(d), nbytes = bits / 8;
    for (uint64_t i = 0; i < t->n; i++) {
        uint64_t v = t->is_int ? (uint64_t)t->i[i] : number_encode(d, t->f[i]);
        if (bits < 8) {
            unsigned shift = (first + i) % 2 * 4;
            bytes[i / 2] = (unsigned char)((shift ? bytes[i / 2] : 0) | (v & 15) << shift);
            continue;
        }
        for (unsigned b = 0; b < nbytes; b++) *bytes++ = (unsigned char)(v >> 8 * b);
    }
}

static int64_t whole(DType d, uint64_t v) {
    unsigned bits = dtype_bits(d);
    bool is_signed = d == DT_I64 || d == DT_I32 || d == DT_I16 || d == DT_I8 || d == DT_I4;
    if (is_signed && bits < 64 && v >> (bits - 1)) v |= ~UINT64_C(0) << bits;
    return d == DT_BOOL ? v != 0 : (int64_t)v;
}

void emit_c_decode(Tensor *t, const unsigned char *bytes) {
    DType d = t->type.dtype;
    unsigned bits = dtype_bits(d), nbytes = bits / 8;
    for (uint64_t i = 0; i < t->n; i++) {
        uint64_t v = bits < 8 ? bytes[i / 2] >> i % 2 * 4 & 15u : 0;
        for (unsigned b = 0; b < nbytes; b++) v |= (uint64_t)*bytes++ << 8 * b;
        if (t->is_int) t->i[i] = whole(d, v);
        else t->f[i] = number_decode(d, v);
    }
}
