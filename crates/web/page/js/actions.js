// What the user does: dialogs, the request, and the sentence that answers it.
import { act, frozen, tasks } from './data.js';
import { add, button, h, put, recall, remember } from './dom.js';

/** Whether this page may change anything. Set once the session is known. */
let writable = !frozen;
export function setWritable(value) {
  writable = value;
}
export function canAct() {
  return writable;
}

/** Called after every action that worked, until the answer is called. */
const listeners = new Set();
export function afterActions(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function toast(text, { bad = false, hints = [] } = {}) {
  const close = button('Dismiss', () => el.remove(), { class: 'quiet' });
  const el = h('div', { class: `toast ${bad ? 'bad' : ''}` }, h('div', {}, h('p', {}, text), hints.map(hint => h('p', { class: 'dim' }, hint))), close);
  document.getElementById('toasts').append(el);
  setTimeout(() => el.remove(), bad ? 15_000 : 6_000);
}

/** Performs an action; says what happens now, or why it does not. Answers whether it worked. */
export async function perform(action) {
  try {
    toast(await act(action));
    for (const listener of listeners) listener(action);
    return true;
  } catch (error) {
    toast(error.message, { bad: true, hints: error.hints });
    return false;
  }
}

/** A dialog with a form. `submit()` answers whether to close it. */
export function dialog(title, body, { submit, label = 'OK', danger = false, wide = false, cancel = 'Cancel' } = {}) {
  const back = document.activeElement;
  const ok = submit && h('button', { type: 'submit', class: danger ? 'act danger' : 'act' }, label);
  const close = button(cancel, () => el.close());
  const form = h('form', {}, h('h2', { id: 'dialog-title' }, title), body, h('div', { class: 'row end' }, close, ok));
  const el = h('dialog', { class: wide ? 'wide' : '', 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    ok.disabled = true;
    if (await submit()) el.close();
    else ok.disabled = false;
  });
  el.addEventListener('click', event => { if (event.target === el) el.close(); });
  el.addEventListener('close', () => {
    el.remove();
    if (back?.isConnected) back.focus();
  });
  document.body.append(el);
  el.showModal();
  return el;
}

export function confirmed(title, text, label, action, then) {
  dialog(title, h('p', {}, text), { label, danger: true, submit: async () => {
    const worked = await perform(action);
    if (worked) then?.();
    return worked;
  } });
}

/** Asks for a text and sends it with an action. */
export function askText(title, { label, hint, button: text, action }) {
  const box = h('textarea', { rows: 4, required: true, id: 'dialog-text' });
  const body = [h('label', { for: 'dialog-text' }, label), box, hint && h('p', { class: 'dim' }, hint)];
  dialog(title, body, { label: text, submit: () => perform(action(box.value.trim())) });
  box.focus();
}

const PRIORITIES = [['', 'default'], ['0', '0 (first)'], ['1', '1'], ['2', '2'], ['3', '3'], ['4', '4 (last)']];

function fields(task) {
  const title = h('input', { type: 'text', id: 'task-title', required: true, maxlength: 500, value: task?.title ?? '', autocomplete: 'off' });
  const description = h('textarea', { id: 'task-description', rows: 7, value: task?.description ?? '' });
  const priority = h('select', { id: 'task-priority' }, PRIORITIES.slice(task ? 1 : 0).map(([value, text]) => h('option', { value }, text)));
  priority.value = String(task?.priority ?? '');
  const rows = [
    h('label', { for: 'task-title' }, 'Title'), title,
    h('label', { for: 'task-description' }, 'Description'), description,
    h('label', { for: 'task-priority' }, 'Priority'), priority,
  ];
  return { title, description, priority, rows };
}

export function addTask() {
  const form = fields(null);
  const [deps, list] = [h('input', { type: 'text', id: 'task-deps', autocomplete: 'off', list: 'task-ids', placeholder: 'ids, separated by spaces' }), h('datalist', { id: 'task-ids' })];
  const feature = h('input', { type: 'text', id: 'task-feature', autocomplete: 'off' });
  deps.addEventListener('input', async () => {
    const words = deps.value.split(/[\s,]+/);
    const last = words.pop();
    if (last.length < 2) return;
    const found = await tasks({ q: last, limit: 8 }).catch(() => ({ tasks: [] }));
    put(list, found.tasks.map(task => h('option', { value: [...words, task.id].join(' ') }, task.title)));
  });
  dialog('Add task', [form.rows,
    h('label', { for: 'task-deps' }, 'Depends on'), deps, list,
    h('label', { for: 'task-feature' }, 'Feature'), feature,
  ], { label: 'Add task', wide: true, submit: () => perform({
    do: 'add', title: form.title.value.trim(), description: form.description.value.trim(),
    priority: form.priority.value === '' ? null : Number(form.priority.value),
    deps: deps.value.split(/[\s,]+/).filter(Boolean), feature: feature.value.trim() || null,
  }) });
  form.title.focus();
}

export function editTask(task) {
  const form = fields(task);
  dialog(`Edit ${task.id}`, form.rows, { label: 'Save', wide: true, submit: () => {
    const [title, description, priority] = [form.title.value.trim(), form.description.value.trim(), Number(form.priority.value)];
    return perform({
      do: 'edit', task: task.id, title: title === task.title ? null : title,
      description: description === task.description ? null : description, priority: priority === task.priority ? null : priority,
    });
  } });
  form.title.focus();
}

export function tellTask(id) {
  askText(`Message about ${id}`, {
    label: 'Message for the agent', button: 'Send',
    hint: 'A running session gets it now where the agent supports that; otherwise the next attempt does.',
    action: text => ({ do: 'tell', task: id, text }),
  });
}

export function rejectTask(id) {
  askText(`Reject the work on ${id}`, {
    label: 'What is wrong', button: 'Reject', hint: 'The next attempt gets your words.', action: why => ({ do: 'reject', task: id, why }),
  });
}

export function skipTask(id) {
  confirmed(`Skip ${id}`, 'ralph stops its session, saves the work and leaves the task for you.', 'Skip', { do: 'skip', task: id });
}

export function cancelRun(after) {
  if (after !== 'now') return perform({ do: 'cancel', after });
  return confirmed('Stop now', 'ralph interrupts the sessions and saves their work, unchecked.', 'Stop now', { do: 'cancel', after });
}

const KEYS = [
  ['g o', 'Overview'], ['g p', 'Plan'], ['g r', 'Runs'], ['g c', 'Cost'], ['/', 'Search tasks'], ['n', 'Add a task'],
  ['p', 'Pause or resume the run'], ['t', 'Switch the theme'], ['?', 'This help'],
  ['← ↑ → ↓', 'Move between tasks (board, graph)'], ['+ − 0', 'Zoom in, out, fit (graph)'], ['Shift + arrows', 'Move the graph'],
];

export const keysOn = () => recall('keys') !== 'off';

export function showHelp() {
  const box = h('input', { type: 'checkbox', id: 'keys-on' });
  box.checked = keysOn();
  box.addEventListener('change', () => remember('keys', box.checked ? 'on' : 'off'));
  const list = h('dl', { class: 'keys' });
  for (const [key, what] of KEYS) add(list, h('dt', {}, key.split(' ').map(one => h('kbd', {}, one))), h('dd', {}, what));
  dialog('Keyboard shortcuts', [list, h('div', { class: 'check' }, box, h('label', { for: 'keys-on' }, 'Use shortcuts of a single letter'))], { cancel: 'Close' });
}

const said = [];
let timer = null;
/** Says something to screen readers, a few sentences at a time. */
export function announce(text) {
  said.push(text);
  timer ??= setTimeout(() => {
    timer = null;
    document.getElementById('announce').textContent = said.splice(0).slice(-3).join('. ');
  }, 1500);
}
