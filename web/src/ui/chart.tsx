// Lines over time or another axis, by uPlot, in the page's colours.

import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {color, paint, useTheme} from '../theme';
import {atSecond, number} from '../format';
import {CALENDAR, LENGTHS, tickText} from './axis';

export interface Line {
  name: string;
  y: (number | null | undefined)[];
  color?: string;
  dash?: number[];
  gaps?: boolean;             // What is not known is left out, not bridged.
  fill?: boolean;
  steps?: boolean;
  points?: boolean;
  mark?: number;              // One point that matters, so many pixels wide.
}

export interface ChartProps {
  label: string;              // What it shows, for those who cannot see it.
  x: number[];                // Ascending.
  lines: Line[];
  height?: number;
  scale?: 'time' | 'duration' | 'linear' | 'log';  // Seconds since 1970, or of something's own beginning.
  xText?(x: number): string;  // Of ticks and under the mouse.
  yText?(y: number): string;
  yFrom?: number;             // The axis begins here at the highest.
  yTo?: number;
  xLabel?: string;
  yLabel?: string;
  legend?: boolean;
}

function options(props: ChartProps, width: number): uPlot.Options {
  const [ink, soft] = [paint('muted'), paint('line')];
  const text = props.yText ?? (y => number(y));
  const hue = (series: number) => props.lines[series - 1]?.color ?? color(series - 1);
  const axis: uPlot.Axis = {stroke: ink, grid: {stroke: soft, width: 1}, ticks: {stroke: soft, width: 1},
    font: '11px system-ui, sans-serif', labelFont: '11px system-ui, sans-serif', labelSize: 18};
  return {
    width,
    height: props.height ?? 220,
    cursor: {points: {size: 6}},
    legend: {show: props.legend ?? props.lines.length > 1, markers: {
      width: 2, dash: (_plot, i) => props.lines[i - 1]?.dash ? 'dashed' : 'solid', stroke: (_plot, i) => hue(i),
      fill: (_plot, i) => props.lines[i - 1]?.dash ? 'transparent' : hue(i)}},
    scales: {
      x: {time: props.scale === 'time', distr: props.scale === 'log' ? 3 : 1},
      y: {range: (_plot, low, high) => {
        const from = props.yFrom === undefined ? low : Math.min(props.yFrom, low);
        const to = props.yTo === undefined ? high : Math.max(props.yTo, high);
        return to > from ? [from, to + (to - from) * (props.yTo === undefined ? 0.06 : 0)] : [from, from + 1];
      }},
    },
    axes: [
      {...axis, label: props.xLabel, size: 32, ...(props.xText && {space: 84}),
        ...(props.scale === 'duration' && {incrs: LENGTHS}), ...(props.scale === 'time' && {incrs: CALENDAR}),
        values: props.xText && ((_plot, ticks, _axis, _space, step) => ticks.map(x => x === null ? ''
          : props.scale === 'time' && step < 60 ? atSecond(x) : props.xText!(x)))},
      {...axis, size: 58, space: 24, label: props.yLabel, values: (_plot, ticks, _axis, _space, step) =>
        ticks.map(y => y === null ? '' : props.yText ? props.yText(y) : tickText(y, step))},
    ],
    series: [
      {label: props.xLabel ?? 'time', value: (_plot, x) => x === null ? ''
        : props.xText ? props.xText(x) : number(x)},
      ...props.lines.map((line, i): uPlot.Series => {
        const stroke = hue(i + 1);
        return {label: line.name, stroke, width: 1.6, dash: line.dash, spanGaps: !line.gaps,
          fill: line.fill ? stroke + '33' : undefined,
          paths: line.steps ? uPlot.paths.stepped!({align: 1}) : undefined,
          points: line.mark ? {show: true, size: line.mark, fill: stroke} : {show: line.points ?? false, size: 6},
          value: (_plot, y) => y === null || y === undefined ? '' : text(y)};
      }),
    ],
  };
}

// What somebody has zoomed into stays in sight while more comes.
function renew(plot: uPlot, data: uPlot.AlignedData): void {
  const {min, max} = plot.scales.x;
  const [old] = plot.data;
  const zoomed = min !== undefined && max !== undefined && min !== null && max !== null && old.length > 0 &&
    (min > old[0] || max < old[old.length - 1]);
  plot.batch(() => {
    plot.setData(data);
    if (zoomed) plot.setScale('x', {min, max});
  });
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useTheme();
  const data = [props.x, ...props.lines.map(line => line.y)] as uPlot.AlignedData;
  const shape = JSON.stringify([props.lines.map(line => [line.name, line.color]), props.scale, props.height]);
  useLayoutEffect(() => {
    const element = box.current!;
    plot.current = new uPlot(options(props, Math.max(200, element.clientWidth)), data, element);
    const watch = new ResizeObserver(() => {
      const width = Math.max(200, element.clientWidth);
      if (plot.current && plot.current.width !== width) {
        plot.current.setSize({width, height: props.height ?? 220});
      }
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, shape]);
  useEffect(() => {
    if (plot.current) renew(plot.current, data);
  }, [props.x, props.lines]);
  return <div class="chart" ref={box} role="img" aria-label={props.label} />;
}
