// Runs that the URL selects for a comparison (default: the first `most` runs).

export function chosenRuns(keys: number[], runs: string | undefined, baseline: string | undefined, most: number) {
  const asked = runs === undefined ? keys.slice(0, most)
    : keys.filter(key => runs.split(',').includes(String(key))).slice(0, most);
  const base = Number(baseline ?? NaN);
  return {chosen: asked, baseline: asked.includes(base) ? base : asked[0] ?? -1};
}
