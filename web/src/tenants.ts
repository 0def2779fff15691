// Tenants by their names: one without is "default", and each has one colour on all screens.

import {inOrder} from './names';
import type {TenantUse, Timeline} from './types';

const DEFAULT = 'default';

export const tenantName = (name: string): string => name || DEFAULT;

const places = new Map<string, number>();

// The place of each name among the colours. Names that were not met before come after those that were, in the order
// of the alphabet: screens know different ones, and none may change its colour on the way.
export function placesOf(names: string[], kept = places): number[] {
  const fresh = [...new Set(names.map(tenantName))].filter(name => !kept.has(name)).sort(inOrder);
  for (const name of fresh) kept.set(name, kept.size);
  return names.map(name => kept.get(tenantName(name))!);
}

// The timeline with each tenant once, and only those whose jobs are in it.
export function withTenants(line: Timeline): Timeline {
  const there = new Set(line.jobs.tenant);
  const tenants: string[] = [];
  const to = line.tenants.map((given, i) => {
    const name = tenantName(given);
    const known = tenants.indexOf(name);
    if (known >= 0 || !there.has(i)) return known;
    return tenants.push(name) - 1;
  });
  return {...line, tenants, jobs: {...line.jobs, tenant: line.jobs.tenant.map(one => to[one] ?? -1)}};
}

const added = (a: number[], b: number[]): number[] => a.map((value, i) => value + (b[i] ?? 0));

function together(a: TenantUse, b: TenantUse): TenantUse {
  return {...a, quota: a.quota + b.quota, running: a.running + b.running, queued: a.queued + b.queued,
    used_now: a.used_now + b.used_now, borrowed_now: a.borrowed_now + b.borrowed_now,
    lent_now: a.lent_now + b.lent_now, used: added(a.used, b.used), borrowed: added(a.borrowed, b.borrowed),
    lent: added(a.lent, b.lent)};
}

// Each tenant once, where it was first.
export function oncePerTenant(tenants: TenantUse[]): TenantUse[] {
  const found = new Map<string, TenantUse>();
  for (const given of tenants) {
    const one = {...given, name: tenantName(given.name)};
    const known = found.get(one.name);
    found.set(one.name, known ? together(known, one) : one);
  }
  return [...found.values()];
}
