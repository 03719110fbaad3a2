/* leaves.c - which values must be stored whatever a plan decides, and of which of their bytes the others are made;
 * see leaves.h.
 *
 * requires steps and fates. One sweep in program order follows views and joins down to leaves; then sweeps find
 * what may lie outside the arena and what may come to lie in something larger. Leaves that reach a result in the
 * caller's memory through views and joins count nothing, since they may lie there from the start, and what a slice
 * there may be written over counts nothing either; neither do inputs outside, weights and numbers. Alignment: a
 * leaf that no concatenation takes in, and that can only lie over or under other such leaves, fills a buffer whose
 * end is rounded up, and counts so; all others count their bare bytes. None of this asks in which order the steps
 * run.
 *
 * Near linear; a value gathered from more than MAX_SEGMENTS ranges is not followed, and what it is made of counts
 * nothing. */
#include "passes/leaves.h"

enum { MAX_SEGMENTS = 512 };

/* Part of a step of several ops: it is computed or read by the kernel, not shared. */
static bool in_a_group(const Plan *p, const Op *op) {
    return op_runs(p, op) && p->steps.p[p->step_of[op->id]].ops.n > 1;
}

static bool joinable(const Op *op) {
    uint64_t at;
    if (!op_has(op, JOINS))
        return false;
    for (uint32_t k = 0; k < op->nin; k++)
        if (op->in[k] == NULL || !op_join(op, k, &at))
            return false;
    return true;
}

bool leaves_could_share(const Leaves *l, const Op *op, uint32_t k) {
    uint64_t part;
    return l->views && !in_a_group(l->p, op) && (op_is_view(op, k, &part) || joinable(op));
}

static void set_leaf(Leaves *l, const Value *v) {
    Segment *s = NEW(l->arena, Segment);
    *s = (Segment){v->id, 0, v->nbytes};
    l->content[v->id] = (Content){s, 1, false};
}

/* The part [lo, hi) of a content. */
static Content cut(Leaves *l, Content c, uint64_t lo, uint64_t hi) {
    Segment *s = NEW_ARRAY(l->arena, Segment, c.n);
    uint32_t n = 0;
    uint64_t at = 0;
    for (uint32_t i = 0; i < c.n; i++) {
        uint64_t size = c.s[i].hi - c.s[i].lo, from = at > lo ? at : lo, to = at + size < hi ? at + size : hi;
        if (from < to)
            s[n++] = (Segment){c.s[i].leaf, c.s[i].lo + (from - at), c.s[i].lo + (to - at)};
        at += size;
    }
    return (Content){s, n, false};
}

/* What is no longer followed may end in a result's memory, for all we know: its leaves count nothing. */
static void lose_sight(Leaves *l, const Op *op) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(l->g, l->p, op, k);
        for (uint32_t i = 0; v != NULL && i < l->content[v->id].n; i++)
            l->free[l->content[v->id].s[i].leaf] = true;
    }
}

static Content glue(Leaves *l, const Op *op) {
    VEC(Segment) s = {0};
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(l->g, l->p, op, k);
        Content c = v ? l->content[v->id] : (Content){.unknown = true};
        if (c.unknown || s.n + c.n > MAX_SEGMENTS) {
            lose_sight(l, op);
            return (Content){.unknown = true};
        }
        for (uint32_t i = 0; i < c.n; i++)
            vec_push(l->arena, &s, c.s[i]);
    }
    return (Content){s.p, (uint32_t)s.n, false};
}

static void trace_op(Leaves *l, const Op *op) {
    for (uint32_t k = 0; k < op->nout; k++) {
        const Value *v = op->out[k], *u = op->nin ? op_tensor(l->g, l->p, op, 0) : NULL;
        uint64_t part;
        if (!leaves_could_share(l, op, k)) {
            set_leaf(l, v);
        } else if (joinable(op)) {
            l->content[v->id] = glue(l, op);
        } else if (u == NULL || l->content[u->id].unknown) {
            l->content[v->id].unknown = true;
        } else {
            op_is_view(op, k, &part);
            bool whole = part == 0 && v->nbytes == u->nbytes;
            l->content[v->id] = whole ? l->content[u->id] : cut(l, l->content[u->id], part, part + v->nbytes);
        }
    }
}

/* Leaves; what everything else is made of. Ops that ran before the first step, or never, make nothing that the arena holds. */
static void trace(Leaves *l) {
    const Graph *g = l->g;
    for (size_t v = 0; v < g->values.n; v++) {
        l->content[v].unknown = g->values.p[v]->role == ROLE_CONST;
        l->free[v] = true;
        l->solo[v] = true;
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        set_leaf(l, g->inputs.p[i]);
        l->free[g->inputs.p[i]->id] = l->p->io == IO_CALLER;
        l->fixed[g->inputs.p[i]->id] = true;
    }
    for (size_t i = 0; i < g->stored.n; i++)
        set_leaf(l, g->stored.p[i]);
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        Fate fate = l->p->fate[i];
        if (op_runs(l->p, op) || fate == FATE_VIEW) {
            trace_op(l, op);
            for (uint32_t k = 0; k < op->nout; k++)
                l->free[op->out[k]->id] = !l->stored[op->out[k]->id];
        } else if (fate == FATE_CONSTANT) {
            for (uint32_t k = 0; k < op->nout; k++)
                set_leaf(l, op->out[k]);
        }
    }
}

static void find_kept(Leaves *l) {
    for (size_t i = 0; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        for (uint32_t k = 0; op->keep && op_runs(l->p, op) && k < op->nout; k++)
            l->fixed[op->out[k]->id] = l->stays[op->out[k]->id] = true;
    }
}

/* Leaves of a result may be made in the caller's memory; inside the arena they stay to the end. */
static void reach_results(Leaves *l) {
    for (size_t i = 0; i < l->g->results.n; i++) {
        uint32_t v = plan_repl(l->p, l->g->results.p[i].value->id);
        const Content *c = &l->content[v];
        l->fixed[v] = true;
        if (l->p->io == IO_ARENA)
            l->stays[v] = true;
        for (uint32_t k = 0; l->p->io == IO_CALLER && k < c->n; k++)
            l->free[c->s[k].leaf] = true;
    }
}

/* A leaf that a join might take in ends where the join says. */
static void find_joined(Leaves *l) {
    for (size_t i = 0; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        bool relevant = op_runs(l->p, op) || l->p->fate[i] == FATE_VIEW;
        for (uint32_t k = 0; l->views && relevant && op_has(op, JOINS) && k < op->nin; k++) {
            const Value *v = op_tensor(l->g, l->p, op, k);
            for (uint32_t j = 0; v != NULL && j < l->content[v->id].n; j++)
                l->solo[l->content[v->id].s[j].leaf] = false;
        }
    }
}

bool leaves_overwrites(const Leaves *l, uint32_t s, const Value *u, const Value *f) {
    Reason why;
    return u != NULL && !made_in_step(l->p, u, s) && step_reads_at_index(l->g, l->p, s, u, f, &why);
}

const Value *leaves_result(const Leaves *l, uint32_t s) {
    const Step *step = &l->p->steps.p[s];
    const Op *last = l->g->ops.p[step->ops.p[step->ops.n - 1]];
    return last->nout == 1 && l->stored[last->out[0]->id] ? last->out[0] : NULL;
}

/* What lies in a slice of a result may have been written over others there: they, too, may be outside the arena. */
static void spread_free(Leaves *l) {
    for (uint32_t s = (uint32_t)l->p->steps.n; l->p->io == IO_CALLER && l->views && s-- > 0; ) {
        const Step *step = &l->p->steps.p[s];
        const Value *f = leaves_result(l, s);
        if (f == NULL || !l->free[f->id] || l->solo[f->id])
            continue;
        for (size_t i = 0; i < step->ops.n; i++) {
            const Op *op = l->g->ops.p[step->ops.p[i]];
            for (uint32_t k = 0; k < op->nin; k++) {
                const Value *u = op_tensor(l->g, l->p, op, k);
                for (uint32_t j = 0; leaves_overwrites(l, s, u, f) && j < l->content[u->id].n; j++) {
                    l->free[l->content[u->id].s[j].leaf] = true;
                    l->solo[l->content[u->id].s[j].leaf] = false;
                }
            }
        }
    }
}

static uint32_t family(uint32_t *parent, uint32_t v) {
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

/* Values that may lie over one another may come to lie in one buffer; if one of them is, or may lie over, a mere part of
 * something, or if a concatenation takes one in, none of them has an end of its own for sure. */
static void overwrite_family(Leaves *l, uint32_t *parent, const Value *u, const Value *f) {
    const Content *c = &l->content[u->id];
    for (uint32_t j = 0; j < c->n; j++) {
        uint32_t x = family(parent, c->s[j].leaf), y = family(parent, f->id);
        bool whole = c->n == 1 && c->s[0].lo == 0 && c->s[0].hi == l->g->values.p[c->s[0].leaf]->nbytes;
        l->solo[x] = l->solo[x] && l->solo[y] && whole;
        parent[y] = x;
    }
}

static void find_solo(Leaves *l) {
    size_t n = l->g->values.n;
    uint32_t *parent = NEW_ARRAY(l->arena, uint32_t, n);
    for (size_t v = 0; v < n; v++)
        parent[v] = (uint32_t)v;
    for (uint32_t s = 0; s < l->p->steps.n; s++) {
        const Step *step = &l->p->steps.p[s];
        const Value *f = leaves_result(l, s);
        for (size_t i = 0; f != NULL && l->p->level >= LEVEL_INPLACE && i < step->ops.n; i++) {
            const Op *op = l->g->ops.p[step->ops.p[i]];
            for (uint32_t k = 0; k < op->nin; k++) {
                const Value *u = op_tensor(l->g, l->p, op, k);
                if (leaves_overwrites(l, s, u, f))
                    overwrite_family(l, parent, u, f);
            }
        }
    }
    for (size_t v = 0; v < n; v++)
        l->solo[v] = l->solo[family(parent, (uint32_t)v)];
}

uint64_t leaves_rounded(const Leaves *l, uint32_t leaf, uint64_t lo, uint64_t hi) {
    uint64_t end = hi;
    if (l->solo[leaf] && hi == l->g->values.p[leaf]->nbytes && !(l->p->without & WITHOUT_ROUNDING))
        align_up(hi, l->p->align, &end);
    return end - lo;
}

Leaves leaves_of(Arena *arena, const Graph *g, const Plan *p) {
    size_t n = g->values.n;
    Leaves l = {.g = g, .p = p, .arena = arena, .views = plan_views(g, p)};
    l.stored = values_stored(arena, g, p);
    l.content = NEW_ARRAY(arena, Content, n);
    l.free = NEW_ARRAY(arena, bool, n);
    l.fixed = NEW_ARRAY(arena, bool, n);
    l.solo = NEW_ARRAY(arena, bool, n);
    l.stays = NEW_ARRAY(arena, bool, n);
    trace(&l);
    find_kept(&l);
    reach_results(&l);
    find_joined(&l);
    spread_free(&l);
    find_solo(&l);
    return l;
}
