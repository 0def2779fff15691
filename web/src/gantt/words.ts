// Text of a chart: names of nodes, axis, captions of the strips, names of jobs, current time.

import type {Timeline} from '../types';
import {count} from '../format';
import {type Bars, firstBeyond} from './data';
import {inkOn} from './draw';
import {type Frame} from './frame';
import {type Pane, type TickWords, type TimeView, nameEvery} from './layout';
import type {Shades} from './shades';

export interface Inks {
  card: string;
  ink: string;
  muted: string;
  line: string;
  accent: string;
  bad: string;
}

const FONT = '11px system-ui, sans-serif';
const MOST_NAMES = 120;   // Maximum number of job names per frame.
const NAME_HIGH = 14;     // Minimum row height in pixels for names in bars.
const NAME_WIDE = 56;
const LETTER = 6.2;       // Approximate width in pixels.

const cut = (text: string, pixels: number): string => {
  const letters = Math.floor(pixels / LETTER);
  return text.length <= letters ? text : text.slice(0, Math.max(1, letters - 1)) + '…';
};

// Shortens a name in the middle, because names of nodes differ at their ends.
export const cutName = (text: string, pixels: number): string => {
  const letters = Math.floor(pixels / LETTER);
  if (text.length <= letters) return text;
  const end = Math.min(4, letters - 2);
  return end < 1 ? cut(text, pixels) : `${text.slice(0, letters - 1 - end)}…${text.slice(-end)}`;
};

function servers(ink: CanvasRenderingContext2D, line: Timeline, bars: Bars, rows: Pane, frame: Frame,
  inks: Inks): void {
  const rowHeight = frame.height / rows.span;
  const all = line.servers.length;
  const every = nameEvery(rowHeight * bars.rows / Math.max(1, all), 13);
  ink.textAlign = 'left';
  for (let s = 0; s < all; s += every) {
    const [first, last] = [bars.rowOf[s], bars.rowOf[Math.min(all, s + 1)]];
    if (last === first || last <= rows.from || first >= rows.to) continue;
    // Centered in the visible part of the node; at the top if one name represents several nodes.
    const top = (Math.max(first, rows.from) - rows.from) * rowHeight;
    const bottom = (Math.min(last, rows.to) - rows.from) * rowHeight;
    const y = every > 1 ? top + 6 : Math.max(6, Math.min((top + bottom) / 2, frame.height - 6));
    if (y > frame.height - 5) return;
    ink.fillStyle = inks.ink;
    const numbered = rowHeight >= 11;
    ink.fillText(cutName(line.servers[s].name, frame.gutter - (numbered ? 24 : 12)), 0, frame.top + y);
    if (numbered) gpuNumbers(ink, first, last, rows, rowHeight, frame, inks);
  }
}

function gpuNumbers(ink: CanvasRenderingContext2D, first: number, last: number, rows: Pane, rowHeight: number,
  frame: Frame, inks: Inks): void {
  ink.fillStyle = inks.muted;
  ink.textAlign = 'right';
  for (let row = Math.max(first, Math.floor(rows.from)); row < last && row < rows.to; row++) {
    const y = frame.top + (row + 0.5 - rows.from) * rowHeight;
    if (y > frame.top + 4 && y < frame.top + frame.height - 3) ink.fillText(String(row - first), frame.gutter - 6, y);
  }
  ink.textAlign = 'left';
}

function axis(ink: CanvasRenderingContext2D, time: TimeView, frame: Frame, at: Float64Array, n: number, step: number,
  words: TickWords, now: number | null, inks: Inks): void {
  ink.fillStyle = inks.muted;
  ink.textAlign = 'center';
  const scale = frame.width / time.span;
  for (let i = 0; i < n; i++) {
    const x = frame.gutter + (at[i] - time.from) * scale;
    // Leave space for the word "now" to the left of its line.
    const left = now === null ? Infinity : (now - at[i]) * scale;
    if (left > -24 && left < 52) continue;
    if (x > frame.gutter + 14 && x < frame.gutter + frame.width - 22) {
      ink.fillText(words.of(at[i], step), x, frame.axis + frame.axisHeight / 2);
    }
  }
  ink.textAlign = 'left';
}

// Drawn in the gutter, because it would hide the strip.
function caption(ink: CanvasRenderingContext2D, text: string, most: string, top: number, frame: Frame,
  inks: Inks): void {
  ink.fillStyle = inks.ink;
  ink.fillText(cut(text, frame.gutter - 8), 0, top + 7);
  ink.fillStyle = inks.muted;
  ink.fillText(cut(most, frame.gutter - 8), 0, top + 21);
}

// Draws job names into bars that are large enough and not dimmed; once for adjacent GPUs of a job.
function jobNames(ink: CanvasRenderingContext2D, line: Timeline, bars: Bars, time: Pane, rows: Pane, frame: Frame,
  lit: number, shades: Shades): void {
  const rowHeight = frame.height / rows.span;
  if (rowHeight < NAME_HIGH) return;
  const scale = frame.width / time.span;
  let left = MOST_NAMES;
  const stands = (job: number) => lit >= 0 ? job === lit : shades.full[job] === shades.own[job];
  const lastRow = Math.min(bars.rows, Math.ceil(rows.to));
  for (let row = Math.floor(rows.from); row < lastRow; row++) {
    const end = bars.first[row + 1];
    const y = frame.top + (row + 0.5 - rows.from) * rowHeight;
    if (y < frame.top + 6 || y > frame.top + frame.height - 5) continue;
    for (let i = firstBeyond(bars.stop, bars.first[row], end, time.from); i < end && bars.begin[i] < time.to; i++) {
      const x0 = Math.max(0, (bars.begin[i] - time.from) * scale);
      const wide = Math.min(frame.width, (bars.stop[i] - time.from) * scale) - x0;
      const job = bars.job[i];
      if (wide < NAME_WIDE || !stands(job) || (row > rows.from && isAbove(bars, row, i))) continue;
      if (left-- === 0) return;
      ink.fillStyle = inkOn(shades.own[job]);
      ink.fillText(cut(line.jobs.name[job] || `job ${line.jobs.id[job]}`, wide - 8), frame.gutter + x0 + 4, y);
    }
  }
}

function isAbove(bars: Bars, row: number, bar: number): boolean {
  if (bars.serverOf[row - 1] !== bars.serverOf[row]) return false;
  const above = firstBeyond(bars.stop, bars.first[row - 1], bars.first[row], bars.begin[bar]);
  return above < bars.first[row] && bars.job[above] === bars.job[bar];
}

function nowLine(ink: CanvasRenderingContext2D, time: Pane, now: number, frame: Frame, inks: Inks): void {
  const x = Math.round(frame.gutter + (now - time.from) * frame.width / time.span);
  if (x < frame.gutter || x > frame.gutter + frame.width) return;
  ink.fillStyle = inks.bad;
  const at = Math.min(x, frame.gutter + frame.width - 2);
  ink.fillRect(at, 0, 2, frame.top + frame.height);
  ink.textAlign = 'right';
  ink.fillText('now', at - 4, frame.axis + frame.axisHeight / 2);
  ink.textAlign = 'left';
}

export interface Shown {
  line: Timeline;
  bars: Bars;
  time: TimeView;
  rows: Pane;
  frame: Frame;
  lit: number;
  now: number | null;
  ticks: Float64Array;
  tickCount: number;
  step: number;
  words: TickWords;
  shades: Shades;
  inks: Inks;
}

export function drawWords(ink: CanvasRenderingContext2D, ratio: number, shown: Shown): void {
  const {line, bars, time, rows, frame, inks} = shown;
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  ink.font = FONT;
  ink.textBaseline = 'middle';
  ink.fillStyle = inks.card;
  ink.fillRect(0, 0, frame.gutter, frame.top + frame.height);
  if (frame.stripHeight > 0) {
    caption(ink, frame.gutter < 90 ? 'in use' : 'GPUs in use', `of ${count(line.gpus)}`, frame.strips[0], frame, inks);
    caption(ink, frame.gutter < 90 ? 'waiting' : 'Jobs waiting', `up to ${count(Math.ceil(bars.load.mostWaiting))}`,
      frame.strips[1], frame, inks);
  }
  axis(ink, time, frame, shown.ticks, shown.tickCount, shown.step, shown.words, shown.now, inks);
  servers(ink, line, bars, rows, frame, inks);
  jobNames(ink, line, bars, time, rows, frame, shown.lit, shown.shades);
  if (shown.now !== null) nowLine(ink, time, shown.now, frame, inks);
}
