/* ranges.c - which integers an input may hold, so that every operator that reads them finds a class, a row or a
 * divisor it can take. One pass over the ops from the last to the first: what an operator asks of its result it asks
 * of the operand whose elements the result holds, moved by what is added to them. Where nothing is asked an input
 * holds 0 to 99. A demand that goes through other arithmetic is not seen; the run then says which index was out of
 * range. O(ops). */
#include "frontend/arrays.h"

enum { USUAL = 99 };
static const Range ANY = { INT64_MIN, INT64_MAX };

static void ask(Range *ranges, const Value *v, Range r) {
    Range *have = v ? &ranges[v->id] : NULL;
    if (!have || dtype_is_float(v->type.dtype))
        return;
    if (r.lo > have->lo)
        have->lo = r.lo;
    if (r.hi < have->hi)
        have->hi = r.hi;
}

static Range below(uint64_t n) {
    return (Range){ 0, n ? (int64_t)n - 1 : 0 };
}

/* What must be added to the ends of a range; an open end stays open. */
static Range moved(Range r, int64_t by) {
    if (r.lo != INT64_MIN && !add_i64(r.lo, by, &r.lo))
        r.lo = by > 0 ? INT64_MAX : INT64_MIN;
    if (r.hi != INT64_MAX && !add_i64(r.hi, by, &r.hi))
        r.hi = by > 0 ? INT64_MAX : INT64_MIN;
    return r;
}

static uint64_t places(const Op *op) {
    const Shape *s = &op->in[0]->type.shape;
    return s->rank ? s->dim[op_int(op, A_dim)] : 1;
}

/* x + 1 and x - 1 with a number. */
static void ask_through_sum(Range *ranges, const Op *op) {
    for (uint32_t k = 0; k < 2; k++) {
        const Value *number = op->in[1 - k];
        if (number->role != ROLE_CONST || number->constant.kind != D_INT || number->constant.i == INT64_MIN)
            continue;
        Range r = ranges[op->out[0]->id];
        if (op->kind == OP_ADD)
            ask(ranges, op->in[k], moved(r, -number->constant.i));
        else if (k == 0)
            ask(ranges, op->in[k], moved(r, number->constant.i));
    }
}

/* Operators whose results hold elements of operands: of all, of operand 0, of the branches. */
static void ask_through_moves(Range *ranges, const Op *op) {
    uint32_t first = op->kind == OP_WHERE ? 1 : 0, end = op_has(op, JOINS) ? op->nin : op->kind == OP_WHERE ? 3 : 1;
    for (uint32_t i = 0; i < op->nout; i++)
        for (uint32_t k = first; k < end; k++)
            if (op->out[i]->type.dtype == op->in[k]->type.dtype || op->kind == OP_CAST)
                ask(ranges, op->in[k], ranges[op->out[i]->id]);
}

static void ask_operands(Range *ranges, const Op *op) {
    switch (op->kind) {
    case OP_EMBEDDING: ask(ranges, op->in[0], below(op->in[1]->type.shape.dim[0])); break;
    case OP_ONE_HOT: ask(ranges, op->in[0], below((uint64_t)op_int(op, A_num_classes))); break;
    case OP_GATHER: case OP_INDEX_SELECT:
        ask(ranges, op->in[1], below(places(op)));
        ask_through_moves(ranges, op);
        break;
    case OP_CROSS_ENTROPY: case OP_NLL_LOSS: {
        const Shape *s = &op->in[0]->type.shape;
        ask(ranges, op->in[1], below(s->dim[s->rank > 1]));
        break;
    }
    case OP_FLOOR_DIV: case OP_REMAINDER: ask(ranges, op->in[1], (Range){ 1, INT64_MAX }); break;
    case OP_ADD: case OP_SUB: ask_through_sum(ranges, op); break;
    case OP_EXPAND: case OP_TILE: case OP_FLIP: case OP_ROLL: case OP_PAD: case OP_CHANNEL_SHUFFLE:
    case OP_PIXEL_SHUFFLE: case OP_PIXEL_UNSHUFFLE: case OP_COPY: case OP_CAST: case OP_WHERE: case OP_MASKED_FILL:
    case OP_TRIL: case OP_TRIU: case OP_SORT: case OP_TOPK: case OP_AMAX: case OP_AMIN:
        ask_through_moves(ranges, op);
        break;
    default:
        if (op_has(op, RESHAPES | PARTS | MOVES | JOINS))
            ask_through_moves(ranges, op);
    }
}

static Range of_dtype(DType t) {
    unsigned bits = dtype_bits(t);
    if (t == DT_BOOL)
        return (Range){ 0, 1 };
    if (t == DT_U8 || t == DT_U4)
        return (Range){ 0, (INT64_C(1) << bits) - 1 };
    return bits == 64 ? ANY : (Range){ -(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1 };
}

/* Ends that nobody asked for: from 0 where that is allowed, USUAL further. */
static Range closed(Range r, DType t) {
    Range type = of_dtype(t);
    if (r.lo == INT64_MIN)
        r.lo = r.hi < 0 ? (r.hi < INT64_MIN + USUAL ? INT64_MIN : r.hi - USUAL) : 0;
    if (r.hi == INT64_MAX)
        r.hi = r.lo > INT64_MAX - USUAL ? INT64_MAX : r.lo + USUAL;
    if (r.lo < type.lo)
        r.lo = type.lo;
    if (r.hi > type.hi)
        r.hi = type.hi;
    if (r.hi < r.lo)
        r.hi = r.lo;
    return r;
}

Range *input_ranges(Arena *a, const Graph *g) {
    Range *ranges = NEW_ARRAY(a, Range, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        ranges[i] = ANY;
    for (size_t i = g->ops.n; i-- > 0; )
        ask_operands(ranges, g->ops.p[i]);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Value *v = g->inputs.p[i];
        ranges[v->id] = closed(ranges[v->id], v->type.dtype);
    }
    return ranges;
}
