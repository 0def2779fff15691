// Tenants screen: quota, used, borrowed and lent GPUs of each tenant, now and over time; fairness; borrowed GPUs.

import {useMemo} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {at, many, number} from '../format';
import {useData} from '../live';
import {type Route, href, setQuery} from '../route';
import {knowTenants, oncePerTenant, placesOf} from '../tenants';
import {color, paint, useTheme} from '../theme';
import type {Opened, TenantUse, Usage} from '../types';
import {Empty, JobLink, Toggle, Waiting, When, useNow} from '../ui/bits';
import {Chart} from '../ui/chart';
import {Stale} from '../ui/stale';
import {RANGES, type Range, type Row, axisTime, busiest, isRun, largest,
  onTheMean, steps, tree, usagePath} from './tenants_data';
import {useOpened} from './opened';
import './tenants.css';

// Bar of used GPUs relative to the quota: within the quota, borrowed, and lent. `whole`: common scale of all rows.
function Share(props: {tenant: TenantUse; whole: number}) {
  const {quota, used_now: used, borrowed_now: borrowed, lent_now: lent} = props.tenant;
  const {whole} = props;
  const part = (n: number) => ({width: `${Math.max(0, n) / whole * 100}%`});
  const words = `${number(used)} used of a quota of ${number(quota)}, ${number(borrowed)} borrowed, ${
    number(lent)} lent`;
  return (
    <span class="share" role="img" aria-label={words} title={words}>
      <span class="own" style={part(used - borrowed)} /><span class="borrowed" style={part(borrowed)} />
      <span class="lent" style={part(lent)} />
      {quota > 0 && <span class="mark" style={{left: `calc(${quota / whole * 100}% - 2px)`}} />}
    </span>
  );
}

const some = (n: number) => n === 0 ? <span class="muted">0</span> : number(n);

// `over`: a finished run, which has no running or queued jobs.
function Figures(props: {rows: Row[]; chosen: string; route: Route; over: boolean}) {
  const {rows, chosen, route, over} = props;
  const figures = rows.map(row => ({depth: row.depth, tenant: over ? onTheMean(row.tenant) : row.tenant}));
  const quotas = rows.some(row => row.tenant.quota > 0);  // Without quotas, no tenant borrows or lends.
  const whole = largest(figures.map(row => row.tenant));
  return (
    <div class="card table-box">
      <table class="figures" aria-label={over ? 'Tenants, mean over the run' : 'Tenants now'}>
        <thead><tr><th class="first">Tenant</th>{quotas && <th class="right">Quota</th>}
          <th class="right">{over ? 'Used, mean' : 'Used'}</th>
          {quotas && <><th>Used of quota</th><th class="right">Borrowed</th><th class="right">Lent</th></>}
          {!over && <><th class="right">Running</th>
            <th class="right" title="Without held, blocked and retrying jobs">Queued</th></>}</tr></thead>
        <tbody>{figures.map(({tenant, depth}) => (
          <tr key={tenant.name} class={tenant.name === chosen ? 'chosen' : ''}>
            <td class="name" style={{paddingLeft: `${depth * 18 + 8}px`}}>
              <a href={href('tenants', [], {...route.query, tenant: tenant.name})}
                aria-current={tenant.name === chosen ? 'true' : undefined}>{tenant.name}</a></td>
            {quotas && <td class="right">
              {tenant.quota > 0 ? number(tenant.quota) : <span class="muted">none</span>}</td>}
            <td class="right">{some(tenant.used_now)}</td>
            {quotas && <><td><Share tenant={tenant} whole={whole} /></td>
              <td class="right">{some(tenant.borrowed_now)}</td><td class="right">{some(tenant.lent_now)}</td></>}
            {!over && <><td class="right">{some(tenant.running)}</td><td class="right">{some(tenant.queued)}</td></>}
          </tr>
        ))}</tbody>
      </table>
      {quotas && <p class="share-legend muted">
        <span class="share key"><span class="own" /></span> within quota
        <span class="share key"><span class="borrowed" /></span> borrowed (beyond quota)
        <span class="share key"><span class="lent" /></span> lent to other tenants
        <span class="share key"><span class="mark" /></span> quota; all bars have the same scale
      </p>}
    </div>
  );
}

// Common axis of all charts.
function axis(usage: Usage) {
  const run = isRun(usage);
  return {scale: run ? 'duration' as const : 'time' as const, xText: run ? axisTime : (x: number) => at(x),
    yFrom: 0, height: 230};
}

function OneTenant(props: {usage: Usage; tenant: TenantUse}) {
  const {usage, tenant} = props;
  const theme = useTheme();
  const [x, lines] = useMemo(() => {
    const x = [...usage.times, usage.to];
    return [x, [
      {name: 'used', y: steps(tenant.used), color: color(0), steps: true, fill: true},
      ...(tenant.quota > 0 ? [
        {name: 'quota', y: x.map(() => tenant.quota), color: color(11), dash: [6, 4]},
        {name: 'borrowed', y: steps(tenant.borrowed), color: color(1), steps: true},
        {name: 'lent', y: steps(tenant.lent), color: color(3), steps: true},
      ] : []),
    ]];
  }, [usage, tenant, theme]);
  return (
    <section class="card">
      <h2>{tenant.name}: GPUs over time</h2>
      <Chart key={tenant.name} {...axis(usage)} legend x={x} lines={lines}
        label={`GPUs that ${tenant.name} used${tenant.quota > 0 ? ', borrowed and lent' : ''} over time${
          tenant.quota > 0 ? ', and its quota' : ''}`} />
    </section>
  );
}

const LINES = 10;

// Lines of the chart of all tenants. The others and all GPUs have no color of the list, which a tenant may have.
function linesOf(usage: Usage, rows: Row[]) {
  knowTenants(rows.map(row => row.tenant.name));
  const {lines, others} = busiest(rows.filter(row => row.leaf).map(row => row.tenant), LINES);
  const places = placesOf(lines.map(line => line.name));
  return [
    ...lines.map((line, i) => ({name: line.name, y: steps(line.used), color: color(places[i]), steps: true})),
    ...others ? [{name: others.name, y: steps(others.used), color: paint('others'), steps: true}] : [],
    {name: 'all GPUs', y: [...usage.times, usage.to].map(() => usage.gpus), color: paint('ink'), dash: [6, 4]},
  ];
}

function AllTenants(props: {usage: Usage; rows: Row[]}) {
  const {usage, rows} = props;
  const theme = useTheme();
  const lines = useMemo(() => linesOf(usage, rows), [usage, theme]);
  const x = useMemo(() => [...usage.times, usage.to], [usage]);
  return (
    <section class="card">
      <h2>All tenants: GPUs used</h2>
      <Chart {...axis(usage)} x={x} lines={lines} label="GPUs that each tenant used over time" />
    </section>
  );
}

function Fairness(props: {usage: Usage}) {
  const {usage} = props;
  const quotas = usage.tenants.some(tenant => tenant.quota > 0);
  const x = useMemo(() => [...usage.times, usage.to], [usage]);
  const lines = useMemo(() => [{name: 'fairness', y: steps(usage.fairness), steps: true, gaps: true}], [usage]);
  return (
    <section class="card">
      <h2>Fairness over time</h2>
      <p class="muted">Jain's index over the tenants with jobs: 1
        if all {quotas ? 'used the same fraction of their quota' : 'used the same number of GPUs'}, 1/n if one of n used
        everything. The line has gaps where no tenant had jobs.</p>
      {usage.fairness.every(value => value === null) ? <p>No tenant had jobs in this period</p>
        : <Chart {...axis(usage)} height={190} yTo={1} legend x={x} lines={lines}
          label="Fairness over time, 0 to 1" />}
    </section>
  );
}

function Holders(props: {usage: Usage; now: number}) {
  const {usage, now} = props;
  const holders = usage.holders ?? [];
  return (
    <section class="card">
      <h2>Borrowed GPUs</h2>
      <p class="muted">Jobs that hold GPUs beyond their tenant's quota while a tenant with unused quota waits.</p>
      {holders.length === 0 ? <p>No tenant waits for GPUs of its quota that another tenant holds.</p> : (
        <div class="table-box"><table aria-label="Borrowed GPUs">
          <thead><tr><th>Job</th><th>Tenant</th><th class="right">GPUs</th><th>Quota of</th>
            <th>Since</th></tr></thead>
          <tbody>{holders.map(holder => (
            <tr key={`${holder.job} ${holder.of}`}>
              <td class="name">{holder.name === undefined ? `job ${holder.job}`
                : <JobLink id={holder.job}>{holder.job} {holder.name}</JobLink>}
              {holder.user !== undefined && <span class="muted"> {holder.user}</span>}</td>
              <td class="name">{holder.tenant}</td><td class="right">{number(holder.gpus)}</td>
              <td class="name">{holder.of}</td><td class="since"><When unix={holder.since} now={now} relative /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}

function RunChoice(props: {runs: Opened[]; run: string; route: Route}) {
  if (props.runs.length < 2) return null;
  return (
    <label>Run <select value={props.run} onChange={event => setQuery(props.route, {run: event.currentTarget.value})}>
      {props.runs.map(run => <option key={run.key} value={String(run.key)}>{run.name}</option>)}
    </select></label>
  );
}

function Shown(props: {usage: Usage; route: Route; view: boolean; now: number}) {
  const {usage, route, view, now} = props;
  const rows = useMemo(() => tree(usage.tenants), [usage]);
  const chosen = rows.find(row => row.tenant.name === route.query.tenant) ?? rows[0];
  const past = usage.times.length > 0;
  return (
    <>
      <Figures rows={rows} chosen={chosen.tenant.name} route={route} over={view} />
      <div class="grid charts">
        {past ? <OneTenant usage={usage} tenant={chosen.tenant} />
          : <p class="card muted">No data for this period</p>}
        {past && rows.length > 1 && <AllTenants usage={usage} rows={rows} />}
        {past && rows.length > 1 && <Fairness usage={usage} />}
        {!view && <Holders usage={usage} now={now} />}
      </div>
    </>
  );
}

function NoTenants(props: {view: boolean}) {
  if (props.view) return <Empty title="This run has no tenants" />;
  return (
    <Empty title="No tenants yet">
      <p>Tenants appear with their first job: <code>muster submit --gpus 1 -- python3 train.py</code></p>
    </Empty>
  );
}

export function Tenants(props: ScreenProps) {
  const {me, route} = props;
  const view = me.mode === 'view';
  const now = useNow(5000);
  const range = RANGES.find(one => one.value === route.query.range)?.value ?? 'day';
  const {opened, runs, error: unopened} = useOpened(view);
  const run = route.query.run ?? String(runs[0]?.key ?? 0);
  // Files do not change, so one request is sufficient, as soon as the first run is known.
  const ready = !view || route.query.run !== undefined || opened !== undefined || unopened !== undefined;
  const {data, error} = useData<Usage>(ready ? usagePath(me.mode, run, range, now) : null,
    view ? {still: true} : {least: 3_000, moves: range});
  const usage = useMemo(() => data && {...data, tenants: oncePerTenant(data.tenants)}, [data]);
  const choose = (value: Range) => setQuery(route, {range: value === 'day' ? '' : value});
  return (
    <div class="tenants">
      <div class="row spread">
        <h1 class="tenants-title">Tenants <span class="muted">{usage && usage.tenants.length > 0 &&
          `${many(usage.tenants.length, 'tenant')}, ${many(usage.gpus, 'GPU')}`}</span></h1>
        {view ? <RunChoice runs={runs} run={run} route={route} />
          : <Toggle label="Time range" value={range} options={RANGES} choose={choose} />}
      </div>
      {usage && <Stale error={error} />}
      {usage?.missing && <p class="muted" role="note">Incomplete data: {usage.missing}</p>}
      {!usage ? <Waiting error={error} what="tenants" />
        : usage.tenants.length === 0 ? <NoTenants view={view} />
          : <Shown key={range} usage={usage} route={route} view={view} now={now} />}
    </div>
  );
}
