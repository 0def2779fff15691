// Cache of parts of a long list: windows of rows by number, with least-recently-used eviction.

interface Kept<Row> {
  rows: Row[];
  fresh: boolean;  // False: outdated; still shown, but loaded again when visible.
}

export class Windows<Row> {
  total = 0;
  private kept = new Map<number, Kept<Row>>();  // In order of use, most recent last.

  constructor(readonly size = 100, readonly most = 24) {}

  row(index: number): Row | undefined {
    return this.kept.get(Math.floor(index / this.size))?.rows[index % this.size];
  }

  get count(): number {
    return this.kept.size;
  }

  // Windows that contain rows of [first, last).
  covering(first: number, last: number): number[] {
    const numbers = [];
    const end = Math.max(first + 1, last);
    for (let n = Math.floor(first / this.size); n * this.size < end; n++) numbers.push(n);
    return numbers;
  }

  // Windows of [first, last) that must be loaded. Marks all of them as used.
  wanting(first: number, last: number): number[] {
    return this.covering(first, last).filter(n => {
      const kept = this.kept.get(n);
      if (!kept) return true;
      this.kept.delete(n);
      this.kept.set(n, kept);
      return !kept.fresh;
    });
  }

  put(n: number, rows: Row[], total: number): void {
    this.total = total;
    this.kept.delete(n);
    this.kept.set(n, {rows, fresh: true});
    for (const other of [...this.kept.keys()]) {
      const beyond = other * this.size >= total && other !== 0;
      if (beyond || this.kept.size > this.most) this.kept.delete(other);
    }
  }

  // Marks all windows as outdated.
  age(): void {
    for (const kept of this.kept.values()) kept.fresh = false;
  }
}
