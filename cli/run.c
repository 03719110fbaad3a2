/* run.c - `netc run`: a network evaluated on arrays. Inputs come from .npy files, stored tensors from a safetensors
 * file, what no file gives from the seed; each result is one line of figures, and an array when a folder is named.
 *
 * The backend ref evaluates the graph as it is written (ops/evaluate.c), so no plan is made. Files stay mapped while
 * it runs and are read tensor by tensor, or by rows. */
#include "cli/cli.h"
#include "cli/supply.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Job {
    Ctx *c;
    const Options *o;
    const Graph *g;
    Given given;
} Job;

/* what comes out */

static void put_number(StrBuf *out, double v) {
    if (isnan(v))
        sb_puts(out, " nan");
    else
        sb_printf(out, " %.9g", v == 0 ? 0 : v);          /* -0 reads as 0 */
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
    Supply supply = given_supply(&j->given);
    if (j->o->backend == BACKEND_C) {
        int status = run_generated(j->c, j->o, j->g, &supply, results);
        if (status != EXIT_FINE)
            return status;
    } else if (!evaluate_graph(j->c, j->g, &supply, j->o->seed, j->c->unit, results)) {
        return EXIT_PROGRAM;
    }
    if (j->o->output_dir && !write_arrays(j, results))
        return EXIT_USAGE;
    return write_lines(j, results) ? EXIT_FINE : EXIT_USAGE;
}

int run_network(Ctx *c, const Options *o, const Graph *g) {
    Job j = { .c = c, .o = o, .g = g };
    int status = given_open(&j.given, c, o, g);
    if (status == RUN)
        status = evaluate(&j);
    given_close(&j.given);
    return status;
}
