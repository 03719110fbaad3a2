/* ops_rearrange.c - random patterns are run element by element: where the reshapes and the permutation that rearrange
 * becomes put each element must be where the names of the pattern say. Then patterns that are refused. */
#include "tests/unit/oplab.h"

#include <string.h>

enum { MAX_NAMES = 5 };

/* A random pattern over n names of the sizes size[]: the left side in the order a b c ..., the right side in `order`.
 */
typedef struct Example {
    unsigned n;
    uint64_t size[MAX_NAMES];
    unsigned order[MAX_NAMES];
    Shape left, right;
    const char *names[MAX_NAMES];                         /* whose sizes must be given */
    int64_t values[MAX_NAMES];
    uint32_t nvalues;
    StrBuf text;
} Example;

/* One side: names fall into groups of 1 to 3, some in parentheses, a unit axis here and there. */
static void random_side(Lab *lab, uint64_t *seed, Example *e, const unsigned *order, Shape *shape, bool left)
{
    for (unsigned i = 0; i < e->n;) {
        if (random_below(seed, 6) == 0 && shape->rank < MAX_RANK - MAX_NAMES) {
            sb_puts(&e->text, random_below(seed, 2) ? "1 " : "() ");
            shape->dim[shape->rank++] = 1;
        }
        unsigned group = 1 + (unsigned)random_below(seed, 3), solved = (unsigned)random_below(seed, 3);
        uint64_t product = 1;
        if (i + group > e->n) group = e->n - i;
        if (group > 1) sb_putc(&e->text, '(');
        for (unsigned k = 0; k < group; k++) {
            unsigned name = order[i + k];
            sb_printf(&e->text, "%c%s", 'a' + (int)name, k + 1 < group ? " " : "");
            product *= e->size[name];
            if (!left || k == solved || (group == 1 && random_below(seed, 2))) continue;
            e->names[e->nvalues] = name_of(lab->ctx, (char[]){(char)('a' + name), 0});
            e->values[e->nvalues++] = (int64_t)e->size[name];
        }
        sb_puts(&e->text, group > 1 ? ") " : " ");
        shape->dim[shape->rank++] = product;
        i += group;
    }
}

static void random_example(Lab *lab, uint64_t *seed, Example *e)
{
    unsigned plain[MAX_NAMES] = {0, 1, 2, 3, 4};
    *e = (Example){.n = 1 + (unsigned)random_below(seed, MAX_NAMES)};
    sb_init(&e->text, lab->ctx->unit);
    for (unsigned i = 0; i < e->n; i++) {
        e->size[i] = 1 + random_below(seed, 3);
        e->order[i] = i;
    }
    for (unsigned i = e->n; i-- > 1;) {
        unsigned k = (unsigned)random_below(seed, i + 1), swap = e->order[i];
        e->order[i] = e->order[k];
        e->order[k] = swap;
    }
    random_side(lab, seed, e, plain, &e->left, true);
    sb_puts(&e->text, "-> ");
    random_side(lab, seed, e, e->order, &e->right, false);
}

static Op *rearrange(Lab *lab, Value *x, const char *pattern, uint32_t n, const char **names, int64_t *values)
{
    Call *c = lab_call(lab, "rearrange");
    lab_set(c, A_x, d_tensor(x));
    lab_set(c, A_pattern, d_str(name_of(lab->ctx, pattern)));
    c->extra_names = names;
    c->extra_values = values;
    c->extra_spans = NEW_ARRAY(lab->ctx->unit, Span, n + 1);
    c->nextra = n;
    return lab_bind(c);
}

/* Where in the first operand of the chain that began at op `from` each element of the last result lies. */
static void follow(const Graph *g, size_t from, uint64_t *place, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) place[i] = i;
    for (size_t k = g->ops.n; k-- > from;) {
        const Op *op = g->ops.p[k];
        CHECK(op->kind == OP_RESHAPE || op->kind == OP_PERMUTE);
        if (op->kind != OP_PERMUTE) continue;
        int64_t dims[MAX_RANK];
        op_ints(op, A_dims, dims, MAX_RANK);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at[MAX_RANK], old[MAX_RANK];
            coordinates_of(&op->out[0]->type.shape, place[i], at);
            for (unsigned d = 0; d < op->out[0]->type.shape.rank; d++) old[dims[d]] = at[d];
            place[i] = flat_of(&op->in[0]->type.shape, old);
        }
    }
}

static void check_example(Lab *lab, uint64_t *seed)
{
    Example e;
    random_example(lab, seed, &e);
    Value *x = lab_input(lab, DT_F32, e.left.rank, e.left.dim);
    size_t from = lab->g->ops.n;
    const Op *op = rearrange(lab, x, sb_str(&e.text), e.nvalues, e.names, e.values);
    CHECK(op && shape_equal(&op->out[0]->type.shape, &e.right) && lab->g->ops.n - from <= 3);
    if (!op) return;
    uint64_t place[243], at[MAX_NAMES], named[MAX_NAMES];
    Shape mixed = {.rank = (uint8_t)e.n}, plain = shape_of(e.n, e.size);
    for (unsigned i = 0; i < e.n; i++) mixed.dim[i] = e.size[e.order[i]];
    follow(lab->g, from, place, x->nelem);
    bool right = true;
    for (uint64_t i = 0; i < x->nelem; i++) {
        coordinates_of(&mixed, i, at);
        for (unsigned k = 0; k < e.n; k++) named[e.order[k]] = at[k];
        right = right && place[i] == flat_of(&plain, named);
    }
    CHECK(right);
}

static bool gives(Lab *lab, Value *x, const char *pattern, unsigned rank, const uint64_t *dims)
{
    const Op *op = rearrange(lab, x, pattern, 0, NULL, NULL);
    Shape s = shape_of(rank, dims);
    return op && shape_equal(&op->out[0]->type.shape, &s);
}

static void test_ellipsis(Lab *lab)
{
    Value *x = lab_input(lab, DT_F32, 4, (uint64_t[]){2, 3, 4, 5}),
          *empty = lab_input(lab, DT_F32, 2, (uint64_t[]){0, 3});
    Value *scalar = lab_input(lab, DT_F32, 0, NULL);
    CHECK(gives(lab, x, "a ... -> ... a", 4, (uint64_t[]){3, 4, 5, 2}));
    CHECK(gives(lab, x, "a ... b->(...) (b a)", 2, (uint64_t[]){12, 10}));
    CHECK(gives(lab, x, "a b c d ... -> (a b) c d ...", 3, (uint64_t[]){6, 4, 5}));
    CHECK(gives(lab, x, "... -> (...)", 1, (uint64_t[]){120}));
    CHECK(gives(lab, x, "... -> ...", 4, (uint64_t[]){2, 3, 4, 5}));
    CHECK(gives(lab, empty, "a b -> b a 1", 3, (uint64_t[]){3, 0, 1}));
    CHECK(gives(lab, scalar, " -> ", 0, NULL) && gives(lab, scalar, "-> 1", 1, (uint64_t[]){1}));
}

static void test_refused(Lab *lab)
{
    static const char *const bad[] = {"a b",
                                      "a b -> a b -> a b",
                                      "a a -> a",
                                      "a b -> a a",
                                      "a b -> a",
                                      "a -> a b",
                                      "(a b -> a b",
                                      "a b) -> a b",
                                      "((a) b) c -> a b c",
                                      "a 2 -> a",
                                      "a 11 -> a",
                                      "a b c -> a b c",
                                      "a ... ... -> a",
                                      "(a ...) -> a ...",
                                      "a ... -> a",
                                      "a b -> a b ...",
                                      "a-b -> a b",
                                      "a, b -> a b",
                                      "(a c) b -> a b c",
                                      "1 a -> a",
                                      "a 1 -> a",
                                      "",
                                      "->",
                                      "a b - > b a",
                                      "a \xc3\xa9 -> a"};
    Value *x = lab_input(lab, DT_F32, 2, (uint64_t[]){6, 4});
    const char *c = name_of(lab->ctx, "c"), *z = name_of(lab->ctx, "z"), *b = name_of(lab->ctx, "b");
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK(!rearrange(lab, x, bad[i], 0, NULL, NULL));
    CHECK(rearrange(lab, x, "(a c) b -> a b c", 1, &c, (int64_t[]){3}));
    CHECK(!rearrange(lab, x, "(a c) b -> a b c", 1, &c, (int64_t[]){4}));
    CHECK(!rearrange(lab, x, "(a c) b -> a b c", 1, &c, (int64_t[]){0}));
    CHECK(!rearrange(lab, x, "(a c) b -> a b c", 1, &c, (int64_t[]){-3}));
    CHECK(!rearrange(lab, x, "a b -> b a", 1, &z, (int64_t[]){2}));
    CHECK(!rearrange(lab, x, "a b -> b a", 1, &b, (int64_t[]){5}) &&
          rearrange(lab, x, "a b -> b a", 1, &b, (int64_t[]){4}));
}

int main(void)
{
    Lab lab = lab_new();
    uint64_t seed = 7;
    for (int i = 0; i < 3000; i++) check_example(&lab, &seed);
    test_ellipsis(&lab);
    test_refused(&lab);
    ctx_free(lab.ctx);
    return check_done();
}
