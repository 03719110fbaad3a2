/* plan_mutate.c - the verifier against plans that were made wrong on purpose.
 *
 * Random networks are planned, random decisions of the plan are changed, and the verifier judges the result. What it
 * refuses is counted by the rule it names; every rule must be met. What it accepts is run: each element is a hash of what
 * it is computed from, kernels go through their results in index order and read operands from the arena as late as they
 * can, and the results must be those of the network evaluated without any plan. */
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/unit/check.h"
#include "tests/unit/reads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t Hash;

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed;
}

static uint64_t below(uint64_t *seed, uint64_t n) {
    return n ? next(seed) % n : 0;
}

static Hash mix(Hash a, uint64_t b) {
    a = (a ^ b) * 0xff51afd7ed558ccdu;
    return a ^ (a >> 29);
}

/* ---- evaluation: one hash per element ---------------------------------------------------------------------------- */

typedef struct Byte { Hash of; uint8_t k; } Byte;         /* byte k of the element with that hash */
typedef struct Machine {
    Arena *arena;
    const Graph *g;
    const Plan *p;
    Hash **whole;                                         /* by value id: evaluated without a plan */
    Byte *memory;
    uint64_t *base;                                       /* by buffer id */
    uint32_t step;                                        /* in execution */
} Machine;

typedef Hash (*Fetch)(const Machine *, const Value *, uint64_t i);

static unsigned element_bytes(const Value *v) {
    return dtype_bits(v->type.dtype) / 8;
}

static Hash given(const Value *v, uint64_t i) {
    if (v->role == ROLE_CONST) return mix(3, v->constant.kind == D_INT ? (uint64_t)v->constant.i : (uint64_t)(v->constant.f * 1024));
    return mix(mix(5, v->id), i);
}

static uint64_t broadcast_index(const Value *from, const Value *to, uint64_t i) {
    uint64_t at = 0, stride = 1;
    for (unsigned a = 0; a < to->type.shape.rank; a++) {
        uint64_t n = to->type.shape.dim[to->type.shape.rank - 1 - a], x = i % n;
        i /= n;
        if (a >= from->type.shape.rank) continue;
        uint64_t m = from->type.shape.dim[from->type.shape.rank - 1 - a];
        at += (m == 1 ? 0 : x) * stride;
        stride *= m;
    }
    return at;
}

static uint64_t row_of(const Value *v) {
    return v->type.shape.rank ? v->type.shape.dim[v->type.shape.rank - 1] : 1;
}

static Hash join_element(const Machine *m, const Op *op, uint64_t i, Fetch fetch, bool *done) {
    for (uint32_t k = 0; k < op->nin; k++) {
        uint64_t offset, size = element_bytes(op->out[0]);
        if (!op_join(op, k, &offset)) break;
        if (i < offset / size || i >= offset / size + op->in[k]->nelem) continue;
        *done = true;
        return fetch(m, op->in[k], i - offset / size);
    }
    return 0;
}

/* A product whose rows each read one row of operand 0. */
static bool takes_rows(const Op *op) {
    return (op->kind == OP_LINEAR || op->kind == OP_MATMUL) && op->in[0]->nelem / row_of(op->in[0]) == op->out[0]->nelem / row_of(op->out[0]);
}

/* Axis `axis` of the operand under axis `axis` of a transpose's result. */
static unsigned moved_axis(const Op *op, unsigned axis) {
    int64_t dims[MAX_RANK];
    if (op->kind == OP_PERMUTE) {
        op_ints(op, A_dims, dims, MAX_RANK);
        return (unsigned)dims[axis];
    }
    unsigned a = (unsigned)op_int(op, A_dim0), b = (unsigned)op_int(op, A_dim1);
    return axis == a ? b : axis == b ? a : axis;
}

static uint64_t first_of_part(const Op *op, uint32_t out, unsigned axis) {
    uint64_t first = 0;
    if (op->kind == OP_SELECT) return (uint64_t)op_int(op, A_index);
    if (op->kind == OP_SLICE || op->kind == OP_NARROW) return (uint64_t)op_int(op, A_start);
    for (uint32_t i = 0; i < out; i++) first += op->out[i]->type.shape.dim[axis];
    return first;
}

/* Which element of the operand is element i of the result of an op that only moves elements, axis by axis. */
static uint64_t source_index(const Op *op, uint32_t out, uint64_t i) {
    const Shape *x = &op->in[0]->type.shape, *y = &op->out[out]->type.shape;
    uint64_t at[MAX_RANK] = {0}, index = 0;
    unsigned cut = op_has(op, PARTS) ? (unsigned)op_int(op, A_dim) : MAX_RANK;
    if (op_has(op, RESHAPES)) return i;
    for (unsigned a = y->rank; a-- > 0; i /= y->dim[a]) {
        unsigned to = op_has(op, MOVES) ? moved_axis(op, a) : op->kind == OP_SELECT && a >= cut ? a + 1 : a;
        at[to] = i % y->dim[a];
    }
    if (cut < MAX_RANK) at[cut] = first_of_part(op, out, cut) + at[cut] * (op->kind == OP_SLICE ? (uint64_t)op_int(op, A_step) : 1);
    for (unsigned a = 0; a < x->rank; a++) index = index * x->dim[a] + at[a];
    return index;
}

/* Element i of result `out`: what moves elements only moves hashes, everything else mixes what it depends on. */
static Hash compute(const Machine *m, const Op *op, uint32_t out, uint64_t i, Fetch fetch) {
    bool done = false;
    if (op_has(op, RESHAPES | PARTS | MOVES)) return fetch(m, op->in[0], source_index(op, out, i));
    if (op->kind == OP_DROPOUT || op->kind == OP_COPY) return fetch(m, op->in[0], i);
    Hash joined = op_has(op, JOINS) ? join_element(m, op, i, fetch, &done) : 0;
    if (done) return joined;
    Hash h = mix(mix(op->kind, out), op_has(op, ELEMENTWISE) ? 0 : i);
    for (uint32_t k = 0; k < op->nin; k++) {
        const Value *x = op->in[k];
        if (!x) continue;
        bool pointwise = op_has(op, ELEMENTWISE) || (op->kind == OP_BATCH_NORM && k == 0);
        uint64_t lo = 0, hi = x->nelem;
        if (pointwise) lo = broadcast_index(x, op->out[out], i), hi = lo + 1;
        else if (k == 0 && (op_has(op, INPLACE0) || takes_rows(op))) lo = i / row_of(op->out[out]) * row_of(x), hi = lo + row_of(x);
        for (uint64_t e = lo; e < hi; e++)
            if (pointwise || k > 0 || op_has(op, INPLACE0) || reads_element(op, i, e)) h = mix(h, fetch(m, x, e));
    }
    return h;
}

static Hash fetch_whole(const Machine *m, const Value *v, uint64_t i) {
    return v->def ? m->whole[v->id][i] : given(v, i);
}

static void evaluate_whole(Machine *m) {
    for (size_t n = 0; n < m->g->ops.n; n++) {
        const Op *op = m->g->ops.p[n];
        for (uint32_t k = 0; k < op->nout; k++) {
            Hash *h = NEW_ARRAY(m->arena, Hash, op->out[k]->nelem + 1);
            for (uint64_t i = 0; i < op->out[k]->nelem; i++) h[i] = compute(m, op, k, i, fetch_whole);
            m->whole[op->out[k]->id] = h;
        }
    }
}

/* ---- the planned program ----------------------------------------------------------------------------------------- */

static const Byte *element(const Machine *m, const Value *v, uint64_t i) {
    const Place *at = &m->p->place[v->id];
    return m->memory + m->base[at->buffer] + at->byte_offset + i * element_bytes(v);
}

static Hash load(const Machine *m, const Value *v, uint64_t i) {
    const Byte *b = element(m, v, i);
    Hash torn = 11;
    bool intact = true;
    for (unsigned k = 0; k < element_bytes(v); k++) {
        intact = intact && b[k].of == b[0].of && b[k].k == k;
        torn = mix(mix(torn, b[k].of), b[k].k);
    }
    return intact ? b[0].of : torn;
}

static void save(const Machine *m, const Value *v, uint64_t i, Hash h) {
    Byte *b = (Byte *)element(m, v, i);
    for (unsigned k = 0; k < element_bytes(v); k++) b[k] = (Byte){h, (uint8_t)k};
}

/* An operand inside the running step is computed again from memory, anything else is read where the plan says it lies. */
static Hash fetch_planned(const Machine *m, const Value *v, uint64_t i) {
    v = m->g->values.p[plan_repl(m->p, v->id)];
    if (!v->def) return m->p->place[v->id].buffer != NO_ID && v->role == ROLE_INPUT ? load(m, v, i) : given(v, i);
    if (m->p->fate[v->def->id] == FATE_CONSTANT) return m->whole[v->id][i];
    if (m->p->step_of[v->def->id] == m->step) return compute(m, v->def, v->out_index, i, fetch_planned);
    return m->p->place[v->id].buffer == NO_ID ? m->whole[v->id][i] : load(m, v, i);
}

static uint64_t block_of(const Machine *m, const Step *s, const Value *out) {
    uint64_t block = 1;
    for (size_t i = 0; i < s->ops.n; i++)
        if (op_has(m->g->ops.p[s->ops.p[i]], INPLACE0)) block = row_of(out);
    return block;
}

/* Results are made block by block (a row where a row operator runs), reading operands anew for each. */
static void run_step(Machine *m, uint32_t step) {
    const Step *s = &m->p->steps.p[step];
    VEC(const Value *) outs = {0};
    m->step = step;
    for (size_t i = 0; i < s->ops.n; i++) {
        const Op *op = m->g->ops.p[s->ops.p[i]];
        for (uint32_t k = 0; k < op->nout; k++)
            if (m->p->place[op->out[k]->id].buffer != NO_ID) vec_push(m->arena, &outs, op->out[k]);
    }
    for (size_t b = 0; b < m->p->buffers.n; b++)
        if (m->p->buffers.p[b].kind == BUF_WORKSPACE && m->p->step_of[m->p->buffers.p[b].op] == step)
            for (uint64_t i = 0; i < m->p->buffers.p[b].nbytes; i++) m->memory[m->base[b] + i] = (Byte){13, 0};
    for (size_t o = 0; o < outs.n; o++) {
        const Value *v = outs.p[o];
        uint64_t block = block_of(m, s, v);
        Hash *made = NEW_ARRAY(m->arena, Hash, block + 1);
        for (uint64_t i = 0; i < v->nelem; i += block) {
            for (uint64_t k = 0; k < block; k++) made[k] = compute(m, v->def, v->out_index, i + k, fetch_planned);
            for (uint64_t k = 0; k < block; k++) save(m, v, i + k, made[k]);
        }
    }
}

static bool runs_right(Arena *arena, const Graph *g, const Plan *p) {
    Machine m = {.arena = arena, .g = g, .p = p};
    m.whole = NEW_ARRAY(arena, Hash *, g->values.n + 1);
    m.base = NEW_ARRAY(arena, uint64_t, p->buffers.n + 1);
    evaluate_whole(&m);
    uint64_t end = p->arena_bytes;
    for (size_t b = 0; b < p->buffers.n; b++) {
        m.base[b] = p->buffers.p[b].in_arena ? p->buffers.p[b].offset : end;
        end += p->buffers.p[b].in_arena ? 0 : p->buffers.p[b].nbytes;
    }
    m.memory = NEW_ARRAY(arena, Byte, end + 1);
    for (size_t i = 0; i < g->inputs.n; i++)
        for (uint64_t k = 0; p->place[g->inputs.p[i]->id].buffer != NO_ID && k < g->inputs.p[i]->nelem; k++)
            save(&m, g->inputs.p[i], k, given(g->inputs.p[i], k));
    for (uint32_t s = 0; s < p->steps.n; s++) run_step(&m, s);
    for (size_t i = 0; i < g->results.n; i++) {
        const Value *want = g->results.p[i].value, *got = g->values.p[plan_repl(p, want->id)];
        for (uint64_t k = 0; k < want->nelem; k++)
            if (load(&m, got, k) != fetch_whole(&m, want, k)) return false;
    }
    return true;
}

/* ---- random networks --------------------------------------------------------------------------------------------- */

static const char *random_program(Arena *arena, uint64_t *seed) {
    StrBuf s;
    sb_init(&s, arena);
    sb_puts(&s, "block heads(x) {\n"
                "    qkv = x |> linear(12) |> view(1, 8, 3, 2, 2) |> permute(2, 0, 3, 1, 4)\n"
                "    y = scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])\n"
                "    return y |> transpose(1, 2) |> reshape(1, 4, 2, 4)\n}\n"
                "block written(x) {\n"
                "    q, k, v = x |> reshape(1, 8, 4) |> linear(12) |> chunk(3, dim=2)\n"
                "    s = softmax(q @ transpose(k, -2, -1) * 0.5, dim=-1)\n"
                "    return reshape(s @ v, 1, 4, 2, 4)\n}\n"
                "block half(x) {\n"
                "    a, b = x |> linear(8) |> chunk(2, dim=-1)\n"
                "    return linear(b, 4)\n}\n");
    sb_puts(&s, "net t(x: f32[1, 4, 2, 4]) -> f32[1, 4, 2, 4] {\n    v0 = relu(x)\n");
    unsigned n = 4 + (unsigned)below(seed, 12);
    for (unsigned i = 1; i <= n; i++) {
        unsigned a = (unsigned)below(seed, i), b = (unsigned)below(seed, i);
        if (below(seed, 3)) a = i - 1;
        static const char *const forms[] = {
            "relu(v%u)", "add(v%u, v%u)", "conv2d(v%u, 4, 1)", "softmax(v%u, dim=-1)", "cat([v%u, v%u], dim=1)[:, 2:6]",
            "conv2d(v%u, 4, 1) + v%u", "v%u |> conv2d(4, 1, bias=false) |> batch_norm |> relu", "dropout(v%u)",
            "v%u |> flatten |> view(1, 4, 2, 4)", "cat(chunk(v%u, 2, dim=1), dim=1)", "v%u * 0.5 + v%u",
            "tanh(cat([v%u, v%u], dim=1)) |> conv2d(4, 1)",
            "v%u @ transpose(v%u, 2, 3) |> linear(4)", "v%u |> transpose(2, 3) |> reshape(1, 4, 2, 4)", "layer_norm(v%u)",
            "mul(sigmoid(v%u), v%u)", "flip(v%u, dims=3)", "scaled_dot_product_attention(v%u, v%u, x)",
            "max_pool2d(v%u, 3, 1, padding=1)", "v%u |> conv2d(8, 1) |> max_pool2d((1, 2)) |> view(1, 4, 2, 4)",
            "conv2d(v%u, 4, 3, padding=1, groups=4) |> relu", "v%u |> conv2d(8, 1) |> conv2d(8, 3, padding=1, groups=8) |> conv2d(4, 1)",
            "avg_pool2d(v%u, (1, 3), 1, padding=(0, 1)) + v%u", "v%u |> cast(f64) |> relu |> cast(f32)",
            "mean(v%u, dim=3, keepdim=true) + v%u", "v%u |> conv2d(4, 3, padding=1) |> adaptive_avg_pool2d((2, 1)) |> expand(1, 4, 2, 4)",
            "v%u |> batch_norm |> relu |> conv2d(4, 1, bias=false) |> add(v%u)", "conv2d(sigmoid(v%u) * 0.5, 4, 3, padding=1)",
            "linear(relu(v%u), 4) + v%u", "v0 @ (transpose(v%u, 2, 3) @ v%u)",
            "v%u |> permute(0, 2, 1, 3) |> linear(4) |> permute(0, 2, 1, 3)",
            "heads(v%u)", "heads(v%u) |> add(v%u)", "written(v%u)", "half(v%u)",
        };
        sb_printf(&s, "    v%u = ", i);
        sb_printf(&s, forms[below(seed, COUNT_OF(forms))], a, b);
        sb_puts(&s, "\n");
    }
    sb_printf(&s, "    return v%u\n}\n", n);
    return sb_str(&s);
}

/* ---- mutations --------------------------------------------------------------------------------------------------- */

static Plan *clone(Arena *a, const Graph *g, const Plan *p) {
    Plan *q = arena_copy(a, p, sizeof *p);
    q->fate = arena_copy(a, p->fate, g->ops.n * sizeof *p->fate);
    q->into = arena_copy(a, p->into, g->ops.n * sizeof *p->into);
    q->step_of = arena_copy(a, p->step_of, g->ops.n * sizeof *p->step_of);
    q->repl = arena_copy(a, p->repl, g->values.n * sizeof *p->repl);
    q->place = arena_copy(a, p->place, g->values.n * sizeof *p->place);
    q->steps.p = arena_copy(a, p->steps.p, p->steps.n * sizeof *p->steps.p);
    for (size_t i = 0; i < p->steps.n; i++)
        q->steps.p[i].ops.p = arena_copy(a, p->steps.p[i].ops.p, p->steps.p[i].ops.n * sizeof(uint32_t));
    q->buffers.p = arena_copy(a, p->buffers.p, p->buffers.n * sizeof *p->buffers.p);
    for (size_t i = 0; i < p->buffers.n; i++)
        q->buffers.p[i].pieces.p = arena_copy(a, p->buffers.p[i].pieces.p, p->buffers.p[i].pieces.n * sizeof(Piece));
    return q;
}

static void swap_steps(Plan *p, uint32_t a, uint32_t b) {
    Step t = p->steps.p[a];
    p->steps.p[a] = p->steps.p[b];
    p->steps.p[b] = t;
    for (size_t i = 0; i < p->steps.p[a].ops.n; i++) p->step_of[p->steps.p[a].ops.p[i]] = a;
    for (size_t i = 0; i < p->steps.p[b].ops.n; i++) p->step_of[p->steps.p[b].ops.p[i]] = b;
}

static void widen(Buffer *b, uint32_t first, uint32_t last) {
    b->first = first, b->last = last;
    b->pieces.n = 1;
    b->pieces.p[0] = (Piece){0, b->nbytes, first, last};
}

/* A value moves to where another one lies, and every life is made wide enough not to show it. */
static void share(Plan *p, uint32_t v, uint32_t w) {
    if (p->place[v].buffer == NO_ID || p->place[w].buffer == NO_ID) return;
    uint32_t last = (uint32_t)p->steps.n - 1;
    p->place[v].buffer = p->place[w].buffer;
    p->place[v].byte_offset = p->place[w].byte_offset;
    p->place[v].first = 0, p->place[v].last = last;
    widen(&p->buffers.p[p->place[w].buffer], 0, last);
}

static void mutate(const Graph *g, Plan *p, uint64_t *seed) {
    Arena *a = p->arena;
    uint32_t v = (uint32_t)below(seed, g->values.n), w = (uint32_t)below(seed, g->values.n);
    uint32_t op = (uint32_t)below(seed, g->ops.n), step = (uint32_t)below(seed, p->steps.n);
    Buffer *b = &p->buffers.p[below(seed, p->buffers.n)];
    switch (below(seed, 22)) {
    case 0: swap_steps(p, step, (uint32_t)below(seed, p->steps.n)); break;
    case 1: if (step + 1 < p->steps.n) swap_steps(p, step, step + 1); break;
    case 2: p->place[v].byte_offset += 4 * (1 + below(seed, 8)); break;
    case 3: if (p->place[v].buffer != NO_ID) p->place[v].buffer = (uint32_t)below(seed, p->buffers.n); break;
    case 4: b->offset = p->align * below(seed, p->arena_bytes / p->align + 1); break;
    case 5: b->offset += 4; break;
    case 6: p->fate[op] = (Fate)below(seed, FATE_DEAD + 1); break;
    case 7: p->repl[v] = v ? (uint32_t)below(seed, v) : 0; break;
    case 8: share(p, v, w); break;
    case 9: share(p, v, w); break;
    case 10: p->arena_bytes -= p->arena_bytes ? p->align : 0; break;
    case 11: p->proven = !p->proven; break;
    case 12: b->pieces.p[below(seed, b->pieces.n)].last -= 1; break;
    case 13: p->place[v].last = p->place[v].first; break;
    case 14: b->nbytes /= 2; break;
    case 15: p->live_peak_bytes += p->align; break;
    case 16: {                                            /* an op moves into another step */
        Step *to = &p->steps.p[step];
        if (p->step_of[op] == NO_ID || p->step_of[op] == step) break;
        VEC(uint32_t) ops = {0};
        for (size_t i = 0; i < to->ops.n; i++) vec_push(a, &ops, to->ops.p[i]);
        vec_push(a, &ops, op);
        to->ops.p = ops.p, to->ops.n = to->ops.cap = ops.n;
        Step *from = &p->steps.p[p->step_of[op]];
        if (from->anchor == op && from->ops.n == 1) from->ops.n = 0;
        p->step_of[op] = step, p->fate[op] = FATE_FUSED, p->into[op] = to->anchor;
        break;
    }
    case 17: p->steps.p[step].ops.n -= p->steps.p[step].ops.n > 1; break;
    case 19: b->overlaps = below(seed, 2) ? NO_ID : (uint32_t)below(seed, p->buffers.n); break;
    case 20: {                                            /* a buffer moves within the one it may lie over in part */
        for (size_t i = 0; i < p->buffers.n; i++)
            if (p->buffers.p[i].overlaps != NO_ID) b = &p->buffers.p[i];
        if (b->overlaps == NO_ID) break;
        b->offset = p->buffers.p[b->overlaps].offset + p->align * below(seed, 3);
        b->overlap_bytes = below(seed, 2) ? b->nbytes : b->overlap_bytes;
        break;
    }
    case 18: p->fate[op] = FATE_DUPLICATE, p->into[op] = op ? (uint32_t)below(seed, op) : 0; break;
    default: p->bound_bytes = p->live_peak_bytes + p->align; break;
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

typedef struct Tally { const char *rules[40]; unsigned times[40], nrules, refused, harmless, fused, unfused, overlaps; } Tally;

static void count_rule(Tally *t, Arena *arena, const char *why) {
    size_t n = strcspn(why, ":");
    unsigned i = 0;
    while (i < t->nrules && (strlen(t->rules[i]) != n || strncmp(t->rules[i], why, n))) i++;
    if (i == t->nrules) t->rules[t->nrules++] = arena_strndup(arena, why, n);
    t->times[i]++;
}

static void judge(Ctx *ctx, const Graph *g, const Plan *good, uint64_t *seed, Tally *t) {
    Arena *arena = arena_new();
    const char *why = NULL;
    Plan *bad = clone(arena, g, good);
    bad->arena = arena;
    mutate(g, bad, seed);
    if (plan_verify(ctx, g, bad, &why)) {
        t->harmless++;
        CHECK(runs_right(arena, g, bad));
    } else {
        t->refused++;
        CHECK(why != NULL && strchr(why, ':') != NULL);
        count_rule(t, ctx->perm, why ? why : "none:");
    }
    arena_free(arena);
}

/* Operators run inside the step of one of their readers at random, wherever that leads: what the verifier takes must run right. */
static void judge_fusions(Ctx *ctx, const Graph *g, uint64_t *seed, Tally *t) {
    Arena *arena = arena_new();
    const char *why = NULL;
    Plan *p = plan_new(arena, g, LEVEL_FULL, TARGET_C, IO_CALLER, 64);
    pass_simplify(ctx, g, p);
    if (below(seed, 2)) pass_fuse(ctx, g, p);
    for (unsigned n = 1 + (unsigned)below(seed, 3); n > 0; n--) {
        const Op *reader = g->ops.p[below(seed, g->ops.n)], *op = reader->nin && reader->in[0] ? reader->in[0]->def : NULL;
        if (reader->nin > 1 && reader->in[1] && below(seed, 3) == 0) op = reader->in[1]->def;
        if (!op || p->fate[op->id] != FATE_RUN || (p->fate[reader->id] != FATE_RUN && p->fate[reader->id] != FATE_FUSED)) continue;
        uint32_t into = p->fate[reader->id] == FATE_RUN ? reader->id : p->into[reader->id];
        if (into == op->id) continue;
        p->fate[op->id] = FATE_FUSED, p->into[op->id] = into;
        for (size_t i = 0; i < g->ops.n; i++)
            if (p->into[i] == op->id && (p->fate[i] == FATE_FUSED || p->fate[i] == FATE_FOLDED)) p->into[i] = into;
    }
    pass_schedule(ctx, g, p);
    pass_alias(ctx, g, p);
    pass_liveness(ctx, g, p);
    pass_offsets(ctx, g, p);
    p->made_by = p->level;
    p->naive_bytes = p->arena_bytes;
    if (plan_verify(ctx, g, p, &why)) {
        t->fused++;
        CHECK(runs_right(arena, g, p));
    } else {
        t->unfused++;
    }
    arena_free(arena);
}

static void try_network(uint64_t *seed, Tally *t, Arena *keep) {
    Ctx *ctx = ctx_new();
    const char *text = random_program(ctx->perm, seed);
    uint32_t file = source_add(ctx, "t.net", text, strlen(text));
    ElabOptions options = {0};
    Module *module = import_all(ctx, file, (ImportPath){0});
    Graph *g = module && !module->failed ? elaborate(ctx, module, &options) : NULL;
    CHECK(g != NULL);
    static const Level levels[] = {LEVEL_NAIVE, LEVEL_REUSE, LEVEL_INPLACE, LEVEL_ALIAS, LEVEL_REORDER, LEVEL_FULL};
    for (size_t l = 0; g && l < COUNT_OF(levels); l++) {
        PlanOptions o = {.level = levels[l], .target = TARGET_C, .io = below(seed, 2) ? IO_CALLER : IO_ARENA};
        const Plan *p = plan_network(ctx, g, &o);
        Arena *arena = arena_new();
        CHECK(p != NULL);
        if (p) CHECK(runs_right(arena, g, p));
        for (size_t i = 0; p && i < p->buffers.n; i++) t->overlaps += p->buffers.p[i].overlaps != NO_ID;
        arena_free(arena);
        for (int i = 0; p && i < 10; i++) judge(ctx, g, p, seed, t);
    }
    for (int i = 0; g && i < 10; i++) judge_fusions(ctx, g, seed, t);
    for (unsigned i = 0; i < t->nrules; i++) t->rules[i] = arena_strndup(keep, t->rules[i], strlen(t->rules[i]));
    ctx_free(ctx);
}

int main(void) {
    uint64_t seed = 88172645463325252u;
    Tally t = {0};
    Arena *keep = arena_new();
    for (int i = 0; i < 220; i++) try_network(&seed, &t, keep);
    static const char *const rules[] = {
        "align", "bounds", "constant", "duplicate", "fold", "fusion", "identity", "inplace", "life", "overlap", "pieces", "read",
        "result", "step", "totals", "view", "workspace",
    };
    for (size_t r = 0; r < COUNT_OF(rules); r++) {
        unsigned i = 0;
        while (i < t.nrules && strcmp(t.rules[i], rules[r])) i++;
        CHECK(i < t.nrules);
        if (i == t.nrules) printf("no mutation met the rule '%s'\n", rules[r]);
    }
    CHECK(t.refused + t.harmless >= 10000);
    CHECK(t.refused > 0 && t.harmless > 0 && t.overlaps > 100);
    CHECK(t.fused >= 500 && t.unfused >= 200);
    printf("%u plans with fusions at random refused, %u shown harmless\n", t.unfused, t.fused);
    printf("%u buffers may lie over others in part\n", t.overlaps);
    printf("%u mutated plans refused, %u shown harmless by running them\n", t.refused, t.harmless);
    arena_free(keep);
    return check_done();
}
