/* access.h - how a kernel reaches the elements of a stored tensor through reshapes, transposes and slices that nobody
 * carries out, and which kernels can. */
#ifndef NETC_OPS_ACCESS_H
#define NETC_OPS_ACCESS_H

#include "ops/ops.h"

enum { MAX_RUNS = 24 };

typedef struct Run { uint64_t n, stride; } Run;           /* n elements, `stride` elements of the stored tensor apart */

/* The element at an index lies at offset + the sum over its axes; an axis is a nest of runs, outermost first, none for
 * an extent of 1. */
typedef struct Access {
    unsigned rank;
    unsigned begin[MAX_RANK + 1];                         /* axis i is the runs [begin[i], begin[i + 1]) */
    Run run[MAX_RUNS];
    uint64_t offset;                                      /* in elements */
} Access;

/* The ops that only address their operand anew: RESHAPES, MOVES, PARTS. */
bool op_remaps(const Op *);
/* A tensor as it is stored. False for one without elements, or whose elements share bytes. */
bool access_whole(Access *, const Value *);
/* From an access to operand 0 of op to one of its result `out`; false where runs cannot say it. */
bool access_through(Access *, const Op *, uint32_t out);
/* From an access to the result of op to one of its operand, which is written there; not for PARTS. */
bool access_back(Access *, const Op *);

/* May the kernel of op read operand `in` through some access other than the whole? Through this one? */
bool op_reads_strided(const Op *, uint32_t in);
bool access_readable(const Access *, const Op *, uint32_t in);
/* May the kernel of op write its result through some access, through this one? */
bool op_writes_strided(const Op *);
bool access_writable(const Access *);
/* Does the kernel of op read each element of operand `in` where it lies, none of them a padding's, so that an
 * element-wise function of the operand can be computed as it is read? */
bool op_reads_elements(const Op *, uint32_t in);
/* Is out[i] a function of operand 0's element i and of weights alone? batch_norm in inference. */
bool op_scales_by_channel(const Op *);

#endif
