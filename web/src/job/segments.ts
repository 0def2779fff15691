// What became of a job from when it was submitted: it waited, had a lease, waited again.

import type {Lease, WholeJob} from '../types';

export type Tone = 'waits' | 'runs' | 'good' | 'warn' | 'bad';

export interface Segment {
  from: number;
  to: number;
  tone: Tone;
  lease?: Lease;  // None: it waited.
  words: string;
}

const BAD = new Set(['failed', 'time-limit', 'lost']);
const GOOD = new Set(['finished', 'passed', 'done']);

export function toneOf(lease: Lease): Tone {
  if (lease.ended === undefined) return 'runs';
  if (GOOD.has(lease.state)) return 'good';
  return BAD.has(lease.state) ? 'bad' : 'warn';
}

// "time-limit" is the manager's word.
export const stateWords = (state: string): string => state.replace(/-/g, ' ');

export function segmentsOf(job: WholeJob, now: number): Segment[] {
  const end = Math.max(job.ended ?? now, job.submitted);
  const all: Segment[] = [];
  let at = job.submitted;
  const wait = (until: number, words: string) => {
    if (until > at) all.push({from: at, to: until, tone: 'waits', words});
    at = Math.max(at, until);
  };
  for (const lease of [...job.leases].sort((a, b) => a.number - b.number)) {
    // One whose processes are being started has no beginning yet.
    if (lease.started === undefined) continue;
    wait(Math.min(lease.started, end), at === job.submitted ? 'waited to start' : 'waited again');
    const to = Math.max(at, Math.min(lease.ended ?? end, end));
    const how = lease.ended === undefined ? 'runs' : lease.exit || stateWords(lease.state);
    all.push({from: at, to, tone: toneOf(lease), lease, words: how});
    at = to;
  }
  wait(end, job.ended === undefined ? 'waits' : 'until it was over');
  return all;
}
