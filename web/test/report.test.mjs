// The data of reports, and their CSV.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {ganttRows, parseData, plotRows, timelineOf} = await load('src/report/data.ts');
const {prepare, leases} = await load('src/gantt/data.ts');
const {frameOf, heightFor} = await load('src/gantt/frame.ts');
const {runTime} = await load('src/format.ts');

const GANTT = {key: 'g', title: 'Who', window: [100, 120], groups: ['a', 'b', 'c'], group: [0, 0, 2],
  labels: ['one', '</script>'], row: [0, 1, 2], label: [0, 0, 1], begin: [0, 0, 12.25], length: [5, 5, 2],
  tips: ['', 'failed'], tip: [0, 0, 1]};

test('series may name the one whose x they have', () => {
  const series = [{name: 'a', x: [1, 2], y: [3, 4]}, {name: 'b', x: 0, y: [5, 6]}];
  const {plots} = parseData(JSON.stringify({gantts: [], plots: [{key: 'p', kind: 'steps', scale: 'log', series}]}));
  assert.deepEqual(plots[0].series[1], {name: 'b', x: [1, 2], y: [5, 6]});
  assert.deepEqual(plotRows(plots[0]).slice(3), [['b', 1, 5], ['b', 2, 6]]);
});

test('CSV of bars has their categories', () => {
  const rows = plotRows({kind: 'bars', categories: ['x', 'y'], series: [{name: 'a', x: [], y: [1, null]}]});
  assert.deepEqual(rows, [['series', 'category', 'y'], ['a', 'x', 1], ['a', 'y', null]]);
});

test('a Gantt chart is a timeline without a load', () => {
  const line = timelineOf(GANTT);
  const bars = prepare(line);
  assert.deepEqual(line.servers, [{name: 'a', gpus: 2}, {name: 'b', gpus: 0}, {name: 'c', gpus: 1}]);
  assert.deepEqual([...bars.begin], [100, 100, 112.25]);
  assert.deepEqual([...bars.end].map(end => line.ends[end]), ['', '', 'failed']);
  assert.equal(leases(line.bars), 2);
  assert.deepEqual(ganttRows(GANTT)[3], ['c', 2, '</script>', 112.25, 114.25]);
  const {tip: _, ...plain} = GANTT;
  assert.deepEqual(timelineOf(plain).bars.end, [0, 0, 0]);
});

test('more tips than a byte can number', () => {
  const tips = Array.from({length: 400}, (_, i) => `tip ${i}`);
  assert.equal(prepare(timelineOf({...GANTT, tips, tip: [0, 300, 399]})).end[2], 399);
});

test('without a load there are no strips above the axis', () => {
  const [plain, full] = [frameOf(800, 300, false), frameOf(800, 300, true)];
  assert.deepEqual([plain.axis, plain.stripHeight, plain.top + plain.height], [0, 0, 300]);
  assert.equal(full.top - plain.top, full.axis);
  assert.ok(heightFor(4, 1000, true) - heightFor(4, 1000, false) === full.axis);
});

test('moments of less than a second', () => {
  assert.equal(runTime(12.25, 0.01), '12.25 s');
  assert.equal(runTime(3600.5, 0.1), '1 h 0.5 s');
  assert.equal(runTime(59.999, 0.01), '1 min');
});
