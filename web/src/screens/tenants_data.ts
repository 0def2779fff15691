// Tenants in their order, and what their charts are made of.

import {query} from '../api';
import {runTime} from '../format';
import type {TenantUse, Usage} from '../types';

export type Range = 'hour' | 'six' | 'day' | 'week' | 'all';

// In the words of the timeline.
export const RANGES: {value: Range; text: string; title: string}[] = [
  {value: 'hour', text: '1 h', title: 'The last hour'},
  {value: 'six', text: '6 h', title: 'The last six hours'},
  {value: 'day', text: 'Day', title: 'The last 24 hours'},
  {value: 'week', text: 'Week', title: 'The last seven days'},
  {value: 'all', text: 'All', title: 'All that is kept'},
];

export const SECONDS: Record<Range, number> = {hour: 3600, six: 6 * 3600, day: 86_400, week: 604_800, all: Infinity};
const POINTS = 240;

// The beginning moves by whole steps, so that the address is another one only when the chart would be.
export function usagePath(mode: 'live' | 'view', run: string, range: Range, now: number): string {
  if (mode === 'view') return '/v1/usage' + query({run: run || '0', points: POINTS});
  if (range === 'all') return '/v1/usage' + query({points: POINTS});
  const step = SECONDS[range] / POINTS;
  return '/v1/usage' + query({from: Math.floor(now / step) * step - SECONDS[range], points: POINTS});
}

// Seconds since a run's beginning; nothing of ours was there in 1973.
export const isRun = (usage: Pick<Usage, 'from'>): boolean => usage.from < 1e8;

export interface Row {
  tenant: TenantUse;
  depth: number;
  leaf: boolean;
}

export function tree(tenants: TenantUse[]): Row[] {
  const names = new Set(tenants.map(tenant => tenant.name));
  const parents = new Set(tenants.map(tenant => tenant.parent));
  const rows: Row[] = [];
  const seen = new Set<TenantUse>();
  const add = (tenant: TenantUse, depth: number) => {
    if (seen.has(tenant)) return;
    seen.add(tenant);
    rows.push({tenant, depth, leaf: !parents.has(tenant.name)});
    for (const child of tenants) if (child.parent === tenant.name) add(child, depth + 1);
  };
  for (const tenant of tenants) if (tenant.parent === undefined || !names.has(tenant.parent)) add(tenant, 0);
  for (const tenant of tenants) add(tenant, 0);  // Parents in a circle: nobody is left out all the same.
  return rows;
}

const mean = (values: number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

// A run is over: what was held on the mean of its time says more than its last moment. All steps are as long.
export function onTheMean(tenant: TenantUse): TenantUse {
  return {...tenant, used_now: mean(tenant.used), borrowed_now: mean(tenant.borrowed), lent_now: mean(tenant.lent)};
}

// What the bars of all are drawn against.
export function largest(tenants: TenantUse[]): number {
  return tenants.reduce((most, one) => Math.max(most, one.quota, one.used_now + one.lent_now), 1e-9);
}

// Values of steps, with one more for the end of the last.
export function steps<T>(values: T[]): T[] {
  return values.length === 0 ? [] : [...values, values[values.length - 1]];
}

export interface UseLine {
  name: string;
  of: number;      // Its colour.
  used: number[];
}

export function busiest(tenants: {tenant: TenantUse; of: number}[], most: number): UseLine[] {
  const lines = tenants.map(({tenant, of}) => ({name: tenant.name, of, used: tenant.used}));
  if (lines.length <= most) return lines;
  const sum = (line: UseLine) => line.used.reduce((all, one) => all + one, 0);
  const ranked = [...lines].sort((a, b) => sum(b) - sum(a));
  const rest = ranked.slice(most - 1);
  return [...ranked.slice(0, most - 1).sort((a, b) => a.of - b.of),
    {name: `${rest.length} others`, of: tenants.length,
      used: rest[0].used.map((_, i) => rest.reduce((all, line) => all + line.used[i], 0))}];
}

// On an axis: "1 h 30 min", "1 d 12 h".
export const axisTime = (s: number): string => runTime(s, s >= 86_400 ? 3600 : s >= 3600 ? 60 : 1);
