// Header of the job page: facts and actions.

import type {ComponentChildren} from 'preact';
import {post} from '../api';
import {gib, lasting, number} from '../format';
import {go, href} from '../route';
import {tenantName} from '../tenants';
import type {JobPage, WholeJob} from '../types';
import {Deeds} from '../ui/confirm';
import {JobLink, NodeLink, StateBadge, When, useNow} from '../ui/bits';
import {shellWord} from './request';

// Shows "n1:0,n2:0-1+3" with links to the nodes.
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

const nameOf = (job: WholeJob): string => job.index === undefined ? job.name : `${job.name}[${job.index}]`;

type Action = JobPage['actions'][number];

const WORDS: Record<Action, {text: string; confirm?: string; detail(job: WholeJob): string; danger?: boolean}> = {
  cancel: {text: 'Cancel', confirm: 'Cancel job', danger: true, detail: job => job.gpus_held > 0
    ? 'The job is asked to stop, and killed if it does not. Unsaved work is lost.'
    : 'The job will not run. A cancelled job can be submitted again.'},
  hold: {text: 'Hold', detail: job => job.gpus_held > 0
    ? 'The job is asked to stop and releases its GPUs. After a release it resumes from its last checkpoint.'
    : 'The job does not start until it is released.'},
  release: {text: 'Release', detail: () => 'The job waits for GPUs again, as if it had not been held.'},
  retry: {text: 'Retry', detail: () => 'Submits a new job with the same request.'},
};

function Actions(props: {job: WholeJob; actions: Action[]}) {
  const {job} = props;
  return (
    <Deeds class="job-actions" keys={props.actions.filter(action => WORDS[action])} deed={action => {
      const {text, confirm, detail, danger} = WORDS[action];
      return {text, confirm, question: `${text} job ${job.id} (${nameOf(job)})?`, detail: detail(job), danger,
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
  // The explanation contains how long other jobs have waited.
  const waiting = job.started === undefined && !over && job.gpus_held === 0;
  return (
    <>
      <Fact name="submitted"><When unix={job.submitted} now={now} /></Fact>
      {job.started !== undefined && <Fact name="started"><When unix={job.started} now={now} /></Fact>}
      {over && <Fact name="ended"><When unix={job.ended} now={now} /></Fact>}
      {job.started !== undefined && <Fact name="run time">{lasting(job.ran_s ?? now - job.started)}
        {job.leases_used > 1 && <span class="muted"> in {job.leases_used} leases</span>}</Fact>}
      {waiting && <Fact name="waited">{lasting(now - (job.waits_since ?? job.submitted))}</Fact>}
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
        <h1>{nameOf(job)} <span class="muted">· job {job.id}</span></h1>
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
        {job.where && <Fact name="placement"><Places where={job.where} /></Fact>}
        <Fact name="priority">{job.priority}</Fact>
        {job.position !== undefined && <Fact name="position">{job.position.toLocaleString('en')} in the scheduler's
          order</Fact>}
        {job.array !== undefined && (
          <Fact name="array"><a href={href('queue', [], {state: 'all', array: String(job.array)})}>{job.array}</a>,
            {' '}index {job.index}{job.array !== job.id && <> · first <JobLink id={job.array} /></>}</Fact>
        )}
        <Times job={job} />
      </dl>
      <Command request={job.request} />
    </header>
  );
}
