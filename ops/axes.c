/* axes.c - the shared parts of the families, see axes.h. Axes follow PyTorch: -rank .. rank - 1, and a scalar may be
 * addressed as if it had one axis. */
#include "ops/axes.h"

/* ---- binding ---- */

static void push_operand(Binding *b, const Datum *d) {
    if (d->kind == D_LIST) {
        for (uint32_t i = 0; i < d->list.n; i++) b->in[b->nin++] = d->list.p[i].tensor;
    } else {
        b->in[b->nin++] = d->kind == D_TENSOR ? d->tensor : NULL;
    }
}

static uint32_t operand_count(const Call *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->info->nparams; i++) {
        const Datum *d = &c->args[i].value;
        n += c->info->params[i].type == P_TENSORS && d->kind == D_LIST ? d->list.n : 1;
    }
    return n;
}

void binding_plain(Call *c, Binding *b) {
    const OpInfo *info = c->info;
    *b = (Binding){.in = NEW_ARRAY(c->ctx->unit, Value *, operand_count(c)),
                   .attrs = NEW_ARRAY(c->ctx->unit, Attr, info->nparams + 4), .room = info->nparams + 4};
    for (uint32_t i = 0; i < info->nparams; i++) {
        ParamType type = info->params[i].type;
        const Datum *d = &c->args[i].value;
        if (type == P_TENSOR || type == P_TENSORS || d->kind == D_TENSOR) push_operand(b, d);
        else if (d->kind != D_NONE) binding_set(c, b, info->params[i].name, *d);
    }
    while (b->nin > 0 && !b->in[b->nin - 1]) b->nin--;
}

Datum *binding_get(const Binding *b, AttrName name) {
    for (uint32_t i = 0; i < b->nattrs; i++)
        if (b->attrs[i].name == name) return &b->attrs[i].value;
    return NULL;
}

void binding_set(Call *c, Binding *b, AttrName name, Datum value) {
    if (value.kind == D_STR) value.s = name_of(c->ctx, value.s);
    Datum *old = binding_get(b, name);
    if (old) {
        *old = value;
        return;
    }
    if (b->nattrs == b->room) ice("binding of %s: too many attributes", c->info->name);
    b->attrs[b->nattrs++] = (Attr){name, value};
}

void binding_drop(Binding *b, AttrName name) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->nattrs; i++)
        if (b->attrs[i].name != name) b->attrs[n++] = b->attrs[i];
    b->nattrs = n;
}

void binding_axis(Binding *b, AttrName name, unsigned rank) {
    Datum *d = binding_get(b, name);
    if (d && d->kind == D_INT) axis_wrap(&d->i, rank);
}

void binding_axes(Call *c, Binding *b, AttrName name, unsigned rank) {
    Ints axes;
    Datum *d = binding_get(b, name);
    if (!d || !datum_ints(d, &axes)) return;
    for (uint32_t i = 0; i < axes.n; i++)
        if (!axis_wrap(&axes.v[i], rank)) return;
    *d = ints_datum(c, &axes);
}

bool binding_call(Call *c, const Binding *b) {
    return call_result(c, call_op(c, c->info->kind, b->in, b->nin, b->attrs, b->nattrs, NULL));
}

/* ---- lists of ints ---- */

Datum ints_datum(Call *c, const Ints *list) {
    return d_ints(c->ctx->unit, list->v, list->n);
}

bool datum_ints(const Datum *d, Ints *out) {
    *out = (Ints){.n = 0};
    if (d->kind == D_INT) {
        out->v[out->n++] = d->i;
        return true;
    }
    if (d->kind != D_LIST || d->list.n > COUNT_OF(out->v)) return false;
    for (uint32_t i = 0; i < d->list.n; i++) {
        if (d->list.p[i].kind != D_INT) return false;
        out->v[out->n++] = d->list.p[i].i;
    }
    return true;
}

/* ---- what infer must find ---- */

static const char *own_name(const Typing *t) {
    return op_info(t->kind)->name;
}

const char *x_text(const Typing *t, const Value *x) {
    return type_text(t->arena, &x->type);
}

bool need_operands(Typing *t, uint32_t least, uint32_t most) {
    bool ok = t->nin >= least && t->nin <= most;
    for (uint32_t i = 0; ok && i < least; i++) ok = t->in[i] != NULL;
    if (ok) return true;
    if (least == most) diag(t->ctx, DIAG_MISSING_ARGUMENT, t->span, "%s takes %u operands", own_name(t), least);
    else diag(t->ctx, DIAG_MISSING_ARGUMENT, t->span, "%s takes %u to %u operands", own_name(t), least, most);
    return false;
}

static const char *const kind_names[] = {"a value",  "true or false", "an int",  "a float",
                                         "a string", "a dtype",       "a tuple", "a tensor"};

const Datum *need_attr(Typing *t, AttrName name, DatumKind kind) {
    const Datum *d = typing_attr(t, name);
    if (!d) {
        diag(t->ctx, DIAG_MISSING_ARGUMENT, t->span, "%s needs the argument '%s'", own_name(t), attr_name(name));
        return NULL;
    }
    if (d->kind != kind) {
        diag(t->ctx, DIAG_ARGUMENT_TYPE, typing_span(t, name), "%s of %s must be %s", attr_name(name), own_name(t),
             kind_names[kind]);
        return NULL;
    }
    return d;
}

bool need_int(Typing *t, AttrName name, int64_t *v) {
    const Datum *d = need_attr(t, name, D_INT);
    if (d) *v = d->i;
    return d != NULL;
}

bool need_real(Typing *t, AttrName name, double *v) {
    const Datum *d = typing_attr(t, name);
    if (!d || !is_number(d)) return need_attr(t, name, D_FLOAT) != NULL;
    *v = number_of(d);
    return true;
}

bool need_ints(Typing *t, AttrName name, Ints *out) {
    const Datum *d = typing_attr(t, name);
    *out = (Ints){.n = 0};
    if (!d || datum_ints(d, out)) return true;
    if (d->kind == D_LIST && d->list.n > COUNT_OF(out->v))
        diag(t->ctx, DIAG_RANK_MISMATCH, typing_span(t, name),
             "%s of %s has %u numbers, but a tensor has at most %d axes", attr_name(name), own_name(t), d->list.n,
             MAX_RANK);
    else
        diag(t->ctx, DIAG_ARGUMENT_TYPE, typing_span(t, name), "%s of %s must be an int or a tuple of ints",
             attr_name(name), own_name(t));
    return false;
}

bool axis_wrap(int64_t *dim, unsigned rank) {
    int64_t n = rank ? rank : 1;
    if (*dim < -n || *dim >= n) return false;
    if (*dim < 0) *dim += n;
    return true;
}

void axis_missing(Typing *t, AttrName name, int64_t dim, unsigned rank) {
    const Value *x = t->in[0];
    int n = rank ? (int)rank : 1;
    bool fresh = rank > x->type.shape.rank;
    Diag *d = fresh ? diag(t->ctx, DIAG_AXIS_RANGE, typing_span(t, name), "a new axis of %s cannot stand at %lld",
                           x_text(t, x), (long long)dim)
                    : diag(t->ctx, DIAG_AXIS_RANGE, typing_span(t, name), "%s has no axis %lld", x_text(t, x),
                           (long long)dim);
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "%s of %s is in the range %d to %d", attr_name(name), own_name(t), -n, n - 1);
}

bool refuse_form(Typing *t, AttrName name, const char *rule) {
    diag(t->ctx, DIAG_IR_SYNTAX, typing_span(t, name), "%s of %s %s", attr_name(name), own_name(t), rule);
    return false;
}

static const char *const from_front = "is counted from the front in a graph";

bool need_axis(Typing *t, AttrName name, unsigned rank, unsigned *axis) {
    int64_t dim;
    if (!need_int(t, name, &dim)) return false;
    int64_t wrapped = dim;
    if (!axis_wrap(&wrapped, rank)) {
        axis_missing(t, name, dim, rank);
        return false;
    }
    *axis = (unsigned)wrapped;
    return dim >= 0 || refuse_form(t, name, from_front);
}

bool need_axes(Typing *t, AttrName name, unsigned rank, unsigned *set) {
    Ints axes;
    bool front = true;
    *set = 0;
    if (!need_ints(t, name, &axes)) return false;
    for (uint32_t i = 0; i < axes.n; i++) {
        int64_t dim = axes.v[i];
        if (!axis_wrap(&dim, rank)) {
            axis_missing(t, name, axes.v[i], rank);
            return false;
        }
        if (*set & 1u << dim) {
            Diag *d = diag(t->ctx, DIAG_ARGUMENT_VALUE, typing_span(t, name), "%s of %s names axis %lld twice",
                           attr_name(name), own_name(t), (long long)dim);
            note_value(t->ctx, d, t->in[0]);
            return false;
        }
        *set |= 1u << dim;
        front = front && axes.v[i] >= 0;
    }
    return front || refuse_form(t, name, from_front);
}

bool need_integer_index(Typing *t, AttrName name, const Value *index) {
    DType dt = index->type.dtype;
    if (dt == DT_I64 || dt == DT_I32) return true;
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, typing_span(t, name),
                   "%s takes an integer %s (i64 or i32), but it is %s", own_name(t), attr_name(name), x_text(t, index));
    note_value(t->ctx, d, index);
    diag_help(t->ctx, d, "convert it: cast(%s, i64)", attr_name(name));
    return false;
}

bool need_numbers(Typing *t, const Value *x, const char *help) {
    if (x->type.dtype != DT_BOOL) return true;
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, t->span, "%s is not defined on truth values, but this is %s",
                   own_name(t), x_text(t, x));
    note_value(t->ctx, d, x);
    diag_help(t->ctx, d, "%s", help);
    return false;
}

static bool int_fits(int64_t i, DType dtype) {
    unsigned bits = dtype_bits(dtype);
    if (dtype_is_float(dtype)) return true;
    if (dtype == DT_BOOL) return i == 0 || i == 1;
    if (dtype == DT_U8 || dtype == DT_U4) return i >= 0 && i < INT64_C(1) << bits;
    return bits == 64 || (i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << (bits - 1));
}

static bool fits(const Datum *d, DType dtype) {
    switch (d->kind) {
    case D_BOOL: return dtype == DT_BOOL;
    case D_INT: return int_fits(d->i, dtype);
    case D_FLOAT: return dtype_is_float(dtype);
    default: return false;
    }
}

bool need_fitting(Typing *t, AttrName name, DType dtype) {
    const Datum *v = typing_attr(t, name);
    if (!v || fits(v, dtype)) return true;
    StrBuf text;
    sb_init(&text, t->ctx->scratch);
    datum_print(&text, v);
    Diag *d = diag(t->ctx, DIAG_DTYPE_MISMATCH, typing_span(t, name), "%s of %s is %s, which is no value of %s",
                   attr_name(name), own_name(t), sb_str(&text), dtype_name(dtype));
    if (t->nin > 0) note_value(t->ctx, d, t->in[0]);
    if (v->kind == D_FLOAT && dtype_is_int(dtype))
        diag_help(t->ctx, d, t->nin > 0 ? "write an integer, or cast the tensor first: cast(x, f32)"
                                        : "write an integer, or choose dtype=f32");
    return false;
}

bool flag_of(const Typing *t, AttrName name) {
    const Datum *d = typing_attr(t, name);
    return d && d->kind == D_BOOL && d->b;
}

/* Saturates: beside an axis of size 0 the others may be too many to count. */
static uint64_t product(const uint64_t *dim, unsigned n) {
    uint64_t r = 1;
    for (unsigned i = 0; i < n; i++)
        if (dim[i] == 0) return 0;
    for (unsigned i = 0; i < n; i++)
        if (!mul_u64(r, dim[i], &r)) return UINT64_MAX;
    return r;
}

uint64_t elems_before(const Shape *s, unsigned axis) {
    return product(s->dim, axis);
}

uint64_t elems_behind(const Shape *s, unsigned axis) {
    return axis + 1u < s->rank ? product(s->dim + axis + 1, s->rank - axis - 1u) : 1;
}
