/* pattern.h - the text of a rearrange pattern, taken apart. Private to ops/. */
#ifndef NETC_OPS_PATTERN_H
#define NETC_OPS_PATTERN_H

#include "ops/ops.h"

enum { MAX_ITEMS = 32 };

typedef enum ItemKind { ITEM_AXIS, ITEM_REST, ITEM_UNIT } ItemKind;               /* h, ..., 1 */
typedef struct Item {
    ItemKind kind;
    const char *name;                                     /* ITEM_AXIS: interned */
    unsigned group;
    uint32_t beg, end;                                    /* bytes of the pattern */
} Item;
typedef struct Group { uint32_t beg, end; bool paren, rest; } Group;      /* rest: a bare "...", any number of axes */
typedef struct Side {
    Item item[MAX_ITEMS];
    Group group[MAX_ITEMS];                               /* one per axis of the tensor; "()" has no items */
    unsigned nitems, ngroups;
    int rest;                                             /* index of the ellipsis among the items, -1 without */
} Side;

typedef struct Pattern {
    Call *call;
    const char *text;
    Span span;                                            /* of the argument */
    uint32_t base;                                        /* where the text begins in the source; 0: no plain literal */
    Side left, right;
} Pattern;

/* Reads the call's pattern; false after a diagnostic with its caret inside the string. */
bool pattern_parse(Call *, Pattern *);
/* A diagnostic [pattern] at bytes [beg, end) of the pattern. */
Diag *pattern_diag(const Pattern *, uint32_t beg, uint32_t end, const char *text);

#endif
