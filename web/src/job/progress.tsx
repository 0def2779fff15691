// How far it is, by its own reports, and when it will be done.

import {useMemo} from 'preact/hooks';
import {ago, at, count, number, percent} from '../format';
import {color, useTheme} from '../theme';
import type {JobPage, Remaining} from '../types';
import {When, useNow} from '../ui/bits';
import {Chart} from '../ui/chart';

function Left(props: {left: Remaining}) {
  const {left} = props;
  const now = useNow(5000);
  if (left.seconds === undefined) return <p>{left.words}</p>;
  const ends = [left.low, left.high];
  return (
    <p>Done about <strong><When unix={now + left.seconds} now={now} /></strong>
      {ends[0] !== undefined && ends[1] !== undefined &&
        <span class="muted"> ({at(now + ends[0], now)} to {at(now + ends[1], now)})</span>}
      {' '}<span class="muted">· left: {left.words}</span></p>
  );
}

function Bar(props: {step: number; total: number}) {
  const share = Math.max(0, Math.min(1, props.step / props.total));
  return (
    <div class="progress" role="progressbar" aria-valuenow={props.step} aria-valuemin={0} aria-valuemax={props.total}
      aria-label="Steps"><span class="progress-fill" style={{width: `${share * 100}%`}} /></div>
  );
}

function Series(props: {title: string; at: number[]; y: (number | null)[]; hue: number; from?: number}) {
  const theme = useTheme();
  const lines = useMemo(() => [{name: props.title, y: props.y, color: color(props.hue)}], [props.y, theme]);
  if (props.y.filter(y => y !== null).length < 2) return null;
  return (
    <div class="series">
      <h3>{props.title}</h3>
      <Chart label={`${props.title} over time`} x={props.at} lines={lines} height={150} scale="time" yFrom={props.from}
        xText={x => at(x)} />
    </div>
  );
}

export function ProgressCard(props: {page: JobPage}) {
  const {job, progress} = props.page;
  const last = job.progress;
  const now = useNow(5000);
  if (!last && progress.at.length === 0) {
    if (job.started === undefined || job.ended !== undefined) return null;
    return (
      <section class="card" aria-label="Progress">
        <h2>Progress</h2>
        <p class="muted">It has reported nothing. A job that appends lines such
          as <code>{'{"step":42,"total":1000,"loss":0.5}'}</code> to the file named
          by <code>$MUSTER_PROGRESS</code> shows here how far it is, and when it will be done.</p>
      </section>
    );
  }
  const {step, total} = last ?? {};
  return (
    <section class="card" aria-label="Progress">
      <h2>Progress</h2>
      {step !== undefined && (
        <div class="progress-line">
          <span>step <strong>{count(step)}</strong>{total ? <> of {count(total)} · {percent(step / total)}</> : ''}
            {last?.epoch !== undefined && <span class="muted"> · epoch {number(last.epoch)}</span>}
            {last?.loss !== undefined && <span class="muted"> · loss {number(last.loss)}</span>}
            {last?.rate !== undefined && <span class="muted"> · {number(last.rate)} steps/s</span>}</span>
          {last && <span class="muted">told {ago(last.at, now)}</span>}
        </div>
      )}
      {step !== undefined && total ? <Bar step={step} total={total} /> : null}
      {job.remaining && job.gpus_held > 0 && <Left left={job.remaining} />}
      <Series title="loss" at={progress.at} y={progress.loss} hue={0} />
      <Series title="steps a second" at={progress.at} y={progress.rate} hue={2} from={0} />
    </section>
  );
}
