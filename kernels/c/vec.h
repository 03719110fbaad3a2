/* vec.h - vectors of numbers, and the inner loop of every product: a tile of TILE_ROWS rows by up to TILE_VECS
 * vectors of results, held in registers while it runs along the sum. One element of the left operand is broadcast
 * against vectors of the right one, which lie in a local panel; so a tile of r by v vectors does r * v products for
 * r + v loads.
 *
 * GCC's and Clang's vector extensions, as wide as the target's registers; elsewhere a vector is one number.
 * Every result is the same chain of multiply-adds along the sum whatever tile it falls into, so tiles change no
 * result. */

#ifndef NETC_VEC
#define NETC_VEC
#if !defined(__GNUC__)
#define VEC_BYTES 0
#elif defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16 /* SSE2, NEON; what has none of them splits it into numbers */
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Registers: 32 hold 24 sums, 16 hold 12. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define TILE_ROWS 8
#else
#define TILE_ROWS 4
#endif
/* A panel: PANEL_DEPTH rows of PANEL_VECS vectors, in L2; sums of PANEL_ROWS rows are kept beside it. Both are on the
 * stack, 96 KiB with vectors of 64 bytes. */
enum { TILE_VECS = 3, PANEL_VECS = 6, PANEL_DEPTH = 128, PANEL_ROWS = 128 };
#endif

#if VEC_BYTES
typedef num K(vec) __attribute__((vector_size(VEC_BYTES)));
#else
typedef num K(vec);
#endif
enum { K(LANES) = sizeof(K(vec)) / sizeof(num), K(PANEL) = PANEL_VECS * K(LANES) };

KERNEL K(vec) K(vec_load)(const num *p) {
    K(vec) v;
    memcpy(&v, p, sizeof v);
    return v;
}
KERNEL void K(vec_store)(num *p, K(vec) v) { memcpy(p, &v, sizeof v); }

/* sum[r][..] += a(first + r * stride + k * step) * b[k][..] over k < depth, for r < rows and `vecs` vectors. Rows
 * of sum and b are PANEL elements long. */
KERNEL void K(tile)(num *sum, const void *env, num (*a)(const void *, size_t), size_t first, size_t stride, size_t step,
                    const num *b, size_t depth, int rows, int vecs) {
    K(vec) acc[TILE_ROWS][TILE_VECS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vecs; v++) acc[r][v] = K(vec_load)(sum + r * K(PANEL) + v * K(LANES));
    }
    for (size_t k = 0; k < depth; k++) {
        K(vec) column[TILE_VECS];
        UNROLL
        for (int v = 0; v < vecs; v++) column[v] = K(vec_load)(b + k * K(PANEL) + v * K(LANES));
        UNROLL
        for (int r = 0; r < rows; r++) {
            const num left = a(env, first + (size_t)r * stride + k * step);
            UNROLL
            for (int v = 0; v < vecs; v++) acc[r][v] += left * column[v];
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vecs; v++) K(vec_store)(sum + r * K(PANEL) + v * K(LANES), acc[r][v]);
    }
}

/* One to PANEL_VECS vectors: 4 are 2 + 2, so that no tile is so narrow that its sums wait for each other. */
KERNEL void K(tiles)(num *sum, const void *env, num (*a)(const void *, size_t), size_t first, size_t stride,
                     size_t step, const num *b, size_t depth, int rows, size_t vecs) {
    size_t v = 0;
    for (; vecs - v >= 3 && vecs - v != 4; v += 3)
        K(tile)(sum + v * K(LANES), env, a, first, stride, step, b + v * K(LANES), depth, rows, 3);
    for (; vecs - v >= 2; v += 2)
        K(tile)(sum + v * K(LANES), env, a, first, stride, step, b + v * K(LANES), depth, rows, 2);
    if (v < vecs) K(tile)(sum + v * K(LANES), env, a, first, stride, step, b + v * K(LANES), depth, rows, 1);
}

/* sum [rows][PANEL] += the product of `rows` rows, a(first + row * stride + k * step), and the panel. `all` is what
 * rows is a part of, a multiple of TILE_ROWS before it: its rest says which narrower tiles there can be. */
KERNEL void K(panel)(num *sum, const void *env, num (*a)(const void *, size_t), size_t first, size_t stride,
                     size_t step, const num *b, size_t depth, size_t rows, size_t all, size_t vecs) {
    size_t r = 0;
    for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
        K(tiles)(sum + r * K(PANEL), env, a, first + r * stride, stride, step, b, depth, TILE_ROWS, vecs);
    if (all % TILE_ROWS & 4 && r + 4 <= rows) {
        K(tiles)(sum + r * K(PANEL), env, a, first + r * stride, stride, step, b, depth, 4, vecs);
        r += 4;
    }
    if (all % TILE_ROWS & 2 && r + 2 <= rows) {
        K(tiles)(sum + r * K(PANEL), env, a, first + r * stride, stride, step, b, depth, 2, vecs);
        r += 2;
    }
    if (all % TILE_ROWS & 1 && r < rows)
        K(tiles)(sum + r * K(PANEL), env, a, first + r * stride, stride, step, b, depth, 1, vecs);
}

/* n places in panels of `width` vectors: as even as can be. */
KERNEL size_t K(panel_vecs)(size_t n) {
    const size_t vecs = (n + K(LANES) - 1) / K(LANES), panels = (vecs + PANEL_VECS - 1) / PANEL_VECS;
    return panels ? (vecs + panels - 1) / panels : 1;
}
