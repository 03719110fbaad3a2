/* supply.c - see supply.h. */
#include "cli/supply.h"

#include <string.h>


static bool read_value(void *data, const Value *v, uint64_t first, Tensor *t) {
    const Given *j = data;
    if (j->given[v->id])
        raw_decode(j->given[v->id]->file.bytes + j->given[v->id]->data, first, t);
    else if (j->stored[v->id])
        raw_decode(j->weights.data + j->stored[v->id]->begin, first, t);
    else
        seeded_read(v, j->o->seed, j->ranges[v->id], first, t);
    return true;
}

static void unknown_input(const Given *j, const char *name) {
    const char **names = NEW_ARRAY(j->c->scratch, const char *, j->g->inputs.n);
    for (size_t i = 0; i < j->g->inputs.n; i++)
        names[i] = j->g->inputs.p[i]->name;
    Diag *d = diag(j->c, DIAG_UNKNOWN_NAME, (Span){ 0 }, "the net %s has no input '%s'", j->g->name, name);
    diag_suggest(j->c, d, name, names, j->g->inputs.n);
}

/* --input=NAME=FILE; FILE_REFUSED after a diagnostic. */
static FileResult open_input(Given *j, const InputFile *in) {
    for (size_t i = 0; i < j->g->inputs.n; i++) {
        const Value *v = j->g->inputs.p[i];
        if (strcmp(v->name, in->name) != 0)
            continue;
        FileResult r = npy_open(j->c, in->path, &j->arrays[i]);
        j->given[v->id] = &j->arrays[i];
        return r == FILE_FINE && !npy_fits(j->c, &j->arrays[i], v) ? FILE_REFUSED : r;
    }
    unknown_input(j, in->name);
    return FILE_REFUSED;
}

static FileResult open_weights(Given *j) {
    FileResult r = safetensors_open(j->c, j->o->weights, &j->weights);
    return r == FILE_FINE && !weights_match(j->c, j->g, &j->weights, j->stored) ? FILE_REFUSED : r;
}

/* All files, so that one run names everything that is wrong with them. An exit status; RUN: go on. */
static int open_files(Given *j) {
    FileResult worst = FILE_FINE;
    for (size_t i = 0; i < j->o->ninputs; i++) {
        FileResult r = open_input(j, &j->o->inputs[i]);
        worst = r > worst ? r : worst;
    }
    if (j->o->weights) {
        FileResult r = open_weights(j);
        worst = r > worst ? r : worst;
    }
    return worst == FILE_UNREADABLE ? EXIT_USAGE : diag_failed(j->c) ? EXIT_PROGRAM : RUN;
}

void given_close(Given *j) {
    for (size_t i = 0; i < j->g->inputs.n; i++)
        npy_close(&j->arrays[i]);
    safetensors_close(&j->weights);
}

int given_open(Given *j, Ctx *c, const Options *o, const Graph *g) {
    *j = (Given){ .c = c, .o = o, .g = g };
    j->arrays = NEW_ARRAY(c->unit, Npy, g->inputs.n);
    j->stored = NEW_ARRAY(c->unit, const FileTensor *, g->values.n);
    j->given = NEW_ARRAY(c->unit, const Npy *, g->values.n);
    j->ranges = input_ranges(c->unit, g);
    int status = open_files(j);
    diag_flush(c);                                        /* warnings stand before what takes time */
    return status;
}

Supply given_supply(Given *j) {
    return (Supply){ read_value, j };
}
