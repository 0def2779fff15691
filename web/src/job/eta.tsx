// Predicted start as a band on a small time axis that begins now.

import {at, exactly, lasting, range} from '../format';
import type {Band} from '../types';
import {When} from '../ui/bits';
import {Ticks} from './ticks';

// The text of an end without links and tips. Ends that read the same are shown once.
function endText(unix: number | null, now: number): string {
  if (unix === null) return 'no prediction';
  return unix - now < 30 ? 'now' : `${at(unix, now)} in ${lasting(unix - now)}`;
}

function End(props: {name: string; unix: number | null; now: number}) {
  const {unix, now} = props;
  const name = <span class="muted">{props.name}</span>;
  if (unix === null) return <span>{name} no prediction</span>;
  if (unix - now < 30) return <span>{name} now</span>;
  return <span>{name} <When unix={unix} now={now} /> <span class="muted">in {lasting(unix - now)}</span></span>;
}

export function EtaBand(props: {eta: Band & {says?: string}; now: number}) {
  const {eta, now} = props;
  if (eta.soonest === null) return <p class="muted">No predicted start time</p>;
  const reach = Math.max(eta.latest ?? 0, (eta.likely ?? eta.soonest) + 60, now + 60);
  const to = now + (reach - now) * (eta.latest === null ? 1.6 : 1.06);
  const share = (unix: number) => `${Math.max(0, Math.min(1, (unix - now) / (to - now))) * 100}%`;
  const last = eta.latest === null ? to : eta.latest;
  const apart = range(endText(eta.soonest, now), endText(eta.latest, now)) !== '';
  const width = `${Math.max(0.4, (Math.min(last, to) - Math.max(eta.soonest, now)) / (to - now) * 100)}%`;
  return (
    <div class="eta">
      <svg class="eta-axis" role="img" aria-label={eta.says || 'Predicted start'} width="100%" height="46">
        <line class="axis" x1="0" x2="100%" y1="26" y2="26" />
        <rect class={`eta-range ${eta.latest === null ? 'open' : ''}`} x={share(eta.soonest)} y="8" width={width}
          height="14" rx="3" />
        {eta.likely !== null && <line class="eta-likely" x1={share(eta.likely)} x2={share(eta.likely)} y1="3" y2="26">
          <title>{`likely ${exactly(eta.likely)}`}</title></line>}
        <Ticks from={now} to={to} y={26} most={6} />
      </svg>
      <div class="eta-ends">
        {apart && <End name="soonest" unix={eta.soonest} now={now} />}
        <End name="likely" unix={eta.likely} now={now} />
        {apart && <End name="latest" unix={eta.latest} now={now} />}
      </div>
    </div>
  );
}
