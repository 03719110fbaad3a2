/* seeded.c - numbers from a seed, the same on every machine and for every backend. Element i of the value NAME draws
 *
 *     z(i) = splitmix64 of fnv1a64(NAME) + seed * 0x9E3779B97F4A7C15 + i
 *
 * so that any part of a tensor can be made without the rest. An input is uniform in [-1, 1); integers and truth
 * values are uniform in their range; a stored tensor begins as its Init says, by PyTorch's rules. Values are computed
 * in double and rounded once. Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
 * O(elements). */
#include "frontend/arrays.h"

#include <math.h>

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15;

static uint64_t fnv1a64(const char *text) {
    uint64_t h = 0xCBF29CE484222325;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001B3;
    return h;
}

/* In [0, 1), a multiple of 2^-53. */
static double draw(uint64_t start, uint64_t i) {
    uint64_t z = start + i + GOLDEN;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Box and Muller: two draws for a number. */
static double normal(uint64_t start, uint64_t i) {
    return sqrt(-2 * log(draw(start, 2 * i) + 0x1p-53)) * cos(2 * M_PI * draw(start, 2 * i + 1));
}

/* Half the width of kaiming_uniform(a): the fan is what one output reads, all axes but the first. */
static double kaiming_bound(const Shape *s, double a) {
    double fan = 1;
    for (unsigned i = 1; i < s->rank; i++)
        fan *= (double)s->dim[i];
    if (s->rank == 1)
        fan = (double)s->dim[0];
    return sqrt(2 / (1 + a * a)) * sqrt(3 / fan);
}

/* bound: kaiming_bound of the tensor, computed once for all its elements. */
static double initial(Init init, double bound, uint64_t start, uint64_t i) {
    switch (init.kind) {
    case INIT_ZEROS: return 0;
    case INIT_ONES: return 1;
    case INIT_CONSTANT: return init.a;
    case INIT_NORMAL: return init.a + init.b * normal(start, i);
    case INIT_UNIFORM: return init.a + (init.b - init.a) * draw(start, i);
    case INIT_KAIMING_UNIFORM: return bound * (2 * draw(start, i) - 1);
    }
    ice("initialiser %d", (int)init.kind);
}

static int64_t in_range(Range r, double u) {
    double offset = floor(u * ((double)r.hi - (double)r.lo + 1));
    uint64_t most = (uint64_t)r.hi - (uint64_t)r.lo, k = offset >= 0x1p63 ? INT64_MAX : (uint64_t)offset;
    return (int64_t)((uint64_t)r.lo + (k < most ? k : most));
}

void seeded_read(const Value *v, uint64_t seed, Range range, uint64_t first, Tensor *t) {
    uint64_t start = fnv1a64(v->name) + seed * GOLDEN;
    double bound = v->init.kind == INIT_KAIMING_UNIFORM ? kaiming_bound(&v->type.shape, v->init.a) : 0;
    for (uint64_t k = 0; k < t->n; k++) {
        if (v->role != ROLE_INPUT && t->is_int)
            t->i[k] = number_truncate(initial(v->init, bound, start, first + k));
        else if (v->role != ROLE_INPUT)
            t->f[k] = initial(v->init, bound, start, first + k);
        else if (t->is_int)
            t->i[k] = in_range(range, draw(start, first + k));
        else
            t->f[k] = 2 * draw(start, first + k) - 1;
    }
}
