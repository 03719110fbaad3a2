/* interpolate.h - resampling over up to three spatial axes: each result is a weighted sum of elements of x, the taps
 * of each axis multiplied. PyTorch's places: nearest takes the element left of the sample, nearest-exact the one
 * around its middle; linear samples from clamped places, cubic (a = -0.75) clamps tap by tap, area averages as
 * adaptive pools do. Nearest is the one mode in which rounding chooses between elements: its step is in float as
 * there, unless x is f64. */

#ifndef NETC_INTERPOLATE
#define NETC_INTERPOLATE
enum { SAMPLE_NEAREST, SAMPLE_NEAREST_EXACT, SAMPLE_LINEAR, SAMPLE_CUBIC, SAMPLE_AREA };
typedef struct SampledAxis {
    size_t in, out;
    double step;
} SampledAxis; /* step: how far apart samples lie, in elements */
typedef struct Sampling { size_t n; int mode, corners, in_double; SampledAxis d, h, w; } Sampling;

KERNEL size_t sample_within(double place, size_t n) {
    return place <= 0 ? 0 : place >= (double)(n - 1) ? n - 1 : (size_t)place;
}

KERNEL size_t sample_taps(Sampling s, SampledAxis a, size_t i) {
    if (a.in == 1 && a.out == 1) return 1;
    switch (s.mode) {
    case SAMPLE_LINEAR: return 2;
    case SAMPLE_CUBIC: return 4;
    case SAMPLE_AREA: return ((i + 1) * a.in + a.out - 1) / a.out - i * a.in / a.out;
    default: return 1;
    }
}

/* Tap k of result i: its place, and its weight. */
KERNEL size_t sample_tap(Sampling s, SampledAxis a, size_t i, size_t k, double *weight) {
    *weight = 1;
    if (a.in == 1 && a.out == 1) return 0;
    if (s.mode == SAMPLE_AREA) {
        *weight = 1 / (double)sample_taps(s, a, i);
        return i * a.in / a.out + k;
    }
    if (s.mode == SAMPLE_NEAREST || s.mode == SAMPLE_NEAREST_EXACT) {
        const double middle = (double)i + (s.mode == SAMPLE_NEAREST_EXACT ? 0.5 : 0.0);
        const float product = (float)middle * (float)a.step;
        return sample_within(floor(s.in_double ? middle * a.step : (double)product), a.in);
    }
    double at = s.corners ? a.step * (double)i : a.step * ((double)i + 0.5) - 0.5;
    if (s.mode == SAMPLE_LINEAR) {
        if (at < 0) at = 0;
        const size_t left = sample_within(floor(at), a.in);
        const double rest = at - (double)left > 1 ? 1 : at - (double)left;
        *weight = k ? rest : 1 - rest;
        return k && left + 1 < a.in ? left + 1 : left;
    }
    const double tap = floor(at) + (double)k - 1, x = fabs(at - tap), c = -0.75;
    *weight = x <= 1 ? ((c + 2) * x - (c + 3)) * x * x + 1 : x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : 0;
    return sample_within(tap, a.in);
}
#endif

/* x [n, d.in, h.in, w.in] to y [n, d.out, h.out, w.out], as doubles */
KERNEL void K(interpolate)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, double),
                           Sampling s) {
    for (size_t image = 0; image < s.n; image++)
        for (size_t d = 0; d < s.d.out; d++)
            for (size_t h = 0; h < s.h.out; h++)
                for (size_t w = 0; w < s.w.out; w++) {
                    double sum = 0;
                    for (size_t i = 0; i < sample_taps(s, s.d, d); i++)
                        for (size_t j = 0; j < sample_taps(s, s.h, h); j++)
                            for (size_t k = 0; k < sample_taps(s, s.w, w); k++) {
                                double a, b, c;
                                const size_t z = sample_tap(s, s.d, d, i, &a), v = sample_tap(s, s.h, h, j, &b);
                                const size_t at = sample_tap(s, s.w, w, k, &c);
                                const double weight = a * b * c;
                                if (weight != 0)
                                    sum += weight * (double)x(env, ((image * s.d.in + z) * s.h.in + v) * s.w.in + at);
                            }
                    y(env, ((image * s.d.out + d) * s.h.out + h) * s.w.out + w, sum);
                }
}
