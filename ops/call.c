/* call.c - what the binds of all families share: reading a call's arguments and making ops of them. An op made here has
 * its types inferred by its family's rule, its share of the parameters (a stored tensor counts at the first op that
 * reads it, and one that was declared by a statement counts there), its multiply-adds, and the wishes of the source. */
#include "ops/ops.h"

#include <string.h>

Arg *call_arg(Call *c, AttrName name) {
    for (uint32_t i = 0; i < c->info->nparams; i++)
        if (c->info->params[i].name == name) return &c->args[i];
    ice("%s has no argument %s", c->info->name, attr_name(name));
}

static const Datum *must_be(Call *c, AttrName name, DatumKind kind) {
    const Datum *d = &call_arg(c, name)->value;
    if (d->kind != kind)
        ice("argument %s of %s is of kind %d, not %d", attr_name(name), c->info->name, (int)d->kind, (int)kind);
    return d;
}

Value *call_tensor(Call *c, AttrName name) {
    return call_is_none(c, name) ? NULL : must_be(c, name, D_TENSOR)->tensor;
}

int64_t call_int(Call *c, AttrName name) {
    return must_be(c, name, D_INT)->i;
}

bool call_bool(Call *c, AttrName name) {
    return must_be(c, name, D_BOOL)->b;
}

double call_float(Call *c, AttrName name) {
    const Datum *d = &call_arg(c, name)->value;
    return d->kind == D_INT ? (double)d->i : must_be(c, name, D_FLOAT)->f;
}

const char *call_str(Call *c, AttrName name) {
    return name_of(c->ctx, must_be(c, name, D_STR)->s);
}

bool call_is_none(Call *c, AttrName name) {
    return call_arg(c, name)->value.kind == D_NONE;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void count_into(uint64_t *sum, uint64_t n) {
    if (!add_u64(*sum, n, sum)) *sum = UINT64_MAX;
}

/* Parameters and buffer elements that an op is the first to read. Its uses are taken back one by one: a tensor whose
 * uses come to 0 was read by nobody before, and however often the op reads it, that happens once. O(operands). */
static void count_stored(Op *op) {
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *v = op->in[i];
        if (!v || --op->in[i]->nuses > 0 || v->declared) continue;
        if (v->role == ROLE_PARAM) count_into(&op->params, v->nelem);
        if (v->role == ROLE_BUFFER) count_into(&op->buffer_elems, v->nelem);
    }
    for (uint32_t i = 0; i < op->nin; i++)
        if (op->in[i]) op->in[i]->nuses++;
}

/* Attributes with their strings interned: the defaults of the table are not. */
static Attr *own_attrs(Call *c, const Attr *attrs, uint32_t n) {
    Attr *own = NEW_ARRAY(c->ctx->unit, Attr, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        own[i] = attrs[i];
        if (own[i].value.kind == D_STR) own[i].value.s = name_of(c->ctx, own[i].value.s);
    }
    return own;
}

static const char *path_of(Call *c, const char *suffix) {
    if (!suffix) return c->path;
    return graph_unique(c->ctx, c->g, arena_printf(c->ctx->unit, "%s/%s", c->path, suffix));
}

Typing call_typing(Call *c) {
    return (Typing){.ctx = c->ctx, .span = c->span, .call = c, .kind = c->info->kind, .arena = c->ctx->unit};
}

Value *call_stored(Call *c, const char *name, Role role, DType dtype, unsigned rank, const uint64_t *dims, Init init) {
    Type type = {dtype, shape_of(rank, dims)};
    uint64_t nbytes;
    if (!type_bytes(&type, &nbytes)) {
        diag(c->ctx, DIAG_TOO_LARGE, c->span, "the %s of %s, %s, is larger than 2^63 - 1 bytes", name, c->info->name,
             type_text(c->ctx->scratch, &type));
        return NULL;
    }
    return c->stored(c, name, role, &type, init);
}

Op *call_op(Call *c, OpKind kind, Value **in, uint32_t nin, const Attr *attrs, uint32_t nattrs, const char *suffix) {
    while (nin > 0 && !in[nin - 1]) nin--;
    Typing t = call_typing(c);
    t.kind = kind;
    t.in = in;
    t.nin = nin;
    t.attrs = own_attrs(c, attrs, nattrs);
    t.nattrs = nattrs;
    if (!op_rules(kind)->infer(&t)) return NULL;
    Op *op = graph_op(c->g, kind, in, nin, t.attrs, nattrs, t.out.p, (uint32_t)t.out.n, path_of(c, suffix), c->span);
    op->phase = c->phase;
    op->inplace = c->inplace;
    op->keep = c->keep;
    op->checkpoint = c->checkpoint;
    count_stored(op);
    op->macs = op_rules(kind)->macs ? op_rules(kind)->macs(op) : 0;
    return op;
}

bool call_result(Call *c, Op *op) {
    if (!op) return false;
    if (op->nout == 1) {
        c->result = d_tensor(op->out[0]);
        return true;
    }
    Datum *items = NEW_ARRAY(c->ctx->unit, Datum, op->nout);
    for (uint32_t i = 0; i < op->nout; i++) items[i] = d_tensor(op->out[i]);
    c->result = d_list(c->ctx->unit, items, op->nout);
    c->result.list.lead = (c->info->flags & LEAD) != 0;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static bool is_operand(ParamType type) {
    return type == P_TENSOR || type == P_OPERAND || type == P_TENSORS;
}

static uint32_t count_operands(const Call *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->info->nparams; i++) {
        const Datum *d = &c->args[i].value;
        if (is_operand(c->info->params[i].type)) n += d->kind == D_LIST ? d->list.n : 1;
    }
    return n;
}

/* The dtype a number among the operands takes: that of the first tensor. */
static DType operand_dtype(const Call *c) {
    for (uint32_t i = 0; i < c->info->nparams; i++)
        if (is_operand(c->info->params[i].type) && c->args[i].value.kind == D_TENSOR)
            return c->args[i].value.tensor->type.dtype;
    ice("%s has no tensor among its operands", c->info->name);
}

static bool take_operand(Call *c, const Arg *a, Value **in, uint32_t *n) {
    const Datum *d = &a->value;
    if (d->kind == D_LIST) {
        for (uint32_t i = 0; i < d->list.n; i++) in[(*n)++] = d->list.p[i].tensor;
        return true;
    }
    Value *v = d->kind == D_NONE ? NULL : d->kind == D_TENSOR ? d->tensor : call_scalar(c, a, operand_dtype(c));
    in[(*n)++] = v;
    return v || d->kind == D_NONE;
}

bool bind_plain(Call *c) {
    const OpInfo *info = c->info;
    uint32_t nin = 0, nattrs = 0, operands = count_operands(c);
    Value **in = NEW_ARRAY(c->ctx->unit, Value *, operands ? operands : 1);
    Attr *attrs = NEW_ARRAY(c->ctx->unit, Attr, info->nparams ? info->nparams : 1);
    for (uint32_t i = 0; i < info->nparams; i++) {
        if (is_operand(info->params[i].type)) {
            if (!take_operand(c, &c->args[i], in, &nin)) return false;
        } else if (c->args[i].value.kind != D_NONE) {
            attrs[nattrs++] = (Attr){info->params[i].name, c->args[i].value};
        }
    }
    return call_result(c, call_op(c, info->kind, in, nin, attrs, nattrs, NULL));
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* What the source calls an op: a composite's last op has the path of its call, net/multihead_attention#1. */
static const char *source_name(Ctx *ctx, const Op *op) {
    const char *slash = strrchr(op->path, '/'), *segment = slash ? slash + 1 : op->path;
    const OpInfo *called = op_info_by_name(arena_strndup(ctx->scratch, segment, strcspn(segment, "#")));
    return called && (called->flags & COMPOSITE) ? called->name : op_info(op->kind)->name;
}

void note_value(Ctx *ctx, Diag *d, const Value *v) {
    const char *type = type_text(ctx->scratch, &v->type);
    if (v->def) {
        diag_note(ctx, d, v->def->span, "%s comes from %s", type, source_name(ctx, v->def));
        return;
    }
    switch (v->role) {
    case ROLE_INPUT: diag_note(ctx, d, v->span, "%s is the input %s", type, v->name); break;
    case ROLE_PARAM: diag_note(ctx, d, v->span, "%s is the parameter %s", type, v->name); break;
    case ROLE_BUFFER: diag_note(ctx, d, v->span, "%s is the buffer %s", type, v->name); break;
    case ROLE_CONST: break;                               /* a number stands in the line of the error itself */
    case ROLE_ACTIVATION: case ROLE_SAVED: case ROLE_GRADIENT: case ROLE_STATE:
        diag_note(ctx, d, v->span, "%s is %s", type, v->name);
        break;
    }
}

/* Would `|> flatten` give the features that were written? */
static bool flatten_helps(const Value *x, uint64_t wanted) {
    uint64_t n = 1;
    for (unsigned i = 1; i < x->type.shape.rank; i++)
        if (!mul_u64(n, x->type.shape.dim[i], &n)) return false;
    return x->type.shape.rank > 2 && n == wanted;
}

bool call_check_from(Call *c, AttrName name, uint64_t actual, const char *what, const Value *x) {
    const Arg *a = call_arg(c, name);
    if (!a->has_from || (a->from >= 0 && (uint64_t)a->from == actual)) return true;
    bool features = strcmp(what, "features") == 0;        /* of the last axis; channels are those of axis 1 */
    Diag *d = diag(c->ctx, DIAG_IN_MISMATCH, a->from_span, "%s takes %lld %s, but %s of %s is %llu", c->info->name,
                   (long long)a->from, what, features ? "the last axis" : "axis 1", type_text(c->ctx->scratch, &x->type),
                   (unsigned long long)actual);
    note_value(c->ctx, d, x);
    if (a->from >= 0 && flatten_helps(x, (uint64_t)a->from) && c->info->kind == OP_LINEAR)
        diag_help(c->ctx, d, "linear works on the last axis; flatten first: |> flatten |> linear(%lld -> %lld)",
                  (long long)a->from, (long long)a->value.i);
    else
        diag_help(c->ctx, d, "write %llu -> %lld, or only %lld to have it inferred", (unsigned long long)actual,
                  (long long)a->value.i, (long long)a->value.i);
    return false;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static Value *scalar_refused(Call *c, const Arg *a, DType dtype, const char *what, const char *better) {
    StrBuf number;
    sb_init(&number, c->ctx->scratch);
    datum_print(&number, &a->value);
    Diag *d =
        diag(c->ctx, DIAG_DTYPE_MISMATCH, a->span, "the %s %s cannot be an operand of %s together with a tensor of %s",
             what, sb_str(&number), c->info->name, dtype_name(dtype));
    diag_help(c->ctx, d, "cast the tensor first: cast(x, %s)", better);
    return NULL;
}

/* Does an integer fit a dtype that is no float? */
static bool int_fits(int64_t i, DType dtype) {
    unsigned bits = dtype_bits(dtype);
    if (dtype == DT_BOOL) return i == 0 || i == 1;
    if (dtype == DT_U8 || dtype == DT_U4) return i >= 0 && i < (INT64_C(1) << bits);
    return bits == 64 || (i >= -(INT64_C(1) << (bits - 1)) && i < (INT64_C(1) << (bits - 1)));
}

Value *call_scalar(Call *c, const Arg *a, DType dtype) {
    const Datum *d = &a->value;
    if (d->kind == D_BOOL) {
        if (dtype != DT_BOOL) return scalar_refused(c, a, dtype, "truth value", "bool");
        return graph_scalar(c->g, dtype, d, a->span);
    }
    if (d->kind == D_FLOAT) {
        if (!dtype_is_float(dtype)) return scalar_refused(c, a, dtype, "float", "f32");
        return graph_scalar(c->g, dtype, d, a->span);
    }
    if (d->kind != D_INT) ice("an operand of %s is neither tensor nor number", c->info->name);
    if (dtype_is_float(dtype)) {
        Datum f = d_float((double)d->i);
        return graph_scalar(c->g, dtype, &f, a->span);
    }
    if (!int_fits(d->i, dtype)) return scalar_refused(c, a, dtype, "integer", "i64");
    return graph_scalar(c->g, dtype, d, a->span);
}
