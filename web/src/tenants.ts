// Tenants by name. The empty name is "default". Each tenant has the same color on all screens, as long as there are
// enough colors.

import {inOrder} from './names';
import {COLORS} from './theme';
import type {TenantUse, Timeline} from './types';

const DEFAULT = 'default';

export const tenantName = (name: string): string => name || DEFAULT;

const places = new Map<string, number>();

// Gives each new name the next color index, in alphabetical order. Known names keep theirs, so that tenants keep their
// colors. Screens pass all tenants of an answer, also hidden tenants, so that the colors do not depend on
// which screen is opened first.
export function knowTenants(names: string[], kept = places): void {
  const fresh = [...new Set(names.map(tenantName))].filter(name => !kept.has(name)).sort(inOrder);
  for (const name of fresh) kept.set(name, kept.size);
}

// Returns the color index of each name; `names` are the tenants that are shown together. Up to COLORS tenants get
// different colors: a tenant whose index is beyond the colors gets the color of a tenant that is not shown.
export function placesOf(names: string[], kept = places): number[] {
  knowTenants(names, kept);
  const own = new Map(names.map(tenantName).map(name => [name, kept.get(name)!]));
  const taken = new Set(own.values());
  const free = Array.from({length: COLORS}, (_, i) => i).filter(i => !taken.has(i));
  for (const [name, place] of [...own].sort((a, b) => a[1] - b[1])) {
    if (place >= COLORS) own.set(name, free.shift() ?? place);
  }
  return names.map(name => own.get(tenantName(name))!);
}

// Returns the timeline with each tenant once, and only tenants that have jobs in it.
export function withTenants(line: Timeline): Timeline {
  knowTenants(line.tenants);
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

// Merges entries with the same name; keeps the order of their first occurrence.
export function oncePerTenant(tenants: TenantUse[]): TenantUse[] {
  const found = new Map<string, TenantUse>();
  for (const given of tenants) {
    const one = {...given, name: tenantName(given.name)};
    const known = found.get(one.name);
    found.set(one.name, known ? together(known, one) : one);
  }
  return [...found.values()];
}
