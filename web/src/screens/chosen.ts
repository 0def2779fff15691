// Which runs an address asks to compare. Without a word of it: all, as far as there is room.

export function chosenRuns(keys: number[], runs: string | undefined, baseline: string | undefined, most: number) {
  const asked = runs === undefined ? keys.slice(0, most)
    : keys.filter(key => runs.split(',').includes(String(key))).slice(0, most);
  const base = Number(baseline ?? NaN);
  return {chosen: asked, baseline: asked.includes(base) ? base : asked[0] ?? -1};
}
