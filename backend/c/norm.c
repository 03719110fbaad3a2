/* norm.c - normalisations, soft maxima and resampling as calls of kernels/c/norm.h and interpolate.h. */
#include "backend/c/c.h"

#include "ops/axes.h"

#include <inttypes.h>
#include <string.h>

#define U64 "%" PRIu64

static uint64_t last_axes(const Op *op) {
    const Shape *s = &op->in[0]->type.shape;
    uint64_t n = 1;
    for (unsigned i = s->rank - (unsigned)op_int(op, A_dims); i < s->rank; i++) n *= s->dim[i];
    return n;
}

static const char *real_attr(StepText *s, AttrName name, Arith as) {
    return number_text(s->e->c->scratch, as, op_float(s->anchor, name));
}

static void standardise(StepText *s, uint64_t width, uint64_t run, uint64_t count) {
    const Op *op = s->anchor;
    const char *name = kernel(s, FAMILY_NORM, "standardise"), *x = cb_operand(s, "x", op, 0);
    const char *weight = cb_load(s, "weight", operand(s, op, 1), s->arith),
               *bias = cb_load(s, "bias", operand(s, op, 2), s->arith);
    step_line(s, "%s(env, %s, %s, %s, %s, " U64 ", " U64 ", " U64 ", " U64 ", %s);", name, x, weight, bias,
              cb_store(s, "y", op), op->in[0]->nelem / width, width, run, count, real_attr(s, A_eps, ARITH_F64));
}

static void along_axis(StepText *s, const char *base, const char *rest) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    unsigned axis = (unsigned)op_int(op, A_dim);
    const char *name = kernel(s, FAMILY_NORM, base), *in = cb_operand(s, "x", op, 0);
    step_line(s, "%s(env, %s, %s, " U64 ", " U64 ", " U64 ", %s);", name, in, cb_store(s, "y", op),
              x->rank ? elems_before(x, axis) : 1, x->rank ? x->dim[axis] : 1, x->rank ? elems_behind(x, axis) : 1,
              rest);
}

static void batch_norm(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    const char *name = kernel(s, FAMILY_NORM, "batch_norm"), *in = cb_operand(s, "x", op, 0);
    const char *weight = cb_load(s, "weight", operand(s, op, 1), s->arith),
               *bias = cb_load(s, "bias", operand(s, op, 2), s->arith);
    step_line(s, "%s(env, %s, %s, %s, %s, " U64 ", " U64 ", " U64 ", %s);", name, in, weight, bias,
              cb_store(s, "y", op), x->dim[0], x->dim[1], elems_behind(x, 1), real_attr(s, A_eps, ARITH_F64));
}

static void response_norm(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    const char *name = kernel(s, FAMILY_NORM, "local_response_norm"), *in = cb_operand(s, "x", op, 0);
    step_line(s, "%s(env, %s, %s, " U64 ", " U64 ", " U64 ", %" PRId64 ", %s, %s, %s);", name, in, cb_store(s, "y", op),
              x->dim[0], x->dim[1], elems_behind(x, 1), op_int(op, A_size), real_attr(s, A_alpha, s->arith),
              real_attr(s, A_beta, s->arith), real_attr(s, A_k, s->arith));
}

void step_norm(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    Arena *a = s->e->c->scratch;
    uint64_t groups = op->kind == OP_GROUP_NORM ? (uint64_t)op_int(op, A_num_groups) : x->rank > 1 ? x->dim[1] : 1;
    switch (op->kind) {
    case OP_SOFTMAX: along_axis(s, "softmax", "0"); break;
    case OP_LOG_SOFTMAX: along_axis(s, "softmax", "1"); break;
    case OP_NORMALIZE:
        along_axis(s, "normalize",
                   arena_printf(a, "%s, %s", real_attr(s, A_p, ARITH_F64), real_attr(s, A_eps, s->arith)));
        break;
    case OP_LAYER_NORM: standardise(s, last_axes(op), 1, last_axes(op)); break;
    case OP_GROUP_NORM: case OP_INSTANCE_NORM:
        standardise(s, x->dim[1] / groups * elems_behind(x, 1), elems_behind(x, 1), x->dim[1]);
        break;
    case OP_RMS_NORM: {
        const char *name = kernel(s, FAMILY_NORM, "rms_norm"), *in = cb_operand(s, "x", op, 0);
        const char *weight = cb_load(s, "weight", operand(s, op, 1), s->arith);
        step_line(s, "%s(env, %s, %s, %s, " U64 ", " U64 ", %s);", name, in, weight, cb_store(s, "y", op),
                  op->in[0]->nelem / last_axes(op), last_axes(op), real_attr(s, A_eps, ARITH_F64));
        break;
    }
    case OP_BATCH_NORM: batch_norm(s); break;
    case OP_LOCAL_RESPONSE_NORM: response_norm(s); break;
    default: ice("emit: %s is no normalisation", op->path);
    }
}

/* ---- interpolate ---- */

static const char *sample_mode(const char *mode) {
    if (strcmp(mode, "nearest") == 0) return "SAMPLE_NEAREST";
    if (strcmp(mode, "nearest-exact") == 0) return "SAMPLE_NEAREST_EXACT";
    if (strcmp(mode, "bicubic") == 0) return "SAMPLE_CUBIC";
    return strcmp(mode, "area") == 0 ? "SAMPLE_AREA" : "SAMPLE_LINEAR";
}

/* How far apart samples lie, in elements of the operand; nearest divides in float, as PyTorch does. */
static double spacing(uint64_t in, uint64_t out, double scale, bool corners, bool in_float) {
    if (corners) return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    if (scale > 0) return 1 / scale;
    return in_float ? (double)((float)in / (float)out) : (double)in / (double)out;
}

static void put_axis(StepText *s, char name, unsigned from_end, bool corners, bool in_float) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[0]->type.shape;
    const Datum *scales = op_attr(op, A_scale_factor);
    uint64_t in = 1, out = 1;
    double scale = 0;
    if (from_end + 2 < x->rank) {
        unsigned axis = x->rank - 1u - from_end;
        in = x->dim[axis];
        out = y->dim[axis];
        scale = scales ? number_of(&scales->list.p[axis - 2]) : 0;
    }
    step_line(s, "    .%c = {.in = " U64 ", .out = " U64 ", .step = %s},", name, in, out,
              number_text(s->e->c->scratch, ARITH_F64, spacing(in, out, scale, corners, in_float)));
}

/* What an integer tensor gets is rounded to nearest even and clamped to its range. */
static const char *sampled_store(StepText *s, const Value *v) {
    Emit *e = s->e;
    const char *name = arena_printf(e->c->scratch, "%s_step%" PRIu32 "_y", e->name, s->number), *value = "value";
    Arith as = arith_of(v->type.dtype);
    if (as == ARITH_F32) value = "(float)value";
    if (as == ARITH_I64)
        value = v->type.dtype == DT_U8 ? "(int64_t)nearbyint(value < 0 ? 0 : value > 255 ? 255 : value)"
                                       : "truncate_double(nearbyint(value))";
    sb_printf(&e->out, "KERNEL void %s(const void *env, size_t i, double value) {\n    %s\n}\n", name,
              store_text(s, v, "i", value));
    return name;
}

void step_interpolate(StepText *s) {
    const Op *op = s->anchor;
    const Shape *x = &op->in[0]->type.shape;
    const Datum *corners = op_attr(op, A_align_corners);
    bool aligned = corners && corners->b, in_double = op->in[0]->type.dtype == DT_F64;
    const char *mode = op_str(op, A_mode);
    bool in_float = !in_double && strncmp(mode, "nearest", 7) == 0;
    if (s->arith == ARITH_I64) s->arith = ARITH_F64;
    step_line(s, "static const Sampling shape = {");
    step_line(s, "    .n = " U64 ", .mode = %s, .corners = %d, .in_double = %d,", x->dim[0] * x->dim[1],
              sample_mode(mode), aligned, in_double);
    put_axis(s, 'd', 2, aligned, in_float);
    put_axis(s, 'h', 1, aligned, in_float);
    put_axis(s, 'w', 0, aligned, in_float);
    step_line(s, "};");
    const char *name = kernel(s, FAMILY_INTERPOLATE, "interpolate"), *in = cb_operand(s, "x", op, 0);
    step_line(s, "%s(env, %s, %s, shape);", name, in, sampled_store(s, op->out[0]));
}
