// What `muster view` was given.

import {useData} from '../live';
import type {Opened, OpenedItems} from '../types';

// `runs` are those of them that are simulated runs. A live manager has none to ask for: not `wanted`.
export function useOpened(wanted = true): {opened?: Opened[]; runs: Opened[]; error?: Error} {
  const {data, error} = useData<OpenedItems>(wanted ? '/v1/runs' : null, {still: true});
  const opened = data?.items;
  return {opened, runs: opened?.filter(one => one.kind === 'run') ?? [], error};
}
