// Shows a patch: one table per file, with line numbers and signs, so that color is never needed to read it.
import { add, button, fold, h } from './dom.js';
import { count } from './format.js';

/** How many lines of a file are shown at first. */
const MOST = 600;

/** The files of a unified patch, each with its lines. */
export function parsePatch(patch) {
  const files = [];
  let file = null;
  let [old, next] = [0, 0];
  for (const line of patch.split('\n')) {
    if (line.startsWith('diff --git ')) {
      const name = /^diff --git a\/(.*) b\/(.*)$/.exec(line);
      file = { path: name?.[2] ?? line.slice(11), from: name?.[1], notes: [], lines: [], added: 0, removed: 0, open: false };
      files.push(file);
    } else if (!file?.open && line.startsWith('+++ ')) {
      const path = line.slice(4).replace(/^b\//, '');
      if (!file) files.push((file = { path, notes: [], lines: [], added: 0, removed: 0 }));
      else if (path !== '/dev/null') file.path = path;
    } else if (line.startsWith('@@')) {
      const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line);
      if (!file) files.push((file = { path: '', notes: [], lines: [], added: 0, removed: 0 }));
      file.open = true;
      [old, next] = at ? [Number(at[1]), Number(at[2])] : [0, 0];
      file.lines.push({ kind: 'hunk', text: at?.[3] ?? line });
    } else if (file?.open && line.startsWith('+')) {
      file.added += 1;
      file.lines.push({ kind: 'plus', next: next++, text: line.slice(1) });
    } else if (file?.open && line.startsWith('-')) {
      file.removed += 1;
      file.lines.push({ kind: 'minus', old: old++, text: line.slice(1) });
    } else if (file?.open && line.startsWith(' ')) {
      file.lines.push({ kind: 'same', old: old++, next: next++, text: line.slice(1) });
    } else if (file && /^(new file|deleted file|rename |old mode|new mode|Binary files)/.test(line)) {
      file.notes.push(line);
    }
  }
  return files;
}

const SIGN = { plus: '+', minus: '−', same: '', hunk: '' };
const HEARD = { plus: 'added', minus: 'removed' };

function row(line) {
  if (line.kind === 'hunk') return h('tr', { class: 'hunk' }, h('td', { colspan: 3 }), h('td', {}, line.text ? `⋯ ${line.text}` : '⋯'));
  return h('tr', { class: line.kind },
    h('td', { class: 'at' }, line.old ?? ''), h('td', { class: 'at' }, line.next ?? ''),
    h('td', { class: 'sign' }, h('span', { 'aria-hidden': 'true' }, SIGN[line.kind]), HEARD[line.kind] && h('span', { class: 'hush' }, HEARD[line.kind])),
    h('td', { class: 'code' }, line.text));
}

function fileTable(file) {
  const body = h('tbody', {}, file.lines.slice(0, MOST).map(row));
  const table = h('table', { class: 'patch' },
    h('caption', { class: 'hush' }, `Changes in ${file.path}`),
    h('thead', { class: 'hush' }, h('tr', {}, ['Old line', 'New line', 'Change', 'Text'].map(name => h('th', { scope: 'col' }, name)))), body);
  const box = h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Changes in ${file.path}` }, table);
  const rest = file.lines.length - MOST;
  if (rest <= 0) return box;
  const more = button(`Show ${count(rest, 'more line')}`, () => { add(body, file.lines.slice(MOST).map(row)); more.remove(); }, { class: 'more' });
  return [box, more];
}

/** A patch as a list of files that open. */
export function diffView(patch) {
  const files = parsePatch(patch);
  if (!files.length) return h('p', { class: 'dim' }, 'No changes.');
  const [added, removed] = ['added', 'removed'].map(key => files.reduce((sum, file) => sum + file[key], 0));
  const few = files.length <= 12;
  return h('div', { class: 'diff' },
    h('p', { class: 'dim' }, `${count(files.length, 'file')}, `, h('span', { class: 'ins' }, `+${added}`), ' ', h('span', { class: 'del' }, `−${removed}`)),
    files.map(file => fold(
      [h('span', { class: 'path' }, file.path || 'patch'), h('span', { class: 'ins' }, `+${file.added}`), ' ', h('span', { class: 'del' }, `−${file.removed}`)],
      [file.notes.map(note => h('p', { class: 'dim note' }, note)), file.lines.length ? fileTable(file) : null],
      { open: few && file.lines.length <= MOST, cls: 'file' })));
}

/** Whether a text that a tool printed or got is a patch. */
export function isPatch(text) {
  return /^(diff --git |--- a?\/?.*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 4000));
}

/** What an editing tool replaces by what, where its input says so. */
export function replacement(input) {
  if (!input.startsWith('{') || !/"(old_string|old_str|new_string|content|file_text)"/.test(input)) return null;
  try {
    const value = JSON.parse(input);
    const [old, next] = [value.old_string ?? value.old_str ?? '', value.new_string ?? value.new_str ?? value.content ?? value.file_text];
    return typeof next === 'string' ? { path: value.file_path ?? value.path ?? '', old, next } : null;
  } catch {
    return null;
  }
}

export function replacementView({ path, old, next }) {
  const lines = (text, kind) => (text ? text.split('\n').map(one => ({ kind, text: one })) : []);
  return fileTable({ path: path || 'a file', lines: [...lines(old, 'minus'), ...lines(next, 'plus')] });
}
