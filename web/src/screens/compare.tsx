// Comparison of schedulers: simulated runs, or a what-if simulation of the cluster's past.

import {useMemo, useState} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {useData} from '../live';
import {setQuery} from '../route';
import type {Opened, Page} from '../types';
import {Empty, Waiting} from '../ui/bits';
import {PageView} from '../ui/page';
import {Stale} from '../ui/stale';
import {chosenRuns} from './chosen';
import {useOpened} from './opened';
import {TwoGantts} from './two_gantts';
import {WhatIf} from './what_if';
import './compare.css';

const MOST = 8;

function Choice(props: {runs: Opened[]; chosen: number[]; baseline: number;
  set(chosen: number[], baseline: number): void}) {
  const {runs, chosen, baseline, set} = props;
  const [open, setOpen] = useState(chosen.length < 2);
  const toggle = (key: number) => set(chosen.includes(key) ? chosen.filter(one => one !== key)
    : runs.map(run => run.key).filter(one => one === key || chosen.includes(one)), baseline);
  return (
    <details class="card compare-choice" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{chosen.length} of {runs.length} runs compared</summary>
      <div class="table-box"><table>
        <thead><tr><th scope="col">compare</th><th scope="col">baseline</th><th scope="col">run</th>
          <th scope="col">description</th></tr></thead>
        <tbody>{runs.map(run => {
          const on = chosen.includes(run.key);
          return (
            <tr key={run.key}>
              <td><input type="checkbox" checked={on} aria-label={`Compare ${run.name}`}
                disabled={!on && chosen.length >= MOST} onChange={() => toggle(run.key)} /></td>
              <td><input type="radio" name="baseline" checked={run.key === baseline} disabled={!on}
                aria-label={`Use ${run.name} as the baseline`} onChange={() => set(chosen, run.key)} /></td>
              <td class="compare-name">{run.name}</td>
              <td class="muted">{run.about}</td>
            </tr>
          );
        })}</tbody>
      </table></div>
      <p class="muted">Select 2 to {MOST} runs. Gains are relative to the baseline.</p>
    </details>
  );
}

function Compared(props: {runs: Opened[]; chosen: number[]; baseline: number}) {
  const {chosen, baseline} = props;
  const {data, error} = useData<Page>(`/v1/compare?runs=${chosen.join(',')}&baseline=${baseline}`, {still: true});
  const two = useMemo(() => chosen.map(key => props.runs.find(run => run.key === key)!), [chosen.join()]);
  if (!data) return <Waiting screen="Comparison" error={error} what="the comparison" />;
  return (
    <>
      <Stale error={error} />
      <PageView page={data} extra={[{key: 'gantts', title: 'GPU timelines', body: two.length === 2
        ? <TwoGantts key={chosen.join()} runs={two} />
        : <p class="muted">Select exactly two runs above to compare their GPU timelines.</p>}]} />
    </>
  );
}

function OfRuns(props: ScreenProps) {
  const {route} = props;
  const {opened, runs, error} = useOpened();
  if (!opened) return <Waiting screen="Comparison" error={error} what="the runs" />;
  if (runs.length < 2) {
    return <Empty screen title={runs.length === 1 ? 'Only one run is open' : 'No simulated run is open'}>
      <p>Create two with <code>muster sim --policy fifo,srtf --out runs</code> and open both
        with <code>muster view runs</code>.</p>
    </Empty>;
  }
  const {chosen, baseline} = chosenRuns(runs.map(run => run.key), route.query.runs, route.query.baseline, MOST);
  return (
    <>
      <Choice runs={runs} chosen={chosen} baseline={baseline} set={(keys, base) => setQuery(route,
        {runs: keys.join(','), baseline: String(keys.includes(base) ? base : keys[0] ?? '')})} />
      {chosen.length < 2 ? <Empty screen title="Select at least two runs" />
        : <Compared runs={runs} chosen={chosen} baseline={baseline} />}
    </>
  );
}

export function Compare(props: ScreenProps) {
  return props.me.mode === 'view' ? <OfRuns {...props} /> : <WhatIf {...props} />;
}
