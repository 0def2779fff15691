import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {actions, chips, found, hiddenGpus, ranges, reason, sorted} = await load('src/screens/node_list.ts');

const node = (name, more = {}) => ({name, open: true, state: 'open', gpus: 8, gpus_used: 2, gpus_free: 6,
  gpu_type: 'a100', cpus: 96, cpus_free: 48, mem_gib: 512, mem_free_gib: 256, jobs: [], ...more});
const names = list => list.map(one => one.name);

const nodes = [node('n10', {rack: 'b', gpus_free: 1}), node('n2', {state: 'unusable', why: 'no answer', gpus_free: 0}),
  node('n1', {state: 'drained', open: false, rack: 'a', cpus_free: 3}), node('n3', {state: 'quarantined'})];

test('by name as people count, and the other way round', () => {
  assert.deepEqual(names(sorted(nodes, 'name', 'asc')), ['n1', 'n2', 'n3', 'n10']);
  assert.deepEqual(names(sorted(nodes, 'name', 'desc')), ['n10', 'n3', 'n2', 'n1']);
});

test('by state the sickest are together, by figures the names decide among equals', () => {
  assert.deepEqual(names(sorted(nodes, 'state', 'desc')), ['n2', 'n3', 'n1', 'n10']);
  assert.deepEqual(names(sorted(nodes, 'cpus', 'asc')), ['n1', 'n2', 'n3', 'n10']);
  assert.deepEqual(names(sorted(nodes, 'free', 'desc')), ['n1', 'n3', 'n10', 'n2']);
  assert.deepEqual(names(nodes), ['n10', 'n2', 'n1', 'n3'], 'the list itself is left as it is');
});

test('found by state and by words of name, rack, GPU and reason', () => {
  assert.deepEqual(names(found(nodes, '', [])), ['n10', 'n2', 'n1', 'n3']);
  assert.deepEqual(names(found(nodes, '', ['drained', 'unusable'])), ['n2', 'n1']);
  assert.deepEqual(names(found(nodes, 'ANSWER no', [])), ['n2']);
});

test('chips count what the search finds, and have only states there are', () => {
  assert.deepEqual(chips(nodes, '', []).map(chip => [chip.value, chip.count]),
    [['open', 1], ['drained', 1], ['quarantined', 1], ['unusable', 1]]);
  assert.deepEqual(chips([node('a')], '', []).map(chip => chip.value), ['open']);
  assert.deepEqual(chips([node('a')], '', ['drained']).map(chip => [chip.value, chip.count]),
    [['open', 1], ['drained', 0]]);
});

test('what an operator may do: draining holds beside everything, undraining opens again', () => {
  assert.deepEqual(actions(node('a')), ['drain']);
  assert.deepEqual(actions(node('a', {state: 'drained', open: false})), ['undrain']);
  assert.deepEqual(actions(node('a', {state: 'quarantined', open: false})), ['drain', 'undrain']);
  assert.deepEqual(actions(node('a', {state: 'unusable', open: false})), ['drain']);
});

test('the reason of a quarantine is told where there is no other', () => {
  assert.equal(reason(node('a', {state: 'quarantined', quarantine: {why: 'two failed', since: 5}})), 'two failed');
  assert.equal(reason(node('a', {why: 'down'})), 'down');
  assert.equal(reason(node('a')), '');
});

test('GPUs of jobs that are not listed are counted', () => {
  assert.equal(hiddenGpus(node('a', {gpus_used: 3, jobs: [{id: 1, gpus: [0, 1]}]})), 1);
  assert.equal(hiddenGpus(node('a', {gpus_used: 2, jobs: [{id: 1, gpus: [0]}, {id: 2, gpus: [0]}]})), 0);
  assert.equal(hiddenGpus(node('a', {gpus_used: 0, jobs: []})), 0);
});

test('numbers of GPUs are told as ranges', () => {
  assert.equal(ranges([3, 0, 1, 2, 6]), '0-3, 6');
  assert.equal(ranges([4, 5]), '4, 5');
  assert.equal(ranges([]), '');
});
