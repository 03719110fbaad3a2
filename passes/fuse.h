/* fuse.h - groups of ops that run as one step, while they are being formed. Private to fuse.c and fuse_layout.c. */
#ifndef NETC_PASSES_FUSE_H
#define NETC_PASSES_FUSE_H

#include "passes/steps.h"

typedef struct Fuse {
    const Graph *g;
    Plan *p;
    uint32_t *nreads;                                     /* by value id: how often running ops and results read it */
    uint32_t *reader;                                     /* by value id: its reader when it has just one, else NO_ID */
    uint32_t *last_reader;                                /* by value id: the last op that reads it; NO_ID: kept */
    uint32_t *anchor;                                     /* by op id: of the group it is in */
    uint32_t *tail;                                       /* by anchor: the group's last op, which makes its result */
    uint32_t *next, *end;                                 /* by op id, by anchor: the group as a list from its anchor on */
} Fuse;

/* Op, which is a group of its own, runs in the step of `anchor`. */
static inline void fuse_into(Fuse *f, uint32_t op, uint32_t anchor) {
    f->p->fate[op] = FATE_FUSED;
    f->p->into[op] = anchor;
    f->anchor[op] = anchor;
    f->next[f->end[anchor]] = op;
    f->end[anchor] = op;
}

/* What it costs to keep v until op runs, that nothing else keeps until then. */
static inline uint64_t fuse_keeps(const Fuse *f, const Value *v, uint32_t op) {
    bool outside = is_stored(v) || (v->role == ROLE_INPUT && f->p->io == IO_CALLER) ||
                   (v->def != NULL && f->p->fate[v->def->id] == FATE_CONSTANT);
    return outside || f->last_reader[v->id] > op ? 0 : v->nbytes;
}

/* Its results must be there as they are, or it makes several. */
static inline bool fuse_apart(const Op *op) { return op->keep || op->inplace == INPLACE_FORBID; }

void fuse_layout(Ctx *, Fuse *);                          /* fuse_layout.c */

#endif
