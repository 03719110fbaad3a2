/* json.c - a JSON writer: commas, quotes, line breaks and nesting are its business, the order of keys is the caller's.
 *
 * Strings are made valid UTF-8 whatever comes in: a byte that is not UTF-8 becomes U+FFFD. */
#include "base/base.h"

#include <inttypes.h>

void json_init(Json *j, StrBuf *out) {
    *j = (Json){ .out = out, .indent = 2 };
    j->first[0] = true;
}

static void line_break(Json *j) {
    if (j->compact || (j->inlined && j->depth > j->inline_depth))
        return;
    sb_putc(j->out, '\n');
    for (int i = 0; i < j->depth * j->indent; i++)
        sb_putc(j->out, ' ');
}

/* What stands before a value or a key: a comma after the one before, a line break or a space. */
static void separate(Json *j) {
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    bool first = j->first[j->depth];
    j->first[j->depth] = false;
    if (!first)
        sb_putc(j->out, ',');
    if (j->depth == 0)
        return;
    size_t before = j->out->n;
    line_break(j);
    if (!first && j->out->n == before)
        sb_putc(j->out, ' ');
}

static void open(Json *j, char bracket) {
    separate(j);
    if (j->depth + 1 >= (int)COUNT_OF(j->first))
        ice("JSON nested too deep");
    sb_putc(j->out, bracket);
    j->first[++j->depth] = true;
}

static void close(Json *j, char bracket) {
    if (j->depth == 0)
        ice("JSON closed once too often");
    bool empty = j->first[j->depth--], broken = !(j->compact || (j->inlined && j->depth + 1 > j->inline_depth));
    if (!empty && broken)
        line_break(j);
    sb_putc(j->out, bracket);
}

void json_object(Json *j) {
    open(j, '{');
}

void json_end_object(Json *j) {
    close(j, '}');
}

void json_array(Json *j) {
    open(j, '[');
}

void json_end_array(Json *j) {
    close(j, ']');
}

static void put_escaped(StrBuf *out, unsigned char c) {
    switch (c) {
    case '"': sb_puts(out, "\\\""); break;
    case '\\': sb_puts(out, "\\\\"); break;
    case '\n': sb_puts(out, "\\n"); break;
    case '\t': sb_puts(out, "\\t"); break;
    case '\r': sb_puts(out, "\\r"); break;
    default:
        if (c < 0x20 || c == 0x7F)
            sb_printf(out, "\\u%04x", c);
        else
            sb_putc(out, (char)c);
    }
}

static void put_string(StrBuf *out, const char *s, size_t n) {
    sb_putc(out, '"');
    for (size_t i = 0; i < n;) {
        uint32_t c;
        size_t len = utf8_decode(s + i, n - i, &c);
        if (len == 1)
            put_escaped(out, (unsigned char)s[i]);
        else if (len)
            sb_write(out, s + i, len);
        else
            sb_puts(out, "\xEF\xBF\xBD");
        i += len ? len : 1;
    }
    sb_putc(out, '"');
}

static size_t length(const char *s) {
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

void json_key(Json *j, const char *key) {
    separate(j);
    put_string(j->out, key, length(key));
    sb_puts(j->out, ": ");
    j->after_key = true;
}

void json_str(Json *j, const char *s) {
    separate(j);
    put_string(j->out, s, length(s));
}

void json_u64(Json *j, uint64_t v) {
    separate(j);
    sb_printf(j->out, "%" PRIu64, v);
}

void json_i64(Json *j, int64_t v) {
    separate(j);
    sb_printf(j->out, "%" PRId64, v);
}

void json_bool(Json *j, bool b) {
    separate(j);
    sb_puts(j->out, b ? "true" : "false");
}

void json_null(Json *j) {
    separate(j);
    sb_puts(j->out, "null");
}

void json_inline(Json *j, bool on) {
    j->inlined = on;
    j->inline_depth = j->depth;
}
