// The plan as a board: a column per state, each a list that draws only what is in sight and loads only what it draws.
import { tasks } from './data.js';
import { framed, h, put, setText, show } from './dom.js';
import { number } from './format.js';
import { sign, STATES, STATE_WORDS, stateOf } from './words.js';

const ROW = 64;
const PAGE = 100;

function row(task, at, total) {
  const state = stateOf(task);
  const facts = [task.feature, task.deps?.length ? `needs ${task.deps.length}` : null, task.retry_count ? `retries ${task.retry_count}` : null].filter(Boolean);
  return h('div', { class: 'cell', role: 'listitem', 'aria-setsize': total, 'aria-posinset': at + 1 },
    h('a', { class: `card ${state}`, href: `#/task/${encodeURIComponent(task.id)}`, 'data-at': at },
      h('span', { class: 'title' }, task.title), h('span', { class: 'sub' }, h('code', {}, task.id), h('span', { class: `prio p${task.priority}`, title: 'Priority' }, `P${task.priority}`), facts.map(fact => h('span', {}, fact)))));
}

class Column {
  constructor(state, query) {
    this.state = state;
    this.query = query;
    this.pages = new Map();
    this.asked = new Set();
    this.total = null;
    this.serial = 0;
    this.count = h('span', { class: 'num' }, '…');
    this.inner = h('div', { class: 'inner', role: 'list', 'aria-label': STATE_WORDS[state] });
    this.note = h('p', { class: 'dim none', role: 'status' }, 'Loading…');
    this.box = h('div', { class: 'cells' }, this.note, this.inner);
    this.el = h('section', { class: `column ${state}`, 'aria-label': `Tasks: ${STATE_WORDS[state]}` }, h('h2', {}, sign(state), STATE_WORDS[state], this.count), this.box);
    this.draw = framed(() => this.render());
    this.box.addEventListener('scroll', this.draw, { passive: true });
    this.reload();
  }

  /** Loads again what is in sight; the old rows stay until the new ones are there. */
  reload() {
    this.serial += 1;
    this.asked.clear();
    this.stale = new Set(this.pages.keys());
    this.load(Math.floor(this.box.scrollTop / ROW / PAGE) || 0);
  }

  async load(page) {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    const { serial } = this;
    try {
      const found = await tasks({ ...this.query(), status: this.state, offset: page * PAGE, limit: PAGE });
      if (serial !== this.serial) return;
      for (const old of this.stale) this.pages.delete(old);
      this.stale.clear();
      this.total = found.total;
      this.pages.set(page, found.tasks);
      setText(this.note, found.total ? '' : this.query().q ? 'No match.' : 'None.');
    } catch (error) {
      this.asked.delete(page);
      setText(this.note, `${error.message}.`);
    }
    setText(this.count, this.total === null ? '?' : number(this.total));
    show(this.note, this.note.textContent !== '');
    this.draw();
  }

  render() {
    const { total } = this;
    if (total === null) return;
    this.inner.style.setProperty('height', `${total * ROW}px`);
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 8);
    const last = Math.min(total, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 8);
    const focused = document.activeElement?.closest?.('.cell') && this.box.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const page = Math.floor(at / PAGE);
      if (!this.asked.has(page)) this.load(page);
      const task = this.pages.get(page)?.[at % PAGE];
      if (task) rows.push([at, task]);
    }
    const key = rows.map(([at, task]) => `${at} ${task.id} ${task.status} ${task.blocked} ${task.title}`).join('\n') + total;
    if (key === this.key) return;
    this.key = key;
    put(this.inner, rows.map(([at, task]) => {
      const el = row(task, at, total);
      el.style.setProperty('transform', `translateY(${at * ROW}px)`);
      return el;
    }));
    if (focused !== null) this.inner.querySelector(`[data-at="${focused}"]`)?.focus({ preventScroll: true });
    if (this.want !== undefined) this.focus(this.want);
  }

  /** Moves the focus to a row, also to one that is not drawn yet. */
  focus(at) {
    if (!this.total) return false;
    const place = Math.max(0, Math.min(at, this.total - 1));
    const [top, bottom] = [place * ROW, (place + 1) * ROW];
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
    const el = this.inner.querySelector(`[data-at="${place}"]`);
    this.want = el ? undefined : place;
    el?.focus({ preventScroll: true });
    return true;
  }
}

export class Board {
  constructor(query, only) {
    const states = STATES.filter(state => !only || state === only);
    this.columns = states.map(state => new Column(state, query));
    this.el = h('div', { class: `board ${only ? 'single' : ''}`, role: 'group', 'aria-label': 'Tasks by state', tabindex: 0 }, this.columns.map(column => column.el));
    this.el.addEventListener('keydown', event => this.key(event));
    this.resized = new ResizeObserver(() => this.columns.forEach(column => column.draw()));
    this.resized.observe(this.el);
  }

  reload() {
    this.columns.forEach(column => column.reload());
  }

  destroy() {
    this.resized.disconnect();
  }

  key(event) {
    const at = Number(event.target.dataset?.at ?? NaN);
    const index = this.columns.findIndex(column => column.el.contains(event.target));
    if (Number.isNaN(at) || event.ctrlKey || event.metaKey || event.altKey) return;
    const column = this.columns[index];
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: Infinity };
    let moved = event.key in moves && column.focus(moves[event.key]);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    for (let next = index + step; step && !moved && this.columns[next]; next += step) moved = this.columns[next].focus(at);
    if (moved) event.preventDefault();
  }
}
