// Serves the page with sample data and a simulated run: node crates/web/page-dev/mock.mjs [--port N] [--tasks N] [--empty]
// [--read-only] [--fast]. For work on the page only: ralph serve is the server.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { countsOf, makeAttempts, makeGraph, makeTask, makeTasks, PATCH, QUESTION, SCRIPT } from './sample.mjs';

const option = (name, usual) => { const at = process.argv.indexOf(name); return at < 0 ? usual : Number(process.argv[at + 1]); };
const has = name => process.argv.includes(name);
const [PORT, COUNT, EMPTY] = [option('--port', 8377), has('--empty') ? 0 : option('--tasks', 21), has('--empty')];
const STEP = has('--fast') ? 4 : 60;
const PAGE = new URL('../page/', import.meta.url);
const MIME = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

const began = Date.now();
const time = (minutes = 0) => new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+/, '');
let tasks = makeTasks(COUNT, began);
const attempts = makeAttempts(tasks, began);
let version = 1;

const run = {
  run: 'r-bbbb2345', target: 'all tasks', mode: 'build', preset: 'dag', agent: 'claude', fallback: ['codex'], level: 'full', gates: ['lint', 'test'], verifier: 'claude (opus)', max_sessions: 40,
  budget: { micro_usd: 10_000_000, tokens: 0, time_ms: 6 * 3600_000, task_micro_usd: 0, day_micro_usd: 0 }, head: '5773c7d82f114833d5b0fdf002ac0952d7c921fe', resumed_after: null, kept: [], started_at: time(-74), last_at: time(),
  counts: countsOf(tasks), slots: [0, 1].map(() => ({ doing: 'idle', since: time(), iteration: 0, task: null, about: null, model: null, waiting: null })), successful: 9, failed: 3,
  usage: { input_tokens: 812_000, output_tokens: 48_200, cost_micro_usd: 6_420_000, turns: null, requests: null }, unpriced: 0, finished: 6, worked_ms: 4_000_000, earlier: { tasks: 0, micro_usd: null, millis: 0 },
  commits: [['72f8a90aaa', 'build: iteration 9 - Structured request logs'], ['b0b5b53581', 'build: iteration 8 - HTTP server with routing']].map(([id, subject]) => ({ id, subject })), commit_count: 2,
  questions: COUNT ? [{ id: 'q-7hd2', task: 'prices', text: QUESTION }] : [], failed_tasks: COUNT ? [{ id: 'images', title: 'Resize product images', reason: 'No decoder for AVIF can be installed in the sandbox.' }] : [],
  held_tasks: COUNT ? [{ id: 'cache', title: 'Cache catalog pages', reason: 'waiting for your approval', approval: true }] : [], saved: [], saved_start: null, planned: null, warnings: [], last_error: null, paused: false, cancel: null, stopping: null,
  publication: null, watched: null, review: null, outcome: null,
};
const live = { runs: EMPTY ? [] : [{ name: '', left: false, ended: false, view: run }] };
const transcripts = [{ base: 0, entries: [] }, { base: 0, entries: [] }];
const viewers = new Set();
const send = (kind, data) => { for (const one of viewers) one.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`); };
const view = () => ({ at: Date.now(), version, ...live });
const said = (slot, from) => send('said', { run: 0, slot, from: transcripts[slot].base + from, entries: transcripts[slot].entries.slice(from) });
const pause = ms => new Promise(done => { setTimeout(done, ms); });

function push(slot, entry) {
  const { entries } = transcripts[slot];
  entries.push({ at: time(), ...entry });
  if (entries.length > 2000) transcripts[slot].base += entries.splice(0, entries.length - 2000).length;
  said(slot, entries.length - 1);
  return entries.at(-1);
}

async function speak(slot, kind, text) {
  const entry = push(slot, { said: kind, text: '' });
  for (const word of text.split(/(?<= )/)) {
    entry.text += word;
    said(slot, transcripts[slot].entries.length - 1);
    await pause(STEP);
  }
}

/** One slot of the simulated run: sessions, gates, verifier, landing, and again. */
async function work(slot, ids) {
  for (let round = 0; ; round += 1) {
    const task = tasks.find(one => one.id === ids[round % ids.length]);
    const own = run.slots[slot];
    const to = (doing, more = {}) => { Object.assign(own, { doing, since: time(), tool: undefined, gate: undefined }, more); send('view', view()); };
    to('starting', { iteration: 12 + round * 2 + slot, task: { id: task.id, title: task.title, attempt: 1 + (round % 2) }, model: slot ? 'opus' : 'sonnet' });
    await pause(STEP * 8);
    push(slot, { said: 'session', verifier: false, title: task.title });
    to('working');
    for (const [kind, text, input, result, bad] of SCRIPT) {
      if (kind !== 'tool') { await speak(slot, kind, text); continue; }
      const entry = push(slot, { said: 'tool', name: text, input, result: null, is_error: false });
      to('working', { tool: { name: text, since: time() } });
      await pause(STEP * 20);
      Object.assign(entry, { result, is_error: !!bad });
      said(slot, transcripts[slot].entries.indexOf(entry));
      run.usage.cost_micro_usd += 4000;
      to('working');
    }
    for (const gate of run.gates) { to('judging', { gate }); await pause(STEP * 40); }
    to('verifying');
    push(slot, { said: 'session', verifier: true, title: task.title });
    await speak(slot, 'text', 'The change does what the task asks, and its test fails without it.');
    to('integrating');
    await pause(STEP * 20);
    run.successful += 1;
    to('idle', { iteration: 0, task: null });
  }
}
if (!EMPTY && COUNT) { work(0, ['login', 'cart']); setTimeout(() => work(1, ['catalog', 'search']), 900); }

const status = () => ({
  state: EMPTY ? 'stopped' : 'running', pid: 4711, run: EMPTY ? null : run, counts: countsOf(tasks), forecast: EMPTY ? null : { tasks: 15, cost_micro_usd: 9_300_000, duration_ms: 5_220_000, from_tasks: 6 }, level: 'full', questions: run.questions,
  waiting: run.held_tasks.map(task => ({ task: task.id, reason: task.reason, approval: true })), last_error: null, commits: EMPTY ? [] : run.commits, next: EMPTY ? ['ralph plan', 'ralph build'] : ['ralph answer q-7hd2 "…"', 'ralph diff cache', 'ralph approve cache'], at: time(),
});
const row = (id, ago, end, state) => ({ run: id, started_at: time(-ago), duration_ms: 4_420_000, command: 'build', preset: 'dag', target: 'all tasks', branch: null, agent: 'claude', iterations: 12, done: 6, failed: 1, commits: 6, cost_micro_usd: 6_420_000, unpriced: 0, outcome: end && 'Cancelled', ended: end, state });
const runs = () => (EMPTY ? [] : [row('r-bbbb2345', 74, null, 'running'), row('r-aaaa2345', 260, 'Finished: 5 done, 1 failed (see: ralph task show images).', 'ended'), row('r-zzzz2345', 1500, 'Stopped: budget used up ($5.00 of $5.00).', 'ended')]);

function list(query) {
  const states = query.get('status')?.split(',');
  const text = (query.get('q') ?? '').toLowerCase();
  const found = tasks.filter(task => (!states || states.includes(task.status)) && (!text || task.id.includes(text) || task.title.toLowerCase().includes(text)));
  if (query.get('sort') === 'priority') found.sort((a, b) => a.priority - b.priority);
  const offset = Number(query.get('offset'));
  return { version, total: found.length, counts: countsOf(tasks), tasks: found.slice(offset, offset + Number(query.get('limit') ?? 100)) };
}

function act(action) {
  if (action.do === 'pause' || action.do === 'resume') run.paused = action.do === 'pause';
  else if (action.do === 'cancel') run.cancel = action.after;
  else if (action.do === 'answer') run.questions = [];
  else if (action.do === 'approve' || action.do === 'reject') run.held_tasks = [];
  else if (action.do === 'add') tasks.push({ ...tasks[0], id: `task-${tasks.length}`, status: 'open', deps: action.deps, title: action.title, description: action.description, priority: action.priority ?? 2, retry_count: 0 });
  else if (action.do === 'edit') for (const key of ['title', 'description', 'priority']) { if (action[key] != null) tasks.find(task => task.id === action.task)[key] = action[key]; }
  else if (action.do === 'delete') tasks = tasks.filter(task => task.id !== action.task);
  else if (action.do === 'skip') return [409, { error: { message: `${action.task} is not being worked on`, hints: ['see: ralph status'] } }];
  version += 1;
  send('view', view());
  send('plan', { version });
  return [200, { message: `Done: ${action.do}` }];
}

function answer(path, query) {
  const [, , what, id, part] = path.split('/').map(decodeURIComponent);
  const task = what === 'tasks' && id ? tasks.find(one => one.id === id) : null;
  const lost = text => [404, { error: { message: text, hints: [] } }];
  switch (what) {
    case 'session': return [200, { repository: '/home/you/shop', name: 'shop', read_only: has('--read-only'), version: '0.1.0', frozen: false }];
    case 'status': return [200, status()];
    case 'graph': return [200, makeGraph(tasks, 300)];
    case 'report': return [200, { tasks: [], models: [], days: [], total: {}, attempts, sessions: [] }];
    case 'runs': return id ? [200, { view: { ...run, outcome: id === run.run ? null : {} }, transcripts: transcripts.map((one, slot) => ({ slot, entries: one.entries.slice(0, 300) })) }] : [200, runs()];
    case 'tasks':
      if (!id) return [200, list(query)];
      if (!task) return lost(`there is no task ${id}`);
      return part === 'diff' ? [200, { diff: PATCH }] : [200, makeTask(task, tasks, attempts, began)];
    default: return lost('no such address');
  }
}

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const json = ([code, body]) => { response.writeHead(code, { 'Content-Type': 'application/json' }); response.end(JSON.stringify(body)); };
  if (pathname === '/api/live') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    viewers.add(response);
    request.on('close', () => viewers.delete(response));
    response.write(`event: view\ndata: ${JSON.stringify(view())}\n\n`);
    transcripts.forEach((one, slot) => { if (one.entries.length) response.write(`event: said\ndata: ${JSON.stringify({ run: 0, slot, from: one.base, entries: one.entries })}\n\n`); });
  } else if (pathname === '/api/action') {
    let body = '';
    for await (const part of request) body += part;
    json(act(JSON.parse(body)));
  } else if (pathname.startsWith('/api/')) json(answer(pathname, searchParams));
  else {
    try {
      const bytes = await readFile(new URL(`.${pathname === '/' ? '/index.html' : pathname}`, PAGE));
      response.writeHead(200, { 'Content-Type': MIME[pathname === '/' ? 'html' : pathname.split('.').at(-1)], 'Content-Security-Policy': CSP, 'Cache-Control': 'no-store' });
      response.end(bytes);
    } catch {
      response.writeHead(404);
      response.end();
    }
  }
}).listen(PORT, '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}/`));
