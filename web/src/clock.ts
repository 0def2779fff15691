// The manager's clock. All times of his are told by it: a browser's own may be wrong by hours.

let ahead = 0;

export const serverNow = (): number => Date.now() / 1000 + ahead;

// `now`: what the manager's clock says at this moment.
export function setClock(now: number): void {
  ahead = now - Date.now() / 1000;
}
