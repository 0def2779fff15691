// Loads the last part of a lease's output, then follows it.

import {useEffect, useRef, useState} from 'preact/hooks';
import {Refused, getText, query, readStream, troubleOf, whenSeen} from '../api';
import {pause} from '../live';
import {LogBuffer} from './logbuffer';

export interface Log {
  buffer: LogBuffer;
  before: number;        // Bytes before the loaded part.
  place?: Place;         // Absent until the first request.
  state: 'loading' | 'follows' | 'over' | 'paused' | 'broken' | 'none';
  words: string;         // Message for "broken" and "none".
  hold(held: boolean): void;  // While held, the user reads the current text, and it is not replaced.
}

const SHOW_MS = 120;     // Minimum time between two renders.
const FIRST_WAIT_MS = 500;
const LASTED_MS = 5000;  // A connection that ends sooner counts as failed.

export interface Place {
  job: number;
  lease: number;
  node: number;
  tail: number;          // Bytes from the end.
}

// Reads until the lease has ended or the page is hidden; returns which. Each call starts again at the tail, because
// offsets change when old parts of a log are dropped.
async function read(place: Place, log: Log, changed: () => void, signal: AbortSignal): Promise<'over' | 'hidden'> {
  const path = `/v1/jobs/${place.job}/log`;
  const part = {lease: place.lease, node: place.node};
  const found = await getText(path + query({...part, offset: -place.tail}), signal);
  const size = Number(found.headers.get('Muster-Log-Size') ?? 0);
  const cut = size > place.tail;
  const text = cut ? found.text.slice(found.text.indexOf('\n') + 1) : found.text;
  log.buffer = new LogBuffer();
  log.buffer.add(text);
  log.before = Math.max(0, size - place.tail);
  if (found.headers.get('Muster-Log-Over') === 'true') {
    log.state = 'over';
    changed();
    return 'over';
  }
  log.state = 'follows';
  changed();
  let over = false;
  const how = await readStream(path + query({...part, follow: 1, offset: size}), {
    event(kind, data) {
      if (kind === 'end') over = true;
      else log.buffer.add(JSON.parse(data) as string);
      changed();
    },
  }, signal);
  if (how === 'hidden') return how;
  if (!over) throw new Error('the connection broke');
  log.state = 'over';
  changed();
  return 'over';
}

// Initial state of a log.
function fresh(place?: Place): Log & {held: boolean; free?: () => void} {
  return {buffer: new LogBuffer(), before: 0, place, state: 'loading', words: '', held: false, hold(held) {
    this.held = held;
    if (!held) this.free?.();
  }};
}

export function useLog(place: Place | null): Log {
  const [, again] = useState(0);
  const log = useRef<Log>(fresh());
  const key = place && JSON.stringify(place);
  const part = place && `${place.job}/${place.lease}/${place.node}`;
  const shown = useRef(part);
  useEffect(() => {
    if (!place) return;
    const stop = new AbortController();
    const mine = fresh(place);
    log.current = mine;
    // When more of the same output loads, the old text stays until then; text of another lease disappears immediately.
    if (shown.current !== part) again(n => n + 1);
    shown.current = part;
    let timer = 0;
    const changed = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        again(n => n + 1);
      }, SHOW_MS);
    };
    // Waits until the user has finished reading, so that the text is not replaced.
    const readersDone = async () => {
      await whenSeen(stop.signal);
      if (!mine.held || stop.signal.aborted) return;
      mine.state = 'paused';
      changed();
      await new Promise<void>(done => {
        mine.free = done;
        stop.signal.addEventListener('abort', () => done());
      });
    };
    void (async () => {
      for (let wait = FIRST_WAIT_MS; !stop.signal.aborted;) {
        const begun = Date.now();
        try {
          if (await read(place, mine, changed, stop.signal) === 'over') return;
        } catch (problem) {
          if (stop.signal.aborted) return;
          const refused = problem instanceof Refused && problem.status < 500 && problem.status !== 429;
          mine.state = refused ? 'none' : 'broken';
          mine.words = troubleOf(problem as Error);
          changed();
          if (refused) return;
          wait = Date.now() - begun > LASTED_MS ? FIRST_WAIT_MS : Math.min(wait * 2, 8000);
          await pause(wait);
        }
        await readersDone();
      }
    })();
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [key]);
  return log.current;
}
