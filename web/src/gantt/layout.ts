// Visible window in time and rows, its movement, and the ticks of the axis. Draws nothing.

import {runTime} from '../format';
import {CALENDAR} from '../ui/axis';

export type Unit = 'unix' | 'run';

const SHORTEST = 1;  // Minimum window in seconds.

const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));

// A window [from, to] inside the bounds [low, high] that can be zoomed and moved.
export class Pane {
  from: number;
  to: number;
  constructor(public low: number, public high: number, readonly shortest: number) {
    this.from = low;
    this.to = high;
  }

  get span(): number {
    return this.to - this.from;
  }

  get isAll(): boolean {
    return this.span >= (this.high - this.low) * (1 - 1e-9);
  }

  private put(from: number, span: number): void {
    const wide = clamp(span, Math.min(this.shortest, this.high - this.low), this.high - this.low);
    this.from = clamp(from, this.low, this.high - wide);
    this.to = this.from + wide;
  }

  show(from: number, to: number): void {
    this.put(from, to - from);
  }

  all(): void {
    this.put(this.low, this.high - this.low);
  }

  // A factor below 1 zooms in. The point at fraction `at` of the window stays in place.
  zoom(factor: number, at = 0.5): void {
    const wide = clamp(this.span * factor, Math.min(this.shortest, this.high - this.low), this.high - this.low);
    this.put(this.from + (this.span - wide) * at, wide);
  }

  // Moves by a fraction of the window.
  pan(part: number): void {
    this.put(this.from + part * this.span, this.span);
  }

  // Changes the bounds. A window that showed all, or the right end, still does; any other window stays.
  setBounds(low: number, high: number): void {
    const {isAll: all, atEnd} = this;
    this.low = low;
    this.high = Math.max(high, low + this.shortest);
    if (all) this.all();
    else if (atEnd) this.put(this.high - this.span, this.span);
    else this.put(this.from, this.span);
  }

  get atEnd(): boolean {
    return this.to >= this.high - this.span * 0.005;
  }
}

// A time axis that several charts can share. After a change, call changed() to notify all.
export class TimeView extends Pane {
  lit = '';  // Id of the highlighted job.
  private readonly hooks = new Set<() => void>();

  constructor(low: number, high: number, readonly unit: Unit) {
    super(low, Math.max(high, low + SHORTEST), SHORTEST);
  }

  subscribe(hook: () => void): () => void {
    this.hooks.add(hook);
    return () => {
      this.hooks.delete(hook);
    };
  }

  changed(): void {
    for (const hook of this.hooks) hook();
  }
}

export const rowView = (rows: number): Pane => new Pane(0, Math.max(1, rows), 1);

// ---- rows

export const topOfRow = (row: number, rows: Pane, height: number): number =>
  Math.round((row - rows.from) * height / rows.span);

// Row at a pixel line. If rows are smaller than a pixel, the row in the middle of the line.
export function rowAt(y: number, rows: Pane, height: number): number {
  const row = Math.floor(rows.from + (y + 0.5) * rows.span / height);
  return clamp(row, 0, rows.high - 1);
}

// ---- ticks

export function tickStep(span: number, most: number): number {
  const least = span / Math.max(1, most);
  const longest = CALENDAR[CALENDAR.length - 1];
  return CALENDAR.find(step => step >= least) ?? Math.ceil(least / longest) * longest;
}

// Writes the ticks into `out` and returns their number. `zone`: offset of local time in seconds, so that days begin at
// midnight.
export function ticks(from: number, to: number, step: number, zone: number, out: Float64Array): number {
  let n = 0;
  for (let at = Math.ceil((from + zone) / step) * step - zone; at <= to && n < out.length; at += step) out[n++] = at;
  return n;
}

const two = (n: number): string => String(n).padStart(2, '0');

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

// Tick text for clock time: "14:20", or the date at midnight.
export function clockTime(unix: number, step: number): string {
  const date = new Date(unix * 1000);
  const [h, m, s] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const day = `${MONTHS[date.getMonth()]} ${date.getDate()}`;
  if (step >= 2592000) return `${day}, ${date.getFullYear()}`;
  if (step >= 86400 || (h === 0 && m === 0 && s === 0)) return day;
  return step < 60 ? `${two(h)}:${two(m)}:${two(s)}` : `${two(h)}:${two(m)}`;
}

// Cache of tick texts.
export class TickWords {
  private step = 0;
  private readonly kept = new Map<number, string>();
  constructor(private readonly unit: Unit) {}

  of(at: number, step: number): string {
    if (step !== this.step || this.kept.size > 500) {
      this.kept.clear();
      this.step = step;
    }
    let word = this.kept.get(at);
    if (word === undefined) {
      word = this.unit === 'run' ? runTime(at, step) : clockTime(at, step);
      this.kept.set(at, word);
    }
    return word;
  }
}

// ---- labels of nodes

// Returns n if there is space for the name of every n-th node.
export function nameEvery(pixelsAServer: number, pixelsAName: number): number {
  return Math.max(1, Math.ceil(pixelsAName / Math.max(pixelsAServer, 1e-9)));
}
