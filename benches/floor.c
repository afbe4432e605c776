/* The least that a task store can do: one SQLite file, a blocker counter and a partial index. No
 * arguments are checked and no rule is kept. The benchmark measures it beside ralph, process for
 * process, with the same SQLite and the same synchronous setting: it is the limit.
 *
 *   floor DB load < lines "id deps…"   floor DB ready N   floor DB claim AGENT   floor DB done ID */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite3.h"

static sqlite3 *db;

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(db, sql, 0, 0, 0) != SQLITE_OK) die(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, 0) != SQLITE_OK) die(sql);
    return statement;
}

static void load(void) {
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE tasks (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, title TEXT, priority INTEGER,"
        " status INTEGER, agent TEXT, lease INTEGER, blockers INTEGER);"
        "CREATE TABLE deps (task INTEGER, blocker INTEGER, PRIMARY KEY (task, blocker)) WITHOUT ROWID;"
        "CREATE INDEX deps_by_blocker ON deps (blocker);"
        "CREATE INDEX ready ON tasks (priority, seq) WHERE status = 0 AND blockers = 0;"
        "BEGIN");
    sqlite3_stmt *task = prepare("INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, 0, NULL, NULL, ?5)");
    sqlite3_stmt *dep = prepare("INSERT OR IGNORE INTO deps VALUES (?1, ?2)");
    static char line[4096];
    int seq = 0;
    while (fgets(line, sizeof line, stdin)) {
        int count = 0, blocker;
        char id[32], title[256];
        seq++;
        char *word = strtok(line, " \n");
        snprintf(id, sizeof id, "%s", word);
        memset(title, 'x', 150);
        title[150] = 0;
        while ((word = strtok(0, " \n"))) {
            blocker = atoi(word);
            sqlite3_bind_int(dep, 1, seq);
            sqlite3_bind_int(dep, 2, blocker);
            sqlite3_step(dep);
            sqlite3_reset(dep);
            count++;
        }
        sqlite3_bind_int(task, 1, seq);
        sqlite3_bind_text(task, 2, id, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(task, 3, title, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int(task, 4, seq % 5);
        sqlite3_bind_int(task, 5, count);
        if (sqlite3_step(task) != SQLITE_DONE) die("insert");
        sqlite3_reset(task);
    }
    run("COMMIT");
}

static void ready(const char *limit) {
    sqlite3_stmt *s = prepare("SELECT id, priority, title FROM tasks WHERE status = 0 AND blockers = 0"
                              " ORDER BY priority, seq LIMIT ?1");
    sqlite3_bind_int(s, 1, atoi(limit));
    while (sqlite3_step(s) == SQLITE_ROW)
        printf("%s %d %s\n", sqlite3_column_text(s, 0), sqlite3_column_int(s, 1), sqlite3_column_text(s, 2));
    sqlite3_finalize(s);
}

static int claim(const char *agent) {
    run("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
    sqlite3_stmt *s = prepare("UPDATE tasks SET status = 1, agent = ?1, lease = 600 WHERE seq ="
                              " (SELECT seq FROM tasks WHERE status = 0 AND blockers = 0"
                              "  ORDER BY priority, seq LIMIT 1) RETURNING id");
    sqlite3_bind_text(s, 1, agent, -1, SQLITE_STATIC);
    int found = sqlite3_step(s) == SQLITE_ROW;
    if (found) printf("%s\n", sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    run("COMMIT");
    return found ? 0 : 2;
}

static void done(const char *id) {
    run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    sqlite3_stmt *s = prepare("UPDATE tasks SET status = 2 WHERE id = ?1 RETURNING seq");
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    int seq = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
    sqlite3_finalize(s);
    s = prepare("UPDATE tasks SET blockers = blockers - 1 WHERE seq IN (SELECT task FROM deps WHERE blocker = ?1)");
    sqlite3_bind_int(s, 1, seq);
    sqlite3_step(s);
    sqlite3_finalize(s);
    run("COMMIT");
}

int main(int argc, char **argv) {
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) die("open");
    sqlite3_busy_timeout(db, 60000);
    int code = 0;
    if (!strcmp(argv[2], "load")) load();
    else if (!strcmp(argv[2], "ready")) ready(argv[3]);
    else if (!strcmp(argv[2], "claim")) code = claim(argv[3]);
    else if (!strcmp(argv[2], "done")) done(argv[3]);
    sqlite3_close(db);
    return code;
}
