/* c.h - the C backend: text of a network's program from its finished plan. Private to backend/c/.
 *
 * A step becomes one function, `NET_stepN`, that calls a kernel of kernels/c/ with constant sizes. What the kernel
 * reads and writes it reaches through small functions of an index, which are written for the step and inlined: there
 * is the place of each operand and result, and there runs what is fused into the step. So a kernel knows neither
 * dtypes nor places nor fusion, and a plan of any level comes out of the same code. */
#ifndef NETC_BACKEND_C_H
#define NETC_BACKEND_C_H

#include "backend/backend.h"
#include "backend/emit_c.h"
#include "ops/access.h"

/* What is computed in: floats of 32 bits and less in float, f64 in double, integers and bool in int64_t. ARITH_RING:
 * uint64_t, for kernels that only add and multiply integers, which is exact modulo 2^64. */
typedef enum Arith { ARITH_F32, ARITH_F64, ARITH_I64, ARITH_RING, ARITH_COUNT } Arith;
Arith arith_of(DType);
const char *arith_type(Arith);                            /* "float" */
const char *arith_suffix(Arith);                          /* "f32": of kernel names */

typedef enum Family {
#define FAMILY(id, file) FAMILY_##id,
#include "backend/c/family.def"
#undef FAMILY
    FAMILY_COUNT
} Family;

typedef struct Emit {
    Ctx *c;
    const Graph *g;
    const Plan *p;
    const char *name, *upper;                             /* of the net, as an identifier; in capitals */
    const char **in_names, **out_names;                   /* parameters of NET_run */
    uint32_t *io;                                         /* by buffer id: 1 + number of the input, or -1 - that of the result */
    uint32_t *workspace;                                  /* by step: buffer id, or NO_ID */
    const struct WeightLayout *weights;
    bool used[FAMILY_COUNT][ARITH_COUNT];                 /* kernels that steps call */
    StrBuf out;                                           /* of the steps */
} Emit;

/* weights.c - where each tensor lies in the block of weights. */
typedef struct WeightLayout {
    uint64_t nbytes, hash;                                /* with the header; hash of names, types and places */
    uint64_t *offset;                                     /* by buffer id; of BUF_WEIGHT */
    const Value **owner;                                  /* by buffer id: the tensor that fills it */
} WeightLayout;
enum { WEIGHTS_HEADER = 64, WEIGHTS_ALIGN = 64 };
WeightLayout *weights_layout(Ctx *, const Graph *, const Plan *);
/* The tensor that gives op, or the norm folded into it, its bias; NULL without. */
const Value *bias_of(const Graph *, const Plan *, const Op *, uint32_t in);

/* names.c - valid and unique identifiers. */
const char *c_identifier(Arena *, const char *name);      /* no keyword, nothing that a standard header or a kernel declares */
void name_parameters(Emit *);

/* One step. */
typedef struct StepText {
    Emit *e;
    uint32_t number;
    const Step *step;
    const Op *anchor;
    Arith arith;                                          /* of the kernel */
    StrBuf body;                                          /* of its function */
} StepText;

/* map.c - an index of a tensor as a function of another index: runs as in ops/access.h, stride 0 where it is
 * broadcast. */
enum { MAX_MAP = 48 };
typedef struct Map { unsigned n; Run run[MAX_MAP]; uint64_t offset; } Map;
void map_run(Map *, uint64_t n, uint64_t stride);         /* appends, innermost last; joins what lies contiguously */
void map_axes(Map *, const Access *, unsigned first, unsigned end);
Map map_whole(uint64_t n);
Map map_broadcast(const Shape *from, const Shape *to);    /* from an index of `to` to one of `from` */
bool map_move(const Op *, uint32_t out, Map *);           /* from an index of result `out` to one of operand 0; false: no runs say it */
bool map_join(const Op *, uint32_t in, Map *);            /* from an index of operand `in` to one of the result */
const char *map_text(Arena *, const Map *, const char *index);
const char *coordinate(Arena *, const Shape *, unsigned axis, const char *index);    /* of an index of that shape, along an axis */

/* value.c */
const Value *operand(const StepText *, const Op *, uint32_t k);   /* what stands for it; NULL when absent */
bool in_step(const StepText *, const Value *);            /* made there */
bool has_place(const StepText *, const Value *);
const char *base_text(const Emit *, const Value *);       /* a pointer to its first byte */
const char *number_text(Arena *, Arith, double);
const char *whole_text(Arena *, int64_t);
const char *constant_text(Arena *, const Value *, Arith); /* of a ROLE_CONST */
const char *load_text(const StepText *, const Value *, const char *index, Arith);
const char *store_text(const StepText *, const Value *, const char *index, const char *value);

/* point.c - operators whose result i follows from i alone. */
bool is_pointwise(const Op *);
/* Appends statements that end with `const T vID = ...` for the op's result at `index`. */
void point_statements(const StepText *, StrBuf *, const Op *, const char *index);
const char *local_name(const StepText *, const Value *);  /* vID */

/* callbacks.c - the functions of an index that a kernel is given. Each emits one and returns its name, "NULL" for
 * none. */
const char *cb_load(StepText *, const char *name, const Value *, Arith);             /* (i): NULL for NULL */
const char *cb_operand(StepText *, const char *name, const Op *, uint32_t k);        /* (i): with what is fused in front */
/* (plane, place): the same at plane * `plane` + place, place < `plane`. What depends on the plane alone is then the same for a whole
 * row of places, so that compilers compute it once. */
const char *cb_plane(StepText *, const char *name, const Op *, uint32_t k, uint64_t plane);
const char *cb_matrix(StepText *, const char *name, const Op *, uint32_t k, const Map *batch, const Map *row, const Map *column);
const char *cb_store(StepText *, const char *name, const Op *of);                    /* (i, v): what is fused behind, and its store */
const char *cb_put(StepText *, const char *name, const Value *, Arith);              /* (i, v): stored as it is */
/* (i, v): the value of `to` when that of `from` is v, by the ops of the step between them. */
const char *cb_between(StepText *, const char *name, const Value *from, const Value *to);
/* The stored or fused value that operand k is read from, and how. */
const Value *operand_access(const StepText *, const Op *, uint32_t k, Access *);
void step_line(StepText *, const char *fmt, ...) PRINTF_LIKE(2, 3);                  /* a line of the step's body */
/* Notes that the step needs a family's kernels; the name of one of them: "conv_f32". */
const char *kernel(StepText *, Family, const char *base);
const char *comment_text(Arena *, const char *);          /* nothing in it ends a comment or begins another */

/* one for each family of kernels; each emits a step */
void step_conv(StepText *), step_pool(StepText *), step_dense(StepText *), step_attention(StepText *), step_norm(StepText *);
void step_reduce(StepText *), step_recurrent(StepText *), step_loss(StepText *), step_interpolate(StepText *);
void step_matmul_attention(StepText *);                   /* attention written out and fused */
bool is_matmul_attention(const StepText *);
/* steps.c - all steps into e->out. */
void emit_steps(Emit *);

#endif
