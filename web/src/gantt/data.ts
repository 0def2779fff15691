// The leases of a timeline as arrays of numbers, in the order the drawing walks them.

import type {Timeline} from '../types';

export interface Bars {
  rows: number;
  first: Uint32Array;     // Of each row its first bar; one more for the end.
  begin: Float64Array;
  stop: Float64Array;
  before: Float64Array;   // Time held in the row before this bar: what lies between two moments is a difference.
  job: Uint32Array;
  end: Uint32Array;       // In Timeline.ends.
  running: Uint32Array;   // Bars that have no end yet.
  serverOf: Uint32Array;  // Of each row.
  rowOf: Uint32Array;     // Of each server its first row; one more for the end.
  ofJob: Uint32Array;     // Bars by job: those of job j are from jobFirst[j] on.
  jobFirst: Uint32Array;
  jobOf: Map<string, number>;  // By id.
  load: {t: Float64Array; busy: Float64Array; waiting: Float64Array; mostWaiting: number};
}

function rowsOf(servers: Timeline['servers']) {
  const rowOf = new Uint32Array(servers.length + 1);
  servers.forEach((server, i) => {
    rowOf[i + 1] = rowOf[i] + server.gpus;
  });
  const serverOf = new Uint32Array(rowOf[servers.length]);
  for (let i = 0; i < servers.length; i++) serverOf.fill(i, rowOf[i], rowOf[i + 1]);
  return {rows: serverOf.length, rowOf, serverOf};
}

// Where the things of each group begin, when `group[i]` tells whose the i-th is.
function starts(group: ArrayLike<number>, groups: number): Uint32Array {
  const first = new Uint32Array(groups + 1);
  for (let i = 0; i < group.length; i++) first[group[i] + 1]++;
  for (let g = 0; g < groups; g++) first[g + 1] += first[g];
  return first;
}

function byJob(job: Uint32Array, jobs: number) {
  const jobFirst = starts(job, jobs);
  const next = jobFirst.slice();
  const ofJob = new Uint32Array(job.length);
  for (let i = 0; i < job.length; i++) ofJob[next[job[i]]++] = i;
  return {jobFirst, ofJob};
}

const counted = new WeakMap<Timeline['bars'], number>();

// A lease has a bar for each of its GPUs: those of one job that begin at one moment are one. Counted once, however
// many ask.
export function leases(bars: Timeline['bars']): number {
  const known = counted.get(bars);
  if (known !== undefined) return known;
  const begun = new Map<number, Set<number>>();
  for (let i = 0; i < bars.job.length; i++) {
    const of = begun.get(bars.job[i]);
    if (of) of.add(bars.begin[i]);
    else begun.set(bars.job[i], new Set([bars.begin[i]]));
  }
  let sum = 0;
  for (const of of begun.values()) sum += of.size;
  counted.set(bars, sum);
  return sum;
}

export function prepare(line: Timeline): Bars {
  const {bars, load} = line;
  const {rows, rowOf, serverOf} = rowsOf(line.servers);
  const first = starts(bars.row, rows);
  const begin = Float64Array.from(bars.begin);
  const stop = Float64Array.from(bars.begin, (at, i) => at + bars.length[i]);
  const before = new Float64Array(begin.length);
  for (let row = 0; row < rows; row++) {
    for (let i = first[row] + 1; i < first[row + 1]; i++) before[i] = before[i - 1] + stop[i - 1] - begin[i - 1];
  }
  const job = Uint32Array.from(bars.job);
  const runs = line.ends.indexOf('running');
  const running: number[] = [];
  bars.end.forEach((end, i) => {
    if (end === runs) running.push(i);
  });
  return {
    rows, first, begin, stop, before, job, end: Uint32Array.from(bars.end), running: Uint32Array.from(running),
    serverOf, rowOf, ...byJob(job, line.jobs.id.length), jobOf: new Map(line.jobs.id.map((id, i) => [id, i])),
    load: {t: Float64Array.from(load.t), busy: Float64Array.from(load.busy), waiting: Float64Array.from(load.waiting),
      mostWaiting: load.waiting.reduce((most, n) => Math.max(most, n), 0)},
  };
}

// What runs reaches to now. (Such a bar is the last of its row, so nothing else moves.)
export function grow(bars: Bars, now: number): void {
  for (let k = 0; k < bars.running.length; k++) {
    const i = bars.running[k];
    if (bars.stop[i] < now) bars.stop[i] = now;
  }
}

// The first of from..to-1 whose `at` is beyond t; `at` ascends. Doubling steps first, since it is mostly near.
export function firstBeyond(at: Float64Array, from: number, to: number, t: number): number {
  let step = 1;
  let low = from;
  let high = from;
  while (high < to && at[high] <= t) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  if (high > to) high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}
