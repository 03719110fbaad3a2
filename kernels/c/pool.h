/* pool.h - pooling: each result is the greatest element or the average of a box of places, which a sliding window, the
 * adaptive rule or the whole image gives. Results are made in index order, each whole before it is written, so that
 * they may lie over the operand as far as they never pass what is still read.
 *
 * Greatest: padding is never chosen, NaN is; a window of padding alone gives `lowest`. Average: the divisor is the one
 * given, or how many elements the window has in x, or with `padded` in x and its padding; what ceil_mode adds beyond
 * the padding counts nowhere. */

#ifndef NETC_POOL
#define NETC_POOL
typedef struct Pool {
    size_t n;                                             /* images: batch * channels */
    size_t id, ih, iw, od, oh, ow;
    size_t kd, kh, kw, sd, sh, sw, dd, dh, dw, pd, ph, pw, ed, eh,
        ew; /* kernel, stride, dilation, padding before and after */
    int adaptive, padded;
    size_t divisor;                                       /* 0: not given */
} Pool;
typedef struct PoolRange { size_t first, end, step, counted; } PoolRange;

KERNEL PoolRange pool_range(int adaptive, size_t in, size_t out, size_t o, size_t k, size_t stride, size_t dilation,
                            size_t before, size_t after) {
    PoolRange r;
    if (adaptive) {
        r.first = o * in / out;
        r.end = ((o + 1) * in + out - 1) / out;
        r.step = 1;
        r.counted = r.end - r.first;
        return r;
    }
    const size_t at = o * stride, stop = at + dilation * (k - 1) + 1; /* counted from the padding's begin */
    const size_t reach = stop < in + before + after ? stop : in + before + after;
    r.step = dilation;
    r.counted = reach - at;
    r.first = at >= before ? at - before : (dilation - (before - at) % dilation) % dilation;
    r.end = stop <= before ? 0 : stop - before < in ? stop - before : in;
    return r;
}
#endif

KERNEL void K(max_pool)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, num), Pool s,
                        num lowest) {
    for (size_t image = 0; image < s.n; image++)
        for (size_t d = 0; d < s.od; d++)
            for (size_t h = 0; h < s.oh; h++)
                for (size_t w = 0; w < s.ow; w++) {
                    const PoolRange a = pool_range(s.adaptive, s.id, s.od, d, s.kd, s.sd, s.dd, s.pd, s.ed);
                    const PoolRange b = pool_range(s.adaptive, s.ih, s.oh, h, s.kh, s.sh, s.dh, s.ph, s.eh);
                    const PoolRange c = pool_range(s.adaptive, s.iw, s.ow, w, s.kw, s.sw, s.dw, s.pw, s.ew);
                    num most = lowest;
                    for (size_t i = a.first; i < a.end; i += a.step)
                        for (size_t j = b.first; j < b.end; j += b.step)
                            for (size_t k = c.first; k < c.end; k += c.step) {
                                const num v = x(env, ((image * s.id + i) * s.ih + j) * s.iw + k), same = v;
                                most = v > most || v != same ? v : most;
                            }
                    y(env, ((image * s.od + d) * s.oh + h) * s.ow + w, most);
                }
}

KERNEL void K(avg_pool)(const void *env, num (*x)(const void *, size_t), void (*y)(const void *, size_t, num), Pool s) {
    for (size_t image = 0; image < s.n; image++)
        for (size_t d = 0; d < s.od; d++)
            for (size_t h = 0; h < s.oh; h++)
                for (size_t w = 0; w < s.ow; w++) {
                    const PoolRange a = pool_range(s.adaptive, s.id, s.od, d, s.kd, s.sd, 1, s.pd, s.ed);
                    const PoolRange b = pool_range(s.adaptive, s.ih, s.oh, h, s.kh, s.sh, 1, s.ph, s.eh);
                    const PoolRange c = pool_range(s.adaptive, s.iw, s.ow, w, s.kw, s.sw, 1, s.pw, s.ew);
                    const size_t inside = (a.end - a.first) * (b.end - b.first) * (c.end - c.first);
                    const size_t counted = s.padded ? a.counted * b.counted * c.counted : inside;
                    double sum = 0;
                    for (size_t i = a.first; i < a.end; i++)
                        for (size_t j = b.first; j < b.end; j++)
                            for (size_t k = c.first; k < c.end; k++)
                                sum += (double)x(env, ((image * s.id + i) * s.ih + j) * s.iw + k);
                    y(env, ((image * s.od + d) * s.oh + h) * s.ow + w,
                      a.first >= a.end || b.first >= b.end || c.first >= c.end
                          ? 0
                          : (num)(sum / (double)(s.divisor ? s.divisor : counted)));
                }
}
