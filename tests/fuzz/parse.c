/* parse.c - fuzz target: any bytes are parsed and printed without a crash, a hang or a leak. Built with clang's
 * libFuzzer by `make fuzz`; with -DSTANDALONE it is a program that runs the files it is given. */
#include "frontend/ast.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_new();
    Module *m = parse_file(ctx, source_add(ctx, "fuzz.net", (const char *)data, size));
    StrBuf out;
    sb_init(&out, ctx->unit);
    if (!m->failed) ast_print(&out, m);
    if (m->failed != diag_failed(ctx)) ice("a failed module without an error");
    ctx_free(ctx);
    return 0;
}
