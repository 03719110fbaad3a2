/* pool.c - max and average pooling over 1 to 3 spatial axes: sliding, adaptive and global, as torch.nn's.
 *
 * Operand      x [N, C, spatial...] or, as in PyTorch, without the batch axis
 * Attributes   sliding: kernel_size, stride, padding (and dilation for max) as in window.h; ceil_mode;
 *              average: count_include_pad, divisor_override when given
 *              adaptive: output_size, n integers (a `none` of the source is resolved to the size of the input)
 *              global: none; each spatial axis becomes 1 and stays
 * Rules        padding is at most half of the kernel; in ceil mode the last window must start inside the input or the
 *              padding before it. No multiply-adds. Averages are for floats, maxima for every dtype but bool. */
#include "ops/pool.h"

#include "ops/eval.h"
#include "ops/window.h"

Pool pool_of(OpKind kind) {
    switch (kind) {
    case OP_MAX_POOL1D: return (Pool){POOL_SLIDING, true, 1};
    case OP_MAX_POOL2D: return (Pool){POOL_SLIDING, true, 2};
    case OP_MAX_POOL3D: return (Pool){POOL_SLIDING, true, 3};
    case OP_AVG_POOL1D: return (Pool){POOL_SLIDING, false, 1};
    case OP_AVG_POOL2D: return (Pool){POOL_SLIDING, false, 2};
    case OP_AVG_POOL3D: return (Pool){POOL_SLIDING, false, 3};
    case OP_ADAPTIVE_AVG_POOL1D: return (Pool){POOL_ADAPTIVE, false, 1};
    case OP_ADAPTIVE_AVG_POOL2D: return (Pool){POOL_ADAPTIVE, false, 2};
    case OP_ADAPTIVE_AVG_POOL3D: return (Pool){POOL_ADAPTIVE, false, 3};
    case OP_ADAPTIVE_MAX_POOL1D: return (Pool){POOL_ADAPTIVE, true, 1};
    case OP_ADAPTIVE_MAX_POOL2D: return (Pool){POOL_ADAPTIVE, true, 2};
    case OP_ADAPTIVE_MAX_POOL3D: return (Pool){POOL_ADAPTIVE, true, 3};
    case OP_GLOBAL_AVG_POOL1D: return (Pool){POOL_GLOBAL, false, 1};
    case OP_GLOBAL_AVG_POOL2D: return (Pool){POOL_GLOBAL, false, 2};
    case OP_GLOBAL_AVG_POOL3D: return (Pool){POOL_GLOBAL, false, 3};
    case OP_GLOBAL_MAX_POOL1D: return (Pool){POOL_GLOBAL, true, 1};
    case OP_GLOBAL_MAX_POOL2D: return (Pool){POOL_GLOBAL, true, 2};
    case OP_GLOBAL_MAX_POOL3D: return (Pool){POOL_GLOBAL, true, 3};
    default: ice("operator %d is no pool", (int)kind);
    }
}

static bool check_input(Typing *t, const Value *x, Pool p) {
    return typing_rank(t, x, p.n + 1, p.n + 2, window_form(p.n)) &&
           (p.max ? need_numbers(t, x, "cast it first: |> cast(u8)") : typing_float(t, x)) &&
           window_not_empty(t, x, p.n);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool check_half(Call *c, const Window *w) {
    for (unsigned i = 0; i < w->n; i++) {
        if (w->begin[i] <= w->kernel[i] / 2) continue;
        Diag *d = diag(c->ctx, DIAG_ARGUMENT_VALUE, call_arg(c, A_padding)->span,
                       "padding %lld is more than half of the kernel %lld of %s", (long long)w->begin[i],
                       (long long)w->kernel[i], c->info->name);
        diag_help(c->ctx, d, "pad the tensor itself with pad(), or choose a larger kernel");
        return false;
    }
    return true;
}

/* divisor_override may be anything but 0, as in PyTorch. */
static bool check_divisor(Call *c) {
    const Arg *a = call_arg(c, A_divisor_override);
    if (a->value.kind == D_NONE || a->value.i != 0) return true;
    diag(c->ctx, DIAG_ARGUMENT_VALUE, a->span, "divisor_override of %s must not be 0", c->info->name);
    return false;
}

static bool bind_sliding(Call *c, Pool p) {
    Typing t = call_typing(c);
    Value *x = call_tensor(c, A_x);
    Window w;
    Attr attrs[8];
    window_of_call(c, p.n, p.max, &w);
    if (!check_input(&t, x, p) || !window_padding(c, &w, false) || !window_check(&t, &w) || !check_half(c, &w))
        return false;
    uint32_t n = window_attrs(c->ctx->unit, &w, attrs);
    attrs[n++] = (Attr){A_ceil_mode, d_bool(call_bool(c, A_ceil_mode))};
    if (!p.max) attrs[n++] = (Attr){A_count_include_pad, d_bool(call_bool(c, A_count_include_pad))};
    if (!p.max && p.n > 1) {
        if (!check_divisor(c)) return false;
        if (!call_is_none(c, A_divisor_override))
            attrs[n++] = (Attr){A_divisor_override, d_int(call_int(c, A_divisor_override))};
    }
    return call_result(c, call_op(c, c->info->kind, &x, 1, attrs, n, NULL));
}

/* One size for all axes, or one for each; none keeps the size of the axis. */
static bool output_sizes(Call *c, const Value *x, unsigned n, int64_t *size) {
    const Datum *d = &call_arg(c, A_output_size)->value;
    bool each = d->kind == D_LIST && d->list.n == n;
    for (unsigned i = 0; i < n && (each || d->kind == D_INT); i++) {
        const Datum *one = each ? &d->list.p[i] : d;
        if (one->kind != D_INT && one->kind != D_NONE) each = false;
        size[i] = one->kind == D_INT ? one->i : (int64_t)x->type.shape.dim[x->type.shape.rank - n + i];
    }
    if (each || d->kind == D_INT) return true;
    StrBuf got;
    sb_init(&got, c->ctx->scratch);
    datum_print(&got, d);
    Diag *bad = diag(c->ctx, DIAG_ARGUMENT_TYPE, call_arg(c, A_output_size)->span, "output_size of %s cannot be %s",
                     c->info->name, sb_str(&got));
    static const char *const forms[] = {"", "5 or (5,)", "7, (7, 5) or (7, none)", "7, (7, 5, 3) or (7, none, 3)"};
    diag_help(c->ctx, bad, "write %s; none keeps the size of the axis", forms[n]);
    return false;
}

static bool bind_adaptive(Call *c, Pool p) {
    Typing t = call_typing(c);
    Value *x = call_tensor(c, A_x);
    int64_t size[WINDOW_AXES];
    if (!check_input(&t, x, p) || !output_sizes(c, x, p.n, size)) return false;
    Attr attr = {A_output_size, d_ints(c->ctx->unit, size, p.n)};
    return call_result(c, call_op(c, c->info->kind, &x, 1, &attr, 1, NULL));
}

static bool bind(Call *c) {
    Pool p = pool_of(c->info->kind);
    switch (p.kind) {
    case POOL_SLIDING: return bind_sliding(c, p);
    case POOL_ADAPTIVE: return bind_adaptive(c, p);
    case POOL_GLOBAL: return bind_plain(c);
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Padding as large as a window would make windows that hold nothing of the input. */
static bool check_padding(Typing *t, const Window *w) {
    for (unsigned i = 0; i < w->n; i++) {
        int64_t span;
        if (!window_span(w, i, &span) || (w->begin[i] < span && w->end[i] < span)) continue;
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_padding), "%s pads by as much as its window spans, %lld",
             op_info(t->kind)->name, (long long)span);
        return false;
    }
    return true;
}

static bool infer_sliding(Typing *t, Pool p, Shape *s) {
    Window w;
    if (!window_of_attrs(t, p.n, p.max, &w) || !need_attr(t, A_ceil_mode, D_BOOL) ||
        (!p.max && !need_attr(t, A_count_include_pad, D_BOOL)) || !window_check(t, &w) ||
        !check_padding(t, &w))
        return false;
    for (unsigned i = 0; i < p.n; i++)
        if (!window_places(t, &w, i, t->in[0], flag_of(t, A_ceil_mode), &s->dim[s->rank - p.n + i])) return false;
    return true;
}

static bool infer_adaptive(Typing *t, Pool p, Shape *s) {
    Ints size;
    if (!need_attr(t, A_output_size, D_LIST) || !need_ints(t, A_output_size, &size) ||
        !typing_at_least(t, A_output_size, size.v, size.n, 0))
        return false;
    if (size.n != p.n) {
        diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, A_output_size), "output_size of %s must be %u numbers, not %u",
             op_info(t->kind)->name, p.n, (unsigned)size.n);
        return false;
    }
    for (unsigned i = 0; i < p.n; i++) s->dim[s->rank - p.n + i] = (uint64_t)size.v[i];
    return true;
}

static bool infer(Typing *t) {
    Pool p = pool_of(t->kind);
    if (!need_operands(t, 1, 1) || !check_input(t, t->in[0], p)) return false;
    const Value *x = t->in[0];
    Shape s = x->type.shape;
    switch (p.kind) {
    case POOL_SLIDING:
        if (!infer_sliding(t, p, &s)) return false;
        break;
    case POOL_ADAPTIVE:
        if (!infer_adaptive(t, p, &s)) return false;
        break;
    case POOL_GLOBAL:
        for (unsigned i = 0; i < p.n; i++) s.dim[s.rank - p.n + i] = 1;
        break;
    }
    return type_push(t, x->type.dtype, &s);
}

const OpRules rules_pool = {.bind = bind, .infer = infer, .eval = eval_pool};
