/* eval.c - expressions: compile-time arithmetic where the operands are numbers, operators of the graph where one is a
 * tensor.
 *
 * A tree walk. Its recursion is bounded: the parser caps the depth of an expression, MAX_DEPTH that of expressions and
 * bodies together; pipes, which may be of any length, are walked in a loop. */
#include "frontend/elab.h"

#include <math.h>

/* ---- names */

static Val not_a_value(Elab *e, Span at, const char *name, const char *what) {
    Diag *d = diag(e->ctx, DIAG_OPERAND_TYPE, at, "%s is %s %s, not a value", name, article(what), what);
    diag_help(e->ctx, d, "call it: %s(x), or x |> %s", name, name);
    return v_poison();
}

static Val unbound(Elab *e, const Expr *x) {
    const Scope *s = e->scope;
    const Stmt *binder = s != NULL && s->decl != NULL ? body_binder(s->decl, x->name) : NULL;
    if (binder != NULL) {
        Diag *d = diag(e->ctx, DIAG_UNKNOWN_NAME, x->span, "'%s' has no value here", x->name);
        diag_note(e->ctx, d, binder->targets.p[0].span, binder->kind == ST_FOR ? "it is bound only inside this loop"
                                                        : "it is bound here, in code that was not elaborated before");
    } else {
        unknown_name(e, s, s != NULL ? s->module : e->root, DIAG_UNKNOWN_NAME, (Ident){x->name, x->span}, NULL);
    }
    return v_poison();
}

static Val global_as_value(Elab *e, Global *g, Span at) {
    switch (g->kind) {
    case G_DIM: case G_CONST: return global_value(e, g);
    case G_MODULE: return (Val){.kind = V_MODULE, .module = g->module};
    case G_BLOCK: return not_a_value(e, at, g->name, "block");
    case G_NET: return not_a_value(e, at, g->name, "net");
    }
    return v_poison();
}

static Val eval_name(Elab *e, const Expr *x) {
    const Binding *b = scope_find(e->scope, x->name);
    if (b != NULL)
        return b->v;
    Global *g = module_find(e->scope != NULL ? e->scope->module : e->root, x->name);
    if (g != NULL)
        return global_as_value(e, g, x->span);
    DType dtype;
    if (dtype_by_name(x->name, &dtype))
        return v_dtype(dtype);
    if (x->name == name_of(e->ctx, "inf"))
        return v_float(INFINITY);
    if (op_info_by_name(x->name) != NULL)
        return not_a_value(e, x->span, x->name, "operator");
    return unbound(e, x);
}

/* ---- members */

static Val unknown_member(Elab *e, const Expr *x, const char *of, const char *const *members, size_t n) {
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_MEMBER, x->op_span, "%s has no member '%s'", of, x->name);
    diag_suggest(e->ctx, d, x->name, members, n);
    return v_poison();
}

static Val tensor_member(Elab *e, const Expr *x, const Value *t) {
    static const char *const members[] = {"shape", "ndim", "dtype"};
    const Shape *shape = &t->type.shape;
    if (x->name == name_of(e->ctx, "ndim"))
        return v_int(shape->rank);
    if (x->name == name_of(e->ctx, "dtype"))
        return v_dtype(t->type.dtype);
    if (x->name != name_of(e->ctx, "shape"))
        return unknown_member(e, x, "a tensor", members, COUNT_OF(members));
    Val *dims = NEW_ARRAY(e->arena, Val, MAX_RANK);
    for (unsigned i = 0; i < shape->rank; i++)
        dims[i] = v_int((int64_t)shape->dim[i]);
    return v_list(dims, shape->rank);
}

static Val module_member(Elab *e, const Expr *x, ModuleEnv *m) {
    Global *g = namemap_get(m->own, x->name);
    if (g != NULL)
        return global_as_value(e, g, x->span);
    size_t n = namemap_count(m->own);
    const char **names = NEW_ARRAY(e->ctx->scratch, const char *, n > 0 ? n : 1);
    for (size_t i = 0; i < n; i++)
        names[i] = namemap_key(m->own, i);
    return unknown_member(e, x, "the module", names, n);
}

static Val eval_member(Elab *e, const Expr *x) {
    Val v = eval_first(e, x->lhs);
    switch (v.kind) {
    case V_POISON: return v;
    case V_TENSOR: return tensor_member(e, x, v.tensor);
    case V_LAYER: return layer_member(e, x, v.layer);
    case V_MODULE: return module_member(e, x, v.module);
    case V_NONE: case V_BOOL: case V_INT: case V_FLOAT: case V_STR: case V_DTYPE: case V_LIST: break;
    }
    diag(e->ctx, DIAG_UNKNOWN_MEMBER, x->op_span, "%s has no member '%s'", val_text(e, v), x->name);
    return v_poison();
}

/* ---- operators */

static OpKind op_of_sign(AstOp op) {
    switch (op) {
    case AO_OR: return OP_LOGICAL_OR;
    case AO_AND: return OP_LOGICAL_AND;
    case AO_NOT: return OP_LOGICAL_NOT;
    case AO_EQ: return OP_EQ;
    case AO_NE: return OP_NE;
    case AO_LT: return OP_LT;
    case AO_LE: return OP_LE;
    case AO_GT: return OP_GT;
    case AO_GE: return OP_GE;
    case AO_ADD: return OP_ADD;
    case AO_SUB: return OP_SUB;
    case AO_MUL: return OP_MUL;
    case AO_DIV: return OP_DIV;
    case AO_FLOORDIV: return OP_FLOOR_DIV;
    case AO_MOD: return OP_REMAINDER;
    case AO_MATMUL: return OP_MATMUL;
    case AO_NEG: return OP_NEG;
    case AO_POW: return OP_POW;
    case AO_POS: break;
    }
    ice("the sign %s makes no operator", ast_op_text(op));
}

/* May v stand beside a tensor? matmul takes tensors alone. */
static bool may_be_operand(AstOp op, Val v) {
    return v.kind == V_TENSOR || (op != AO_MATMUL && (val_is_number(v) || v.kind == V_BOOL));
}

static bool wrong_side(Elab *e, AstOp op, Span at, Val v) {
    if (v.kind == V_POISON)
        return true;
    if (may_be_operand(op, v))
        return false;
    diag(e->ctx, DIAG_OPERAND_TYPE, at, "%s stands beside a tensor, but cannot be an operand of %s", val_text(e, v),
         ast_op_text(op));
    return true;
}

Val eval_binary(Elab *e, AstOp op, Span span, Span op_span, Val a, Span a_span, Val b, Span b_span, InplaceWish wish) {
    a = v_first(a);
    b = v_first(b);
    if (a.kind == V_POISON || b.kind == V_POISON)
        return v_poison();
    if (a.kind != V_TENSOR && b.kind != V_TENSOR)
        return number_binary(e, op, op_span, a, b);
    if (wrong_side(e, op, a_span, a) || wrong_side(e, op, b_span, b))
        return v_poison();
    return op_direct(e, op_of_sign(op), span, (Val[]){a, b}, (Span[]){a_span, b_span}, wish);
}

/* and, or: of compile-time truth values the second is asked only if the first does not decide. */
static Val eval_logical(Elab *e, const Expr *x) {
    Val a = eval_first(e, x->lhs);
    if (a.kind == V_BOOL && a.b == (x->op == AO_OR))
        return a;
    Val b = eval_first(e, x->rhs);
    if (a.kind == V_POISON || b.kind == V_POISON)
        return v_poison();
    if (a.kind == V_BOOL && b.kind == V_BOOL)
        return b;
    if (a.kind == V_TENSOR || b.kind == V_TENSOR)
        return eval_binary(e, x->op, x->span, x->op_span, a, x->lhs->span, b, x->rhs->span, INPLACE_AUTO);
    diag(e->ctx, DIAG_OPERAND_TYPE, x->op_span, "%s cannot be applied to %s and %s", ast_op_text(x->op),
         val_text(e, a), val_text(e, b));
    return v_poison();
}

static Val eval_two_sides(Elab *e, const Expr *x) {
    if (x->op == AO_AND || x->op == AO_OR)
        return eval_logical(e, x);
    Val a = eval(e, x->lhs), b = eval(e, x->rhs);
    return eval_binary(e, x->op, x->span, x->op_span, a, x->lhs->span, b, x->rhs->span, INPLACE_AUTO);
}

static Val eval_unary(Elab *e, const Expr *x) {
    Val a = eval_first(e, x->lhs);
    if (a.kind != V_TENSOR)
        return number_unary(e, x->op, x->op_span, a);
    return x->op == AO_POS ? a : op_direct(e, op_of_sign(x->op), x->span, &a, &x->lhs->span, INPLACE_AUTO);
}

/* ---- the rest */

bool eval_condition(Elab *e, const Expr *x, bool *truth) {
    Val v = eval_first(e, x);
    *truth = v.kind == V_BOOL && v.b;
    if (v.kind == V_BOOL)
        return true;
    if (v.kind == V_TENSOR) {
        Diag *d = diag(e->ctx, DIAG_NOT_CONSTANT, x->span, "a condition must be known at compile time, not %s",
                       val_text(e, v));
        diag_help(e->ctx, d, "where(condition, a, b) chooses by the elements of a tensor");
    } else if (v.kind != V_POISON) {
        diag(e->ctx, DIAG_OPERAND_TYPE, x->span, "a condition is true or false, not %s", val_text(e, v));
    }
    return false;
}

bool eval_int(Elab *e, const Expr *x, const char *what, int64_t *r) {
    Val v = eval_first(e, x);
    *r = v.kind == V_INT ? v.i : 0;
    if (v.kind == V_INT)
        return true;
    if (v.kind != V_POISON)
        diag(e->ctx, v.kind == V_TENSOR ? DIAG_NOT_CONSTANT : DIAG_ARGUMENT_TYPE, x->span, "%s must be an int, not %s",
             what, val_text(e, v));
    return false;
}

static Val eval_cond(Elab *e, const Expr *x) {
    bool truth;
    if (!eval_condition(e, x->cond, &truth))
        return v_poison();
    return eval(e, truth ? x->lhs : x->rhs);
}

static Val eval_list(Elab *e, const Expr *x) {
    Val *items = NEW_ARRAY(e->arena, Val, x->items.n > 0 ? x->items.n : 1);
    for (size_t i = 0; i < x->items.n; i++)
        items[i] = eval_first(e, x->items.p[i]);
    Val v = v_list(items, (uint32_t)x->items.n);
    if (val_has_poison(v))
        return v_poison();
    list_fits(e, &v, x->span);
    return v;
}

static Val eval_pipe(Elab *e, const Expr *x) {
    uint32_t n = 0;
    const Expr *base = x;
    for (; base->kind == EX_PIPE; base = base->lhs)
        n++;
    const Expr **stages = NEW_ARRAY(e->ctx->scratch, const Expr *, n);
    for (uint32_t i = n; x->kind == EX_PIPE; x = x->lhs)
        stages[--i] = x->rhs;
    Val v = eval(e, base);
    Span span = base->span;
    for (uint32_t i = 0; i < n && v.kind != V_POISON && !e->stopped; i++) {
        v = call_stage(e, stages[i], v, span);
        span = stages[i]->span;
    }
    return v;
}

static Val eval_node(Elab *e, const Expr *x) {
    switch (x->kind) {
    case EX_NAME: return eval_name(e, x);
    case EX_INT: case EX_SIZE: return v_int(x->i);
    case EX_FLOAT: return v_float(x->f);
    case EX_BOOL: return v_bool(x->b);
    case EX_NONE: return v_none();
    case EX_STR: {
        const char *s = text_eval(e, x);
        return s != NULL ? v_str(s) : v_poison();
    }
    case EX_TUPLE: case EX_LIST: return eval_list(e, x);
    case EX_MEMBER: return eval_member(e, x);
    case EX_CALL: return eval_call(e, x);
    case EX_INDEX: return eval_subscript(e, x);
    case EX_PIPE: return eval_pipe(e, x);
    case EX_UNARY: return eval_unary(e, x);
    case EX_BINARY: return eval_two_sides(e, x);
    case EX_COND: return eval_cond(e, x);
    case EX_ARROW: break;
    }
    diag(e->ctx, DIAG_ARGUMENT_TYPE, x->span,
         "'in -> out' stands only where an operator takes a number of channels or features");
    return v_poison();
}

Val eval(Elab *e, const Expr *x) {
    if (e->stopped)
        return v_poison();
    if (++e->depth > MAX_DEPTH) {
        diag(e->ctx, DIAG_NESTING, x->span, "expressions and blocks are nested deeper than %d levels", (int)MAX_DEPTH);
        e->stopped = true;
    }
    Val v = e->stopped ? v_poison() : eval_node(e, x);
    e->depth--;
    return v;
}

Val eval_first(Elab *e, const Expr *x) {
    return v_first(eval(e, x));
}
