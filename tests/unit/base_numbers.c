/* base_numbers.c - checked arithmetic, and numbers and names as text. */
#include "base/base.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_checked(void) {
    uint64_t u;
    int64_t i;
    CHECK(mul_u64(UINT32_MAX, UINT32_MAX, &u) && u == UINT64_C(18446744065119617025));
    CHECK(!mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u));
    CHECK(!add_u64(UINT64_MAX, 1, &u));
    CHECK(mul_i64(INT64_MIN, 1, &i) && i == INT64_MIN);
    CHECK(!mul_i64(INT64_MIN, -1, &i));
    CHECK(!add_i64(INT64_MAX, 1, &i));
    CHECK(!sub_i64(INT64_MIN, 1, &i));
    CHECK(align_up(0, 256, &u) && u == 0);
    CHECK(align_up(1, 256, &u) && u == 256);
    CHECK(align_up(256, 256, &u) && u == 256);
    CHECK(!align_up(UINT64_MAX - 3, 64, &u));
    CHECK(floor_div(7, 2) == 3 && floor_div(-7, 2) == -4 && floor_div(-8, 2) == -4 && floor_div(0, 5) == 0);
}

static void check_double(Arena *a, double v, const char *text) {
    StrBuf b;
    sb_init(&b, a);
    sb_double(&b, v);
    if (strcmp(sb_str(&b), text) != 0)
        fprintf(stderr, "%s, not %s\n", sb_str(&b), text);
    CHECK(strcmp(sb_str(&b), text) == 0);
}

static void test_double(Arena *a) {
    check_double(a, 0, "0");
    check_double(a, -0.0, "-0");
    check_double(a, 1, "1");
    check_double(a, 0.1, "0.1");
    check_double(a, 1e-5, "1e-5");
    check_double(a, 1e22, "1e22");
    check_double(a, 1.0 / 3, "0.3333333333333333");
    check_double(a, 5e-324, "5e-324");
    check_double(a, 1.7976931348623157e308, "1.7976931348623157e308");
    check_double(a, INFINITY, "inf");
    check_double(a, -INFINITY, "-inf");
    check_double(a, NAN, "nan");
    uint64_t state = 1;
    bool back = true;
    for (int i = 0; i < 20000; i++) {                     /* any bit pattern reads back */
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double v, w;
        memcpy(&v, &state, sizeof v);
        StrBuf b;
        sb_init(&b, a);
        sb_double(&b, v);
        w = strtod(sb_str(&b), NULL);
        back = back && (isnan(v) ? isnan(w) : memcmp(&v, &w, sizeof v) == 0);
    }
    CHECK(back);
}

static void test_sizes(Arena *a) {
    static const struct { uint64_t n; const char *grouped, *iec; } cases[] = {
        { 0, "0", "0 B" }, { 999, "999", "999 B" }, { 1000, "1,000", "1000 B" }, { 1023, "1,023", "1023 B" },
        { 1024, "1,024", "1.00 KiB" }, { 23520, "23,520", "22.97 KiB" }, { 1048571, "1,048,571", "1.00 MiB" },
        { 1048570, "1,048,570", "1023.99 KiB" }, { 5218304, "5,218,304", "4.98 MiB" },
        { UINT64_C(1) << 60, "1,152,921,504,606,846,976", "1.00 EiB" },
        { UINT64_MAX, "18,446,744,073,709,551,615", "16.00 EiB" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(strcmp(group_digits(a, cases[i].n), cases[i].grouped) == 0);
        CHECK(strcmp(iec_bytes(a, cases[i].n), cases[i].iec) == 0);
    }
}

static void test_utf8(void) {
    size_t bad = 99;
    CHECK(utf8_valid("a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80", 10, &bad));
    CHECK(!utf8_valid("ab\xFF", 3, &bad) && bad == 2);
    CHECK(!utf8_valid("\xC0\x80", 2, &bad) && bad == 0);  /* overlong */
    CHECK(!utf8_valid("a\xED\xA0\x80", 4, &bad) && bad == 1);      /* a surrogate */
    CHECK(!utf8_valid("\xF4\x90\x80\x80", 4, &bad));      /* above 0x10FFFF */
    CHECK(!utf8_valid("\xE4\xB8", 2, &bad));              /* cut off */
    CHECK(display_width("abc", 3) == 3);
    CHECK(display_width("\xC3\xA9", 2) == 1);
    CHECK(display_width("e\xCC\x81", 3) == 1);            /* e and a combining accent */
    CHECK(display_width("\xE4\xB8\xAD\xE6\x96\x87", 6) == 4);
    CHECK(display_width("\xF0\x9F\x98\x80", 4) == 2);
    CHECK(display_width("\xFFx", 2) == 2);
}

static void test_suggest(void) {
    static const char *const ops[] = { "conv1d", "conv2d", "linear", "relu", "relu6", "adaptive_avg_pool2d", "gelu", "add" };
    enum { N = COUNT_OF(ops) };
    CHECK(edit_distance("kitten", "sitting", 9) == 3);
    CHECK(edit_distance("ab", "ba", 9) == 1);
    CHECK(edit_distance("", "abc", 9) == 3);
    CHECK(edit_distance("abcdef", "uvwxyz", 2) == 3);     /* above the limit */
    CHECK(strcmp(suggest("Linear", ops, N), "linear") == 0);
    CHECK(strcmp(suggest("lienar", ops, N), "linear") == 0);
    CHECK(suggest("conv", ops, N) == NULL);               /* two letters away, of four */
    CHECK(strcmp(suggest("avg_adaptive_pool2d", ops, N), "adaptive_avg_pool2d") == 0);
    CHECK(strcmp(suggest("rleu", ops, N), "relu") == 0);
    CHECK(suggest("xyz", ops, N) == NULL);
    CHECK(suggest("zz", ops, N) == NULL);
    CHECK(suggest("x", NULL, 0) == NULL);
    char longer[400];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK(suggest(longer, ops, N) == NULL);
}

int main(void) {
    Arena *a = arena_new();
    test_checked();
    test_double(a);
    test_sizes(a);
    test_utf8();
    test_suggest();
    arena_free(a);
    return check_done();
}
