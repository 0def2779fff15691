// Job states and their groups.

export const ACTIVE = ['running', 'starting', 'stopping', 'queued', 'retrying', 'blocked', 'held'];
export const ENDED = ['done', 'failed', 'cancelled', 'rejected'];

const WAITS = new Set(['queued', 'retrying', 'blocked', 'held']);
const MAX_PREDICTED = 2000;  // The manager predicts the start of this many waiting jobs.

export const waits = (state: string): boolean => WAITS.has(state);
export const ended = (state: string): boolean => ENDED.includes(state);

// Whether the manager is still computing the predicted start.
export const wantsEta = (job: {position?: number; eta?: unknown}): boolean =>
  job.eta === undefined && job.position !== undefined && job.position <= MAX_PREDICTED;

export const POSITION =
  'Position in the order in which the scheduler considers jobs. A job that does not fit may be skipped.';

export type Group = 'active' | 'ended' | 'all';

// Group of the `state` in the URL, which is a group or a list of states.
export function groupOf(state: string, group = ''): Group {
  if (state === '' || state === 'active') return 'active';
  if (state === 'all' || group === 'all') return 'all';
  if (state === 'ended') return 'ended';
  const some = state.split(',');
  return some.every(one => ACTIVE.includes(one)) ? 'active' : some.every(ended) ? 'ended' : 'all';
}

// States selected in the URL; empty for a group.
export function pressed(state: string): string[] {
  return state === '' || state === 'active' || state === 'ended' || state === 'all' ? [] : state.split(',');
}

// Chips of the group: states with jobs, selected states, and the most common states.
export function chipsOf(counts: Record<string, number>, on: string[],
  group: Group): {value: string; text: string; count: number}[] {
  const known = [...group === 'ended' ? [] : ACTIVE, ...group === 'active' ? [] : ENDED];
  const strange = Object.keys(counts).filter(state => !ACTIVE.includes(state) && !ended(state)).sort();
  const always = group === 'ended' ? ['done', 'failed'] : ['running', 'queued'];
  return [...known, ...group === 'all' ? strange : []]
    .filter(state => (counts[state] ?? 0) > 0 || on.includes(state) || always.includes(state))
    .map(state => ({value: state, text: state, count: counts[state] ?? 0}));
}
