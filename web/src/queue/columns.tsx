// Columns of the queue.

import type {ComponentChildren} from 'preact';
import {at, band, exactly, lasting as lastingFor} from '../format';
import {tenantName} from '../tenants';
import type {Band, Job} from '../types';
import {JobLink, StateBadge, When} from '../ui/bits';
import {hideTip, showTip} from '../ui/tip';
import type {Column} from '../ui/virtual';
import {type Group, POSITION, ended, waits, wantsEta} from './states';

const FINE = 5;  // Minutes; longer durations are shown without seconds to save space.
const lasting = (seconds: number): string => lastingFor(seconds, FINE);

// Text that may be cut off, with the full text in a tip.
function Tipped(props: {tip(): ComponentChildren; children: ComponentChildren}) {
  return (
    <span class="tipped" onMouseLeave={hideTip}
      onMouseMove={event => showTip(event.clientX, event.clientY, props.tip())}>
      {props.children}
    </span>
  );
}

function Eta(props: {eta: Band; now: number}) {
  const {eta, now} = props;
  const {likely} = eta;
  if (likely === null) {
    return <span class="muted" title={eta.soonest === null ? undefined : `not before ${exactly(eta.soonest)}`}>
      no prediction</span>;
  }
  const soon = likely - now < 30;
  const clock = at(likely, now);  // A text with the date is too long for the column.
  const tip = () => (
    <>
      <p>likely {exactly(likely)}</p>
      <p>80% chance: {band(eta, now)}</p>
    </>
  );
  return (
    <Tipped tip={tip}>{soon ? 'any moment' : `in ${lasting(likely - now)}`}
      {!soon && clock.length < 6 && <span class="muted"> · {clock}</span>}</Tipped>
  );
}

// Waiting time of a waiting job; otherwise the run time.
function Time(props: {job: Job; now: number}) {
  const {job, now} = props;
  const ran = job.ran_s ?? (job.started === undefined ? 0 : (job.ended ?? now) - job.started);
  const tip = () => <p>submitted {exactly(job.submitted)}{job.started !== undefined && `, ran ${lasting(ran)}`}
    {job.leases_used > 1 && ` in ${job.leases_used} leases`}</p>;
  if (waits(job.state)) return <Tipped tip={tip}>waits {lasting(now - (job.waits_since ?? job.submitted))}</Tipped>;
  if (ended(job.state) && job.started === undefined) {
    return <Tipped tip={tip}><span class="muted">never ran</span></Tipped>;
  }
  return <Tipped tip={tip}>{ended(job.state) ? 'ran' : 'runs'} {lasting(ran)}</Tipped>;
}

function Why(props: {job: Job}) {
  const {job} = props;
  const words = job.why || (job.where ? `on ${job.where}` : '');
  if (!words) return null;
  return <Tipped tip={() => <p>{words}{job.evidence && <><br />{job.evidence}</>}</p>}>{words}</Tipped>;
}

// Predicted start of an active job, or end of a finished job.
function Moment(props: {job: Job; now: number}) {
  const {job, now} = props;
  if (job.ended !== undefined) return <span class="muted">ended <When unix={job.ended} now={now} relative /></span>;
  if (job.eta) return <Eta eta={job.eta} now={now} />;
  return wantsEta(job) ? <span class="muted" title="The manager is computing the prediction">…</span> : null;
}

function Name(props: {job: Job}) {
  const {job} = props;
  return (
    <span title={job.name}>{job.name}
      {job.index !== undefined && <span class="muted">[{job.index}]</span>}
      {job.prerun && <span class="muted"> pre-run</span>}</span>
  );
}

// Requested GPUs of a finished job; held/requested GPUs of an active job.
function Gpus(props: {job: Job}) {
  const {job} = props;
  if (ended(job.state)) return <>{job.gpus}</>;
  return <span title={`holds ${job.gpus_held} of ${job.gpus} GPUs`}>
    <span class={job.gpus_held > 0 ? '' : 'muted'}>{job.gpus_held}</span>/{job.gpus}</span>;
}

// Each column has space for its title and the arrow of the sort order.
function wide(now: number, group: Group): Column<Job>[] {
  const position: Column<Job> = {key: 'position', title: 'Position', width: '5.8rem', sort: 'position', right: true,
    hint: POSITION, cell: job => job.position?.toLocaleString('en') ?? ''};
  const moment: Column<Job> = {key: 'moment', title: group === 'ended' ? 'Ended' : 'Starts', width: '10.8rem',
    sort: group === 'ended' ? 'ended' : undefined, cell: job => group === 'ended'
      ? <When unix={job.ended} now={now} relative /> : <Moment job={job} now={now} />};
  return [
    {key: 'state', title: 'State', width: '6.4rem', sort: 'state', cell: job => <StateBadge state={job.state} />},
    {key: 'id', title: 'Job', width: '4.4rem', sort: 'id', right: true,
      cell: job => <JobLink id={job.id} tabIndex={-1} />},
    {key: 'name', title: 'Name', width: 'minmax(11rem, 2fr)', sort: 'name', cell: job => <Name job={job} />},
    {key: 'user', title: 'User', width: '5.2rem', sort: 'user', cell: job => <span title={job.user}>{job.user}</span>},
    {key: 'tenant', title: 'Tenant', width: '5.6rem', sort: 'tenant',
      cell: job => <span title={tenantName(job.tenant)}>{tenantName(job.tenant)}</span>},
    {key: 'gpus', title: 'GPUs', width: '4.6rem', sort: 'gpus', right: true, cell: job => <Gpus job={job} />,
      hint: group === 'ended' ? 'Requested' : 'Held / requested'},
    ...group === 'ended' ? [] : [position],
    {key: 'time', title: 'Time', width: '8.8rem', sort: 'submitted', hint: 'Sorts by submission time',
      cell: job => <Time job={job} now={now} />},
    moment,
    {key: 'why', title: 'Why', width: 'minmax(13.6rem, 3.6fr)', cell: job => <Why job={job} />},
    {key: 'priority', title: 'Priority', width: '5.5rem', sort: 'priority', right: true, cell: job => job.priority},
  ];
}

// Columns for phones: two lines per job.
function narrow(now: number): Column<Job>[] {
  return [
    {key: 'id', title: 'Job', width: 'minmax(0, 1fr)', sort: 'id', cell: job => <>
      <span class="line"><JobLink id={job.id} tabIndex={-1} /> <Name job={job} /></span>
      <span class="line muted"><Why job={job} /></span></>},
    {key: 'state', title: 'State', width: '9rem', sort: 'state', right: true, cell: job => <>
      <span class="line"><StateBadge state={job.state} /></span>
      <span class="line">{job.eta || job.ended !== undefined || wantsEta(job) ? <Moment job={job} now={now} />
        : <Time job={job} now={now} />}</span></>},
  ];
}

export const NARROW_ROW = 58;  // Pixels.

export function columns(now: number, group: Group, options: {sortable: boolean; phone: boolean}): Column<Job>[] {
  const all = options.phone ? narrow(now) : wide(now, group);
  return options.sortable ? all : all.map(column => ({...column, sort: undefined}));
}

// The server's default order, shown at the column that matches it best.
export function usual(group: Group): {column: string; order: 'asc' | 'desc'; words: string} {
  return group === 'ended' ? {column: 'id', order: 'desc', words: 'Newest first'}
    : {column: 'state', order: 'asc', words: 'Running jobs, then waiting jobs by priority and submission time'};
}
