/* conv.h - convolution over up to three spatial axes, direct: a row of results at a time in a local array, to which
 * each weight adds its stretch of the operand's row. Padding is stepped over, never multiplied. conv1d and conv2d have
 * extent 1 in front; a convolution of one element a window is one row.
 *
 * Blocks of CONV_CHANNELS results share what they read. With one channel a group (depthwise) there is nothing to
 * share: those run in index order, so that the result may lie over the operand as far as it never passes what is still
 * read. */

#ifndef NETC_CONV
#define NETC_CONV
enum { CONV_CHANNELS = 4, CONV_ROW = 64 };
typedef struct Conv {
    size_t n, groups, ic, oc;                             /* batch; channels of one group */
    size_t id, ih, iw, od, oh, ow;                        /* extents of operand and result: depth, height, width */
    size_t kd, kh, kw, sd, sh, sw, dd, dh, dw, pd, ph, pw;    /* kernel, stride, dilation, padding before */
} Conv;

/* Results [*lo, *hi) of those at [first, first + n) meet kernel element k inside an axis of `in` elements. */
KERNEL void conv_meets(size_t first, size_t n, size_t in, size_t stride, size_t offset, size_t pad, size_t *lo,
                       size_t *hi) {
    size_t skip = offset < pad ? (pad - offset + stride - 1) / stride : 0;         /* the first result inside */
    size_t end = in + pad > offset ? (in + pad - offset - 1) / stride + 1 : 0;     /* behind the last */
    *lo = skip > first ? skip - first : 0;
    *hi = end > first ? end - first : 0;
    *hi = *hi < n ? *hi : n;
    *lo = *lo < *hi ? *lo : *hi;
}
#endif

/* x [n, groups * ic, id, ih, iw], w [groups * oc, ic, kd, kh, kw], bias [groups * oc] or NULL, y [n, groups * oc, od,
 * oh, ow] */
KERNEL void K(conv)(const void *env, num (*x)(const void *, size_t), num (*w)(const void *, size_t),
                    num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    const size_t block = s.ic == 1 && s.groups > 1 ? 1 : CONV_CHANNELS;
    for (size_t image = 0; image < s.n * s.groups; image++)
        for (size_t o = 0; o < s.oc; o += block) {
            const size_t channel = image % s.groups * s.oc + o, count = s.oc - o < block ? s.oc - o : block;
            for (size_t d = 0; d < s.od; d++)
                for (size_t h = 0; h < s.oh; h++)
                    for (size_t first = 0; first < s.ow; first += CONV_ROW) {
                        const size_t n = s.ow - first < CONV_ROW ? s.ow - first : CONV_ROW;
                        num acc[CONV_CHANNELS][CONV_ROW];
                        for (size_t b = 0; b < count; b++)
                            for (size_t t = 0; t < n; t++) acc[b][t] = bias ? bias(env, channel + b) : 0;
                        for (size_t c = 0; c < s.ic; c++)
                            for (size_t kd = 0; kd < s.kd; kd++) {
                                const size_t z = d * s.sd + kd * s.dd - s.pd;
                                if (z >= s.id) continue;
                                for (size_t kh = 0; kh < s.kh; kh++) {
                                    const size_t v = h * s.sh + kh * s.dh - s.ph;
                                    if (v >= s.ih) continue;
                                    const size_t row = (((image * s.ic + c) * s.id + z) * s.ih + v) * s.iw;
                                    for (size_t kw = 0; kw < s.kw; kw++) {
                                        size_t lo, hi;
                                        conv_meets(first, n, s.iw, s.sw, kw * s.dw, s.pw, &lo, &hi);
                                        const size_t at = row + first * s.sw + kw * s.dw - s.pw;
                                        for (size_t b = 0; b < count; b++) {
                                            const num weight =
                                                w(env,
                                                  ((((channel + b) * s.ic + c) * s.kd + kd) * s.kh + kh) * s.kw + kw);
                                            for (size_t t = lo; t < hi; t++)
                                                acc[b][t] += weight * x(env, at + t * s.sw);
                                        }
                                    }
                                }
                            }
                        for (size_t b = 0; b < count; b++)
                            for (size_t t = 0; t < n; t++)
                                y(env, (((image * s.oc + o + b) * s.od + d) * s.oh + h) * s.ow + first + t, acc[b][t]);
                    }
        }
}

/* x [n, groups * ic, id, ih, iw], w [groups * ic, oc, kd, kh, kw]: each element of x adds to the results at i * stride
 * - pad + k * dilation. A row of results gathers what its kernel rows reach. */
KERNEL void K(conv_transpose)(const void *env, num (*x)(const void *, size_t), num (*w)(const void *, size_t),
                              num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    for (size_t image = 0; image < s.n * s.groups; image++)
        for (size_t o = 0; o < s.oc; o++)
            for (size_t d = 0; d < s.od; d++)
                for (size_t h = 0; h < s.oh; h++)
                    for (size_t first = 0; first < s.ow; first += CONV_ROW) {
                        const size_t n = s.ow - first < CONV_ROW ? s.ow - first : CONV_ROW, group = image % s.groups;
                        num acc[CONV_ROW];
                        for (size_t t = 0; t < n; t++) acc[t] = bias ? bias(env, group * s.oc + o) : 0;
                        for (size_t c = 0; c < s.ic; c++)
                            for (size_t kd = 0; kd < s.kd; kd++) {
                                const size_t z = d + s.pd - kd * s.dd;
                                if (d + s.pd < kd * s.dd || z % s.sd != 0 || z / s.sd >= s.id) continue;
                                for (size_t kh = 0; kh < s.kh; kh++) {
                                    const size_t v = h + s.ph - kh * s.dh;
                                    if (h + s.ph < kh * s.dh || v % s.sh != 0 || v / s.sh >= s.ih) continue;
                                    const size_t row =
                                        (((image * s.ic + c) * s.id + z / s.sd) * s.ih + v / s.sh) * s.iw;
                                    for (size_t kw = 0; kw < s.kw; kw++) {
                                        const num weight =
                                            w(env,
                                              ((((group * s.ic + c) * s.oc + o) * s.kd + kd) * s.kh + kh) * s.kw + kw);
                                        const size_t reach = first + s.pw, offset = kw * s.dw;
                                        size_t i = reach > offset ? (reach - offset + s.sw - 1) / s.sw : 0;
                                        for (; i < s.iw && i * s.sw + offset < reach + n; i++)
                                            acc[i * s.sw + offset - reach] += weight * x(env, row + i);
                                    }
                                }
                            }
                        for (size_t t = 0; t < n; t++)
                            y(env, (((image * s.oc + o) * s.od + d) * s.oh + h) * s.ow + first + t, acc[t]);
                    }
}
