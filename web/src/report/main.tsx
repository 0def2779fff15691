// Script of a report, a self-contained HTML file that muster writes. The file contains the text and tables; this script
// draws plots and Gantt charts with the dashboard's code. It sends no requests.

import {type ComponentChild, render} from 'preact';
import {useMemo} from 'preact/hooks';
import {GanttCanvas} from '../gantt/canvas';
import {TimeView} from '../gantt/layout';
import {PlotBody} from '../ui/plot';
import {TipLayer} from '../ui/tip';
import {type Gantt, parseData, timelineOf} from './data';
import {startPage} from './page';
import './report.css';

const ROOM = 560;  // Maximum height of a Gantt chart in pixels.

function GanttView(props: {gantt: Gantt}) {
  const {gantt} = props;
  const line = useMemo(() => timelineOf(gantt), [gantt]);
  const time = useMemo(() => new TimeView(line.from, line.to, 'run'), [line]);
  return <GanttCanvas label={gantt.title} line={line} time={time} colorBy="job" only={null} room={ROOM} now={null}
    scrolls />;
}

const hosts = (kind: string): Element[] => [...document.querySelectorAll(`figure.${kind} .draw`)];

// Draws one chart per task, so that the page stays responsive.
function drawAll(drawings: [ComponentChild, Element][]): void {
  const [first, ...rest] = drawings;
  if (!first) return void performance.mark('page-drawn');
  render(...first);
  window.setTimeout(() => drawAll(rest));
}

function start(): void {
  const data = parseData(document.getElementById('_data')!.textContent!);
  startPage(data);
  render(<TipLayer />, document.getElementById('_tip')!);
  performance.mark('page-ready');
  const [plots, gantts] = [hosts('plot'), hosts('gantt')];
  drawAll([...data.plots.map((plot, i): [ComponentChild, Element] => [<PlotBody plot={plot} />, plots[i]]),
    ...data.gantts.map((gantt, i): [ComponentChild, Element] => [<GanttView gantt={gantt} />, gantts[i]])]);
}

start();
