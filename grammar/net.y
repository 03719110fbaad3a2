/* net.y - the grammar of .net files (bison 3.8, LALR(1), no conflicts). The actions build the tree of frontend/ast.h
 * and check nothing: names, types and values are the elaboration's.
 *
 * Errors: LAC finds the true set of expected tokens, frontend/syntax.c words the message, frontend/tokens.c drops
 * the rest of the statement, and the `error` productions below take up again at the next one. Values are arena
 * memory, so no %destructor is needed. Lists grow to the left: the stack depth follows the nesting, never the length
 * of a program. */
%require "3.8"
%expect 0
%define api.pure full
%define api.prefix {net_yy}
%define api.token.prefix {T_}
%define api.location.type {Span}
%define parse.error custom
%define parse.lac full
%locations
%param {Parser *p}

%code requires {
#include "frontend/parse.h"
}

%union {
    Ident ident;
    int64_t i;
    double f;
    const char *str;
    AstOp op;
    Expr *expr;
    Exprs exprs;
    Idents idents;
    ArgNode arg;
    ArgNodes args;
    IndexNode index;
    AxisNode axis;
    AxisNodes axes;
    TypeNode *type;
    ParamNode param;
    ParamNodes params;
    ResultNode result;
    ResultNodes results;
    Annot annot;
    Annots annots;
    ImportItem item;
    ImportItems items;
    DimNode dim;
    DimNodes dims;
    Stmt *stmt;
    Stmts stmts;
    Decl *decl;
    struct { Stmt *first, *last; uint32_t n; } chain;     /* if ... else if ... */
}

%code provides {
int net_yylex(NET_YYSTYPE *, Span *, Parser *);
}

%code {
#define UNIT p->ctx->unit
#define YYLLOC_DEFAULT(cur, rhs, n) \
    ((cur) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n)) \
                 : (Span){YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end})
/* The lists inside nodes are unnamed struct types of their own. */
#define TAKE(dst, src) ((dst).p = (src).p, (dst).n = (src).n, (dst).cap = (src).cap)
/* A list of one: most stay so, and a program may have a million. */
#define FIRST(list, x) ((list).p = arena_alloc(UNIT, sizeof *(list).p), (list).p[0] = (x), (list).n = (list).cap = 1)
/* Every expression that grows passes here, so that nobody after us meets a tree too deep to recurse over. */
#define CHECK(e) do { if (!parser_check_depth(p, (e))) YYABORT; } while (0)

static void net_yyerror(Span *, Parser *, const char *);
static Span last_byte(Span s) { return (Span){s.file, s.end - 1, s.end}; }
static Ident no_ident(void) { return (Ident){0}; }
static Decl *function_decl(Parser *, DeclKind, Span, Ident, ParamNodes, ResultNodes, Stmts);
static ParamNode param_node(Parser *, Ident, TypeNode *, Expr *dflt, Span);
static TypeNode *type_node(Parser *, Ident dtype, const AxisNodes *, Span);
static void close_chain(Stmt *first, const Stmt *last, uint32_t end);
}

%token END 0 "end of file"
%token NL "end of line" SEMICOLON "';'"
%token <ident> NAME "name"
%token <ident> IMPORT "'import'" FROM "'from'" AS "'as'" DIM "'dim'" CONST "'const'" NET "'net'" BLOCK "'block'"
%token <ident> TRAIN "'train'"
%token LAYER "'layer'" PARAM "'param'" BUFFER "'buffer'" FOR "'for'" IN "'in'" REPEAT "'repeat'" IF "'if'" ELSE "'else'"
%token RETURN "'return'" ASSERT "'assert'" AND "'and'" OR "'or'" NOT "'not'" TRUE "'true'" FALSE "'false'" NONE "'none'"
%token <i> INT "integer" SIZE "size"
%token <f> FLOAT "number"
%token <str> STRING "a string"
%token PIPE "'|>'" ARROW "'->'" ELLIPSIS "'...'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='"
%token ADD_TO "'+='" SUB_TO "'-='" MUL_TO "'*='" DIV_TO "'/='" FLOORDIV "'//'" POW "'**'"
%token '(' "'('" ')' "')'" '[' "'['" ']' "']'" '{' "'{'" '}' "'}'" '<' "'<'" '>' "'>'" '=' "'='"
%token '+' "'+'" '-' "'-'" '*' "'*'" '/' "'/'" '%' "'%'" '@' "'@'" '.' "'.'" ',' "','" ':' "':'"

%left OR
%left AND
%precedence NOT
%nonassoc EQ NE '<' LE '>' GE
%left '+' '-'
%left '*' '/' FLOORDIV '%' '@'
%precedence UNARY
%right POW

%type <ident> name
%type <op> augment
%type <expr> pipe stage stage_name cond expr primary subscripts list bound
%type <exprs> pipes items
%type <idents> names
%type <arg> arg
%type <args> args arg_list
%type <index> index
%type <axis> axis
%type <axes> axes shape
%type <type> type
%type <param> param
%type <params> params param_list
%type <result> result
%type <results> results result_list
%type <annot> annot
%type <annots> annots
%type <item> import_item
%type <items> import_items
%type <dim> dim
%type <dims> dims
%type <stmt> stmt marked_stmt simple compound line
%type <stmts> body lines
%type <decl> decl marked_decl decl_line
%type <chain> if_chain

%%

file: %empty | decl_lines ;

decl_lines: decl_line | decl_lines decl_line ;
decl_line: NL               { $$ = NULL; }
    | marked_decl NL        { vec_push(UNIT, &p->module->decls, $1); $$ = $1; }
    | error NL              { $$ = NULL; yyerrok; }
    ;
marked_decl: decl           { $$ = $1; $$->doc = parser_doc(p, @1.beg); }
    | annots decl           { $$ = $2; $$->annots = $1; $$->span = @$;
                              $$->doc = parser_doc(p, @1.beg);
                              if (!$$->doc) $$->doc = parser_doc(p, @2.beg); }
    ;

/* ---- declarations ---- */

decl: IMPORT STRING                 { $$ = ast_decl(p->ctx, DE_IMPORT, @$); $$->path = (Ident){$2, @2}; }
    | IMPORT STRING AS name         { $$ = ast_decl(p->ctx, DE_IMPORT, @$); $$->path = (Ident){$2, @2}; $$->name = $4; }
    | FROM STRING IMPORT import_items
                                    { $$ = ast_decl(p->ctx, DE_FROM, @$); $$->path = (Ident){$2, @2};
                                      TAKE($$->items, $4); }
    | DIM dims                      { $$ = ast_decl(p->ctx, DE_DIM, @$); TAKE($$->dims, $2); }
    | CONST name '=' cond           { $$ = ast_decl(p->ctx, DE_CONST, @$); $$->name = $2; $$->value = $4; }
    | NET name '(' params ')' results body
                                    { $$ = function_decl(p, DE_NET, @$, $2, $4, $6, $7); }
    | BLOCK name '(' params ')' results body
                                    { $$ = function_decl(p, DE_BLOCK, @$, $2, $4, $6, $7); }
    | TRAIN name body               { $$ = function_decl(p, DE_TRAIN, @$, $2, (ParamNodes){0}, (ResultNodes){0}, $3); }
    | TRAIN name '(' params ')' body
                                    { $$ = function_decl(p, DE_TRAIN, @$, $2, $4, (ResultNodes){0}, $6); }
    ;

import_items: import_item           { FIRST($$, $1); }
    | import_items ',' import_item  { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
import_item: name                   { $$ = (ImportItem){$1, no_ident()}; }
    | name AS name                  { $$ = (ImportItem){$1, $3}; }
    ;

dims: dim                           { FIRST($$, $1); }
    | dims ',' dim                  { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
dim: name                           { $$ = (DimNode){.name = $1, .span = @$}; }
    | name '=' cond                 { $$ = (DimNode){.name = $1, .value = $3, .span = @$}; }
    | name LE cond                  { $$ = (DimNode){.name = $1, .value = $3, .is_bound = true, .span = @$}; }
    ;

params: %empty                      { $$ = (ParamNodes){0}; }
    | param_list optional_comma
    ;
param_list: param                   { FIRST($$, $1); }
    | param_list ',' param          { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
param: name                         { $$ = param_node(p, $1, NULL, NULL, @$); }
    | name ':' type                 { $$ = param_node(p, $1, $3, NULL, @$); }
    | name '=' cond                 { $$ = param_node(p, $1, NULL, $3, @$); }
    | name ':' type '=' cond        { $$ = param_node(p, $1, $3, $5, @$); }
    ;

results: %empty                     { $$ = (ResultNodes){0}; }
    | ARROW type                    { ResultNode r = {.type = $2, .span = @2}; FIRST($$, r); }
    | ARROW '(' result_list optional_comma ')'
                                    { $$ = $3; }
    ;
result_list: result                 { FIRST($$, $1); }
    | result_list ',' result        { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
result: type                        { $$ = (ResultNode){no_ident(), $1, @$, parser_doc(p, @1.beg)}; }
    | name ':' type                 { $$ = (ResultNode){$1, $3, @$, parser_doc(p, @1.beg)}; }
    ;

type: name                          { $$ = type_node(p, $1, NULL, @$); }
    | name shape                    { $$ = type_node(p, $1, &$2, @$); }
    | shape                         { $$ = type_node(p, no_ident(), &$1, @$); }
    ;
shape: '[' ']'                      { $$ = (AxisNodes){0}; }
    | '[' axes optional_comma ']'   { $$ = $2; }
    ;
axes: axis                          { FIRST($$, $1); }
    | axes ',' axis                 { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
axis: expr                          { $$ = (AxisNode){.expr = $1, .span = @$}; }
    | name '=' expr                 { $$ = (AxisNode){.name = $1, .expr = $3, .span = @$}; }
    | ELLIPSIS                      { $$ = (AxisNode){.ellipsis = true, .span = @$}; }
    ;

annots: annot                       { FIRST($$, $1); }
    | annots annot                  { $$ = $1; vec_push(UNIT, &$$, $2); }
    | annots NL
    ;
annot: '@' name                     { $$ = (Annot){.name = $2, .span = @$}; }
    | '@' name '(' args ')'         { $$ = (Annot){.name = $2, .args = $4, .has_args = true, .span = @$}; }
    ;

/* ---- statements ---- */

/* `error` must be shiftable directly after the brace, so the empty body and the first line are spelt out. */
body: '{' '}'                       { $$ = (Stmts){0}; }
    | '{' lines '}'                 { $$ = $2; }
    | '{' marked_stmt '}'           { FIRST($$, $2); }
    | '{' lines marked_stmt '}'     { $$ = $2; vec_push(UNIT, &$$, $3); }
    | '{' error '}'                 { $$ = (Stmts){0}; yyerrok; }
    | '{' lines error '}'           { $$ = $2; yyerrok; }
    ;
lines: line                         { $$ = (Stmts){0}; if ($1) vec_push(UNIT, &$$, $1); }
    | lines line                    { $$ = $1; if ($2) vec_push(UNIT, &$$, $2); }
    ;
line: NL                            { $$ = NULL; }
    | marked_stmt NL
    | error NL                      { $$ = NULL; yyerrok; }
    ;
marked_stmt: stmt
    | annots stmt                   { $$ = $2; $$->annots = $1; }
    ;
stmt: simple | compound ;

simple: names '=' pipes             { $$ = ast_stmt(p->ctx, ST_ASSIGN, @$); $$->targets = $1; $$->values = $3; }
    | name ':' type '=' pipe        { $$ = ast_stmt(p->ctx, ST_TYPED, @$); FIRST($$->targets, $1); $$->type = $3;
                                      FIRST($$->values, $5); }
    | name augment pipe             { $$ = ast_stmt(p->ctx, ST_AUGMENT, @$); FIRST($$->targets, $1); $$->op = $2;
                                      FIRST($$->values, $3); }
    | LAYER name '=' stage          { $$ = ast_stmt(p->ctx, ST_LAYER, @$); FIRST($$->targets, $2); $$->cond = $4; }
    | PARAM name ':' type           { $$ = ast_stmt(p->ctx, ST_PARAM, @$); FIRST($$->targets, $2); $$->type = $4; }
    | PARAM name ':' type '=' pipe  { $$ = ast_stmt(p->ctx, ST_PARAM, @$); FIRST($$->targets, $2); $$->type = $4;
                                      FIRST($$->values, $6); }
    | BUFFER name ':' type '=' pipe { $$ = ast_stmt(p->ctx, ST_BUFFER, @$); FIRST($$->targets, $2); $$->type = $4;
                                      FIRST($$->values, $6); }
    | RETURN pipes                  { $$ = ast_stmt(p->ctx, ST_RETURN, @$); $$->values = $2; }
    | ASSERT expr                   { $$ = ast_stmt(p->ctx, ST_ASSERT, @$); $$->cond = $2; }
    | ASSERT expr ',' STRING        { $$ = ast_stmt(p->ctx, ST_ASSERT, @$); $$->cond = $2;
                                      $$->message = ast_expr(p->ctx, EX_STR, @4); $$->message->str = $4; }
    ;
augment: ADD_TO                     { $$ = AO_ADD; }
    | SUB_TO                        { $$ = AO_SUB; }
    | MUL_TO                        { $$ = AO_MUL; }
    | DIV_TO                        { $$ = AO_DIV; }
    ;

compound: FOR names IN cond body    { $$ = ast_stmt(p->ctx, ST_FOR, @$); $$->targets = $2; $$->cond = $4;
                                      $$->body = $5; }
    | REPEAT expr body              { $$ = ast_stmt(p->ctx, ST_REPEAT, @$); $$->cond = $2; $$->body = $3; }
    | if_chain                      { $$ = $1.first; close_chain($$, $1.last, @$.end); }
    | if_chain ELSE body            { $$ = $1.first; $1.last->orelse = $3; $1.last->has_else = true;
                                      close_chain($$, $1.last, @$.end); }
    ;
if_chain: IF cond body              { $$.first = $$.last = ast_stmt(p->ctx, ST_IF, @$); $$.n = 1;
                                      $$.last->cond = $2; $$.last->body = $3; }
    | if_chain ELSE IF cond body    { $$.first = $1.first; $$.last = ast_stmt(p->ctx, ST_IF, span_join(@3, @5));
                                      $$.last->cond = $4; $$.last->body = $5;
                                      FIRST($1.last->orelse, $$.last);
                                      $1.last->has_else = true;
                                      $$.n = $1.n + 1;
                                      if ($$.n > AST_MAX_NESTING) {
                                          parser_too_deep(p, span_join(@2, @3), PARSER_LONG_CHAIN, AST_MAX_NESTING);
                                          YYABORT;
                                      } }
    ;

names: name                         { FIRST($$, $1); }
    | names ',' name                { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;

/* ---- expressions ---- */

pipes: pipe                         { FIRST($$, $1); }
    | pipes ',' pipe                { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
pipe: cond
    | pipe PIPE stage               { $$ = ast_pipe(p->ctx, $1, $3); CHECK($$); }
    ;
stage: stage_name
    | stage_name '(' args ')'       { $$ = ast_call(p->ctx, $1, $3, @$); CHECK($$); }
    ;
stage_name: name                    { $$ = ast_name(p->ctx, $1); }
    | stage_name '.' name           { $$ = ast_member(p->ctx, $1, $3); CHECK($$); }
    ;

args: %empty                        { $$ = (ArgNodes){0}; }
    | arg_list optional_comma
    ;
arg_list: arg                       { FIRST($$, $1); }
    | arg_list ',' arg              { $$ = $1; vec_push(UNIT, &$$, $3); }
    ;
arg: pipe                           { $$ = (ArgNode){.value = $1, .span = @$}; }
    | name '=' pipe                 { $$ = (ArgNode){.name = $1, .value = $3, .span = @$}; }
    | expr ARROW expr               { $$ = (ArgNode){.value = ast_arrow(p->ctx, $1, @2, $3), .span = @$};
                                      CHECK($$.value); }
    ;
optional_comma: %empty | ',' ;

cond: expr
    | expr IF expr ELSE cond        { $$ = ast_cond(p->ctx, $1, $3, $5); CHECK($$); }
    ;
expr: primary
    | expr OR expr                  { $$ = ast_binary(p->ctx, AO_OR, @2, $1, $3); CHECK($$); }
    | expr AND expr                 { $$ = ast_binary(p->ctx, AO_AND, @2, $1, $3); CHECK($$); }
    | NOT expr                      { $$ = ast_unary(p->ctx, AO_NOT, @1, $2); CHECK($$); }
    | expr EQ expr                  { $$ = ast_binary(p->ctx, AO_EQ, @2, $1, $3); CHECK($$); }
    | expr NE expr                  { $$ = ast_binary(p->ctx, AO_NE, @2, $1, $3); CHECK($$); }
    | expr '<' expr                 { $$ = ast_binary(p->ctx, AO_LT, @2, $1, $3); CHECK($$); }
    | expr LE expr                  { $$ = ast_binary(p->ctx, AO_LE, @2, $1, $3); CHECK($$); }
    | expr '>' expr                 { $$ = ast_binary(p->ctx, AO_GT, @2, $1, $3); CHECK($$); }
    | expr GE expr                  { $$ = ast_binary(p->ctx, AO_GE, @2, $1, $3); CHECK($$); }
    | expr '+' expr                 { $$ = ast_binary(p->ctx, AO_ADD, @2, $1, $3); CHECK($$); }
    | expr '-' expr                 { $$ = ast_binary(p->ctx, AO_SUB, @2, $1, $3); CHECK($$); }
    | expr '*' expr                 { $$ = ast_binary(p->ctx, AO_MUL, @2, $1, $3); CHECK($$); }
    | expr '/' expr                 { $$ = ast_binary(p->ctx, AO_DIV, @2, $1, $3); CHECK($$); }
    | expr FLOORDIV expr            { $$ = ast_binary(p->ctx, AO_FLOORDIV, @2, $1, $3); CHECK($$); }
    | expr '%' expr                 { $$ = ast_binary(p->ctx, AO_MOD, @2, $1, $3); CHECK($$); }
    | expr '@' expr                 { $$ = ast_binary(p->ctx, AO_MATMUL, @2, $1, $3); CHECK($$); }
    | expr POW expr                 { $$ = ast_binary(p->ctx, AO_POW, @2, $1, $3); CHECK($$); }
    | '-' expr %prec UNARY          { $$ = ast_unary(p->ctx, AO_NEG, @1, $2); CHECK($$); }
    | '+' expr %prec UNARY          { $$ = ast_unary(p->ctx, AO_POS, @1, $2); CHECK($$); }
    ;
primary: name                       { $$ = ast_name(p->ctx, $1); }
    | INT                           { $$ = ast_expr(p->ctx, EX_INT, @$); $$->i = $1; }
    | SIZE                          { $$ = ast_expr(p->ctx, EX_SIZE, @$); $$->i = $1; }
    | FLOAT                         { $$ = ast_expr(p->ctx, EX_FLOAT, @$); $$->f = $1; }
    | STRING                        { $$ = ast_expr(p->ctx, EX_STR, @$); $$->str = $1; }
    | TRUE                          { $$ = ast_expr(p->ctx, EX_BOOL, @$); $$->b = true; }
    | FALSE                         { $$ = ast_expr(p->ctx, EX_BOOL, @$); }
    | NONE                          { $$ = ast_expr(p->ctx, EX_NONE, @$); }
    | '(' pipe ')'                  { $$ = $2; $$->span = @$; }
    | '(' pipe ',' items ')'    { Exprs items = {0};
                                      vec_push(UNIT, &items, $2);
                                      for (size_t i = 0; i < $4.n; i++) vec_push(UNIT, &items, $4.p[i]);
                                      $$ = ast_items(p->ctx, EX_TUPLE, items, @$); CHECK($$); }
    | list
    | primary '.' name              { $$ = ast_member(p->ctx, $1, $3); CHECK($$); }
    | primary '(' args ')'          { $$ = ast_call(p->ctx, $1, $3, @$); CHECK($$); }
    | subscripts ']'                { $$ = $1; $$->span = @$; CHECK($$); }
    ;
list: '[' items ']'        { $$ = ast_items(p->ctx, EX_LIST, $2, @$); CHECK($$); } ;
items: %empty                   { $$ = (Exprs){0}; }
    | pipes optional_comma
    ;
subscripts: primary '[' index       { $$ = ast_expr(p->ctx, EX_INDEX, @$); $$->lhs = $1; $$->depth = $1->depth + 1;
                                      ast_add_index(p->ctx, $$, $3); }
    | subscripts ',' index          { $$ = $1; ast_add_index(p->ctx, $$, $3); }
    ;
index: cond                         { $$ = (IndexNode){.kind = IX_AT, .at = $1, .span = @$}; }
    | bound ':' bound               { $$ = (IndexNode){.kind = IX_RANGE, .lo = $1, .hi = $3, .span = @$}; }
    | bound ':' bound ':' bound     { $$ = (IndexNode){.kind = IX_RANGE, .lo = $1, .hi = $3, .step = $5,
                                                       .span = @$}; }
    | ELLIPSIS                      { $$ = (IndexNode){.kind = IX_ELLIPSIS, .span = @$}; }
    ;
bound: %empty                       { $$ = NULL; }
    | expr                          { $$ = $1; }
    ;

/* The words that start declarations are names everywhere else. */
name: NAME | IMPORT | FROM | AS | DIM | CONST | NET | BLOCK | TRAIN ;

%%

static ParamNode param_node(Parser *p, Ident name, TypeNode *type, Expr *dflt, Span span) {
    return (ParamNode){name, type, dflt, span, parser_doc(p, span.beg)};
}

/* axes NULL: a dtype alone. */
static TypeNode *type_node(Parser *p, Ident dtype, const AxisNodes *axes, Span span) {
    TypeNode *t = NEW(UNIT, TypeNode);
    t->dtype = dtype;
    t->has_shape = axes != NULL;
    if (axes) TAKE(t->axes, *axes);
    t->span = span;
    return t;
}

static Decl *function_decl(Parser *p, DeclKind kind, Span span, Ident name, ParamNodes params, ResultNodes results,
                           Stmts body) {
    Decl *d = ast_decl(p->ctx, kind, span);
    d->name = name;
    d->params = params;
    d->results = results;
    for (size_t i = 0; i < results.n; i++) d->results_named |= results.p[i].name.name != NULL;
    d->body = body;
    d->end = last_byte(span);
    return d;
}

/* Each `else if` is a statement of its own up to the end of the whole chain. */
static void close_chain(Stmt *first, const Stmt *last, uint32_t end) {
    for (Stmt *s = first;; s = s->orelse.p[0]) {
        s->span.end = end;
        if (s == last) return;
    }
}

static int yyreport_syntax_error(const yypcontext_t *context, Parser *p) {
    yysymbol_kind_t kinds[YYNTOKENS];
    const char *names[YYNTOKENS];
    int n = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
    for (int i = 0; i < n; i++) names[i] = yysymbol_name(kinds[i]);
    syntax_error(p, names, n);
    return 0;
}

/* With custom errors, bison itself only ever says that its stack is full. */
static void net_yyerror(Span *where, Parser *p, const char *msg) {
    (void)msg;
    parser_too_deep(p, *where, PARSER_DEEP_EXPRESSION, AST_MAX_DEPTH);
}
