/* simplify.c - what inference need not compute (level full).
 *
 * requires a fresh plan; computes FATE_IDENTITY, FATE_DUPLICATE, FATE_CONSTANT, FATE_DEAD, FATE_FOLDED, `into` of
 * the last two kinds of replacement, and repl; makes steps stale.
 *
 * One sweep in program order: identities (dropout, a cast to the same dtype, x * 1, a reshape to the same shape,
 * padding by nothing, ...) and duplicates (value numbering by a hash table: same kind, attributes and operands) get
 * a value that stands for theirs; an op all of whose operands are stored is computed when the weights are loaded.
 * Then the dead are marked from the end, and batch norms go into the convolution or linear that nobody else reads.
 * Exact: x + 0 stays where it would turn -0 into 0.
 *
 * Constants move bytes from the arena to the weights. The driver plans with and without them and keeps them only
 * where weights and arena together do not grow. A result of the net is never given up: it is replaced only by a
 * value of its own. */
#include "passes/steps.h"
#include "passes/passes.h"

#include <math.h>
#include <string.h>

typedef struct Simplify {
    const Graph *g;
    Plan *p;
    bool *result;                                         /* by value id: it, or a value it stands for, is a result of the net */
    uint32_t *table;                                      /* open addressing: op ids, NO_ID empty */
    size_t mask;
    uint32_t *nreads;                                     /* by value id: readers among running ops */
} Simplify;

/* The value operand i is read from, numbers included; NULL if absent. */
static Value *operand(const Simplify *s, const Op *op, uint32_t i) {
    return i < op->nin && op->in[i] ? s->g->values.p[plan_repl(s->p, op->in[i]->id)] : NULL;
}

static bool same_type(const Value *a, const Value *b) {
    return a->type.dtype == b->type.dtype && shape_equal(&a->type.shape, &b->type.shape);
}

/* identities */

static bool is_number(const Value *v, double x) {
    if (v == NULL || v->role != ROLE_CONST)
        return false;
    if (v->constant.kind == D_INT)
        return (double)v->constant.i == x && !(x == 0 && signbit(x));
    return v->constant.kind == D_FLOAT && v->constant.f == x && !signbit(v->constant.f) == !signbit(x);
}

/* Does the second operand of a binary op leave the first unchanged, bit for bit? x + 0 turns -0 into 0. */
static bool is_neutral(const Simplify *s, const Op *op) {
    const Value *y = operand(s, op, 1);
    bool is_float = dtype_is_float(op->out[0]->type.dtype);
    switch (op->kind) {
    case OP_MUL: case OP_POW: return is_number(y, 1);
    case OP_DIV: return is_number(y, 1) && is_float;
    case OP_SUB: return is_number(y, 0);
    case OP_ADD: return is_number(y, 0) && !is_float;
    default: return false;
    }
}

static bool all_ints(const Op *op, AttrName name, int64_t value) {
    int64_t v[2 * MAX_RANK];
    uint32_t n = op_ints(op, name, v, 2 * MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != value)
            return false;
    return true;
}

static bool moves_nothing(const Op *op, const Value *x) {
    uint64_t part;
    switch (op->kind) {
    case OP_DROPOUT: case OP_COPY: case OP_CAST: case OP_EXPAND:
        return true;
    case OP_PAD:
        return all_ints(op, A_pad, 0);
    case OP_ROLL:
        return all_ints(op, A_shifts, 0);
    case OP_TILE:
        return all_ints(op, A_reps, 1);
    case OP_INTERPOLATE:
        return strncmp(op_str(op, A_mode), "nearest", 7) == 0 && op_attr(op, A_scale_factor) == NULL;
    case OP_FLIP: {
        int64_t dims[MAX_RANK];
        uint32_t n = op_ints(op, A_dims, dims, MAX_RANK);
        for (uint32_t i = 0; i < n; i++)
            if (x->type.shape.dim[dims[i]] > 1)
                return false;
        return true;
    }
    case OP_PERMUTE: {
        int64_t dims[MAX_RANK];
        uint32_t n = op_ints(op, A_dims, dims, MAX_RANK);
        for (uint32_t i = 0; i < n; i++)
            if (dims[i] != (int64_t)i)
                return false;
        return true;
    }
    case OP_TRANSPOSE:
        return op_int(op, A_dim0) == op_int(op, A_dim1);
    case OP_CAT:
        return op->nin == 1;
    case OP_SELECT:
        return false;
    default:
        return op_has(op, RESHAPES | PARTS) && op_is_view(op, 0, &part) && part == 0;
    }
}

static bool is_identity(const Simplify *s, const Op *op) {
    const Value *x = operand(s, op, 0);
    if (op->nout != 1 || x == NULL || x->role == ROLE_CONST || !same_type(x, op->out[0]))
        return false;
    return is_neutral(s, op) || moves_nothing(op, x);
}

/* May u stand for v? A result of the net needs memory of its own: not the caller's input, not another result's. */
static bool may_stand_for(const Simplify *s, const Value *u, const Value *v) {
    if (!s->result[v->id])
        return true;
    return u->def != NULL && s->p->fate[u->def->id] == FATE_RUN && !s->result[u->id] && !u->def->keep;
}

static void replace(Simplify *s, const Value *v, const Value *u) {
    s->p->repl[v->id] = u->id;
    if (s->result[v->id])
        s->result[plan_repl(s->p, u->id)] = true;
}

/* duplicates */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static uint64_t hash_op(const Simplify *s, const Op *op) {
    uint64_t h = mix(op->kind, op->nin);
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = operand(s, op, k);
        h = mix(h, v ? v->id : NO_ID);
    }
    for (uint32_t k = 0; k < op->nattrs; k++) {
        const Datum *d = &op->attrs[k].value;
        h = mix(h, op->attrs[k].name);
        if (d->kind == D_INT)
            h = mix(h, (uint64_t)d->i);
        for (uint32_t i = 0; d->kind == D_LIST && i < d->list.n; i++)
            h = mix(h, d->list.p[i].kind == D_INT ? (uint64_t)d->list.p[i].i : i);
    }
    return mix(h, h >> 32);
}

static bool equal_ops(const Simplify *s, const Op *a, const Op *b) {
    if (a->kind != b->kind || a->nin != b->nin || a->nout != b->nout || a->nattrs != b->nattrs)
        return false;
    for (uint32_t k = 0; k < a->nin; k++)
        if (operand(s, a, k) != operand(s, b, k))
            return false;
    for (uint32_t k = 0; k < a->nattrs; k++)
        if (a->attrs[k].name != b->attrs[k].name || !datum_equal(&a->attrs[k].value, &b->attrs[k].value))
            return false;
    for (uint32_t k = 0; k < a->nout; k++)
        if (!same_type(a->out[k], b->out[k]))
            return false;
    return true;
}

/* An earlier op that computes the same, else NULL; then this one is entered for later ones. */
static const Op *earlier_twin(Simplify *s, const Op *op) {
    size_t at = hash_op(s, op) & s->mask;
    for (; s->table[at] != NO_ID; at = (at + 1) & s->mask)
        if (equal_ops(s, s->g->ops.p[s->table[at]], op))
            return s->g->ops.p[s->table[at]];
    s->table[at] = op->id;
    return NULL;
}

static bool outs_replaceable(const Simplify *s, const Op *op, const Op *twin) {
    for (uint32_t k = 0; k < op->nout; k++)
        if (!may_stand_for(s, twin->out[k], op->out[k]))
            return false;
    return true;
}

/* constants: results of stored tensors and numbers alone; a mere part or reshape of a stored tensor is read where it is */

static bool is_constant(const Simplify *s, const Op *op) {
    uint64_t part;
    if ((s->p->without & WITHOUT_CONSTANTS) || (op_is_view(op, 0, &part) && is_stored(operand(s, op, 0))))
        return false;
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *v = operand(s, op, k);
        if (v == NULL || v->role == ROLE_CONST || is_stored(v))
            continue;
        if (v->def == NULL || s->p->fate[v->def->id] != FATE_CONSTANT)
            return false;
    }
    for (uint32_t k = 0; k < op->nout; k++)
        if (s->result[op->out[k]->id])
            return false;
    return true;
}

static void simplify_op(Simplify *s, const Op *op) {
    if (op->keep || (op_is_random(op->kind) && op->kind != OP_DROPOUT))
        return;
    if (is_identity(s, op) && may_stand_for(s, operand(s, op, 0), op->out[0])) {
        s->p->fate[op->id] = FATE_IDENTITY;
        replace(s, op->out[0], op->in[0]);
        return;
    }
    if (op->kind == OP_DROPOUT)
        return;
    const Op *twin = op->inplace == INPLACE_AUTO ? earlier_twin(s, op) : NULL;
    if (twin != NULL && outs_replaceable(s, op, twin)) {
        s->p->fate[op->id] = FATE_DUPLICATE;
        s->p->into[op->id] = twin->id;
        for (uint32_t k = 0; k < op->nout; k++)
            replace(s, op->out[k], twin->out[k]);
    } else if (is_constant(s, op)) {
        s->p->fate[op->id] = FATE_CONSTANT;
    }
}

/* dead ops; readers of the others */

static bool is_needed(const Simplify *s, const Op *op) {
    if (op->keep)
        return true;
    for (uint32_t k = 0; k < op->nout; k++)
        if (s->result[op->out[k]->id] || s->nreads[op->out[k]->id] > 0)
            return true;
    return false;
}

static void mark_dead(Simplify *s) {
    for (size_t i = s->g->ops.n; i-- > 0; ) {
        const Op *op = s->g->ops.p[i];
        Fate *fate = &s->p->fate[i];
        if (*fate != FATE_RUN && *fate != FATE_CONSTANT)
            continue;
        if (!is_needed(s, op)) {
            *fate = FATE_DEAD;
            continue;
        }
        for (uint32_t k = 0; k < op->nin; k++) {
            const Value *v = operand(s, op, k);
            if (v != NULL)
                s->nreads[v->id]++;
        }
    }
}

/* folding batch norm */

/* Does the second axis of the op's result, which the norm scales, belong to the rows of its weight? */
static bool scales_by_channel(const Op *op) {
    unsigned rank = op->out[0]->type.shape.rank;
    switch (op->kind) {
    case OP_CONV1D: case OP_CONV_TRANSPOSE1D: return rank == 3;
    case OP_CONV2D: case OP_CONV_TRANSPOSE2D: return rank == 4;
    case OP_CONV3D: case OP_CONV_TRANSPOSE3D: return rank == 5;
    case OP_LINEAR: return rank == 2;
    default: return false;
    }
}

static bool owns_weights(const Simplify *s, const Op *op) {
    for (uint32_t k = 1; k < op->nin; k++) {
        const Value *w = operand(s, op, k);
        if (w != NULL && (!is_stored(w) || s->nreads[w->id] != 1))
            return false;
    }
    return true;
}

static void fold_norm(Simplify *s, const Op *norm) {
    const Value *x = operand(s, norm, 0);
    if (norm->keep || norm->inplace == INPLACE_FORBID || x == NULL || x->def == NULL || s->p->fate[x->def->id] != FATE_RUN)
        return;
    const Op *op = x->def;
    bool alone = x->nuses == 1 && norm->in[0]->nuses == 1 && s->nreads[x->id] == 1 && !s->result[x->id];
    if (op->keep || !alone || !scales_by_channel(op) || !owns_weights(s, op))
        return;
    for (uint32_t k = 1; k < 5; k++) {
        const Value *w = operand(s, norm, k);
        if ((w == NULL && k > 2) || (w != NULL && !is_stored(w)))
            return;
    }
    if (plan_denies(s->p, REWRITE_FOLD, norm->id))
        return;
    s->p->fate[norm->id] = FATE_FOLDED;
    s->p->into[norm->id] = op->id;
}

void pass_simplify(Ctx *ctx, const Graph *g, Plan *p) {
    Simplify s = {.g = g, .p = p};
    size_t size = 64;
    while (size < 2 * g->ops.n)
        size *= 2;
    s.mask = size - 1;
    s.table = NEW_ARRAY(ctx->scratch, uint32_t, size);
    memset(s.table, 0xff, size * sizeof *s.table);
    s.result = values_results(ctx->scratch, g, p);
    s.nreads = NEW_ARRAY(ctx->scratch, uint32_t, g->values.n);
    for (size_t i = 0; i < g->ops.n; i++)
        simplify_op(&s, g->ops.p[i]);
    mark_dead(&s);
    for (size_t i = 0; i < g->ops.n; i++)
        if (p->fate[i] == FATE_RUN && g->ops.p[i]->kind == OP_BATCH_NORM)
            fold_norm(&s, g->ops.p[i]);
}
