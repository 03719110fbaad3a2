/* passes.c - the driver of planning: runs the passes for the level asked for and for the levels below it, keeps the
 * best plan.
 *
 * Levels are tried from the highest down, each as one or more tries that leave techniques out (Plan.without). A try
 * that cannot beat the best arena so far, because its live peak is no smaller already, is not placed. So the arena
 * never grows with the level, and of equal plans the highest level's stands. Where a better order was found, the same level is
 * planned in program order, too. Every try but the first lives in an
 * arena of its own that is freed; when one of them wins it is made again to stay, which gives the same plan. */
#include "passes/steps.h"
#include "passes/passes.h"

#include <string.h>

typedef struct Pass {
    const char *name, *summary;
    void (*run)(Ctx *, const Graph *, Plan *);            /* NULL: runs before or after planning */
    Level from;                                           /* the lowest level it runs at */
} Pass;

static const Pass passes[] = {
    {"elaborate", "the graph as the source says it", NULL, LEVEL_NAIVE},
    {"demand", "in-place demands of the source can be met", NULL, LEVEL_NAIVE},
    {"simplify", "identities, duplicates, constants, dead operators, folded batch norms", pass_simplify, LEVEL_FULL},
    {"fuse", "which operators run as one step", pass_fuse, LEVEL_FULL},
    {"schedule", "the steps, in program order", pass_schedule, LEVEL_NAIVE},
    {"order", "the order of the steps that needs the least memory", pass_order, LEVEL_REORDER},
    {"alias", "which values share a buffer", pass_alias, LEVEL_NAIVE},
    {"liveness", "lives, workspaces, live peak", pass_liveness, LEVEL_NAIVE},
    {"bound", "a lower bound for the arena", pass_bound, LEVEL_NAIVE},
    {"offsets", "a place in the arena for every buffer", pass_offsets, LEVEL_NAIVE},
    {"verify", "the plan replayed by an independent checker", NULL, LEVEL_NAIVE},
};

const char *const *pass_names(size_t *n) {
    static const char *const names[] = {"elaborate", "demand", "simplify", "fuse", "schedule", "order", "alias", "liveness", "bound",
                                        "offsets", "verify"};
    _Static_assert(COUNT_OF(names) == COUNT_OF(passes), "a name for every pass");
    *n = COUNT_OF(names);
    return names;
}

const char *pass_summary(const char *name) {
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        if (strcmp(passes[i].name, name) == 0)
            return passes[i].summary;
    return NULL;
}

static void print_after(Ctx *ctx, const Graph *g, const Plan *p, const char *name, const char *wanted) {
    StrBuf out;
    if (wanted == NULL || strcmp(name, wanted) != 0)
        return;
    sb_init(&out, ctx->scratch);
    ir_print(&out, ctx, g, p);
    diag_dump(out.p, out.n);
}

static uint64_t target_align(Target t) { return t == TARGET_CUDA ? 256 : 64; }

static uint64_t plan_align(const Graph *g, const PlanOptions *o) {
    return o->align ? o->align : g->mem_align ? g->mem_align : target_align(o->target);
}

/* Every operator output of the graph as written in a buffer of its own, every workspace, and the inputs where they are in the
 * arena. A network for which this does not fit 63 bits is refused, so that no later sum of live bytes can wrap. */
static bool naive_bytes(Ctx *ctx, const Graph *g, const PlanOptions *o, uint64_t *sum) {
    uint64_t align = plan_align(g, o), n;
    bool fits = true;
    *sum = 0;
    for (size_t i = 0; o->io == IO_ARENA && i < g->inputs.n; i++)
        fits = fits && align_up(g->inputs.p[i]->nbytes, align, &n) && add_u64(*sum, n, sum);
    for (size_t i = 0; i < g->ops.n; i++) {
        const Op *op = g->ops.p[i];
        fits = fits && align_up(op_scratch(op, false), align, &n) && add_u64(*sum, n, sum);
        for (uint32_t k = 0; k < op->nout; k++)
            fits = fits && align_up(op->out[k]->nbytes, align, &n) && add_u64(*sum, n, sum);
    }
    if (fits && *sum <= INT64_MAX)
        return true;
    diag(ctx, DIAG_TOO_LARGE, g->span, "the tensors of %s add up to more than 2^63 bytes", g->name);
    return false;
}

typedef struct Try {
    Level level;
    unsigned without;
    const bool *no_slice;
    const Order *order;                                   /* what an earlier try with the same steps found out, or NULL */
    const uint8_t *deny;                                  /* decisions not to be taken, or NULL */
} Try;

/* The passes up to the bound; placing is a decision of its own. */
static Plan *run_passes(Ctx *ctx, const Graph *g, const PlanOptions *o, Arena *arena, Try t, const char *wanted) {
    Plan *p = plan_new(arena, g, t.level, o->target, o->io, plan_align(g, o));
    p->without = t.without;
    p->no_slice = t.no_slice;
    p->deny = t.deny;
    p->order = t.order;
    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        if (passes[i].run == NULL || passes[i].run == pass_offsets)
            continue;
        if (t.level >= passes[i].from)
            passes[i].run(ctx, g, p);
        print_after(ctx, g, p, passes[i].name, wanted);
        arena_reset(ctx->scratch);
    }
    return p;
}

/* The bound rounds up what it takes to fill a buffer of its own. Where a plan shows that some of it may lie closer, the bound
 * is made again of bare bytes, which holds for every alignment. */
static Plan *prepare(Ctx *ctx, const Graph *g, const PlanOptions *o, Arena *arena, Try t, const char *wanted) {
    Plan *p = run_passes(ctx, g, o, arena, t, wanted);
    if (p->bound_bytes > p->live_peak_bytes) {
        t.without |= WITHOUT_ROUNDING;
        t.order = NULL;
        p = run_passes(ctx, g, o, arena, t, NULL);
    }
    if (p->bound_bytes > p->live_peak_bytes)
        ice("bound: %llu bytes above the live peak of %llu at level %s", (unsigned long long)p->bound_bytes,
            (unsigned long long)p->live_peak_bytes, level_name(t.level));
    return p;
}

static void place(Ctx *ctx, const Graph *g, Plan *p) {
    pass_offsets(ctx, g, p);
    arena_reset(ctx->scratch);
}

/* Constants leave the arena for the weights: a plan with fewer of them is better when it needs less in all. Between plans of
 * different levels the arena alone decides. */
static bool better(const Plan *p, const Plan *best) {
    if (p->level == best->level && (p->without ^ best->without) & WITHOUT_CONSTANTS)
        return p->arena_bytes + p->weights_bytes < best->arena_bytes + best->weights_bytes;
    return p->arena_bytes < best->arena_bytes;
}

/* A try's live peak tells that it cannot win. */
static bool hopeless(const Plan *p, const Plan *best) {
    Plan ideal = *p;
    ideal.arena_bytes = p->live_peak_bytes;
    return !better(&ideal, best);
}

static bool has_fate(const Graph *g, const Plan *p, Fate fate) {
    for (size_t i = 0; i < g->ops.n; i++)
        if (p->fate[i] == fate)
            return true;
    return false;
}

static bool has_slices(const Graph *g, const Plan *p) {
    for (size_t v = 0; v < g->values.n; v++)
        if (p->place[v].share == SHARE_SLICE)
            return true;
    return false;
}

/* Slices tie values into one rigid buffer. Where such buffers stick out above `limit`, the values that were there first tie
 * the most: they shall be copied instead, beside those that `before` says already. NULL if there are none. */
static const bool *stiff_slices(Ctx *ctx, const Graph *g, const Plan *p, const bool *before, uint64_t limit) {
    uint32_t *earliest = NEW_ARRAY(ctx->scratch, uint32_t, p->buffers.n);
    bool *flags = NULL;
    if (p->arena_bytes == p->live_peak_bytes)
        return NULL;
    for (int mark = 0; mark < 2; mark++)
        for (size_t v = 0; v < g->values.n; v++) {
            const Place *pl = &p->place[v];
            if (pl->share != SHARE_SLICE || p->buffers.p[pl->buffer].offset + p->buffers.p[pl->buffer].nbytes <= limit)
                continue;
            if (!mark) {
                if (earliest[pl->buffer] == 0 || pl->first < earliest[pl->buffer] - 1)
                    earliest[pl->buffer] = pl->first + 1;
            } else if (pl->first == earliest[pl->buffer] - 1) {
                if (flags == NULL)
                    flags = before ? arena_copy(ctx->unit, before, g->values.n * sizeof *flags) : NEW_ARRAY(ctx->unit, bool, g->values.n);
                flags[v] = true;
            }
        }
    return flags;
}

static void keep_better(const Plan *p, Try t, Plan *best, Try *winner) {
    if (!better(p, best))
        return;
    *winner = t;
    best->level = p->level;
    best->without = p->without;
    best->arena_bytes = p->arena_bytes;
    best->weights_bytes = p->weights_bytes;
}

/* A bound speaks of the steps of its own try. What holds for the level is the least of all that were tried. */
static void keep_bound(const Plan *p, Plan *best) {
    if (p->bound_bytes >= best->bound_bytes)
        return;
    best->bound_bytes = p->bound_bytes;
    best->bound_kind = p->bound_kind;
}

/* Makes one more plan aside and throws it away; if it is better it is the winner so far. Says which slices were stiff in it.
 * A plan with slices is placed even when it cannot win, since the tries that follow from it might. */
static const bool *attempt(Ctx *ctx, const Graph *g, const PlanOptions *o, Try t, Plan *best, Try *winner) {
    Arena *aside = arena_new();
    const bool *stiff = NULL;
    Plan *p = prepare(ctx, g, o, aside, t, NULL);
    keep_bound(p, best);
    if (!hopeless(p, best) || has_slices(g, p)) {
        place(ctx, g, p);
        stiff = stiff_slices(ctx, g, p, t.no_slice, p->live_peak_bytes);
        keep_better(p, t, best, winner);
    }
    arena_free(aside);
    return stiff;
}

/* Other ways to plan a level, as far as its first plan p gives cause; which ones does not depend on the level asked for, so
 * that a higher level has looked at all that a lower one has. */
static void other_tries(Ctx *ctx, const Graph *g, const PlanOptions *o, const Plan *p, Plan *best, Try *winner) {
    enum { ROUNDS = 3 };
    Try t = {p->level, p->without, NULL, p->order, NULL};
    if (p->level == LEVEL_FULL && has_fate(g, p, FATE_CONSTANT))
        attempt(ctx, g, o, (Try){p->level, p->without | WITHOUT_CONSTANTS, NULL, NULL, NULL}, best, winner);
    if (p->arena_bytes == p->live_peak_bytes || !has_slices(g, p))
        return;
    t.no_slice = stiff_slices(ctx, g, p, NULL, p->live_peak_bytes);
    for (int i = 0; i < ROUNDS && t.no_slice != NULL; i++)
        t.no_slice = attempt(ctx, g, o, t, best, winner);
    t.no_slice = stiff_slices(ctx, g, p, NULL, 0);
    attempt(ctx, g, o, t, best, winner);
    attempt(ctx, g, o, (Try){p->level, p->without | WITHOUT_SLICES, NULL, p->order, NULL}, best, winner);
}

Plan *plan_again(Ctx *ctx, const Graph *g, const PlanOptions *o, Arena *arena, const Plan *p, const uint8_t *deny) {
    return prepare(ctx, g, o, arena, (Try){p->made_by, p->without, p->no_slice, p->order, deny}, NULL);
}

const uint8_t *plan_denied_too(Arena *arena, const Graph *g, const Plan *p, Rewrite r) {
    uint8_t *deny = p->deny ? arena_copy(arena, p->deny, g->ops.n) : NEW_ARRAY(arena, uint8_t, g->ops.n);
    if (r.kind != REWRITE_ORDER)
        deny[r.op] |= (uint8_t)(1u << r.kind);
    return deny;
}

uint64_t plan_peak_without(Ctx *ctx, const Graph *g, const PlanOptions *o, const Plan *p, Rewrite r) {
    Arena *aside = arena_new();
    Plan base = *p;
    base.without |= r.kind == REWRITE_ORDER ? WITHOUT_ORDER : 0;
    if (r.kind == REWRITE_FOLD || r.kind == REWRITE_FUSE)
        base.order = NULL;                                /* of other steps */
    uint64_t peak = plan_again(ctx, g, o, aside, &base, plan_denied_too(aside, g, p, r))->live_peak_bytes;
    arena_free(aside);
    return peak;
}

/* Takes back what was shared to no good. Where the level's bound says that nothing better than `best` can come, it is left. */
static void choose(Ctx *ctx, const Graph *g, const PlanOptions *o, const Plan *p, Plan *best, Try *winner) {
    if (p->live_peak_bytes <= p->bound_bytes || p->bound_bytes >= best->arena_bytes)
        return;
    const uint8_t *deny = plan_choose(ctx, g, o, p);
    if (deny != NULL)
        attempt(ctx, g, o, (Try){p->level, p->without, p->no_slice, p->order, deny}, best, winner);
}

/* Plans t and the other ways it gives cause for, aside. Returns what it found out about the order. */
static const Order *explore(Ctx *ctx, const Graph *g, const PlanOptions *o, Try t, Plan *best, Try *winner) {
    Arena *aside = arena_new();
    Plan *p = prepare(ctx, g, o, aside, t, NULL);
    keep_bound(p, best);
    if (!hopeless(p, best) || has_slices(g, p)) {
        place(ctx, g, p);
        keep_better(p, t, best, winner);
        other_tries(ctx, g, o, p, best, winner);
    }
    choose(ctx, g, o, p, best, winner);
    const Order *order = p->order;
    arena_free(aside);
    return order;
}

/* Levels below the one asked for, from the highest down. Where the order did not change, `reorder` is `alias`. Returns what is known
 * about the order of the operators as written, one a step; NULL below `reorder`. */
static const Order *lower_levels(Ctx *ctx, const Graph *g, const PlanOptions *o, const Plan *p, Plan *best, Try *winner) {
    static const Level lower[] = {LEVEL_REORDER, LEVEL_ALIAS, LEVEL_INPLACE, LEVEL_REUSE, LEVEL_NAIVE};
    const Order *order = p->level == LEVEL_REORDER ? p->order : NULL;
    for (size_t i = 0; i < COUNT_OF(lower); i++) {
        bool same = lower[i] == LEVEL_ALIAS && order != NULL && !order->changed;
        if (lower[i] >= p->level || same)
            continue;
        const Order *found = explore(ctx, g, o, (Try){lower[i], 0, NULL, NULL, NULL}, best, winner);
        order = found != NULL ? found : order;
    }
    return order;
}

static bool same_try(Try a, Try b) {
    return a.level == b.level && a.without == b.without && a.no_slice == b.no_slice && a.deny == b.deny;
}

/* The plan takes the bound of its level. The plan of a lower level runs the operators as written; below `reorder` its own
 * bound is one of program order only, and that of all orders counts. */
static Plan *bound_of_level(Plan *p, const Plan *best, const Order *as_written) {
    if (p->order == NULL && as_written != NULL) {
        p->bound_bytes = as_written->bound;
        p->bound_kind = as_written->bound_kind;
    }
    if (best->bound_bytes < p->bound_bytes) {
        p->bound_bytes = best->bound_bytes;
        p->bound_kind = best->bound_kind;
    }
    p->proven = p->arena_bytes == p->bound_bytes;
    return p;
}

static Plan *best_plan(Ctx *ctx, const Graph *g, const PlanOptions *o) {
    Try asked = {o->level, 0, NULL, NULL, NULL}, winner = asked;
    const Order *as_written = NULL;
    if (asked.level == LEVEL_STREAM)
        ice("plan_network: level %s is not planned", level_name(asked.level));
    Plan *p = prepare(ctx, g, o, ctx->unit, asked, o->print_after);
    place(ctx, g, p);
    print_after(ctx, g, p, "offsets", o->print_after);
    Plan best = *p;
    other_tries(ctx, g, o, p, &best, &winner);
    choose(ctx, g, o, p, &best, &winner);
    if (p->order != NULL && p->order->changed)
        explore(ctx, g, o, (Try){p->level, WITHOUT_ORDER, NULL, p->order, NULL}, &best, &winner);
    if (!g->mem_noreuse)
        as_written = lower_levels(ctx, g, o, p, &best, &winner);
    if (same_try(winner, asked))
        return bound_of_level(p, &best, NULL);
    p = prepare(ctx, g, o, ctx->unit, winner, NULL);
    place(ctx, g, p);
    p->made_by = p->level;
    p->level = o->level;
    return bound_of_level(p, &best, as_written);
}

/* The figures of every level up to the one asked for. */
static void level_figures(Ctx *ctx, const Graph *g, const PlanOptions *o, Plan *p) {
    for (int level = LEVEL_NAIVE; level <= (int)o->level; level++) {
        PlanOptions lower = *o;
        lower.level = (Level)level;
        lower.print_after = NULL;
        const Plan *q = level < (int)o->level ? best_plan(ctx, g, &lower) : p;
        LevelFigures f = {(Level)level, q->arena_bytes, q->live_peak_bytes, q->bound_bytes};
        vec_push(p->arena, &p->levels, f);
    }
}

Plan *plan_network(Ctx *ctx, const Graph *g, const PlanOptions *o) {
    uint64_t naive;
    const char *why = NULL;
    print_after(ctx, g, NULL, "elaborate", o->print_after);
    print_after(ctx, g, NULL, "demand", o->print_after);
    if (!naive_bytes(ctx, g, o, &naive))
        return NULL;
    Plan *p = best_plan(ctx, g, o);
    p->naive_bytes = naive;
    if (!plan_verify(ctx, g, p, &why))
        ice("plan_verify: %s", why);
    print_after(ctx, g, p, "verify", o->print_after);
    if (o->savings) {
        level_figures(ctx, g, o, p);
        plan_savings(ctx, g, o, p);
    }
    arena_reset(ctx->scratch);
    return p;
}
