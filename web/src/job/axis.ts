// Ticks of a time axis, at round steps.

import {clockTime, ticks as ticksAt, tickStep} from '../gantt/layout';

export interface Tick {
  at: number;
  share: number;  // Position between `from` (0) and `to` (1).
  text: string;
}

// Returns at most `most` ticks.
export function ticks(from: number, to: number, most = 8): Tick[] {
  if (!(to > from)) return [];
  const step = tickStep(to - from, most);
  const zone = -60 * new Date(from * 1000).getTimezoneOffset();
  const found = new Float64Array(most + 1);
  return [...found.subarray(0, ticksAt(from, to, step, zone, found))]
    .map(at => ({at, share: (at - from) / (to - from), text: clockTime(at, step)}));
}
