// Light and dark theme, and the colors for tenants, jobs and causes. Neighboring colors in the list have different
// hues. All have a contrast of at least 3:1 to the card.

import {useEffect, useState} from 'preact/hooks';
import {store} from './store';

const KEY = 'muster.theme';

export type Theme = 'light' | 'dark';

const wanted = (): Theme => {
  const kept = store.get(KEY);
  if (kept === 'light' || kept === 'dark') return kept;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
};

let current: Theme = 'light';
let printing = false;
const hooks = new Set<() => void>();

function apply(): void {
  current = printing ? 'light' : wanted();
  document.documentElement.dataset.theme = current;
  for (const hook of hooks) hook();
}

export function startTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply);
  const print = (now: boolean) => () => {
    printing = now;
    apply();
  };
  window.addEventListener('beforeprint', print(true));
  window.addEventListener('afterprint', print(false));
  apply();
}

// Canvas pixels per page pixel: printers have a higher resolution than screens.
export const printDensity = (): number => printing ? 3 : 1;

export function toggleTheme(): void {
  store.set(KEY, current === 'dark' ? 'light' : 'dark');
  apply();
}

export function useTheme(): Theme {
  const [, again] = useState(0);
  useEffect(() => {
    const hook = () => again(n => n + 1);
    hooks.add(hook);
    return () => {
      hooks.delete(hook);
    };
  }, []);
  return current;
}

// Returns the value of a custom property of the style sheet, for use in canvases.
export function paint(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const LIGHT = ['#2563c9', '#b4530a', '#15803d', '#9333a8', '#b91c4c', '#0e7490', '#7a6a00', '#5b5bd6', '#8a4b2d',
  '#3f7d20', '#a8327d', '#44617b'];
const DARK = ['#6ea8fe', '#f0a35e', '#5fce8a', '#d59cf0', '#fb8aa8', '#56c8dd', '#d8c24a', '#a9a9ff', '#d3a283',
  '#a3cf6b', '#ee94cd', '#9fb9d0'];

export const COLORS = LIGHT.length;

// Color of the n-th tenant, cause or series.
export function color(n: number): string {
  const list = current === 'dark' ? DARK : LIGHT;
  return list[((n % list.length) + list.length) % list.length];
}

// Hash of a name, for the color of a job.
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ hash >>> 13) >>> 0;
}
