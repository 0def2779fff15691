// Map of the fleet: a card per node, a square per GPU. It updates every second, also with hundreds of nodes. So cards
// that are unchanged or invisible are not rendered again, and one listener serves all squares.

import type {RefObject} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {gib, many, number, percent} from '../format';
import {href} from '../route';
import {FREE, RESERVED, type Fleet, type FleetJob, type FleetNode} from '../types';
import {Meter, NodeLink, StateBadge} from '../ui/bits';
import {isBrowsers} from '../ui/keys';
import {hideTip, showTip} from '../ui/tip';
import {type Drawn, type Mode, byRack, crowd, draw, standing, words} from './fleet_map';

function holderOf(node: FleetNode, gpu: number, job: FleetJob | undefined): string {
  if (job) return job.name === undefined ? `job ${job.id}` : `job ${job.id}, ${job.name}`;
  return words[standing(node.gpus[gpu])];
}

function square(node: FleetNode, gpu: number, look: string, job: FleetJob | undefined) {
  // The user cannot open other users' jobs, which have no name here.
  const address = job?.name === undefined ? undefined : href('job', [job.id]);
  return <a key={gpu} class={`gpu ${look}`} href={address} role={address ? undefined : 'img'} tabIndex={-1}
    data-gpu={gpu} data-job={job?.id} aria-label={`GPU ${gpu} of ${node.name}: ${holderOf(node, gpu, job)}`} />;
}

function Card(props: {fleet: Fleet; node: FleetNode; mode: Mode; seen: boolean}) {
  const {fleet, node, mode} = props;
  const last = useRef<Drawn | null>(null);
  if (props.seen || !last.current) last.current = draw(fleet, node, mode);
  const drawn = last.current;
  return useMemo(() => (
    <article class={`server ${node.state}`} data-node={node.name}>
      <header class="server-head">
        <span class="server-name" title={node.name}><NodeLink name={node.name} /></span>
        {node.state === 'open'
          ? <span class="server-free" title={`${drawn.free} of ${
            many(node.gpus.length, 'GPU')} free${drawn.reserved > 0 ? `, ${drawn.reserved} reserved` : ''}`}>
            {drawn.free}{drawn.reserved === 0 && `/${node.gpus.length}`}<span class="server-word"> free
              {drawn.reserved > 0 && `, ${drawn.reserved} reserved`}</span></span>
          : <span title={node.why}><StateBadge state={node.state} /></span>}
      </header>
      <div class="squares">
        {drawn.looks.map((look, gpu) => square(node, gpu, look, drawn.jobs[gpu]))}
      </div>
      <div class="server-foot">
        <span class="server-word">CPU</span>
        <Meter part={node.cpus - node.cpus_free} of={node.cpus}
          label={`CPUs: ${number(node.cpus_free)} of ${number(node.cpus)} free`} />
        <span class="server-word">memory</span>
        <Meter part={node.mem_gib - node.mem_free_gib} of={node.mem_gib}
          label={`Memory: ${gib(node.mem_free_gib)} of ${gib(node.mem_gib)} free`} />
      </div>
    </article>
  ), [drawn.key]);
}

function JobLines(props: {job: FleetJob; fleet: Fleet}) {
  const {job, fleet} = props;
  const tenant = fleet.tenants.length > 1 ? `tenant ${fleet.tenants[job.tenant]}` : undefined;
  const whose = [job.user, tenant].filter(Boolean).join(', ');
  return (
    <>
      <p><b>{job.name ?? 'another user\'s job'}</b> · job {job.id}{job.state !== 'running' && `, ${job.state}`}</p>
      {whose && <p>{whose}</p>}
      <p>{many(job.gpus, 'GPU')}, {number(job.cpus)} CPUs, {gib(job.mem_gib)}</p>
      {job.speed !== undefined &&
        <p>{percent(job.speed)} of its full speed{job.starved && ': short of CPU or memory'}</p>}
    </>
  );
}

function SquareTip(props: {fleet: Fleet; node: FleetNode; gpu: number}) {
  const {fleet, node, gpu} = props;
  const job = fleet.jobs[node.gpus[gpu]] as FleetJob | undefined;
  const use = fleet.use_of === 'none' ? null : node.use?.[gpu] ?? null;
  return (
    <>
      {job ? <JobLines job={job} fleet={fleet} /> : <p><b>{holderOf(node, gpu, job)}</b>
        {node.gpus[gpu] === RESERVED && fleet.reserved?.length === 1 && ` for job ${fleet.reserved[0].job}`}</p>}
      <p class="tip-where">GPU {gpu} of {node.name}, {node.gpu_type}{fleet.use_of === 'cpu' && ' (virtual)'}
        {use !== null && ` · ${fleet.use_of === 'cpu' ? 'its CPUs' : 'GPU'} ${percent(use)} busy`}</p>
      {node.state !== 'open' && <p>node {node.state}{node.why && `: ${node.why}`}</p>}
    </>
  );
}

// Highlights all squares of the job that is under the pointer or has the focus.
function light(box: HTMLElement, job: string | undefined): void {
  for (const square of box.querySelectorAll('[data-lit]')) square.removeAttribute('data-lit');
  box.toggleAttribute('data-lighting', job !== undefined);
  if (job === undefined) return;
  for (const square of box.querySelectorAll(`[data-job="${CSS.escape(job)}"]`)) square.setAttribute('data-lit', '');
}

function squareAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('.gpu') : null;
}

// Shows a tip for the square under the pointer or with the focus, and updates it with new data.
function usePointing(fleet: Fleet, box: RefObject<HTMLDivElement>) {
  const at = useRef<{square: HTMLElement; x: number; y: number} | null>(null);
  const tell = () => {
    if (!box.current) return;
    if (!at.current?.square.isConnected) return leave();
    const {square, x, y} = at.current;
    const name = square.closest<HTMLElement>('.server')?.dataset.node;
    const node = fleet.nodes.find(one => one.name === name);
    if (!node) return;
    light(box.current, square.dataset.job);
    showTip(x, y, <SquareTip fleet={fleet} node={node} gpu={Number(square.dataset.gpu)} />);
  };
  const leave = () => {
    if (!at.current) return;
    at.current = null;
    if (box.current) light(box.current, undefined);
    hideTip();
  };
  useEffect(() => {
    if (at.current) tell();
  }, [fleet]);
  useEffect(() => hideTip, []);
  const point = (square: HTMLElement | null, x: number, y: number) => {
    if (!square) return leave();
    at.current = {square, x, y};
    tell();
  };
  return {
    onMouseOver: (event: MouseEvent) => point(squareAt(event.target), event.clientX, event.clientY),
    onMouseLeave: leave,
    onFocusIn: (event: FocusEvent) => {
      const square = squareAt(event.target);
      const place = square?.getBoundingClientRect();
      point(square, place?.right ?? 0, place?.bottom ?? 0);
    },
    onFocusOut: leave,
  };
}

// Left and right move between GPUs, up and down between nodes.
function move(event: KeyboardEvent, box: HTMLElement): void {
  const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1}[event.key];
  if (!step || isBrowsers(event)) return;
  event.preventDefault();
  const from = squareAt(event.target);
  const servers = [...box.querySelectorAll<HTMLElement>('.server')];
  const squares = (server: HTMLElement | undefined) => [...server?.querySelectorAll<HTMLElement>('.gpu') ?? []];
  if (!from) {  // On the name of a node, or on the whole map.
    const near = (event.target as Element).closest<HTMLElement>('.server');
    return squares(near ?? servers[0])[0]?.focus();
  }
  const here = servers.indexOf(from.closest<HTMLElement>('.server')!);
  const gpu = Number(from.dataset.gpu);
  const next = servers[here + step];
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    const there = squares(next);
    return there[Math.min(gpu, there.length - 1)]?.focus();
  }
  const there = squares(next);
  (squares(servers[here])[gpu + step] ?? there[step === 1 ? 0 : there.length - 1])?.focus();
}

const NEARLY = '400px';  // Cards within this distance count as visible.

// Names of the nodes with visible cards; empty until known.
function useInSight(box: RefObject<HTMLDivElement>, nodes: FleetNode[]): Set<string> {
  const [seen, setSeen] = useState(new Set<string>());
  const names = nodes.map(node => node.name).join('\n');
  useEffect(() => {
    const watch = new IntersectionObserver(changes => setSeen(old => {
      const next = new Set(old);
      for (const {target, isIntersecting} of changes) {
        const name = (target as HTMLElement).dataset.node!;
        if (isIntersecting) next.add(name);
        else next.delete(name);
      }
      return next;
    }), {rootMargin: `${NEARLY} 0px`});
    for (const card of box.current?.querySelectorAll('.server') ?? []) watch.observe(card);
    return () => watch.disconnect();
  }, [names]);
  return seen;
}

function Rack(props: {rack: string; nodes: FleetNode[]}) {
  const gpus = props.nodes.reduce((sum, node) => sum + node.gpus.length, 0);
  const free = props.nodes.reduce((sum, node) => sum + node.gpus.filter(holder => holder === FREE).length, 0);
  const reserved = props.nodes.reduce((sum, node) => sum + node.gpus.filter(one => one === RESERVED).length, 0);
  return (
    <h2 class="rack">{props.rack} <span class="muted">{many(props.nodes.length, 'node')}, {free} of {gpus} GPUs
      free{reserved > 0 && `, ${reserved} reserved`}</span></h2>
  );
}

export function FleetCards(props: {fleet: Fleet; nodes: FleetNode[]; mode: Mode}) {
  const {fleet, nodes, mode} = props;
  const box = useRef<HTMLDivElement>(null);
  const pointing = usePointing(fleet, box);
  const seen = useInSight(box, nodes);
  const columns = fleet.nodes.some(node => node.gpus.length > 4) ? 8 : 4;
  return (
    <div ref={box} class={`map ${crowd(fleet.nodes.length)} in-${columns}`} tabIndex={0} role="group"
      aria-label="GPUs: left and right move between GPUs, up and down between nodes, Enter opens the job"
      onKeyDown={event => move(event, event.currentTarget)} {...pointing}>
      {byRack(nodes).map(group => (
        <section key={group.rack ?? ''} aria-label={group.rack}>
          {group.rack && <Rack rack={group.rack} nodes={group.nodes} />}
          <div class="cards">
            {group.nodes.map(node =>
              <Card key={node.name} fleet={fleet} node={node} mode={mode} seen={seen.has(node.name)} />)}
          </div>
        </section>
      ))}
    </div>
  );
}
