/* mapfile.c - large files, mapped and read where they are: pages come in when they are touched and cost no memory of
 * ours. Who cuts a file short while it is mapped gets what the system does about that, a bus error; who does so before
 * meets checks of its size. Only regular files can be mapped. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool map_open(int fd, MappedFile *f, const char **why) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        *why = strerror(errno);
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        *why = S_ISDIR(st.st_mode) ? "it is a directory" : "it is no regular file";
        return false;
    }
    f->size = (uint64_t)st.st_size;
    if (f->size == 0)
        return true;
    void *p = f->size > SIZE_MAX ? MAP_FAILED : mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, fd, 0);
    *why = strerror(errno);
    f->bytes = p == MAP_FAILED ? NULL : p;
    return f->bytes != NULL;
}

bool file_map(const char *path, MappedFile *f, const char **why) {
    *f = (MappedFile){ 0 };
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        *why = strerror(errno);
        return false;
    }
    bool ok = map_open(fd, f, why);
    close(fd);
    return ok;
}

void file_unmap(MappedFile *f) {
    if (f->bytes)
        munmap((void *)(uintptr_t)f->bytes, (size_t)f->size);
    *f = (MappedFile){ 0 };
}
