/* eval_shape.c - the same elements under another shape, or in another order of axes: a copy, or one walk by strides.
 * Shuffles are permutations of axes that were cut in two; axes before those stay together. O(elements). */
#include "ops/axes.h"
#include "ops/eval_move.h"

/* Steps of x's own axes. */
static void own_steps(const Shape *s, uint64_t *step) {
    uint64_t n = 1;
    for (unsigned i = s->rank; i-- > 0; n *= s->dim[i]) step[i] = n;
}

static void permute(Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t step[MAX_RANK];
    int64_t dims[MAX_RANK];
    Strides r = {0};
    own_steps(s, step);
    for (unsigned i = 0; i < s->rank; i++) dims[i] = i;
    if (e->op->kind == OP_PERMUTE) {
        op_ints(e->op, A_dims, dims, MAX_RANK);
    } else if (s->rank > 0) {
        int64_t a = op_int(e->op, A_dim0), b = op_int(e->op, A_dim1);
        dims[a] = b;
        dims[b] = a;
    }
    for (unsigned i = 0; i < s->rank; i++) strides_push(&r, s->dim[dims[i]], step[dims[i]]);
    move_strided(e->out, e->in[0], r);
}

/* A grown or new axis reads the same elements again. */
static void expand(Eval *e) {
    const Shape *s = &e->in[0]->type.shape, *to = &e->out->type.shape;
    unsigned fresh = to->rank - s->rank;
    uint64_t step[MAX_RANK];
    Strides r = {0};
    own_steps(s, step);
    for (unsigned i = 0; i < to->rank; i++)
        strides_push(&r, to->dim[i], i < fresh || s->dim[i - fresh] == 1 ? 0 : step[i - fresh]);
    move_strided(e->out, e->in[0], r);
}

/* [N, groups, C / groups, ...] becomes [N, C / groups, groups, ...]. */
static void channel_shuffle(Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t groups = (uint64_t)op_int(e->op, A_groups), width = s->dim[1] / groups, behind = elems_behind(s, 1);
    Strides r = {0};
    strides_push(&r, s->dim[0], s->dim[1] * behind);
    strides_push(&r, width, behind);
    strides_push(&r, groups, width * behind);
    strides_push(&r, behind, 1);
    move_strided(e->out, e->in[0], r);
}

/* [B, C, f, f, H, W] becomes [B, C, H, f, W, f]. */
static void pixel_shuffle(Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t f = (uint64_t)op_int(e->op, A_upscale_factor), h = s->dim[s->rank - 2], w = s->dim[s->rank - 1];
    uint64_t all = s->dim[s->rank - 3], c = all / (f * f);
    Strides r = {0};
    strides_push(&r, elems_before(s, s->rank - 3u), all * h * w);
    strides_push(&r, c, f * f * h * w);
    strides_push(&r, h, w);
    strides_push(&r, f, f * h * w);
    strides_push(&r, w, 1);
    strides_push(&r, f, h * w);
    move_strided(e->out, e->in[0], r);
}

/* [B, C, H, f, W, f] becomes [B, C, f, f, H, W]. */
static void pixel_unshuffle(Eval *e) {
    const Shape *s = &e->in[0]->type.shape;
    uint64_t f = (uint64_t)op_int(e->op, A_downscale_factor), h = s->dim[s->rank - 2], w = s->dim[s->rank - 1];
    uint64_t c = s->dim[s->rank - 3];
    Strides r = {0};
    strides_push(&r, elems_before(s, s->rank - 3u), c * h * w);
    strides_push(&r, c, h * w);
    strides_push(&r, f, w);
    strides_push(&r, f, 1);
    strides_push(&r, h / f, f * w);
    strides_push(&r, w / f, f);
    move_strided(e->out, e->in[0], r);
}

void eval_shape(Eval *e) {
    switch (e->op->kind) {
    case OP_TRANSPOSE: case OP_PERMUTE: permute(e); break;
    case OP_EXPAND: expand(e); break;
    case OP_CHANNEL_SHUFFLE: channel_shuffle(e); break;
    case OP_PIXEL_SHUFFLE: pixel_shuffle(e); break;
    case OP_PIXEL_UNSHUFFLE: pixel_unshuffle(e); break;
    default:                                              /* view and its like: the elements in their order */
        move_run(e->out, 0, e->in[0], 0, e->out->n);
    }
}
