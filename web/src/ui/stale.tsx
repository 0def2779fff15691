// What is said when a question had no good answer.

import {Refused, troubleOf} from '../api';

export function Trouble(props: {error: Error; more?: string}) {
  const refused = props.error instanceof Refused;
  return <p class={refused ? 'trouble' : 'trouble gone'} role="alert">{troubleOf(props.error)}
    {!refused && props.more}</p>;
}

// Above what is still shown.
export function Stale(props: {error?: Error}) {
  return props.error ? <Trouble error={props.error} more=" What you see may be old." /> : null;
}
