/* conv.h - convolution over up to three spatial axes. conv1d and conv2d have extent 1 in front; a convolution of one
 * element a window is one row.
 *
 * A convolution that sums over channels is a product of matrices whose right one is never there whole (implicit GEMM):
 * a panel of what PANEL_VECS vectors of neighbouring results meet, rows joined, zeros for padding, is gathered into a
 * local array, PANEL_DEPTH of its rows at a time, and meets the weights of up to PANEL_ROWS channels (vec.h). With one
 * channel a group (depthwise) there is nothing to share: those run in index order and step over padding, so that the
 * result may lie over the operand as far as it never passes what is still read. */

#ifndef NETC_CONV
#define NETC_CONV
enum { CONV_ROW = 64 };
typedef struct Conv {
    size_t n, groups, ic, oc; /* batch; channels of one group */
    size_t id, ih, iw, od, oh, ow; /* extents of operand and result: depth, height, width */
    size_t kd, kh, kw, sd, sh, sw, dd, dh, dw, pd, ph, pw; /* kernel, stride, dilation, padding before */
} Conv;

/* Results [*lo, *hi) of those at [first, first + n) meet kernel element k inside an axis of `in` elements. */
KERNEL void conv_meets(size_t first, size_t n, size_t in, size_t stride, size_t offset, size_t pad, size_t *lo,
                       size_t *hi) {
    size_t skip = offset < pad ? (pad - offset + stride - 1) / stride : 0; /* the first result inside */
    size_t end = in + pad > offset ? (in + pad - offset - 1) / stride + 1 : 0; /* behind the last */
    *lo = skip > first ? skip - first : 0;
    *hi = end > first ? end - first : 0;
    *hi = *hi < n ? *hi : n;
    *lo = *lo < *hi ? *lo : *hi;
}
#endif

/* What n results from place `at` on multiply: rows of a panel, one for each element of the sum (a channel, a place
 * in its window) from `first` on. The image's channels begin at x's plane `base`. */
KERNEL void K(conv_fill)(num *panel, const void *env, num (*x)(const void *, size_t, size_t), size_t base, size_t first,
                         size_t rows, size_t at, size_t n, Conv s) {
    const size_t window = s.kd * s.kh * s.kw;
    for (size_t k = 0; k < window; k++) {
        const size_t c = (first + window - 1 - k) / window, end = (first + rows + window - 1 - k) / window;
        for (size_t t = 0, len; t < n; t += len) { /* rows of results, or what the panel has of them */
            const size_t w = (at + t) % s.ow, h = (at + t) / s.ow % s.oh, d = (at + t) / s.ow / s.oh;
            const size_t z = d * s.sd + k / s.kw / s.kh * s.dd - s.pd, v = h * s.sh + k / s.kw % s.kh * s.dh - s.ph;
            size_t lo = 0, hi = 0;
            len = s.ow - w < n - t ? s.ow - w : n - t;
            if (z < s.id && v < s.ih) conv_meets(w, len, s.iw, s.sw, k % s.kw * s.dw, s.pw, &lo, &hi);
            const size_t from = (z * s.ih + v) * s.iw + w * s.sw + k % s.kw * s.dw - s.pw;
            for (size_t i = c; i < end; i++) {
                num *row = panel + (i * window + k - first) * K(PANEL) + t;
                for (size_t j = 0; j < lo; j++) row[j] = 0;
                /* + 0 keeps it a loop of vectors: a plain copy becomes a call of memcpy, dear for so few elements. */
                for (size_t j = lo; j < hi; j++) row[j] = x(env, base + i, from + j * s.sw) + (num)0;
                for (size_t j = hi; j < len; j++) row[j] = 0;
            }
        }
    }
}

/* Products of the weights, as a matrix [oc, ic * window], and panels of what they meet. */
KERNEL void K(conv_panels)(const void *env, num (*x)(const void *, size_t, size_t), num (*w)(const void *, size_t),
                           num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    const size_t depth = s.ic * s.kd * s.kh * s.kw, places = s.od * s.oh * s.ow,
                 width = K(panel_vecs)(places) * K(LANES);
    for (size_t image = 0; image < s.n * s.groups; image++)
        for (size_t at = 0; at < places; at += width)
            for (size_t o = 0; o < s.oc; o += PANEL_ROWS) {
                _Alignas(64) num panel[PANEL_DEPTH * K(PANEL)], sum[PANEL_ROWS * K(PANEL)];
                const size_t channel = image % s.groups * s.oc + o,
                             count = s.oc - o < PANEL_ROWS ? s.oc - o : PANEL_ROWS;
                const size_t n = places - at < width ? places - at : width, vecs = (n + K(LANES) - 1) / K(LANES);
                for (size_t r = 0; r < count; r++) {
                    const num start = bias ? bias(env, channel + r) : 0;
                    for (size_t t = 0; t < vecs * K(LANES); t++) sum[r * K(PANEL) + t] = start;
                }
                for (size_t k = 0; k < depth; k += PANEL_DEPTH) {
                    const size_t rows = depth - k < PANEL_DEPTH ? depth - k : PANEL_DEPTH;
                    K(conv_fill)(panel, env, x, image * s.ic, k, rows, at, n, s);
                    for (size_t r = 0; n % K(LANES) && r < rows; r++)
                        for (size_t t = n; t < vecs * K(LANES); t++) panel[r * K(PANEL) + t] = 0;
                    K(panel)(sum, env, w, channel * depth + k, depth, 1, panel, rows, count, s.oc, vecs);
                }
                for (size_t r = 0; r < count; r++)
                    for (size_t t = 0; t < n; t++)
                        y(env, (image * s.oc + o + r) * places + at + t, sum[r * K(PANEL) + t]);
            }
}

/* One channel a group: a row of results at a time, in index order. */
KERNEL void K(conv_rows)(const void *env, num (*x)(const void *, size_t, size_t), num (*w)(const void *, size_t),
                         num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    for (size_t image = 0; image < s.n * s.groups; image++)
        for (size_t o = 0; o < s.oc; o++) {
            const size_t channel = image % s.groups * s.oc + o;
            for (size_t d = 0; d < s.od; d++)
                for (size_t h = 0; h < s.oh; h++)
                    for (size_t first = 0; first < s.ow; first += CONV_ROW) {
                        const size_t n = s.ow - first < CONV_ROW ? s.ow - first : CONV_ROW;
                        num acc[CONV_ROW];
                        const num start = bias ? bias(env, channel) : 0;
                        for (size_t t = 0; t < n; t++) acc[t] = start;
                        for (size_t kd = 0; kd < s.kd; kd++) {
                            const size_t z = d * s.sd + kd * s.dd - s.pd;
                            if (z >= s.id) continue;
                            for (size_t kh = 0; kh < s.kh; kh++) {
                                const size_t v = h * s.sh + kh * s.dh - s.ph;
                                if (v >= s.ih) continue;
                                const size_t row = (z * s.ih + v) * s.iw;
                                for (size_t kw = 0; kw < s.kw; kw++) {
                                    size_t lo, hi;
                                    conv_meets(first, n, s.iw, s.sw, kw * s.dw, s.pw, &lo, &hi);
                                    const size_t at = row + first * s.sw + kw * s.dw - s.pw;
                                    const num weight = w(env, ((channel * s.kd + kd) * s.kh + kh) * s.kw + kw);
                                    for (size_t t = lo; t < hi; t++) acc[t] += weight * x(env, image, at + t * s.sw);
                                }
                            }
                        }
                        for (size_t t = 0; t < n; t++)
                            y(env, (((image * s.oc + o) * s.od + d) * s.oh + h) * s.ow + first + t, acc[t]);
                    }
        }
}

/* x(channel of the batch, place in it) of [n, groups * ic, id, ih, iw], w [groups * oc, ic, kd, kh, kw], bias
 * [groups * oc] or NULL, y [n, groups * oc, od, oh, ow] */
KERNEL void K(conv)(const void *env, num (*x)(const void *, size_t, size_t), num (*w)(const void *, size_t),
                    num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    if (s.ic == 1 && s.groups > 1)
        K(conv_rows)(env, x, w, bias, y, s);
    else
        K(conv_panels)(env, x, w, bias, y, s);
}

/* A transposed convolution whose windows lie side by side, each result in one of them: a product of the weights, as a
 * matrix [oc * window, ic], and x's places, whose results are laid out in windows. */
KERNEL void K(conv_transpose_apart)(const void *env, num (*x)(const void *, size_t), num (*w)(const void *, size_t),
                                    num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    const size_t window = s.kd * s.kh * s.kw, all = s.oc * window, places = s.id * s.ih * s.iw, width = K(PANEL);
    for (size_t image = 0; image < s.n * s.groups; image++)
        for (size_t at = 0; at < places; at += width)
            for (size_t o = 0; o < all; o += PANEL_ROWS) {
                _Alignas(64) num panel[PANEL_DEPTH * K(PANEL)], sum[PANEL_ROWS * K(PANEL)];
                const size_t n = places - at < width ? places - at : width,
                             count = all - o < PANEL_ROWS ? all - o : PANEL_ROWS;
                const size_t group = image % s.groups;
                for (size_t r = 0; r < count; r++)
                    for (size_t t = 0; t < width; t++)
                        sum[r * K(PANEL) + t] = bias ? bias(env, group * s.oc + (o + r) / window) : 0;
                for (size_t k = 0; k < s.ic; k += PANEL_DEPTH) {
                    const size_t depth = s.ic - k < PANEL_DEPTH ? s.ic - k : PANEL_DEPTH;
                    for (size_t q = 0; q < depth; q++)
                        for (size_t t = 0; t < width; t++)
                            panel[q * K(PANEL) + t] = t < n ? x(env, (image * s.ic + k + q) * places + at + t) : 0;
                    K(panel)(sum, env, w, (group * s.ic + k) * all + o, 1, all, panel, depth, count, all, PANEL_VECS);
                }
                for (size_t r = 0; r < count; r++) {
                    const size_t channel = image * s.oc + (o + r) / window, e = (o + r) % window;
                    const size_t kd = e / s.kw / s.kh, kh = e / s.kw % s.kh, kw = e % s.kw;
                    for (size_t t = 0; t < n; t++) {
                        const size_t p = at + t, d = p / s.iw / s.ih * s.kd + kd, h = p / s.iw % s.ih * s.kh + kh;
                        y(env, ((channel * s.od + d) * s.oh + h) * s.ow + p % s.iw * s.kw + kw, sum[r * K(PANEL) + t]);
                    }
                }
            }
}

/* x [n, groups * ic, id, ih, iw], w [groups * ic, oc, kd, kh, kw]: each element of x adds to the results at i * stride
 * - pad + k * dilation. A row of results gathers what its kernel rows reach. */
KERNEL void K(conv_transpose_rows)(const void *env, num (*x)(const void *, size_t), num (*w)(const void *, size_t),
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

KERNEL void K(conv_transpose)(const void *env, num (*x)(const void *, size_t), num (*w)(const void *, size_t),
                              num (*bias)(const void *, size_t), void (*y)(const void *, size_t, num), Conv s) {
    const int apart = s.sd == s.kd && s.sh == s.kh && s.sw == s.kw && (s.dd == 1 || s.kd == 1) &&
                      (s.dh == 1 || s.kh == 1) && (s.dw == 1 || s.kw == 1);
    const int whole = s.od == s.id * s.kd && s.oh == s.ih * s.kh && s.ow == s.iw * s.kw && s.pd + s.ph + s.pw == 0;
    if (apart && whole)
        K(conv_transpose_apart)(env, x, w, bias, y, s);
    else
        K(conv_transpose_rows)(env, x, w, bias, y, s);
}
