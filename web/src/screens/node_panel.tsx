// Side panel with all data about a node: resources, problems, jobs and events.

import type {ComponentChildren} from 'preact';
import {useLayoutEffect, useRef} from 'preact/hooks';
import {post} from '../api';
import {amount, gib, lasting, many, number} from '../format';
import type {Me, Node} from '../types';
import {JobLink, Meter, StateBadge, When} from '../ui/bits';
import {Deeds} from '../ui/confirm';
import {actions, hiddenGpus, ranges, reason} from './node_list';

function Fact(props: {name: string; children: ComponentChildren}) {
  return <><dt>{props.name}</dt><dd>{props.children}</dd></>;
}

function NodeDeeds(props: {node: Node}) {
  const {node} = props;
  const address = (deed: string) => `/v1/nodes/${encodeURIComponent(node.name)}/${deed}`;
  const goingOn = node.jobs.length > 0 ? ` Running jobs continue: ${many(node.jobs.length, 'job')}.` : '';
  return <Deeds class="row deeds" keys={actions(node)} deed={key => {
    const act = () => post(address(key));
    if (key === 'drain') {
      return {text: 'Drain', question: `Drain ${node.name}?`, danger: true, act,
        detail: `The node accepts no new jobs until an operator undrains it.${goingOn}`};
    }
    return node.state === 'quarantined' ? {text: 'End quarantine', question: `End the quarantine of ${node.name}?`, act,
      detail: 'The node accepts jobs immediately, without passing a test.'}
      : {text: 'Undrain', question: `Undrain ${node.name}?`, act, detail: 'The node accepts jobs again.'};
  }} />;
}

function nextTest(quarantine: NonNullable<Node['quarantine']>, now: number): ComponentChildren {
  if (quarantine.testing) return 'running now';
  if (quarantine.test_at === undefined) return 'none planned';
  return quarantine.test_at <= now ? 'any moment'
    : <><When unix={quarantine.test_at} now={now} />, in {lasting(quarantine.test_at - now)}</>;
}

function Wrong(props: {node: Node; now: number}) {
  const {node, now} = props;
  const {quarantine} = node;
  if (node.state === 'open') return null;
  const since = node.since ?? quarantine?.since;
  return (
    <section class={`wrong ${node.state}`} aria-label="Why the node is unschedulable">
      <dl>
        <Fact name="Unschedulable">{reason(node) || `The node is ${node.state}.`}</Fact>
        {since !== undefined && <Fact name="Since"><When unix={since} now={now} />, for {lasting(now - since)}</Fact>}
        {node.drained_until !== undefined && <Fact name="Drained until"><When unix={node.drained_until} now={now} />,
          {' '}for {lasting(Math.max(0, node.drained_until - now))}</Fact>}
        {quarantine && <>
          <Fact name="Next test">{nextTest(quarantine, now)}</Fact>
          {quarantine.why !== reason(node) && <Fact name="Quarantined">{quarantine.why}</Fact>}
          <Fact name="Last test">{quarantine.last_test ?? 'none yet'}</Fact>
        </>}
      </dl>
    </section>
  );
}

function Has(props: {node: Node}) {
  const {node} = props;
  const others = node.others;
  return (
    <dl>
      <Fact name="GPUs"><Meter part={node.gpus_used} of={node.gpus} label="GPUs used" /> {node.gpus_used} used,
        {' '}{node.gpus_free} free{node.gpus_reserved > 0 && `, ${node.gpus_reserved} reserved`} of {node.gpus}
        {' '}{node.gpu_type}{node.gpus_virtual && ', virtual'}</Fact>
      <Fact name="CPUs"><Meter part={node.cpus - node.cpus_free} of={node.cpus} label="CPUs held" />{' '}
        {number(node.cpus_free)} free of {number(node.cpus)}</Fact>
      <Fact name="Memory"><Meter part={node.mem_gib - node.mem_free_gib} of={node.mem_gib} label="Memory held" />{' '}
        {amount(node.mem_free_gib)} free of {gib(node.mem_gib)}</Fact>
      {others && <Fact name="External jobs">{many(others.gpus, 'GPU')}, {number(others.cpus)} CPUs,
        {' '}{gib(others.mem_gib)}</Fact>}
      {node.rack && <Fact name="Rack">{node.rack}</Fact>}
      {node.isolation && <Fact name="Isolation">{node.isolation === 'full' ? 'full: CPU and memory limits are enforced'
        : node.isolation}</Fact>}
      {node.notes && node.notes.length > 0 &&
        <Fact name="Notes">{node.notes.map(note => <p key={note}>{note}</p>)}</Fact>}
    </dl>
  );
}

function JobsThere(props: {node: Node}) {
  const {jobs} = props.node;
  const hidden = hiddenGpus(props.node);
  return (
    <>
      <h3>Jobs</h3>
      {jobs.length === 0 ? hidden === 0 && <p class="muted">No jobs</p> : (
        <ul class="plain">{jobs.map(job => (
          <li key={job.id}><JobLink id={job.id}>job {job.id}</JobLink>{' '}
            <span class="muted">{job.gpus.length === 1 ? 'GPU' : 'GPUs'} {ranges(job.gpus)}</span></li>
        ))}</ul>
      )}
      {hidden > 0 && <p class="muted">Jobs of other users are hidden. They use {many(hidden, 'GPU')}.</p>}
    </>
  );
}

function Recent(props: {node: Node; now: number}) {
  const {node, now} = props;
  if (!node.recent) return null;
  return (
    <>
      <h3>Events</h3>
      {node.recent.length === 0 ? <p class="muted">No recent events</p> : (
        <ul class="plain">{[...node.recent].reverse().map(event => (
          <li key={event.number}><span class="muted"><When unix={event.at} now={now} /></span> {event.words}
            {event.job !== undefined && <> (<JobLink id={event.job}>job {event.job}</JobLink>)</>}</li>
        ))}</ul>
      )}
    </>
  );
}

export function NodePanel(props: {name: string; node?: Node; me: Me; now: number; close: string}) {
  const {name, node, me, now} = props;
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // On narrow screens the panel is above the list and may be outside the view.
    if (matchMedia('(max-width: 1099px)').matches) box.current?.scrollIntoView({block: 'nearest'});
  }, [name]);
  return (
    <aside class="card node-panel" ref={box} aria-label={`Node ${name}`}>
      <header>
        <h2>{name}</h2>
        {node && <StateBadge state={node.state} />}
        <a class="icon" href={props.close} aria-label="Close" title="Close (Esc)">✕</a>
      </header>
      {!node ? <p class="trouble">Node {name} not found</p> : <>
        <Wrong node={node} now={now} />
        {me.operator && <NodeDeeds key={node.name} node={node} />}
        <Has node={node} />
        <JobsThere node={node} />
        <Recent node={node} now={now} />
      </>}
    </aside>
  );
}
