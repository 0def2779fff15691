// Case-insensitive text search in lines.

import type {Block} from './logbuffer';

export interface Piece {
  text: string;
  hit: boolean;
}

// Splits a line into matches and the text between them.
export function pieces(line: string, needle: string): Piece[] {
  if (needle === '') return [{text: line, hit: false}];
  let [where, what] = [line.toLowerCase(), needle.toLowerCase()];
  // Some letters have a longer lower case, which would shift positions; then the search is case-sensitive.
  if (where.length !== line.length || what.length !== needle.length) [where, what] = [line, needle];
  const found: Piece[] = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0; at = where.indexOf(what, from)) {
    if (at > from) found.push({text: line.slice(from, at), hit: false});
    from = at + what.length;
    found.push({text: line.slice(at, from), hit: true});
  }
  if (from < line.length || found.length === 0) found.push({text: line.slice(from), hit: false});
  return found;
}

// Numbers of the lines that contain `needle`.
export function linesWith(blocks: Block[], needle: string): number[] {
  if (needle === '') return [];
  const what = needle.toLowerCase();
  const found = [];
  for (const block of blocks) {
    for (let i = 0; i < block.lines.length; i++) {
      if (block.lines[i].toLowerCase().includes(what)) found.push(block.number + i);
    }
  }
  return found;
}

// The next or previous found line relative to `at`, with wrap-around; -1: nothing found.
export function step(found: number[], at: number, by: 1 | -1): number {
  if (found.length === 0) return -1;
  if (by > 0) return found.find(line => line > at) ?? found[0];
  for (let i = found.length - 1; i >= 0; i--) if (found[i] < at) return found[i];
  return found[found.length - 1];
}
