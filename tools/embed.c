/* embed.c - a file as a C array: `embed NAME FILE` prints `const char NAME[]` with the file's bytes and a NUL after them.
 *
 * A build-time program. Bytes are written as numbers, since compilers limit the length of string literals. */
#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: embed NAME FILE\n");
        return 2;
    }
    FILE *f = fopen(argv[2], "rb");
    if (!f) {
        perror(argv[2]);
        return 2;
    }
    printf("extern const char %s[];\nconst char %s[] = {", argv[1], argv[1]);
    int c;
    for (unsigned long i = 0; (c = getc(f)) != EOF; i++)
        printf("%s%d,", i % 32 ? "" : "\n    ", c > 127 ? c - 256 : c);
    printf("\n    0\n};\n");
    int failed = ferror(f) || fclose(f) != 0 || fflush(stdout) != 0 || ferror(stdout);
    return failed ? 2 : 0;
}
