// Form of the what-if card: a job request with changed fields.

export type Request = Record<string, unknown>;

export interface Field {
  key: string;
  title: string;
  hint: string;
  number?: boolean;
  duration?: boolean;  // Stored in seconds, entered as "4h".
}

export const FIELDS: Field[] = [
  {key: 'gpus', title: 'GPUs', hint: '1', number: true},
  {key: 'cpus', title: 'CPUs', hint: 'automatic', number: true},
  {key: 'mem', title: 'Memory', hint: 'automatic'},
  {key: 'priority', title: 'Priority', hint: '0', number: true},
  {key: 'tenant', title: 'Tenant', hint: 'default'},
  {key: 'estimate', title: 'Estimate', hint: 'none, or e.g. 4h', duration: true},
  {key: 'time_limit', title: 'Time limit', hint: 'none, or e.g. 12h', duration: true},
];

export type Form = Record<string, string>;

// "2h", "90m", "45s": the largest unit that gives an integer.
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

// Returns the changed request for a single job without hold and dependencies, because /v1/plan predicts no start for
// held jobs.
export function changed(request: Request, form: Form): Request {
  const asked: Request = {...request};
  for (const key of ['array', 'hold', 'after_ok', 'after_any']) delete asked[key];
  const before = formOf(request);
  for (const {key, number} of FIELDS) {
    const text = (form[key] ?? '').trim();
    if (text === before[key]) continue;
    // Invalid numbers are sent unchanged; the server reports the error.
    if (text === '') delete asked[key];
    else asked[key] = number && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  return asked;
}

// Quotes a word for sh.
export const shellWord = (word: unknown): string =>
  /^[\w@%+=:,./-]+$/.test(String(word)) ? String(word) : `'${String(word).replaceAll("'", "'\\''")}'`;

// Describes the changed fields: "GPUs 2, Priority 5".
export function difference(request: Request, form: Form): string {
  const before = formOf(request);
  return FIELDS.filter(({key}) => (form[key] ?? '').trim() !== before[key])
    .map(({key, title}) => `${title} ${(form[key] ?? '').trim() || 'not set'}`).join(', ');
}
