// Curves of the progress reports. They have gaps while the job had no lease.

import type {JobPage, Lease} from '../types';

type Values = (number | null | undefined)[];

export interface Curves {
  at: number[];
  loss: Values;  // null: a gap. undefined: a report without this value, which the curve bridges.
  rate: Values;
}

const known = (values: (number | null)[]): Values => values.map(value => value ?? undefined);

// One time within each pause between two leases.
function pauses(leases: Lease[]): number[] {
  const ran = leases.filter(lease => lease.started !== undefined).sort((a, b) => a.number - b.number);
  return ran.slice(1).flatMap((lease, i) => {
    const {ended} = ran[i];
    return ended !== undefined && ended < lease.started! ? [(ended + lease.started!) / 2] : [];
  });
}

export function curvesOf(progress: JobPage['progress'], leases: Lease[]): Curves {
  const curves: Curves = {at: [...progress.at], loss: known(progress.loss), rate: known(progress.rate)};
  for (const pause of pauses(leases)) {
    const next = curves.at.findIndex(at => at > pause);
    if (next <= 0) continue;  // All reports are on one side of the pause.
    curves.at.splice(next, 0, pause);
    curves.loss.splice(next, 0, null);
    curves.rate.splice(next, 0, null);
  }
  return curves;
}
