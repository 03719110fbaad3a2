/* emit_c.h - generated C: the program of a plan, and the block of weights it reads. */
#ifndef NETC_BACKEND_EMIT_C_H
#define NETC_BACKEND_EMIT_C_H

#include "backend/backend.h"
#include "ops/eval.h"

/* c/emit.c - the texts of model.c and model.h. `header` is the name by which model.c includes the other. False after
 * diagnostics: an operator that has no kernel. */
bool emit_c(Ctx *, const Graph *, const Plan *, const char *header, StrBuf *source, StrBuf *declarations);
/* c/pack.c - the block of weights, piece by piece; tensors are read a part at a time. False after a message or diagnostics. */
bool emit_c_weights(Ctx *, const Graph *, const Plan *, const Supply *, OutStream *);
/* c/weights.c - its bytes with the header; 0: the network has none. */
uint64_t emit_c_weights_bytes(Ctx *, const Graph *, const Plan *);
/* c/elements.c - elements as the program has them in memory. `first` is the place of t's first element in its tensor, even for
 * 4-bit types; bytes: what t's elements take. */
void emit_c_encode(const Tensor *, uint64_t first, unsigned char *bytes);
void emit_c_decode(Tensor *, const unsigned char *bytes);
/* c/names.c - the net's name as the identifier that generated code uses. */
const char *emit_c_name(Arena *, const Graph *);

#endif
