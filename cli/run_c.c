/* run_c.c - `netc run --backend=c`: writes the network's program and a main for it into a temporary folder, compiles
 * both with $CC (cc) and $CFLAGS (-O3), runs the program on files of raw elements, reads its results. The folder is
 * removed. */
#include "backend/emit_c.h"
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Folder {
    Ctx *c;
    const char *path;
    const char *files[64];                                /* what was put there, to be removed */
    unsigned n;
} Folder;

static bool folder_open(Folder *f, Ctx *c) {
    const char *in = getenv("TMPDIR");
    char *path = arena_printf(c->unit, "%s/netc-XXXXXX", in && *in ? in : "/tmp");
    *f = (Folder){ .c = c, .path = path };
    if (mkdtemp(path))
        return true;
    complain("cannot make a temporary folder %s:", path);
    return false;
}

static const char *folder_file(Folder *f, const char *name) {
    const char *path = arena_printf(f->c->unit, "%s/%s", f->path, name);
    if (f->n == COUNT_OF(f->files))
        ice("run: too many files");
    f->files[f->n++] = path;
    return path;
}

static void folder_close(Folder *f) {
    for (unsigned i = 0; i < f->n; i++)
        unlink(f->files[i]);
    rmdir(f->path);
}

/* Runs a program to its end; its exit status, -1 after a message. */
static int run_program(char *const *argv) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            pid = -1;
    if (pid < 0) {
        complain("cannot run %s:", argv[0]);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* $CC and $CFLAGS may be several words each: a shell takes them apart. */
static bool compile(const Folder *f, const char *main_file, const char *program) {
    char script[] = "exec ${CC:-cc} -std=c11 ${CFLAGS:--O3} -I \"$1\" -o \"$2\" \"$3\" -lm";
    char *argv[] = { "sh", "-c", script, "netc", (char *)f->path, (char *)program, (char *)main_file, NULL };
    int status = run_program(argv);
    if (status > 0)
        complain("the C compiler failed with exit status %d", status);
    return status == 0;
}

/* Memory for one tensor, aligned; held to the end of the program, which frees nothing. */
static void put_buffer(StrBuf *b, const char *name, size_t i, uint64_t nbytes) {
    sb_printf(b, "    static unsigned char *%s%zu;\n    %s%zu = aligned_alloc(64, (size_t)UINT64_C(%" PRIu64 "));\n", name, i, name, i,
              (nbytes + 64) / 64 * 64);
    sb_printf(b, "    if (!%s%zu) return 9;\n", name, i);
}

/* main.c: reads all inputs from one file, each tensor's bytes after the one before, and writes the results likewise.
 * Its exit status is NET_FAILED when the network gave an error code, whose text is then in place of the results;
 * MAIN_FAILED where it could not even be called. */
enum { NET_FAILED = 8, MAIN_FAILED = 9 };
static void put_main(StrBuf *b, const Graph *g, const char *n) {
    sb_puts(b, "#include \"model.c\"\n\nint main(int argc, char **argv) {\n    static void *weights;\n    int code = 0;\n");
    sb_printf(b, "    static %s net;\n    if (argc != 4) return 9;\n", n);
    sb_puts(b, "    FILE *in = fopen(argv[2], \"rb\"), *out = fopen(argv[3], \"wb\");\n    if (!in || !out) return 9;\n");
    for (size_t i = 0; i < g->inputs.n; i++) {
        uint64_t nbytes = g->inputs.p[i]->nbytes;
        put_buffer(b, "x", i, nbytes);
        sb_printf(b, "    if (fread(x%zu, 1, UINT64_C(%" PRIu64 "), in) != UINT64_C(%" PRIu64 ")) return 9;\n", i, nbytes, nbytes);
    }
    for (size_t i = 0; i < g->results.n; i++)
        put_buffer(b, "y", i, g->results.p[i].value->nbytes);
}

static void put_call(StrBuf *b, const Graph *g, const char *n, uint64_t weights_bytes) {
    if (weights_bytes > 0) {
        sb_printf(b, "    weights = aligned_alloc(64, (size_t)UINT64_C(%" PRIu64 "));\n    if (!weights) return 9;\n", weights_bytes);
        sb_printf(b, "    code = %s_read_weights(argv[1], weights);\n", n);
    }
    sb_printf(b, "    if (!code) code = %s_init(&net, NULL, weights);\n    if (!code) code = %s_run(&net", n, n);
    for (size_t i = 0; i < g->inputs.n; i++)
        sb_printf(b, ", (const void *)x%zu", i);
    for (size_t i = 0; i < g->results.n; i++)
        sb_printf(b, ", (void *)y%zu", i);
    sb_printf(b, ");\n    if (code) {\n        fputs(%s_error(code), out);\n        return 8;\n    }\n", n);
    for (size_t i = 0; i < g->results.n; i++) {
        uint64_t nbytes = g->results.p[i].value->nbytes;
        sb_printf(b, "    if (fwrite(y%zu, 1, UINT64_C(%" PRIu64 "), out) != UINT64_C(%" PRIu64 ")) return 9;\n", i, nbytes, nbytes);
    }
    sb_printf(b, "    %s_free(&net);\n    return fclose(out) == 0 ? 0 : 9;\n}\n", n);
}

static bool put_file(Ctx *c, const char *path, const StrBuf *text) {
    return outfile_write(c, path, text->p, text->n);
}

static bool put_inputs(Ctx *c, const Graph *g, const Supply *supply, const char *path) {
    OutStream *out = outstream_open(c, path);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < g->inputs.n; i++) {
        const Value *v = g->inputs.p[i];
        Arena *own = arena_new();
        Tensor t = { .type = v->type, .is_int = !dtype_is_float(v->type.dtype), .n = v->nelem };
        t.f = NEW_ARRAY(own, double, t.n);
        t.i = NEW_ARRAY(own, int64_t, t.n);
        unsigned char *bytes = NEW_ARRAY(own, unsigned char, v->nbytes);
        ok = supply->read(supply->data, v, 0, &t);
        tensor_narrow(&t);
        emit_c_encode(&t, 0, bytes);
        ok = ok && outstream_put(out, bytes, v->nbytes);
        arena_free(own);
    }
    ok = ok && outstream_flush(out) && outstream_rename(out);
    outstream_drop(out);
    return ok;
}

static bool put_weights(Ctx *c, const Graph *g, const Plan *p, const Supply *supply, const char *path) {
    OutStream *out = outstream_open(c, path);
    bool ok = out && emit_c_weights(c, g, p, supply, out) && outstream_flush(out) && outstream_rename(out);
    outstream_drop(out);
    return ok;
}

static bool get_results(Ctx *c, const Graph *g, const char *path, Tensor *results) {
    FILE *in = fopen(path, "rb");
    bool ok = in != NULL;
    for (size_t i = 0; ok && i < g->results.n; i++) {
        const Value *v = g->results.p[i].value;
        Tensor *t = &results[i];
        *t = (Tensor){ .type = v->type, .is_int = !dtype_is_float(v->type.dtype), .n = v->nelem };
        t->f = NEW_ARRAY(c->unit, double, t->is_int ? 0 : t->n);
        t->i = NEW_ARRAY(c->unit, int64_t, t->is_int ? t->n : 0);
        unsigned char *bytes = NEW_ARRAY(c->unit, unsigned char, v->nbytes + 1);
        ok = fread(bytes, 1, v->nbytes, in) == v->nbytes;
        emit_c_decode(t, bytes);
    }
    if (in)
        fclose(in);
    if (!ok)
        complain("cannot read what the program wrote");
    return ok;
}

/* The error of the network, which its program left in place of the results. */
static int say_why(const char *path) {
    char text[128] = "";
    FILE *in = fopen(path, "rb");
    size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
    if (in)
        fclose(in);
    complain("%.*s", (int)n, text);
    return EXIT_PROGRAM;
}

static int run_in(Folder *f, const Graph *g, const Plan *p, const Supply *supply, Tensor *results) {
    Ctx *c = f->c;
    StrBuf source, header, driver;
    const char *name = emit_c_name(c->unit, g), *program = folder_file(f, "model");
    const char *weights = folder_file(f, "weights"), *in = folder_file(f, "in"), *out = folder_file(f, "out");
    sb_init(&source, c->unit);
    sb_init(&header, c->unit);
    sb_init(&driver, c->unit);
    if (!emit_c(c, g, p, "model.h", &source, &header))
        return EXIT_PROGRAM;
    put_main(&driver, g, name);
    put_call(&driver, g, name, emit_c_weights_bytes(c, g, p));
    const char *main_file = folder_file(f, "main.c");
    bool ok = put_file(c, folder_file(f, "model.c"), &source) && put_file(c, folder_file(f, "model.h"), &header) &&
              put_file(c, main_file, &driver) && put_inputs(c, g, supply, in) && put_weights(c, g, p, supply, weights);
    if (!ok)
        return diag_failed(c) ? EXIT_PROGRAM : EXIT_USAGE;
    if (!compile(f, main_file, program))
        return EXIT_USAGE;
    char *argv[] = { (char *)program, (char *)weights, (char *)in, (char *)out, NULL };
    int status = run_program(argv);
    if (status == NET_FAILED)
        return say_why(out);
    if (status > 0)
        complain("the generated program failed with exit status %d", status);
    return status == 0 && get_results(c, g, out, results) ? EXIT_FINE : EXIT_USAGE;
}

int run_generated(Ctx *c, const Options *o, const Graph *g, const Supply *supply, Tensor *results) {
    PlanOptions options = o->plan;
    Folder f;
    options.target = TARGET_C;
    if (!pass_demand(c, g))
        return EXIT_PROGRAM;
    const Plan *p = plan_network(c, g, &options);
    if (!p || diag_failed(c))
        return EXIT_PROGRAM;
    if (!folder_open(&f, c))
        return EXIT_USAGE;
    int status = run_in(&f, g, p, supply, results);
    folder_close(&f);
    return status;
}
