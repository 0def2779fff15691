// What would make it start sooner, and what it starts after, in the server's words.

import type {Way} from '../types';

export function Ways(props: {ways: Way[]}) {
  if (props.ways.length === 0) return null;
  return (
    <ul class="ways">{props.ways.map((way, i) => (
      <li key={i} class={way.kind === 'after-ends' ? 'after' : ''}>{way.says}</li>
    ))}</ul>
  );
}
