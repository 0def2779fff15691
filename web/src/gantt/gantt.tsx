// Gantt chart of the dashboard: loads details of thinned data, and a click opens the job.

import {query} from '../api';
import {go, href} from '../route';
import {type CanvasProps, GanttCanvas} from './canvas';
import {useDetail} from './detail';

export interface GanttProps extends Omit<CanvasProps, 'open'> {
  run?: number;          // Key of the opened run; absent: the live manager.
  opens: boolean;        // A click on a lease opens its job.
}

export function Gantt(props: GanttProps) {
  const {run, opens, ...rest} = props;
  const line = useDetail(props.line, props.time, (from, to) => '/v1/timeline' + query({run, from, to}),
    props.now !== null);
  return <GanttCanvas {...rest} line={line} open={opens ? id => go(href('job', [id])) : undefined} />;
}
