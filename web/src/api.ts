// Speaks with the server that handed out this page: who we are, one answer at a time, and the stream of what happens.

import {store} from './store';

const KEY = 'muster.ticket';

export class Refused extends Error {
  constructor(readonly status: number, words: string) {
    super(words);
  }
}

// For people: what the server said, or that it said nothing. ("Failed to fetch" is the browser's.) `silence`: where
// nobody tries again by himself.
export const troubleOf = (error: Error, silence = 'The manager does not answer; trying again.'): string =>
  error instanceof Refused ? error.message : silence;

export const UNANSWERED = 'The manager did not answer. Ask again.';
export const UNCERTAIN = 'The manager did not answer. Look whether it was done before you try again.';

// A ticket comes after the # of an address, which browsers keep to themselves; it is taken out of sight at once. Empty:
// there is none.
export function takeTicketFromAddress(): string {
  const match = /^#ticket=([^&]+)$/.exec(location.hash);
  if (!match) return '';
  history.replaceState(null, '', location.pathname + '#/');
  return match[1];
}

// Kept only if it is good, since a link somebody else wrote must not sign anybody out; or if the server does not say,
// and there is none to lose.
export async function tryTicket(given: string): Promise<boolean> {
  const answer = await fetch('/v1/me', {cache: 'no-store', credentials: 'omit', redirect: 'error',
    signal: AbortSignal.timeout(PATIENCE_MS), headers: {Authorization: `Bearer ${given}`}}).catch(() => undefined);
  const silent = !answer || answer.status === 429 || answer.status >= 500;
  const good = silent ? !ticket.get() : answer.ok;
  if (good) ticket.set(given);
  return good;
}

let refusedHook: () => void = () => {};

// Told when the ticket in use is good no more.
export function whenRefused(hook: () => void): void {
  refusedHook = hook;
}

export const ticket = {
  get: (): string => store.get(KEY),
  set: (value: string): void => store.set(KEY, value),
  drop: (): void => store.drop(KEY),
};

// Told when another tab signs in as somebody else, or out. (Without a key all of the store was emptied.)
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
    // Not JSON: the status has to do.
  }
  return new Refused(answer.status, `the server answered ${answer.status}`);
}

async function ask(path: string, options: RequestInit): Promise<Response> {
  const used = ticket.get();
  const answer = await fetch(path, {cache: 'no-store', credentials: 'omit', redirect: 'error', ...options});
  if (answer.ok) return answer;
  // Not if another one is in use by now: then this answer came late.
  if (answer.status === 401 && used === ticket.get()) refusedHook();
  throw await refusal(answer);
}

// Given up after a silence of so long: a connection that hangs must not hold up what is asked after it.
const PATIENCE_MS = 20_000;
export const LONG_MS = 120_000;  // Of what takes the server long.

// One whole answer. A large one over a slow line may take its time, as long as it comes.
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

// "?a=1&b=x" of what is given; nothing of what is empty.
export function query(parts: Record<string, string | number | undefined>): string {
  const given = Object.entries(parts).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return '';
  return '?' + given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&');
}

export interface Listener {
  event(kind: string, data: string, id: string): void;
  up?(): void;
}

const SILENCE_MS = 40_000;  // The server gives a sign of life every 15 s.
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

// Aborts with `signal`, and after a silence of `patience`.
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

// Aborts when the page has been hidden for a while: a browser has six connections to one server, and tabs that nobody
// sees must not keep them.
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

// Reads one stream of server-sent events to its end, once the page is seen. (EventSource cannot send a token.)
// 'hidden': it was left because nobody looks.
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
