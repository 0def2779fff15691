// Persistent values in localStorage. If the browser denies access, values last until the page is closed.

const kept = new Map<string, string>();

export const store = {
  get(key: string): string {
    try {
      const found = localStorage.getItem(key);
      if (found !== null) return found;
    } catch {
      // Access denied or not available.
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
      // Then there is nothing to remove.
    }
  },
};
