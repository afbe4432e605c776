// The runs of the repository, and one run.
import { live, run as load, runs, Transcript } from './data.js';
import { calm, command, empty, failed, h, loading, panel, put } from './dom.js';
import { duration, money, when } from './format.js';
import { commitList, isActive, RunCard } from './run_card.js';
import { thinkingToggle } from './stream.js';
import { chip, RUN_STATES, sign } from './words.js';

function row(one) {
  const name = [one.command, one.command === 'build' && one.preset, one.branch && `(${one.branch})`].filter(Boolean).join(' ');
  return h('tr', {},
    h('th', { scope: 'row' }, h('a', { href: `#/run/${one.run}` }, one.run)), h('td', {}, when(one.started_at)), h('td', { class: 'num' }, duration(one.duration_ms)),
    h('td', {}, name), h('td', { class: 'num' }, one.done), h('td', { class: `num ${one.failed ? 'del' : ''}` }, one.failed),
    h('td', { class: 'num' }, one.cost_micro_usd === null ? '–' : `${money(one.cost_micro_usd)}${one.unpriced ? '+' : ''}`),
    h('td', { class: 'end' }, one.state === 'ended' ? one.ended : chip(RUN_STATES[one.state] ?? 'open', one.state)));
}

const HEADINGS = ['Run', 'Started', 'Time', 'Command', 'Done', 'Failed', 'Cost', 'End'];

export function runList(root) {
  const body = h('div', {}, loading('the runs'));
  put(root, h('div', { class: 'viewhead' }, h('h1', {}, 'Runs')), h('div', { class: 'panel' }, body));
  const refresh = calm(async () => {
    let all;
    try {
      all = await runs();
    } catch (error) {
      return put(body, failed(error, refresh));
    }
    if (!all.length) return put(body, empty('No runs yet', 'Every run of the loop is listed here.', command('ralph build')));
    return put(body, h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs' }, h('table', { class: 'plain runs' }, h('caption', { class: 'hush' }, 'Runs, the newest first'),
      h('thead', {}, h('tr', {}, HEADINGS.map((name, at) => h('th', { scope: 'col', class: [2, 4, 5, 6].includes(at) ? 'num' : '' }, name)))), h('tbody', {}, all.map(row)))));
  }, 2000);
  let known = '';
  const stop = live.on('view', view => {
    const key = JSON.stringify(view.runs.map(run => [run.view.run, run.left, !!run.view.outcome, run.view.finished]));
    if (key !== known) refresh();
    known = key;
  });
  refresh();
  return stop;
}

function ended(task, state) {
  return h('li', {}, sign(state), h('a', { href: `#/task/${encodeURIComponent(task.id)}` }, task.title), task.reason && h('span', { class: 'dim' }, task.reason));
}

export function runPage(root, id) {
  put(root, loading('the run'));
  (async () => {
    let [data, rows] = [null, []];
    try {
      [data, rows] = await Promise.all([load(id), runs()]);
    } catch (error) {
      return put(root, failed(error));
    }
    const transcripts = new Map();
    for (const { slot, entries } of data.transcripts ?? []) {
      const transcript = new Transcript();
      transcript.take(0, entries);
      transcripts.set(slot, transcript);
    }
    const none = new Transcript();
    const card = new RunCard(slot => transcripts.get(slot) ?? none);
    const about = rows.find(one => one.run === id);
    const now = live.view?.runs.find(run => run.view.run === id);
    card.update({ name: '', left: about ? about.state !== 'running' : true, view: data.view }, about?.ended);
    const { view } = data;
    return put(root,
      h('div', { class: 'viewhead' }, h('div', { class: 'crumbs' }, h('a', { href: '#/runs' }, 'Runs'), ' / ', h('code', {}, id)), h('h1', {}, `Run ${id}`), h('div', { class: 'row' }, thinkingToggle(() => card.streams()), now && isActive(now) && h('a', { class: 'button', href: '#/' }, 'Follow it live'))),
      h('div', { class: 'columns' }, h('div', { class: 'stackv' }, card.el),
        h('aside', { class: 'stackv', 'aria-label': 'About the run' },
          panel('Tasks', [view.failed_tasks.length || view.held_tasks.length ? h('ul', { class: 'tasks' }, view.failed_tasks.map(task => ended(task, 'failed')), view.held_tasks.map(task => ended(task, 'waiting'))) : null,
            h('p', { class: 'dim' }, `${view.finished} finished in this run.`)], { id: 'tasks' }),
          panel('Commits', view.commits.length ? [commitList([...view.commits].reverse()), view.commit_count > view.commits.length && h('p', { class: 'dim' }, `and ${view.commit_count - view.commits.length} earlier`)] : h('p', { class: 'dim' }, 'No commits.'), { id: 'commits' }),
          panel('Cost', h('p', {}, h('a', { href: `#/cost?run=${id}` }, 'Cost and timeline of this run')), { id: 'spent' }))));
  })();
  return () => {};
}
