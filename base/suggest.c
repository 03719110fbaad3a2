/* suggest.c - "did you mean": the nearest of a list of names.
 *
 * A name equal but for case wins; then one made of the same words in another order (adaptive_pool_avg for
 * adaptive_avg_pool); then the nearest by restricted Damerau-Levenshtein distance (optimal string alignment), if the
 * distance is at most max(len, 3) / 3, as rustc has it. Cost O(len * len) for each candidate of similar length; names
 * longer than LONGEST bytes are compared for equality only. */
#include "base/base.h"

#include <string.h>

enum { LONGEST = 127, MOST_WORDS = 8 };

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_but_case(const char *a, const char *b) {
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return lower(*a) == lower(*b);
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b, size_t limit) {
    size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return strcmp(a, b) == 0 ? 0 : limit + 1;
    if ((na > nb ? na - nb : nb - na) > limit)
        return limit + 1;
    size_t rows[3][LONGEST + 1];                          /* rows i - 2, i - 1, i of the distance matrix */
    size_t *before = rows[0], *prev = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        before[j] = prev[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        size_t best = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = prev[j - 1] + (a[i - 1] != b[j - 1]);
            d = min_size(d, min_size(prev[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = min_size(d, before[j - 2] + 1);
            row[j] = d;
            best = min_size(best, d);
        }
        if (best > limit)
            return limit + 1;
        size_t *oldest = before;
        before = prev, prev = row, row = oldest;
    }
    return min_size(prev[nb], limit + 1);
}

typedef struct Words { const char *p[MOST_WORDS]; size_t n[MOST_WORDS], count; } Words;

static bool split_words(const char *s, Words *w) {
    w->count = 0;
    while (*s) {
        size_t n = strcspn(s, "_");
        if (w->count == MOST_WORDS)
            return false;
        w->p[w->count] = s;
        w->n[w->count++] = n;
        s += n + (s[n] == '_');
    }
    return w->count > 1;
}

/* Each word of a is matched with one of b's that is still free. */
static bool same_words(const char *a, const char *b) {
    Words wa, wb;
    if (strlen(a) != strlen(b) || !split_words(a, &wa) || !split_words(b, &wb) || wa.count != wb.count)
        return false;
    unsigned taken = 0;
    for (size_t i = 0; i < wa.count; i++) {
        size_t j = 0;
        while (j < wb.count && (taken >> j & 1 || wa.n[i] != wb.n[j] || memcmp(wa.p[i], wb.p[j], wa.n[i]) != 0))
            j++;
        if (j == wb.count)
            return false;
        taken |= 1u << j;
    }
    return true;
}

const char *suggest(const char *got, const char *const *candidates, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (equal_but_case(got, candidates[i]))
            return candidates[i];
    for (size_t i = 0; i < n; i++)
        if (same_words(got, candidates[i]))
            return candidates[i];
    size_t len = strlen(got), limit = (len > 3 ? len : 3) / 3;
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t d = edit_distance(got, candidates[i], limit);
        if (d > limit)
            continue;
        best = candidates[i];
        if (d == 0)
            break;
        limit = d - 1;                                    /* only a nearer one replaces it: the first of equals stays */
    }
    return best;
}
