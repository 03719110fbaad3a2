/* explain.c - --explain=CODE: the section of docs/errors.md on that code. The manual is part of the binary (tools/embed.c). */
#include "cli/cli.h"

#include <string.h>

extern const char errors_md[];

/* The section "## word" up to the next one; NULL if there is none. */
static const char *find_section(const char *word, size_t *n) {
    size_t len = strlen(word);
    for (const char *p = errors_md; (p = strstr(p, "\n## ")) != NULL; p += 4) {
        if (strncmp(p + 4, word, len) != 0 || p[4 + len] != '\n')
            continue;
        const char *end = strstr(p + 4, "\n## ");
        *n = end ? (size_t)(end - p) - 1 : strlen(p) - 1;
        return p + 1;
    }
    return NULL;
}

int explain_code(Ctx *c, const char *word) {
    DiagCode code;
    if (!diag_code_by_word(word, &code)) {
        const char *words[DIAG_COUNT];
        for (size_t i = 0; i < DIAG_COUNT; i++)
            words[i] = diag_word((DiagCode)i);
        const char *near = suggest(word, words, DIAG_COUNT);
        complain(near ? "no message has the code '%s'; did you mean '%s'?" : "no message has the code '%s'", word, near);
        return EXIT_USAGE;
    }
    size_t n;
    const char *text = find_section(word, &n);
    if (!text)
        ice("docs/errors.md has no section on '%s'", word);
    StrBuf out;
    sb_init(&out, c->unit);
    sb_write(&out, text, n);
    while (out.n && out.p[out.n - 1] == '\n')
        out.n--;
    sb_putc(&out, '\n');
    return outfile_write(c, "-", out.p, out.n) ? EXIT_FINE : EXIT_USAGE;
}
