/* rearrange.c - rearrange(x, "b (h w) c -> b c h w", h=4): a composite that becomes a reshape into the elementary
 * axes, a permutation of them and a reshape into the wanted ones; steps that change nothing are left away, but one op
 * remains.
 *
 * A name on the left takes its size from its axis; of the names in one pair of parentheses all but one need a size,
 * from the keyword arguments of the call. Both sides must have the same names. The pattern's text is read in
 * pattern.c. */
#include "ops/axes.h"
#include "ops/pattern.h"

typedef unsigned long long ull;

typedef struct Elem {                                     /* an elementary axis, in the order of the left side */
    const char *name;                                     /* NULL: of the ellipsis */
    const Item *item;
    uint64_t size;
    bool known, used;                                     /* used: on the right side */
} Elem;

typedef struct Rearrangement {
    Pattern p;
    const Value *x;
    Elem elem[MAX_ITEMS + MAX_RANK];
    unsigned n;
    unsigned rest, nrest;                                 /* the ellipsis' elements: first and number */
    Shape split, moved, merged;                           /* before and after the permutation, and the result */
    Ints perm;
} Rearrangement;

#define SAY(w, ...) arena_printf((w)->p.call->ctx->scratch, __VA_ARGS__)

static Diag *item_diag(const Rearrangement *w, const Item *it, const char *text) {
    return pattern_diag(&w->p, it->beg, it->end, text);
}

/* ---- names ---- */

static Elem *elem_named(Rearrangement *w, const char *name) {
    for (unsigned i = 0; i < w->n; i++)
        if (name && w->elem[i].name == name) return &w->elem[i];
    return NULL;
}

/* Names of one letter are all near one another: they are listed, longer ones suggested. */
static void suggest_axis(Rearrangement *w, Diag *d, const char *got) {
    const char *names[MAX_ITEMS];
    size_t n = 0;
    for (unsigned i = 0; i < w->n; i++)
        if (w->elem[i].name) names[n++] = w->elem[i].name;
    if (got[1]) {
        diag_suggest(w->p.call->ctx, d, got, names, n);
        return;
    }
    StrBuf list;
    sb_init(&list, w->p.call->ctx->scratch);
    for (size_t i = 0; i < n; i++) sb_printf(&list, "%s%s", i ? ", " : "", names[i]);
    diag_help(w->p.call->ctx, d, n ? "the names of the left side are %s" : "the left side has no names%s", sb_str(&list));
}

static bool rank_fits(Rearrangement *w) {
    const Side *s = &w->p.left;
    unsigned named = s->ngroups - (s->rest >= 0), rank = w->x->type.shape.rank;
    if (s->rest >= 0 ? named <= rank : named == rank) {
        w->nrest = rank - named;
        return true;
    }
    uint32_t end = s->ngroups ? s->group[s->ngroups - 1].end : 0, beg = s->ngroups ? s->group[0].beg : 0;
    Diag *d = pattern_diag(&w->p, beg, end,
                           SAY(w, "the left side has %u ax%s, but %s has rank %u", named, named == 1 ? "is" : "es",
                               type_text(w->p.call->ctx->scratch, &w->x->type), rank));
    note_value(w->p.call->ctx, d, w->x);
    return false;
}

/* The elementary axes, from the left side. */
static void collect(Rearrangement *w) {
    const Side *s = &w->p.left;
    for (unsigned i = 0; i < s->nitems; i++) {
        const Item *it = &s->item[i];
        if (it->kind == ITEM_AXIS) w->elem[w->n++] = (Elem){.name = it->name, .item = it};
        if (it->kind != ITEM_REST) continue;
        w->rest = w->n;
        for (unsigned k = 0; k < w->nrest; k++)
            w->elem[w->n++] = (Elem){.item = it, .size = w->x->type.shape.dim[it->group + k], .known = true};
    }
}

static bool same_names(Rearrangement *w) {
    const Side *l = &w->p.left, *r = &w->p.right;
    for (unsigned i = 0; i < r->nitems; i++) {
        const Item *it = &r->item[i];
        Elem *e = elem_named(w, it->name);
        if (e) e->used = true;
        if (e || it->kind != ITEM_AXIS) continue;
        Diag *d = item_diag(w, it, SAY(w, "the axis '%s' is unknown on the left side", it->name));
        suggest_axis(w, d, it->name);
        return false;
    }
    for (unsigned i = 0; i < w->n; i++) {
        if (!w->elem[i].name || w->elem[i].used) continue;
        Diag *d = item_diag(w, w->elem[i].item,
                            SAY(w, "the axis '%s' has no place on the right side", w->elem[i].name));
        diag_help(w->p.call->ctx, d, "rearrange keeps every element; mean, sum and amax reduce an axis");
        return false;
    }
    if ((l->rest >= 0) == (r->rest >= 0)) return true;
    const Side *has = l->rest >= 0 ? l : r;
    item_diag(w, &has->item[has->rest], "an ellipsis on one side needs one on the other");
    return false;
}

/* ---- sizes ---- */

static bool take_sizes(Rearrangement *w) {
    Call *c = w->p.call;
    for (uint32_t i = 0; i < c->nextra; i++) {
        Elem *e = elem_named(w, c->extra_names[i]);
        if (!e) {
            Diag *d = diag(c->ctx, DIAG_UNKNOWN_ARGUMENT, c->extra_spans[i], "'%s' is no axis of the pattern",
                           c->extra_names[i]);
            suggest_axis(w, d, c->extra_names[i]);
            return false;
        }
        if (c->extra_values[i] < 0) {
            diag(c->ctx, DIAG_ARGUMENT_VALUE, c->extra_spans[i], "the size of an axis cannot be negative: %lld",
                 (long long)c->extra_values[i]);
            return false;
        }
        e->size = (uint64_t)c->extra_values[i];
        e->known = true;
    }
    return true;
}

static bool group_fails(Rearrangement *w, unsigned group, const char *text) {
    const Group *g = &w->p.left.group[group];
    Diag *d = pattern_diag(&w->p, g->beg, g->end, text);
    note_value(w->p.call->ctx, d, w->x);
    return false;
}

/* One axis of x of `extent` elements is the product of the names in its group; one of them may be open. */
static bool solve_group(Rearrangement *w, unsigned group, unsigned axis) {
    uint64_t extent = w->x->type.shape.dim[axis], known = 1;
    Elem *open = NULL;
    for (unsigned i = 0; i < w->n; i++) {
        Elem *e = &w->elem[i];
        if (!e->name || e->item->group != group) continue;
        if (e->known) {
            if (!mul_u64(known, e->size, &known)) known = UINT64_MAX;
        } else if (open) {
            Diag *d = item_diag(w, e->item, SAY(w, "the sizes of '%s' and '%s' are both open", open->name, e->name));
            diag_help(w->p.call->ctx, d, "axis %u has %llu elements; give one of the sizes, for example %s=2", axis,
                      (ull)extent, e->name);
            return false;
        } else {
            open = e;
        }
    }
    if (!open && known != extent)
        return group_fails(
            w, group,
            SAY(w, "axis %u has %llu elements, but the pattern makes it %llu", axis, (ull)extent, (ull)known));
    if (open && known == 0)
        return group_fails(
            w, group, SAY(w, "axis %u of %llu elements leaves the size of '%s' open", axis, (ull)extent, open->name));
    if (open && extent % known != 0)
        return group_fails(
            w, group,
            SAY(w, "axis %u has %llu elements, which is no multiple of %llu", axis, (ull)extent, (ull)known));
    if (open) {
        open->size = extent / known;
        open->known = true;
    }
    return true;
}

static bool solve(Rearrangement *w) {
    for (unsigned g = 0, axis = 0; g < w->p.left.ngroups; g++) {
        if (w->p.left.group[g].rest) axis += w->nrest;
        else if (!solve_group(w, g, axis++)) return false;
    }
    return true;
}

/* ---- shapes ---- */

/* The elements of a right item: an axis, all axes of the ellipsis, or none. */
static unsigned elems_of(Rearrangement *w, const Item *it, unsigned *first) {
    *first = w->rest;
    if (it->kind == ITEM_REST) return w->nrest;
    if (it->kind == ITEM_UNIT) return 0;
    *first = (unsigned)(elem_named(w, it->name) - w->elem);
    return 1;
}

static bool push_dim(Rearrangement *w, Shape *s, uint64_t n) {
    if (s->rank == MAX_RANK) {
        Diag *d = pattern_diag(&w->p, 0, w->p.right.ngroups ? w->p.right.group[w->p.right.ngroups - 1].end : 0,
                               SAY(w, "the pattern needs more than %d axes", MAX_RANK));
        note_value(w->p.call->ctx, d, w->x);
        return false;
    }
    s->dim[s->rank++] = n;
    return true;
}

static bool make_shapes(Rearrangement *w) {
    const Side *r = &w->p.right;
    for (unsigned i = 0; i < w->n; i++)
        if (!push_dim(w, &w->split, w->elem[i].size)) return false;
    unsigned at = 0;
    for (unsigned g = 0; g < r->ngroups; g++) {
        uint64_t product = 1;
        for (; at < r->nitems && r->item[at].group == g; at++) {
            unsigned first, n = elems_of(w, &r->item[at], &first);
            for (unsigned k = 0; k < n; k++) {
                uint64_t size = w->elem[first + k].size;
                w->perm.v[w->perm.n++] = first + k;
                if (!push_dim(w, &w->moved, size) || (r->group[g].rest && !push_dim(w, &w->merged, size))) return false;
                if (!mul_u64(product, size, &product)) product = UINT64_MAX;
            }
        }
        if (!r->group[g].rest && !push_dim(w, &w->merged, product)) return false;
    }
    return true;
}

/* ---- ops ---- */

static Value *reshape_to(Rearrangement *w, Value *x, const Shape *to, const char *suffix) {
    Call *c = w->p.call;
    Ints sizes = {.n = to->rank};
    for (unsigned i = 0; i < to->rank; i++) sizes.v[i] = (int64_t)to->dim[i];
    Op *op = call_op(c, OP_RESHAPE, &x, 1, &(Attr){A_shape, ints_datum(c, &sizes)}, 1, suffix);
    return op ? op->out[0] : NULL;
}

static Value *permute_by(Rearrangement *w, Value *x, const char *suffix) {
    Op *op = call_op(w->p.call, OP_PERMUTE, &x, 1, &(Attr){A_dims, ints_datum(w->p.call, &w->perm)}, 1, suffix);
    return op ? op->out[0] : NULL;
}

static bool moves(const Ints *perm) {
    for (uint32_t i = 0; i < perm->n; i++)
        if (perm->v[i] != i) return true;
    return false;
}

/* The last of the ops bears the call's own path, those before it a suffix. */
static bool emit(Rearrangement *w) {
    Value *x = call_tensor(w->p.call, A_x);
    bool moving = moves(&w->perm), merging = !shape_equal(&w->moved, &w->merged);
    bool splitting = moving && !shape_equal(&x->type.shape, &w->split);
    if (splitting) x = reshape_to(w, x, &w->split, "split");
    if (x && moving) x = permute_by(w, x, merging ? "permute" : NULL);
    if (x && (merging || !moving)) x = reshape_to(w, x, &w->merged, NULL);
    if (x) w->p.call->result = d_tensor(x);
    return x != NULL;
}

static bool bind(Call *c) {
    Rearrangement w = {.x = call_tensor(c, A_x)};
    if (!pattern_parse(c, &w.p) || !rank_fits(&w)) return false;
    collect(&w);
    return same_names(&w) && take_sizes(&w) && solve(&w) && make_shapes(&w) && emit(&w);
}

/* A composite never stands in a graph; printed IR that has one is refused. */
static bool infer(Typing *t) {
    diag(t->ctx, DIAG_UNSUPPORTED, t->span, "%s is made of other operators and never stands in a graph",
         op_info(t->kind)->name);
    return false;
}

const OpRules rules_rearrange = {.bind = bind, .infer = infer};
