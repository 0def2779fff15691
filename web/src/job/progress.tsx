// Card with the reported progress and the predicted end.

import {useMemo} from 'preact/hooks';
import {ago, at, atSecond, count, number, percent, range} from '../format';
import {color, useTheme} from '../theme';
import type {JobPage, Remaining} from '../types';
import {When, useNow} from '../ui/bits';
import {Chart, type Line} from '../ui/chart';
import {curvesOf} from './reports';

// The range of the predicted end; empty if it is unknown or both ends read the same.
export const endsOf = ({low, high}: Remaining, now: number): string =>
  low === undefined || high === undefined ? '' : range(at(now + low, now), at(now + high, now));

function Left(props: {left: Remaining}) {
  const {left} = props;
  const now = useNow(5000);
  if (left.seconds === undefined) return <p>{left.words}</p>;
  const ends = endsOf(left, now);
  return (
    <p>Predicted end: <strong><When unix={now + left.seconds} now={now} /></strong>
      {ends && <span class="muted"> ({ends})</span>}
      {' '}<span class="muted">· remaining: {left.words}</span></p>
  );
}

function Bar(props: {step: number; total: number}) {
  const share = Math.max(0, Math.min(1, props.step / props.total));
  return (
    <div class="progress" role="progressbar" aria-valuenow={props.step} aria-valuemin={0} aria-valuemax={props.total}
      aria-label="Steps"><span class="progress-fill" style={{width: `${share * 100}%`}} /></div>
  );
}

function Series(props: {title: string; at: number[]; y: Line['y']; hue: number; from?: number}) {
  const theme = useTheme();
  const lines = useMemo(() => [{name: props.title, y: props.y, color: color(props.hue), gaps: true}],
    [props.y, theme]);
  if (props.y.filter(y => typeof y === 'number').length < 2) return null;
  return (
    <div class="series">
      <h3>{props.title}</h3>
      <Chart label={`${props.title} over time`} x={props.at} lines={lines} height={150} scale="time" yFrom={props.from}
        xText={(x, step) => step === undefined ? atSecond(x) : at(x)} />
    </div>
  );
}

export function ProgressCard(props: {page: JobPage}) {
  const {job, progress} = props.page;
  const last = job.progress;
  const now = useNow(5000);
  const curves = useMemo(() => curvesOf(progress, job.leases), [progress, job.leases]);
  if (!last && progress.at.length === 0) {
    if (job.started === undefined || job.ended !== undefined) return null;
    return (
      <section class="card" aria-label="Progress">
        <h2>Progress</h2>
        <p class="muted">No progress reported. To see progress and the predicted end here, let the job append lines
          such as <code>{'{"step":42,"total":1000,"loss":0.5}'}</code> to the
          file <code>$MUSTER_PROGRESS</code>.</p>
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
          {last && <span class="muted">reported {ago(last.at, now)}</span>}
        </div>
      )}
      {step !== undefined && total ? <Bar step={step} total={total} /> : null}
      {job.remaining && job.gpus_held > 0 && <Left left={job.remaining} />}
      <Series title="loss" at={curves.at} y={curves.loss} hue={0} />
      <Series title="steps per second" at={curves.at} y={curves.rate} hue={2} from={0} />
    </section>
  );
}
