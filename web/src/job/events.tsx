// Events of the job, newest first.

import {atSecond, exactly} from '../format';
import type {Event} from '../types';
import {useNow} from '../ui/bits';

export function Events(props: {events: Event[]}) {
  const now = useNow(60_000);
  const {events} = props;
  return (
    <section class="card" aria-label="Events">
      <h2>Events</h2>
      {events.length === 0 ? <p class="muted">No events recorded</p> : (
        <ol class="events">{[...events].reverse().map(event => (
          <li key={event.number}>
            <time class="event-when muted" title={exactly(event.at)}>{atSecond(event.at, now)}</time>
            <span class="event-kind">{event.kind}</span>
            <span class="event-words">{event.words}</span>
          </li>
        ))}</ol>
      )}
      {events.length >= 200 && <p class="muted">Latest 200 events.</p>}
    </section>
  );
}
