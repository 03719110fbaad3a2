/* plan_csv.c - reader and writer of planning problems: RFC 4180 CSV (quoted fields, CRLF, line breaks inside quotes) whose header
 * names the columns, in any order. Columns nobody knows are kept. What MiniMalloc reads is read the same way: its names of columns,
 * `end` that counts the last moment in, `gaps` as "5-9 12-20@0:64", `offset` as a pin, `hint` without a meaning.
 *
 * One pass over the bytes for the records, one over the rows for what names other rows. Every fault is a diagnostic at its field;
 * a row with a fault is left out and reading goes on. */
#include "frontend/plan_csv.h"

#include <inttypes.h>
#include <string.h>

typedef enum Column { COL_ID, COL_LOWER, COL_UPPER, COL_SIZE, COL_ALIGNMENT, COL_PIN, COL_OFFSET, COL_GAPS, COL_AFTER, COL_BANK, COL_COUNT } Column;
enum { LAST_NEEDED = COL_SIZE };

/* All names of a column; `end` is an upper of which the last moment is part of the life. */
static const struct { const char *name; Column column; bool inclusive; } column_names[] = {
    { "id", COL_ID, false }, { "lower", COL_LOWER, false }, { "upper", COL_UPPER, false }, { "size", COL_SIZE, false },
    { "alignment", COL_ALIGNMENT, false }, { "offset_fixed", COL_PIN, false }, { "offset", COL_OFFSET, false },
    { "gaps", COL_GAPS, false }, { "after", COL_AFTER, false }, { "bank", COL_BANK, false },
    { "buffer", COL_ID, false }, { "buffer_id", COL_ID, false }, { "begin", COL_LOWER, false }, { "start", COL_LOWER, false },
    { "end", COL_UPPER, true },
};

static const uint64_t LARGEST_SUM = UINT64_C(1) << 62, LARGEST_ALIGN = UINT64_C(1) << 32;

typedef struct Field {
    uint32_t beg, end;                                    /* its bytes in the file, quotes included */
    const char *text;                                     /* without quotes and the blanks around; NUL-terminated */
} Field;
typedef VEC(Field) Fields;

typedef struct Reader {
    Ctx *c;
    const Source *src;
    CsvProblem *problem;
    uint32_t at;                                          /* next byte */
    size_t ncolumns;
    size_t index[COL_COUNT];                              /* field of a column; SIZE_MAX: the file has none */
    bool inclusive;
    NameMap *rows, *banks;                                /* by name: 1 + the index of it */
    VEC(Field) after;                                     /* by row: its field `after`, read when all rows are known */
    uint64_t sum;
} Reader;

static Span span_at(const Reader *r, uint32_t beg, uint32_t end) {
    return (Span){ r->problem->file, beg, end > beg ? end : beg };
}

static Span span_of(const Reader *r, const Field *f) { return span_at(r, f->beg, f->end); }

/* records: the texts of their fields live until the next one is read */

static const char *trimmed(Reader *r, const char *p, size_t n) {
    while (n && (*p == ' ' || *p == '\t'))
        p++, n--;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    return arena_strndup(r->c->scratch, p, n);
}

/* A field in quotes, "" for a quote; r->at is behind it afterwards. False after a diagnostic. */
static bool read_quoted(Reader *r, Field *f) {
    StrBuf s;
    sb_init(&s, r->c->scratch);
    const char *text = r->src->text;
    for (r->at++; r->at < r->src->len; r->at++) {
        if (text[r->at] == '"' && text[++r->at] != '"') {
            f->end = r->at;
            f->text = sb_str(&s);
            return true;
        }
        sb_putc(&s, text[r->at]);
    }
    diag(r->c, DIAG_PLAN_CSV, span_at(r, f->beg, f->beg + 1), "a quoted field does not end");
    return false;
}

static bool read_field(Reader *r, Field *f) {
    const char *text = r->src->text;
    *f = (Field){ .beg = r->at };
    if (r->at < r->src->len && text[r->at] == '"') {
        if (!read_quoted(r, f))
            return false;
    } else {
        r->at += (uint32_t)strcspn(text + r->at, ",\r\n");
        f->end = r->at;
        f->text = trimmed(r, text + f->beg, f->end - f->beg);
    }
    if (r->at >= r->src->len || strchr(",\r\n", text[r->at]) != NULL)
        return true;
    diag(r->c, DIAG_PLAN_CSV, span_at(r, r->at, r->at + 1), "a quoted field ends before its comma");
    return false;
}

/* The next record that is not blank; false at the end of the file, or when quotes leave no sense in what follows. */
static bool read_record(Reader *r, Fields *fields, uint32_t *end) {
    const char *text = r->src->text;
    for (;;) {
        r->at += (uint32_t)strspn(text + r->at, "\r\n");
        size_t blanks = strspn(text + r->at, " \t");
        if (blanks == 0 || !strchr("\r\n", text[r->at + blanks]))
            break;
        r->at += (uint32_t)blanks;
        if (r->at >= r->src->len)
            break;
    }
    fields->n = 0;
    while (r->at < r->src->len) {
        Field f;
        if (!read_field(r, &f)) {
            r->at = (uint32_t)r->src->len;
            return false;
        }
        vec_push(r->c->unit, fields, f);
        *end = r->at;
        if (r->at >= r->src->len || text[r->at] != ',')
            return true;
        r->at++;
        if (r->at == r->src->len) {                       /* a comma ends the file: an empty field behind it */
            vec_push(r->c->unit, fields, ((Field){ r->at, r->at, "" }));
            *end = r->at;
        }
    }
    return fields->n > 0;
}

/* the header */

static void name_column(Reader *r, const Field *f, size_t index) {
    for (size_t k = 0; k < COUNT_OF(column_names); k++) {
        Column column = column_names[k].column;
        if (strcmp(f->text, column_names[k].name) != 0)
            continue;
        if (r->index[column] != SIZE_MAX)
            diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "there is a column '%s' already", column_names[column].name);
        r->index[column] = index;
        r->inclusive = r->inclusive || column_names[k].inclusive;
    }
}

/* The columns without which there is no problem. */
static void check_columns(Reader *r, const Fields *fields, uint32_t end) {
    const char **names = NEW_ARRAY(r->c->unit, const char *, fields->n), *near = NULL;
    StrBuf missing;
    sb_init(&missing, r->c->unit);
    for (size_t i = 0; i < fields->n; i++)
        names[i] = fields->p[i].text;
    for (size_t k = 0; k <= LAST_NEEDED; k++) {
        if (r->index[k] != SIZE_MAX)
            continue;
        sb_printf(&missing, "%s'%s'", missing.n ? ", " : "", column_names[k].name);
        near = near ? near : suggest(column_names[k].name, names, fields->n);
    }
    if (missing.n == 0)
        return;
    Diag *d = diag(r->c, DIAG_PLAN_CSV, span_at(r, fields->p[0].beg, end), "the header names no column %s", sb_str(&missing));
    diag_help(r->c, d, near ? "should '%s' be one of them?" : "a problem has the columns id,lower,upper,size", near);
}

static bool read_header(Reader *r) {
    Fields fields = { 0 };
    uint32_t end = 0;
    size_t said = diag_count(r->c);
    for (size_t k = 0; k < COL_COUNT; k++)
        r->index[k] = SIZE_MAX;
    if (!read_record(r, &fields, &end)) {
        if (diag_count(r->c) == said)
            diag(r->c, DIAG_PLAN_CSV, span_at(r, 0, 0), "the file is empty; its first line names the columns");
        return false;
    }
    r->ncolumns = fields.n;
    r->problem->header_beg = fields.p[0].beg;
    r->problem->header_end = end;
    for (size_t i = 0; i < fields.n; i++)
        name_column(r, &fields.p[i], i);
    check_columns(r, &fields, end);
    r->problem->offset_column = r->index[COL_OFFSET] != SIZE_MAX;
    return diag_count(r->c) == said;
}

/* values */

static bool digits(const char **p, uint64_t *v) {
    const char *s = *p;
    *v = 0;
    for (; *s >= '0' && *s <= '9'; s++)
        if (!mul_u64(*v, 10, v) || !add_u64(*v, (uint64_t)(*s - '0'), v))
            return false;
    bool some = s > *p;
    *p = s;
    return some;
}

static bool moment(const char **p, int64_t *v) {
    uint64_t n;
    bool minus = **p == '-';
    *p += minus;
    if (!digits(p, &n) || n > LARGEST_SUM)
        return false;
    *v = minus ? -(int64_t)n : (int64_t)n;
    return true;
}

static const Field *field_of(const Reader *r, const Fields *fields, Column column) {
    return r->index[column] == SIZE_MAX ? NULL : &fields->p[r->index[column]];
}

static bool read_bytes(Reader *r, const Field *f, const char *what, uint64_t most, uint64_t *v) {
    const char *p = f->text;
    if (digits(&p, v) && *p == '\0' && *v <= most)
        return true;
    diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "the %s '%s' is no whole number from 0 to %" PRIu64, what, f->text, most);
    return false;
}

static bool read_moment(Reader *r, const Field *f, const char *what, int64_t *v) {
    const char *p = f->text;
    if (moment(&p, v) && *p == '\0')
        return true;
    diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "%s is '%s', no whole number", what, f->text);
    return false;
}

static bool read_life(Reader *r, const Fields *fields, CsvRow *row) {
    const Field *upper = field_of(r, fields, COL_UPPER);
    if (!read_moment(r, field_of(r, fields, COL_LOWER), "lower", &row->lower) || !read_moment(r, upper, "upper", &row->upper))
        return false;
    row->upper += r->inclusive;
    if (row->lower <= row->upper)
        return true;
    diag(r->c, DIAG_PLAN_CSV, span_of(r, upper), "the life of '%s' ends at %" PRId64 ", before it begins at %" PRId64, row->id,
         row->upper, row->lower);
    return false;
}

static bool read_align(Reader *r, const Fields *fields, CsvRow *row) {
    const Field *f = field_of(r, fields, COL_ALIGNMENT);
    row->align = 1;
    if (f == NULL || *f->text == '\0')
        return true;
    if (!read_bytes(r, f, "alignment", LARGEST_ALIGN, &row->align))
        return false;
    if (row->align > 0)
        return true;
    diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "an alignment is at least 1");
    return false;
}

/* An empty field, or a column that is not there, leaves the buffer free. */
static bool read_pin(Reader *r, const Fields *fields, Column column, CsvRow *row) {
    const Field *f = field_of(r, fields, column);
    uint64_t at;
    if (f == NULL || *f->text == '\0')
        return true;
    if (!read_bytes(r, f, "offset", LARGEST_SUM, &at))
        return false;
    if (row->pinned && row->offset != at) {
        diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "'%s' is pinned at %" PRIu64 " and at %" PRIu64, row->id, row->offset, at);
        return false;
    }
    if (at % row->align != 0) {
        diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "'%s' is pinned at %" PRIu64 ", no multiple of its alignment %" PRIu64, row->id, at,
             row->align);
        return false;
    }
    row->pinned = true;
    row->offset = at;
    return true;
}

/* LOWER-UPPER, or LOWER-UPPER@LO:HI with the bytes that stay needed. */
static bool read_gap(const Reader *r, const char **p, CsvGap *g) {
    if (!moment(p, &g->lower) || *(*p)++ != '-' || !moment(p, &g->upper))
        return false;
    g->upper += r->inclusive;
    if (**p == '@' && (++*p, !digits(p, &g->lo) || *(*p)++ != ':' || !digits(p, &g->hi)))
        return false;
    return **p == '\0' || **p == ' ';
}

static const char *gap_fault(const CsvRow *row, const CsvGap *g) {
    if (g->lower >= g->upper) return "is empty";
    if (g->lower < row->lower || g->upper > row->upper) return "reaches out of its buffer's life";
    if (g->lo > g->hi || g->hi > row->size) return "has a window that is no part of its buffer";
    return NULL;
}

/* Keeps gaps sorted; false if it overlaps one that is there. */
static bool insert_gap(Arena *arena, CsvRow *row, CsvGap g) {
    size_t at = row->gaps.n;
    vec_push(arena, &row->gaps, g);
    for (; at > 0 && row->gaps.p[at - 1].lower > g.lower; at--)
        row->gaps.p[at] = row->gaps.p[at - 1];
    row->gaps.p[at] = g;
    return (at == 0 || row->gaps.p[at - 1].upper <= g.lower) && (at + 1 == row->gaps.n || g.upper <= row->gaps.p[at + 1].lower);
}

static bool read_gaps(Reader *r, const Fields *fields, CsvRow *row) {
    const Field *f = field_of(r, fields, COL_GAPS);
    for (const char *p = f ? f->text : ""; *p; ) {
        CsvGap g = { 0 };
        const char *start = p;
        if (*p == ' ') {
            p++;
            continue;
        }
        const char *fault = !read_gap(r, &p, &g) ? "is none: the form is LOWER-UPPER or LOWER-UPPER@LO:HI" : gap_fault(row, &g);
        if (fault == NULL && !insert_gap(r->c->unit, row, g))
            fault = "overlaps another";
        if (fault == NULL)
            continue;
        diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "the gap '%.*s' of '%s' %s", (int)strcspn(start, " "), start, row->id, fault);
        return false;
    }
    return true;
}

static uint32_t index_by_name(Reader *r, NameMap *map, const char *name) {
    return (uint32_t)(uintptr_t)namemap_get(map, name_of(r->c, name));
}

static void read_bank(Reader *r, const Fields *fields, CsvRow *row) {
    const Field *f = field_of(r, fields, COL_BANK);
    const char *name = name_of(r->c, f ? f->text : "");
    uint32_t known = index_by_name(r, r->banks, name);
    if (known == 0) {
        vec_push(r->c->unit, &r->problem->banks, name);
        known = (uint32_t)r->problem->banks.n;
        namemap_put(r->banks, name, (void *)(uintptr_t)known);
    }
    row->bank = known - 1;
}

static bool read_id(Reader *r, const Fields *fields, CsvRow *row) {
    const Field *f = field_of(r, fields, COL_ID);
    row->id = name_of(r->c, f->text);
    row->span = span_of(r, f);
    if (*row->id == '\0') {
        diag(r->c, DIAG_PLAN_CSV, row->span, "a buffer has no id");
        return false;
    }
    uint32_t first = index_by_name(r, r->rows, row->id);
    if (first == 0)
        return true;
    Diag *d = diag(r->c, DIAG_PLAN_CSV, row->span, "there are two buffers '%s'", row->id);
    diag_note(r->c, d, r->problem->rows.p[first - 1].span, "the other one is here");
    return false;
}

/* The sum of all sizes, alignments and pins bounds every offset that a placement may reach. */
static bool count_in(Reader *r, const CsvRow *row) {
    if (add_u64(r->sum, row->size, &r->sum) && add_u64(r->sum, row->align, &r->sum) &&
        add_u64(r->sum, row->pinned ? row->offset : 0, &r->sum) && r->sum <= LARGEST_SUM)
        return true;
    diag(r->c, DIAG_PLAN_CSV, row->span, "sizes, alignments and pinned offsets up to here add up to more than 62 bits");
    r->at = (uint32_t)r->src->len;                        /* once is enough */
    return false;
}

static void read_row(Reader *r, const Fields *fields, uint32_t end) {
    CsvRow row = { .beg = fields->p[0].beg, .end = end };
    if (fields->n != r->ncolumns) {
        diag(r->c, DIAG_PLAN_CSV, span_at(r, row.beg, end), "the row has %zu field%s, the header names %zu", fields->n,
             fields->n == 1 ? "" : "s", r->ncolumns);
        return;
    }
    const Field *offset = field_of(r, fields, COL_OFFSET), *after = field_of(r, fields, COL_AFTER);
    if (!read_id(r, fields, &row) || !read_life(r, fields, &row) ||
        !read_bytes(r, field_of(r, fields, COL_SIZE), "size", LARGEST_SUM, &row.size) || !read_align(r, fields, &row) ||
        !read_pin(r, fields, COL_PIN, &row) || !read_pin(r, fields, COL_OFFSET, &row) || !read_gaps(r, fields, &row) ||
        !count_in(r, &row))
        return;
    read_bank(r, fields, &row);
    if (offset) {
        row.offset_beg = offset->beg;
        row.offset_end = offset->end;
    }
    vec_push(r->c->unit, &r->problem->rows, row);
    Field asked = after ? *after : (Field){ end, end, "" };
    asked.text = after ? arena_strndup(r->c->unit, after->text, strlen(after->text)) : "";
    vec_push(r->c->unit, &r->after, asked);
    namemap_put(r->rows, row.id, (void *)(uintptr_t)r->problem->rows.n);
}

/* what names other rows */

/* ID+N or ID-N, of which ID may hold either sign: the last one counts. */
static bool read_relation(Reader *r, const char *text, size_t n, CsvAfter *a) {
    size_t sign = n;
    while (sign > 0 && text[sign - 1] != '+' && text[sign - 1] != '-')
        sign--;
    if (sign < 2)
        return false;
    const char *p = text + sign, *id = intern_n(r->c->names, text, sign - 1);
    uint32_t row = (uint32_t)(uintptr_t)namemap_get(r->rows, id);
    a->above = text[sign - 1] == '+';
    a->row = row - 1;
    return digits(&p, &a->distance) && p == text + n && a->distance <= LARGEST_SUM;
}

static bool relation_stands(const CsvProblem *p, const CsvRow *row, uint32_t other) {
    for (size_t k = 0; k < row->after.n; k++)
        if (row->after.p[k].row == other)
            return true;
    const CsvRow *b = &p->rows.p[other];
    for (size_t k = 0; k < b->after.n; k++)
        if (&p->rows.p[b->after.p[k].row] == row)
            return true;
    return false;
}

static const char *relation_fault(const CsvProblem *p, const CsvRow *row, const CsvAfter *a) {
    if (a->row >= p->rows.n) return "names no buffer";
    const CsvRow *b = &p->rows.p[a->row];
    if (b == row) return "names the buffer itself";
    if (b->bank != row->bank) return "names a buffer of another bank";
    if (relation_stands(p, row, a->row)) return "says something of two buffers that was said already";
    if (row->gaps.n > 0 || b->gaps.n > 0) return "is between buffers of which one has gaps";
    return NULL;
}

static void read_after(Reader *r, uint32_t i) {
    const Field *f = &r->after.p[i];
    CsvRow *row = &r->problem->rows.p[i];
    for (const char *p = f->text; *p; ) {
        size_t n = strcspn(p, " ");
        CsvAfter a = { 0 };
        if (n > 0) {
            const char *fault = !read_relation(r, p, n, &a) ? "is none: the form is ID+BYTES or ID-BYTES" : relation_fault(r->problem, row, &a);
            if (fault)
                diag(r->c, DIAG_PLAN_CSV, span_of(r, f), "the relation '%.*s' of '%s' %s", (int)n, p, row->id, fault);
            else
                vec_push(r->c->unit, &row->after, a);
        }
        p += n + (p[n] == ' ');
    }
}

CsvProblem *csv_read_problem(Ctx *c, uint32_t file) {
    Reader r = { .c = c, .src = source_get(c, file), .problem = NEW(c->unit, CsvProblem) };
    Fields fields = { 0 };
    uint32_t end = 0;
    size_t said = diag_count(c);
    r.rows = namemap_new(c->unit);
    r.banks = namemap_new(c->unit);
    r.problem->file = file;
    r.at = source_has_bom(r.src) ? 3 : 0;
    if (memchr(r.src->text, '\0', r.src->len) != NULL) {
        size_t at = strlen(r.src->text);
        diag(c, DIAG_PLAN_CSV, span_at(&r, (uint32_t)at, (uint32_t)at + 1), "a NUL byte: this is no text");
        return NULL;
    }
    if (!read_header(&r))
        return NULL;
    vec_reserve(c->unit, (void **)&r.problem->rows.p, &r.problem->rows.cap, r.src->nlines, sizeof *r.problem->rows.p);
    while (!diag_full(c) && read_record(&r, &fields, &end)) {
        read_row(&r, &fields, end);
        arena_reset(c->scratch);                          /* the texts of the fields */
    }
    bool complete = diag_count(c) == said;                /* a row that is missing must not be missed by another */
    for (uint32_t i = 0; complete && i < r.problem->rows.n; i++)
        read_after(&r, i);
    return diag_count(c) == said ? r.problem : NULL;
}

/* writing */

void csv_write_problem(StrBuf *out, const Ctx *c, const CsvProblem *p) {
    const char *text = source_get(c, p->file)->text;
    const char *line_end = text[p->header_end] == '\r' ? "\r\n" : "\n";
    sb_write(out, text + p->header_beg, p->header_end - p->header_beg);
    sb_printf(out, "%s%s", p->offset_column ? "" : ",offset", line_end);
    for (size_t i = 0; i < p->rows.n; i++) {
        const CsvRow *row = &p->rows.p[i];
        uint32_t beg = p->offset_column ? row->offset_beg : row->end, end = p->offset_column ? row->offset_end : row->end;
        sb_write(out, text + row->beg, beg - row->beg);
        sb_printf(out, "%s%" PRIu64, p->offset_column ? "" : ",", row->offset);
        sb_write(out, text + end, row->end - end);
        sb_puts(out, line_end);
    }
}
