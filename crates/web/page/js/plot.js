// Plots as SVG. Each has the same as a table below it.
import { h, s } from './dom.js';
import { ending, signParts } from './words.js';

/** A plot with its title and its table. */
export function figure(title, plot, headings, rows, note) {
  return h('figure', { class: 'panel plot' }, h('figcaption', {}, h('h2', {}, title), note && h('span', { class: 'dim' }, note)), plot,
    h('details', { class: 'table' }, h('summary', {}, 'As a table'), h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${title}, as a table` },
      h('table', { class: 'plain' }, h('caption', { class: 'hush' }, title), h('thead', {}, h('tr', {}, headings.map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, rows.map(row => h('tr', {}, row.map((cell, at) => (at ? h('td', { class: 'num' }, cell) : h('th', { scope: 'row' }, cell))))))))));
}

/** Round values for an axis from 0. */
export function ticks(most, about = 4) {
  if (!(most > 0)) return [0, 1];
  const raw = most / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find(one => one * power >= raw) * power;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) => at * step);
}

/** Bars over time, with the running sum as a line. `bars`: `[{label, value, title}]`. */
export function barPlot(bars, show, label, W) {
  const [H, left, right, top, bottom] = [W < 600 ? 200 : 240, 56, 56, 12, 30];
  const [most, total] = [Math.max(...bars.map(bar => bar.value), 0), bars.reduce((sum, bar) => sum + bar.value, 0)];
  const marks = ticks(most);
  const scale = marks.at(-1) || 1;
  const y = value => H - bottom - (value / scale) * (H - top - bottom);
  const step = (W - left - right) / Math.max(bars.length, 1);
  const width = Math.max(1.5, Math.min(46, step * 0.68));
  const x = at => left + step * (at + 0.5);
  let sum = 0;
  const line = bars.map((bar, at) => {
    sum += bar.value;
    return `${at ? 'L' : 'M'}${x(at).toFixed(1)} ${(H - bottom - (total ? sum / total : 0) * (H - top - bottom)).toFixed(1)}`;
  }).join('');
  const every = Math.ceil(bars.length / Math.max(3, Math.floor((W - left - right) / 76)));
  return s('svg', { class: 'bars', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label },
    marks.map(mark => [s('path', { class: 'grid', d: `M${left} ${y(mark)}H${W - right}` }), s('text', { class: 'axis', x: left - 8, y: y(mark) + 4, 'text-anchor': 'end' }, show(mark))]),
    bars.map((bar, at) => s('rect', { class: 'bar', x: x(at) - width / 2, width, y: y(bar.value), height: Math.max(0, H - bottom - y(bar.value)), rx: Math.min(3, width / 3) }, s('title', {}, `${bar.label}: ${show(bar.value)}${bar.title ? `\n${bar.title}` : ''}`))),
    bars.length > 1 && [s('path', { class: 'sum', d: line }), s('text', { class: 'axis sumtext', x: W - right + 6, y: top + 8 }, show(total))],
    bars.map((bar, at) => (at % every === 0 ? s('text', { class: 'axis', x: x(at), y: H - 10, 'text-anchor': 'middle' }, bar.label) : null)));
}

/** A list of bars, the longest first. `rows`: `[{name, value, title, href}]`. */
export function rowPlot(rows, show) {
  const most = Math.max(...rows.map(row => row.value), 0) || 1;
  return h('ul', { class: 'rowplot' }, rows.map(row => h('li', { title: row.title ?? '' },
    row.href ? h('a', { class: 'name', href: row.href }, row.name) : h('span', { class: 'name' }, row.name),
    h('span', { class: 'track' }, h('span', { class: 'fill', css: { width: `${Math.max(0.5, (row.value / most) * 100)}%` } })), h('span', { class: 'num' }, show(row.value)))));
}

/** Attempts over time, a line for each lane. `bars`: `[{lane, from, to, end, title, href}]`. */
export function gantt(bars, lanes, show, label) {
  const [W, ROW, left, top] = [1000, 26, 150, 26];
  const H = top + lanes.length * ROW + 6;
  const [from, to] = [Math.min(...bars.map(bar => bar.from)), Math.max(...bars.map(bar => bar.to))];
  const long = Math.max(to - from, 1);
  const x = at => left + ((at - from) / long) * (W - left - 12);
  const places = new Map(lanes.map((lane, at) => [lane, at]));
  const marks = Array.from({ length: 6 }, (_, at) => from + (long * at) / 5);
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, s('svg', { class: 'gantt', viewBox: `0 0 ${W} ${H}`, role: 'group', 'aria-label': label },
    marks.map((mark, at) => [s('path', { class: 'grid', d: `M${x(mark)} ${top - 4}V${H}` }), s('text', { class: 'axis', x: x(mark), y: 14, 'text-anchor': at === 0 ? 'start' : at === 5 ? 'end' : 'middle' }, show(mark))]),
    lanes.map((lane, at) => [s('path', { class: 'grid', d: `M0 ${top + at * ROW + ROW}H${W}` }), s('text', { class: 'lane', x: 4, y: top + at * ROW + 17 }, lane.length > 22 ? `${lane.slice(0, 21)}…` : lane, s('title', {}, lane))]),
    bars.map(bar => {
      const [words, state] = ending(bar.end);
      const [start, width, y] = [x(bar.from), Math.max(3, x(bar.to) - x(bar.from)), top + places.get(bar.lane) * ROW + 4];
      return s('a', { href: bar.href, class: `span ${state}`, 'aria-label': `${bar.title}: ${words}` }, s('title', {}, `${bar.title}: ${words}`),
        s('rect', { x: start, y, width, height: ROW - 8, rx: 4 }), width > 20 && s('g', { class: `sign ${state}`, transform: `translate(${start + 3} ${y + 1})` }, signParts(state)));
    })));
}
