// Order of tenants, and the data of their charts.

import {query} from '../api';
import {runTime} from '../format';
import type {TenantUse, Usage} from '../types';

export type Range = 'hour' | 'six' | 'day' | 'week' | 'all';

// Time ranges; the timeline uses the same.
export const RANGES: {value: Range; text: string; title: string}[] = [
  {value: 'hour', text: '1 h', title: 'The last hour'},
  {value: 'six', text: '6 h', title: 'The last six hours'},
  {value: 'day', text: 'Day', title: 'The last 24 hours'},
  {value: 'week', text: 'Week', title: 'The last seven days'},
  {value: 'all', text: 'All', title: 'All stored data'},
];

export const SECONDS: Record<Range, number> = {hour: 3600, six: 6 * 3600, day: 86_400, week: 604_800, all: Infinity};
const POINTS = 240;

// The start moves in whole steps, so that the path changes only if the chart changes.
export function usagePath(mode: 'live' | 'view', run: string, range: Range, now: number): string {
  if (mode === 'view') return '/v1/usage' + query({run: run || '0', points: POINTS});
  if (range === 'all') return '/v1/usage' + query({points: POINTS});
  const step = SECONDS[range] / POINTS;
  return '/v1/usage' + query({from: Math.floor(now / step) * step - SECONDS[range], points: POINTS});
}

// Whether times are relative to the start of a run: Unix times below 1e8 (before 1973) cannot occur.
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
  for (const tenant of tenants) add(tenant, 0);  // Parents in a cycle: still show all tenants.
  return rows;
}

const mean = (values: number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

// For finished runs: the mean over the run instead of the last value. All steps have the same length.
export function onTheMean(tenant: TenantUse): TenantUse {
  return {...tenant, used_now: mean(tenant.used), borrowed_now: mean(tenant.borrowed), lent_now: mean(tenant.lent)};
}

// Common scale of all bars.
export function largest(tenants: TenantUse[]): number {
  return tenants.reduce((most, one) => Math.max(most, one.quota, one.used_now + one.lent_now), 1e-9);
}

// Values of steps, with one more for the end of the last step.
export function steps<T>(values: T[]): T[] {
  return values.length === 0 ? [] : [...values, values[values.length - 1]];
}

export interface UseLine {
  name: string;
  used: number[];
}

// Returns the tenants that used the most, in the given order, and the sum of the others, so that there are at most
// `most` lines.
export function busiest(tenants: TenantUse[], most: number): {lines: UseLine[]; others?: UseLine} {
  if (tenants.length <= most) return {lines: tenants};
  const sum = (line: UseLine) => line.used.reduce((all, one) => all + one, 0);
  const ranked = [...tenants].sort((a, b) => sum(b) - sum(a));
  const rest = new Set(ranked.slice(most - 1));
  return {lines: tenants.filter(tenant => !rest.has(tenant)), others: {name: `${rest.size} others`,
    used: ranked[0].used.map((_, i) => [...rest].reduce((all, line) => all + line.used[i], 0))}};
}

// Axis text: "1 h 30 min", "1 d 12 h".
export const axisTime = (s: number): string => runTime(s, s >= 86_400 ? 3600 : s >= 3600 ? 60 : 1);
