/* base_memory.c - arenas, growing arrays, interned names and maps. */
#include "base/base.h"
#include "tests/unit/check.h"

#include <string.h>

static bool is_zero(const void *p, size_t n) {
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++)
        if (b[i])
            return false;
    return true;
}

static void test_arena(void) {
    Arena *a = arena_new();
    for (size_t n = 0; n < 5000; n += 7) {
        char *p = arena_alloc(a, n);
        CHECK((uintptr_t)p % 16 == 0);
        CHECK(is_zero(p, n));
        memset(p, 0xAA, n);
    }
    char *large = arena_alloc(a, 20 << 20);
    CHECK(is_zero(large, 20 << 20));
    CHECK(arena_used(a) >= 20u << 20);
    arena_reset(a);
    CHECK(arena_used(a) == 0);
    CHECK(is_zero(arena_alloc(a, 60000), 60000));         /* the block that is kept is clean again */
    CHECK(strcmp(arena_strndup(a, "abcdef", 3), "abc") == 0);
    char *text = arena_printf(a, "%0300d", 7);            /* longer than the buffer on the stack */
    CHECK(strlen(text) == 300 && text[299] == '7');
    CHECK(strcmp(arena_copy(a, "xyz", 4), "xyz") == 0);
    arena_free(a);
    arena_free(NULL);
}

static void test_vec(void) {
    Arena *a = arena_new();
    VEC(uint32_t) v = { 0 };
    for (uint32_t i = 0; i < 10000; i++)
        vec_push(a, &v, i * i);
    bool same = v.n == 10000;
    for (uint32_t i = 0; i < v.n; i++)
        same = same && v.p[i] == i * i;
    CHECK(same);
    CHECK(v.cap < 20000);
    arena_free(a);
}

static void test_intern(void) {
    Arena *a = arena_new();
    Intern *t = intern_new(a);
    const char *first[3000];
    char text[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "name%d", i);
        first[i] = intern_n(t, text, strlen(text));
    }
    bool same = true;
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "name%d+", i);
        same = same && intern_n(t, text, strlen(text) - 1) == first[i];
    }
    CHECK(same);
    CHECK(intern_n(t, "", 0) == intern_n(t, "x", 0));
    CHECK(intern_n(t, "a\0b", 3) != intern_n(t, "a\0c", 3));
    arena_free(a);
}

static void test_namemap(void) {
    Arena *a = arena_new();
    Intern *t = intern_new(a);
    NameMap *m = namemap_new(a);
    static int values[2000];
    char text[32];
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "k%d", i);
        namemap_put(m, intern_n(t, text, strlen(text)), &values[i]);
    }
    CHECK(namemap_count(m) == 2000);
    bool order = true, found = true;
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "k%d", i);
        const char *key = intern_n(t, text, strlen(text));
        order = order && namemap_key(m, (size_t)i) == key && namemap_value(m, (size_t)i) == &values[i];
        found = found && namemap_get(m, key) == &values[i];
    }
    CHECK(order);
    CHECK(found);
    namemap_put(m, intern_n(t, "k7", 2), &values[0]);     /* replaces, keeps its place */
    CHECK(namemap_count(m) == 2000);
    CHECK(namemap_value(m, 7) == &values[0]);
    CHECK(namemap_get(m, intern_n(t, "absent", 6)) == NULL);
    arena_free(a);
}

int main(void) {
    test_arena();
    test_vec();
    test_intern();
    test_namemap();
    return check_done();
}
