// Moments along an axis of time, at steps that people count in.

import {clockTime, ticks as ticksAt, tickStep} from '../gantt/layout';

export interface Tick {
  at: number;
  share: number;  // Of the way from `from` to `to`.
  text: string;
}

// At most `most` of them.
export function ticks(from: number, to: number, most = 8): Tick[] {
  if (!(to > from)) return [];
  const step = tickStep(to - from, most);
  const zone = -60 * new Date(from * 1000).getTimezoneOffset();
  const found = new Float64Array(most + 1);
  return [...found.subarray(0, ticksAt(from, to, step, zone, found))]
    .map(at => ({at, share: (at - from) / (to - from), text: clockTime(at, step)}));
}
