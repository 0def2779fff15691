// Opens an output at a given line, such as the evidence of a diagnosis.

import {useEffect, useRef, useState} from 'preact/hooks';
import type {WholeJob} from '../types';
import type {LogBuffer} from './logbuffer';
import type {Log} from './uselog';

export const MOST_TAIL = 1_048_576;  // Maximum size of one answer.

export interface Target {
  lease: number;
  line: number;      // Line number in the whole output, from 1.
  text: string;      // Text of the line, if known. Long lines have "..." at one or both ends.
}

// Reads the target from the query of the URL: "?lease=2&line=40".
export function targetOf(query: Record<string, string>, job: WholeJob): Target | undefined {
  const [number, line] = [Number(query.lease), Number(query.line)];
  const lease = job.leases.find(one => one.number === number);
  if (!lease || !Number.isInteger(line) || line < 1) return undefined;
  return {lease: number, line, text: lease.line === line ? lease.evidence ?? '' : ''};
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

// Returns the number of the target in the buffer; -1: it is not there. If the buffer does not begin with the first line
// of the output (`whole`), line numbers are unknown, and only the text identifies the line. `alone`: no other node may
// contain the line.
export function findLine(buffer: LogBuffer, target: Target, whole: boolean, alone: boolean): number {
  const text = plain(target.text.replace(/^\.\.\.|\.\.\.$/g, ''));
  const end = buffer.dropped + buffer.kept;
  const exact = whole && target.line > buffer.dropped && target.line - 1 < end + (buffer.tail ? 1 : 0)
    ? target.line - 1 : -1;
  if (text === '') return exact;
  const alike: number[] = [];
  const look = (line: string, number: number) => {
    if (plain(line).includes(text)) alike.push(number);
  };
  for (const block of buffer.blocks) block.lines.forEach((line, i) => look(line, block.number + i));
  look(buffer.tail, end);
  if (alike.includes(exact)) return exact;
  // A line with carriage returns has another text here.
  return alike.length > 0 ? alike[alike.length - 1] : alone ? exact : -1;
}

export interface Jump {
  line: number;      // Number in the buffer.
  place: string;     // Lease and node: "2-0".
}

export interface Moves {
  lease(number: number): void;  // Shows the first node of a lease.
  node(node: number): void;
  all(): void;                  // Loads as much as possible.
}

// Moves to the target: chooses its lease, loads more if necessary, and tries all nodes. `missing`: number of the line
// if it was not found; 0 otherwise.
export function useJump(target: Target | undefined, log: Log, nodes: number, move: Moves) {
  const [jump, setJump] = useState<Jump>();
  const [missing, setMissing] = useState(0);
  const pending = useRef<Target>();
  const begin = (next?: Target) => {
    pending.current = next;
    setJump(undefined);
    setMissing(0);
  };
  useEffect(() => {
    if (!target) return;
    begin(target);
    move.lease(target.lease);
  }, [target]);
  useEffect(() => {  // After each render, because the lines arrive later.
    const {place, before, buffer, state} = log;
    const wanted = pending.current;
    if (!wanted || place?.lease !== wanted.lease || state === 'loading' || state === 'none') return;
    const line = findLine(buffer, wanted, before === 0, nodes === 1);
    if (line < 0 && before > 0 && place.tail < MOST_TAIL) return move.all();
    if (line < 0 && place.node + 1 < nodes) return move.node(place.node + 1);
    pending.current = undefined;
    if (line < 0) setMissing(wanted.line);
    else setJump({line, place: `${place.lease}-${place.node}`});
  });
  return {jump, missing, cancel: () => begin()};
}
