// The jobs that a question finds, as far as they are in sight.

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
  feeder: Feeder<Job> | null;        // Of the latest question that was answered,
  key: string;                       // which is this one.
  counts?: Record<string, number>;   // By state, of what the search finds.
  old: boolean;                      // The answer to what is asked now is still to come.
  error?: Error;
}

interface Shown {
  key: string;
  feeder: Feeder<Job>;
  error?: Error;
  turn: number;
}

// When jobs start is worked out once somebody looks, which takes the manager a moment.
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
      // Without an answer, what the last one said stays.
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
