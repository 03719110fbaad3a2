/* harness.h - runs many generated networks of one compiled file and holds them against the reference. emit_random
 * writes that file: it includes this one, the networks, and defines the table `nets`.
 *
 * Memory of every run lies between guard pages: the arena, inputs, results and weights end where a page that cannot be
 * touched begins, so that one byte too many is a crash. Each network runs twice, over an arena of 0xa5 and one of
 * 0x5a: the results must be equal bit by bit (nothing is read that was not written), and the highest byte that was
 * touched is the last one of the highest buffer. Levels that neither fold nor fuse must give the bits of the level
 * naive; all are within a bound of the reference. The last line is `N passed, N failed`. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef NETC_KERNEL_BASE
#define NETC_KERNEL_BASE
#include "kernels/c/base.h"
#include "kernels/c/whole.h"
#endif

enum { MAX_TENSORS = 128 };

typedef struct TestTensor {
    const char *dtype, *bound;                            /* bound: the coarsest type it is made of */
    uint64_t nbytes, n, at;                               /* at: in the file of data; expected results as double or int64_t */
} TestTensor;
typedef struct TestNet {
    const char *name;
    uint64_t arena_bytes, touched, align, weights_bytes;  /* touched: the end of the highest buffer, not aligned */
    int (*call)(void *arena, const void *weights, unsigned char *const *in, unsigned char *const *out);
    int (*read_weights)(const char *path, void *weights);
    const char *weights;
    const TestTensor *in, *out;                           /* with a dtype of NULL at the end */
    int exact;                                            /* must give the bits of the last one that began a group ... */
    int begins;                                           /* ... as this one does */
} TestNet;

typedef struct Fenced { unsigned char *map, *p; size_t nmap; } Fenced;

/* n bytes that end at a guard page, but for what alignment leaves. */
static Fenced fenced(uint64_t n, uint64_t align) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size_t)((n + align - 1) / align * align);
    size_t body = (whole + page - 1) / page * page;
    Fenced f = {.nmap = body + 2 * page};
    f.map = mmap(NULL, f.nmap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.map == MAP_FAILED || (body && mprotect(f.map + page, body, PROT_READ | PROT_WRITE) != 0)) {
        perror("mmap");
        exit(2);
    }
    f.p = f.map + page + body - whole;
    memset(f.map + page, 0xc3, body);
    return f;
}
static void fenced_free(Fenced f) { munmap(f.map, f.nmap); }

static int is_float_dtype(const char *d) { return d[0] == 'f' || strcmp(d, "bf16") == 0; }

static double element(const char *d, const unsigned char *p, size_t i) {
#define TRY(t) if (strcmp(d, #t) == 0) return (double)load_##t(p, i)
    TRY(f64); TRY(f32); TRY(f16); TRY(bf16); TRY(f8e4m3); TRY(f8e5m2);
    TRY(i64); TRY(i32); TRY(i16); TRY(i8); TRY(u8); TRY(i4); TRY(u4); TRY(bool);
#undef TRY
    fprintf(stderr, "no dtype %s\n", d);
    exit(2);
}

/* What an element may differ by: a part of the largest expected number, and an amount for what cancelled on the way, for the
 * reference rounds each result of narrow types as the program does, but from sums in double. */
typedef struct Bound { double part, amount; } Bound;
static Bound bound_of(const char *d) {
    if (strcmp(d, "f64") == 0) return (Bound){1e-10, 1e-13};
    if (strcmp(d, "f32") == 0) return (Bound){1e-4, 1e-7};
    if (strcmp(d, "f16") == 0) return (Bound){4e-2, 2e-3};
    return strcmp(d, "bf16") == 0 ? (Bound){2e-1, 2e-2} : (Bound){3e-1, 1e-1};
}

static int failures, passes;
static void fail(const TestNet *t, const char *what, uint64_t k, uint64_t i, double got, double want) {
    printf("FAIL %s: %s, tensor %llu element %llu: %.9g, expected %.9g\n", t->name, what, (unsigned long long)k,
           (unsigned long long)i, got, want);
    failures++;
}

static int compare(const TestNet *t, uint64_t k, const unsigned char *got, const unsigned char *data) {
    const TestTensor *y = &t->out[k];
    double most = 0;
    Bound bound = bound_of(y->bound);
    int real = is_float_dtype(y->dtype);
    for (uint64_t i = 0; real && i < y->n; i++) {
        double v;
        memcpy(&v, data + y->at + 8 * i, 8);
        if (isfinite(v) && fabs(v) > most) most = fabs(v);
    }
    for (uint64_t i = 0; i < y->n; i++) {
        double v;
        int64_t whole;
        memcpy(&v, data + y->at + 8 * i, 8);
        memcpy(&whole, &v, 8);
        double g = element(y->dtype, got, i), want = real ? v : (double)whole;
        if (g == want || (isnan(g) && isnan(want))) continue;
        if (real && fabs(g - want) <= bound.part * most + bound.amount) continue;
        fail(t, "differs from the reference", k, i, g, want);
        return 0;
    }
    return 1;
}

typedef struct RunOf {
    Fenced arena, in[MAX_TENSORS], out[MAX_TENSORS];
    unsigned char *ins[MAX_TENSORS], *outs[MAX_TENSORS];
    int code;
} RunOf;

static RunOf run_once(const TestNet *t, const void *weights, const unsigned char *data, int fill) {
    RunOf r;
    r.arena = fenced(t->arena_bytes, t->align);
    memset(r.arena.p, fill, (size_t)t->arena_bytes);
    for (int k = 0; t->in[k].dtype; k++) {
        r.in[k] = fenced(t->in[k].nbytes, 1);
        r.ins[k] = r.in[k].p;
        memcpy(r.ins[k], data + t->in[k].at, (size_t)t->in[k].nbytes);
    }
    for (int k = 0; t->out[k].dtype; k++) {
        r.out[k] = fenced(t->out[k].nbytes, 1);
        r.outs[k] = r.out[k].p;
        memset(r.outs[k], fill, (size_t)t->out[k].nbytes);
    }
    r.code = t->call(t->arena_bytes ? r.arena.p : NULL, weights, r.ins, r.outs);
    return r;
}

static void run_free(const TestNet *t, RunOf *r) {
    fenced_free(r->arena);
    for (int k = 0; t->in[k].dtype; k++) fenced_free(r->in[k]);
    for (int k = 0; t->out[k].dtype; k++) fenced_free(r->out[k]);
}

#ifndef NETC_POISON
static uint64_t highest_touched(const TestNet *t, const RunOf *a, const RunOf *b) {
    uint64_t n = t->arena_bytes;
    while (n > 0 && a->arena.p[n - 1] == 0xa5 && b->arena.p[n - 1] == 0x5a) n--;
    return n;
}
#endif

static int same_bits(const TestNet *t, const RunOf *a, const RunOf *b, const char *what) {
    for (int k = 0; t->out[k].dtype; k++)
        for (uint64_t i = 0; i < t->out[k].n; i++) {
            uint64_t size = t->out[k].nbytes / (t->out[k].n ? t->out[k].n : 1);
            if (size == 0) size = 1;
            uint64_t at = i * size < t->out[k].nbytes ? i * size : t->out[k].nbytes - 1;
            double x = element(t->out[k].dtype, a->outs[k], i), y = element(t->out[k].dtype, b->outs[k], i);
            if (memcmp(a->outs[k] + at, b->outs[k] + at, (size_t)size) == 0 || (isnan(x) && isnan(y))) continue;
            fail(t, what, (uint64_t)k, i, x, y);
            return 0;
        }
    return 1;
}

static void check_one(const TestNet *t, const unsigned char *data, RunOf *first) {
    Fenced weights = fenced(t->weights_bytes, 16);
    const void *w = t->weights_bytes ? weights.p : NULL;
    int before = failures, code = t->weights_bytes ? t->read_weights(t->weights, weights.p) : 0;
    if (code) fail(t, "weights cannot be read", 0, 0, code, 0);
    RunOf a = run_once(t, w, data, 0xa5), b = run_once(t, w, data, 0x5a);
    if (a.code || b.code) fail(t, "error code", 0, 0, a.code, 0);
    else {
        same_bits(t, &a, &b, "reads what was not written");
        for (int k = 0; t->out[k].dtype; k++)
            if (!compare(t, (uint64_t)k, a.outs[k], data)) break;
        if (t->exact && first->code == 0) same_bits(t, &a, first, "differs from the level naive");
#ifndef NETC_POISON
        if (highest_touched(t, &a, &b) != t->touched)
            fail(t, "the arena's end is not touched", 0, 0, (double)highest_touched(t, &a, &b), (double)t->touched);
#endif
        for (uint64_t i = t->arena_bytes; i % t->align; i++)
            if (a.arena.p[i] != 0xc3) fail(t, "writes behind the arena", 0, i, a.arena.p[i], 0xc3);
    }
    passes += failures == before;
    if (t->weights_bytes) {                               /* what is wrong is told, not run */
        weights.p[9] ^= 1;
        if (t->call(a.arena.p, w, a.ins, a.outs) == 0) fail(t, "takes weights of another model", 0, 0, 0, 0);
        if (t->call(a.arena.p, NULL, a.ins, a.outs) == 0) fail(t, "takes no weights", 0, 0, 0, 0);
        if (t->read_weights("/dev/null", weights.p) == 0) fail(t, "takes an empty file", 0, 0, 0, 0);
        weights.p[9] ^= 1;
    }
    if (t->arena_bytes && t->call(a.arena.p + 1, w, a.ins, a.outs) == 0)
        fail(t, "takes an arena that is not aligned", 0, 0, 0, 0);
    fenced_free(weights);
    run_free(t, &b);
    if (t->begins) {
        *first = a;
        return;
    }
    run_free(t, &a);
}

static int check_all(const TestNet *nets, size_t n, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) return 2;
    long size = ftell(f);
    unsigned char *data = malloc((size_t)size + 1);
    rewind(f);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) return 2;
    fclose(f);
    RunOf first = {.code = -1};
    const TestNet *owner = NULL;
    for (size_t i = 0; i < n; i++) {
        if (nets[i].begins && owner) run_free(owner, &first);
        if (nets[i].begins) owner = &nets[i];
        check_one(&nets[i], data, &first);
    }
    if (owner) run_free(owner, &first);
    free(data);
    printf("%d passed, %d failed\n", passes, failures);
    return failures != 0;
}
