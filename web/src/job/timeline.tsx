// What became of it: a strip from when it was submitted, and each lease with how it ended.

import {exactly, gib, lasting, number} from '../format';
import type {Lease, WholeJob} from '../types';
import {When, useNow} from '../ui/bits';
import {hideTip, showTip} from '../ui/tip';
import {Places} from './header';
import {type Segment, type Tone, segmentsOf, stateWords, toneOf} from './segments';
import {Ticks} from './ticks';

const LEGEND: {tone: Tone; text: string}[] = [
  {tone: 'waits', text: 'waits'}, {tone: 'runs', text: 'runs'}, {tone: 'good', text: 'ended well'},
  {tone: 'warn', text: 'stopped to go on later'}, {tone: 'bad', text: 'failed or lost'},
];

function Tip(props: {segment: Segment}) {
  const {from, to, lease, words} = props.segment;
  return (
    <>
      <p><strong>{lease ? `lease ${lease.number} on ${lease.where}` : words}</strong> for {lasting(to - from)}</p>
      <p>{exactly(from)} to {exactly(to)}</p>
      {lease && <p>{words}</p>}
    </>
  );
}

function Strip(props: {job: WholeJob}) {
  const now = useNow(5000);
  const all = segmentsOf(props.job, now);
  if (all.length === 0) return null;
  const [from, to] = [all[0].from, all[all.length - 1].to];
  const length = Math.max(1, to - from);
  const told = all.map(one => `${one.words} ${lasting(one.to - one.from)}`).join(', ');
  const tones = new Set(all.map(one => one.tone));
  return (
    <>
      <svg class="strip" width="100%" height="52" role="img" aria-label={`From ${exactly(from)}: ${told}`}>
        {all.map((one, i) => (
          <rect key={i} class={`strip-${one.tone}`} x={`${(one.from - from) / length * 100}%`} y={one.lease ? 4 : 13}
            width={`${Math.max(0.15, (one.to - one.from) / length * 100)}%`} height={one.lease ? 26 : 8}
            onMouseLeave={hideTip}
            onMouseMove={event => showTip(event.clientX, event.clientY, <Tip segment={one} />)} />
        ))}
        <Ticks from={from} to={from + length} y={32} />
      </svg>
      <p class="legend">{LEGEND.filter(one => tones.has(one.tone)).map(one => (
        <span key={one.tone}><i class={`swatch swatch-${one.tone}`} />{one.text}</span>
      ))}</p>
    </>
  );
}

function How(props: {lease: Lease}) {
  const {lease} = props;
  const tone = toneOf(lease);
  return (
    <>
      <span class={`how how-${tone}`}>{lease.ended === undefined ? stateWords(lease.state)
        : lease.exit || stateWords(lease.state)}</span>
      {lease.reason && <span class="muted"> ({lease.reason})</span>}
      {lease.evidence && <div class="evidence"><code>{lease.evidence}</code></div>}
      {lease.advice && <div class="muted">{lease.advice}</div>}
    </>
  );
}

function Row(props: {lease: Lease; now: number}) {
  const {lease, now} = props;
  const ran = lease.started === undefined ? undefined : (lease.ended ?? now) - lease.started;
  return (
    <tr>
      <td class="right">{lease.number}</td>
      <td class="where"><Places where={lease.where} />{lease.prerun && <span class="muted"> pre-run</span>}</td>
      <td class="nowrap"><When unix={lease.started} now={now} /></td>
      <td class="right nowrap">{ran === undefined ? '' : lasting(ran)}</td>
      <td class="right nowrap" title={lease.cpu_s === undefined ? '' : `used ${lasting(lease.cpu_s)} of CPU time`}>
        {lease.cpus === undefined ? '' : number(lease.cpus)}</td>
      <td class="right nowrap">{lease.mem_gib === undefined ? '' : gib(lease.mem_gib)}
        {lease.mem_peak_gib !== undefined && <div class="muted">at most {gib(lease.mem_peak_gib)}</div>}</td>
      <td class="how-cell"><How lease={lease} /></td>
    </tr>
  );
}

export function TimelineCard(props: {job: WholeJob}) {
  const {job} = props;
  const now = useNow(5000);
  if (job.leases.length === 0) return null;
  return (
    <section class="card" aria-label="Attempts and leases">
      <h2>Attempts and leases</h2>
      <Strip job={job} />
      <div class="table-box">
        <table class="leases">
          <thead><tr><th class="right">#</th><th>where</th><th>from</th><th class="right">for</th>
            <th class="right">CPUs</th><th class="right">memory</th><th>how it ended</th></tr></thead>
          <tbody>{[...job.leases].sort((a, b) => b.number - a.number)
            .map(lease => <Row key={lease.number} lease={lease} now={now} />)}</tbody>
        </table>
      </div>
    </section>
  );
}
