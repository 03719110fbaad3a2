/* gen.h - a seeded generator of valid .net programs, for property and differential tests.
 *
 *   gen.c         the random numbers, the pool of values in scope, the choice of statements, the whole program
 *   gen_ops.c     operators: each knows which operands it takes and the shape it makes
 *   gen_blocks.c  declared blocks (residual, dense, attention, ...) and their calls
 *
 * The generator keeps its own shape arithmetic: a program that the compiler refuses is a fault of one of the two.
 * The same seed and options give the same text on every machine. */
#ifndef NETC_GEN_H
#define NETC_GEN_H

#include "ir/ir.h"

typedef enum GenStyle { GEN_CNN, GEN_TRANSFORMER, GEN_MIXED } GenStyle;
typedef struct GenOptions {
    GenStyle style;
    unsigned size;                                        /* statements in the net, about */
} GenOptions;

/* Appends a program with one net, called t. */
void gen_program(StrBuf *, uint64_t seed, const GenOptions *);

/* ---- private to the generator ---- */

enum { GEN_POOL = 24, GEN_RANK = 5 };

typedef struct GenValue {
    char name[16];
    DType dtype;
    unsigned rank;
    uint64_t dim[GEN_RANK];
    bool owns;                                            /* storage of its own, not read yet: may be overwritten */
    bool used;
} GenValue;

typedef struct Gen {
    StrBuf *out;
    uint64_t state;
    const GenOptions *o;
    DType dtype;                                          /* of most values: a float type */
    uint64_t batch;                                       /* what `dim N` is */
    unsigned indent;
    unsigned nnames, nlayers;
    GenValue pool[GEN_POOL];                              /* in scope; the oldest used one makes room */
    unsigned npool;
    unsigned blocks;                                      /* bit set of GenBlock: declared */
} Gen;

uint64_t gen_below(Gen *, uint64_t n);                    /* 0 .. n - 1 */
bool gen_chance(Gen *, unsigned percent);
uint64_t gen_pick(Gen *, const uint64_t *of, size_t n);
#define GEN_PICK(g, ...) \
    gen_pick((g), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
uint64_t gen_elems(const GenValue *);
bool gen_same_shape(const GenValue *, const GenValue *);

/* A value of the pool that the predicate likes, NULL if there is none. Recent ones are likelier. */
typedef bool (*GenLikes)(const Gen *, const GenValue *);
GenValue *gen_find(Gen *, GenLikes);
bool gen_is_float(const Gen *, const GenValue *);         /* of the main dtype */
bool gen_is_image(const Gen *, const GenValue *);         /* float [N, C, H, W] */
bool gen_is_sequence(const Gen *, const GenValue *);      /* float [N, T, D] */

GenValue gen_like(Gen *, const GenValue *);               /* a fresh name, the same type */
void gen_bind(Gen *, GenValue);                           /* the statement that defines it has been written */
void gen_read(GenValue *);                                /* it is an operand of what is being written */
void gen_line(Gen *, const char *fmt, ...) PRINTF_LIKE(2, 3);     /* one indented line */
const char *gen_call(Gen *, GenValue *x, const char *op, const char *fmt, ...) PRINTF_LIKE(4, 5);
                                                          /* "x |> op(args)", "op(x, args)" or "x.op(args)"; reads x */

bool gen_operator(Gen *);                                 /* one statement, or a few; false if no operand fitted */
bool gen_shared_layer(Gen *);
void gen_declare_blocks(Gen *);
bool gen_block_call(Gen *);

#endif
