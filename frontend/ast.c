/* ast.c - constructors of the tree: one per node kind whose parts must agree, so that the grammar's actions stay one
 * call each. Each sets the node's span and its depth, the height of its tree, which the parser caps. A pipe chain
 * counts as one level however long it is: it grows to the left and its consumers walk it in a loop. */
#include "frontend/ast.h"

static uint32_t deeper(uint32_t depth, const Expr *child) {
    return child && child->depth >= depth ? child->depth + 1 : depth;
}

Expr *ast_expr(Ctx *ctx, ExprKind kind, Span span) {
    Expr *e = NEW(ctx->unit, Expr);
    e->kind = kind;
    e->span = span;
    e->depth = 1;
    return e;
}

Stmt *ast_stmt(Ctx *ctx, StmtKind kind, Span span) {
    Stmt *s = NEW(ctx->unit, Stmt);
    s->kind = kind;
    s->span = span;
    return s;
}

Decl *ast_decl(Ctx *ctx, DeclKind kind, Span span) {
    Decl *d = NEW(ctx->unit, Decl);
    d->kind = kind;
    d->span = span;
    return d;
}

Expr *ast_name(Ctx *ctx, Ident name) {
    Expr *e = ast_expr(ctx, EX_NAME, name.span);
    e->name = name.name;
    return e;
}

Expr *ast_member(Ctx *ctx, Expr *lhs, Ident name) {
    Expr *e = ast_expr(ctx, EX_MEMBER, span_join(lhs->span, name.span));
    e->lhs = lhs;
    e->name = name.name;
    e->op_span = name.span;
    e->depth = deeper(1, lhs);
    return e;
}

Expr *ast_call(Ctx *ctx, Expr *callee, ArgNodes args, Span span) {
    Expr *e = ast_expr(ctx, EX_CALL, span);
    e->lhs = callee;
    e->args = args;
    e->depth = deeper(1, callee);
    for (size_t i = 0; i < args.n; i++) e->depth = deeper(e->depth, args.p[i].value);
    return e;
}

Expr *ast_pipe(Ctx *ctx, Expr *lhs, Expr *stage) {
    Expr *e = ast_expr(ctx, EX_PIPE, span_join(lhs->span, stage->span));
    e->lhs = lhs;
    e->rhs = stage;
    e->depth = lhs->kind == EX_PIPE ? lhs->depth : lhs->depth + 1;
    e->depth = deeper(e->depth, stage);
    return e;
}

Expr *ast_unary(Ctx *ctx, AstOp op, Span op_span, Expr *operand) {
    Expr *e = ast_expr(ctx, EX_UNARY, span_join(op_span, operand->span));
    e->op = op;
    e->op_span = op_span;
    e->lhs = operand;
    e->depth = deeper(1, operand);
    return e;
}

Expr *ast_binary(Ctx *ctx, AstOp op, Span op_span, Expr *lhs, Expr *rhs) {
    Expr *e = ast_expr(ctx, EX_BINARY, span_join(lhs->span, rhs->span));
    e->op = op;
    e->op_span = op_span;
    e->lhs = lhs;
    e->rhs = rhs;
    e->depth = deeper(deeper(1, lhs), rhs);
    return e;
}

Expr *ast_cond(Ctx *ctx, Expr *then, Expr *cond, Expr *other) {
    Expr *e = ast_expr(ctx, EX_COND, span_join(then->span, other->span));
    e->lhs = then;
    e->cond = cond;
    e->rhs = other;
    e->depth = deeper(deeper(deeper(1, then), cond), other);
    return e;
}

Expr *ast_arrow(Ctx *ctx, Expr *from, Span op, Expr *to) {
    Expr *e = ast_expr(ctx, EX_ARROW, span_join(from->span, to->span));
    e->lhs = from;
    e->rhs = to;
    e->op_span = op;
    e->depth = deeper(deeper(1, from), to);
    return e;
}

Expr *ast_items(Ctx *ctx, ExprKind kind, Exprs items, Span span) {
    Expr *e = ast_expr(ctx, kind, span);
    e->items.p = items.p;
    e->items.n = items.n;
    e->items.cap = items.cap;
    for (size_t i = 0; i < items.n; i++) e->depth = deeper(e->depth, items.p[i]);
    return e;
}

void ast_add_index(Ctx *ctx, Expr *e, IndexNode index) {
    if (!e->indices.cap) e->indices.p = NEW(ctx->unit, IndexNode), e->indices.cap = 1;    /* most have one */
    vec_push(ctx->unit, &e->indices, index);
    e->depth = deeper(deeper(deeper(deeper(e->depth, index.at), index.lo), index.hi), index.step);
}

const char *ast_op_text(AstOp op) {
    static const char *const text[] = {
        [AO_OR] = "or", [AO_AND] = "and", [AO_NOT] = "not", [AO_EQ] = "==", [AO_NE] = "!=", [AO_LT] = "<",
        [AO_LE] = "<=", [AO_GT] = ">", [AO_GE] = ">=", [AO_ADD] = "+", [AO_SUB] = "-", [AO_MUL] = "*", [AO_DIV] = "/",
        [AO_FLOORDIV] = "//", [AO_MOD] = "%", [AO_MATMUL] = "@", [AO_NEG] = "-", [AO_POS] = "+", [AO_POW] = "**",
    };
    return text[op];
}
