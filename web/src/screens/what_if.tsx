// "What would another scheduler have done with our jobs?" The manager simulates it; the answer is a page.

import type {JSX} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {ScreenProps} from '../app';
import {LONG_MS, Refused, UNANSWERED, get, query, troubleOf} from '../api';
import {serverNow} from '../clock';
import {lasting} from '../format';
import {pause, useData} from '../live';
import {setQuery} from '../route';
import type {Page, Parts} from '../types';
import {Empty, useNow} from '../ui/bits';
import {PageView} from '../ui/page';
import {sinceOf} from './since';

// The form offers the parts that the manager lists. The manager judges any other word.
const FIELDS: {key: string; text: string; parts?: keyof Parts}[] = [
  {key: 'policy', text: 'Who runs next', parts: 'policies'},
  {key: 'mechanism', text: 'How much CPU and memory', parts: 'mechanisms'},
  {key: 'placement', text: 'Where', parts: 'placements'},
  {key: 'since', text: 'Since'},
];
const TIMES = ['6h', '1d', '7d', '30d'].map(name => ({name, about: ''}));

type Asked = Record<string, string>;

interface Answer {
  since?: number;     // When it was asked, while it is awaited.
  behind?: boolean;   // Another one has to be done first: the manager simulates one at a time.
  page?: Page;
  error?: string;
}

const AGAIN_MS = 3000;

// Asked again and again while the manager is busy with another one, perhaps one that was left.
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
        ? <p>The manager simulates one at a time and is not done with another; this one is next: {so} so far.</p>
        : <p>The manager replays the jobs of that time under both schedulers: {so} so far. How long it takes
          depends on how many jobs there were.</p>}
      <button type="button" class="button" onClick={props.leave}>Stop waiting</button>
    </div>
  );
}

function Form(props: {start: Asked; scheduler: string[]; parts?: Parts; busy: boolean; ask(asked: Asked): void}) {
  const offered = (parts?: keyof Parts) => parts ? props.parts?.[parts] ?? [] : TIMES;
  const [asked, setAsked] = useState<Asked>(props.start);
  // The same scheduler would have done the same.
  const nothing = FIELDS.every(field => field.key === 'since' || !asked[field.key]);
  const submit = (event: JSX.TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!nothing) props.ask(asked);
  };
  return (
    <form class="card compare-form" onSubmit={submit}>
      {FIELDS.map((field, i) => (
        <label>{field.text}
          <input name={field.key} list={`known-${field.key}`} value={asked[field.key] ?? ''} autoComplete="off"
            placeholder={field.key === 'since' ? 'the beginning' : props.scheduler[i] ? `${props.scheduler[i]}, as now`
              : 'as now'}
            onInput={event => setAsked({...asked, [field.key]: event.currentTarget.value.trim()})} />
          <datalist id={`known-${field.key}`}>
            {offered(field.parts).map(one => <option value={one.name}>{one.about}</option>)}
          </datalist>
        </label>
      ))}
      <button type="submit" class="button primary" disabled={props.busy || nothing}
        title={nothing ? 'Fill in what should have been another' : undefined}>Simulate</button>
    </form>
  );
}

export function WhatIf(props: ScreenProps) {
  const {me, route} = props;
  const {answer, ask, leave} = useWhatIf();
  const {data: parts} = useData<Parts>(me.operator ? '/v1/parts' : null, {still: true});
  if (!me.operator) {
    return <Empty title="What another scheduler would have done is for operators to ask.">
      <p>It replays everybody's jobs, and so tells about them. What another request would do for a job of
        yours is told on that job's page.</p></Empty>;
  }
  const start = Object.fromEntries(FIELDS.map(field => [field.key, route.query[field.key] ?? '']));
  return (
    <>
      <h1>What if another scheduler had decided?</h1>
      <p class="muted">The jobs that were really submitted, simulated under the scheduler of now
        {me.scheduler && ` (${me.scheduler})`} and under another. What is left empty stays as it is. Of the
        last 20,000 jobs at most, for 50 s at most.</p>
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
