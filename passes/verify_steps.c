/* verify_steps.c - may these operators run as one kernel call?
 *
 * A kernel has one wide operator, which looks at its operands under other indices than it writes, or is the attention
 * of two products with a softmax between them; or it has none and works element by element. Around the wide one:
 *   epilogue   element-wise operators on what it computed, each under the index of the result
 *   prologue   element-wise operators, and a batch norm on statistics that are stored, on an operand whose elements the
 *              kernel reads where they lie and pads with nothing; nobody else sees what they make
 *   loads      operators that only address their operand anew, between a stored tensor and an operand of the wide one,
 *              where all of them together are a nest of strides that its kernel follows
 *   store      the same after the last operator, when the kernel can write its result through the nest
 * Everything that runs before the last wide operator must be for it. The rules are derived from the operators alone;
 * ops/access.h is the kernels' own word on nests. O(operands of the step). */
#include "ops/access.h"
#include "passes/verify.h"

enum { MAX_CHAIN = 16 };
typedef enum Part { PART_POINTWISE, PART_WIDE, PART_REMAP } Part;

typedef struct Kernel {
    Verifier *v;
    const Step *s;
    Part *part;                                           /* by index in the step */
    bool *used;                                           /* by index: what it makes is for a wide operator */
    size_t nwide, last_wide;
} Kernel;

static const Op *op_at(const Kernel *k, size_t i) { return k->v->g->ops.p[k->s->ops.p[i]]; }

static const Value *operand(const Kernel *k, const Op *op, uint32_t i) {
    return op->in[i] ? k->v->g->values.p[plan_repl(k->v->p, op->in[i]->id)] : NULL;
}

/* Where in the step x is made; the number of its operators when it comes from outside. */
static size_t made_at(const Kernel *k, const Value *x) {
    size_t a = 0, z = k->s->ops.n;
    if (!x || !x->def || k->v->p->step_of[x->def->id] != (uint32_t)(k->s - k->v->p->steps.p)) return k->s->ops.n;
    while (a < z) {
        size_t mid = a + (z - a) / 2;
        if (k->s->ops.p[mid] < x->def->id) a = mid + 1; else z = mid;
    }
    return a < k->s->ops.n && k->s->ops.p[a] == x->def->id ? a : k->s->ops.n;
}

static bool inside(const Kernel *k, const Value *x) { return made_at(k, x) < k->s->ops.n; }

static Part part_of(const Kernel *k, const Op *op) {
    if (k->v->p->fate[op->id] == FATE_FOLDED) return PART_POINTWISE;
    if (op_has(op, RESHAPES | MOVES | PARTS)) return PART_REMAP;
    if (op_has(op, ELEMENTWISE) && op->nout == 1) return PART_POINTWISE;
    return op_scales_by_channel(op) && !inside(k, operand(k, op, 0)) ? PART_POINTWISE : PART_WIDE;
}

/* What an element-wise operator takes from inside the step is computed there, under its own index. */
static bool pointwise_fits(const Kernel *k, const Op *op) {
    for (uint32_t i = 0; k->v->p->fate[op->id] != FATE_FOLDED && i < op->nin; i++) {
        const Value *x = operand(k, op, i);
        size_t at = made_at(k, x);
        if (at == k->s->ops.n) continue;
        if (k->part[at] == PART_REMAP || !shape_equal(&x->type.shape, &op->out[0]->type.shape)) return false;
    }
    return true;
}

static bool is_stored(const Kernel *k, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (k->v->p->place[op->out[i]->id].buffer != NO_ID) return true;
    return false;
}

static bool cannot_run(Kernel *k, const Op *op) {
    return refuse(k->v, "fusion: %s cannot run inside another kernel", op->path);
}

/* Operand i of a wide operator, through the operators that address it anew. */
static bool verify_load(Kernel *k, const Op *wide, uint32_t i) {
    const Value *chain[MAX_CHAIN], *x = operand(k, wide, i);
    uint32_t n = 0;
    size_t at = made_at(k, x);
    Access a;
    while (n < MAX_CHAIN && at < k->s->ops.n && k->part[at] == PART_REMAP) {
        k->used[at] = true;
        chain[n++] = x;
        x = operand(k, x->def, 0);
        at = made_at(k, x);
    }
    bool ok = at == k->s->ops.n && access_whole(&a, x);
    for (uint32_t j = n; ok && j-- > 0;) ok = access_through(&a, chain[j]->def, chain[j]->out_index);
    return (ok && access_readable(&a, wide, i)) ||
           refuse(k->v, "fusion: %s cannot read %s without a copy", wide->path, operand(k, wide, i)->name);
}

/* An operand that is computed in the step: one the kernel goes through by elements, or the scores of a softmax. */
static bool takes_computed(const Kernel *k, const Op *wide, uint32_t i) {
    if (wide->kind == OP_SOFTMAX && k->nwide == 3) return i == 0;
    return op_reads_elements(wide, i);
}

static bool verify_wide(Kernel *k, size_t w) {
    const Op *op = op_at(k, w);
    for (uint32_t i = 0; i < op->nin; i++) {
        const Value *x = operand(k, op, i);
        size_t at = made_at(k, x);
        if (at == k->s->ops.n) continue;
        if (k->part[at] == PART_REMAP) {
            if (!verify_load(k, op, i)) return false;
            continue;
        }
        if (!takes_computed(k, op, i)) return refuse(k->v, "fusion: %s reads %s as it is computed", op->path, x->name);
        k->used[at] = true;
    }
    return true;
}

/* Before the last wide operator, from it backwards: everything is for it, and nobody else sees it. */
static bool verify_before(Kernel *k) {
    for (size_t i = k->last_wide + 1; i-- > 0;) {
        const Op *op = op_at(k, i);
        if (i < k->last_wide && !k->used[i]) return cannot_run(k, op);
        if (i < k->last_wide && is_stored(k, op))
            return refuse(k->v, "fusion: %s is stored and read inside its step", op->path);
        if (k->part[i] == PART_WIDE) {
            if (!verify_wide(k, i)) return false;
        } else if (k->part[i] == PART_POINTWISE) {
            if (!pointwise_fits(k, op)) return cannot_run(k, op);
            for (uint32_t j = 0; j < op->nin; j++) {
                size_t at = made_at(k, operand(k, op, j));
                if (at < k->s->ops.n) k->used[at] = true;
            }
        }
    }
    return true;
}

/* After it: element-wise operators, then those that say where the result is stored, each of the one before. */
static bool verify_after(Kernel *k, size_t from) {
    size_t n = k->s->ops.n, i = from;
    Access a;
    for (; i < n && k->part[i] == PART_POINTWISE; i++)
        if (!pointwise_fits(k, op_at(k, i))) return cannot_run(k, op_at(k, i));
    if (i == n) return true;
    const Op *first = op_at(k, i);
    bool ok = k->nwide > 0 && op_writes_strided(op_at(k, k->last_wide)) && access_whole(&a, op_at(k, n - 1)->out[0]);
    for (size_t j = n; ok && j-- > i;) {
        const Op *op = op_at(k, j);
        ok = k->part[j] == PART_REMAP && op->nout == 1 && operand(k, op, 0) == op_at(k, j - 1)->out[0] &&
             !is_stored(k, op_at(k, j - 1)) && access_back(&a, op);
    }
    return (ok && access_writable(&a)) || refuse(k->v, "fusion: %s cannot be the store of a kernel", first->path);
}

/* matmul, softmax over the last axis, matmul, each of what the one before computed. */
static bool is_attention(const Kernel *k) {
    static const OpKind kinds[] = {OP_MATMUL, OP_SOFTMAX, OP_MATMUL};
    size_t wide = 0;
    for (size_t i = 0; i < k->s->ops.n; i++) {
        const Op *op = op_at(k, i);
        if (k->part[i] != PART_WIDE) continue;
        if (op->kind != kinds[wide]) return false;
        if (wide > 0 && !inside(k, operand(k, op, 0))) return false;
        int64_t rank = op->in[0]->type.shape.rank;
        if (op->kind == OP_SOFTMAX && op_int(op, A_dim) != -1 && op_int(op, A_dim) != rank - 1) return false;
        wide++;
    }
    return true;
}

bool verify_kernel(Verifier *v, const Step *s) {
    Kernel k = {.v = v, .s = s};
    size_t n = s->ops.n;
    if (n == 1) return true;
    k.part = NEW_ARRAY(v->ctx->scratch, Part, n);
    k.used = NEW_ARRAY(v->ctx->scratch, bool, n);
    for (size_t i = 0; i < n; i++) {
        const Op *op = op_at(&k, i);
        k.part[i] = part_of(&k, op);
        if (k.part[i] != PART_WIDE) continue;
        k.nwide++;
        k.last_wide = i;
        if (op->nout != 1) return refuse(v, "fusion: %s has several results", op->path);
        if (k.nwide > 3) return cannot_run(&k, op);
    }
    if (k.nwide == 0) return verify_after(&k, 0);
    if (k.nwide > 1 && (k.nwide != 3 || !is_attention(&k))) return cannot_run(&k, op_at(&k, k.last_wide));
    return verify_before(&k) && verify_after(&k, k.last_wide + 1);
}
