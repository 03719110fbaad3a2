/* npy.c - NumPy's array files, versions 1.0 to 3.0: a magic word, a header that is a Python dictionary with the keys
 * descr, fortran_order and shape, and the elements in C order. What numpy can write and this cannot take (Fortran
 * order, big endian, structured and foreign dtypes) is refused by name. The header is read by hand: a dictionary of
 * this one form needs no parser of Python. O(header), elements are not touched. */
#include "frontend/arrays.h"

#include <string.h>

typedef struct Scan {                                     /* the header */
    const char *p, *end;
} Scan;

static bool refuse(Ctx *c, const Npy *a, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool refuse(Ctx *c, const Npy *a, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    diag(c, DIAG_ARRAY_FILE, (Span){ 0 }, "%s: %s", a->path, arena_vprintf(c->scratch, fmt, args));
    va_end(args);
    return false;
}

/* reading the header */

static void skip_blanks(Scan *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool take(Scan *s, const char *word) {
    skip_blanks(s);
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

static const char *take_string(Scan *s, Arena *arena) {
    skip_blanks(s);
    if (s->p == s->end || (*s->p != '\'' && *s->p != '"'))
        return NULL;
    const char *from = s->p + 1, *to = memchr(from, *s->p, (size_t)(s->end - from));
    if (!to || memchr(from, '\\', (size_t)(to - from)))
        return NULL;
    s->p = to + 1;
    return arena_strndup(arena, from, (size_t)(to - from));
}

static bool take_number(Scan *s, uint64_t *v) {
    skip_blanks(s);
    const char *start = s->p;
    for (*v = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (!mul_u64(*v, 10, v) || !add_u64(*v, (uint64_t)(*s->p - '0'), v))
            return false;
    return s->p > start;
}

/* (3, 4), (3,), () */
static bool take_shape(Ctx *c, Npy *a, Scan *s) {
    if (!take(s, "("))
        return refuse(c, a, "its header has no shape that can be read");
    a->shape.rank = 0;
    while (!take(s, ")")) {
        uint64_t n;
        if (!take_number(s, &n))
            return refuse(c, a, "its header has no shape that can be read");
        if (a->shape.rank == MAX_RANK)
            return refuse(c, a, "it has more than %d axes", MAX_RANK);
        a->shape.dim[a->shape.rank++] = n;
        if (!take(s, ",") && !take(s, ")"))
            return refuse(c, a, "its header has no shape that can be read");
        if (s->p[-1] == ')')
            return true;
    }
    return true;
}

static bool take_entry(Ctx *c, Npy *a, Scan *s, unsigned *seen) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    const char *key = take_string(s, c->scratch);
    if (!key || !take(s, ":"))
        return refuse(c, a, "its header is no dictionary that can be read");
    unsigned which = strcmp(key, "descr") == 0           ? DESCR
                     : strcmp(key, "fortran_order") == 0 ? ORDER
                     : strcmp(key, "shape") == 0         ? SHAPE
                                                         : 0;
    if (!which || *seen & which)
        return refuse(c, a, "its header has the key '%s'%s", key, which ? " twice" : ", which .npy files have not");
    *seen |= which;
    if (which == SHAPE)
        return take_shape(c, a, s);
    if (which == DESCR) {
        a->descr = take_string(s, c->perm);
        return a->descr || refuse(c, a, "its elements have a structured dtype; netc reads numbers and truth values");
    }
    if (take(s, "True"))
        return refuse(c, a, "it is in Fortran order; numpy.ascontiguousarray(x) gives the C order that netc reads");
    return take(s, "False") || refuse(c, a, "its header does not say whether it is in Fortran order");
}

static bool read_header(Ctx *c, Npy *a, Scan s) {
    unsigned seen = 0;
    if (!take(&s, "{"))
        return refuse(c, a, "its header is no dictionary that can be read");
    while (!take(&s, "}")) {
        if (!take_entry(c, a, &s, &seen))
            return false;
        if (take(&s, ","))
            continue;
        if (take(&s, "}"))
            break;
        return refuse(c, a, "its header is no dictionary that can be read");
    }
    skip_blanks(&s);
    return (seen == 7 && s.p == s.end) || refuse(c, a, "its header does not hold descr, fortran_order and shape alone");
}

/* dtypes */

/* Our dtypes and what numpy calls them; the first is what is written. bf16 and the f8s are their bits, or the raw bytes
 * that packages with such dtypes write. */
static const struct { DType dtype; const char *descr[4]; } names[] = {
    { DT_F64, { "<f8" } }, { DT_F32, { "<f4" } }, { DT_F16, { "<f2" } }, { DT_BF16, { "<u2", "<V2", "|V2" } },
    { DT_F8E4M3, { "|u1", "<V1", "|V1" } }, { DT_F8E5M2, { "|u1", "<V1", "|V1" } }, { DT_I64, { "<i8" } },
    { DT_I32, { "<i4" } }, { DT_I16, { "<i2" } }, { DT_I8, { "|i1", "<i1" } }, { DT_U8, { "|u1", "<u1" } },
    { DT_I4, { "|i1", "<i1" } }, { DT_U4, { "|u1", "<u1" } }, { DT_BOOL, { "|b1", "<b1" } },
};
_Static_assert(COUNT_OF(names) == DT_COUNT, "every dtype has a name in numpy");

static const char *const *names_of(DType t) {
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].dtype == t)
            return names[i].descr;
    ice("no name in numpy for %s", dtype_name(t));
}

static bool holds(const Npy *a, DType t) {
    const char *const *descr = names_of(t);
    for (size_t i = 0; i < COUNT_OF(names[0].descr) && descr[i]; i++)
        if (strcmp(a->descr, descr[i]) == 0)
            return true;
    return false;
}

/* Bytes of an element by its descr: "<f4", "|V2". */
static uint64_t element_size(const char *descr) {
    uint64_t n = 0;
    if (strlen(descr) < 3 || !strchr("<>|=", descr[0]))
        return 0;
    for (const char *p = descr + 2; *p; p++) {
        if (*p < '0' || *p > '9' || n > 1000)
            return 0;
        n = n * 10 + (uint64_t)(*p - '0');
    }
    return descr[1] == 'U' ? 4 * n : n;
}

/* Those of our dtypes that numpy has: the others share a name with one of them. */
static bool is_numpys(DType t) {
    return t != DT_BF16 && t != DT_I4 && t != DT_U4 && t != DT_F8E4M3 && t != DT_F8E5M2;
}

/* "f64[1, 3]"; a dtype that is none of ours stands as numpy writes it. */
static const char *array_text(Ctx *c, const Npy *a) {
    const char *dtype = a->descr;
    for (unsigned t = 0; t < DT_COUNT; t++)
        if (is_numpys((DType)t) && holds(a, (DType)t))
            dtype = dtype_name((DType)t);
    return arena_printf(c->scratch, "%s%s", dtype, shape_text(c->scratch, &a->shape));
}

/* files */

static bool check_size(Ctx *c, Npy *a) {
    uint64_t nbytes = element_size(a->descr), there = a->file.size - a->data;
    if (nbytes == 0)
        return refuse(c, a, "its elements have the dtype '%s', which is no number and no truth value", a->descr);
    if (a->descr[0] == '>')
        return refuse(c, a, "its elements are big-endian ('%s'); x.astype('<%s') gives what netc reads", a->descr,
                      a->descr + 1);
    bool empty = false;
    for (unsigned i = 0; i < a->shape.rank; i++)
        empty = empty || a->shape.dim[i] == 0;
    for (unsigned i = 0; i < a->shape.rank && !empty; i++)
        if (!mul_u64(nbytes, a->shape.dim[i], &nbytes))
            nbytes = UINT64_MAX;
    if (empty)
        nbytes = 0;
    if (nbytes == UINT64_MAX)
        return refuse(c, a, "%s has more elements than a file can hold", array_text(c, a));
    return there == nbytes || refuse(c, a, "%s takes %llu bytes, but behind the header are %llu", array_text(c, a),
                                     (unsigned long long)nbytes, (unsigned long long)there);
}

/* Two bytes in version 1, four later. */
static uint64_t header_length(const unsigned char *p) {
    uint64_t length = p[8] | (uint64_t)p[9] << 8;
    return p[6] == 1 ? length : length | (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
}

static bool read_npy(Ctx *c, Npy *a) {
    const unsigned char *p = a->file.bytes;
    if (a->file.size < 10 || memcmp(p, "\x93NUMPY", 6) != 0)
        return refuse(c, a, "it is no .npy file");
    if (p[6] < 1 || p[6] > 3)
        return refuse(c, a, "it is a .npy file of version %u.%u; netc reads 1.0, 2.0 and 3.0", p[6], p[7]);
    uint64_t start = p[6] == 1 ? 10 : 12;
    if (a->file.size < start || header_length(p) > a->file.size - start)
        return refuse(c, a, "it is cut short: its header does not end");
    a->data = start + header_length(p);
    Scan s = { (const char *)p + start, (const char *)p + a->data };
    return read_header(c, a, s) && check_size(c, a);
}

FileResult npy_open(Ctx *c, const char *path, Npy *a) {
    const char *why;
    *a = (Npy){ .path = path };
    if (!file_map(path, &a->file, &why)) {
        complain("cannot read %s: %s", path, why);
        return FILE_UNREADABLE;
    }
    if (read_npy(c, a))
        return FILE_FINE;
    npy_close(a);
    return FILE_REFUSED;
}

void npy_close(Npy *a) {
    file_unmap(&a->file);
}

/* 4-bit numbers lie in bytes, which hold more than they do. */
static bool in_range(Ctx *c, const Npy *a, const Value *input) {
    DType t = input->type.dtype;
    if (t != DT_I4 && t != DT_U4)
        return true;
    for (uint64_t k = 0; k < input->nelem; k++) {
        int v = a->file.bytes[a->data + k];
        if (t == DT_I4 && v > 127)
            v -= 256;
        if (number_wrap(t, v) != v)
            return refuse(c, a, "element %llu is %d, which is no %s", (unsigned long long)k, v, dtype_name(t));
    }
    return true;
}

bool npy_fits(Ctx *c, const Npy *a, const Value *input) {
    DType t = input->type.dtype;
    if (holds(a, t) && shape_equal(&a->shape, &input->type.shape))
        return in_range(c, a, input);
    Diag *d = diag(c, DIAG_ARRAY_FILE, input->span, "%s holds %s, but the input %s is %s", a->path, array_text(c, a),
                   input->name, type_text(c->scratch, &input->type));
    if (!holds(a, t) && (t == DT_BF16 || t == DT_F8E4M3 || t == DT_F8E5M2))
        diag_help(c, d, "numpy has no %s: its bits are given as %s", dtype_name(t), names_of(t)[0]);
    else if (!holds(a, t))
        diag_help(c, d, "numpy.save(\"x.npy\", x.astype(\"%s\"))", names_of(t)[0]);
    return false;
}

void npy_print(StrBuf *out, const Tensor *t) {
    enum { FRONT = 10, ALIGN = 64 };
    Arena *a = out->arena;
    StrBuf head;
    sb_init(&head, a);
    sb_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", names_of(t->type.dtype)[0]);
    for (unsigned i = 0; i < t->type.shape.rank; i++)
        sb_printf(&head, i ? ", %llu" : "%llu", (unsigned long long)t->type.shape.dim[i]);
    sb_puts(&head, t->type.shape.rank == 1 ? ",), }" : "), }");
    while ((FRONT + head.n + 1) % ALIGN != 0)
        sb_putc(&head, ' ');
    sb_putc(&head, '\n');
    char front[FRONT] = { '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(head.n & 255), (char)(head.n >> 8) };
    sb_write(out, front, FRONT);
    sb_write(out, head.p, head.n);
    uint64_t nbytes = t->n * raw_size(t->type.dtype);
    unsigned char *bytes = arena_array(a, t->n, raw_size(t->type.dtype));
    raw_encode(t, bytes);
    sb_write(out, (const char *)bytes, nbytes);
}
