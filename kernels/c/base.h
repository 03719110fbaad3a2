/* base.h - what all kernels stand on: element types as they lie in memory, how one is read and written, integer
 * arithmetic that wraps.
 *
 * An element is widened when it is read: f16, bf16 and the f8s to float, integers and bool to int64_t. It is narrowed
 * when it is written, floats to nearest even. Memory is reached through these functions alone; the types may alias,
 * since one arena holds buffers of all of them one after the other.
 *
 * Kernels take their operands and results as functions of an index, which the generated code writes for each step and
 * compilers inline: env is the caller's, they only pass it on. What is fused into a step happens in those functions. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define KERNEL static inline __attribute__((always_inline, unused))
#define HELPER static inline __attribute__((unused))
#define MAY_ALIAS __attribute__((may_alias))
#else
#define KERNEL static inline
#define HELPER static inline
#define MAY_ALIAS
#endif

typedef double f64 MAY_ALIAS;
typedef float f32 MAY_ALIAS;
typedef int64_t i64 MAY_ALIAS;
typedef int32_t i32 MAY_ALIAS;
typedef int16_t i16 MAY_ALIAS;
typedef uint16_t u16 MAY_ALIAS;                           /* the bits of an f16 or bf16 */

/* ---- narrow floats: e bits of exponent, m of mantissa; those without infinities (f8e4m3) have one NaN instead ---- */

HELPER uint32_t float_bits(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

HELPER float bits_float(uint32_t u) {
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

KERNEL uint32_t encode_float(float v, unsigned e, unsigned m, int infinite) {
    uint32_t u = float_bits(v), sign = (u >> 31) << (e + m),
             most = infinite ? ((1u << e) - 1) << m : (1u << (e + m)) - 1;
    uint32_t exponent = u >> 23 & 255, mantissa = (u & 0x7fffff) | (exponent ? 1u << 23 : 0);
    int at = (int)(exponent ? exponent : 1) - 127 + ((1 << (e - 1)) - 1), shift = 23 - (int)m;
    if (exponent == 255) return (u & 0x7fffff) ? (infinite ? most | 1u << (m - 1) : most) : sign | most;
    if (at < 1) {
        shift += 1 - at;
        at = 1;
    }
    if (shift > 25) return sign;
    uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint32_t bits = ((uint32_t)(at - 1) << m) + kept;
    return sign | (bits > most ? most : bits);
}

KERNEL float decode_float(uint32_t bits, unsigned e, unsigned m, int infinite) {
    uint32_t sign = bits >> (e + m) << 31, exponent = bits >> m & ((1u << e) - 1), mantissa = bits & ((1u << m) - 1);
    unsigned bias = (1u << (e - 1)) - 1;
    if (exponent == 0) {
        float v = (float)mantissa * bits_float((uint32_t)(127 + 1 - (int)bias - (int)m) << 23);
        return sign ? -v : v;
    }
    if (infinite && exponent == (1u << e) - 1) return bits_float(sign | 0x7f800000u | mantissa << (23 - m));
    if (!infinite && exponent == (1u << e) - 1 && mantissa == (1u << m) - 1) return bits_float(sign | 0x7fc00000u);
    return bits_float(sign | (exponent + 127 - bias) << 23 | mantissa << (23 - m));
}

/* ---- elements ---- */

KERNEL double load_f64(const void *p, size_t i) { return ((const f64 *)p)[i]; }
KERNEL float load_f32(const void *p, size_t i) { return ((const f32 *)p)[i]; }
KERNEL float load_f16(const void *p, size_t i) { return decode_float(((const u16 *)p)[i], 5, 10, 1); }
KERNEL float load_bf16(const void *p, size_t i) { return bits_float((uint32_t)((const u16 *)p)[i] << 16); }
KERNEL float load_f8e4m3(const void *p, size_t i) { return decode_float(((const unsigned char *)p)[i], 4, 3, 0); }
KERNEL float load_f8e5m2(const void *p, size_t i) { return decode_float(((const unsigned char *)p)[i], 5, 2, 1); }
KERNEL int64_t load_i64(const void *p, size_t i) { return ((const i64 *)p)[i]; }
KERNEL int64_t load_i32(const void *p, size_t i) { return ((const i32 *)p)[i]; }
KERNEL int64_t load_i16(const void *p, size_t i) { return ((const i16 *)p)[i]; }
KERNEL int64_t load_i8(const void *p, size_t i) { return ((const signed char *)p)[i]; }
KERNEL int64_t load_u8(const void *p, size_t i) { return ((const unsigned char *)p)[i]; }
KERNEL int64_t load_bool(const void *p, size_t i) { return ((const unsigned char *)p)[i] != 0; }
KERNEL int64_t load_u4(const void *p, size_t i) { return ((const unsigned char *)p)[i / 2] >> (i % 2 * 4) & 15; }
KERNEL int64_t load_i4(const void *p, size_t i) { return (load_u4(p, i) ^ 8) - 8; }

KERNEL void store_f64(void *p, size_t i, double v) { ((f64 *)p)[i] = v; }
KERNEL void store_f32(void *p, size_t i, float v) { ((f32 *)p)[i] = v; }
KERNEL void store_f16(void *p, size_t i, float v) { ((u16 *)p)[i] = (uint16_t)encode_float(v, 5, 10, 1); }
KERNEL void store_bf16(void *p, size_t i, float v) { ((u16 *)p)[i] = (uint16_t)encode_float(v, 8, 7, 1); }
KERNEL void store_f8e4m3(void *p, size_t i, float v) {
    ((unsigned char *)p)[i] = (unsigned char)encode_float(v, 4, 3, 0);
}
KERNEL void store_f8e5m2(void *p, size_t i, float v) {
    ((unsigned char *)p)[i] = (unsigned char)encode_float(v, 5, 2, 1);
}
KERNEL void store_i64(void *p, size_t i, int64_t v) { ((i64 *)p)[i] = v; }
KERNEL void store_i32(void *p, size_t i, int64_t v) { ((i32 *)p)[i] = (int32_t)v; }
KERNEL void store_i16(void *p, size_t i, int64_t v) { ((i16 *)p)[i] = (int16_t)v; }
KERNEL void store_i8(void *p, size_t i, int64_t v) { ((signed char *)p)[i] = (signed char)v; }
KERNEL void store_u8(void *p, size_t i, int64_t v) { ((unsigned char *)p)[i] = (unsigned char)v; }
KERNEL void store_bool(void *p, size_t i, int64_t v) { ((unsigned char *)p)[i] = v != 0; }
KERNEL void store_u4(void *p, size_t i, int64_t v) {
    unsigned char *byte = (unsigned char *)p + i / 2;
    unsigned shift = i % 2 * 4;
    *byte = (unsigned char)((*byte & ~(15u << shift)) | ((unsigned)v & 15u) << shift);
}
KERNEL void store_i4(void *p, size_t i, int64_t v) { store_u4(p, i, v); }

/* e^x to 2 units in the last place, without a branch, so that loops of it become vectors: x = n ln 2 + r, the
 * series of e^r, 2^n in two halves. */
KERNEL float exp_single(float x) {
    const float capped = x > 89.0f ? 89.0f : x, v = capped < -104.0f ? -104.0f : capped;
    const float n = (v * 1.44269504f + 12582912.0f) - 12582912.0f, r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
    const float high = 1.66666667e-1f + r * (4.16666667e-2f + r * (8.33333333e-3f + r * 1.38888889e-3f));
    const float series = 1.0f + r * (1.0f + r * (0.5f + r * high));
    const int whole = (int)(n == n ? n : 0.0f), half = whole / 2;
    return series * bits_float((uint32_t)(127 + half) << 23) * bits_float((uint32_t)(127 + whole - half) << 23);
}

/* ---- integers: two's complement of 64 bits, then of the width they are stored with ---- */

KERNEL int64_t wrap_i64(int64_t v) { return v; }
KERNEL int64_t wrap_i32(int64_t v) { return (int32_t)v; }
KERNEL int64_t wrap_i16(int64_t v) { return (int16_t)v; }
KERNEL int64_t wrap_i8(int64_t v) { return (signed char)v; }
KERNEL int64_t wrap_u8(int64_t v) { return (unsigned char)v; }
KERNEL int64_t wrap_bool(int64_t v) { return v != 0; }
KERNEL int64_t wrap_u4(int64_t v) { return v & 15; }
KERNEL int64_t wrap_i4(int64_t v) { return ((v & 15) ^ 8) - 8; }

/* Toward zero; what does not fit becomes the nearest that does, NaN 0. */
KERNEL int64_t truncate_double(double v) {
    return v >= 9223372036854775808.0 ? INT64_MAX : v >= -9223372036854775808.0 ? (int64_t)v : v < 0 ? INT64_MIN : 0;
}

/* An index that an operand holds, one of n: any other is remembered in *status, and place 0 is read instead. */
KERNEL size_t place_within(int *status, int code, int64_t i, size_t n) {
    if (i >= 0 && (uint64_t)i < n) return (size_t)i;
    *status = code;
    return 0;
}
