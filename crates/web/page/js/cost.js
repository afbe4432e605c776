// What sessions cost: by time, task and model, and when each attempt ran.
import { live, report, runs } from './data.js';
import { calm, command, empty, failed, h, loading, put } from './dom.js';
import { clock, count, day, duration, money, ms, now, tokens, when } from './format.js';
import { barPlot, figure, gantt, rowPlot } from './plot.js';
import { ending } from './words.js';

const HOUR = 3_600_000;
const STEPS = [[60_000, 'minute'], [5 * 60_000, '5 minutes'], [15 * 60_000, '15 minutes'], [HOUR, 'hour'], [6 * HOUR, '6 hours'], [24 * HOUR, 'day'], [7 * 24 * HOUR, 'week']];
/** How many lanes and bars a plot has at most. */
const MOST = 40;

/** What was spent, as a list: attempts that ended and sessions without one. */
function spendings(data) {
  const attempts = data.attempts.filter(one => one.end).map(one => ({ at: ms(one.end.at), task: one.task, model: one.model, run: one.run, cost: one.end.cost_micro_usd, tokens: one.end.input_tokens + one.end.output_tokens }));
  const sessions = (data.sessions ?? []).map(one => ({ at: ms(one.ended_at), task: `(${one.kind})`, model: one.model, run: one.run, cost: one.cost_micro_usd, tokens: one.input_tokens + one.output_tokens }));
  return [...attempts, ...sessions].sort((a, b) => a.at - b.at);
}

function byTime(list, value) {
  const [first, last] = [list[0].at, list.at(-1).at];
  const [step, name] = STEPS.find(([one]) => (last - first) / one <= 48) ?? STEPS.at(-1);
  const shift = -new Date(first).getTimezoneOffset() * 60_000;
  const bucket = at => Math.floor((at + shift) / step);
  const sums = new Map();
  for (let at = bucket(first); at <= bucket(last); at += 1) sums.set(at, 0);
  for (const one of list) sums.set(bucket(one.at), (sums.get(bucket(one.at)) ?? 0) + value(one));
  const text = at => (step >= 24 * HOUR ? day(at).slice(5) : last - first > 20 * HOUR ? `${day(at).slice(8)}. ${clock(at)}` : clock(at));
  return [[...sums].map(([at, sum]) => ({ label: text(at * step - shift), value: sum })), name];
}

function sums(list, key, value) {
  const found = new Map();
  for (const one of list) {
    const sum = found.get(key(one)) ?? { value: 0, n: 0 };
    sum.value += value(one);
    sum.n += 1;
    found.set(key(one), sum);
  }
  return [...found].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.value - a.value);
}

function tiles(list, attempts) {
  const unpriced = list.some(one => one.cost === null && one.tokens);
  const priced = list.some(one => one.cost !== null);
  const all = list.reduce((sum, one) => ({ cost: sum.cost + (one.cost ?? 0), tokens: sum.tokens + one.tokens }), { cost: 0, tokens: 0 });
  const done = new Set(attempts.filter(one => one.end?.outcome === 'done').map(one => one.task)).size;
  const took = attempts.reduce((sum, one) => sum + (one.end ? ms(one.end.at) - ms(one.started_at) : 0), 0);
  const tile = (value, name, note) => h('div', { class: 'panel tile' }, h('span', { class: 'num' }, value), h('span', {}, name), h('span', { class: 'dim' }, note));
  return h('div', { class: 'tiles' },
    tile(priced ? `${money(all.cost)}${unpriced ? '+' : ''}` : '–', 'cost', unpriced ? 'at least: some sessions reported no price' : done ? `${money(all.cost / done)} per finished task` : ''),
    tile(tokens(all.tokens), 'tokens', done ? `${tokens(Math.round(all.tokens / done))} per finished task` : ''),
    tile(String(attempts.length), 'attempts', `${count(done, 'task')} done`), tile(duration(took), 'of sessions', attempts.length ? `${duration(Math.round(took / attempts.length / 1000) * 1000)} per attempt` : ''));
}

/** Agents that work side by side get a lane each; a lane is reused once its attempt ended. */
function bySlot(attempts) {
  const ends = [];
  return attempts.map(one => {
    const [from, to] = [ms(one.started_at), one.end ? ms(one.end.at) : now()];
    let at = ends.findIndex(end => end <= from);
    if (at < 0) at = ends.length;
    ends[at] = Math.max(to, from + 1);
    return { lane: `slot ${at + 1}`, one, from, to };
  });
}

function timeline(attempts, by) {
  const newest = attempts.slice(-400);
  const placed = by === 'slot' ? bySlot(newest) : newest.map(one => ({ lane: one.task, one, from: ms(one.started_at), to: one.end ? ms(one.end.at) : now() }));
  const lanes = [...new Set(placed.map(bar => bar.lane))].slice(-MOST);
  const bars = placed.filter(bar => lanes.includes(bar.lane)).map(bar => ({ ...bar, end: bar.one.end, title: `${bar.one.task}, ${duration(bar.to - bar.from)}`, href: `#/task/${encodeURIComponent(bar.one.task)}` }));
  const long = bars.length && bars.at(-1).to - bars[0].from > 20 * HOUR;
  const show = at => (long ? `${day(at).slice(5)} ${clock(at)}` : clock(at));
  const rows = newest.map(one => [one.task, when(one.started_at), one.end ? duration(ms(one.end.at) - ms(one.started_at)) : '–', one.model ?? '', ending(one.end)[0]]);
  return [gantt(bars, lanes, show, 'Timeline of attempts'), rows, newest.length < attempts.length || bars.length < placed.length];
}

export function cost(root, params) {
  let [data, known, what, by] = [null, [], 'cost', 'slot'];
  let chosen = params.get('run') ?? '';
  const body = h('div', { class: 'stackv' }, loading('the report'));
  const segments = (label, names, get, set) => {
    const el = h('div', { class: 'segments', role: 'group', 'aria-label': label }, names.map(name => h('button', { type: 'button', 'data-name': name, onclick: () => { set(name); mark(); draw(); } }, name)));
    const mark = () => { for (const one of el.children) one.setAttribute('aria-pressed', String(one.dataset.name === get())); };
    mark();
    return el;
  };
  const pick = h('select', { 'aria-label': 'Run', onchange: () => { chosen = pick.value; draw(); } });
  put(root, h('div', { class: 'viewhead' }, h('h1', {}, 'Cost'), segments('Unit', ['cost', 'tokens'], () => what, name => { what = name; }), pick), body);

  function draw() {
    if (!data) return;
    const mine = one => !chosen || one.run === chosen;
    const [list, attempts] = [spendings(data).filter(mine), data.attempts.filter(mine)];
    if (!list.length && !attempts.length) return void put(body, h('div', { class: 'panel' }, empty('Nothing to report yet', 'Costs are listed once a session has ended.', command('ralph build'))));
    const [value, show] = what === 'cost' ? [one => one.cost ?? 0, money] : [one => one.tokens, tokens];
    const opened = new Set([...body.querySelectorAll('details[open]')].map(el => el.closest('figure')?.querySelector('h2')?.textContent));
    put(body, tiles(list, attempts));
    const word = what === 'cost' ? 'Cost' : 'Tokens';
    if (list.length) {
      const [bars, step] = byTime(list, value);
      body.append(figure(`${word} over time`, barPlot(bars, show, `${word} per ${step}: ${show(list.reduce((sum, one) => sum + value(one), 0))} in all`, Math.max(300, body.clientWidth - (innerWidth > 640 ? 34 : 26))), ['Time', word], bars.map(bar => [bar.label, show(bar.value)]), `per ${step}; the line is the sum`));
      const [tasks, models] = [sums(list, one => one.task, value), sums(list, one => one.model ?? 'default model', value)];
      const href = name => (name.startsWith('(') ? null : `#/task/${encodeURIComponent(name)}`);
      body.append(h('div', { class: 'pair' },
        figure(`${word} by task`, rowPlot(tasks.slice(0, 15).map(row => ({ ...row, href: href(row.name), title: count(row.n, 'attempt') })), show), ['Task', word, 'Attempts'], tasks.slice(0, 1000).map(row => [row.name, show(row.value), row.n]), tasks.length > 15 ? `the first 15 of ${tasks.length}` : ''),
        figure(`${word} by model`, rowPlot(models.map(row => ({ ...row, title: count(row.n, 'attempt') })), show), ['Model', word, 'Attempts'], models.map(row => [row.name, show(row.value), row.n]))));
    }
    if (attempts.length) {
      const [plot, rows, cut] = timeline(attempts, by);
      const el = figure('Timeline of attempts', plot, ['Task', 'Started', 'Time', 'Model', 'End'], rows, cut ? 'the newest' : '');
      el.querySelector('figcaption').append(segments('Lanes', ['slot', 'task'], () => by, name => { by = name; }));
      body.append(el);
    }
    for (const el of body.querySelectorAll('figure details')) el.open = opened.has(el.closest('figure').querySelector('h2').textContent);
  }

  const refresh = calm(async () => {
    try {
      [data, known] = await Promise.all([report(), runs()]);
    } catch (error) {
      if (!data) put(body, failed(error, refresh));
      return;
    }
    put(pick, h('option', { value: '' }, 'All runs'), known.map(run => h('option', { value: run.run }, `${run.run} · ${when(run.started_at)}`)));
    pick.value = known.some(run => run.run === chosen) ? chosen : '';
    draw();
  }, 3000);
  let before = '';
  const stop = live.on('view', view => {
    const key = JSON.stringify(view.runs.map(run => [run.view.successful, run.view.failed, run.view.finished]));
    if (before && key !== before) refresh();
    before = key;
  });
  let width = 0;
  const resized = new ResizeObserver(calm(() => {
    if (Math.abs(body.clientWidth - width) > 8) draw();
    width = body.clientWidth;
  }, 300));
  resized.observe(body);
  refresh();
  return () => { stop(); resized.disconnect(); };
}
