// The plots of a page in the shape that drawings want: one ascending x for all lines, bars with their whiskers.

import type {Plot} from '../types';

export type Value = number | null | undefined;

export interface Aligned {
  x: number[];
  y: Value[][];  // undefined: the series has no point at this x.
}

// Values of one series where x are those of all. Of steps each y holds until the next x, within the series.
function spread(plot: Plot, series: Plot['series'][number], x: number[], clean: (x: number) => number) {
  const own = series.x ?? [];
  const out: Value[] = [];
  let next = 0;
  for (const at of x) {
    let hit = false;
    while (next < own.length && clean(own[next]) <= at) {
      hit = true;
      next++;
    }
    if (hit) out.push(series.y[next - 1]);
    else out.push(plot.kind === 'steps' && next > 0 && next < own.length ? series.y[next - 1] : undefined);
  }
  return out;
}

// A log scale has no zero: what is there is put where the smallest of all is.
export function align(plot: Plot): Aligned {
  const all = plot.series.flatMap(series => series.x ?? []);
  const least = plot.scale === 'log' ? all.reduce((low, at) => at > 0 && at < low ? at : low, Infinity) : -Infinity;
  const clean = (at: number) => Math.max(least, at);
  const x = [...new Set(all.map(clean))].filter(Number.isFinite).sort((a, b) => a - b);
  return {x, y: plot.series.map(series => spread(plot, series, x, clean))};
}

// The least and the most of what is known; null: nothing is.
export function extent(values: Value[]): {low: number; high: number} | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || value === undefined) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? {low, high} : null;
}

const FLAT = 0.15;  // Lines that differ by less than this part of the highest value would look flat above zero.

// Where the y axis begins; undefined: at the lowest value.
export function yFrom(plot: Plot): number | undefined {
  const all = extent(plot.series.flatMap(one => one.y));
  const flat = plot.kind === 'line' && all !== null && all.low > 0 && all.high > all.low &&
    all.high - all.low < FLAT * all.high;
  return flat ? undefined : 0;
}

export interface BarSeries {
  name: string;
  place: number;  // Among the bars of a category.
  y: Value[];
  low?: Value[];
  high?: Value[];
}

// Without the categories of which no series has anything.
export function filled(plot: Plot): Plot {
  const known = (i: number) => plot.series.some(one => one.y[i] !== null && one.y[i] !== undefined);
  const kept = (plot.categories ?? []).map((_, i) => i).filter(known);
  if (kept.length === 0 || kept.length === plot.categories?.length) return plot;
  return {...plot, categories: kept.map(i => plot.categories![i]),
    series: plot.series.map(one => ({...one, y: kept.map(i => one.y[i])}))};
}

// Series called "low 95%" and "high 95%" are not bars of their own but the ends of the one before them.
export function barsOf(plot: Plot): BarSeries[] {
  const series: BarSeries[] = [];
  for (const one of plot.series) {
    const last = series[series.length - 1];
    if (last && one.name.startsWith('low ')) last.low = one.y;
    else if (last && one.name.startsWith('high ')) last.high = one.y;
    else series.push({name: one.name, place: series.length, y: one.y});
  }
  return series;
}

// The axis of bars: from the least to the most of all, and zero is on it.
export function barRange(series: BarSeries[]): {low: number; high: number} {
  const all = extent(series.flatMap(one => [...one.y, ...one.low ?? [], ...one.high ?? []]));
  return {low: Math.min(0, all?.low ?? 0), high: Math.max(0, all?.high ?? 0)};
}
