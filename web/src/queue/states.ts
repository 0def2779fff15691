// The states of a job in the order of its life, and what they mean to those who see them first.

export const ACTIVE = ['running', 'starting', 'stopping', 'queued', 'retrying', 'blocked', 'held'];
export const ENDED = ['done', 'failed', 'cancelled', 'rejected'];

const WAITS = new Set(['queued', 'retrying', 'blocked', 'held']);
const FORETOLD = 2000;  // Of those that wait for GPUs, the first so many are told when they start.

export const waits = (state: string): boolean => WAITS.has(state);
export const ended = (state: string): boolean => ENDED.includes(state);

// The manager works out when it starts, and has not said so yet.
export const wantsEta = (job: {position?: number; eta?: unknown}): boolean =>
  job.eta === undefined && job.position !== undefined && job.position <= FORETOLD;

export const POSITION = 'In the order in which the scheduler comes to them. Who does not fit may be passed over.';

export type Group = 'active' | 'ended' | 'all';

// What the address says: one of the words for many states,
export function groupOf(state: string, group = ''): Group {
  if (state === '' || state === 'active') return 'active';
  if (state === 'all' || group === 'all') return 'all';
  if (state === 'ended') return 'ended';
  const some = state.split(',');
  return some.every(one => ACTIVE.includes(one)) ? 'active' : some.every(ended) ? 'ended' : 'all';
}

// or some of them.
export function pressed(state: string): string[] {
  return state === '' || state === 'active' || state === 'ended' || state === 'all' ? [] : state.split(',');
}

// Which chips there are: of the group, those with jobs behind them, those pressed, and those that everybody looks for.
export function chipsOf(counts: Record<string, number>, on: string[],
  group: Group): {value: string; text: string; count: number}[] {
  const known = [...group === 'ended' ? [] : ACTIVE, ...group === 'active' ? [] : ENDED];
  const strange = Object.keys(counts).filter(state => !ACTIVE.includes(state) && !ended(state)).sort();
  const always = group === 'ended' ? ['done', 'failed'] : ['running', 'queued'];
  return [...known, ...group === 'all' ? strange : []]
    .filter(state => (counts[state] ?? 0) > 0 || on.includes(state) || always.includes(state))
    .map(state => ({value: state, text: state, count: counts[state] ?? 0}));
}
