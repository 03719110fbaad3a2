/* emit_names.c - identifiers of generated code: what C, the standard headers and the kernels use is never taken as it is. */
#include "backend/c/c.h"
#include "tests/unit/check.h"

#include <ctype.h>
#include <string.h>

static bool is_valid(const char *name) {
    if (!isalpha((unsigned char)name[0])) return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_') return false;
    return true;
}

int main(void) {
    static const char *const taken[] = {
        "abort", "abs", "aligned_alloc", "auto", "bits_float", "const", "double", "env", "errno", "exp", "expm1", "extern",
        "f32", "fabs", "float", "for", "free", "gets", "hypot", "i64", "if", "int", "int32_t", "isnan", "j0", "labs", "llabs",
        "load_f32", "log1p", "main", "memcpy", "num", "pow", "pool_range", "printf", "register", "return", "run", "sample_tap",
        "short", "sqrt", "static", "stdout", "store_i4", "strlen", "struct", "switch", "tanh", "trunc", "typedef", "u16",
        "uint8_t", "union", "void", "wide", "wrap_u8", "y0", "yn", "NULL", "INFINITY", "KERNEL", "conv_f32", "sum_u64",
    };
    static const char *const fine[] = {"x", "X", "lenet", "resnet18", "logits", "y2", "Conv2d", "image_0"};
    static const char *const odd[] = {"", "3d", "a-b", "a b", "\xc3\xa9t\xc3\xa9", "_x", "a*/b"};
    Arena *a = arena_new();
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        const char *name = c_identifier(a, taken[i]);
        CHECK(is_valid(name) && strcmp(name, taken[i]) != 0);
    }
    for (size_t i = 0; i < COUNT_OF(fine); i++) CHECK(strcmp(c_identifier(a, fine[i]), fine[i]) == 0);
    for (size_t i = 0; i < COUNT_OF(odd); i++) CHECK(is_valid(c_identifier(a, odd[i])));
    arena_free(a);
    return check_done();
}
