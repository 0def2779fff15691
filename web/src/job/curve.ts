// Text and data of the curve of speed by CPUs.

import {number, percent} from '../format';
import type {Curve} from '../types';

// Linear interpolation between the points of the curve.
export function speedAt(curve: Curve, cpus: number): number {
  const {cpus: x, speed: y} = curve;
  const after = x.findIndex(one => one >= cpus);
  if (after < 0) return y[y.length - 1] ?? 0;
  if (after === 0 || x[after] === cpus) return y[after];
  const part = (cpus - x[after - 1]) / (x[after] - x[after - 1]);
  return y[after - 1] + part * (y[after] - y[after - 1]);
}

const cpuWords = (n: number): string => `${number(n)} CPU${n === 1 ? '' : 's'}`;

export function reading(curve: Curve): string {
  const {now, share, need} = curve;
  const here = now ?? share;
  if (!here) return need === undefined ? '' : `Nearly full speed needs ${cpuWords(need)}.`;
  const runs = now ? `With ${cpuWords(now.cpus)} the job runs at ${percent(now.speed)} of its maximum speed`
    : `With its share of ${cpuWords(here.cpus)} the job would run at ${percent(here.speed)} of its maximum speed`;
  if (need === undefined) return `${runs}.`;
  if (here.cpus < need) return `${runs}; nearly full speed needs ${number(need)}.`;
  return here.cpus > need ? `${runs}; ${number(need)} would be sufficient.` : `${runs}; more would hardly help.`;
}

// Common x values for the curve and the marks on it. A line has null where it has no point.
export function aligned(curve: Curve): {x: number[]; speed: (number | null)[]; marks: {name: string;
  y: (number | null)[]}[]} {
  const marks: {name: string; cpus: number; speed: number}[] = [];
  if (curve.now) marks.push({name: 'now', ...curve.now});
  if (curve.share) marks.push({name: 'share', ...curve.share});
  if (curve.need !== undefined) marks.push({name: 'needs', cpus: curve.need, speed: speedAt(curve, curve.need)});
  const x = [...new Set([...curve.cpus, ...marks.map(mark => mark.cpus)])].sort((a, b) => a - b);
  const own = new Map(curve.cpus.map((cpus, i) => [cpus, curve.speed[i]]));
  return {
    x,
    speed: x.map(cpus => own.get(cpus) ?? null),
    marks: [...new Set(marks.map(mark => mark.cpus))].map(at => {
      const here = marks.filter(mark => mark.cpus === at);  // One point for marks at the same position.
      return {name: `${here.map(mark => mark.name).join(', ')} (${number(at)})`,
        y: x.map(cpus => cpus === at ? here[0].speed : null)};
    }),
  };
}
