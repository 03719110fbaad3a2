/* oplab.h - for unit tests of ops/: a whole call in one expression, random numbers, coordinates. Upon opcall.h. */
#ifndef NETC_TESTS_OPLAB_H
#define NETC_TESTS_OPLAB_H

#include "tests/unit/opcall.h"

/* A pseudo-random number below n (xorshift64). */
static inline uint64_t random_below(uint64_t *seed, uint64_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % n;
}

/* An operator by its arguments' names; those not given have their defaults. False after a refusal. What was
 * normalised must give the same types once more. */
static inline bool call_op_by(Lab *lab, OpKind kind, const Attr *args, uint32_t nargs)
{
    Call *c = lab_call(lab, op_info(kind)->name);
    for (uint32_t i = 0; i < nargs; i++) lab_set(c, args[i].name, args[i].value);
    Op *op = lab_bind(c);
    if (op) CHECK(lab_again(lab, op));
    return op != NULL;
}

#define CALL(lab, kind, ...) \
    call_op_by((lab), (kind), (const Attr[]){__VA_ARGS__}, COUNT_OF(((const Attr[]){__VA_ARGS__})))
#define X(value) {A_x, d_tensor(value)}
#define INTS(lab, ...) \
    d_ints((lab)->ctx->unit, (const int64_t[]){__VA_ARGS__}, COUNT_OF(((const int64_t[]){__VA_ARGS__})))

static inline const Op *last_op(const Lab *lab)
{
    return lab->g->ops.p[lab->g->ops.n - 1];
}

/* Position of an element by its coordinates, and back. */
static inline uint64_t flat_of(const Shape *s, const uint64_t *at)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < s->rank; i++) r = r * s->dim[i] + at[i];
    return r;
}
static inline void coordinates_of(const Shape *s, uint64_t flat, uint64_t *at)
{
    for (unsigned i = s->rank; i-- > 0;) {
        at[i] = flat % s->dim[i];
        flat /= s->dim[i];
    }
}

#endif
