/* option.h - the table of command line options (option.def) and the reading of their values. */
#ifndef NETC_OPTION_H
#define NETC_OPTION_H

#include "base/base.h"

typedef enum OptionId {
#define GROUP(title)
#define OPTION(id, short_name, name, argument, metavar, values, help) OPT_##id,
#include "cli/option.def"
#undef OPTION
#undef GROUP
    OPT_COUNT
} OptionId;

typedef enum OptionArg { ARG_NONE, ARG_REQUIRED, ARG_OPTIONAL } OptionArg;
typedef struct OptionInfo {
    const char *group;                                    /* the title of a group; the other fields are then empty */
    OptionId id;
    char short_name;                                      /* 0: none */
    const char *name;
    OptionArg arg;
    const char *metavar, *values, *help;                  /* see option.def */
} OptionInfo;

const OptionInfo *option_table(size_t *n);                /* groups and options as they stand in option.def */
const OptionInfo *option_info(OptionId);
void option_help(StrBuf *);                               /* what --help prints of the table */

/* The next option of a command line; permutes argv so that operands stand last (getopt_long). */
typedef enum OptionEvent { OPTION_IS, OPTION_UNKNOWN, OPTION_NEEDS_VALUE, OPTION_TAKES_NONE, OPTION_END } OptionEvent;
typedef struct OptionScan {
    int argc;
    char **argv;
    int next;                                             /* at OPTION_END: index of the first operand */
    OptionId id;                                          /* OPTION_IS, OPTION_NEEDS_VALUE, OPTION_TAKES_NONE */
    const char *value;                                    /* NULL when not given */
    const char *text;                                     /* OPTION_UNKNOWN: as the user wrote it */
} OptionScan;
void option_scan_init(OptionScan *, int argc, char **argv);
OptionEvent option_scan(Ctx *, OptionScan *);

/* Values. Each is false for a text that is not one. */
bool option_u64(const char *text, uint64_t *v);           /* decimal digits, "_" between them */
bool option_bytes(const char *text, uint64_t *v);         /* 4096, 64KiB, 1.5GiB: whole bytes */
typedef enum WordMatch { WORD_IS, WORD_LATER, WORD_UNKNOWN } WordMatch;
WordMatch option_word(OptionId, const char *text, unsigned *index);              /* index among the option's values */
const char *const *option_words(Arena *, OptionId, size_t *n);                   /* the values this version takes */

#endif
