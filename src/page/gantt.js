// Gantt charts: who held which GPU when, on a canvas. The view is a window of time and rows; bars
// come sorted by row and time, and only those in the window are drawn.

const GANTT = {axis: 24, most: 560, row: 15, tiny: 0.3, hues: 24};

class GanttView {
  constructor(figure, gantt) {
    this.gantt = gantt;
    this.canvas = figure.querySelector('canvas');
    this.rows = Math.max(1, gantt.group.length);
    this.span = Math.max(1e-6, gantt.window[1] - gantt.window[0]);
    this.label = -1;  // The one pointed at.
    this.firstBar = new Uint32Array(this.rows + 1);
    for (const row of gantt.row) this.firstBar[row + 1]++;
    for (let row = 0; row < this.rows; row++) this.firstBar[row + 1] += this.firstBar[row];
    this.firstRow = [];  // Of each group that has any; and the row after its last.
    this.endRow = [];
    gantt.group.forEach((group, row) => {
      if (this.firstRow[group] === undefined) this.firstRow[group] = row;
      this.endRow[group] = row + 1;
    });
    this.hash = gantt.labels.map(hashOf);
    this.fills = new Map();
    this.reset();
    this.height = GANTT.axis + Math.max(90, Math.min(GANTT.most, this.rows * GANTT.row));
    this.canvas.style.height = `${this.height}px`;
    this.makeTools(figure.querySelector('figcaption'));
    this.canvas.setAttribute('aria-label', `Gantt chart: ${gantt.title}. ` +
      `${fixedText(gantt.row.length)} bars of ${fixedText(gantt.labels.length)} jobs on ` +
      `${fixedText(this.rows)} GPUs of ${fixedText(gantt.groups.length)} servers. ` +
      'Arrow keys move, plus and minus zoom, 0 shows all.');
    this.listen();
  }

  reset() {
    this.view = {from: 0, to: this.span, top: 0, bottom: this.rows};
  }

  makeTools(caption) {
    const before = caption.querySelector('.save');
    const tool = (text, title, act) => {
      const button = addNode(caption, 'button', {type: 'button', class: 'tool', title}, text);
      before.before(button);
      button.addEventListener('click', () => {
        act();
        this.drawSoon();
      });
    };
    const middle = () => (this.area.left + this.area.right) / 2;
    tool('\u2212', 'Zoom out', () => this.zoomTime(2, middle()));
    tool('+', 'Zoom in', () => this.zoomTime(0.5, middle()));
    tool('Reset', 'Show all of it', () => this.reset());
    const hint = addNode(caption.parentNode, 'p', {class: 'thinned hint'},
      'Wheel: zoom in time. Shift and wheel: zoom in servers. Drag: move. Double click: all.');
    this.canvas.parentNode.after(hint);
  }

  // ---- drawing

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this.width);
    });
  }

  draw(width) {
    const {canvas, gantt} = this;
    this.width = width;
    const {height} = this;
    const dense = window.devicePixelRatio || 1;
    const [across, down] = [Math.round(width * dense), Math.round(height * dense)];
    if (canvas.width !== across || canvas.height !== down) {
      canvas.width = across;
      canvas.height = down;
    }
    if (this.gutter === undefined) {
      const longest = Math.max(0, ...gantt.groups.slice(0, 500).map(name => textWidth(name, 11)));
      this.gutter = Math.ceil(longest) + 12;
    }
    const left = Math.min(this.gutter, 140, Math.round(width * 0.3));
    this.area = {left, right: width - 1, top: GANTT.axis, bottom: height};
    const style = getComputedStyle(canvas);
    const color = name => style.getPropertyValue(`--${name}`).trim();
    this.colors = {card: color('card'), soft: color('soft'), line: color('line'),
      grid: color('grid'), muted: color('muted'), dark: isDark()};
    const paper = canvas.getContext('2d');
    paper.setTransform(dense, 0, 0, dense, 0, 0);
    paper.font = `11px ${style.fontFamily}`;
    paper.textBaseline = 'middle';
    this.dense = dense;
    paper.fillStyle = this.colors.card;
    paper.fillRect(0, 0, width, height);
    this.drawGround(paper);
    paper.save();
    paper.beginPath();
    paper.rect(left, GANTT.axis, this.area.right - left, height - GANTT.axis);
    paper.clip();
    this.drawBars(paper);
    paper.restore();
    this.drawNames(paper);
  }

  x(time) {
    const {left, right} = this.area;
    return left + (time - this.view.from) / (this.view.to - this.view.from) * (right - left);
  }

  y(row) {
    const {top, bottom} = this.area;
    const y = top + (row - this.view.top) / (this.view.bottom - this.view.top) * (bottom - top);
    return Math.round(y * this.dense) / this.dense;
  }

  // Every second server shaded, and the times.
  drawGround(paper) {
    const {left, right, top, bottom} = this.area;
    paper.fillStyle = this.colors.soft;
    for (let group = 0; group < this.gantt.groups.length; group += 2) {
      if (this.firstRow[group] === undefined) continue;
      const from = Math.max(top, this.y(this.firstRow[group]));
      const to = Math.min(bottom, this.y(this.endRow[group]));
      if (to > from) paper.fillRect(0, from, right, to - from);
    }
    const start = this.gantt.window[0];
    const ticks = timeTicks(start + this.view.from, start + this.view.to,
      Math.max(2, Math.floor((right - left) / 70)));
    const place = value => Math.round(this.x(value - start)) + 0.5;
    paper.strokeStyle = this.colors.line;
    paper.beginPath();
    for (const tick of ticks) {
      paper.moveTo(place(tick.value), top - 5);
      paper.lineTo(place(tick.value), bottom);
    }
    paper.stroke();
    paper.textAlign = 'left';
    paper.fillStyle = this.colors.muted;
    for (const tick of spacedTicks(ticks, place, 11, left, right)) {
      paper.fillText(tick.text, tick.begin, 10);
    }
  }

  drawBars(paper) {
    const {view, gantt} = this;
    const tall = this.y(1) - this.y(0);
    const gap = tall >= 6 ? 1 : tall >= 3 ? 0.5 : 0;
    const rest = this.fill(-1, false);
    for (let row = Math.floor(view.top); row < Math.min(this.rows, Math.ceil(view.bottom)); row++) {
      const y = this.y(row);
      const height = Math.max(0.5, this.y(row + 1) - y - gap);
      let [from, to] = [0, -1];  // A run of bars too short to see one by one.
      const flush = () => {
        if (to < from) return;
        paper.fillStyle = rest;
        paper.fillRect(from, y, Math.max(GANTT.tiny, to - from), height);
        to = from - 1;
      };
      for (let i = this.firstBar[row]; i < this.firstBar[row + 1]; i++) {
        const begin = gantt.begin[i];
        if (begin > view.to) break;
        if (begin + gantt.length[i] < view.from) continue;
        const x = this.x(begin);
        const end = this.x(begin + gantt.length[i]);
        const chosen = this.label === gantt.label[i];
        if (end - x < GANTT.tiny && !chosen) {
          if (to >= from && x - to <= GANTT.tiny) {
            to = Math.max(to, end);
          } else {
            flush();
            [from, to] = [x, end];
          }
          continue;
        }
        flush();
        this.drawBar(paper, i, x, end, y, height, chosen);
      }
      flush();
    }
  }

  drawBar(paper, i, x, end, y, height, chosen) {
    const wide = end - x > 3 ? end - x - 0.6 : end - x;
    paper.fillStyle = this.fill(this.gantt.label[i], chosen);
    paper.fillRect(x, y, wide, height);
    if (height < 11) return;
    const from = Math.max(x, this.area.left) + 4;
    const room = Math.min(end, this.area.right) - from - 4;
    if (room < 24) return;
    const name = this.gantt.labels[this.gantt.label[i]];
    if (paper.measureText(name).width > room) return;
    paper.fillStyle = this.label >= 0 && !chosen ? this.colors.muted : 'rgb(0 0 0 / 78%)';
    paper.textAlign = 'left';
    paper.fillText(name, from, y + height / 2 + 0.5);
  }

  // By the label's hash; pale while another is pointed at.
  fill(label, chosen) {
    const {dark} = this.colors;
    if (label < 0) return dark ? 'hsl(215 10% 52%)' : 'hsl(215 12% 66%)';
    const key = `${this.hash[label] % 1000} ${chosen} ${this.label >= 0} ${dark}`;
    let color = this.fills.get(key);
    if (!color) this.fills.set(key, color = this.mix(this.hash[label] % 1000, chosen));
    return color;
  }

  mix(hash, chosen) {
    const {dark} = this.colors;
    const hue = (hash / 3 % GANTT.hues | 0) * (360 / GANTT.hues);
    const light = (dark ? 50 : 62) + hash % 3 * 6;
    if (this.label >= 0 && !chosen) {
      return dark ? `hsl(${hue} 14% ${light - 26}%)` : `hsl(${hue} 22% ${light + 15}%)`;
    }
    if (chosen) return `hsl(${hue} 80% ${dark ? 62 : 48}%)`;
    return `hsl(${hue} ${dark ? 38 : 46}% ${light}%)`;
  }

  drawNames(paper) {
    const {left, top, bottom} = this.area;
    paper.textAlign = 'right';
    paper.fillStyle = this.colors.muted;
    let free = -Infinity;
    this.gantt.groups.forEach((name, group) => {
      if (this.firstRow[group] === undefined) return;
      const from = Math.max(top, this.y(this.firstRow[group]));
      const to = Math.min(bottom, this.y(this.endRow[group]));
      if (to - from < 4 || (from + to) / 2 - 6 < free) return;
      free = (from + to) / 2 + 7;
      paper.fillText(shortened(name, 11, left - 10), left - 7, (from + to) / 2);
    });
    paper.strokeStyle = this.colors.line;
    paper.strokeRect(left + 0.5, top + 0.5, this.area.right - left - 0.5, bottom - top - 1);
  }

  // ---- moving about

  zoomTime(factor, at) {
    const {view} = this;
    const {left, right} = this.area;
    const part = Math.min(1, Math.max(0, (at - left) / (right - left)));
    const size = view.to - view.from;
    const next = Math.min(this.span, Math.max(this.span / 1e6, size * factor));
    view.from = this.held(view.from + (size - next) * part, next, this.span);
    view.to = view.from + next;
  }

  zoomRows(factor, at) {
    const {view} = this;
    const {top, bottom} = this.area;
    const part = Math.min(1, Math.max(0, (at - top) / (bottom - top)));
    const size = view.bottom - view.top;
    const next = Math.min(this.rows, Math.max(Math.min(4, this.rows), size * factor));
    view.top = this.held(view.top + (size - next) * part, next, this.rows);
    view.bottom = view.top + next;
  }

  held(begin, size, whole) {
    return Math.min(whole - size, Math.max(0, begin));
  }

  pan(x, y) {
    const {view, area} = this;
    const time = view.to - view.from;
    const rows = view.bottom - view.top;
    view.from = this.held(view.from - x / (area.right - area.left) * time, time, this.span);
    view.to = view.from + time;
    view.top = this.held(view.top - y / (area.bottom - area.top) * rows, rows, this.rows);
    view.bottom = view.top + rows;
  }

  listen() {
    const {canvas} = this;
    let drag = null;
    canvas.addEventListener('wheel', event => {
      const turn = event.deltaY || event.deltaX;
      const {view} = this;
      const whole = event.shiftKey ? view.bottom - view.top >= this.rows :
        view.to - view.from >= this.span;
      if (turn > 0 && whole) return;  // Nothing more to zoom out: the page scrolls.
      event.preventDefault();
      const factor = Math.exp(Math.max(-120, Math.min(120, turn)) * 0.0022);
      if (event.shiftKey) this.zoomRows(factor, event.offsetY);
      else this.zoomTime(factor, event.offsetX);
      this.drawSoon();
      this.hover(event);
    }, {passive: false});
    canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      drag = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add('held');
    });
    canvas.addEventListener('pointermove', event => {
      if (!drag) return this.hover(event);
      hideTip();
      this.pan(event.clientX - drag[0], event.clientY - drag[1]);
      drag = [event.clientX, event.clientY];
      this.drawSoon();
    });
    const release = () => {
      drag = null;
      canvas.classList.remove('held');
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => this.choose(-1));
    canvas.addEventListener('dblclick', () => {
      this.reset();
      this.drawSoon();
    });
    canvas.addEventListener('keydown', event => this.key(event));
  }

  key(event) {
    const {left, right, top, bottom} = this.area;
    const [aside, down] = [(right - left) / 8, (bottom - top) / 8];
    const zoom = factor => () => this.zoomTime(factor, (left + right) / 2);
    const acts = {
      ArrowLeft: () => this.pan(aside, 0), ArrowRight: () => this.pan(-aside, 0),
      ArrowUp: () => this.pan(0, down), ArrowDown: () => this.pan(0, -down),
      '+': zoom(0.7), '=': zoom(0.7), '-': zoom(1.4), 0: () => this.reset(),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
    this.drawSoon();
  }

  choose(label) {
    if (label < 0) hideTip();
    if (label === this.label) return;
    this.label = label;
    this.drawSoon();
  }

  // The bar under the mouse, or one not more than two pixels away.
  barAt(x, y) {
    const {area, view, gantt} = this;
    if (x < area.left || y < area.top) return -1;
    const row = Math.floor(view.top + (y - area.top) / (area.bottom - area.top) *
      (view.bottom - view.top));
    const pixelTime = (view.to - view.from) / (area.right - area.left);
    const time = view.from + (x - area.left) * pixelTime;
    let [best, far] = [-1, 2 * pixelTime];
    for (let i = this.firstBar[row]; i < this.firstBar[row + 1]; i++) {
      const off = Math.max(gantt.begin[i] - time, time - gantt.begin[i] - gantt.length[i], 0);
      if (off <= far) [best, far] = [i, off];
    }
    return best;
  }

  hover(event) {
    const i = this.barAt(event.offsetX, event.offsetY);
    if (i < 0) return this.choose(-1);
    const {gantt} = this;
    this.choose(gantt.label[i]);
    const group = gantt.group[gantt.row[i]];
    const begin = gantt.window[0] + gantt.begin[i];
    const fine = gantt.length[i] < 10 ? 0.01 : 1;
    const lines = [
      `${gantt.groups[group]}, GPU ${gantt.row[i] - this.firstRow[group]}`,
      `${durationText(begin, fine)} to ${durationText(begin + gantt.length[i], fine)}`,
      `for ${preciseDuration(gantt.length[i])}`,
    ];
    if (gantt.tip && gantt.tip[i] > 0) lines.push(gantt.tips[gantt.tip[i]]);
    showTip({head: gantt.labels[gantt.label[i]], lines}, event.clientX, event.clientY);
  }
}

function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ hash >>> 13) >>> 0;
}
