// Tables and plots of pages.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {cellText, csvOf, isNumeric, isRatio, sortedOrder, toneOf,
  isUp, signed} = await load('src/ui/cells.ts');
const {align, barRange, barsOf, filled, yFrom} = await load('src/ui/series.ts');
const {logTicks, tickText} = await load('src/ui/axis.ts');
const {chosenRuns} = await load('src/screens/chosen.ts');
const {sinceOf} = await load('src/screens/since.ts');

test('numbers have the decimals they are given', () => {
  assert.equal(cellText(1234.5, 2), '1,234.50');
  assert.equal(cellText(1234, null), '1,234');
  assert.equal(cellText(0.123456), '0.1235');
  assert.equal(cellText(null, 2), '');
  assert.equal(cellText('<b>', 2), '<b>');
});

test('a column stands to the right when it holds numbers only', () => {
  assert.ok(isNumeric([[1], [null]], 0));
  assert.ok(!isNumeric([[1], ['all']], 0));
  assert.ok(isNumeric([[null]], 0));
});

test('sorting: numbers by size, words with their numbers, nothing last, equals as they were', () => {
  const rows = [[2, 'b10'], [null, 'b9'], [10, 'a'], [2, 'b9']];
  assert.deepEqual(sortedOrder(rows, 0, 'asc'), [0, 3, 2, 1]);
  assert.deepEqual(sortedOrder(rows, 0, 'desc'), [2, 0, 3, 1]);
  assert.deepEqual(sortedOrder(rows, 1, 'asc'), [2, 1, 3, 0]);
});

test('what is better and what is worse', () => {
  const runs = ['run', 'gain'];
  assert.equal(toneOf(runs, 1, 1.25), 'better');
  assert.equal(toneOf(runs, 1, 0.8), 'worse');
  assert.equal(toneOf(runs, 1, 1), undefined);
  assert.equal(toneOf(runs, 0, 'srtf'), undefined);
  const groups = ['user', 'change (min)', 'gain', 'lose'];
  assert.equal(toneOf(groups, 1, -4), 'better');
  assert.equal(toneOf(groups, 1, 4), 'worse');
  assert.equal(toneOf(groups, 2, 17), undefined, 'a count of jobs is not a ratio');
  assert.ok(!isRatio(groups, 2));
  assert.equal(toneOf(['sooner by (min)'], 0, 3), 'better');
  assert.equal(toneOf(['later by (min)'], 0, 3), 'worse');
});

test('CSV has all digits, and quotes where they are needed', () => {
  assert.equal(csvOf([['a,b', 'c'], ['say "x"', 1 / 3], [null, 2], [' x', 0]]),
    '"a,b",c\n"say ""x""",0.3333333333333333\n,2\n" x",0\n');
});

const plot = (kind, scale, series) => ({key: 'p', title: '', x_label: '', y_label: '', kind, scale, series});

test('series with their own x share one: steps hold, lines do not', () => {
  const series = [{name: 'a', x: [0, 2, 4], y: [1, 2, 3]}, {name: 'b', x: [1, 4, 5], y: [7, 8, 9]}];
  const steps = align(plot('steps', 'linear', series));
  assert.deepEqual(steps.x, [0, 1, 2, 4, 5]);
  assert.deepEqual(steps.y, [[1, 1, 2, 3, undefined], [undefined, 7, 7, 8, 9]]);
  const lines = align(plot('line', 'linear', series));
  assert.deepEqual(lines.y, [[1, undefined, 2, 3, undefined], [undefined, 7, undefined, 8, 9]]);
});

test('of several values at one x the last holds', () => {
  assert.deepEqual(align(plot('steps', 'linear', [{name: 'a', x: [1, 1, 2], y: [1, 5, 6]}])).y, [[5, 6]]);
});

test('a log scale has nothing at or below zero', () => {
  const {x, y} = align(plot('steps', 'log', [{name: 'a', x: [0, 0, 0.1, 10], y: [0.2, 0.4, 0.5, 1]}]));
  assert.deepEqual(x, [0.1, 10]);
  assert.deepEqual(y, [[0.5, 1]]);
});

test('what is not known is a gap, unlike a point that only others have', () => {
  const series = [{name: 'a', x: [0, 1, 2], y: [1, null, 2]}, {name: 'b', x: [0.5], y: [3]}];
  const {y} = align(plot('line', 'linear', series));
  assert.deepEqual(y[0], [1, undefined, null, 2]);
});

test('the y axis begins at zero, unless lines far from it would be flat', () => {
  const from = (kind, y) => yFrom(plot(kind, 'linear', [{name: 'a', x: y.map((_, i) => i), y}]));
  assert.equal(from('line', [97, 98, null, 99]), undefined);
  assert.equal(from('steps', [97, 98, 99]), 0);
  assert.equal(from('line', [1, 99]), 0);
  assert.equal(from('line', [5, 5]), 0);
  assert.equal(from('line', [null]), 0);
});

test('ends of an interval belong to the bar before them', () => {
  const series = barsOf({...plot('bars', 'linear', [{name: 'mean', y: [5, 2]}, {name: 'low 95%', y: [4, 1]},
    {name: 'high 95%', y: [7, 3]}]), categories: ['a', 'b']});
  assert.deepEqual(series, [{name: 'mean', place: 0, y: [5, 2], low: [4, 1], high: [7, 3]}]);
  assert.deepEqual(barRange(series), {low: 0, high: 7});
});

test('bars below zero have room below it', () => {
  assert.deepEqual(barRange(barsOf(plot('bars', 'linear', [{name: 'a', y: [-25, 4, null]}]))), {low: -25, high: 4});
  assert.deepEqual(barRange([]), {low: 0, high: 0});
});

test('an address says which runs are compared', () => {
  assert.deepEqual(chosenRuns([0, 1, 2], undefined, undefined, 2), {chosen: [0, 1], baseline: 0});
  assert.deepEqual(chosenRuns([0, 1, 2], '2,1,9', '2', 8), {chosen: [1, 2], baseline: 2});
  assert.deepEqual(chosenRuns([0, 1, 2], '0,1,2', '7', 2), {chosen: [0, 1], baseline: 0});
  assert.deepEqual(chosenRuns([0, 1], '', '', 8), {chosen: [], baseline: -1});
});

test('since when: so long ago, or a date of this place', () => {
  assert.equal(sinceOf('', 100), undefined);
  assert.equal(sinceOf('7d', 1e9), 1e9 - 604800);
  assert.equal(sinceOf('1.5 h', 1e9), 1e9 - 5400);
  assert.equal(sinceOf('2026-11-03', 0), new Date(2026, 10, 3).getTime() / 1000);
  assert.equal(sinceOf('2026-11-03 14:05', 0), new Date(2026, 10, 3, 14, 5).getTime() / 1000);
  for (const wrong of ['x', '7', '7 years', '2026', '2026-13-45'])
    assert.match(sinceOf(wrong, 0).message, /such as 7d/);
});

test('arrows point where the number went, and a change says its sign', () => {
  const columns = ['user', 'change (min)'];
  assert.deepEqual([-5, 5].map(cell => [isUp(columns, 1, cell), signed(columns, 1, cell)]), [[false, ''], [true, '+']]);
  assert.deepEqual([0.9, 1.1].map(cell => isUp(['run', 'gain'], 1, cell)), [false, true]);
});

test('bars of nothing are left out', () => {
  const plot = {categories: ['1', '2-4', '>8'],
    series: [{name: 'a', y: [3, null, 0]}, {name: 'b', y: [1, null, null]}]};
  assert.deepEqual([filled(plot).categories, filled(plot).series[1].y], [['1', '>8'], [1, null]]);
});

test('a log axis names powers of ten, and of few also what lies between', () => {
  assert.deepEqual(logTicks([20, 30, 40, 50, 60, 100]), [20, null, null, 50, null, 100]);
  assert.deepEqual(logTicks([0.01, 0.02, 0.1, 0.5, 1, 10]), [0.01, null, 0.1, null, 1, 10]);
  const powers = Array.from({length: 13}, (_, i) => 10 ** (i - 6));
  assert.deepEqual(logTicks(powers).filter(x => x !== null), powers.filter((_, i) => i % 2 === 0));
});

test('ticks have the digits that tell them apart', () => {
  assert.deepEqual([0.6931, 0.6932].map(y => tickText(y, 0.0001)), ['0.6931', '0.6932']);
  assert.deepEqual([tickText(0.25, 0.25), tickText(2000, 500), tickText(1e-17, 0.2)], ['0.25', '2,000', '0']);
});
