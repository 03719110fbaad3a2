/* parse.c - one file to a module: sets up the scanner over the file's text and runs the grammar. Linear in the file;
 * the stack follows bracket nesting, which is capped, never the length of a program. */
#include "grammar/net.tab.h"
#include "grammar/net.lex.h"

static Parser *parser_new(Ctx *ctx, uint32_t file) {
    Parser *p = NEW(ctx->unit, Parser);
    p->ctx = ctx;
    p->file = file;
    p->source = source_get(ctx, file);
    p->module = NEW(ctx->unit, Module);
    p->module->file = file;
    p->cur.kind = T_END;
    sb_init(&p->doc, ctx->unit);
    return p;
}

static void parse_bytes(Parser *p, uint32_t beg, uint32_t end) {
    p->beg = p->end = beg;
    if (scan_lex_init_extra(p, &p->scanner)) die("scanner:");
    scan__scan_bytes(p->source->text + beg, (int)(end - beg), p->scanner);
    if (net_yyparse(p)) p->module->failed = true;
    scan_lex_destroy(p->scanner);
}

Module *parse_file(Ctx *ctx, uint32_t file) {
    Parser *p = parser_new(ctx, file);
    parse_bytes(p, 0, (uint32_t)p->source->len);
    return p->module;
}

/* As the value of a const, so that one grammar and one start symbol serve. */
Expr *parse_expr(Ctx *ctx, Span at) {
    Parser *p = parser_new(ctx, at.file);
    Span start = {at.file, at.beg, at.beg};
    p->lead[2] = (Token){.kind = T_CONST, .span = start, .str = intern_n(ctx->names, "const", 5)};
    p->lead[1] = (Token){.kind = T_NAME, .span = start, .str = intern_n(ctx->names, "_", 1)};
    p->lead[0] = (Token){.kind = '=', .span = start};
    p->nlead = 3;
    parse_bytes(p, at.beg, at.end);
    Module *m = p->module;
    return !m->failed && m->decls.n == 1 && m->decls.p[0]->kind == DE_CONST ? m->decls.p[0]->value : NULL;
}
