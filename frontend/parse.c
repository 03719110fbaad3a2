/* parse.c - one file to a module: sets up the scanner over the file's text and runs the grammar. Linear in the file; the
 * stack follows bracket nesting, which is capped, never the length of a program. */
#include "grammar/net.tab.h"
#include "grammar/net.lex.h"

Module *parse_file(Ctx *ctx, uint32_t file) {
    const Source *source = source_get(ctx, file);
    Parser *p = NEW(ctx->unit, Parser);
    p->ctx = ctx;
    p->file = file;
    p->source = source;
    p->module = NEW(ctx->unit, Module);
    p->module->file = file;
    p->cur.kind = T_END;
    sb_init(&p->doc, ctx->unit);
    if (scan_lex_init_extra(p, &p->scanner)) die("scanner:");
    scan__scan_bytes(source->text, (int)source->len, p->scanner);
    if (net_yyparse(p)) p->module->failed = true;
    scan_lex_destroy(p->scanner);
    return p->module;
}
