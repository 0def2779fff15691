// Table of a page. A click on a heading sorts it; it can be saved as CSV.

import {useMemo, useState} from 'preact/hooks';
import {count} from '../format';
import type {Cell, PageTable} from '../types';
import {cellText, decimalsOf, isNumeric, isRatio, isUp, saveCsv, signed, sortedOrder, toneOf} from './cells';

const FIRST_ROWS = 100;
const MORE_ROWS = 2_000;  // Rows added per click, because browsers are slow with hundreds of thousands of rows.

// Marks better and worse values with an arrow and a text as well as with color.
function CellView(props: {columns: string[]; column: number; cell: Cell; decimals?: number | null}) {
  const {columns, column, cell} = props;
  const times = isRatio(columns, column) && typeof cell === 'number' ? '×' : '';
  const text = signed(columns, column, cell) + cellText(cell, props.decimals) + times;
  const tone = toneOf(columns, column, cell);
  if (!tone) return <>{text}</>;
  return (
    <span class={`tone-${tone}`}>
      <span aria-hidden="true">{isUp(columns, column, cell) ? '▲ ' : '▼ '}</span>{text}
      <span class="unseen">, {tone}</span>
    </span>
  );
}

type Sort = {column: number; order: 'asc' | 'desc'} | null;

export function DataTable(props: {table: PageTable}) {
  const {table} = props;
  const {columns, rows} = table;
  const [sort, setSort] = useState<Sort>(null);
  const [rowsShown, setRowsShown] = useState(FIRST_ROWS);
  const right = useMemo(() => columns.map((_, i) => isNumeric(rows, i)), [table]);
  const order = useMemo(() => sort ? sortedOrder(rows, sort.column, sort.order) : rows.map((_, i) => i), [table, sort]);
  const shown = order.slice(0, rowsShown);
  // First click: numbers descending, text ascending.
  const by = (column: number) => setSort(old => old?.column !== column
    ? {column, order: right[column] ? 'desc' : 'asc'} : {column, order: old.order === 'asc' ? 'desc' : 'asc'});
  return (
    <figure class="data-table">
      <figcaption class="data-head">
        {table.title ? <h3>{table.title}</h3> : <span />}
        <button type="button" class="button small" onClick={() => saveCsv(table.key, [columns, ...rows])}
          aria-label={`Save ${table.title || table.key} as CSV`}>Save CSV</button>
      </figcaption>
      <div class="table-box" tabIndex={0} role="region" aria-label={table.title || table.key}>
        <table>
          <thead><tr>{columns.map((name, i) => (
            <th class={right[i] ? 'right' : ''} scope="col" aria-sort={sort?.column !== i ? undefined
              : sort.order === 'asc' ? 'ascending' : 'descending'}>
              <button type="button" class="sort" onClick={() => by(i)} aria-label={`Sort by ${name || 'name'}`}>
                {name}<span class="arrow" aria-hidden="true">
                  {sort?.column === i ? sort.order === 'asc' ? ' ↑' : ' ↓' : ''}</span>
              </button>
            </th>))}</tr></thead>
          <tbody>{shown.map(i => (
            <tr key={i}>{rows[i].map((cell, j) => (
              <td class={right[j] ? 'right' : ''}>
                <CellView columns={columns} column={j} cell={cell} decimals={decimalsOf(table, i, j)} /></td>))}</tr>))}
          </tbody>
        </table>
      </div>
      {order.length === 0 && <p class="muted">No rows</p>}
      {shown.length < order.length && <button type="button" class="button small"
        onClick={() => setRowsShown(rowsShown + MORE_ROWS)}>
        Show {order.length - shown.length > MORE_ROWS ? `${count(MORE_ROWS)} more` : 'all'} of
        {' '}{count(order.length)} rows
      </button>}
    </figure>
  );
}
