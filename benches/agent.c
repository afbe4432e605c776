/* The least that an agent can do: writes down when it began, and says that its task is done. Built
 * with STAMPS, the file that takes the times; with WORK it also leaves a file to commit. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void stamp(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t nanos = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    int file = open(STAMPS, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, &nanos, sizeof nanos) != sizeof nanos) exit(70);
    close(file);
}

int main(int argc, char **argv) {
    static char text[2048];
    const char *task = getenv("RALPH_TASK_ID");
    int length;
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("2.1.325 (Claude Code)");
        return 0;
    }
    stamp();
    if (!task) task = "none";
#ifdef WORK
    int file = open("work.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, task, strlen(task)) < 0) return 70;
    close(file);
#endif
    length = snprintf(text, sizeof text,
        "{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"none\",\"claude_code_version\":\"2.1.325\"}\n"
        "{\"type\":\"assistant\",\"message\":{\"id\":\"m1\",\"model\":\"none\",\"content\":[{\"type\":\"text\","
        "\"text\":\"<task-done>%s</task-done>\"}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n"
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":1,\"num_turns\":1,"
        "\"total_cost_usd\":0,\"usage\":{\"input_tokens\":1,\"output_tokens\":1},"
        "\"result\":\"<task-done>%s</task-done>\"}\n", task, task);
    return write(1, text, (size_t)length) == length ? 0 : 70;
}
