// Plot of a page: lines, steps or bars.

import {useMemo} from 'preact/hooks';
import {number, runTime} from '../format';
import type {Plot} from '../types';
import {Bars} from './bars';
import {Chart, type Line} from './chart';
import {align, extent, yFrom} from './series';

const FEW = 40;           // Lines with at most this many points have point marks.
const COLORS = 12;        // Number of colors in theme.ts; further series are dashed.
const DESCRIBED = 12;     // Maximum number of series in the label.

// Tips show about three digits for any duration.
function timeText(seconds: number, step?: number): string {
  const size = Math.abs(seconds);
  return runTime(seconds, step ?? (size < 10 ? 0.001 : size < 600 ? 0.1 : 1));
}

function described(plot: Plot): string {
  const parts = plot.series.slice(0, DESCRIBED).flatMap(one => {
    const all = extent(one.y);
    return all ? [`${one.name || 'series'} from ${number(all.low)} to ${number(all.high)}`] : [];
  });
  return `${plot.title}: ${[plot.y_label, plot.x_label].filter(Boolean).join(' by ')}; ${parts.join(', ')}`;
}

function Curves(props: {plot: Plot}) {
  const {plot} = props;
  const {x, lines} = useMemo(() => {
    const {x, y} = align(plot);
    const lines: Line[] = plot.series.map((series, i) => ({
      name: series.name, y: y[i], steps: plot.kind === 'steps', gaps: true,
      points: series.y.length <= (plot.kind === 'line' ? FEW : 1), dash: i < COLORS ? undefined : [6, 4]}));
    return {x, lines};
  }, [plot]);
  if (!lines.some(line => extent(line.y))) return <p class="muted">No data</p>;
  return <Chart label={described(plot)} x={x} lines={lines} height={240} yFrom={yFrom(plot)}
    scale={plot.scale === 'time' ? 'duration' : plot.scale} xText={plot.scale === 'time' ? timeText : at => number(at)}
    xLabel={plot.x_label} yLabel={plot.y_label} />;
}

export function PlotBody(props: {plot: Plot}) {
  return props.plot.kind === 'bars' ? <Bars plot={props.plot} /> : <Curves plot={props.plot} />;
}
