// Parses "7d" or "2026-11-03 14:00" to seconds since 1970; undefined for an empty text.

const UNITS: Record<string, number> = {min: 60, h: 3600, d: 86400, w: 7 * 86400};

export function sinceOf(text: string, now: number): number | undefined | Error {
  if (text === '') return undefined;
  const length = /^(\d+(?:\.\d+)?) ?(min|h|d|w)$/.exec(text);
  if (length) return Math.max(0, Math.floor(now - Number(length[1]) * UNITS[length[2]]));
  // Date.parse() would interpret a date without a time as UTC.
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text.replace(' ', 'T');
  const unix = /^\d{4}-\d{2}-\d{2}T/.test(date) ? Date.parse(date) / 1000 : NaN;
  if (Number.isFinite(unix)) return unix;
  return new Error(`Since: must be a duration such as 7d or 6h, or a date such as 2026-11-03 14:00, not "${text}".`);
}
