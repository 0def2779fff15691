// Legend of the colors. A click highlights an entry.

import {useMemo} from 'preact/hooks';
import {useTheme} from '../theme';
import type {Timeline} from '../types';
import {legendOf, type ColorBy} from './shades';

export function Legend(props: {line: Timeline; colorBy: ColorBy; only: string | null;
  choose(only: string | null): void}) {
  const {line, colorBy, only} = props;
  const theme = useTheme();
  const legend = useMemo(() => legendOf(line, colorBy), [line, colorBy, theme]);
  if (colorBy === 'job') return <p class="muted gantt-legend">Each job has its own color; some colors are similar.</p>;
  return (
    <div class="gantt-legend" role="group" aria-label={colorBy === 'tenant' ? 'Tenants' : 'Causes of waiting'}>
      {legend.map(entry => (
        <button type="button" aria-pressed={entry.name === only}
          onClick={() => props.choose(entry.name === only ? null : entry.name)}>
          <span class="mark" style={{background: entry.color}} aria-hidden="true" />{entry.name || 'none'}
        </button>
      ))}
    </div>
  );
}
