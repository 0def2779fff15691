// HTTP client of the dashboard: sign-in ticket, single requests, and event streams.

import {store} from './store';

const KEY = 'muster.ticket';

export class Refused extends Error {
  constructor(readonly status: number, words: string) {
    super(words);
  }
}

// Returns the message to show: the server's, or `silence` if there was no answer. (The browser's own message would be
// "Failed to fetch".) Pass `silence` where the page does not retry by itself.
export const troubleOf = (error: Error, silence = 'The manager does not respond; retrying.'): string =>
  error instanceof Refused ? error.message : silence;

export const UNANSWERED = 'The manager did not respond. Try again.';
export const UNCERTAIN = 'The manager did not respond. Check whether the action was done before you try again.';

// Returns the ticket after the # of the URL, or an empty string, and removes it from the URL. Browsers do not send that
// part to servers.
export function takeTicketFromAddress(): string {
  const match = /^#ticket=([^&]+)$/.exec(location.hash);
  if (!match) return '';
  history.replaceState(null, '', location.pathname + '#/');
  return match[1];
}

// Stores the ticket only if it is valid, since a link from another person must not sign the user out. If the server
// does not answer, stores it if there is no other ticket.
export async function tryTicket(given: string): Promise<boolean> {
  const answer = await fetch('/v1/me', {cache: 'no-store', credentials: 'omit', redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE_MS), headers: {Authorization: `Bearer ${given}`}}).catch(() => undefined);
  const silent = !answer || answer.status === 429 || answer.status >= 500;
  const good = silent ? !ticket.get() : answer.ok;
  if (good) ticket.set(given);
  return good;
}

let refusedHook: () => void = () => {};

// `hook` is called when the ticket in use is no longer valid.
export function whenRefused(hook: () => void): void {
  refusedHook = hook;
}

export const ticket = {
  get: (): string => store.get(KEY),
  set: (value: string): void => store.set(KEY, value),
  drop: (): void => store.drop(KEY),
};

// `hook` is called when another tab signs in as another user, or signs out. (A null key: the whole store was cleared.)
export function whenTicketMoves(hook: () => void): () => void {
  const look = (event: StorageEvent) => {
    if (event.key === KEY || event.key === null) hook();
  };
  window.addEventListener('storage', look);
  return () => window.removeEventListener('storage', look);
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  const mine = ticket.get();
  return mine ? {Authorization: `Bearer ${mine}`, ...more} : more;
}

async function refusal(answer: Response): Promise<Refused> {
  try {
    const body = await answer.json() as {error?: unknown};
    if (typeof body.error === 'string') return new Refused(answer.status, body.error);
  } catch {
    // Not JSON: report only the status.
  }
  return new Refused(answer.status, `the server answered ${answer.status}`);
}

async function ask(path: string, options: RequestInit): Promise<Response> {
  const used = ticket.get();
  const answer = await fetch(path, {cache: 'no-store', credentials: 'omit', redirect: 'error', ...options});
  if (answer.ok) return answer;
  // Ignore a late answer for a ticket that is no longer in use.
  if (answer.status === 401 && used === ticket.get()) refusedHook();
  throw await refusal(answer);
}

// A request fails after this time without data, so that a hanging connection does not block later requests.
const PATIENCE_MS = 20_000;
export const LONG_MS = 120_000;  // For requests that take the server long.

// Reads a complete answer. There is no limit on the total time while data keeps arriving.
async function whole(path: string, options: RequestInit, patience = PATIENCE_MS) {
  const held = leash(options.signal ?? undefined, patience);
  try {
    const answer = await ask(path, {...options, signal: held.signal});
    const reader = textOf(answer);
    let text = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return {text, headers: answer.headers};
      held.heard();
      text += value;
    }
  } catch (error) {
    throw held.signal.aborted ? held.signal.reason : error;
  } finally {
    held.free();
  }
}

export async function get<T>(path: string, signal?: AbortSignal, patience?: number): Promise<T> {
  return JSON.parse((await whole(path, {headers: headers(), signal}, patience)).text) as T;
}

export async function getText(path: string, signal?: AbortSignal): Promise<{text: string; headers: Headers}> {
  return await whole(path, {headers: headers(), signal});
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return JSON.parse((await whole(path, {
    method: 'POST', headers: headers({'Content-Type': 'application/json'}), body: JSON.stringify(body),
  })).text) as T;
}

// Returns "?a=1&b=x"; skips undefined and empty values.
export function query(parts: Record<string, string | number | undefined>): string {
  const given = Object.entries(parts).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return '?' + given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&');
}

export interface Listener {
  event(kind: string, data: string, id: string): void;
  up?(): void;
}

const SILENCE_MS = 40_000;  // The server sends a heartbeat every 15 s.
const HIDDEN_MS = 5_000;

export function whenSeen(signal: AbortSignal): Promise<void> {
  return new Promise(done => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      done();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

// Aborts with `signal`, and after `patience` ms without a call to heard().
function leash(signal: AbortSignal | undefined, patience: number) {
  const own = new AbortController();
  const follow = () => own.abort(signal?.reason);
  const silent = () => own.abort(new DOMException('No answer in time', 'TimeoutError'));
  let silence = window.setTimeout(silent, patience);
  if (signal?.aborted) follow();
  signal?.addEventListener('abort', follow);
  return {
    signal: own.signal,
    heard() {
      window.clearTimeout(silence);
      silence = window.setTimeout(silent, patience);
    },
    free() {
      window.clearTimeout(silence);
      signal?.removeEventListener('abort', follow);
    },
  };
}

const textOf = (answer: Response) => answer.body!.pipeThrough(new TextDecoderStream()).getReader();

// Aborts when the page has been hidden for a while: a browser opens at most six connections per server, and hidden tabs
// must not keep them.
function whileSeen(signal: AbortSignal) {
  const own = new AbortController();
  const end = () => own.abort(signal.reason);
  let timer = 0;
  const look = () => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(end, HIDDEN_MS);
  };
  look();
  signal.addEventListener('abort', end);
  document.addEventListener('visibilitychange', look);
  return {
    signal: own.signal,
    free() {
      window.clearTimeout(timer);
      signal.removeEventListener('abort', end);
      document.removeEventListener('visibilitychange', look);
    },
  };
}

// Reads one stream of server-sent events to its end; starts when the page is visible. (EventSource cannot send a
// token.) Returns 'hidden' if it stopped because the page was hidden.
export async function readStream(path: string, listener: Listener, signal: AbortSignal): Promise<'over' | 'hidden'> {
  await whenSeen(signal);
  if (signal.aborted) return 'over';
  const seen = whileSeen(signal);
  const held = leash(seen.signal, SILENCE_MS);
  try {
    await readEvents(path, listener, held);
    return 'over';
  } catch (error) {
    if (seen.signal.aborted && !signal.aborted) return 'hidden';
    throw error;
  } finally {
    held.free();
    seen.free();
  }
}

async function readEvents(path: string, listener: Listener, held: ReturnType<typeof leash>): Promise<void> {
  const answer = await ask(path, {headers: headers({Accept: 'text/event-stream'}), signal: held.signal});
  listener.up?.();
  const reader = textOf(answer);
  let rest = '';
  let [kind, id] = ['', ''];
  let data: string[] = [];
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    held.heard();
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) listener.event(kind, data.join('\n'), id);
        [kind, data] = ['', []];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      } else if (line.startsWith('event:')) {
        kind = line.slice(6).trim();
      } else if (line.startsWith('id:')) {
        id = line.slice(3).trim();
      }
    }
  }
}
