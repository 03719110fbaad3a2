/* parse.c - reads a graph back from its printed form (print.c has the form), and a plan if one follows.
 *
 * Nothing read is believed: numbers must be dense, operands must exist, every operator's types are inferred again by its
 * rule and compared with what is written, and so are parameters and multiply-adds. So a file that was written by hand or
 * by chance is refused at its first wrong line, and a graph that comes back is as good as an elaborated one. Linear. */
#include "ir/print.h"
#include "ir/read.h"
#include "ops/ops.h"

#include <string.h>

static bool name_taken(Reader *r, const char *name) {
    if (namemap_get(r->g->used_names, name) != NULL)
        return true;
    namemap_put(r->g->used_names, name, (void *)(uintptr_t)2);        /* as graph_unique() keeps it */
    return false;
}

static bool read_new_name(Reader *r, const char **name) {
    read_end(r);
    size_t from = r->pos;
    return read_name(r, name) && (!name_taken(r, *name) || read_fail(r, from, "the name '%s' is taken", *name));
}

/* ---- head */

static bool read_file_line(Reader *r) {
    uint32_t n;
    FileLine f = {0};
    size_t from = r->pos;
    if (!read_u32(r, &n, UINT32_MAX, "a file's number") || !read_quoted(r, &f.path))
        return false;
    if (n != r->files.n + 1)
        return read_fail(r, from, "files are numbered from 1 in their order");
    vec_push(r->ctx->scratch, &r->files, f);
    return true;
}

static bool read_net_line(Reader *r) {
    return read_name(r, &r->g->name) && read_quoted(r, &r->g->source) && read_span(r, &r->g->span) && read_doc(r, &r->g->doc);
}

static bool read_memory_line(Reader *r) {
    if (!read_need_word(r, "budget") || !read_u64(r, &r->g->mem_budget, UINT64_MAX, "bytes") || !read_need_word(r, "align") ||
        !read_u64(r, &r->g->mem_align, INT64_MAX, "bytes") || !read_need_word(r, "reuse"))
        return false;
    r->g->mem_noreuse = read_is_word(r, "false");
    return r->g->mem_noreuse || read_need_word(r, "true");
}

static bool read_alias_line(Reader *r) { return r->g->alias_io = true; }

static bool read_dim_line(Reader *r) {
    Dim d = {0};
    if (!read_name(r, &d.name))
        return false;
    d.is_bound = read_is(r, '<');
    if (!read_need(r, '=') || !read_u64(r, &d.value, UINT64_MAX, "a dim's value") || !read_span(r, &d.span))
        return false;
    vec_push(r->g->arena, &r->g->dims, d);
    return true;
}

/* ---- values without an operator */

static bool read_new_id(Reader *r, uint32_t expected) {
    uint32_t id;
    if (!read_need(r, '%'))
        return false;
    size_t from = r->pos - 1;
    return read_u32(r, &id, UINT32_MAX, "a value's number") &&
           (id == expected || read_fail(r, from, "the next value is %%%u", (unsigned)expected));
}

static bool read_init(Reader *r, Init *init) {
    const char *word;
    if (!read_need_word(r, "init"))
        return false;
    size_t from = r->pos;
    if (!read_name(r, &word))
        return false;
    for (int k = INIT_ZEROS; k <= INIT_KAIMING_UNIFORM; k++) {
        unsigned nargs;
        Datum a[2] = {{0}};
        if (strcmp(ir_init_word((InitKind)k, &nargs), word) != 0)
            continue;
        for (unsigned i = 0; i < nargs; i++)
            if (!read_datum(r, &a[i]) || (a[i].kind != D_FLOAT && !read_fail(r, from, "an initial value that is no float")))
                return false;
        *init = (Init){(InitKind)k, nargs > 0 ? a[0].f : 0, nargs > 1 ? a[1].f : 0};
        return true;
    }
    return read_fail(r, from, "unknown initial value '%s'", word);
}

static bool read_input(Reader *r) {
    const char *name;
    Type type;
    Span span;
    if (!read_new_id(r, (uint32_t)r->g->values.n) || !read_new_name(r, &name) || !read_need(r, ':') || !read_type(r, &type) ||
        !read_span(r, &span))
        return false;
    return read_doc(r, &graph_input(r->g, name, &type, span)->doc);
}

static bool read_stored(Reader *r, Role role) {
    const char *name;
    Type type;
    Span span;
    Init init;
    if (!read_new_id(r, (uint32_t)r->g->values.n) || !read_new_name(r, &name) || !read_need(r, ':') || !read_type(r, &type) ||
        !read_init(r, &init))
        return false;
    bool declared = read_is_word(r, "declared");
    if (!read_span(r, &span))
        return false;
    Value *v = graph_stored(r->g, role, name, &type, init, span);
    v->declared = declared;
    return read_doc(r, &v->doc);
}

static bool read_const(Reader *r) {
    uint32_t id = (uint32_t)r->g->values.n;
    size_t from = r->pos;
    Type type;
    Datum d;
    Span span;
    if (!read_new_id(r, id) || !read_need(r, ':') || !read_type(r, &type) || !read_need(r, '=') || !read_datum(r, &d) ||
        !read_span(r, &span))
        return false;
    bool fits = dtype_is_float(type.dtype) ? d.kind == D_FLOAT : d.kind == D_INT || d.kind == D_BOOL;
    if (type.shape.rank != 0 || !fits)
        return read_fail(r, from, "a constant is one number of its element type");
    Value *v = graph_scalar(r->g, type.dtype, &d, span);
    return v->id == id || read_fail(r, from, "this constant is %%%u already", (unsigned)v->id);
}

/* ---- operators */

typedef struct OpLine {
    VEC(Value *) in;
    VEC(Attr) attrs;
    Type *types;                                          /* as written, nout of them */
    const char **names;                                   /* NULL = by the path */
    Role *roles;
    Span *spans;
    uint32_t nout;
    size_t from, types_at, facts_at;
    const char *path;
    uint64_t params, buffers, macs;
} OpLine;

static bool read_operands(Reader *r, OpLine *l) {
    if (!read_need(r, '('))
        return false;
    while (!read_is(r, ')')) {
        Value *v = NULL;
        if (l->in.n > 0 && !read_need(r, ','))
            return false;
        if (!read_is_word(r, "none") && !read_value(r, &v))
            return false;
        vec_push(r->ctx->scratch, &l->in, v);
    }
    return true;
}

static bool read_attrs(Reader *r, OpLine *l) {
    if (!read_is(r, '{'))
        return true;
    while (!read_is(r, '}')) {
        const char *word;
        Attr a;
        if (l->attrs.n > 0 && !read_need(r, ','))
            return false;
        read_end(r);
        size_t from = r->pos;
        if (!read_name(r, &word))
            return false;
        if (!attr_by_name(word, &a.name))
            return read_fail(r, from, "unknown attribute '%s'", word);
        for (size_t i = 0; i < l->attrs.n; i++)
            if (l->attrs.p[i].name == a.name)
                return read_fail(r, from, "attribute '%s' is given twice", word);
        if (!read_need(r, '=') || !read_datum(r, &a.value))
            return false;
        vec_push(r->ctx->scratch, &l->attrs, a);
    }
    return true;
}

static bool read_role(Reader *r, Role *role) {
    if (!read_is_word(r, "role"))
        return true;
    for (int k = ROLE_ACTIVATION; k <= ROLE_STATE; k++)
        if (read_is_word(r, ir_role_word((Role)k))) {
            *role = (Role)k;
            return true;
        }
    return read_fail(r, r->pos, "expected what the result is: saved, gradient or state");
}

static bool read_result_types(Reader *r, OpLine *l) {
    l->types = NEW_ARRAY(r->ctx->scratch, Type, l->nout);
    l->names = NEW_ARRAY(r->ctx->scratch, const char *, l->nout);
    l->roles = NEW_ARRAY(r->ctx->scratch, Role, l->nout);
    l->spans = NEW_ARRAY(r->ctx->scratch, Span, l->nout);
    if (!read_need(r, ':'))
        return false;
    l->types_at = r->pos;
    for (uint32_t i = 0; i < l->nout; i++) {
        l->roles[i] = ROLE_ACTIVATION;
        if ((i > 0 && !read_need(r, ',')) || !read_type(r, &l->types[i]) ||
            (read_is_word(r, "as") && !read_new_name(r, &l->names[i])) || !read_role(r, &l->roles[i]) ||
            !read_span(r, &l->spans[i]))
            return false;
    }
    return true;
}

static bool read_counts(Reader *r, OpLine *l) {
    l->facts_at = r->pos;
    return (!read_is_word(r, "params") || read_u64(r, &l->params, UINT64_MAX, "parameters")) &&
           (!read_is_word(r, "buffers") || read_u64(r, &l->buffers, UINT64_MAX, "buffer elements")) &&
           (!read_is_word(r, "macs") || read_u64(r, &l->macs, UINT64_MAX, "multiply-adds"));
}

static bool read_wishes(Reader *r, Op *op) {
    if (read_is_word(r, "phase")) {
        op->phase = read_is_word(r, "backward") ? PHASE_BACKWARD : PHASE_UPDATE;
        if (op->phase == PHASE_UPDATE && !read_need_word(r, "update"))
            return false;
    }
    if (read_is_word(r, "inplace")) {
        op->inplace = read_is_word(r, "demand") ? INPLACE_DEMAND : INPLACE_FORBID;
        if (op->inplace == INPLACE_FORBID && !read_need_word(r, "forbid"))
            return false;
    }
    op->keep = read_is_word(r, "keep");
    return !read_is_word(r, "checkpoint") || read_u32(r, &op->checkpoint, UINT32_MAX, "a checkpoint's number");
}

/* What every rule may take for granted: the operands its signature requires are there. */
static bool operands_present(Reader *r, const OpInfo *info, const OpLine *l) {
    uint32_t at = 0;
    if (info->flags & COMPOSITE)
        return read_fail(r, l->from, "%s never stands in a graph", info->name);
    for (uint32_t i = 0; i < info->nparams; i++) {
        const Param *p = &info->params[i];
        if (p->type != P_TENSOR && p->type != P_OPERAND && p->type != P_TENSORS)
            continue;
        if (!p->optional && (at >= l->in.n || l->in.p[at] == NULL))
            return read_fail(r, l->from, "%s needs its operand %s", info->name, attr_name(p->name));
        at++;
    }
    if (info->nparams > 0 && info->params[0].type == P_TENSORS)
        for (size_t i = 0; i < l->in.n; i++)
            if (l->in.p[i] == NULL)
                return read_fail(r, l->from, "an operand of %s is missing", info->name);
    return true;
}

static bool types_agree(Reader *r, const OpInfo *info, const OpLine *l, Typing *t) {
    if (!op_rules(info->kind)->infer(t))
        return diag_failed(r->ctx) ? false : read_fail(r, l->from, "%s does not fit its operands", info->name);
    if (t->out.n != l->nout)
        return read_fail(r, l->from, "%s has %zu results", info->name, t->out.n);
    for (uint32_t i = 0; i < l->nout; i++)
        if (t->out.p[i].dtype != l->types[i].dtype || !shape_equal(&t->out.p[i].shape, &l->types[i].shape))
            return read_fail(r, l->types_at, "result %u of %s is %s", (unsigned)i + 1, info->name,
                             type_text(r->ctx->scratch, &t->out.p[i]));
    return true;
}

/* Stored tensors count at the first operator that reads them, declared ones in rows of their own. */
static void count_stored(Op *op, const OpLine *l) {
    for (size_t i = 0; i < l->in.n; i++) {
        const Value *v = l->in.p[i];
        bool first = v != NULL && !v->declared && v->nuses == 0;
        for (size_t k = 0; first && k < i; k++)
            first = l->in.p[k] != v;
        if (first && v->role == ROLE_PARAM)
            op->params += v->nelem;
        if (first && v->role == ROLE_BUFFER)
            op->buffer_elems += v->nelem;
    }
}

static bool counts_agree(Reader *r, const OpLine *l, const Op *counted, Op *op) {
    const OpRules *rules = op_rules(op->kind);
    op->params = counted->params;
    op->buffer_elems = counted->buffer_elems;
    op->macs = rules->macs != NULL ? rules->macs(op) : 0;
    if (l->params == op->params && l->buffers == op->buffer_elems && l->macs == op->macs)
        return true;
    return read_fail(r, l->facts_at, "%s has params %llu buffers %llu macs %llu", ir_op_name(op->kind),
                     (unsigned long long)op->params, (unsigned long long)op->buffer_elems, (unsigned long long)op->macs);
}

static bool name_results(Reader *r, const OpLine *l, Op *op) {
    for (uint32_t i = 0; i < l->nout; i++) {
        Value *v = op->out[i];
        v->role = l->roles[i];
        if (span_known(l->spans[i]))
            v->span = l->spans[i];
        v->name = l->names[i] != NULL ? l->names[i] : name_of(r->ctx, v->name);
        if (l->names[i] == NULL && v->name != op->path && name_taken(r, v->name))
            return read_fail(r, l->from, "the name '%s' is taken", v->name);
    }
    return true;
}

static bool make_op(Reader *r, const OpInfo *info, OpLine *l) {
    Typing t = {.ctx = r->ctx, .span = {r->file, (uint32_t)l->from, (uint32_t)r->pos}, .kind = info->kind, .in = l->in.p,
                .nin = (uint32_t)l->in.n, .attrs = l->attrs.p, .nattrs = (uint32_t)l->attrs.n, .arena = r->ctx->scratch};
    if (!operands_present(r, info, l) || !types_agree(r, info, l, &t))
        return false;
    Op counted = {0};
    count_stored(&counted, l);
    Op *op = graph_op(r->g, info->kind, l->in.p, (uint32_t)l->in.n, l->attrs.p, (uint32_t)l->attrs.n, t.out.p,
                      l->nout, l->path, (Span){0});
    if (!counts_agree(r, l, &counted, op) || !read_wishes(r, op) || !read_span(r, &op->span))
        return false;
    for (uint32_t i = 0; i < op->nout; i++)
        op->out[i]->span = op->span;
    return name_results(r, l, op);
}

static bool read_op_line(Reader *r) {
    OpLine l = {.from = r->pos, .nout = 0};
    const char *word;
    do {
        if (l.nout == UINT16_MAX || !read_new_id(r, (uint32_t)r->g->values.n + l.nout++))
            return l.nout == UINT16_MAX ? read_fail(r, l.from, "too many results") : false;
    } while (read_is(r, ','));
    if (!read_need(r, '='))
        return false;
    read_end(r);
    l.from = r->pos;
    if (!read_name(r, &word))
        return false;
    const OpInfo *info = op_info_by_name(word);
    if (info == NULL)
        return read_fail(r, l.from, "unknown operator '%s'", word);
    return read_operands(r, &l) && read_attrs(r, &l) && read_result_types(r, &l) && read_need_word(r, "at") &&
           read_new_name(r, &l.path) && read_counts(r, &l) && make_op(r, info, &l);
}

static bool read_result(Reader *r) {
    Result res = {0};
    if (!read_name(r, &res.name) || !read_value(r, &res.value) || !read_span(r, &res.span) || !read_doc(r, &res.doc))
        return false;
    graph_result(r->g, res.name, res.value, res.span);
    r->g->results.p[r->g->results.n - 1].doc = res.doc;
    return true;
}

/* ---- lines */

static bool read_graph_line(Reader *r, const char *word, size_t from) {
    if (r->plan != NULL)
        return read_fail(r, from, "the graph ends where its plan begins");
    if (strcmp(word, "input") == 0)
        return read_input(r);
    if (strcmp(word, "const") == 0)
        return read_const(r);
    if (strcmp(word, "result") == 0)
        return read_result(r);
    for (int k = ROLE_PARAM; k <= ROLE_STATE; k++)
        if (k != ROLE_CONST && k != ROLE_ACTIVATION && strcmp(word, ir_role_word((Role)k)) == 0)
            return read_stored(r, (Role)k);
    return read_fail(r, from, "unknown line '%s'", word);
}

/* "buffer" begins a stored tensor (buffer %3 ...) and a buffer of the plan (buffer 3 ...): the plan's come after `plan`. */
static bool read_line(Reader *r) {
    const char *word;
    static const struct { const char *word; bool (*read)(Reader *); } head[] = {
        {"file", read_file_line}, {"net", read_net_line}, {"memory", read_memory_line}, {"alias_io", read_alias_line},
        {"dim", read_dim_line},
    };
    if (r->text[r->pos] == '%')
        return r->plan != NULL ? read_graph_line(r, "", r->pos) : read_op_line(r);
    size_t from = r->pos;
    if (!read_name(r, &word))
        return false;
    for (size_t i = 0; i < COUNT_OF(head); i++)
        if (r->plan == NULL && strcmp(word, head[i].word) == 0)
            return head[i].read(r);
    if (r->plan != NULL || strcmp(word, "plan") == 0)
        return read_plan_line(r, word, from);
    return read_graph_line(r, word, from);
}

static bool read_header(Reader *r, size_t len) {
    if (memchr(r->text, '\0', len) != NULL) {
        r->pos = strlen(r->text);
        return read_fail(r, r->pos, "a NUL byte");
    }
    if (!read_is_word(r, "netir"))
        return read_fail(r, 0, "printed IR begins with 'netir 1'");
    uint32_t version;
    size_t from = r->pos;
    return read_u32(r, &version, UINT32_MAX, "a version") &&
           (version == 1 || read_fail(r, from, "this netc reads version 1 only")) &&
           (read_end(r) || read_fail(r, r->pos, "unexpected text at the end of the line"));
}

static bool read_all(Reader *r) {
    while (read_end(r)) {
        if (r->text[r->pos] == '\0')
            break;
        r->pos++;
        if (!read_end(r) && (!read_line(r) || (!read_end(r) && !read_fail(r, r->pos, "unexpected text at the end of the line"))))
            return false;
    }
    if (r->g->name == NULL)
        return read_fail(r, r->pos, "printed IR without a net");
    return (r->plan == NULL || read_plan_check(r)) && read_settle_files(r);
}

Graph *ir_parse(Ctx *ctx, uint32_t file, Plan **plan) {
    const Source *s = source_get(ctx, file);
    Reader r = {.ctx = ctx, .file = file, .text = s->text, .g = graph_new(ctx->unit, NULL)};
    if (plan != NULL)
        *plan = NULL;
    if (!read_header(&r, s->len) || !read_all(&r))
        return NULL;
    if (plan != NULL)
        *plan = r.plan;
    return r.g;
}
