/* window.c - the arithmetic of sliding windows, as PyTorch has it (see window.h). Everything is O(n) for n spatial axes
 * and checked: sizes beyond 63 bits are a diagnostic. */
#include "ops/window.h"

#include <string.h>

void window_of_call(Call *c, unsigned n, bool dilated, Window *w) {
    *w = (Window){.n = n, .dilated = dilated};
    const Datum *kernel = &call_arg(c, A_kernel_size)->value, *stride = &call_arg(c, A_stride)->value;
    const Datum *dilation = dilated ? &call_arg(c, A_dilation)->value : NULL;
    for (unsigned i = 0; i < n; i++) {
        w->kernel[i] = kernel->list.p[i].i;
        w->stride[i] = stride->kind == D_NONE ? w->kernel[i] : stride->list.p[i].i;
        w->dilation[i] = dilation ? dilation->list.p[i].i : 1;
    }
}

/* "same" keeps the size of the axis; when the total is odd, the one more goes after it. */
static bool padding_same(Call *c, Window *w, const Arg *a) {
    for (unsigned i = 0; i < w->n; i++) {
        int64_t span;
        if (w->stride[i] != 1) {
            Diag *d =
                diag(c->ctx, DIAG_ARGUMENT_VALUE, a->span, "padding=\"same\" needs a stride of 1, but %s has %lld",
                     c->info->name, (long long)w->stride[i]);
            diag_help(c->ctx, d, "give the padding as numbers: kernel_size // 2 halves the size with a stride of 2");
            return false;
        }
        if (!window_span(w, i, &span)) span = 1;          /* window_places() will refuse it */
        w->begin[i] = span > 0 ? (span - 1) / 2 : 0;
        w->end[i] = span > 0 ? span - 1 - w->begin[i] : 0;
    }
    return true;
}

static bool padding_word(Call *c, Window *w, const Arg *a) {
    const char *word = a->value.s;
    if (strcmp(word, "valid") == 0) return true;
    if (strcmp(word, "same") == 0) return padding_same(c, w, a);
    static const char *const words[] = {"same", "valid"};
    diag_suggest(c->ctx, diag(c->ctx, DIAG_ARGUMENT_VALUE, a->span, "%s has no padding \"%s\"", c->info->name, word),
                 word, words, 2);
    return false;
}

static bool padding_pair(const Datum *d, int64_t *begin, int64_t *end) {
    if (d->kind == D_INT) {
        *begin = *end = d->i;
        return true;
    }
    if (d->kind != D_LIST || d->list.n != 2 || d->list.p[0].kind != D_INT || d->list.p[1].kind != D_INT) return false;
    *begin = d->list.p[0].i;
    *end = d->list.p[1].i;
    return true;
}

static bool padding_numbers(const Datum *d, Window *w) {
    bool one = d->kind == D_INT;
    if (!one && (d->kind != D_LIST || d->list.n != w->n)) return false;
    for (unsigned i = 0; i < w->n; i++)
        if (!padding_pair(one ? d : &d->list.p[i], &w->begin[i], &w->end[i])) return false;
    return true;
}

bool window_padding(Call *c, Window *w, bool words) {
    const Arg *a = call_arg(c, A_padding);
    if (words && a->value.kind == D_STR) return padding_word(c, w, a);
    if (padding_numbers(&a->value, w)) return true;
    StrBuf got;
    sb_init(&got, c->ctx->scratch);
    datum_print(&got, &a->value);
    Diag *d = diag(c->ctx, DIAG_ARGUMENT_TYPE, a->span, "%s cannot pad by %s", c->info->name, sb_str(&got));
    static const char *const forms[] = {"", "padding=1, (1,) or ((before, after),)",
                                        "padding=1, (1, 2) or ((top, bottom), (left, right))",
                                        "padding=1, (1, 2, 3) or ((front, back), (top, bottom), (left, right))"};
    diag_help(c->ctx, d, words ? "write %s, \"same\" or \"valid\"" : "write %s", forms[w->n]);
    return false;
}

bool window_numbers(Typing *t, AttrName name, unsigned n, int64_t *v) {
    Ints ints;
    if (!need_attr(t, name, D_LIST) || !need_ints(t, name, &ints)) return false;
    if (ints.n != n) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, name), "%s of %s must be %u numbers, not %u", attr_name(name),
             op_info(t->kind)->name, n, (unsigned)ints.n);
        return false;
    }
    memcpy(v, ints.v, n * sizeof *v);
    return true;
}

bool window_of_attrs(Typing *t, unsigned n, bool dilated, Window *w) {
    int64_t padding[2 * WINDOW_AXES];
    *w = (Window){.n = n, .dilated = dilated, .dilation = {1, 1, 1}};
    if (!window_numbers(t, A_kernel_size, n, w->kernel) || !window_numbers(t, A_stride, n, w->stride) ||
        !window_numbers(t, A_padding, 2 * n, padding) || (dilated && !window_numbers(t, A_dilation, n, w->dilation)))
        return false;
    memcpy(w->begin, padding, n * sizeof *padding);
    memcpy(w->end, padding + n, n * sizeof *padding);
    return true;
}

uint32_t window_attrs(Arena *a, const Window *w, Attr *attrs) {
    int64_t padding[2 * WINDOW_AXES];
    memcpy(padding, w->begin, w->n * sizeof *padding);
    memcpy(padding + w->n, w->end, w->n * sizeof *padding);
    attrs[0] = (Attr){A_kernel_size, d_ints(a, w->kernel, w->n)};
    attrs[1] = (Attr){A_stride, d_ints(a, w->stride, w->n)};
    attrs[2] = (Attr){A_padding, d_ints(a, padding, 2 * w->n)};
    if (!w->dilated) return 3;
    attrs[3] = (Attr){A_dilation, d_ints(a, w->dilation, w->n)};
    return 4;
}

Window window_of_op(const Op *op, unsigned n) {
    Window w = {.n = WINDOW_AXES, .dilated = true, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    unsigned lead = WINDOW_AXES - n;
    int64_t padding[2 * WINDOW_AXES];
    op_ints(op, A_kernel_size, w.kernel + lead, n);
    op_ints(op, A_stride, w.stride + lead, n);
    op_ints(op, A_padding, padding, 2 * n);
    if (op_attr(op, A_dilation)) op_ints(op, A_dilation, w.dilation + lead, n);
    memcpy(w.begin + lead, padding, n * sizeof *padding);
    memcpy(w.end + lead, padding + n, n * sizeof *padding);
    return w;
}

bool window_check(Typing *t, const Window *w) {
    return typing_at_least(t, A_kernel_size, w->kernel, w->n, 1) && typing_at_least(t, A_stride, w->stride, w->n, 1) &&
           typing_at_least(t, A_dilation, w->dilation, w->n, 1) && typing_at_least(t, A_padding, w->begin, w->n, 0) &&
           typing_at_least(t, A_padding, w->end, w->n, 0);
}

bool window_span(const Window *w, unsigned i, int64_t *span) {
    return sub_i64(w->kernel[i], 1, span) && mul_i64(*span, w->dilation[i], span) && add_i64(*span, 1, span);
}

static bool no_window(Typing *t, const Window *w, unsigned i, const Value *x, int64_t span) {
    unsigned axis = x->type.shape.rank - w->n + i;
    Diag *d = diag(t->ctx, DIAG_WINDOW, t->span,
                   "the window of %s spans %lld, but axis %u of %s has %llu and %lld + %lld of padding",
                   op_info(t->kind)->name, (long long)span, axis, x_text(t, x),
                   (unsigned long long)x->type.shape.dim[axis], (long long)w->begin[i], (long long)w->end[i]);
    note_value(t->ctx, d, x);
    return false;
}

bool window_places(Typing *t, const Window *w, unsigned i, const Value *x, bool ceil, uint64_t *places) {
    int64_t in = (int64_t)x->type.shape.dim[x->type.shape.rank - w->n + i], s = w->stride[i], reach, span, room;
    if (!window_span(w, i, &span) || !add_i64(in, w->begin[i], &reach) || !add_i64(reach, w->end[i], &room) ||
        !sub_i64(room, span, &room) || (ceil && !add_i64(room, s - 1, &room))) {
        diag(t->ctx, DIAG_TOO_LARGE, t->span, "the window of %s or its padding is larger than 2^63 - 1",
             op_info(t->kind)->name);
        return false;
    }
    if (room < 0) return no_window(t, w, i, x, span);
    int64_t n = room / s; /* of the last window; its first element is at n * s - begin */
    if (ceil && n > 0 && n > (reach - 1) / s) n--;
    *places = (uint64_t)n + 1;
    return true;
}

bool window_not_empty(Typing *t, const Value *x, unsigned n) {
    const Shape *s = &x->type.shape;
    for (unsigned i = s->rank - n - 1; i < s->rank; i++) {
        if (s->dim[i] > 0) continue;
        Diag *d = diag(t->ctx, DIAG_SHAPE_MISMATCH, t->span,
                       "%s takes no empty axis but the batch, and axis %u of %s is empty", op_info(t->kind)->name, i,
                       x_text(t, x));
        note_value(t->ctx, d, x);
        return false;
    }
    return true;
}

const char *window_form(unsigned n) {
    static const char *const forms[] = {"[N, C]", "[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};
    return forms[n];
}
