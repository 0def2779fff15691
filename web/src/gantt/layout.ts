// Where things stand: the window in time and in rows, how it moves, and where the axis has its ticks. No drawing.

import {runTime} from '../format';
import {CALENDAR} from '../ui/axis';

export type Unit = 'unix' | 'run';

const SHORTEST = 1;  // Seconds that a window shows at the least.

const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));

// A part of something long, that can be zoomed and moved but not left.
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

  // `factor` below 1 shows less. What is at `at` (0 to 1 of the window) stays where it is.
  zoom(factor: number, at = 0.5): void {
    const wide = clamp(this.span * factor, Math.min(this.shortest, this.high - this.low), this.high - this.low);
    this.put(this.from + (this.span - wide) * at, wide);
  }

  // By a part of the window.
  pan(part: number): void {
    this.put(this.from + part * this.span, this.span);
  }

  // Other ends: one who looked at the right end, or at all of it, still does; others see what they saw.
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

// The time axis, which several drawings may share: whoever moves it tells all.
export class TimeView extends Pane {
  lit = '';  // The id of the job that stands out.
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

// The row that a line of pixels shows: where rows are smaller than a pixel, the one in the middle of those.
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

// Writes the ticks into `out` and tells how many. `zone`: seconds that local time is ahead, so that days begin at
// midnight.
export function ticks(from: number, to: number, step: number, zone: number, out: Float64Array): number {
  let n = 0;
  for (let at = Math.ceil((from + zone) / step) * step - zone; at <= to && n < out.length; at += step) out[n++] = at;
  return n;
}

const two = (n: number): string => String(n).padStart(2, '0');

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

// Of the clock: "14:20", and the day where one begins.
export function clockTime(unix: number, step: number): string {
  const date = new Date(unix * 1000);
  const [h, m, s] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const day = `${MONTHS[date.getMonth()]} ${date.getDate()}`;
  if (step >= 2592000) return `${day}, ${date.getFullYear()}`;
  if (step >= 86400 || (h === 0 && m === 0 && s === 0)) return day;
  return step < 60 ? `${two(h)}:${two(m)}:${two(s)}` : `${two(h)}:${two(m)}`;
}

// Words of ticks, kept from frame to frame.
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

// ---- labels of servers

// Every how many servers there is room for a name.
export function nameEvery(pixelsAServer: number, pixelsAName: number): number {
  return Math.max(1, Math.ceil(pixelsAName / Math.max(pixelsAServer, 1e-9)));
}
