// Timeline screen: leases per GPU over time; above them GPUs in use and waiting jobs on the same axis.

import {useEffect, useLayoutEffect, useMemo, useState} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {query} from '../api';
import {many} from '../format';
import {Gantt} from '../gantt/gantt';
import {leases} from '../gantt/data';
import {TimeView} from '../gantt/layout';
import {Legend} from '../gantt/legend';
import type {ColorBy} from '../gantt/shades';
import {useData} from '../live';
import {setQuery} from '../route';
import {withTenants} from '../tenants';
import type {Timeline as Line} from '../types';
import {Empty, Toggle, Waiting, useNow} from '../ui/bits';
import {Stale} from '../ui/stale';
import {useOpened} from './opened';
import {RANGES, type Range, SECONDS} from './tenants_data';
import './timeline.css';

const COLORS: {value: ColorBy; text: string}[] = [
  {value: 'tenant', text: 'Tenant'}, {value: 'job', text: 'Job'}, {value: 'cause', text: 'Cause of waiting'},
];

export const colorOf = (text: string | undefined): ColorBy => text === 'job' || text === 'cause' ? text : 'tenant';

export function ColorToggle(props: {value: ColorBy; choose(value: ColorBy): void}) {
  return <Toggle label="Color by" value={props.value} options={COLORS} choose={props.choose} />;
}

// Height in pixels between the elements above and the end of the window.
function useRoom(above: number): number {
  const [room, setRoom] = useState(innerHeight - above);
  useEffect(() => {
    const hook = () => setRoom(innerHeight - above);
    window.addEventListener('resize', hook);
    return () => window.removeEventListener('resize', hook);
  }, [above]);
  return Math.max(280, room);
}

// Shows whether the view follows the current time; a click goes there.
function Follow(props: {time: TimeView}) {
  const {time} = props;
  const [at, setAt] = useState(time.atEnd);
  useEffect(() => time.subscribe(() => setAt(time.atEnd)), [time]);
  return (
    <button type="button" class="button timeline-follow" aria-pressed={at} onClick={() => {
      time.show(time.high - time.span, time.high);
      time.changed();
    }}>{at ? 'Following now' : 'Go to now'}</button>
  );
}

interface Props {
  run?: number;
  live: boolean;
  from: number;
  route: ScreenProps['route'];
}

function Drawing(props: Props & {line: Line}) {
  const {line, live, route} = props;
  const seconds = useNow();
  const now = live ? Math.max(seconds, line.to) : null;
  const [low, high] = [Math.max(props.from, line.from), now ?? line.to];
  const time = useMemo(() => new TimeView(low, high, line.unit), []);
  const [only, setOnly] = useState<string | null>(null);
  const room = useRoom(290);
  const colorBy = colorOf(route.query.color);
  const held = useMemo(() => leases(line.bars), [line]);
  // Keeps the zoom; a view of the end follows the end.
  useLayoutEffect(() => {
    time.setBounds(low, high);
    time.changed();
  }, [low, high]);
  return (
    <section class="card timeline-card" aria-label="Timeline">
      <div class="row timeline-tools">
        <ColorToggle value={colorBy} choose={value => {
          setOnly(null);
          setQuery(route, {color: value === 'tenant' ? '' : value});
        }} />
        {live && <Follow time={time} />}
        <span class="muted timeline-about">{many(held, 'lease')}, {many(line.servers.length, 'node')}</span>
      </div>
      <Legend line={line} colorBy={colorBy} only={only} choose={setOnly} />
      <Gantt label="Timeline" line={line} run={props.run} time={time} colorBy={colorBy} only={only} room={room}
        now={now} opens={live} />
      {line.thinned && <p class="muted timeline-thinned" role="note">Thinned: {line.thinned}</p>}
    </section>
  );
}

// Loads one timeline; reloads it for a live manager.
function Loaded(props: Props & {path: string; nothing: string}) {
  const {data, error} = useData<Line>(props.path, {still: !props.live, least: 3000, moves: 'timeline'});
  const line = useMemo(() => data && withTenants(data), [data]);
  if (!line) return <Waiting error={error} what="the timeline" />;
  return (
    <>
      <Stale error={error} />
      {line.bars.row.length === 0
        ? <Empty title={props.nothing}>
          {props.live && <p>To submit a job: <code>muster submit -- sleep 60</code></p>}
        </Empty>
        : <Drawing {...props} line={line} />}
    </>
  );
}

function Live(props: ScreenProps) {
  const {route} = props;
  const asked = route.query.range ?? 'day';
  const range = Object.keys(SECONDS).includes(asked) ? asked as Range : 'day';
  // In whole minutes, so that the path does not change every second.
  const minute = Math.floor(useNow(10_000) / 60) * 60;
  const from = range === 'all' ? 0 : minute - SECONDS[range];
  const path = '/v1/timeline' + query({from});
  return (
    <>
      <div class="row spread">
        <h1 class="timeline-title">Timeline</h1>
        <Toggle label="Time range" value={range} options={RANGES} choose={value => setQuery(route, {range: value})} />
      </div>
      <Loaded key={range} path={path} live from={from} route={route}
        nothing={range === 'all' ? 'No job has run yet' : 'No job has run in this period'} />
    </>
  );
}

function OfRuns(props: ScreenProps) {
  const {route} = props;
  const {opened, runs, error} = useOpened();
  if (!opened) return <Waiting screen="Timeline" error={error} what="the runs" />;
  const run = runs.find(one => String(one.key) === route.query.run) ?? runs[0];
  if (!run) {
    return <Empty screen title="No simulated run is open">
      <p>Create one with <code>muster sim --out runs</code> and open it with <code>muster view runs</code>.</p>
    </Empty>;
  }
  return (
    <>
      <div class="row spread">
        <h1 class="timeline-title">Timeline</h1>
        {runs.length > 1 && <label class="timeline-run">Run <select value={String(run.key)}
          onChange={event => setQuery(route, {run: event.currentTarget.value})}>
          {runs.map(one => <option value={String(one.key)}>{one.name}</option>)}
        </select></label>}
      </div>
      <p class="muted">{runs.length > 1 ? run.about : `${run.name}: ${run.about}`}</p>
      <Loaded key={run.key} run={run.key} path={`/v1/timeline?run=${run.key}`} live={false} from={-Infinity}
        route={route} nothing="No job ran in this simulation" />
    </>
  );
}

export function Timeline(props: ScreenProps) {
  return props.me.mode === 'live' ? <Live {...props} /> : <OfRuns {...props} />;
}
