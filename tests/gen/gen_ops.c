/* gen_ops.c - random operators. Each function finds operands it can take, writes one statement (or the few that belong
 * together) and binds the result with the shape it must have; false when no operand in scope fits. */
#include "tests/gen/gen.h"

#include <stdio.h>
#include <string.h>

#define ULL(x) ((unsigned long long)(x))

static const uint64_t LARGEST = 1 << 16;                  /* elements of a value: the programs are also run */

static bool fits(const GenValue *v) { return gen_elems(v) <= LARGEST && gen_elems(v) > 0; }

/* Writes "v = text", perhaps with an activation behind it. The result has storage of its own. */
static void define(Gen *g, GenValue v, const char *text) {
    static const char *const tails[] = {"relu", "gelu", "silu", "tanh", "leaky_relu(0.1)", "hardswish",
                                        "dropout(0.1)", "relu6"};
    bool tail = v.dtype == g->dtype && gen_chance(g, 20);
    if (tail) gen_line(g, "%s = (%s) |> %s", v.name, text, tails[gen_below(g, COUNT_OF(tails))]);
    else gen_line(g, "%s = %s", v.name, text);
    v.owns = !tail;
    gen_bind(g, v);
}

/* ---- images: float [N, C, H, W] ---- */

static bool conv(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x) return false;
    uint64_t k = GEN_PICK(g, 1, 1, 3, 3, 5), stride = GEN_PICK(g, 1, 1, 2), pad = gen_chance(g, 70) ? k / 2 : 0;
    uint64_t in = x->dim[1], out = GEN_PICK(g, 4, 8, 12, 16), groups = 1;
    if (x->dim[2] + 2 * pad < k || x->dim[3] + 2 * pad < k) return false;
    if (gen_chance(g, 20)) groups = out = in;
    else if (in % 4 == 0 && gen_chance(g, 10)) groups = 4;
    GenValue v = gen_like(g, x);
    v.dim[1] = out;
    for (unsigned a = 2; a < 4; a++) v.dim[a] = (x->dim[a] + 2 * pad - k) / stride + 1;
    if (!fits(&v)) return false;
    char from[32] = "";
    if (gen_chance(g, 20)) snprintf(from, sizeof from, "%llu -> ", ULL(in));
    bool same = stride == 1 && pad == k / 2 && gen_chance(g, 30);
    const char *pads = same ? "\"same\"" : arena_printf(g->out->arena, "%llu", ULL(pad));
    define(g, v, gen_call(g, x, "conv2d", "%s%llu, %llu, stride=%llu, padding=%s, groups=%llu, bias=%s", from,
                          ULL(out), ULL(k), ULL(stride), pads, ULL(groups), gen_chance(g, 50) ? "true" : "false"));
    return true;
}

static bool conv_transpose(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    v.dim[1] = GEN_PICK(g, 4, 6, 8);
    v.dim[2] *= 2;
    v.dim[3] *= 2;
    if (!fits(&v) || v.dim[2] > 40) return false;
    define(g, v, gen_call(g, x, "conv_transpose2d", "%llu, 2, stride=2", ULL(v.dim[1])));
    return true;
}

static bool pool(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x || x->dim[2] < 3 || x->dim[3] < 3) return false;
    static const char *const names[] = {"max_pool2d", "avg_pool2d"};
    bool three = gen_chance(g, 40);
    GenValue v = gen_like(g, x);
    for (unsigned a = 2; a < 4; a++) v.dim[a] = three ? (x->dim[a] - 1) / 2 + 1 : x->dim[a] / 2;
    define(g, v, gen_call(g, x, names[gen_below(g, 2)], three ? "3, stride=2, padding=1" : "2"));
    return true;
}

static bool adaptive_pool(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    v.dim[2] = v.dim[3] = GEN_PICK(g, 1, 1, 2, 3);
    if (v.dim[2] == 1 && gen_chance(g, 40)) define(g, v, gen_call(g, x, "global_avg_pool2d", "%s", ""));
    else define(g, v, gen_call(g, x, gen_chance(g, 70) ? "adaptive_avg_pool2d" : "adaptive_max_pool2d", "%llu",
                               ULL(v.dim[2])));
    return true;
}

static bool norm_image(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    uint64_t groups = x->dim[1] % 4 == 0 ? 4 : 1;
    switch (gen_elems(x) / x->dim[0] == groups ? 2 : gen_below(g, 4)) {   /* one element a group has no variance */
    case 0: define(g, v, gen_call(g, x, "group_norm", "%llu", ULL(groups))); break;
    case 1: define(g, v, gen_call(g, x, "local_response_norm", "3")); break;
    default: define(g, v, gen_call(g, x, "batch_norm", "%s", "")); break;
    }
    return true;
}

static bool resample(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    switch (gen_below(g, 4)) {
    case 0:
        v.dim[2] *= 2;
        v.dim[3] *= 2;
        if (!fits(&v) || v.dim[2] > 40) return false;
        define(g, v, gen_call(g, x, "interpolate", "scale_factor=2, mode=\"%s\"",
                              gen_chance(g, 50) ? "nearest" : "bilinear"));
        return true;
    case 1:
        v.dim[3] += 3;
        v.dim[2] += 1;
        define(g, v, gen_call(g, x, "pad", "(1, 2, 0, 1)"));
        return true;
    case 2:
        if (v.dim[1] % 4) return false;
        v.dim[1] /= 4;
        v.dim[2] *= 2;
        v.dim[3] *= 2;
        define(g, v, gen_call(g, x, "pixel_shuffle", "2"));
        return true;
    default:
        if (v.dim[1] % 2) return false;
        define(g, v, gen_call(g, x, "channel_shuffle", "2"));
        return true;
    }
}

/* ---- sequences: float [N, T, D] ---- */

static bool linear(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2 || x->rank > 3) return false;
    GenValue v = gen_like(g, x);
    v.dim[v.rank - 1] = GEN_PICK(g, 4, 8, 12, 16);
    define(g, v, gen_call(g, x, "linear", "%llu", ULL(v.dim[v.rank - 1])));
    return true;
}

static bool norm_rows(Gen *g) {
    static const char *const forms[] = {"layer_norm", "rms_norm", "softmax(dim=-1)", "log_softmax(dim=-1)"};
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2) return false;
    GenValue v = gen_like(g, x);
    gen_read(x);
    define(g, v, arena_printf(g->out->arena, "%s |> %s", x->name, forms[gen_below(g, COUNT_OF(forms))]));
    return true;
}

static bool attention(Gen *g) {
    GenValue *x = gen_find(g, gen_is_sequence);
    if (!x) return false;
    uint64_t n = x->dim[0], t = x->dim[1], d = x->dim[2], heads = d % 4 == 0 ? GEN_PICK(g, 1, 2, 4) : 1;
    GenValue v = gen_like(g, x);
    if (gen_chance(g, 40)) {
        define(g, v, gen_call(g, x, "multihead_attention", "%llu", ULL(heads)));
        return true;
    }
    unsigned id = g->nnames;
    gen_read(x);
    gen_line(g, "q%u, k%u, v%u = %s |> linear(%llu) |> chunk(3, dim=-1)", id, id, id, x->name, ULL(3 * d));
    for (const char *c = "qkv"; *c; c++)
        gen_line(g, "%c%u = %c%u |> view(%llu, %llu, %llu, %llu) |> transpose(1, 2)", *c, id, *c, id, ULL(n), ULL(t),
                 ULL(heads), ULL(d / heads));
    const char *causal = gen_chance(g, 50) ? "true" : "false";
    gen_line(g, "%s = scaled_dot_product_attention(q%u, k%u, v%u, is_causal=%s) |> transpose(1, 2) "
             "|> reshape(%llu, %llu, %llu)", v.name, id, id, id, causal, ULL(n), ULL(t), ULL(d));
    gen_bind(g, v);
    return true;
}

static bool recurrent(Gen *g) {
    static const char *const names[] = {"lstm", "gru", "rnn"};
    GenValue *x = gen_find(g, gen_is_sequence);
    if (!x) return false;
    bool both = gen_chance(g, 30);
    uint64_t hidden = GEN_PICK(g, 4, 8);
    GenValue v = gen_like(g, x);
    v.dim[2] = both ? 2 * hidden : hidden;
    define(g, v, gen_call(g, x, names[gen_below(g, 3)], "%llu, batch_first=true, bidirectional=%s", ULL(hidden),
                          both ? "true" : "false"));
    return true;
}

static bool matmul(Gen *g) {
    GenValue *x = gen_find(g, gen_is_sequence);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    v.dim[2] = x->dim[1];
    gen_read(x);
    define(g, v, arena_printf(g->out->arena, "%s @ %s.transpose(-2, -1) * 0.5", x->name, x->name));
    return true;
}

static bool is_index(const Gen *g, const GenValue *v) {
    (void)g;
    return v->dtype == DT_I64 && v->rank <= 2 && v->rank > 0;
}

static bool embed(Gen *g) {
    GenValue *x = gen_find(g, is_index);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    v.dtype = DT_F32;
    v.dim[v.rank++] = GEN_PICK(g, 4, 8, 16);
    const char *text = gen_call(g, x, "embedding", "64, %llu", ULL(v.dim[v.rank - 1]));
    if (g->dtype != DT_F32) text = arena_printf(g->out->arena, "cast(%s, %s)", text, dtype_name(g->dtype));
    v.dtype = g->dtype;
    define(g, v, text);
    return true;
}

/* ---- element by element ---- */

static bool unary(Gen *g) {
    static const char *const forms[] = {"relu", "sigmoid", "tanh", "gelu", "silu", "mish", "elu(0.5)", "hardtanh", "abs",
                                        "neg", "exp", "softplus", "dropout", "clamp(-1.0, 1.0)", "hardsigmoid",
                                        "leaky_relu", "sin", "cos", "celu", "selu", "prelu", "softsign"};
    GenValue *x = gen_find(g, gen_is_float);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    const char *form = forms[gen_below(g, COUNT_OF(forms))];
    gen_read(x);
    gen_line(g, "%s = %s |> %s", v.name, x->name, form);
    v.owns = strcmp(form, "dropout") != 0;
    gen_bind(g, v);
    return true;
}

/* A wish that can be met: the operand has storage of its own, was not read before and leaves the pool. */
static bool in_place(Gen *g) {
    GenValue *x = NULL, *y = NULL;
    for (unsigned i = 0; i < g->npool; i++)
        if (g->pool[i].owns && g->pool[i].dtype == g->dtype) x = &g->pool[i];
    if (!x) return false;
    if (gen_chance(g, 50)) {
        GenValue v = gen_like(g, x);
        gen_line(g, "%s = relu(%s, inplace=true)", v.name, x->name);
        *x = v;
        return true;
    }
    for (unsigned i = 0; i < g->npool; i++)
        if (&g->pool[i] != x && g->pool[i].dtype == x->dtype && gen_same_shape(&g->pool[i], x)) y = &g->pool[i];
    gen_line(g, "%s %s %s", x->name, gen_chance(g, 50) ? "+=" : "*=", y ? y->name : "0.5");
    x->owns = false;
    if (y) gen_read(y);
    return true;
}

static bool binary(Gen *g) {
    static const char *const forms[] = {"%s + %s", "%s * %s", "%s - %s", "maximum(%s, %s)", "minimum(%s, %s)",
                                        "add(%s, %s)"};
    GenValue *x = gen_find(g, gen_is_float), *same[GEN_POOL];
    unsigned n = 0;
    if (!x) return false;
    for (unsigned i = 0; i < g->npool; i++)
        if (g->pool[i].dtype == x->dtype && gen_same_shape(&g->pool[i], x)) same[n++] = &g->pool[i];
    GenValue *y = same[gen_below(g, n)], v = gen_like(g, x);
    gen_read(x);
    gen_read(y);
    char text[64];
    const char *form = forms[gen_below(g, COUNT_OF(forms))];
    snprintf(text, sizeof text, form, x->name, y->name);
    define(g, v, text);
    return true;
}

static bool scalar(Gen *g) {
    static const char *const forms[] = {"%s * 0.5", "1.0 - %s", "%s + 1", "%s / 2.0", "%s ** 2.0", "-%s",
                                        "minimum(%s, 3.0)"};
    GenValue *x = gen_find(g, gen_is_float);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    gen_read(x);
    char text[64];
    const char *form = forms[gen_below(g, COUNT_OF(forms))];
    snprintf(text, sizeof text, form, x->name);
    define(g, v, text);
    return true;
}

/* x - mean(x): the mean is broadcast back. */
static bool broadcast(Gen *g) {
    static const char *const reduce[] = {"mean", "sum", "amax", "amin"};
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank == 0) return false;
    GenValue v = gen_like(g, x);
    gen_read(x);
    const char *how = reduce[gen_below(g, COUNT_OF(reduce))];
    int axis = (int)gen_below(g, x->rank);
    define(g, v, arena_printf(g->out->arena, "%s - %s(%s, dim=%d, keepdim=true)", x->name, how, x->name, axis));
    return true;
}

static bool choose(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank == 0) return false;
    GenValue mask = gen_like(g, x), v = gen_like(g, x);
    mask.dtype = DT_BOOL;
    gen_read(x);
    gen_line(g, "%s = %s > 0.5", mask.name, x->name);
    if (gen_chance(g, 50)) gen_line(g, "%s = where(%s, %s, 0.0)", v.name, mask.name, x->name);
    else gen_line(g, "%s = masked_fill(%s, %s, -1.0)", v.name, x->name, mask.name);
    mask.used = true;
    gen_bind(g, mask);
    gen_bind(g, v);
    return true;
}

static bool is_other(const Gen *g, const GenValue *v) { return v->dtype != g->dtype && v->rank > 0; }

static bool cast(Gen *g) {
    GenValue *x = gen_find(g, gen_chance(g, 50) ? is_other : gen_is_float);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    v.dtype = x->dtype == g->dtype ? (DType)GEN_PICK(g, DT_F32, DT_F16, DT_BF16, DT_I32) : g->dtype;
    define(g, v, gen_call(g, x, "cast", "%s", dtype_name(v.dtype)));
    return true;
}

/* ---- reductions, parts, joins, shapes ---- */

static bool reduce(Gen *g) {
    static const char *const names[] = {"mean", "sum", "amax", "var", "argmax", "cumsum"};
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2) return false;
    uint64_t which = gen_below(g, COUNT_OF(names)), axis = 1 + gen_below(g, x->rank - 1);
    if (which == 3 && x->dim[axis] < 2) return false;
    GenValue v = gen_like(g, x);
    bool keep = which < 5 && gen_chance(g, 30);
    if (keep) v.dim[axis] = 1;
    if (which < 5 && !keep) memmove(&v.dim[axis], &v.dim[axis + 1], (--v.rank - axis) * sizeof *v.dim);
    if (which == 4) v.dtype = DT_I64;
    define(g, v, gen_call(g, x, names[which], keep ? "dim=%llu, keepdim=true" : "dim=%llu", ULL(axis)));
    return true;
}

static bool slice(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2) return false;
    uint64_t axis = 1 + gen_below(g, x->rank - 1), size = x->dim[axis];
    if (size < 2) return false;
    uint64_t lo = gen_below(g, size), hi = lo + 1 + gen_below(g, size - lo), step = GEN_PICK(g, 1, 1, 2);
    GenValue v = gen_like(g, x);
    v.dim[axis] = (hi - lo + step - 1) / step;
    gen_read(x);
    char colons[24] = "";
    for (uint64_t i = 0; i < axis; i++) strcat(colons, ":, ");
    const char *steps = step > 1 ? arena_printf(g->out->arena, ":%llu", ULL(step)) : "";
    gen_line(g, "%s = %s[%s%llu:%llu%s]", v.name, x->name, colons, ULL(lo), ULL(hi), steps);
    gen_bind(g, v);
    return true;
}

static bool chunk(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2) return false;
    uint64_t axis = gen_below(g, x->rank), parts = GEN_PICK(g, 2, 3);
    if (x->dim[axis] % parts || x->dim[axis] == 0) return false;
    GenValue v[3] = {gen_like(g, x), gen_like(g, x), gen_like(g, x)};
    for (unsigned i = 0; i < 3; i++) v[i].dim[axis] = x->dim[axis] / parts;
    gen_read(x);
    const char *third = parts == 3 ? arena_printf(g->out->arena, ", %s", v[2].name) : "";
    gen_line(g, "%s, %s%s = chunk(%s, %llu, dim=%llu)", v[0].name, v[1].name, third, x->name, ULL(parts), ULL(axis));
    for (unsigned i = 0; i < parts; i++) gen_bind(g, v[i]);
    return true;
}

static bool cat(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float), *parts[3];
    if (!x || x->rank < 2) return false;
    uint64_t axis = 1 + gen_below(g, x->rank - 1);
    unsigned n = 0;
    for (unsigned i = g->npool; i-- > 0 && n < COUNT_OF(parts);) {
        GenValue like = g->pool[i];
        if (like.dtype != x->dtype || like.rank != x->rank) continue;
        like.dim[axis] = x->dim[axis];
        if (gen_same_shape(&like, x)) parts[n++] = &g->pool[i];
    }
    if (n < 2) return false;
    GenValue v = gen_like(g, x);
    StrBuf list;
    sb_init(&list, g->out->arena);
    v.dim[axis] = 0;
    for (unsigned i = 0; i < n; i++) {
        v.dim[axis] += parts[i]->dim[axis];
        gen_read(parts[i]);
        sb_printf(&list, "%s%s", i ? ", " : "", parts[i]->name);
    }
    if (!fits(&v)) return false;
    define(g, v, arena_printf(g->out->arena, "cat([%s], dim=%llu)", sb_str(&list), ULL(axis)));
    return true;
}

static bool reshape(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 3) return false;
    GenValue v = gen_like(g, x);
    uint64_t last = x->dim[x->rank - 1], rest = gen_elems(x) / x->dim[0] / last;
    gen_read(x);
    switch (gen_below(g, 4)) {
    case 0:
        v.rank = 2;
        v.dim[1] = rest * last;
        gen_line(g, "%s = %s |> flatten", v.name, x->name);
        break;
    case 1:
        v.rank = 3;
        v.dim[1] = rest;
        v.dim[2] = last;
        gen_line(g, "%s = %s |> reshape(%llu, -1, %llu)", v.name, x->name, ULL(v.dim[0]), ULL(last));
        break;
    case 2:
        v.dim[1] = x->dim[2];
        v.dim[2] = x->dim[1];
        gen_line(g, "%s = %s.transpose(1, 2)", v.name, x->name);
        break;
    default:
        if (v.rank == GEN_RANK) return false;
        v.rank++;
        memmove(&v.dim[2], &v.dim[1], (v.rank - 2) * sizeof *v.dim);
        v.dim[1] = 1;
        gen_line(g, "%s = unsqueeze(%s, 1)", v.name, x->name);
        break;
    }
    gen_bind(g, v);
    return true;
}

/* ---- layers called twice ---- */

bool gen_shared_layer(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float);
    if (!x || x->rank < 2 || x->rank > 4) return false;
    bool image = x->rank == 4;
    GenValue a = gen_like(g, x), b = gen_like(g, x);
    unsigned id = ++g->nlayers;
    gen_read(x);
    if (image) gen_line(g, "layer f%u = conv2d(%llu, 1)", id, ULL(x->dim[1]));
    else gen_line(g, "layer f%u = linear(%llu)", id, ULL(x->dim[x->rank - 1]));
    gen_line(g, "%s = f%u(%s)", a.name, id, x->name);
    gen_line(g, "%s = %s |> relu |> f%u", b.name, a.name, id);
    if (!image && gen_chance(g, 30))
        gen_line(g, "%s = linear(%s, %llu, weight=f%u.weight)", b.name, b.name, ULL(x->dim[x->rank - 1]), id);
    a.used = true;
    b.owns = true;
    gen_bind(g, a);
    gen_bind(g, b);
    return true;
}

/* ---- the choice ---- */

typedef struct GenOp { bool (*write)(Gen *); unsigned weight[3]; } GenOp;   /* by style: cnn, transformer, mixed */

bool gen_operator(Gen *g) {
    static const GenOp ops[] = {
        {conv, {20, 0, 12}}, {conv_transpose, {3, 0, 2}}, {pool, {6, 0, 4}}, {adaptive_pool, {2, 0, 2}},
        {norm_image, {8, 0, 5}}, {resample, {5, 0, 4}}, {linear, {3, 16, 8}}, {norm_rows, {2, 8, 5}},
        {attention, {0, 8, 4}}, {recurrent, {0, 3, 2}}, {matmul, {0, 4, 2}}, {embed, {1, 4, 3}},
        {unary, {10, 8, 9}}, {in_place, {6, 4, 5}}, {binary, {12, 12, 12}},
        {scalar, {5, 5, 5}}, {broadcast, {3, 4, 4}}, {choose, {2, 2, 3}}, {cast, {2, 2, 4}}, {reduce, {3, 3, 5}},
        {slice, {4, 4, 5}}, {chunk, {4, 4, 5}}, {cat, {8, 5, 7}}, {reshape, {4, 5, 5}},
    };
    unsigned total = 0, i = 0;
    for (size_t k = 0; k < COUNT_OF(ops); k++) total += ops[k].weight[g->o->style];
    uint64_t r = gen_below(g, total);
    while (r >= ops[i].weight[g->o->style]) r -= ops[i++].weight[g->o->style];
    return ops[i].write(g);
}
