/* gen_docs.c - a build-time program: what is made from option.def besides the binary.
 *
 *     gen_docs man < docs/netc.1     the manual page, with the list of options in place of the line .\" OPTIONS
 *     gen_docs bash                  the completion for bash
 *     gen_docs zsh                   the completion for zsh */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NONE, REQUIRED, OPTIONAL };
typedef struct Option {
    const char *group, *name, *metavar, *values, *help;
    int argument;
    char short_name;
} Option;

static const Option table[] = {
#define GROUP(title) { .group = title },
#define OPTION(id, short_name, name, argument, metavar, values, help) { NULL, name, metavar, values, help, argument, short_name },
#include "cli/option.def"
#undef OPTION
#undef GROUP
};
enum { NTABLE = sizeof table / sizeof *table };

/* The words this version takes, as "a b c". */
static int words(const Option *o) {
    size_t n = strcspn(o->values, "|");
    while (n && o->values[n - 1] == ' ')
        n--;
    return (int)n;
}

/* Help on one line; the characters of `escaped` get a backslash. A quote is written so that a quoted shell word holds it. */
static void put_text(const char *s, const char *escaped) {
    for (; *s; s++) {
        if (strchr(escaped, *s))
            printf(*s == '\'' ? "'\\''" : "\\%c", *s);
        else
            putchar(*s == '\n' ? ' ' : *s);
    }
}

static void man_options(void) {
    for (size_t i = 0; i < NTABLE; i++) {
        const Option *o = &table[i];
        if (o->group) {
            printf("%s.Ss %s\n.Bl -tag -width Ds\n", i ? ".El\n" : "", o->group);
            continue;
        }
        printf(".It ");
        if (o->short_name)
            printf("Fl %c , ", o->short_name);
        printf("Fl -%s", o->name);
        if (o->argument == REQUIRED)
            printf(" Ns = Ns Ar %s", o->metavar);
        else if (o->argument == OPTIONAL)
            printf(" Ns Op = Ns Ar %s", o->metavar);
        printf("\n");
        put_text(o->help, "\\");
        printf(".\n");
    }
    printf(".El\n");
}

static void man(void) {
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, ".\\\" OPTIONS\n") == 0)
            man_options();
        else
            fputs(line, stdout);
    }
}

static bool takes_file(const Option *o) {
    return strcmp(o->metavar, "FILE") == 0 || strcmp(o->metavar, "DIR") == 0;
}

/* The words of the diagnostics, all or those of warnings. */
static void diag_words(bool only_warnings) {
    enum { E, W };
#define DIAG(id, word, severity, summary) if (!only_warnings || (severity) == W) printf(" %s", word);
#include "base/diag.def"
#undef DIAG
}

/* Values that other tables know. */
static void bash_special(void) {
    printf("    *--explain) COMPREPLY=($(compgen -W \"");
    diag_words(false);
    printf("\" -- \"$cur\")); return ;;\n    *--warn|*-W) COMPREPLY=($(compgen -W \"error");
    diag_words(true);
    printf("\" -- \"$cur\")); return ;;\n"
           "    *--print-after) COMPREPLY=($(compgen -W \"$(netc --list-passes 2>/dev/null | cut -d' ' -f1)\" -- \"$cur\")); return ;;\n");
}

/* One case of the completion of values. */
static void bash_values(const Option *o) {
    if (words(o) == 0 && !takes_file(o))
        return;
    printf("    %s--%s)", o->argument == OPTIONAL ? "=" : "*", o->name);
    if (words(o))
        printf(" COMPREPLY=($(compgen -W \"%.*s\" -- \"$cur\"))", words(o), o->values);
    else
        printf(" COMPREPLY=($(compgen %s -- \"$cur\"))", strcmp(o->metavar, "DIR") == 0 ? "-d" : "-f");
    printf("; return ;;\n");
    if (o->short_name)
        printf("    *-%c) COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n", o->short_name,
               strcmp(o->metavar, "DIR") == 0 ? "-d" : "-f");
}

static void bash(void) {
    printf("# bash completion for netc, made from its table of options.\n"
           "# Bash splits --name=value at the sign: $eq says that there is one.\n"
           "_netc() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} eq=\n"
           "    if [[ $cur == = ]]; then cur= eq==\n"
           "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]} eq==; fi\n"
           "    case $eq$prev in\n");
    for (size_t i = 0; i < NTABLE; i++)
        if (!table[i].group)
            bash_values(&table[i]);
    bash_special();
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0, n = 0; i < NTABLE; i++)
        if (!table[i].group)
            printf("%s--%s%s", n++ ? " " : "", table[i].name, table[i].argument == REQUIRED ? "=" : "");
    printf("\" -- \"$cur\"))\n"
           "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
           "    else\n"
           "        COMPREPLY=($(compgen -f -X '!*.@(net|ir)' -- \"$cur\") $(compgen -d -S / -- \"$cur\"))\n"
           "    fi\n"
           "    return 0\n"
           "}\n"
           "shopt -s extglob\n"
           "complete -F _netc netc\n");
}

static void zsh(void) {
    printf("#compdef netc\n# zsh completion for netc, made from its table of options.\n_arguments -s \\\n");
    for (size_t i = 0; i < NTABLE; i++) {
        const Option *o = &table[i];
        if (o->group)
            continue;
        if (o->short_name && o->argument == NONE)
            printf("    '(-%c --%s)'{-%c,--%s}", o->short_name, o->name, o->short_name, o->name);
        else if (o->short_name)
            printf("    '*'{-%c+,--%s=}", o->short_name, o->name);
        else
            printf("    '--%s%s'", o->name, o->argument == NONE ? "" : o->argument == REQUIRED ? "=" : "=-");
        printf("'[");
        put_text(o->help, "[]\\'");
        printf("]");
        if (o->argument != NONE)
            printf("%s%s:", o->argument == OPTIONAL ? "::" : ":", o->metavar);
        if (words(o))
            printf("(%.*s)", words(o), o->values);
        else if (o->argument != NONE)
            printf("%s", strcmp(o->metavar, "DIR") == 0 ? "_files -/" : strcmp(o->metavar, "FILE") == 0 ? "_files" : " ");
        printf("' \\\n");
    }
    printf("    '*:file:_files -g \"*.(net|ir)(-.)\"'\n");
}

int main(int argc, char **argv) {
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "man") == 0)
        man();
    else if (strcmp(what, "bash") == 0)
        bash();
    else if (strcmp(what, "zsh") == 0)
        zsh();
    else {
        fprintf(stderr, "usage: gen_docs man|bash|zsh\n");
        return 2;
    }
    return fflush(stdout) != 0 || ferror(stdout) ? 2 : 0;
}
