// What it is, where it runs, and what may be done to it.

import type {ComponentChildren} from 'preact';
import {post} from '../api';
import {gib, lasting, number} from '../format';
import {go, href} from '../route';
import {tenantName} from '../tenants';
import type {JobPage, WholeJob} from '../types';
import {Deeds} from '../ui/confirm';
import {JobLink, NodeLink, StateBadge, When, useNow} from '../ui/bits';
import {shellWord} from './request';

// "n1:0,n2:0-1+3" with links to the servers.
export function Places(props: {where: string}) {
  return (
    <>
      {props.where.split(',').map((place, i) => {
        const colon = place.lastIndexOf(':');
        const name = (colon < 0 ? place : place.slice(0, colon)).trim();
        return <>{i > 0 && ', '}<NodeLink name={name} />{colon >= 0 && place.slice(colon)}</>;
      })}
    </>
  );
}

type Action = JobPage['actions'][number];

const WORDS: Record<Action, {text: string; detail(job: WholeJob): string; danger?: boolean}> = {
  cancel: {text: 'Cancel', danger: true, detail: job => job.gpus_held > 0
    ? 'It is told to stop, and stopped if it does not. What it has not saved is lost.'
    : 'It will not run. A cancelled job can be submitted again.'},
  hold: {text: 'Hold', detail: job => job.gpus_held > 0
    ? 'It is told to stop and gives its GPUs back. It goes on when it is released, from what it has saved.'
    : 'It does not start until it is released.'},
  release: {text: 'Release', detail: () => 'It waits for GPUs again, as if it had not been held.'},
  retry: {text: 'Retry', detail: () => 'A new job with the same request is submitted.'},
};

function Actions(props: {job: WholeJob; actions: Action[]}) {
  const {job} = props;
  return (
    <Deeds class="job-actions" keys={props.actions.filter(action => WORDS[action])} deed={action => {
      const {text, detail, danger} = WORDS[action];
      return {text, question: `${text} job ${job.id}?`, detail: detail(job), danger,
        act: () => post(`/v1/jobs/${job.id}/${action}`), done(answer) {
          const made = (answer as {id?: number}).id;
          if (action === 'retry' && made !== undefined) go(href('job', [made]));
        }};
    }} />
  );
}

function Fact(props: {name: string; children: ComponentChildren}) {
  return <div class="fact"><dt>{props.name}</dt><dd>{props.children}</dd></div>;
}

function Times(props: {job: WholeJob}) {
  const {job} = props;
  const now = useNow();
  const over = job.ended !== undefined;
  return (
    <>
      <Fact name="submitted"><When unix={job.submitted} now={now} /></Fact>
      {job.started !== undefined && <Fact name="started"><When unix={job.started} now={now} /></Fact>}
      {over && <Fact name="ended"><When unix={job.ended} now={now} /></Fact>}
      {job.started !== undefined
        ? <Fact name={over || job.gpus_held === 0 ? 'ran' : 'runs'}>{lasting(job.ran_s ?? now - job.started)}
          {job.leases_used > 1 && <span class="muted"> in {job.leases_used} leases</span>}</Fact>
        : <Fact name="waited">{lasting((job.ended ?? now) - (job.waits_since ?? job.submitted))}</Fact>}
    </>
  );
}

function Command(props: {request: Record<string, unknown>}) {
  const {command} = props.request;
  const words = Array.isArray(command) ? command.map(shellWord).join(' ') : typeof command === 'string' ? command : '';
  return (
    <details class="job-request">
      <summary><code>{words || 'request'}</code></summary>
      <pre>{JSON.stringify(props.request, null, 2)}</pre>
    </details>
  );
}

export function Header(props: {page: JobPage}) {
  const {job, actions} = props.page;
  return (
    <header class="card job-head">
      <div class="job-title">
        <h1>{job.name}{job.index !== undefined && `[${job.index}]`} <span class="muted">· job {job.id}</span></h1>
        <StateBadge state={job.state} />
        {job.prerun && <span class="badge">pre-run</span>}
        <Actions job={job} actions={actions} />
      </div>
      <dl class="facts">
        <Fact name="user">{job.user}</Fact>
        <Fact name="tenant">{tenantName(job.tenant)}</Fact>
        <Fact name="GPUs"><span title={`holds ${job.gpus_held} of ${job.gpus}`}>{job.gpus_held}/{job.gpus}</span>
          {typeof job.request.gpu_type === 'string' && ` ${job.request.gpu_type}`}</Fact>
        {job.cpus !== undefined && <Fact name="CPUs">{number(job.cpus)}</Fact>}
        {job.mem_gib !== undefined && <Fact name="memory">{gib(job.mem_gib)}</Fact>}
        {job.where && <Fact name="on"><Places where={job.where} /></Fact>}
        <Fact name="priority">{job.priority}</Fact>
        {job.position !== undefined && <Fact name="position">{job.position.toLocaleString('en')} in the scheduler's
          order</Fact>}
        {job.array !== undefined && (
          <Fact name="array"><a href={href('queue', [], {state: 'all', array: String(job.array)})}>{job.array}</a>,
            {' '}number {job.index}{job.array !== job.id && <> · first <JobLink id={job.array} /></>}</Fact>
        )}
        <Times job={job} />
      </dl>
      <Command request={job.request} />
    </header>
  );
}
