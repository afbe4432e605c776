// The only module that gets data: from the server, or from the page itself where it is a frozen one. The others never fetch.
import { ms, setClock, stopClock } from './format.js';
import { stateOf } from './words.js';

const node = document.getElementById('frozen');
export const frozen = node ? JSON.parse(node.textContent) : null;
if (frozen) stopClock(ms(frozen.status?.at) ?? Date.now());

/** Why something did not work: a sentence, and hints. */
export class Failed extends Error {
  constructor(message, hints, status) {
    super(message);
    this.hints = hints ?? [];
    this.status = status;
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: 'same-origin', ...options });
  } catch {
    throw new Failed('ralph does not answer', ['It may have been stopped: ralph serve'], 0);
  }
  let body = null;
  try {
    body = await answer.json();
  } catch {
    // The status says enough.
  }
  if (answer.ok) return body;
  if (answer.status === 401) throw new Failed('This page has no access', ['Open the link that ralph printed when it started the server'], 401);
  throw new Failed(body?.error?.message ?? `The server answered ${answer.status}`, body?.error?.hints, answer.status);
}

const missing = what => new Failed(what, ['It is not part of this report'], 404);

function kept(value, what) {
  if (value === undefined || value === null) throw missing(what);
  return value;
}

export const session = async () => frozen?.session ?? ask('/api/session');
export const status = async () => (frozen ? frozen.status : ask('/api/status'));
export const report = async () => (frozen ? frozen.report : ask('/api/report'));
export const runs = async () => (frozen ? frozen.runs ?? [] : ask('/api/runs'));

export async function run(id) {
  return frozen ? kept(frozen.run?.[id], `There is no run ${id} in this report`) : ask(`/api/runs/${encodeURIComponent(id)}`);
}

export async function task(id) {
  return frozen ? kept(frozen.task?.[id], `There is no task ${id} in this report`) : ask(`/api/tasks/${encodeURIComponent(id)}`);
}

export async function diff(id) {
  if (frozen) return kept(frozen.diff?.[id], `There is no diff of ${id}`);
  return (await ask(`/api/tasks/${encodeURIComponent(id)}/diff`)).diff;
}

export async function graph({ around = '', limit = 300 } = {}) {
  if (frozen) return kept(frozen.graph, 'There is no graph');
  return ask(`/api/graph?${new URLSearchParams({ ...(around && { around }), limit })}`);
}

/** A page of the tasks in a state that match a text. */
export async function tasks({ q = '', status: states = '', sort = 'created', offset = 0, limit = 100 }) {
  if (frozen) return frozenTasks(q, states, offset, limit);
  return ask(`/api/tasks?${new URLSearchParams({ ...(q && { q }), ...(states && { status: states }), sort, offset, limit })}`);
}

function frozenTasks(q, states, offset, limit) {
  const all = Array.isArray(frozen.tasks) ? frozen.tasks : frozen.tasks?.tasks ?? [];
  const wanted = states ? states.split(',') : null;
  const text = q.toLowerCase();
  const found = all.filter(task => (!wanted || wanted.includes(stateOf(task)))
    && (!text || task.id.toLowerCase().includes(text) || task.title.toLowerCase().includes(text)));
  return { version: 0, total: found.length, counts: frozen.status?.counts ?? {}, tasks: found.slice(offset, offset + limit) };
}

/** Does what the user asks. Answers with the sentence that says what happens now. */
export async function act(action) {
  if (frozen) throw missing('A report cannot be changed');
  const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(action) };
  return (await ask('/api/action', options)).message;
}

/** How many entries of a transcript are kept. */
export const KEPT = 2000;

/** What the agent of a slot said: the entries, and the number of the first one. */
export class Transcript {
  constructor() {
    this.base = 0;
    this.entries = [];
    this.stale = false;
  }

  get next() {
    return this.base + this.entries.length;
  }

  /** Replaces everything from an entry number on. */
  take(from, entries) {
    if (this.stale || from < this.base || from > this.next) {
      this.stale = false;
      this.base = from;
      this.entries = [...entries];
    } else {
      this.entries.length = from - this.base;
      this.entries.push(...entries);
    }
    const extra = this.entries.length - KEPT;
    if (extra > 0) {
      this.entries.splice(0, extra);
      this.base += extra;
    }
  }
}

/** The runs now: the newest view, the transcripts by `run/slot`, and whether the connection stands. */
class Live {
  constructor() {
    this.state = 'connecting';
    this.view = null;
    this.transcripts = new Map();
    this.listeners = { state: new Set(), view: new Set(), said: new Set(), plan: new Set() };
    this.wait = 500;
  }

  /** Listens to `state`, `view`, `said` or `plan`. The answer stops it. */
  on(kind, listener) {
    this.listeners[kind].add(listener);
    return () => this.listeners[kind].delete(listener);
  }

  transcript(run, slot) {
    const key = `${run}/${slot}`;
    if (!this.transcripts.has(key)) this.transcripts.set(key, new Transcript());
    return this.transcripts.get(key);
  }

  start() {
    if (frozen) {
      if (frozen.live) this.seen(frozen.live);
      for (const said of frozen.said ?? []) this.said(said);
      this.to('frozen');
    } else this.connect();
  }

  connect() {
    const source = new EventSource('/api/live');
    let open = false;
    source.addEventListener('open', () => {
      open = true;
      this.wait = 500;
      // The server sends everything once more.
      for (const transcript of this.transcripts.values()) transcript.stale = true;
      this.to('live');
    });
    source.addEventListener('view', event => this.seen(JSON.parse(event.data)));
    source.addEventListener('said', event => this.said(JSON.parse(event.data)));
    source.addEventListener('plan', event => this.emit('plan', JSON.parse(event.data)));
    source.addEventListener('error', () => {
      source.close();
      if (!open && this.state !== 'lost') this.probe();
      this.to('lost');
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(this.wait * 2, 10_000);
    });
  }

  /** A stream that never opened does not say why. */
  probe() {
    session().catch(error => { if (error.status === 401) this.to('denied'); });
  }

  seen(view) {
    if (view.at && !frozen) setClock(ms(view.at));
    // Another run took the place of one: what its agents said is over.
    view.runs.forEach((one, number) => {
      const old = this.view?.runs[number];
      if (!old || old.view.run === one.view.run) return;
      for (const key of this.transcripts.keys()) if (key.startsWith(`${number}/`)) this.transcripts.delete(key);
    });
    this.view = view;
    this.emit('view', view);
  }

  said({ run: number, slot, from, entries }) {
    const transcript = this.transcript(number, slot);
    const all = transcript.stale;
    transcript.take(from, entries);
    this.emit('said', { run: number, slot, from: all ? 0 : from });
  }

  to(state) {
    if (this.state === state || (this.state === 'denied' && state === 'lost')) return;
    this.state = state;
    this.emit('state', state);
  }

  emit(kind, data) {
    for (const listener of this.listeners[kind]) listener(data);
  }
}

export const live = new Live();
