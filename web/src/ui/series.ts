// Converts plots for drawing: one ascending x for all lines, and bars with their intervals.

import type {Plot} from '../types';

export type Value = number | null | undefined;

export interface Aligned {
  x: number[];
  y: Value[][];  // undefined: the series has no point at this x.
}

// Values of one series at the common x. In a step plot, each y holds until the next x of the series.
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

// A log scale has no zero: values at or below zero move to the smallest positive x.
export function align(plot: Plot): Aligned {
  const all = plot.series.flatMap(series => series.x ?? []);
  const least = plot.scale === 'log' ? all.reduce((low, at) => at > 0 && at < low ? at : low, Infinity) : -Infinity;
  const clean = (at: number) => Math.max(least, at);
  const x = [...new Set(all.map(clean))].filter(Number.isFinite).sort((a, b) => a - b);
  return {x, y: plot.series.map(series => spread(plot, series, x, clean))};
}

// Minimum and maximum of the known values; null: no known value.
export function extent(values: Value[]): {low: number; high: number} | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || value === undefined) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? {low, high} : null;
}

const FLAT = 0.15;  // If values differ by less than this fraction of the maximum, the y axis does not start at zero.

// Start of the y axis; undefined: the lowest value.
export function yFrom(plot: Plot): number | undefined {
  const all = extent(plot.series.flatMap(one => one.y));
  const flat = plot.kind === 'line' && all !== null && all.low > 0 && all.high > all.low &&
    all.high - all.low < FLAT * all.high;
  return flat ? undefined : 0;
}

export interface BarSeries {
  name: string;
  place: number;  // Position among the bars of a category.
  y: Value[];
  low?: Value[];
  high?: Value[];
}

// Removes categories without any value.
export function filled(plot: Plot): Plot {
  const known = (i: number) => plot.series.some(one => one.y[i] !== null && one.y[i] !== undefined);
  const kept = (plot.categories ?? []).map((_, i) => i).filter(known);
  if (kept.length === 0 || kept.length === plot.categories?.length) return plot;
  return {...plot, categories: kept.map(i => plot.categories![i]),
    series: plot.series.map(one => ({...one, y: kept.map(i => one.y[i])}))};
}

// Series named "low 95%" and "high 95%" are not bars but the interval of the series before them.
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

// Axis range of a bar chart: from minimum to maximum, including zero.
export function barRange(series: BarSeries[]): {low: number; high: number} {
  const all = extent(series.flatMap(one => [...one.y, ...one.low ?? [], ...one.high ?? []]));
  return {low: Math.min(0, all?.low ?? 0), high: Math.max(0, all?.high ?? 0)};
}
