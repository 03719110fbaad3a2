/* map.c - the arena as a picture: time runs down, addresses run across, as TFLM's memory planner draws it. A line is one step,
 * or the fullest of several when there are more steps than MAX_LINES; a character is a fixed number of bytes. A buffer is
 * drawn as its tensor's name, filled up with '#', from '[' to ']'; free bytes are '.'.
 *
 * Only buffers that are alive in a drawn step are looked at: an active list, swept over the steps. */
#include "backend/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 200, MIN_PICTURE = 16, LABEL = 24 };

typedef struct Map {
    const Report *r;
    uint32_t width;                                       /* characters of the picture */
    uint64_t bytes_each;                                  /* of the arena in one character, rounded up */
    uint32_t steps_each;                                  /* that one line stands for */
    VEC(const Buffer *) by_first;                         /* buffers of the arena, by the step their life begins */
    size_t next;
    VEC(const Buffer *) active;
} Map;

static int first_order(const void *x, const void *y) {
    const Buffer *a = *(const Buffer *const *)x, *b = *(const Buffer *const *)y;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void collect_buffers(Map *m) {
    const Plan *p = m->r->p;
    for (size_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.p[i].in_arena && p->buffers.p[i].nbytes > 0)
            vec_push(m->r->arena, &m->by_first, &p->buffers.p[i]);
    if (m->by_first.n > 1)
        qsort(m->by_first.p, m->by_first.n, sizeof *m->by_first.p, first_order);
}

static void advance(Map *m, uint32_t step) {
    size_t kept = 0;
    while (m->next < m->by_first.n && m->by_first.p[m->next]->first <= step)
        vec_push(m->r->arena, &m->active, m->by_first.p[m->next++]);
    for (size_t i = 0; i < m->active.n; i++)
        if (m->active.p[i]->last >= step)
            m->active.p[kept++] = m->active.p[i];
    m->active.n = kept;
}

static const char *label(const Report *r, const Buffer *b, uint32_t step) {
    const Value *largest = NULL;
    for (uint32_t k = r->in_buffer_from[b->id]; k < r->in_buffer_from[b->id + 1]; k++) {
        const Value *v = r->g->values.p[r->in_buffer[k]];
        const Place *l = report_place(r, v);
        if (l->first <= step && step <= l->last && (largest == NULL || v->nbytes > largest->nbytes))
            largest = v;
    }
    Alive a = {.buffer = b, .value = largest};
    return report_alive_name(r, &a);
}

/* Bytes [lo, hi) of the arena as characters: at least one, so that nothing alive is invisible. */
static void draw(const Map *m, char *line, uint64_t lo, uint64_t hi, const char *name) {
    uint64_t from = lo / m->bytes_each, to = (hi + m->bytes_each - 1) / m->bytes_each;
    if (to > m->width)
        to = m->width;
    if (from >= to)
        return;
    memset(line + from, '#', to - from);
    if (to - from < 2)
        return;
    line[from] = '[';
    line[to - 1] = ']';
    for (uint64_t i = from + 1; i + 1 < to && *name >= ' ' && *name <= '~'; i++)
        line[i] = *name++;
}

static void put_step(StrBuf *sb, const Map *m, uint32_t step, char *line) {
    const Report *r = m->r;
    const Op *op = r->g->ops.p[r->p->steps.p[step].anchor];
    memset(line, '.', m->width);
    for (size_t i = 0; i < m->active.n; i++) {
        const Buffer *b = m->active.p[i];
        for (size_t k = 0; k < b->pieces.n; k++)
            if (b->pieces.p[k].first <= step && step <= b->pieces.p[k].last)
                draw(m, line, b->offset + b->pieces.p[k].lo, b->offset + b->pieces.p[k].hi, label(r, b, step));
    }
    sb_printf(sb, "%6" PRIu32 "%c |%s| ", step, step == r->p->peak_step ? '>' : ' ', line);
    sb_puts(sb, cut_left(r, report_short(r, op->path), LABEL));
    sb_putc(sb, '\n');
}

static void put_steps(StrBuf *sb, Map *m) {
    const Report *r = m->r;
    char *line = arena_alloc(r->arena, (size_t)m->width + 1);
    uint32_t n = (uint32_t)r->p->steps.n;
    for (uint32_t from = 0; from < n; from += m->steps_each) {
        uint32_t to = n - from < m->steps_each ? n : from + m->steps_each, fullest = from;
        for (uint32_t s = from; s < to; s++)
            if (r->live[s] > r->live[fullest])
                fullest = s;
        if (from <= r->p->peak_step && r->p->peak_step < to)
            fullest = r->p->peak_step;
        advance(m, fullest);
        put_step(sb, m, fullest, line);
    }
}

static void put_scale(StrBuf *sb, const Map *m) {
    const Report *r = m->r;
    sb_printf(sb, "arena %s B from left to right, 1 character = %s B", digits(r, r->p->arena_bytes), digits(r, m->bytes_each));
    if (m->steps_each > 1)
        sb_printf(sb, "; 1 line = %" PRIu32 " steps, drawn at the fullest of them", m->steps_each);
    sb_puts(sb, "; > is the peak\n");
}

void report_map(StrBuf *out, Ctx *ctx, const Graph *g, const Plan *p, const ReportOptions *opt) {
    Report r;
    if (!report_collect(&r, ctx, g, p, opt))
        return;
    if (p->arena_bytes == 0 || p->steps.n == 0) {
        sb_puts(out, "the arena has no bytes\n");
        return;
    }
    Map m = {.r = &r};
    unsigned margin = 6 + 1 + 2 + 2 + LABEL;              /* step, mark, bars, name */
    m.width = opt->width > margin + MIN_PICTURE ? opt->width - margin : MIN_PICTURE;
    m.bytes_each = p->arena_bytes / m.width + (p->arena_bytes % m.width != 0);
    m.steps_each = (uint32_t)((p->steps.n + MAX_LINES - 1) / MAX_LINES);
    collect_buffers(&m);
    put_scale(out, &m);
    put_steps(out, &m);
}
