/* conv.c - convolutions and pools as calls of kernels/c/conv.h and pool.h: geometry with every axis in three, those
 * that a conv1d or conv2d lacks 1 in front. A convolution of one element a window, stride 1, is one row. */
#include "backend/c/c.h"

#include "ops/axes.h"
#include "ops/pool.h"
#include "ops/window.h"

#include <inttypes.h>

enum { D, H, W };

typedef struct Geometry {
    uint64_t in[3], out[3], kernel[3], stride[3], dilation[3], begin[3], end[3];
} Geometry;

static void read_ints(const Op *op, AttrName name, unsigned n, uint64_t *v) {
    int64_t x[2 * WINDOW_AXES];
    if (!op_attr(op, name)) return;
    uint32_t count = op_ints(op, name, x, 2 * WINDOW_AXES);
    for (uint32_t i = 0; i < count; i++) {
        if (count > n && i >= n) v[2 * WINDOW_AXES - n + i - n] = (uint64_t)x[i];
        else v[WINDOW_AXES - n + i] = (uint64_t)x[i];
    }
}

static Geometry geometry(const Op *op, unsigned n) {
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[0]->type.shape;
    Geometry g = {.in = {1, 1, 1}, .out = {1, 1, 1}, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    uint64_t padding[2 * WINDOW_AXES] = {0};
    for (unsigned i = 0; i < n; i++) {
        g.in[WINDOW_AXES - n + i] = x->dim[x->rank - n + i];
        g.out[WINDOW_AXES - n + i] = y->dim[y->rank - n + i];
    }
    read_ints(op, A_kernel_size, n, g.kernel);
    read_ints(op, A_stride, n, g.stride);
    read_ints(op, A_dilation, n, g.dilation);
    read_ints(op, A_padding, n, padding);
    for (unsigned i = 0; i < WINDOW_AXES; i++) {
        g.begin[i] = padding[i];
        g.end[i] = padding[WINDOW_AXES + i];
    }
    return g;
}

static bool is_one_row(const Geometry *g) {
    for (unsigned i = 0; i < WINDOW_AXES; i++)
        if (g->kernel[i] != 1 || g->stride[i] != 1 || g->begin[i] != 0 || g->end[i] != 0) return false;
    return true;
}

static void put_axes(StepText *s, const char *names, const uint64_t v[3]) {
    char c = names[0];
    step_line(s, "    .%cd = %" PRIu64 ", .%ch = %" PRIu64 ", .%cw = %" PRIu64 ",", c, v[D], c, v[H], c, v[W]);
}

void step_conv(StepText *s) {
    const Op *op = s->anchor;
    bool transposed =
        op->kind == OP_CONV_TRANSPOSE1D || op->kind == OP_CONV_TRANSPOSE2D || op->kind == OP_CONV_TRANSPOSE3D;
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[0]->type.shape;
    uint64_t groups = (uint64_t)op_int(op, A_groups);
    Geometry g = geometry(op, x->rank - 2u);
    if (!transposed && is_one_row(&g)) {
        g.in[W] = g.out[W] = g.in[D] * g.in[H] * g.in[W];
        g.in[D] = g.in[H] = g.out[D] = g.out[H] = 1;
    }
    step_line(s, "static const Conv shape = {");
    step_line(s, "    .n = %" PRIu64 ", .groups = %" PRIu64 ", .ic = %" PRIu64 ", .oc = %" PRIu64 ",", x->dim[0],
              groups, x->dim[1] / groups, y->dim[1] / groups);
    put_axes(s, "i", g.in);
    put_axes(s, "o", g.out);
    put_axes(s, "k", g.kernel);
    put_axes(s, "s", g.stride);
    put_axes(s, "d", g.dilation);
    put_axes(s, "p", g.begin);
    step_line(s, "};");
    const char *name = kernel(s, FAMILY_CONV, transposed ? "conv_transpose" : "conv");
    const uint64_t plane = g.in[D] * g.in[H] * g.in[W];
    const char *in = transposed ? cb_operand(s, "x", op, 0) : cb_plane(s, "x", op, 0, plane);
    const char *weight = cb_load(s, "w", operand(s, op, 1), s->arith);
    const char *bias = cb_load(s, "bias", bias_of(s->e->g, s->e->p, op, 2), s->arith), *out = cb_store(s, "y", op);
    step_line(s, "%s(env, %s, %s, %s, %s, shape);", name, in, weight, bias, out);
}

static const char *lowest(Arena *a, DType d) {
    if (dtype_is_float(d)) return "-INFINITY";
    if (d == DT_U8 || d == DT_U4) return "0";
    return whole_text(a, -(INT64_C(1) << (dtype_bits(d) - 2)) * 2);
}

void step_pool(StepText *s) {
    const Op *op = s->anchor;
    Pool p = pool_of(op->kind);
    const Shape *y = &op->out[0]->type.shape;
    Geometry g = geometry(op, p.n);
    uint64_t images = 1;
    for (unsigned i = 0; i + p.n < y->rank; i++) images *= y->dim[i];
    bool padded = p.kind == POOL_SLIDING && !p.max && op_bool(op, A_count_include_pad);
    int64_t divisor = op_attr(op, A_divisor_override) ? op_int(op, A_divisor_override) : 0;
    step_line(s, "static const Pool shape = {");
    step_line(s, "    .n = %" PRIu64 ", .adaptive = %d, .padded = %d, .divisor = %" PRId64 ",", images,
              p.kind != POOL_SLIDING, padded, divisor);
    put_axes(s, "i", g.in);
    put_axes(s, "o", g.out);
    put_axes(s, "k", g.kernel);
    put_axes(s, "s", g.stride);
    put_axes(s, "d", g.dilation);
    put_axes(s, "p", g.begin);
    put_axes(s, "e", g.end);
    step_line(s, "};");
    const char *name = kernel(s, FAMILY_POOL, p.max ? "max_pool" : "avg_pool");
    const char *in = cb_operand(s, "x", op, 0), *out = cb_store(s, "y", op);
    if (p.max)
        step_line(s, "%s(env, %s, %s, shape, %s);", name, in, out, lowest(s->e->c->scratch, op->in[0]->type.dtype));
    else step_line(s, "%s(env, %s, %s, shape);", name, in, out);
}
