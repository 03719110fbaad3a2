/* ops_table.c - the table made from ir/op.def: every name is found, every signature reads back from its parsed
 * parameters, every operator has rules. */
#include <string.h>

#include "tests/unit/opcall.h"

static const char *const type_words[] = {"",     "operand", "tensors", "channels", "int",  "float", "number",
                                         "bool", "str",     "dtype",   "any",      "ints", "*ints", ""};

/* A signature written from its parameters, in the form of op.def. */
static void write_signature(StrBuf *out, const OpInfo *info) {
    for (uint32_t i = 0; i < info->nparams; i++) {
        const Param *p = &info->params[i];
        sb_printf(out, "%s%s", i ? ", " : "", attr_name(p->name));
        if (p->type == P_INT_N) sb_printf(out, ": int[%u]", (unsigned)p->n);
        else if (p->type != P_TENSOR) sb_printf(out, ": %s", type_words[p->type]);
        if (!p->optional) continue;
        sb_puts(out, " = ");
        datum_print(out, p->type == P_INT_N && p->dflt.kind == D_LIST ? &p->dflt.list.p[p->n - 1] : &p->dflt);
    }
}

static const char *without_numbers(Arena *a, const char *s) {
    char *r = arena_strndup(a, s, strlen(s)), *to = r;
    for (; *s; s++)
        if (!strchr("0123456789.e-", *s)) *to++ = *s;
    *to = '\0';
    return r;
}

int main(void) {
    Lab l = lab_new();
    size_t n;
    const char *const *names = op_names(&n);
    CHECK(n == OP_COUNT && !op_info_by_name("") && !op_info_by_name("conv2") && !op_info_by_name("zzz"));
    for (size_t i = 0; i < n; i++) {
        const OpInfo *info = op_info((OpKind)i);
        CHECK(strcmp(info->name, names[i]) == 0 && op_info_by_name(names[i]) == info && info->kind == (OpKind)i);
        CHECK(info->nparams > 0 && op_rules((OpKind)i)->bind);
        CHECK((info->flags & COMPOSITE) || op_rules((OpKind)i)->infer);
        StrBuf text;
        sb_init(&text, l.ctx->unit);
        write_signature(&text, info);
        /* numbers are compared below: 1e-5 and 0.00001 are one default */
        CHECK(strcmp(without_numbers(l.ctx->unit, sb_str(&text)), without_numbers(l.ctx->unit, info->signature)) == 0);
    }
    Call *c = lab_call(&l, "batch_norm");
    CHECK(call_float(c, A_eps) == 1e-5 && call_float(c, A_momentum) == 0.1 && call_bool(c, A_affine));
    c = lab_call(&l, "avg_pool3d");
    CHECK(call_is_none(c, A_stride) && call_arg(c, A_padding)->value.list.n == 3 &&
          call_arg(c, A_padding)->value.list.p[2].i == 0);
    c = lab_call(&l, "cross_entropy");
    CHECK(call_str(c, A_reduction) == name_of(l.ctx, "mean") && call_int(c, A_ignore_index) == -100 &&
          call_float(c, A_label_smoothing) == 0);
    c = lab_call(&l, "conv_transpose2d");
    CHECK(call_arg(c, A_stride)->value.list.n == 2 && call_arg(c, A_stride)->value.list.p[1].i == 1);
    CHECK(call_arg(lab_call(&l, "zeros"), A_dtype)->value.dtype == DT_F32);
    ctx_free(l.ctx);
    return check_done();
}
