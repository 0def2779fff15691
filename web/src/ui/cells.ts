// Cells of page tables: text, sort order, rating (better or worse) and CSV.

import {count, number} from '../format';
import type {Cell, PageTable} from '../types';

export function decimalsOf(table: PageTable, row: number, column: number): number | null | undefined {
  const given = table.decimals?.[column];
  return Array.isArray(given) ? given[row] : given;
}

export function cellText(cell: Cell, decimals?: number | null): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell === 'string') return cell;
  if (decimals !== null && decimals !== undefined) {
    return cell.toLocaleString('en', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  }
  return Number.isInteger(cell) ? count(cell) : number(cell, 4);
}

// Whether a column is right-aligned: it contains only numbers or is empty.
export function isNumeric(rows: Cell[][], column: number): boolean {
  return !rows.some(row => typeof row[column] === 'string');
}

const words = new Intl.Collator('en', {numeric: true});

// Row indices in sort order. Empty cells come last in both orders, and equal cells keep their order.
export function sortedOrder(rows: Cell[][], column: number, order: 'asc' | 'desc'): number[] {
  const sign = order === 'asc' ? 1 : -1;
  const compare = (a: Cell, b: Cell): number => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * words.compare(String(a), String(b));
  };
  return rows.map((_, i) => i).sort((i, j) => compare(rows[i][column], rows[j][column]) || i - j);
}

export type Tone = 'better' | 'worse' | undefined;

const SAME = 0.005;

// A column "gain" is a ratio: how many times shorter something became. If there is also a column "lose", both are
// counts instead. Other columns contain minutes saved or lost.
export const isRatio = (columns: string[], column: number): boolean =>
  columns[column] === 'gain' && !columns.includes('lose');

export function toneOf(columns: string[], column: number, cell: Cell): Tone {
  if (typeof cell !== 'number') return undefined;
  const name = columns[column];
  const good = (by: number): Tone => by > 0 ? 'better' : by < 0 ? 'worse' : undefined;
  if (isRatio(columns, column)) return Math.abs(cell - 1) <= SAME ? undefined : good(cell - 1);
  if (name.startsWith('sooner by')) return good(cell);
  if (name.startsWith('later by') || name.startsWith('change (')) return good(-cell);
  return undefined;
}

// Direction of the number itself: a change of -5 minutes points down, although it is better.
export const isUp = (columns: string[], column: number, cell: Cell): boolean =>
  typeof cell === 'number' && cell > (isRatio(columns, column) ? 1 : 0);

// Changes also show a plus sign.
export const signed = (columns: string[], column: number, cell: Cell): string =>
  typeof cell === 'number' && cell > 0 && columns[column].startsWith('change (') ? '+' : '';

const quoted = (text: string): string => /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

// Numbers in full precision.
export function csvOf(rows: Cell[][]): string {
  return rows.map(row => row.map(cell => quoted(cell === null ? '' : String(cell))).join(',') + '\n').join('');
}

export function saveCsv(key: string, rows: Cell[][]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([csvOf(rows)], {type: 'text/csv'}));
  link.download = `${key}.csv`;
  link.click();
  // By then the browser has read the data.
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
