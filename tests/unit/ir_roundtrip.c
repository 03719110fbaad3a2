/* ir_roundtrip.c - printed IR: what is printed reads back and prints the same; what is wrong is refused with its place; and
 * no text whatever, made by deleting, doubling or changing parts of a good one, does worse than being refused. */
#include "ir/plan.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

static const char good[] =
    "netir 1\n"
    "file 1 \"no/such/file.net\"\n"
    "net tiny \"no/such/file.net\" @1:2:1(20-30) doc \"two\\x0alines \\\"quoted\\\"\"\n"
    "memory budget 1048576 align 64 reuse false\n"
    "alias_io\n"
    "dim N = 1 @1:1:5(4-9)\n"
    "dim T <= 512\n"
    "input %0 x : f32[1, 3, 8, 8] @1:3:11(41-50) doc \"an image\"\n"
    "param %1 conv1.weight : f32[4, 3, 3, 3] init kaiming_uniform 2.23606797749979 @1:4:9(60-70)\n"
    "param %2 conv1.bias : f32[4] init uniform -0.2 0.2 @1:4:9(60-70)\n"
    "%3 = conv2d(%0, %1, %2) {kernel_size=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1), dilation=(1, 1), groups=1}"
    " : f32[1, 4, 8, 8] at tiny/conv2d#1 params 112 macs 6912 @1:4:9(60-70)\n"
    "%4 = relu(%3) : f32[1, 4, 8, 8] as y @1:4:20(71-75) at tiny/relu#1 inplace demand keep checkpoint 2 @1:4:25(76-80)\n"
    "const %5 : f32[] = 0.5\n"
    "%6 = mul(%4, %5) : f32[1, 4, 8, 8] at tiny/mul#1 phase backward\n"
    "buffer %7 seen : i64[] init zeros declared\n"
    "result out %6 @1:9:5(120-140)\n";

static const char plan[] =
    "plan full made_by alias target c io caller align 64\n"
    "op 0 run step 0 ; tiny/conv2d#1\n"
    "op 1 fused into 0 step 0 ; tiny/relu#1\n"
    "op 2 run step 1 ; tiny/mul#1\n"
    "step 0 anchor 0 ops 0 1\n"
    "step 1 anchor 2 ops 2\n"
    "value %0 in 0 +0 steps 0-0\n"
    "value %3 is %4 steps 0-0\n"
    "value %4 in 1 +0 because NO_OPERAND steps 0-1\n"
    "value %6 in 1 +0 inplace with %4 because STILL_NEEDED of %4 steps 1-1\n"
    "buffer 0 io bytes 768 steps 0-0\n"
    "buffer 1 activation bytes 1024 at 0 steps 0-1 pieces [0-512 0-1] [512-1024 0-0]\n"
    "buffer 2 workspace op 0 bytes 64 at 1024 steps 0-0\n"
    "total arena 1088 live_peak 1088 bound 1024 naive 2048 weights 448 workspace 64 io 768 peak_step 0 proven false"
    " bound_kind \"program order\" rule \"by size\" nodes 7\n";

static Ctx *quiet_ctx(void) {
    Ctx *c = ctx_new();
    c->color = COLOR_NEVER;
    c->max_errors = 1;
    return c;
}

static Graph *parse(Ctx *c, const char *text, size_t n, Plan **p) {
    return ir_parse(c, source_add(c, "test.ir", text, n), p);
}

static void check_prints_same(const char *text) {
    Ctx *c = quiet_ctx();
    Plan *p = NULL;
    StrBuf sb;
    Graph *g = parse(c, text, strlen(text), &p);
    if (g == NULL)
        diag_flush(c);
    CHECK(g != NULL);
    if (g != NULL) {
        sb_init(&sb, c->unit);
        ir_print(&sb, c, g, p);
        if (strcmp(sb_str(&sb), text) != 0)
            fprintf(stderr, "%s", sb_str(&sb));
        CHECK(strcmp(sb_str(&sb), text) == 0);
    }
    ctx_free(c);
}

static char *join(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    char *s = malloc(n + m + 1);
    if (s == NULL)
        abort();
    memcpy(s, a, n);
    memcpy(s + n, b, m + 1);
    return s;
}

/* The text with its first `from` replaced by `to` is refused. */
static void check_refused(const char *text, const char *from, const char *to) {
    Ctx *c = quiet_ctx();
    const char *at = strstr(text, from);
    CHECK(at != NULL);
    if (at != NULL) {
        Plan *p;
        StrBuf sb;
        sb_init(&sb, c->unit);
        sb_write(&sb, text, (size_t)(at - text));
        sb_puts(&sb, to);
        sb_puts(&sb, at + strlen(from));
        bool refused = parse(c, sb_str(&sb), sb.n, &p) == NULL && diag_failed(c);
        if (!refused)
            fprintf(stderr, "not refused: %s -> %s\n", from, to);
        CHECK(refused);
    }
    ctx_free(c);
}

static void refusals(const char *whole) {
    check_refused(whole, "netir 1", "netir 2");
    check_refused(whole, "%3 = conv2d", "%9 = conv2d");
    check_refused(whole, "relu(%3)", "relu(%8)");
    check_refused(whole, "relu(%3)", "relu(none)");
    check_refused(whole, "relu(%3)", "relu()");
    check_refused(whole, "relu(%3)", "releh(%3)");
    check_refused(whole, " : f32[1, 4, 8, 8] as y", " : f32[1, 4, 8, 7] as y");
    check_refused(whole, " : f32[1, 4, 8, 8] as y", " : f16[1, 4, 8, 8] as y");
    check_refused(whole, "as y", "as x");
    check_refused(whole, "macs 6912", "macs 6913");
    check_refused(whole, "params 112", "params 111");
    check_refused(whole, "groups=1", "groups=2");
    check_refused(whole, ", groups=1", "");
    check_refused(whole, "groups=1", "groups=\"1\"");
    check_refused(whole, "stride=(1, 1)", "stride=(1, 1), stride=(1, 1)");
    check_refused(whole, "f32[1, 3, 8, 8]", "f32[9223372036854775807, 3, 8, 8]");
    check_refused(whole, "@1:3:11(41-50)", "@1:3:11(41-40)");
    check_refused(whole, "@1:3:11(41-50)", "@2:3:11(41-50)");
    check_refused(whole, "@1:3:11(41-50)", "@1:9:11(41-50)");
    check_refused(whole, "into 0", "into 3");
    check_refused(whole, "is %4", "is %3\nvalue %4 is %3 steps 0-0\nvalue %3 is %4");
    check_refused(whole, "anchor 2", "anchor 3");
    check_refused(whole, "step 1 anchor", "step 2 anchor");
    check_refused(whole, "in 1 +0 inplace", "in 3 +0 inplace");
    check_refused(whole, "[512-1024 0-0]", "[512-1025 0-0]");
    check_refused(whole, "align 64\nop", "align 63\nop");
    check_refused(whole, "buffer 1 activation", "buffer 2 activation");
    check_refused(whole, "STILL_NEEDED", "STILL_WANTED");
    check_refused(whole, "peak_step 0", "peak_step 2");
    check_refused(whole, "result out %6", "result out %16");
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* Cuts, doublings and changes of bytes; the text stays mostly good, so that the reader gets far. */
static size_t mutate(char *text, size_t n, size_t cap, uint64_t *seed) {
    static const char bytes[] = "0123456789%(),{}=:;@\"\\ \nabcnofz-+.[]<";
    for (uint64_t k = next_random(seed) % 3 + 1; k > 0; k--) {
        size_t at = next_random(seed) % n, len = next_random(seed) % 12 + 1;
        if (len > n - at)
            len = n - at;
        switch (next_random(seed) % 4) {
        case 0:
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
            break;
        case 1:
            if (n + len <= cap) {
                memmove(text + at + len, text + at, n - at);
                n += len;
            }
            break;
        default:
            text[at] = bytes[next_random(seed) % (sizeof bytes - 1)];
            break;
        }
        if (n == 0)
            return 0;
    }
    return n;
}

/* Whatever comes in: a graph that passes the graph's own check and prints, or a diagnostic. */
static void hostile(const char *whole, unsigned rounds) {
    size_t n = strlen(whole), cap = n + 64;
    char *text = malloc(cap);
    uint64_t seed = 88172645463325252u;
    unsigned accepted = 0, refused = 0;
    if (text == NULL)
        abort();
    for (unsigned i = 0; i < rounds; i++) {
        Ctx *c = quiet_ctx();
        Plan *p = NULL;
        memcpy(text, whole, n);
        Graph *g = parse(c, text, mutate(text, n, cap, &seed), &p);
        if (g != NULL) {
            StrBuf sb;
            sb_init(&sb, c->unit);
            graph_check(c, g);
            ir_print(&sb, c, g, p);
            accepted++;
        } else {
            refused += diag_failed(c);
        }
        ctx_free(c);
    }
    CHECK(accepted + refused == rounds);
    CHECK(refused > rounds / 2);
    CHECK(accepted > 0);
    free(text);
}

int main(void) {
    char *whole = join(good, plan);
    check_prints_same(good);
    check_prints_same(whole);
    check_prints_same("netir 1\nnet empty \"\"\n");
    refusals(whole);
    hostile(whole, 20000);
    free(whole);
    return check_done();
}
