// Messages for failed requests.

import {Refused, troubleOf} from '../api';

export function Trouble(props: {error: Error; more?: string}) {
  const refused = props.error instanceof Refused;
  return <p class={refused ? 'trouble' : 'trouble gone'} role="alert">{troubleOf(props.error)}
    {!refused && props.more}</p>;
}

// Says why buttons are disabled; `why` is empty if they are not. Names the reason once, next to the buttons.
export function Disabled(props: {why: string}) {
  return props.why ? <span class="muted" role="status">{props.why}</span> : null;
}

// Shown above data that could not be refreshed.
export function Stale(props: {error?: Error}) {
  return props.error ? <Trouble error={props.error} more=" The data may be out of date." /> : null;
}
