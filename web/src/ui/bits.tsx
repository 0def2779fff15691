// Small parts that every screen uses.

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

export function Empty(props: {title: string; children?: ComponentChildren}) {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

// What to show while nothing is there yet, or instead of it.
export function Waiting(props: {error?: Error; what: string}) {
  if (props.error) return <Trouble error={props.error} />;
  return <p class="muted loading" role="status">Loading {props.what}…</p>;
}

// One of a few, side by side; arrow keys move.
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

// Filters with counts; any number of them is on.
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

export function JobLink(props: {id: number | string; tabIndex?: number; children?: ComponentChildren}) {
  return <a href={href('job', [props.id])} tabIndex={props.tabIndex}>{props.children ?? props.id}</a>;
}

export function NodeLink(props: {name: string}) {
  return <a href={href('nodes', [props.name])}>{props.name}</a>;
}

// A moment: short, with all of it under the mouse.
export function When(props: {unix?: number; now: number; relative?: boolean}) {
  if (props.unix === undefined) return <span class="muted">–</span>;
  const text = props.relative ? ago(props.unix, props.now) : at(props.unix, props.now);
  return <time dateTime={new Date(props.unix * 1000).toISOString()} title={exactly(props.unix)}>{text}</time>;
}

// A part of a whole, as a bar with words for those who cannot see it.
export function Meter(props: {part: number; of: number; label: string; tone?: string}) {
  const share = props.of > 0 ? Math.min(1, props.part / props.of) : 0;
  return (
    <span class={`meter ${props.tone ?? ''}`} role="img" aria-label={props.label} title={props.label}>
      <span class="meter-fill" style={{width: `${share * 100}%`}} />
    </span>
  );
}

// The manager's time now, in seconds, again every second: for what counts up or down.
export function useNow(every = 1000): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(serverNow()), every);
    return () => window.clearInterval(timer);
  }, [every]);
  return now;
}

// Whether the window is like that now: "(max-width: 700px)".
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

// A value that stands still until nobody has changed it for a moment: what is typed into a search.
export function useSettled<T>(value: T, ms = 200): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
