/* ops_norm.c - normalisations and losses: which ranks each takes, what it stores, what its attributes become, and the
 * shapes of losses for every reduction. */
#include <float.h>
#include <string.h>

#include "tests/unit/opcall.h"

/* An operator on x alone; NULL when refused. `set` is one more argument, or A_x for none. */
static Op *on(Lab *l, const char *name, DType dtype, unsigned rank, const uint64_t *dims, AttrName set, Datum value) {
    Call *c = lab_call(l, name);
    lab_set(c, A_x, d_tensor(lab_input(l, dtype, rank, dims)));
    if (strcmp(name, "group_norm") == 0) lab_set(c, A_num_groups, d_int(2));
    if (strcmp(name, "local_response_norm") == 0) lab_set(c, A_size, d_int(3));
    if (set != A_x) lab_set(c, set, value);
    return lab_bind(c);
}

/* The lowest and highest rank each takes, as torch.nn's modules and functions do. */
static void ranks(void) {
    static const struct { const char *name; unsigned lo, hi; } table[] = {
        {"batch_norm", 2, 5}, {"layer_norm", 1, 8},  {"rms_norm", 1, 8},
        {"group_norm", 2, 8}, {"instance_norm", 3, 5}, {"local_response_norm", 3, 8}};
    static const uint64_t dims[] = {3, 4, 5, 2, 2, 2, 2, 2};
    for (size_t i = 0; i < COUNT_OF(table); i++)
        for (unsigned rank = 0; rank <= MAX_RANK; rank++) {
            Lab l = lab_new();
            Op *op = on(&l, table[i].name, DT_F32, rank, dims, A_x, d_none());
            CHECK((op != NULL) == (rank >= table[i].lo && rank <= table[i].hi));
            if (op)
                CHECK(shape_equal(&op->out[0]->type.shape, &op->in[0]->type.shape) && op->macs == 0 &&
                      lab_again(&l, op));
            CHECK(!on(&l, table[i].name, DT_I32, table[i].lo, dims, A_x, d_none()));
            ctx_free(l.ctx);
        }
}

/* What a call stores: names, shapes and roles in PyTorch's order. */
static bool stores(const char *name, AttrName set, Datum value, const char *wanted) {
    Lab l = lab_new();
    StrBuf sb;
    sb_init(&sb, l.ctx->unit);
    Op *op = on(&l, name, DT_F16, 4, (uint64_t[]){2, 6, 3, 5}, set, value);
    for (size_t i = 0; op && i < l.g->stored.n; i++) {
        const Value *v = l.g->stored.p[i];
        sb_printf(&sb, "%s%s %s%s", i ? ", " : "", v->role == ROLE_BUFFER ? "buffer" : "param", v->name,
                  type_text(l.ctx->unit, &v->type));
    }
    bool same = op && strcmp(sb_str(&sb), wanted) == 0;
    if (!same) fprintf(stderr, "%s stores %s\n", name, sb_str(&sb));
    ctx_free(l.ctx);
    return same;
}

static void stored(void) {
    CHECK(stores("batch_norm", A_x, d_none(),
                 "param weightf16[6], param biasf16[6], buffer running_meanf16[6], buffer running_varf16[6], "
                 "buffer num_batches_trackedi64[]"));
    CHECK(stores("batch_norm", A_affine, d_bool(false),
                 "buffer running_meanf16[6], buffer running_varf16[6], buffer num_batches_trackedi64[]"));
    CHECK(stores("batch_norm", A_track_running_stats, d_bool(false), "param weightf16[6], param biasf16[6]"));
    CHECK(stores("layer_norm", A_dims, d_int(2), "param weightf16[3, 5], param biasf16[3, 5]"));
    CHECK(stores("layer_norm", A_bias, d_bool(false), "param weightf16[5]"));
    CHECK(stores("layer_norm", A_affine, d_bool(false), ""));
    CHECK(stores("group_norm", A_x, d_none(), "param weightf16[6], param biasf16[6]"));
    CHECK(stores("instance_norm", A_x, d_none(), "") && stores("normalize", A_x, d_none(), ""));
    CHECK(stores("instance_norm", A_affine, d_bool(true), "param weightf16[6], param biasf16[6]"));
    CHECK(stores("rms_norm", A_dims, d_int(3), "param weightf16[6, 3, 5]"));
}

static void attributes(void) {
    static const struct { DType dtype; double eps; } eps[] = {
        {DT_F64, DBL_EPSILON}, {DT_F32, FLT_EPSILON}, {DT_F16, 0.0009765625}, {DT_BF16, 0.0078125}};
    uint64_t dims[] = {2, 6, 4}, one[] = {2, 6, 1}, single[] = {1, 2};
    Lab l = lab_new();
    for (size_t i = 0; i < COUNT_OF(eps); i++)
        CHECK(op_float(on(&l, "rms_norm", eps[i].dtype, 3, dims, A_x, d_none()), A_eps) == eps[i].eps);
    CHECK(op_int(on(&l, "normalize", DT_F32, 3, dims, A_dim, d_int(-1)), A_dim) == 2);
    CHECK(op_float(on(&l, "batch_norm", DT_F32, 3, dims, A_x, d_none()), A_momentum) == 0.1);
    CHECK(!diag_failed(l.ctx));
    CHECK(!on(&l, "normalize", DT_F32, 3, dims, A_dim, d_int(3)) &&
          !on(&l, "layer_norm", DT_F32, 3, dims, A_dims, d_int(4)));
    CHECK(!on(&l, "group_norm", DT_F32, 3, dims, A_num_groups, d_int(4)));
    CHECK(!on(&l, "batch_norm", DT_F32, 3, dims, A_eps, d_float(-1)));
    /* statistics over one element, and the same shapes where there are more */
    CHECK(!on(&l, "instance_norm", DT_F32, 3, one, A_x, d_none()) &&
          !on(&l, "group_norm", DT_F32, 2, single, A_x, d_none()));
    CHECK(on(&l, "group_norm", DT_F32, 3, one, A_x, d_none()) && on(&l, "batch_norm", DT_F32, 3, one, A_x, d_none()));
    ctx_free(l.ctx);
}

/* ---- losses */

static const char *loss(const char *name, Type x, Type target, const char *reduction) {
    Lab l = lab_new();
    Call *c = lab_call(&l, name);
    lab_set(c, A_x, d_tensor(lab_input(&l, x.dtype, x.shape.rank, x.shape.dim)));
    lab_set(c, A_target, d_tensor(lab_input(&l, target.dtype, target.shape.rank, target.shape.dim)));
    lab_set(c, A_reduction, d_str(name_of(l.ctx, reduction)));
    Op *op = lab_bind(c);
    if (op) CHECK(lab_again(&l, op) && op->macs == 0);
    static const char *const texts[] = {"refused", "[]", "[3]", "[2, 3]", "other"};
    unsigned i = 0;
    if (op) {
        const char *shape = shape_text(l.ctx->unit, &op->out[0]->type.shape);
        for (i = 1; i < 4 && strcmp(shape, texts[i]) != 0;) i++;
        CHECK(op->out[0]->type.dtype == x.dtype);
    }
    ctx_free(l.ctx);
    return texts[i];
}

static bool gives(const char *name, Type x, Type target, const char *each) {
    return strcmp(loss(name, x, target, "mean"), "[]") == 0 && strcmp(loss(name, x, target, "sum"), "[]") == 0 &&
           strcmp(loss(name, x, target, "none"), each) == 0 && strcmp(loss(name, x, target, "max"), "refused") == 0;
}

static bool refused(const char *name, Type x, Type target) {
    return strcmp(loss(name, x, target, "mean"), "refused") == 0;
}

#define T(dtype, rank, ...) ((Type){DT_##dtype, {rank, {__VA_ARGS__}}})

static void losses(void) {
    CHECK(gives("cross_entropy", T(F32, 2, 3, 7), T(I64, 1, 3), "[3]") &&
          gives("cross_entropy", T(F64, 1, 7), T(I64, 0, 0), "[]"));
    CHECK(gives("cross_entropy", T(F32, 3, 2, 7, 3), T(I64, 2, 2, 3), "[2, 3]"));
    CHECK(gives("cross_entropy", T(F32, 3, 2, 7, 3), T(F32, 3, 2, 7, 3), "[2, 3]"));
    CHECK(gives("nll_loss", T(F32, 2, 3, 7), T(I64, 1, 3), "[3]"));
    CHECK(refused("nll_loss", T(F32, 2, 3, 7), T(F32, 2, 3, 7)) &&
          refused("cross_entropy", T(F32, 0, 0), T(I64, 0, 0)));
    CHECK(refused("cross_entropy", T(F32, 2, 3, 7), T(I64, 1, 7)) &&
          refused("cross_entropy", T(F32, 2, 3, 7), T(I32, 1, 3)));
    CHECK(refused("cross_entropy", T(F32, 2, 3, 7), T(F64, 2, 3, 7)) &&
          refused("cross_entropy", T(I64, 2, 3, 7), T(I64, 1, 3)));
    static const char *const elements[] = {"mse_loss", "l1_loss", "smooth_l1_loss", "bce_with_logits"};
    for (size_t i = 0; i < COUNT_OF(elements); i++) {
        CHECK(gives(elements[i], T(F32, 2, 2, 3), T(F32, 2, 2, 3), "[2, 3]"));
        CHECK(refused(elements[i], T(F32, 2, 2, 3), T(F32, 1, 3)) && refused(elements[i], T(F32, 1, 3), T(F16, 1, 3)));
        CHECK(refused(elements[i], T(I64, 1, 3), T(I64, 1, 3)));
    }
}

int main(void) {
    ranks();
    stored();
    attributes();
    losses();
    return check_done();
}
