/* An agent that talks a lot: the given number of lines as Claude Code prints them, about 275 bytes
 * each (what it says, tools that it calls, what they answer), twelve of a megabyte among them, and a
 * result. The lines are made once and copied, so that the one who reads is what is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS 3
#define LONG 12

static char buffer[64 << 10];
static size_t filled;

static void put(const char *bytes, size_t length) {
    while (length) {
        size_t part = sizeof buffer - filled < length ? sizeof buffer - filled : length;
        memcpy(buffer + filled, bytes, part);
        filled += part, bytes += part, length -= part;
        for (size_t from = 0; filled == sizeof buffer;) {
            ssize_t written = write(1, buffer + from, sizeof buffer - from);
            if (written <= 0) exit(70);
            from += (size_t)written;
            if (from == sizeof buffer) filled = 0;
        }
    }
}

static void flush(void) {
    for (size_t from = 0; from < filled;) {
        ssize_t written = write(1, buffer + from, filled - from);
        if (written <= 0) exit(70);
        from += (size_t)written;
    }
    filled = 0;
}

int main(int argc, char **argv) {
    static char line[KINDS][1024], *huge;
    static const char session[] = "\"session_id\":\"7f5a9a5e-0b1c-4a57-9d2e-3c1f6f0c8b11\"";
    const char *task = getenv("RALPH_TASK_ID");
    size_t length[KINDS], huge_length;
    long lines = 730772;
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("2.1.325 (Claude Code)");
        return 0;
    }
    if (argc == 2 && atol(argv[1]) > 0) lines = atol(argv[1]);
    length[0] = (size_t)sprintf(line[0],
        "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_01\",\"model\":\"claude-opus-4-5\",\"content\":[{\"type\":\"text\","
        "\"text\":\"The test fails because the buffer is \\\"full\\\":\\nI will make it grow.\"}],"
        "\"usage\":{\"input_tokens\":3,\"output_tokens\":17}},%s}\n", session);
    length[1] = (size_t)sprintf(line[1],
        "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_02\",\"model\":\"claude-opus-4-5\",\"content\":[{\"type\":\"tool_use\","
        "\"id\":\"toolu_01\",\"name\":\"Bash\",\"input\":{\"command\":\"cargo test -p parser\"}}],"
        "\"usage\":{\"input_tokens\":3,\"output_tokens\":17}},%s}\n", session);
    length[2] = (size_t)sprintf(line[2],
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01\","
        "\"is_error\":false,\"content\":\"running 12 tests\\ntest grows ... ok\\ntest result: ok. 12 passed\"}]},%s}\n",
        session);
    huge = malloc(2 << 20);
    huge_length = (size_t)sprintf(huge,
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_02\",\"content\":\"");
    while (huge_length < 1 << 20) huge_length += (size_t)sprintf(huge + huge_length, "a line of a long file\\n");
    huge_length += (size_t)sprintf(huge + huge_length, "\"}]},%s}\n", session);
    for (long n = 0; n < lines; n++) {
        if (n % (lines / LONG + 1) == lines / LONG / 2) put(huge, huge_length);
        else put(line[n % KINDS], length[n % KINDS]);
    }
    static char result[1024];
    put(result, (size_t)sprintf(result,
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":3,\"total_cost_usd\":0.5,"
        "\"usage\":{\"input_tokens\":3,\"output_tokens\":17},\"result\":\"<task-done>%s</task-done>\",%s}\n",
        task ? task : "none", session));
    flush();
    return 0;
}
