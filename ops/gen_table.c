/* gen_table.c - a program of the build, not of the compiler: reads the signatures of ir/op.def and prints them as
 * constant tables of Param (`params_CONV2D[]`), which ops.c includes, and the operators sorted by name. So the compiler
 * parses no signature when it runs and needs no mutable table.
 *
 * A signature is `name[: type] [= default]`, separated by commas; ir/op.def says what the types are. A mistake in it
 * stops the build with the operator's name and the offending text. Attribute names are checked by the C compiler, which
 * does not know A_name unless ir/attr.def has it. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Line { const char *id, *name, *signature; } Line;
static const Line lines[] = {
#define OP(id, name, family, flags, signature) {#id, name, signature},
#include "ir/op.def"
#undef OP
};
enum { NLINES = sizeof lines / sizeof *lines, MAX_TEXT = 128, MAX_N = 8 };

/* The types as ir/op.def spells them, and the enumerators of ops.h. `int[N]` is apart: it carries a number. */
static const struct { const char *word, *enumerator; } types[] = {
    {"", "P_TENSOR"}, {"operand", "P_OPERAND"}, {"tensors", "P_TENSORS"}, {"channels", "P_CHANNELS"}, {"int", "P_INT"},
    {"float", "P_FLOAT"}, {"number", "P_NUMBER"}, {"bool", "P_BOOL"}, {"str", "P_STR"}, {"dtype", "P_DTYPE"},
    {"any", "P_ANY"}, {"ints", "P_INTS"}, {"*ints", "P_VARINTS"}};

static void fail(const Line *l, const char *what, const char *text) {
    fprintf(stderr, "ir/op.def: %s: %s: '%s'\n", l->name, what, text);
    exit(1);
}

/* One parameter, cut into its three texts. */
typedef struct Piece { char name[MAX_TEXT], type[MAX_TEXT], dflt[MAX_TEXT]; bool optional; } Piece;

static void trim(char *s) {
    size_t lead = strspn(s, " "), n = strlen(s + lead);
    memmove(s, s + lead, n + 1);
    while (n > 0 && s[n - 1] == ' ') s[--n] = '\0';
}

static void cut_piece(const Line *l, char *text, Piece *p) {
    *p = (Piece){.optional = false};
    char *eq = strchr(text, '=');
    if (eq) {
        *eq = '\0';
        p->optional = true;
        strcpy(p->dflt, eq + 1);
        trim(p->dflt);
        if (!*p->dflt) fail(l, "a parameter without the default it announces", text);
    }
    char *colon = strchr(text, ':');
    if (colon) {
        *colon = '\0';
        strcpy(p->type, colon + 1);
        trim(p->type);
    }
    strcpy(p->name, text);
    trim(p->name);
    if (!*p->name) fail(l, "a parameter without a name", l->signature);
}

/* The next parameter of a signature that *at stands in; false at its end. Commas in strings do not separate. */
static bool next_piece(const Line *l, const char **at, Piece *p) {
    char text[MAX_TEXT];
    size_t n = 0;
    bool quoted = false;
    if (!**at) return false;
    for (; **at && (quoted || **at != ','); ++*at) {
        if (**at == '"') quoted = !quoted;
        if (n + 1 == MAX_TEXT) fail(l, "a parameter that is too long", l->signature);
        text[n++] = **at;
    }
    text[n] = '\0';
    if (**at == ',') ++*at;
    cut_piece(l, text, p);
    return true;
}

/* N of `int[N]`, 0 for any other type. */
static int count_of_type(const Line *l, const Piece *p) {
    if (strncmp(p->type, "int[", 4) != 0) return 0;
    int n = atoi(p->type + 4);
    if (n < 1 || n > MAX_N) fail(l, "an int[N] out of range", p->type);
    return n;
}

static const char *type_of(const Line *l, const Piece *p) {
    if (count_of_type(l, p)) return "P_INT_N";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(p->type, types[i].word) == 0) return types[i].enumerator;
    fail(l, "an unknown type", p->type);
    return NULL;
}

static void print_dtype(const Line *l, const char *word) {
    static const struct { const char *word, *enumerator; } dtypes[] = {
#define DTYPE(id, name, bits, cls) {name, "DT_" #id},
#include "ir/dtype.def"
#undef DTYPE
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(word, dtypes[i].word) == 0) {
            printf("{.kind = D_DTYPE, .dtype = %s}", dtypes[i].enumerator);
            return;
        }
    fail(l, "an unknown default", word);
}

/* The default as a Datum. A string is not interned: tables are older than any Ctx (ops.h says who interns it). */
static void print_default(const Line *l, const Piece *p) {
    const char *d = p->dflt;
    bool real = strcmp(p->type, "float") == 0;
    if (!p->optional || strcmp(d, "none") == 0) printf("{.kind = D_NONE}");
    else if (count_of_type(l, p))
        printf("{.kind = D_LIST, .list = {(Datum *)list_%s_%s, %d, false}}", l->id, p->name, count_of_type(l, p));
    else if (strcmp(d, "true") == 0 || strcmp(d, "false") == 0) printf("{.kind = D_BOOL, .b = %s}", d);
    else if (*d == '"') printf("{.kind = D_STR, .s = %s}", d);
    else if (isdigit((unsigned char)*d) || *d == '-')
        printf(real || strpbrk(d, ".e") ? "{.kind = D_FLOAT, .f = %s}" : "{.kind = D_INT, .i = %s}", d);
    else print_dtype(l, d);
}

/* int[N] parameters have a list as their default; the lists are named before the table that points at them. */
static void print_lists(const Line *l) {
    const char *at = l->signature;
    for (Piece p; next_piece(l, &at, &p);) {
        int n = count_of_type(l, &p);
        if (!n || !p.optional || strcmp(p.dflt, "none") == 0) continue;
        printf("static const Datum list_%s_%s[] = {", l->id, p.name);
        for (int i = 0; i < n; i++) printf("%s{.kind = D_INT, .i = %s}", i ? ", " : "", p.dflt);
        printf("};\n");
    }
}

static void print_params(const Line *l) {
    const char *at = l->signature;
    print_lists(l);
    printf("static const Param params_%s[] = {\n", l->id);
    for (Piece p; next_piece(l, &at, &p);) {
        printf("    {A_%s, %s, %d, %s, ", p.name, type_of(l, &p), count_of_type(l, &p), p.optional ? "true" : "false");
        print_default(l, &p);
        printf("},\n");
    }
    printf("};\n");
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const Line *const *)a)->name, (*(const Line *const *)b)->name);
}

static void print_sorted(void) {
    const Line *sorted[NLINES];
    for (size_t i = 0; i < NLINES; i++) sorted[i] = &lines[i];
    qsort(sorted, NLINES, sizeof *sorted, by_name);
    printf("static const uint16_t by_name[OP_COUNT] = {\n");
    for (size_t i = 0; i < NLINES; i++) {
        if (i && strcmp(sorted[i]->name, sorted[i - 1]->name) == 0) fail(sorted[i], "two lines of this name", "");
        printf("    OP_%s,\n", sorted[i]->id);
    }
    printf("};\n");
}

int main(void) {
    printf("/* Made from ir/op.def by ops/gen_table.c. */\n");
    for (size_t i = 0; i < NLINES; i++) print_params(&lines[i]);
    print_sorted();
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
