/* check.h - for unit tests: CHECK reports a false expression and goes on; check_done() is what main returns. */
#ifndef NETC_TESTS_CHECK_H
#define NETC_TESTS_CHECK_H

#include <stdio.h>

static int check_made, check_failed;

#define CHECK(expr) (check_made++, (expr) ? (void)0 : check_fail(__FILE__, __LINE__, #expr))

static inline void check_fail(const char *file, int line, const char *expr)
{
    check_failed++;
    fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, expr);
}

/* A test without a check proves nothing and fails. */
static inline int check_done(void)
{
    if (!check_made)
        fprintf(stderr, "no CHECK was reached\n");
    return check_made == 0 || check_failed != 0;
}

#endif
