// Ways to start sooner, and the jobs after which it starts, as text from the server.

import type {Way} from '../types';

export function Ways(props: {ways: Way[]}) {
  if (props.ways.length === 0) return null;
  return (
    <ul class="ways">{props.ways.map((way, i) => (
      <li key={i} class={way.kind === 'after-ends' ? 'after' : ''}>{way.says}</li>
    ))}</ul>
  );
}
