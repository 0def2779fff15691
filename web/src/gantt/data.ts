// Leases of a timeline as typed arrays, in drawing order.

import type {Timeline} from '../types';

export interface Bars {
  rows: number;
  first: Uint32Array;     // First bar of each row; one more entry for the end.
  begin: Float64Array;
  stop: Float64Array;
  before: Float64Array;   // Total time of the earlier bars in the row (prefix sum).
  job: Uint32Array;
  end: Uint32Array;       // Index in Timeline.ends.
  running: Uint32Array;   // Bars of running leases.
  serverOf: Uint32Array;  // Node of each row.
  rowOf: Uint32Array;     // First row of each node; one more entry for the end.
  ofJob: Uint32Array;     // Bars sorted by job; the bars of job j start at jobFirst[j].
  jobFirst: Uint32Array;
  jobOf: Map<string, number>;  // Index of a job by id.
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

// Start index of each group after sorting; `group[i]` is the group of item i.
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

// Number of leases. A lease has one bar per GPU, so bars of one job with the same begin count once. The result is
// cached.
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

// Extends the bars of running leases to `now`. (They are the last of their rows, so nothing else changes.)
export function grow(bars: Bars, now: number): void {
  for (let k = 0; k < bars.running.length; k++) {
    const i = bars.running[k];
    if (bars.stop[i] < now) bars.stop[i] = now;
  }
}

// First index in [from, to) with at[index] > t, or `to`; `at` ascends. Gallops first, since the result is mostly near.
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
