// One run: its state, its controls and its slots, each with the stream of its agent.
import { canAct, cancelRun, perform } from './actions.js';
import { button, h, keyed, put, setClass, setText, show } from './dom.js';
import { count, money, ms, now, short, ticking, tokens, when } from './format.js';
import { Stream } from './stream.js';
import { chip, runState, sign, steps } from './words.js';

/** Fields that tick: elements that show the time since a moment. */
export function since(el, at) {
  const text = at === null ? '' : String(at);
  if (el.dataset.since !== text) el.dataset.since = text;
  setText(el, at === null ? '' : ticking(now() - at));
}

export function tick() {
  for (const el of document.querySelectorAll('[data-since]')) if (el.dataset.since) setText(el, ticking(now() - Number(el.dataset.since)));
  for (const el of document.querySelectorAll('[data-until]')) if (el.dataset.until) setText(el, `${ticking(Number(el.dataset.until) - now())} left`);
}

export const isActive = run => !run.view.outcome && !run.left && run.view.run !== null;

/** The usage of a run in words. */
export function costWords(view) {
  const { usage_so_far: usage, unpriced } = view;
  const cost = usage.cost_micro_usd === null ? null : `${money(usage.cost_micro_usd)}${unpriced ? '+' : ''}`;
  const used = `${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out`;
  return cost ? `${cost} · ${used}` : used;
}

export class RunCard {
  /** `source(slot)` answers with the transcript of a slot. */
  constructor(source, { title = 'h2' } = {}) {
    this.source = source;
    this.slots = new Map();
    this.name = h('span', { class: 'target' });
    this.chip = h('span', {});
    this.facts = h('p', { class: 'facts dim' });
    this.time = h('time', {});
    this.controls = h('div', { class: 'row' });
    this.sentence = h('p', { class: 'sentence', hidden: true });
    this.warnings = h('details', { class: 'warnings', hidden: true });
    this.grid = h('div', { class: 'slots' });
    this.idle = h('p', { class: 'dim idle' }, 'No session is running.');
    this.el = h('section', { class: 'panel run' },
      h('div', { class: 'head' }, h(title, {}, this.name), this.chip, this.time, this.controls),
      this.facts, this.sentence, this.warnings, this.grid, this.idle);
  }

  update(run, ended) {
    const { view } = run;
    this.run = run;
    const branch = run.name || view.branch;
    setText(this.name, branch ? `${branch}: ${view.target || view.mode}` : view.target || view.mode || 'run');
    const [state, word] = runState(run);
    if (this.word !== word) put(this.chip, chip(state, word));
    this.word = word;
    const active = isActive(run);
    if (active) since(this.time, ms(view.started_at));
    else {
      since(this.time, null);
      setText(this.time, when(view.last_at));
    }
    this.showFacts(view);
    const text = active ? (view.review || view.watched ? `Watching ${view.watched ?? view.review.page}` : '') : ended ?? '';
    setText(this.sentence, text);
    show(this.sentence, text !== '');
    this.showWarnings(view);
    this.showControls(active, view);
    this.showSlots();
  }

  showFacts(view) {
    const limit = view.max_sessions ? ` of ${view.max_sessions}` : '';
    const facts = [
      [view.mode, view.preset].filter(Boolean).join(' '), `${view.agent}${view.fallback?.length ? ` (then ${view.fallback.join(', ')})` : ''}`,
      `sandbox ${view.level || 'off'}`, view.gates.length ? `${view.gates.length === 1 ? 'gate' : 'gates'} ${view.gates.join(', ')}` : 'no gates: work is accepted unchecked',
      view.verifier && `verifier ${view.verifier}`, `${view.successful + view.failed}${limit} iterations ended`, costWords(view),
    ];
    setText(this.facts, facts.filter(Boolean).join(' · '));
  }

  showWarnings(view) {
    // A run that ended well has got over its errors.
    const good = ['complete', 'marker', 'session'].includes(view.outcome?.reason?.stop);
    const error = good ? null : view.last_error;
    const all = [...view.warnings, ...(error ? [`Last error: ${error}`] : [])];
    const key = all.join('\n');
    if (this.warned === key) return;
    this.warned = key;
    show(this.warnings, all.length > 0);
    put(this.warnings, h('summary', {}, error ? `Last error: ${error}` : count(all.length, 'warning')), h('ul', {}, all.map(text => h('li', {}, text))));
  }

  showControls(active, view) {
    const key = `${active && canAct()}/${view.paused}/${view.cancel}`;
    if (this.controlled === key) return;
    this.controlled = key;
    if (!active || !canAct()) return void put(this.controls);
    const pause = view.paused ? button('Resume', () => perform({ do: 'resume' }), { class: 'act' }) : button('Pause', () => perform({ do: 'pause' }));
    const stop = (text, after, hint) => button([text, h('span', { class: 'dim' }, hint)], () => { menu.open = false; cancelRun(after); });
    const menu = h('details', { class: 'menu' }, h('summary', { class: 'button' }, 'Stop'), h('div', { class: 'drop' },
      stop('After this task', 'after_task', 'retries included'), stop('After this session', 'after_session', 'its work is checked'),
      stop('Now', 'now', 'the work is saved, unchecked')));
    menu.addEventListener('keydown', event => { if (event.key === 'Escape') { menu.open = false; menu.firstElementChild.focus(); } });
    menu.addEventListener('focusout', event => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
    put(this.controls, pause, menu);
  }

  showSlots() {
    const { view } = this.run;
    const active = isActive(this.run);
    const numbered = view.slots.map((slot, number) => ({ slot, number }));
    const shown = numbered.filter(({ slot, number }) => slot.doing !== 'idle' || slot.waiting || this.source(number).next > 0);
    keyed(this.grid, shown, one => one.number, one => this.slot(one.number).el, (_, one) => this.slot(one.number).update(one.slot, view, active));
    show(this.idle, shown.length === 0);
    setClass(this.grid, shown.length > 1 ? 'slots many' : 'slots');
  }

  slot(number) {
    if (!this.slots.has(number)) this.slots.set(number, new SlotPane(number, () => this.source(number)));
    return this.slots.get(number);
  }

  said(slot, from) {
    this.slots.get(slot)?.stream.dirty(from);
    if (!this.slots.has(slot) && this.run) this.showSlots();
  }

  streams() {
    return [...this.slots.values()].map(pane => pane.stream);
  }
}

class SlotPane {
  constructor(number, source) {
    this.number = number;
    this.title = h('a', { class: 'tasklink' });
    this.sub = h('span', { class: 'dim' });
    this.steps = h('ol', { class: 'steps', 'aria-label': 'Steps of the iteration' });
    this.doing = h('span', { class: 'doing' });
    this.time = h('time', {});
    this.until = h('span', { class: 'dim' });
    this.state = h('div', { class: 'state' }, h('div', { class: 'now' }, h('span', { class: 'pulse', 'aria-hidden': 'true' }), this.doing, this.time, this.until), this.steps);
    this.stream = new Stream(source, `Output of slot ${number + 1}`);
    this.el = h('article', { class: 'slot', 'aria-label': `Slot ${number + 1}` },
      h('div', { class: 'slothead' }, h('div', { class: 'names' }, this.title, this.sub),
        this.state),
      this.stream.el);
  }

  update(slot, run, active) {
    const task = slot.task;
    setText(this.title, task ? task.title : slot.about ?? (slot.iteration ? 'The agent picks a task' : `Slot ${this.number + 1}`));
    if (task) this.title.setAttribute('href', `#/task/${encodeURIComponent(task.id)}`);
    else this.title.removeAttribute('href');
    setText(this.sub, [task?.id, task?.attempt > 1 && `attempt ${task.attempt}`, slot.model].filter(Boolean).join(' · '));
    const busy = active && (slot.doing !== 'idle' || slot.waiting);
    setText(this.doing, active || slot.doing === 'idle' ? slot.activity : `${slot.activity} at the end`);
    since(this.time, busy ? ms(slot.tool && slot.doing === 'working' ? slot.tool.since : slot.since) : null);
    this.until.dataset.until = busy && slot.waiting?.until ? ms(slot.waiting.until) : '';
    if (!this.until.dataset.until) setText(this.until, '');
    setClass(this.el, `slot ${active ? '' : 'over '}${busy && slot.waiting ? 'waits' : busy ? 'busy' : 'rests'} ${slot.gate ? 'gating' : ''}`);
    show(this.state, active || slot.doing !== 'idle');
    show(this.sub, this.sub.textContent !== '' || active);
    const [names, at] = steps(slot, run);
    const key = names.join() + at;
    if (this.key === key) return;
    this.key = key;
    put(this.steps, names.map((name, index) => h('li', { class: index < at ? 'past' : index === at ? 'at' : '', 'aria-current': index === at ? 'step' : null }, index < at ? sign('done') : null, name)));
  }
}

/** The commits of a run or of the repository. */
export function commitList(commits) {
  return h('ul', { class: 'commits' }, commits.map(commit => h('li', {}, h('code', {}, short(commit.id)), h('span', {}, commit.subject))));
}
