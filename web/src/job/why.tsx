// Card that explains the state of the job: one sentence, a tree of facts, and ways to start sooner. The server provides
// the sentences.

import type {ComponentChildren} from 'preact';
import {lasting, many} from '../format';
import {href} from '../route';
import type {Me, RunFacts, WaitFacts, WholeJob, Why} from '../types';
import {JobLink, Meter, Waiting, useNow} from '../ui/bits';
import {Stale} from '../ui/stale';
import {EtaBand} from './eta';
import {Evidence} from './evidence';
import {Ways} from './ways';

function Branch(props: {title: ComponentChildren; open?: boolean; children: ComponentChildren}) {
  return (
    <details class="branch" open={props.open}>
      <summary>{props.title}</summary>
      <div class="branch-body">{props.children}</div>
    </details>
  );
}

interface WaitProps {
  facts: WaitFacts;
  me: Me;
}

// The server names the owner only of jobs that the viewer may see.
const isSeen = (me: Me, owner?: string): boolean => me.operator || owner !== undefined;

function Gpus(props: WaitProps) {
  const {needs, free, gpus, most_on_one: most, best_node: best, others, kept, kept_for: keptFor} = props.facts;
  const asked = props.facts.asked ?? needs;
  const first = asked > needs ? `, ${needs} first for its pre-run` : '';
  const bar = (name: string, n: number, tone?: string) => (
    <div class="bar-line"><span class="muted">{name}</span>
      <Meter part={n} of={Math.max(needs, gpus)} label={`${name} ${n} of ${gpus}`} tone={tone} /> {n}</div>
  );
  return (
    <Branch open title={`GPUs: ${asked} requested${first}, ${free} of ${gpus} free`}>
      {bar('requested', needs, free < needs ? 'warn' : '')}
      {bar('free', free)}
      {bar('on one node', most)}
      {best && <p>Most on one node: {most} on <a href={href('nodes', [best])}>{best}</a></p>}
      {kept !== undefined && keptFor !== undefined &&
        <p>{many(kept, 'GPU')} kept for <JobLink id={keptFor} seen={isSeen(props.me, props.facts.kept_for_user)}>
          job {keptFor}</JobLink></p>}
      {others !== undefined && <p>{many(others, 'GPU')} used by external jobs</p>}
    </Branch>
  );
}

function Order(props: WaitProps) {
  const {ahead, ahead_gpus: gpus, next, passing} = props.facts;
  const others = passing > 0 ? `; ${many(passing, 'job')} behind it can start sooner` : '';
  if (ahead === 0 && next === undefined) return <p class="leaf">Order: no job starts before it{others}</p>;
  return (
    <Branch title={`Order: ${many(ahead, 'job')} before it, requesting ${many(gpus, 'GPU')}`}>
      {next !== undefined && <p>First in the queue: <JobLink id={next}
        seen={isSeen(props.me, props.facts.next_user)}>job {next}</JobLink></p>}
      <p><a href={href('queue', [], {state: 'queued', sort: 'position', order: 'asc'})}>
        Queue by position</a></p>
    </Branch>
  );
}

const MOST_HOLDERS = 5;  // The server lists at most this many.

function Holders(props: WaitProps) {
  const {holders} = props.facts;
  if (holders.length === 0) return null;
  const title = holders.length < MOST_HOLDERS ? `${many(holders.length, 'job')} on usable GPUs`
    : `Jobs on usable GPUs (first ${MOST_HOLDERS})`;
  return (
    <Branch open title={title}>
      <ul>{holders.map(one => <li key={one.job}>
        <JobLink id={one.job} seen={isSeen(props.me, one.user)}>{one.says}</JobLink></li>)}</ul>
    </Branch>
  );
}

function Closed(props: {facts: WaitFacts}) {
  const {servers = [], closed: gpus} = props.facts;
  if (servers.length === 0) return null;
  return (
    <Branch
      title={`Unschedulable: ${many(servers.length, 'node')}${gpus === undefined ? '' : `, ${many(gpus, 'GPU')}`}`}>
      <ul>{servers.map(one => <li key={one.name}><a href={href('nodes', [one.name])}>{one.says}</a></li>)}</ul>
    </Branch>
  );
}

// The sentence contains the total, so this shows only the causes.
function WaitCauses(props: {facts: RunFacts}) {
  const causes = Object.entries(props.facts.waited_s).map(([cause, seconds]) => ({cause, seconds}))
    .filter(one => one.seconds >= 0.5).sort((a, b) => b.seconds - a.seconds);
  if (causes.length === 0) return null;
  if (causes.length === 1) return <p class="leaf">Cause of the wait: {causes[0].cause}</p>;
  const all = causes.reduce((sum, one) => sum + one.seconds, 0);
  return (
    <Branch open title="Causes of the wait">
      {causes.map(({cause, seconds}) => (
        <div key={cause} class="bar-line"><span class="muted">{cause}</span>
          <Meter part={seconds} of={all} label={`${lasting(seconds)} for ${cause}`} /> {lasting(seconds)}</div>
      ))}
    </Branch>
  );
}

function Failure(props: {why: Why; job: WholeJob}) {
  const {why, job} = props;
  if (!why.evidence && !why.advice) return null;
  const lease = [...job.leases].sort((a, b) => b.number - a.number)
    .find(one => one.evidence === why.evidence && one.line === why.line);
  return (
    <>
      {lease ? <Evidence job={job} lease={lease} />
        : why.evidence && <p class="evidence"><code>{why.evidence}</code></p>}
      {why.advice && <p class="advice">{why.advice}</p>}
    </>
  );
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

// The server shortens the sentence for terminals; this restores its end if `why.end` has the full text.
export function sentence(why: Why): string {
  const from = why.why.indexOf(': ') + 2;
  const cut = why.why.endsWith('…') && from > 1 ? why.why.slice(from, -1) : '';
  return capital(cut && why.end?.startsWith(cut) ? why.why.slice(0, from) + why.end : why.why);
}

export function WhyCard(props: {why?: Why; error?: Error; job: WholeJob; me: Me}) {
  const {why, job, me} = props;
  const now = useNow(5000);
  if (!why) {
    return <section class="card job-why"><h2>Why</h2><Waiting error={props.error} what="why" /></section>;
  }
  const waits = why.facts && 'needs' in why.facts ? why.facts : undefined;
  const runs = why.facts && 'policy' in why.facts ? why.facts : undefined;
  const because = why.because ?? [];
  return (
    <section class="card job-why" aria-label="Why">
      <h2 class="unseen">Why</h2>
      <Stale error={props.error} />
      <p class="job-sentence">{sentence(why)}</p>
      <Failure why={why} job={job} />
      {why.eta && <EtaBand eta={why.eta} now={now} />}
      {why.ways && why.ways.length > 0 && <h3>Ways to start sooner</h3>}
      <Ways ways={why.ways ?? []} />
      <div class="tree">
        {why.before && <p class="leaf">Earlier: {why.before}</p>}
        {why.time && !why.why.endsWith(why.time) && <p class="leaf">{capital(why.time)}</p>}
        {waits && <>
          <Gpus facts={waits} me={me} />
          <Order facts={waits} me={me} />
          <Holders facts={waits} me={me} />
          <Closed facts={waits} />
        </>}
        {because.length > 0 && <Branch open title="Placement and resources">
          <ul>{because.map(one => <li key={one.about}>{one.says}</li>)}</ul></Branch>}
        {runs && <>
          <WaitCauses facts={runs} />
          <p class="leaf">Policy {runs.policy}, mechanism {runs.mechanism}, placement {runs.placement}</p>
        </>}
      </div>
    </section>
  );
}
