// Output of the job, live and searchable. The view follows the end until the user scrolls up.

import {Component} from 'preact';
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {count, many} from '../format';
import type {WholeJob} from '../types';
import type {Block} from './logbuffer';
import {linesWith, pieces, step} from './logsearch';
import {type Jump, MOST_TAIL, type Target, useJump} from './logtarget';
import {type Log, useLog} from './uselog';

const TAIL = 65_536;

interface BlockProps {
  block: Block;
  needle: string;
  at: number;    // Current line of the search; -1: not in this block.
}

// Renders only after a change. Invisible blocks have no layout (content-visibility).
class BlockLines extends Component<BlockProps> {
  shouldComponentUpdate(next: BlockProps): boolean {
    const {block, needle, at} = this.props;
    return block !== next.block || needle !== next.needle || at !== next.at;
  }

  render({block, needle, at}: BlockProps) {
    return (
      <div class="log-block" style={{'--lines': block.lines.length}}>
        {block.lines.map((line, i) => <Line key={i} line={line} needle={needle} here={block.number + i === at} />)}
      </div>
    );
  }
}

function Line(props: {line: string; needle: string; here: boolean}) {
  return (
    <div class={props.here ? 'log-line here' : 'log-line'}>
      {pieces(props.line, props.needle).map(piece => piece.hit ? <mark>{piece.text}</mark> : piece.text)}{'\n'}
    </div>
  );
}

function Above(props: {log: Log; more(): void; canMore: boolean}) {
  const {buffer, before} = props.log;
  if (before === 0 && buffer.dropped === 0) return null;
  return (
    <p class="log-above muted">
      {before > 0 && `${count(Math.ceil(before / 1024))} KiB of earlier output. `}
      {buffer.dropped > 0 && `${many(buffer.dropped, 'line')} dropped from this view. `}
      {props.canMore && before > 0 && <button type="button" class="button" onClick={props.more}>Show more</button>}
      {!props.canMore && <>Full output: <code>muster logs</code></>}
    </p>
  );
}

// Scrolls the found line to the middle of the box, without scrolling the page. Heights of invisible blocks are
// estimates, so it corrects the position in the next frame.
function center(box: HTMLElement, again = true): void {
  const line = box.querySelector('.log-line.here');
  if (!line) return;
  const [mine, its] = [box.getBoundingClientRect(), line.getBoundingClientRect()];
  box.scrollTop += its.top - mine.top - (mine.height - its.height) / 2;
  if (again) requestAnimationFrame(() => center(box, false));
}

// Keeps the box scrolled to the end until the user scrolls up. Rendered blocks are mostly higher than estimated, so it
// scrolls again whenever the lines grow. If no lines were removed, only the user can have scrolled up.
function useEnd() {
  const box = useRef<HTMLDivElement>(null);
  const lines = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const seen = useRef({top: 0, height: 0});
  const end = (element: HTMLElement) => {
    element.scrollTop = element.scrollHeight;
    seen.current = {top: element.scrollTop, height: element.scrollHeight};
  };
  useLayoutEffect(() => {
    if (!atEnd) return;
    const watch = new ResizeObserver(() => end(box.current!));
    watch.observe(lines.current!);
    return () => watch.disconnect();
  }, [atEnd]);
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const {scrollTop: top, scrollHeight: height} = element;
    const moved = top < seen.current.top && height >= seen.current.height;
    seen.current = {top, height};
    const rest = height - top - element.clientHeight;
    if (rest < 2 || (rest < 30 && !moved)) setAtEnd(true);
    else if (moved) setAtEnd(false);
  };
  return {box, lines, atEnd, onScroll, toEnd: () => setAtEnd(true), leave: () => setAtEnd(false)};
}

function Find(props: {needle: string; setNeedle(text: string): void; found: number[]; at: number;
  move(by: 1 | -1): void}) {
  const {needle, found, at} = props;
  const place = found.indexOf(at);
  return (
    <span class="log-find">
      <input type="search" placeholder="Find" aria-label="Find in the output" spellcheck={false} value={needle}
        onInput={event => props.setNeedle(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') props.move(event.shiftKey ? -1 : 1);
          if (event.key === 'Escape') props.setNeedle('');
        }} />
      {needle && <span class="muted" role="status">
        {place >= 0 ? `${count(place + 1)} of ${many(found.length, 'line')}` : many(found.length, 'line')}</span>}
      <button type="button" class="button" disabled={found.length === 0} aria-label="Previous line found"
        onClick={() => props.move(-1)}>↑</button>
      <button type="button" class="button" disabled={found.length === 0} aria-label="Next line found"
        onClick={() => props.move(1)}>↓</button>
    </span>
  );
}

function Output(props: {log: Log; reads: {current: boolean}; more(): void; canMore: boolean; wrap: boolean;
  needle: string; setNeedle(text: string): void; jump?: Jump}) {
  const {log, needle, jump} = props;
  const {blocks, tail, dropped, kept} = log.buffer;
  const {box, lines, atEnd, onScroll, toEnd, leave} = useEnd();
  const [at, setAt] = useState(-1);
  const found = useMemo(() => linesWith(blocks, needle), [blocks, blocks[blocks.length - 1], needle]);
  useEffect(() => {
    log.hold(!atEnd);
    props.reads.current = !atEnd;
    return () => {
      props.reads.current = false;
    };
  }, [log, atEnd]);
  useEffect(() => setAt(-1), [needle]);
  // Before the browser reports that the box was at its end, which would follow the end again.
  useLayoutEffect(() => {
    if (at >= 0 && box.current) center(box.current);
  }, [at]);
  useEffect(() => {
    if (!jump || !box.current) return;
    leave();
    setAt(jump.line);
    center(box.current);  // Again, if the user has scrolled away from the same line.
    box.current.focus({preventScroll: true});
    box.current.closest('.card')?.scrollIntoView({block: 'nearest'});
  }, [jump]);
  const move = (by: 1 | -1) => {
    leave();
    setAt(step(found, at < 0 && by < 0 ? Infinity : at, by));
  };
  return (
    <>
      <Find needle={needle} setNeedle={props.setNeedle} found={found} at={at} move={move} />
      <div class="log-frame">
        <div class={`log ${props.wrap ? 'wrap' : ''}`} ref={box} onScroll={onScroll} tabIndex={0} role="log"
          aria-label="Output" aria-live="off">
          <div ref={lines}>
            <Above log={log} more={props.more} canMore={props.canMore} />
            {blocks.map(block => (
              <BlockLines key={block.number} block={block} needle={needle}
                at={at >= block.number && at < block.number + block.lines.length ? at : -1} />
            ))}
            {tail && <Line line={tail} needle={needle} here={at === dropped + kept} />}
            {blocks.length === 0 && !tail && log.state !== 'loading' && <p class="muted">No output</p>}
          </div>
        </div>
        {!atEnd && <button type="button" class="button primary log-end" onClick={toEnd}>
          {TO_THE_END[log.state] ?? 'Go to the end ↓'}</button>}
      </div>
    </>
  );
}

const TO_THE_END: Partial<Record<Log['state'], string>> = {
  follows: 'Follow the output ↓', paused: 'Show new output ↓',
};

const STATE: Record<Log['state'], string> = {
  loading: 'loading…', follows: 'following', over: 'complete', paused: 'paused', broken: 'reconnecting…', none: '',
};

function Choice(props: {label: string; value: number; options: {value: number; text: string}[];
  choose(value: number): void}) {
  return (
    <select aria-label={props.label} value={props.value}
      onChange={event => props.choose(Number(event.currentTarget.value))}>
      {props.options.map(({value, text}) => <option key={value} value={value}>{text}</option>)}
    </select>
  );
}

export function Logs(props: {job: WholeJob; target?: Target}) {
  const leases = [...props.job.leases].sort((a, b) => b.number - a.number);
  const latest = leases[0]?.number ?? 0;
  const [chosen, choose] = useState(0);  // 0: the latest lease.
  const [node, setNode] = useState(0);
  const [tail, setTail] = useState(TAIL);
  const [wrap, setWrap] = useState(true);
  const [needle, setNeedle] = useState('');
  // A user who reads the output of a lease keeps it when the next lease starts.
  const [, again] = useState(0);
  const reads = useRef(false);
  const followed = useRef(0);
  if (!reads.current || followed.current === 0) followed.current = latest;
  const lease = leases.find(one => one.number === (chosen || followed.current));
  const servers = lease?.where.split(',').map(place => place.split(':')[0]) ?? [];
  const rank = Math.min(node, servers.length - 1);
  // There is no output before the processes have started.
  const up = lease?.started !== undefined || lease?.ended !== undefined;
  const log = useLog(lease && up ? {job: props.job.id, lease: lease.number, node: rank, tail} : null);
  const pick = (number: number) => {
    reads.current = false;
    again(n => n + 1);
    choose(number === latest ? 0 : number);
    setNode(0);
  };
  const {jump, missing, cancel} = useJump(props.target, log, servers.length,
    {lease: pick, node: setNode, all: () => setTail(MOST_TAIL)});
  if (!lease) return null;
  const place = `${lease.number}-${rank}`;
  return (
    <section class="card job-logs" aria-label="Output">
      <div class="log-bar">
        <h2>Output</h2>
        {leases.length > 1 && <Choice label="Lease" value={lease.number} choose={number => {
          cancel();
          pick(number);
        }} options={leases.map(({number}) =>
          ({value: number, text: `lease ${number}${number === latest ? ' (latest)' : ''}`}))} />}
        {servers.length > 1 && <Choice label="Node" value={rank} choose={number => {
          cancel();
          setNode(number);
        }} options={servers.map((text, value) => ({value, text}))} />}
        <label class="log-wrap"><input type="checkbox" checked={wrap} onChange={() => setWrap(!wrap)} />
          {' '}Wrap lines</label>
        <span class={`log-state ${log.state}`} role="status">{up && STATE[log.state]}</span>
      </div>
      {!up && <p class="muted">The processes are starting.</p>}
      {missing > 0 && <p class="muted" role="status">Line {missing} is not in the loaded part of the output. Full
        output: <code>muster logs</code></p>}
      {log.state === 'none' && <p class="muted">{log.words}</p>}
      {log.state === 'broken' && <p class="trouble" role="alert">{log.words}</p>}
      {up && log.state !== 'none' && <Output key={place} log={log} reads={reads} wrap={wrap}
        jump={jump?.place === place ? jump : undefined} needle={needle} setNeedle={setNeedle} canMore={tail < MOST_TAIL}
        more={() => setTail(Math.min(MOST_TAIL, tail * 4))} />}
    </section>
  );
}
