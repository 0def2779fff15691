// Data of the fleet map: CSS classes of the GPU squares, legend, groups and filters. Draws nothing.

import {finder, inOrder} from '../names';
import {knowTenants, placesOf} from '../tenants';
import {COLORS} from '../theme';
import {CLOSED, FREE, type Fleet, type FleetJob, type FleetNode, OTHERS, RESERVED} from '../types';

export type Mode = 'allocation' | 'use' | 'health' | 'starved';

export const MODES: Mode[] = ['allocation', 'use', 'health', 'starved'];

const STANDING: Record<number, string> =
  {[FREE]: 'free', [RESERVED]: 'reserved', [OTHERS]: 'others', [CLOSED]: 'closed'};

// State of a GPU that no job holds.
export const standing = (holder: number): string => STANDING[holder] ?? 'free';

export const words: Record<string, string> = {
  used: 'used', free: 'free', fragmented: 'free, fragmented', reserved: 'reserved', others: 'external jobs',
  closed: 'unschedulable',
};

export interface Part {
  key: string;
  gpus: number;
}

// Parts of the bar; they add up to all GPUs.
export function parts(totals: Fleet['totals']): Part[] {
  return [
    {key: 'used', gpus: totals.used},
    {key: 'free', gpus: totals.free - totals.fragmented},
    {key: 'fragmented', gpus: totals.fragmented},
    {key: 'reserved', gpus: totals.reserved},
    {key: 'others', gpus: totals.others},
    {key: 'closed', gpus: totals.closed},
  ];
}

// With a single tenant, colors show jobs instead of tenants.
export const byJob = (fleet: Fleet): boolean => fleet.tenants.length <= 1;

const placed = new WeakMap<Fleet, Map<number, number>>();

// Returns the color index of each tenant with jobs.
function placesIn(fleet: Fleet): Map<number, number> {
  let places = placed.get(fleet);
  if (!places) {
    knowTenants(fleet.tenants);
    const there = [...new Set(fleet.jobs.map(job => job.tenant))];
    const found = placesOf(there.map(tenant => fleet.tenants[tenant] ?? ''));
    placed.set(fleet, places = new Map(there.map((tenant, i) => [tenant, found[i]])));
  }
  return places;
}

// CSS classes c0, c1... If more tenants have jobs than the palette has colors, striped colors follow. Jobs
// have no stripes, because there are too many.
function colourOf(fleet: Fleet, job: FleetJob): string {
  if (byJob(fleet)) return `job c${job.id % COLORS}`;
  const place = placesIn(fleet).get(job.tenant) ?? 0;
  return `job c${place % COLORS}${Math.floor(place / COLORS) % 2 === 1 ? ' striped' : ''}`;
}

const step = (share: number): string => `u${Math.round(Math.max(0, Math.min(1, share)) * 10)}`;

function look(fleet: Fleet, node: FleetNode, gpu: number, mode: Mode): string {
  const holder = node.gpus[gpu];
  const job = fleet.jobs[holder];
  if (mode === 'health') return `health-${node.state}`;
  if (mode === 'use') {
    const use = fleet.use_of === 'none' ? null : node.use?.[gpu] ?? null;
    return use === null ? 'unknown' : `use ${step(use)}`;
  }
  if (!job) return standing(holder);
  if (mode === 'allocation') return colourOf(fleet, job);
  if (job.speed === undefined) return 'unknown';
  return `speed ${step(job.speed)}${job.starved ? ' starved' : ''}`;
}

export interface Drawn {
  looks: string[];                    // For each GPU.
  jobs: (FleetJob | undefined)[];     // For each GPU.
  free: number;
  reserved: number;
  key: string;                        // Equal keys: the card looks the same.
}

export function draw(fleet: Fleet, node: FleetNode, mode: Mode): Drawn {
  const looks = node.gpus.map((_, gpu) => look(fleet, node, gpu, mode));
  const jobs = node.gpus.map(holder => fleet.jobs[holder] as FleetJob | undefined);
  const free = node.gpus.filter(holder => holder === FREE).length;
  const reserved = node.gpus.filter(holder => holder === RESERVED).length;
  const key = JSON.stringify([node.name, node.state, node.why, free, reserved, node.cpus, node.cpus_free, node.mem_gib,
    node.mem_free_gib, looks, jobs.map(job => job && [job.id, job.name !== undefined])]);
  return {looks, jobs, free, reserved, key};
}

export interface Group {
  rack?: string;
  nodes: FleetNode[];
}

export function byRack(nodes: FleetNode[]): Group[] {
  if (nodes.length === 0) return [];
  if (!nodes.some(node => node.rack)) return [{nodes}];
  const groups = new Map<string, FleetNode[]>();
  for (const node of nodes) {
    const rack = node.rack ?? '';
    const group = groups.get(rack);
    if (group) group.push(node);
    else groups.set(rack, [node]);
  }
  return [...groups].sort(([a], [b]) => Number(a === '') - Number(b === '') || inOrder(a, b))
    .map(([rack, members]) => ({rack: rack || 'no rack', nodes: members}));
}

export function shown(nodes: FleetNode[], find: string, onlyFree: boolean): FleetNode[] {
  const wanted = finder(find);
  return nodes.filter(node => (!onlyFree || node.gpus.includes(FREE)) &&
    wanted(`${node.name} ${node.rack ?? ''} ${node.gpu_type}`));
}

// Nodes with problems. Drained nodes are not included, because an operator drained them.
export function sick(nodes: FleetNode[]): {servers: number; gpus: number} {
  const bad = nodes.filter(node => node.state === 'quarantined' || node.state === 'unusable');
  return {servers: bad.length, gpus: bad.reduce((sum, node) => sum + node.gpus.length, 0)};
}

export interface LegendItem {
  look: string;
  text: string;
  gpus: number;
  job?: FleetJob;
}

// Legend of the allocation: jobs or tenants by GPUs, most first, then GPUs without a job.
export function legend(fleet: Fleet): LegendItem[] {
  const held = new Map<string, LegendItem>();
  const rest = new Map<string, LegendItem>();
  for (const node of fleet.nodes) {
    for (const holder of node.gpus) {
      const job = fleet.jobs[holder] as FleetJob | undefined;
      const what = standing(holder);
      const key = !job ? what : byJob(fleet) ? `job ${job.id}` : `tenant ${job.tenant}`;
      const into = job ? held : rest;
      const item = into.get(key);
      if (item) item.gpus++;
      else if (!job) into.set(key, {look: what, text: words[what], gpus: 1});
      else if (byJob(fleet)) into.set(key, {look: colourOf(fleet, job), text: title(job), gpus: 1, job});
      else into.set(key, {look: colourOf(fleet, job), text: fleet.tenants[job.tenant], gpus: 1});
    }
  }
  return [...[...held.values()].sort((a, b) => b.gpus - a.gpus), ...rest.values()];
}

export const title = (job: FleetJob): string => job.name === undefined ? `job ${job.id}` : `${job.id} ${job.name}`;

export function slowest(fleet: Fleet): FleetJob[] {
  return fleet.jobs.filter(job => job.starved).sort((a, b) => (a.speed ?? 1) - (b.speed ?? 1));
}

export function crowd(servers: number): 'roomy' | 'close' | 'dense' {
  return servers <= 24 ? 'roomy' : servers <= 120 ? 'close' : 'dense';
}
