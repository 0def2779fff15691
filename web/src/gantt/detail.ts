// Loads the exact leases of the visible part when the user zooms into a timeline that the server has thinned.

import {useEffect, useRef, useState} from 'preact/hooks';
import {get} from '../api';
import {withTenants} from '../tenants';
import type {Timeline} from '../types';
import type {Pane, TimeView} from './layout';

interface Part {
  from: number;
  to: number;
}

const WHOLE = 0.4;      // A view of at least this fraction of all data needs no details.
const FINE = 8;         // A part of up to this many view widths is detailed enough.
const REST_MS = 350;    // Delay after the last move of the view.
const OLD_MS = 5000;    // Live data is loaded again after this time.

const covers = (part: Part, view: Pane): boolean => part.from <= view.from && view.to <= part.to;

// Returns the part to load; 'have' if the loaded part is sufficient; 'whole' if no part is needed.
export function partFor(view: Pane, have: Part | null): Part | 'have' | 'whole' {
  const {span} = view;
  if (span >= WHOLE * (view.high - view.low)) return 'whole';
  if (have && covers(have, view) && have.to - have.from <= FINE * span) return 'have';
  return {from: Math.max(view.low, view.from - span), to: Math.min(view.high, view.to + span)};
}

// Returns `line`, or the exact leases of the visible part if `line` is thinned and the view is zoomed in. `address`
// returns the path of a part.
export function useDetail(line: Timeline, time: TimeView, address: (from: number, to: number) => string,
  live: boolean): Timeline {
  const [part, setPart] = useState<{from: number; to: number; line: Timeline; at: number} | null>(null);
  const now = useRef(part);
  now.current = part;
  const thinned = line.thinned !== '';
  useEffect(() => {
    if (!thinned) return setPart(null);
    let stop = new AbortController();  // Aborts the previous request, whose answer is no longer needed.
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
        // The thinned data stays visible, and the next move tries again.
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
