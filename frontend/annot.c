/* annot.c - annotations: which there are, where each may stand, which arguments it takes. They never change what a
 * network computes, only where and when. Their meaning is given where they act: @memory and @alias in elab.c, @keep
 * and @checkpoint in stmt.c. */
#include "frontend/elab.h"

#include <string.h>

static const struct { const char *name; unsigned places; const char *where; } annotations[] = {
    {"memory", ON_NET, "a net"},
    {"alias", ON_NET, "a net"},
    {"keep", ON_BINDING | ON_RETURN, "a statement that binds or returns values"},
    {"checkpoint", ON_BLOCK | ON_LOOP | ON_BINDING | ON_RETURN, "a block, a loop or a statement"},
};
static const char *const memory_keys[] = {"budget", "align", "reuse"};

bool has_annot(const Annots *annots, const char *name) {
    for (size_t i = 0; i < annots->n; i++)
        if (strcmp(annots->p[i].name.name, name) == 0)
            return true;
    return false;
}

static void check_memory_args(Elab *e, const Annot *a) {
    for (size_t i = 0; i < a->args.n; i++) {
        Ident key = a->args.p[i].name;
        bool known = false;
        for (size_t k = 0; k < COUNT_OF(memory_keys) && key.name != NULL; k++)
            known = known || strcmp(memory_keys[k], key.name) == 0;
        if (known)
            continue;
        Diag *d = key.name != NULL
                      ? diag(e->ctx, DIAG_ANNOTATION, key.span, "@memory has no argument '%s'", key.name)
                      : diag(e->ctx, DIAG_ANNOTATION, a->args.p[i].span, "@memory takes keyword arguments");
        diag_suggest(e->ctx, d, key.name != NULL ? key.name : "", memory_keys, COUNT_OF(memory_keys));
    }
}

static void check_annotation(Elab *e, const Annot *a, unsigned place) {
    const char *names[COUNT_OF(annotations)];
    for (size_t i = 0; i < COUNT_OF(annotations); i++) {
        names[i] = annotations[i].name;
        if (strcmp(annotations[i].name, a->name.name) != 0)
            continue;
        if (!(annotations[i].places & place))
            diag(e->ctx, DIAG_ANNOTATION, a->span, "@%s belongs on %s", a->name.name, annotations[i].where);
        if (strcmp(a->name.name, "memory") == 0)
            check_memory_args(e, a);
        else if (a->args.n > 0)
            diag(e->ctx, DIAG_ANNOTATION, a->args.p[0].span, "@%s takes no arguments", a->name.name);
        return;
    }
    Diag *d = diag(e->ctx, DIAG_UNKNOWN_ANNOTATION, a->name.span, "there is no annotation '@%s'", a->name.name);
    diag_suggest(e->ctx, d, a->name.name, names, COUNT_OF(annotations));
}

void check_annotations(Elab *e, const Annots *annots, unsigned place) {
    for (size_t i = 0; i < annots->n; i++) {
        check_annotation(e, &annots->p[i], place);
        for (size_t k = 0; k < i; k++)
            if (annots->p[k].name.name == annots->p[i].name.name)
                diag(e->ctx, DIAG_DUPLICATE, annots->p[i].span, "@%s stands here twice", annots->p[i].name.name);
    }
}
