/* ir.h - the graph every room reads: operators over SSA values, "what" a network computes.
 *
 * A Graph is built once (by elaboration, by the reader of printed IR, later by the ONNX reader and the grad pass) and
 * is not changed by planning: "when" (the schedule) and "where" (storage) are facts of a Plan (plan.h), so that several
 * plans of one graph stand side by side.
 *
 * Values are identified by pointer and by their dense id; ops are in program order, which is a topological order. All
 * memory is the graph's arena. Sizes are uint64_t and checked when a value is made, so that later sums of elements and
 * bytes of ONE value never overflow. */
#ifndef NETC_IR_H
#define NETC_IR_H

#include "base/base.h"

typedef enum DType {
#define DTYPE(id, name, bits, cls) DT_##id,
#include "ir/dtype.def"
#undef DTYPE
    DT_COUNT
} DType;

enum { MAX_RANK = 8 };
typedef struct Shape {
    uint8_t rank;
    uint64_t dim[MAX_RANK];                               /* run-time dims (dim T <= 512) stand at their bound */
} Shape;
typedef struct Type { DType dtype; Shape shape; } Type;

/* dtype.c */
const char *dtype_name(DType);
unsigned dtype_bits(DType);
bool dtype_is_float(DType), dtype_is_int(DType);          /* bool is neither */
bool dtype_by_name(const char *, DType *);
const char *const *dtype_names(size_t *n);
bool type_elems(const Type *, uint64_t *n);               /* false above 2^63 - 1 */
bool type_bytes(const Type *, uint64_t *n);               /* 4-bit types are packed; false above 2^63 - 1 */
uint64_t shape_elems(const Shape *);                      /* of a shape that was checked */
bool shape_equal(const Shape *, const Shape *);
Shape shape_of(unsigned rank, const uint64_t *dims);
const char *shape_text(Arena *, const Shape *);           /* "[64, 3, 7, 7]" */
const char *type_text(Arena *, const Type *);             /* "f32[64, 3, 7, 7]" */

/* ------------------------------------------------------------------------------------------------------------------ */

typedef struct Graph Graph;
typedef struct Op Op;
typedef struct Value Value;
typedef struct Datum Datum;

typedef enum OpKind {
#define OP(id, name, family, flags, signature) OP_##id,
#include "ir/op.def"
#undef OP
    OP_COUNT
} OpKind;

/* Attribute and argument names. A_x is its name; attr_name(A_x) is "x". */
typedef enum AttrName {
#define ATTR(name) A_##name,
#include "ir/attr.def"
#undef ATTR
    A_COUNT
} AttrName;

typedef enum DatumKind { D_NONE, D_BOOL, D_INT, D_FLOAT, D_STR, D_DTYPE, D_LIST, D_TENSOR } DatumKind;
/* A compile-time value: an argument of a call, an attribute of an op, the content of a scalar constant. */
struct Datum {
    DatumKind kind;
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;                                    /* interned */
        DType dtype;
        Value *tensor;                                    /* never inside an Op's attributes */
        struct {
            Datum *p;
            uint32_t n;
            bool lead;                                    /* may stand for its first element: y = lstm(x, 4) */
        } list;
    };
};
bool datum_equal(const Datum *, const Datum *);
void datum_print(StrBuf *, const Datum *);                /* as the language writes it */

typedef struct Attr { AttrName name; Datum value; } Attr;

typedef enum Role {
    ROLE_INPUT,                                           /* of the net: the caller's, read-only */
    ROLE_PARAM,                                           /* trained tensor */
    ROLE_BUFFER,                                          /* stored state without gradient */
    ROLE_CONST,                                           /* scalar known at compile time: in the code, no storage */
    ROLE_ACTIVATION,                                      /* result of an op */
    ROLE_SAVED, ROLE_GRADIENT, ROLE_STATE                 /* training: kept for backward, gradients, optimizer state */
} Role;
typedef enum Phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE } Phase;

/* How a stored tensor begins when no weights file gives it. */
typedef enum InitKind { INIT_ZEROS, INIT_ONES, INIT_CONSTANT, INIT_NORMAL, INIT_UNIFORM, INIT_KAIMING_UNIFORM } InitKind;
typedef struct Init { InitKind kind; double a, b; } Init; /* constant a; normal mean a, std b; uniform a..b; kaiming a */

struct Value {
    uint32_t id;                                          /* index in Graph.values */
    uint32_t out_index;                                   /* which result of def */
    Op *def;                                              /* NULL for inputs, stored tensors and constants */
    Role role;
    Type type;
    uint64_t nelem, nbytes;                               /* of type; not aligned */
    const char *name;                                     /* unique in the graph: path of its source name, or key of a stored tensor */
    Span span;                                            /* the expression that made it */
    Datum constant;                                       /* ROLE_CONST: D_INT, D_FLOAT or D_BOOL; rank 0 */
    Init init;                                            /* ROLE_PARAM, ROLE_BUFFER */
    bool declared;                                        /* a `param` or `buffer` statement: a row of its own in reports */
    uint32_t nuses;                                       /* operands of ops and results of the net that read it */
    uint32_t nresults;                                    /* how many results of the net it is */
    const char *doc;                                      /* doc comment of a net's input, or NULL */
};

/* What the source asked of an op. Absent = the planner decides. */
typedef enum InplaceWish { INPLACE_AUTO, INPLACE_DEMAND, INPLACE_FORBID } InplaceWish;

struct Op {
    uint32_t id;                                          /* index in Graph.ops */
    OpKind kind;
    Phase phase;
    Value **in;                                           /* tensors and stored tensors by position; NULL = absent optional */
    Value **out;
    uint32_t nin, nout;
    Attr *attrs;                                          /* normalised by the family's bind: one form per meaning */
    uint32_t nattrs;
    Span span;                                            /* the stage or operator in the source */
    const char *path;                                     /* elaboration path, unique: "resnet18/basic#3/conv2d#1" */
    uint64_t params, buffer_elems, macs;                  /* stored tensors count at the first op that reads them, declared ones in their own row */
    InplaceWish inplace;
    bool keep;                                            /* @keep: its results are never overwritten */
    uint32_t checkpoint;                                  /* id of the @checkpoint region it is in, 0 = none */
};

typedef struct Dim { const char *name; uint64_t value; bool is_bound; Span span; } Dim;   /* is_bound: dim T <= 512 */
typedef struct Result { const char *name; Value *value; Span span; const char *doc; } Result;

struct Graph {
    Arena *arena;
    const char *name;                                     /* of the net */
    const char *source;                                   /* path of its file as given */
    const char *doc;                                      /* doc comment or NULL */
    Span span;
    VEC(Op *) ops;                                        /* program order */
    VEC(Value *) values;
    VEC(Value *) inputs;
    VEC(Value *) stored;                                  /* params and buffers, in the order of the program */
    VEC(Result) results;
    VEC(Dim) dims;                                        /* the dims and consts a user may set, with their values */
    uint64_t mem_budget, mem_align;                       /* @memory; 0 = not given */
    bool mem_noreuse;                                     /* @memory(reuse=false) */
    bool alias_io;                                        /* @alias: a result may lie in the memory of an input */
    NameMap *used_names;                                  /* paths and value names in use, for uniqueness */
    struct ScalarSet *scalars;                            /* ir.c: the constants, by dtype and number */
};

/* ir.c - building. The type of a value must have been checked (type_bytes). */
Graph *graph_new(Arena *, const char *name);
Value *graph_input(Graph *, const char *name, const Type *, Span);
Value *graph_stored(Graph *, Role, const char *key, const Type *, Init, Span);
Value *graph_scalar(Graph *, DType, const Datum *, Span); /* one Value per dtype and number */
/* Appends an op whose results have the given types. Operands gain a use; results are named path, or path.1, path.2 ...
 * when there are several. The path must be unique (graph_unique_path). Takes in, attrs by copy. */
Op *graph_op(Graph *, OpKind, Value **in, uint32_t nin, const Attr *attrs, uint32_t nattrs, const Type *out, uint32_t nout,
             const char *path, Span);
void graph_result(Graph *, const char *name, Value *, Span);
const char *graph_unique(Ctx *, Graph *, const char *wanted);                    /* wanted, or wanted with a suffix; recorded as used */

/* attrs: a missing one is ice(), since bind normalises */
const char *attr_name(AttrName);
bool attr_by_name(const char *, AttrName *);
const Datum *op_attr(const Op *, AttrName);               /* NULL if absent */
int64_t op_int(const Op *, AttrName);
bool op_bool(const Op *, AttrName);
double op_float(const Op *, AttrName);                    /* an int attribute converts */
const char *op_str(const Op *, AttrName);
uint32_t op_ints(const Op *, AttrName, int64_t *v, uint32_t max);                /* how many there are; ice above max */
Datum d_none(void), d_bool(bool), d_int(int64_t), d_float(double), d_str(const char *interned), d_dtype(DType), d_tensor(Value *);
Datum d_ints(Arena *, const int64_t *, uint32_t n);
Datum d_list(Arena *, const Datum *, uint32_t n);

/* print.c, parse.c - the printed form (docs/internals.md). parse(print(g, p)) prints the same. */
struct Plan;
void ir_print(StrBuf *, Ctx *, const Graph *, const struct Plan *);              /* plan may be NULL */
Graph *ir_parse(Ctx *, uint32_t file, struct Plan **plan);                       /* NULL after diagnostics */

/* check.c - invariants of a graph (order, uses, unique names, shapes as the rules infer them): ice() when broken. */
void graph_check(Ctx *, const Graph *);

#endif
