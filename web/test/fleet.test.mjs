import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {byRack, crowd, draw, legend, parts, sick, shown, slowest} = await load('src/screens/fleet_map.ts');

const node = (name, gpus, more = {}) => ({name, state: 'open', gpu_type: 'a100', gpus, cpus: 96, cpus_free: 48,
  mem_gib: 512, mem_free_gib: 256, ...more});
const job = (id, tenant, more = {}) => ({id, name: `job-${id}`, user: 'ann', tenant, state: 'running', gpus: 2, cpus: 8,
  mem_gib: 32, ...more});
const fleet = (nodes, jobs, more = {}) => ({now: 0, use_of: 'gpu', tenants: ['vision', 'speech'], jobs, nodes,
  totals: {gpus: 8, used: 2, free: 3, fragmented: 1, reserved: 1, closed: 1, others: 1}, ...more});

test('the bar has the totals, and what is fragmented is a part of what is free', () => {
  const bar = parts(fleet([], []).totals);
  assert.deepEqual(bar.map(part => [part.key, part.gpus]),
    [['used', 2], ['free', 2], ['fragmented', 1], ['reserved', 1], ['others', 1], ['closed', 1]]);
  assert.equal(bar.reduce((sum, part) => sum + part.gpus, 0), 8);
});

test('squares have the colour of their tenant, or of their job where there is one tenant', () => {
  const jobs = [job(7, 1), job(12, 0)];
  const two = fleet([node('a', [0, 0, 1, -1, -2, -3, -4])], jobs);
  assert.deepEqual(draw(two, two.nodes[0], 'allocation').looks,
    ['job c0', 'job c0', 'job c1', 'free', 'reserved', 'others', 'closed']);
  const one = {...two, tenants: ['all']};
  assert.deepEqual(draw(one, one.nodes[0], 'allocation').looks.slice(0, 3), ['job c7', 'job c7', 'job c0']);
});

test('more tenants than colours: stripes tell them apart', () => {
  const tenants = Array.from({length: 14}, (_, i) => `t${i}`);  // After the two of above.
  const many = fleet([node('a', [1, 13])], tenants.map((_, i) => job(i, i)), {tenants});
  assert.deepEqual(draw(many, many.nodes[0], 'allocation').looks, ['job c3', 'job c3 striped']);
  const few = fleet([node('a', [0, 1])], [job(1, 1), job(2, 13)], {tenants});
  assert.deepEqual(draw(few, few.nodes[0], 'allocation').looks, ['job c3', 'job c0'], 'not needed for two');
});

test('use is shown in steps of ten percent, and what is not known as such', () => {
  const some = fleet([node('a', [0, -1, -1], {use: [0.74, null, 0]})], [job(1, 0)]);
  assert.deepEqual(draw(some, some.nodes[0], 'use').looks, ['use u7', 'unknown', 'use u0']);
  const none = fleet([node('a', [0])], [job(1, 0)], {use_of: 'none'});
  assert.deepEqual(draw(none, none.nodes[0], 'use').looks, ['unknown']);
});

test('health is that of the server', () => {
  const sickOne = fleet([node('a', [-4, 0], {state: 'quarantined'})], [job(1, 0)]);
  assert.deepEqual(draw(sickOne, sickOne.nodes[0], 'health').looks, ['health-quarantined', 'health-quarantined']);
});

test('speeds: squares of jobs that could be quicker, slowest first in the list', () => {
  const jobs = [job(1, 0, {speed: 1}), job(2, 0, {speed: 0.5, starved: true}), job(3, 0),
    job(4, 0, {speed: 0.31, starved: true})];
  const some = fleet([node('a', [0, 1, 2, 3, -1])], jobs);
  assert.deepEqual(draw(some, some.nodes[0], 'starved').looks,
    ['speed u10', 'speed u5 starved', 'unknown', 'speed u3 starved', 'free']);
  assert.deepEqual(slowest(some).map(one => one.id), [4, 2]);
});

test('a card is drawn anew only when something on it changed', () => {
  const before = fleet([node('a', [1, -1])], [job(1, 0), job(2, 1)]);
  // The same job at another place of the list: nothing to be seen.
  const same = fleet([node('a', [0, -1])], [job(2, 1)]);
  assert.equal(draw(before, before.nodes[0], 'allocation').key, draw(same, same.nodes[0], 'allocation').key);
  const after = fleet([node('a', [0, -1], {cpus_free: 40})], [job(2, 1)]);
  assert.notEqual(draw(before, before.nodes[0], 'allocation').key, draw(after, after.nodes[0], 'allocation').key);
  assert.notEqual(draw(before, before.nodes[0], 'allocation').key, draw(before, before.nodes[0], 'health').key);
});

test('names with separators in them do not make two cards alike', () => {
  const a = fleet([node('a', [-1], {why: 'x|y'})], []);
  const b = fleet([node('a|x', [-1], {why: 'y'})], []);
  assert.notEqual(draw(a, a.nodes[0], 'health').key, draw(b, b.nodes[0], 'health').key);
});

test('racks in the order people count in, those without one last; no racks, no headings', () => {
  const nodes = [node('n1', [-1], {rack: 'r10'}), node('n2', [-1]), node('n3', [-1, -1], {rack: 'r2'})];
  assert.deepEqual(byRack(nodes).map(group => group.rack), ['r2', 'r10', 'no rack']);
  assert.deepEqual(byRack([node('n1', [-1])]).map(group => group.rack), [undefined]);
  assert.deepEqual(byRack([]), []);
});

test('servers are found by all words of a search, and by what is free', () => {
  const nodes = [node('gpu-01', [-1], {rack: 'East'}), node('gpu-02', [0], {rack: 'East'}), node('cpu-01', [-1])];
  const names = (find, free) => shown(nodes, find, free).map(one => one.name);
  assert.deepEqual(names('', false), ['gpu-01', 'gpu-02', 'cpu-01']);
  assert.deepEqual(names(' GPU east', false), ['gpu-01', 'gpu-02']);
  assert.deepEqual(names('gpu', true), ['gpu-01']);
});

test('servers with trouble: not those an operator drained', () => {
  const nodes = [node('a', [-4, -4], {state: 'quarantined'}), node('b', [-4], {state: 'drained'}),
    node('c', [-4], {state: 'unusable'}), node('d', [-1])];
  assert.deepEqual(sick(nodes), {servers: 2, gpus: 3});
});

test('the legend has who holds GPUs, the most first, and what else is to be seen', () => {
  const jobs = [job(1, 0), job(2, 1)];
  const some = fleet([node('a', [0, 1, 1, -1])], jobs);
  assert.deepEqual(legend(some).map(item => [item.look, item.text, item.gpus]),
    [['job c0', 'speech', 2], ['job c1', 'vision', 1], ['free', 'free', 1]]);
  const one = {...some, tenants: ['all']};
  assert.deepEqual(legend(one).map(item => [item.look, item.job?.id, item.gpus]),
    [['job c2', 2, 2], ['job c1', 1, 1], ['free', undefined, 1]]);
});

test('the more servers, the smaller their cards', () => {
  assert.deepEqual([1, 24, 25, 120, 121].map(crowd), ['roomy', 'roomy', 'close', 'close', 'dense']);
});
