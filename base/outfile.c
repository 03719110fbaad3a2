/* outfile.c - writing results: into a temporary beside the target, renamed when it is complete, so that a failed run leaves
 * nothing half-written. A target that is no regular file (a terminal, a pipe, /dev/null) is written directly; a symbolic
 * link is followed. A reader that closed the pipe is a failure without a message: it knows. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static bool failed(const char *what, const char *path) {
    if (errno != EPIPE)
        complain("cannot %s %s:", what, path);
    return false;
}

/* A new file beside the target: TARGET.tmpN with the first free N. */
static int open_temporary(Ctx *c, const char *target, char **name) {
    for (unsigned i = 0; i < 1000; i++) {
        *name = arena_printf(c->perm, "%s.tmp%u", target, i);
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool replace(Ctx *c, const char *path, const char *target, const struct stat *old, const char *text, size_t len) {
    char *name;
    int fd = open_temporary(c, target, &name);
    if (fd < 0)
        return failed("write", path);
    bool ok = (!old || fchmod(fd, old->st_mode & 07777) == 0) && write_all(fd, text, len);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(name, target) != 0) {
        ok = false;
        error = errno;
    }
    if (ok)
        return true;
    unlink(name);
    errno = error;
    return failed("write", path);
}

static bool write_directly(const char *path, const char *text, size_t len) {
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        return failed("write", path);
    bool ok = write_all(fd, text, len);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    errno = error;
    return ok || failed("write", path);
}

bool outfile_write(Ctx *c, const char *path, const char *text, size_t len) {
    if (strcmp(path, "-") == 0)
        return write_all(STDOUT_FILENO, text, len) || failed("write to", "standard output");
    struct stat st;
    if (stat(path, &st) != 0)
        return replace(c, path, path, NULL, text, len);
    if (!S_ISREG(st.st_mode))
        return write_directly(path, text, len);
    char *target = realpath(path, NULL);
    if (!target)
        return failed("write", path);
    bool ok = replace(c, path, target, &st, text, len);
    free(target);
    return ok;
}
