// Sorting of the tables of a report, which are static HTML: a click on a column heading sorts.

import type {Cell} from '../types';
import {sortedOrder} from '../ui/cells';

// Numbers have their full precision in data-v, which is empty if the value is missing.
function cellOf(cell: HTMLTableCellElement): Cell {
  const value = cell.dataset.v;
  if (value === undefined) return cell.textContent ?? '';
  return value === '' || Number.isNaN(Number(value)) ? null : Number(value);
}

const heads = (table: HTMLTableElement): HTMLTableCellElement[] => [...table.tHead!.rows[0].cells];

// Returns the headings and the rows in their current order.
export function tableRows(table: HTMLTableElement): Cell[][] {
  return [heads(table).map(cell => cell.textContent), ...[...table.tBodies[0].rows].map(row =>
    [...row.cells].map(cellOf))];
}

// First click: numbers descending, text ascending. Second click: reversed. Third click: original order.
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
