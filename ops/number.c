/* number.c - element types as numbers: rounding, wrapping, and the bits of floats.
 *
 * A float dtype is a number of mantissa bits, a least exponent and a largest number. Rounding is by the definition: the
 * numbers near x are multiples of a power of two, 2^(e - mantissa) for the exponent e of x, or of the least exponent
 * below it (subnormals); x over that power is exact in double, and rint() rounds it to nearest, ties to even. What is
 * then above the largest number is infinity; f8e4m3 (OCP's "fn" form) has none and its NaN instead. All O(1). */
#include <math.h>

#include "ops/eval.h"

typedef struct Format {
    int mantissa, least;                                  /* bits behind the point; least exponent of a normal number */
    double largest;
    bool infinite;
} Format;

static Format format_of(DType dtype) {
    switch (dtype) {
    case DT_F64: return (Format){52, -1022, 0x1.fffffffffffffp1023, true};
    case DT_F32: return (Format){23, -126, 0x1.fffffep127, true};
    case DT_F16: return (Format){10, -14, 65504, true};
    case DT_BF16: return (Format){7, -126, 0x1.fep127, true};
    case DT_F8E4M3: return (Format){3, -6, 448, false};
    case DT_F8E5M2: return (Format){2, -14, 57344, true};
    default: ice("%s is no float", dtype_name(dtype));
    }
}

double number_round(DType dtype, double x) {
    if (dtype == DT_F64) return x;
    if (dtype == DT_F32) return (double)(float)x;
    Format f = format_of(dtype);
    if (isnan(x) || x == 0) return x;
    if (!isinf(x)) {
        int e = ilogb(x);
        double unit = ldexp(1, (e > f.least ? e : f.least) - f.mantissa);
        x = rint(x / unit) * unit;
    }
    if (fabs(x) <= f.largest) return x;
    return f.infinite ? copysign(INFINITY, x) : NAN;
}

/* The exponent field's greatest value: infinities and NaNs, but ordinary numbers in f8e4m3. */
static uint64_t top_exponent(DType dtype, Format f) {
    return (UINT64_C(1) << (dtype_bits(dtype) - 1 - (unsigned)f.mantissa)) - 1;
}

double number_decode(DType dtype, uint64_t bits) {
    Format f = format_of(dtype);
    uint64_t top = top_exponent(dtype, f), one = UINT64_C(1) << f.mantissa;
    uint64_t fraction = bits & (one - 1), e = bits >> f.mantissa & top;
    double sign = bits >> (dtype_bits(dtype) - 1) & 1 ? -1 : 1;
    if (e == top && f.infinite) return fraction ? NAN : sign * INFINITY;
    if (e == top && fraction == one - 1) return NAN;
    if (e == 0) return sign * ldexp((double)fraction, f.least - f.mantissa);
    return sign * ldexp((double)(one + fraction), f.least - f.mantissa + (int)e - 1);
}

uint64_t number_encode(DType dtype, double x) {
    Format f = format_of(dtype);
    uint64_t top = top_exponent(dtype, f), one = UINT64_C(1) << f.mantissa;
    x = number_round(dtype, x);
    if (isnan(x)) return top << f.mantissa | (f.infinite ? one >> 1 : one - 1);
    uint64_t sign = signbit(x) ? UINT64_C(1) << (dtype_bits(dtype) - 1) : 0;
    if (isinf(x)) return sign | top << f.mantissa;
    double magnitude = fabs(x), smallest = ldexp(1, f.least);
    if (magnitude < smallest) return sign | (uint64_t)ldexp(magnitude, f.mantissa - f.least);
    int e = ilogb(magnitude);
    return sign | (uint64_t)(e - f.least + 1) << f.mantissa | ((uint64_t)ldexp(magnitude, f.mantissa - e) - one);
}

int64_t number_wrap(DType dtype, int64_t x) {
    unsigned bits = dtype_bits(dtype);
    if (dtype == DT_BOOL) return x != 0;
    if (bits == 64) return x;
    uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1), half = UINT64_C(1) << (bits - 1);
    bool negative = dtype != DT_U8 && dtype != DT_U4 && low >= half;
    return negative ? (int64_t)low - (int64_t)(2 * half) : (int64_t)low;
}

int64_t number_truncate(double x) {
    if (isnan(x)) return 0;
    if (x >= 0x1p63) return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

void tensor_narrow(Tensor *t) {
    DType dtype = t->type.dtype;
    if (dtype == DT_F64 || dtype == DT_I64) return;
    if (t->is_int) {
        for (uint64_t i = 0; i < t->n; i++) t->i[i] = number_wrap(dtype, t->i[i]);
    } else if (dtype == DT_F32) {
        for (uint64_t i = 0; i < t->n; i++) t->f[i] = (double)(float)t->f[i];      /* the usual case, without a call */
    } else {
        for (uint64_t i = 0; i < t->n; i++) t->f[i] = number_round(dtype, t->f[i]);
    }
}
