// Color of each job as a pixel value: by tenant, by job, or by cause of waiting.

import {color, hashOf, paint} from '../theme';
import {placesOf} from '../tenants';
import type {Timeline} from '../types';
import {mix, pixel} from './draw';

export interface Entry {
  name: string;
  color: string;
}

export type ColorBy = 'tenant' | 'job' | 'cause';

export interface Shades {
  own: Uint32Array;
  full: Uint32Array;  // As `own`, but dimmed if another entry of the legend is highlighted.
  dim: Uint32Array;   // Used for the other jobs while one job is highlighted.
}

const DIM = 190;  // Amount of background color, of 256.

// Twelve hues in three strengths, so that neighboring jobs rarely look alike.
function jobPixel(id: string, ground: number): number {
  const hash = hashOf(id);
  return mix(pixel(color(hash % 12)), ground, (hash >>> 8) % 3 * 42);
}

export const NO_WAIT = 'did not wait';  // Value of the server in Timeline.causes.

// Colors of tenants or causes. NO_WAIT is gray.
export function huesOf(line: Timeline, by: ColorBy): string[] {
  if (by === 'tenant') return placesOf(line.tenants).map(color);
  return by === 'cause' ? line.causes.map((cause, i) => cause === NO_WAIT ? paint('others') : color(i)) : [];
}

const entriesOf = (line: Timeline, by: ColorBy): string[] =>
  by === 'tenant' ? line.tenants : by === 'cause' ? line.causes : [];

// `only`: name of the highlighted entry of the legend; null or unknown: no highlight.
export function makeShades(line: Timeline, by: ColorBy, only: string | null): Shades {
  const {id, tenant, cause} = line.jobs;
  const ground = pixel(paint('card'));
  const other = pixel(paint('others'));
  const group = by === 'tenant' ? tenant : cause;
  const colors = huesOf(line, by).map(pixel);
  const chosen = only === null ? -1 : entriesOf(line, by).indexOf(only);
  const own = new Uint32Array(id.length);
  const full = new Uint32Array(id.length);
  const dim = new Uint32Array(id.length);
  for (let i = 0; i < id.length; i++) {
    own[i] = by === 'job' ? jobPixel(id[i], ground) : colors[group[i]] ?? other;
    dim[i] = mix(own[i], ground, DIM);
    full[i] = chosen >= 0 && group[i] !== chosen ? dim[i] : own[i];
  }
  return {own, full, dim: chosen >= 0 ? full : dim};
}

// Entries of the legend for the colors in use.
export function legendOf(line: Timeline, by: ColorBy): Entry[] {
  const there = new Set(by === 'tenant' ? line.jobs.tenant : line.jobs.cause);
  const hues = huesOf(line, by);
  return entriesOf(line, by).map((name, i) => ({name, color: hues[i]})).filter((_, i) => there.has(i));
}
