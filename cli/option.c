/* option.c - the table of options, the help text made from it, and the values of options. getopt_long does the scanning;
 * it is told to be silent, so that its errors become ours, with suggestions. */
#include "cli/option.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define NONE ARG_NONE
#define REQUIRED ARG_REQUIRED
#define OPTIONAL ARG_OPTIONAL

static const OptionInfo table[] = {
#define GROUP(title) { .group = title },
#define OPTION(id, short_name, name, argument, metavar, values, help) \
    { NULL, OPT_##id, short_name, name, argument, metavar, values, help },
#include "cli/option.def"
#undef OPTION
#undef GROUP
};

enum { LONG_ONLY = 256 };                                 /* getopt_long's value of an option: this and its id */
static const struct option long_options[] = {
#define GROUP(title)
#define OPTION(id, short_name, name, argument, metavar, values, help) { name, (int)(argument), NULL, LONG_ONLY + OPT_##id },
#include "cli/option.def"
#undef OPTION
#undef GROUP
    { 0 }
};
_Static_assert((int)NONE == no_argument && (int)REQUIRED == required_argument && (int)OPTIONAL == optional_argument,
               "the kinds of arguments are getopt's");

const OptionInfo *option_table(size_t *n) {
    *n = COUNT_OF(table);
    return table;
}

const OptionInfo *option_info(OptionId id) {
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (!table[i].group && table[i].id == id)
            return &table[i];
    ice("option %d is not in the table", (int)id);
}

enum { HELP_COLUMN = 28 };

/* A group's title, or an option with its help; the help's further lines stand under its first. */
static void put_help(StrBuf *out, const OptionInfo *o) {
    if (o->group) {
        sb_printf(out, "\n%s:\n", o->group);
        return;
    }
    size_t start = out->n;
    if (o->short_name)
        sb_printf(out, "  -%c, --%s", o->short_name, o->name);
    else
        sb_printf(out, "      --%s", o->name);
    if (o->arg != ARG_NONE)
        sb_printf(out, o->arg == ARG_OPTIONAL ? "[=%s]" : "=%s", o->metavar);
    for (const char *line = o->help; *line; ) {
        size_t n = strcspn(line, "\n"), width = out->n - start;
        if (width + 2 > HELP_COLUMN) {
            sb_putc(out, '\n');
            width = 0;
        }
        sb_printf(out, "%*s%.*s\n", (int)(HELP_COLUMN - width), "", (int)n, line);
        start = out->n;
        line += n + (line[n] == '\n');
    }
}

void option_help(StrBuf *out) {
    for (size_t i = 0; i < COUNT_OF(table); i++)
        put_help(out, &table[i]);
}

void option_scan_init(OptionScan *s, int argc, char **argv) {
    *s = (OptionScan){ .argc = argc, .argv = argv };
    optind = 1;
    opterr = 0;
}

/* ":o:D:...": the leading colon tells a missing value from an unknown option. */
static const char *short_options(Ctx *c) {
    StrBuf s;
    sb_init(&s, c->scratch);
    sb_putc(&s, ':');
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (!table[i].group && table[i].short_name)
            sb_printf(&s, table[i].arg == ARG_NONE ? "%c" : "%c:", table[i].short_name);
    return sb_str(&s);
}

static bool option_by_value(int value, OptionId *id) {
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const OptionInfo *o = &table[i];
        if (!o->group && (value == LONG_ONLY + (int)o->id || (value > 0 && value == o->short_name))) {
            *id = o->id;
            return true;
        }
    }
    return false;
}

OptionEvent option_scan(Ctx *c, OptionScan *s) {
    int before = optind > 0 ? optind : 1;
    int r = getopt_long(s->argc, s->argv, short_options(c), long_options, NULL);
    s->value = optarg;
    if (r == -1) {
        s->next = optind;
        return OPTION_END;
    }
    if (r != '?' && r != ':')
        return option_by_value(r, &s->id) ? OPTION_IS : OPTION_UNKNOWN;
    const char *word = s->argv[optind > before ? optind - 1 : before];
    bool is_long = strncmp(word, "--", 2) == 0;
    s->text = is_long ? word : arena_printf(c->scratch, "-%c", optopt);
    if (!option_by_value(optopt, &s->id))
        return OPTION_UNKNOWN;
    return r == ':' ? OPTION_NEEDS_VALUE : OPTION_TAKES_NONE;
}

/* Digits with "_" between them; *end is where they stop. */
static bool read_digits(const char *p, uint64_t *v, const char **end) {
    if (*p < '0' || *p > '9')
        return false;
    *v = 0;
    for (; (*p >= '0' && *p <= '9') || (*p == '_' && p[1] >= '0' && p[1] <= '9'); p++)
        if (*p != '_' && (!mul_u64(*v, 10, v) || !add_u64(*v, (uint64_t)(*p - '0'), v)))
            return false;
    *end = p;
    return true;
}

bool option_u64(const char *text, uint64_t *v) {
    const char *end;
    return read_digits(text, v, &end) && *end == '\0';
}

/* The fraction ".75" of a unit, when it is a whole number of bytes. */
static bool read_fraction(const char *p, uint64_t unit, uint64_t *bytes, const char **end) {
    uint64_t scale = 1, digits = 0;
    const char *start = p;
    for (; *p >= '0' && *p <= '9'; p++)
        if (!mul_u64(digits, 10, &digits) || !add_u64(digits, (uint64_t)(*p - '0'), &digits) || !mul_u64(scale, 10, &scale))
            return false;
    *end = p;
    uint64_t product;
    if (p == start || !mul_u64(digits, unit, &product) || product % scale != 0)
        return false;
    *bytes = product / scale;
    return true;
}

static bool unit_by_name(const char *text, uint64_t *unit) {
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    for (unsigned i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *unit = UINT64_C(1) << 10 * i;
            return true;
        }
    }
    return false;
}

bool option_bytes(const char *text, uint64_t *v) {
    const char *p;
    if (!read_digits(text, v, &p))
        return false;
    uint64_t unit = 1, part = 0;
    const char *name = p + strcspn(p, "BKMGT");
    if (*name && !unit_by_name(name, &unit))
        return false;
    if (*p == '.' && !read_fraction(p + 1, unit, &part, &p))
        return false;
    return p == name && mul_u64(*v, unit, v) && add_u64(*v, part, v) && *v <= INT64_MAX;
}

WordMatch option_word(OptionId id, const char *text, unsigned *index) {
    size_t len = strlen(text);
    bool later = false;
    *index = 0;
    for (const char *p = option_info(id)->values; *p; ) {
        size_t n = strcspn(p, " ");
        if (n == 1 && *p == '|')
            later = true;
        else if (n == len && memcmp(p, text, n) == 0)
            return later ? WORD_LATER : WORD_IS;
        else
            ++*index;
        p += n + (p[n] == ' ');
    }
    return WORD_UNKNOWN;
}

const char *const *option_words(Arena *a, OptionId id, size_t *n) {
    VEC(const char *) words = { 0 };
    for (const char *p = option_info(id)->values; *p && *p != '|'; ) {
        size_t len = strcspn(p, " ");
        vec_push(a, &words, arena_strndup(a, p, len));
        p += len + (p[len] == ' ');
    }
    *n = words.n;
    return words.p;
}
