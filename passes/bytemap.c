/* bytemap.c - an interval map as a treap (Seidel and Aragon, "Randomized search trees", 1996) with split and merge.
 *
 * Nodes are disjoint intervals ordered by address. A range is replaced by cutting the tree at both ends, dropping the
 * middle and joining the rest round the new node. Recursion goes as deep as the tree, O(log n) expected. */
#include "passes/bytemap.h"

struct ByteNode {
    uint64_t lo, hi, leaf_off, priority;
    uint32_t leaf;
    ByteNode *left, *right;
};

void bytemap_init(ByteMap *m, Arena *arena) {
    *m = (ByteMap){.arena = arena, .seed = 0x9e3779b97f4a7c15u};
}

static ByteNode *node_new(ByteMap *m, uint64_t lo, uint64_t hi, uint32_t leaf, uint64_t leaf_off) {
    ByteNode *n = m->spare;
    if (n)
        m->spare = n->left;
    else
        n = NEW(m->arena, ByteNode);
    m->seed ^= m->seed << 13, m->seed ^= m->seed >> 7, m->seed ^= m->seed << 17;    /* xorshift64 */
    *n = (ByteNode){.lo = lo, .hi = hi, .leaf = leaf, .leaf_off = leaf_off, .priority = m->seed};
    return n;
}

static ByteNode *join(ByteNode *a, ByteNode *b) {
    if (!a || !b) return a ? a : b;
    if (a->priority > b->priority) {
        a->right = join(a->right, b);
        return a;
    }
    b->left = join(a, b->left);
    return b;
}

/* Everything below `at` goes to *a, the rest to *b; an interval across `at` is cut in two. */
static void split(ByteMap *m, ByteNode *n, uint64_t at, ByteNode **a, ByteNode **b) {
    if (!n) {
        *a = *b = NULL;
    } else if (n->hi <= at) {
        *a = n;
        split(m, n->right, at, &n->right, b);
    } else if (n->lo >= at) {
        *b = n;
        split(m, n->left, at, a, &n->left);
    } else {
        ByteNode *high = node_new(m, at, n->hi, n->leaf, n->leaf_off + (at - n->lo));
        *b = join(high, n->right);
        n->right = NULL;
        n->hi = at;
        *a = n;
    }
}

static void give_back(ByteMap *m, ByteNode *n) {
    if (!n) return;
    give_back(m, n->right);
    ByteNode *left = n->left;
    n->left = m->spare;
    m->spare = n;
    give_back(m, left);
}

void bytemap_erase(ByteMap *m, uint64_t lo, uint64_t hi) {
    ByteNode *below, *middle, *above;
    split(m, m->root, lo, &below, &above);
    split(m, above, hi, &middle, &above);
    give_back(m, middle);
    m->root = join(below, above);
}

void bytemap_write(ByteMap *m, uint64_t lo, uint64_t hi, uint32_t leaf, uint64_t leaf_off) {
    if (lo >= hi) return;
    ByteNode *below, *middle, *above;
    split(m, m->root, lo, &below, &above);
    split(m, above, hi, &middle, &above);
    give_back(m, middle);
    m->root = join(join(below, node_new(m, lo, hi, leaf, leaf_off)), above);
}

static const ByteNode *first_above(const ByteMap *m, uint64_t byte) {
    const ByteNode *best = NULL;
    for (const ByteNode *n = m->root; n;) {
        if (n->hi > byte)
            best = n, n = n->left;
        else
            n = n->right;
    }
    return best;
}

bool bytemap_holds(const ByteMap *m, uint64_t lo, uint64_t hi, uint32_t leaf, uint64_t leaf_off, uint32_t *found) {
    for (uint64_t at = lo; at < hi;) {
        const ByteNode *n = first_above(m, at);
        bool covers = n && n->lo <= at;
        if (!covers || n->leaf != leaf || n->leaf_off + (at - n->lo) != leaf_off + (at - lo)) {
            *found = covers ? n->leaf : UINT32_MAX;
            return false;
        }
        at = n->hi;
    }
    return true;
}

uint32_t bytemap_any(const ByteMap *m, uint64_t lo, uint64_t hi) {
    const ByteNode *n = first_above(m, lo);
    return n && n->lo < hi ? n->leaf : UINT32_MAX;
}
