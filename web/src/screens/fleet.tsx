// Fleet screen: every node and GPU with its job, utilization and health, and jobs that lack CPU or memory.

import {useMemo, useState} from 'preact/hooks';
import {at, count, gib, many, number, percent} from '../format';
import {useData} from '../live';
import {type Route, href, setQuery} from '../route';
import {COLORS, color, useTheme} from '../theme';
import type {ScreenProps} from '../app';
import type {Fleet as FleetData, Me} from '../types';
import {Empty, JobLink, Toggle, Waiting} from '../ui/bits';
import {Stale} from '../ui/stale';
import {FleetCards} from './fleet_cards';
import {MODES, type Mode, byJob, legend, parts, shown, sick, slowest, title, words} from './fleet_map';
import './fleet.css';

const MOST_RESERVED = 3;  // Maximum number of jobs listed.

const HINTS: Record<string, string> = {
  used: 'GPUs held by jobs',
  free: 'GPUs not held by any job',
  fragmented: 'Free GPUs on nodes that are partly in use',
  reserved: 'Free GPUs kept for a job that will start soon',
  others: 'GPUs used by processes that are not Muster jobs',
  closed: 'GPUs on nodes that accept no jobs: drained, quarantined or unusable',
};

function Totals(props: {fleet: FleetData; me: Me}) {
  const {totals, reserved = [], forecasts} = props.fleet;
  const bar = parts(totals);
  const figure = (key: string, value: number, text: string) => (
    <div class="stat" title={HINTS[key]}>
      <span class="stat-value">{count(value)}</span>
      <span class="stat-label"><span class={`swatch ${key}`} aria-hidden="true" /> {text}</span>
    </div>
  );
  return (
    <section class="totals" aria-label="All GPUs">
      <div class="stats">
        <div class="stat"><span class="stat-value">{count(totals.gpus)}</span><span class="stat-label">GPUs</span></div>
        {figure('used', totals.used, 'used')}
        {figure('free', totals.free, 'free')}
        {figure('fragmented', totals.fragmented, 'of these fragmented')}
        {totals.reserved > 0 && figure('reserved', totals.reserved, 'reserved')}
        {totals.others > 0 && figure('others', totals.others, 'external jobs')}
        {totals.closed > 0 && figure('closed', totals.closed, 'unschedulable')}
      </div>
      <div class="stack" role="img" aria-label={bar.map(part => `${part.gpus} ${words[part.key]}`).join(', ')}>
        {bar.filter(part => part.gpus > 0).map(part => (
          <span key={part.key} class={`part ${part.key}`} style={{flexGrow: part.gpus}}
            title={`${words[part.key]}: ${count(part.gpus)} of ${many(totals.gpus, 'GPU')}, ${
              percent(part.gpus / totals.gpus)}`} />
        ))}
      </div>
      {reserved.slice(0, MOST_RESERVED).map(({job, gpus, from, user}) => (
        <p key={job} class="muted small">{many(gpus, 'GPU')} reserved for
          {' '}<JobLink id={job} seen={props.me.operator || user !== undefined}>job {job}</JobLink>
          {from !== undefined ? `, estimated start ${at(from)}` : ', until its other GPUs are free'}.</p>
      ))}
      {forecasts && forecasts.checked > 0 && (
        <p class="muted small" title="Since the manager started. The goal is 80%.">Start forecasts: the 80% band
          contained {percent(forecasts.inside_80 / forecasts.checked)} of {many(forecasts.checked, 'start')}.</p>
      )}
      {reserved.length > MOST_RESERVED && <p class="muted small">… and for {reserved.length - MOST_RESERVED} more.</p>}
    </section>
  );
}

function Trouble(props: {fleet: FleetData}) {
  const bad = sick(props.fleet.nodes);
  if (bad.servers === 0) return null;
  return (
    <p class="trouble" role="status">
      <a href={href('nodes', [], {state: 'quarantined,unusable'})}>{many(bad.servers, 'node')} with
        problems ({many(bad.gpus, 'GPU')})</a>
    </p>
  );
}

const MOST = 12;
const SLOWEST = 5;  // Rows shown before "Show all".

function Allocation(props: {fleet: FleetData}) {
  const items = legend(props.fleet);
  const noun = byJob(props.fleet) ? 'job' : 'tenant';
  const held = items.filter(item => item.look.startsWith('job'));
  const named = [...held.slice(0, MOST), ...items.filter(item => !item.look.startsWith('job'))];
  return (
    <>
      <ul class="legend" aria-label={byJob(props.fleet) ? 'Jobs' : 'Tenants'}>
        {named.map(item => (
          <li key={item.look + item.text}><span class={`gpu ${item.look}`} aria-hidden="true" />
            {item.job?.name === undefined ? item.text : <JobLink id={item.job.id}>{item.text}</JobLink>}
            <span class="muted">{item.job ? many(item.gpus, 'GPU') : count(item.gpus)}</span></li>
        ))}
        {held.length > MOST && <li class="muted">and {many(held.length - MOST, noun)} more</li>}
      </ul>
      {held.length === 0 &&
        <p class="muted">No job is running. To submit one: <code>muster submit --gpus 1 -- python3 train.py</code></p>}
    </>
  );
}

function Scale(props: {kind: 'use' | 'speed'; words: string}) {
  const steps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  return (
    <>
      <ul class="legend" aria-label="Scale">
        <li class="scale"><span>0%</span>{steps.map(n =>
          <span key={n} class={`gpu ${props.kind} u${n}`} aria-hidden="true" />)}<span>100%</span></li>
        <li><span class="gpu unknown" aria-hidden="true" /> unknown</li>
        {props.kind === 'speed' && <li><span class="gpu free" aria-hidden="true" /> free</li>}
      </ul>
      <p class="muted small">{props.words}</p>
    </>
  );
}

const USE_WORDS: Record<FleetData['use_of'], string> = {
  gpu: 'Utilization of each GPU, as reported by the GPU.',
  cpu: 'These GPUs are virtual. The colors show the utilization of the CPUs of each virtual GPU.',
  none: 'GPU utilization is unknown: it is not measured on these nodes.',
};

function Health(props: {fleet: FleetData}) {
  const states = [['open', 'open: accepts jobs'], ['drained', 'drained by an operator'],
    ['quarantined', 'quarantined: jobs failed there'], ['unusable', 'unusable: down or not available to Muster']];
  return (
    <ul class="legend" aria-label="States">
      {states.map(([state, text]) => (
        <li key={state}><span class={`gpu health-${state}`} aria-hidden="true" /> {text}
          <span class="muted">{count(props.fleet.nodes.filter(node => node.state === state).length)}</span></li>
      ))}
    </ul>
  );
}

function Starved(props: {fleet: FleetData}) {
  const [all, setAll] = useState(false);
  const {fleet} = props;
  const jobs = slowest(fleet);
  return (
    <>
      <Scale kind="speed" words={'Speed of each job, relative to its speed with all the CPU and memory it can use. ' +
        'A dot marks jobs that lack CPU or memory.'} />
      {jobs.length === 0 ? <p>{fleet.jobs.length > 0 && fleet.jobs.every(job => job.speed === undefined)
        ? `Unknown: none of ${many(fleet.jobs.length, 'job')} has a profile.`
        : 'No job lacks CPU or memory.'}</p> : (
        <div class="card table-box starved-jobs">
          <table>
            <thead><tr><th>Jobs that lack CPU or memory</th><th>User</th><th class="right">Speed</th>
              <th class="right">GPUs</th><th class="right">CPUs</th><th class="right">Memory</th></tr></thead>
            <tbody>{jobs.slice(0, all ? jobs.length : SLOWEST).map(job => (
              <tr key={job.id}>
                <td class="name">
                  {job.name === undefined ? title(job) : <JobLink id={job.id}>{title(job)}</JobLink>}</td>
                <td>{job.user ?? '–'}</td>
                <td class="right">{job.speed === undefined ? '–' : percent(job.speed)}</td>
                <td class="right">{job.gpus}</td><td class="right">{number(job.cpus)}</td>
                <td class="right">{gib(job.mem_gib)}</td>
              </tr>
            ))}</tbody>
          </table>
          {jobs.length > SLOWEST &&
            <button type="button" class="button" aria-expanded={all} onClick={() => setAll(!all)}>
              {all ? 'Show only the slowest' : `Show all ${count(jobs.length)}`}</button>}
        </div>
      )}
    </>
  );
}

function Explained(props: {fleet: FleetData; mode: Mode}) {
  const {fleet, mode} = props;
  if (mode === 'allocation') return <Allocation fleet={fleet} />;
  if (mode === 'health') return <Health fleet={fleet} />;
  if (mode === 'starved') return <Starved fleet={fleet} />;
  return fleet.use_of === 'none' ? <p>{USE_WORDS.none}</p>
    : <Scale kind="use" words={USE_WORDS[fleet.use_of]} />;
}

const FEW = 8;  // Up to this many nodes need no search field.

function Filters(props: {route: Route; all: number; seen: number}) {
  const {route} = props;
  const {find = '', free = ''} = route.query;
  if (props.all <= FEW && !find && !free) return null;
  return (
    <div class="filters">
      <input type="search" placeholder="Find nodes" aria-label="Find nodes by name, rack or GPU type" value={find}
        onInput={event => setQuery(route, {find: event.currentTarget.value})} />
      <label class="choice"><input type="checkbox" checked={free !== ''}
        onChange={event => setQuery(route, {free: event.currentTarget.checked ? '1' : ''})} />
        Only nodes with free GPUs</label>
      {props.seen < props.all &&
        <span class="muted" role="status">{count(props.seen)} of {many(props.all, 'node')}</span>}
    </div>
  );
}

// CSS variables --c0, --c1...: a change of the theme does not need to render the cards again.
function useColours(): Record<string, string> {
  const theme = useTheme();
  return useMemo(() => {
    const list: Record<string, string> = {};
    for (let i = 0; i < COLORS; i++) list[`--c${i}`] = color(i);
    return list;
  }, [theme]);
}

export function Fleet(props: ScreenProps) {
  const {route} = props;
  const {data: fleet, error} = useData<FleetData>('/v1/fleet');
  const colours = useColours();
  if (!fleet) return <Waiting screen="Fleet" error={error} what="the fleet" />;
  const mode = MODES.find(one => one === route.query.mode) ?? 'allocation';
  const nodes = shown(fleet.nodes, route.query.find ?? '', Boolean(route.query.free));
  if (fleet.nodes.length === 0) {
    return <Empty screen title="No nodes"><p>Nodes appear here when the manager has found
      them. <code>muster nodes</code> also lists them.</p></Empty>;
  }
  return (
    <div class="fleet" style={colours}>
      <h1 class="unseen">Fleet</h1>
      <Stale error={error} />
      <Totals fleet={fleet} me={props.me} />
      <Trouble fleet={fleet} />
      <div class="row spread">
        <Toggle label="Colors show" value={mode}
          choose={value => setQuery(route, {mode: value === 'allocation' ? '' : value})}
          options={[{value: 'allocation', text: 'Allocation'}, {value: 'use', text: 'Utilization'},
            {value: 'health', text: 'Health'}, {value: 'starved', text: 'CPU-starved'}]} />
        <Filters route={route} all={fleet.nodes.length} seen={nodes.length} />
      </div>
      <Explained fleet={fleet} mode={mode} />
      {nodes.length === 0 ? <Empty title="No nodes match the filter">
        <button type="button" class="button" onClick={() => setQuery(route, {find: '', free: ''})}>Show all</button>
      </Empty> : <FleetCards fleet={fleet} nodes={nodes} mode={mode} />}
    </div>
  );
}
