/* weights.c - the tensors of a weights file for the stored tensors of a network, by name. A name that is missing
 * keeps its start value and one that nothing asks for is left: both are warnings, each said once with a few of the
 * names and what may have been meant. A file that has none of the names is for another network: an error. What
 * inference does not read (batch_norm's num_batches_tracked) is not missed. O(tensors + ops). */
#include "frontend/arrays.h"

enum { SHOWN = 8 };
typedef VEC(const char *) Names;

static const char *file_type(Ctx *c, const FileTensor *t) {
    const char *dtype = t->known ? dtype_name(t->type) : t->dtype;
    if (t->rank > MAX_RANK)
        return arena_printf(c->scratch, "%s of rank %llu", dtype, (unsigned long long)t->rank);
    Shape s = shape_of((unsigned)t->rank, t->dim);
    return arena_printf(c->scratch, "%s%s", dtype, shape_text(c->scratch, &s));
}

static bool fits(Ctx *c, const char *path, const FileTensor *t, const Value *v) {
    const Shape *s = &v->type.shape;
    bool same = t->known && t->type == v->type.dtype && t->rank == s->rank;
    for (unsigned i = 0; same && i < s->rank; i++)
        same = t->dim[i] == s->dim[i];
    if (same)
        return true;
    Diag *d = diag(c, DIAG_WEIGHTS_FILE, v->span, "%s: the tensor %s is %s, but the network's is %s", path, t->name,
                   file_type(c, t), type_text(c->scratch, &v->type));
    if (dtype_bits(v->type.dtype) < 8)
        diag_help(c, d, "safetensors files have no %s", dtype_name(v->type.dtype));
    return false;
}

/* Some of the names, each with the nearest of the other side. `what` they are stands before each. */
static void list(Ctx *c, Diag *d, const char *what, const Names *names, const Names *others) {
    for (size_t i = 0; i < names->n && i < SHOWN; i++) {
        const char *near = suggest(names->p[i], others->p, others->n);
        if (near)
            diag_note(c, d, (Span){ 0 }, "%s: %s; did you mean '%s'?", what, names->p[i], near);
        else
            diag_note(c, d, (Span){ 0 }, "%s: %s", what, names->p[i]);
    }
    if (names->n > SHOWN)
        diag_note(c, d, (Span){ 0 }, "... and %zu more", names->n - SHOWN);
}

/* By value id: does an operator read it, or a result hand it out? Training's counters are not missed. */
static bool *values_read(Ctx *c, const Graph *g) {
    bool *read = NEW_ARRAY(c->unit, bool, g->values.n);
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nin; k++)
            if (g->ops.p[i]->in[k] && op_reads(g->ops.p[i], k))
                read[g->ops.p[i]->in[k]->id] = true;
    for (size_t i = 0; i < g->results.n; i++)
        read[g->results.p[i].value->id] = true;
    return read;
}

bool weights_match(Ctx *c, const Graph *g, Safetensors *f, const FileTensor **by_id) {
    Names missing = { 0 }, unused = { 0 };
    const bool *read = values_read(c, g);
    size_t found = 0;
    bool ok = true;
    for (size_t i = 0; i < g->stored.n; i++) {
        const Value *v = g->stored.p[i];
        FileTensor *t = namemap_get(f->by_name, name_of(c, v->name));
        if (!t) {
            if (read[v->id])
                vec_push(c->unit, &missing, v->name);
            continue;
        }
        found++;
        t->used = true;
        by_id[v->id] = t;
        ok = fits(c, f->path, t, v) && ok;
    }
    for (size_t i = 0; i < f->tensors.n; i++)
        if (!f->tensors.p[i].used)
            vec_push(c->unit, &unused, f->tensors.p[i].name);
    if (missing.n && found == 0) {
        Diag *d = diag(c, DIAG_WEIGHTS_FILE, (Span){ 0 }, "%s has none of the network's %zu stored tensors", f->path,
                       g->stored.n);
        list(c, d, "in the file", &unused, &missing);
        diag_help(c, d, "netc --emit=weights-list prints the names that the network asks for");
        return false;
    }
    if (missing.n) {
        Diag *d = diag(c, DIAG_MISSING_WEIGHT, (Span){ 0 },
                       "%s lacks %zu of the network's %zu stored tensors, which are made from the seed", f->path,
                       missing.n, g->stored.n);
        list(c, d, "missing", &missing, &unused);
    }
    if (unused.n) {
        Diag *d = diag(c, DIAG_UNUSED_WEIGHT, (Span){ 0 }, "%s has %zu tensor%s that the network does not ask for",
                       f->path, unused.n, unused.n == 1 ? "" : "s");
        list(c, d, "unused", &unused, &missing);
    }
    return ok;
}
