// Loads the visible windows of the list: few at a time, none during fast scrolling, and aborts those no longer visible.

import {Windows} from './windows';

export interface Stretch<Row> {
  rows: Row[];
  total: number;
}

const LOOK_MS = 100;       // Interval of checks of the scroll position.
const AT_ONCE = 2;

export class Feeder<Row> {
  readonly windows: Windows<Row>;
  error?: Error;
  loaded = false;
  private range = {first: 0, last: 1};
  private lookedAt = 0;          // Scroll position at the last check.
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = new Map<number, AbortController>();
  private again = false;         // A change happened during a request.
  private stopped = false;

  constructor(private load: (offset: number, limit: number, signal: AbortSignal) => Promise<Stretch<Row>>,
    private changed: () => void, size?: number, most?: number) {
    this.windows = new Windows<Row>(size, most);
    this.fetch();
  }

  see(first: number, last: number): void {
    this.range = {first, last};
    if (this.timer === undefined && !this.stopped) this.timer = setTimeout(() => this.look(), LOOK_MS);
  }

  // Loads the visible rows again now, and other rows when they become visible.
  refresh(): void {
    if (this.busy.size > 0) {
      this.again = true;
      return;
    }
    this.windows.age();
    if (this.timer === undefined) this.fetch();  // Otherwise at the next check.
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    for (const one of this.busy.values()) one.abort();
  }

  private look(): void {
    this.timer = undefined;
    const moved = Math.abs(this.range.first - this.lookedAt);
    this.lookedAt = this.range.first;
    if (moved > this.windows.size) this.see(this.range.first, this.range.last);  // Scrolling fast: check again.
    else this.fetch();
  }

  private fetch(): void {
    if (this.stopped) return;
    const inSight = this.windows.covering(this.range.first, this.range.last);
    for (const [n, one] of this.busy) {
      if (!inSight.includes(n)) one.abort();
    }
    for (const n of this.windows.wanting(this.range.first, this.range.last)) {
      if (this.busy.size >= AT_ONCE) return;
      if (!this.busy.has(n)) void this.one(n);
    }
  }

  private async one(n: number): Promise<void> {
    const mine = new AbortController();
    this.busy.set(n, mine);
    let failed = false;
    try {
      const {size} = this.windows;
      const found = await this.load(n * size, size, mine.signal);
      if (this.stopped) return;
      this.windows.put(n, found.rows, found.total);
      this.error = undefined;
      this.loaded = true;
    } catch (problem) {
      if (!mine.signal.aborted) {
        this.error = problem as Error;
        failed = true;
      }
    } finally {
      this.busy.delete(n);
    }
    if (this.stopped) return;
    this.changed();
    if (this.again && this.busy.size === 0) {
      this.again = false;
      this.windows.age();
    }
    // After a failure, wait for see() or refresh(), to avoid an endless loop.
    if (!failed && this.timer === undefined) this.fetch();
  }
}
