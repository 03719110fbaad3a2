/* verify_decisions.c - judges what was decided about each operator: may it be left out, stand for another, run inside
 * another's kernel, write over its operand? Each rule is derived here anew from the operators' definitions; nothing is
 * taken from the passes that made the decision. O(operands). */
#include "passes/verify.h"

static const Value *standing_for(const Verifier *v, const Value *x) {
    return v->g->values.p[plan_repl(v->p, x->id)];
}

bool is_weight(const Verifier *v, const Value *x) {
    if (x->role == ROLE_PARAM || x->role == ROLE_BUFFER || x->role == ROLE_CONST) return true;
    return x->def && v->p->fate[x->def->id] == FATE_CONSTANT;
}

static bool is_number(const Value *x, double n) {
    if (!x || x->role != ROLE_CONST) return false;
    return x->constant.kind == D_INT ? (double)x->constant.i == n : x->constant.kind == D_FLOAT && x->constant.f == n;
}

static bool all_ints(const Op *op, AttrName name, int64_t want) {
    int64_t n[2 * MAX_RANK];
    uint32_t count = op_ints(op, name, n, COUNT_OF(n));
    for (uint32_t i = 0; i < count; i++)
        if (n[i] != want) return false;
    return true;
}

static bool flips_nothing(const Op *op) {
    int64_t dims[MAX_RANK];
    uint32_t n = op_ints(op, A_dims, dims, MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        if (op->in[0]->type.shape.dim[dims[i]] > 1) return false;
    return true;
}

/* The result is the operand, bit for bit, whatever the operand holds. Only the value 1 as a factor and 0 as a subtrahend
 * are neutral for every float: x + 0 turns -0 into 0. */
static bool is_identity(const Op *op) {
    const Value *x = op->in[0], *y = op->out[0];
    if (!x || x->type.dtype != y->type.dtype || x->nelem != y->nelem) return false;
    if (!shape_equal(&x->type.shape, &y->type.shape)) return false;
    switch (op->kind) {
    case OP_DROPOUT: case OP_CAST: case OP_COPY: case OP_VIEW: case OP_RESHAPE: case OP_FLATTEN: case OP_UNFLATTEN:
    case OP_SQUEEZE: case OP_UNSQUEEZE: case OP_EXPAND:
        return true;
    case OP_SLICE: case OP_NARROW: case OP_CHUNK: case OP_SPLIT: case OP_CAT:
        return op->nout == 1 && (op->kind != OP_CAT || op->nin == 1);
    case OP_PAD: return all_ints(op, A_pad, 0);
    case OP_ROLL: return all_ints(op, A_shifts, 0);
    case OP_FLIP: return flips_nothing(op);
    case OP_TILE: return all_ints(op, A_reps, 1);
    case OP_MUL: return is_number(op->in[1], 1);
    case OP_DIV: return is_number(op->in[1], 1) && dtype_is_float(x->type.dtype);
    case OP_SUB: return is_number(op->in[1], 0);
    case OP_ADD: return is_number(op->in[1], 0) && !dtype_is_float(x->type.dtype);
    case OP_POW: return is_number(op->in[1], 1);
    case OP_RELU: return x->def && x->def->kind == OP_RELU;
    case OP_FLOOR: case OP_CEIL: case OP_ROUND: return !dtype_is_float(x->type.dtype);
    case OP_INTERPOLATE: return op_str(op, A_mode)[0] == 'n' && !op_attr(op, A_scale_factor);
    case OP_PERMUTE: {
        int64_t dims[MAX_RANK];
        uint32_t n = op_ints(op, A_dims, dims, MAX_RANK);
        for (uint32_t i = 0; i < n; i++)
            if (dims[i] != (int64_t)i) return false;
        return true;
    }
    case OP_TRANSPOSE: return op_int(op, A_dim0) == op_int(op, A_dim1);
    default: return false;
    }
}

static bool is_duplicate(const Verifier *v, const Op *a, const Op *b) {
    if (a->kind != b->kind || a->nin != b->nin || a->nout != b->nout || a->nattrs != b->nattrs) return false;
    if (op_is_random(a->kind) || a->keep || b->id >= a->id) return false;
    for (uint32_t i = 0; i < a->nin; i++) {
        if (!a->in[i] != !b->in[i]) return false;
        if (a->in[i] && standing_for(v, a->in[i]) != standing_for(v, b->in[i])) return false;
    }
    for (uint32_t i = 0; i < a->nattrs; i++)
        if (a->attrs[i].name != b->attrs[i].name || !datum_equal(&a->attrs[i].value, &b->attrs[i].value)) return false;
    return true;
}

/* A batch norm whose operand is made by the folded-into op, is read by nothing else and is no result. */
static bool is_folded(const Verifier *v, const Op *op, const Op *into) {
    if (op->kind != OP_BATCH_NORM || standing_for(v, op->in[0])->def != into || into->nout != 1) return false;
    switch (into->kind) {
    case OP_CONV1D: case OP_CONV2D: case OP_CONV3D: case OP_CONV_TRANSPOSE1D: case OP_CONV_TRANSPOSE2D:
    case OP_CONV_TRANSPOSE3D: case OP_LINEAR: break;
    default: return false;
    }
    if (op->in[0]->nuses != 1 || plan_is_result(v->g, op->in[0])) return false;
    return v->p->step_of[op->id] == v->p->step_of[into->id];
}

/* The weights of such an op are no longer its own: its result is the norm's. */
static bool has_norm_folded(const Verifier *v, const Op *op) {
    uint32_t step = v->p->step_of[op->id];
    for (size_t i = 0; step < v->p->steps.n && i < v->p->steps.p[step].ops.n; i++) {
        uint32_t norm = v->p->steps.p[step].ops.p[i];
        if (norm < v->g->ops.n && v->p->fate[norm] == FATE_FOLDED && v->p->into[norm] == op->id) return true;
    }
    return false;
}

static bool operands_are_weights(const Verifier *v, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (op->in[i] && !is_weight(v, standing_for(v, op->in[i]))) return false;
    return !op_is_random(op->kind);
}

static bool moves_no_byte(const Op *op) {
    uint64_t offset;
    if (op_has(op, JOINS)) {
        for (uint32_t i = 0; i < op->nin; i++)
            if (!op_join(op, i, &offset)) return false;
        return true;
    }
    if (!op_has(op, RESHAPES | PARTS | MOVES) && op->kind != OP_EXPAND) return false;
    for (uint32_t i = 0; i < op->nout; i++)
        if (!op_part(op, i, &offset)) return false;
    return true;
}

static bool verify_fate(Verifier *v, const Op *op) {
    const Plan *p = v->p;
    const Op *into = p->into[op->id] < v->g->ops.n ? v->g->ops.p[p->into[op->id]] : NULL;
    bool has_step = p->step_of[op->id] < p->steps.n;
    switch (p->fate[op->id]) {
    case FATE_RUN:
        return (has_step && p->steps.p[p->step_of[op->id]].anchor == op->id) || refuse(v, "step: %s runs but anchors no step", op->path);
    case FATE_FUSED:
        return (has_step && into && p->step_of[into->id] == p->step_of[op->id]) || refuse(v, "step: %s is fused into no step", op->path);
    case FATE_FOLDED:
        return (has_step && into && is_folded(v, op, into)) || refuse(v, "fold: %s cannot be folded away", op->path);
    case FATE_IDENTITY:
        return (op->nout == 1 && p->repl[op->out[0]->id] == op->in[0]->id && is_identity(op)) ||
               refuse(v, "identity: %s changes its operand", op->path);
    case FATE_DUPLICATE:
        if (!into || !is_duplicate(v, op, into)) return refuse(v, "duplicate: %s is not the same as %s", op->path, into ? into->path : "?");
        if (has_norm_folded(v, into)) return refuse(v, "duplicate: %s is the same as %s before its norm was folded", op->path, into->path);
        for (uint32_t i = 0; i < op->nout; i++)
            if (standing_for(v, op->out[i]) != standing_for(v, into->out[i])) return refuse(v, "duplicate: results of %s", op->path);
        return true;
    case FATE_VIEW:
        return moves_no_byte(op) || refuse(v, "view: %s has to move bytes", op->path);
    case FATE_CONSTANT:
        return operands_are_weights(v, op) || refuse(v, "constant: %s depends on an input", op->path);
    case FATE_DEAD:
        return true;                                      /* whoever reads its results will not find them */
    }
    return refuse(v, "fate: %s has none", op->path);
}

/* A value may stand for another only through an identity or a duplicate. */
static bool verify_replacement(Verifier *v, const Value *x) {
    if (v->p->repl[x->id] == x->id) return true;
    Fate fate = x->def ? v->p->fate[x->def->id] : FATE_RUN;
    return fate == FATE_IDENTITY || fate == FATE_DUPLICATE || refuse(v, "identity: %s is replaced without a reason", x->name);
}

/* ---- steps: what one kernel can do ------------------------------------------------------------------------------- */

static bool in_step(const Verifier *v, const Step *s, const Value *x) {
    return x->def && v->p->step_of[x->def->id] == (uint32_t)(s - v->p->steps.p);
}

static bool verify_step(Verifier *v, const Step *s) {
    const Plan *p = v->p;
    if (s->ops.n == 0) return refuse(v, "step: an empty step");
    for (size_t i = 0; i < s->ops.n; i++) {
        if (s->ops.p[i] >= v->g->ops.n) return refuse(v, "step: operator %u does not exist", s->ops.p[i]);
        const Op *op = v->g->ops.p[s->ops.p[i]];
        if (!in_step(v, s, op->out[0])) return refuse(v, "step: %s belongs to another step", op->path);
        if (i && s->ops.p[i] <= s->ops.p[i - 1]) return refuse(v, "step: %s comes before its operands", op->path);
        Fate f = p->fate[op->id];
        if (f != FATE_RUN && f != FATE_FUSED && f != FATE_FOLDED) return refuse(v, "step: %s does not run", op->path);
    }
    return verify_kernel(v, s);
}

/* Every op that reads `read` in this step does so at the index at which `out` is written: the step's last op that looks
 * at other indices comes before them all, or may itself be overwritten so. Identical bytes and element size throughout. */
bool verify_overwrite(Verifier *v, const Step *s, const Value *out, const Value *read) {
    int why;
    size_t last_wide = 0;
    for (size_t i = 0; i < s->ops.n; i++)
        if (!op_has(v->g->ops.p[s->ops.p[i]], ELEMENTWISE) && v->p->fate[s->ops.p[i]] != FATE_FOLDED) last_wide = i;
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = v->g->ops.p[s->ops.p[i]];
        for (uint32_t k = 0; k < op->nin; k++) {
            if (!op->in[k] || standing_for(v, op->in[k]) != read) continue;
            if (i < last_wide || !op_can_overwrite(op, k, 0, &why)) return false;
            if (op->out[0]->nelem != out->nelem || dtype_bits(op->out[0]->type.dtype) != dtype_bits(out->type.dtype)) return false;
        }
    }
    return true;
}

/* Only where C code runs through the result from its first element to its last, in one loop: the step begins with an op of
 * such a kernel and goes on element by element. Each reader of `read` must allow the distance. */
bool verify_overlap(Verifier *v, const Step *s, const Value *out, const Value *read, uint64_t distance) {
    uint64_t lead;
    if (v->p->target != TARGET_C || v->p->made_by < LEVEL_FULL || s->anchor != s->ops.p[0]) return false;
    if (!op_lead(v->g->ops.p[s->anchor], 0, 0, &lead)) return false;
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = v->g->ops.p[s->ops.p[i]];
        const Value *y = op->out[0];
        bool folded = v->p->fate[op->id] == FATE_FOLDED;
        if (i && !folded && !op_has(op, ELEMENTWISE)) return false;
        if (!shape_equal(&y->type.shape, &out->type.shape) || dtype_bits(y->type.dtype) != dtype_bits(out->type.dtype)) return false;
        for (uint32_t k = 0; k < op->nin; k++) {
            if (!op->in[k] || standing_for(v, op->in[k]) != read) continue;
            if (folded || !op_lead(op, k, 0, &lead) || lead > distance) return false;
        }
    }
    return true;
}

bool verify_decisions(Verifier *v) {
    for (size_t i = 0; i < v->g->values.n; i++) {
        if (v->p->repl[i] >= v->g->values.n || (v->p->repl[i] > i)) return refuse(v, "identity: value %zu is replaced by a later one", i);
        if (!verify_replacement(v, v->g->values.p[i])) return false;
    }
    for (size_t i = 0; i < v->g->ops.n; i++)
        if (!verify_fate(v, v->g->ops.p[i])) return false;
    for (size_t i = 0; i < v->p->steps.n; i++)
        if (!verify_step(v, &v->p->steps.p[i])) return false;
    return true;
}
