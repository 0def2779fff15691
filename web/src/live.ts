// Keeps the page up to date. One event stream signals changes; each visible component then loads its data again, at
// most once per second. Changes without an event are found by polling every few seconds while the page is visible.

import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {LONG_MS, Refused, get, readStream} from './api';

export type Link = 'live' | 'waiting' | 'off';  // Connected; reconnecting; no stream.

const AT_MOST_EVERY_MS = 1000;
const QUIET_MS = 5000;
const SHARE = 10;             // Wait this many times the duration of the last request before the next,
const MOST_WAIT_MS = 30_000;  // but at most this long.

type Hook = () => void;
const watchers = new Set<(now: boolean) => void>();
const linkHooks = new Set<Hook>();
let link: Link = 'off';
let follower: AbortController | null = null;

function setLink(next: Link): void {
  if (next === link) return;
  link = next;
  for (const hook of linkHooks) hook();
}

let lastPulse = 0;
let pulseTimer = 0;
let hurry = false;

function pulse(): void {
  if (pulseTimer) return;
  const wait = Math.max(0, lastPulse + AT_MOST_EVERY_MS - Date.now());
  pulseTimer = window.setTimeout(() => {
    const now = hurry;
    pulseTimer = 0;
    hurry = false;
    lastPulse = Date.now();
    for (const hook of watchers) hook(now);
  }, Math.max(wait, 50));
}

// Makes all components load again without a pause: after an action of the user, or after a lost connection.
export function refreshSoon(): void {
  hurry = true;
  pulse();
}

export function unfollow(): void {
  follower?.abort();
  follower = null;
  setLink('off');
}

export const pause = (ms: number) => new Promise(done => setTimeout(done, ms));

// Follows events until unfollow(). After a lost connection it reconnects with back-off, refreshes all screens and calls
// `back`.
export function follow(after: number, back: Hook): void {
  unfollow();
  const mine = follower = new AbortController();
  void (async () => {
    let wait = 250;
    let last = String(after);
    let first = true;
    setLink('waiting');
    while (!mine.signal.aborted) {
      let since = Infinity;
      try {
        await readStream(`/v1/events?follow=1&after=${last}`, {
          up() {
            since = Date.now();
            setLink('live');
            if (first) {
              first = false;
              return pulse();
            }
            refreshSoon();
            back();
          },
          event(_kind, _data, id) {
            if (id) last = id;
            pulse();
          },
        }, mine.signal);
      } catch (error) {
        if (mine.signal.aborted) return;
        if (error instanceof Refused && error.status === 401) return;  // whenRefused() signs the user out.
      }
      if (mine.signal.aborted) return;
      setLink('waiting');
      if (Date.now() - since > 5000) wait = 250;  // Back off if the connection ends soon.
      await pause(wait);
      wait = Math.min(wait * 2, 5000);
    }
  })();
}

export function useLink(): Link {
  const [, again] = useState(0);
  useEffect(() => {
    const hook = () => again(n => n + 1);
    linkHooks.add(hook);
    hook();  // The link may have changed since the first render.
    return () => {
      linkHooks.delete(hook);
    };
  }, []);
  return link;
}

// Returns why actions are disabled, or an empty string. Without a connection, the shown data may be out of date, and a
// request would fail after a long wait.
export const useDisabled = (): string =>
  useLink() === 'live' ? '' : 'Actions are disabled: no connection to the manager.';

export interface Loaded<T> {
  data?: T;
  error?: Error;     // Error of the last request; earlier data is kept.
  refresh: Hook;
}

// Calls `tell` after each event, and every `quiet` ms while the page is visible, but not within `least()` ms of the
// last call. `least` limits the load of expensive requests.
export function useChanges(tell: Hook, quiet = QUIET_MS, least = () => 0): void {
  const latest = useRef({tell, least});
  latest.current = {tell, least};
  useEffect(() => {
    let last = Date.now();
    let later = 0;
    const hook = (now = false) => {
      if (document.hidden || (later && !now)) return;
      window.clearTimeout(later);
      later = 0;
      const wait = now ? 0 : last + latest.current.least() - Date.now();
      if (wait > 0) {
        later = window.setTimeout(() => {
          later = 0;
          hook();
        }, wait);
        return;
      }
      last = Date.now();
      latest.current.tell();
    };
    const look = () => hook();
    watchers.add(hook);
    const timer = window.setInterval(look, quiet);
    document.addEventListener('visibilitychange', look);
    return () => {
      watchers.delete(hook);
      window.clearInterval(timer);
      window.clearTimeout(later);
      document.removeEventListener('visibilitychange', look);
    };
  }, [quiet]);
}

interface Asking {
  path: string | null;
  moves?: string;
  busy: boolean;
  again: boolean;
  stop?: AbortController;
  answered?: string;   // Path of the last successful request,
  took: number;        // and its duration in ms; 0 after a failed one.
}

interface Answered<T> {
  path: string | null;
  moves?: string;
  data?: T;
  error?: Error;
}

// Whether two paths request the same data, perhaps for another time.
const alike = (a: {path: string | null; moves?: string}, b: {path: string | null; moves?: string}): boolean =>
  a.path === b.path || (a.moves !== undefined && a.moves === b.moves);

// Loads `path` and reloads it after each change, with a pause that grows with the duration of a request. A null path
// loads nothing. While a new path loads, the old data stays, unless `fresh` is set. Options: `still`: the data cannot
// change, so it is loaded once. `least`: minimum ms between two requests. `moves`: name of the data, if the path
// changes with time; after a failed request, old data with the same name stays.
export function useData<T>(path: string | null,
  options: {quiet?: number; fresh?: boolean; still?: boolean; least?: number; moves?: string} = {}): Loaded<T> {
  const {moves, still} = options;
  const [state, setState] = useState<Answered<T>>({path: null});
  const now = useRef<Asking>({path: null, busy: false, again: false, took: 0});
  const load = useCallback(async () => {
    const mine = now.current;
    if (mine.path === null) return;
    if (mine.busy) {
      mine.again = true;
      return;
    }
    mine.busy = true;
    do {
      mine.again = false;
      const asked: {path: string; moves?: string} = {path: mine.path, moves: mine.moves};
      const {signal} = mine.stop = new AbortController();
      const begun = Date.now();
      try {
        const data = await get<T>(asked.path, signal, still ? LONG_MS : undefined);
        mine.answered = asked.path;
        mine.took = Date.now() - begun;
        if (mine.path === asked.path) setState({...asked, data});
      } catch (problem) {
        if (signal.aborted) continue;
        mine.took = 0;
        const error = problem as Error;
        if (mine.path === asked.path) {
          setState(old => ({...asked, data: alike(old, asked) ? old.data : undefined, error}));
        }
      }
    } while (mine.again && mine.path !== null);
    mine.busy = false;
  }, []);
  useEffect(() => {
    now.current.path = path;
    now.current.moves = moves;
    now.current.stop?.abort();
    if (now.current.busy) now.current.again = true;
    void load();
  }, [path]);
  useChanges(() => {
    if (!still || now.current.answered !== now.current.path) void load();
  }, options.quiet, () => Math.max(options.least ?? 0, Math.min(MOST_WAIT_MS, SHARE * now.current.took)));
  useEffect(() => () => {
    now.current.path = null;
    now.current.stop?.abort();
  }, []);
  const stale = options.fresh && state.path !== path;
  return {data: stale ? undefined : state.data, error: alike(state, {path, moves}) ? state.error : undefined,
    refresh: load};
}
