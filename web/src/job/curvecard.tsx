// Card with the curve of speed by CPUs and the job's position on it.

import {useMemo} from 'preact/hooks';
import {number, percent} from '../format';
import {color, useTheme} from '../theme';
import type {Curve} from '../types';
import {Chart} from '../ui/chart';
import {aligned, reading} from './curve';

export function CurveCard(props: {curve: Curve}) {
  const {curve} = props;
  const theme = useTheme();
  const drawn = useMemo(() => {
    const {x, speed, marks} = aligned(curve);
    return {x, lines: [
      {name: 'speed', y: speed, color: color(0)},
      ...marks.map((mark, i) => ({...mark, color: color(i + 1), mark: i === 0 ? 13 : 10})),
    ]};
  }, [curve, theme]);
  return (
    <section class="card" aria-label="Speed by CPUs">
      <h2>Speed by CPUs</h2>
      <p class="curve-words">{reading(curve)}</p>
      <Chart label={`Speed by CPUs. ${reading(curve)}`} x={drawn.x} lines={drawn.lines} height={210} scale="linear"
        xLabel="CPUs" xText={x => number(x)} yText={percent} yFrom={0} yTo={1} />
      <p class="muted">With its current memory, relative to its maximum speed; {curve.source}.</p>
    </section>
  );
}
