// The plots of a page in the shape that drawings want: one ascending x for all lines, bars with their whiskers.

import type {Plot} from '../types';

export interface Aligned {
  x: number[];
  y: (number | null)[][];
}

const UNITS = [{seconds: 86400, name: 'd'}, {seconds: 3600, name: 'h'}, {seconds: 60, name: 'min'}];

// Seconds are told in what makes few digits of the longest.
export function unitOf(longest: number): {seconds: number; name: string} {
  return UNITS.find(unit => longest >= 3 * unit.seconds) ?? {seconds: 1, name: 's'};
}

// Values of one series where x are those of all. Of steps each y holds until the next x, within the series.
function spread(plot: Plot, series: Plot['series'][number], x: number[], clean: (x: number) => number) {
  const own = series.x ?? [];
  const out: (number | null)[] = [];
  let next = 0;
  for (const at of x) {
    let hit = false;
    while (next < own.length && clean(own[next]) <= at) {
      hit = true;
      next++;
    }
    if (hit) out.push(series.y[next - 1]);
    else out.push(plot.kind === 'steps' && next > 0 && next < own.length ? series.y[next - 1] : null);
  }
  return out;
}

// A log scale has no zero: what is there is put where the smallest of all is.
export function align(plot: Plot): Aligned & {unit: string} {
  const all = plot.series.flatMap(series => series.x ?? []);
  const unit = plot.scale === 'time' ? unitOf(all.reduce((most, at) => Math.max(most, at), 0)) : {seconds: 1, name: ''};
  const least = plot.scale === 'log' ? all.reduce((low, at) => at > 0 && at < low ? at : low, Infinity) : -Infinity;
  const clean = (at: number) => Math.max(least, at);
  const x = [...new Set(all.map(clean))].filter(Number.isFinite).sort((a, b) => a - b);
  return {
    x: x.map(at => at / unit.seconds),
    y: plot.series.map(series => spread(plot, series, x, clean)),
    unit: unit.name,
  };
}

export interface BarSeries {
  name: string;
  y: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
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
export function barsOf(plot: Plot): {series: BarSeries[]; most: number} {
  const series: BarSeries[] = [];
  let most = 0;
  for (const one of plot.series) {
    for (const y of one.y) most = Math.max(most, Math.abs(y ?? 0));
    const last = series[series.length - 1];
    if (last && one.name.startsWith('low ')) last.low = one.y;
    else if (last && one.name.startsWith('high ')) last.high = one.y;
    else series.push({name: one.name, y: one.y});
  }
  return {series, most};
}
