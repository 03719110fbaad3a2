/* outstream.c - a result that is written piece by piece: into a temporary beside the target, which is renamed when
 * everything is there. Several files that belong together are all written before the first is renamed. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct OutStream {
    Ctx *ctx;
    const char *path, *temporary;
    FILE *f;
};

OutStream *outstream_open(Ctx *c, const char *path) {
    OutStream *s = NEW(c->perm, OutStream);
    *s = (OutStream){.ctx = c, .path = path};
    for (unsigned i = 0; i < 1000 && !s->f; i++) {
        s->temporary = arena_printf(c->perm, "%s.tmp%u", path, i);
        s->f = fopen(s->temporary, "wbx");
    }
    if (!s->f) {
        complain("cannot write %s:", path);
        return NULL;
    }
    return s;
}

bool outstream_put(OutStream *s, const void *bytes, size_t n) {
    if (n == 0 || fwrite(bytes, 1, n, s->f) == n) return true;
    complain("cannot write %s:", s->path);
    return false;
}

bool outstream_flush(OutStream *s) {
    bool ok = fflush(s->f) == 0 && !ferror(s->f);
    if (fclose(s->f) != 0) ok = false;
    s->f = NULL;
    if (!ok) complain("cannot write %s:", s->path);
    return ok;
}

bool outstream_rename(OutStream *s) {
    if (rename(s->temporary, s->path) == 0) {
        s->temporary = NULL;
        return true;
    }
    complain("cannot write %s:", s->path);
    return false;
}

void outstream_drop(OutStream *s) {
    if (!s) return;
    if (s->f) fclose(s->f);
    if (s->temporary) unlink(s->temporary);
    s->f = NULL;
    s->temporary = NULL;
}
