// Legend of a chart, and the values of all series at one x.

import {useState} from 'preact/hooks';
import './series_legend.css';

export interface Key {
  name: string;
  color: string;
  dashed?: boolean;
}

export interface Hidden {
  has(series: number): boolean;
  toggle(series: number): void;
  set: ReadonlySet<number>;  // A new set after each change.
}

// Series that the user has hidden.
export function useHidden(): Hidden {
  const [set, setSet] = useState<ReadonlySet<number>>(new Set());
  const toggle = (series: number) => setSet(old => {
    const next = new Set(old);
    if (!next.delete(series)) next.add(series);
    return next;
  });
  return {set, toggle, has: series => set.has(series)};
}

function Mark(props: {of: Key}) {
  const {color, dashed} = props.of;
  return <span class={dashed ? 'mark dashed' : 'mark'} aria-hidden="true"
    style={dashed ? {borderColor: color} : {background: color}} />;
}

// A click on a name hides or shows its series.
export function SeriesLegend(props: {keys: Key[]; hidden: Hidden}) {
  const {keys, hidden} = props;
  return (
    <div class="series-legend" role="group" aria-label="Series">
      {keys.map((key, i) => (
        <button type="button" aria-pressed={!hidden.has(i)} title="Show or hide" onClick={() => hidden.toggle(i)}>
          <Mark of={key} />{key.name || `series ${i + 1}`}
        </button>))}
    </div>
  );
}

// Content of a tip: the x value and the value of each series.
export function Values(props: {head: string; note?: string; rows: (Key & {value: string})[]}) {
  return (
    <>
      <p><strong>{props.head}</strong>{props.note && <span class="values-note">{props.note}</span>}</p>
      {props.rows.map(row => (
        <p class="values-row">
          <Mark of={row} /><span class="values-name">{row.name}</span><span class="values-much">{row.value}</span>
        </p>))}
    </>
  );
}
