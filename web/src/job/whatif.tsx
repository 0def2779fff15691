// "What if I asked for...": the same job with other fields, asked of the planner. Nothing is submitted.

import {useState} from 'preact/hooks';
import {UNANSWERED, get, post, troubleOf} from '../api';
import {waits} from '../queue/states';
import type {Plan, WholeJob, Why} from '../types';
import {useNow} from '../ui/bits';
import {EtaBand} from './eta';
import {FIELDS, type Form, type Request, changed, difference, formOf} from './request';
import {Ways} from './ways';

const VERDICT = {now: 'starts now', queue: 'waits', never: 'can never run here'};

interface Side {
  title: string;
  plan: Plan;
}

function Outcome(props: {side: Side}) {
  const {title, plan} = props.side;
  const now = useNow(5000);
  return (
    <div class="outcome">
      <h3>{title}</h3>
      <p><span class={`badge verdict-${plan.verdict}`}>{VERDICT[plan.verdict] ?? plan.verdict}</span></p>
      <p>{plan.says}</p>
      {plan.why && plan.why !== plan.says && <p class="muted">{plan.why}</p>}
      {plan.verdict === 'queue' && plan.eta && <EtaBand eta={plan.eta} now={now} />}
      <Ways ways={plan.ways ?? []} />
    </div>
  );
}

const plan = (asked: Request) => post<Plan>('/v1/plan', asked);

// A job that waits is compared with itself in the line, as it stands there now; others with the same request, submitted
// again.
async function asItIs(job: WholeJob): Promise<Side> {
  const why = waits(job.state) ? await get<Why>(`/v1/jobs/${job.id}/why`) : undefined;
  if (!why?.eta) {
    return {title: 'Submitted again as it was', plan: await plan(changed(job.request, formOf(job.request)))};
  }
  return {title: 'As it is, in its place', plan: {verdict: why.constraint === 'none' ? 'now' : 'queue',
    says: why.eta.says, why: why.why, ways: why.ways, eta: why.eta}};
}

async function asAsked(request: Request, form: Form): Promise<Side> {
  const other = difference(request, form);
  return {title: other ? `With ${other}` : 'The same, submitted now', plan: await plan(changed(request, form))};
}

export function WhatIf(props: {job: WholeJob}) {
  const {request} = props.job;
  const [form, setForm] = useState<Form>(() => formOf(request));
  const [sides, setSides] = useState<Side[]>([]);
  const [trouble, setTrouble] = useState('');
  const [busy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setTrouble('');
    try {
      setSides(await Promise.all([asItIs(props.job), asAsked(request, form)]));
    } catch (problem) {
      setSides([]);
      setTrouble(troubleOf(problem as Error, UNANSWERED));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card" aria-label="What if">
      <h2>What if I asked for…</h2>
      <form class="whatif" onSubmit={event => {
        event.preventDefault();
        void ask();
      }}>
        {FIELDS.map(field => (
          <div key={field.key}>
            <label for={`whatif-${field.key}`}>{field.title}</label>
            <input id={`whatif-${field.key}`} value={form[field.key]} placeholder={field.hint} spellcheck={false}
              autoComplete="off" inputMode={field.number ? 'decimal' : undefined}
              onInput={event => setForm({...form, [field.key]: event.currentTarget.value})} />
          </div>
        ))}
        <button type="submit" class="button primary" disabled={busy}>{busy ? 'Asking…' : 'Ask'}</button>
      </form>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      <div class="outcomes" aria-live="polite">{sides.map((side, i) => <Outcome key={i} side={side} />)}</div>
      <p class="muted">Nothing is submitted. The answer is for one job, submitted now.</p>
    </section>
  );
}
