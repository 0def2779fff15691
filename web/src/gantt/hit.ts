// Finds bars by position.

import {type Bars, firstBeyond} from './data';
import {type Pane, rowAt} from './layout';

// Returns the bar at a point, or the nearest bar of the row within `reach` pixels; -1: none.
export function barAt(bars: Bars, time: Pane, rows: Pane, width: number, height: number, x: number, y: number,
  reach = 3): number {
  if (bars.rows === 0 || x < 0 || y < 0 || x >= width || y >= height) return -1;
  const row = rowAt(Math.floor(y), rows, height);
  const perPixel = time.span / width;
  const t = time.from + x * perPixel;
  const [first, last] = [bars.first[row], bars.first[row + 1]];
  const next = firstBeyond(bars.stop, first, last, t);
  let best = -1;
  let distance = reach * perPixel;
  if (next < last) {
    if (bars.begin[next] <= t) return next;
    if (bars.begin[next] - t <= distance) {
      best = next;
      distance = bars.begin[next] - t;
    }
  }
  if (next > first && t - bars.stop[next - 1] < distance) best = next - 1;
  return best;
}

// The row of a bar: the last row that begins at or before it.
export function rowOfBar(bars: Bars, bar: number): number {
  let [low, high] = [0, bars.rows];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (bars.first[middle] <= bar) low = middle;
    else high = middle;
  }
  return low;
}

// Returns the next (way 1) or previous (way -1) visible bar, by row and time, relative to the bar that begins at
// `begin` in `row`; -1: none.
export function neighbour(bars: Bars, time: Pane, rows: Pane, row: number, begin: number, way: 1 | -1): number {
  const [top, bottom] = [Math.floor(rows.from), Math.min(bars.rows, Math.ceil(rows.to)) - 1];
  for (let at = Math.max(top, Math.min(bottom, row)); at >= top && at <= bottom; at += way) {
    const [first, last] = [bars.first[at], bars.first[at + 1]];
    const here = at === row;
    if (way > 0) {
      const next = here ? firstBeyond(bars.begin, first, last, begin) : first;
      const bar = Math.max(next, firstBeyond(bars.stop, first, last, time.from));
      if (bar < last && bars.begin[bar] < time.to) return bar;
    } else {
      let bar = firstBeyond(bars.begin, first, last, time.to) - 1;
      while (here && bar >= first && bars.begin[bar] >= begin) bar--;
      if (bar >= first && bars.stop[bar] > time.from) return bar;
    }
  }
  return -1;
}
