/* astprint.c - `--emit=ast`: the tree as S-expressions, one statement a line, so that precedence and attachment can
 * be read and compared. What the grammar makes is headed by punctuation - (+ a b), (|> x f), (, a b) a tuple, (. f
 * weight), ([] x 1:3), (? then cond else) - so that a list headed by a name is always a call.
 *
 * Recursion is over expressions, statements and nothing else: the parser caps the depth of both; pipe chains, which
 * it does not cap, are walked in a loop. */
#include "frontend/ast.h"

static void put_expr(StrBuf *, const Expr *);

/* ---- expressions ---- */

static void put_string(StrBuf *out, const char *s) {
    sb_putc(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') sb_printf(out, "\\%c", *s);
        else if (*s == '\n') sb_puts(out, "\\n");
        else if (*s == '\t') sb_puts(out, "\\t");
        else sb_putc(out, *s);
    }
    sb_putc(out, '"');
}

/* A float stays one: 1.0, not 1. */
static void put_float(StrBuf *out, double f) {
    size_t beg = out->n;
    sb_double(out, f);
    for (size_t i = beg; i < out->n; i++)
        if (out->p[i] == '.' || out->p[i] == 'e') return;
    sb_puts(out, ".0");
}

static void put_args(StrBuf *out, const ArgNodes *args) {
    for (size_t i = 0; i < args->n; i++) {
        const ArgNode *a = &args->p[i];
        if (a->name.name) sb_printf(out, " (%s= ", a->name.name);
        else sb_putc(out, ' ');
        put_expr(out, a->value);
        if (a->name.name) sb_putc(out, ')');
    }
}

static void put_pipe(StrBuf *out, const Expr *e) {
    Arena *a = out->arena;
    Exprs stages = {0};
    for (; e->kind == EX_PIPE; e = e->lhs) vec_push(a, &stages, e->rhs);
    sb_puts(out, "(|> ");
    put_expr(out, e);
    for (size_t i = stages.n; i-- > 0;) {
        sb_putc(out, ' ');
        put_expr(out, stages.p[i]);
    }
    sb_putc(out, ')');
}

static void put_index(StrBuf *out, const IndexNode *x) {
    if (x->kind == IX_ELLIPSIS) {
        sb_puts(out, "...");
    } else if (x->kind == IX_AT) {
        put_expr(out, x->at);
    } else {
        if (x->lo) put_expr(out, x->lo);
        sb_putc(out, ':');
        if (x->hi) put_expr(out, x->hi);
        if (x->step) sb_putc(out, ':');
        if (x->step) put_expr(out, x->step);
    }
}

/* (head a b c), the absent ones left away. */
static void put_form(StrBuf *out, const char *head, const Expr *a, const Expr *b, const Expr *c) {
    const Expr *parts[] = {a, b, c};
    sb_printf(out, "(%s", head);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (!parts[i]) continue;
        sb_putc(out, ' ');
        put_expr(out, parts[i]);
    }
    sb_putc(out, ')');
}

static void put_items(StrBuf *out, const char *open, const Expr *e, const char *close) {
    sb_puts(out, open);
    for (size_t i = 0; i < e->items.n; i++) {
        if (i) sb_putc(out, ' ');
        put_expr(out, e->items.p[i]);
    }
    sb_puts(out, close);
}

static void put_subscript(StrBuf *out, const Expr *e) {
    sb_puts(out, "([] ");
    put_expr(out, e->lhs);
    for (size_t i = 0; i < e->indices.n; i++) {
        sb_putc(out, ' ');
        put_index(out, &e->indices.p[i]);
    }
    sb_putc(out, ')');
}

static void put_expr(StrBuf *out, const Expr *e) {
    switch (e->kind) {
    case EX_NAME: sb_puts(out, e->name); break;
    case EX_INT: sb_printf(out, "%lld", (long long)e->i); break;
    case EX_SIZE: sb_printf(out, "%lldB", (long long)e->i); break;
    case EX_FLOAT: put_float(out, e->f); break;
    case EX_STR: put_string(out, e->str); break;
    case EX_BOOL: sb_puts(out, e->b ? "true" : "false"); break;
    case EX_NONE: sb_puts(out, "none"); break;
    case EX_TUPLE: put_items(out, "(, ", e, ")"); break;
    case EX_LIST: put_items(out, "[", e, "]"); break;
    case EX_MEMBER: sb_puts(out, "(. "); put_expr(out, e->lhs); sb_printf(out, " %s)", e->name); break;
    case EX_CALL: sb_putc(out, '('); put_expr(out, e->lhs); put_args(out, &e->args); sb_putc(out, ')'); break;
    case EX_INDEX: put_subscript(out, e); break;
    case EX_PIPE: put_pipe(out, e); break;
    case EX_UNARY: put_form(out, ast_op_text(e->op), e->lhs, NULL, NULL); break;
    case EX_BINARY: put_form(out, ast_op_text(e->op), e->lhs, e->rhs, NULL); break;
    case EX_COND: put_form(out, "?", e->lhs, e->cond, e->rhs); break;
    case EX_ARROW: put_form(out, "->", e->lhs, e->rhs, NULL); break;
    }
}

static void put_exprs(StrBuf *out, const Exprs *v) {
    for (size_t i = 0; i < v->n; i++) {
        sb_putc(out, ' ');
        put_expr(out, v->p[i]);
    }
}

static void put_type(StrBuf *out, const TypeNode *t) {
    if (t->dtype.name) sb_puts(out, t->dtype.name);
    if (!t->has_shape) return;
    sb_putc(out, '[');
    for (size_t i = 0; i < t->axes.n; i++) {
        const AxisNode *x = &t->axes.p[i];
        if (i) sb_putc(out, ' ');
        if (x->name.name) sb_printf(out, "%s=", x->name.name);
        if (x->ellipsis) sb_puts(out, "...");
        else put_expr(out, x->expr);
    }
    sb_putc(out, ']');
}

/* ---- statements ---- */

static void indent(StrBuf *out, unsigned depth) {
    sb_putc(out, '\n');
    for (unsigned i = 0; i < depth; i++) sb_puts(out, "  ");
}

static void put_annots(StrBuf *out, const Annots *annots, unsigned depth) {
    for (size_t i = 0; i < annots->n; i++) {
        sb_printf(out, "(@%s", annots->p[i].name.name);
        put_args(out, &annots->p[i].args);
        sb_putc(out, ')');
        indent(out, depth);
    }
}

static void put_names(StrBuf *out, const Idents *names) {
    sb_puts(out, names->n > 1 ? " (" : " ");
    for (size_t i = 0; i < names->n; i++) sb_printf(out, "%s%s", i ? " " : "", names->p[i].name);
    if (names->n > 1) sb_putc(out, ')');
}

static void put_stmt(StrBuf *, const Stmt *, unsigned depth);

static void put_body(StrBuf *out, const Stmts *body, unsigned depth) {
    for (size_t i = 0; i < body->n; i++) {
        indent(out, depth);
        put_stmt(out, body->p[i], depth);
    }
}

/* The text before a statement's body or its end. */
static void put_head(StrBuf *out, const Stmt *s) {
    static const char *const head[] = {
        [ST_ASSIGN] = "=", [ST_TYPED] = ":", [ST_LAYER] = "layer", [ST_PARAM] = "param", [ST_BUFFER] = "buffer",
        [ST_RETURN] = "return", [ST_ASSERT] = "assert", [ST_FOR] = "for", [ST_REPEAT] = "repeat", [ST_IF] = "if",
    };
    if (s->kind == ST_AUGMENT) sb_printf(out, "(%s=", ast_op_text(s->op));
    else sb_printf(out, "(%s", head[s->kind]);
    if (s->targets.n) put_names(out, &s->targets);
    if (s->type) {
        sb_putc(out, ' ');
        put_type(out, s->type);
    }
    put_exprs(out, &s->values);
    if (s->cond) {
        sb_putc(out, ' ');
        put_expr(out, s->cond);
    }
    if (s->message) {
        sb_putc(out, ' ');
        put_expr(out, s->message);
    }
}

static void put_stmt(StrBuf *out, const Stmt *s, unsigned depth) {
    put_annots(out, &s->annots, depth);
    put_head(out, s);
    put_body(out, &s->body, depth + 1);
    if (s->has_else) {
        indent(out, depth);
        sb_puts(out, "else");
        put_body(out, &s->orelse, depth + 1);
    }
    sb_putc(out, ')');
}

/* ---- declarations ---- */

static void put_doc(StrBuf *out, const char *doc, unsigned depth) {
    if (!doc) return;
    sb_puts(out, "(## ");
    put_string(out, doc);
    sb_putc(out, ')');
    indent(out, depth);
}

static void put_params(StrBuf *out, const ParamNodes *params) {
    for (size_t i = 0; i < params->n; i++) {
        const ParamNode *x = &params->p[i];
        indent(out, 2);
        put_doc(out, x->doc, 2);
        sb_printf(out, "(%s", x->name.name);
        if (x->type) {
            sb_putc(out, ' ');
            put_type(out, x->type);
        }
        if (x->dflt) {
            sb_puts(out, " = ");
            put_expr(out, x->dflt);
        }
        sb_putc(out, ')');
    }
}

static void put_results(StrBuf *out, const ResultNodes *results) {
    for (size_t i = 0; i < results->n; i++) {
        const ResultNode *x = &results->p[i];
        indent(out, 2);
        put_doc(out, x->doc, 2);
        sb_puts(out, "(->");
        if (x->name.name) sb_printf(out, " %s", x->name.name);
        sb_putc(out, ' ');
        put_type(out, x->type);
        sb_putc(out, ')');
    }
}

static void put_dims(StrBuf *out, const Decl *d) {
    sb_puts(out, "(dim");
    for (size_t i = 0; i < d->dims.n; i++) {
        const DimNode *x = &d->dims.p[i];
        sb_printf(out, " (%s", x->name.name);
        if (x->value) {
            sb_puts(out, x->is_bound ? " <= " : " = ");
            put_expr(out, x->value);
        }
        sb_putc(out, ')');
    }
    sb_putc(out, ')');
}

static void put_import(StrBuf *out, const Decl *d) {
    sb_puts(out, d->kind == DE_FROM ? "(from " : "(import ");
    put_string(out, d->path.name);
    if (d->name.name) sb_printf(out, " %s", d->name.name);
    for (size_t i = 0; i < d->items.n; i++) {
        const ImportItem *x = &d->items.p[i];
        if (x->as.name) sb_printf(out, " (%s %s)", x->name.name, x->as.name);
        else sb_printf(out, " %s", x->name.name);
    }
    sb_putc(out, ')');
}

static void put_function(StrBuf *out, const Decl *d) {
    sb_printf(out, "(%s %s", d->kind == DE_NET ? "net" : d->kind == DE_BLOCK ? "block" : "train", d->name.name);
    put_params(out, &d->params);
    put_results(out, &d->results);
    put_body(out, &d->body, 1);
    sb_putc(out, ')');
}

static void put_decl(StrBuf *out, const Decl *d) {
    put_doc(out, d->doc, 0);
    put_annots(out, &d->annots, 0);
    switch (d->kind) {
    case DE_IMPORT: case DE_FROM: put_import(out, d); break;
    case DE_DIM: put_dims(out, d); break;
    case DE_CONST:
        sb_printf(out, "(const %s ", d->name.name);
        put_expr(out, d->value);
        sb_putc(out, ')');
        break;
    case DE_NET: case DE_BLOCK: case DE_TRAIN: put_function(out, d); break;
    }
    sb_putc(out, '\n');
}

void ast_print(StrBuf *out, const Module *m) {
    for (size_t i = 0; i < m->decls.n; i++) put_decl(out, m->decls.p[i]);
}
