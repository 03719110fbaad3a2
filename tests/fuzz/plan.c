/* plan.c - fuzz target: any program is elaborated and planned at every level without a crash, a hang or a leak, and
 * what is planned passes the verifier. Loops unroll to few operators, so that a run stays short. Imports are left
 * out: a fuzzer must not read the disk. */
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_OPS = 200 };

static bool has_import(const Module *m) {
    for (size_t i = 0; i < m->decls.n; i++)
        if (m->decls.p[i]->kind == DE_IMPORT || m->decls.p[i]->kind == DE_FROM) return true;
    return false;
}

static void plan_levels(Ctx *ctx, const Graph *g) {
    static const Level levels[] = {LEVEL_NAIVE, LEVEL_ALIAS, LEVEL_FULL};
    uint64_t before = UINT64_MAX;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        PlanOptions options = {.level = levels[i], .target = TARGET_C, .io = i % 2 ? IO_ARENA : IO_CALLER};
        const char *why = NULL;
        Plan *p = plan_network(ctx, g, &options);
        if (!p && !diag_failed(ctx)) ice("no plan and no reason");
        if (!p) return;
        if (!plan_verify(ctx, g, p, &why)) ice("level %s: %s", level_name(levels[i]), why);
        if (options.io != IO_CALLER) continue;
        if (p->arena_bytes > before) ice("level %s is worse than the one before", level_name(levels[i]));
        before = p->arena_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_new();
    ctx->max_ops = MOST_OPS;
    Module *m = parse_file(ctx, source_add(ctx, "fuzz.net", (const char *)data, size));
    ElabOptions options = {0};
    Graph *g = m->failed || has_import(m) ? NULL : elaborate(ctx, m, &options);
    if (g && !diag_failed(ctx)) {
        graph_check(ctx, g);
        if (pass_demand(ctx, g)) plan_levels(ctx, g);
    }
    ctx_free(ctx);
    return 0;
}
