/* arrays.h - tensors from files and to files: .npy arrays, safetensors files, and what is made up from a seed where
 * no file gives it. Files are mapped and checked whole when they are opened; elements are decoded when they are asked
 * for. Mistakes in files are diagnostics (array-file, weights-file); a file that cannot be opened at all is told
 * apart, since that is the machine's failure. docs/run.md is the manual. */
#ifndef NETC_FRONTEND_ARRAYS_H
#define NETC_FRONTEND_ARRAYS_H

#include "ops/eval.h"

/* raw.c - elements as files hold them: little endian, each in whole bytes (i4 and u4 in one), bool 0 or not 0 */
uint64_t raw_size(DType);                                 /* bytes of an element */
void raw_decode(const unsigned char *bytes, uint64_t first, Tensor *t);  /* t->n elements from element `first` on */
void raw_encode(const Tensor *, unsigned char *bytes);

/* npy.c */
typedef struct Npy {
    const char *path, *descr;                             /* descr: numpy's name of the dtype, as in the file */
    Shape shape;
    MappedFile file;
    uint64_t data;                                        /* offset of the first element */
} Npy;
/* FILE_REFUSED after a diagnostic, FILE_UNREADABLE after a complaint. */
typedef enum FileResult { FILE_FINE, FILE_REFUSED, FILE_UNREADABLE } FileResult;
FileResult npy_open(Ctx *, const char *path, Npy *);
/* Does the array hold what the input is: dtype, shape, for 4-bit types the range? False after a diagnostic. */
bool npy_fits(Ctx *, const Npy *, const Value *input);
void npy_close(Npy *);
/* The bytes of a .npy file, version 1.0. bf16 is written as <u2, the f8s as |u1: their bits; i4 as |i1, u4 as |u1. */
void npy_print(StrBuf *, const Tensor *);

/* safetensors.c */
typedef struct FileTensor {
    const char *name, *dtype;                             /* interned; dtype as the file says it */
    DType type;
    bool known;                                           /* type is set: the dtype is one of ours */
    uint64_t rank, dim[MAX_RANK];                         /* rank may be above MAX_RANK: then it fits nothing */
    uint64_t begin, end;                                  /* bytes behind the header */
    bool used;
} FileTensor;
typedef struct Safetensors {
    const char *path;
    MappedFile file;
    const unsigned char *data;
    VEC(FileTensor) tensors;                              /* in the order of the header */
    NameMap *by_name;
} Safetensors;
/* Everything is checked before anything is used: the header's length, JSON and keys, that the tensors fill the file
 * without a gap or an overlap, and that each is as long as its shape says. */
FileResult safetensors_open(Ctx *, const char *path, Safetensors *);
void safetensors_close(Safetensors *);

/* weights.c - finds the network's stored tensors in a file. Names that miss are warnings, one for all, with
 * suggestions; a dtype or shape that differs is an error. by_id: where to leave each value's tensor, NULL for none. */
bool weights_match(Ctx *, const Graph *, Safetensors *, const FileTensor **by_id);

/* seeded.c - numbers from a seed: those of element i depend on the value's name, the seed and i alone. */
typedef struct Range { int64_t lo, hi; } Range;           /* lo <= v <= hi */
void seeded_read(const Value *, uint64_t seed, Range, uint64_t first, Tensor *t);

/* ranges.c - which integers an input may hold, so that the operators which read them find them in range. By value id,
 * in the arena; only those of integer and bool values mean anything. */
Range *input_ranges(Arena *, const Graph *);

#endif
