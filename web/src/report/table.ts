// The tables of a report, which stand in the page before any script runs: a click on a column's name sorts them.

import type {Cell} from '../types';
import {sortedOrder} from '../ui/cells';

// Numbers have all their digits in data-v, which is empty where a value is missing.
function cellOf(cell: HTMLTableCellElement): Cell {
  const value = cell.dataset.v;
  if (value === undefined) return cell.textContent ?? '';
  return value === '' || Number.isNaN(Number(value)) ? null : Number(value);
}

const heads = (table: HTMLTableElement): HTMLTableCellElement[] => [...table.tHead!.rows[0].cells];

// With the names of the columns, as it is sorted now.
export function tableRows(table: HTMLTableElement): Cell[][] {
  return [heads(table).map(cell => cell.textContent), ...[...table.tBodies[0].rows].map(row =>
    [...row.cells].map(cellOf))];
}

// Numbers from the largest on first, words from A; then the other way; then as it was written.
export function startTable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const written = [...body.rows];
  for (const head of heads(table)) {
    head.querySelector('button')!.addEventListener('click', () => {
      const first = head.classList.contains('num') ? 'descending' : 'ascending';
      const second = first === 'ascending' ? 'descending' : 'ascending';
      const now = head.getAttribute('aria-sort');
      const next = now === null ? first : now === first ? second : null;
      for (const one of heads(table)) one.removeAttribute('aria-sort');
      if (next === null) return body.append(...written);
      head.setAttribute('aria-sort', next);
      const column = written.map(row => [cellOf(row.cells[head.cellIndex])]);
      body.append(...sortedOrder(column, 0, next === 'ascending' ? 'asc' : 'desc').map(i => written[i]));
    });
  }
}
