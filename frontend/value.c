/* value.c - compile-time values of the language: integers of 64 bits, floats, truth values, strings, lists (tuples are
 * lists), element types, and handles of tensors, layers and modules. A Val is 24 bytes and is passed by value. Lists
 * may share inner lists, so their depth and the items a walk meets are counted when they are made, and bounded. */
#include "frontend/elab.h"

#include <string.h>

Val v_poison(void) { return (Val){.kind = V_POISON}; }
Val v_none(void) { return (Val){.kind = V_NONE}; }
Val v_bool(bool b) { return (Val){.kind = V_BOOL, .b = b}; }
Val v_int(int64_t i) { return (Val){.kind = V_INT, .i = i}; }
Val v_float(double f) { return (Val){.kind = V_FLOAT, .f = f}; }
Val v_str(const char *s) { return (Val){.kind = V_STR, .s = s}; }
Val v_dtype(DType d) { return (Val){.kind = V_DTYPE, .dtype = d}; }
Val v_tensor(Value *t) { return (Val){.kind = V_TENSOR, .tensor = t}; }

Val v_list(Val *items, uint32_t n) {
    Val v = {.kind = V_LIST, .depth = 1, .n = n, .items = items};
    uint64_t weight = n;
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].kind != V_LIST)
            continue;
        weight += items[i].weight;
        if (items[i].depth >= v.depth)
            v.depth = items[i].depth < UINT8_MAX ? (uint8_t)(items[i].depth + 1) : UINT8_MAX;
    }
    v.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    return v;
}

bool list_fits(Elab *e, Val *list, Span at) {
    if (list->depth > MAX_LIST_DEPTH)
        diag(e->ctx, DIAG_NESTING, at, "lists nested more than %d deep", (int)MAX_LIST_DEPTH);
    else if (list->weight > e->ctx->max_ops)
        diag(e->ctx, DIAG_UNROLL_LIMIT, at, "a list of more than %llu items", (unsigned long long)e->ctx->max_ops);
    else
        return true;
    *list = v_poison();
    return false;
}

Val v_first(Val v) {
    return v.kind == V_LIST && v.lead && v.n > 0 ? v.items[0] : v;
}

bool val_is_number(Val v) {
    return v.kind == V_INT || v.kind == V_FLOAT;
}

bool val_has_tensor(Val v) {
    if (v.kind != V_LIST)
        return v.kind == V_TENSOR;
    for (uint32_t i = 0; i < v.n; i++)
        if (v.items[i].kind == V_TENSOR || v_first(v.items[i]).kind == V_TENSOR)
            return true;
    return false;
}

/* A list that is written with a poisoned item is poison itself; results of operators and blocks may hold one. */
bool val_has_poison(Val v) {
    if (v.kind != V_LIST)
        return v.kind == V_POISON;
    for (uint32_t i = 0; i < v.n; i++)
        if (v.items[i].kind == V_POISON)
            return true;
    return false;
}

static bool lists_equal(Val a, Val b) {
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (!val_equal(a.items[i], b.items[i]))
            return false;
    return true;
}

bool val_equal(Val a, Val b) {
    if (a.kind == V_INT && b.kind == V_FLOAT)
        return (double)a.i == b.f;
    if (a.kind == V_FLOAT && b.kind == V_INT)
        return a.f == (double)b.i;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case V_NONE: return true;
    case V_BOOL: return a.b == b.b;
    case V_INT: return a.i == b.i;
    case V_FLOAT: return a.f == b.f;
    case V_STR: return a.s == b.s;
    case V_DTYPE: return a.dtype == b.dtype;
    case V_LIST: return lists_equal(a, b);
    case V_TENSOR: return a.tensor == b.tensor;
    case V_LAYER: return a.layer == b.layer;
    case V_MODULE: return a.module == b.module;
    case V_POISON: break;
    }
    return false;
}

Datum val_datum(Elab *e, Val v) {
    switch (v.kind) {
    case V_NONE: return d_none();
    case V_BOOL: return d_bool(v.b);
    case V_INT: return d_int(v.i);
    case V_FLOAT: return d_float(v.f);
    case V_STR: return d_str(v.s);
    case V_DTYPE: return d_dtype(v.dtype);
    case V_TENSOR: return d_tensor(v.tensor);
    case V_LIST: {
        Datum *items = NEW_ARRAY(e->arena, Datum, v.n > 0 ? v.n : 1);
        for (uint32_t i = 0; i < v.n; i++)
            items[i] = val_datum(e, v.items[i]);
        Datum d = d_list(e->arena, items, v.n);
        d.list.lead = v.lead;
        return d;
    }
    case V_POISON: case V_LAYER: case V_MODULE: break;
    }
    ice("a %s has no place in an operator's arguments", val_text(e, v));
}

Val val_from_datum(Elab *e, const Datum *d) {
    switch (d->kind) {
    case D_NONE: return v_none();
    case D_BOOL: return v_bool(d->b);
    case D_INT: return v_int(d->i);
    case D_FLOAT: return v_float(d->f);
    case D_STR: return v_str(name_of(e->ctx, d->s));
    case D_DTYPE: return v_dtype(d->dtype);
    case D_TENSOR: return v_tensor(d->tensor);
    case D_LIST: {
        Val *items = NEW_ARRAY(e->arena, Val, d->list.n > 0 ? d->list.n : 1);
        for (uint32_t i = 0; i < d->list.n; i++)
            items[i] = val_from_datum(e, &d->list.p[i]);
        Val v = v_list(items, d->list.n);
        v.lead = d->list.lead;
        return v;
    }
    }
    ice("a datum of kind %d", (int)d->kind);
}

void val_print(StrBuf *sb, Val v) {
    switch (v.kind) {
    case V_POISON: break;
    case V_NONE: sb_puts(sb, "none"); break;
    case V_BOOL: sb_puts(sb, v.b ? "true" : "false"); break;
    case V_INT: sb_printf(sb, "%lld", (long long)v.i); break;
    case V_FLOAT: sb_double(sb, v.f); break;
    case V_STR: sb_puts(sb, v.s); break;
    case V_DTYPE: sb_puts(sb, dtype_name(v.dtype)); break;
    case V_TENSOR: sb_puts(sb, type_text(sb->arena, &v.tensor->type)); break;
    case V_LAYER: sb_puts(sb, v.layer->name); break;
    case V_MODULE: sb_puts(sb, "module"); break;
    case V_LIST:
        sb_putc(sb, '[');
        for (uint32_t i = 0; i < v.n && sb->n < MAX_TEXT; i++) {
            if (i > 0)
                sb_puts(sb, ", ");
            val_print(sb, v.items[i]);
        }
        sb_putc(sb, ']');
        break;
    }
}

const char *article(const char *noun) {
    return strchr("aeio", noun[0]) != NULL ? "an" : "a";
}

static const char *list_text(Elab *e, Val v) {
    return v.n == 1 ? "a list of one" : arena_printf(e->ctx->scratch, "a list of %u", (unsigned)v.n);
}

const char *val_text(Elab *e, Val v) {
    StrBuf sb;
    sb_init(&sb, e->ctx->scratch);
    switch (v.kind) {
    case V_POISON: return "an error";
    case V_NONE: return "none";
    case V_BOOL: return v.b ? "true" : "false";
    case V_INT: sb_puts(&sb, "the int "); break;
    case V_FLOAT: sb_puts(&sb, "the float "); break;
    case V_STR: return arena_printf(e->ctx->scratch, "the string \"%s\"", v.s);
    case V_DTYPE: sb_puts(&sb, "the dtype "); break;
    case V_LIST: return list_text(e, v);
    case V_TENSOR: sb_puts(&sb, "a tensor "); break;
    case V_LAYER: sb_puts(&sb, "the layer "); break;
    case V_MODULE: return "a module";
    }
    val_print(&sb, v);
    return sb_str(&sb);
}

/* ---- scopes */

enum { LINEAR_LOOKUP = 12 };                              /* above it a hash is quicker than looking one by one */

Binding *scope_find(const Scope *s, const char *name) {
    if (s == NULL)
        return NULL;
    if (s->index != NULL) {
        Binding *b = namemap_get(s->index, name);
        return b != NULL && !b->hidden ? b : NULL;
    }
    for (size_t i = s->names.n; i-- > 0;)
        if (s->names.p[i]->name == name)
            return s->names.p[i]->hidden ? NULL : s->names.p[i];
    return NULL;
}

static Binding *scope_slot(Elab *e, Scope *s, const char *name) {
    if (s->index != NULL) {
        Binding *known = namemap_get(s->index, name);
        if (known != NULL)
            return known;
    } else {
        for (size_t i = s->names.n; i-- > 0;)
            if (s->names.p[i]->name == name)
                return s->names.p[i];
    }
    Binding *b = NEW(e->arena, Binding);
    b->name = name;
    vec_push(e->arena, &s->names, b);
    if (s->index != NULL) {
        namemap_put(s->index, name, b);
    } else if (s->names.n > LINEAR_LOOKUP) {
        s->index = namemap_new(e->arena);
        for (size_t i = 0; i < s->names.n; i++)
            namemap_put(s->index, s->names.p[i]->name, s->names.p[i]);
    }
    return b;
}

Binding *scope_bind(Elab *e, Scope *s, Ident id, Val v, const Stmt *decl) {
    Binding *b = scope_slot(e, s, id.name);
    b->v = v;
    b->span = id.span;
    b->decl = decl;
    b->hidden = false;
    return b;
}

uint32_t count_up(Arena *arena, Counters *counters, const char *name) {
    for (size_t i = 0; i < counters->n; i++)
        if (counters->p[i].name == name)
            return ++counters->p[i].n;
    vec_push(arena, counters, ((Counter){name, 1}));
    return 1;
}
