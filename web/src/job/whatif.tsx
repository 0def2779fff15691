// What-if card: predicts the start of the job with changed fields. Submits nothing.

import {useState} from 'preact/hooks';
import {UNANSWERED, get, post, troubleOf} from '../api';
import {useDisabled} from '../live';
import {waits} from '../queue/states';
import type {Plan, WholeJob, Why} from '../types';
import {useNow} from '../ui/bits';
import {Disabled} from '../ui/stale';
import {EtaBand} from './eta';
import {FIELDS, type Form, type Request, changed, difference, formOf} from './request';
import {Ways} from './ways';

const VERDICT = {now: 'starts now', queue: 'waits', never: 'can never run'};

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

// The baseline of the comparison: a waiting job at its current position in the queue; otherwise the same request,
// submitted again.
async function asItIs(job: WholeJob): Promise<Side> {
  const why = waits(job.state) ? await get<Why>(`/v1/jobs/${job.id}/why`) : undefined;
  if (!why?.eta) {
    return {title: 'Same request, submitted again', plan: await plan(changed(job.request, formOf(job.request)))};
  }
  return {title: 'Current request, current position', plan: {verdict: why.constraint === 'none' ? 'now' : 'queue',
    says: why.eta.says, why: why.why, ways: why.ways, eta: why.eta}};
}

async function asAsked(request: Request, form: Form): Promise<Side> {
  const other = difference(request, form);
  return {title: other ? `With ${other}` : 'Same request, submitted now', plan: await plan(changed(request, form))};
}

export function WhatIf(props: {job: WholeJob}) {
  const {request} = props.job;
  const [form, setForm] = useState<Form>(() => formOf(request));
  const [sides, setSides] = useState<Side[]>([]);
  const [trouble, setTrouble] = useState('');
  const [busy, setBusy] = useState(false);
  const disabled = useDisabled();
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
      <h2>What-if: change the request</h2>
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
        <button type="submit" class="button primary" title={disabled || undefined} disabled={busy || disabled !== ''}>
          {busy ? 'Predicting…' : 'Predict'}</button>
      </form>
      <Disabled why={disabled} />
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      <div class="outcomes" aria-live="polite">{sides.map((side, i) => <Outcome key={i} side={side} />)}</div>
      <p class="muted">Nothing is submitted. The prediction is for one job that is submitted now.</p>
    </section>
  );
}
