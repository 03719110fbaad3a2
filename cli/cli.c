/* cli.c - the command line: every option into its field, values checked, what this version cannot do refused by name.
 *
 * A mistake here is one line and the advice to ask for help, exit 2. Nothing is ignored silently: an option that has no
 * effect on what was asked for is refused. */
#include "cli/cli.h"
#include "cli/option.h"
#include "passes/dsa.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

_Static_assert(OPT_COUNT <= COUNT_OF(((Options *)0)->given), "Options.given has a place for every option");

enum { MIN_WIDTH = 40, MAX_WIDTH = 1000, DEFAULT_WIDTH = 100 };

typedef struct Cli {
    Ctx *c;
    Options *o;
    OptionId id;                                          /* the option in hand, and its value */
    const char *value;
    VEC(const char *) imports;
    VEC(Setting) settings;
    VEC(Capacity) capacities;
    VEC(InputFile) inputs;
    int status;                                           /* RUN while all is well */
} Cli;

static void usage_hint(void) {
    static const char hint[] = "try 'netc --help'\n";
    diag_dump(hint, sizeof hint - 1);
}

/* "--name" with the value behind it, as messages call the option in hand. */
static const char *option_text(const Cli *cli) {
    const OptionInfo *info = option_info(cli->id);
    if (!cli->value)
        return arena_printf(cli->c->perm, "--%s", info->name);
    if (info->short_name)
        return arena_printf(cli->c->perm, "-%c %s", info->short_name, cli->value);
    return arena_printf(cli->c->perm, "--%s=%s", info->name, cli->value);
}

static void refuse(Cli *cli, const char *why) {
    if (cli->status != RUN)
        return;
    complain("%s: %s", option_text(cli), why);
    usage_hint();
    cli->status = EXIT_USAGE;
}

/* ", did you mean 'x'?", or the words there are when they are few. */
static const char *advice(Arena *a, const char *got, const char *const *words, size_t n) {
    const char *near = suggest(got, words, n);
    if (near)
        return arena_printf(a, "did you mean '%s'?", near);
    StrBuf s;
    sb_init(&s, a);
    for (size_t i = 0; i < n; i++)
        sb_printf(&s, "%s%s", i == 0 ? "it is one of " : ", ", words[i]);
    return n == 1 ? arena_printf(a, "it can only be %s", words[0]) : sb_str(&s);
}

static unsigned word_value(Cli *cli) {
    unsigned index;
    WordMatch match = option_word(cli->id, cli->value, &index);
    if (match == WORD_IS)
        return index;
    size_t n;
    const char *const *words = option_words(cli->c->perm, cli->id, &n);
    refuse(cli, match == WORD_LATER ? "that is not in this version of netc [unsupported]" : advice(cli->c->perm, cli->value, words, n));
    return 0;
}

static uint64_t number_value(Cli *cli, uint64_t lo, uint64_t hi) {
    uint64_t v;
    if (option_u64(cli->value, &v) && v >= lo && v <= hi)
        return v;
    refuse(cli, arena_printf(cli->c->perm, "a whole number from %llu to %llu is needed", (unsigned long long)lo,
                             (unsigned long long)hi));
    return lo;
}

static uint64_t bytes_value(Cli *cli) {
    uint64_t v;
    if (option_bytes(cli->value, &v) && v > 0)
        return v;
    refuse(cli, "a size is needed, such as 4096, 64KiB or 1.5GiB");
    return 0;
}

static uint64_t align_value(Cli *cli) {
    uint64_t v;
    if (option_bytes(cli->value, &v) && v > 0 && (v & (v - 1)) == 0 && v <= UINT64_C(1) << 30)
        return v;
    refuse(cli, "an alignment is a power of two, at most 1GiB");
    return 0;
}

static bool is_identifier(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
        if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
            return false;
    }
    return n > 0;
}

/* -D NAME=VALUE; the last of several for one name counts. */
static void add_setting(Cli *cli) {
    const char *eq = strchr(cli->value, '=');
    size_t n = eq ? (size_t)(eq - cli->value) : 0;
    if (!eq || !is_identifier(cli->value, n) || !eq[1]) {
        refuse(cli, "the form is -D NAME=VALUE");
        return;
    }
    Setting s = { .name = intern_n(cli->c->names, cli->value, n), .value = eq + 1 };
    for (size_t i = 0; i < cli->settings.n; i++) {
        if (cli->settings.p[i].name == s.name) {
            cli->settings.p[i] = s;
            return;
        }
    }
    vec_push(cli->c->perm, &cli->settings, s);
}

/* --input=NAME=FILE; two files for one input contradict each other. */
static void add_input(Cli *cli) {
    const char *eq = strchr(cli->value, '=');
    if (!eq || eq == cli->value || !eq[1]) {
        refuse(cli, "the form is --input=NAME=FILE");
        return;
    }
    InputFile in = { .name = intern_n(cli->c->names, cli->value, (size_t)(eq - cli->value)), .path = eq + 1 };
    for (size_t i = 0; i < cli->inputs.n; i++)
        if (cli->inputs.p[i].name == in.name)
            refuse(cli, "that input has a file already");
    vec_push(cli->c->perm, &cli->inputs, in);
}

/* SIZE or BANK=SIZE; the last of several for one bank counts. */
static void add_capacity(Cli *cli) {
    const char *eq = strrchr(cli->value, '='), *whole = cli->value;
    Capacity cap = { .bank = eq ? arena_strndup(cli->c->perm, whole, (size_t)(eq - whole)) : NULL };
    if (!option_bytes(eq ? eq + 1 : whole, &cap.nbytes) || cap.nbytes == 0)
        refuse(cli, "a size is needed, such as 4096 or 64KiB, or BANK=SIZE");
    for (size_t i = 0; i < cli->capacities.n; i++) {
        Capacity *old = &cli->capacities.p[i];
        if (cap.bank == NULL ? old->bank == NULL : old->bank != NULL && strcmp(old->bank, cap.bank) == 0) {
            *old = cap;
            return;
        }
    }
    vec_push(cli->c->perm, &cli->capacities, cap);
}

static const char *const *warning_words(Arena *a, size_t *n) {
    VEC(const char *) words = { 0 };
    for (size_t i = 0; i < DIAG_COUNT; i++)
        if (diag_is_warning((DiagCode)i))
            vec_push(a, &words, diag_word((DiagCode)i));
    *n = words.n;
    return words.p;
}

/* -WNAME, -Wno-NAME, -Werror=NAME, -Werror */
static void set_warning(Cli *cli) {
    enum { OFF, WARN, ERROR };
    const char *word = cli->value;
    if (strcmp(word, "error") == 0) {
        diag_warnings_as_errors(cli->c);
        return;
    }
    int level = WARN;
    if (strncmp(word, "no-", 3) == 0) {
        level = OFF;
        word += 3;
    } else if (strncmp(word, "error=", 6) == 0) {
        level = ERROR;
        word += 6;
    }
    DiagCode code;
    if (diag_code_by_word(word, &code) && diag_is_warning(code)) {
        diag_set_level(cli->c, code, level);
        return;
    }
    if (diag_code_by_word(word, &code)) {
        refuse(cli, "that is an error always, no warning");
        return;
    }
    size_t n;
    const char *const *words = warning_words(cli->c->perm, &n);
    refuse(cli, arena_printf(cli->c->perm, "no warning is called '%s'; %s", word, advice(cli->c->perm, word, words, n)));
}

static void set_print_after(Cli *cli) {
    size_t n;
    const char *const *passes = pass_names(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(passes[i], cli->value) == 0) {
            cli->o->plan.print_after = passes[i];
            return;
        }
    }
    const char *near = suggest(cli->value, passes, n);
    refuse(cli, near ? arena_printf(cli->c->perm, "did you mean '%s'?", near) : "there is no such pass; --list-passes lists them");
}

static void print(Cli *cli, const StrBuf *text) {
    cli->status = outfile_write(cli->c, "-", text->p, text->n) ? EXIT_FINE : EXIT_USAGE;
}

static void print_help(Cli *cli) {
    StrBuf out;
    sb_init(&out, cli->c->unit);
    sb_puts(&out, "usage: netc [options] FILE\n"
                  "       netc run [options] FILE\n"
                  "       netc plan [options] FILE.csv\n\n"
                  "Says what memory the network of a .net file needs, before anything runs. FILE may be - for\n"
                  "standard input, or printed IR (--emit=ir). netc run computes its results. netc plan finds\n"
                  "offsets for the buffers of a table id,lower,upper,size.\n\n"
                  "  netc model.net --budget=16MiB           does it fit, and if not, why\n"
                  "  netc model.net -D N=32 --report=json    another batch, as figures for a script\n"
                  "  netc run model.net --input=x=x.npy --weights=model.safetensors    what it computes\n"
                  "  netc model.net --emit=c -o model.c --weights=model.safetensors    a C program that does\n");
    option_help(&out);
    sb_puts(&out, "\nExit status: 0 fine, 1 the program has errors or is over budget, 2 usage, input or output,\n"
                  "3 internal error. The manual is netc(1), the language docs/language.md.\n");
    print(cli, &out);
}

static void print_version(Cli *cli) {
    StrBuf out;
    sb_init(&out, cli->c->unit);
    sb_printf(&out, "netc %s\nreports and plans for cuda and c; code generation: c\n", NETC_VERSION);
    print(cli, &out);
}

static void print_passes(Cli *cli) {
    StrBuf out;
    sb_init(&out, cli->c->unit);
    size_t n;
    const char *const *passes = pass_names(&n);
    for (size_t i = 0; i < n; i++)
        sb_printf(&out, "%-12s %s\n", passes[i], pass_summary(passes[i]));
    print(cli, &out);
}

static void set_style(Cli *cli) {
    if (cli->value)
        cli->o->style = (ReportStyle)word_value(cli);
}

static void set_color(Cli *cli) {
    cli->c->color = (ColorWhen)word_value(cli);
}

/* The levels of plan.h have words in between that this version does not take: they go by name. */
static void set_level(Cli *cli) {
    word_value(cli);
    if (cli->status == RUN && !level_by_name(cli->value, &cli->o->plan.level))
        ice("plan level '%s'", cli->value);
}

static void apply(Cli *cli) {
    Options *o = cli->o;
    o->given[cli->id] = true;
    switch (cli->id) {
    case OPT_REPORT: set_style(cli); break;
    case OPT_EMIT: o->emit = (EmitKind)word_value(cli); break;
    case OPT_OUTPUT: o->output = cli->value; break;
    case OPT_DIM: add_setting(cli); break;
    case OPT_IMPORT_PATH: vec_push(cli->c->perm, &cli->imports, cli->value); break;
    case OPT_NET: o->elab.net = name_of(cli->c, cli->value); break;
    case OPT_TRAIN: refuse(cli, "the training step is not in this version of netc [unsupported]"); break;
    case OPT_MAX_OPS: cli->c->max_ops = number_value(cli, 1, UINT32_MAX / 4); break;
    case OPT_PLAN: set_level(cli); break;
    case OPT_TARGET: o->plan.target = (Target)word_value(cli); break;
    case OPT_ALIGN: o->plan.align = align_value(cli); break;
    case OPT_IO: o->plan.io = (IoPlace)word_value(cli); break;
    case OPT_PREFER: word_value(cli); break;
    case OPT_BUDGET: o->report.budget = bytes_value(cli); break;
    case OPT_ARENA_BUDGET: o->report.arena_budget = bytes_value(cli); break;
    case OPT_INPUT: add_input(cli); break;
    case OPT_WEIGHTS: o->weights = cli->value; break;
    case OPT_SEED: o->seed = number_value(cli, 0, UINT64_MAX); break;
    case OPT_BACKEND: o->backend = (RunBackend)word_value(cli); break;
    case OPT_OUTPUT_DIR: o->output_dir = cli->value; break;
    case OPT_CAPACITY: add_capacity(cli); break;
    case OPT_EFFORT: o->effort = number_value(cli, 0, UINT64_C(1) << 56); break;
    case OPT_SAVINGS: break;
    case OPT_ROWS: o->report.rows = (unsigned)number_value(cli, 0, UINT32_MAX); break;
    case OPT_UNITS: o->report.units = (Units)word_value(cli); break;
    case OPT_WIDTH: o->report.width = (unsigned)number_value(cli, MIN_WIDTH, MAX_WIDTH); break;
    case OPT_ASCII: o->report.ascii = true; break;
    case OPT_PLAIN: o->report.plain = true; break;
    case OPT_COLOR: set_color(cli); break;
    case OPT_MESSAGE_FORMAT: cli->c->message_format = (MessageFormat)word_value(cli); break;
    case OPT_MAX_ERRORS: cli->c->max_errors = (uint32_t)number_value(cli, 0, UINT32_MAX); break;
    case OPT_WARNING: set_warning(cli); break;
    case OPT_EXPLAIN: cli->status = explain_code(cli->c, cli->value); break;
    case OPT_PRINT_AFTER: set_print_after(cli); break;
    case OPT_LIST_PASSES: print_passes(cli); break;
    case OPT_HELP: print_help(cli); break;
    case OPT_VERSION: print_version(cli); break;
    case OPT_COUNT: break;
    }
}

static void unknown_option(Cli *cli, const char *text) {
    VEC(const char *) names = { 0 };
    size_t n, len = strcspn(text, "=");
    const OptionInfo *table = option_table(&n);
    for (size_t i = 0; i < n; i++)
        if (!table[i].group)
            vec_push(cli->c->perm, &names, arena_printf(cli->c->perm, "--%s", table[i].name));
    const char *near = len > 2 ? suggest(arena_strndup(cli->c->perm, text, len), names.p, names.n) : NULL;
    complain(near ? "unknown option '%s'; did you mean '%s'?" : "unknown option '%s'", text, near);
    usage_hint();
    cli->status = EXIT_USAGE;
}

static int read_options(Cli *cli, int argc, char **argv) {
    OptionScan scan;
    option_scan_init(&scan, argc, argv);
    while (cli->status == RUN) {
        OptionEvent event = option_scan(cli->c, &scan);
        cli->id = scan.id;
        cli->value = scan.value;
        switch (event) {
        case OPTION_IS: apply(cli); break;
        case OPTION_UNKNOWN: unknown_option(cli, scan.text); break;
        case OPTION_NEEDS_VALUE: refuse(cli, arena_printf(cli->c->perm, "%s is missing", option_info(scan.id)->metavar)); break;
        case OPTION_TAKES_NONE: cli->value = NULL; refuse(cli, "it takes no value"); break;
        case OPTION_END: return scan.next;
        }
    }
    return argc;
}

static int usage_error(const char *fmt, const char *a, const char *b) PRINTF_LIKE(1, 0);
static int usage_error(const char *fmt, const char *a, const char *b) {
    complain(fmt, a, b);
    usage_hint();
    return EXIT_USAGE;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* FILE, the one operand. `--report json` reads as an option without its value and a file: say so. */
static int read_operands(Options *o, char **operands, int n) {
    if (n == 0)
        return usage_error("no FILE is given", NULL, NULL);
    unsigned index;
    for (int i = 0; n > 1 && i < n; i++)
        if (o->given[OPT_REPORT] && option_word(OPT_REPORT, operands[i], &index) != WORD_UNKNOWN)
            return usage_error("two files are given, '%s' and '%s'; a style is written --report=STYLE", operands[0], operands[1]);
    if (n > 1)
        return usage_error("two files are given, '%s' and '%s'; netc reads one", operands[0], operands[1]);
    o->file = operands[0];
    if (o->command == COMMAND_REPORT && ends_with(o->file, ".csv"))
        return usage_error("%s: a table of buffers is planned by 'netc plan %s'", o->file, o->file);
    if (ends_with(o->file, ".onnx"))
        return usage_error("%s: reading ONNX files is not in this version of netc [unsupported]", o->file, NULL);
    return RUN;
}

/* Options that contradict each other, or have nothing to act on. */
static int check_options(const Options *o) {
    static const OptionId planning[] = { OPT_PLAN, OPT_TARGET, OPT_ALIGN, OPT_IO, OPT_PREFER, OPT_BUDGET, OPT_ARENA_BUDGET, OPT_PRINT_AFTER };
    static const OptionId looks[] = { OPT_ROWS, OPT_UNITS, OPT_WIDTH, OPT_ASCII, OPT_PLAIN };
    if (o->emit != EMIT_REPORT && o->given[OPT_REPORT])
        return usage_error("--report and --emit ask for two outputs", NULL, NULL);
    for (size_t i = 0; o->emit == EMIT_AST && i < COUNT_OF(planning); i++)
        if (o->given[planning[i]])
            return usage_error("--%s has no effect: --emit=ast makes no plan", option_info(planning[i])->name, NULL);
    bool drawn = o->emit == EMIT_REPORT && o->style != STYLE_JSON && o->style != STYLE_CSV;
    bool saves = o->emit == EMIT_REPORT && (o->style == STYLE_JSON || o->style == STYLE_WHY);
    if (o->emit == EMIT_C && (!o->given[OPT_OUTPUT] || !ends_with(o->output, ".c") || strcmp(o->output, ".c") == 0))
        return usage_error("--emit=c writes two files and more: name the first with -o FILE.c", NULL, NULL);
    if (o->emit == EMIT_C && o->given[OPT_TARGET] && o->plan.target != TARGET_C)
        return usage_error("--emit=c and --target=cuda contradict each other", NULL, NULL);
    if (o->given[OPT_SAVINGS] && !saves)
        return usage_error("--savings has no effect on this output", NULL, NULL);
    for (size_t i = 0; !drawn && i < COUNT_OF(looks); i++)
        if (o->given[looks[i]])
            return usage_error("--%s has no effect on this output", option_info(looks[i])->name, NULL);
    return RUN;
}

/* Commands that are words: the options that are theirs alone, and those of the others that they take. */
static const OptionId plan_own[] = { OPT_CAPACITY, OPT_EFFORT };
static const OptionId plan_also[] = { OPT_ALIGN, OPT_OUTPUT, OPT_COLOR, OPT_MESSAGE_FORMAT, OPT_MAX_ERRORS, OPT_WARNING };
static const OptionId run_own[] = { OPT_INPUT, OPT_WEIGHTS, OPT_SEED, OPT_BACKEND, OPT_OUTPUT_DIR };
static const OptionId run_also[] = { OPT_DIM, OPT_IMPORT_PATH, OPT_NET, OPT_MAX_OPS, OPT_PLAN, OPT_COLOR, OPT_MESSAGE_FORMAT, OPT_MAX_ERRORS,
                                     OPT_WARNING };
static const OptionId emit_c_also[] = { OPT_WEIGHTS, OPT_SEED };                  /* what model.weights is made of */
static const struct {
    Command command;
    const char *word, *usage;
    const OptionId *own, *also;
    size_t nown, nalso;
} commands[] = {
    { COMMAND_PLAN, "plan", "netc plan FILE.csv", plan_own, plan_also, COUNT_OF(plan_own), COUNT_OF(plan_also) },
    { COMMAND_RUN, "run", "netc run FILE", run_own, run_also, COUNT_OF(run_own), COUNT_OF(run_also) },
};

static bool among(OptionId id, const OptionId *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static int check_command(const Options *o) {
    for (unsigned id = 0; id < OPT_COUNT; id++) {
        for (size_t i = 0; o->given[id] && i < COUNT_OF(commands); i++) {
            bool own = among((OptionId)id, commands[i].own, commands[i].nown);
            if (own && o->emit == EMIT_C && o->command == COMMAND_REPORT && among((OptionId)id, emit_c_also, COUNT_OF(emit_c_also)))
                continue;
            if (own && o->command != commands[i].command)
                return usage_error("--%s belongs to '%s'", option_info((OptionId)id)->name, commands[i].usage);
            if (!own && o->command == commands[i].command && !among((OptionId)id, commands[i].also, commands[i].nalso))
                return usage_error("--%s has no effect on 'netc %s'", option_info((OptionId)id)->name, commands[i].word);
        }
    }
    return RUN;
}

static unsigned terminal_width(void) {
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col > MAX_WIDTH ? MAX_WIDTH : size.ws_col;
#endif
    return DEFAULT_WIDTH;
}

static void fill_in(const Cli *cli) {
    Options *o = cli->o;
    bool to_stdout = strcmp(o->output, "-") == 0;
    if (!o->report.width)
        o->report.width = to_stdout && isatty(STDOUT_FILENO) ? terminal_width() : DEFAULT_WIDTH;
    o->report.color = cli->c->color == COLOR_ALWAYS || (to_stdout && ctx_color(cli->c, STDOUT_FILENO));
    if (o->emit == EMIT_C)
        o->plan.target = TARGET_C;
    o->plan.savings = o->given[OPT_SAVINGS] || (o->emit == EMIT_REPORT && o->style == STYLE_WHY);
    o->imports = (ImportPath){ cli->imports.p, cli->imports.n };
    o->elab.settings = cli->settings.p;
    o->elab.nsettings = cli->settings.n;
    o->inputs = cli->inputs.p;
    o->ninputs = cli->inputs.n;
    o->capacities = cli->capacities.p;
    o->ncapacities = cli->capacities.n;
}

static bool is_subcommand(const char *word) {
    static const char *const words[] = { "compare", "sweep", "fit", "diff", "explain" };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

int options_read(Ctx *c, int argc, char **argv, Options *o) {
    *o = (Options){ .output = "-", .plan = { .level = LEVEL_FULL }, .effort = DSA_EFFORT };
    for (size_t i = 0; argc > 1 && i < COUNT_OF(commands); i++)
        if (strcmp(argv[1], commands[i].word) == 0)
            o->command = commands[i].command;
    if (o->command != COMMAND_REPORT) {
        argc--;
        argv++;
    }
    if (o->command == COMMAND_REPORT && argc > 1 && is_subcommand(argv[1])) {
        complain("'netc %s' is not in this version of netc [unsupported]; 'netc FILE' reports on a network", argv[1]);
        return EXIT_USAGE;
    }
    Cli cli = { .c = c, .o = o, .status = RUN };
    int first = read_options(&cli, argc, argv);
    if (cli.status == RUN)
        cli.status = read_operands(o, argv + first, argc - first);
    if (cli.status == RUN)
        cli.status = check_command(o);
    if (cli.status == RUN)
        cli.status = check_options(o);
    if (cli.status == RUN)
        fill_in(&cli);
    return cli.status;
}
