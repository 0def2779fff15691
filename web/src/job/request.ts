// "What if I asked for...": a request with other fields.

export type Request = Record<string, unknown>;

export interface Field {
  key: string;
  title: string;
  hint: string;
  number?: boolean;
  duration?: boolean;  // Kept in seconds, written by people as "4h".
}

export const FIELDS: Field[] = [
  {key: 'gpus', title: 'GPUs', hint: '1', number: true},
  {key: 'cpus', title: 'CPUs', hint: 'as it comes', number: true},
  {key: 'mem', title: 'Memory', hint: 'as it comes'},
  {key: 'priority', title: 'Priority', hint: '0', number: true},
  {key: 'tenant', title: 'Tenant', hint: 'the usual one'},
  {key: 'estimate', title: 'Estimate', hint: 'none, or 4h', duration: true},
  {key: 'time_limit', title: 'Time limit', hint: 'none, or 12h', duration: true},
];

export type Form = Record<string, string>;

// "2h", "90m", "45s": the largest unit of which it is a whole number.
function durationText(seconds: number): string {
  for (const [unit, length] of [['h', 3600], ['m', 60]] as const) {
    if (seconds > 0 && seconds % length === 0) return `${seconds / length}${unit}`;
  }
  return `${seconds}s`;
}

export function formOf(request: Request): Form {
  const form: Form = {};
  for (const {key, duration} of FIELDS) {
    const value = request[key];
    if (value === undefined || value === null || typeof value === 'object') form[key] = '';
    else form[key] = duration && typeof value === 'number' ? durationText(value) : String(value);
  }
  return form;
}

// What would be asked for: one job, to start as soon as it can, since plan says only "would be held" of others.
export function changed(request: Request, form: Form): Request {
  const asked: Request = {...request};
  for (const key of ['array', 'hold', 'after_ok', 'after_any']) delete asked[key];
  const before = formOf(request);
  for (const {key, number} of FIELDS) {
    const text = (form[key] ?? '').trim();
    if (text === before[key]) continue;
    // What is no number goes as it is; the server says what is wrong with it.
    if (text === '') delete asked[key];
    else asked[key] = number && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  return asked;
}

// As it would be written on a command line of sh.
export const shellWord = (word: unknown): string =>
  /^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`;

// "2 GPUs, priority 5": what is different.
export function difference(request: Request, form: Form): string {
  const before = formOf(request);
  return FIELDS.filter(({key}) => (form[key] ?? '').trim() !== before[key])
    .map(({key, title}) => `${title} ${(form[key] ?? '').trim() || 'not given'}`).join(', ');
}
