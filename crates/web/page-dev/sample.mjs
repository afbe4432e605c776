// Sample data for the mock: a plan, its evidence, runs, and what two agents say.

const TITLES = [
  ['schema', 'Design the database schema', [], 'done'], ['migrate', 'Write the first migration', ['schema'], 'done'],
  ['auth-model', 'Users, sessions and password hashes', ['migrate'], 'done'], ['http', 'HTTP server with routing', [], 'done'],
  ['login', 'Log in and log out', ['auth-model', 'http'], 'active'], ['catalog', 'List products with paging', ['migrate', 'http'], 'active'],
  ['search', 'Full-text search in the catalog', ['catalog'], 'open'], ['cart', 'Cart in the session', ['login', 'catalog'], 'open'],
  ['prices', 'Prices with tax by country', ['catalog'], 'waiting'], ['checkout', 'Checkout with address form', ['cart', 'prices'], 'open'],
  ['pay', 'Pay by card', ['checkout'], 'open'], ['mail', 'Order confirmation by mail', ['pay'], 'open'], ['admin', 'Admin: orders of the day', ['pay'], 'open'],
  ['images', 'Resize product images', ['catalog'], 'failed'], ['cache', 'Cache catalog pages', ['catalog'], 'waiting'], ['logs', 'Structured request logs', ['http'], 'done'],
  ['metrics', 'Metrics endpoint', ['logs'], 'open'], ['ratelimit', 'Limit login attempts', ['login'], 'open'], ['i18n', 'Texts in German and French', [], 'open'],
  ['a11y', 'Keyboard paths through the checkout', ['checkout'], 'open'], ['docs', 'Write the README', [], 'open'],
];

const at = (from, minutes) => new Date(from + minutes * 60_000).toISOString().replace(/\.\d+/, '');

/** The tasks of the plan; more than 21 are made up. */
export function makeTasks(n, now) {
  const own = TITLES.slice(0, n).map(([id, title, deps, status], at_) => ({ id, title, deps, status, at_ }));
  const state = k => (k % 10 < 6 ? 'done' : k % 97 === 0 ? 'failed' : 'open');
  for (let k = own.length; k < n; k += 1) own.push({ id: `task-${k}`, title: `Make part ${k} of the import work for every kind of row`, deps: k % 3 ? [`task-${k - 1}`] : [], status: state(k), at_: k });
  const done = new Set(own.filter(task => task.status === 'done').map(task => task.id));
  return own.map(({ at_, ...task }) => ({
    description: '', priority: at_ % 5, parent: null, feature: at_ % 4 ? null : 'shop', retry_count: task.status === 'failed' ? 2 : 0, created_at: at(now, -300), ...task,
    status: task.status === 'open' && task.deps.some(dep => !done.has(dep)) ? 'blocked' : task.status,
  }));
}

export function countsOf(tasks) {
  const counts = { open: 0, active: 0, done: 0, blocked: 0, deleted: 0, failed: 0, waiting: 0 };
  for (const task of tasks) counts[task.status] += 1;
  return counts;
}

export function makeGraph(tasks, limit) {
  const some = tasks.filter(task => task.status !== 'done').slice(0, limit).concat(tasks.filter(task => task.status === 'done').slice(0, 8));
  const layer = new Map();
  const depth = task => {
    if (!layer.has(task.id)) {
      layer.set(task.id, 0);
      layer.set(task.id, Math.max(0, ...task.deps.map(id => some.find(one => one.id === id)).filter(Boolean).map(one => depth(one) + 1)));
    }
    return layer.get(task.id);
  };
  some.forEach(depth);
  const rows = new Map();
  const critical = ['login', 'cart', 'checkout', 'pay', 'mail'].filter(id => layer.has(id));
  const nodes = some.map(({ id, title, status }) => {
    const row = rows.get(layer.get(id)) ?? 0;
    rows.set(layer.get(id), row + 1);
    return { id, title, status, layer: layer.get(id), row, critical: critical.includes(id) };
  });
  const edges = some.flatMap(task => task.deps.filter(id => layer.has(id)).map(id => [id, task.id]));
  return { version: 1, total: tasks.length, shown: nodes.length, hidden: Math.max(0, tasks.filter(task => task.status !== 'done').length - limit), nodes, edges, critical };
}

export const PATCH = `diff --git a/src/session.rs b/src/session.rs
index 3f1a2c..9b0d11 100644
--- a/src/session.rs
+++ b/src/session.rs
@@ -12,9 +12,14 @@ impl Session {
     pub fn open(user: UserId, now: Timestamp) -> Self {
-        Self { user, began: now }
+        Self { user, began: now, ends: now.plus_hours(12) }
     }
 
-    pub fn is_open(&self) -> bool {
-        true
+    /// A session ends by itself.
+    pub fn is_open(&self, now: Timestamp) -> bool {
+        now < self.ends
+    }
+
+    pub fn close(&mut self, now: Timestamp) {
+        self.ends = now;
     }
 }
diff --git a/tests/session.rs b/tests/session.rs
new file mode 100644
--- /dev/null
+++ b/tests/session.rs
@@ -0,0 +1,5 @@
+#[test]
+fn a_closed_session_is_not_open() {
+    let mut session = Session::open(ada(), noon());
+    session.close(noon());
+}
`;

export function makeAttempts(tasks, now) {
  const models = ['sonnet', 'sonnet', 'opus', 'haiku'];
  const attempts = [];
  tasks.filter(task => ['done', 'failed', 'active', 'waiting'].includes(task.status)).slice(0, 60).forEach((task, k) => {
    const tries = task.status === 'failed' ? 3 : k % 3 === 1 ? 2 : 1;
    for (let n = 1; n <= tries; n += 1) {
      const last = n === tries;
      const start = -250 + k * 18 + n * 7;
      const outcome = !last ? 'red' : { done: 'done', failed: 'task-failed', waiting: 'approval' }[task.status];
      attempts.push({
        id: `a-${task.id}${n}`, number: n, task: task.id, run: k < 3 ? 'r-aaaa2345' : 'r-bbbb2345', agent: `agent-${k % 2}`, generation: n, model: models[(k + n) % 4], sandbox: 'full',
        started_at: at(now, start), duration_ms: (5 + ((k * 7 + n) % 9)) * 60_000,
        end: task.status === 'active' && last ? null : {
          at: at(now, start + 5 + ((k * 7 + n) % 9)), outcome, detail: last ? (task.status === 'failed' ? 'No decoder for AVIF can be installed in the sandbox.' : '') : 'gate test failed (exit code 101): 2 tests failed', commit: last && task.status === 'done' ? 'b0b5b53581bb5dba1e0e30a82b2c810070223192' : null,
          input_tokens: 30_000 + k * 4100, output_tokens: 2_000 + k * 310, cost_micro_usd: 120_000 + k * 23_000,
          changed: { files: [{ path: 'src/session.rs', added: 8, removed: 3 }, { path: 'tests/session.rs', added: 5, removed: 0 }], more: 0 }, said: 'Sessions now end by themselves after 12 hours.\n<task-done>', fingerprint: null,
        },
      });
    }
  });
  return attempts;
}

export function makeTask(task, tasks, attempts, now) {
  const own = attempts.filter(one => one.task === task.id);
  const evidence = own.filter(one => one.end).flatMap(one => {
    const bad = one.end.outcome === 'red';
    const row = (judge, verdict, digest, exit_code) => ({ task: task.id, attempt: one.id, tree: '', judge, verdict, exit_code, duration_ms: 4200, digest, at: one.end.at });
    return [row('lint', 'pass', '', 0), row('test', bad ? 'fail' : 'pass', bad ? 'running 41 tests\ntest session::ends_by_itself ... FAILED\n\nassertion `left == right` failed\n  left: 12\n right: 24\n\ntest result: FAILED. 39 passed; 2 failed' : '', bad ? 101 : 0),
      ...(bad ? [] : [row('verifier', 'pass', 'The session ends after 12 hours, and the test covers `close`. Nothing else changed.', null)])];
  });
  const totals = { attempts: own.length, duration_ms: 0, input_tokens: 0, output_tokens: 0, cost_micro_usd: 0 };
  for (const one of own) if (one.end) { totals.duration_ms += one.duration_ms; for (const key of ['input_tokens', 'output_tokens', 'cost_micro_usd']) totals[key] += one.end[key]; }
  return {
    ready: task.status === 'open', category: null, spec: null, ref: null, branch: null, touches: [], steps: ['Write the failing test', 'Make it pass'], children: 0, assignee: null, generation: own.length,
    reason: task.status === 'failed' ? 'No decoder for AVIF can be installed in the sandbox.' : null, result: task.status === 'done' ? { commit: 'b0b5b53581bb5dba1e0e30a82b2c810070223192' } : null, verification_status: null,
    updated_at: at(now, -20), done_at: task.status === 'done' ? at(now, -20) : null, ...task,
    description: task.description || 'Sessions have no end today.\n\n- End a session **12 hours** after it began.\n- `Session::close` ends it at once.',
    log: [{ at: at(now, -300), by: 'user', kind: 'created', text: '' }, { at: at(now, -60), by: 'agent-0', kind: 'claimed', text: '' }, { at: at(now, -40), by: 'user', kind: 'message', text: 'Keep the old cookie name, please.' }],
    attempts: own, evidence, totals, last_failure: null,
    questions: task.id === 'prices' ? [{ id: 'q-7hd2', task: 'prices', by: 'agent-0', text: QUESTION, asked_at: at(now, -12), answer: null, answered_at: null }] : [],
    blockers: task.deps.map(id => tasks.find(one => one.id === id)).filter(Boolean), dependents: tasks.filter(one => one.deps.includes(task.id)).slice(0, 20), blocker_results: {},
  };
}

export const QUESTION = 'Are the prices in the list of the supplier net or gross? The file says neither, and the two examples in the README contradict each other.';

/** What an agent does, again and again: `[milliseconds, change]`. */
export const SCRIPT = [
  ['thinking', 'The login form needs a session first. Let me look at how sessions are kept today, and whether anything else depends on `is_open` without a clock. '],
  ['text', 'I read the session code first, then add an end to every session.'],
  ['tool', 'Read', '{"file_path":"src/session.rs"}', 'impl Session {\n    pub fn open(user: UserId, now: Timestamp) -> Self {\n        Self { user, began: now }\n    }\n}'],
  ['tool', 'Grep', '{"pattern":"is_open\\\\("}', 'src/http.rs:88:    if session.is_open() {\nsrc/admin.rs:19:    .filter(|session| session.is_open())'],
  ['text', 'Two callers. Both have a clock at hand:\n\n```rust\nif session.is_open(clock.now()) {\n```\n\nNow the **change** itself.'],
  ['tool', 'Edit', '{"file_path":"src/session.rs","old_string":"    pub fn is_open(&self) -> bool {\\n        true\\n    }","new_string":"    pub fn is_open(&self, now: Timestamp) -> bool {\\n        now < self.ends\\n    }"}', 'The file src/session.rs has been updated.'],
  ['tool', 'Bash', '{"command":"cargo test session"}', 'running 3 tests\ntest session::ends_by_itself ... ok\ntest session::close ... FAILED\n\nerror: test failed', true],
  ['thinking', 'close sets ends to now, and is_open compares with less than: at the same moment it is closed. The test uses an earlier clock. '],
  ['tool', 'Bash', '{"command":"git diff"}', PATCH],
  ['text', 'All three tests pass now. I run the whole suite before I report the task.'],
];
