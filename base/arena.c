/* arena.c - region memory: blocks from malloc, allocation by bumping a pointer, everything freed at once.
 *
 * Blocks start at 64 KiB and double up to 8 MiB, so that a small compilation touches little and a large one makes few calls.
 * A request of more than half the next block gets a block of its own. Memory is zero: blocks come from calloc, whose fresh
 * pages cost nothing until they are used, and a reset clears what was used of the block it keeps.
 *
 * Under the address sanitizer the unused part of each block is poisoned and every allocation is followed by 16 poisoned
 * bytes, so that an overrun inside an arena is found as one of malloc's would be. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
enum { RED_ZONE = 16 };
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
enum { RED_ZONE = 0 };
#endif

enum { ALIGN = 16, FIRST_BLOCK = 64 << 10, LARGEST_BLOCK = 8 << 20 };

typedef struct Block {
    struct Block *older;
    size_t size, used;                                    /* bytes of data */
} Block;
enum { HEADER = (sizeof(Block) + ALIGN - 1) / ALIGN * ALIGN };

struct Arena {
    Block *newest, *first;
    size_t next_size;                                     /* of the next block */
    size_t total;                                         /* handed out since the last reset */
};

static char *block_data(Block *b) {
    return (char *)b + HEADER;
}

static Block *block_new(size_t size, Block *older) {
    if (size > SIZE_MAX - HEADER)
        die("out of memory");
    Block *b = calloc(1, HEADER + size);
    if (!b)
        die("out of memory");
    b->older = older;
    b->size = size;
    POISON(block_data(b), size);
    return b;
}

static void block_free(Block *b) {
    UNPOISON(block_data(b), b->size);
    free(b);
}

Arena *arena_new(void) {
    Arena *a = calloc(1, sizeof *a);
    if (!a)
        die("out of memory");
    a->newest = a->first = block_new(FIRST_BLOCK, NULL);
    a->next_size = 2 * (size_t)FIRST_BLOCK;
    return a;
}

void arena_free(Arena *a) {
    if (!a)
        return;
    for (Block *b = a->newest, *older; b; b = older) {
        older = b->older;
        block_free(b);
    }
    free(a);
}

void arena_reset(Arena *a) {
    for (Block *b = a->newest, *older; b; b = older) {
        older = b->older;
        if (b != a->first)
            block_free(b);
    }
    Block *b = a->newest = a->first;
    b->older = NULL;
    UNPOISON(block_data(b), b->used);
    memset(block_data(b), 0, b->used);
    POISON(block_data(b), b->size);
    b->used = 0;
    a->next_size = 2 * (size_t)FIRST_BLOCK;
    a->total = 0;
}

/* A block with room for `need` bytes. One that is made for a single large request stands behind the newest, whose rest
 * stays in use. */
static Block *grow(Arena *a, size_t need) {
    if (need > a->next_size / 2) {
        Block *b = block_new(need, a->newest->older);
        return a->newest->older = b;
    }
    Block *b = block_new(a->next_size, a->newest);
    if (a->next_size < LARGEST_BLOCK)
        a->next_size *= 2;
    return a->newest = b;
}

void *arena_alloc(Arena *a, size_t nbytes) {
    if (nbytes > SIZE_MAX - HEADER - ALIGN - RED_ZONE)
        die("out of memory");
    size_t need = (nbytes + ALIGN - 1) / ALIGN * ALIGN + RED_ZONE;
    Block *b = a->newest;
    if (need > b->size - b->used)
        b = grow(a, need);
    char *p = block_data(b) + b->used;
    UNPOISON(p, nbytes);
    b->used += need;
    a->total += need;
    return p;
}

void *arena_array(Arena *a, size_t n, size_t size) {
    if (size && n > SIZE_MAX / size)
        die("out of memory");
    return arena_alloc(a, n * size);
}

void *arena_copy(Arena *a, const void *from, size_t nbytes) {
    void *p = arena_alloc(a, nbytes);
    if (nbytes)
        memcpy(p, from, nbytes);
    return p;
}

char *arena_strndup(Arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *p = arena_vprintf(a, fmt, args);
    va_end(args);
    return p;
}

/* Most texts are short: they are formatted once, on the stack. */
char *arena_vprintf(Arena *a, const char *fmt, va_list args) {
    char buf[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(buf, sizeof buf, fmt, args);
    if (n < 0)
        ice("cannot format '%s'", fmt);
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof buf)
        memcpy(p, buf, (size_t)n);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void *chunk_new(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size ? size : 1);         /* checks the product itself */
    if (!p)
        die("out of memory");
    return p;
}

void chunk_free(void *p) {
    free(p);
}

size_t arena_used(const Arena *a) {
    return a->total;
}

/* Growth by doubling: the abandoned copies sum to less than the array itself. */
void vec_reserve(Arena *a, void **p, size_t *cap, size_t need, size_t size) {
    if (need <= *cap)
        return;
    size_t old = *cap, new_cap = old > SIZE_MAX / 2 ? need : 2 * old;
    if (new_cap < need)
        new_cap = need;
    if (new_cap < 8)
        new_cap = 8;
    void *q = arena_array(a, new_cap, size);
    if (old)
        memcpy(q, *p, old * size);
    *p = q;
    *cap = new_cap;
}
