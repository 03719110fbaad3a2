/* check_random.c - property test over random networks, in one process: `check_random [--first=N] [--count=N]
 * [--verbose]`.
 *
 * Every program of the generator must compile. For each level the plan must pass the verifier; naive >= arena >=
 * live peak >= bound; a later level is never worse than an earlier one; "proven" means arena = bound; no two buffers
 * of the arena share a byte in one step (compared pair by pair here, which neither planner nor verifier does). The
 * printed IR must read back to the same text, and a second compilation must print the same. The last line is `N
 * passed, N failed`. */
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Run {
    Ctx *ctx;
    uint64_t seed;
    GenOptions gen;
    Target target;
    IoPlace io;
    const char *text;
    size_t len;
    char failure[512];                                    /* "" while all is well */
} Run;

static const Level levels[] = {LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_REORDER, LEVEL_FULL};

static bool fail(Run *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fail(Run *r, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->failure, sizeof r->failure, fmt, args);
    va_end(args);
    return false;
}

static void setup(Run *r, uint64_t seed) {
    static const DiagCode expected[] = {DIAG_UNUSED_VALUE, DIAG_UNUSED_NAME, DIAG_MISSING_FLATTEN};
    r->seed = seed;
    r->gen = (GenOptions){.style = (GenStyle)(seed % 3), .size = 4 + (unsigned)(seed / 3 % 45)};
    r->target = seed / 2 % 2 ? TARGET_C : TARGET_CUDA;
    r->io = seed / 4 % 2 ? IO_ARENA : IO_CALLER;
    r->ctx = ctx_new();
    for (size_t i = 0; i < COUNT_OF(expected); i++) diag_set_level(r->ctx, expected[i], 0);
    StrBuf text;
    sb_init(&text, r->ctx->perm);
    gen_program(&text, seed, &r->gen);
    r->text = sb_str(&text);
    r->len = text.n;
    r->failure[0] = '\0';
}

static Graph *compile(Run *r) {
    Module *m = parse_file(r->ctx, source_add(r->ctx, "random.net", r->text, r->len));
    if (m->failed) return fail(r, "it does not parse"), NULL;
    ElabOptions options = {0};
    Graph *g = elaborate(r->ctx, m, &options);
    if (!g || diag_failed(r->ctx)) return fail(r, "it does not elaborate"), NULL;
    graph_check(r->ctx, g);
    if (!pass_demand(r->ctx, g)) return fail(r, "an in-place demand is refused"), NULL;
    return g;
}

static Plan *plan_at(Run *r, const Graph *g, Level level) {
    PlanOptions options = {.level = level, .target = r->target, .io = r->io};
    return plan_network(r->ctx, g, &options);
}

/* What b may lie over a in the one step in which both live. */
static uint64_t may_share(const Buffer *a, const Buffer *b, uint32_t step) {
    return b->overlaps == a->id && b->first == step && a->last == step ? b->overlap_bytes : 0;
}

static bool pieces_apart(const Buffer *a, const Buffer *b) {
    for (size_t i = 0; i < a->pieces.n; i++) {
        for (size_t j = 0; j < b->pieces.n; j++) {
            const Piece *p = &a->pieces.p[i], *q = &b->pieces.p[j];
            bool same_time = p->first <= q->last && q->first <= p->last;
            uint64_t lo = a->offset + p->lo > b->offset + q->lo ? a->offset + p->lo : b->offset + q->lo;
            uint64_t hi = a->offset + p->hi < b->offset + q->hi ? a->offset + p->hi : b->offset + q->hi;
            uint32_t step = p->first > q->first ? p->first : q->first;
            if (same_time && lo < hi && hi - lo > may_share(a, b, step) + may_share(b, a, step)) return false;
        }
    }
    return true;
}

static bool check_buffers(Run *r, const Plan *p) {
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *a = &p->buffers.p[i];
        if (!a->in_arena) continue;
        if (a->offset % p->align) return fail(r, "%s: buffer %zu is not aligned", level_name(p->level), i);
        if (a->offset + a->nbytes > p->arena_bytes)
            return fail(r, "%s: buffer %zu ends outside the arena", level_name(p->level), i);
        for (size_t j = 0; j < i; j++)
            if (p->buffers.p[j].in_arena && !pieces_apart(a, &p->buffers.p[j]))
                return fail(r, "%s: buffers %zu and %zu overlap", level_name(p->level), j, i);
    }
    return true;
}

static bool check_totals(Run *r, const Plan *p) {
    const char *level = level_name(p->level);
    unsigned long long naive = p->naive_bytes, arena = p->arena_bytes;
    unsigned long long live = p->live_peak_bytes, bound = p->bound_bytes;
    if (naive < arena || arena < live || live < bound)
        return fail(r, "%s: naive %llu, arena %llu, live peak %llu, bound %llu do not fall", level, naive, arena, live,
                    bound);
    if (p->proven && arena != bound) return fail(r, "%s: proven, but arena %llu is not bound %llu", level, arena, bound);
    return true;
}

static bool check_levels(Run *r, const Graph *g, Plan **last) {
    uint64_t before = UINT64_MAX, naive = 0;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        const char *why = NULL;
        Plan *p = *last = plan_at(r, g, levels[i]);
        if (!p) return fail(r, "%s: no plan", level_name(levels[i]));
        if (!plan_verify(r->ctx, g, p, &why)) return fail(r, "%s: %s", level_name(levels[i]), why);
        if (!check_totals(r, p) || !check_buffers(r, p)) return false;
        if (p->arena_bytes > before)
            return fail(r, "%s: arena %llu is larger than the level before's %llu", level_name(levels[i]),
                        (unsigned long long)p->arena_bytes, (unsigned long long)before);
        if (i && p->naive_bytes != naive) return fail(r, "%s: another naive size", level_name(levels[i]));
        before = p->arena_bytes;
        naive = p->naive_bytes;
    }
    return true;
}

static bool check_round_trip(Run *r, const Graph *g, const Plan *p) {
    StrBuf first, second;
    sb_init(&first, r->ctx->unit);
    sb_init(&second, r->ctx->unit);
    ir_print(&first, r->ctx, g, p);
    Plan *plan = NULL;
    Graph *back = ir_parse(r->ctx, source_add(r->ctx, "random.ir", first.p, first.n), &plan);
    if (!back) return fail(r, "the printed IR does not parse");
    ir_print(&second, r->ctx, back, plan);
    bool same = first.n == second.n && !memcmp(first.p, second.p, first.n);
    return same || fail(r, "the printed IR reads back as another one");
}

/* The whole compilation once more: nothing may depend on addresses or on what ran before. */
static bool check_same_again(Run *r, const Graph *g, const Plan *p) {
    Run again;
    setup(&again, r->seed);
    Graph *h = compile(&again);
    Plan *q = h ? plan_at(&again, h, LEVEL_FULL) : NULL;
    StrBuf a, b;
    sb_init(&a, r->ctx->unit);
    sb_init(&b, again.ctx->unit);
    ir_print(&a, r->ctx, g, p);
    if (q) ir_print(&b, again.ctx, h, q);
    bool same = q && a.n == b.n && !memcmp(a.p, b.p, a.n);
    ctx_free(again.ctx);
    return same || fail(r, "a second compilation gives another plan");
}

static bool check_seed(Run *r) {
    Plan *plan = NULL;
    Graph *g = compile(r);
    return g && check_levels(r, g, &plan) && check_round_trip(r, g, NULL) && check_round_trip(r, g, plan) &&
           check_same_again(r, g, plan);
}

static bool number_option(const char *arg, const char *name, uint64_t *v) {
    size_t n = strlen(name);
    if (strncmp(arg, name, n)) return false;
    *v = strtoull(arg + n, NULL, 10);
    return true;
}

/* One byte to `to` for every seed that was checked: 1 passed, 0 failed. */
static void check_seeds(uint64_t first, uint64_t end, int to) {
    for (uint64_t seed = first; seed < end; seed++) {
        Run r;
        setup(&r, seed);
        char passed = check_seed(&r);
        if (!passed) {
            printf("seed %llu (style %d, size %u): %s\n", (unsigned long long)seed, (int)r.gen.style, r.gen.size,
                   r.failure);
            fflush(stdout);
            diag_flush(r.ctx);
        }
        ctx_free(r.ctx);
        if (write(to, &passed, 1) != 1) _exit(2);
    }
}

/* Checks seeds in a child process until the end or until one of them ends it; returns the first seed that is left. */
static uint64_t check_in_child(uint64_t first, uint64_t end, uint64_t *passed) {
    int ends[2], status = 0;
    if (pipe(ends) != 0) die("pipe:");
    pid_t child = fork();
    if (child < 0) die("fork:");
    if (child == 0) {
        close(ends[0]);
        check_seeds(first, end, ends[1]);
        exit(0);
    }
    close(ends[1]);
    char ok;
    uint64_t seed = first;
    for (; read(ends[0], &ok, 1) == 1; seed++) *passed += ok == 1;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child) die("waitpid:");
    if (seed == end) return end;
    printf("seed %llu ended the process with status %d\n", (unsigned long long)seed, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    return seed + 1;
}

int main(int argc, char **argv) {
    uint64_t first = 1, count = 300, passed = 0;
    for (int i = 1; i < argc; i++)
        if (!number_option(argv[i], "--first=", &first) && !number_option(argv[i], "--count=", &count)) return 2;
    for (uint64_t seed = first; seed < first + count;) seed = check_in_child(seed, first + count, &passed);
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)(count - passed));
    return passed != count;
}
