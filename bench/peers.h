/* peers.h - the offset rules of other planners, written by us from their descriptions: what netc's own are compared
 * with. They share no code with passes/. Lives are half-open, alignment is one, nothing is pinned.
 *
 * An offset rule is an order and a fit. The order: falling by up to two keys, then by position in the input. The fit,
 * among the placed buffers whose lives meet: the lowest gap that is wide enough, or the tightest (the lower of two);
 * above all of them if there is none. O(n^2). Slots share whole buffers instead: the arena is the sum of the slots. */
#ifndef NETC_BENCH_PEERS_H
#define NETC_BENCH_PEERS_H

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct PeerBuffer { int64_t lower, upper; uint64_t size; } PeerBuffer;   /* life [lower, upper) */

typedef enum PeerKey { KEY_NONE, KEY_SIZE, KEY_LIFE, KEY_CONFLICTS, KEY_AREA, KEY_EARLY } PeerKey;
typedef struct PeerRule {
    const char *name;                                     /* of the rule and of who uses it */
    PeerKey key[2];
    bool best_fit;
} PeerRule;

static const PeerRule peer_rules[] = {
    {"TFLite Micro (size first fit)", {KEY_SIZE, KEY_NONE}, false},
    {"OpenVINO (size/life first fit)", {KEY_SIZE, KEY_LIFE}, false},
    {"TVM by size (size/conflicts first fit)", {KEY_SIZE, KEY_CONFLICTS}, false},
    {"TVM by conflicts (first fit)", {KEY_CONFLICTS, KEY_SIZE}, false},
    {"conflicts best fit", {KEY_CONFLICTS, KEY_SIZE}, true},
    {"TFLite (size best fit)", {KEY_SIZE, KEY_NONE}, true},
    {"XLA spatial (size/life best fit)", {KEY_SIZE, KEY_LIFE}, true},
    {"XLA temporal (life/size best fit)", {KEY_LIFE, KEY_SIZE}, true},
    {"life first fit", {KEY_LIFE, KEY_SIZE}, false},
    {"ONNX Runtime and ggml (time best fit)", {KEY_EARLY, KEY_SIZE}, true},
    {"linear scan (time first fit)", {KEY_EARLY, KEY_SIZE}, false},
    {"area first fit", {KEY_AREA, KEY_SIZE}, false},
    {"area best fit", {KEY_AREA, KEY_SIZE}, true},
};

typedef struct PeerRank { double key[2]; uint32_t buffer; } PeerRank;
typedef struct PeerPlace { uint64_t offset, top; int64_t lower, upper; uint32_t buffer; } PeerPlace;

static inline bool peer_meet(const PeerBuffer *a, const PeerBuffer *b) {
    return a->lower < b->upper && b->lower < a->upper;
}

static inline uint64_t peer_load(const PeerBuffer *b, uint32_t n) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < n; i++) {                    /* the load rises only where a life begins */
        uint64_t load = 0;
        for (uint32_t j = 0; j < n; j++)
            load += b[j].lower <= b[i].lower && b[i].lower < b[j].upper ? b[j].size : 0;
        most = load > most ? load : most;
    }
    return most;
}

static int peer_by_rank(const void *a, const void *b) {
    const PeerRank *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->key[k] != y->key[k])
            return x->key[k] > y->key[k] ? -1 : 1;
    return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static inline double peer_key(const PeerBuffer *b, uint32_t n, uint32_t i, PeerKey key) {
    double conflicts = -1;                                /* with itself */
    switch (key) {
    case KEY_NONE: return 0;
    case KEY_SIZE: return (double)b[i].size;
    case KEY_LIFE: return (double)(b[i].upper - b[i].lower);
    case KEY_AREA: return (double)b[i].size * (double)(b[i].upper - b[i].lower);
    case KEY_EARLY: return -(double)b[i].lower;
    case KEY_CONFLICTS:
        for (uint32_t j = 0; j < n; j++)
            conflicts += peer_meet(&b[i], &b[j]);
        return conflicts;
    }
    return 0;
}

static inline uint32_t *peer_order(Arena *arena, const PeerBuffer *b, uint32_t n, const PeerKey key[2]) {
    PeerRank *rank = NEW_ARRAY(arena, PeerRank, n);
    uint32_t *order = NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        rank[i] = (PeerRank){{peer_key(b, n, i, key[0]), peer_key(b, n, i, key[1])}, i};
    qsort(rank, n, sizeof *rank, peer_by_rank);
    for (uint32_t i = 0; i < n; i++)
        order[i] = rank[i].buffer;
    return order;
}

/* The places are in the order of their offsets. */
static inline uint64_t peer_fit(const PeerPlace *p, uint32_t n, const PeerBuffer *b, bool best_fit) {
    uint64_t at = 0, best = UINT64_MAX, least = UINT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        if (p[k].upper <= b->lower || b->upper <= p[k].lower)
            continue;
        if (p[k].offset >= at && p[k].offset - at >= b->size && p[k].offset - at < least) {
            best = at;
            least = p[k].offset - at;
            if (!best_fit)
                break;
        }
        at = p[k].top > at ? p[k].top : at;
    }
    return best != UINT64_MAX ? best : at;
}

/* Places the buffers in the order; the height. offset: by buffer, or NULL. */
static inline uint64_t peer_place(Arena *arena, const PeerBuffer *b, uint32_t n, const uint32_t *order, bool best_fit,
                                  uint64_t *offset) {
    PeerPlace *p = NEW_ARRAY(arena, PeerPlace, (size_t)n + 1);
    uint64_t height = 0;
    for (uint32_t k = 0; k < n; k++) {
        const PeerBuffer *x = &b[order[k]];
        uint64_t at = peer_fit(p, k, x, best_fit);
        uint32_t i = k;
        for (; i > 0 && p[i - 1].offset > at; i--)
            p[i] = p[i - 1];
        p[i] = (PeerPlace){at, at + x->size, x->lower, x->upper, order[k]};
        height = at + x->size > height ? at + x->size : height;
        if (offset)
            offset[order[k]] = at;
    }
    return height;
}

static inline uint64_t peer_height(Arena *arena, const PeerBuffer *b, uint32_t n, const PeerRule *rule) {
    return peer_place(arena, b, n, peer_order(arena, b, n, rule->key), rule->best_fit, NULL);
}

/* Shared objects, largest buffers first: each takes the first slot in which nothing meets it (all slots are large
 * enough), else a new slot of its size (ExecuTorch greedy, TVM Relax's static plan, Inductor's reuse of whole buffers). */
static inline uint64_t peer_slots(Arena *arena, const PeerBuffer *b, uint32_t n) {
    const PeerKey by_size[2] = {KEY_SIZE, KEY_NONE};
    const uint32_t *order = peer_order(arena, b, n, by_size);
    uint32_t *slot = NEW_ARRAY(arena, uint32_t, n), nslots = 0;
    uint32_t *taken = NEW_ARRAY(arena, uint32_t, (size_t)n + 1);                 /* by slot: the last k to find it so */
    uint64_t sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t s = 0;
        for (uint32_t i = 0; i < k; i++)
            if (peer_meet(&b[order[k]], &b[order[i]]))
                taken[slot[i]] = k;
        while (s < nslots && k > 0 && taken[s] == k)
            s++;
        if (s == nslots) {
            nslots++;
            sum += b[order[k]].size;
        }
        slot[k] = s;
    }
    return sum;
}

/* Hill climbing on the order (TVM's USMP): two buffers, one of them at the top or meeting one there, change turns; a
 * worse height is accepted less and less often. */
static inline uint64_t peer_hill_climb(Arena *arena, const PeerBuffer *b, uint32_t n, uint32_t tries) {
    const PeerKey by_size[2] = {KEY_SIZE, KEY_CONFLICTS};
    uint32_t *order = peer_order(arena, b, n, by_size), *turn = NEW_ARRAY(arena, uint32_t, n);
    uint64_t *offset = NEW_ARRAY(arena, uint64_t, n), seed = 1;
    uint64_t now = n ? peer_place(arena, b, n, order, false, offset) : 0, best = now;
    for (uint32_t t = 0; t < tries && n > 1; t++) {
        Arena *room = arena_new();
        uint32_t m = 0, pick[2];
        for (uint32_t k = 0; k < n; k++) {
            bool near = false;
            for (uint32_t j = 0; j < n && !near; j++)
                near = offset[j] + b[j].size == now && peer_meet(&b[order[k]], &b[j]);
            if (near)
                turn[m++] = k;
        }
        for (int i = 0; i < 2; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            pick[i] = i == 0 ? turn[(seed >> 33) % m] : (uint32_t)((seed >> 33) % n);
        }
        uint32_t x = order[pick[0]];
        order[pick[0]] = order[pick[1]];
        order[pick[1]] = x;
        uint64_t next = peer_place(room, b, n, order, false, offset);
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (next <= now || (seed >> 33) % 100 < 30 * (uint64_t)(tries - t) / tries / 10) {
            now = next;
        } else {
            order[pick[1]] = order[pick[0]];
            order[pick[0]] = x;
            peer_place(room, b, n, order, false, offset);
        }
        best = now < best ? now : best;
        arena_free(room);
    }
    return best;
}

#endif
