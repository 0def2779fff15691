// Card with the history of the job: a strip since submission, and a table of leases.

import {exactly, gib, lasting, number} from '../format';
import type {Event, Lease, WholeJob} from '../types';
import {JobWords, When, useNow} from '../ui/bits';
import {hideTip, showTip} from '../ui/tip';
import {Evidence} from './evidence';
import {Places} from './header';
import {type Segment, type Tone, outcomeOf, segmentsOf, toneOf} from './segments';
import {Ticks} from './ticks';

const LEGEND: {tone: Tone; text: string}[] = [
  {tone: 'waits', text: 'waiting'}, {tone: 'runs', text: 'running'}, {tone: 'good', text: 'succeeded'},
  {tone: 'warn', text: 'stopped, resumes later'}, {tone: 'bad', text: 'failed or lost'},
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

function Strip(props: {job: WholeJob; events: Event[]}) {
  const now = useNow(5000);
  const all = segmentsOf(props.job, now, props.events);
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

function How(props: {lease: Lease; job: WholeJob; events: Event[]}) {
  const {lease, job, events} = props;
  const words = outcomeOf(lease, job, events);
  // Other texts can contain numbers of Slurm jobs and words of users.
  const linked = words.startsWith('preempted for ');
  return (
    <>
      <span class={`how how-${toneOf(lease)}`}>{linked ? <JobWords words={words} /> : words}</span>
      {lease.reason && <span class="muted"> ({lease.reason_text ?? lease.reason})</span>}
      <Evidence job={job} lease={lease} />
      {lease.advice && <div class="muted">{lease.advice}</div>}
    </>
  );
}

function Row(props: {lease: Lease; job: WholeJob; events: Event[]; now: number}) {
  const {lease, job, events, now} = props;
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
        {lease.mem_peak_gib !== undefined && <div class="muted">peak {gib(lease.mem_peak_gib)}</div>}</td>
      <td class="how-cell"><How lease={lease} job={job} events={events} /></td>
    </tr>
  );
}

export function TimelineCard(props: {job: WholeJob; events: Event[]}) {
  const {job, events} = props;
  const now = useNow(5000);
  if (job.leases.length === 0) return null;
  return (
    <section class="card" aria-label="Attempts and leases">
      <h2>Attempts and leases</h2>
      <Strip job={job} events={events} />
      <div class="table-box">
        <table class="leases">
          <thead><tr><th class="right">#</th><th>placement</th><th>started</th><th class="right">duration</th>
            <th class="right">CPUs</th><th class="right">memory</th><th>outcome</th></tr></thead>
          <tbody>{[...job.leases].sort((a, b) => b.number - a.number)
            .map(lease => <Row key={lease.number} lease={lease} job={job} events={events} now={now} />)}</tbody>
        </table>
      </div>
    </section>
  );
}
