// Files that `muster view` opened.

import {useData} from '../live';
import type {Opened, OpenedItems} from '../types';

// `runs` are the simulated runs among them. Pass `wanted` = false for a live manager, which has none.
export function useOpened(wanted = true): {opened?: Opened[]; runs: Opened[]; error?: Error} {
  const {data, error} = useData<OpenedItems>(wanted ? '/v1/runs' : null, {still: true});
  const opened = data?.items;
  return {opened, runs: opened?.filter(one => one.kind === 'run') ?? [], error};
}
