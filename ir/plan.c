/* plan.c - an empty plan, and the words of its enumerations. No decisions are made here. */
#include "ir/plan.h"

#include <string.h>

Plan *plan_new(Arena *arena, const Graph *g, Level level, Target target, IoPlace io, uint64_t align) {
    Plan *p = NEW(arena, Plan);
    size_t nops = g->ops.n, nvalues = g->values.n;
    p->arena = arena;
    p->level = p->made_by = level;
    p->target = target;
    p->io = io;
    p->align = align;
    p->fate = NEW_ARRAY(arena, Fate, nops);
    p->into = NEW_ARRAY(arena, uint32_t, nops);
    p->step_of = NEW_ARRAY(arena, uint32_t, nops);
    p->repl = NEW_ARRAY(arena, uint32_t, nvalues);
    p->place = NEW_ARRAY(arena, Place, nvalues);
    p->bound_kind = p->rule = "none";
    p->order_kind = "program";
    for (size_t i = 0; i < nops; i++) {
        p->fate[i] = FATE_RUN;
        p->into[i] = p->step_of[i] = NO_ID;
    }
    for (size_t i = 0; i < nvalues; i++) {
        p->repl[i] = (uint32_t)i;
        p->place[i] = (Place){.buffer = NO_ID, .with = NO_ID, .reason_value = NO_ID};
    }
    return p;
}

bool plan_is_result(const Graph *g, const Value *v) {
    (void)g;
    return v->nresults > 0;
}

const char *level_name(Level l) {
    switch (l) {
    case LEVEL_NAIVE: return "naive";
    case LEVEL_REUSE: return "reuse";
    case LEVEL_INPLACE: return "inplace";
    case LEVEL_ALIAS: return "alias";
    case LEVEL_REORDER: return "reorder";
    case LEVEL_FULL: return "full";
    case LEVEL_STREAM: return "stream";
    case LEVEL_COUNT: break;
    }
    ice("level %d", (int)l);
}

bool level_by_name(const char *name, Level *l) {
    for (int i = 0; i < LEVEL_COUNT; i++)
        if (strcmp(level_name((Level)i), name) == 0) {
            *l = (Level)i;
            return true;
        }
    return false;
}

const char *rewrite_name(RewriteKind k) {
    static const char *const names[] = {
        [REWRITE_INPLACE] = "in place", [REWRITE_ACCUMULATE] = "accumulate", [REWRITE_VIEW] = "view", [REWRITE_SLICE] = "slice",
        [REWRITE_FOLD] = "fold", [REWRITE_FUSE] = "fuse", [REWRITE_OVERLAP] = "overlap", [REWRITE_ORDER] = "order",
    };
    return names[k];
}

const char *fate_name(Fate f) {
    switch (f) {
    case FATE_RUN: return "run";
    case FATE_FUSED: return "fused";
    case FATE_FOLDED: return "folded";
    case FATE_IDENTITY: return "identity";
    case FATE_VIEW: return "view";
    case FATE_CONSTANT: return "constant";
    case FATE_DUPLICATE: return "duplicate";
    case FATE_DEAD: return "dead";
    }
    ice("fate %d", (int)f);
}

const char *buffer_kind_name(BufferKind k) {
    switch (k) {
    case BUF_ACTIVATION: return "activation";
    case BUF_WORKSPACE: return "workspace";
    case BUF_IO: return "io";
    case BUF_WEIGHT: return "weight";
    case BUF_SAVED: return "saved";
    case BUF_GRADIENT: return "gradient";
    case BUF_OPTIMIZER: return "optimizer";
    }
    ice("buffer kind %d", (int)k);
}

const char *share_name(ShareKind s) {
    switch (s) {
    case SHARE_NONE: return "none";
    case SHARE_INPLACE: return "inplace";
    case SHARE_VIEW: return "view";
    case SHARE_SLICE: return "slice";
    }
    ice("share kind %d", (int)s);
}

const char *reason_text(Reason r) {
    static const char *const texts[REASON_COUNT] = {
#define REASON(id, text) [REASON_##id] = text,
#include "ir/reason.def"
#undef REASON
    };
    return texts[r];
}
