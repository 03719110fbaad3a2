/* safetensors.c - the safetensors format: eight bytes with the length of a JSON header, the header (name: dtype,
 * shape, data_offsets), the elements. cJSON reads the JSON, at most 1000 levels deep; everything else is checked
 * here, for all tensors, used or not: a header of at most 100 MB, no key missing or twice, sizes that fit the shapes,
 * and tensors that fill the data without a gap or an overlap, as the format demands. O(tensors log tensors); elements
 * are not touched. */
#include "frontend/arrays.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8, MAX_HEADER = 100 * 1000 * 1000 };
typedef unsigned long long ull;

static const struct { const char *name; DType type; } dtypes[] = {
    { "F64", DT_F64 }, { "F32", DT_F32 }, { "F16", DT_F16 }, { "BF16", DT_BF16 },
    { "F8_E4M3", DT_F8E4M3 }, { "F8_E5M2", DT_F8E5M2 },
    { "I64", DT_I64 }, { "I32", DT_I32 }, { "I16", DT_I16 }, { "I8", DT_I8 }, { "U8", DT_U8 }, { "BOOL", DT_BOOL },
};
/* Of the format, but not of netc: their sizes are checked all the same. */
static const struct { const char *name; uint64_t nbytes; } foreign[] = { { "U16", 2 }, { "U32", 4 }, { "U64", 8 } };

static bool refuse(Ctx *c, const Safetensors *f, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool refuse(Ctx *c, const Safetensors *f, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    diag(c, DIAG_WEIGHTS_FILE, (Span){ 0 }, "%s: %s", f->path, arena_vprintf(c->scratch, fmt, args));
    va_end(args);
    return false;
}

static const char *bytes_text(Ctx *c, uint64_t n) {
    if (n == UINT64_MAX)
        return "more than a file can have";
    return arena_printf(c->scratch, n == 1 ? "%llu byte" : "%llu bytes", (ull)n);
}

/* one tensor */

/* Bytes of an element; 0 for a dtype that is not known, whose tensors' sizes cannot be checked. */
static uint64_t find_dtype(FileTensor *t) {
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        if (strcmp(t->dtype, dtypes[i].name) == 0) {
            t->known = true;
            t->type = dtypes[i].type;
            return raw_size(t->type);
        }
    }
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        if (strcmp(t->dtype, foreign[i].name) == 0)
            return foreign[i].nbytes;
    return 0;
}

/* JSON's numbers are doubles to cJSON: whole ones are exact up to 2^53, which no file reaches. */
static bool read_size(const cJSON *v, uint64_t *n) {
    double d = cJSON_IsNumber(v) ? v->valuedouble : -1;
    if (!(d >= 0 && d < 0x1p53) || d != floor(d))
        return false;
    *n = (uint64_t)d;
    return true;
}

/* The product of the shape and the element's size, saturated: no file is so large. */
static bool read_shape(Ctx *c, const Safetensors *f, FileTensor *t, const cJSON *shape, uint64_t *nbytes) {
    const cJSON *size;
    bool empty = false, fits = true;
    if (!cJSON_IsArray(shape))
        return refuse(c, f, "the tensor %s has no shape", t->name);
    cJSON_ArrayForEach(size, shape) {
        uint64_t n;
        if (!read_size(size, &n))
            return refuse(c, f, "the shape of %s is no list of sizes", t->name);
        if (t->rank < MAX_RANK)
            t->dim[t->rank] = n;
        t->rank++;
        empty = empty || n == 0;
        fits = fits && mul_u64(*nbytes, n, nbytes);
    }
    *nbytes = empty ? 0 : fits ? *nbytes : UINT64_MAX;
    return true;
}

/* The value of a key; NULL when it is missing or stands there twice. */
static const cJSON *only(const cJSON *entry, const char *key) {
    const cJSON *found = NULL, *item;
    cJSON_ArrayForEach(item, entry) {
        if (strcmp(item->string, key) != 0)
            continue;
        if (found)
            return NULL;
        found = item;
    }
    return found;
}

static bool read_tensor(Ctx *c, Safetensors *f, const cJSON *entry, uint64_t room) {
    const char *name = entry->string, *dtype = cJSON_GetStringValue(only(entry, "dtype"));
    const cJSON *offsets = only(entry, "data_offsets");
    FileTensor t = { .name = name_of(c, name) };
    if (!dtype)
        return refuse(c, f, "the tensor %s has no dtype, or two", name);
    t.dtype = name_of(c, dtype);
    uint64_t element = find_dtype(&t), nbytes = element;
    if (!read_shape(c, f, &t, only(entry, "shape"), &nbytes))
        return false;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !read_size(cJSON_GetArrayItem(offsets, 0), &t.begin) || !read_size(cJSON_GetArrayItem(offsets, 1), &t.end))
        return refuse(c, f, "the data_offsets of %s are no two sizes", name);
    if (t.begin > t.end || t.end > room)
        return refuse(c, f, "the tensor %s lies at bytes %llu to %llu of %llu", name, (ull)t.begin, (ull)t.end,
                      (ull)room);
    if (element && t.end - t.begin != nbytes)
        return refuse(c, f, "the tensor %s has %s, but its dtype %s and shape make %s", name,
                      bytes_text(c, t.end - t.begin), t.dtype, bytes_text(c, nbytes));
    vec_push(c->unit, &f->tensors, t);
    return true;
}

/* all of them */

static int by_place(const void *a, const void *b) {
    const FileTensor *x = *(FileTensor *const *)a, *y = *(FileTensor *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : strcmp(x->name, y->name);
}

/* Each begins where the one before it ends, the first at 0, and the last ends with the file. */
static bool check_places(Ctx *c, const Safetensors *f, uint64_t room) {
    const FileTensor **sorted = NEW_ARRAY(c->scratch, const FileTensor *, f->tensors.n);
    for (size_t i = 0; i < f->tensors.n; i++)
        sorted[i] = &f->tensors.p[i];
    if (f->tensors.n)
        qsort(sorted, f->tensors.n, sizeof *sorted, by_place);
    uint64_t at = 0;
    for (size_t i = 0; i < f->tensors.n; i++) {
        if (sorted[i]->begin < at)
            return refuse(c, f, "the tensors %s and %s overlap", sorted[i - 1]->name, sorted[i]->name);
        if (sorted[i]->begin > at)
            return refuse(c, f, "before the tensor %s there is a gap of %s", sorted[i]->name,
                          bytes_text(c, sorted[i]->begin - at));
        at = sorted[i]->end;
    }
    return at == room || refuse(c, f, "behind its last tensor there is a rest of %s", bytes_text(c, room - at));
}

static bool index_names(Ctx *c, Safetensors *f) {
    for (size_t i = 0; i < f->tensors.n; i++) {
        FileTensor *t = &f->tensors.p[i];
        if (namemap_get(f->by_name, t->name))
            return refuse(c, f, "the tensor %s is there twice", t->name);
        namemap_put(f->by_name, t->name, t);
    }
    return true;
}

static bool read_entries(Ctx *c, Safetensors *f, const cJSON *header, uint64_t room) {
    static const char metadata[] = "__metadata__";
    const cJSON *entry;
    if (!cJSON_IsObject(header))
        return refuse(c, f, "its header is no JSON object");
    cJSON_ArrayForEach(entry, header) {
        if (strcmp(entry->string, metadata) == 0)
            continue;
        if (!cJSON_IsObject(entry))
            return refuse(c, f, "the entry %s of its header is no object", entry->string);
        if (!read_tensor(c, f, entry, room))
            return false;
    }
    return index_names(c, f) && check_places(c, f, room);
}

/* Behind the header's object stand blanks at most. */
static cJSON *parse(const char *text, size_t n, uint64_t *bad) {
    const char *end = text;
    cJSON *header = cJSON_ParseWithLengthOpts(text, n, &end, false);
    *bad = (uint64_t)(end - text);
    if (!header)
        return NULL;
    while (*bad < n && strchr(" \t\n\r", text[*bad]) && text[*bad])
        ++*bad;
    if (*bad == n)
        return header;
    cJSON_Delete(header);
    return NULL;
}

static bool read_safetensors(Ctx *c, Safetensors *f) {
    uint64_t length = 0, size = f->file.size;
    if (size < LENGTH)
        return refuse(c, f, "it is no safetensors file: it has %llu bytes", (ull)size);
    for (unsigned i = 0; i < LENGTH; i++)
        length |= (uint64_t)f->file.bytes[i] << 8 * i;
    if (length > MAX_HEADER)
        return refuse(c, f, "it is no safetensors file: its header would have %llu bytes", (ull)length);
    if (length > size - LENGTH)
        return refuse(c, f, "it is cut short: its header has %llu bytes, the file %llu", (ull)length, (ull)size);
    uint64_t bad;
    cJSON *header = parse((const char *)f->file.bytes + LENGTH, (size_t)length, &bad);
    if (!header)
        return refuse(c, f, "its header is no JSON from byte %llu on", (ull)bad);
    f->data = f->file.bytes + LENGTH + length;
    bool ok = read_entries(c, f, header, size - LENGTH - length);
    cJSON_Delete(header);
    return ok;
}

FileResult safetensors_open(Ctx *c, const char *path, Safetensors *f) {
    const char *why;
    *f = (Safetensors){ .path = path, .by_name = namemap_new(c->unit) };
    if (!file_map(path, &f->file, &why)) {
        complain("cannot read %s: %s", path, why);
        return FILE_UNREADABLE;
    }
    if (read_safetensors(c, f))
        return FILE_FINE;
    safetensors_close(f);
    return FILE_REFUSED;
}

void safetensors_close(Safetensors *f) {
    file_unmap(&f->file);
}
