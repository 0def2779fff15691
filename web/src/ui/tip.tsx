// What is told under the mouse: one for the whole page, above everything, never in the way of the pointer.

import type {ComponentChildren} from 'preact';
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';

interface Shown {
  x: number;
  y: number;
  content: ComponentChildren;
}

let show: (shown: Shown | null) => void = () => {};

export function showTip(x: number, y: number, content: ComponentChildren): void {
  show({x, y, content});
}

export function hideTip(): void {
  show(null);
}

export function TipLayer() {
  const [shown, setShown] = useState<Shown | null>(null);
  const box = useRef<HTMLDivElement>(null);
  show = setShown;
  // What the pointer was on may go without its leaving being told.
  useEffect(() => {
    window.addEventListener('hashchange', hideTip);
    window.addEventListener('scroll', hideTip, {capture: true, passive: true});
    return () => {
      window.removeEventListener('hashchange', hideTip);
      window.removeEventListener('scroll', hideTip, {capture: true});
    };
  }, []);
  useLayoutEffect(() => {
    if (!shown || !box.current) return;
    const {offsetWidth: wide, offsetHeight: high} = box.current;
    const left = shown.x + 14 + wide > innerWidth ? shown.x - 14 - wide : shown.x + 14;
    const top = shown.y + 14 + high > innerHeight ? shown.y - 14 - high : shown.y + 14;
    box.current.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }, [shown]);
  return shown && <div ref={box} class="tip" role="tooltip">{shown.content}</div>;
}
