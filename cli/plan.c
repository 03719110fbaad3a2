/* plan.c - `netc plan FILE.csv`: the offset planner alone. The rows of each bank become one offset problem (passes/dsa.h); what
 * the solver places is checked by code that shares nothing with it, then written beside the rows as they were read.
 *
 * Moments become steps by subtracting the first one; where they reach too far for 32 bits, by their rank. The last line on
 * standard error is for scripts. */
#include "cli/cli.h"
#include "cli/option.h"
#include "frontend/plan_csv.h"
#include "passes/dsa.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NOTES = 12 };

typedef struct Bank {
    const char *name;
    uint64_t capacity;                                    /* 0: as low as can be */
    DsaProblem pb;
    uint32_t *row;                                        /* by object */
    VEC(DsaApart) apart;
    DsaSolution got;
} Bank;

typedef struct Job {
    Ctx *c;
    const Options *o;
    CsvProblem *csv;
    Bank *banks;
    size_t nbanks;
    uint32_t *object;                                     /* by row: its object in its bank; NO_ID: needs no byte at any moment */
    int64_t lowest;                                       /* the first moment */
    int64_t *rank;                                        /* all moments, sorted; NULL when subtracting is enough */
    size_t nranks;
} Job;

/* steps */

static int by_moment(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void rank_moments(Job *j) {
    VEC(int64_t) all = { 0 };
    for (size_t i = 0; i < j->csv->rows.n; i++) {
        const CsvRow *row = &j->csv->rows.p[i];
        vec_push(j->c->unit, &all, row->lower);
        vec_push(j->c->unit, &all, row->upper);
        for (size_t k = 0; k < row->gaps.n; k++) {
            vec_push(j->c->unit, &all, row->gaps.p[k].lower);
            vec_push(j->c->unit, &all, row->gaps.p[k].upper);
        }
    }
    if (all.n == 0)
        return;
    qsort(all.p, all.n, sizeof *all.p, by_moment);
    j->lowest = all.p[0];
    if ((uint64_t)all.p[all.n - 1] - (uint64_t)j->lowest < UINT32_MAX)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (j->nranks == 0 || all.p[j->nranks - 1] != all.p[i])
            all.p[j->nranks++] = all.p[i];
    j->rank = all.p;
}

static uint32_t step_of(const Job *j, int64_t moment) {
    if (j->rank == NULL)
        return (uint32_t)((uint64_t)moment - (uint64_t)j->lowest);
    return (uint32_t)((const int64_t *)bsearch(&moment, j->rank, j->nranks, sizeof moment, by_moment) - j->rank);
}

/* objects */

static uint32_t add_piece(const Job *j, DsaPiece *pieces, uint32_t n, uint64_t lo, uint64_t hi, int64_t lower, int64_t upper) {
    if (lower < upper && lo < hi)
        pieces[n++] = (DsaPiece){ lo, hi, step_of(j, lower), step_of(j, upper) - 1 };
    return n;
}

/* The whole buffer between its gaps, and what stays needed inside them. */
static DsaObject object_of(const Job *j, const CsvRow *row, uint64_t align) {
    DsaPiece *pieces = NEW_ARRAY(j->c->unit, DsaPiece, 2 * row->gaps.n + 1);
    int64_t from = row->lower;
    uint32_t n = 0;
    for (size_t k = 0; k < row->gaps.n; k++) {
        const CsvGap *g = &row->gaps.p[k];
        n = add_piece(j, pieces, n, 0, row->size, from, g->lower);
        n = add_piece(j, pieces, n, g->lo, g->hi, g->lower, g->upper);
        from = g->upper;
    }
    n = add_piece(j, pieces, n, 0, row->size, from, row->upper);
    return (DsaObject){ .pieces = pieces, .npieces = n, .nbytes = row->size, .align = align, .pinned = row->pinned, .offset = row->offset };
}

static uint64_t common_multiple(uint64_t a, uint64_t b) {
    uint64_t x = a, y = b;
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return a / x * b;                                     /* at most 2^32 * 2^30 */
}

static uint64_t align_of(const Job *j, const CsvRow *row) {
    uint64_t all = j->o->given[OPT_ALIGN] ? j->o->plan.align : 1, align = common_multiple(row->align, all);
    if (align > UINT64_C(1) << 32)
        diag(j->c, DIAG_PLAN_CSV, row->span, "the alignment of '%s' and --align=%" PRIu64 " have no common multiple below 2^32", row->id, all);
    else if (row->pinned && row->offset % align != 0)
        diag(j->c, DIAG_PLAN_CSV, row->span, "'%s' is pinned at %" PRIu64 ", no multiple of --align=%" PRIu64, row->id, row->offset, all);
    return align;
}

/* Row i may start `distance` bytes above or below another: less is forbidden between their starts. */
static void add_apart(const Job *j, Bank *bank, uint32_t i, const CsvAfter *a) {
    const CsvRow *x = &j->csv->rows.p[i], *y = &j->csv->rows.p[a->row];
    if (j->object[i] == NO_ID || j->object[a->row] == NO_ID || x->lower >= y->upper || y->lower >= x->upper)
        return;
    DsaApart apart = { j->object[i], j->object[a->row], -(int64_t)x->size, (int64_t)y->size };
    if (a->above && (int64_t)a->distance < apart.hi)
        apart.hi = (int64_t)a->distance;
    if (!a->above && -(int64_t)a->distance > apart.lo)
        apart.lo = -(int64_t)a->distance;
    vec_push(j->c->unit, &bank->apart, apart);
}

static void make_problems(Job *j) {
    size_t n = j->csv->rows.n;
    j->object = NEW_ARRAY(j->c->unit, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        j->banks[j->csv->rows.p[i].bank].pb.n++;
    for (size_t b = 0; b < j->nbanks; b++) {
        Bank *bank = &j->banks[b];
        bank->pb.objects = NEW_ARRAY(j->c->unit, DsaObject, bank->pb.n);
        bank->row = NEW_ARRAY(j->c->unit, uint32_t, bank->pb.n);
        bank->pb.n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const CsvRow *row = &j->csv->rows.p[i];
        Bank *bank = &j->banks[row->bank];
        DsaObject o = object_of(j, row, align_of(j, row));
        j->object[i] = o.npieces ? bank->pb.n : NO_ID;
        if (o.npieces == 0)
            continue;
        bank->row[bank->pb.n] = (uint32_t)i;
        bank->pb.objects[bank->pb.n++] = o;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < j->csv->rows.p[i].after.n; k++)
            add_apart(j, &j->banks[j->csv->rows.p[i].bank], (uint32_t)i, &j->csv->rows.p[i].after.p[k]);
    for (size_t b = 0; b < j->nbanks; b++) {
        j->banks[b].pb.apart = j->banks[b].apart.p;
        j->banks[b].pb.napart = (uint32_t)j->banks[b].apart.n;
    }
}

/* Banks as the file names them, capacities as the command line does; EXIT_USAGE for a capacity of no bank. */
static int make_banks(Job *j) {
    j->nbanks = j->csv->banks.n;
    j->banks = NEW_ARRAY(j->c->unit, Bank, j->nbanks + 1);
    for (size_t b = 0; b < j->nbanks; b++)
        j->banks[b].name = j->csv->banks.p[b];
    for (size_t k = 0; k < j->o->ncapacities; k++) {
        const Capacity *cap = &j->o->capacities[k];
        bool known = cap->bank == NULL;
        for (size_t b = 0; b < j->nbanks; b++) {
            if (cap->bank != NULL && strcmp(cap->bank, j->banks[b].name) != 0)
                continue;
            known = true;
            if (cap->bank != NULL || j->banks[b].capacity == 0)
                j->banks[b].capacity = cap->nbytes;
        }
        if (!known) {
            const char *near = suggest(cap->bank, j->csv->banks.p, j->nbanks);
            complain(near ? "--capacity=%s=%" PRIu64 ": no row is in that bank; did you mean '%s'?"
                          : "--capacity=%s=%" PRIu64 ": no row is in that bank", cap->bank, cap->nbytes, near);
            return EXIT_USAGE;
        }
    }
    return RUN;
}

/* what is said when there is no placement */

static const char *in_bank(const Job *j, const Bank *b) {
    return *b->name ? arena_printf(j->c->unit, " in bank '%s'", b->name) : "";
}

static void note_conflict(const Job *j, const Bank *b, Diag *d) {
    for (uint32_t k = 0; k < b->got.nconflict && k < MAX_NOTES; k++) {
        const CsvRow *row = &j->csv->rows.p[b->row[b->got.conflict[k]]];
        diag_note(j->c, d, row->span, "'%s' needs %" PRIu64 " B in [%" PRId64 ", %" PRId64 ")", row->id, row->size, row->lower, row->upper);
    }
    if (b->got.nconflict > MAX_NOTES)
        diag_note(j->c, d, (Span){ 0 }, "and %" PRIu32 " more buffers", b->got.nconflict - MAX_NOTES);
}

static void say_infeasible(const Job *j, const Bank *b) {
    const DsaSolution *s = &b->got;
    const CsvRow *first = s->nconflict ? &j->csv->rows.p[b->row[s->conflict[0]]] : NULL;
    Span at = first ? first->span : (Span){ j->csv->file, j->csv->header_beg, j->csv->header_end };
    Diag *d;
    if (!s->placed)
        d = diag(j->c, DIAG_NO_PLACEMENT, at, "pinned buffers share bytes at one time%s", in_bank(j, b));
    else if (s->nconflict == 1)
        d = diag(j->c, DIAG_NO_PLACEMENT, at, "'%s' alone reaches above the capacity of %" PRIu64 " B%s", first->id, b->capacity, in_bank(j, b));
    else if (s->nconflict)
        d = diag(j->c, DIAG_NO_PLACEMENT, at, "no placement of these %" PRIu32 " buffers fits in %" PRIu64 " B%s: that is proven", s->nconflict,
                 b->capacity, in_bank(j, b));
    else
        d = diag(j->c, DIAG_NO_PLACEMENT, at, "no placement fits in %" PRIu64 " B%s: at least %" PRIu64 " B are needed, that is proven",
                 b->capacity, in_bank(j, b), s->bound);
    note_conflict(j, b, d);
    if (s->placed)
        diag_help(j->c, d, "the lowest placement found has %" PRIu64 " B", s->height);
}

static void say_not_found(const Job *j, const Bank *b) {
    Span header = { j->csv->file, j->csv->header_beg, j->csv->header_end };
    Diag *d = diag(j->c, DIAG_NO_PLACEMENT, header, "no placement in %" PRIu64 " B was found%s, and none excluded", b->capacity, in_bank(j, b));
    diag_note(j->c, d, (Span){ 0 }, "the lowest placement found has %" PRIu64 " B, none has less than %" PRIu64 " B", b->got.height, b->got.bound);
    uint64_t more = j->o->effort < DSA_EFFORT / 10 ? DSA_EFFORT : 10 * j->o->effort;
    diag_help(j->c, d, "--effort=%" PRIu64 " searches longer", more);
}

/* the line for scripts */

static const char *summary(const Job *j, const DsaSolution *s) {
    Arena *a = j->c->unit;
    const char *arena = s->placed ? arena_printf(a, "%" PRIu64, s->height) : "-";
    bool proven = s->status == DSA_MEETS_BOUND || s->status == DSA_EXHAUSTED || s->status == DSA_INFEASIBLE;
    return arena_printf(a, "arena=%s live_peak=%" PRIu64 " bound=%" PRIu64 " proven=%s nodes=%" PRIu64 " rule=\"%s\" verdict=\"%s\"\n",
                        arena, s->load, s->bound, proven ? "yes" : "no", s->nodes, s->rule, dsa_status_text(a, s));
}

/* All banks together: sums, and the least that can be said of every one. */
static DsaSolution total(const Job *j) {
    DsaSolution t = { .status = DSA_MEETS_BOUND, .placed = true, .rule = j->nbanks == 1 ? j->banks[0].got.rule : "by bank" };
    for (size_t b = 0; b < j->nbanks; b++) {
        const DsaSolution *s = &j->banks[b].got;
        t.height += s->height;
        t.load += s->load;
        t.bound += s->bound;
        t.nodes += s->nodes;
        t.placed = t.placed && s->placed;
        if (t.status != DSA_INFEASIBLE && (s->status > t.status || s->status == DSA_INFEASIBLE))
            t.status = s->status;
    }
    return t;
}

static void print_summary(const Job *j) {
    StrBuf out;
    sb_init(&out, j->c->unit);
    for (size_t b = 0; j->nbanks > 1 && b < j->nbanks; b++)
        sb_printf(&out, "bank=\"%s\" %s", j->banks[b].name, summary(j, &j->banks[b].got));
    DsaSolution t = total(j);
    sb_puts(&out, summary(j, &t));
    diag_dump(out.p, out.n);
}

/* the whole */

static void solve(Job *j, Bank *b) {
    DsaLimits limits = { .capacity = b->capacity, .effort = j->o->effort };
    uint32_t pair[2];
    b->got = dsa_solve(j->c->scratch, &b->pb, &limits);
    if (b->got.placed && !dsa_check(j->c->scratch, &b->pb, pair))
        ice("plan: buffers '%s' and '%s' are in each other's way", j->csv->rows.p[b->row[pair[0]]].id, j->csv->rows.p[b->row[pair[1]]].id);
    for (uint32_t i = 0; i < b->pb.n; i++)
        j->csv->rows.p[b->row[i]].offset = b->pb.objects[i].offset;
    if (b->got.status == DSA_INFEASIBLE)
        say_infeasible(j, b);
    else if (b->got.status == DSA_NOT_FOUND)
        say_not_found(j, b);
}

static int write_plan(const Job *j) {
    StrBuf out;
    sb_init(&out, j->c->unit);
    csv_write_problem(&out, j->c, j->csv);
    return outfile_write(j->c, j->o->output, out.p, out.n) ? EXIT_FINE : EXIT_USAGE;
}

static int finish(Ctx *c, int status) {
    diag_finish(c);
    return status;
}

int plan_problem(Ctx *c, const Options *o) {
    Job j = { .c = c, .o = o };
    const char *why;
    uint32_t file = source_read(c, o->file, &why);
    if (!file) {
        complain("cannot read %s: %s", o->file, why);
        return EXIT_USAGE;
    }
    j.csv = csv_read_problem(c, file);
    if (j.csv == NULL)
        return finish(c, EXIT_PROGRAM);
    int status = make_banks(&j);
    if (status != RUN)
        return status;
    rank_moments(&j);
    make_problems(&j);
    if (diag_failed(c))
        return finish(c, EXIT_PROGRAM);
    for (size_t b = 0; b < j.nbanks; b++)
        solve(&j, &j.banks[b]);
    status = diag_failed(c) ? EXIT_PROGRAM : write_plan(&j);
    diag_finish(c);
    if (status != EXIT_USAGE)
        print_summary(&j);
    return status;
}
