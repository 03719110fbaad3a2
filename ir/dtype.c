/* dtype.c - element types, shapes and their sizes.
 *
 * Everything about a dtype comes from dtype.def. Sizes are counted once, here, with checked arithmetic: a tensor of 2^63
 * elements or bytes or more is refused when its type is made, so that nobody who holds a Value has to ask again. The
 * 4-bit types lie two to a byte; an odd number of elements takes the whole last byte. */
#include "ir/ir.h"

#include <string.h>

typedef enum DTypeClass { CLASS_F, CLASS_I, CLASS_U, CLASS_B } DTypeClass;

static const struct { const char *name; uint8_t bits; DTypeClass cls; } dtypes[DT_COUNT] = {
#define DTYPE(id, name, bits, cls) [DT_##id] = {name, bits, CLASS_##cls},
#include "ir/dtype.def"
#undef DTYPE
};
static const char *const names[DT_COUNT] = {
#define DTYPE(id, name, bits, cls) [DT_##id] = name,
#include "ir/dtype.def"
#undef DTYPE
};

const char *dtype_name(DType t) { return dtypes[t].name; }
unsigned dtype_bits(DType t) { return dtypes[t].bits; }
bool dtype_is_float(DType t) { return dtypes[t].cls == CLASS_F; }
bool dtype_is_int(DType t) { return dtypes[t].cls == CLASS_I || dtypes[t].cls == CLASS_U; }

bool dtype_by_name(const char *name, DType *t) {
    for (unsigned i = 0; i < DT_COUNT; i++)
        if (strcmp(names[i], name) == 0) {
            *t = (DType)i;
            return true;
        }
    return false;
}

const char *const *dtype_names(size_t *n) {
    *n = DT_COUNT;
    return names;
}

/* A zero extent makes the tensor empty whatever the others are, so it is looked for first. */
bool type_elems(const Type *t, uint64_t *n) {
    *n = 0;
    for (unsigned i = 0; i < t->shape.rank; i++)
        if (t->shape.dim[i] == 0)
            return true;
    uint64_t r = 1;
    for (unsigned i = 0; i < t->shape.rank; i++)
        if (!mul_u64(r, t->shape.dim[i], &r) || r > INT64_MAX)
            return false;
    *n = r;
    return true;
}

bool type_bytes(const Type *t, uint64_t *n) {
    uint64_t elems;
    *n = 0;
    if (!type_elems(t, &elems))
        return false;
    unsigned bits = dtype_bits(t->dtype);
    if (bits < 8) {
        unsigned per_byte = 8 / bits;
        *n = elems / per_byte + (elems % per_byte != 0);
        return true;
    }
    return mul_u64(elems, bits / 8, n) && *n <= INT64_MAX;
}

uint64_t shape_elems(const Shape *s) {
    uint64_t n = 1;
    for (unsigned i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

bool shape_equal(const Shape *a, const Shape *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) == 0;
}

Shape shape_of(unsigned rank, const uint64_t *dims) {
    Shape s = {.rank = (uint8_t)rank};
    if (rank > MAX_RANK)
        ice("shape_of: rank %u", rank);
    if (rank > 0)
        memcpy(s.dim, dims, rank * sizeof *dims);
    return s;
}

static const char *text(Arena *a, const char *dtype, const Shape *s) {
    StrBuf sb;
    sb_init(&sb, a);
    sb_puts(&sb, dtype);
    sb_putc(&sb, '[');
    for (unsigned i = 0; i < s->rank; i++)
        sb_printf(&sb, i > 0 ? ", %llu" : "%llu", (unsigned long long)s->dim[i]);
    sb_putc(&sb, ']');
    return sb_str(&sb);
}

const char *shape_text(Arena *a, const Shape *s) { return text(a, "", s); }
const char *type_text(Arena *a, const Type *t) { return text(a, dtype_name(t->dtype), &t->shape); }
