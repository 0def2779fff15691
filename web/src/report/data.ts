// Data of the charts of a report: the JSON that src/study/page/html_data.cc writes into the page.

import type {Cell, Plot, Timeline} from '../types';

// As Plot, but `x` may be the index of an earlier series with the same x values.
type Packed = Omit<Plot, 'series'> & {series: {name: string; x: number[] | number; y: (number | null)[]}[]};

export interface Gantt {
  key: string;
  title: string;
  window: [number, number];  // Seconds.
  groups: string[];          // Names of nodes.
  group: number[];           // Node of each row (GPU), ascending.
  labels: string[];          // Names of jobs.
  // Columns, sorted by row and then by begin. `begin` is relative to the window.
  row: number[];
  label: number[];
  begin: number[];
  length: number[];
  tips: string[];            // Further text for bars; the first is empty.
  tip?: number[];            // Index in tips for each bar; absent: no tips.
}

export interface Data {
  plots: Plot[];
  gantts: Gantt[];
}

function unpacked(plot: Packed): Plot {
  const xOf = (x: number[] | number): number[] => typeof x === 'number' ? plot.series[x].x as number[] : x;
  return {...plot, series: plot.series.map(one => ({...one, x: xOf(one.x)}))};
}

export function parseData(text: string): Data {
  const {plots, gantts} = JSON.parse(text) as {plots: Packed[]; gantts: Gantt[]};
  return {plots: plots.map(unpacked), gantts};
}

// The Gantt chart as the dashboard draws it. A report has no data about waiting jobs, so the load is empty.
export function timelineOf(gantt: Gantt): Timeline {
  const [from, to] = gantt.window;
  const gpus = new Array<number>(gantt.groups.length).fill(0);
  for (const group of gantt.group) gpus[group]++;
  const {labels} = gantt;
  const none = labels.map(() => -1);
  return {
    from, to, unit: 'run', thinned: '', tenants: [], causes: [], gpus: gantt.group.length,
    servers: gantt.groups.map((name, i) => ({name, gpus: gpus[i]})),
    jobs: {id: labels, name: labels, user: labels.map(() => ''), tenant: none, cause: none, gpus: labels.map(() => 0)},
    bars: {row: gantt.row, job: gantt.label, begin: gantt.begin.map(at => from + at), length: gantt.length,
      end: gantt.tip ?? gantt.row.map(() => 0)},
    ends: gantt.tips, load: {t: [], busy: [], waiting: []},
  };
}

// ---- for CSV

export function plotRows(plot: Plot): Cell[][] {
  const bars = plot.kind === 'bars';
  return [['series', bars ? 'category' : 'x', 'y'], ...plot.series.flatMap(series =>
    series.y.map((y, i): Cell[] => [series.name, bars ? plot.categories![i] : series.x![i], y]))];
}

const digits = (seconds: number): number => Number(seconds.toFixed(6));

export function ganttRows(gantt: Gantt): Cell[][] {
  const [from] = gantt.window;
  return [['group', 'row', 'label', 'begin_s', 'end_s'], ...gantt.row.map((row, i): Cell[] => {
    const begin = from + gantt.begin[i];
    return [gantt.groups[gantt.group[row]], row, gantt.labels[gantt.label[i]], digits(begin),
      digits(begin + gantt.length[i])];
  })];
}
