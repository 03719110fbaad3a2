/* eval_number.c - dtypes as numbers, against slow definitions: every pattern of the 8- and 16-bit floats is decoded by
 * the definition of its format and encoded again, and rounding is tried at and on both sides of the middle of every two
 * neighbours. f32 and f64 are held against the machine's own. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/eval.h"
#include "tests/unit/oplab.h"

/* sign, exponent field and fraction, bit by bit. */
static double decode_slowly(unsigned exponent_bits, unsigned mantissa, bool infinite, unsigned bits) {
    unsigned top = (1u << exponent_bits) - 1, e = bits >> mantissa & top;
    double r = e ? 1 : 0, weight = 0.5;
    bool ones = true;
    for (unsigned i = mantissa; i-- > 0; weight /= 2) {
        if (bits >> i & 1) r += weight;
        else ones = false;
    }
    double sign = bits >> (exponent_bits + mantissa) & 1 ? -1 : 1;
    if (e == top && infinite) return r == 1 ? sign * INFINITY : NAN;
    if (e == top && ones) return NAN;
    int power = (int)(e ? e : 1) - ((1 << (exponent_bits - 1)) - 1);
    for (; power > 0; power--) r *= 2;
    for (; power < 0; power++) r /= 2;
    return sign * r;
}

static bool same(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && signbit(a) == signbit(b);
}

/* v < w are neighbours of the dtype, `even` the one whose last bit is 0: where their middle goes. */
static bool rounds_between(DType dtype, double v, double w, double even, double above) {
    double middle = (v + w) / 2;
    return same(number_round(dtype, middle), even) && same(number_round(dtype, nextafter(middle, v)), v) &&
           same(number_round(dtype, nextafter(middle, w)), above) && same(number_round(dtype, -middle), -even);
}

static void every_pattern(DType dtype, unsigned exponent_bits, unsigned mantissa, bool infinite) {
    unsigned patterns = 1u << (1 + exponent_bits + mantissa), wrong = 0;
    for (unsigned bits = 0; bits < patterns; bits++) {
        double v = decode_slowly(exponent_bits, mantissa, infinite, bits);
        if (!same(number_decode(dtype, bits), v) || !same(number_round(dtype, v), v)) wrong++;
        if (!isnan(v) && number_encode(dtype, v) != bits) wrong++;
        if (isnan(v) && !isnan(number_decode(dtype, number_encode(dtype, v)))) wrong++;
        if (bits >= patterns / 2 || isnan(v) || isinf(v)) continue;
        double w = decode_slowly(exponent_bits, mantissa, infinite, bits + 1);
        if (isfinite(w) && !rounds_between(dtype, v, w, bits % 2 == 0 ? v : w, w)) wrong++;
        if (isfinite(w)) continue;
        double step = v - decode_slowly(exponent_bits, mantissa, infinite, bits - 1), over = infinite ? INFINITY : NAN;
        if (!rounds_between(dtype, v, v + step, bits % 2 == 0 ? v : over, over)) wrong++;
        if (!same(number_round(dtype, INFINITY), over) || !same(number_round(dtype, 1e300), over)) wrong++;
    }
    CHECK(wrong == 0);
}

static void machine_floats(void) {
    uint64_t seed = 88172645463325252u, wrong = 0;
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)(random_below(&seed, UINT64_C(1) << 32)), back;
        float f;
        memcpy(&f, &bits, sizeof f);
        if (!same(number_decode(DT_F32, bits), (double)f)) wrong++;
        if (!isnan(f) && number_encode(DT_F32, (double)f) != bits) wrong++;
        uint64_t wide = random_below(&seed, UINT64_MAX);
        double d;
        memcpy(&d, &wide, sizeof d);
        if (!same(number_decode(DT_F64, wide), d) || (!isnan(d) && number_encode(DT_F64, d) != wide)) wrong++;
        if (!(fabs(d) < FLT_MAX)) continue;
        f = (float)d;
        memcpy(&back, &f, sizeof back);
        if (number_encode(DT_F32, d) != back || !same(number_round(DT_F32, d), (double)f)) wrong++;
    }
    CHECK(wrong == 0);
    CHECK(number_encode(DT_F32, NAN) == 0x7fc00000 && number_encode(DT_F16, NAN) == 0x7e00);
    CHECK(number_encode(DT_F8E4M3, NAN) == 0x7f && number_encode(DT_F8E5M2, -INFINITY) == 0xfc);
}

static void integers(void) {
    static const struct { DType dtype; int64_t x, wrapped; } cases[] = {
        {DT_I8, 127, 127}, {DT_I8, 128, -128}, {DT_I8, -129, 127}, {DT_U8, -1, 255}, {DT_U8, 256, 0},
        {DT_I4, 7, 7}, {DT_I4, 8, -8}, {DT_U4, 16, 0}, {DT_U4, -1, 15}, {DT_I16, 40000, 40000 - 65536},
        {DT_I32, INT64_C(1) << 31, -(INT64_C(1) << 31)}, {DT_I32, INT64_MIN, 0}, {DT_I64, INT64_MIN, INT64_MIN},
        {DT_BOOL, -3, 1}, {DT_BOOL, 0, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) CHECK(number_wrap(cases[i].dtype, cases[i].x) == cases[i].wrapped);
    CHECK(number_truncate(2.9) == 2 && number_truncate(-2.9) == -2 && number_truncate(NAN) == 0);
    CHECK(number_truncate(1e30) == INT64_MAX && number_truncate(-INFINITY) == INT64_MIN);
    CHECK(number_truncate(-0x1p63) == INT64_MIN && number_truncate(0x1p53 + 2) == (INT64_C(1) << 53) + 2);
}

static void narrowing(void) {
    double f[] = {1.0000001, 1e-46, 65520, NAN};
    int64_t i[] = {300, -1};
    Tensor a = {.type = {DT_F32, {0}}, .n = 4, .f = f}, b = {.type = {DT_U8, {0}}, .is_int = true, .n = 2, .i = i};
    tensor_narrow(&a);
    tensor_narrow(&b);
    CHECK(f[0] == (double)1.0000001f && f[1] == 0 && f[2] == 65520 && isnan(f[3]));
    CHECK(i[0] == 44 && i[1] == 255);
    a.type.dtype = DT_F16;
    tensor_narrow(&a);
    CHECK(f[0] == 1 && isinf(f[2]) && isnan(f[3]));
}

int main(void) {
    every_pattern(DT_F16, 5, 10, true);
    every_pattern(DT_BF16, 8, 7, true);
    every_pattern(DT_F8E4M3, 4, 3, false);
    every_pattern(DT_F8E5M2, 5, 2, true);
    machine_floats();
    integers();
    narrowing();
    return check_done();
}
