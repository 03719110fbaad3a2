/* real.h - functions of one or two numbers, in float or double: num is the type, M(f) the C library's f for it.
 *
 * NaN goes through each of them: a comparison that NaN fails must choose the NaN. */

KERNEL num K(least)(num a, num b) { return isnan(a) || a < b ? a : b; }
KERNEL num K(most)(num a, num b) { return isnan(a) || a > b ? a : b; }
KERNEL num K(clip)(num x, num lo, num hi) {
    num y = x < lo ? lo : x;
    return y > hi ? hi : y;
}
KERNEL num K(remainder_of)(num a, num b) {
    num r = M(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
KERNEL num K(floor_divided)(num a, num b) {
    if (b == 0) return a / b;
    num r = M(fmod)(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return M(copysign)(0, a / b);
    num whole = M(floor)(q);
    return q - whole > (num)0.5 ? whole + 1 : whole;
}
KERNEL num K(power)(num a, num b) { return b == 2 ? a * a : M(pow)(a, b); }

KERNEL num K(relu)(num x) { return x < 0 ? 0 : x; }
KERNEL num K(leaky)(num x, num slope) { return x > 0 ? x : x * slope; }
KERNEL num K(elu)(num x, num alpha) { return x <= 0 ? alpha * M(expm1)(x) : x; }
KERNEL num K(celu)(num x, num alpha) { return x <= 0 ? alpha * M(expm1)(x / alpha) : x; }
KERNEL num K(selu)(num x) {
    return (num)1.0507009873554804934 * K(elu)(x, (num)1.6732632423543772848);
}
KERNEL num K(gelu)(num x) { return (num)0.5 * x * (1 + M(erf)(x * (num)0.70710678118654752440)); }
KERNEL num K(gelu_tanh)(num x) {
    return (num)0.5 * x * (1 + M(tanh)((num)0.79788456080286535588 * (x + (num)0.044715 * x * x * x)));
}
KERNEL num K(exp)(num x) { return sizeof(num) == sizeof(float) ? (num)exp_single((float)x) : M(exp)(x); }
KERNEL num K(sigmoid)(num x) { return 1 / (1 + K(exp)(-x)); }
KERNEL num K(silu)(num x) { return x / (1 + K(exp)(-x)); }
KERNEL num K(softplus)(num x, num beta, num threshold) {
    return x * beta > threshold ? x : M(log1p)(M(exp)(x * beta)) / beta;
}
KERNEL num K(mish)(num x) { return x * M(tanh)(x > 20 ? x : M(log1p)(M(exp)(x))); }
KERNEL num K(hardswish)(num x) { return x * K(clip)(x + 3, 0, 6) / 6; }
KERNEL num K(hardsigmoid)(num x) { return K(clip)(x + 3, 0, 6) / 6; }
KERNEL num K(softsign)(num x) { return x / (1 + M(fabs)(x)); }
KERNEL num K(standardised)(num x, num mean, num var, num eps) { return (x - mean) / M(sqrt)(var + eps); }
