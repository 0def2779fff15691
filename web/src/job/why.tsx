// Why it waits, runs so, or ended so: one sentence, what is behind it as a tree, and what would be sooner. All words
// are the server's.

import type {ComponentChildren} from 'preact';
import {lasting, many} from '../format';
import {href} from '../route';
import type {RunFacts, WaitFacts, Why} from '../types';
import {JobLink, Meter, Waiting, useNow} from '../ui/bits';
import {Stale} from '../ui/stale';
import {EtaBand} from './eta';
import {Ways} from './ways';

function Branch(props: {title: ComponentChildren; open?: boolean; children: ComponentChildren}) {
  return (
    <details class="branch" open={props.open}>
      <summary>{props.title}</summary>
      <div class="branch-body">{props.children}</div>
    </details>
  );
}

function Gpus(props: {facts: WaitFacts}) {
  const {needs, free, gpus, most_on_one: most, best_node: best, others, kept, kept_for: keptFor} = props.facts;
  const asked = props.facts.asked ?? needs;
  const first = asked > needs ? `, ${needs} first for its pre-run` : '';
  const bar = (name: string, n: number, tone?: string) => (
    <div class="bar-line"><span class="muted">{name}</span>
      <Meter part={n} of={Math.max(needs, gpus)} label={`${name} ${n} of ${gpus}`} tone={tone} /> {n}</div>
  );
  return (
    <Branch open title={`GPUs: ${asked} wanted${first}, ${free} of ${gpus} free`}>
      {bar('wanted', needs, free < needs ? 'warn' : '')}
      {bar('free', free)}
      {bar('on one server', most)}
      {best && <p>Most on one server: {most} on <a href={href('nodes', [best])}>{best}</a></p>}
      {kept !== undefined && keptFor !== undefined &&
        <p>{many(kept, 'GPU')} kept for <JobLink id={keptFor}>job {keptFor}</JobLink></p>}
      {others !== undefined && <p>{many(others, 'GPU')} held by others than our jobs</p>}
    </Branch>
  );
}

function Order(props: {facts: WaitFacts}) {
  const {ahead, ahead_gpus: gpus, next, passing} = props.facts;
  const others = passing > 0 ? `; ${many(passing, 'job')} behind it can start sooner` : '';
  if (ahead === 0 && next === undefined) return <p class="leaf">Order: nobody starts before it{others}</p>;
  return (
    <Branch title={`Order: ${many(ahead, 'job')} to start before it, wanting ${many(gpus, 'GPU')}`}>
      {next !== undefined && <p>First in line: <JobLink id={next}>job {next}</JobLink></p>}
      <p><a href={href('queue', [], {state: 'queued', sort: 'position', order: 'asc'})}>
        The queue by priority and submission</a></p>
    </Branch>
  );
}

const MOST_HOLDERS = 5;  // The server names no more.

function Holders(props: {facts: WaitFacts}) {
  const {holders} = props.facts;
  if (holders.length === 0) return null;
  const title = holders.length < MOST_HOLDERS ? `Held by ${many(holders.length, 'job')} that it could follow`
    : 'Held by jobs that it could follow, the first of them';
  return (
    <Branch open title={title}>
      <ul>{holders.map(one => <li key={one.job}><JobLink id={one.job}>{one.says}</JobLink></li>)}</ul>
    </Branch>
  );
}

function Closed(props: {facts: WaitFacts}) {
  const {servers = [], closed: gpus} = props.facts;
  if (servers.length === 0) return null;
  return (
    <Branch title={`Closed: ${many(servers.length, 'server')}${gpus === undefined ? '' : `, ${many(gpus, 'GPU')}`}`}>
      <ul>{servers.map(one => <li key={one.name}><a href={href('nodes', [one.name])}>{one.says}</a></li>)}</ul>
    </Branch>
  );
}

function Waited(props: {facts: RunFacts}) {
  const causes = Object.entries(props.facts.waited_s).map(([cause, seconds]) => ({cause, seconds}))
    .filter(one => one.seconds >= 0.5).sort((a, b) => b.seconds - a.seconds);
  if (causes.length === 0) return null;
  const all = causes.reduce((sum, one) => sum + one.seconds, 0);
  return (
    <Branch open title={`Waited ${lasting(all)}`}>
      {causes.map(({cause, seconds}) => (
        <div key={cause} class="bar-line"><span class="muted">{cause}</span>
          <Meter part={seconds} of={all} label={`${lasting(seconds)} for ${cause}`} /> {lasting(seconds)}</div>
      ))}
    </Branch>
  );
}

function Failure(props: {why: Why}) {
  const {why} = props;
  if (!why.evidence && !why.advice) return null;
  return (
    <>
      {why.evidence && <p class="evidence"><code>{why.evidence}</code>
        {why.line !== undefined && <span class="muted"> line {why.line} of its output</span>}</p>}
      {why.advice && <p class="advice">{why.advice}</p>}
    </>
  );
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

// The sentence is cut to one line for terminals; where the end is told in full, it is put in.
export function sentence(why: Why): string {
  const from = why.why.indexOf(': ') + 2;
  const cut = why.why.endsWith('…') && from > 1 ? why.why.slice(from, -1) : '';
  return capital(cut && why.end?.startsWith(cut) ? why.why.slice(0, from) + why.end : why.why);
}

export function WhyCard(props: {why?: Why; error?: Error}) {
  const {why} = props;
  const now = useNow(5000);
  if (!why) {
    return <section class="card job-why"><h2>Why</h2><Waiting error={props.error} what="why" /></section>;
  }
  const waits = why.facts && 'needs' in why.facts ? why.facts : undefined;
  const runs = why.facts && 'policy' in why.facts ? why.facts : undefined;
  const because = why.because ?? [];
  return (
    <section class="card job-why" aria-label="Why">
      <Stale error={props.error} />
      <p class="job-sentence">{sentence(why)}</p>
      <Failure why={why} />
      {why.eta && <EtaBand eta={why.eta} now={now} />}
      {why.ways && why.ways.length > 0 && <h3>Cheapest ways out</h3>}
      <Ways ways={why.ways ?? []} />
      <div class="tree">
        {why.before && <p class="leaf">Before: {why.before}</p>}
        {why.time && !why.why.endsWith(why.time) && <p class="leaf">{capital(why.time)}</p>}
        {waits && <>
          <Gpus facts={waits} />
          <Order facts={waits} />
          <Holders facts={waits} />
          <Closed facts={waits} />
        </>}
        {because.length > 0 && <Branch open title="Why there, and why so much">
          <ul>{because.map(one => <li key={one.about}>{one.says}</li>)}</ul></Branch>}
        {runs && <>
          <Waited facts={runs} />
          <p class="leaf">By policy {runs.policy}, mechanism {runs.mechanism}, placement {runs.placement}</p>
        </>}
      </div>
    </section>
  );
}
