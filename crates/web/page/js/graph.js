// The plan as a graph: who waits for whom. The server lays it out; this draws it, and moves and zooms it.
import { h, put, s } from './dom.js';
import { signParts, STATE_WORDS, stateOf } from './words.js';

const [WIDTH, HEIGHT, DX, DY] = [190, 44, 240, 60];
const place = node => [node.layer * DX, node.row * DY];

function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function nodeOf(node) {
  const state = stateOf(node);
  const [x, y] = place(node);
  const words = `${cut(node.title, 60)} ${node.id}, ${STATE_WORDS[state]}${node.critical ? ', on the critical path' : ''}`;
  return s('a', { class: `node ${state} ${node.critical ? 'critical' : ''}`, href: `#/task/${encodeURIComponent(node.id)}`, transform: `translate(${x} ${y})`, tabindex: -1, 'data-id': node.id, 'aria-label': words },
    s('rect', { width: WIDTH, height: HEIGHT, rx: 8 }),
    s('g', { class: `sign ${state}`, transform: 'translate(12 14)' }, signParts(state)),
    s('svg', { x: 36, width: WIDTH - 42, height: HEIGHT }, s('text', { y: 19, class: 'name' }, cut(node.title, 60)), ' ', s('text', { y: 34, class: 'id' }, node.id)));
}

function edgeOf([from, to], places, critical) {
  const [a, b] = [places.get(from), places.get(to)];
  if (!a || !b) return null;
  const [x1, y1, x2, y2] = [a[0] + WIDTH, a[1] + HEIGHT / 2, b[0], b[1] + HEIGHT / 2];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2);
  return s('path', { class: critical ? 'edge critical' : 'edge', d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, 'marker-end': critical ? 'url(#tip-critical)' : 'url(#tip)' });
}

const tip = (id, cls) => s('marker', { id, class: cls, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, s('path', { d: 'M0 .5 8 4 0 7.5z' }));

export class Graph {
  constructor() {
    this.scale = 1;
    [this.x, this.y] = [20, 20];
    this.touched = false;
    this.layer = s('g', {});
    this.svg = s('svg', { class: 'graph', role: 'group', 'aria-label': 'Graph of the plan. Arrow keys move between tasks, Enter opens one, plus and minus zoom.', tabindex: 0 },
      s('defs', {}, tip('tip', 'tip'), tip('tip-critical', 'tip critical')), this.layer);
    const tool = (text, label, work) => h('button', { type: 'button', class: 'icon', 'aria-label': label, title: label, onclick: work }, text);
    this.el = h('div', { class: 'graphbox' }, this.svg, h('div', { class: 'zoom' },
      tool('+', 'Zoom in', () => this.zoom(1.25)), tool('−', 'Zoom out', () => this.zoom(0.8)), tool('⤢', 'Fit the graph', () => this.fit())));
    this.pointers = new Map();
    this.listen();
  }

  show(data) {
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset?.id : null;
    this.data = data;
    this.places = new Map(data.nodes.map(node => [node.id, place(node)]));
    const path = new Set(data.critical.slice(1).map((id, index) => `${data.critical[index]} ${id}`));
    const back = new Set(data.critical.slice(1).map((id, index) => `${id} ${data.critical[index]}`));
    const hot = ([from, to]) => path.has(`${from} ${to}`) || back.has(`${from} ${to}`);
    const edges = [...data.edges].sort((a, b) => hot(a) - hot(b));
    put(this.layer, edges.map(edge => edgeOf(edge, this.places, hot(edge))), data.nodes.map(nodeOf));
    this.layer.querySelector('.node')?.setAttribute('tabindex', '0');
    if (focused) this.focus(focused, false);
    if (!this.touched) this.fit(false);
  }

  apply() {
    this.layer.setAttribute('transform', `translate(${this.x} ${this.y}) scale(${this.scale})`);
  }

  size() {
    const box = this.svg.getBoundingClientRect();
    return [box.width || 800, box.height || 500, box];
  }

  fit(byUser = true) {
    if (!this.data?.nodes.length) return;
    const [width, height] = this.size();
    const xs = [...this.places.values()].map(at => at[0]);
    const ys = [...this.places.values()].map(at => at[1]);
    const [w, t] = [Math.max(...xs) + WIDTH, Math.max(...ys) + HEIGHT];
    const whole = Math.min((width - 40) / w, (height - 40) / t, 1);
    // What is too small to read starts at its beginning instead.
    this.scale = byUser ? whole : Math.max(whole, 0.6);
    const start = (!byUser && this.places.get(this.data.critical[0])) || [0, 0];
    const along = (at, all, room) => (all * this.scale > room - 40 ? 20 - Math.min(at * this.scale, all * this.scale - room + 40) : (room - all * this.scale) / 2);
    this.x = along(Math.max(0, start[0] - DX), w, width);
    this.y = along(Math.max(0, start[1] - DY * 2), t, height);
    this.apply();
  }

  zoom(by, at) {
    const [width, height] = this.size();
    const [cx, cy] = at ?? [width / 2, height / 2];
    const next = Math.min(3, Math.max(0.05, this.scale * by));
    this.x = cx - ((cx - this.x) * next) / this.scale;
    this.y = cy - ((cy - this.y) * next) / this.scale;
    this.scale = next;
    this.touched = true;
    this.apply();
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.touched = true;
    this.apply();
  }

  listen() {
    const { svg } = this;
    const local = event => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    svg.addEventListener('wheel', event => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey || !event.shiftKey) this.zoom(Math.exp(-event.deltaY * 0.0015), local(event));
      else this.move(-event.deltaY, 0);
    }, { passive: false });
    svg.addEventListener('pointerdown', event => {
      this.pointers.set(event.pointerId, local(event));
      this.dragged = false;
    });
    svg.addEventListener('pointermove', event => {
      const old = this.pointers.get(event.pointerId);
      if (!old) return;
      const at = local(event);
      const [dx, dy] = [at[0] - old[0], at[1] - old[1]];
      if (!this.dragged && Math.hypot(dx, dy) < 4) return;
      if (!this.dragged) svg.setPointerCapture(event.pointerId);
      this.dragged = true;
      if (this.pointers.size === 2) {
        const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place_]) => place_);
        const length = point => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        this.zoom(length(at) / length(old), other);
      } else this.move(dx, dy);
      this.pointers.set(event.pointerId, at);
    });
    for (const name of ['pointerup', 'pointercancel', 'pointerleave']) svg.addEventListener(name, event => this.pointers.delete(event.pointerId));
    svg.addEventListener('click', event => { if (this.dragged) event.preventDefault(); this.dragged = false; }, true);
    svg.addEventListener('dragstart', event => event.preventDefault());
    svg.addEventListener('keydown', event => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    const by = arrows[event.key];
    if (by && event.shiftKey) this.move(-80 * by[0], -80 * by[1]);
    else if (by) this.step(by);
    else if (event.key === '+' || event.key === '=') this.zoom(1.25);
    else if (event.key === '-') this.zoom(0.8);
    else if (event.key === '0') this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Moves the focus to the nearest task in a direction. */
  step([dx, dy]) {
    const from = this.places.get(document.activeElement?.dataset?.id);
    if (!from) return this.focus(this.data?.critical[0] ?? this.data?.nodes[0]?.id);
    let [best, least] = [null, Infinity];
    for (const [id, [x, y]] of this.places) {
      const [ahead, aside] = dx ? [(x - from[0]) * dx, Math.abs(y - from[1])] : [(y - from[1]) * dy, Math.abs(x - from[0])];
      const cost = ahead + aside * 2;
      if (ahead > 0 && cost < least) [best, least] = [id, cost];
    }
    return best && this.focus(best);
  }

  focus(id, reveal = true) {
    const el = this.layer.querySelector(`[data-id="${CSS.escape(id ?? '')}"]`);
    if (!el) return;
    this.layer.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    el.setAttribute('tabindex', '0');
    el.focus({ preventScroll: true });
    if (!reveal) return;
    const [width, height] = this.size();
    const [x, y] = this.places.get(id).map((at, axis) => at * this.scale + (axis ? this.y : this.x));
    const [w, t] = [WIDTH * this.scale, HEIGHT * this.scale];
    const off = (at, long, most) => (at < 16 ? 16 - at : at + long > most - 16 ? most - 16 - at - long : 0);
    const [dx, dy] = [off(x, w, width), off(y, t, height)];
    if (dx || dy) this.move(dx, dy);
  }
}
