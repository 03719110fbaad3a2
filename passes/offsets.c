/* offsets.c - a place in the arena for every buffer, by the solver of dsa_solve.c: rules first, exact searches where no rule
 * meets the live peak, as far as EFFORT goes.
 *
 * requires pieces, live peak and bound; computes the offsets of the buffers in the arena, arena_bytes, proven, rule
 * and search_nodes. The naive level lays the buffers one after another. Sizes that meet the end of their buffer are
 * rounded up to the alignment, so that the height is comparable with the live peak. */
#include "passes/dsa.h"
#include "passes/passes.h"

enum { EFFORT = 1000000 };                                /* of the exact searches, when no rule meets the live peak */

typedef struct Range { uint64_t lo, hi; } Range;

static uint64_t rounded(const Plan *p, uint64_t n) {
    if (!align_up(n, p->align, &n))
        ice("offsets: a buffer of %llu bytes", (unsigned long long)n);
    return n;
}

static void one_after_another(Plan *p) {
    uint64_t at = 0;
    for (size_t i = 0; i < p->buffers.n; i++) {
        Buffer *b = &p->buffers.p[i];
        if (!b->in_arena)
            continue;
        b->offset = at;
        if (!add_u64(at, rounded(p, b->nbytes), &at))
            ice("offsets: the buffers add up to more than 64 bits");
    }
    p->arena_bytes = at;
    p->rule = "one after another";
    p->search_nodes = 0;
}

static const DsaPiece *pieces_for(Arena *scratch, const Plan *p, const Buffer *b) {
    DsaPiece *d = NEW_ARRAY(scratch, DsaPiece, b->pieces.n);
    for (size_t i = 0; i < b->pieces.n; i++) {
        const Piece *x = &b->pieces.p[i];
        d[i] = (DsaPiece){x->lo, x->hi == b->nbytes ? rounded(p, x->hi) : x->hi, x->first, x->last};
    }
    return d;
}

/* The bytes [lo, hi) of b that hold what is alive in a step. */
static Range alive_in(const Plan *p, const Buffer *b, uint32_t step) {
    Range r = {UINT64_MAX, 0};
    for (size_t i = 0; i < b->pieces.n; i++) {
        const Piece *q = &b->pieces.p[i];
        if (step < q->first || q->last < step)
            continue;
        r.lo = q->lo < r.lo ? q->lo : r.lo;
        r.hi = q->hi > r.hi ? q->hi : r.hi;
    }
    r.hi = r.hi == b->nbytes ? rounded(p, r.hi) : r.hi;
    return r;
}

/* In the one step in which both are alive, a buffer ends at most overlap_bytes behind the beginning of the one it overlaps. */
static void list_overlaps(Ctx *ctx, const Plan *p, const uint32_t *object, DsaProblem *pb) {
    VEC(DsaApart) apart = {0};
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        if (b->overlaps == NO_ID)
            continue;
        Range own = alive_in(p, b, b->first), other = alive_in(p, &p->buffers.p[b->overlaps], b->first);
        vec_push(ctx->scratch, &apart, ((DsaApart){object[b->overlaps], object[i], (int64_t)own.lo - (int64_t)other.hi,
                                                  (int64_t)(own.hi - b->overlap_bytes) - (int64_t)other.lo}));
    }
    pb->apart = apart.p;
    pb->napart = (uint32_t)apart.n;
}

static void pack(Ctx *ctx, Plan *p) {
    DsaProblem pb = {.objects = NEW_ARRAY(ctx->scratch, DsaObject, p->buffers.n), .bound = p->live_peak_bytes};
    uint32_t *object = NEW_ARRAY(ctx->scratch, uint32_t, p->buffers.n);
    for (size_t i = 0; i < p->buffers.n; i++) {
        const Buffer *b = &p->buffers.p[i];
        object[i] = pb.n;
        if (b->in_arena)
            pb.objects[pb.n++] = (DsaObject){.pieces = pieces_for(ctx->scratch, p, b), .npieces = (uint32_t)b->pieces.n,
                                             .nbytes = rounded(p, b->nbytes), .align = p->align};
    }
    list_overlaps(ctx, p, object, &pb);
    DsaSolution r = dsa_solve(ctx->scratch, &pb, &(DsaLimits){.effort = EFFORT});
    for (size_t i = 0, k = 0; i < p->buffers.n; i++)
        if (p->buffers.p[i].in_arena)
            p->buffers.p[i].offset = pb.objects[k++].offset;
    p->arena_bytes = r.height;
    p->rule = r.rule;
    p->search_nodes = r.work;
}

void pass_offsets(Ctx *ctx, const Graph *g, Plan *p) {
    if (p->level == LEVEL_NAIVE || g->mem_noreuse)
        one_after_another(p);
    else
        pack(ctx, p);
    p->proven = p->arena_bytes == p->bound_bytes;
}
