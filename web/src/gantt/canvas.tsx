// The Gantt chart as a part of a page, of data that are there.

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
  only: string | null;   // The one entry of the legend that stands out; null: all.
  room: number;          // Pixels it may be high.
  now: number | null;    // Live: where "now" is.
  open?(job: string): void;  // A click on a lease opens its job.
  scrolls?: boolean;     // Stands on a page that scrolls: the wheel is ours only with the focus.
}

const KEYS = 'Arrow keys move, plus and minus zoom, < and > zoom rows, 0 shows all, n and p go from lease to lease';

// The window, or the lease the keyboard went to, for those who cannot see it.
function said(line: Timeline, stage: Stage, job: string, key: string): string {
  if (key === 'n' || key === 'p') return job ? `job ${job}, ${line.jobs.name[stage.lit] ?? ''}` : '';
  const text = (t: number) => line.unit === 'run' ? runTime(t) : at(t);
  return `In sight: ${text(stage.time.from)} to ${text(stage.time.to)}`;
}

function useStage(props: CanvasProps, bars: ReturnType<typeof prepare>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const data = useRef(bars);
  data.current = bars;
  const pressed = useRef('');  // The last key that did something, until it is let go.
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
        point(bar < 0 ? '' : line.jobs.id[data.current.job[bar]]);
        mine.canvas.style.cursor = bar >= 0 && open ? 'pointer' : '';
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
    // Moved to a screen of another density: the charts' library tells.
    window.addEventListener('dppxchange', fit);
    return () => {
      watch.disconnect();
      window.removeEventListener('dppxchange', fit);
    };
  }, [height, time, density]);
  // Not in the next frame: printing does not wait for it.
  useLayoutEffect(() => stage.current!.draw(), [theme, density]);
  return (
    <div class="gantt" onKeyUp={() => say(pressed.current)}>
      <div class="gantt-box" style={{height: `${height}px`}}>
        <canvas ref={canvas} tabIndex={0} role="application" aria-label={
          `${props.label}: ${many(held, 'lease')} of ${many(line.jobs.id.length, 'job')} on ` +
          `${count(line.gpus)} GPUs of ${many(line.servers.length, 'server')}. ${KEYS}.`} />
      </div>
      <div class="gantt-buttons" role="group" aria-label="Zoom">
        <button type="button" class="button" aria-label="Zoom in" title="Zoom in (+)"
          onClick={() => zoomTime(stage.current!, 0.6)}>+</button>
        <button type="button" class="button" aria-label="Zoom out" title="Zoom out (-)"
          onClick={() => zoomTime(stage.current!, 1 / 0.6)}>−</button>
        <button type="button" class="button" title="All of it (0, or a double click)"
          onClick={() => showAll(stage.current!)}>All</button>
        <span class="muted gantt-hint">{props.scrolls ? 'Click, then the' : 'The'} wheel zooms time, with shift rows;
          dragging moves.</span>
      </div>
      <p class="unseen" role="status">{words}</p>
    </div>
  );
}
