/* measure.c - runs a command several times and prints the least wall time in ms, the resident memory in MB (10^6) and the least
 * processor time in ms:
 *   measure RUNS COMMAND ARGS...
 * Standard output and error of the command go nowhere. Exit status 1 when a run fails. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* wait4 is older than POSIX and in every libc. */
pid_t wait4(pid_t, int *, int, struct rusage *);

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double processor_ms(const struct rusage *use) {
    return ((double)use->ru_utime.tv_sec + (double)use->ru_stime.tv_sec) * 1e3 +
           ((double)use->ru_utime.tv_usec + (double)use->ru_stime.tv_usec) * 1e-3;
}

static void run_child(char **argv) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0) _exit(127);
    execvp(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv) {
    int runs = argc > 2 ? atoi(argv[1]) : 0;
    double best = -1, least = -1;
    long most = 0;
    if (runs < 1) {
        fprintf(stderr, "usage: measure RUNS COMMAND ARGS...\n");
        return 2;
    }
    for (int i = 0; i < runs; i++) {
        struct rusage use;
        int status;
        double start = now_ms();
        pid_t child = fork();
        if (child == 0) run_child(argv + 2);
        if (child < 0 || wait4(child, &status, 0, &use) != child) return 1;
        double took = now_ms() - start;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
        if (best < 0 || took < best) best = took;
        if (least < 0 || processor_ms(&use) < least) least = processor_ms(&use);
        if (use.ru_maxrss > most) most = use.ru_maxrss;
    }
    printf("%.1f %.1f %.1f\n", best, (double)most * 1024 / 1e6, least);
    return 0;
}
