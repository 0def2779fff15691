// What the browser keeps for us. Where it refuses to, it is kept as long as the page is open.

const kept = new Map<string, string>();

export const store = {
  get(key: string): string {
    try {
      const found = localStorage.getItem(key);
      if (found !== null) return found;
    } catch {
      // Forbidden, or there is none.
    }
    return kept.get(key) ?? '';
  },
  set(key: string, value: string): void {
    kept.delete(key);
    try {
      localStorage.setItem(key, value);
    } catch {
      kept.set(key, value);
    }
  },
  drop(key: string): void {
    kept.delete(key);
    try {
      localStorage.removeItem(key);
    } catch {
      // Then nothing is there.
    }
  },
};
