// What the API answers (docs/api.md), as far as the page reads it. Times are seconds since 1970, lengths are
// seconds, absent where there is none.

export interface Me {
  mode: 'live' | 'view';
  user: string;
  operator: boolean;
  now: number;
  scheduler?: string;  // Live: "srtf, tune, consolidate".
  cluster?: string;    // "3 servers, 24 GPUs".
  last_event: number;  // Streams may begin after it.
  screens: string[];   // Of those the page knows, the ones this server has.
}

// ---- fleet: GET /v1/fleet

export const FREE = -1, RESERVED = -2, OTHERS = -3, CLOSED = -4;

export interface FleetJob {
  id: number;
  name?: string;  // Absent: somebody else's, whose name the caller may not see.
  user?: string;
  tenant: number;  // In Fleet.tenants.
  state: string;
  gpus: number;
  cpus: number;
  mem_gib: number;
  speed?: number;      // Of what it could do with all the CPU and memory it can use; 1: not starved.
  starved?: boolean;
}

export interface FleetNode {
  name: string;
  rack?: string;
  state: 'open' | 'drained' | 'quarantined' | 'unusable';
  why?: string;
  gpu_type: string;
  gpus: number[];      // For each GPU: an index in Fleet.jobs, or FREE, RESERVED, OTHERS, CLOSED.
  use?: (number | null)[];  // For each GPU, 0 to 1; null: not known.
  cpus: number;
  cpus_free: number;
  mem_gib: number;
  mem_free_gib: number;
}

export interface Fleet {
  now: number;
  totals: {gpus: number; used: number; free: number; fragmented: number; reserved: number; closed: number;
    others: number};
  use_of: 'gpu' | 'cpu' | 'none';  // What FleetNode.use measures: the GPU itself, or the CPUs beside a virtual one.
  tenants: string[];
  jobs: FleetJob[];
  nodes: FleetNode[];
  reserved?: {job: number; gpus: number; from?: number}[];  // What for, and when it should start if that is foreseen.
}

// ---- queue: GET /v1/jobs?state=&search=&sort=&order=&limit=&offset=&counts=1

export interface Band {
  soonest: number | null;
  likely: number | null;
  latest: number | null;
}

export interface Progress {
  at: number;
  step?: number;
  epoch?: number;
  loss?: number;
  rate?: number;
  total?: number;
}

export interface Job {
  id: number;
  name: string;
  user: string;
  tenant: string;
  state: string;
  gpus: number;
  gpus_held: number;
  priority: number;
  submitted: number;
  started?: number;
  ended?: number;
  ran_s?: number;
  leases_used: number;
  where?: string;
  cpus?: number;
  mem_gib?: number;
  why?: string;
  prerun?: boolean;
  waits_since?: number;  // Of one that waits for GPUs: after a hold, since then.
  position?: number;  // In the scheduler's order of those that wait for GPUs, from 1.
  eta?: Band;         // Of one that waits, when foretold lately.
  progress?: Progress;
  array?: number;
  index?: number;
  signature?: string;
  evidence?: string;
  advice?: string;
  line?: number;
}

export interface Jobs {
  jobs: Job[];
  total: number;
  counts?: Record<string, number>;  // By state, of all that the search finds.
}

// ---- job: GET /v1/jobs/ID/page, GET /v1/jobs/ID/why

export interface Lease {
  number: number;
  where: string;
  state: string;
  started?: number;
  ended?: number;
  exit?: string;
  reason?: string;
  evidence?: string;
  advice?: string;
  cpus?: number;
  mem_gib?: number;
  cpu_s?: number;
  mem_peak_gib?: number;
  isolation?: string;
  prerun?: boolean;
}

export interface Happening {
  number: number;
  at: number;
  job?: number;
  kind: string;
  words: string;
}

export interface Remaining {
  words: string;
  seconds?: number;
  low?: number;
  high?: number;
  by?: string;
}

export interface WholeJob extends Job {
  request: Record<string, unknown>;
  leases: Lease[];
  remaining?: Remaining;
}

// Speed by CPUs for the whole job, at the memory it has.
export interface Curve {
  source: string;         // "measured on its own runs", "profile resnet50".
  cpus: number[];
  speed: number[];        // Relative to the best: 0 to 1.
  now?: {cpus: number; speed: number};
  share?: {cpus: number; speed: number};  // What is proportional to its GPUs.
  need?: number;          // CPUs beyond which it gains next to nothing.
}

export interface JobPage {
  job: WholeJob;
  actions: ('cancel' | 'hold' | 'release' | 'retry')[];  // What the caller may do to it now.
  events: Happening[];    // The latest 200, oldest first.
  progress: {at: number[]; step: (number | null)[]; loss: (number | null)[]; rate: (number | null)[]};
  curve?: Curve;
}

export interface Way {
  kind: string;
  says: string;
  [more: string]: unknown;
}

export interface Why {
  id: number;
  name: string;
  state: string;
  constraint?: string;
  why: string;
  end?: string;
  time?: string;     // Of one that is over: where its time went.
  before?: string;   // What became of it so far, of one that waits again.
  evidence?: string;
  line?: number;     // Of the log, where the evidence is.
  advice?: string;
  because?: {about: string; says: string}[];  // Of one that runs: why there, and why so much.
  facts?: Record<string, unknown>;
  ways?: Way[];
  eta?: Band & {holds: number; says: string};
}

export interface Plan {
  verdict: 'now' | 'queue' | 'never';
  says: string;
  where?: string;
  gpus?: number;
  cpus?: number;
  mem_gib?: number;
  why?: string;
  ways?: Way[];
  eta?: Band & {holds: number; says: string};
}

// ---- nodes: GET /v1/nodes

export interface Node {
  name: string;
  rack?: string;
  open: boolean;
  state: FleetNode['state'];
  why?: string;
  since?: number;
  quarantine?: {why: string; since: number; test_at?: number; testing?: boolean; last_test?: string};
  gpus: number;
  gpus_used: number;
  gpus_free: number;
  gpus_reserved: number;
  gpu_type: string;
  gpus_virtual?: boolean;
  cpus: number;
  cpus_free: number;
  mem_gib: number;
  mem_free_gib: number;
  others?: {gpus: number; cpus: number; mem_gib: number};
  isolation?: string;
  notes?: string[];
  jobs: {id: number; gpus: number[]}[];
  recent?: Happening[];  // What happened to this server, the latest last; at most ten.
}

// ---- tenants: GET /v1/usage?from=&to=&points=

export interface TenantUse {
  name: string;
  parent?: string;
  quota: number;
  running: number;
  queued: number;
  used_now: number;
  borrowed_now: number;
  lent_now: number;
  used: number[];      // Mean GPUs held in each step of Usage.times.
  borrowed: number[];  // The part of it beyond the quota.
  lent: number[];      // The part of the quota that others held.
}

export interface Usage {
  from: number;
  to: number;
  times: number[];     // Where each step begins.
  gpus: number;
  tenants: TenantUse[];
  fairness: (number | null)[];  // Jain's index of used/quota among those who had work; 1: all alike.
  // Who holds GPUs beyond his quota while an owner's jobs wait.
  holders: {tenant: string; job: number; user?: string; name?: string; gpus: number; since: number;
    of: string}[];
  missing?: string;    // What could not be counted; empty: nothing.
}

// ---- timeline: GET /v1/timeline?run=&from=&to=

export interface Timeline {
  from: number;        // What there is, in all.
  to: number;
  unit: 'unix' | 'run';  // Seconds since 1970, or since the run's beginning.
  servers: {name: string; gpus: number}[];  // Rows: their GPUs, one after the other.
  tenants: string[];
  causes: string[];    // Why jobs waited.
  jobs: {id: string[]; name: string[]; user: string[]; tenant: number[]; cause: number[]; gpus: number[]};
  // Columns, by row and then by begin.
  bars: {row: number[]; job: number[]; begin: number[]; length: number[]; end: number[]};  // end: in ends.
  ends: string[];      // "finished", "preempted", "running"...
  load: {t: number[]; busy: number[]; waiting: number[]};
  gpus: number;
  thinned: string;     // What was left out; empty: nothing.
}

// ---- compare, analyses: GET /v1/runs ({items: Opened[]}), /v1/compare?runs=0,1&baseline=0, /v1/pages/K;
// live: /v1/whatif?...

export interface Opened {
  key: number;
  kind: 'run' | 'sweep' | 'page';
  name: string;
  about: string;  // "1,000 jobs of philly.csv on 16x8: fifo, proportional, consolidated".
}

export type Cell = null | string | number;

export interface PageTable {
  key: string;
  title: string;
  columns: string[];
  // Of each column, as people are shown its numbers; null: as they are; a list where rows differ.
  decimals?: (number | null | (number | null)[])[];
  rows: Cell[][];
}

export interface Plot {
  key: string;
  title: string;
  x_label: string;
  y_label: string;
  kind: 'line' | 'steps' | 'bars';
  scale: 'linear' | 'log' | 'time';
  categories?: string[];
  series: {name: string; x?: number[]; y: (number | null)[]}[];
  thinned?: string;
}

export interface Section {
  key: string;
  title: string;
  findings: string[];
  missing: string;
  tables: PageTable[];
  plots: Plot[];
}

export interface Page {
  title: string;
  facts: string[];
  sections: Section[];
  notes: string[];
  commands: string[];
}
