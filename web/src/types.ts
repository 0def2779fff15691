// Types of the API's answers. api_types.mjs generates them from src/api/port/openapi.json, which also describes each
// field.

import type {components} from '../build/api.gen';

type Schemas = components['schemas'];

export type Band = Schemas['Band'];
export type Curve = Schemas['Curve'];
export type Event = Schemas['Event'];
export type Fleet = Schemas['Fleet'];
export type FleetJob = Schemas['FleetJob'];
export type FleetNode = Schemas['FleetNode'];
export type Job = Schemas['Job'];
export type JobPage = Schemas['JobPage'];
export type Jobs = Schemas['Jobs'];
export type Lease = Schemas['Lease'];
export type Me = Schemas['Me'];
export type Node = Schemas['Node'];
export type Nodes = Schemas['Nodes'];
export type Opened = Schemas['Opened'];
export type OpenedItems = Schemas['OpenedItems'];
export type Page = Schemas['Page'];
export type PageTable = Schemas['PageTable'];
export type Parts = Schemas['Parts'];
export type Plan = Schemas['Plan'];
export type Plot = Schemas['Plot'];
export type Remaining = Schemas['Remaining'];
export type Request = Schemas['Request'];
export type RunFacts = Schemas['RunFacts'];
export type Section = Schemas['Section'];
export type TenantUse = Schemas['TenantUse'];
export type Timeline = Schemas['Timeline'];
export type Usage = Schemas['Usage'];
export type WaitFacts = Schemas['WaitFacts'];
export type Way = Schemas['Way'];
export type WholeJob = Schemas['WholeJob'];
export type Why = Schemas['Why'];

export type Cell = PageTable['rows'][number][number];

// Values of FleetNode.gpus that are not an index in Fleet.jobs.
export const FREE = -1, RESERVED = -2, OTHERS = -3, CLOSED = -4;
