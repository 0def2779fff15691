// Tips for the lease or the time under the pointer.

import {at, count, exactly, lasting, many, runTime} from '../format';
import type {Timeline} from '../types';
import {type Bars, firstBeyond} from './data';
import {rowOfBar} from './hit';
import {NO_WAIT} from './shades';

const A_DAY = 86400;  // From this time on, long leases are shown without seconds.

// A time with a precision that fits the length of the lease.
function moment(line: Timeline, t: number, length: number): string {
  if (line.unit === 'unix') return at(t);
  return runTime(t, length < 10 ? 0.01 : length >= 3600 && t >= A_DAY ? 60 : 1);
}

export function Tip(props: {line: Timeline; bars: Bars; bar: number}) {
  const {line, bars, bar} = props;
  const {jobs} = line;
  const job = bars.job[bar];
  const row = rowOfBar(bars, bar);
  const server = bars.serverOf[row];
  const end = line.ends[bars.end[bar]] ?? '';
  const who = [jobs.user[job], line.tenants[jobs.tenant[job]]].filter(Boolean).join(' of ');
  const cause = line.causes[jobs.cause[job]];
  const length = bars.stop[bar] - bars.begin[bar];
  return (
    <div class="gantt-tip">
      <p><strong>{jobs.name[job] || (jobs.id[job] ? 'a job' : 'Another user\'s job')}</strong>
        {jobs.id[job] && jobs.id[job] !== jobs.name[job] && ` · job ${jobs.id[job]}`}</p>
      {jobs.gpus[job] > 0 && <p>{who}{who && ', '}{many(jobs.gpus[job], 'GPU')}</p>}
      <p>{line.servers[server]?.name}, GPU {row - bars.rowOf[server]}</p>
      <p>{moment(line, bars.begin[bar], length)} to {end === 'running' ? 'now' : moment(line, bars.stop[bar], length)}
        {' '}({lasting(length)})</p>
      {end && <p>{end}</p>}
      {cause && <p>{cause === NO_WAIT ? cause : `main cause of waiting: ${cause}`}</p>}
    </div>
  );
}

export function LoadTip(props: {line: Timeline; at: number}) {
  const {line} = props;
  const {t, busy, waiting} = line.load;
  const i = firstBeyond(t as unknown as Float64Array, 0, t.length, props.at) - 1;
  return (
    <div class="gantt-tip">
      <p>{line.unit === 'run' ? runTime(props.at) : exactly(props.at)}</p>
      {i >= 0 && <p>{count(Math.round(busy[i]))} of {count(line.gpus)} GPUs in use</p>}
      {i >= 0 && <p>{many(Math.round(waiting[i]), 'job')} waiting</p>}
    </div>
  );
}
