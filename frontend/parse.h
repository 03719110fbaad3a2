/* parse.h - between the scanner (grammar/net.l), the layout of tokens (tokens.c), the grammar (grammar/net.y) and
 * the texts of syntax errors (syntax.c). Nobody else includes it: the rest of the compiler sees ast.h.
 *
 *     characters --net_scan--> tokens and newlines --net_yylex--> tokens that end statements --net_yyparse--> tree */
#ifndef NETC_PARSE_H
#define NETC_PARSE_H

#include "frontend/ast.h"

typedef struct Token {
    int kind;                                             /* T_... of net.tab.h */
    Span span;
    int64_t i;                                            /* T_INT, T_SIZE */
    double f;                                             /* T_FLOAT */
    const char *str;                                      /* T_STRING: unescaped; words: their text; interned */
} Token;

typedef struct Bracket { char sign; Span span; } Bracket; /* an open ( [ or { */
typedef struct Doc { uint32_t beg; const char *text; } Doc;       /* the ## lines before the token that starts at beg */

typedef VEC(ImportItem) ImportItems;
typedef VEC(DimNode) DimNodes;
typedef VEC(AxisNode) AxisNodes;

typedef struct Parser {
    Ctx *ctx;
    Module *module;
    const Source *source;
    void *scanner;                                        /* flex's state */
    uint32_t file;
    uint32_t beg, end;                                    /* bytes of the scanner's current match */
    bool line_used, line_comment;                         /* the line so far holds a token, a comment */
    StrBuf doc;                                           /* ## lines not yet attached */
    VEC(Doc) docs;                                        /* in the order of the file */
    Token held;                                           /* read ahead to see whether |> continues the line */
    bool has_held;
    Token lead[3];                                        /* delivered before the scanner's, last first: parse_expr() */
    uint32_t nlead;
    Bracket open[AST_MAX_NESTING];
    uint32_t depth;                                       /* open brackets, the current token's effect included */
    uint32_t before;                                      /* and not included; open[] still holds what it closed */
    Token first, prev, cur;                               /* first of the statement; the last two delivered */
    bool dropping;                                        /* skipping the rest of a statement after its error */
    uint32_t drop_depth;                                  /* open brackets where that statement stands */
    bool brace_noted;                                     /* a missing } was reported: once is enough */
    bool stopped;                                         /* nothing after this error makes sense */
} Parser;

/* A diagnostic that makes the module a failed one. */
#define parser_diag(p, code, span, ...) ((p)->module->failed = true, diag((p)->ctx, (code), (span), __VA_ARGS__))

/* tokens.c */
Token token_make(Parser *, int kind);                     /* of the scanner's current match */
void token_doc(Parser *, const char *text, size_t len);   /* a comment, from its first # */
void token_newline(Parser *);
const char *parser_doc(const Parser *, uint32_t beg);     /* the doc comment of what starts at byte beg, or NULL */
void parser_start_drop(Parser *);                         /* skip the rest of the current statement */
bool parser_check_depth(Parser *, const Expr *);          /* false after [nesting]: parsing stops */
bool parser_starts_line(const Parser *);                  /* the current token is the first of its line */
#define PARSER_LONG_CHAIN "more than %d 'else if' branches"
#define PARSER_DEEP_EXPRESSION "an expression more than %d operators deep"
#define parser_too_deep(p, at, fmt, limit) \
    ((p)->stopped ? (void)0 : (void)parser_diag(p, DIAG_NESTING, (at), fmt, (int)(limit)), (void)((p)->stopped = true))

/* literal.c - text of numbers and strings to values; malformed ones are diagnostics and come back as some valid
 * token */
Token literal_number(Parser *, const char *text, size_t len);
Token literal_string(Parser *, const char *text, size_t len);     /* with its quotes */
Token literal_bad_string(Parser *, const char *text, size_t len); /* single-quoted, or not closed on its line */
Token literal_bad_bytes(Parser *, const char *text, size_t len);
void literal_check_comment(Parser *, const char *text, size_t len);

/* syntax.c - "unexpected 'x', expected ...": expected are the n names that net.y gives its tokens */
void syntax_error(Parser *, const char *const *expected, int n);

#endif
