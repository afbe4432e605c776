// One task with its evidence: what was asked, what each attempt did, what the gates and the verifier said.
import { afterActions, canAct, confirmed, editTask, perform, rejectTask, skipTask } from './actions.js';
import { diff, live, task as load } from './data.js';
import { diffView } from './diff.js';
import { button, calm, failed, fold, h, loading, panel, put } from './dom.js';
import { clock, count, day, duration, money, short, tokens, when } from './format.js';
import { answerBox, approval } from './overview.js';
import { gateRow, rich } from './stream.js';
import { chip, ending, sign, stateOf, STATE_WORDS } from './words.js';

const link = task => h('a', { href: `#/task/${encodeURIComponent(task.id)}` }, task.title ?? task.id);

function buttons(task, state) {
  if (!canAct()) return null;
  const { id } = task;
  const gone = () => { location.hash = '#/plan'; };
  return h('div', { class: 'row' },
    state === 'waiting' && task.approval && [button('Approve', () => perform({ do: 'approve', task: id }), { class: 'act' }), button('Reject…', () => rejectTask(id))],
    ['failed', 'waiting', 'active'].includes(state) && button('Retry', () => perform({ do: 'retry', task: id })),
    ['open', 'blocked', 'active'].includes(state) && button('Skip…', () => skipTask(id)),
    state === 'done' && button('Reopen', () => perform({ do: 'reopen', task: id })),
    state !== 'done' && button('Edit…', () => editTask(task)),
    state !== 'deleted' && button('Delete…', () => confirmed(`Delete ${id}`, `ralph takes the task out of the plan: ${task.title}`, 'Delete', { do: 'delete', task: id }, gone), { class: 'danger' }));
}

function facts(task) {
  const rows = [
    ['Priority', String(task.priority)], ['Feature', task.feature], ['Category', task.category], ['Branch', task.branch], ['Spec', task.spec], ['Reference', task.ref],
    ['Files', task.touches?.join(', ')], ['Claimed by', task.assignee], ['Retries', task.retry_count ? String(task.retry_count) : null],
    ['Verification', task.verification_status], ['Created', when(task.created_at)], ['Done', when(task.done_at)],
    ['Commit', task.result?.commit ? short(task.result.commit) : null],
    ['Cost', task.totals && (task.totals.cost_micro_usd !== null || task.totals.input_tokens) ? `${money(task.totals.cost_micro_usd)} · ${tokens(task.totals.input_tokens)} tokens in, ${tokens(task.totals.output_tokens)} out · ${duration(task.totals.duration_ms)}` : null],
  ];
  return h('dl', { class: 'facts' }, rows.filter(([, value]) => value).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function neighbors(title, tasks) {
  if (!tasks?.length) return null;
  return [h('h3', {}, title), h('ul', { class: 'tasks near' }, tasks.map(one => h('li', {}, sign(stateOf(one)), link(one), h('span', { class: 'dim' }, STATE_WORDS[stateOf(one)]))))];
}

function attemptCard(attempt, evidence) {
  const { end } = attempt;
  const [words, state] = ending(end);
  const files = end?.changed?.files ?? [];
  const used = end ? [duration(attempt.duration_ms), end.cost_micro_usd !== null && money(end.cost_micro_usd), `${tokens(end.input_tokens)} in, ${tokens(end.output_tokens)} out`] : [`since ${clock(attempt.started_at)}`];
  return h('li', { class: `attempt ${state}` }, sign(state),
    h('div', { class: 'body' },
      h('div', { class: 'line' }, h('strong', {}, `Attempt ${attempt.number}`), h('span', {}, words), h('span', { class: 'dim' }, [attempt.program, attempt.model].filter(Boolean).join(' '))),
      h('p', { class: 'dim' }, [when(attempt.started_at), ...used, attempt.sandbox && `sandbox ${attempt.sandbox}`].filter(Boolean).join(' · '),
        attempt.run && [' · ', h('a', { href: `#/run/${attempt.run}` }, `run ${attempt.run}`)]),
      end?.detail && h('p', { class: 'prose' }, end.detail),
      evidence.map(gateRow),
      files.length > 0 && fold([`${count(files.length + (end.changed.more ?? 0), 'file')} changed`], h('ul', { class: 'files' }, files.map(file => h('li', {}, h('span', { class: 'path' }, file.path), h('span', { class: 'ins' }, file.added === null ? 'binary' : `+${file.added}`), h('span', { class: 'del' }, file.removed === null ? '' : `−${file.removed}`))))),
      end?.said && fold('Last message', h('div', { class: 'prose' }, rich(end.said)))));
}

/** The words of the log; the kinds are the ones of `ralph task log`. */
function logList(log) {
  let last = '';
  return h('ol', { class: 'log' }, log.map(entry => {
    const date = day(entry.at);
    const head = date !== last && h('li', { class: 'day' }, date);
    last = date;
    return [head, h('li', {}, h('time', { title: when(entry.at) }, clock(entry.at)), h('strong', {}, entry.kind), h('span', { class: 'dim' }, entry.by), entry.text && h('span', { class: 'prose' }, entry.text))];
  }));
}

function messages(task) {
  const sent = task.log.filter(entry => entry.kind === 'message' || entry.kind === 'delivered');
  const list = sent.length > 0 && h('ul', { class: 'messages' }, sent.map(entry => h('li', { class: entry.kind }, h('span', { class: 'prose' }, entry.text), h('span', { class: 'dim' }, when(entry.at)))));
  if (!canAct()) return list || h('p', { class: 'dim' }, 'No messages.');
  const box = h('textarea', { id: 'tell', rows: 2, required: true, placeholder: 'Tell the agent something about this task' });
  const form = h('form', { class: 'answer' }, h('label', { for: 'tell', class: 'hush' }, 'Message for the agent'), box, h('button', { type: 'submit', class: 'act' }, 'Send'));
  form.addEventListener('submit', async event => {
    event.preventDefault();
    if (await perform({ do: 'tell', task: task.id, text: box.value.trim() })) box.value = '';
  });
  return [list, form];
}

/** Asks for the diff only once it is in sight. */
function diffPanel(id) {
  const body = h('div', { class: 'diffbox' }, loading('the changes'));
  const seen = new IntersectionObserver(async entries => {
    if (!entries.some(entry => entry.isIntersecting)) return;
    seen.disconnect();
    try {
      put(body, diffView(await diff(id)));
    } catch (error) {
      put(body, error.status === 404 ? h('p', { class: 'dim' }, error.message) : failed(error));
    }
  });
  seen.observe(body);
  return panel('Changes', body, { id: 'changes' });
}

export function taskPage(root, id) {
  let key = '';
  put(root, loading('the task'));

  const draw = task => {
    const state = stateOf(task);
    const open = (task.questions ?? []).filter(question => !question.answer && !question.answered_at);
    const answered = (task.questions ?? []).filter(question => question.answer);
    task.approval = task.attempts?.at(-1)?.end?.outcome === 'approval' && state === 'waiting';
    const of = attempt => (task.evidence ?? []).filter(one => one.attempt === attempt.id);
    const attempts = [...(task.attempts ?? [])].reverse();
    put(root,
      h('div', { class: 'viewhead task' }, h('div', { class: 'crumbs' }, h('a', { href: '#/plan' }, 'Plan'), ' / ', h('code', {}, task.id)), h('h1', {}, task.title), h('div', { class: 'row' }, chip(state), buttons(task, state))),
      h('div', { class: 'columns' },
        h('div', { class: 'stackv' },
          (open.length > 0 || task.approval || (state === 'waiting' && task.reason)) && panel('Needs you', h('ul', { class: 'needs' },
            open.map(question => h('li', { class: 'need' }, h('p', { class: 'prose' }, question.text), answerBox(question))),
            task.approval && h('li', { class: 'need' }, approval({ task: task.id })),
            !open.length && !task.approval && h('li', { class: 'need' }, h('p', { class: 'prose' }, task.reason))), { id: 'needs', cls: 'needspanel' }),
          state === 'failed' && task.reason && h('section', { class: 'panel failedpanel' }, h('h2', {}, sign('failed'), 'Failed'), h('p', { class: 'prose' }, task.reason)),
          panel('Description', [task.description ? h('div', { class: 'prose' }, rich(task.description)) : h('p', { class: 'dim' }, 'No description.'),
            task.steps?.length > 0 && [h('h3', {}, 'Steps'), h('ol', {}, task.steps.map(step => h('li', {}, step)))]], { id: 'description' }),
          panel('Attempts', attempts.length ? h('ol', { class: 'attempts' }, attempts.map(attempt => attemptCard(attempt, of(attempt)))) : h('p', { class: 'dim' }, 'No attempt yet.'), { id: 'attempts' }),
          attempts.some(one => one.end?.changed?.files?.length || !one.end) && diffPanel(task.id)),
        h('aside', { class: 'stackv', 'aria-label': 'About the task' },
          panel('Details', [facts(task), h('p', {}, h('a', { href: `#/plan?view=graph&around=${encodeURIComponent(task.id)}` }, 'Show in the graph')),
            neighbors('Needs', task.blockers), neighbors('Needed by', task.dependents)], { id: 'details' }),
          panel('Messages', messages(task), { id: 'messages' }),
          answered.length > 0 && panel('Answers', h('ul', { class: 'needs' }, answered.map(one => h('li', { class: 'need answered' }, h('p', { class: 'prose' }, one.text), h('p', { class: 'prose you' }, one.answer)))), { id: 'answers' }),
          panel('Log', logList(task.log ?? []), { id: 'log' }))));
  };

  const refresh = calm(async () => {
    try {
      const task = await load(id);
      const next = JSON.stringify(task);
      if (next === key) return;
      // What you are typing stays.
      if (key && root.contains(document.activeElement) && document.activeElement.matches('textarea') && document.activeElement.value) return;
      const focus = document.activeElement?.id;
      key = next;
      draw(task);
      if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    } catch (error) {
      if (!key) put(root, failed(error, refresh));
    }
  }, 1000);
  const stops = [live.on('plan', refresh), afterActions(refresh)];
  refresh();
  return () => stops.forEach(stop => stop());
}
