/* demand.c - `x += y` and inplace=true demand that the result takes the operand's storage: can a plan do that?
 *
 * requires a graph alone; says [inplace] at the op, with a note at the reader or declaration that forbids it. A
 * demand is refused when the kernel cannot overwrite the operand, or when the operand, a value it is a view of, or
 * a view of it is a stored tensor, an input, a result, marked @keep, or read again later in program order. Cost
 * linear in the graph for the readers' lists, then in the views and readers of each demanded operand. */
#include "passes/passes.h"

typedef struct Readers {
    const Graph *g;
    uint32_t *start, *op;                                 /* by value id: op[start[v]] .. are the ops that read it, in order */
    uint32_t *pending;                                    /* stack of values to look at */
    uint32_t *seen;                                       /* by value id: number of the last demand that looked at it */
} Readers;

static Readers find_readers(Arena *scratch, const Graph *g) {
    Readers r = {.g = g};
    size_t nv = g->values.n;
    r.start = NEW_ARRAY(scratch, uint32_t, nv + 2);
    r.pending = NEW_ARRAY(scratch, uint32_t, nv);
    r.seen = NEW_ARRAY(scratch, uint32_t, nv);
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nin; k++)
            if (g->ops.p[i]->in[k] != NULL)
                r.start[g->ops.p[i]->in[k]->id + 2]++;
    for (size_t v = 0; v < nv; v++)
        r.start[v + 2] += r.start[v + 1];
    r.op = NEW_ARRAY(scratch, uint32_t, r.start[nv + 1]);
    for (size_t i = 0; i < g->ops.n; i++)
        for (uint32_t k = 0; k < g->ops.p[i]->nin; k++)
            if (g->ops.p[i]->in[k] != NULL)
                r.op[r.start[g->ops.p[i]->in[k]->id + 1]++] = (uint32_t)i;
    return r;
}

static Diag *refuse(Ctx *ctx, const Op *op, const char *fact) {
    return diag(ctx, DIAG_INPLACE, op->span, "%s cannot run in place: %s", op_info(op->kind)->name, fact);
}

static const char *role_fact(const Value *v) {
    switch (v->role) {
    case ROLE_INPUT: return "its operand is an input, which the caller owns";
    case ROLE_PARAM: return "its operand is a parameter";
    case ROLE_BUFFER: return "its operand is a stored buffer";
    case ROLE_CONST: return "its operand is a number";
    default: return NULL;
    }
}

/* Facts that forbid writing over v whoever reads it; true after a diagnostic. */
static bool protected_value(Ctx *ctx, const Graph *g, const Op *op, const Value *v) {
    const char *fact = role_fact(v);
    if (fact == NULL && plan_is_result(g, v))
        fact = "its operand is a result of the net, which the caller keeps";
    if (fact == NULL && v->def != NULL && v->def->keep)
        fact = "its operand is marked @keep";
    if (fact == NULL)
        return false;
    Diag *d = refuse(ctx, op, fact);
    if (span_known(v->span))
        diag_note(ctx, d, v->span, v->role == ROLE_ACTIVATION ? "the value is made here" : "it is declared here");
    diag_help(ctx, d, "write a new value: `y = x + ...` instead of `x += ...`, or leave inplace=true away");
    return true;
}

static bool is_view_of(const Op *op, const Value *v) {
    uint64_t part;
    if (op->nin == 0 || op->in[0] != v)
        return false;
    for (uint32_t k = 0; k < op->nout; k++)
        if (op_part(op, k, &part))
            return true;
    return false;
}

static bool read_later(Ctx *ctx, const Op *op, const Op *reader, const char *fact) {
    Diag *d = refuse(ctx, op, fact);
    diag_note(ctx, d, reader->span, "%s reads the old value", op_info(reader->kind)->name);
    diag_help(ctx, d, "let the result be a value of its own: the planner reuses the storage as soon as it is free");
    return true;
}

/* v, then its views, their views and so on; true after a diagnostic. */
static bool forbidden_by_readers(Ctx *ctx, Readers *r, const Op *op, const Value *v, bool is_operand) {
    uint32_t n = 0, stamp = op->id + 1;
    r->pending[n++] = v->id;
    r->seen[v->id] = stamp;
    while (n > 0) {
        const Value *u = r->g->values.p[r->pending[--n]];
        bool same = u == v;
        if (u != v && protected_value(ctx, r->g, op, u))
            return true;
        for (uint32_t i = r->start[u->id]; i < r->start[u->id + 1]; i++) {
            const Op *reader = r->g->ops.p[r->op[i]];
            if (reader->id > op->id)
                return read_later(ctx, op, reader, !is_operand ? "the value its operand is a view of is read again later"
                                                   : same      ? "its operand is read again later"
                                                               : "a view of its operand is read again later");
            for (uint32_t k = 0; is_operand && is_view_of(reader, u) && k < reader->nout; k++) {
                uint64_t part;
                if (reader->id < op->id && r->seen[reader->out[k]->id] != stamp && op_part(reader, k, &part)) {
                    r->seen[reader->out[k]->id] = stamp;
                    r->pending[n++] = reader->out[k]->id;
                }
            }
        }
    }
    return false;
}

static bool check_demand(Ctx *ctx, Readers *r, const Op *op) {
    const Value *v = op->in[0];
    int why = REASON_NONE;
    uint64_t part;
    if (!op_can_overwrite(op, 0, 0, &why)) {
        const char *fact = why == REASON_BROADCAST ? "its operand is broadcast to a larger result"
                           : why == REASON_SIZE    ? "its result has another size than its operand"
                           : why == REASON_DTYPE   ? "its result has another element size than its operand"
                           : why == REASON_NO_OPERAND ? "its operand is a number"
                                                   : "its kernel reads its operand after it began to write";
        Diag *d = refuse(ctx, op, fact);
        diag_note(ctx, d, v->span, "the operand is %s, the result %s", type_text(ctx->scratch, &v->type),
                  type_text(ctx->scratch, &op->out[0]->type));
        return false;
    }
    if (protected_value(ctx, r->g, op, v) || forbidden_by_readers(ctx, r, op, v, true))
        return false;
    /* What v is a view of shares its bytes, too. */
    for (; v->def != NULL && v->def->nin > 0 && v->def->in[0] != NULL && op_part(v->def, v->out_index, &part); ) {
        v = v->def->in[0];
        if (protected_value(ctx, r->g, op, v) || forbidden_by_readers(ctx, r, op, v, false))
            return false;
    }
    return true;
}

bool pass_demand(Ctx *ctx, const Graph *g) {
    bool any = false, good = true;
    for (size_t i = 0; i < g->ops.n && !any; i++)
        any = g->ops.p[i]->inplace == INPLACE_DEMAND;
    if (!any)
        return true;
    Readers r = find_readers(ctx->scratch, g);
    for (size_t i = 0; i < g->ops.n && !diag_full(ctx); i++)
        if (g->ops.p[i]->inplace == INPLACE_DEMAND && !check_demand(ctx, &r, g->ops.p[i]))
            good = false;
    return good;
}
