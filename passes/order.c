/* order.c - the order of the steps that needs the least memory (levels from `reorder` on).
 *
 * requires steps in program order; computes Plan.order and brings the steps into that order where it is better;
 * makes every later fact stale. What it minimises is the most that a step needs by need.h, which no plan of these
 * steps can go below; whether views, in place and offsets reach it is for the driver to see, which plans program
 * order, too.
 *
 * The steps are cut into stretches at articulation points: steps that every other one comes before or after, so
 * that each order runs the same steps before them. Steps that no input of the net leads to (a mask, a table of
 * positions) or that do not lead to the last result float beside the others, and would leave few such points. Where
 * that makes the stretches too long for an exact search, a second round does not let what floats keep the others
 * from being cut: it then stays in the stretch it stands in, and what is proven is proven without what it needs.
 * The least of the whole is the largest of the stretches' least, so only stretches are searched whose need in
 * program order is above what is proven of the whole: at first what single steps need in every order, then what
 * searches have shown. Mostly that is nothing, and all is linear. A stretch is searched exactly up to a counted
 * limit, by a beam beyond it (order_search.c); one of more than ORDER_MAX_STEPS steps goes window by window through
 * a beam, and nothing is proven of it but what single steps need.
 *
 * inplace=true and `x += y` demand that other readers of the operand run before: they are edges like operands. */
#include "passes/order.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512 };
static const OrderLimits whole_limits = {UINT64_C(1) << 20, UINT64_C(1) << 25};
/* Of tries that seldom win: without fusion, or without a technique. */
static const OrderLimits other_limits = {UINT64_C(1) << 18, UINT64_C(1) << 23};
/* Of a round that another one may follow. */
static const OrderLimits first_limits = {UINT64_C(1) << 16, UINT64_C(1) << 19};

typedef struct Part { uint32_t from, to; uint64_t need; } Part;                  /* a stretch; need: the most, in the best order known */

typedef struct Orderer {
    const Graph *g;
    const Plan *p;
    Arena *scratch;
    uint32_t n;                                           /* steps */
    Needs needs;
    bool *floats;                                         /* by step; none in the first round */
    bool any_floats;                                      /* that need anything */
    Needs firm;                                           /* the needs without what floats */
    uint64_t *firm_held;
    uint32_t *before_from, *before;                       /* as Stretch has them */
    uint64_t *need, *held;                                /* by step, in program order */
    VEC(Part) parts;
    uint32_t *part_of;                                    /* by step */
    uint64_t *through;                                    /* by part: bytes made before it and needed behind it */
    uint32_t *order;                                      /* the best known */
    uint64_t least;                                       /* what it needs */
    OrderLimits limits;
    uint64_t states;                                      /* spent */
    uint64_t bound;
    bool searched, by_search;                             /* by_search: a search has shown the bound */
} Orderer;

/* what runs before what */

typedef struct Edge { uint32_t step, before; } Edge;
typedef VEC(Edge) Edges;

static void add_operands(const Orderer *o, uint32_t s, uint32_t *seen, Edges *edges) {
    const Step *step = &o->p->steps.p[s];
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = o->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = op_tensor(o->g, o->p, op, k);
            if (v == NULL || v->def == NULL || !op_runs(o->p, v->def) || made_in_step(o->p, v, s))
                continue;
            uint32_t b = o->p->step_of[v->def->id];
            if (seen[b] == s + 1)
                continue;
            seen[b] = s + 1;
            vec_push(o->scratch, edges, ((Edge){s, b}));
        }
    }
}

typedef struct Range { uint32_t root; uint64_t lo, hi; } Range;                  /* bytes of the value that a value is a view of */

static Range *view_ranges(const Orderer *o) {
    Range *r = NEW_ARRAY(o->scratch, Range, o->g->values.n);
    for (uint32_t v = 0; v < o->g->values.n; v++) {
        const Value *x = o->g->values.p[v];
        uint64_t at;
        r[v] = (Range){v, 0, x->nbytes};
        if (plan_repl(o->p, v) != v)
            r[v] = r[plan_repl(o->p, v)];
        else if (x->def != NULL && op_is_view(x->def, x->out_index, &at)) {
            Range whole = r[plan_repl(o->p, x->def->in[0]->id)];
            r[v] = (Range){whole.root, whole.lo + at, whole.lo + at + x->nbytes};
        }
    }
    return r;
}

static bool is_demand(const Orderer *o, const Op *op) { return op->inplace == INPLACE_DEMAND && op_runs(o->p, op); }

/* Whoever reads bytes that a demand overwrites, and does so before it in the source, runs before it. */
static void add_demands(const Orderer *o, Edges *edges) {
    VEC(uint32_t) demands = {0};
    for (uint32_t i = 0; i < o->g->ops.n; i++)
        if (is_demand(o, o->g->ops.p[i]))
            vec_push(o->scratch, &demands, i);
    if (demands.n == 0)
        return;
    Range *range = view_ranges(o);
    uint32_t *next = NEW_ARRAY(o->scratch, uint32_t, demands.n);
    uint32_t *head = NEW_ARRAY(o->scratch, uint32_t, o->g->values.n);
    for (uint32_t d = 0; d < demands.n; d++) {
        uint32_t *h = &head[range[o->g->ops.p[demands.p[d]]->in[0]->id].root];
        next[d] = *h;
        *h = d + 1;
    }
    for (uint32_t i = 0; i < o->g->ops.n; i++) {
        const Op *op = o->g->ops.p[i];
        for (uint32_t k = 0; op_runs(o->p, op) && k < op->nin; k++) {
            const Value *v = op_tensor(o->g, o->p, op, k);
            for (uint32_t d = v != NULL ? head[range[v->id].root] : 0; d != 0; d = next[d - 1]) {
                const Op *over = o->g->ops.p[demands.p[d - 1]];
                Range a = range[v->id], b = range[over->in[0]->id];
                uint32_t s = o->p->step_of[over->id], before = o->p->step_of[i];
                if (i < over->id && before < s && a.lo < b.hi && b.lo < a.hi)
                    vec_push(o->scratch, edges, ((Edge){s, before}));
            }
        }
    }
}

static void find_edges(Orderer *o) {
    Edges edges = {0};
    uint32_t *seen = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 1);
    uint32_t *at = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 2);
    for (uint32_t s = 0; s < o->n; s++)
        add_operands(o, s, seen, &edges);
    add_demands(o, &edges);
    o->before = NEW_ARRAY(o->scratch, uint32_t, edges.n);
    for (size_t i = 0; i < edges.n; i++)
        at[edges.p[i].step + 2]++;
    for (uint32_t s = 0; s < o->n; s++)
        at[s + 2] += at[s + 1];
    for (size_t i = 0; i < edges.n; i++)
        o->before[at[edges.p[i].step + 1]++] = edges.p[i].before;
    o->before_from = at;
}

/* floating steps */

static bool reads_input(const Orderer *o, uint32_t s) {
    const Step *step = &o->p->steps.p[s];
    for (size_t i = 0; i < step->ops.n; i++) {
        const Op *op = o->g->ops.p[step->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = op_tensor(o->g, o->p, op, k);
            if (v != NULL && v->role == ROLE_INPUT)
                return true;
        }
    }
    return false;
}

static bool needs_nothing(const Needs *n, uint32_t s) {
    return n->makes_from[s + 1] == n->makes_from[s] && n->reads_from[s + 1] == n->reads_from[s] && n->scratch[s] == 0;
}

/* Firm are the steps that some input leads to and that lead to the last of those. */
static void find_floats(Orderer *o) {
    bool *led_to = NEW_ARRAY(o->scratch, bool, (size_t)o->n + 1);
    bool *leads = NEW_ARRAY(o->scratch, bool, (size_t)o->n + 1);
    uint32_t last = NO_ID;
    o->floats = NEW_ARRAY(o->scratch, bool, (size_t)o->n + 1);
    for (uint32_t s = 0; s < o->n; s++) {
        led_to[s] = reads_input(o, s);
        for (uint32_t k = o->before_from[s]; k < o->before_from[s + 1]; k++)
            led_to[s] = led_to[s] || led_to[o->before[k]];
        last = led_to[s] ? s : last;
    }
    for (uint32_t s = o->n; s-- > 0; ) {
        leads[s] = leads[s] || s == last;
        for (uint32_t k = o->before_from[s]; leads[s] && k < o->before_from[s + 1]; k++)
            leads[o->before[k]] = true;
        o->floats[s] = last != NO_ID && !(led_to[s] && leads[s]);
        o->any_floats = o->any_floats || (o->floats[s] && !needs_nothing(&o->needs, s));
    }
    if (o->any_floats) {
        o->firm = needs_without(o->scratch, &o->needs, o->floats);
        o->firm_held = NEW_ARRAY(o->scratch, uint64_t, (size_t)o->n + 1);
        needs_in_order(o->scratch, &o->firm, NULL, o->firm_held);
    }
}

/* stretches */

/* Firm step i is an articulation point when every later firm step has a firm predecessor from i on, and so comes after it, and
 * every earlier one a successor up to i. */
static void cut(Orderer *o) {
    /* 1 + the last predecessor; then the least of it over this and all later steps */
    uint32_t *last_before = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 1);
    uint32_t *first_after = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 1), latest = 0;
    for (uint32_t s = 0; s <= o->n; s++)
        first_after[s] = UINT32_MAX;
    for (uint32_t s = 0; s < o->n; s++)
        for (uint32_t k = o->before_from[s]; k < o->before_from[s + 1]; k++) {
            uint32_t b = o->before[k];
            if (o->floats[s] || o->floats[b])
                continue;
            last_before[s] = b + 1 > last_before[s] ? b + 1 : last_before[s];
            first_after[b] = s < first_after[b] ? s : first_after[b];
        }
    last_before[o->n] = UINT32_MAX;
    for (uint32_t s = o->n; s-- > 0; )
        last_before[s] = o->floats[s] || last_before[s + 1] < last_before[s] ? last_before[s + 1] : last_before[s];
    o->part_of = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 1);
    for (uint32_t s = 0, from = 0; s < o->n; s++) {
        bool point = !o->floats[s] && last_before[s + 1] > s && latest <= s;
        if (point && from < s) {
            vec_push(o->scratch, &o->parts, ((Part){from, s, 0}));
            from = s;
        }
        if (point || s + 1 == o->n) {
            vec_push(o->scratch, &o->parts, ((Part){from, s + 1, 0}));
            from = s + 1;
        }
        latest = !o->floats[s] && first_after[s] > latest ? first_after[s] : latest;
    }
    for (uint32_t i = 0; i < o->parts.n; i++)
        for (uint32_t s = o->parts.p[i].from; s < o->parts.p[i].to; s++) {
            o->part_of[s] = i;
            o->parts.p[i].need = o->need[s] > o->parts.p[i].need ? o->need[s] : o->parts.p[i].need;
        }
}

/* Parts that an item is made before and needed behind, whatever floats: [*first, *end). */
static bool passes_through(const Orderer *o, uint32_t item, uint32_t *first, uint32_t *end) {
    const Item *x = &o->firm.items[item];
    *first = x->maker == NO_ID ? 0 : o->part_of[x->maker] + 1;
    *end = x->stays ? (uint32_t)o->parts.n : x->by.to > x->by.from ? o->part_of[o->firm.readers[x->by.to - 1]] : 0;
    return *first < *end;
}

static void find_through(Orderer *o) {
    uint64_t now = 0;
    uint32_t first, end;
    o->through = NEW_ARRAY(o->scratch, uint64_t, o->parts.n + 1);
    for (uint32_t i = 0; i < o->firm.nitems; i++)
        if (passes_through(o, i, &first, &end)) {
            o->through[first] += o->firm.items[i].nbytes;
            o->through[end] -= o->firm.items[i].nbytes;
        }
    for (uint32_t i = 0; i <= o->parts.n; i++)
        o->through[i] = now += o->through[i];
}

/* A donor of step s dies behind its stretch in every order. */
static bool dies_later(const Orderer *o, uint32_t s, uint32_t donor) {
    Readers by = o->firm.donors[donor].by;
    return !o->floats[s] && by.to > by.from && o->part_of[o->firm.readers[by.to - 1]] > o->part_of[s];
}

/* What step s needs in every order: what it reads and makes, what passes through, less the donor that might die there. */
static uint64_t alone(const Orderer *o, uint32_t s) {
    const Needs *m = &o->needs;
    uint32_t part = o->part_of[s], first, end;
    uint64_t sum = m->scratch[s] + (o->floats[s] ? 0 : o->through[part]), off = 0;
    for (uint32_t k = m->reads_from[s]; k < m->reads_from[s + 1]; k++)
        if (o->floats[s] || !passes_through(o, m->reads[k], &first, &end) || part < first || part >= end)
            sum += m->items[m->reads[k]].nbytes;
    for (uint32_t k = m->makes_from[s]; k < m->makes_from[s + 1]; k++)
        sum += m->items[m->makes[k]].nbytes;
    for (uint32_t k = m->donors_from[s]; k < m->donors_from[s + 1]; k++)
        if (m->donors[k].nbytes > off && !dies_later(o, s, k))
            off = m->donors[k].nbytes;
    return sum - (off < sum ? off : sum);
}

/* the search */

static void search(Orderer *o, uint32_t from, uint32_t to, uint64_t *need, bool proves) {
    Stretch st = {.needs = &o->needs, .before_from = o->before_from, .before = o->before, .from = from, .to = to,
                  .held = o->held[from], .floor = o->bound, .ceiling = *need};
    Ordered r = order_stretch(&st, &o->limits, o->order + from);
    o->searched = true;
    *need = r.peak;
    if (o->any_floats && proves && r.peak > o->bound) {
        uint32_t *aside = NEW_ARRAY(o->scratch, uint32_t, to - from);
        st.needs = &o->firm;
        st.held = o->firm_held[from];
        st.ceiling = r.peak;
        r = order_stretch(&st, &o->limits, aside);
    }
    if (proves && r.bound > o->bound) {
        o->bound = r.bound;
        o->by_search = true;
    }
}

static uint64_t most_in(const Orderer *o, uint32_t from, uint32_t to) {
    uint64_t most = 0;
    for (uint32_t s = from; s < to; s++)
        most = o->need[s] > most ? o->need[s] : most;
    return most;
}

static void search_part(Orderer *o, Part *part) {
    if (part->to - part->from <= ORDER_MAX_STEPS) {
        search(o, part->from, part->to, &part->need, true);
    } else {
        part->need = 0;
        for (uint32_t from = part->from, to; from < part->to; from = to) {
            to = part->to - from > WINDOW ? from + WINDOW : part->to;
            uint64_t need = most_in(o, from, to);
            if (need > o->bound)
                search(o, from, to, &need, false);
            part->need = need > part->need ? need : part->need;
        }
    }
}

static const Part *neediest(const Orderer *o, const bool *done) {
    const Part *best = NULL;
    for (size_t i = 0; i < o->parts.n; i++)
        if (!done[i] && o->parts.p[i].need > o->bound && (best == NULL || o->parts.p[i].need > best->need))
            best = &o->parts.p[i];
    return best;
}

/* From the neediest stretch down, as long as there are any above what is proven of the whole. */
static void search_parts(Orderer *o) {
    bool *done = NEW_ARRAY(o->scratch, bool, o->parts.n);
    for (const Part *p; (p = neediest(o, done)) != NULL; ) {
        size_t i = (size_t)(p - o->parts.p);
        done[i] = true;
        search_part(o, &o->parts.p[i]);
    }
}

/* One round: cut, what single steps need, search where program order needs more. */
static void solve(Orderer *o, OrderLimits limits) {
    uint32_t *known = o->order;
    uint64_t least = 0;
    o->order = NEW_ARRAY(o->scratch, uint32_t, (size_t)o->n + 1);
    for (uint32_t s = 0; s < o->n; s++)
        o->order[s] = s;
    o->limits = limits;
    o->parts.n = 0;
    cut(o);
    find_through(o);
    for (uint32_t s = 0; s < o->n; s++) {
        uint64_t n = alone(o, s);
        o->by_search = o->by_search && n <= o->bound;
        o->bound = n > o->bound ? n : o->bound;
    }
    search_parts(o);
    for (size_t i = 0; i < o->parts.n; i++)
        least = o->parts.p[i].need > least ? o->parts.p[i].need : least;
    o->states += limits.states - o->limits.states;
    if (known == NULL || least < o->least)
        o->least = least;
    else
        o->order = known;
}

static Order *answer(Ctx *ctx, const Orderer *o, uint64_t before) {
    Order *r = NEW(ctx->unit, Order);
    r->kind = !o->searched ? "program" : o->least > o->bound ? "beam" : "exact";
    r->states = o->states;
    r->bound = o->bound;
    r->bound_kind = o->by_search ? "every order" : "single operator";
    r->level = o->p->level;
    r->without = o->p->without & WITHOUT_STEPS;
    r->changed = o->least < before && !o->g->mem_noreuse;
    if (r->changed) {
        uint32_t *anchors = NEW_ARRAY(ctx->unit, uint32_t, o->n);
        for (uint32_t s = 0; s < o->n; s++)
            anchors[s] = o->p->steps.p[o->order[s]].anchor;
        r->anchors = anchors;
        r->n = o->n;
    }
    return r;
}

static const Order *find_order(Ctx *ctx, const Graph *g, const Plan *p) {
    Orderer o = {.g = g, .p = p, .scratch = ctx->scratch, .n = (uint32_t)p->steps.n};
    o.needs = o.firm = needs_of(ctx->scratch, g, p);
    o.need = NEW_ARRAY(ctx->scratch, uint64_t, (size_t)o.n + 1);
    o.held = o.firm_held = NEW_ARRAY(ctx->scratch, uint64_t, (size_t)o.n + 1);
    o.floats = NEW_ARRAY(ctx->scratch, bool, (size_t)o.n + 1);
    uint64_t before = needs_in_order(ctx->scratch, &o.needs, o.need, o.held);
    find_edges(&o);
    solve(&o, first_limits);
    if (o.least > o.bound) {
        /* What floats may be all that kept the others from being cut; if nothing does, this is the same with more patience. */
        find_floats(&o);
        solve(&o, p->level >= LEVEL_FULL && (p->without & WITHOUT_STEPS) == 0 ? whole_limits : other_limits);
    }
    return answer(ctx, &o, before);
}

static void bring_into(Ctx *ctx, Plan *p, const Order *order) {
    Step *steps = NEW_ARRAY(ctx->scratch, Step, p->steps.n);
    if (order->n != p->steps.n)
        ice("order: of %u steps, there are %zu", (unsigned)order->n, p->steps.n);
    memcpy(steps, p->steps.p, p->steps.n * sizeof *steps);
    for (uint32_t s = 0; s < order->n; s++)
        p->steps.p[s] = steps[p->step_of[order->anchors[s]]];
    for (uint32_t s = 0; s < order->n; s++)
        for (size_t i = 0; i < p->steps.p[s].ops.n; i++)
            p->step_of[p->steps.p[s].ops.p[i]] = s;
}

void pass_order(Ctx *ctx, const Graph *g, Plan *p) {
    if (p->order == NULL || p->order->level != p->level || p->order->without != (p->without & WITHOUT_STEPS))
        p->order = find_order(ctx, g, p);
    p->order_kind = p->order->kind;
    p->order_states = p->order->states;
    if (p->order->changed && p->without & WITHOUT_ORDER)
        p->order_kind = "program";
    else if (p->order->changed)
        bring_into(ctx, p, p->order);
}
