// What-if screen of a live manager: simulates its past jobs with another scheduler and shows the result as a page.

import type {JSX} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {LONG_MS, Refused, UNANSWERED, get, query, troubleOf} from '../api';
import {serverNow} from '../clock';
import {lasting} from '../format';
import {pause, useData, useDisabled} from '../live';
import {setQuery} from '../route';
import type {Page, Parts} from '../types';
import {Empty, useNow} from '../ui/bits';
import {PageView} from '../ui/page';
import {Disabled} from '../ui/stale';
import {sinceOf} from './since';

// The form offers the names that the manager lists. The manager validates other input.
const FIELDS: {key: string; text: string; parts?: keyof Parts}[] = [
  {key: 'policy', text: 'Policy', parts: 'policies'},
  {key: 'mechanism', text: 'Mechanism', parts: 'mechanisms'},
  {key: 'placement', text: 'Placement', parts: 'placements'},
  {key: 'since', text: 'Since'},
];
const TIMES = ['6h', '1d', '7d', '30d'].map(name => ({name, about: ''}));

type Asked = Record<string, string>;

interface Answer {
  since?: number;     // Start of the request, while it is pending.
  behind?: boolean;   // Waits for another simulation: the manager runs one at a time.
  page?: Page;
  error?: string;
}

const AGAIN_MS = 3000;

// Retries while the manager is busy with another simulation, perhaps one that the user abandoned.
async function simulate(path: string, signal: AbortSignal, behind: () => void): Promise<Page> {
  for (;;) {
    try {
      return await get<Page>(path, signal, LONG_MS);
    } catch (problem) {
      if (!(problem instanceof Refused && problem.status === 429) || signal.aborted) throw problem;
      behind();
    }
    await pause(AGAIN_MS);
  }
}

function useWhatIf() {
  const [answer, setAnswer] = useState<Answer>({});
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const ask = async (asked: Asked) => {
    stop.current?.abort();
    const now = serverNow();
    const since = sinceOf(asked.since ?? '', now);
    if (since instanceof Error) return setAnswer({error: since.message});
    const mine = stop.current = new AbortController();
    setAnswer({since: now});
    try {
      const page = await simulate('/v1/whatif' + query({...asked, since}), mine.signal,
        () => mine.signal.aborted || setAnswer({since: now, behind: true}));
      if (!mine.signal.aborted) setAnswer({page});
    } catch (problem) {
      if (!mine.signal.aborted) setAnswer({error: troubleOf(problem as Error, UNANSWERED)});
    }
  };
  const leave = () => {
    stop.current?.abort();
    setAnswer({});
  };
  return {answer, ask, leave};
}

function Progress(props: {since: number; behind?: boolean; leave(): void}) {
  const so = lasting(Math.floor(useNow() - props.since));
  return (
    <div class="card compare-progress" role="status">
      {props.behind
        ? <p>Another simulation is running. This one starts when it has finished; waiting for {so}.</p>
        : <p>The manager simulates the jobs with both schedulers: {so} so far. The duration depends on the number
          of jobs.</p>}
      <button type="button" class="button" onClick={props.leave}>Stop waiting</button>
    </div>
  );
}

function Form(props: {start: Asked; scheduler: string[]; parts?: Parts; busy: boolean; ask(asked: Asked): void}) {
  const offered = (parts?: keyof Parts) => parts ? props.parts?.[parts] ?? [] : TIMES;
  const [asked, setAsked] = useState<Asked>(props.start);
  // Without a change, the result would be the same.
  const nothing = FIELDS.every(field => field.key === 'since' || !asked[field.key]);
  const disabled = useDisabled();
  const submit = (event: JSX.TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!nothing) props.ask(asked);
  };
  return (
    <form class="card compare-form" onSubmit={submit}>
      {FIELDS.map((field, i) => (
        <label>{field.text}
          <input name={field.key} list={`known-${field.key}`} value={asked[field.key] ?? ''} autoComplete="off"
            placeholder={field.key === 'since' ? 'all jobs' : props.scheduler[i] ? `${props.scheduler[i]} (current)`
              : 'current'}
            onInput={event => setAsked({...asked, [field.key]: event.currentTarget.value.trim()})} />
          <datalist id={`known-${field.key}`}>
            {offered(field.parts).map(one => <option value={one.name}>{one.about}</option>)}
          </datalist>
        </label>
      ))}
      <button type="submit" class="button primary" disabled={props.busy || nothing || disabled !== ''}
        title={disabled || (nothing ? 'Change the policy, mechanism or placement' : undefined)}>Simulate</button>
      <Disabled why={disabled} />
    </form>
  );
}

export function WhatIf(props: ScreenProps) {
  const {me, route} = props;
  const {answer, ask, leave} = useWhatIf();
  const {data: parts} = useData<Parts>(me.operator ? '/v1/parts' : null, {still: true});
  if (!me.operator) {
    return <Empty screen title="Only operators can simulate other schedulers">
      <p>The simulation uses the jobs of all users. To see the effect of another request on your own job, use the
        what-if form on the page of the job.</p></Empty>;
  }
  const start = Object.fromEntries(FIELDS.map(field => [field.key, route.query[field.key] ?? '']));
  return (
    <>
      <h1>What-if: another scheduler</h1>
      <p class="muted">The submitted jobs, simulated with the current scheduler
        {me.scheduler && ` (${me.scheduler})`} and with another one. Empty fields keep the current value. Limits: the
        last 20,000 jobs and 50 s.</p>
      <Form start={start} scheduler={me.scheduler?.split(/,\s*/) ?? []} parts={parts}
        busy={answer.since !== undefined}
        ask={asked => {
          setQuery(route, asked);
          void ask(asked);
        }} />
      {answer.since !== undefined && <Progress {...answer} since={answer.since} leave={leave} />}
      {answer.error && <p class="trouble" role="alert">{answer.error}</p>}
      {answer.page && <PageView page={answer.page} below />}
    </>
  );
}
