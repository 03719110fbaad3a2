/* base_text.c - text buffers, JSON, sources and positions, diagnostics as text, output files. */
#include "base/base.h"
#include "base/diagstate.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is(const char *got, const char *expected) {
    if (strcmp(got, expected) == 0)
        return true;
    fprintf(stderr, "--- got\n%s\n--- expected\n%s\n", got, expected);
    return false;
}

static void test_json(Arena *a) {
    StrBuf b;
    Json j;
    sb_init(&b, a);
    json_init(&j, &b);
    json_object(&j);
    json_key(&j, "text"), json_str(&j, "a\"\\\n\x01\xFF\xC3\xA9");
    json_key(&j, "none"), json_null(&j);
    json_key(&j, "empty"), json_array(&j), json_end_array(&j);
    json_key(&j, "rows"), json_array(&j);
    json_inline(&j, true);
    for (int i = 0; i < 2; i++) {
        json_object(&j);
        json_key(&j, "n"), json_i64(&j, -i);
        json_key(&j, "s"), json_array(&j), json_u64(&j, UINT64_MAX), json_bool(&j, true), json_end_array(&j);
        json_end_object(&j);
    }
    json_inline(&j, false);
    json_end_array(&j);
    json_end_object(&j);
    CHECK(is(sb_str(&b), "{\n"
                         "  \"text\": \"a\\\"\\\\\\n\\u0001\xEF\xBF\xBD\xC3\xA9\",\n"
                         "  \"none\": null,\n"
                         "  \"empty\": [],\n"
                         "  \"rows\": [\n"
                         "    {\"n\": 0, \"s\": [18446744073709551615, true]},\n"
                         "    {\"n\": -1, \"s\": [18446744073709551615, true]}\n"
                         "  ]\n"
                         "}"));
}

static void test_positions(void) {
    Ctx *c = ctx_new();
    uint32_t f = source_add(c, "a.net", "\xEF\xBB\xBFone\r\ntwo\n\nlast", 17);
    CHECK(f == 1 && source_get(c, f)->nlines == 4);
    LineCol at = source_linecol(c, f, 3);
    CHECK(at.line == 1 && at.col == 1);                   /* the byte order mark is no column */
    at = source_linecol(c, f, 8);
    CHECK(at.line == 2 && at.col == 1);
    at = source_linecol(c, f, 12);
    CHECK(at.line == 3 && at.col == 1);
    at = source_linecol(c, f, 17);
    CHECK(at.line == 4 && at.col == 5);
    CHECK(is(span_text(c, (Span){ f, 9, 10 }), "a.net:2:2"));
    CHECK(is(span_text(c, (Span){ 0 }), ""));
    Span j = span_join((Span){ f, 4, 6 }, (Span){ f, 1, 5 });
    CHECK(j.file == f && j.beg == 1 && j.end == 6);
    j = span_join((Span){ 0 }, (Span){ f, 1, 5 });
    CHECK(j.file == f && j.beg == 1);
    CHECK(source_get(c, 7) == NULL);
    ctx_free(c);
}

/* The diagnostics that were queued, as they would be printed. */
static const char *printed(Ctx *c) {
    StrBuf b;
    sb_init(&b, c->perm);
    for (size_t i = 0; i < c->diags->queue.n; i++)
        diag_print(c, c->diags->queue.p[i], &b);
    diag_print_summary(c, &b);
    return sb_str(&b);
}

static Ctx *context_with(const char *text, uint32_t *file) {
    Ctx *c = ctx_new();
    c->color = COLOR_NEVER;
    *file = source_add(c, "a.net", text, strlen(text));
    return c;
}

static void test_frame(void) {
    uint32_t f;
    Ctx *c = context_with("one\n\tx = \"\xE4\xB8\xAD\" |> conv3(4,\r\n  5)\n", &f);
    Diag *d = diag(c, DIAG_UNKNOWN_OP, (Span){ f, 18, 30 }, "there is no operator '%s'", "conv3\x1B");
    diag_note(c, d, (Span){ f, 0, 3 }, "here");
    diag_note(c, d, (Span){ 0 }, "nowhere");
    diag_help(c, d, "mend it");
    CHECK(is(printed(c), "a.net:2:15: error: there is no operator 'conv3\\x1B' [unknown-op]\n"
                         "    2 | \tx = \"\xE4\xB8\xAD\" |> conv3(4,\n"
                         "      | \t            ^~~~~~~~\n"
                         "a.net:1:1: note: here\n"
                         "    1 | one\n"
                         "      | ^~~\n"
                         "      = note: nowhere\n"
                         "      = help: mend it\n"
                         "1 error\n"));
    ctx_free(c);
}

static void test_frame_edges(void) {
    uint32_t f;
    Ctx *c = context_with("one\n", &f);
    diag(c, DIAG_SYNTAX, (Span){ f, 4, 4 }, "unexpected end");
    CHECK(is(printed(c), "a.net:2:1: error: unexpected end [syntax]\n    2 |\n      | ^\n1 error\n"));
    ctx_free(c);
    char line[1000];
    memset(line, 'a', sizeof line);
    line[999] = '\0';
    line[500] = 'X';
    c = context_with(line, &f);
    diag(c, DIAG_SYNTAX, (Span){ f, 500, 501 }, "far");
    const char *text = printed(c);
    CHECK(strstr(text, "| ...aaaa") && strstr(text, "aaa...\n"));
    CHECK(strchr(strchr(text, '\n') + 1, 'X') - strchr(text, '|') == strchr(text, '^') - strchr(strchr(text, '|') + 1, '|'));
    ctx_free(c);
}

static void test_frames_of_elaboration(void) {
    uint32_t f;
    Ctx *c = context_with("one two\n", &f);
    for (int i = 0; i < 5; i++)
        diag_push_frame(c, (Span){ f, 0, 3 }, "level %d", i);
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 4, 7 }, "w");
    diag_pop_frame(c);
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 4, 7 }, "w");   /* the same thing is not said again */
    const char *text = printed(c);
    CHECK(strstr(text, "level 4") && strstr(text, "level 2") && !strstr(text, "level 1"));
    CHECK(strstr(text, "      = note: ... 2 more\n1 warning\n") != NULL);
    ctx_free(c);
}

static void test_limits_and_levels(void) {
    uint32_t f;
    Ctx *c = context_with("abcdef\n", &f);
    c->max_errors = 2;
    c->message_format = MESSAGE_SHORT;
    diag(c, DIAG_SYNTAX, (Span){ f, 0, 1 }, "first");
    CHECK(diag_failed(c));
    diag(c, DIAG_SYNTAX, (Span){ f, 1, 2 }, "second");
    CHECK(!diag_full(c));
    diag(c, DIAG_SYNTAX, (Span){ f, 2, 3 }, "third");
    CHECK(diag_full(c));
    diag_set_level(c, DIAG_UNUSED_NAME, 0);
    diag(c, DIAG_UNUSED_NAME, (Span){ f, 2, 3 }, "quiet");
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 2, 3 }, "loud");
    CHECK(is(printed(c), "a.net:1:1: error: first [syntax]\na.net:1:2: error: second [syntax]\n"
                         "a.net:1:3: warning: loud [unused-value]\n"
                         "too many errors: stopped after 2; --max-errors=0 shows all\n2 errors, 1 warning\n"));
    ctx_free(c);
    c = context_with("abc", &f);
    diag_warnings_as_errors(c);
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 0, 1 }, "w");
    CHECK(diag_failed(c));
    ctx_free(c);
}

static void test_sorting(void) {
    uint32_t f;
    Ctx *c = context_with("abc\n", &f);
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 2, 3 }, "last");
    diag(c, DIAG_UNUSED_VALUE, (Span){ f, 0, 1 }, "first");
    c->message_format = MESSAGE_JSON;
    FILE *saved = stderr;
    char *text = NULL;
    size_t n = 0;
    stderr = open_memstream(&text, &n);
    diag_finish(c);
    fclose(stderr);
    stderr = saved;
    const char *first = strstr(text, "first"), *last = strstr(text, "last");
    CHECK(first && last && first < last);
    CHECK(strstr(text, "{\"type\": \"summary\", \"errors\": 0, \"warnings\": 2, \"complete\": true}\n") != NULL);
    CHECK(strstr(text, "\"byte_start\": 0, \"byte_end\": 1, \"line\": 1, \"column\": 1") != NULL);
    ctx_free(c);
    free(text);
}

static void test_outfile(void) {
    Ctx *c = ctx_new();
    char folder[] = P_tmpdir "/netc-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    const char *path = arena_printf(c->perm, "%s/out", folder), *link = arena_printf(c->perm, "%s/link", folder);
    CHECK(outfile_write(c, path, "one", 3));
    CHECK(chmod(path, 0640) == 0 && symlink(path, link) == 0);
    CHECK(outfile_write(c, link, "two\n", 4));            /* through the link, keeping the mode */
    const char *why;
    uint32_t f = source_read(c, path, &why);
    CHECK(f && source_get(c, f)->len == 4 && strcmp(source_get(c, f)->text, "two\n") == 0);
    CHECK(source_read(c, link, &why) == f);               /* one file under two names is one source */
    struct stat st;
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
    CHECK(outfile_write(c, "/dev/null", "x", 1));
    CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(source_read(c, folder, &why) == 0 && strcmp(why, "it is a directory") == 0);
    unlink(link);
    unlink(path);
    CHECK(rmdir(folder) == 0);                            /* no temporary is left */
    ctx_free(c);
}

int main(void) {
    Arena *a = arena_new();
    test_json(a);
    test_positions();
    test_frame();
    test_frame_edges();
    test_frames_of_elaboration();
    test_limits_and_levels();
    test_sorting();
    test_outfile();
    arena_free(a);
    return check_done();
}
