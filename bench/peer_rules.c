/* peer_rules.c - `peer_rules FILE.csv` prints one line `rule,height` for the offset rules of other planners (peers.h)
 * on a problem with the columns id, lower, upper, size, further ones ignored. No name has a comma. Hill climbing only
 * for up to HILL_BUFFERS buffers: a try places all of them anew. */
#include "bench/peers.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE = 4096, HILL_BUFFERS = 2000, HILL_TRIES = 500 };

typedef struct Columns { int lower, upper, size; } Columns;

static char *field(char **rest) {
    char *f = *rest, *end = f + strcspn(f, ",\r\n");
    *rest = *end ? end + 1 : end;
    *end = 0;
    return f;
}

static Columns read_header(char *line) {
    Columns c = {-1, -1, -1};
    for (int k = 0; *line; k++) {
        const char *name = field(&line);
        if (strcmp(name, "lower") == 0) c.lower = k;
        if (strcmp(name, "upper") == 0) c.upper = k;
        if (strcmp(name, "size") == 0) c.size = k;
    }
    if (c.lower < 0 || c.upper < 0 || c.size < 0)
        die("the first line does not name lower, upper and size");
    return c;
}

static uint64_t number(const char *text) {
    char *end;
    uint64_t x = strtoull(text, &end, 10);
    if (end == text || *end)
        die("not a number: '%s'", text);
    return x;
}

static PeerBuffer read_row(char *line, const Columns *c) {
    PeerBuffer b = {0, 0, 0};
    int found = 0;
    for (int k = 0; *line; k++) {
        const char *text = field(&line);
        if (k == c->lower) b.lower = (int64_t)number(text), found++;
        if (k == c->upper) b.upper = (int64_t)number(text), found++;
        if (k == c->size) b.size = number(text), found++;
    }
    if (found != 3)
        die("a line with too few fields");
    return b;
}

static void print_rule(const char *name, uint64_t height) {
    printf("%s,%" PRIu64 "\n", name, height);
}

int main(int argc, char **argv) {
    char line[LINE];
    VEC(PeerBuffer) b = {0};
    if (argc != 2)
        die("usage: peer_rules FILE.csv");
    FILE *in = fopen(argv[1], "r");
    if (!in)
        die("cannot open %s:", argv[1]);
    if (!fgets(line, sizeof line, in))
        die("%s is empty", argv[1]);
    Columns c = read_header(line);
    Arena *arena = arena_new();
    while (fgets(line, sizeof line, in))
        if (line[strspn(line, " \r\n")])
            vec_push(arena, &b, read_row(line, &c));
    fclose(in);
    for (size_t r = 0; r < COUNT_OF(peer_rules); r++)
        print_rule(peer_rules[r].name, peer_height(arena, b.p, (uint32_t)b.n, &peer_rules[r]));
    print_rule("ExecuTorch and Relax (slots by size)", peer_slots(arena, b.p, (uint32_t)b.n));
    if (b.n <= HILL_BUFFERS)
        print_rule("TVM hill climb (500 tries)", peer_hill_climb(arena, b.p, (uint32_t)b.n, HILL_TRIES));
    arena_free(arena);
    return 0;
}
