/* supply.h - what a network is given: inputs from .npy files, stored tensors from a safetensors file, what no file gives
 * from the seed. Files stay mapped, and are read tensor by tensor or by rows. */
#ifndef NETC_SUPPLY_H
#define NETC_SUPPLY_H

#include "cli/cli.h"
#include "frontend/arrays.h"

typedef struct Given {
    Ctx *c;
    const Options *o;
    const Graph *g;
    Npy *arrays;                                          /* by place among the net's inputs; path NULL: not given */
    Safetensors weights;
    const FileTensor **stored;                            /* by value id; NULL: from the seed */
    const Npy **given;                                    /* by value id; likewise */
    Range *ranges;
} Given;

/* Opens all files, so that one run names everything that is wrong with them. RUN, or an exit status after messages. */
int given_open(Given *, Ctx *, const Options *, const Graph *);
void given_close(Given *);
Supply given_supply(Given *);

#endif
