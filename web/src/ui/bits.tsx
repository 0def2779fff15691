// Small components that all screens use.

import type {ComponentChildren, JSX} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {serverNow} from '../clock';
import {ago, at, exactly} from '../format';
import {href} from '../route';
import {isBrowsers} from './keys';
import {Trouble} from './stale';

export function StateBadge(props: {state: string}) {
  return <span class={`badge state-${props.state}`}>{props.state}</span>;
}

// `screen`: replaces the whole screen, so its title is the first heading.
export function Empty(props: {title: string; screen?: boolean; children?: ComponentChildren}) {
  return (
    <div class="empty">
      {props.screen ? <h1 class="empty-title">{props.title}</h1> : <p class="empty-title">{props.title}</p>}
      {props.children}
    </div>
  );
}

// Shown until the first data arrives: loading text or error. `screen`: the title of the screen, if this replaces the
// whole screen, which then has no other heading.
export function Waiting(props: {error?: Error; what: string; screen?: string}) {
  return (
    <>
      {props.screen && <h1 class="unseen">{props.screen}</h1>}
      {props.error ? <Trouble error={props.error} />
        : <p class="muted loading" role="status">Loading {props.what}…</p>}
    </>
  );
}

// Radio buttons in a row; arrow keys move.
export function Toggle<T extends string>(props: {
  label: string; value: T | ''; options: {value: T; text: string; title?: string}[]; choose(value: T): void;
}) {
  const {options, value, choose} = props;
  const move = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step || isBrowsers(event)) return;
    event.preventDefault();
    const at = options.findIndex(option => option.value === value);
    const next = (at + step + options.length) % options.length;
    choose(options[next].value);
    (event.currentTarget.children[next] as HTMLElement).focus();
  };
  const none = !options.some(option => option.value === value);
  return (
    <div class="toggle" role="radiogroup" aria-label={props.label} onKeyDown={move}>
      {options.map((option, i) => (
        <button type="button" role="radio" aria-checked={option.value === value} title={option.title}
          tabIndex={option.value === value || (none && i === 0) ? 0 : -1} onClick={() => choose(option.value)}>
          {option.text}
        </button>
      ))}
    </div>
  );
}

// Filters with counts; several can be on at the same time.
export function Chips(props: {
  label: string; chips: {value: string; text: string; count: number}[]; on: string[]; choose(on: string[]): void;
}) {
  const {on, choose} = props;
  return (
    <div class="chips" role="group" aria-label={props.label}>
      {props.chips.map(chip => {
        const pressed = on.includes(chip.value);
        return (
          <button type="button" class={`chip state-${chip.value}`} aria-pressed={pressed}
            onClick={() => choose(pressed ? on.filter(one => one !== chip.value) : [...on, chip.value])}>
            {chip.text} <span class="chip-count">{chip.count.toLocaleString('en')}</span>
          </button>
        );
      })}
    </div>
  );
}

// With `seen` = false, the viewer may not see the job, and there is no link.
export function JobLink(props: {id: number | string; seen?: boolean; tabIndex?: number; children?: ComponentChildren}) {
  const text = props.children ?? props.id;
  return props.seen === false ? <>{text}</> : <a href={href('job', [props.id])} tabIndex={props.tabIndex}>{text}</a>;
}

// A sentence of the server with links to the jobs that it names. For texts that name only jobs the viewer may see.
export function JobWords(props: {words: string}) {
  const parts = props.words.split(/\b(job \d+)\b/);  // Every second part is a match.
  return <>{parts.map((part, i) => i % 2 === 1 ? <JobLink id={part.slice(4)}>{part}</JobLink> : part)}</>;
}

export function NodeLink(props: {name: string}) {
  return <a href={href('nodes', [props.name])}>{props.name}</a>;
}

// A short time, with the full time in a tip.
export function When(props: {unix?: number; now: number; relative?: boolean}) {
  if (props.unix === undefined) return <span class="muted">–</span>;
  const text = props.relative ? ago(props.unix, props.now) : at(props.unix, props.now);
  return <time dateTime={new Date(props.unix * 1000).toISOString()} title={exactly(props.unix)}>{text}</time>;
}

// A fraction as a bar, with a text for screen readers.
export function Meter(props: {part: number; of: number; label: string; tone?: string}) {
  const share = props.of > 0 ? Math.min(1, props.part / props.of) : 0;
  return (
    <span class={`meter ${props.tone ?? ''}`} role="img" aria-label={props.label} title={props.label}>
      <span class="meter-fill" style={{width: `${share * 100}%`}} />
    </span>
  );
}

// The manager's current time in seconds, updated every `every` ms.
export function useNow(every = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(serverNow()), every);
    return () => window.clearInterval(timer);
  }, [every]);
  return now;
}

// Whether a media query such as "(max-width: 700px)" matches now.
export function useMedia(words: string): boolean {
  const [is, setIs] = useState(() => matchMedia(words).matches);
  useEffect(() => {
    const list = matchMedia(words);
    const hook = () => setIs(list.matches);
    list.addEventListener('change', hook);
    hook();
    return () => list.removeEventListener('change', hook);
  }, [words]);
  return is;
}

// Debounced value: changes only after `value` has been stable for `ms`. For search fields.
export function useSettled<T>(value: T, ms = 200): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
