// Loads the visible jobs that match a query.

import {useEffect, useRef, useState} from 'preact/hooks';
import {get, query} from '../api';
import {useChanges} from '../live';
import type {Job, Jobs} from '../types';
import {Feeder} from './feeder';
import {wantsEta} from './states';

export interface Question {
  state: string;
  user: string;
  search: string;
  array: string;
  sort: string;
  order: string;
}

export interface Found {
  feeder: Feeder<Job> | null;        // Rows of the latest answered query,
  key: string;                       // and its key.
  counts?: Record<string, number>;   // Number of found jobs per state.
  old: boolean;                      // The answer to the current query has not arrived yet.
  error?: Error;
}

interface Shown {
  key: string;
  feeder: Feeder<Job>;
  error?: Error;
  turn: number;
}

// The manager predicts starts only on request, which takes a moment. So the page asks again.
const ETA_MS = 1500;
const ETA_TIMES = 3;

export function useRows(asked: Question): Found {
  const key = query({...asked});
  const [shown, setShown] = useState<Shown | null>(null);
  const counts = useRef<Record<string, number>>();
  const current = useRef<Feeder<Job> | null>(null);
  useEffect(() => {
    let later = 0;
    let times = 0;
    const load = async (offset: number, limit: number, signal: AbortSignal) => {
      const path = '/v1/jobs' + query({...asked, limit, offset, counts: 1});
      const found = await get<Jobs>(path, signal);
      if (found.counts) counts.current = found.counts;
      if (!later && times < ETA_TIMES && found.jobs.some(wantsEta)) {
        times++;
        later = window.setTimeout(() => {
          later = 0;
          feeder.refresh();
        }, ETA_MS);
      }
      return {rows: found.jobs, total: found.total};
    };
    const feeder: Feeder<Job> = new Feeder<Job>(load, () => setShown(before => {
      const turn = (before?.turn ?? 0) + 1;
      // Without an answer, the rows of the last answer stay.
      if (before && !feeder.loaded) return {...before, error: feeder.error, turn};
      return {key, feeder, error: feeder.error, turn};
    }));
    current.current = feeder;
    return () => {
      window.clearTimeout(later);
      feeder.stop();
    };
  }, [key]);
  useChanges(() => current.current?.refresh());
  const {feeder = null, key: answered = '', error} = shown ?? {};
  return {feeder, key: answered, counts: counts.current, old: answered !== key, error};
}
