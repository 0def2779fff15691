// GPU timelines of two runs, one above the other, with a common zoom and a common highlighted job.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Gantt} from '../gantt/gantt';
import {TimeView} from '../gantt/layout';
import {Legend} from '../gantt/legend';
import type {ColorBy} from '../gantt/shades';
import {useData} from '../live';
import {withTenants} from '../tenants';
import type {Opened, Timeline} from '../types';
import {Waiting} from '../ui/bits';
import {ColorToggle} from './timeline';

const ROOM = 420;  // Maximum height of each in pixels.

// Leases of whole runs are megabytes, so they load only when the user scrolls near.
function useSeen() {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) setSeen(true);
    }, {rootMargin: '600px'});
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return {box, seen};
}

function Pair(props: {runs: Opened[]; lines: Timeline[]}) {
  const {runs, lines} = props;
  const [colorBy, setColorBy] = useState<ColorBy>('job');
  const [only, setOnly] = useState<string | null>(null);
  const time = useMemo(() => new TimeView(Math.min(...lines.map(line => line.from)),
    Math.max(...lines.map(line => line.to)), 'run'), [lines[0], lines[1]]);
  return (
    <>
      <div class="row">
        <ColorToggle value={colorBy} choose={value => {
          setOnly(null);
          setColorBy(value);
        }} />
      </div>
      <Legend line={lines[0]} colorBy={colorBy} only={only} choose={setOnly} />
      {lines.map((line, i) => (
        <div class="compare-gantt" key={runs[i].key}>
          <h3>{runs[i].name}</h3>
          <Gantt label={runs[i].name} line={line} run={runs[i].key} time={time} colorBy={colorBy} only={only}
            room={ROOM} now={null} opens={false} scrolls />
          {line.thinned && <p class="muted" role="note">Thinned: {line.thinned}</p>}
        </div>
      ))}
    </>
  );
}

export function TwoGantts(props: {runs: Opened[]}) {
  const [a, b] = props.runs;
  const {box, seen} = useSeen();
  const first = useData<Timeline>(seen ? `/v1/timeline?run=${a.key}` : null, {still: true});
  const second = useData<Timeline>(seen ? `/v1/timeline?run=${b.key}` : null, {still: true});
  const both = useMemo(() => first.data && second.data && [withTenants(first.data), withTenants(second.data)],
    [first.data, second.data]);
  return <div ref={box} class="compare-gantts">{both ? <Pair runs={props.runs} lines={both} />
    : <Waiting error={first.error ?? second.error} what="the leases of both runs" />}</div>;
}
