/* import.c - the module graph: a depth-first walk from the root with an explicit stack, so that a chain of imports
 * may be of any length. A file is known by its source index (one per inode, however its path is spelt) and is parsed
 * once. Linear in the number of imports. */
#include "frontend/ast.h"

#include <string.h>
#include <sys/stat.h>

typedef struct Visit {
    Module *module;
    size_t next;                                          /* declaration to look at */
    const Decl *via;                                      /* the import that led here; NULL for the root */
    bool open;                                            /* on the stack: importing it again is a cycle */
} Visit;

typedef struct Importer {
    Ctx *ctx;
    ImportPath path;
    VEC(Visit *) by_file;                                 /* by source index; NULL: not seen yet */
    VEC(Visit *) stack;
} Importer;

enum { SHOWN_CHAIN = 8 };                                 /* notes of a cycle before "... 5 more" */

static const char *path_of(const Importer *im, const Module *m) { return source_get(im->ctx, m->file)->path; }

/* `path` as the importing file means it: relative to its folder. A file called "-" is not standard input. */
static const char *beside(Ctx *ctx, const char *importer, const char *path) {
    const char *slash = strrchr(importer, '/');
    if (path[0] == '/') return path;
    if (!slash) return strcmp(path, "-") ? path : "./-";
    return arena_printf(ctx->perm, "%.*s/%s", (int)(slash - importer), importer, path);
}

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* Reads the first candidate that exists, readable or not: beside the importing file, then in the import path.
 * Returns its source index, or 0 after a diagnostic that says where it was looked for. */
static uint32_t find_file(Importer *im, const Module *from, const Decl *d) {
    const char *wanted = d->path.name, *why = "the path is empty";
    const char *path = beside(im->ctx, path_of(im, from), wanted);
    size_t tried = 0;
    while (*wanted) {
        uint32_t file = source_read(im->ctx, path, &why);
        if (file) return file;
        if (exists(path) || wanted[0] == '/' || tried == im->path.n) break;
        path = arena_printf(im->ctx->perm, "%s/%s", im->path.dirs[tried++], wanted);
    }
    Diag *diagnostic = diag(im->ctx, DIAG_FILE, d->path.span, "cannot read '%s': %s", wanted, why);
    if (*wanted) diag_note(im->ctx, diagnostic, (Span){0}, "looked for %s", beside(im->ctx, path_of(im, from), wanted));
    for (size_t i = 0; i < tried; i++)
        diag_note(im->ctx, diagnostic, (Span){0}, "looked for %s/%s", im->path.dirs[i], wanted);
    return 0;
}

static void report_cycle(Importer *im, const Module *from, const Decl *d, const Visit *again) {
    size_t first = im->stack.n;
    while (im->stack.p[first - 1] != again) first--;
    Diag *diagnostic = diag(im->ctx, DIAG_IMPORT_CYCLE, d->path.span, again->module == from ? "'%s' imports itself" :
                            "'%s' imports this file, directly or through others", d->path.name);
    size_t links = im->stack.n - first;                   /* files on the way from the other one to this one */
    for (size_t i = 0; i < links && i < SHOWN_CHAIN; i++) {
        const Visit *v = im->stack.p[first + i];          /* `again` itself is stack.p[first - 1] */
        diag_note(im->ctx, diagnostic, v->via->path.span, "%s is imported here", path_of(im, v->module));
    }
    if (links > SHOWN_CHAIN) diag_note(im->ctx, diagnostic, (Span){0}, "... %zu more", links - SHOWN_CHAIN);
}

static Visit **visit_slot(Importer *im, uint32_t file) {
    while (im->by_file.n <= file) vec_push(im->ctx->scratch, &im->by_file, NULL);
    return &im->by_file.p[file];
}

static Visit *open_file(Importer *im, uint32_t file, const Decl *via) {
    Visit *v = NEW(im->ctx->scratch, Visit);
    v->module = parse_file(im->ctx, file);
    v->via = via;
    v->open = true;
    *visit_slot(im, file) = v;
    vec_push(im->ctx->scratch, &im->stack, v);
    return v;
}

/* The module an import declaration means, NULL after a diagnostic; opens its file when it is new. */
static Module *resolve(Importer *im, Module *from, const Decl *d) {
    uint32_t file = find_file(im, from, d);
    if (!file) return NULL;
    Visit *v = *visit_slot(im, file);
    if (!v) return open_file(im, file, d)->module;
    if (!v->open) return v->module;
    report_cycle(im, from, d, v);
    return NULL;
}

Module *import_all(Ctx *ctx, uint32_t root, ImportPath path) {
    if (!source_get(ctx, root)) return NULL;
    Importer im = {.ctx = ctx, .path = path};
    Module *module = open_file(&im, root, NULL)->module;
    while (im.stack.n) {
        Visit *v = im.stack.p[im.stack.n - 1];
        if (v->next == v->module->decls.n) {
            v->open = false;
            im.stack.n--;
            continue;
        }
        const Decl *d = v->module->decls.p[v->next++];
        if (d->kind != DE_IMPORT && d->kind != DE_FROM) continue;
        Module *imported = resolve(&im, v->module, d);
        vec_push(ctx->unit, &v->module->imports, imported);
    }
    return module;
}
