/* ops.h - what the operators are: for each, how a call of the language becomes IR (bind), the types of its results
 * (infer), its multiply-adds, and how its results may share storage with its operands.
 *
 * The table is ir/op.def; a family of operators is one file here that exports one `OpRules`. An op's types follow from its
 * operands and attributes alone (infer), so that ONNX import, printed IR and passes check against the same rule as the
 * language does. */
#ifndef NETC_OPS_H
#define NETC_OPS_H

#include "ir/ir.h"

/* Flags of op.def: facts that hold for the kernels of every target. */
enum {
    ELEMENTWISE = 1 << 0,                                 /* out[i] depends on the operands' elements at i (after broadcasting) only */
    INPLACE0    = 1 << 1,                                 /* may overwrite operand 0 though not element-wise (it reads a row before it writes it) */
    RESHAPES    = 1 << 2,                                 /* result 0 is operand 0's bytes under another shape */
    PARTS       = 1 << 3,                                 /* results are parts of operand 0 (op_part says which bytes) */
    JOINS       = 1 << 4,                                 /* result 0 is made of the operands' bytes (op_part says where each lies) */
    MOVES       = 1 << 5,                                 /* a permutation of axes: a copy, unless only axes of size 1 move */
    MACS        = 1 << 6,
    WISH        = 1 << 7,                                 /* takes inplace= */
    BINARY      = 1 << 8,                                 /* two operands, one may be a number */
    PREDICATE   = 1 << 9,                                 /* result is bool */
    COMPOSITE   = 1 << 10,                                /* bind expands it into other operators: it never stands in a graph */
    LEAD        = 1 << 11,                                /* trailing results may be left away: y = lstm(x, 4) */
    LOSS        = 1 << 12,
    EXTRA       = 1 << 13                                 /* takes further int arguments under names of the caller's choice: rearrange's axes */
};

typedef enum ParamType {
    P_TENSOR, P_OPERAND, P_TENSORS, P_CHANNELS, P_INT, P_FLOAT, P_NUMBER, P_BOOL, P_STR, P_DTYPE, P_ANY, P_INTS, P_VARINTS, P_INT_N
} ParamType;
typedef struct Param {
    AttrName name;
    ParamType type;
    uint8_t n;                                            /* P_INT_N: how many */
    bool optional;                                        /* has a default */
    Datum dflt;                                           /* as Arg.value; D_NONE for "= none"; strings are interned by call_op() */
} Param;
typedef struct OpInfo {
    OpKind kind;
    const char *name;
    unsigned flags;
    const char *signature;                                /* as written in op.def */
    const Param *params;                                  /* parsed at build time by gen_table.c */
    uint32_t nparams;
} OpInfo;

typedef struct Arg {                                      /* one argument of a call, in the order of the signature */
    Datum value;                                          /* the default when not given; int[N] and ints are a D_LIST (or D_NONE) */
    Span span;                                            /* of the argument, or of the call when it was not given */
    bool given;
    bool has_from;                                        /* "1 -> 20": from is 1, value is 20 */
    int64_t from;
    Span from_span;
} Arg;

/* A call in the making. The frontend fills it, the family's bind turns it into ops through call_op(). */
typedef struct Call Call;
struct Call {
    Ctx *ctx;
    Graph *g;
    const OpInfo *info;
    Span span;                                            /* the stage: `conv2d(20, 5)` */
    Arg *args;                                            /* info->nparams of them, types checked */
    const char *path;                                     /* elaboration path of this call, unique */
    InplaceWish inplace;
    bool keep;
    uint32_t checkpoint;
    Phase phase;
    /* Only with the flag EXTRA: keyword arguments that the signature does not have, in the order written. */
    const char **extra_names;                             /* interned */
    int64_t *extra_values;
    Span *extra_spans;                                    /* of `h=4` */
    uint32_t nextra;
    Datum result;                                         /* out: D_TENSOR, or D_LIST of tensors */
    /* The frontend's service: the stored tensor `name` ("weight", "running_mean") of this call's instance. The first call
     * of an instance creates it; a later one (a shared layer) finds it, and another type is a diagnostic naming both
     * places. NULL after a diagnostic. */
    Value *(*stored)(Call *, const char *name, Role, const Type *, Init);
    void *frontend;                                       /* the service's own data */
};

/* What infer fills in. */
typedef struct Typing {
    Ctx *ctx;
    Span span;                                            /* where to report */
    const Call *call;                                     /* whose arguments have spans of their own; NULL outside a call of the language */
    OpKind kind;
    Value *const *in;
    uint32_t nin;
    const Attr *attrs;
    uint32_t nattrs;
    Arena *arena;                                         /* for out */
    VEC(Type) out;
} Typing;

struct Eval;
typedef struct OpRules {
    bool (*bind)(Call *);                                 /* false after a diagnostic */
    bool (*infer)(Typing *);                              /* checks operands and attributes, pushes the results' types; false after a diagnostic */
    uint64_t (*macs)(const Op *);                         /* NULL = 0. Saturates at UINT64_MAX */
    uint64_t (*scratch)(const Op *, bool fused);          /* bytes of workspace; NULL = 0. fused: attention without scores */
    void (*eval)(struct Eval *);                          /* what it computes (eval.h); NULL: only composites */
} OpRules;

/* ops.c - the table */
const OpInfo *op_info(OpKind);                            /* params parsed */
const OpInfo *op_info_by_name(const char *name);          /* NULL if there is none */
const OpRules *op_rules(OpKind);
const char *const *op_names(size_t *n);                   /* for did-you-mean and --help */
static inline bool op_has(const Op *op, unsigned flag) { return (op_info(op->kind)->flags & flag) != 0; }
uint64_t op_scratch(const Op *, bool fused);
bool op_is_random(OpKind);                                /* dropout: not to be merged with an equal op */

/* call.c - helpers for bind */
Arg *call_arg(Call *, AttrName);                          /* ice() if the signature has none */
Value *call_tensor(Call *, AttrName);                     /* NULL if absent */
int64_t call_int(Call *, AttrName);
bool call_bool(Call *, AttrName);
double call_float(Call *, AttrName);
const char *call_str(Call *, AttrName);
bool call_is_none(Call *, AttrName);
/* Makes an op of the call (or of another kind, for composites): infers its types (diagnostics at call->span), fills in
 * path, wishes, macs and params. `suffix` is appended to the call's path when not NULL ("in_proj"). NULL after a diagnostic. */
Op *call_op(Call *, OpKind, Value **in, uint32_t nin, const Attr *attrs, uint32_t nattrs, const char *suffix);
bool call_result(Call *, Op *);                           /* the op's outputs (a list when several; LEAD honoured); false if NULL */
/* The normal bind: operands = the tensor arguments in order (absent optional ones NULL, trailing NULLs dropped), attributes =
 * all other arguments as they are (D_NONE ones left away). */
bool bind_plain(Call *);
Typing call_typing(Call *);                               /* for a rule's checks before its operands are complete; no operands, no attributes */
/* A stored tensor of the call's instance, its size checked; NULL after a diagnostic. `dims` are rank numbers. */
Value *call_stored(Call *, const char *name, Role, DType, unsigned rank, const uint64_t *dims, Init);
/* Checks "in -> out": the actual number must equal what was written; axis_text says what it is ("channels", "features"). */
bool call_check_from(Call *, AttrName, uint64_t actual, const char *what, const Value *x);
void note_value(Ctx *, Diag *, const Value *);            /* "the value comes from max_pool2d", at its source */
/* A scalar operand from a number, of the other operand's dtype (a float with an integer tensor is a diagnostic). */
Value *call_scalar(Call *, const Arg *, DType);

/* typing.c - helpers for infer */
static inline Value *typing_in(const Typing *t, uint32_t i) { return i < t->nin ? t->in[i] : NULL; }   /* NULL: absent */
static inline Value *op_in(const Op *op, uint32_t i) { return i < op->nin ? op->in[i] : NULL; }
bool type_push(Typing *, DType, const Shape *);           /* a diagnostic when its size overflows or its rank is above MAX_RANK */
const Datum *typing_attr(const Typing *, AttrName);       /* NULL if absent */
Span typing_span(const Typing *, AttrName);               /* of that argument of the call, else of the op */
/* Each of n numbers of an argument is at least `least`; located at the argument. */
bool typing_at_least(Typing *, AttrName, const int64_t *v, uint32_t n, int64_t least);
bool typing_broadcast(Typing *, const Value *a, const Value *b, Shape *out);     /* NumPy's rule; names both sides */
bool typing_same_dtype(Typing *, const Value *a, const Value *b);                /* names cast */
bool typing_float(Typing *, const Value *);               /* the operator is defined on floats only */
bool typing_rank(Typing *, const Value *, unsigned lo, unsigned hi, const char *form);   /* form: "[N, C, H, W]" */

/* storage.c - how results relate to operands, byte by byte: what alias, liveness and bounds build on. */
/* Result `out` of an op with the flag RESHAPES or PARTS as bytes [*offset, *offset + nbytes) of operand 0, if they are contiguous. */
bool op_part(const Op *, uint32_t out, uint64_t *offset);
/* Operand `in` of an op with the flag JOINS as bytes of result 0, if they are contiguous. */
bool op_join(const Op *, uint32_t in, uint64_t *offset);
/* May result `out` be written over operand `in`, element by element or row by row? Same bytes, same element size, no
 * broadcast of that operand, kernel allows. Says nothing about lives. On false *why is set (plan.h's Reason, as int). */
bool op_can_overwrite(const Op *, uint32_t in, uint32_t out, int *why);
/* lead.c - a kernel of target c makes result 0 in index order, each element whole before it is written: by how many bytes
 * must the result begin before operand `in`, at least, so that it may lie over it in part? 0: it may begin where the operand
 * does. False where kernels go another way. Says nothing about lives. */
bool op_lead(const Op *, uint32_t in, uint32_t out, uint64_t *lead);
/* Does a kernel of inference read operand `in`? False for those that only training touches: batch_norm's num_batches_tracked. */
bool op_reads(const Op *, uint32_t in);

#define RULES(family) extern const OpRules rules_##family;
RULES(conv) RULES(dense) RULES(norm) RULES(pool) RULES(activation) RULES(elementwise) RULES(reduce) RULES(shape) RULES(rearrange)
RULES(join) RULES(part) RULES(index) RULES(create) RULES(resample) RULES(attention) RULES(recurrent) RULES(loss)
#undef RULES

#endif
