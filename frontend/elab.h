/* elab.h - private to elaboration: compile-time values, scopes, callables, and who does what.
 *
 *   elab.c       the module level: globals, dims, settings, the choice of the net, its inputs and results
 *   check.c      the static half: names and arity of all code, also of what is never elaborated; unused names
 *   stmt.c       statements of a body            block.c      a call of a block: parameters, shape patterns, results
 *   eval.c       expressions                     call.c       what a name calls; arguments; calls of operators
 *   layer.c      layers                          stored.c     keys of stored tensors; param and buffer statements
 *   index.c      x[...]                          signature.c  arguments to an operator's signature
 *   value.c      compile-time values             number.c     their arithmetic and functions
 *   types.c      written types                   text.c       "{...}" in strings
 *   annot.c      annotations
 *   train.c      train blocks                    optimizer.c  optimizers and schedules
 *
 * An error is reported once and gives V_POISON, which every operation passes on in silence. */
#ifndef NETC_ELAB_H
#define NETC_ELAB_H

#include "frontend/frontend.h"
#include "frontend/train.h"
#include "ops/ops.h"

typedef struct Val Val;
typedef struct Global Global;
typedef struct ModuleEnv ModuleEnv;
typedef struct Layer Layer;
typedef struct Scope Scope;
typedef struct Elab Elab;

/* ---- value.c */
typedef enum ValKind {
    V_POISON, V_NONE, V_BOOL, V_INT, V_FLOAT, V_STR, V_DTYPE, V_LIST, V_TENSOR, V_LAYER, V_MODULE
} ValKind;
struct Val {
    ValKind kind;
    bool lead;                                            /* V_LIST: may stand for its first item: y = lstm(x, 4) */
    /* V_LIST: levels of lists, its own one too; at most MAX_LIST_DEPTH */
    uint8_t depth;
    uint32_t n;                                           /* V_LIST */
    /* V_LIST: items in all, those of inner lists each time they occur */
    uint32_t weight;
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;                                    /* interned */
        DType dtype;
        Val *items;
        Value *tensor;
        Layer *layer;
        ModuleEnv *module;
    };
};
Val v_poison(void), v_none(void), v_bool(bool), v_int(int64_t), v_float(double), v_str(const char *interned),
    v_dtype(DType), v_tensor(Value *);
Val v_list(Val *items, uint32_t n);                       /* keeps items, which are the arena's */
/* false after a diagnostic: too deep or too long to walk; *list is poison then */
bool list_fits(Elab *, Val *list, Span at);
Val v_first(Val);                                         /* a list with lead becomes its first item */
bool val_is_number(Val);                                  /* int or float */
bool val_has_tensor(Val);                                 /* a tensor, or a list with one in it */
bool val_has_poison(Val);
bool val_equal(Val, Val);                                 /* of compile-time values; 1 == 1.0 */
Datum val_datum(Elab *, Val);                             /* of anything but layers and modules */
Val val_from_datum(Elab *, const Datum *);
/* "the int 3", "a tensor f32[2, 3]": for messages; scratch memory */
const char *val_text(Elab *, Val);
void val_print(StrBuf *, Val);                            /* "3", as interpolation shows it */
const char *article(const char *noun);                    /* "a" or "an" */

/* ---- scopes: one per body being elaborated. Names live as long as their body: loops and branches bind in it. */
typedef struct Binding {
    const char *name;
    Val v;
    Span span;
    /* the layer, param or buffer statement; NULL: an assignment */
    const Stmt *decl;
    bool hidden;                                          /* a loop's variable after its loop */
} Binding;
typedef struct Counter { const char *name; uint32_t n; } Counter;
typedef VEC(Counter) Counters;

/* The call of a block through a layer: what it stores may be stored again by the layer's next call. */
typedef struct SharedCall {
    const struct SharedCall *outer;
    const Layer *layer;
    uint64_t call;                                        /* serial number */
    uint32_t depth;
} SharedCall;
/* Where a body's stored tensors get their names: prefix + segment + "." + the operator's name for it. */
typedef struct Keys {
    const char *prefix;                                   /* "" or "layer1.0." */
    Counters counters;                                    /* of calls without a name, by what is called */
    const SharedCall *shared;
} Keys;

struct Scope {
    ModuleEnv *module;
    const Decl *decl;
    Scope *caller;
    const char *path;                                     /* elaboration path: "resnet18/basic#3" */
    Keys *keys;
    VEC(Binding *) names;
    NameMap *index;                                       /* of names, once they are many */
    Counters counters;                                    /* of calls, by what is called */
    bool returned;
    VEC(Val) results;
    VEC(Span) result_spans;                               /* parallel to results: their expressions */
    const Exprs *result_exprs;                            /* of the return; fewer than results when one gave several */
};
Binding *scope_find(const Scope *, const char *name);     /* NULL if not bound */
Binding *scope_bind(Elab *, Scope *, Ident, Val, const Stmt *decl);
uint32_t count_up(Arena *, Counters *, const char *name); /* 1 for the first */

/* ---- the module level */
typedef enum GlobalKind { G_DIM, G_CONST, G_BLOCK, G_NET, G_MODULE } GlobalKind;
struct Global {
    GlobalKind kind;
    const char *name;
    Span span;
    ModuleEnv *home;                                      /* where it is declared */
    const Decl *decl;
    const DimNode *dim;
    ModuleEnv *module;                                    /* G_MODULE */
    enum { UNEVALUATED, EVALUATING, EVALUATED } state;
    Val value;                                            /* G_DIM, G_CONST once evaluated */
    bool read;                                            /* by check.c */
};
struct ModuleEnv {
    const Module *ast;
    NameMap *globals;                                     /* name -> Global */
    NameMap *own;                                         /* those declared here, in their order */
};
typedef struct ArgVal {                                   /* an evaluated argument */
    Ident name;                                           /* name.name NULL: positional */
    Val v, from;                                          /* from: V_POISON unless "from -> v" */
    Span span, from_span;                                 /* span: of the value */
    bool has_from;
} ArgVal;
typedef struct ArgVals { ArgVal *p; uint32_t n; } ArgVals;

typedef enum CalleeKind { C_NOTHING, C_OP, C_BLOCK, C_LAYER, C_FUNCTION } CalleeKind;
typedef struct Callee {
    CalleeKind kind;
    const char *name;
    Span span;                                            /* of the name */
    const OpInfo *op;
    const Global *block;
    Layer *layer;
    /* C_OP: a function of numbers too, when no argument is a tensor */
    bool also_function;
} Callee;
struct Layer {
    const char *name;
    Span span;                                            /* of its stage */
    Callee callee;
    ArgVals args;                                         /* those of the stage, without name= and inplace= */
    InplaceWish inplace;
    const char *prefix;                                   /* of its stored tensors, with the final dot unless empty */
    const SharedCall *shared;
    uint64_t serial;
    uint64_t ncalls;
};
/* A stored tensor that has a name, and who claimed it last. */
typedef struct KeyClaim {
    Value *value;
    uint64_t serial;                                      /* of the call or layer */
    const SharedCall *shared;
    Span span, site;                                      /* of the stage, and of the call that made it */
} KeyClaim;

struct Elab {
    Ctx *ctx;
    Arena *arena;                                         /* ctx->unit */
    Graph *g;
    ElabOptions *options;
    ModuleEnv *root;
    NameMap *modules;                                     /* path of a Source -> ModuleEnv */
    Scope *scope;
    NameMap *claims;                                      /* key -> KeyClaim */
    VEC(ArgVal) args;                                     /* a stack: those of calls being evaluated */
    uint64_t serials;
    uint64_t steps;                                       /* statements elaborated */
    uint32_t depth;                                       /* of nested expressions and bodies */
    uint32_t checkpoint, ncheckpoints;
    bool stopped;                                         /* a limit was met: say no more */
};
enum { MAX_DEPTH = 2000, MAX_BLOCK_DEPTH = 200, MAX_TEXT = 1 << 16, MAX_LIST_DEPTH = 64 };

Global *module_find(ModuleEnv *, const char *name);
Val global_value(Elab *, Global *);                       /* evaluates a dim or const on first use */
/* An error with a suggestion among what is in scope, the names of `more` too (NULL: none). */
void unknown_name(Elab *, const Scope *, ModuleEnv *, DiagCode, Ident, const NameMap *more);
/* -D name=...: true when there is one; *v poison if malformed */
bool setting_of(Elab *, const char *name, Val like, Span, Val *);
void record_dim(Elab *, const char *name, Val, bool is_bound, Span);             /* in Graph.dims */

Graph *elaborate_net(Elab *, const Global *net);           /* elab.c: into a graph of its own */

/* annot.c */
enum { ON_NET = 1, ON_BLOCK = 2, ON_LOOP = 4, ON_BINDING = 8, ON_RETURN = 16, ON_OTHER = 32 };
void check_annotations(Elab *, const Annots *, unsigned place);
bool has_annot(const Annots *, const char *name);

/* Mistakes that check.c finds in all code and elaboration in the code it reaches: said in one place, printed once. */
void unknown_callable(Elab *, const Scope *, ModuleEnv *, Ident, const NameMap *layers);    /* call.c */
void check_op_keyword(Elab *, const OpInfo *, Ident);     /* signature.c: an error if there is no such argument */
void check_block_keyword(Elab *, const Decl *, Ident);    /* block.c */
void too_many_arguments(Elab *, const Decl *, Span);      /* block.c */
void missing_argument(Elab *, const Decl *, const ParamNode *, Span site);       /* block.c */
void names_and_values_differ(Elab *, Span, size_t names, size_t values);         /* stmt.c */
bool is_initialiser(const char *name);                    /* stored.c */

/* check.c */
void check_module(Elab *, ModuleEnv *);
void check_train_body(Elab *, ModuleEnv *, Decl *train, const Decl *net, const char *const *keys, size_t nkeys);
const Stmt *body_binder(const Decl *, const char *name);  /* some statement of the body that binds it, or NULL */
/* eval.c */
Val eval(Elab *, const Expr *);
Val eval_first(Elab *, const Expr *);                     /* v_first of it */
bool eval_int(Elab *, const Expr *, const char *what, int64_t *);
bool eval_condition(Elab *, const Expr *, bool *);
Val eval_binary(Elab *, AstOp, Span span, Span op_span, Val a, Span a_span, Val b, Span b_span, InplaceWish);
/* number.c */
Val number_binary(Elab *, AstOp, Span op_span, Val a, Val b);                    /* of compile-time values */
Val number_unary(Elab *, AstOp, Span op_span, Val a);
bool is_function(const char *name);                       /* range, len, min, ... */
const char *const *function_names(size_t *n);
Val call_function(Elab *, const Callee *, Span span, ArgVals);
/* index.c */
Val eval_subscript(Elab *, const Expr *);
/* text.c */
/* an EX_STR with its "{...}" replaced; interned; NULL after a diagnostic */
const char *text_eval(Elab *, const Expr *);
/* Finds the parts of a string with braces, literals and expressions in turn, and keeps them in its items; false after a
 * diagnostic. check.c asks for each string of the program, once. */
bool text_split(Ctx *, Expr *);
/* layer.c */
void declare_layer(Elab *, const Stmt *);
Val call_layer(Elab *, Layer *, Span site, ArgVals);
Val layer_member(Elab *, const Expr *, const Layer *);
/* stored.c: the keys of stored tensors */
Val claim_stored(Elab *, const char *key, Role, const Type *, Init, Span, Span site, uint64_t serial,
                 const SharedCall *);
void declare_stored(Elab *, const Stmt *);                /* a param or buffer statement */
Value *stored_tensor(Call *, const char *name, Role, const Type *, Init);        /* Call.stored */
/* signature.c */
bool bind_signature(Elab *, Call *, ArgVals);             /* fills call->args; false after a diagnostic */
/* call.c */
bool resolve_stage(Elab *, const Expr *name, Callee *);   /* EX_NAME or EX_MEMBER; false after a diagnostic */
Val eval_call(Elab *, const Expr *);
Val call_stage(Elab *, const Expr *stage, Val first, Span first_span);           /* first |> stage */
/* What a call is to the frontend: passed through Call.frontend to the service that gives out stored tensors. */
typedef struct Instance {
    Elab *e;
    Keys *keys;                                           /* of the body; unused for a layer */
    const char *segment;                                  /* "" adds nothing */
    const char *prefix;                                   /* a layer's; NULL: keys->prefix + segment */
    const SharedCall *shared;
    uint64_t serial;
    Span span, site;                                      /* of the stage; of the call */
} Instance;
/* name= and inplace=, which every callee understands, are taken out of the arguments. */
typedef struct Common { const char *name; Span name_span; bool has_name; InplaceWish inplace; } Common;
bool take_common(Elab *, ArgVals *, bool inplace_too, Common *);                 /* false after a diagnostic */
Val call_op_with(Elab *, const OpInfo *, Span, Span site, ArgVals, InplaceWish, Instance *);
bool args_poisoned(ArgVals);
ArgVals args_copy(Elab *, ArgVals);                       /* off the stack */
const char *block_path(Elab *, const char *name);
/* all arguments, in the order of the signature */
Val op_direct(Elab *, OpKind, Span, const Val *args, const Span *arg_spans, InplaceWish);
ArgVals eval_args(Elab *, const ArgNodes *, bool has_first, Val first, Span first_span);    /* on the stack: pop_args */
void pop_args(Elab *, ArgVals);
/* block.c */
Val call_block(Elab *, const Global *, Span site, ArgVals, Keys *, const char *path);
/* types.c */
/* How a written type is held against a value. */
typedef struct TypeUse {
    /* DIAG_SHAPE_MISMATCH: rank and dtype have codes of their own */
    DiagCode code;
    const char *what;                                     /* "argument x of b", "the result y" */
    Span at, declared;
    /* a bare name is a pattern, bound in the scope on first use */
    bool binds;
    bool lenient;                                         /* NAME=expr takes what comes: a net called as a block */
} TypeUse;
bool is_scalar_type(const TypeNode *);                    /* int, float, bool, str, dtype */
/* an int becomes a float where one is wanted */
bool check_scalar_type(Elab *, const TypeNode *, Val *, const TypeUse *);
bool written_dtype(Elab *, const TypeNode *, DType *);
bool match_names(Elab *, const TypeNode *, const Value *, const TypeUse *);      /* dtype, rank, patterns */
bool match_exact(Elab *, const TypeNode *, const Value *, const TypeUse *);      /* axes that are expressions */
/* all of it, nothing bound: annotations and results */
bool match_type(Elab *, const TypeNode *, Val *, const TypeUse *);
/* A type of which every axis is known: inputs, stored tensors. NAME=expr declares a dim; -D sets it if `settable`. */
bool known_type(Elab *, const TypeNode *, const char *what, bool settable, Type *);
/* stmt.c */
void exec_body(Elab *, const Stmts *);
void bind_target(Elab *, Ident, Val);
/* train.c */
bool train_key(const char *name);                         /* loss, optimizer, ... */
/* optimizer = ..., but not loss = ..., which is an ordinary value */
bool train_key_stmt(const Stmt *);
bool is_optimizer_call(const Expr *);                     /* optimizer.c: sgd(...): under a misspelt key too */
void check_train_names(Elab *, ModuleEnv *, Decl *);
/* the chosen net is elaborated already */
void check_trains(Elab *, ModuleEnv *, const Global *chosen, Graph *);

#endif
