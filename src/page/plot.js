// Plots: lines, steps and bars as SVG, drawn for the width there is and anew when it changes.

const COLORS = 8;
const SMALL = 12;  // Pixels of the letters on axes, as in the style.

function svgNode(parent, tag, attributes, text) {
  const node = document.createElementNS(parent.namespaceURI, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// Colors come again after eight series, then dashed.
function colorClass(index) {
  return `c${index % COLORS}` + (Math.floor(index / COLORS) % 2 === 1 ? ' dash' : '');
}

const isThere = value => value !== null && Number.isFinite(value);
const pixel = value => Math.round(value * 10) / 10;

class PlotView {
  constructor(figure, plot) {
    this.plot = plot;
    this.host = figure.querySelector('.draw');
    this.svg = figure.querySelector('svg');
    this.bars = plot.kind === 'bars';
    this.hidden = new Set();
    this.cursor = -1;  // Which of this.stops is pointed at.
    for (const series of plot.series) {
      if (typeof series.x === 'number') series.x = plot.series[series.x].x;
    }
    this.makeLegend(figure.querySelector('.legend'));
    this.describe();
    this.listen();
  }

  makeLegend(legend) {
    if (this.plot.series.length < 2) return;
    this.plot.series.forEach((series, i) => {
      const button = addNode(legend, 'button', {type: 'button', 'aria-pressed': 'true',
        title: 'Show or hide'});
      addNode(button, 'span', {class: `key ${this.bars ? 'block ' : ''}${colorClass(i)}`});
      addNode(button, 'span', {}, series.name || `series ${i + 1}`);
      button.addEventListener('click', () => {
        const hide = !this.hidden.has(i);
        if (hide) this.hidden.add(i); else this.hidden.delete(i);
        button.setAttribute('aria-pressed', String(!hide));
        this.draw(this.width);
      });
    });
  }

  describe() {
    const {plot} = this;
    const parts = plot.series.slice(0, 12).map(series => {
      const [low, high] = extent(series.y);
      return `${series.name || 'series'} from ${numberText(low)} to ${numberText(high)}`;
    });
    const kind = {line: 'Line plot', steps: 'Step plot', bars: 'Bar chart'}[plot.kind];
    const axes = [plot.y, plot.x].filter(Boolean).join(' by ');
    this.svg.setAttribute('aria-label',
      `${kind}: ${plot.title}. ${axes}. ${parts.join('; ')}. Arrow keys read the values.`);
  }

  shown() {
    return this.plot.series.map((series, i) => ({...series, index: i}))
      .filter(series => !this.hidden.has(series.index));
  }

  draw(width) {
    this.width = width;
    this.stops = null;
    this.svg.replaceChildren();
    const names = this.bars ? this.fitNames(width - 60) : {height: 20};
    const height = Math.round(Math.min(300, Math.max(235, width * 0.36))) + names.height - 20;
    const series = this.shown();
    const y = this.yRange(series);
    const x = this.bars ? null : this.xRange(series);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.over = null;
    if (!y || (!this.bars && !x)) {
      svgNode(this.svg, 'text', {class: 'empty', x: width / 2, y: height / 2},
        this.hidden.size > 0 && series.length === 0 ? 'All series are hidden' : 'Nothing to show');
      return;
    }
    this.layOut(width, height, y, x);
    if (this.bars) this.drawBars(series); else series.forEach(each => this.drawSeries(each));
    this.over = svgNode(this.svg, 'g', {});
  }

  yRange(series) {
    let [low, high] = extent(series.flatMap(each => each.y));
    if (!isThere(low)) return null;
    // From zero on, unless lines would be pressed flat.
    const flat = this.plot.kind === 'line' && high > low && low > 0 && high - low < 0.15 * high;
    if (!flat) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
    if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 10,
      high + Math.abs(high) / 10];
    const step = roundStep(high - low, 5);
    const slack = step * 1e-6;
    return [Math.floor((low + slack) / step) * step, Math.ceil((high - slack) / step) * step];
  }

  xRange(series) {
    const log = this.plot.scale === 'log';
    let [low, high] = extent(series.flatMap(each => each.x).filter(x => !log || x > 0));
    if (!isThere(low)) return null;
    if (low === high) {
      const around = Math.abs(low) / 2 || 1;
      [low, high] = log ? [low / 2, high * 2] : [low - around, high + around];
    }
    return [low, high];
  }

  // Margins, both axes with grid and labels.
  layOut(width, height, y, x) {
    const {plot, svg} = this;
    const yTicks = linearTicks(y[0], y[1], 5);
    const numbers = Math.ceil(Math.max(...yTicks.map(tick => textWidth(tick.text, SMALL)))) + 9;
    const top = plot.y ? 25 : 9;
    const names = this.bars ? this.fitNames(width - numbers - 14) : null;
    const left = Math.max(numbers, names ? names.left : 0);
    const bottom = height - (plot.x ? 19 : 2) - (names ? names.height : 20);
    this.area = {left, right: width - 14, top, bottom};
    const {right} = this.area;
    this.y = makeScale('linear', y[0], y[1], bottom, top);
    if (plot.y) {
      svgNode(svg, 'text', {x: 0, y: 12}, shortened(plot.y, SMALL, width));
    }
    for (const tick of yTicks) {
      const at = Math.round(this.y.at(tick.value)) + 0.5;
      const css = tick.value === 0 ? 'axis' : 'grid';
      svgNode(svg, 'path', {class: css, d: `M${left},${at}H${right}`});
      svgNode(svg, 'text', {class: 'tick-y', x: left - 7, y: at + 4}, tick.text);
    }
    if (names) this.nameBars(names); else this.drawXAxis(x);
    if (plot.x) {
      const text = shortened(plot.x, SMALL, width);
      svgNode(svg, 'text', {x: pixel(Math.max(0, right - textWidth(text, SMALL))), y: height - 4},
        text);
    }
  }

  drawXAxis(range) {
    const {left, right, top, bottom} = this.area;
    const {svg} = this;
    this.x = makeScale(this.plot.scale, range[0], range[1], left, right);
    const place = value => Math.round(this.x.at(value)) + 0.5;
    const ticks = this.x.ticks(Math.max(2, Math.floor((right - left) / 65)));
    for (const tick of ticks) {
      const css = tick.minor ? 'grid minor' : 'grid';
      svgNode(svg, 'path', {class: css, d: `M${place(tick.value)},${top}V${bottom}`});
    }
    for (const tick of spacedTicks(ticks, place, SMALL, 0, this.width)) {
      svgNode(svg, 'path', {class: 'axis', d: `M${place(tick.value)},${bottom}v4`});
      svgNode(svg, 'text', {x: pixel(tick.begin), y: bottom + 16}, tick.text);
    }
    svgNode(svg, 'path', {class: 'axis', d: `M${left},${bottom + 0.5}H${right}`});
  }

  // How to write the categories: level in up to three lines if they fit, else aslant, each or every
  // second... What is aslant may need room at the left.
  fitNames(room) {
    const names = this.plot.categories;
    const slot = room / Math.max(1, names.length);
    const lines = names.map(name => wrapped(name, slot - 6));
    if (lines.every(Boolean)) {
      return {lines, height: 6 + 14 * Math.max(1, ...lines.map(each => each.length)), left: 0};
    }
    const texts = names.map(name => shortened(name, SMALL, 140));
    const widths = texts.map(text => textWidth(text, SMALL));
    const left = Math.max(...widths.map((width, i) => width * 0.77 - slot * (i + 0.5)));
    return {texts, every: Math.ceil(18 / slot), left: Math.ceil(left),
      height: Math.ceil(Math.max(...widths) * 0.64 + 16)};
  }

  nameBars({lines, texts, every}) {
    const {left, right, bottom} = this.area;
    const slot = (right - left) / this.plot.categories.length;
    const middle = i => pixel(left + slot * (i + 0.5));
    if (lines) {
      lines.forEach((each, i) => each.forEach((text, line) => svgNode(this.svg, 'text',
        {'text-anchor': 'middle', x: middle(i), y: bottom + 16 + 14 * line}, text)));
      return;
    }
    texts.forEach((text, i) => {
      if (i % every !== 0) return;
      const node = svgNode(this.svg, 'text', {'text-anchor': 'end',
        transform: `translate(${middle(i) + 4},${bottom + 13}) rotate(-40)`}, text);
      if (text !== this.plot.categories[i]) svgNode(node, 'title', {}, this.plot.categories[i]);
    });
  }

  drawBars(series) {
    const {left, right} = this.area;
    const slot = (right - left) / this.plot.categories.length;
    const each = Math.min(46, slot * 0.76 / series.length);
    const zero = this.y.at(Math.max(this.y.low, 0));
    const said = series.length === 1 && series[0].y.every(
      value => textWidth(numberText(value), 11) < slot - 4);
    series.forEach((one, place) => one.y.forEach((value, i) => {
      if (!isThere(value)) return;
      const x = left + slot * (i + 0.5) + (place - series.length / 2) * each;
      const y = this.y.at(value);
      const inner = each > 5 ? each - 1.5 : each > 2 ? each - 0.5 : each;
      svgNode(this.svg, 'rect', {class: `bar ${colorClass(one.index)}`, x: pixel(x),
        y: pixel(Math.min(y, zero)), width: Math.max(0.5, pixel(inner)),
        height: pixel(Math.abs(zero - y)), rx: each > 8 ? 2 : 0});
      if (said) {
        svgNode(this.svg, 'text', {class: 'value', x: pixel(x + inner / 2),
          y: pixel(value < 0 ? y + 12 : y - 4)}, numberText(value));
      }
    }));
  }

  drawSeries(series) {
    const steps = this.plot.kind === 'steps';
    const points = this.points(series);
    let path = '';
    let before = null;  // The last y, if the line goes on from it.
    const lonely = [];
    points.forEach(([x, y], i) => {
      if (y === null) {
        if (steps && before !== null) path += `H${x}`;
        before = null;
        return;
      }
      const next = points[i + 1];
      if (before === null) {
        path += `M${x},${y}`;
        if (!steps && (!next || next[1] === null)) lonely.push([x, y]);
      } else if (steps) {
        path += y === before ? '' : `H${x}V${y}`;
      } else {
        path += `L${x},${y}`;
      }
      before = y;
    });
    if (steps && before !== null) path += `H${this.area.right}`;
    const css = `${colorClass(series.index)}`;
    if (path) svgNode(this.svg, 'path', {class: `line ${steps ? 'steps ' : ''}${css}`, d: path});
    const few = !steps && points.length <= 40;
    const dots = few ? points.filter(point => point[1] !== null) : lonely;
    for (const [x, y] of dots) {
      svgNode(this.svg, 'circle', {class: `dot ${css}`, cx: x, cy: y, r: few ? 2.7 : 2});
    }
  }

  // In pixels; null for what is not there. On a log axis steps below zero hold from its left end.
  points(series) {
    const log = this.plot.scale === 'log';
    const points = [];
    series.x.forEach((x, i) => {
      const y = isThere(series.y[i]) ? pixel(this.y.at(series.y[i])) : null;
      if (!isThere(x)) return;
      if (log && x <= 0) {
        if (this.plot.kind === 'steps') points[0] = [this.area.left, y];
        return;
      }
      points.push([pixel(this.x.at(x)), y]);
    });
    return points;
  }

  // ---- what is under the mouse, or where the arrow keys have gone

  listen() {
    const {svg} = this;
    const leave = () => this.point(-1);
    const move = event => {
      const box = svg.getBoundingClientRect();
      this.point(this.nearest((event.clientX - box.left) * this.width / box.width));
    };
    svg.addEventListener('pointermove', move);
    svg.addEventListener('pointerdown', move);
    svg.addEventListener('pointerleave', leave);
    svg.addEventListener('blur', leave);
    svg.addEventListener('keydown', event => {
      const by = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10}[event.key];
      if (event.key === 'Escape') return leave();
      if (!by || !this.over) return;
      event.preventDefault();
      const last = this.allStops().length - 1;
      this.point(Math.min(last, Math.max(0, this.cursor + by)));
    });
  }

  // Every x there is, once and ascending; of bars the categories' numbers.
  allStops() {
    if (this.stops) return this.stops;
    if (this.bars) return this.stops = this.plot.categories.map((_, i) => i);
    const log = this.plot.scale === 'log';
    const all = this.shown().flatMap(series => series.x)
      .filter(x => isThere(x) && !(log && x <= 0));
    all.sort((a, b) => a - b);
    return this.stops = all.filter((x, i) => i === 0 || x !== all[i - 1]);
  }

  nearest(at) {
    const stops = this.over ? this.allStops() : [];
    if (stops.length === 0) return -1;
    const {left, right} = this.area;
    if (this.bars) {
      const slot = Math.floor((at - left) / (right - left) * stops.length);
      return Math.min(stops.length - 1, Math.max(0, slot));
    }
    const after = firstAbove(stops, this.x.back(at));
    if (after === 0) return 0;
    if (after === stops.length) return after - 1;
    return at - this.x.at(stops[after - 1]) < this.x.at(stops[after]) - at ? after - 1 : after;
  }

  point(stop) {
    this.cursor = stop;
    if (!this.over) return hideTip();
    this.over.replaceChildren();
    if (stop < 0) return hideTip();
    const {left, right, top, bottom} = this.area;
    let at;
    if (this.bars) {
      const slot = (right - left) / this.plot.categories.length;
      svgNode(this.over, 'rect', {class: 'band', x: pixel(left + stop * slot), y: top,
        width: pixel(slot), height: bottom - top});
      at = left + (stop + 0.5) * slot;
    } else {
      at = this.x.at(this.allStops()[stop]);
      const line = Math.round(at) + 0.5;
      svgNode(this.over, 'path', {class: 'cross', d: `M${line},${top}V${bottom}`});
    }
    this.tell(stop, at);
  }

  tell(stop, at) {
    const {plot} = this;
    const x = this.bars ? stop : this.allStops()[stop];
    const xText = value => plot.scale === 'time' ? preciseDuration(value) : numberText(value);
    const rows = this.shown().map(series => {
      const i = this.bars ? stop : this.indexAt(series, x);
      const value = i < 0 ? null : series.y[i];
      const row = {css: `key ${this.bars ? 'block ' : ''}${colorClass(series.index)}`,
        name: series.name || plot.y, value: numberText(value)};
      if (!this.bars && isThere(value)) {
        const elsewhere = plot.kind === 'line' && series.x[i] !== x;
        if (elsewhere) row.name += ` (at ${xText(series.x[i])})`;
        svgNode(this.over, 'circle', {class: `dot here ${colorClass(series.index)}`, r: 4,
          cx: pixel(elsewhere ? this.x.at(series.x[i]) : at), cy: pixel(this.y.at(value))});
      }
      return row;
    });
    const head = this.bars ? plot.categories[stop] : xText(x);
    const box = this.svg.getBoundingClientRect();
    const scale = box.width / this.width;
    showTip({head, note: this.bars ? '' : plot.x, rows},
      box.left + at * scale, box.top + (this.area.top + 8) * scale);
  }

  // Steps: the point that holds at x. Lines: the nearest.
  indexAt(series, x) {
    const after = firstAbove(series.x, x);
    if (this.plot.kind === 'steps' || after === series.x.length) return after - 1;
    if (after === 0) return 0;
    return x - series.x[after - 1] <= series.x[after] - x ? after - 1 : after;
  }
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!isThere(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [null, null];
}

// The text in lines of at most so many pixels, or null if that takes more than three.
function wrapped(text, room) {
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : null;
    if (longer !== null && textWidth(longer, SMALL) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.length <= 3 && lines.every(line => textWidth(line, SMALL) <= room) ? lines : null;
}

// Of ascending numbers, the place of the first that is larger.
function firstAbove(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}
