/* randnet.c - `randnet SEED [--size=N] [--style=cnn|transformer|mixed]` prints a valid .net program. */
#include "tests/gen/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    fputs("usage: randnet SEED [--size=N] [--style=cnn|transformer|mixed]\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    static const char *const styles[] = {[GEN_CNN] = "cnn", [GEN_TRANSFORMER] = "transformer", [GEN_MIXED] = "mixed"};
    GenOptions o = {.style = GEN_MIXED, .size = 20};
    char *end = NULL;
    uint64_t seed = argc > 1 ? strtoull(argv[1], &end, 10) : 0;
    if (argc < 2 || *end || end == argv[1]) return usage();
    for (int i = 2; i < argc; i++) {
        if (!strncmp(argv[i], "--size=", 7)) {
            o.size = (unsigned)strtoul(argv[i] + 7, &end, 10);
            if (*end) return usage();
        } else if (!strncmp(argv[i], "--style=", 8)) {
            size_t s = 0;
            while (s < COUNT_OF(styles) && strcmp(styles[s], argv[i] + 8)) s++;
            if (s == COUNT_OF(styles)) return usage();
            o.style = (GenStyle)s;
        } else {
            return usage();
        }
    }
    Arena *a = arena_new();
    StrBuf out;
    sb_init(&out, a);
    gen_program(&out, seed, &o);
    int failed = fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0;
    arena_free(a);
    return failed ? 2 : 0;
}
