// Draws leases and load into an array of pixels. The cost of a frame depends on the visible pixels, not on the number
// of leases: a row is drawn pixel by pixel, and searches skip leases within one pixel. Allocates no memory.

import {type Bars, firstBeyond} from './data';
import {type Pane, rowAt, topOfRow} from './layout';

export interface Surface {
  px: Uint32Array;      // 0xAABBGGRR, line by line.
  width: number;
  blank: Uint32Array;   // One line that contains only the grid.
}

export interface Tones {
  ground: number;
  line: number;         // Between nodes.
}

// Mixes two colors: `part`/256 of b, the rest of a.
export function mix(a: number, b: number, part: number): number {
  const red = (a & 255) + (((b & 255) - (a & 255)) * part >> 8);
  const green = (a >> 8 & 255) + (((b >> 8 & 255) - (a >> 8 & 255)) * part >> 8);
  const blue = (a >> 16 & 255) + (((b >> 16 & 255) - (a >> 16 & 255)) * part >> 8);
  return (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
}

// "#rrggbb" as a pixel.
export function pixel(color: string): number {
  const n = parseInt(color.slice(1, 7), 16);
  return (0xff000000 | (n & 255) << 16 | (n & 0xff00) | n >>> 16) >>> 0;
}

const linear = (part: number): number => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;

// Returns black or white, whichever has more contrast to `color` (at least 4.5:1).
export function inkOn(color: number): string {
  const [red, green, blue] = [color & 255, color >> 8 & 255, color >> 16 & 255].map(part => linear(part / 255));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 ? '#ffffff' : '#000000';
}

export function fillRect(to: Surface, x0: number, y0: number, x1: number, y1: number, color: number): void {
  for (let y = y0; y < y1; y++) to.px.fill(color, y * to.width + x0, y * to.width + x1);
}

const FAINTEST = 72;   // Minimum opacity, of 256: a lease of a second is visible in a view of a year.
const GAP_FROM = 4;    // Bars and rows of at least this many pixels have a gap at their end.

// Time held from the begin of bar i to t, where bar j is the first that ends after t.
function heldUntil(bars: Bars, i: number, j: number, last: number, t: number): number {
  let held = (j > i ? bars.before[j - 1] + bars.stop[j - 1] - bars.begin[j - 1] : bars.before[i]) - bars.before[i];
  if (j < last && bars.begin[j] < t) held += t - bars.begin[j];
  return held;
}

// Draws one pixel line of a row. `colors`: color of each job.
function drawLine(to: Surface, at: number, bars: Bars, row: number, time: Pane, colors: Uint32Array,
  ground: number): void {
  const {px, width} = to;
  const {begin, stop, job} = bars;
  const last = bars.first[row + 1];
  const scale = width / time.span;
  const perPixel = time.span / width;
  let i = firstBeyond(stop, bars.first[row], last, time.from);
  let x = 0;
  while (i < last && x < width) {
    const left = (begin[i] - time.from) * scale;
    if (left >= width) return;
    if (left >= x + 1) x = Math.floor(left);
    const right = (stop[i] - time.from) * scale;
    const edge = Math.min(width, Math.floor(right));
    const color = colors[job[i]];
    if (right - left >= 2 && edge > x) {
      px.fill(color, at + x, at + edge);
      if (right - left >= GAP_FROM && edge < width) px[at + edge - 1] = ground;
      x = edge;
      i++;  // Its fraction of the next pixel is ignored, so ends stay sharp.
    } else {
      const begins = time.from + x * perPixel;
      const ends = begins + perPixel;
      const next = firstBeyond(stop, i, last, ends);
      const cut = begin[i] < begins ? begins - begin[i] : 0;
      const held = heldUntil(bars, i, next, last, ends) - cut;
      px[at + x] = mix(px[at + x], color, Math.max(FAINTEST, Math.min(256, Math.round(256 * held * scale))));
      x++;
      i = next;
    }
  }
}

// Draws all visible rows into the pixel lines from `top` on.
export function drawRows(to: Surface, top: number, height: number, bars: Bars, time: Pane, rows: Pane,
  colors: Uint32Array, tones: Tones): void {
  const {px, width, blank} = to;
  const rowHeight = height / rows.span;
  const gap = rowHeight >= GAP_FROM ? Math.max(1, Math.floor(rowHeight / 12)) : 0;
  for (let y = 0; y < height;) {
    const row = rowAt(y, rows, height);
    const below = Math.min(height, Math.max(y + 1, topOfRow(row + 1, rows, height)));
    const at = (top + y) * width;
    px.set(blank, at);
    drawLine(to, at, bars, row, time, colors, tones.ground);
    for (let copy = y + 1; copy < below - gap; copy++) px.copyWithin((top + copy) * width, at, at + width);
    for (let free = Math.max(y + 1, below - gap); free < below; free++) px.set(blank, (top + free) * width);
    y = below;
  }
  drawServers(to, top, height, bars, rows, tones);
}

// Draws lines between nodes if nodes are high enough to be distinguished.
function drawServers(to: Surface, top: number, height: number, bars: Bars, rows: Pane, tones: Tones): void {
  const servers = bars.rowOf.length - 1;
  if (servers < 1 || height / rows.span * bars.rows / servers < 8) return;
  for (let server = bars.serverOf[Math.min(bars.rows - 1, Math.floor(rows.from))] + 1; server < servers; server++) {
    const y = topOfRow(bars.rowOf[server], rows, height) - 1;
    if (y >= height) return;
    if (y >= 0) fillRect(to, 0, top + y, to.width, top + y + 1, tones.line);
  }
}

// Draws the leases of one job on top of all others, each at least one pixel wide.
export function drawLit(to: Surface, top: number, height: number, bars: Bars, time: Pane, rows: Pane, job: number,
  color: number, rowOfBar: (bars: Bars, bar: number) => number): void {
  const scale = to.width / time.span;
  for (let k = bars.jobFirst[job]; k < bars.jobFirst[job + 1]; k++) {
    const bar = bars.ofJob[k];
    const row = rowOfBar(bars, bar);
    const y0 = Math.max(0, topOfRow(row, rows, height));
    const y1 = Math.min(height, Math.max(y0 + 1, topOfRow(row + 1, rows, height) - (height / rows.span >= 4 ? 1 : 0)));
    const x0 = Math.max(0, Math.floor((bars.begin[bar] - time.from) * scale));
    const x1 = Math.min(to.width, Math.max(x0 + 1, Math.floor((bars.stop[bar] - time.from) * scale)));
    if (bars.stop[bar] <= time.from || x0 >= to.width || y0 >= height || y1 <= y0) continue;
    fillRect(to, x0, top + y0, x1, top + y1, color);
  }
}

// Draws a step function as an area: in each pixel column, `full` up to the minimum and `soft` up to the maximum.
export function drawStrip(to: Surface, top: number, height: number, t: Float64Array, value: Float64Array, most: number,
  time: Pane, full: number, soft: number): void {
  const {px, width, blank} = to;
  for (let y = 0; y < height; y++) px.set(blank, (top + y) * width);
  if (t.length === 0 || most <= 0) return;
  const perPixel = time.span / width;
  const scale = height / most;
  // The step at the begin of the window; -1: the window begins before the first step.
  let i = firstBeyond(t, 0, t.length, time.from) - 1;
  for (let x = 0; x < width; x++) {
    const end = time.from + (x + 1) * perPixel;
    let low = i >= 0 ? value[i] : 0;
    let high = low;
    while (i + 1 < t.length && t[i + 1] <= end) {
      i++;
      if (value[i] < low) low = value[i];
      if (value[i] > high) high = value[i];
    }
    const upTo = height - Math.min(height, Math.round(low * scale));
    const softTo = Math.min(upTo, height - Math.min(height, Math.ceil(high * scale)));
    let at = (top + softTo) * width + x;
    for (let y = softTo; y < height; y++, at += width) px[at] = y < upTo ? soft : full;
  }
}
