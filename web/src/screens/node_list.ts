// Filters, sort order and actions of the node list.

import {finder, inOrder} from '../names';
import type {Node} from '../types';

export const STATES: Node['state'][] = ['open', 'drained', 'quarantined', 'unusable'];

export const reason = (node: Node): string => node.why ?? node.quarantine?.why ?? '';

const KEYS: Record<string, (node: Node) => number | string> = {
  name: node => node.name,
  rack: node => node.rack ?? '',
  state: node => STATES.indexOf(node.state),
  used: node => node.gpus_used,
  free: node => node.gpus_free,
  cpus: node => node.cpus_free,
  mem: node => node.mem_free_gib,
  others: node => node.others?.gpus ?? 0,
};

export function sorted(nodes: Node[], by: string, order: 'asc' | 'desc'): Node[] {
  const key = KEYS[by] ?? KEYS.name;
  const sign = order === 'desc' ? -1 : 1;
  return [...nodes].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    const apart = typeof x === 'number' && typeof y === 'number' ? x - y : inOrder(String(x), String(y));
    return apart * sign || inOrder(a.name, b.name);
  });
}

function matching(nodes: Node[], find: string): Node[] {
  const wanted = finder(find);
  return nodes.filter(node => wanted(`${node.name} ${node.rack ?? ''} ${node.gpu_type} ${reason(node)}`));
}

export function found(nodes: Node[], find: string, states: string[]): Node[] {
  return matching(nodes, find).filter(node => states.length === 0 || states.includes(node.state));
}

export function chips(nodes: Node[], find: string, on: string[]): {value: string; text: string; count: number}[] {
  const there = matching(nodes, find);
  return STATES.filter(state => on.includes(state) || nodes.some(node => node.state === state)).map(state =>
    ({value: state, text: state, count: there.filter(node => node.state === state).length}));
}

// Draining a quarantined node keeps it unschedulable regardless of its tests; undraining it ends the quarantine.
export function actions(node: Node): ('drain' | 'undrain')[] {
  if (node.state === 'drained') return ['undrain'];
  return node.state === 'quarantined' ? ['drain', 'undrain'] : ['drain'];
}

// Number of GPUs held by jobs that are not listed: users who are not operators see only their own jobs.
export function hiddenGpus(node: Node): number {
  return Math.max(0, node.gpus_used - node.jobs.reduce((sum, job) => sum + job.gpus.length, 0));
}

// "0-3, 6".
export function ranges(numbers: number[]): string {
  const list = [...numbers].sort((a, b) => a - b);
  const out: string[] = [];
  for (let i = 0; i < list.length;) {
    let last = i;
    while (list[last + 1] === list[last] + 1) last++;
    out.push(last - i > 1 ? `${list[i]}-${list[last]}` : list.slice(i, last + 1).join(', '));
    i = last + 1;
  }
  return out.join(', ');
}
