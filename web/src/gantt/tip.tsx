// What is told of the lease, or the moment, under the pointer.

import {at, count, exactly, lasting, many, runTime} from '../format';
import type {Timeline} from '../types';
import {type Bars, firstBeyond} from './data';
import {rowOfBar} from './hit';
import {NO_WAIT} from './shades';

const A_DAY = 86400;  // From there on nobody counts seconds.

const moment = (line: Timeline, t: number): string => line.unit === 'run' ? runTime(t, t >= A_DAY ? 60 : 1) : at(t);

export function Tip(props: {line: Timeline; bars: Bars; bar: number}) {
  const {line, bars, bar} = props;
  const {jobs} = line;
  const job = bars.job[bar];
  const row = rowOfBar(bars, bar);
  const server = bars.serverOf[row];
  const end = line.ends[bars.end[bar]] ?? '';
  const who = [jobs.user[job], line.tenants[jobs.tenant[job]]].filter(Boolean).join(' of ');
  const cause = line.causes[jobs.cause[job]];
  return (
    <div class="gantt-tip">
      <p><strong>{jobs.name[job] || (jobs.id[job] ? 'a job' : 'Somebody else\'s job')}</strong>
        {jobs.id[job] && ` · job ${jobs.id[job]}`}</p>
      <p>{who}{who && ', '}{many(jobs.gpus[job], 'GPU')}</p>
      <p>{line.servers[server]?.name}, GPU {row - bars.rowOf[server]}</p>
      <p>{moment(line, bars.begin[bar])} to {end === 'running' ? 'now' : moment(line, bars.stop[bar])}
        {' '}({lasting(bars.stop[bar] - bars.begin[bar])})</p>
      {end && <p>{end}</p>}
      {cause && <p>{cause === NO_WAIT ? cause : `why it had waited: ${cause}`}</p>}
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
