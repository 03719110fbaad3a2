/* strides.h - may a view be taken? Private to ops/. */
#ifndef NETC_OPS_STRIDES_H
#define NETC_OPS_STRIDES_H

#include "ir/ir.h"

/* Can x's elements be addressed under the shape `to`, which has as many, without moving any? x's strides are those that
 * PyTorch would give it: transpose, expand, slices and the like leave the elements where their operand has them. */
bool view_possible(const Value *x, const Shape *to);

#endif
