/* run.c - `netc run`: a network evaluated on arrays. Inputs come from .npy files, stored tensors from a safetensors file,
 * what no file gives from the seed; each result is one line of figures, and an array when a folder is named.
 *
 * The backend ref evaluates the graph as it is written (ops/evaluate.c), so no plan is made. Files stay mapped while it
 * runs and are read tensor by tensor, or by rows. */
#include "cli/cli.h"
#include "frontend/arrays.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Job {
    Ctx *c;
    const Options *o;
    const Graph *g;
    Npy *arrays;                                          /* by place among the net's inputs; path NULL: not given */
    Safetensors weights;
    const FileTensor **stored;                            /* by value id; NULL: from the seed */
    const Npy **given;                                    /* by value id; likewise */
    Range *ranges;
} Job;

/* what goes in */

static bool read_value(void *data, const Value *v, uint64_t first, Tensor *t) {
    const Job *j = data;
    if (j->given[v->id])
        raw_decode(j->given[v->id]->file.bytes + j->given[v->id]->data, first, t);
    else if (j->stored[v->id])
        raw_decode(j->weights.data + j->stored[v->id]->begin, first, t);
    else
        seeded_read(v, j->o->seed, j->ranges[v->id], first, t);
    return true;
}

static void unknown_input(const Job *j, const char *name) {
    const char **names = NEW_ARRAY(j->c->scratch, const char *, j->g->inputs.n);
    for (size_t i = 0; i < j->g->inputs.n; i++)
        names[i] = j->g->inputs.p[i]->name;
    Diag *d = diag(j->c, DIAG_UNKNOWN_NAME, (Span){ 0 }, "the net %s has no input '%s'", j->g->name, name);
    diag_suggest(j->c, d, name, names, j->g->inputs.n);
}

/* --input=NAME=FILE; FILE_REFUSED after a diagnostic. */
static FileResult open_input(Job *j, const InputFile *in) {
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

static FileResult open_weights(Job *j) {
    FileResult r = safetensors_open(j->c, j->o->weights, &j->weights);
    return r == FILE_FINE && !weights_match(j->c, j->g, &j->weights, j->stored) ? FILE_REFUSED : r;
}

/* All files, so that one run names everything that is wrong with them. An exit status; RUN: go on. */
static int open_files(Job *j) {
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

static void close_files(Job *j) {
    for (size_t i = 0; i < j->g->inputs.n; i++)
        npy_close(&j->arrays[i]);
    safetensors_close(&j->weights);
}

/* what comes out */

static void put_number(StrBuf *out, double v) {
    if (isnan(v))
        sb_puts(out, " nan");
    else
        sb_printf(out, " %.9g", v);
}

/* Least, greatest, mean: of floats NaN when one of them is; nothing has none of the three. */
static void put_figures(StrBuf *out, const Tensor *t) {
    double sum = 0, lo = INFINITY, hi = -INFINITY;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint64_t i = 0; i < t->n; i++) {
        double v = t->is_int ? (double)t->i[i] : t->f[i];
        sum += v;
        lo = v < lo || isnan(v) ? v : lo;
        hi = v > hi || isnan(v) ? v : hi;
        least = t->is_int && t->i[i] < least ? t->i[i] : least;
        most = t->is_int && t->i[i] > most ? t->i[i] : most;
    }
    if (t->n == 0) {
        sb_puts(out, " - - -\n");
        return;
    }
    if (t->is_int) {
        sb_printf(out, " %" PRId64 " %" PRId64, least, most);
    } else {
        put_number(out, isnan(sum) && (isnan(lo) || isnan(hi)) ? NAN : lo);
        put_number(out, isnan(sum) && (isnan(lo) || isnan(hi)) ? NAN : hi);
    }
    put_number(out, sum / (double)t->n);
    sb_putc(out, '\n');
}

/* NAME dtype[shape] min max mean: five fields, so the shape has no blanks. */
static void put_line(StrBuf *out, const char *name, const Tensor *t) {
    sb_printf(out, "%s %s[", name, dtype_name(t->type.dtype));
    for (unsigned i = 0; i < t->type.shape.rank; i++)
        sb_printf(out, i ? ",%" PRIu64 : "%" PRIu64, t->type.shape.dim[i]);
    sb_putc(out, ']');
    put_figures(out, t);
}

/* Characters that a file name should not have become "_"; a name that was there before gets a number. */
static const char *file_name(const Job *j, NameMap *taken, const char *name) {
    Arena *a = j->c->unit;
    char *base = arena_strndup(a, name, strlen(name));
    for (char *p = base; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!letter && !strchr("_-.", *p))
            *p = '_';
    }
    if (*base == '.' || *base == '\0')
        base = arena_printf(a, "_%s", *base ? base + 1 : "");
    const char *unique = name_of(j->c, base);
    for (unsigned n = 2; namemap_get(taken, unique); n++)
        unique = name_of(j->c, arena_printf(a, "%s_%u", base, n));
    namemap_put(taken, unique, base);
    return arena_printf(a, "%s/%s.npy", j->o->output_dir, unique);
}

static bool write_arrays(const Job *j, const Tensor *results) {
    NameMap *taken = namemap_new(j->c->unit);
    if (mkdir(j->o->output_dir, 0777) != 0 && errno != EEXIST) {
        complain("cannot make the folder %s:", j->o->output_dir);
        return false;
    }
    for (size_t i = 0; i < j->g->results.n; i++) {
        Arena *own = arena_new();
        StrBuf bytes;
        sb_init(&bytes, own);
        npy_print(&bytes, &results[i]);
        bool ok = outfile_write(j->c, file_name(j, taken, j->g->results.p[i].name), bytes.p, bytes.n);
        arena_free(own);
        if (!ok)
            return false;
    }
    return true;
}

static bool write_lines(const Job *j, const Tensor *results) {
    StrBuf out;
    sb_init(&out, j->c->unit);
    for (size_t i = 0; i < j->g->results.n; i++)
        put_line(&out, j->g->results.p[i].name, &results[i]);
    return outfile_write(j->c, "-", out.p, out.n);
}

static int evaluate(Job *j) {
    Tensor *results = NEW_ARRAY(j->c->unit, Tensor, j->g->results.n);
    Supply supply = { read_value, j };
    if (!evaluate_graph(j->c, j->g, &supply, j->o->seed, j->c->unit, results))
        return EXIT_PROGRAM;
    if (j->o->output_dir && !write_arrays(j, results))
        return EXIT_USAGE;
    return write_lines(j, results) ? EXIT_FINE : EXIT_USAGE;
}

int run_network(Ctx *c, const Options *o, const Graph *g) {
    Job j = { .c = c, .o = o, .g = g };
    j.arrays = NEW_ARRAY(c->unit, Npy, g->inputs.n);
    j.stored = NEW_ARRAY(c->unit, const FileTensor *, g->values.n);
    j.given = NEW_ARRAY(c->unit, const Npy *, g->values.n);
    j.ranges = input_ranges(c->unit, g);
    int status = open_files(&j);
    diag_flush(c);                                        /* warnings stand before what takes time */
    if (status == RUN)
        status = evaluate(&j);
    close_files(&j);
    return status;
}
