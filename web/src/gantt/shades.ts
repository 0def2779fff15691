// The colour of each job as a pixel, by what is asked: its tenant, itself, or why it waited.

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
  full: Uint32Array;  // The same, but dim for those that are not of the one entry that stands out.
  dim: Uint32Array;   // While one job stands out: the others.
}

const DIM = 190;  // Of 256 parts of the ground.

// Twelve hues in three strengths: neighbours rarely look alike.
function jobPixel(id: string, ground: number): number {
  const hash = hashOf(id);
  return mix(pixel(color(hash % 12)), ground, (hash >>> 8) % 3 * 42);
}

export const NO_WAIT = 'did not wait';  // The server's word among causes.

// Of tenants or causes. That nothing was waited for is no cause, and grey.
export function huesOf(line: Timeline, by: ColorBy): string[] {
  if (by === 'tenant') return placesOf(line.tenants).map(color);
  return by === 'cause' ? line.causes.map((cause, i) => cause === NO_WAIT ? paint('others') : color(i)) : [];
}

const entriesOf = (line: Timeline, by: ColorBy): string[] =>
  by === 'tenant' ? line.tenants : by === 'cause' ? line.causes : [];

// `only`: the name of the one entry of the legend that stands out; null, or one that is not there: all do.
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

// What the colours in use stand for.
export function legendOf(line: Timeline, by: ColorBy): Entry[] {
  const there = new Set(by === 'tenant' ? line.jobs.tenant : line.jobs.cause);
  const hues = huesOf(line, by);
  return entriesOf(line, by).map((name, i) => ({name, color: hues[i]})).filter((_, i) => there.has(i));
}
