/* optimizer.c - the right-hand sides of a train block that are no expressions: optimizers, schedules and ways to
 * checkpoint. Each form is a name and keyword arguments (positional ones in the order written here) with PyTorch's
 * defaults and ranges.
 *
 *   sgd(lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=false)
 *   adam(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=false); adamw: weight_decay=1e-2
 *   adam8bit(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0)             moments in blocks of 8-bit numbers
 *   adagrad(lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10)
 *   rmsprop(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=false)
 *   adafactor(lr=1e-2, beta2_decay=-0.8, eps=(none, 1e-3), d=1.0, weight_decay=0)
 *   constant(warmup=0)  cosine(steps, warmup=0, min_factor=0)  linear(steps, warmup=0, min_factor=0)  step(every,
 * gamma=0.1, warmup=0) none  annotated  sqrt  auto(segments=none) */
#include "frontend/trainforms.h"

#include <math.h>
#include <string.h>

static const FormArg sgd_args[] = {
    {"lr", FORM_NUMBER, 1e-3, 0, INFINITY},
    {"momentum", FORM_NUMBER, 0, 0, INFINITY},
    {"dampening", FORM_NUMBER, 0, -INFINITY, INFINITY},
    {"weight_decay", FORM_NUMBER, 0, 0, INFINITY},
    {"nesterov", FORM_BOOL, 0, 0, 1},
};
static const FormArg adam_args[] = {
    {"lr", FORM_NUMBER, 1e-3, 0, INFINITY}, {"betas", FORM_PAIR, 0.9, 0, 1}, {"eps", FORM_NUMBER, 1e-8, 0, INFINITY},
    {"weight_decay", FORM_NUMBER, 0, 0, INFINITY}, {"amsgrad", FORM_BOOL, 0, 0, 1},
};
static const FormArg adamw_args[] = {
    {"lr", FORM_NUMBER, 1e-3, 0, INFINITY}, {"betas", FORM_PAIR, 0.9, 0, 1}, {"eps", FORM_NUMBER, 1e-8, 0, INFINITY},
    {"weight_decay", FORM_NUMBER, 1e-2, 0, INFINITY}, {"amsgrad", FORM_BOOL, 0, 0, 1},
};
static const FormArg adagrad_args[] = {
    {"lr", FORM_NUMBER, 1e-2, 0, INFINITY},        {"lr_decay", FORM_NUMBER, 0, 0, INFINITY},
    {"weight_decay", FORM_NUMBER, 0, 0, INFINITY}, {"initial_accumulator_value", FORM_NUMBER, 0, 0, INFINITY},
    {"eps", FORM_NUMBER, 1e-10, 0, INFINITY},
};
static const FormArg rmsprop_args[] = {
    {"lr", FORM_NUMBER, 1e-2, 0, INFINITY},    {"alpha", FORM_NUMBER, 0.99, 0, INFINITY},
    {"eps", FORM_NUMBER, 1e-8, 0, INFINITY},   {"weight_decay", FORM_NUMBER, 0, 0, INFINITY},
    {"momentum", FORM_NUMBER, 0, 0, INFINITY}, {"centered", FORM_BOOL, 0, 0, 1},
};
static const FormArg adafactor_args[] = {
    {"lr", FORM_NUMBER, 1e-2, 0, INFINITY},        {"beta2_decay", FORM_NUMBER, -0.8, -INFINITY, 0},
    {"eps", FORM_EPS_PAIR, 0, 0, INFINITY},        {"d", FORM_NUMBER, 1, 1, INFINITY},
    {"weight_decay", FORM_NUMBER, 0, 0, INFINITY},
};
static const FormArg adam8bit_args[] = {
    {"lr", FORM_NUMBER, 1e-3, 0, INFINITY}, {"betas", FORM_PAIR, 0.9, 0, 1}, {"eps", FORM_NUMBER, 1e-8, 0, INFINITY},
    {"weight_decay", FORM_NUMBER, 0, 0, INFINITY},
};
/* Parallel to OptimizerKind. */
static const Form optimizers[] = {
    {"sgd", sgd_args, COUNT_OF(sgd_args)},
    {"adam", adam_args, COUNT_OF(adam_args)},
    {"adamw", adamw_args, COUNT_OF(adamw_args)},
    {"adagrad", adagrad_args, COUNT_OF(adagrad_args)},
    {"rmsprop", rmsprop_args, COUNT_OF(rmsprop_args)},
    {"adafactor", adafactor_args, COUNT_OF(adafactor_args)},
    {"adam8bit", adam8bit_args, COUNT_OF(adam8bit_args)},
};

static const FormArg constant_args[] = {{"warmup", FORM_COUNT, 0, 0, INFINITY}};
static const FormArg cosine_args[] = {
    {"steps", FORM_COUNT, NAN, 1, INFINITY},
    {"warmup", FORM_COUNT, 0, 0, INFINITY},
    {"min_factor", FORM_NUMBER, 0, 0, 1},
};
static const FormArg step_args[] = {
    {"every", FORM_COUNT, NAN, 1, INFINITY},
    {"gamma", FORM_NUMBER, 0.1, 0, INFINITY},
    {"warmup", FORM_COUNT, 0, 0, INFINITY},
};
/* Parallel to ScheduleKind. */
static const Form schedules[] = {
    {"constant", constant_args, COUNT_OF(constant_args)}, {"cosine", cosine_args, COUNT_OF(cosine_args)},
    {"linear", cosine_args, COUNT_OF(cosine_args)}, {"step", step_args, COUNT_OF(step_args)},
};

static const FormArg auto_args[] = {{"segments", FORM_COUNT, 0, 1, INFINITY}};
/* Parallel to CheckpointKind. */
static const Form checkpoints[] = {
    {"annotated", NULL, 0}, {"none", NULL, 0}, {"sqrt", NULL, 0}, {"auto", auto_args, COUNT_OF(auto_args)}};

/* ---- reading a form */

static bool out_of_range(Elab *e, const FormArg *f, const ArgVal *a, double v, bool open) {
    if (v >= f->lo && (open ? v < f->hi : v <= f->hi))
        return false;
    StrBuf sb;
    sb_init(&sb, e->ctx->scratch);
    sb_printf(&sb, "%s is ", f->name);
    if (isfinite(f->lo)) {
        sb_puts(&sb, "at least ");
        sb_double(&sb, f->lo);
    }
    if (isfinite(f->hi)) {
        sb_puts(&sb, isfinite(f->lo) ? (open ? " and below " : " and at most ") : "at most ");
        sb_double(&sb, f->hi);
    }
    sb_puts(&sb, ", not ");
    sb_double(&sb, v);
    diag(e->ctx, DIAG_ARGUMENT_VALUE, a->span, "%s", sb_str(&sb));
    return true;
}

static bool wrong_kind(Elab *e, const FormArg *f, const ArgVal *a, const char *wanted) {
    if (!val_has_poison(a->v))
        diag(e->ctx, DIAG_ARGUMENT_TYPE, a->span, "%s is %s, not %s", f->name, wanted, val_text(e, a->v));
    return false;
}

static double as_double(Val v) {
    return v.kind == V_INT ? (double)v.i : v.f;
}

static bool read_pair(Elab *e, const FormArg *f, const ArgVal *a, double *out) {
    bool eps = f->type == FORM_EPS_PAIR;
    if (a->v.kind != V_LIST || a->v.n != 2)
        return wrong_kind(e, f, a, "a pair of numbers");
    for (int i = 0; i < 2; i++) {
        Val v = a->v.items[i];
        if (eps && i == 0 && v.kind == V_NONE)
            continue;
        if (!val_is_number(v))
            return wrong_kind(e, f, a, "a pair of numbers");
        out[i] = as_double(v);
        if (out_of_range(e, f, a, out[i], !eps))
            return false;
    }
    return true;
}

static bool read_arg(Elab *e, const FormArg *f, const ArgVal *a, double *out) {
    switch (f->type) {
    case FORM_BOOL:
        if (a->v.kind != V_BOOL)
            return wrong_kind(e, f, a, "true or false");
        out[0] = a->v.b;
        return true;
    case FORM_NUMBER:
        if (!val_is_number(a->v))
            return wrong_kind(e, f, a, "a number");
        out[0] = as_double(a->v);
        return !out_of_range(e, f, a, out[0], false);
    case FORM_COUNT:
        if (a->v.kind == V_NONE && f->dflt == 0 && f->lo == 1)
            return true;
        if (a->v.kind != V_INT)
            return wrong_kind(e, f, a, "an int");
        out[0] = (double)a->v.i;
        return !out_of_range(e, f, a, out[0], false);
    case FORM_PAIR: case FORM_EPS_PAIR: return read_pair(e, f, a, out);
    }
    return false;
}

static void defaults(const Form *form, FormValues *v) {
    for (uint32_t i = 0; i < form->nargs; i++) {
        v->v[i][0] = form->args[i].dflt;
        v->v[i][1] = form->args[i].type == FORM_PAIR ? 0.999 : form->args[i].type == FORM_EPS_PAIR ? 1e-3 : 0;
    }
}

static bool unknown_form_arg(Elab *e, const Form *form, const ArgVal *a) {
    const char *names[MAX_FORM_ARGS];
    for (uint32_t i = 0; i < form->nargs; i++)
        names[i] = form->args[i].name;
    if (a->name.name == NULL) {
        diag(e->ctx, DIAG_EXTRA_ARGUMENT, a->span, "%s takes %u argument%s, and this is one more", form->name,
             (unsigned)form->nargs, form->nargs == 1 ? "" : "s");
        return false;
    }
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_ARGUMENT, a->name.span, "%s has no argument '%s'", form->name, a->name.name);
    diag_suggest(e->ctx, d, a->name.name, names, form->nargs);
    return false;
}

static bool read_args(Elab *e, const Form *form, Span span, ArgVals args, FormValues *out) {
    bool given[MAX_FORM_ARGS] = {false}, ok = true;
    defaults(form, out);
    for (uint32_t k = 0; k < args.n; k++) {
        const ArgVal *a = &args.p[k];
        uint32_t i = a->name.name == NULL ? k : 0;
        while (a->name.name != NULL && i < form->nargs && strcmp(form->args[i].name, a->name.name) != 0)
            i++;
        if (i >= form->nargs) {
            ok = unknown_form_arg(e, form, a);
        } else if (given[i]) {
            diag(e->ctx, DIAG_DUPLICATE, a->span, "%s is given twice to %s", form->args[i].name, form->name);
            ok = false;
        } else {
            given[i] = true;
            ok = read_arg(e, &form->args[i], a, out->v[i]) && ok;
        }
    }
    for (uint32_t i = 0; i < form->nargs; i++) {
        if (given[i] || !isnan(form->args[i].dflt))
            continue;
        diag(e->ctx, DIAG_MISSING_ARGUMENT, span, "%s needs %s", form->name, form->args[i].name);
        ok = false;
    }
    return ok;
}

/* Which of the forms x is, with its arguments read; -1 after a diagnostic. */
static int read_form(Elab *e, const Form *forms, size_t nforms, const char *what, const Expr *x, FormValues *out) {
    const Expr *name = x->kind == EX_CALL ? x->lhs : x;
    const char *got = name->kind == EX_NAME ? name->name : name->kind == EX_NONE ? "none" : NULL;
    const char *names[8];
    for (size_t i = 0; i < nforms; i++) {
        names[i] = forms[i].name;
        if (got == NULL || strcmp(forms[i].name, got) != 0)
            continue;
        ArgVals args = eval_args(e, x->kind == EX_CALL ? &x->args : NULL, false, v_none(), x->span);
        bool ok = read_args(e, &forms[i], x->span, args, out);
        pop_args(e, args);
        return ok ? (int)i : -1;
    }
    Diag *d = got != NULL ? diag(e->ctx, DIAG_TRAIN, name->span, "there is no %s '%s'", what, got)
                          : diag(e->ctx, DIAG_TRAIN, name->span, "this is no %s", what);
    const char *near = got != NULL ? suggest(got, names, nforms) : NULL;
    if (near != NULL) {
        diag_help(e->ctx, d, "did you mean '%s'?", near);
        return -1;
    }
    StrBuf list;
    sb_init(&list, e->ctx->scratch);
    for (size_t i = 0; i < nforms; i++)
        sb_printf(&list, "%s%s", i ? ", " : "", forms[i].name);
    diag_help(e->ctx, d, "there are %s", sb_str(&list));
    return -1;
}

/* ---- the three families */

bool is_optimizer_call(const Expr *x) {
    const Expr *name = x->kind == EX_CALL ? x->lhs : x;
    for (size_t i = 0; i < COUNT_OF(optimizers) && name->kind == EX_NAME; i++)
        if (strcmp(optimizers[i].name, name->name) == 0)
            return true;
    return false;
}

static double value_of(const Form *form, const FormValues *v, const char *name, int part) {
    for (uint32_t i = 0; i < form->nargs; i++)
        if (strcmp(form->args[i].name, name) == 0)
            return v->v[i][part];
    return 0;
}

bool read_optimizer(Elab *e, const Expr *x, Optimizer *o) {
    FormValues v = {0};
    int kind = read_form(e, optimizers, COUNT_OF(optimizers), "optimizer", x, &v);
    if (kind < 0)
        return false;
    const Form *f = &optimizers[kind];
    *o = (Optimizer){.kind = (OptimizerKind)kind, .name = f->name, .span = x->span};
    o->lr = value_of(f, &v, "lr", 0);
    o->weight_decay = value_of(f, &v, "weight_decay", 0);
    o->eps = value_of(f, &v, "eps", 0);
    o->eps2 = value_of(f, &v, "eps", 1);
    o->momentum = value_of(f, &v, "momentum", 0);
    o->dampening = value_of(f, &v, "dampening", 0);
    o->beta1 = value_of(f, &v, "betas", 0);
    o->beta2 = value_of(f, &v, "betas", 1);
    o->alpha = value_of(f, &v, "alpha", 0);
    o->lr_decay = value_of(f, &v, "lr_decay", 0);
    o->initial_accumulator_value = value_of(f, &v, "initial_accumulator_value", 0);
    o->beta2_decay = value_of(f, &v, "beta2_decay", 0);
    o->d = value_of(f, &v, "d", 0);
    o->nesterov = value_of(f, &v, "nesterov", 0) != 0;
    o->amsgrad = value_of(f, &v, "amsgrad", 0) != 0;
    o->centered = value_of(f, &v, "centered", 0) != 0;
    if (o->nesterov && (o->momentum <= 0 || o->dampening != 0)) {
        diag(e->ctx, DIAG_TRAIN, x->span, "nesterov needs a momentum above 0 and no dampening");
        return false;
    }
    return true;
}

bool read_schedule(Elab *e, const Expr *x, Schedule *s) {
    FormValues v = {0};
    int kind = read_form(e, schedules, COUNT_OF(schedules), "schedule", x, &v);
    if (kind < 0)
        return false;
    const Form *f = &schedules[kind];
    *s = (Schedule){.kind = (ScheduleKind)kind};
    s->warmup = (uint64_t)value_of(f, &v, "warmup", 0);
    s->steps = (uint64_t)value_of(f, &v, "steps", 0);
    s->min_factor = value_of(f, &v, "min_factor", 0);
    s->every = (uint64_t)value_of(f, &v, "every", 0);
    s->gamma = value_of(f, &v, "gamma", 0);
    if (s->steps > 0 && s->warmup >= s->steps) {
        diag(e->ctx, DIAG_TRAIN, x->span, "a warmup of %llu steps leaves nothing of %llu",
             (unsigned long long)s->warmup, (unsigned long long)s->steps);
        return false;
    }
    return true;
}

bool read_checkpoint(Elab *e, const Expr *x, CheckpointKind *kind, uint64_t *segments) {
    FormValues v = {0};
    int which = read_form(e, checkpoints, COUNT_OF(checkpoints), "way to checkpoint", x, &v);
    if (which < 0)
        return false;
    *kind = (CheckpointKind)which;
    *segments = (uint64_t)v.v[0][0];
    return true;
}
