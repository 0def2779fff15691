// One lease's output: its last part, and what comes.

import {useEffect, useRef, useState} from 'preact/hooks';
import {Refused, getText, query, readStream, troubleOf, whenSeen} from '../api';
import {pause} from '../live';
import {LogBuffer} from './logbuffer';

export interface Log {
  buffer: LogBuffer;
  before: number;        // Bytes in front of what was asked for.
  state: 'loading' | 'follows' | 'over' | 'paused' | 'broken' | 'none';
  words: string;         // Of "broken" and "none".
  hold(held: boolean): void;  // Whether somebody reads what is there: then it stays until he has done.
}

const SHOW_MS = 120;     // Between two looks of the page at what came.
const FIRST_WAIT_MS = 500;
const LASTED_MS = 5000;  // One that ends sooner is as good as none.

interface Place {
  job: number;
  lease: number;
  node: number;
  tail: number;          // Bytes from the end.
}

// Reads until the lease is over or nobody looks; tells which. It begins anew at the tail each time: offsets move when
// old parts of a log are dropped, so there is no going on where it was.
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

// A log that nobody reads closely yet.
function fresh(): Log & {held: boolean; free?: () => void} {
  return {buffer: new LogBuffer(), before: 0, state: 'loading', words: '', held: false, hold(held) {
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
    const mine = fresh();
    log.current = mine;
    // More of the same stands until it is there; what is another's goes at once.
    if (shown.current !== part) again(n => n + 1);
    shown.current = part;
    let timer = 0;
    const changed = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        again(n => n + 1);
      }, SHOW_MS);
    };
    // What somebody reads is not taken from under his eyes.
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
