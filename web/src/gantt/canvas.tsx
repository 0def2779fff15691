// Gantt chart component. Draws the given data and loads nothing.

import {useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {at, count, many, runTime} from '../format';
import {printDensity, useTheme} from '../theme';
import type {Timeline} from '../types';
import {hideTip, showTip} from '../ui/tip';
import {leases, prepare} from './data';
import {heightFor} from './frame';
import {listen, showAll, zoomTime} from './input';
import type {TimeView} from './layout';
import {makeShades, type ColorBy} from './shades';
import {Stage} from './stage';
import {LoadTip, Tip} from './tip';
import './gantt.css';

export interface CanvasProps {
  label: string;
  line: Timeline;
  time: TimeView;
  colorBy: ColorBy;
  only: string | null;   // Highlighted entry of the legend; null: all.
  room: number;          // Maximum height in pixels.
  now: number | null;    // Live only: current time.
  open?(job: string): void;  // A click on a lease opens its job.
  scrolls?: boolean;     // The page scrolls: use the wheel only while the chart has the focus.
}

const KEYS = 'Arrow keys move, plus and minus zoom, < and > zoom rows, 0 shows all, n and p move between leases';

// Text for screen readers: the visible time range, or the lease selected with the keyboard.
function said(line: Timeline, stage: Stage, job: string, key: string): string {
  if (key === 'n' || key === 'p') return job ? `job ${job}, ${line.jobs.name[stage.lit] ?? ''}` : '';
  const text = (t: number) => line.unit === 'run' ? runTime(t) : at(t);
  return `Visible: ${text(stage.time.from)} to ${text(stage.time.to)}`;
}

function useStage(props: CanvasProps, bars: ReturnType<typeof prepare>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = useRef(bars);
  data.current = bars;
  const pressed = useRef('');  // The last handled key, until it is released.
  useLayoutEffect(() => {
    const mine = stage.current = new Stage(canvas.current!, props.time);
    const point = (id: string) => {
      if (mine.time.lit === id) return;
      mine.time.lit = id;
      mine.time.changed();
    };
    const leave = listen(mine, {
      hover(bar, x, y, inStrips) {
        const {line, open} = latest.current;
        const id = bar < 0 ? '' : line.jobs.id[data.current.job[bar]];
        point(id);
        mine.canvas.style.cursor = id !== '' && open ? 'pointer' : '';
        if (bar >= 0) showTip(x, y, <Tip line={line} bars={data.current} bar={bar} />);
        else if (!inStrips) hideTip();
        else showTip(x, y, <LoadTip line={line} at={mine.timeAt(x - mine.canvas.getBoundingClientRect().left)} />);
      },
      leave() {
        point('');
        hideTip();
      },
      open(bar) {
        const {line, open} = latest.current;
        const id = bar < 0 ? '' : line.jobs.id[data.current.job[bar]];
        if (id === '' || !open) return;  // Jobs of other users cannot be opened.
        hideTip();
        open(id);
      },
      keyed: key => {
        pressed.current = key;
      },
      wheelIsOurs: event => !latest.current.scrolls || event.ctrlKey || document.activeElement === mine.canvas,
    });
    return () => {
      leave();
      hideTip();
      mine.close();
    };
  }, [props.time]);
  return {canvas, stage, pressed};
}

export function GanttCanvas(props: CanvasProps) {
  const {line, time} = props;
  const theme = useTheme();
  const bars = useMemo(() => prepare(line), [line]);
  const held = useMemo(() => leases(line.bars), [line]);
  const {canvas, stage, pressed} = useStage(props, bars);
  const height = heightFor(bars.rows, props.room, line.load.t.length > 0);
  const density = printDensity();
  const [words, setWords] = useState('');
  const say = (key: string) => {
    if (key) setWords(said(line, stage.current!, time.lit, key));
    pressed.current = '';
  };
  useLayoutEffect(() => stage.current!.takeColors(), [theme, time]);
  useLayoutEffect(() => stage.current!.setShades(makeShades(line, props.colorBy, props.only)),
    [line, props.colorBy, props.only, theme, time]);
  useLayoutEffect(() => stage.current!.setData(line, bars), [bars, time]);
  useLayoutEffect(() => {
    stage.current!.now = props.now;
    stage.current!.later();
  }, [props.now, time]);
  useLayoutEffect(() => {
    const box = canvas.current!.parentElement!;
    const fit = () => stage.current!.resize(box.clientWidth, height, density * (devicePixelRatio || 1));
    fit();
    const watch = new ResizeObserver(fit);
    watch.observe(box);
    // uPlot sends this event when the window moves to a screen of another density.
    window.addEventListener('dppxchange', fit);
    return () => {
      watch.disconnect();
      window.removeEventListener('dppxchange', fit);
    };
  }, [height, time, density]);
  // Draw now, because printing does not wait for the next frame.
  useLayoutEffect(() => stage.current!.draw(), [theme, density]);
  return (
    <div class="gantt" onKeyUp={() => say(pressed.current)}>
      <div class="gantt-box" style={{height: `${height}px`}}>
        <canvas ref={canvas} tabIndex={0} role="application" aria-label={
          `${props.label}: ${many(held, 'lease')} of ${many(line.jobs.id.length, 'job')} on ` +
          `${count(line.gpus)} GPUs of ${many(line.servers.length, 'node')}. ${KEYS}.`} />
      </div>
      <div class="gantt-buttons" role="group" aria-label="Zoom">
        <button type="button" class="button" aria-label="Zoom in" title="Zoom in (+)"
          onClick={() => zoomTime(stage.current!, 0.6)}>+</button>
        <button type="button" class="button" aria-label="Zoom out" title="Zoom out (-)"
          onClick={() => zoomTime(stage.current!, 1 / 0.6)}>−</button>
        <button type="button" class="button" title="Show all (0 or double-click)"
          onClick={() => showAll(stage.current!)}>All</button>
        <span class="muted gantt-hint">{props.scrolls && 'Click the chart first. '}Wheel: zoom time. Shift+wheel: zoom
          rows. Drag: move.</span>
      </div>
      <p class="unseen" role="status">{words}</p>
    </div>
  );
}
