/* bound.c - a lower bound for the arena of any plan that runs these steps in this order, whatever it shares.
 *
 * requires steps and fates; computes bound_bytes and bound_kind; needs no places of its own choice.
 *
 * The argument. Call a value a leaf when some step computes it and the level has no way to make it bytes of other
 * values: not a part or a reshape of another, not a concatenation that could lie in its slices. Every byte that a
 * reader will still read, through whatever views and joins, is a byte of a leaf; distinct bytes of distinct leaves
 * are distinct information, so at each step the arena holds, once each: (1) every byte of a leaf made before and
 * read at this step or later, (2) the leaves this step makes, (3) its workspace. The one exception is a result over
 * an operand that dies there: in place is one operand per result, so for each result the most that a legal operand
 * could give is taken off: all of it where the operand might be a copy, for a copy may be overwritten though its
 * source may not. Where it may lie over an operand in part (op_lead), what the two can share is taken off. That a plan
 * copies, keeps a result out of place or loses bytes to the shape of holes otherwise only adds. Leaves that reach a
 * result in the caller's memory through views and joins count nothing, since they may lie there from the start, and
 * what a slice there may be written over counts nothing either; neither do inputs outside, weights and numbers. Alignment: a leaf that no concatenation takes in, and that can only lie over or
 * under other such leaves, fills a buffer whose end is rounded up, and counts so; all others count their bare
 * bytes.
 *
 * Cost O(n log n); a value gathered from more than MAX_SEGMENTS ranges is not followed, which only lowers the
 * bound. */
#include "passes/steps.h"
#include "passes/passes.h"

enum { MAX_SEGMENTS = 512 };

typedef struct Segment { uint32_t leaf; uint64_t lo, hi; } Segment;              /* bytes of a leaf */
typedef struct Content { const Segment *s; uint32_t n; bool unknown; } Content;  /* what a value is made of, in its order of bytes */

typedef struct Bound {
    const Graph *g;
    const Plan *p;
    Arena *scratch;
    uint32_t end;
    bool views;                                           /* the level can share bytes between a value and its views and joins */
    bool *stored;
    Content *content;                                     /* by value id */
    bool *free;                                           /* by value id: a leaf outside the arena */
    bool *fixed;                                          /* by value id: a leaf nothing is written over: inputs, results, @keep */
    bool *solo;                                           /* by value id: a leaf that surely fills a buffer of its own size */
    uint32_t *last;                                       /* by value id: last step that really reads it; its own if none */
    uint64_t *delta;                                      /* by step: change of what is held */
} Bound;

static bool joinable(const Op *op) {
    uint64_t at;
    if (!op_has(op, JOINS))
        return false;
    for (uint32_t k = 0; k < op->nin; k++)
        if (op->in[k] == NULL || !op_join(op, k, &at))
            return false;
    return true;
}

/* Could this level make result k of op bytes of its operands? Inside another kernel it is computed or read, not shared. */
static bool could_share(const Bound *b, const Op *op, uint32_t k) {
    uint64_t part;
    return b->views && b->p->fate[op->id] != FATE_FUSED && (op_is_view(op, k, &part) || joinable(op));
}

static void set_leaf(Bound *b, const Value *v) {
    Segment *s = NEW(b->scratch, Segment);
    *s = (Segment){v->id, 0, v->nbytes};
    b->content[v->id] = (Content){s, 1, false};
}

/* The part [lo, hi) of a content. */
static Content cut(Bound *b, Content c, uint64_t lo, uint64_t hi) {
    Segment *s = NEW_ARRAY(b->scratch, Segment, c.n);
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
static void lose_sight(Bound *b, const Op *op) {
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(b->g, b->p, op, k);
        for (uint32_t i = 0; v != NULL && i < b->content[v->id].n; i++)
            b->free[b->content[v->id].s[i].leaf] = true;
    }
}

static Content glue(Bound *b, const Op *op) {
    VEC(Segment) s = {0};
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = op_tensor(b->g, b->p, op, k);
        Content c = v ? b->content[v->id] : (Content){.unknown = true};
        if (c.unknown || s.n + c.n > MAX_SEGMENTS) {
            lose_sight(b, op);
            return (Content){.unknown = true};
        }
        for (uint32_t i = 0; i < c.n; i++)
            vec_push(b->scratch, &s, c.s[i]);
    }
    return (Content){s.p, (uint32_t)s.n, false};
}

static void trace_op(Bound *b, const Op *op) {
    for (uint32_t k = 0; k < op->nout; k++) {
        const Value *v = op->out[k], *u = op->nin ? op_tensor(b->g, b->p, op, 0) : NULL;
        uint64_t part;
        if (!could_share(b, op, k)) {
            set_leaf(b, v);
        } else if (joinable(op)) {
            b->content[v->id] = glue(b, op);
        } else if (u == NULL || b->content[u->id].unknown) {
            b->content[v->id].unknown = true;
        } else {
            op_is_view(op, k, &part);
            b->content[v->id] = part == 0 && v->nbytes == u->nbytes ? b->content[u->id] : cut(b, b->content[u->id], part, part + v->nbytes);
        }
    }
}

/* Leaves; what everything else is made of. Ops that ran before the first step, or never, make nothing that the arena holds. */
static void trace(Bound *b) {
    const Graph *g = b->g;
    for (size_t v = 0; v < g->values.n; v++) {
        b->content[v].unknown = g->values.p[v]->role == ROLE_CONST;
        b->free[v] = true;
        b->solo[v] = true;
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        set_leaf(b, g->inputs.p[i]);
        b->free[g->inputs.p[i]->id] = b->p->io == IO_CALLER;
        b->fixed[g->inputs.p[i]->id] = true;
    }
    for (size_t i = 0; i < g->stored.n; i++)
        set_leaf(b, g->stored.p[i]);
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        Fate fate = b->p->fate[i];
        if (op_runs(b->p, op) || fate == FATE_VIEW) {
            trace_op(b, op);
            for (uint32_t k = 0; k < op->nout; k++)
                b->free[op->out[k]->id] = !b->stored[op->out[k]->id];
        } else if (fate == FATE_CONSTANT) {
            for (uint32_t k = 0; k < op->nout; k++)
                set_leaf(b, op->out[k]);
        }
    }
}

static void find_reads(Bound *b) {
    const Plan *p = b->p;
    for (size_t i = 0; i < b->g->ops.n; i++) {
        const Op *op = b->g->ops.p[i];
        if (!op_runs(p, op))
            continue;
        for (uint32_t k = 0; k < op->nout; k++) {
            b->fixed[op->out[k]->id] = op->keep;
            if (op->keep)
                b->last[op->out[k]->id] = b->end;
            else if (!could_share(b, op, k) && b->last[op->out[k]->id] < p->step_of[i])
                b->last[op->out[k]->id] = p->step_of[i];
        }
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = op_tensor(b->g, p, op, k);
            if (v != NULL && !could_share(b, op, 0) && b->last[v->id] < p->step_of[i])
                b->last[v->id] = p->step_of[i];
        }
    }
}

/* Leaves of a result may be made in the caller's memory; inside the arena they stay to the end. */
static void reach_results(Bound *b) {
    for (size_t i = 0; i < b->g->results.n; i++) {
        uint32_t v = plan_repl(b->p, b->g->results.p[i].value->id);
        const Content *c = &b->content[v];
        b->fixed[v] = true;
        if (b->p->io == IO_ARENA)
            b->last[v] = b->end;
        for (uint32_t k = 0; b->p->io == IO_CALLER && k < c->n; k++)
            b->free[c->s[k].leaf] = true;
    }
}

static uint32_t birth(const Bound *b, uint32_t leaf) {
    const Value *v = b->g->values.p[leaf];
    return v->def != NULL && op_runs(b->p, v->def) ? b->p->step_of[v->def->id] : 0;
}

/* A leaf that a join might take in ends where the join says. */
static void find_joined(Bound *b) {
    for (size_t i = 0; i < b->g->ops.n; i++) {
        const Op *op = b->g->ops.p[i];
        bool relevant = op_runs(b->p, op) || b->p->fate[i] == FATE_VIEW;
        for (uint32_t k = 0; b->views && relevant && op_has(op, JOINS) && k < op->nin; k++) {
            const Value *v = op_tensor(b->g, b->p, op, k);
            for (uint32_t j = 0; v != NULL && j < b->content[v->id].n; j++)
                b->solo[b->content[v->id].s[j].leaf] = false;
        }
    }
}

/* The last op's result may lie over u, for all that kernels say. */
static bool could_overwrite(const Bound *b, uint32_t s, const Value *u, const Value *f) {
    Reason why;
    return u != NULL && !made_in_step(b->p, u, s) && step_reads_at_index(b->g, b->p, s, u, f, &why);
}

static const Value *step_result(const Bound *b, uint32_t s) {
    const Step *step = &b->p->steps.p[s];
    const Op *last = b->g->ops.p[step->ops.p[step->ops.n - 1]];
    return last->nout == 1 && b->stored[last->out[0]->id] ? last->out[0] : NULL;
}

/* What lies in a slice of a result may have been written over others there: they, too, may be outside the arena. */
static void spread_free(Bound *b) {
    for (uint32_t s = (uint32_t)b->p->steps.n; b->p->io == IO_CALLER && b->views && s-- > 0; ) {
        const Step *step = &b->p->steps.p[s];
        const Value *f = step_result(b, s);
        if (f == NULL || !b->free[f->id] || b->solo[f->id])
            continue;
        for (size_t i = 0; i < step->ops.n; i++) {
            const Op *op = b->g->ops.p[step->ops.p[i]];
            for (uint32_t k = 0; k < op->nin; k++) {
                const Value *u = op_tensor(b->g, b->p, op, k);
                for (uint32_t j = 0; could_overwrite(b, s, u, f) && j < b->content[u->id].n; j++) {
                    b->free[b->content[u->id].s[j].leaf] = true;
                    b->solo[b->content[u->id].s[j].leaf] = false;
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
static void overwrite_family(Bound *b, uint32_t *parent, const Value *u, const Value *f) {
    const Content *c = &b->content[u->id];
    for (uint32_t j = 0; j < c->n; j++) {
        uint32_t x = family(parent, c->s[j].leaf), y = family(parent, f->id);
        bool whole = c->n == 1 && c->s[0].lo == 0 && c->s[0].hi == b->g->values.p[c->s[0].leaf]->nbytes;
        b->solo[x] = b->solo[x] && b->solo[y] && whole;
        parent[y] = x;
    }
}

static void find_solo(Bound *b) {
    size_t n = b->g->values.n;
    uint32_t *parent = NEW_ARRAY(b->scratch, uint32_t, n);
    for (size_t v = 0; v < n; v++)
        parent[v] = (uint32_t)v;
    for (uint32_t s = 0; s < b->p->steps.n; s++) {
        const Step *step = &b->p->steps.p[s];
        const Value *f = step_result(b, s);
        for (size_t i = 0; f != NULL && b->p->level >= LEVEL_INPLACE && i < step->ops.n; i++) {
            const Op *op = b->g->ops.p[step->ops.p[i]];
            for (uint32_t k = 0; k < op->nin; k++) {
                const Value *u = op_tensor(b->g, b->p, op, k);
                if (could_overwrite(b, s, u, f))
                    overwrite_family(b, parent, u, f);
            }
        }
    }
    for (size_t v = 0; v < n; v++)
        b->solo[v] = b->solo[family(parent, (uint32_t)v)];
}

static uint64_t rounded(const Bound *b, uint32_t leaf, uint64_t lo, uint64_t hi) {
    uint64_t end = hi;
    if (b->solo[leaf] && hi == b->g->values.p[leaf]->nbytes)
        align_up(hi, b->p->align, &end);
    return end - lo;
}

/* What an operand that dies at step s gives up at most: the bytes of its leaves that nobody reads later. */
static uint64_t donation(const Bound *b, uint32_t s, const Value *u, const uint32_t *leaf_last) {
    const Content *c = &b->content[u->id];
    uint64_t sum = 0;
    if (b->last[u->id] > s)
        return 0;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t leaf = c->s[i].leaf;
        if (b->fixed[leaf] && leaf == u->id)
            return 0;                                     /* but a view of it might be a copy, which may be written over */
        if (!b->free[leaf] && leaf_last[leaf] <= s)
            sum += rounded(b, leaf, c->s[i].lo, c->s[i].hi);
        else if (!b->free[leaf])
            sum += c->s[i].hi - c->s[i].lo;               /* parts of it may die: all of them, to be safe */
    }
    return sum;
}

/* What f may lie over its operand u in part: all but what it must begin before it. */
static uint64_t overlap(const Bound *b, uint32_t s, const Value *u, const Value *f, const uint32_t *leaf_last) {
    uint64_t lead, own = rounded(b, f->id, 0, f->nbytes), d;
    if (u == NULL || !plan_overlaps(b->g, b->p) || made_in_step(b->p, u, s) || !step_lead(b->g, b->p, s, u, f, &lead))
        return 0;
    if (b->solo[f->id])
        align_up(lead, b->p->align, &lead);
    d = donation(b, s, u, leaf_last);
    own = lead < own ? own - lead : 0;
    return d < own ? d : own;
}

static uint64_t best_donation(const Bound *b, uint32_t s, const Value *f, const uint32_t *leaf_last) {
    const Step *step = &b->p->steps.p[s];
    uint64_t best = 0;
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = b->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *u = op_tensor(b->g, b->p, op, k);
            uint64_t d = could_overwrite(b, s, u, f) ? donation(b, s, u, leaf_last) : overlap(b, s, u, f, leaf_last);
            best = d > best ? d : best;
        }
    }
    return best;
}

/* Every use of leaf bytes, leaf by leaf, becomes pieces; their sum by steps is what must be held. */
static void hold(Bound *b, uint32_t *leaf_last) {
    size_t nv = b->g->values.n, total = 0;
    uint32_t *start = NEW_ARRAY(b->scratch, uint32_t, nv + 2);
    for (int fill = 0; fill < 2; fill++) {
        Use *uses = fill ? NEW_ARRAY(b->scratch, Use, total) : NULL;
        for (size_t v = 0; v < nv; v++) {
            const Content *c = &b->content[v];
            for (uint32_t k = 0; b->p->repl[v] == v && k < c->n; k++) {
                uint32_t leaf = c->s[k].leaf, first = birth(b, leaf), last = b->last[v] > first ? b->last[v] : first;
                if (b->free[leaf])
                    continue;
                if (!fill) {
                    start[leaf + 2]++;
                    total++;
                } else {
                    uses[start[leaf + 1]++] = (Use){c->s[k].lo, c->s[k].hi, first, last};
                    leaf_last[leaf] = last > leaf_last[leaf] ? last : leaf_last[leaf];
                }
            }
        }
        for (size_t v = 0; !fill && v < nv; v++)
            start[v + 2] += start[v + 1];
        for (size_t v = 0; fill && v < nv; v++) {
            Pieces pieces = {0};
            if (start[v + 1] == start[v])
                continue;
            if (!pieces_of(b->scratch, b->scratch, uses + start[v], start[v + 1] - start[v], &pieces))
                continue;                                 /* a hull would count too much: leave the leaf out */
            for (size_t i = 0; i < pieces.n; i++) {
                uint64_t n = rounded(b, (uint32_t)v, pieces.p[i].lo, pieces.p[i].hi);
                b->delta[pieces.p[i].first] += n;
                b->delta[pieces.p[i].last + 1] -= n;
            }
        }
    }
}

static uint64_t step_workspace(const Bound *b, uint32_t s) {
    uint64_t n = step_scratch(b->g, b->p, s);
    return align_up(n, b->p->align, &n) ? n : UINT64_MAX;
}

static uint64_t largest(const Bound *b, const uint32_t *leaf_last) {
    uint64_t now = 0, most = 0;
    for (uint32_t s = 0; s < b->p->steps.n; s++) {
        const Value *f = b->p->level >= LEVEL_INPLACE ? step_result(b, s) : NULL;
        uint64_t off = 0, need;
        now += b->delta[s];
        if (f != NULL && b->content[f->id].n == 1 && !b->free[f->id]) {
            uint64_t own = rounded(b, f->id, 0, f->nbytes);
            off = best_donation(b, s, f, leaf_last);
            off = off > own ? own : off;
        }
        need = now - (off < now ? off : now) + step_workspace(b, s);
        most = need > most ? need : most;
    }
    return most;
}

void pass_bound(Ctx *ctx, const Graph *g, Plan *p) {
    size_t n = g->values.n;
    Arena *s = ctx->scratch;
    Bound b = {.g = g, .p = p, .scratch = s, .end = p->steps.n ? (uint32_t)p->steps.n - 1 : 0, .views = plan_views(g, p)};
    b.stored = values_stored(s, g, p);
    b.content = NEW_ARRAY(s, Content, n);
    b.free = NEW_ARRAY(s, bool, n);
    b.fixed = NEW_ARRAY(s, bool, n);
    b.solo = NEW_ARRAY(s, bool, n);
    b.last = NEW_ARRAY(s, uint32_t, n);
    b.delta = NEW_ARRAY(s, uint64_t, (size_t)b.end + 2);
    trace(&b);
    find_reads(&b);
    reach_results(&b);
    find_joined(&b);
    spread_free(&b);
    find_solo(&b);
    uint32_t *leaf_last = NEW_ARRAY(s, uint32_t, n);
    hold(&b, leaf_last);
    p->bound_bytes = largest(&b, leaf_last);
    p->bound_kind = "program order";
}
