// "7d" or "2026-11-03 14:00" as seconds since 1970; nothing for nothing.

const UNITS: Record<string, number> = {min: 60, h: 3600, d: 86400, w: 7 * 86400};

export function sinceOf(text: string, now: number): number | undefined | Error {
  if (text === '') return undefined;
  const length = /^(\d+(?:\.\d+)?) ?(min|h|d|w)$/.exec(text);
  if (length) return Math.max(0, Math.floor(now - Number(length[1]) * UNITS[length[2]]));
  // A day alone would be taken as one of Greenwich.
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text.replace(' ', 'T');
  const unix = /^\d{4}-\d{2}-\d{2}T/.test(date) ? Date.parse(date) / 1000 : NaN;
  if (Number.isFinite(unix)) return unix;
  return new Error(`Since: "${text}" is neither a time such as 7d or 6h nor a date such as 2026-11-03 14:00.`);
}
