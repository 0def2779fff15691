// History of a job since its submission as segments: waiting, lease, waiting, ...

import type {Event, Lease, WholeJob} from '../types';

export type Tone = 'waits' | 'runs' | 'good' | 'warn' | 'bad';

export interface Segment {
  from: number;
  to: number;
  tone: Tone;
  lease?: Lease;  // Absent: the job waited.
  words: string;
}

const BAD = new Set(['failed', 'time-limit', 'lost']);
const GOOD = new Set(['finished', 'passed', 'done']);

export function toneOf(lease: Lease): Tone {
  if (lease.ended === undefined) return 'runs';
  if (GOOD.has(lease.state)) return 'good';
  return BAD.has(lease.state) ? 'bad' : 'warn';
}

// Readable form of a lease state such as "time-limit".
export const stateWords = (state: string): string => state.replace(/-/g, ' ');

// How the lease ended. For a stop by the scheduler, the event "preempting" has the reason: "stopping for job 7, which
// ..." The event is between the end of the previous lease and the end of this lease.
export function outcomeOf(lease: Lease, job: WholeJob, events: Event[]): string {
  const {ended, number, state} = lease;
  if (ended === undefined) return stateWords(state);
  const before = Math.max(0, ...job.leases.filter(one => one.number < number).map(one => one.ended ?? 0));
  const stop = state !== 'stopped' ? undefined : events.filter(event =>
    event.kind === 'preempting' && event.at >= before && event.at <= ended).pop();
  if (stop?.words.startsWith('stopping')) return stop.words.replace('stopping', 'preempted');
  return lease.exit || stateWords(state);
}

export function segmentsOf(job: WholeJob, now: number, events: Event[] = []): Segment[] {
  const end = Math.max(job.ended ?? now, job.submitted);
  const all: Segment[] = [];
  let at = job.submitted;
  const wait = (until: number, words: string) => {
    if (until > at) all.push({from: at, to: until, tone: 'waits', words});
    at = Math.max(at, until);
  };
  for (const lease of [...job.leases].sort((a, b) => a.number - b.number)) {
    // A lease whose processes are starting has no start time yet.
    if (lease.started === undefined) continue;
    wait(Math.min(lease.started, end), at === job.submitted ? 'waited to start' : 'waited again');
    const to = Math.max(at, Math.min(lease.ended ?? end, end));
    const words = lease.ended === undefined ? 'runs' : outcomeOf(lease, job, events);
    all.push({from: at, to, tone: toneOf(lease), lease, words});
    at = to;
  }
  wait(end, job.ended === undefined ? 'waits' : 'waited until it ended');
  return all;
}
