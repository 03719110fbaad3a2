/* names.c - identifiers of the generated code. A name of the source becomes letters, digits and _; what C, a standard
 * header or a kernel uses already gets a suffix, and so does a name that is taken. */
#include "backend/c/c.h"

#include <stdlib.h>
#include <string.h>

/* Sorted, for bsearch: keywords, functions and types of the headers that model.c includes, and what kernels/c/base.h
 * declares without a suffix of its own. */
static const char *const taken[] = {
    "abort", "abs", "acos", "acosh", "aligned_alloc", "asin", "asinh", "at_quick_exit", "atan", "atan2", "atanh", "atexit",
    "atof", "atoi", "atol", "atoll", "auto", "bits_float", "break", "bsearch", "calloc", "case", "cbrt", "ceil", "char",
    "clearerr", "const", "continue", "conv_meets", "copysign", "cos", "cosh", "decode_float", "default", "div", "do",
    "double", "double_t", "else", "encode_float", "enum", "env", "erf", "erfc", "errno", "exit", "exp", "exp2", "exp_single", "expm1", "extern",
    "f32", "f64", "fabs", "fclose", "fdim", "feof", "ferror", "fflush", "fgetc", "fgetpos", "fgets", "float",
    "float_bits", "float_t", "floor", "fma", "fmax", "fmin", "fmod", "fopen", "for", "fpos_t", "fprintf", "fputc",
    "fputs", "fread", "free", "freopen", "frexp", "fscanf", "fseek", "fsetpos", "ftell", "fwrite", "getc",
    "getchar", "getenv", "gets", "goto", "hypot", "i16", "i32", "i64", "if", "ilogb", "inline", "int", "isfinite",
    "isinf", "isnan", "isnormal", "j0", "j1", "jn", "labs", "ldexp", "ldiv", "lgamma", "llabs", "lldiv", "llrint", "llround", "log",
    "log10", "log1p", "log2", "logb", "long", "lrint", "lround", "main", "malloc", "mblen", "memchr", "memcmp",
    "memcpy", "memmove", "memset", "modf", "nan", "nearbyint", "nextafter", "nexttoward", "num", "perror", "place_within",
    "pool_range", "pow", "printf", "ptrdiff_t", "putc", "putchar", "puts", "qsort", "quick_exit", "rand",
    "realloc", "register", "remainder", "remove", "remquo", "rename", "restrict", "return", "rewind", "rint", "round", "run",
    "sample_tap", "sample_taps", "sample_within", "scalbln", "scalbn", "scanf", "setbuf", "setvbuf", "short", "signbit",
    "signed", "sin", "sinh", "size_t", "sizeof", "snprintf", "sprintf", "sqrt", "srand", "sscanf", "static", "status",
    "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strerror", "strlen",
    "strncat", "strncmp", "strncpy", "strpbrk", "strrchr", "strspn", "strstr", "strtod", "strtof", "strtok", "strtol",
    "strtold", "strtoll", "strtoul", "strtoull", "struct", "strxfrm", "switch", "system", "tan", "tanh", "tgamma",
    "tmpfile", "tmpnam", "trunc", "truncate_double", "typedef", "u16", "ungetc", "union", "unsigned", "vfprintf",
    "vfscanf", "void", "volatile", "vprintf", "vscanf", "vsnprintf", "vsprintf", "vsscanf", "wchar_t", "while", "wide", "y0", "y1",
    "yn",
};

static int compare(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

/* Macros have capitals, the streams and fixed-width types of the headers common beginnings; kernels' helpers too. */
static bool is_taken(const char *name) {
    static const char *const heads[] = {"load_", "store_", "wrap_", "int", "uint", "std", "netc_", "NETC_"};
    size_t n = strlen(name);
    bool capitals = true;
    for (const char *p = name; *p; p++) capitals = capitals && !(*p >= 'a' && *p <= 'z');
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        if (strncmp(name, heads[i], strlen(heads[i])) == 0) return true;
    if (n > 4 && name[n - 4] == '_' && strchr("fiu", name[n - 3]) && strchr("36", name[n - 2])) return true;    /* exp_f32 */
    return (capitals && n > 1) || name[0] == '_' || bsearch(name, taken, COUNT_OF(taken), sizeof *taken, compare) != NULL;
}

const char *c_identifier(Arena *a, const char *name) {
    StrBuf b;
    sb_init(&b, a);
    if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z')) sb_puts(&b, "n_");
    for (; *name; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
        sb_putc(&b, letter ? *name : '_');
    }
    const char *text = sb_str(&b);
    return is_taken(text) ? arena_printf(a, "%s_", text) : text;
}

const char *emit_c_name(Arena *a, const Graph *g) {
    const char *name = c_identifier(a, g->name);
    return name[strlen(name) - 1] == '_' ? arena_printf(a, "%snet", name) : name;
}

static const char *unique(Emit *e, NameMap *used, const char *wanted) {
    const char *base = c_identifier(e->c->unit, wanted), *name = name_of(e->c, base);
    for (unsigned n = 2; namemap_get(used, name); n++) name = name_of(e->c, arena_printf(e->c->unit, "%s_%u", base, n));
    namemap_put(used, name, e);
    return name;
}

void name_parameters(Emit *e) {
    NameMap *used = namemap_new(e->c->unit);
    e->name = emit_c_name(e->c->unit, e->g);
    char *upper = arena_strndup(e->c->unit, e->name, strlen(e->name));
    for (char *p = upper; *p; p++)
        if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 'a' + 'A');
    e->upper = upper;
    namemap_put(used, name_of(e->c, e->name), e);
    namemap_put(used, name_of(e->c, "self"), e);
    e->in_names = NEW_ARRAY(e->c->unit, const char *, e->g->inputs.n);
    e->out_names = NEW_ARRAY(e->c->unit, const char *, e->g->results.n);
    for (size_t i = 0; i < e->g->inputs.n; i++) e->in_names[i] = unique(e, used, e->g->inputs.p[i]->name);
    for (size_t i = 0; i < e->g->results.n; i++) e->out_names[i] = unique(e, used, e->g->results.p[i].name);
}
