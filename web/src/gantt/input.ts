// Wheel, pointer and keyboard input of a chart.

import {isBrowsers} from '../ui/keys';
import type {Stage} from './stage';

const A_NOTCH = 1.0018;   // Zoom factor per wheel pixel.
const STEP = 0.1;         // Fraction of the window per arrow key.
const A_CLICK = 4;        // Maximum movement in pixels during a click.
const A_SECOND_CLICK_MS = 220;  // Time to wait for a double-click: one click opens a job, two show all.

export interface Handlers {
  hover(bar: number, x: number, y: number, inStrips: boolean): void;  // x, y: window coordinates, for a tip.
  leave(): void;
  open(bar: number): void;
  keyed(key: string): void;  // Called after a handled key.
  // Whether the chart handles the wheel. On a page that scrolls, only while the chart has the focus.
  wheelIsOurs(event: WheelEvent): boolean;
}

interface Held {
  x: number;
  y: number;
  startX: number;
  startY: number;
  moved: boolean;
}

export function zoomTime(stage: Stage, factor: number): void {
  stage.time.zoom(factor);
  stage.time.changed();
}

export function showAll(stage: Stage): void {
  stage.time.all();
  stage.rows.all();
  stage.time.changed();
}

function turn(stage: Stage, event: WheelEvent): void {
  const {frame, time, rows} = stage;
  const lines = event.deltaMode === 1 ? 16 : 1;
  const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
  const at = (event.offsetX - frame.gutter) / frame.width;
  // With Shift, browsers report horizontal wheel movement.
  if (event.shiftKey) {
    const down = Math.max(0, Math.min(1, (event.offsetY - frame.top) / frame.height));
    rows.zoom(A_NOTCH ** (dy || dx), down);
  } else if (Math.abs(dx) > Math.abs(dy)) {
    time.pan(dx / frame.width);
  } else {
    time.zoom(A_NOTCH ** dy, Math.max(0, Math.min(1, at)));
  }
  time.changed();
}

// Keys that select and open leases.
function inspect(stage: Stage, event: KeyboardEvent, handlers: Handlers): boolean {
  if (event.key === 'Enter') {
    handlers.open(stage.stepped);
  } else if (event.key === 'n' || event.key === 'p') {
    const {bar, x, y} = stage.step(event.key === 'n' ? 1 : -1);
    const box = stage.canvas.getBoundingClientRect();
    if (bar >= 0) handlers.hover(bar, box.left + x, box.top + y, false);
  } else if (event.key === 'Escape') {
    handlers.leave();
  } else {
    return false;
  }
  return true;
}

function key(stage: Stage, event: KeyboardEvent, handlers: Handlers): boolean {
  const {time, rows} = stage;
  if (isBrowsers(event)) return false;
  if (inspect(stage, event, handlers)) return true;
  switch (event.key) {
    case 'ArrowLeft': time.pan(-STEP); break;
    case 'ArrowRight': time.pan(STEP); break;
    case 'ArrowUp': rows.pan(-STEP); break;
    case 'ArrowDown': rows.pan(STEP); break;
    case 'PageUp': rows.pan(-0.9); break;
    case 'PageDown': rows.pan(0.9); break;
    case 'Home': time.show(time.low, time.low + time.span); break;
    case 'End': time.show(time.high - time.span, time.high); break;
    case '=': time.zoom(0.8); break;
    case '-': time.zoom(1.25); break;
    // '+' needs Shift on most keyboards, so rows use other keys.
    case '+': time.zoom(0.8); break;
    case '>': rows.zoom(0.8); break;
    case '<': rows.zoom(1.25); break;
    case '0': return showAll(stage), true;
    default: return false;
  }
  time.changed();
  return true;
}

function drag(stage: Stage, held: Held, event: PointerEvent): void {
  const {frame, time, rows} = stage;
  held.moved ||= Math.hypot(event.clientX - held.startX, event.clientY - held.startY) > A_CLICK;
  if (!held.moved) return;
  time.pan((held.x - event.clientX) / frame.width);
  if (event.pointerType !== 'touch') rows.pan((held.y - event.clientY) / frame.height);
  [held.x, held.y] = [event.clientX, event.clientY];
  time.changed();
}

export function listen(stage: Stage, handlers: Handlers): () => void {
  const {canvas} = stage;
  let held: Held | null = null;
  let opening = 0;
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(kind: K, hook: (event: HTMLElementEventMap[K]) => void) =>
    canvas.addEventListener(kind, hook, {signal: stop.signal, passive: false});
  on('wheel', event => {
    if (!handlers.wheelIsOurs(event)) return;
    event.preventDefault();
    turn(stage, event);
  });
  on('pointerdown', event => {
    if (event.button !== 0) return;
    held = {x: event.clientX, y: event.clientY, startX: event.clientX, startY: event.clientY, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  on('pointermove', event => {
    if (held) drag(stage, held, event);
    if (held?.moved) handlers.leave();
    else handlers.hover(stage.barAt(event.offsetX, event.offsetY), event.clientX, event.clientY,
      stage.frame.stripHeight > 0 && event.offsetX >= stage.frame.gutter && event.offsetY < stage.frame.top);
  });
  on('pointerup', event => {
    const clicked = held !== null && !held.moved;
    held = null;
    if (!clicked) return;
    const bar = stage.barAt(event.offsetX, event.offsetY);
    window.clearTimeout(opening);
    opening = window.setTimeout(() => handlers.open(bar), A_SECOND_CLICK_MS);
  });
  on('pointercancel', () => {
    held = null;
  });
  on('pointerleave', () => handlers.leave());
  on('blur', () => handlers.leave());
  on('dblclick', () => {
    window.clearTimeout(opening);
    showAll(stage);
  });
  on('keydown', event => {
    if (!key(stage, event, handlers)) return;
    event.preventDefault();
    handlers.keyed(event.key);
  });
  return () => {
    stop.abort();
    window.clearTimeout(opening);
  };
}
