/* print.c - a graph, and a plan of it, as text: what --emit=ir and --print-after=PASS show and ir/parse.c reads back.
 *
 *     netir 1
 *     file 1 "lenet.net"
 *     net lenet "lenet.net" @1:2:1(11-318)
 *     input %0 x : f32[1, 1, 28, 28] @1:2:11(21-40)
 *     param %1 conv2d1.weight : f32[20, 1, 5, 5] init kaiming_uniform 2.23606797749979 @1:4:12(78-94)
 *     %2 = conv2d(%0, %1) {stride=(1, 1)} : f32[1, 20, 24, 24] at lenet/conv2d#1 params 500 macs 288000 @1:4:12(78-94)
 *     result logits %2 @1:9:5(300-313)
 *
 * One line per value or operator, in the order of their making, so that numbers are dense and a diff of two dumps shows
 * what changed and nothing else. A value is %id; its type stands behind the colon, its place in the source last, as
 * @file:line:column(first byte-end byte). What is at its default is left away. A plan follows as lines that begin with
 * `plan`, `op`, `step`, `value`, `buffer` and `total`; the graph's lines are the same before and after every pass. Text
 * from `;` to the end of a line is a comment. Linear in the size of the graph. */
#include "ir/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Printer {
    StrBuf *sb;
    Ctx *ctx;
    uint32_t *file_no;                                    /* by index in Ctx.sources; 0 = not declared yet */
    uint32_t nfiles;
} Printer;

const char *ir_role_word(Role r) {
    switch (r) {
    case ROLE_INPUT: return "input";
    case ROLE_PARAM: return "param";
    case ROLE_BUFFER: return "buffer";
    case ROLE_CONST: return "const";
    case ROLE_ACTIVATION: return "activation";
    case ROLE_SAVED: return "saved";
    case ROLE_GRADIENT: return "gradient";
    case ROLE_STATE: return "state";
    }
    ice("role %d", (int)r);
}

const char *ir_init_word(InitKind k, unsigned *nargs) {
    *nargs = k == INIT_NORMAL || k == INIT_UNIFORM ? 2 : k == INIT_CONSTANT || k == INIT_KAIMING_UNIFORM ? 1 : 0;
    switch (k) {
    case INIT_ZEROS: return "zeros";
    case INIT_ONES: return "ones";
    case INIT_CONSTANT: return "constant";
    case INIT_NORMAL: return "normal";
    case INIT_UNIFORM: return "uniform";
    case INIT_KAIMING_UNIFORM: return "kaiming_uniform";
    }
    ice("init %d", (int)k);
}

const char *ir_phase_word(Phase p) {
    return p == PHASE_FORWARD ? "forward" : p == PHASE_BACKWARD ? "backward" : "update";
}

const char *ir_reason_word(Reason r) {
    static const char *const words[REASON_COUNT] = {
#define REASON(id, text) [REASON_##id] = #id,
#include "ir/reason.def"
#undef REASON
    };
    return words[r];
}

const char *ir_op_name(OpKind kind) {
    static const char *const names[OP_COUNT] = {
#define OP(id, name, family, flags, signature) [OP_##id] = name,
#include "ir/op.def"
#undef OP
    };
    return names[kind];
}

bool ir_bare_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' ||
           c == '#' || c == '-';
}

static void put_quoted(StrBuf *sb, const char *s) {
    sb_putc(sb, '"');
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            sb_printf(sb, "\\%c", c);
        else if (c < 32 || c == 127)
            sb_printf(sb, "\\x%02x", c);
        else
            sb_putc(sb, (char)c);
    }
    sb_putc(sb, '"');
}

/* A name stands bare when it cannot be taken for anything else. */
static void put_name(StrBuf *sb, const char *s) {
    size_t n = 0;
    while (ir_bare_char(s[n]))
        n++;
    if (n > 0 && s[n] == '\0')
        sb_write(sb, s, n);
    else
        put_quoted(sb, s);
}

/* ---- spans */

/* Announces the span's file before the line that speaks of it: files are numbered in the order they are met. */
static void declare_file(Printer *p, Span s) {
    if (!span_known(s) || p->file_no[s.file] != 0)
        return;
    p->file_no[s.file] = ++p->nfiles;
    sb_printf(p->sb, "file %" PRIu32 " ", p->nfiles);
    put_quoted(p->sb, source_get(p->ctx, s.file)->path);
    sb_putc(p->sb, '\n');
}

static void put_span(Printer *p, Span s) {
    if (!span_known(s))
        return;
    LineCol at = source_linecol(p->ctx, s.file, s.beg);
    sb_printf(p->sb, " @%" PRIu32 ":%" PRIu32 ":%" PRIu32 "(%" PRIu32 "-%" PRIu32 ")", p->file_no[s.file], at.line, at.col,
              s.beg, s.end);
}

static void put_doc(Printer *p, const char *doc) {
    if (doc == NULL)
        return;
    sb_puts(p->sb, " doc ");
    put_quoted(p->sb, doc);
}

/* ---- what */

static void put_type(StrBuf *sb, const Type *t) {
    sb_puts(sb, dtype_name(t->dtype));
    sb_putc(sb, '[');
    for (unsigned i = 0; i < t->shape.rank; i++)
        sb_printf(sb, i > 0 ? ", %" PRIu64 : "%" PRIu64, t->shape.dim[i]);
    sb_putc(sb, ']');
}

static void put_init(StrBuf *sb, Init init) {
    unsigned nargs;
    sb_printf(sb, " init %s", ir_init_word(init.kind, &nargs));
    Datum args[2] = {d_float(init.a), d_float(init.b)};
    for (unsigned i = 0; i < nargs; i++) {
        sb_putc(sb, ' ');
        datum_print(sb, &args[i]);
    }
}

/* An input, a stored tensor or a scalar. */
static void print_leaf(Printer *p, const Value *v) {
    StrBuf *sb = p->sb;
    declare_file(p, v->span);
    sb_printf(sb, "%s %%%" PRIu32, ir_role_word(v->role), v->id);
    if (v->role == ROLE_CONST) {
        sb_puts(sb, " : ");
        put_type(sb, &v->type);
        sb_puts(sb, " = ");
        datum_print(sb, &v->constant);
    } else {
        sb_putc(sb, ' ');
        put_name(sb, v->name);
        sb_puts(sb, " : ");
        put_type(sb, &v->type);
    }
    if (v->role != ROLE_CONST && v->role != ROLE_INPUT)
        put_init(sb, v->init);
    if (v->declared)
        sb_puts(sb, " declared");
    put_span(p, v->span);
    put_doc(p, v->doc);
    sb_putc(sb, '\n');
}

static bool has_default_name(const Op *op, const Value *v) {
    if (op->nout == 1)
        return strcmp(v->name, op->path) == 0;
    size_t n = strlen(op->path);
    char suffix[16];
    snprintf(suffix, sizeof suffix, ".%" PRIu32, v->out_index + 1);
    return strncmp(v->name, op->path, n) == 0 && strcmp(v->name + n, suffix) == 0;
}

static bool span_equal(Span a, Span b) { return a.file == b.file && a.beg == b.beg && a.end == b.end; }

static void put_result_type(Printer *p, const Op *op, const Value *v) {
    put_type(p->sb, &v->type);
    if (!has_default_name(op, v)) {
        sb_puts(p->sb, " as ");
        put_name(p->sb, v->name);
    }
    if (v->role != ROLE_ACTIVATION)
        sb_printf(p->sb, " role %s", ir_role_word(v->role));
    if (!span_equal(v->span, op->span))
        put_span(p, v->span);
}

static void put_operands(StrBuf *sb, const Op *op) {
    sb_printf(sb, " = %s(", ir_op_name(op->kind));
    for (uint32_t i = 0; i < op->nin; i++) {
        if (i > 0)
            sb_puts(sb, ", ");
        if (op->in[i] == NULL)
            sb_puts(sb, "none");
        else
            sb_printf(sb, "%%%" PRIu32, op->in[i]->id);
    }
    sb_putc(sb, ')');
    for (uint32_t i = 0; i < op->nattrs; i++) {
        sb_printf(sb, i > 0 ? ", %s=" : " {%s=", attr_name(op->attrs[i].name));
        datum_print(sb, &op->attrs[i].value);
    }
    if (op->nattrs > 0)
        sb_putc(sb, '}');
}

static void put_facts(StrBuf *sb, const Op *op) {
    sb_puts(sb, " at ");
    put_name(sb, op->path);
    if (op->params > 0)
        sb_printf(sb, " params %" PRIu64, op->params);
    if (op->buffer_elems > 0)
        sb_printf(sb, " buffers %" PRIu64, op->buffer_elems);
    if (op->macs > 0)
        sb_printf(sb, " macs %" PRIu64, op->macs);
    if (op->phase != PHASE_FORWARD)
        sb_printf(sb, " phase %s", ir_phase_word(op->phase));
    if (op->inplace != INPLACE_AUTO)
        sb_printf(sb, " inplace %s", op->inplace == INPLACE_DEMAND ? "demand" : "forbid");
    if (op->keep)
        sb_puts(sb, " keep");
    if (op->checkpoint > 0)
        sb_printf(sb, " checkpoint %" PRIu32, op->checkpoint);
}

static void print_op(Printer *p, const Op *op) {
    StrBuf *sb = p->sb;
    declare_file(p, op->span);
    for (uint32_t i = 0; i < op->nout; i++)
        declare_file(p, op->out[i]->span);
    for (uint32_t i = 0; i < op->nout; i++)
        sb_printf(sb, i > 0 ? ", %%%" PRIu32 : "%%%" PRIu32, op->out[i]->id);
    put_operands(sb, op);
    for (uint32_t i = 0; i < op->nout; i++) {
        sb_puts(sb, i > 0 ? ", " : " : ");
        put_result_type(p, op, op->out[i]);
    }
    put_facts(sb, op);
    put_span(p, op->span);
    sb_putc(sb, '\n');
}

static void print_head(Printer *p, const Graph *g) {
    StrBuf *sb = p->sb;
    sb_puts(sb, "netir 1\n");
    declare_file(p, g->span);
    sb_puts(sb, "net ");
    put_name(sb, g->name);
    sb_putc(sb, ' ');
    put_quoted(sb, g->source);
    put_span(p, g->span);
    put_doc(p, g->doc);
    sb_putc(sb, '\n');
    if (g->mem_budget > 0 || g->mem_align > 0 || g->mem_noreuse)
        sb_printf(sb, "memory budget %" PRIu64 " align %" PRIu64 " reuse %s\n", g->mem_budget, g->mem_align,
                  g->mem_noreuse ? "false" : "true");
    if (g->alias_io)
        sb_puts(sb, "alias_io\n");
    for (size_t i = 0; i < g->dims.n; i++) {
        declare_file(p, g->dims.p[i].span);
        sb_puts(sb, "dim ");
        put_name(sb, g->dims.p[i].name);
        sb_printf(sb, " %s %" PRIu64, g->dims.p[i].is_bound ? "<=" : "=", g->dims.p[i].value);
        put_span(p, g->dims.p[i].span);
        sb_putc(sb, '\n');
    }
}

static void print_results(Printer *p, const Graph *g) {
    for (size_t i = 0; i < g->results.n; i++) {
        const Result *r = &g->results.p[i];
        declare_file(p, r->span);
        sb_puts(p->sb, "result ");
        put_name(p->sb, r->name);
        sb_printf(p->sb, " %%%" PRIu32, r->value->id);
        put_span(p, r->span);
        put_doc(p, r->doc);
        sb_putc(p->sb, '\n');
    }
}

/* ---- when and where */

static void put_id(StrBuf *sb, const char *before, uint32_t id) {
    if (id != NO_ID)
        sb_printf(sb, "%s%" PRIu32, before, id);
}

static void print_fates(StrBuf *sb, const Graph *g, const Plan *p) {
    for (size_t i = 0; i < g->ops.n; i++) {
        sb_printf(sb, "op %zu %s", i, fate_name(p->fate[i]));
        put_id(sb, " into ", p->into[i]);
        put_id(sb, " step ", p->step_of[i]);
        sb_puts(sb, " ; ");
        put_name(sb, g->ops.p[i]->path);
        sb_putc(sb, '\n');
    }
    for (size_t i = 0; i < p->steps.n; i++) {
        const Step *s = &p->steps.p[i];
        sb_printf(sb, "step %zu anchor %" PRIu32 " ops", i, s->anchor);
        for (size_t k = 0; k < s->ops.n; k++)
            sb_printf(sb, " %" PRIu32, s->ops.p[k]);
        sb_putc(sb, '\n');
    }
}

static bool is_unplaced(const Plan *p, uint32_t v) {
    const Place *l = &p->place[v];
    return l->buffer == NO_ID && l->byte_offset == 0 && l->share == SHARE_NONE && l->with == NO_ID &&
           l->reason == REASON_NONE && l->reason_value == NO_ID && l->first == 0 && l->last == 0 && p->repl[v] == v;
}

static void print_place(StrBuf *sb, const Plan *p, uint32_t v) {
    const Place *l = &p->place[v];
    if (is_unplaced(p, v))
        return;
    sb_printf(sb, "value %%%" PRIu32, v);
    if (p->repl[v] != v)
        sb_printf(sb, " is %%%" PRIu32, p->repl[v]);
    if (l->buffer != NO_ID)
        sb_printf(sb, " in %" PRIu32 " +%" PRIu64, l->buffer, l->byte_offset);
    else if (l->byte_offset != 0)
        sb_printf(sb, " +%" PRIu64, l->byte_offset);
    if (l->share != SHARE_NONE)
        sb_printf(sb, " %s", share_name(l->share));
    put_id(sb, " with %", l->with);
    if (l->reason != REASON_NONE)
        sb_printf(sb, " because %s", ir_reason_word(l->reason));
    put_id(sb, " of %", l->reason_value);
    sb_printf(sb, " steps %" PRIu32 "-%" PRIu32 "\n", l->first, l->last);
}

/* One piece that is the whole buffer for all its life is the rule, and not printed. */
static bool is_one_piece(const Buffer *b) {
    return b->pieces.n == 1 && b->pieces.p[0].lo == 0 && b->pieces.p[0].hi == b->nbytes &&
           b->pieces.p[0].first == b->first && b->pieces.p[0].last == b->last;
}

static void print_buffer(StrBuf *sb, const Buffer *b) {
    sb_printf(sb, "buffer %" PRIu32 " %s", b->id, buffer_kind_name(b->kind));
    put_id(sb, " op ", b->op);
    sb_printf(sb, " bytes %" PRIu64, b->nbytes);
    if (b->in_arena)
        sb_printf(sb, " at %" PRIu64, b->offset);
    sb_printf(sb, " steps %" PRIu32 "-%" PRIu32, b->first, b->last);
    if (!is_one_piece(b))
        sb_puts(sb, " pieces");
    for (size_t i = 0; !is_one_piece(b) && i < b->pieces.n; i++) {
        const Piece *q = &b->pieces.p[i];
        sb_printf(sb, " [%" PRIu64 "-%" PRIu64 " %" PRIu32 "-%" PRIu32 "]", q->lo, q->hi, q->first, q->last);
    }
    if (b->overlaps != NO_ID)
        sb_printf(sb, " over %" PRIu32 " bytes %" PRIu64, b->overlaps, b->overlap_bytes);
    sb_putc(sb, '\n');
}

static void print_totals(StrBuf *sb, const Plan *p) {
    sb_printf(sb, "total arena %" PRIu64 " live_peak %" PRIu64 " bound %" PRIu64 " naive %" PRIu64, p->arena_bytes,
              p->live_peak_bytes, p->bound_bytes, p->naive_bytes);
    sb_printf(sb, " weights %" PRIu64 " workspace %" PRIu64 " io %" PRIu64 " peak_step %" PRIu32, p->weights_bytes,
              p->workspace_bytes, p->io_bytes, p->peak_step);
    sb_printf(sb, " proven %s bound_kind ", p->proven ? "true" : "false");
    put_quoted(sb, p->bound_kind != NULL ? p->bound_kind : "none");
    sb_puts(sb, " rule ");
    put_quoted(sb, p->rule != NULL ? p->rule : "none");
    sb_printf(sb, " nodes %" PRIu64, p->search_nodes);
    if (p->order_states > 0)
        sb_printf(sb, " order %s states %" PRIu64, p->order_kind, p->order_states);
    sb_putc(sb, '\n');
}

static void print_plan(StrBuf *sb, const Graph *g, const Plan *p) {
    sb_printf(sb, "plan %s made_by %s target %s io %s align %" PRIu64, level_name(p->level), level_name(p->made_by),
              p->target == TARGET_CUDA ? "cuda" : "c", p->io == IO_CALLER ? "caller" : "arena", p->align);
    if (p->without != 0)
        sb_printf(sb, " without %u", p->without);
    sb_putc(sb, '\n');
    print_fates(sb, g, p);
    for (uint32_t v = 0; v < g->values.n; v++)
        print_place(sb, p, v);
    for (size_t i = 0; i < p->buffers.n; i++)
        print_buffer(sb, &p->buffers.p[i]);
    print_totals(sb, p);
}

void ir_print(StrBuf *sb, Ctx *ctx, const Graph *g, const Plan *plan) {
    Printer p = {.sb = sb, .ctx = ctx, .file_no = NEW_ARRAY(ctx->scratch, uint32_t, ctx->sources.n + 1)};
    print_head(&p, g);
    for (size_t i = 0; i < g->values.n; i++) {
        const Value *v = g->values.p[i];
        if (v->def == NULL)
            print_leaf(&p, v);
        else if (v->out_index == 0)
            print_op(&p, v->def);
    }
    print_results(&p, g);
    if (plan != NULL)
        print_plan(sb, g, plan);
}
