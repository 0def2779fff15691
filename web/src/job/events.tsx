// The job's story, event by event, the latest first.

import {atSecond, exactly} from '../format';
import type {Event} from '../types';
import {useNow} from '../ui/bits';

export function Events(props: {events: Event[]}) {
  const now = useNow(60_000);
  const {events} = props;
  return (
    <section class="card" aria-label="Events">
      <h2>What happened</h2>
      {events.length === 0 ? <p class="muted">Nothing is remembered.</p> : (
        <ol class="events">{[...events].reverse().map(event => (
          <li key={event.number}>
            <time class="event-when muted" title={exactly(event.at)}>{atSecond(event.at, now)}</time>
            <span class="event-kind">{event.kind}</span>
            <span class="event-words">{event.words}</span>
          </li>
        ))}</ol>
      )}
      {events.length >= 200 && <p class="muted">The latest 200.</p>}
    </section>
  );
}
