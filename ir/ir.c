/* ir.c - building a graph: values, operators, results, unique names; and reading an operator's attributes.
 *
 * Appending an operator costs what its operands and attributes cost, whatever the size of the graph: operands, results
 * and attributes are one block of the arena, names are counted per base name, scalars are found by hashing. Nothing here
 * checks types; whoever builds has asked the operator's rule before (ops/call.c) or asks after (graph_check). */
#include "ir/ir.h"

#include <string.h>

/* Open addressing, linear probing, at most half full; capacity is a power of two. */
struct ScalarSet { Value **slot; uint32_t cap, n; };

Graph *graph_new(Arena *arena, const char *name) {
    Graph *g = NEW(arena, Graph);
    g->arena = arena;
    g->name = name;
    g->source = "";
    g->used_names = namemap_new(arena);
    g->scalars = NEW(arena, struct ScalarSet);
    return g;
}

static void value_init(Graph *g, Value *v, Role role, const char *name, const Type *type, Span span) {
    v->id = (uint32_t)g->values.n;
    v->role = role;
    v->type = *type;
    v->name = name;
    v->span = span;
    if (!type_elems(type, &v->nelem) || !type_bytes(type, &v->nbytes))
        ice("value %s: the size of its type was not checked", name);
    if (g->values.n >= UINT32_MAX - 1)
        die("a network of more than %u values", UINT32_MAX - 1);
    vec_push(g->arena, &g->values, v);
}

static Value *value_new(Graph *g, Role role, const char *name, const Type *type, Span span) {
    Value *v = NEW(g->arena, Value);
    value_init(g, v, role, name, type, span);
    return v;
}

Value *graph_input(Graph *g, const char *name, const Type *type, Span span) {
    Value *v = value_new(g, ROLE_INPUT, name, type, span);
    vec_push(g->arena, &g->inputs, v);
    return v;
}

Value *graph_stored(Graph *g, Role role, const char *key, const Type *type, Init init, Span span) {
    Value *v = value_new(g, role, key, type, span);
    v->init = init;
    vec_push(g->arena, &g->stored, v);
    return v;
}

/* ---- scalars */

static uint64_t scalar_hash(DType dtype, const Datum *d) {
    uint64_t bits = d->kind == D_BOOL ? (uint64_t)d->b : (uint64_t)d->i;
    if (d->kind == D_FLOAT)
        memcpy(&bits, &d->f, sizeof bits);
    bits += (uint64_t)dtype << 56;
    bits ^= bits >> 31;
    bits *= 0x9e3779b97f4a7c15u;
    return bits ^ bits >> 29;
}

static Value **scalar_slot(const struct ScalarSet *set, DType dtype, const Datum *d) {
    uint32_t i = (uint32_t)scalar_hash(dtype, d) & (set->cap - 1);
    for (; set->slot[i] != NULL; i = (i + 1) & (set->cap - 1))
        if (set->slot[i]->type.dtype == dtype && datum_equal(&set->slot[i]->constant, d))
            break;
    return &set->slot[i];
}

static void scalars_grow(Arena *arena, struct ScalarSet *set) {
    struct ScalarSet old = *set;
    set->cap = old.cap > 0 ? old.cap * 2 : 16;
    set->slot = NEW_ARRAY(arena, Value *, set->cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slot[i] != NULL)
            *scalar_slot(set, old.slot[i]->type.dtype, &old.slot[i]->constant) = old.slot[i];
}

Value *graph_scalar(Graph *g, DType dtype, const Datum *d, Span span) {
    Datum c = *d;
    if (c.kind == D_INT && dtype_is_float(dtype))
        c = d_float((double)c.i);
    if (c.kind != D_INT && c.kind != D_FLOAT && c.kind != D_BOOL)
        ice("a scalar that is no number");
    if (g->scalars->n * 2 >= g->scalars->cap)
        scalars_grow(g->arena, g->scalars);
    Value **slot = scalar_slot(g->scalars, dtype, &c);
    if (*slot == NULL) {
        StrBuf name;
        sb_init(&name, g->arena);
        sb_printf(&name, "%s(", dtype_name(dtype));
        datum_print(&name, &c);
        sb_putc(&name, ')');
        *slot = value_new(g, ROLE_CONST, sb_str(&name), &(Type){.dtype = dtype}, span);
        (*slot)->constant = c;
        g->scalars->n++;
    }
    return *slot;
}

/* ---- operators */

static const char *result_name(Graph *g, const char *path, uint32_t i, uint32_t n) {
    return n == 1 ? path : arena_printf(g->arena, "%s.%u", path, i + 1);
}

/* One block: attributes first (the strictest alignment), then operands, then results. */
static void op_storage(Graph *g, Op *op) {
    size_t bytes = op->nattrs * sizeof(Attr) + ((size_t)op->nin + op->nout) * sizeof(Value *);
    char *block = arena_alloc(g->arena, bytes > 0 ? bytes : 1);
    op->attrs = (Attr *)(void *)block;
    op->in = (Value **)(void *)(block + op->nattrs * sizeof(Attr));
    op->out = op->in + op->nin;
}

Op *graph_op(Graph *g, OpKind kind, Value **in, uint32_t nin, const Attr *attrs, uint32_t nattrs, const Type *out,
             uint32_t nout, const char *path, Span span) {
    Op *op = NEW(g->arena, Op);
    op->id = (uint32_t)g->ops.n;
    op->kind = kind;
    op->nin = nin;
    op->nout = nout;
    op->nattrs = nattrs;
    op->span = span;
    op->path = path;
    op_storage(g, op);
    if (nattrs > 0)
        memcpy(op->attrs, attrs, nattrs * sizeof *attrs);
    for (uint32_t i = 0; i < nin; i++) {
        op->in[i] = in[i];
        if (in[i] != NULL)
            in[i]->nuses++;
    }
    Value *results = NEW_ARRAY(g->arena, Value, nout);
    for (uint32_t i = 0; i < nout; i++) {
        value_init(g, &results[i], ROLE_ACTIVATION, result_name(g, path, i, nout), &out[i], span);
        results[i].def = op;
        results[i].out_index = i;
        op->out[i] = &results[i];
    }
    vec_push(g->arena, &g->ops, op);
    return op;
}

void graph_result(Graph *g, const char *name, Value *v, Span span) {
    Result r = {.name = name, .value = v, .span = span};
    vec_push(g->arena, &g->results, r);
    v->nuses++;
    v->nresults++;
}

/* The map's value is the next suffix to try for that name, so that the millionth "x" is found as fast as the second. */
const char *graph_unique(Ctx *ctx, Graph *g, const char *wanted) {
    const char *base = name_of(ctx, wanted);
    uintptr_t next = (uintptr_t)namemap_get(g->used_names, base);
    const char *name = base;
    if (next != 0) {
        StrBuf sb;
        do {
            sb_init(&sb, ctx->scratch);
            sb_printf(&sb, "%s#%llu", base, (unsigned long long)next++);
            name = intern_n(ctx->names, sb.p, sb.n);
        } while (namemap_get(g->used_names, name) != NULL);
        namemap_put(g->used_names, base, (void *)next);
    }
    namemap_put(g->used_names, name, (void *)(uintptr_t)2);
    return name;
}

/* ---- attributes */

static const char *const attr_names[A_COUNT] = {
#define ATTR(name) [A_##name] = #name,
#include "ir/attr.def"
#undef ATTR
};

const char *attr_name(AttrName a) { return attr_names[a]; }

bool attr_by_name(const char *name, AttrName *a) {
    for (unsigned i = 0; i < A_COUNT; i++)
        if (strcmp(attr_names[i], name) == 0) {
            *a = (AttrName)i;
            return true;
        }
    return false;
}

const Datum *op_attr(const Op *op, AttrName a) {
    for (uint32_t i = 0; i < op->nattrs; i++)
        if (op->attrs[i].name == a)
            return &op->attrs[i].value;
    return NULL;
}

static const Datum *attr_of_kind(const Op *op, AttrName a, DatumKind kind) {
    const Datum *d = op_attr(op, a);
    if (d == NULL || d->kind != kind)
        ice("%s: attribute %s is %s", op->path, attr_name(a), d == NULL ? "missing" : "of the wrong kind");
    return d;
}

int64_t op_int(const Op *op, AttrName a) { return attr_of_kind(op, a, D_INT)->i; }
bool op_bool(const Op *op, AttrName a) { return attr_of_kind(op, a, D_BOOL)->b; }
const char *op_str(const Op *op, AttrName a) { return attr_of_kind(op, a, D_STR)->s; }

double op_float(const Op *op, AttrName a) {
    const Datum *d = op_attr(op, a);
    return d != NULL && d->kind == D_INT ? (double)d->i : attr_of_kind(op, a, D_FLOAT)->f;
}

uint32_t op_ints(const Op *op, AttrName a, int64_t *v, uint32_t max) {
    const Datum *d = attr_of_kind(op, a, D_LIST);
    if (d->list.n > max)
        ice("%s: attribute %s has %u numbers", op->path, attr_name(a), d->list.n);
    for (uint32_t i = 0; i < d->list.n; i++) {
        if (d->list.p[i].kind != D_INT)
            ice("%s: attribute %s holds something else than integers", op->path, attr_name(a));
        v[i] = d->list.p[i].i;
    }
    return d->list.n;
}
