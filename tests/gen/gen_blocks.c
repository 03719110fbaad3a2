/* gen_blocks.c - declared blocks: the ones networks are made of, and one with a random body that keeps its operand's
 * shape. A program declares a random subset and calls what it declared. */
#include "tests/gen/gen.h"

#include <stdio.h>
#include <string.h>

#define ULL(x) ((unsigned long long)(x))

static bool call_basic(Gen *), call_inverted(Gen *), call_dense(Gen *), call_squeeze(Gen *), call_mlp(Gen *),
    call_encoder(Gen *), call_mix(Gen *);

typedef struct GenBlock {
    const char *text;
    bool (*call)(Gen *);
    unsigned styles;                                      /* bit per GenStyle */
} GenBlock;

enum {
    IMAGES = 1 << GEN_CNN | 1 << GEN_MIXED,
    SEQUENCES = 1 << GEN_TRANSFORMER | 1 << GEN_MIXED,
    ALL = IMAGES | SEQUENCES
};

static const GenBlock blocks[] = {
    {"block basic(x: [N, C, H, W], out: int, stride: int = 1) {\n"
     "    skip = x\n"
     "    if stride != 1 or C != out {\n"
     "        skip = x |> conv2d(out, 1, stride=stride, bias=false) |> batch_norm\n"
     "    }\n"
     "    y = x |> conv2d(out, 3, stride=stride, padding=1, bias=false) |> batch_norm |> relu(inplace=true)\n"
     "    y = y |> conv2d(out, 3, padding=1, bias=false) |> batch_norm\n"
     "    y += skip\n"
     "    return relu(y, inplace=true)\n"
     "}\n\n", call_basic, IMAGES},
    {"block inverted(x: [N, C, H, W], out: int, stride: int = 1, expand: int = 4) {\n"
     "    hidden = C * expand\n"
     "    y = x\n"
     "    if expand != 1 { y = y |> conv2d(hidden, 1) |> batch_norm |> relu6 }\n"
     "    y = y |> conv2d(hidden, 3, stride=stride, padding=1, groups=hidden) |> relu6 |> conv2d(out, 1)\n"
     "    return y + x if stride == 1 and C == out else y\n"
     "}\n\n", call_inverted, IMAGES},
    {"block dense(x: [N, C, H, W], growth: int, layers: int) {\n"
     "    repeat layers {\n"
     "        y = x |> batch_norm |> relu |> conv2d(growth, 3, padding=1)\n"
     "        x = cat([x, y], dim=1)\n"
     "    }\n"
     "    return x\n"
     "}\n\n", call_dense, IMAGES},
    {"block squeeze_excite(x: [N, C, H, W], inner: int) {\n"
     "    s = x |> global_avg_pool2d |> conv2d(inner, 1) |> relu |> conv2d(C, 1) |> sigmoid\n"
     "    return x * s\n"
     "}\n\n", call_squeeze, IMAGES},
    {"block mlp(x: [N, T, D], ff: int = 2 * D) {\n"
     "    return x |> layer_norm |> linear(ff) |> gelu |> linear(ff -> D)\n"
     "}\n\n", call_mlp, SEQUENCES},
    {"block encoder(x: [N, T, D], heads: int, p: float = 0.1) {\n"
     "    q, k, v = x |> layer_norm |> linear(3 * D) |> chunk(3, dim=-1)\n"
     "    q = q |> view(N, T, heads, D / heads) |> transpose(1, 2)\n"
     "    k = k |> view(N, T, heads, D / heads) |> transpose(1, 2)\n"
     "    v = rearrange(v, \"n t (h d) -> n h t d\", h=heads)\n"
     "    y = softmax(q @ k.transpose(-2, -1) * (D / heads) ** -0.5, dim=-1) |> dropout(p)\n"
     "    y = (y @ v) |> transpose(1, 2) |> reshape(N, T, D) |> linear(D)\n"
     "    x = x + y\n"
     "    return x + (x |> layer_norm |> linear(2 * D) |> gelu |> linear(D))\n"
     "}\n\n", call_encoder, SEQUENCES},
    {NULL, call_mix, ALL},
};

/* block mix(x, y): a few random lines that combine two values of one shape. */
static void declare_mix(Gen *g) {
    static const char *const forms[] = {"x = x + y", "y = relu(y) * x", "x = x |> tanh |> abs", "z = x - y", "x = z * 0.5",
                                        "y = maximum(x, z)", "z = where(x > y, x, z)", "x = (x + z) / 2.0"};
    sb_puts(g->out, "block mix(x, y) {\n");
    gen_line(g, "z = x * y");
    for (uint64_t n = 1 + gen_below(g, 5); n--;) gen_line(g, "%s", forms[gen_below(g, COUNT_OF(forms))]);
    gen_line(g, "return x + y * z");
    sb_puts(g->out, "}\n\n");
}

void gen_declare_blocks(Gen *g) {
    for (unsigned i = 0; i < COUNT_OF(blocks); i++) {
        if (!(blocks[i].styles >> g->o->style & 1) || gen_chance(g, 40)) continue;
        g->blocks |= 1u << i;
        if (blocks[i].text) sb_puts(g->out, blocks[i].text);
        else declare_mix(g);
    }
}

bool gen_block_call(Gen *g) {
    unsigned declared[COUNT_OF(blocks)], n = 0;
    for (unsigned i = 0; i < COUNT_OF(blocks); i++)
        if (g->blocks >> i & 1) declared[n++] = i;
    return n && blocks[declared[gen_below(g, n)]].call(g);
}

/* ---- calls ---- */

static bool finish(Gen *g, GenValue v, const char *text) {
    gen_line(g, "%s = %s", v.name, text);
    gen_bind(g, v);
    return true;
}

static GenValue *find_image(Gen *g) {
    GenValue *x = gen_find(g, gen_is_image);
    return x && x->dim[2] >= 3 && x->dim[3] >= 3 && gen_elems(x) <= 1 << 14 ? x : NULL;
}

static void halve(GenValue *v) {
    v->dim[2] = (v->dim[2] - 1) / 2 + 1;
    v->dim[3] = (v->dim[3] - 1) / 2 + 1;
}

static bool call_basic(Gen *g) {
    GenValue *x = find_image(g);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    bool same = gen_chance(g, 50);
    if (!same) v.dim[1] = GEN_PICK(g, 4, 8, 16);
    if (!same) halve(&v);
    return finish(g, v, gen_call(g, x, "basic", same ? "%llu" : "%llu, stride=2", ULL(v.dim[1])));
}

static bool call_inverted(Gen *g) {
    GenValue *x = find_image(g);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    uint64_t expand = GEN_PICK(g, 1, 2, 4), stride = GEN_PICK(g, 1, 1, 2);
    if (gen_chance(g, 50)) v.dim[1] = GEN_PICK(g, 4, 8);
    if (stride == 2) halve(&v);
    return finish(g, v, gen_call(g, x, "inverted", "%llu, stride=%llu, expand=%llu", ULL(v.dim[1]), ULL(stride),
                                 ULL(expand)));
}

static bool call_dense(Gen *g) {
    GenValue *x = find_image(g);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    uint64_t growth = GEN_PICK(g, 2, 4), layers = 1 + gen_below(g, 4);
    v.dim[1] += growth * layers;
    return finish(g, v, gen_call(g, x, "dense", "%llu, %llu", ULL(growth), ULL(layers)));
}

static bool call_squeeze(Gen *g) {
    GenValue *x = find_image(g);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    return finish(g, v, gen_call(g, x, "squeeze_excite", "%llu", ULL(1 + gen_below(g, 4))));
}

static bool call_mlp(Gen *g) {
    GenValue *x = gen_find(g, gen_is_sequence);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    if (gen_chance(g, 50)) return finish(g, v, gen_call(g, x, "mlp", "%s", ""));
    return finish(g, v, gen_call(g, x, "mlp", "ff=%llu", ULL(1 + gen_below(g, 20))));
}

static bool call_encoder(Gen *g) {
    GenValue *x = gen_find(g, gen_is_sequence);
    if (!x) return false;
    GenValue v = gen_like(g, x);
    uint64_t heads = x->dim[2] % 4 == 0 ? GEN_PICK(g, 1, 2, 4) : 1, times = gen_below(g, 4);
    if (times < 2) return finish(g, v, gen_call(g, x, "encoder", "heads=%llu", ULL(heads)));
    gen_line(g, "%s = %s", v.name, x->name);
    gen_read(x);
    gen_line(g, "repeat %llu { %s = encoder(%s, %llu) }", ULL(times), v.name, v.name, ULL(heads));
    gen_bind(g, v);
    return true;
}

static bool call_mix(Gen *g) {
    GenValue *x = gen_find(g, gen_is_float), *same[GEN_POOL];
    unsigned n = 0;
    if (!x || x->rank == 0) return false;
    for (unsigned i = 0; i < g->npool; i++)
        if (g->pool[i].dtype == x->dtype && gen_same_shape(&g->pool[i], x)) same[n++] = &g->pool[i];
    GenValue *y = same[gen_below(g, n)], v = gen_like(g, x);
    gen_read(y);
    return finish(g, v, gen_call(g, x, "mix", "%s", y->name));
}
