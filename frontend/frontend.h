/* frontend.h - from source to graph. */
#ifndef NETC_FRONTEND_H
#define NETC_FRONTEND_H

#include "frontend/ast.h"
#include "ir/ir.h"

typedef struct Setting { const char *name, *value; bool used; } Setting;         /* -D NAME=VALUE */
typedef struct ElabOptions {
    const char *net;                                      /* --net, or NULL: the only one, or the one a train block names, or the last */
    Setting *settings;
    size_t nsettings;
    struct Train *train;                                  /* out: the net's train block, checked (frontend/train.h), or NULL */
} ElabOptions;

/* elab.c - blocks, loops and compile-time values to a flat graph; checks the whole file, its train blocks too (frontend/train.c).
 * NULL after diagnostics. A setting that no dim or const takes is a diagnostic with a suggestion. */
Graph *elaborate(Ctx *, const Module *, ElabOptions *);

#endif
