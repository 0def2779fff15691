// Job screen: facts, explanation, output, progress and history.

import {useEffect, useMemo} from 'preact/hooks';
import {Refused} from '../api';
import type {ScreenProps} from '../app';
import {CurveCard} from '../job/curvecard';
import {Events} from '../job/events';
import {Header} from '../job/header';
import {Logs} from '../job/logs';
import {targetOf} from '../job/logtarget';
import {ProgressCard} from '../job/progress';
import {TimelineCard} from '../job/timeline';
import {WhatIf} from '../job/whatif';
import {WhyCard} from '../job/why';
import {useData} from '../live';
import {type Route, href} from '../route';
import type {JobPage, Me, Why} from '../types';
import {Empty, Waiting} from '../ui/bits';
import {Stale} from '../ui/stale';
import './job.css';

const WHY_MS = 5000;  // Explanations are expensive for the server.

function NoJob(props: {id: string; error: Error}) {
  const {error} = props;
  const status = error instanceof Refused ? error.status : 0;
  const back = <p><a href={href('queue')}>Go to the queue</a></p>;
  if (status === 403) {
    return <Empty screen title={`Job ${props.id} belongs to another user`}>
      <p>Only its owner and operators can see it.</p>{back}</Empty>;
  }
  if (status === 404) {
    return (
      <Empty screen title={`Job ${props.id} not found`}>
        <p>It may have finished long ago and been removed, or it belongs to another user.</p>{back}
      </Empty>
    );
  }
  return <Waiting screen={`Job ${props.id}`} error={error} what={`job ${props.id}`} />;
}

function OneJob(props: {id: string; me: Me; route: Route}) {
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
  // Not for each new page: the user must be able to scroll away from the line.
  const target = useMemo(() => job && targetOf(props.route.query, job), [props.route, job === undefined]);
  if (!page.data || !job) {
    return page.error ? <NoJob id={props.id} error={page.error} />
      : <Waiting screen={`Job ${props.id}`} what={`job ${props.id}`} />;
  }
  const {curve, events} = page.data;
  // Balances the two columns: the explanation of a waiting job is long, and it has no output.
  const left = job.leases.length > 0;
  return (
    <div class="job">
      <Stale error={page.error} />
      <Header page={page.data} />
      <div class="job-columns">
        <div class="job-column">
          <WhyCard why={why.data} error={page.error ? undefined : why.error} job={job} me={props.me} />
          <ProgressCard page={page.data} />
          {curve && curve.cpus.length > 1 && <CurveCard curve={curve} />}
          {left && <Events events={events} />}
        </div>
        <div class="job-column">
          <Logs job={job} target={target} />
          <WhatIf job={job} />
          {!left && <Events events={events} />}
        </div>
      </div>
      <TimelineCard job={job} events={events} />
    </div>
  );
}

export function Job(props: ScreenProps) {
  const id = props.route.parts[0] ?? '';
  if (id === '') {
    return <Empty screen title="No job selected"><p><a href={href('queue')}>Go to the queue</a></p></Empty>;
  }
  return <OneJob key={id} id={id} me={props.me} route={props.route} />;
}
