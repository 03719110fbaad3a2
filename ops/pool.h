/* pool.h - what kind of pool an operator is. Private to ops/. */
#ifndef NETC_OPS_POOL_H
#define NETC_OPS_POOL_H

#include "ops/ops.h"

typedef enum PoolKind { POOL_SLIDING, POOL_ADAPTIVE, POOL_GLOBAL } PoolKind;
typedef struct Pool { PoolKind kind; bool max; unsigned n; } Pool;    /* n spatial axes */
Pool pool_of(OpKind);

#endif
