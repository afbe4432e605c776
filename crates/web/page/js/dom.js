// Builds elements. Every text goes in as text: nothing here parses HTML, so what agents print can never become markup.

const SVG = 'http://www.w3.org/2000/svg';

// Escape sequences of terminals, control characters, and marks that reorder or hide text.
const UNSAFE = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** A text without what could hide or reorder it, as terminals show it. */
export const printable = text => text.replace(UNSAFE, '');

/** An element with properties (`class`, `on…` handlers, attributes) and children (nodes, texts, lists, nothing). */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(el, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'css') for (const [key, one] of Object.entries(value)) el.style.setProperty(key, one);
    else if (name === 'value') el.value = value;
    else el.setAttribute(name, value === true ? '' : String(value));
  }
  add(el, children);
  return el;
}

export function add(el, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    el.append(child instanceof Node ? child : printable(String(child)));
  }
  return el;
}

/** Replaces what an element holds. */
export function put(el, ...children) {
  el.replaceChildren();
  return add(el, ...children);
}

/** Sets a text only where it changed: screen readers and selections stay undisturbed. */
export function setText(el, given) {
  const text = printable(String(given));
  if (el.textContent !== text) el.textContent = text;
}

export function setClass(el, name) {
  if (el.getAttribute('class') !== name) el.setAttribute('class', name);
}

export function show(el, shown) {
  if (el.hidden === shown) el.hidden = !shown;
}

/** Keeps one node per item, by key: what you are typing survives an update. */
export function keyed(parent, items, key, make, update) {
  const old = parent.keyedNodes ?? new Map();
  const next = new Map();
  let place = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    if (next.has(id)) continue;
    const node = old.get(id) ?? make(item);
    next.set(id, node);
    update?.(node, item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const [id, node] of old) if (!next.has(id)) node.remove();
  parent.keyedNodes = next;
}

/** Calls a function once per animation frame, however often it was asked for. */
export function framed(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
}

/** Calls a function at most once per so many milliseconds. */
export function calm(work, ms) {
  let timer = null;
  let again = false;
  const run = () => {
    timer = setTimeout(() => { timer = null; if (again) { again = false; run(); } }, ms);
    work();
  };
  return () => { if (timer) again = true; else run(); };
}

export function button(text, onclick, props = {}) {
  return h('button', { type: 'button', onclick, ...props }, text);
}

/** A command with a button that copies it. */
export function command(text) {
  const done = h('span', { class: 'hush', role: 'status' });
  const copy = h('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${text}`, title: 'Copy' }, 'Copy');
  copy.addEventListener('click', async () => {
    const ok = await copyText(text);
    setText(copy, ok ? 'Copied' : 'Press Ctrl-C');
    setText(done, ok ? 'Copied' : 'Select the command and press Ctrl-C');
    setTimeout(() => { setText(copy, 'Copy'); setText(done, ''); }, 1500);
  });
  return h('div', { class: 'command' }, h('code', {}, text), copy, done);
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** A heading with a body: one part of a view. */
export function panel(title, body, { level = 2, tools, id, cls = '' } = {}) {
  const head = h('div', { class: 'head' }, h(`h${level}`, { id: id ? `${id}-title` : null }, title), tools);
  return h('section', { class: `panel ${cls}`, id, 'aria-labelledby': id ? `${id}-title` : null }, head, body);
}

export function empty(title, text, ...more) {
  return h('div', { class: 'empty' }, h('p', { class: 'big' }, title), text && h('p', {}, text), more);
}

export function loading(what) {
  return h('div', { class: 'loading', role: 'status' }, h('span', { class: 'spin', 'aria-hidden': 'true' }), `Loading ${what}…`);
}

export function failed(error, again) {
  const hints = (error.hints ?? []).map(hint => h('p', { class: 'dim' }, hint));
  const retry = again && button('Try again', again);
  return h('div', { class: 'empty bad', role: 'alert' }, h('p', { class: 'big' }, error.message ?? String(error)), hints, retry);
}

/** A `details` element: a line that opens. */
export function fold(summary, body, { open = false, cls = '' } = {}) {
  return h('details', { class: cls, open }, h('summary', {}, summary), body);
}

/** What you chose in this browser; where it keeps nothing, for this visit. */
const chosen = new Map();
export function remember(name, value) {
  chosen.set(name, value);
  try {
    localStorage.setItem(`ralph-${name}`, value);
  } catch {
    // A page from a file may have no storage.
  }
}
export function recall(name) {
  if (chosen.has(name)) return chosen.get(name);
  try {
    return localStorage.getItem(`ralph-${name}`);
  } catch {
    return null;
  }
}
