/* tokens.c - the layout of tokens: which newlines end statements, which brackets are open, what is skipped after an
 * error.
 *
 * Newlines follow Go's rule: one counts only after a token that can end a statement, never inside ( ) or [ ], and
 * not when the next token is |>. A stack of brackets, at most AST_MAX_NESTING deep, serves that rule, the cap on
 * nesting, and recovery: after a syntax error everything up to the end of that statement at its own bracket depth is
 * dropped, so that one mistake gives one message (bison alone would close the wrong brace). O(1) per token. */
#include "grammar/net.tab.h"

#include <string.h>

Token net_scan(Parser *, void *scanner);                  /* grammar/net.l */

/* ---- what the scanner calls ---- */

static void attach_doc(Parser *p) {
    while (p->doc.n && p->doc.p[p->doc.n - 1] == '\n') p->doc.n--;
    if (!p->doc.n) return;
    Doc d = {p->beg, arena_strndup(p->ctx->unit, p->doc.p, p->doc.n)};
    vec_push(p->ctx->unit, &p->docs, d);
    p->doc.n = 0;
}

Token token_make(Parser *p, int kind) {
    Token t = {.kind = kind, .span = {p->file, p->beg, p->end}};
    if (kind == T_NL) return t;
    p->line_used = true;
    attach_doc(p);
    if (kind < T_LAYER && kind >= T_NAME) t.str = intern_n(p->ctx->names, p->source->text + p->beg, p->end - p->beg);
    return t;
}

void token_doc(Parser *p, const char *text, size_t n) {
    literal_check_comment(p, text, n);
    p->line_comment = true;
    bool is_doc = n >= 2 && text[1] == '#' && (n == 2 || text[2] != '#') && !p->line_used;
    if (!is_doc) return;
    size_t beg = 2;
    if (beg < n && text[beg] == ' ') beg++;
    while (n > beg && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r')) n--;
    if (p->doc.n) sb_putc(&p->doc, '\n');
    sb_write(&p->doc, text + beg, n - beg);
}

/* A blank line parts a ## comment from what follows: it is then an ordinary comment. */
void token_newline(Parser *p) {
    if (!p->line_used && !p->line_comment) p->doc.n = 0;
    p->line_used = p->line_comment = false;
}

/* ---- what the grammar asks ---- */

const char *parser_doc(const Parser *p, uint32_t beg) {
    size_t lo = 0, hi = p->docs.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->docs.p[mid].beg < beg) lo = mid + 1;
        else hi = mid;
    }
    return lo < p->docs.n && p->docs.p[lo].beg == beg ? p->docs.p[lo].text : NULL;
}

bool parser_check_depth(Parser *p, const Expr *e) {
    if (e->depth <= AST_MAX_DEPTH) return true;
    parser_too_deep(p, e->op_span.file ? e->op_span : e->span, PARSER_DEEP_EXPRESSION, AST_MAX_DEPTH);
    return false;
}

/* ---- newlines ---- */

static bool ends_statement(int kind) {
    switch (kind) {
    case T_NAME: case T_IMPORT: case T_FROM: case T_AS: case T_DIM: case T_CONST: case T_NET: case T_BLOCK:
    case T_TRAIN: case T_INT: case T_SIZE: case T_FLOAT: case T_STRING: case T_TRUE: case T_FALSE: case T_NONE:
    case ')': case ']': case '}': case T_NET_YYerror:
        return true;
    default:
        return false;
    }
}

static bool in_body(const Parser *p) { return p->depth == 0 || p->open[p->depth - 1].sign == '{'; }

static Token scan(Parser *p) { return p->nlead ? p->lead[--p->nlead] : net_scan(p, p->scanner); }

/* The token after the newlines, which belongs to the next statement: its errors count even while this one is
 * dropped. */
static void read_ahead(Parser *p) {
    bool dropping = p->dropping;
    p->dropping = false;
    do p->held = scan(p);
    while (p->held.kind == T_NL);
    p->dropping = dropping;
    p->has_held = true;
}

static Token next_token(Parser *p) {
    for (;;) {
        Token t = p->has_held ? p->held : scan(p);
        p->has_held = false;
        bool counts = in_body(p) && ends_statement(p->cur.kind);
        if (t.kind == T_SEMICOLON) t.kind = T_NL;
        else if (t.kind == T_END && counts) {
            p->held = t;
            p->has_held = true;
            t.kind = T_NL;
        } else if (t.kind == T_NL) {
            if (!counts) continue;
            read_ahead(p);
            if (p->held.kind == T_PIPE) continue;
        }
        return t;
    }
}

/* ---- brackets ---- */

static char opener_of(int kind) { return kind == ')' ? '(' : kind == ']' ? '[' : kind == '}' ? '{' : 0; }

/* A closing bracket closes its partner and what was left open inside; one without a partner is taken for a slip and
 * closes the innermost. No bracket but } reaches past the brace of the body it stands in. */
static void close_bracket(Parser *p, char opener) {
    uint32_t d = p->depth;
    while (d && p->open[d - 1].sign != opener && (opener == '{' || p->open[d - 1].sign != '{')) d--;
    if (d && p->open[d - 1].sign == opener) p->depth = d - 1;
    else if (opener != '{' && p->depth && p->open[p->depth - 1].sign != '{') p->depth--;
}

static void track_brackets(Parser *p, Token *t) {
    p->before = p->depth;
    if (opener_of(t->kind)) {
        close_bracket(p, opener_of(t->kind));
    } else if (t->kind == '(' || t->kind == '[' || t->kind == '{') {
        if (p->depth == AST_MAX_NESTING) {
            parser_too_deep(p, t->span, "brackets nested more than %d deep", AST_MAX_NESTING);
            t->kind = T_END;
        } else {
            p->open[p->depth++] = (Bracket){(char)t->kind, t->span};
        }
    }
}

/* ---- recovery ---- */

static uint32_t body_depth(const Parser *p, uint32_t depth) {
    while (depth && p->open[depth - 1].sign != '{') depth--;
    return depth;
}

static bool starts_statement(int kind) {
    return kind == T_RETURN || kind == T_LAYER || kind == T_PARAM || kind == T_BUFFER || kind == T_FOR ||
           kind == T_REPEAT || kind == T_ASSERT;
}

bool parser_starts_line(const Parser *p) {
    const char *text = p->source->text;
    uint32_t beg = p->prev.kind == T_END ? 0 : p->prev.span.end, end = p->cur.span.beg;
    return beg == 0 || (end > beg && memchr(text + beg, '\n', end - beg) != NULL);
}

/* A ( or [ before the current token was never closed, so that newlines count again: the token starts a statement, or
 * it is an open string, which swallowed the rest of its line. */
static bool leaves_brackets(const Parser *p) {
    char first = p->source->text[p->cur.span.beg];
    if (p->cur.kind == T_NET_YYerror) return first == '"' || first == '\'';
    return starts_statement(p->cur.kind) && parser_starts_line(p);
}

void parser_start_drop(Parser *p) {
    int kind = p->cur.kind;
    bool ends_body = kind == '}' && p->depth < p->before;
    bool takes_up_here = kind == T_END || ends_body || (kind == T_NL && in_body(p));
    if (takes_up_here) return;
    p->drop_depth = body_depth(p, p->before);
    p->dropping = true;
    if (leaves_brackets(p)) p->depth = p->drop_depth;
}

static bool ends_drop(const Parser *p, int kind) {
    return kind == T_END || (kind == T_NL && p->depth == p->drop_depth) || (kind == '}' && p->depth < p->drop_depth);
}

static void advance(Parser *p) {
    Token t = next_token(p);
    track_brackets(p, &t);
    if (p->cur.kind == T_NL || p->cur.kind == '{' || p->cur.kind == '}' || p->cur.kind == T_END) p->first = t;
    p->prev = p->cur;
    p->cur = t;
}

int net_yylex(NET_YYSTYPE *value, Span *span, Parser *p) {
    do advance(p);
    while (p->dropping && !ends_drop(p, p->cur.kind));
    p->dropping = false;
    if (diag_full(p->ctx)) p->stopped = true;
    if (p->stopped) p->cur.kind = T_END;
    if (p->cur.kind == T_NET_YYerror) parser_start_drop(p);
    *span = p->cur.span;
    switch (p->cur.kind) {
    case T_INT: case T_SIZE: value->i = p->cur.i; break;
    case T_FLOAT: value->f = p->cur.f; break;
    case T_STRING: value->str = p->cur.str; break;
    default: value->ident = (Ident){p->cur.str, p->cur.span}; break;
    }
    return p->cur.kind;
}
