/* intern.c - one copy of every name, and maps keyed by those copies.
 *
 * Interning is a hash table with open addressing (FNV-1a, linear probing, at most half full). A NameMap keeps its entries in
 * an array in insertion order and an index over them by pointer; only the array is ever walked, so that no output depends
 * on addresses. Both are O(1) per operation and forget nothing. */
#include "base/base.h"

#include <string.h>

typedef struct InternSlot {
    const char *s;                                        /* NULL: free */
    uint32_t hash;
    size_t n;
} InternSlot;
struct Intern {
    Arena *arena;
    InternSlot *slots;
    size_t nslots, count;                                 /* nslots is a power of two */
};

static uint32_t hash_bytes(const char *s, size_t n) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

Intern *intern_new(Arena *a) {
    Intern *t = NEW(a, Intern);
    t->arena = a;
    t->nslots = 256;
    t->slots = NEW_ARRAY(a, InternSlot, t->nslots);
    return t;
}

static InternSlot *intern_slot(InternSlot *slots, size_t nslots, const char *s, size_t n, uint32_t hash) {
    for (size_t i = hash & (nslots - 1);; i = (i + 1) & (nslots - 1)) {
        InternSlot *e = &slots[i];
        if (!e->s || (e->hash == hash && e->n == n && memcmp(e->s, s, n) == 0))
            return e;
    }
}

static void intern_grow(Intern *t) {
    size_t nslots = 2 * t->nslots;
    InternSlot *slots = NEW_ARRAY(t->arena, InternSlot, nslots);
    for (size_t i = 0; i < t->nslots; i++) {
        const InternSlot *e = &t->slots[i];
        if (e->s)
            *intern_slot(slots, nslots, e->s, e->n, e->hash) = *e;
    }
    t->slots = slots;
    t->nslots = nslots;
}

const char *intern_n(Intern *t, const char *s, size_t n) {
    uint32_t hash = hash_bytes(s, n);
    InternSlot *e = intern_slot(t->slots, t->nslots, s, n, hash);
    if (e->s)
        return e->s;
    const char *copy = arena_strndup(t->arena, s, n);
    *e = (InternSlot){ copy, hash, n };
    if (++t->count > t->nslots / 2)
        intern_grow(t);
    return copy;
}

typedef struct NameEntry { const char *key; void *value; } NameEntry;
struct NameMap {
    Arena *arena;
    VEC(NameEntry) entries;                               /* in insertion order */
    uint32_t *index;                                      /* entry number + 1, 0: free; NULL while there are few entries */
    size_t nindex;                                        /* a power of two */
};
enum { FEW = 8 };                                         /* up to here a walk is faster than hashing */

NameMap *namemap_new(Arena *a) {
    NameMap *m = NEW(a, NameMap);
    m->arena = a;
    return m;
}

/* The place in the index where the key is, or would be put. */
static uint32_t *index_slot(const NameMap *m, const char *key) {
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = (size_t)(hash >> 32) & (m->nindex - 1);; i = (i + 1) & (m->nindex - 1)) {
        uint32_t *slot = &m->index[i];
        if (!*slot || m->entries.p[*slot - 1].key == key)
            return slot;
    }
}

static NameEntry *find(const NameMap *m, const char *key) {
    if (m->index) {
        uint32_t at = *index_slot(m, key);
        return at ? &m->entries.p[at - 1] : NULL;
    }
    for (size_t i = 0; i < m->entries.n; i++)
        if (m->entries.p[i].key == key)
            return &m->entries.p[i];
    return NULL;
}

static void rebuild_index(NameMap *m) {
    m->nindex = m->nindex ? 2 * m->nindex : 4 * FEW;
    m->index = NEW_ARRAY(m->arena, uint32_t, m->nindex);
    for (size_t i = 0; i < m->entries.n; i++)
        *index_slot(m, m->entries.p[i].key) = (uint32_t)i + 1;
}

void *namemap_get(const NameMap *m, const char *interned) {
    const NameEntry *e = find(m, interned);
    return e ? e->value : NULL;
}

void namemap_put(NameMap *m, const char *interned, void *value) {
    NameEntry *e = find(m, interned);
    if (e) {
        e->value = value;
        return;
    }
    if (m->entries.n >= UINT32_MAX - 1)
        die("out of memory");
    vec_push(m->arena, &m->entries, ((NameEntry){ interned, value }));
    if (m->entries.n > (m->index ? m->nindex / 2 : FEW))
        rebuild_index(m);
    else if (m->index)
        *index_slot(m, interned) = (uint32_t)m->entries.n;
}

size_t namemap_count(const NameMap *m) {
    return m->entries.n;
}

const char *namemap_key(const NameMap *m, size_t i) {
    return m->entries.p[i].key;
}

void *namemap_value(const NameMap *m, size_t i) {
    return m->entries.p[i].value;
}
