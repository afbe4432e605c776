// The page: the parts that every view shares, and which view is shown.
import { addTask, announce, canAct, keysOn, perform, setWritable, showHelp } from './js/actions.js';
import { cost } from './js/cost.js';
import { frozen, live, session } from './js/data.js';
import { h, put, recall, remember, setText, show } from './js/dom.js';
import { when } from './js/format.js';
import { follow, overview } from './js/overview.js';
import { plan } from './js/plan.js';
import { tick } from './js/run_card.js';
import { runList, runPage } from './js/runs.js';
import { taskPage } from './js/task.js';

const main = document.getElementById('main');
const VIEWS = { '': ['overview', overview], plan: ['plan', plan], runs: ['runs', runList], cost: ['cost', cost], task: ['plan', taskPage], run: ['runs', runPage] };
const TITLES = { overview: 'Overview', plan: 'Plan', runs: 'Runs', cost: 'Cost' };
let leave = () => {};
let [name, waiting] = ['ralph', 0];
let shown = 'overview';

function title(detail = '') {
  document.title = `${waiting ? `(${waiting}) ` : ''}${detail || TITLES[shown]} · ${name}`;
}

/** Shows the view of the address: `#/`, `#/plan?…`, `#/task/ID`. */
function route(event) {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [first, ...rest] = path.split('/');
  const [view, make] = VIEWS[first] ?? VIEWS[''];
  const id = decodeURIComponent(rest.join('/'));
  leave();
  shown = view;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  main.className = `view ${first || 'overview'}`;
  // Each view has an element of its own: an answer that comes too late changes nothing that is shown.
  const root = h('div', { class: 'viewroot' });
  put(main, root);
  leave = (first === 'task' || first === 'run' ? make(root, id) : make(root, new URLSearchParams(query))) ?? (() => {});
  title(id);
  if (event) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

const THEMES = { auto: ['◐', 'Theme: as the system'], light: ['☀', 'Theme: light'], dark: ['☾', 'Theme: dark'] };

function theme(next) {
  if (next) remember('theme', next);
  const now = THEMES[recall('theme')] ? recall('theme') : 'auto';
  document.documentElement.dataset.theme = now;
  const [sign, label] = THEMES[now];
  const button = document.getElementById('theme');
  setText(button, sign);
  button.setAttribute('aria-label', label);
  button.title = label;
}

function nextTheme() {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(recall('theme') ?? 'auto') + 1) % names.length]);
}

const STATES = {
  lost: ['Not connected to ralph. The page tries again by itself; what you see is the last state.', 'warn'],
  denied: ['This page has no access. Open the link that ralph printed when it started the server.', 'bad'],
};

let about = null;
let [lostAt, late] = [false, null];
function connection(state) {
  const banner = document.getElementById('banner');
  clearTimeout(late);
  const [text, level] = STATES[state] ?? ['', ''];
  document.body.classList.toggle('lost', text !== '');
  const say = () => {
    setText(banner, text);
    banner.className = `banner ${level}`;
    show(banner, text !== '');
  };
  // A connection that is lost for a moment is nothing to speak of.
  if (text) late = setTimeout(say, state === 'lost' ? 1200 : 0);
  else say();
  // The page came before the server: it does not know yet what it may do.
  if (state === 'live' && !about) location.reload();
  if (state === 'live' && lostAt) announce('Connected again');
  lostAt = state === 'lost';
}

/** Letters as shortcuts, except while you type. */
let prefix = '';
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !keysOn()) return;
  if (event.target.matches('input, textarea, select') || document.querySelector('dialog[open]')) return;
  const typed = prefix + event.key;
  prefix = event.key === 'g' ? 'g' : '';
  const work = {
    go: () => { location.hash = '#/'; }, gp: () => { location.hash = '#/plan'; }, gr: () => { location.hash = '#/runs'; }, gc: () => { location.hash = '#/cost'; },
    '?': showHelp, t: nextTheme, n: () => canAct() && addTask(),
    p: () => {
      const run = live.view?.runs.find(one => !one.view.outcome && !one.left);
      if (run && canAct()) perform({ do: run.view.paused ? 'resume' : 'pause' });
    },
    '/': () => {
      if (!document.getElementById('search')) location.hash = '#/plan';
      setTimeout(() => document.getElementById('search')?.focus());
    },
  }[typed];
  if (!work) return;
  prefix = '';
  event.preventDefault();
  work();
}

async function start() {
  theme();
  document.getElementById('theme').addEventListener('click', nextTheme);
  document.getElementById('help').addEventListener('click', showHelp);
  document.getElementById('add').addEventListener('click', addTask);
  document.getElementById('skip').addEventListener('click', event => { event.preventDefault(); main.focus(); });
  document.addEventListener('keydown', key);
  live.on('state', connection);
  try {
    about = await session();
  } catch (error) {
    if (error.status === 401) live.to('denied');
  }
  name = about?.name || 'ralph';
  setText(document.getElementById('name'), name);
  setWritable(about !== null && !about.read_only && !frozen);
  const badge = document.getElementById('badge');
  if (frozen) put(badge, ['Report', about.run && `run ${about.run}`, about.day, when(frozen.status?.at)].filter(Boolean).join(', '));
  else if (about?.read_only) put(badge, 'Read only');
  show(badge, badge.textContent !== '');
  show(document.getElementById('add'), canAct());
  addEventListener('hashchange', route);
  setInterval(tick, 1000);
  follow(count => { waiting = count; title(); });
  live.start();
  route();
}

start();
