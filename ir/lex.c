/* lex.c - the tokens of printed IR: names, numbers, values, types, data, spans. One character of lookahead; a line is a
 * statement, so that an error never reaches beyond its line. Linear. */
#include "ir/print.h"
#include "ir/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER = 64, MAX_NESTING = 64 };

bool read_fail(Reader *r, size_t from, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = arena_alloc(r->ctx->perm, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    size_t end = r->pos > from ? r->pos : from + (r->text[from] != '\0' && r->text[from] != '\n');
    diag(r->ctx, DIAG_IR_SYNTAX, (Span){r->file, (uint32_t)from, (uint32_t)end}, "%s", text);
    return false;
}

static void skip_blanks(Reader *r) {
    while (r->text[r->pos] == ' ' || r->text[r->pos] == '\t' || r->text[r->pos] == '\r')
        r->pos++;
    if (r->text[r->pos] == ';')
        r->pos += strcspn(r->text + r->pos, "\n");
}

bool read_end(Reader *r) {
    skip_blanks(r);
    return r->text[r->pos] == '\n' || r->text[r->pos] == '\0';
}

bool read_is(Reader *r, char c) {
    skip_blanks(r);
    if (r->text[r->pos] != c)
        return false;
    r->pos++;
    return true;
}

static size_t bare_length(const Reader *r) {
    size_t n = 0;
    while (ir_bare_char(r->text[r->pos + n]))
        n++;
    return n;
}

bool read_is_word(Reader *r, const char *word) {
    skip_blanks(r);
    size_t n = bare_length(r);
    if (n != strlen(word) || memcmp(r->text + r->pos, word, n) != 0)
        return false;
    r->pos += n;
    return true;
}

bool read_need(Reader *r, char c) {
    return read_is(r, c) || read_fail(r, r->pos, "expected '%c'", c);
}

bool read_need_word(Reader *r, const char *word) {
    return read_is_word(r, word) || read_fail(r, r->pos, "expected '%s'", word);
}

/* ---- names and strings */

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_escape(Reader *r, StrBuf *sb) {
    size_t from = r->pos;
    char c = r->text[r->pos + 1];
    int hi, lo;
    if (c == 'x' && (hi = hex_digit(r->text[from + 2])) >= 0 && (lo = hex_digit(r->text[from + 3])) >= 0 && hi + lo > 0) {
        sb_putc(sb, (char)(hi * 16 + lo));
        r->pos += 4;
        return true;
    }
    if (c != '"' && c != '\\' && c != 'n' && c != 't') {
        r->pos++;
        return read_fail(r, from, "an unknown escape in a string");
    }
    sb_putc(sb, c == 'n' ? '\n' : c == 't' ? '\t' : c);
    r->pos += 2;
    return true;
}

bool read_quoted(Reader *r, const char **text) {
    StrBuf sb;
    if (!read_is(r, '"'))
        return read_fail(r, r->pos, "expected a string");
    size_t from = r->pos - 1;
    sb_init(&sb, r->ctx->scratch);
    while (r->text[r->pos] != '"') {
        if (r->text[r->pos] == '\n' || r->text[r->pos] == '\0')
            return read_fail(r, from, "a string without its closing '\"'");
        if (r->text[r->pos] == '\\') {
            if (!read_escape(r, &sb))
                return false;
        } else {
            sb_putc(&sb, r->text[r->pos++]);
        }
    }
    r->pos++;
    *text = intern_n(r->ctx->names, sb_str(&sb), sb.n);
    return true;
}

bool read_name(Reader *r, const char **name) {
    skip_blanks(r);
    size_t n = bare_length(r);
    if (n == 0)
        return r->text[r->pos] == '"' ? read_quoted(r, name) : read_fail(r, r->pos, "expected a name");
    *name = intern_n(r->ctx->names, r->text + r->pos, n);
    r->pos += n;
    return true;
}

bool read_doc(Reader *r, const char **doc) {
    return !read_is_word(r, "doc") || read_quoted(r, doc);
}

/* ---- numbers and values */

bool read_u64(Reader *r, uint64_t *n, uint64_t max, const char *what) {
    skip_blanks(r);
    size_t from = r->pos;
    *n = 0;
    while (r->text[r->pos] >= '0' && r->text[r->pos] <= '9') {
        uint64_t digit = (uint64_t)(r->text[r->pos++] - '0');
        if (!mul_u64(*n, 10, n) || !add_u64(*n, digit, n))
            return read_fail(r, from, "%s does not fit 64 bits", what);
    }
    if (r->pos == from)
        return read_fail(r, from, "expected %s", what);
    if (*n > max)
        return read_fail(r, from, "%s is at most %llu here", what, (unsigned long long)max);
    return true;
}

bool read_u32(Reader *r, uint32_t *n, uint32_t max, const char *what) {
    uint64_t wide;
    if (!read_u64(r, &wide, max, what))
        return false;
    *n = (uint32_t)wide;
    return true;
}

bool read_value(Reader *r, Value **v) {
    uint32_t id;
    if (!read_is(r, '%'))
        return read_fail(r, r->pos, "expected a value");
    size_t from = r->pos - 1;
    if (!read_u32(r, &id, UINT32_MAX, "a value's number"))
        return false;
    if (id >= r->g->values.n)
        return read_fail(r, from, "no value has this number yet");
    *v = r->g->values.p[id];
    return true;
}

bool read_type(Reader *r, Type *t) {
    const char *name;
    skip_blanks(r);
    size_t from = r->pos;
    uint64_t nbytes;
    *t = (Type){0};
    if (!read_name(r, &name))
        return false;
    if (!dtype_by_name(name, &t->dtype))
        return read_fail(r, from, "expected an element type");
    if (!read_need(r, '['))
        return false;
    while (!read_is(r, ']')) {
        if (t->shape.rank == MAX_RANK)
            return read_fail(r, from, "a shape of more than %d axes", (int)MAX_RANK);
        if (t->shape.rank > 0 && !read_need(r, ','))
            return false;
        if (!read_u64(r, &t->shape.dim[t->shape.rank++], INT64_MAX, "an extent"))
            return false;
    }
    return type_bytes(t, &nbytes) || read_fail(r, from, "a tensor larger than 2^63 - 1 bytes");
}

/* ---- data */

static bool read_int(Reader *r, const char *token, size_t from, Datum *d) {
    bool negative = *token == '-';
    uint64_t n = 0, most = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    for (const char *p = token + negative; *p != '\0'; p++)
        if (*p < '0' || *p > '9' || !mul_u64(n, 10, &n) || !add_u64(n, (uint64_t)(*p - '0'), &n) || n > most)
            return read_fail(r, from, "a malformed or too large number");
    *d = d_int(!negative ? (int64_t)n : n == most ? INT64_MIN : -(int64_t)n);
    return true;
}

static bool read_number(Reader *r, Datum *d) {
    char token[MAX_NUMBER];
    size_t n = 0, from = r->pos;
    while (ir_bare_char(r->text[r->pos]) || r->text[r->pos] == '+') {
        if (n + 1 == sizeof token)
            return read_fail(r, from, "a malformed or too large number");
        token[n++] = r->text[r->pos++];
    }
    token[n] = '\0';
    if (n == 0 || strcmp(token, "-") == 0)
        return read_fail(r, from, "expected a number, a string, an element type or a list");
    if (strpbrk(token, ".en") == NULL)
        return read_int(r, token, from, d);
    char *end;
    *d = d_float(strtod(token, &end));
    return *end == '\0' || read_fail(r, from, "a malformed number");
}

static bool read_datum_at(Reader *r, Datum *d, unsigned depth);

static bool read_list(Reader *r, Datum *d, unsigned depth) {
    VEC(Datum) items = {0};
    if (depth == MAX_NESTING)
        return read_fail(r, r->pos - 1, "lists nested too deep");
    while (!read_is(r, ')')) {
        Datum item;
        if (items.n > 0 && !read_need(r, ','))
            return false;
        if (items.n == 1 && read_is(r, ')'))
            break;
        if (!read_datum_at(r, &item, depth + 1))
            return false;
        vec_push(r->ctx->scratch, &items, item);
    }
    *d = d_list(r->g->arena, items.p, (uint32_t)items.n);
    return true;
}

static bool read_datum_at(Reader *r, Datum *d, unsigned depth) {
    const char *s;
    skip_blanks(r);
    if (r->text[r->pos] == '"') {
        if (!read_quoted(r, &s))
            return false;
        *d = d_str(s);
        return true;
    }
    if (read_is(r, '('))
        return read_list(r, d, depth);
    if (read_is_word(r, "none")) {
        *d = d_none();
        return true;
    }
    bool truth = read_is_word(r, "true");
    if (truth || read_is_word(r, "false")) {
        *d = d_bool(truth);
        return true;
    }
    for (unsigned t = 0; t < DT_COUNT; t++)
        if (read_is_word(r, dtype_name((DType)t))) {
            *d = d_dtype((DType)t);
            return true;
        }
    return read_number(r, d);
}

bool read_datum(Reader *r, Datum *d) { return read_datum_at(r, d, 0); }

/* ---- spans */

bool read_span(Reader *r, Span *s) {
    *s = (Span){0};
    if (!read_is(r, '@'))
        return true;
    Mark m = {.at = (uint32_t)r->pos - 1};
    size_t from = r->pos - 1;
    bool ok = read_u32(r, &m.file, UINT32_MAX, "a file's number") && read_need(r, ':') &&
              read_u32(r, &m.line, UINT32_MAX, "a line") && read_need(r, ':') && read_u32(r, &m.col, UINT32_MAX, "a column") &&
              read_need(r, '(') && read_u32(r, &m.beg, UINT32_MAX, "a byte") && read_need(r, '-') &&
              read_u32(r, &m.end, UINT32_MAX, "a byte") && read_need(r, ')');
    if (!ok)
        return false;
    if (m.file == 0 || m.file > r->files.n)
        return read_fail(r, from, "no file has this number");
    if (m.line == 0 || m.col == 0 || m.end < m.beg)
        return read_fail(r, from, "a place that cannot be");
    vec_push(r->ctx->scratch, &r->marks, m);
    *s = (Span){m.file, m.beg, m.end};
    return true;
}
