/* ctx.c - what one compilation owns: three arenas by how long things live, its names, its files, its diagnostics. */
#include "base/base.h"
#include "base/diagstate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_MAX_ERRORS = 20, DEFAULT_MAX_OPS = 1 << 20 };

Ctx *ctx_new(void) {
    Arena *perm = arena_new();
    Ctx *c = NEW(perm, Ctx);
    c->perm = perm;
    c->unit = arena_new();
    c->scratch = arena_new();
    c->names = intern_new(perm);
    c->diags = diagstate_new(perm);
    c->max_errors = DEFAULT_MAX_ERRORS;
    c->max_ops = DEFAULT_MAX_OPS;
    vec_push(perm, &c->sources, NULL);
    return c;
}

void ctx_free(Ctx *c) {
    if (!c)
        return;
    arena_free(c->scratch);
    arena_free(c->unit);
    arena_free(c->perm);
}

/* NO_COLOR is stronger than CLICOLOR_FORCE, as CMake documents it. */
bool ctx_color(const Ctx *c, int fd) {
    if (c->color != COLOR_AUTO)
        return c->color == COLOR_ALWAYS;
    const char *no_color = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
    if (no_color && *no_color)
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}
