/* words.c - how reports speak of tensors, operators and what became of them: the same words in every style. */
#include "backend/report/report.h"

#include <inttypes.h>
#include <string.h>

const char *report_short(const Report *r, const char *name) {
    if (r->g->ops.n > 0 && strncmp(name, r->g->ops.p[0]->path, r->prefix) == 0 && name[r->prefix] != '\0')
        return name + r->prefix;
    size_t n = strlen(r->g->name);
    return strncmp(name, r->g->name, n) == 0 && name[n] == '/' && name[n + 1] != '\0' ? name + n + 1 : name;
}

/* A value bound to a name of the source is called so in json; a reader looks for the row that made it. */
const char *report_tensor(const Report *r, const Value *v) {
    if (v->def == NULL)
        return report_short(r, v->name);
    const char *row = report_short(r, v->def->path);
    return v->out_index > 0 ? arena_printf(r->arena, "%s.%" PRIu32, row, v->out_index + 1) : row;
}

const char *report_row_name(const Report *r, const Row *row) {
    return report_short(r, row->kind == ROW_OP ? row->op->path : row->value->name);
}

const char *report_shares(const Report *r, const Value *v) {
    const Plan *p = r->p;
    uint32_t stand_in = plan_repl(p, v->id);
    if (stand_in != v->id)
        return arena_printf(r->arena, "is %s", report_tensor(r, r->g->values.p[stand_in]));
    const Place *l = &p->place[v->id];
    if (l->share == SHARE_NONE || l->with == NO_ID)
        return NULL;
    const char *how = l->share == SHARE_INPLACE ? "in place with" : l->share == SHARE_VIEW ? "view of" : "slice of";
    return arena_printf(r->arena, "%s %s", how, report_tensor(r, r->g->values.p[l->with]));
}

const char *report_why_not(const Report *r, const Value *v) {
    const Place *l = &r->p->place[v->id];
    if (l->share != SHARE_NONE || l->reason == REASON_NONE || plan_repl(r->p, v->id) != v->id)
        return NULL;
    const char *text = reason_text(l->reason), *hole = strstr(text, "%s");
    if (hole == NULL)
        return text;
    const char *name = l->reason_value != NO_ID ? report_tensor(r, r->g->values.p[l->reason_value]) : "its operand";
    return arena_printf(r->arena, "%.*s%s%s", (int)(hole - text), text, name, hole + 2);
}

const char *report_overlap(const Report *r, const Buffer *b) {
    if (b->overlaps == NO_ID)
        return NULL;
    Alive dying = {.buffer = &r->p->buffers.p[b->overlaps]};
    for (uint32_t k = r->in_buffer_from[b->overlaps]; k < r->in_buffer_from[b->overlaps + 1]; k++) {
        const Value *v = r->g->values.p[r->in_buffer[k]];
        if (report_place(r, v)->last == b->first && plan_repl(r->p, v->id) == v->id &&
            (dying.value == NULL || v->nbytes > dying.value->nbytes))
            dying.value = v;
    }
    return arena_printf(r->arena, "over %s, which dies there", report_alive_name(r, &dying));
}

const char *report_alive_name(const Report *r, const Alive *a) {
    if (a->value != NULL)
        return report_tensor(r, a->value);
    if (a->buffer->op != NO_ID)
        return arena_printf(r->arena, "workspace of %s", report_short(r, r->g->ops.p[a->buffer->op]->path));
    return arena_printf(r->arena, "%s %" PRIu32, buffer_kind_name(a->buffer->kind), a->buffer->id);
}

const char *report_dims(const Report *r, const Shape *s, const char *x) {
    StrBuf sb;
    sb_init(&sb, r->arena);
    for (unsigned i = 0; i < s->rank; i++)
        sb_printf(&sb, "%s%" PRIu64, i > 0 ? x : "", s->dim[i]);
    return s->rank > 0 ? sb_str(&sb) : "scalar";
}

/* ---- operators */

static bool all_equal(const Datum *d, int64_t n) {
    for (uint32_t i = 0; i < d->list.n; i++)
        if (d->list.p[i].kind != D_INT || d->list.p[i].i != n)
            return false;
    return true;
}

/* " s2", " s2x1"; nothing when every number is the default, or when it is no list of integers. */
static void put_numbers(StrBuf *sb, const Op *op, AttrName a, const char *letter, int64_t dflt) {
    const Datum *d = op_attr(op, a);
    if (d == NULL)
        return;
    if (d->kind == D_INT) {
        if (d->i != dflt)
            sb_printf(sb, " %s%" PRId64, letter, d->i);
        return;
    }
    if (d->kind != D_LIST || d->list.n == 0 || d->list.p[0].kind != D_INT || all_equal(d, dflt))
        return;
    sb_printf(sb, " %s%" PRId64, letter, d->list.p[0].i);
    if (all_equal(d, d->list.p[0].i) && a != A_kernel_size)
        return;
    for (uint32_t i = 1; i < d->list.n && d->list.p[i].kind == D_INT; i++)
        sb_printf(sb, "x%" PRId64, d->list.p[i].i);
}

static bool same_numbers(const Op *op, AttrName a, AttrName b) {
    const Datum *x = op_attr(op, a), *y = op_attr(op, b);
    return x != NULL && y != NULL && datum_equal(x, y);
}

const char *report_op_text(const Report *r, const Op *op) {
    StrBuf sb;
    sb_init(&sb, r->arena);
    sb_puts(&sb, op_info(op->kind)->name);
    put_numbers(&sb, op, A_kernel_size, "", 0);
    if (!same_numbers(op, A_stride, A_kernel_size))       /* pools step by their window unless told otherwise */
        put_numbers(&sb, op, A_stride, "s", 1);
    put_numbers(&sb, op, A_padding, "p", 0);
    put_numbers(&sb, op, A_dilation, "d", 1);
    put_numbers(&sb, op, A_groups, "g", 1);
    return sb_str(&sb);
}
