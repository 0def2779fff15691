// One job: what it is, why it waits or runs so, what became of it, how far it is, what it writes.

import {useEffect, useRef} from 'preact/hooks';
import {Refused} from '../api';
import type {ScreenProps} from '../app';
import {CurveCard} from '../job/curvecard';
import {Events} from '../job/events';
import {Header} from '../job/header';
import {Logs} from '../job/logs';
import {ProgressCard} from '../job/progress';
import {TimelineCard} from '../job/timeline';
import {WhatIf} from '../job/whatif';
import {WhyCard} from '../job/why';
import {useData} from '../live';
import {waits} from '../queue/states';
import {href} from '../route';
import type {JobPage, Why} from '../types';
import {Empty, Waiting} from '../ui/bits';
import {Stale} from '../ui/stale';
import './job.css';

const WHY_MS = 5000;  // The server thinks for a while about each; others ask too.

function NoJob(props: {id: string; error: Error}) {
  const {error} = props;
  const status = error instanceof Refused ? error.status : 0;
  const back = <p><a href={href('queue')}>To the queue</a></p>;
  if (status === 403) {
    return <Empty title={`Job ${props.id} is somebody else's.`}><p>Its user and operators can see it.</p>{back}</Empty>;
  }
  if (status === 404) {
    return (
      <Empty title={`There is no job ${props.id}.`}>
        <p>Perhaps it was over long ago and is no longer remembered, or it is not yours to see.</p>{back}
      </Empty>
    );
  }
  return <Waiting error={error} what={`job ${props.id}`} />;
}

function OneJob(props: {id: string}) {
  const at = `/v1/jobs/${encodeURIComponent(props.id)}`;
  const page = useData<JobPage>(`${at}/page`, {fresh: true});
  const why = useData<Why>(page.data ? `${at}/why` : null, {fresh: true, least: WHY_MS, quiet: 15_000});
  const job = page.data?.job;
  useEffect(() => {
    if (job) document.title = `${job.id} ${job.name} · muster`;
  }, [job?.name]);
  const state = job && `${job.state} ${job.leases_used}`;
  useEffect(() => {
    if (why.data) why.refresh();
  }, [state]);
  const whatIfFirst = useRef<boolean>();
  if (!page.data || !job) {
    return page.error ? <NoJob id={props.id} error={page.error} /> : <Waiting what={`job ${props.id}`} />;
  }
  const {curve} = page.data;
  // Where it stood first: moved, it would lose what was typed.
  whatIfFirst.current ??= !waits(job.state);
  // Two columns of about the same height: much is known of why a job waits, and of how one goes that reports.
  const reports = page.data.progress.at.length > 1;
  const whatIf = <WhatIf job={job} />;
  const events = <Events events={page.data.events} />;
  return (
    <div class="job">
      <Stale error={page.error} />
      <Header page={page.data} />
      <div class="job-columns">
        <div class="job-column">
          <WhyCard why={why.data} error={page.error ? undefined : why.error} />
          {whatIfFirst.current && whatIf}
          {reports && events}
        </div>
        <div class="job-column">
          <ProgressCard page={page.data} />
          {curve && curve.cpus.length > 1 && <CurveCard curve={curve} />}
          {!whatIfFirst.current && whatIf}
          {!reports && events}
        </div>
      </div>
      <TimelineCard job={job} />
      <Logs job={job} />
    </div>
  );
}

export function Job(props: ScreenProps) {
  const id = props.route.parts[0] ?? '';
  if (id === '') return <Empty title="Which job?"><p><a href={href('queue')}>To the queue</a></p></Empty>;
  return <OneJob key={id} id={id} />;
}
