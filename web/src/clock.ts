// The manager's clock, used for all of its times. The clock of the browser may be wrong by hours.

let ahead = 0;

export const serverNow = (): number => Date.now() / 1000 + ahead;

// `now`: current time of the manager's clock, in seconds since 1970.
export function setClock(now: number): void {
  ahead = now - Date.now() / 1000;
}
