// Which part of a thinned timeline is asked for.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {partFor} = await load('src/gantt/detail.ts');
const {Pane} = await load('src/gantt/layout.ts');

function view(from, to) {
  const pane = new Pane(0, 1000, 1);
  pane.show(from, to);
  return pane;
}

test('far out there is no need', () => assert.equal(partFor(view(100, 900), null), 'whole'));

test('close up one asks for the window and as much on either side, within what there is', () => {
  assert.deepEqual(partFor(view(500, 600), null), {from: 400, to: 700});
  assert.deepEqual(partFor(view(0, 100), null), {from: 0, to: 200});
});

test('what is there will do until one leaves it or looks much closer', () => {
  const have = {from: 400, to: 700};
  assert.equal(partFor(view(420, 520), have), 'have');
  assert.deepEqual(partFor(view(350, 450), have), {from: 250, to: 550});
  assert.deepEqual(partFor(view(500, 510), have), {from: 490, to: 520});
});
