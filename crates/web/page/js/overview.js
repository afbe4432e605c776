// The overview: what runs now, what needs you, how far the plan is, and what to type next.
import { afterActions, announce, askText, canAct, perform, rejectTask } from './actions.js';
import { diff, frozen, live, runs, status, tasks } from './data.js';
import { diffView } from './diff.js';
import { button, calm, command, empty, failed, fold, framed, h, keyed, loading, panel, put, show } from './dom.js';
import { count, duration, money, ms, now, number, tokens } from './format.js';
import { commitList, isActive, RunCard } from './run_card.js';
import { thinkingToggle } from './stream.js';
import { chip, runState, sign, STATES, STATE_WORDS } from './words.js';

/** How many failed tasks are shown. */
const FAILURES = 5;

const link = id => h('a', { href: `#/task/${encodeURIComponent(id)}` }, id);

/** Everything that waits for the user, each once: the task database knows questions and tasks, runs know branches to merge. */
export function needs(page, view) {
  const found = new Map();
  for (const one of page?.questions ?? []) found.set(`q ${one.id}`, { kind: 'question', ...one });
  const asked = new Set([...found.values()].map(one => one.task));
  for (const one of page?.waiting ?? []) if (!asked.has(one.task)) found.set(`w ${one.task}`, { kind: one.approval ? 'approval' : 'waiting', ...one });
  for (const one of (view?.runs ?? []).filter(isActive).flatMap(run => run.view.merges ?? [])) found.set(`m ${one.task}`, { kind: 'merge', ...one });
  return [...found.entries()].map(([key, one]) => ({ key, ...one }));
}

/** What changes in the task database with it. */
const changes = view => JSON.stringify(view.runs.map(({ view: run, left }) => [run.run, left, !!run.outcome, run.finished, run.successful, run.failed, run.paused, run.questions, run.held_tasks, run.failed_tasks.length]));

function needCard(one) {
  const head = words => h('div', { class: 'needhead' }, sign('waiting'), h('strong', {}, words), link(one.task));
  switch (one.kind) {
    case 'question': return h('li', { class: 'need' }, head('Question'), h('p', { class: 'prose' }, one.text), answerBox(one));
    case 'approval': return h('li', { class: 'need' }, head('Approve'), one.reason && !one.reason.startsWith('waiting for your approval') && h('p', { class: 'prose' }, one.reason), approval(one));
    case 'merge': return h('li', { class: 'need' }, head('Merge'), h('p', {}, `It needs the work of ${one.needs}, which is on branch ${one.branch}.`), command(`git merge ${one.branch}`));
    default: return h('li', { class: 'need' }, head('Waiting'), h('p', { class: 'prose' }, one.reason || 'It waits for you.'),
      canAct() && h('div', { class: 'row' }, button('Retry', () => perform({ do: 'retry', task: one.task })), button('Message…', () => askText(`Message about ${one.task}`, { label: 'Message for the agent', button: 'Send', action: text => ({ do: 'tell', task: one.task, text }) }))));
  }
}

/** The form that answers a question. */
export function answerBox(question) {
  if (!canAct()) return command(`ralph answer ${question.id} "…"`);
  const id = `answer-${question.id}`;
  const box = h('textarea', { id, rows: 1, required: true, placeholder: 'Your answer' });
  const send = h('button', { type: 'submit', class: 'act' }, 'Answer');
  const form = h('form', { class: 'answer' }, h('label', { for: id, class: 'hush' }, `Answer to ${question.id}`), box, send);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    send.disabled = true;
    if (await perform({ do: 'answer', question: question.id, text: box.value.trim() })) form.closest('.need')?.remove();
    send.disabled = false;
  });
  box.addEventListener('keydown', event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  return form;
}

/** The diff of finished work, and the two buttons. */
export function approval(one) {
  const body = h('div', {});
  const details = fold('Changes', body, { cls: 'changes' });
  details.addEventListener('toggle', async () => {
    if (!details.open || body.firstChild) return;
    put(body, loading('the changes'));
    try {
      put(body, diffView(await diff(one.task)));
    } catch (error) {
      put(body, failed(error));
    }
  });
  const buttons = canAct() && h('div', { class: 'row' },
    button('Approve', () => perform({ do: 'approve', task: one.task }), { class: 'act' }), button('Reject…', () => rejectTask(one.task)));
  return h('div', { class: 'approval' }, details, buttons || command(`ralph approve ${one.task}`));
}

/** The states of the plan as a bar and as numbers. */
function progress(counts) {
  const total = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  if (!total) return empty('No tasks yet', 'Add one here, or let ralph write a plan:', command('ralph plan'));
  const finished = counts.done + counts.failed;
  const order = ['done', 'failed', 'active', 'waiting', 'open', 'blocked'];
  const bar = h('div', { class: 'stack', role: 'img', 'aria-label': order.filter(state => counts[state]).map(state => `${counts[state]} ${STATE_WORDS[state]}`).join(', ') },
    order.filter(state => counts[state]).map(state => h('span', { class: `part ${state}`, css: { 'flex-grow': counts[state] } })));
  return [
    h('p', { class: 'kpi' }, h('span', { class: 'num' }, `${Math.floor((finished / total) * 100)}%`), h('span', { class: 'dim' }, `${number(finished)} of ${count(total, 'task')} finished`)),
    bar,
    h('ul', { class: 'legend' }, STATES.map(state => h('li', {}, h('a', { href: `#/plan?view=board&state=${state}` }, sign(state), h('span', { class: 'num' }, number(counts[state] ?? 0)), STATE_WORDS[state])))),
  ];
}

function meter(name, used, limit, text) {
  const share = limit ? Math.min(1, used / limit) : 0;
  const level = share >= 1 ? 'over' : share >= 0.8 ? 'near' : '';
  return h('div', { class: `meter ${level}` }, h('div', { class: 'between' }, h('span', {}, name), h('span', { class: 'dim' }, text)),
    h('div', { class: 'track', role: 'meter', 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': 100, 'aria-valuenow': Math.round(share * 100), 'aria-valuetext': text },
      h('span', { css: { width: `${share * 100}%` } })));
}

function spent(page, active) {
  const view = active[0]?.view ?? page.run;
  if (!view) return h('p', { class: 'dim' }, 'Nothing spent yet.');
  const all = active.length ? active.map(run => run.view) : [view];
  const sum = pick => all.reduce((total, one) => total + (pick(one) ?? 0), 0);
  const priced = all.some(one => one.usage_so_far.cost_micro_usd !== null);
  const [cost, input, output] = [sum(one => one.usage_so_far.cost_micro_usd), sum(one => one.usage_so_far.input_tokens), sum(one => one.usage_so_far.output_tokens)];
  const { budget } = view;
  const took = now() - ms(view.started_at);
  const unpriced = all.some(one => one.unpriced);
  return [
    h('p', { class: 'kpi' }, h('span', { class: 'num' }, priced ? `${money(cost)}${unpriced ? '+' : ''}` : tokens(input + output)), h('span', { class: 'dim' }, priced ? `${tokens(input)} tokens in, ${tokens(output)} out` : 'tokens; no price reported')),
    budget.micro_usd > 0 && meter('Budget', cost, budget.micro_usd, `${money(cost)} of ${money(budget.micro_usd)}`),
    budget.tokens > 0 && meter('Tokens', input + output, budget.tokens, `${tokens(input + output)} of ${tokens(budget.tokens)}`),
    budget.time_ms > 0 && !view.outcome && meter('Time', took, budget.time_ms, `${duration(took)} of ${duration(budget.time_ms)}`),
    page.forecast ? h('p', { class: 'forecast' }, h('span', {}, 'Remaining: about '), h('strong', {}, duration(Math.round(page.forecast.duration_ms / 60000) * 60000 || page.forecast.duration_ms)),
      page.forecast.cost_micro_usd !== null && [', ', h('strong', {}, money(page.forecast.cost_micro_usd))], h('span', { class: 'dim' }, ` for ${count(page.forecast.tasks, 'task')}, from ${page.forecast.from_tasks} finished`))
      : page.counts.open + page.counts.blocked > 0 && h('p', { class: 'forecast dim' }, 'A forecast comes after 3 finished tasks.'),
  ];
}

function lanes(page) {
  return h('table', { class: 'plain' }, h('caption', { class: 'hush' }, 'Branches'),
    h('thead', {}, h('tr', {}, ['Branch', 'State', 'Done', 'Cost'].map(name => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, page.lanes.map(lane => h('tr', {}, h('th', { scope: 'row' }, lane.branch),
      h('td', {}, chip({ running: 'active', interrupted: 'failed' }[lane.state] ?? 'open', lane.state === 'stopped' ? lane.outcome ?? 'not started' : lane.state)),
      h('td', { class: 'num' }, `${lane.done} of ${lane.total}`), h('td', { class: 'num' }, money(lane.cost_micro_usd))))));
}

export function overview(root) {
  let page = null;
  let [endings, failures] = [new Map(), []];
  const cards = new Map();
  const [runsBox, needBox] = [h('div', { class: 'stackv' }), h('ul', { class: 'needs' })];
  const needPanel = panel('Needs you', needBox, { id: 'needs', cls: 'needspanel' });
  const none = h('div', { class: 'panel' }, loading('the runs'));
  const boxes = Object.fromEntries(['plan', 'cost', 'lanes', 'failed', 'next', 'commits'].map(name => [name, h('div', {})]));
  const panels = {
    plan: panel('Plan', boxes.plan, { id: 'progress' }), cost: panel('Cost', boxes.cost, { id: 'spent' }), lanes: panel('Branches', boxes.lanes, { id: 'lanes' }),
    failed: panel('Failed', boxes.failed, { id: 'failed' }), next: panel('Next', boxes.next, { id: 'next' }), commits: panel('Recent commits', boxes.commits, { id: 'commits' }),
  };
  for (const one of Object.values(panels)) one.hidden = true;
  needPanel.hidden = true;
  const streams = () => [...cards.values()].flatMap(card => card.streams());
  put(root, h('div', { class: 'viewhead' }, h('h1', {}, 'Overview'), h('div', { class: 'row' }, thinkingToggle(streams))),
    h('div', { class: 'columns' }, h('div', { class: 'stackv' }, needPanel, none, runsBox), h('aside', { class: 'stackv', 'aria-label': 'Plan and cost' }, Object.values(panels))));

  const memo = new Map();
  const draw = (name, value, make) => {
    const key = JSON.stringify(value);
    if (memo.get(name) === key) return;
    memo.set(name, key);
    put(boxes[name], make());
  };

  const render = framed(() => {
    if (!root.isConnected) return;
    const all = (live.view?.runs ?? []).map((run, index) => ({ ...run, index })).filter(run => run.view.run !== null);
    const active = all.filter(isActive);
    const shown = active.length ? active : all.slice(-1);
    const cardOf = run => {
      const known = cards.get(run.index);
      if (known?.id === run.view.run) return known;
      const card = new RunCard(slot => live.transcript(run.index, slot));
      card.id = run.view.run;
      cards.set(run.index, card);
      return card;
    };
    keyed(runsBox, shown, run => `${run.index} ${run.view.run}`, run => cardOf(run).el, (_, run) => cardOf(run).update(run, endings.get(run.view.run)));
    const known = live.view !== null || page !== null;
    show(none, known && shown.length === 0);
    if (known && shown.length === 0) put(none, empty('Nothing has run here yet', 'Start the loop in a terminal. This page follows it by itself.', command('ralph build')));
    const waiting = needs(page, live.view);
    show(needPanel, waiting.length > 0);
    keyed(needBox, waiting, one => one.key + one.kind, needCard);
    if (!page) return;
    const { counts } = page;
    draw('plan', counts, () => progress(counts));
    draw('cost', [page.forecast, page.run?.usage_so_far, active.map(run => run.view.usage_so_far), active.map(run => run.view.budget), active.length && Math.floor(now() / 10_000)], () => spent(page, active));
    show(panels.lanes, (page.lanes?.length ?? 0) > 0);
    if (page.lanes?.length) draw('lanes', page.lanes, () => lanes(page));
    const reasons = new Map([page.run, ...active.map(run => run.view)].flatMap(run => run?.failed_tasks ?? []).map(task => [task.id, task.reason]));
    const lost = failures.map(task => ({ ...task, reason: reasons.get(task.id) }));
    show(panels.failed, lost.length > 0);
    draw('failed', [lost, canAct()], () => h('ul', { class: 'needs' }, lost.map(task => h('li', { class: 'need failed' },
      h('div', { class: 'needhead' }, sign('failed'), h('strong', {}, task.title), link(task.id)), task.reason && h('p', { class: 'prose clip' }, task.reason),
      canAct() && h('div', { class: 'row' }, button('Retry', () => perform({ do: 'retry', task: task.id })))))));
    show(panels.next, page.next.length > 0 && !frozen);
    draw('next', page.next, () => page.next.map(command));
    const commits = active.length === 1 && active[0].view.commits.length ? [...active[0].view.commits].reverse() : page.commits;
    show(panels.commits, commits.length > 0);
    draw('commits', commits, () => commitList(commits.slice(0, 8)));
    show(panels.plan, true);
    show(panels.cost, true);
  });

  const load = calm(async () => {
    try {
      const [now_, rows, found] = await Promise.all([status(), runs(), tasks({ status: 'failed', limit: FAILURES })]);
      [page, failures] = [now_, found.tasks];
      endings = new Map(rows.map(row => [row.run, row.ended]));
    } catch (error) {
      if (!page) {
        show(none, true);
        put(none, failed(error, load));
      }
      return;
    }
    render();
  }, 1500);

  let before = '';
  const stops = [
    live.on('view', view => {
      // A finished task or a run that ends changes the page of the plan, too.
      const key = changes(view);
      if (key !== before) load();
      before = key;
      render();
    }),
    live.on('said', said => cards.get(said.run)?.said(said.slot, said.from)),
    live.on('plan', load),
    afterActions(load),
  ];
  load();
  render();
  return () => stops.forEach(stop => stop());
}

/** Follows the runs on every view: the title of the page, and what screen readers hear. */
export function follow(onNeeds) {
  let [known, states] = [null, new Map()];
  const look = calm(async () => {
    const page = frozen?.status ?? (await status().catch(() => null));
    const now_ = needs(page, live.view);
    const keys = new Set(now_.map(one => one.key));
    if (known) for (const one of now_) if (!known.has(one.key)) announce(`Task ${one.task} needs you`);
    known = keys;
    onNeeds(now_.length);
  }, 3000);
  let before = '';
  live.on('view', view => {
    for (const run of view.runs) {
      const [, word] = runState(run);
      if (states.has(run.view.run) && states.get(run.view.run) !== word) announce(`Run ${run.name || run.view.target}: ${word}`);
      states.set(run.view.run, word);
    }
    const key = changes(view);
    if (key !== before) look();
    before = key;
  });
  live.on('plan', look);
  afterActions(look);
  look();
}
