/* axes.h - what several families of operators share: a call bound plainly whose attributes are then normalised,
 * attributes that must be there, axes and lists of axes. Private to ops/.
 *
 * Work is divided so that nothing is said twice: bind normalises what is in order (negative axes, -1 among sizes,
 * slices past the end) and leaves everything else as it was written; infer, which printed and imported graphs go
 * through too, refuses what is not in order, and so what is not normalised: kernels and storage.c see one form. */
#ifndef NETC_OPS_AXES_H
#define NETC_OPS_AXES_H

#include "ops/ops.h"

/* The operands and attributes of a call, as bind_plain() would pass them on. */
typedef struct Binding {
    Value **in;
    uint32_t nin;
    Attr *attrs;
    uint32_t nattrs, room;                                /* room: attributes that fit */
} Binding;
void binding_plain(Call *, Binding *);
Datum *binding_get(const Binding *, AttrName);            /* NULL if absent */
void binding_set(Call *, Binding *, AttrName, Datum);     /* replaces, or appends */
void binding_drop(Binding *, AttrName);
void binding_axis(Binding *, AttrName, unsigned rank);    /* a negative axis that is in range becomes positive */
void binding_axes(Call *, Binding *, AttrName, unsigned rank);    /* likewise a list, when all are in range */
bool binding_call(Call *, const Binding *);               /* the op and the call's result; false after a diagnostic */

typedef struct Ints { uint32_t n; int64_t v[2 * MAX_RANK]; } Ints;
Datum ints_datum(Call *, const Ints *);
bool datum_ints(const Datum *, Ints *);                   /* an int, or a list of at most 2 * MAX_RANK ints */

/* For infer. Each is false, or NULL, after a diagnostic. */
bool need_operands(Typing *, uint32_t least, uint32_t most);      /* the first `least` are there */
const Datum *need_attr(Typing *, AttrName, DatumKind);
bool need_int(Typing *, AttrName, int64_t *);
bool need_ints(Typing *, AttrName, Ints *);               /* absent: none */
bool need_real(Typing *, AttrName, double *);             /* a float or an int */
bool need_axis(Typing *, AttrName, unsigned rank, unsigned *axis);
bool need_axes(Typing *, AttrName, unsigned rank, unsigned *set); /* a bit per axis; an axis named twice is refused */
bool need_integer_index(Typing *, AttrName, const Value *);

bool need_numbers(Typing *, const Value *, const char *help);     /* the operator is not defined on bools */
/* An optional number attribute that stands beside elements of a dtype: a float has no place among integers, nor a truth
 * value among numbers, nor a number but 0 and 1 among truth values, nor one outside the dtype's range. */
bool need_fitting(Typing *, AttrName, DType);

bool axis_wrap(int64_t *dim, unsigned rank);              /* a scalar has rank 1; false: out of range */
/* Refuses an attribute that bind would have normalised: only printed or imported graphs come to this. */
bool refuse_form(Typing *, AttrName, const char *rule);
/* Says that operand 0 has no axis `dim` among `rank` (one more than its own where a new axis is meant). */
void axis_missing(Typing *, AttrName, int64_t dim, unsigned rank);
const char *x_text(const Typing *, const Value *);        /* its type */
bool flag_of(const Typing *, AttrName);                   /* a bool attribute, false if absent */

static inline bool is_number(const Datum *d) { return d->kind == D_INT || d->kind == D_FLOAT; }
static inline double number_of(const Datum *d) { return d->kind == D_INT ? (double)d->i : d->f; }
/* Elements before and behind an axis. */
uint64_t elems_before(const Shape *, unsigned axis);
uint64_t elems_behind(const Shape *, unsigned axis);

#endif
