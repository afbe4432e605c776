// The words and signs of states. A state is never color alone: each has a sign of its own shape.
import { h, s } from './dom.js';

/** The states of tasks in the order of the board. */
export const STATES = ['open', 'active', 'waiting', 'blocked', 'done', 'failed'];

export const STATE_WORDS = {
  open: 'open', active: 'active', waiting: 'needs you', blocked: 'blocked', done: 'done', failed: 'failed', deleted: 'deleted',
};

const SIGNS = {
  open: [['circle', { cx: 8, cy: 8, r: 5.5, class: 'line' }]],
  active: [['circle', { cx: 8, cy: 8, r: 7, class: 'full' }], ['path', { d: 'M6.3 5v6l4.9-3z', class: 'cut' }]],
  waiting: [['path', { d: 'M8 .8 15.2 8 8 15.2.8 8z', class: 'full' }], ['path', { d: 'M8 4.6v4.2M8 10.9v.4', class: 'mark' }]],
  blocked: [['rect', { x: 2.5, y: 2.5, width: 11, height: 11, rx: 2, class: 'line' }], ['path', { d: 'M5.5 8h5', class: 'line' }]],
  done: [['circle', { cx: 8, cy: 8, r: 7, class: 'full' }], ['path', { d: 'M4.8 8.2l2.3 2.3 4.2-4.6', class: 'mark' }]],
  failed: [['path', { d: 'M5 1h6l4 4v6l-4 4H5l-4-4V5z', class: 'full' }], ['path', { d: 'M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8', class: 'mark' }]],
  deleted: [['path', { d: 'M3 8h10', class: 'line' }]],
};

/** The state that a display shows: an open task with an unfinished blocker is blocked. */
export function stateOf(task) {
  const status = { pending: 'open', in_progress: 'active' }[task.status] ?? task.status;
  return task.blocked && (status === 'open' || status === 'active') ? 'blocked' : status;
}

/** The sign alone, as parts of an SVG of 16 by 16. */
export function signParts(state) {
  return (SIGNS[state] ?? SIGNS.open).map(([tag, props]) => s(tag, props));
}

export function sign(state) {
  return s('svg', { class: `sign ${state}`, viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true' }, signParts(state));
}

/** The sign and the word. */
export function chip(state, word = STATE_WORDS[state] ?? state) {
  return h('span', { class: `chip ${state}` }, sign(state), h('span', {}, word));
}

const ENDS = {
  done: ['done', 'done'], red: ['a gate failed', 'failed'], conflict: ['conflicts with work that landed meanwhile', 'failed'],
  unchanged: ['No changes detected', 'failed'], 'task-failed': ['the agent gave up on the task', 'failed'],
  'task-retry': ['the agent asked for another attempt', 'open'], 'no-signal': ['the agent gave no signal', 'open'],
  'wrong-id': ['the signal named another task', 'open'], question: ['the agent asked you a question', 'waiting'],
  approval: ['waiting for your approval', 'waiting'], 'new-message': ['your message came after the session', 'open'],
  failure: ['the agent said FAILURE', 'failed'], crash: ['the agent crashed', 'failed'], timeout: ['the session timed out', 'failed'],
  hang: ['the agent stopped responding', 'failed'], empty: ['the agent printed nothing', 'failed'],
  malformed: ['the agent printed unreadable output', 'failed'], refusal: ['the model refused', 'failed'],
  'max-turns': ['the agent reached its own limit of turns or cost', 'failed'],
  'too-long': ['the prompt is too long for this model', 'waiting'], rejected: ['the provider rejected the request', 'waiting'],
  'rate-limit': ['rate limit', 'open'], 'usage-window': ['usage limit', 'open'], overload: ['the provider is overloaded', 'open'],
  network: ['no connection', 'open'], auth: ['the agent is not logged in', 'waiting'], forbidden: ['the account has no access', 'waiting'],
  billing: ['out of credit', 'waiting'], 'unknown-model': ['the model does not exist', 'waiting'],
  'not-started': ['the agent did not start', 'failed'], cancelled: ['cancelled', 'open'], skipped: ['skipped by you', 'waiting'],
  'claim-lost': ['another agent claimed the task', 'open'],
};

/** How an attempt ended, in words, and the state whose sign it has. */
export function ending(end) {
  if (!end) return ['unfinished', 'active'];
  const name = end.outcome ?? '';
  const [words, state] = ENDS[name] ?? [name, 'open'];
  const verifier = name === 'red' && /^verification failed/.test(end.detail ?? '');
  return [verifier ? 'the verifier rejected it' : words, state];
}

/** The state of a run in a word, with the state of a task whose sign it has. */
export const RUN_STATES = {
  running: 'active', paused: 'waiting', stopping: 'waiting', interrupted: 'failed', done: 'done', ended: 'open',
};

/** The state of a run for its chip: the state of a task, and words. */
export function runState({ view, left }) {
  const { outcome } = view;
  if (view.cancel && !outcome && !left) return ['waiting', cancelWords(view.cancel, view.slots.filter(slot => slot.iteration > 0).length).toLowerCase()];
  const rest = outcome ? ['open', 'active', 'blocked', 'waiting', 'failed'].some(state => outcome.left[state] > 0) : false;
  const word = outcome ? (rest ? 'ended' : 'done') : left ? 'interrupted' : view.paused ? 'paused' : view.stopping ? 'stopping' : 'running';
  return [RUN_STATES[word], word];
}

/** Checks of ralph's own; every other name is that of a gate. Of those that pass, the first three only inform. */
const NOTES = ['signal', 'protected files', 'weakened tests'];
const CHECKS = ['verifier', 'changes', 'forbidden files', ...NOTES];

const VERDICTS = { pass: 'passed', fail: 'failed', ungated: 'no gates: accepted unchecked', unchanged: 'No changes detected', unclaimed: 'no signal' };
const OF_VERIFIER = { pass: 'accepted', fail: 'rejected' };

export const isNote = ({ judge, verdict }) => verdict === 'pass' && NOTES.includes(judge);

export const checkName = judge => (CHECKS.includes(judge) ? judge : `gate ${judge}`);

/** What a check found. */
export function verdictWords({ judge, verdict }) {
  if (isNote({ judge, verdict })) return 'note';
  return (judge === 'verifier' && OF_VERIFIER[verdict]) || (VERDICTS[verdict] ?? verdict);
}

const STEPS = { starting: 0, working: 0, reading: 0, judging: 1, verifying: 2, queued: 3, integrating: 3, settling: 3 };

/** The steps of an iteration, and the one that a slot is at (-1: none). */
export function steps(slot, run) {
  const names = ['session', 'gates', ...(run.verifier ? ['verifier'] : []), 'landing'];
  const at = STEPS[slot.doing] ?? -1;
  return [names, at > 1 && !run.verifier ? at - 1 : at];
}

export function cancelWords(cancel, sessions) {
  const many = sessions > 1;
  switch (cancel) {
    case 'after_task': return many ? 'Stopping after these tasks' : 'Stopping after this task';
    case 'after_session': return many ? 'Stopping after these sessions' : 'Stopping after this session';
    default: return 'Stopping now';
  }
}
