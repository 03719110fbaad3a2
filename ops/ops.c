/* ops.c - the table of operators: ir/op.def as constant data. The signatures were parsed when netc was built
 * (gen_table.c), so nothing is initialised, locked or changed at run time. A name is looked up by binary search. */
#include "ops/ops.h"

#include <string.h>

#include "ops/table.inc"

static const OpInfo infos[OP_COUNT] = {
#define OP(id, name, family, flags, signature) \
    [OP_##id] = {OP_##id, name, flags, signature, params_##id, COUNT_OF(params_##id)},
#include "ir/op.def"
#undef OP
};

static const OpRules *const rules[OP_COUNT] = {
#define OP(id, name, family, flags, signature) [OP_##id] = &rules_##family,
#include "ir/op.def"
#undef OP
};

static const char *const names[OP_COUNT] = {
#define OP(id, name, family, flags, signature) [OP_##id] = name,
#include "ir/op.def"
#undef OP
};

const OpInfo *op_info(OpKind kind) {
    if ((unsigned)kind >= OP_COUNT) ice("op_info: there is no operator %d", (int)kind);
    return &infos[kind];
}

const OpInfo *op_info_by_name(const char *name) {
    size_t lo = 0, hi = OP_COUNT;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(name, names[by_name[mid]]);
        if (order == 0) return &infos[by_name[mid]];
        if (order < 0) hi = mid;
        else lo = mid + 1;
    }
    return NULL;
}

const OpRules *op_rules(OpKind kind) {
    return rules[op_info(kind)->kind];
}

const char *const *op_names(size_t *n) {
    *n = OP_COUNT;
    return names;
}

uint64_t op_scratch(const Op *op, bool fused) {
    const OpRules *r = op_rules(op->kind);
    return r->scratch ? r->scratch(op, fused) : 0;
}

bool op_is_random(OpKind kind) {
    return kind == OP_DROPOUT;
}
