/* eval_conv.c - convolution and transposed convolution as products (im2col; Chellapilla et al. 2006): each result
 * element is the product of a row of weights with the patch of x that meets it, and 0 where the window is outside x.
 *
 * Both kinds have one form. Result place o and kernel place k meet the element of x at o * stride - begin + k *
 * dilation or, transposed, at (o + begin - k * dilation) / stride where that is whole: a transposed convolution
 * scatters element i of x to i * stride - begin + k * dilation. Patches are made for PANEL places at a time and serve
 * all output channels of their group. O(multiply-adds + patches); with few channels the patches are what it costs. */
#include "ops/eval.h"
#include "ops/window.h"

/* Everything in WINDOW_AXES axes; those that a conv1d or conv2d does not have are 1 in front. */
typedef struct Conv {
    bool transposed;
    Window window;
    uint64_t batch, groups, in_channels, out_channels;    /* channels of one group */
    int64_t in[WINDOW_AXES], out[WINDOW_AXES];
    uint64_t in_places, out_places, patch;                /* products of in, of out; in_channels * kernel */
} Conv;

static bool is_transposed(OpKind kind) {
    return kind == OP_CONV_TRANSPOSE1D || kind == OP_CONV_TRANSPOSE2D || kind == OP_CONV_TRANSPOSE3D;
}

static Conv conv_of(const Eval *e) {
    const Op *op = e->op;
    const Shape *x = &e->in[0]->type.shape, *y = &e->out[0].type.shape;
    unsigned n = x->rank - 2u, lead = WINDOW_AXES - n;
    Conv c = {.transposed = is_transposed(op->kind), .window = window_of_op(op, n), .batch = x->dim[0],
              .groups = (uint64_t)op_int(op, A_groups), .in = {1, 1, 1}, .out = {1, 1, 1}};
    c.in_places = c.out_places = 1;
    c.in_channels = c.patch = x->dim[1] / c.groups;
    c.out_channels = y->dim[1] / c.groups;
    for (unsigned i = 0; i < n; i++) {
        c.in[lead + i] = (int64_t)x->dim[2 + i];
        c.out[lead + i] = (int64_t)y->dim[2 + i];
        c.in_places *= x->dim[2 + i];
        c.out_places *= y->dim[2 + i];
        c.patch *= (uint64_t)c.window.kernel[lead + i];
    }
    return c;
}

/* Where result place o and kernel place k meet x on an axis; -1: nowhere. */
static int64_t meets(const Conv *c, unsigned axis, int64_t o, int64_t k) {
    int64_t stride = c->window.stride[axis], begin = c->window.begin[axis], step = k * c->window.dilation[axis], at;
    if (c->transposed) {
        at = o + begin - step;
        if (at % stride != 0) return -1;
        at /= stride;
    } else {
        at = o * stride - begin + step;
    }
    return at >= 0 && at < c->in[axis] ? at : -1;
}

/* The patch of one result place into column `column` of a panel: [channel, kernel...] downwards. */
static void gather_patch(const Conv *c, const double *x, uint64_t place, double *column) {
    int64_t w = (int64_t)place % c->out[2], h = (int64_t)place / c->out[2] % c->out[1],
            d = (int64_t)place / c->out[2] / c->out[1];
    const int64_t *kernel = c->window.kernel;
    for (uint64_t channel = 0; channel < c->in_channels; channel++, x += c->in_places)
        for (int64_t kd = 0; kd < kernel[0]; kd++) {
            int64_t z = meets(c, 0, d, kd);
            for (int64_t kh = 0; kh < kernel[1]; kh++) {
                int64_t y = meets(c, 1, h, kh);
                for (int64_t kw = 0; kw < kernel[2]; kw++, column += PANEL) {
                    int64_t at = meets(c, 2, w, kw);
                    *column = z < 0 || y < 0 || at < 0 ? 0 : x[(z * c->in[1] + y) * c->in[2] + at];
                }
            }
        }
}

/* A group's weights with the result's channels as rows: as they are, or for [in, out, kernel...] copied. */
static const double *weight_rows(const Eval *e, const Conv *c, uint64_t group) {
    uint64_t kernel = c->patch / c->in_channels;
    const double *w = e->in[1]->f + group * c->out_channels * c->patch;
    if (!c->transposed) return w;
    double *rows = NEW_ARRAY(e->arena, double, c->out_channels * c->patch);
    for (uint64_t o = 0; o < c->out_channels; o++)
        for (uint64_t i = 0; i < c->in_channels; i++)
            for (uint64_t k = 0; k < kernel; k++)
                rows[o * c->patch + i * kernel + k] = w[(i * c->out_channels + o) * kernel + k];
    return rows;
}

static void conv_image(const Conv *c, const double *x, const double *weight, double *panel, double *y) {
    for (uint64_t place = 0; place < c->out_places; place += PANEL) {
        uint64_t left = c->out_places - place;
        unsigned columns = left < PANEL ? (unsigned)left : PANEL;
        for (unsigned j = 0; j < columns; j++) gather_patch(c, x, place + j, panel + j);
        panel_product(c->out_channels, c->patch, weight, panel, columns, y + place, c->out_places);
    }
}

void eval_conv(Eval *e) {
    Conv c = conv_of(e);
    const Tensor *bias = eval_in(e, 2);
    uint64_t channels = c.groups * c.out_channels;
    for (uint64_t i = 0; bias && i < e->out[0].n; i++) e->out[0].f[i] = bias->f[i / c.out_places % channels];
    double *panel = NEW_ARRAY(e->arena, double, c.patch * PANEL);
    for (uint64_t g = 0; g < c.groups; g++) {
        const double *weight = weight_rows(e, &c, g);
        for (uint64_t n = 0; n < c.batch; n++)
            conv_image(&c, e->in[0]->f + (n * c.groups + g) * c.in_channels * c.in_places, weight, panel,
                       e->out[0].f + (n * c.groups + g) * c.out_channels * c.out_places);
    }
}
