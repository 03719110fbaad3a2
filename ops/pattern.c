/* pattern.c - the little language of rearrange, einops' notation:
 *   pattern = side "->" side ;   side = { axis | "1" | "..." | "(" { axis | "1" | "..." } ")" } ;   axis = a name
 * One pass over the text, a caret inside the string for every mistake: when the argument is a plain literal, a byte
 * of the pattern is a byte of the source. At most MAX_ITEMS names a side. */
#include "ops/pattern.h"

#include <string.h>

/* A literal's text stands in the source between its quotes, unless it has escapes; a constant's name does not. */
static uint32_t literal_base(Ctx *ctx, Span span, const char *text) {
    size_t n = strlen(text);
    const Source *src = span_known(span) ? source_get(ctx, span.file) : NULL;
    if (!src || span.end > src->len || span.end < span.beg + n + 2 || src->text[span.end - 1] != '"') return 0;
    uint32_t base = span.end - 1 - (uint32_t)n;
    return src->text[base - 1] == '"' && memcmp(src->text + base, text, n) == 0 ? base : 0;
}

Diag *pattern_diag(const Pattern *p, uint32_t beg, uint32_t end, const char *text) {
    Span at = p->span;
    if (p->base) at = (Span){at.file, p->base + beg, p->base + end};
    return diag(p->call->ctx, DIAG_PATTERN, at, "%s", text);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* ---- one side ---- */

typedef struct Reader {
    Pattern *p;
    Side *side;
    const char *which;                                    /* "left" or "right" */
    uint32_t pos;
    bool open;                                            /* inside parentheses */
} Reader;

static bool fail(const Reader *r, uint32_t end, const char *text) {
    pattern_diag(r->p, r->pos, end, text);
    return false;
}

static bool add_item(Reader *r, ItemKind kind, const char *name, uint32_t end) {
    Side *s = r->side;
    if (s->nitems == MAX_ITEMS || (!r->open && s->ngroups == MAX_ITEMS))
        return fail(r, end, "the pattern has too many axes");
    if (!r->open) s->group[s->ngroups++] = (Group){r->pos, end, false, kind == ITEM_REST};
    s->item[s->nitems++] = (Item){kind, name, s->ngroups - 1, r->pos, end};
    r->pos = end;
    return true;
}

static bool read_name(Reader *r) {
    Ctx *ctx = r->p->call->ctx;
    const char *text = r->p->text;
    uint32_t end = r->pos;
    while (is_letter(text[end]) || is_digit(text[end])) end++;
    const char *name = intern_n(ctx->names, text + r->pos, end - r->pos);
    for (unsigned i = 0; i < r->side->nitems; i++)
        if (r->side->item[i].name == name)
            return fail(r, end,
                        arena_printf(ctx->scratch, "the axis '%s' stands twice on the %s side", name, r->which));
    return add_item(r, ITEM_AXIS, name, end);
}

static bool read_number(Reader *r) {
    uint32_t end = r->pos;
    while (is_letter(r->p->text[end]) || is_digit(r->p->text[end])) end++;
    if (end == r->pos + 1 && r->p->text[r->pos] == '1') return add_item(r, ITEM_UNIT, NULL, end);
    Diag *d = pattern_diag(r->p, r->pos, end, "1 is the only number that can stand in a pattern");
    diag_help(r->p->call->ctx, d, "name the axis and give its size: rearrange(x, \"... (h w)\", h=4)");
    return false;
}

static bool read_rest(Reader *r) {
    if (r->side->rest >= 0) return fail(r, r->pos + 3, "a side has one ellipsis at most");
    if (r->open && strcmp(r->which, "left") == 0)
        return fail(r, r->pos + 3, "on the left side the ellipsis cannot stand in parentheses");
    r->side->rest = (int)r->side->nitems;
    return add_item(r, ITEM_REST, NULL, r->pos + 3);
}

static bool read_paren(Reader *r) {
    Side *s = r->side;
    bool opens = r->p->text[r->pos] == '(';
    if (opens && r->open) return fail(r, r->pos + 1, "parentheses cannot stand in parentheses");
    if (!opens && !r->open) return fail(r, r->pos + 1, "this parenthesis was not opened");
    if (opens && s->ngroups == MAX_ITEMS) return fail(r, r->pos + 1, "the pattern has too many axes");
    if (opens) s->group[s->ngroups++] = (Group){r->pos, r->pos + 1, true, false};
    else s->group[s->ngroups - 1].end = r->pos + 1;
    r->open = opens;
    r->pos++;
    return true;
}

/* Up to an arrow or the end of the text. */
static bool read_side(Reader *r) {
    const char *text = r->p->text;
    r->side->rest = -1;
    while (text[r->pos] && strncmp(text + r->pos, "->", 2) != 0) {
        char c = text[r->pos];
        bool ok = true;
        if (c == ' ') r->pos++;
        else if (c == '(' || c == ')') ok = read_paren(r);
        else if (is_letter(c)) ok = read_name(r);
        else if (is_digit(c)) ok = read_number(r);
        else if (strncmp(text + r->pos, "...", 3) == 0) ok = read_rest(r);
        else ok = fail(r, r->pos + 1, "a pattern is made of names, 1, ..., parentheses and ->");
        if (!ok) return false;
    }
    if (!r->open) return true;
    uint32_t beg = r->side->group[r->side->ngroups - 1].beg;
    pattern_diag(r->p, beg, beg + 1, "this parenthesis is not closed");
    return false;
}

bool pattern_parse(Call *c, Pattern *p) {
    const Arg *arg = call_arg(c, A_pattern);
    *p = (Pattern){.call = c, .text = arg->value.s, .span = arg->span};
    p->base = literal_base(c->ctx, arg->span, p->text);
    uint32_t len = (uint32_t)strlen(p->text);
    Reader r = {.p = p, .side = &p->left, .which = "left"};
    if (!read_side(&r)) return false;
    if (!p->text[r.pos]) {
        Diag *d = pattern_diag(p, 0, len, "the pattern has no '->'");
        diag_help(c->ctx, d, "it says how the axes are now and how they shall be: \"b (h w) c -> b c h w\"");
        return false;
    }
    r = (Reader){.p = p, .side = &p->right, .which = "right", .pos = r.pos + 2};
    if (!read_side(&r)) return false;
    return !p->text[r.pos] || fail(&r, r.pos + 2, "the pattern has a second '->'");
}
