/* fuzz.h - what every fuzz target has in common: with -DSTANDALONE, a main that runs the target on the files it is
 * given, so that a finding can be looked at with any compiler and debugger. */
#ifndef NETC_FUZZ_H
#define NETC_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef STANDALONE
#include <stdio.h>
#include <stdlib.h>

static int run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = 0, cap = 1 << 16;
    uint8_t *data = malloc(cap);
    while (data) {
        n += fread(data + n, 1, cap - n, f);
        if (n < cap) break;
        uint8_t *more = realloc(data, cap *= 2);
        if (!more) free(data);
        data = more;
    }
    int failed = !data || ferror(f);
    if (!failed) LLVMFuzzerTestOneInput(data, n);
    free(data);
    fclose(f);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed |= run_file(argv[i]);
    return failed;
}
#endif

#endif
