// Virtual table of any length: renders only the visible rows, which are loaded on demand.

import {Component, type ComponentChildren} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {isBrowsers} from './keys';

export interface Column<Row> {
  key: string;
  title: string;
  width: string;            // CSS grid track: "6rem", "minmax(8rem, 2fr)".
  sort?: string;            // Sort key of the server; absent: not sortable.
  hint?: string;            // Explanation in a tip.
  right?: boolean;          // Right-aligned, for numbers.
  cell(row: Row): ComponentChildren;  // Links must have tabIndex -1: rows are reused while scrolling.
}

const ROW = 34;       // Default row height in pixels.
const BEYOND = 8;    // Extra rows rendered above and below the visible ones.
// Browsers limit the height of elements to about 33 million pixels, some to 17 million.
const MOST_PIXELS = 15_000_000;

export interface VirtualProps<Row> {
  label: string;
  columns: Column<Row>[];
  total: number;
  rowHeight?: number;
  place?: string;                           // Identifies the list; a new list starts at the top.
  row(index: number): Row | undefined;      // Undefined: not loaded yet.
  wanted(first: number, last: number): void;  // Called with the visible rows when they change.
  rowKey(row: Row): string | number;
  open(row: Row): void;
  sort: string;
  order: 'asc' | 'desc';
  sortBy(sort: string, order: 'asc' | 'desc'): void;
  // Default order, shown at the column that matches it best.
  usual?: {column: string; order: 'asc' | 'desc'; words: string};
}

interface Span {
  at: number;       // First visible row.
  first: number;    // First rendered row; `last` is one after the last.
  last: number;
  visible: number;
  height: number;   // Height of the whole list in pixels.
  shift: number;    // Position of the first rendered row in it.
  scale: number;
}

// If a list is too high for the browser, the scroll position is scaled.
export function span(total: number, view: {top: number; height: number}, row = ROW): Span {
  const height = Math.min(MOST_PIXELS, total * row);
  const visible = Math.ceil(view.height / row);
  const scale = total * row > MOST_PIXELS ? (total * row - view.height) / (height - view.height) : 1;
  const at = Math.max(0, Math.min(Math.floor(view.top * scale / row), total - visible));
  const first = Math.max(0, at - BEYOND);
  const last = Math.min(total, at + visible + BEYOND);
  const shift = scale === 1 ? first * row : view.top - (at - first) * row;
  return {at, first, last, visible, height, shift, scale};
}

const ARROWS = {asc: ' ↑', desc: ' ↓'};

function Head<Row>(props: VirtualProps<Row>) {
  const {usual} = props;
  return (
    <div class="vhead" role="row">
      {props.columns.map(column => {
        const sorted = column.sort && props.sort === column.sort ? props.order : undefined;
        const marked = !props.sort && usual?.column === column.key ? usual : undefined;
        const shown = sorted ?? marked?.order;
        return (
          <div role="columnheader" class={`vcell ${column.right ? 'right' : ''}`} title={marked?.words ?? column.hint}
            aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : undefined}>
            {column.sort
              ? <button type="button" class="sort" onClick={() =>
                props.sortBy(column.sort!, sorted === 'asc' ? 'desc' : 'asc')}>
                {column.title}<span class="arrow" aria-hidden="true">{shown ? ARROWS[shown] : ''}</span>
              </button>
              : <>{column.title}<span class="arrow" aria-hidden="true">{shown ? ARROWS[shown] : ''}</span></>}
          </div>
        );
      })}
    </div>
  );
}

interface Left {
  place: string;
  index: number;
  key?: string | number;
  top: number;
}

// Position in each list when the user opened a row; "back" restores it.
const left = new Map<string, Left>();

// Returns the position to restore if the user came with "back": then the focus is on the body or on the main element.
// After a click in the navigation bar, the focus is still there.
function comingBack<Row>(props: VirtualProps<Row>): Left | undefined {
  const before = left.get(props.label);
  const {activeElement: focused} = document;
  const nowhere = !focused || focused === document.body || focused.id === 'main';
  return nowhere && before && before.place === props.place && before.index < props.total ? before : undefined;
}

// Keyboard handling and the selected row.
function useKeys<Row>(props: VirtualProps<Row>, box: {current: HTMLDivElement | null}, here: Span) {
  const {rowHeight = ROW} = props;
  const [chosen, setChosen] = useState<{index: number; key?: string | number}>({index: -1});
  const mounted = useRef(false);
  useLayoutEffect(() => {
    const back = mounted.current ? undefined : comingBack(props);
    mounted.current = true;
    if (box.current) box.current.scrollTop = back?.top ?? 0;
    if (back) box.current?.focus({preventScroll: true});
    setChosen(back ? {index: back.index, key: back.key} : {index: -1});
  }, [props.place]);
  // Rows may move; the selection follows the selected row while it is rendered.
  let index = chosen.index;
  const keyAt = (i: number) => {
    const row = i < 0 ? undefined : props.row(i);
    return row && props.rowKey(row);
  };
  if (index >= 0 && chosen.key !== undefined && keyAt(index) !== chosen.key) {
    for (let i = here.first; i < here.last; i++) if (keyAt(i) === chosen.key) index = i;
  }
  const choose = (i: number) => setChosen({index: i, key: keyAt(i)});
  const leave = (i: number) => {
    if (props.place === undefined) return;
    left.set(props.label, {place: props.place, index: i, key: keyAt(i), top: box.current?.scrollTop ?? 0});
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const element = box.current;
    if (!element || event.target !== element || isBrowsers(event)) return;
    const {visible, at, scale} = here;
    const moves: Record<string, number> = {ArrowDown: 1, ArrowUp: -1, PageDown: visible - 2, PageUp: 2 - visible,
      Home: -props.total, End: props.total};
    if (event.key === 'Enter') {
      const row = props.row(index);
      if (row) {
        leave(index);
        props.open(row);
      }
    }
    if (moves[event.key] === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(props.total - 1, Math.max(index, -1) + moves[event.key]));
    choose(next);
    if (next < at + 1) element.scrollTop = next * rowHeight / scale;
    else if (next >= at + visible - 2) element.scrollTop = (next - visible + 3) * rowHeight / scale;
  };
  return {index, choose, leave, onKeyDown};
}

interface RowProps<Row> {
  id: string;
  index: number;
  row: Row | undefined;
  columns: Column<Row>[];
  chosen: boolean;
  pick(index: number, row: Row, event: MouseEvent): void;
}

class OneRow<Row> extends Component<RowProps<Row>> {
  shouldComponentUpdate(next: RowProps<Row>): boolean {
    const {id, row, columns, chosen} = this.props;
    return id !== next.id || row !== next.row || columns !== next.columns || chosen !== next.chosen;
  }

  render({id, index, row, columns, chosen, pick}: RowProps<Row>) {
    return (
      <div id={id} role="row" aria-rowindex={index + 2} aria-selected={chosen} class={chosen ? 'vrow chosen' : 'vrow'}
        onClick={row && (event => pick(index, row, event))}>
        {row ? columns.map(column => (
          <div role="gridcell" class={column.right ? 'vcell right' : 'vcell'}>{column.cell(row)}</div>
        )) : <div role="gridcell" class="vcell muted">…</div>}
      </div>
    );
  }
}

let tables = 0;

export function VirtualTable<Row>(props: VirtualProps<Row>) {
  const {columns, total, rowHeight = ROW} = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({top: 0, height: 600});
  const [id] = useState(() => `vtable-${++tables}`);
  const look = () => {
    const element = box.current;
    if (element) setView({top: element.scrollTop, height: element.clientHeight});
  };
  useLayoutEffect(() => {
    look();
    const watch = new ResizeObserver(look);
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const here = span(total, view, rowHeight);
  const {first, last} = here;
  const keys = useKeys(props, box, here);
  const latest = useRef({props, keys});
  latest.current = {props, keys};
  // One stable function for all rows, so that a row renders only when it changed.
  const pick = useRef((index: number, row: Row, event: MouseEvent) => {
    latest.current.keys.choose(index);
    latest.current.keys.leave(index);
    box.current?.focus({preventScroll: true});
    if (!(event.target as HTMLElement).closest('a, button')) latest.current.props.open(row);
  });
  useEffect(() => {
    if (last > first) props.wanted(first, last);
  }, [first, last, total, props.place]);
  const rows = [];
  // Keyed by index, so that changes of the list update texts and create no elements. (Windows loaded at different times
  // may also contain the same row twice.)
  for (let i = first; i < last; i++) {
    rows.push(<OneRow key={i} id={`${id}-${i}`} index={i} row={props.row(i)} columns={columns}
      chosen={i === keys.index} pick={pick.current} />);
  }
  const active = keys.index >= first && keys.index < last ? `${id}-${keys.index}` : undefined;
  return (
    <div class="vtable" style={{'--list': `${here.height}px`}}>
      <div class="vbody" ref={box} role="grid"
        style={{'--columns': columns.map(column => column.width).join(' '), '--row': `${rowHeight}px`}}
        aria-rowcount={total + 1} onScroll={look} tabIndex={0}
        onKeyDown={keys.onKeyDown} aria-activedescendant={active}
        aria-label={`${props.label}: arrow keys move, Enter opens`}>
        <Head {...props} />
        <div class="vspace" style={{height: `${here.height}px`}}>
          <div class="vrows" style={{transform: `translateY(${here.shift}px)`}}>{rows}</div>
        </div>
      </div>
    </div>
  );
}
