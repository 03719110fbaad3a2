/* ast.h - the program as it was written. Made by grammar/net.y through ast_*() only; no names are resolved and nothing is
 * checked here. Every node carries the span of its text; all memory is Ctx.unit. */
#ifndef NETC_AST_H
#define NETC_AST_H

#include "base/base.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct Decl Decl;

typedef struct Ident { const char *name; Span span; } Ident;                     /* interned */
typedef VEC(Ident) Idents;

typedef enum ExprKind {
    EX_NAME, EX_INT, EX_FLOAT, EX_SIZE, EX_STR, EX_BOOL, EX_NONE,
    EX_TUPLE, EX_LIST,                                    /* items */
    EX_MEMBER,                                            /* lhs . name */
    EX_CALL,                                              /* lhs ( args ) */
    EX_INDEX,                                             /* lhs [ indices ] */
    EX_PIPE,                                              /* lhs |> stage (rhs: EX_NAME, EX_MEMBER or EX_CALL); the one chain
                                                           * of any length: walk down lhs in a loop, never by recursion */
    EX_UNARY, EX_BINARY,                                  /* op; lhs; rhs */
    EX_COND,                                              /* lhs if cond else rhs */
    EX_ARROW                                              /* lhs -> rhs, only as an argument */
} ExprKind;
typedef enum AstOp {
    AO_OR, AO_AND, AO_NOT, AO_EQ, AO_NE, AO_LT, AO_LE, AO_GT, AO_GE, AO_ADD, AO_SUB, AO_MUL, AO_DIV, AO_FLOORDIV, AO_MOD,
    AO_MATMUL, AO_NEG, AO_POS, AO_POW
} AstOp;
typedef struct ArgNode { Ident name; Expr *value; Span span; } ArgNode;          /* name.name NULL: positional */
typedef VEC(ArgNode) ArgNodes;
typedef struct IndexNode {
    enum { IX_AT, IX_RANGE, IX_ELLIPSIS } kind;
    Expr *at, *lo, *hi, *step;                            /* IX_AT: at; IX_RANGE: each may be NULL */
    Span span;
} IndexNode;
struct Expr {
    ExprKind kind;
    Span span;
    AstOp op;
    Span op_span;                                         /* of the operator sign or of the member's name */
    Expr *lhs, *rhs, *cond;
    const char *name;                                     /* EX_NAME, EX_MEMBER (interned) */
    const char *str;                                      /* EX_STR: unescaped, interned */
    int64_t i;                                            /* EX_INT, EX_SIZE (bytes) */
    double f;
    bool b;
    VEC(Expr *) items;                                    /* EX_TUPLE, EX_LIST; of an EX_STR with "{...}": its parts (frontend/text.c) */
    ArgNodes args;
    VEC(IndexNode) indices;
    uint32_t depth;                                       /* height of this tree, a pipe chain counting once: <= AST_MAX_DEPTH,
                                                           * so that recursion over expressions is bounded */
};
enum { AST_MAX_DEPTH = 1000, AST_MAX_NESTING = 256 };     /* of an expression; of brackets and blocks */
typedef VEC(Expr *) Exprs;

typedef struct AxisNode {                                 /* in a shape: expr, NAME=expr, or ... */
    Ident name;                                           /* NAME=expr; name.name NULL otherwise */
    Expr *expr;
    bool ellipsis;
    Span span;
} AxisNode;
typedef struct TypeNode {
    Ident dtype;                                          /* f32, int, str ...; name NULL: shape alone */
    bool has_shape;
    VEC(AxisNode) axes;
    Span span;
} TypeNode;

typedef struct ParamNode { Ident name; TypeNode *type; Expr *dflt; Span span; const char *doc; } ParamNode;
typedef VEC(ParamNode) ParamNodes;
typedef struct ResultNode { Ident name; TypeNode *type; Span span; const char *doc; } ResultNode;
typedef VEC(ResultNode) ResultNodes;
typedef struct Annot { Ident name; ArgNodes args; bool has_args; Span span; } Annot;
typedef VEC(Annot) Annots;
typedef VEC(Stmt *) Stmts;

typedef enum StmtKind {
    ST_ASSIGN,                                            /* targets = values */
    ST_TYPED,                                             /* target : type = value */
    ST_AUGMENT,                                           /* target op= value */
    ST_LAYER, ST_PARAM, ST_BUFFER, ST_RETURN, ST_ASSERT, ST_FOR, ST_REPEAT, ST_IF
} StmtKind;
struct Stmt {
    StmtKind kind;
    Span span;
    Annots annots;
    Idents targets;                                       /* ASSIGN, FOR; one for TYPED, AUGMENT, LAYER, PARAM, BUFFER */
    Exprs values;                                         /* ASSIGN, RETURN; one for the others that have a value */
    TypeNode *type;                                       /* TYPED, PARAM, BUFFER */
    AstOp op;                                             /* AUGMENT */
    Expr *cond;                                           /* ASSERT, IF, REPEAT's count, FOR's sequence, LAYER's stage */
    Expr *message;                                        /* ASSERT: EX_STR or NULL */
    Stmts body, orelse;                                   /* FOR, REPEAT, IF; `else if` is an IF alone in orelse */
    bool has_else;
};

typedef enum DeclKind { DE_IMPORT, DE_FROM, DE_DIM, DE_CONST, DE_NET, DE_BLOCK, DE_TRAIN } DeclKind;
typedef struct ImportItem { Ident name, as; } ImportItem;
typedef struct DimNode { Ident name; Expr *value; bool is_bound; Span span; } DimNode;   /* value NULL: must be given */
struct Decl {
    DeclKind kind;
    Span span;
    Annots annots;
    const char *doc;                                      /* the ## lines before it, or NULL */
    Ident name;                                           /* CONST, NET, BLOCK, TRAIN; IMPORT's `as` */
    Ident path;                                           /* IMPORT, FROM: the string */
    VEC(ImportItem) items;                                /* FROM */
    VEC(DimNode) dims;
    Expr *value;                                          /* CONST */
    ParamNodes params;
    ResultNodes results;
    bool results_named;                                   /* -> (y: f32[..], ..) rather than -> f32[..] */
    Stmts body;
    Span end;                                             /* the closing brace */
};

typedef struct Module {                                   /* one file */
    uint32_t file;
    VEC(Decl *) decls;
    VEC(struct Module *) imports;                         /* parallel to the IMPORT and FROM decls, in their order; NULL after an error */
    bool failed;                                          /* it had syntax errors */
} Module;

/* ast.c - constructors, one per node kind, used by the grammar's actions (see there) */
Expr *ast_expr(Ctx *, ExprKind, Span);
Stmt *ast_stmt(Ctx *, StmtKind, Span);
Decl *ast_decl(Ctx *, DeclKind, Span);
Expr *ast_name(Ctx *, Ident);
Expr *ast_member(Ctx *, Expr *lhs, Ident name);
Expr *ast_call(Ctx *, Expr *callee, ArgNodes, Span);
Expr *ast_pipe(Ctx *, Expr *lhs, Expr *stage);
Expr *ast_unary(Ctx *, AstOp, Span op, Expr *);
Expr *ast_binary(Ctx *, AstOp, Span op, Expr *lhs, Expr *rhs);
Expr *ast_cond(Ctx *, Expr *then, Expr *cond, Expr *other);
Expr *ast_arrow(Ctx *, Expr *from, Span op, Expr *to);
Expr *ast_items(Ctx *, ExprKind, Exprs, Span);            /* EX_TUPLE, EX_LIST */
void ast_add_index(Ctx *, Expr *, IndexNode);             /* to an EX_INDEX */
const char *ast_op_text(AstOp);                           /* "+", "and" */

/* parse.c - one file to a module; syntax errors are diagnostics, and a module always comes back (maybe failed) */
Module *parse_file(Ctx *, uint32_t file);
/* The expression that these bytes of a source are, as in "{D // 2}" inside a string; NULL after diagnostics. */
Expr *parse_expr(Ctx *, Span);

/* import.c - parses the root file and everything it imports; paths are looked up beside the importing file, then in the
 * import path. Each file is parsed once; cycles and unreadable files are diagnostics at the import. NULL only if the root cannot be read. */
typedef struct ImportPath { const char *const *dirs; size_t n; } ImportPath;
Module *import_all(Ctx *, uint32_t root, ImportPath);

/* astprint.c - `--emit=ast`: the tree as S-expressions, one statement a line */
void ast_print(StrBuf *, const Module *);

#endif
