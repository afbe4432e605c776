//! The schema, as a list of migrations that only ever grows. A migration that has been released is
//! never edited: the next change is the next entry.
//!
//! `open_blockers`, `children`, `children_done`, `children_failed` and `failed_above` repeat what the
//! rows say, so that "what is ready?" is a look-up in a partial index and never a scan. Every write
//! that touches them is in `table.rs`; [`DISAGREEING`] finds any row where they are wrong.
//!
//! An index costs every write. There is one for what each command asks, and none for what is asked of
//! the whole plan anyway. Rows of tasks are never removed, so `seq` is the order of creation.

/// Says that the file is ours: "RALF" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x5241_4c46;

/// Each brings the schema from its index to the next number.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2, V3];

/// The schema that this version writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// What the migrations make, entry by entry; a test compares the two. A file that says anything else is not ours.
pub(super) const CURRENT: &str = include_str!("schema.txt");

const V1: &str = "
CREATE TABLE features (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX features_by_name ON features (name);

CREATE TABLE tasks (
  seq                 INTEGER PRIMARY KEY,
  id                  TEXT NOT NULL,
  title               TEXT NOT NULL CHECK (title <> ''),
  description         TEXT NOT NULL DEFAULT '',
  priority            INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9999),
  status              TEXT NOT NULL CHECK (status IN
                        ('pending', 'in_progress', 'waiting', 'done', 'failed', 'deleted')),
  category            TEXT,
  spec                TEXT,
  ref                 TEXT,
  parent              INTEGER REFERENCES tasks (seq),
  feature             TEXT,
  branch              TEXT,
  touches             TEXT,
  steps               TEXT,
  agent               TEXT,
  generation          INTEGER NOT NULL DEFAULT 0,
  claimed_at          INTEGER,
  lease_expires_at    INTEGER,
  retry_count         INTEGER NOT NULL DEFAULT 0,
  reason              TEXT,
  result              TEXT,
  verification_status TEXT,
  open_blockers       INTEGER NOT NULL DEFAULT 0 CHECK (open_blockers >= 0),
  children            INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
  children_done       INTEGER NOT NULL DEFAULT 0 CHECK (children_done >= 0),
  children_failed     INTEGER NOT NULL DEFAULT 0 CHECK (children_failed >= 0),
  failed_above        INTEGER NOT NULL DEFAULT 0 CHECK (failed_above >= 0),
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  done_at             INTEGER,
  CHECK ((status = 'in_progress') = (agent IS NOT NULL)),
  CHECK ((agent IS NULL) = (lease_expires_at IS NULL)),
  CHECK ((status = 'done') = (done_at IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX tasks_by_id ON tasks (id);
CREATE INDEX tasks_ready ON tasks (priority, seq)
  WHERE status = 'pending' AND open_blockers = 0 AND children = 0 AND failed_above = 0;
CREATE INDEX tasks_ready_of_feature ON tasks (feature, priority, seq)
  WHERE feature IS NOT NULL
    AND status = 'pending' AND open_blockers = 0 AND children = 0 AND failed_above = 0;
CREATE INDEX tasks_claimed ON tasks (lease_expires_at) WHERE status = 'in_progress';
CREATE INDEX tasks_by_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_by_status ON tasks (status, open_blockers > 0);
CREATE INDEX tasks_by_feature ON tasks (feature) WHERE feature IS NOT NULL;

CREATE TABLE dependencies (
  task    INTEGER NOT NULL REFERENCES tasks (seq),
  blocker INTEGER NOT NULL REFERENCES tasks (seq),
  PRIMARY KEY (task, blocker),
  CHECK (task <> blocker)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependencies_by_blocker ON dependencies (blocker);

CREATE TABLE task_log (
  seq  INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks (seq),
  at   INTEGER NOT NULL,
  by   TEXT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX task_log_by_task ON task_log (task);

CREATE TABLE attempts (
  seq            INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  task           INTEGER NOT NULL REFERENCES tasks (seq),
  run            TEXT,
  agent          TEXT NOT NULL,
  generation     INTEGER NOT NULL,
  model          TEXT,
  sandbox        TEXT,
  started_at     INTEGER NOT NULL,
  ended_at       INTEGER,
  outcome        TEXT,
  detail         TEXT,
  commit_id      TEXT,
  input_tokens   INTEGER,
  output_tokens  INTEGER,
  cost_micro_usd INTEGER,
  CHECK ((ended_at IS NULL) = (outcome IS NULL))
) STRICT;
CREATE INDEX attempts_by_task ON attempts (task);

CREATE TABLE evidence (
  seq         INTEGER PRIMARY KEY,
  task        INTEGER NOT NULL REFERENCES tasks (seq),
  attempt     TEXT REFERENCES attempts (id),
  tree        TEXT NOT NULL,
  judge       TEXT NOT NULL,
  verdict     TEXT NOT NULL,
  exit_code   INTEGER,
  duration_ms INTEGER NOT NULL,
  digest      TEXT NOT NULL,
  at          INTEGER NOT NULL
) STRICT;
CREATE INDEX evidence_by_task ON evidence (task);

CREATE TABLE agents (
  seq           INTEGER PRIMARY KEY,
  id            TEXT NOT NULL UNIQUE,
  host          TEXT,
  boot_id       TEXT,
  pid           INTEGER,
  pid_started   INTEGER,
  registered_at INTEGER NOT NULL
) STRICT;

CREATE TABLE questions (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  task        INTEGER NOT NULL REFERENCES tasks (seq),
  by          TEXT NOT NULL,
  text        TEXT NOT NULL,
  asked_at    INTEGER NOT NULL,
  answered_at INTEGER,
  answer      TEXT,
  CHECK ((answered_at IS NULL) = (answer IS NULL))
) STRICT;
CREATE INDEX questions_by_task ON questions (task);
";

/// What an attempt left changed, what it said last, and what makes its failure the same as another.
const V2: &str = "
ALTER TABLE attempts ADD COLUMN changed TEXT;
ALTER TABLE attempts ADD COLUMN said TEXT;
ALTER TABLE attempts ADD COLUMN fingerprint TEXT;
";

/// Which agent CLI worked on an attempt.
const V3: &str = "
ALTER TABLE attempts ADD COLUMN program TEXT;
";

/// The ids of tasks whose counters disagree with the rows they count.
pub(super) const DISAGREEING: &str = "
WITH RECURSIVE above (task, ancestor) AS (
  SELECT seq, parent FROM tasks WHERE parent IS NOT NULL
  UNION ALL
  SELECT above.task, t.parent FROM above JOIN tasks t ON t.seq = above.ancestor
   WHERE t.parent IS NOT NULL
)
SELECT t.id FROM tasks t
 WHERE t.open_blockers <> (SELECT count(*) FROM dependencies d JOIN tasks b ON b.seq = d.blocker
                            WHERE d.task = t.seq AND b.status NOT IN ('done', 'deleted'))
    OR t.children <> (SELECT count(*) FROM tasks c WHERE c.parent = t.seq AND c.status <> 'deleted')
    OR t.children_done <> (SELECT count(*) FROM tasks c WHERE c.parent = t.seq AND c.status = 'done')
    OR t.children_failed <> (SELECT count(*) FROM tasks c WHERE c.parent = t.seq AND c.status = 'failed')
    OR t.failed_above <> (SELECT count(*) FROM above a JOIN tasks p ON p.seq = a.ancestor
                           WHERE a.task = t.seq AND p.status = 'failed')
 LIMIT 5";
