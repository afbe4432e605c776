/* Runs a program to its end and writes what it took into a file: nanoseconds, and the kilobytes of
 * memory of the largest process of it. Small itself, because a new process counts what it came from.
 *
 *   measure FILE PROGRAM ARGUMENT… */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    struct rusage used;
    int status;
    if (argc < 3) return 64;
    double start = now();
    pid_t child = fork();
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child) return 70;
    double took = now() - start;
    FILE *file = fopen(argv[1], "w");
    if (!file) return 73;
    fprintf(file, "%.0f %ld\n", took, used.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
}
