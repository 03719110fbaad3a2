/* weights_list.c - the stored tensors of a network as CSV (RFC 4180): a header, then one a line, in the order of the
 * program. A shared or tied tensor is one tensor and one line; a scalar's shape is empty. */
#include "backend/backend.h"

#include <inttypes.h>
#include <string.h>

void csv_field(StrBuf *sb, const char *s) {
    if (strpbrk(s, ",\"\r\n") == NULL) {
        sb_puts(sb, s);
        return;
    }
    sb_putc(sb, '"');
    for (; *s != '\0'; s++) {
        if (*s == '"')
            sb_putc(sb, '"');
        sb_putc(sb, *s);
    }
    sb_putc(sb, '"');
}

void emit_weights_list(StrBuf *sb, const Graph *g) {
    sb_puts(sb, "name,dtype,shape\n");
    for (size_t i = 0; i < g->stored.n; i++) {
        const Value *v = g->stored.p[i];
        csv_field(sb, v->name);
        sb_printf(sb, ",%s,", dtype_name(v->type.dtype));
        for (unsigned k = 0; k < v->type.shape.rank; k++)
            sb_printf(sb, "%s%" PRIu64, k > 0 ? "x" : "", v->type.shape.dim[k]);
        sb_putc(sb, '\n');
    }
}
