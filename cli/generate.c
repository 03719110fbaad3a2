/* generate.c - --emit=c: the files of a network's program. All are written before the first takes its name, so that
 * either all are there or none. */
#include "backend/emit_c.h"
#include "cli/option.h"
#include "cli/supply.h"

#include <string.h>

/* model.c -> model.h */
static const char *beside(Arena *a, const char *path, const char *end) {
    return arena_printf(a, "%.*s%s", (int)(strlen(path) - 2), path, end);
}

static const char *file_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool put_text(OutStream *s, const StrBuf *text) {
    return s && outstream_put(s, text->p, text->n) && outstream_flush(s);
}

/* Stored tensors of a file, or made from a seed that was asked for. */
static int put_weights(Ctx *c, const Options *o, const Graph *g, const Plan *p, OutStream *out) {
    Given given;
    int status = given_open(&given, c, o, g);
    if (status == RUN) {
        Supply supply = given_supply(&given);
        bool ok = out && emit_c_weights(c, g, p, &supply, out) && outstream_flush(out);
        status = ok ? EXIT_FINE : diag_failed(c) ? EXIT_PROGRAM : EXIT_USAGE;
    }
    given_close(&given);
    return status;
}

int generate_c(Ctx *c, const Options *o, const Graph *g, const Plan *p) {
    StrBuf source, header;
    OutStream *out[3] = { NULL, NULL, NULL };
    const char *path[3] = { o->output, beside(c->unit, o->output, ".h"), beside(c->unit, o->output, ".weights") };
    sb_init(&source, c->unit);
    sb_init(&header, c->unit);
    if (!emit_c(c, g, p, file_part(path[1]), &source, &header))
        return EXIT_PROGRAM;
    unsigned n = o->weights || o->given[OPT_SEED] ? 3 : 2;
    bool ok = true;
    for (unsigned i = 0; ok && i < n; i++)
        ok = (out[i] = outstream_open(c, path[i])) != NULL;
    ok = ok && put_text(out[0], &source) && put_text(out[1], &header);
    int status = ok && n == 3 ? put_weights(c, o, g, p, out[2]) : ok ? EXIT_FINE : EXIT_USAGE;
    for (unsigned i = 0; status == EXIT_FINE && i < n; i++)
        if (!outstream_rename(out[i]))
            status = EXIT_USAGE;
    for (unsigned i = 0; i < n; i++)
        outstream_drop(out[i]);
    return status;
}
