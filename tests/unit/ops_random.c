/* ops_random.c - every operator called with random operands and arguments of the kinds its signature says. A call is
 * refused with a diagnostic or makes ops that their own rules accept once more and whose counts add up; nothing else
 * may happen. Seeded: the same calls on every machine. */
#include "tests/unit/oplab.h"

enum { CALLS = 400, MOST = 20000 };                       /* of each operator; more where none of these fits */

static const DType dtypes[] = {DT_F32, DT_F32, DT_F32, DT_F32, DT_F64, DT_F16,
                               DT_I64, DT_I64, DT_I32, DT_U8,  DT_I4,  DT_BOOL};
static const char *const words[] = {"none", "mean", "sum", "same", "valid", "tanh", "relu", "nearest", "bilinear",
                                    "bicubic", "reflect", "replicate", "constant", "a b -> b a", "", "circular"};

/* Small sizes mostly, so that calls fit now and then; sometimes one that overflows. */
static uint64_t random_size(uint64_t *seed) {
    static const uint64_t huge[] = {UINT64_C(1) << 31, UINT64_C(1) << 40, INT64_MAX / 8, INT64_MAX};
    uint64_t r = random_below(seed, 100);
    return r < 2 ? huge[random_below(seed, 4)] : r < 6 ? 0 : 1 + random_below(seed, 6);
}

static int64_t random_int(uint64_t *seed) {
    static const int64_t odd[] = {-1, -2, 0, INT64_MAX, INT64_MIN, INT64_MAX / 2};
    uint64_t r = random_below(seed, 20);
    return r < 6 ? odd[random_below(seed, r < 4 ? 3 : 6)] : 1 + (int64_t)random_below(seed, 5);
}

/* A tensor used before, or a new one like the last: operands that match are what most rules ask for. */
static Value *random_tensor(Lab *l, uint64_t *seed) {
    Type type = {dtypes[random_below(seed, COUNT_OF(dtypes))], {.rank = (uint8_t)random_below(seed, 6)}};
    size_t have = l->g->values.n;
    if (have > 0 && random_below(seed, 3) == 0) return l->g->values.p[random_below(seed, have)];
    if (have > 0 && random_below(seed, 2) == 0) type = l->g->values.p[have - 1]->type;
    for (unsigned i = 0; i < type.shape.rank; i++)
        if (type.shape.dim[i] == 0 || random_below(seed, 4) == 0) type.shape.dim[i] = random_size(seed);
    uint64_t nbytes;
    if (!type_bytes(&type, &nbytes)) type.shape = (Shape){.rank = 1, .dim = {3}};
    return lab_input(l, type.dtype, type.shape.rank, type.shape.dim);
}

static Datum random_ints(Lab *l, uint64_t *seed, uint32_t n) {
    int64_t v[MAX_RANK];
    for (uint32_t i = 0; i < n; i++) v[i] = random_int(seed);
    return d_ints(l->ctx->unit, v, n);
}

static Datum random_number(uint64_t *seed) {
    return random_below(seed, 2) ? d_int(random_int(seed)) : d_float((double)random_int(seed) / 4);
}

static Datum random_any(Lab *l, uint64_t *seed) {
    switch (random_below(seed, 6)) {
    case 0: return d_none();
    case 1: return d_int(random_int(seed));
    case 2: return random_number(seed);
    case 3: return d_str(name_of(l->ctx, words[random_below(seed, COUNT_OF(words))]));
    case 4: return random_ints(l, seed, (uint32_t)random_below(seed, 5));
    default: break;
    }
    Datum items[3];
    uint32_t n = 1 + (uint32_t)random_below(seed, 3);
    for (uint32_t i = 0; i < n; i++) items[i] = random_below(seed, 4) ? random_ints(l, seed, 2) : d_none();
    return d_list(l->ctx->unit, items, n);
}

static Datum random_tensors(Lab *l, uint64_t *seed) {
    Datum items[3];
    uint32_t n = 1 + (uint32_t)random_below(seed, 3);
    for (uint32_t i = 0; i < n; i++) items[i] = d_tensor(random_tensor(l, seed));
    return d_list(l->ctx->unit, items, n);
}

static Datum random_argument(Lab *l, uint64_t *seed, const Param *p) {
    switch (p->type) {
    case P_TENSOR: return d_tensor(random_tensor(l, seed));
    case P_OPERAND: return random_below(seed, 3) ? d_tensor(random_tensor(l, seed)) : random_number(seed);
    case P_TENSORS: return random_tensors(l, seed);
    case P_CHANNELS: case P_INT: return d_int(random_int(seed));
    case P_FLOAT: return d_float((double)random_int(seed) / 4);
    case P_NUMBER: return random_number(seed);
    case P_BOOL: return d_bool(random_below(seed, 2));
    case P_STR: return d_str(name_of(l->ctx, words[random_below(seed, COUNT_OF(words))]));
    case P_DTYPE: return d_dtype(dtypes[random_below(seed, COUNT_OF(dtypes))]);
    case P_ANY: return random_any(l, seed);
    case P_INTS: case P_VARINTS: return random_ints(l, seed, (uint32_t)random_below(seed, 5));
    case P_INT_N: return random_ints(l, seed, p->n);
    }
    return d_none();
}

/* A call has a tensor among its operands: two numbers are the frontend's arithmetic. */
static bool has_tensor(const Call *c) {
    for (uint32_t i = 0; i < c->info->nparams; i++)
        if (c->args[i].value.kind == D_TENSOR || c->info->params[i].type == P_TENSORS) return true;
    return c->info->params[0].type != P_OPERAND;
}

static void check_ops(Lab *l, size_t from) {
    for (size_t i = from; i < l->g->ops.n; i++) {
        const Op *op = l->g->ops.p[i];
        CHECK(lab_again(l, op));
        CHECK(op->macs == 0 || (op_info(op->kind)->flags & MACS));
        uint64_t scratch = op_scratch(op, false);
        CHECK(op_scratch(op, true) <= scratch);
    }
}

/* Returns whether the call was accepted. */
static bool random_call(OpKind kind, uint64_t seed) {
    Lab l = lab_new();
    Call *c = lab_call(&l, op_info(kind)->name);
    for (uint32_t i = 0; i < c->info->nparams; i++) {
        const Param *p = &c->info->params[i];
        if (!p->optional || random_below(&seed, 3) == 0) lab_set(c, p->name, random_argument(&l, &seed, p));
    }
    bool accepted = has_tensor(c) && lab_bind(c) != NULL;
    if (accepted) {
        CHECK(!diag_failed(l.ctx) && c->result.kind != D_NONE);
        check_ops(&l, 0);
    }
    ctx_free(l.ctx);
    return accepted;
}

int main(void) {
    for (int kind = 0; kind < OP_COUNT; kind++) {
        unsigned accepted = 0;
        for (uint64_t i = 1; i <= CALLS || (accepted == 0 && i <= MOST); i++)
            accepted += random_call((OpKind)kind, i * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)kind * 7919);
        if (accepted == 0) fprintf(stderr, "%s: no random call fits\n", op_info((OpKind)kind)->name);
        CHECK(accepted > 0);
    }
    return check_done();
}
