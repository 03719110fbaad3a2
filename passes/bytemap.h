/* bytemap.h - which content lies at which bytes: a map from disjoint byte intervals to (leaf, offset in the leaf).
 * Used by the verifier alone. A treap with priorities from a counter, so that equal histories give equal trees;
 * every operation is O(log n) expected, plus what it removes. */
#ifndef NETC_BYTEMAP_H
#define NETC_BYTEMAP_H

#include "base/base.h"

typedef struct ByteNode ByteNode;
typedef struct ByteMap {
    Arena *arena;
    ByteNode *root, *spare;                               /* spare: nodes given back, linked by `left` */
    uint64_t seed;
} ByteMap;

void bytemap_init(ByteMap *, Arena *);
/* Bytes [lo, hi) now hold bytes [leaf_off, ...) of `leaf`; whatever lay there is gone. */
void bytemap_write(ByteMap *, uint64_t lo, uint64_t hi, uint32_t leaf, uint64_t leaf_off);
/* Do bytes [lo, hi) hold exactly bytes [leaf_off, ...) of `leaf`? If not, *found is what lies at the first wrong byte
 * (UINT32_MAX: nothing was ever written there). */
bool bytemap_holds(const ByteMap *, uint64_t lo, uint64_t hi, uint32_t leaf, uint64_t leaf_off, uint32_t *found);
/* Some interval that shares a byte with [lo, hi): its leaf, or UINT32_MAX. */
uint32_t bytemap_any(const ByteMap *, uint64_t lo, uint64_t hi);
void bytemap_erase(ByteMap *, uint64_t lo, uint64_t hi);

#endif
