// Line chart, drawn with uPlot in the colors of the page.

import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {color, paint, printDensity, useTheme} from '../theme';
import {atSecond, number} from '../format';
import {CALENDAR, LENGTHS, logTicks, tickText} from './axis';
import {isBrowsers} from './keys';
import {type Key, SeriesLegend, Values, useHidden} from './series_legend';
import {hideTip, showTip} from './tip';
import './chart.css';

export interface Line {
  name: string;
  // null: unknown. undefined: the line has no point at this x, only other lines have.
  y: (number | null | undefined)[];
  color?: string;
  dash?: number[];
  gaps?: boolean;             // Unknown values leave a gap instead of being bridged.
  fill?: boolean;
  steps?: boolean;
  points?: boolean;
  mark?: number;              // Draw points of this many pixels.
}

export interface ChartProps {
  label: string;              // Description for screen readers.
  x: number[];                // Ascending.
  lines: Line[];
  height?: number;
  scale?: 'time' | 'duration' | 'linear' | 'log';  // time: seconds since 1970. duration: seconds since a start.
  xText?(x: number, step?: number): string;  // Text of ticks (`step` is their distance) and tips.
  yText?(y: number): string;
  yFrom?: number;             // The axis begins here or below.
  yTo?: number;
  xLabel?: string;
  yLabel?: string;
  legend?: boolean;
}

const LETTER = 6.2;  // Approximate width in pixels.

const keyOf = (line: Line, i: number): Key =>
  ({name: line.name, color: line.color ?? color(i), dashed: line.dash !== undefined});

function axes(props: ChartProps, px: (n: number) => number): uPlot.Axis[] {
  const [ink, soft] = [paint('muted'), paint('line')];
  const font = `${px(11)}px system-ui, sans-serif`;
  const axis: uPlot.Axis = {stroke: ink, grid: {stroke: soft, width: px(1)},
    ticks: {stroke: soft, width: px(1), size: px(8)}, gap: px(5), font, labelFont: font, labelSize: px(18)};
  return [
    {...axis, label: props.xLabel, size: px(32), space: px(props.xText ? 84 : 50),
      ...(props.scale === 'duration' && {incrs: LENGTHS}), ...(props.scale === 'time' && {incrs: CALENDAR}),
      ...(props.scale === 'log' && {filter: (_plot: uPlot, ticks: number[]) => logTicks(ticks)}),
      values: props.xText && ((_plot, ticks, _axis, _space, step) => ticks.map(x => x === null ? ''
        : props.scale === 'time' && step < 60 ? atSecond(x) : props.xText!(x, step)))},
    {...axis, space: px(24), label: props.yLabel,
      size: (_plot, words) => px(Math.max(40, 18 + LETTER * Math.max(0, ...(words ?? []).map(word => word.length)))),
      values: (_plot, ticks, _axis, _space, step) =>
        ticks.map(y => y === null ? '' : props.yText ? props.yText(y) : tickText(y, step))},
  ];
}

// `density`: canvas pixels per page pixel.
function options(props: ChartProps, width: number, density: number): uPlot.Options {
  const px = (n: number) => n * density;
  return {
    width: px(width),
    height: px(props.height ?? 220),
    cursor: {points: {size: 6}},
    legend: {show: false},
    scales: {
      x: {time: props.scale === 'time', distr: props.scale === 'log' ? 3 : 1},
      y: {range: (_plot, low, high) => {
        const from = props.yFrom === undefined ? low : Math.min(props.yFrom, low);
        const to = props.yTo === undefined ? high : Math.max(props.yTo, high);
        return to > from ? [from, to + (to - from) * (props.yTo === undefined ? 0.06 : 0)] : [from, from + 1];
      }},
    },
    axes: axes(props, px),
    series: [{}, ...props.lines.map((line, i): uPlot.Series => {
      const stroke = keyOf(line, i).color;
      return {label: line.name, stroke, width: px(1.6), dash: line.dash?.map(px), spanGaps: !line.gaps,
        fill: line.fill ? stroke + '33' : undefined,
        paths: line.steps ? uPlot.paths.stepped!({align: 1}) : undefined,
        points: line.mark ? {show: true, size: px(line.mark), fill: stroke}
          : {show: line.points ?? false, size: px(6)}};
    })],
  };
}

// Updates the data and keeps the zoom.
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

// Values of the visible lines at the i-th x.
function valuesAt(props: ChartProps, plot: uPlot, i: number) {
  const text = props.yText ?? ((y: number) => number(y, 5));
  const rows = props.lines.flatMap((line, k) => {
    const y = line.y[i];
    if (y === undefined || !plot.series[k + 1].show) return [];
    return [{...keyOf(line, k), value: y === null ? '–' : text(y)}];
  });
  const x = props.x[i];
  return {head: props.xText ? props.xText(x) : number(x), note: props.xLabel, rows};
}

const STEPS: Record<string, number> = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10};

// Shows the values at the pointer, or at the position selected with the arrow keys.
function useReading(plot: {current: uPlot | null}, latest: {current: ChartProps}) {
  const place = useRef(-1);     // Index in x; -1: none.
  const [said, setSaid] = useState('');
  const tell = (i: number, left: number, top: number) => {
    if (i < 0 && place.current < 0) return;
    place.current = i;
    if (i < 0) return hideTip();
    const box = plot.current!.over.getBoundingClientRect();
    showTip(box.left + left, box.top + top, <Values {...valuesAt(latest.current, plot.current!, i)} />);
  };
  const pointed = (of: uPlot) => {
    const {idx, left, top} = of.cursor;
    if (of === plot.current) tell(typeof idx === 'number' && left! >= 0 ? idx : -1, left!, top!);
  };
  const leave = () => {
    plot.current?.setCursor({left: -10, top: -10}, false);
    tell(-1, 0, 0);
  };
  const keyed = (event: KeyboardEvent) => {
    const of = plot.current;
    if (event.key === 'Escape') return leave();
    const by = STEPS[event.key];
    if (!of || !by || isBrowsers(event)) return;
    event.preventDefault();
    const [first, last] = of.series[0].idxs ?? [0, latest.current.x.length - 1];
    const i = Math.max(first, Math.min(last, place.current < 0 ? (by > 0 ? first : last) : place.current + by));
    const [left, top] = [of.valToPos(latest.current.x[i], 'x'), 12];
    of.setCursor({left, top}, false);
    tell(i, left, top);
    const {head, rows} = valuesAt(latest.current, of, i);
    setSaid(`${head}: ${rows.map(row => `${row.name} ${row.value}`).join(', ')}`);
  };
  return {pointed, leave, keyed, said};
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const theme = useTheme();
  const hidden = useHidden();
  const reading = useReading(plot, latest);
  const density = printDensity();
  const data = [props.x, ...props.lines.map(line => line.y)] as uPlot.AlignedData;
  const shape = JSON.stringify([props.lines.map(line => [line.name, line.color]), props.scale, props.height]);
  useLayoutEffect(() => {
    const element = box.current!;
    const wide = () => Math.max(200, element.clientWidth);
    const hooks = {setCursor: [reading.pointed]};
    plot.current = new uPlot({...options(props, wide(), density), hooks}, data, element);
    const watch = new ResizeObserver(() => {
      if (plot.current && plot.current.width !== wide() * density) {
        plot.current.setSize({width: wide() * density, height: (props.height ?? 220) * density});
      }
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, shape, density]);
  useLayoutEffect(() => props.lines.forEach((_, i) => {
    const show = !hidden.has(i);
    if (plot.current!.series[i + 1].show !== show) plot.current!.setSeries(i + 1, {show});
  }), [hidden.set, theme, shape, density]);
  useEffect(() => {
    if (plot.current) renew(plot.current, data);
  }, [props.x, props.lines]);
  return (
    <>
      {(props.legend ?? props.lines.length > 1) && <SeriesLegend keys={props.lines.map(keyOf)} hidden={hidden} />}
      <div class="chart" ref={box} role="img" aria-label={`${props.label}. Arrow keys read the values.`} tabIndex={0}
        onKeyDown={reading.keyed} onBlur={reading.leave} />
      <p class="unseen" role="status">{reading.said}</p>
    </>
  );
}
