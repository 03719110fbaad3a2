/* syntax.c - the texts of syntax errors: "unexpected name 'b', expected an operator, ',' or ')'", with the help that
 * the most common slips deserve.
 *
 * The parser knows the exact set of tokens that could have come next (LAC). Sets that stand for one idea are named
 * by it - an expression, a name, an operator - and a set that is still long is left away: it would explain nothing. */
#include "grammar/net.tab.h"

#include <string.h>

enum { MAX_SHOWN = 5, MAX_QUOTED = 60 };

/* What could have come, by the names net.y gives its tokens. */
typedef struct Expected {
    const char *const *names;
    int n;
    bool expression, name, statement, declaration, operator, newline;
} Expected;

static bool expects(const Expected *e, const char *name) {
    for (int i = 0; i < e->n; i++)
        if (!strcmp(e->names[i], name)) return true;
    return false;
}

static Expected classify(const char *const *names, int n) {
    Expected e = {.names = names, .n = n};
    e.name = expects(&e, "name");
    e.expression = expects(&e, "'none'");
    e.statement = expects(&e, "'assert'");
    e.declaration = expects(&e, "'const'") && !e.name;
    e.operator = expects(&e, "'**'");
    e.newline = expects(&e, "end of line");
    return e;
}

static bool in_list(const char *name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

/* Is a token's name already said by a word for its whole class? */
static bool is_covered(const Expected *e, const char *name) {
    static const char *const words[] = {"name", "'import'", "'from'", "'as'", "'dim'", "'const'", "'net'", "'block'",
                                        "'train'"};
    static const char *const starters[] = {"integer", "size", "number", "a string", "'true'", "'false'", "'none'",
                                           "'('", "'['", "'-'", "'+'", "'not'"};
    static const char *const operators[] = {"'or'", "'and'", "'=='", "'!='", "'<'", "'<='", "'>'", "'>='", "'+'", "'-'",
                                            "'*'", "'/'", "'//'", "'%'", "'@'", "'**'", "'|>'", "'if'", "'('", "'['",
                                            "'.'", "'->'", "'='"};
    static const char *const statements[] = {"'layer'", "'param'", "'buffer'", "'for'", "'repeat'", "'if'", "'return'",
                                             "'assert'", "'@'"};
    static const char *const always[] = {"'+='", "'-='", "'*='", "'/='", "end of file", "end of line"};
    bool any_name = e->name || e->declaration, starts = e->statement || e->declaration;
    return in_list(name, always, COUNT_OF(always)) || (any_name && in_list(name, words, COUNT_OF(words))) ||
           (e->expression && in_list(name, starters, COUNT_OF(starters))) ||
           (e->operator && in_list(name, operators, COUNT_OF(operators))) ||
           (starts && in_list(name, statements, COUNT_OF(statements))) || (e->newline && !strcmp(name, "'}'"));
}

static void add(const char **list, int *n, const char *text) {
    if (*n <= MAX_SHOWN) list[(*n)++] = text;
}

/* ", expected A, B or C"; nothing when there are too many. */
static void put_expected(StrBuf *out, const Expected *e) {
    const char *list[MAX_SHOWN + 1];
    int n = 0;
    if (e->declaration) add(list, &n, "a declaration");
    if (e->statement) add(list, &n, "a statement");
    else if (e->expression) add(list, &n, "an expression");
    else if (e->name) add(list, &n, "a name");
    if (e->operator) add(list, &n, "an operator");
    for (int i = 0; i < e->n; i++)
        if (!is_covered(e, e->names[i])) add(list, &n, e->names[i]);
    if (e->newline && !e->statement && !e->declaration) add(list, &n, "end of line");
    if (n > MAX_SHOWN) return;
    for (int i = 0; i < n; i++)
        sb_printf(out, "%s%s", i == 0 ? ", expected " : i + 1 < n ? ", " : " or ", list[i]);
}

static const char *text_of(const Parser *p, const Token *t, int *len) {
    uint32_t n = t->span.end - t->span.beg;
    *len = n > MAX_QUOTED ? MAX_QUOTED : (int)n;
    return p->source->text + t->span.beg;
}

static bool token_is(const Parser *p, const Token *t, const char *text) {
    size_t n = t->span.end - t->span.beg;
    return t->kind != T_END && strlen(text) == n && !memcmp(p->source->text + t->span.beg, text, n);
}

static void put_token(StrBuf *out, const Parser *p, const Token *t) {
    int len;
    const char *text = text_of(p, t, &len);
    switch (t->kind) {
    case T_END: sb_puts(out, "end of file"); break;
    case T_NL: sb_puts(out, *text == ';' ? "';'" : "end of line"); break;
    case T_NAME: sb_printf(out, "name '%.*s'", len, text); break;
    case T_INT: case T_SIZE: case T_FLOAT: sb_printf(out, "number '%.*s'", len, text); break;
    case T_STRING: sb_puts(out, "string"); break;
    default: sb_printf(out, "'%.*s'", len, text); break;
    }
}

/* ---- helps ---- */

static bool is_reserved(int kind) { return kind >= T_LAYER && kind <= T_NONE; }
static bool is_comparison(int k) { return k == T_EQ || k == T_NE || k == '<' || k == '>' || k == T_LE || k == T_GE; }
static bool is_binary(int k) {
    return is_comparison(k) || k == '+' || k == '-' || k == '*' || k == '/' || k == '%' || k == '@' ||
           k == T_FLOORDIV || k == T_POW || k == T_AND || k == T_OR;
}

static bool same_token(const Token *a, const Token *b) { return a->span.beg == b->span.beg && a->kind == b->kind; }

/* Words of other languages, as the first or the unexpected word of a statement. */
static const char *foreign_help(const Parser *p) {
    static const struct { const char *word, *help; } known[] = {
        {"elif", "write 'else if' on the line of the closing '}'"},
        {"while", "loops have a fixed count: 'repeat n { ... }' or 'for i in [...] { ... }'"},
        {"let", "a value needs no keyword: name = value"}, {"var", "a value needs no keyword: name = value"},
        {"def", "write 'block name(parameters) { ... }'"}, {"fn", "write 'block name(parameters) { ... }'"},
        {"func", "write 'block name(parameters) { ... }'"}, {"function", "write 'block name(parameters) { ... }'"},
        {"class", "write 'block name(parameters) { ... }'"}, {"fragment", "write 'block name(parameters) { ... }'"},
        {"graph", "write 'net name(inputs) -> (results) { ... }'"},
        {"pass", "an empty body is written { }"},
    };
    bool after_first = same_token(&p->first, &p->prev);
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (token_is(p, &p->cur, known[i].word) || (after_first && token_is(p, &p->prev, known[i].word)))
            return known[i].help;
    return NULL;
}

static const char *operator_help(const Parser *p, const Expected *e) {
    int k = p->cur.kind;
    bool after_stage = expects(e, "'|>'") && !e->operator;
    if (e->operator && is_comparison(k)) return "comparisons do not chain; join two with 'and'";
    if (after_stage && (is_binary(k) || k == '.' || k == '[' || k == '('))
        return "a pipe ends with a name or a call; to go on with its result put it in parentheses: (x |> f) + y";
    if (k == '=' && e->operator && (p->first.kind == T_IF || p->first.kind == T_ASSERT || p->first.kind == T_ELSE))
        return "equality is written ==";
    if (k == ':' && expects(e, "'{'")) return "a body stands in braces: { ... }";
    if (k == T_FLOORDIV && (e->statement || e->declaration)) return "a comment starts with #";
    return NULL;
}

static const char *help_for(const Parser *p, const Expected *e) {
    const Token *cur = &p->cur;
    int k = cur->kind;
    bool after_first = same_token(&p->first, &p->prev);
    const char *help = foreign_help(p);
    if (help || (help = operator_help(p, e))) return help;
    if (k == T_ELSE && same_token(&p->first, cur)) return "put 'else' on the same line as the closing '}'";
    if (after_first && p->prev.kind == T_NAME && (k == '(' || k == T_PIPE || k == '.' || k == T_NL))
        return "a statement gives its value a name: y = f(x)";
    if (e->statement && (is_binary(k) || k == '.'))
        return "an expression goes on in the next line inside brackets, or when the operator ends the line before";
    if (expects(e, "a string") && (p->prev.kind == T_IMPORT || p->prev.kind == T_FROM))
        return "a path stands in double quotes";
    if (e->declaration && k != T_END)
        return "a file is made of import, from, dim, const, net, block and train; "
               "statements stand inside a net or block";
    return NULL;
}

/* A reserved word where a name should be: after it (`layer = relu(x)`) or at it (`f(repeat: int)`). */
static const Token *reserved_as_name(const Parser *p, const Expected *e) {
    int k = p->cur.kind;
    if (is_reserved(k) && e->name && (!e->statement || k == T_IN || k > T_ASSERT)) return &p->cur;
    bool names_follow = k == '=' || k == ':' || k == ',' || (k >= T_ADD_TO && k <= T_DIV_TO);
    bool wanted = e->name || e->expression;
    return wanted && names_follow && is_reserved(p->prev.kind) && p->prev.kind != T_RETURN ? &p->prev : NULL;
}

static void note_open_bracket(Parser *p, Diag *d) {
    int k = p->cur.kind;
    if (!p->before) return;
    const Bracket *top = &p->open[p->before - 1];
    bool closes_other = k == ')' ? top->sign != '(' : k == ']' ? top->sign != '[' : k == '}' && top->sign != '{';
    bool next_statement = top->sign != '{' && is_reserved(k) && k <= T_ASSERT && k != T_IF && k != T_ELSE &&
                          k != T_IN && parser_starts_line(p);
    bool next_declaration = top->sign == '{' && same_token(&p->first, &p->prev) && p->prev.kind >= T_IMPORT &&
                            p->prev.kind <= T_TRAIN && k == T_NAME;
    if (k == T_END || next_declaration || next_statement || (closes_other && top->sign != '{'))
        diag_note(p->ctx, d, top->span, "this '%c' is not closed", top->sign);
    if (next_declaration) p->brace_noted = true;
}

/* A misspelt first word: the error is that word, whatever came after it. */
static Diag *misspelt_word(Parser *p, const Expected *e) {
    static const char *const declarations[] = {"import", "from", "dim", "const", "net", "block", "train"};
    static const char *const statements[] = {"layer", "param", "buffer", "for", "repeat", "if", "return", "assert"};
    bool after_first = same_token(&p->first, &p->prev) && p->depth && p->cur.kind != '=' && p->cur.kind != T_NL;
    const Token *word = e->declaration ? &p->cur : after_first ? &p->prev : NULL;
    if (!word || word->kind != T_NAME || strlen(word->str) < 3) return NULL;
    const char *near = e->declaration ? suggest(word->str, declarations, COUNT_OF(declarations))
                                      : suggest(word->str, statements, COUNT_OF(statements));
    if (!near) return NULL;
    Diag *d = parser_diag(p, DIAG_SYNTAX, word->span, "unknown %s '%.*s'", e->declaration ? "declaration" : "statement",
                          MAX_QUOTED, word->str);
    diag_help(p->ctx, d, "did you mean '%s'?", near);
    return d;
}

/* An unfinished statement (`y =`) goes on in the next line, but when that line clearly is another statement the
 * mistake is where the first one ends. */
static Token unexpected_token(const Parser *p, const Expected *e) {
    Token t = p->cur;
    bool in_brackets = p->before && p->open[p->before - 1].sign != '{';
    bool next_begins = t.kind == '}' || t.kind == T_END || (is_reserved(t.kind) && t.kind <= T_ASSERT);
    bool unfinished = !e->statement && !e->declaration && !in_brackets && p->prev.kind != T_END && p->prev.kind != T_NL;
    if (!unfinished || !next_begins || !parser_starts_line(p)) return t;
    t.kind = T_NL;
    t.span.beg = p->prev.span.end;
    t.span.end = t.span.beg + 1;
    return t;
}

void syntax_error(Parser *p, const char *const *expected, int n) {
    if (p->stopped || (p->cur.kind == T_END && p->brace_noted)) return;
    Expected e = classify(expected, n);
    if (!misspelt_word(p, &e)) {
        StrBuf text;
        sb_init(&text, p->ctx->scratch);
        Token t = unexpected_token(p, &e);
        sb_puts(&text, "unexpected ");
        put_token(&text, p, &t);
        put_expected(&text, &e);
        Diag *d = parser_diag(p, DIAG_SYNTAX, t.span, "%s", sb_str(&text));
        const Token *reserved = t.kind == T_NL ? NULL : reserved_as_name(p, &e);
        const char *help = help_for(p, &e);
        note_open_bracket(p, d);
        int len = 0;
        const char *word = reserved ? text_of(p, reserved, &len) : NULL;
        if (word)
            diag_help(p->ctx, d, "'%.*s' is a reserved word and cannot be a name", len, word);
        else if (help)
            diag_help(p->ctx, d, "%s", help);
    }
    parser_start_drop(p);
}
