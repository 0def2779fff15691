// Tip at the pointer: one per page, on top of everything, ignored by pointer events.

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
  const latest = useRef(shown);
  latest.current = shown;
  show = setShown;
  // The element under the pointer may disappear without a leave event.
  useEffect(() => {
    // Output that follows its end scrolls all the time. That must not hide the tips of other elements.
    const scrolled = (event: Event) => {
      const at = latest.current;
      if (at && (event.target as Node).contains(document.elementFromPoint(at.x, at.y))) hideTip();
    };
    window.addEventListener('hashchange', hideTip);
    window.addEventListener('scroll', scrolled, {capture: true, passive: true});
    return () => {
      window.removeEventListener('hashchange', hideTip);
      window.removeEventListener('scroll', scrolled, {capture: true});
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
