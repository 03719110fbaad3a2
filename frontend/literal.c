/* literal.c - numbers, strings, stray bytes and comments: the text of one token to its value. Malformed text is a
 * diagnostic and comes back as a valid token of its kind where that is clear, so that the parser goes on as if it
 * had been right and finds the next mistake. While the rest of a wrong statement is skipped nothing is reported. */
#include "grammar/net.tab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUOTED = 60 };                                 /* bytes of a number in its message */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static Span match_span(const Parser *p) { return (Span){p->file, p->beg, p->end}; }

/* ---- numbers ---- */

/* digits { "_" digits }: their length, 0 if there are none. */
static size_t digits_length(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && is_digit(s[i])) {
        i++;
        if (i + 1 < n && s[i] == '_' && is_digit(s[i + 1])) i++;
    }
    return i;
}

static bool digits_value(const char *s, size_t n, int64_t *v) {
    *v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_') continue;
        if (!mul_i64(*v, 10, v) || !add_i64(*v, s[i] - '0', v)) return false;
    }
    return true;
}

static int unit_shift(const char *s, size_t n) {
    static const struct { const char *name; int shift; } units[] = {{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strlen(units[i].name) == n && !memcmp(units[i].name, s, n)) return units[i].shift;
    return -1;
}

/* 0.f * 2^shift, where f is n decimal digits, if it is a whole number. 10^n = 2^n 5^n, so f must be a multiple of
 * 5^n. */
static bool fraction_bytes(const char *s, size_t n, int shift, int64_t *bytes) {
    while (n && s[n - 1] == '0') n--;
    int64_t f, five = 1;
    if (n > 18 || !digits_value(s, n, &f)) return false;
    for (size_t i = 0; i < n; i++) five *= 5;
    if (f % five) return false;
    f /= five;                                            /* now f / 2^n * 2^shift with f < 2^n */
    if ((size_t)shift >= n) return mul_i64(f, (int64_t)1 << ((size_t)shift - n), bytes);
    int64_t rest = (int64_t)1 << (n - (size_t)shift);
    *bytes = f / rest;
    return f % rest == 0;
}

static Token number_error(Parser *p, const char *text, size_t n, const char *why, const char *help) {
    if (p->dropping) return token_make(p, T_INT);
    bool cut = n > MAX_QUOTED;
    Diag *d = parser_diag(p, DIAG_BAD_NUMBER, match_span(p), "bad number '%.*s%s'%s%s", cut ? MAX_QUOTED : (int)n, text,
                          cut ? "..." : "", *why ? ": " : "", why);
    if (help) diag_help(p->ctx, d, "%s", help);
    return token_make(p, T_INT);
}

static Token size_literal(Parser *p, const char *text, size_t n, size_t whole, size_t frac, int shift) {
    Token t = token_make(p, T_SIZE);
    int64_t part = 0;
    if (!digits_value(text, whole, &t.i) || !mul_i64(t.i, (int64_t)1 << shift, &t.i))
        return number_error(p, text, n, "it does not fit 63 bits", NULL);
    if (frac && !fraction_bytes(text + whole + 1, frac, shift, &part))
        return number_error(p, text, n, "it is not a whole number of bytes", NULL);
    if (!add_i64(t.i, part, &t.i)) return number_error(p, text, n, "it does not fit 63 bits", NULL);
    return t;
}

/* The C locale's strtod: nothing in netc sets another one. */
static Token float_literal(Parser *p, const char *text, size_t n) {
    Token t = token_make(p, T_FLOAT);
    char *plain = arena_strndup(p->ctx->scratch, text, n), *w = plain;
    bool zero = true;
    for (size_t i = 0; i < n && text[i] != 'e' && text[i] != 'E'; i++) zero &= text[i] < '1' || text[i] > '9';
    for (size_t i = 0; i < n; i++)
        if (text[i] != '_') *w++ = text[i];
    *w = '\0';
    t.f = strtod(plain, NULL);
    if (!isfinite(t.f)) return number_error(p, text, n, "it is too large for a float", NULL);
    if (t.f == 0 && !zero) return number_error(p, text, n, "it is too small for a float", NULL);
    return t;
}

static const char *number_help(const char *text, size_t n, size_t whole) {
    static const char *const si[] = {"KB", "MB", "GB", "TB", "kB", "kb", "mb", "gb", "K", "M", "G", "T", "k", "TiB", "kib",
                                     "mib", "gib"};
    size_t tail = whole;
    if (tail + 1 < n && text[tail] == '.') tail += 1 + digits_length(text + tail + 1, n - tail - 1);
    for (size_t i = 0; i < COUNT_OF(si); i++)
        if (strlen(si[i]) == n - tail && !memcmp(si[i], text + tail, n - tail))
            return "sizes are written 64KiB, 64MiB, 1GiB";
    if (n == whole + 1 && text[whole] == '.') return "write a digit after the point, as in 1.0";
    if (n > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'b' || text[1] == 'o')) return "numbers are decimal";
    if (text[n - 1] == '_' || memchr(text, '_', n)) return "'_' stands between two digits, as in 50_000";
    return NULL;
}

Token literal_number(Parser *p, const char *text, size_t n) {
    size_t whole = digits_length(text, n), at = whole, frac = 0;
    if (at + 1 < n && text[at] == '.') {
        frac = digits_length(text + at + 1, n - at - 1);
        if (frac) at += 1 + frac;
    }
    int shift = unit_shift(text + at, n - at);
    if (shift >= 0) return size_literal(p, text, n, whole, frac, shift);
    if (at == n && !frac) {
        Token t = token_make(p, T_INT);
        if (!digits_value(text, n, &t.i)) return number_error(p, text, n, "it does not fit 63 bits", NULL);
        return t;
    }
    if (at + 1 < n && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (text[at] == '+' || text[at] == '-') at++;
        size_t exponent = digits_length(text + at, n - at);
        if (exponent && at + exponent == n) return float_literal(p, text, n);
    } else if (at == n) {
        return float_literal(p, text, n);
    }
    return number_error(p, text, n, "", number_help(text, n, whole));
}

/* ---- strings ---- */

static void string_error(Parser *p, size_t beg, size_t end, const char *msg, const char *help) {
    if (p->dropping) return;
    Span s = {p->file, p->beg + (uint32_t)beg, p->beg + (uint32_t)end};
    Diag *d = parser_diag(p, DIAG_BAD_STRING, s, "%s", msg);
    if (help) diag_help(p->ctx, d, "%s", help);
}

static char escape_value(char c) {
    switch (c) {
    case '"': case '\\': return c;
    case 'n': return '\n';
    case 't': return '\t';
    default: return 0;
    }
}

Token literal_string(Parser *p, const char *text, size_t n) {
    Token t = token_make(p, T_STRING);
    char *value = NEW_ARRAY(p->ctx->scratch, char, n);
    size_t len = 0, bad;
    if (!utf8_valid(text, n, &bad))
        string_error(p, bad, bad + 1, "a string with a byte that is not UTF-8", NULL);
    for (size_t i = 1; i + 1 < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\\') {
            value[len] = escape_value(text[++i]);
            if (!value[len++])
                string_error(p, i - 1, i + 1, "unknown escape in a string", "the escapes are \\\" \\\\ \\n \\t");
        } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
            string_error(p, i, i + 1, "a control character in a string", NULL);
        } else {
            value[len++] = (char)c;
        }
    }
    t.str = intern_n(p->ctx->names, value, len);
    return t;
}

Token literal_bad_string(Parser *p, const char *text, size_t n) {
    Token t = token_make(p, T_STRING);
    t.str = name_of(p->ctx, "");
    if (n && text[n - 1] == '\r') n--;
    bool closed = n > 1 && text[n - 1] == text[0];
    if (text[0] == '\'')
        string_error(p, 0, closed ? n : 1, "a single quote does not start a string",
                     "strings stand in double quotes: \"...\"");
    else
        string_error(p, 0, 1, "a string that is not closed on its line", NULL);
    if (!closed) t.kind = T_NET_YYerror;
    return t;
}

/* ---- bytes that are no part of the language ---- */

static size_t utf8_length(const char *s, size_t n) {
    size_t bad, len = 1;
    while (len < n && len < 4 && ((unsigned char)s[len] & 0xC0) == 0x80) len++;
    return utf8_valid(s, len, &bad) ? len : 0;
}

static const char *bad_bytes_help(const char *text, size_t len) {
    static const struct { const char *text, *help; } known[] = {
        {"&&", "write 'and'"}, {"||", "write 'or'"}, {"!", "write 'not'"}, {"^", "a power is written **"},
        {"=>", "write '->' or '>='"}, {"|", "a pipe is written |>"},
        {"\xE2\x80\x9C", "strings stand in plain double quotes: \"...\""},
        {"\xE2\x80\x9D", "strings stand in plain double quotes: \"...\""},
        {"\xE2\x80\x98", "strings stand in plain double quotes: \"...\""},
        {"\xE2\x80\x99", "strings stand in plain double quotes: \"...\""},
        {"\xE2\x88\x92", "write the minus sign as '-'"}, {"\xE2\x80\x93", "write the minus sign as '-'"},
        {"\xE2\x86\x92", "write the arrow as '->'"}, {"\xC3\x97", "write '*'"},
        {"\xC2\xA0", "this is a no-break space; write a plain one"},
        {"\xEF\xBB\xBF", "a byte order mark stands only at the start of a file"},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].text) == len && !memcmp(known[i].text, text, len)) return known[i].help;
    return len > 1 ? "outside strings and comments a program is ASCII" : NULL;
}

Token literal_bad_bytes(Parser *p, const char *text, size_t n) {
    Token t = token_make(p, T_NET_YYerror);
    if (p->dropping) return t;
    size_t len = (unsigned char)text[0] < 0x80 ? n : utf8_length(text, n);
    Span s = {p->file, p->beg, p->beg + (uint32_t)(len ? len : 1)};
    Diag *d;
    if (!len)
        d = parser_diag(p, DIAG_BAD_BYTE, s, "byte 0x%02x is not UTF-8", (unsigned char)text[0]);
    else if (n == 1 && ((unsigned char)text[0] < 0x20 || text[0] == 0x7f))
        d = parser_diag(p, DIAG_BAD_BYTE, s, "byte 0x%02x cannot stand in a program", (unsigned char)text[0]);
    else
        d = parser_diag(p, DIAG_BAD_BYTE, s, "'%.*s' means nothing here", (int)len, text);
    const char *help = bad_bytes_help(text, len);
    if (help) diag_help(p->ctx, d, "%s", help);
    return t;
}

/* A comment may hold any text, but text it must be: it is shown in messages and, after ##, in reports. */
void literal_check_comment(Parser *p, const char *text, size_t n) {
    size_t bad;
    if (!utf8_valid(text, n, &bad)) {
        Span s = {p->file, p->beg + (uint32_t)bad, p->beg + (uint32_t)bad + 1};
        parser_diag(p, DIAG_BAD_BYTE, s, "byte 0x%02x is not UTF-8", (unsigned char)text[bad]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool crlf = c == '\r' && i + 1 == n;
        if ((c >= 0x20 && c != 0x7f) || c == '\t' || crlf) continue;
        Span s = {p->file, p->beg + (uint32_t)i, p->beg + (uint32_t)i + 1};
        parser_diag(p, DIAG_BAD_BYTE, s, "byte 0x%02x cannot stand in a program", c);
        return;
    }
}
