// Where the server has thinned what is far away, one who zooms in is given the leases of the part he looks at.

import {useEffect, useRef, useState} from 'preact/hooks';
import {get} from '../api';
import {withTenants} from '../tenants';
import type {Timeline} from '../types';
import type {Pane, TimeView} from './layout';

interface Part {
  from: number;
  to: number;
}

const WHOLE = 0.4;      // Of all: a view from here on is shown as it is.
const FINE = 8;         // Times the view: a part no wider than that has all a screen can show.
const REST_MS = 350;    // The view has come to rest.
const OLD_MS = 5000;    // What goes on is asked for again after that.

const covers = (part: Part, view: Pane): boolean => part.from <= view.from && view.to <= part.to;

// The part to ask for; 'have' if what is there will do, 'whole' if no part is needed.
export function partFor(view: Pane, have: Part | null): Part | 'have' | 'whole' {
  const {span} = view;
  if (span >= WHOLE * (view.high - view.low)) return 'whole';
  if (have && covers(have, view) && have.to - have.from <= FINE * span) return 'have';
  return {from: Math.max(view.low, view.from - span), to: Math.min(view.high, view.to + span)};
}

// `line`, or while one looks closer at a thinned one the leases of that part. `address`: where a part is to be had.
export function useDetail(line: Timeline, time: TimeView, address: (from: number, to: number) => string,
  live: boolean): Timeline {
  const [part, setPart] = useState<{from: number; to: number; line: Timeline; at: number} | null>(null);
  const now = useRef(part);
  now.current = part;
  const thinned = line.thinned !== '';
  useEffect(() => {
    if (!thinned) return setPart(null);
    let stop = new AbortController();  // Of the last question: an answer to one before it is of no use.
    let timer = 0;
    const ask = async () => {
      const have = now.current;
      const old = live && have !== null && time.atEnd && Date.now() - have.at > OLD_MS;
      const wanted = partFor(time, old ? null : have);
      if (wanted === 'whole') return setPart(null);
      if (wanted === 'have') return;
      stop.abort();
      const {signal} = stop = new AbortController();
      try {
        const found = await get<Timeline>(address(wanted.from, wanted.to), signal);
        if (covers(wanted, time)) setPart({...wanted, line: withTenants(found), at: Date.now()});
      } catch {
        // What is thinned stays in sight, and the next move asks again.
      }
    };
    const leave = time.subscribe(() => {
      if (now.current && !covers(now.current, time)) setPart(null);
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void ask(), REST_MS);
    });
    return () => {
      leave();
      window.clearTimeout(timer);
      stop.abort();
    };
  }, [time, thinned, address(0, 0), live]);
  return part?.line ?? line;
}
