// The plan: as a board or as a graph, with a search.
import { Board } from './board.js';
import { graph, live } from './data.js';
import { calm, command, empty, failed, h, loading, put, recall, remember, setText, show } from './dom.js';
import { count } from './format.js';
import { Graph } from './graph.js';
import { chip, sign, STATES, STATE_WORDS, stateOf } from './words.js';

/** The key of the graph: what its signs and lines mean. */
function legend() {
  return h('ul', { class: 'legend flat' }, STATES.map(state => h('li', {}, sign(state), STATE_WORDS[state])), h('li', {}, h('span', { class: 'swatch' }), 'critical path'));
}

/** The graph as a table: the same in words. */
function asTable(data) {
  const needs = new Map();
  for (const [from, to] of data.edges) needs.set(to, [...(needs.get(to) ?? []), from]);
  const row = node => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: `#/task/${encodeURIComponent(node.id)}` }, node.title)),
    h('td', {}, chip(stateOf(node))), h('td', {}, (needs.get(node.id) ?? []).join(', ')), h('td', {}, node.critical ? 'yes' : ''));
  return h('details', { class: 'table' }, h('summary', {}, 'The graph as a table'), h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Tasks of the graph' },
    h('table', { class: 'plain' }, h('caption', { class: 'hush' }, 'Tasks of the graph'),
      h('thead', {}, h('tr', {}, ['Task', 'State', 'Needs', 'Critical path'].map(name => h('th', { scope: 'col' }, name)))), h('tbody', {}, data.nodes.map(row)))));
}

export function plan(root, params) {
  let shown = params.get('view') ?? recall('plan') ?? 'board';
  const state = params.get('state');
  const around = params.get('around') ?? '';
  let [board, drawn] = [null, null];
  let serial = 0;
  const search = h('input', { type: 'search', id: 'search', placeholder: 'Search titles and ids', 'aria-label': 'Search tasks', autocomplete: 'off', spellcheck: 'false' });
  const sort = h('select', { 'aria-label': 'Order of the tasks' }, [['created', 'oldest first'], ['priority', 'by priority']].map(([value, text]) => h('option', { value }, text)));
  const body = h('div', { class: 'planbody' });
  const note = h('p', { class: 'dim plannote', role: 'status' });
  const pick = (name, text) => h('button', { type: 'button', 'data-name': name, onclick: () => choose(name) }, text);
  const toggles = h('div', { class: 'segments', role: 'group', 'aria-label': 'View of the plan' }, pick('board', 'Board'), pick('graph', 'Graph'));
  const filter = h('div', { class: 'row' }, search, sort);
  put(root, h('div', { class: 'viewhead' }, h('h1', {}, 'Plan'), toggles, filter, state && h('a', { class: 'button', href: '#/plan?view=board' }, `Only: ${STATE_WORDS[state] ?? state} ✕`), note), body);

  const query = () => ({ q: search.value.trim(), sort: sort.value });

  function choose(name) {
    shown = name;
    remember('plan', name);
    draw();
  }

  function draw() {
    board?.destroy();
    [board, drawn] = [null, null];
    for (const one of toggles.children) one.setAttribute('aria-pressed', String(one.dataset.name === shown));
    show(sort, shown === 'board');
    setText(note, '');
    if (shown === 'board') {
      board = new Board(query, state);
      put(body, board.el);
    } else {
      put(body, loading('the graph'));
      loadGraph();
    }
  }

  async function loadGraph() {
    const own = (serial += 1);
    let data;
    try {
      data = await graph({ around });
    } catch (error) {
      if (!drawn) put(body, failed(error, loadGraph));
      return;
    }
    if (own !== serial || shown !== 'graph') return;
    if (!data.nodes.length) {
      put(body, empty('No tasks to draw', 'Add a task here, or let ralph write a plan:', command('ralph plan')));
      drawn = null;
      return;
    }
    if (!drawn) {
      drawn = new Graph();
      drawn.table = h('div', {});
      put(body, h('div', { class: 'panel graphpanel' }, drawn.el, legend()), drawn.table);
    }
    drawn.show(data);
    put(drawn.table, asTable(data));
    mark();
    const path = data.critical.length ? `, ${data.critical.length} on the critical path` : '';
    setText(note, `${count(data.shown, 'task')} of ${data.total}${path}${data.hidden ? `; ${data.hidden} more unfinished are not drawn` : ''}`);
  }

  /** Dims what does not match the search. */
  function mark() {
    const text = search.value.trim().toLowerCase();
    let first = null;
    for (const el of drawn?.layer.querySelectorAll('.node') ?? []) {
      const hit = !text || el.dataset.id.toLowerCase().includes(text) || el.getAttribute('aria-label').toLowerCase().includes(text);
      el.classList.toggle('off', !hit);
      if (hit) first ??= el.dataset.id;
    }
    return first;
  }

  const searched = calm(() => (shown === 'board' ? board?.reload() : mark()), 200);
  search.addEventListener('input', searched);
  search.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    if (shown === 'graph') drawn?.focus(mark());
    else board?.columns.find(column => column.total)?.focus(0);
  });
  sort.addEventListener('change', () => board?.reload());
  const stop = live.on('plan', calm(() => (shown === 'board' ? board?.reload() : loadGraph()), 1000));
  draw();
  return () => { stop(); board?.destroy(); };
}
