/* text.c - "{...}" in strings: interpolation of compile-time expressions, everywhere a string may stand.
 *
 * "{{" and "}}" are single braces. The expression is parsed from its place in the source by the one grammar, so a
 * message about it points into the string. A string without braces costs nothing. */
#include "frontend/elab.h"

#include <string.h>

static bool bad_text(Ctx *ctx, Span at, const char *what) {
    Diag *d = diag(ctx, DIAG_BAD_STRING, at, "%s", what);
    diag_help(ctx, d, "a value stands in braces: \"D is {D}\"; a brace of its own is written twice: {{ or }}");
    return false;
}

static void add_literal(Ctx *ctx, Expr *s, StrBuf *sb, Span at) {
    if (sb->n == 0)
        return;
    Expr *part = ast_expr(ctx, EX_STR, at);
    part->str = intern_n(ctx->names, sb->p, sb->n);
    vec_push(ctx->unit, &s->items, part);
    sb_init(sb, ctx->scratch);
}

/* The end of the expression that begins at byte i: its closing brace, brackets and inner braces skipped; 0 if there is
 * none. */
static uint32_t closing_brace(const char *text, uint32_t i, uint32_t end) {
    for (; i < end; i++) {
        if (text[i] == '}')
            return i;
        if (text[i] == '{')
            return 0;
    }
    return 0;
}

static bool add_expression(Ctx *ctx, Expr *s, const char *text, uint32_t *i, uint32_t end) {
    Span brace = {s->span.file, *i, *i + 1};
    uint32_t close = closing_brace(text, *i + 1, end);
    if (close == 0)
        return bad_text(ctx, brace, "a '{' without its '}'");
    Span inner = {s->span.file, *i + 1, close};
    if (strspn(text + inner.beg, " \t") >= inner.end - inner.beg)
        return bad_text(ctx, (Span){s->span.file, *i, close + 1}, "nothing stands between the braces");
    Expr *part = parse_expr(ctx, inner);
    *i = close;
    if (part == NULL)
        return false;
    vec_push(ctx->unit, &s->items, part);
    return true;
}

/* The scanner has seen to it that an escape is one of \" \\ \n \t. */
static char unescape(char c) {
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

bool text_split(Ctx *ctx, Expr *s) {
    if (strpbrk(s->str, "{}") == NULL || s->items.n > 0)
        return true;
    const char *text = source_get(ctx, s->span.file)->text;
    uint32_t i = s->span.beg + 1, end = s->span.end - 1;
    StrBuf sb;
    sb_init(&sb, ctx->scratch);
    for (; i < end; i++) {
        char c = text[i];
        if (c == '\\') {
            sb_putc(&sb, unescape(text[++i]));
        } else if ((c == '{' || c == '}') && i + 1 < end && text[i + 1] == c) {
            sb_putc(&sb, c);
            i++;
        } else if (c == '{') {
            add_literal(ctx, s, &sb, s->span);
            if (!add_expression(ctx, s, text, &i, end))
                return false;
        } else if (c == '}') {
            return bad_text(ctx, (Span){s->span.file, i, i + 1}, "a '}' without its '{'");
        } else {
            sb_putc(&sb, c);
        }
    }
    add_literal(ctx, s, &sb, s->span);
    return true;
}

const char *text_eval(Elab *e, const Expr *s) {
    if (s->items.n == 0)
        return s->str;
    StrBuf sb;
    sb_init(&sb, e->ctx->scratch);
    for (size_t i = 0; i < s->items.n; i++) {
        const Expr *part = s->items.p[i];
        if (part->kind == EX_STR && part->items.n == 0) {
            sb_puts(&sb, part->str);
            continue;
        }
        Val v = eval_first(e, part);
        if (val_has_poison(v))
            return NULL;
        val_print(&sb, v);
        if (sb.n > MAX_TEXT) {
            diag(e->ctx, DIAG_ARGUMENT_VALUE, s->span, "a string of more than %d bytes", (int)MAX_TEXT);
            return NULL;
        }
    }
    return intern_n(e->ctx->names, sb.n > 0 ? sb.p : "", sb.n);
}
