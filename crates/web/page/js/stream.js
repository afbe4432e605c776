// What an agent says and does, as it comes: bounded, drawn once per frame, and at the end unless you scroll up.
import { diffView, isPatch, replacement, replacementView } from './diff.js';
import { button, fold, framed, h, put, recall, remember, setText, show } from './dom.js';
import { clock, duration } from './format.js';
import { checkName, ending, isNote, sign, verdictWords } from './words.js';

/** Text of a model: code in fences, `code` and **strong** words; everything else as it is. */
export function rich(text) {
  const parts = text.split(/```[^\n`]*\n?/);
  return parts.map((part, index) => (index % 2 ? h('pre', { class: 'code', tabindex: 0 }, part.replace(/\n$/, '')) : inline(trimmed(part, index, parts.length))));
}

/** A block of code has space of its own around it. */
function trimmed(part, index, parts) {
  const text = index > 0 ? part.replace(/^\n+/, '') : part;
  return index < parts - 1 ? text.replace(/\n+$/, '') : text;
}

function inline(text) {
  if (!/[`*]/.test(text)) return text;
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, index) => {
    if (!(index % 2)) return part;
    return part[0] === '`' ? h('code', {}, part.slice(1, -1)) : h('strong', {}, part.slice(2, -2));
  });
}

/** The input of a tool in a line: its first telling value, where it is JSON. */
function line(input) {
  if (input.startsWith('{')) {
    try {
      const value = JSON.parse(input);
      const told = value.command ?? value.file_path ?? value.path ?? value.pattern ?? value.url ?? value.query ?? Object.values(value).find(one => typeof one === 'string');
      if (told) return String(told).split('\n')[0].slice(0, 200);
    } catch {
      // Cut off: shown as it is.
    }
  }
  return input.split('\n')[0].slice(0, 200);
}

function output(text, cls = '') {
  if (isPatch(text)) return diffView(text);
  return h('pre', { class: `code ${cls}`, tabindex: 0 }, text);
}

/** How an iteration ended: the words of its end, and the first line of the reason. */
function endWords(entry) {
  const [words] = ending({ outcome: entry.class, detail: entry.detail });
  const detail = entry.detail.split('\n')[0];
  return detail ? `${words}: ${detail}` : words;
}

const lastLine = text => text.trimEnd().split('\n').at(-1).slice(-160);

/** What a gate or the verifier said. */
export function gateRow(one, cls = '') {
  const verifier = one.judge === 'verifier';
  const note = isNote(one);
  const state = note ? 'open' : { pass: 'done', fail: 'failed' }[one.verdict] ?? 'waiting';
  const head = [sign(state), h('strong', {}, checkName(one.judge)), h('span', {}, verdictWords(one)), one.exit_code ? h('span', { class: 'dim' }, `exit code ${one.exit_code}`) : null, one.duration_ms > 0 && h('span', { class: 'dim' }, duration(one.duration_ms))];
  if (verifier) return h('div', { class: `gate ${cls}` }, h('div', { class: 'line' }, head), one.digest && h('blockquote', {}, rich(one.digest)));
  return one.digest ? fold(head, h('pre', { class: 'code', tabindex: 0 }, one.digest), { cls: `gate ${cls}`, open: note || one.verdict !== 'pass' }) : h('div', { class: `gate line ${cls}` }, head);
}

/** Each kind of entry: how it is made, and how it is brought up to date. */
const KINDS = {
  session: {
    make: entry => h('div', { class: 'entry session' }, h('span', {}, `${entry.verifier ? 'Verifier' : 'Session'}${entry.title ? `: ${entry.title}` : ''}`), h('span', { class: 'dim' }, clock(entry.at))),
  },
  text: {
    make: entry => h('div', { class: 'entry text' }, rich(entry.text)),
    update: (el, entry) => put(el, rich(entry.text)),
  },
  thinking: {
    make: (entry, opens) => fold([h('span', { class: 'label' }, 'Thinking'), h('span', { class: 'gist' }, lastLine(entry.text))], h('div', { class: 'thought' }, entry.text), { open: opens, cls: 'entry thinking' }),
    update: (el, entry) => {
      setText(el.querySelector('.gist'), lastLine(entry.text));
      setText(el.querySelector('.thought'), entry.text);
    },
  },
  tool: {
    make: entry => {
      const [mark, body] = [h('span', { class: 'mark' }), h('div', { class: 'io' })];
      const el = fold([mark, h('span', { class: 'name' }, entry.name), h('span', { class: 'gist' }, line(entry.input))], body, { cls: 'entry tool' });
      el.entry = entry;
      el.addEventListener('toggle', () => { if (el.open) toolBody(body, el.entry); });
      toolMark(el, mark, entry);
      return el;
    },
    update: (el, entry) => {
      el.entry = entry;
      toolMark(el, el.querySelector('.mark'), entry);
      if (el.open) toolBody(el.querySelector('.io'), entry);
    },
  },
  denied: { make: entry => h('div', { class: 'entry warn' }, `Denied: ${entry.tool}`) },
  told: { make: entry => h('div', { class: 'entry told' }, h('span', { class: 'label' }, 'You'), entry.text) },
  retrying: { make: entry => h('div', { class: 'entry warn' }, `Retrying in ${duration(entry.delay_ms)} (attempt ${entry.attempt}): ${entry.error}`) },
  gate: { make: entry => gateRow({ ...entry.report, judge: entry.report.name }, 'entry') },
  ended: { make: entry => h('div', { class: 'entry ended' }, sign(ending({ outcome: entry.class, detail: entry.detail })[1]), h('span', {}, endWords(entry))) },
  missed: { make: () => h('div', { class: 'entry warn' }, 'Some output is missing here.') },
};

function toolMark(el, mark, entry) {
  const [state, sign, words] = !entry.is_over ? ['runs', '', 'running'] : entry.result === null ? ['left', '–', 'no result'] : entry.is_error ? ['bad', '✕', 'failed'] : ['good', '✓', 'done'];
  el.classList.remove('runs', 'left', 'bad', 'good');
  el.classList.add(state);
  put(mark, h('span', { 'aria-hidden': 'true' }, sign), h('span', { class: 'hush' }, words));
}

function toolBody(body, entry) {
  const edit = replacement(entry.input);
  put(body,
    entry.input && [h('div', { class: 'label' }, 'Input'), edit ? replacementView(edit) : output(pretty(entry.input))],
    h('div', { class: 'label' }, !entry.is_over ? 'Running…' : entry.is_error ? 'Error' : 'Result'),
    entry.result && output(entry.result, entry.is_error ? 'bad' : ''),
    entry.result === '' && h('p', { class: 'dim' }, 'It printed nothing.'),
    entry.is_over && entry.result === null && h('p', { class: 'dim' }, 'The session ended without a result of this call.'));
}

function pretty(input) {
  try {
    return input.startsWith('{') ? JSON.stringify(JSON.parse(input), null, 2) : input;
  } catch {
    return input;
  }
}

/** Whether thinking is open, for all streams. */
const wishes = { get open() { return recall('thinking') === 'open'; } };

/** The stream of a slot. `source()` answers with its transcript. */
export class Stream {
  constructor(source, label) {
    this.source = source;
    this.nodes = new Map();
    this.stale = 0;
    this.follows = true;
    this.list = h('div', { class: 'entries' });
    this.none = h('p', { class: 'dim none' }, 'No output yet.');
    this.box = h('div', { class: 'stream', role: 'log', 'aria-live': 'off', 'aria-label': label, tabindex: 0 }, this.none, this.list);
    this.jump = button('↓ Newest', () => this.toEnd(), { class: 'jump', hidden: true });
    this.el = h('div', { class: 'streambox' }, this.box, this.jump);
    this.box.addEventListener('scroll', () => {
      this.follows = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 32;
      show(this.jump, !this.follows);
    }, { passive: true });
    this.draw = framed(() => this.render());
    this.draw();
  }

  /** Entries from this number on are new or different. */
  dirty(from) {
    this.stale = Math.min(this.stale, from);
    this.draw();
  }

  toEnd() {
    this.follows = true;
    this.box.scrollTop = this.box.scrollHeight;
    show(this.jump, false);
  }

  openThinking(open) {
    for (const el of this.list.querySelectorAll('.thinking')) el.open = open;
  }

  render() {
    const transcript = this.source();
    const { base, next } = transcript;
    const [first] = this.nodes.keys();
    if (first > base) {
      this.nodes.clear();
      this.list.replaceChildren();
      this.stale = base;
    }
    for (const [number, node] of this.nodes) {
      if (number >= base && number < next) continue;
      node.el.remove();
      this.nodes.delete(number);
    }
    let fresh = null;
    for (let number = Math.max(base, Math.min(this.stale, next)); number < next; number += 1) {
      const entry = transcript.entries[number - base];
      const node = this.nodes.get(number);
      // Where a run starts over, another entry has the number of one that is shown.
      if (node?.said === entry.said && node.entry.at === entry.at && KINDS[entry.said]?.update) {
        if (node.entry !== entry) KINDS[entry.said].update(node.el, entry);
        node.entry = entry;
        continue;
      }
      const el = (KINDS[entry.said] ?? KINDS.missed).make(entry, wishes.open);
      if (node) node.el.replaceWith(el);
      else (fresh ??= document.createDocumentFragment()).append(el);
      this.nodes.set(number, { said: entry.said, entry, el });
    }
    if (fresh) this.list.append(fresh);
    this.stale = next;
    show(this.none, next === base);
    if (this.follows) this.box.scrollTop = this.box.scrollHeight;
  }
}

/** A button that opens or closes the thinking of all streams on the page. */
export function thinkingToggle(streams) {
  const toggle = h('button', { type: 'button', class: 'quiet', 'aria-pressed': String(wishes.open) }, 'Show thinking');
  toggle.addEventListener('click', () => {
    remember('thinking', wishes.open ? 'closed' : 'open');
    toggle.setAttribute('aria-pressed', String(wishes.open));
    for (const stream of streams()) stream.openThinking(wishes.open);
  });
  return toggle;
}
