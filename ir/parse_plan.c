/* parse_plan.c - the lines of printed IR that are a plan: fates, steps, places, buffers, totals.
 *
 * Every number is checked to be an operator, value, step or buffer that exists, and replacements to end somewhere, so that
 * a reader of plans may index with them. Whether the plan is a good one is plan_verify()'s question. Linear. */
#include "ir/print.h"
#include "ir/read.h"

#include <string.h>

static uint32_t nops(const Reader *r) { return (uint32_t)r->g->ops.n; }
static uint32_t nvalues(const Reader *r) { return (uint32_t)r->g->values.n; }

static bool read_id(Reader *r, uint32_t *id, uint32_t n, const char *what) {
    return n > 0 ? read_u32(r, id, n - 1, what) : read_fail(r, r->pos, "there is no %s", what);
}

static bool read_value_id(Reader *r, uint32_t *id) {
    return read_need(r, '%') && read_id(r, id, nvalues(r), "value");
}

static bool read_range(Reader *r, uint32_t *first, uint32_t *last) {
    size_t from = r->pos;
    return read_u32(r, first, NO_ID - 1, "a step") && read_need(r, '-') && read_u32(r, last, NO_ID - 1, "a step") &&
           (*first <= *last || read_fail(r, from, "a life that ends before it begins"));
}

static bool read_plan_head(Reader *r) {
    Level level[2];
    bool cuda, arena;
    uint64_t align;
    for (int i = 0; i < 2; i++) {
        const char *name;
        if (i == 1 && !read_need_word(r, "made_by"))
            return false;
        read_end(r);
        size_t from = r->pos;
        if (!read_name(r, &name))
            return false;
        if (!level_by_name(name, &level[i]))
            return read_fail(r, from, "unknown plan level '%s'", name);
    }
    if (!read_need_word(r, "target") || !((cuda = read_is_word(r, "cuda")) || read_need_word(r, "c")) ||
        !read_need_word(r, "io") || !((arena = read_is_word(r, "arena")) || read_need_word(r, "caller")) ||
        !read_need_word(r, "align"))
        return false;
    size_t from = r->pos;
    if (!read_u64(r, &align, (uint64_t)1 << 62, "an alignment"))
        return false;
    if (align == 0 || (align & (align - 1)) != 0)
        return read_fail(r, from, "an alignment is a power of two");
    r->plan = plan_new(r->g->arena, r->g, level[0], cuda ? TARGET_CUDA : TARGET_C, arena ? IO_ARENA : IO_CALLER, align);
    r->plan->made_by = level[1];
    return !read_is_word(r, "without") || read_u32(r, &r->plan->without, UINT32_MAX, "techniques");
}

static bool read_fate(Reader *r) {
    Plan *p = r->plan;
    uint32_t op;
    if (!read_id(r, &op, nops(r), "operator"))
        return false;
    size_t from = r->pos;
    int f = FATE_RUN;
    while (f <= FATE_DEAD && !read_is_word(r, fate_name((Fate)f)))
        f++;
    if (f > FATE_DEAD)
        return read_fail(r, from, "unknown fate");
    p->fate[op] = (Fate)f;
    return (!read_is_word(r, "into") || read_id(r, &p->into[op], nops(r), "operator")) &&
           (!read_is_word(r, "step") || read_u32(r, &p->step_of[op], NO_ID - 1, "a step"));
}

static bool read_step(Reader *r) {
    uint32_t n, op;
    Step s = {0};
    size_t from = r->pos;
    if (!read_u32(r, &n, NO_ID - 1, "a step"))
        return false;
    if (n != r->plan->steps.n)
        return read_fail(r, from, "the next step is %zu", r->plan->steps.n);
    if (!read_need_word(r, "anchor") || !read_id(r, &s.anchor, nops(r), "operator") || !read_need_word(r, "ops"))
        return false;
    while (!read_end(r)) {
        if (!read_id(r, &op, nops(r), "operator"))
            return false;
        vec_push(r->plan->arena, &s.ops, op);
    }
    vec_push(r->plan->arena, &r->plan->steps, s);
    return true;
}

static bool read_share(Reader *r, Place *l) {
    for (int k = SHARE_INPLACE; k <= SHARE_SLICE; k++)
        if (read_is_word(r, share_name((ShareKind)k)))
            l->share = (ShareKind)k;
    if (read_is_word(r, "with") && !read_value_id(r, &l->with))
        return false;
    if (read_is_word(r, "because")) {
        int k = REASON_NONE;
        while (k < REASON_COUNT && !read_is_word(r, ir_reason_word((Reason)k)))
            k++;
        if (k == REASON_COUNT)
            return read_fail(r, r->pos, "unknown reason");
        l->reason = (Reason)k;
    }
    return !read_is_word(r, "of") || read_value_id(r, &l->reason_value);
}

static bool read_place(Reader *r) {
    uint32_t v;
    if (!read_value_id(r, &v))
        return false;
    Place *l = &r->plan->place[v];
    if (read_is_word(r, "is") && !read_value_id(r, &r->plan->repl[v]))
        return false;
    if (read_is_word(r, "in") && !read_u32(r, &l->buffer, NO_ID - 1, "a buffer"))
        return false;
    if (read_is(r, '+') && !read_u64(r, &l->byte_offset, INT64_MAX, "an offset"))
        return false;
    return read_share(r, l) && read_need_word(r, "steps") && read_range(r, &l->first, &l->last);
}

static bool read_pieces(Reader *r, Buffer *b) {
    while (read_is(r, '[')) {
        Piece q;
        size_t from = r->pos - 1;
        if (!read_u64(r, &q.lo, b->nbytes, "a byte") || !read_need(r, '-') || !read_u64(r, &q.hi, b->nbytes, "a byte") ||
            !read_range(r, &q.first, &q.last) || !read_need(r, ']'))
            return false;
        if (q.hi < q.lo)
            return read_fail(r, from, "a piece that ends before it begins");
        vec_push(r->plan->arena, &b->pieces, q);
    }
    return true;
}

static bool read_buffer_kind(Reader *r, BufferKind *kind) {
    for (int k = BUF_ACTIVATION; k <= BUF_OPTIMIZER; k++)
        if (read_is_word(r, buffer_kind_name((BufferKind)k))) {
            *kind = (BufferKind)k;
            return true;
        }
    return read_fail(r, r->pos, "unknown kind of buffer");
}

static bool read_buffer(Reader *r) {
    Buffer b = {.op = NO_ID, .overlaps = NO_ID};
    size_t from = r->pos;
    if (!read_u32(r, &b.id, NO_ID - 1, "a buffer"))
        return false;
    if (b.id != r->plan->buffers.n)
        return read_fail(r, from, "the next buffer is %zu", r->plan->buffers.n);
    if (!read_buffer_kind(r, &b.kind) || (read_is_word(r, "op") && !read_id(r, &b.op, nops(r), "operator")) ||
        !read_need_word(r, "bytes") || !read_u64(r, &b.nbytes, INT64_MAX, "bytes"))
        return false;
    b.in_arena = read_is_word(r, "at");
    if ((b.in_arena && !read_u64(r, &b.offset, INT64_MAX, "an offset")) || !read_need_word(r, "steps") ||
        !read_range(r, &b.first, &b.last))
        return false;
    if (read_is_word(r, "pieces")) {
        if (!read_pieces(r, &b))
            return false;
    } else {
        Piece whole = {0, b.nbytes, b.first, b.last};
        vec_push(r->plan->arena, &b.pieces, whole);
    }
    if (read_is_word(r, "over") && (!read_u32(r, &b.overlaps, NO_ID - 1, "a buffer") || !read_need_word(r, "bytes") ||
                                    !read_u64(r, &b.overlap_bytes, b.nbytes, "bytes")))
        return false;
    vec_push(r->plan->arena, &r->plan->buffers, b);
    return true;
}

static bool read_order(Reader *r) {
    static const char *const kinds[] = {"program", "exact", "beam"};
    if (!read_is_word(r, "order"))
        return true;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (read_is_word(r, kinds[i])) {
            r->plan->order_kind = kinds[i];
            return read_need_word(r, "states") && read_u64(r, &r->plan->order_states, UINT64_MAX, "states");
        }
    return read_fail(r, r->pos, "unknown kind of order");
}

static bool read_totals(Reader *r) {
    Plan *p = r->plan;
    const struct { const char *word; uint64_t *n; } sums[] = {
        {"arena", &p->arena_bytes},     {"live_peak", &p->live_peak_bytes}, {"bound", &p->bound_bytes},
        {"naive", &p->naive_bytes},     {"weights", &p->weights_bytes},     {"workspace", &p->workspace_bytes},
        {"io", &p->io_bytes},
    };
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        if (!read_need_word(r, sums[i].word) || !read_u64(r, sums[i].n, INT64_MAX, "bytes"))
            return false;
    if (!read_need_word(r, "peak_step") || !read_u32(r, &p->peak_step, NO_ID, "a step") || !read_need_word(r, "proven"))
        return false;
    p->proven = read_is_word(r, "true");
    return (p->proven || read_need_word(r, "false")) && read_need_word(r, "bound_kind") && read_quoted(r, &p->bound_kind) &&
           read_need_word(r, "rule") && read_quoted(r, &p->rule) && read_need_word(r, "nodes") &&
           read_u64(r, &p->search_nodes, UINT64_MAX, "nodes") && read_order(r);
}

bool read_plan_line(Reader *r, const char *word, size_t from) {
    static const struct { const char *word; bool (*read)(Reader *); } lines[] = {
        {"op", read_fate}, {"step", read_step}, {"value", read_place}, {"buffer", read_buffer}, {"total", read_totals},
    };
    if (r->plan == NULL)
        return read_plan_head(r);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strcmp(word, lines[i].word) == 0)
            return lines[i].read(r);
    return read_fail(r, from, "unknown line '%s' in a plan", word);
}

/* ---- the plan as a whole */

static bool whole_fail(Reader *r, const char *what, uint32_t id) {
    return read_fail(r, r->pos, "%s %u speaks of something the plan does not have", what, (unsigned)id);
}

/* Each value's chain of replacements is walked once: a chain that meets itself is a circle. */
static bool replacements_end(Reader *r) {
    const Plan *p = r->plan;
    uint32_t *seen_by = NEW_ARRAY(r->ctx->scratch, uint32_t, (size_t)nvalues(r) + 1);
    for (uint32_t v = 0; v < nvalues(r); v++) {
        uint32_t w = v;
        for (; seen_by[w] == 0 && p->repl[w] != w; w = p->repl[w])
            seen_by[w] = v + 1;
        if (seen_by[w] == v + 1)
            return read_fail(r, r->pos, "the replacements of %%%u go in a circle", (unsigned)v);
    }
    return true;
}

bool read_plan_check(Reader *r) {
    const Plan *p = r->plan;
    for (uint32_t i = 0; i < nops(r); i++)
        if (p->step_of[i] != NO_ID && p->step_of[i] >= p->steps.n)
            return whole_fail(r, "operator", i);
    for (uint32_t v = 0; v < nvalues(r); v++) {
        const Place *l = &p->place[v];
        if (l->buffer == NO_ID)
            continue;
        if (l->buffer >= p->buffers.n)
            return whole_fail(r, "value", v);
    }
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if ((p->steps.n > 0 && b->last >= p->steps.n) || (b->overlaps != NO_ID && b->overlaps >= p->buffers.n))
            return whole_fail(r, "buffer", (uint32_t)i);
    }
    if (p->steps.n > 0 && p->peak_step >= p->steps.n)
        return read_fail(r, r->pos, "the peak is at a step the plan does not have");
    return replacements_end(r);
}
