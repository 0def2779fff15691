import assert from 'node:assert/strict';
import test from 'node:test';
import {load} from './load.mjs';

const {span} = await load('src/ui/virtual.tsx');
const ROW = 34;

test('at the top, in the middle and at the end, what is in sight exists', () => {
  const total = 50_000;
  for (const top of [0, 1, 17 * ROW, total * ROW / 2, total * ROW - 600 + 32]) {
    const here = span(total, {top, height: 600});
    assert.ok(here.first * ROW <= top, `first of ${top}`);
    assert.ok(here.last === total || here.last * ROW >= top + 600, `last of ${top}`);
    assert.equal(here.shift, here.first * ROW);
    assert.ok(here.last - here.first < 40);
  }
  assert.equal(span(total, {top: 1e9, height: 600}).last, total);
});

test('a list too tall for a browser is reached to its end', () => {
  const total = 2_000_000;
  const end = span(total, {top: 15_000_000 - 600, height: 600});
  assert.equal(end.last, total);
  assert.equal(span(total, {top: 0, height: 600}).first, 0);
});

test('few rows and none', () => {
  assert.deepEqual([span(3, {top: 0, height: 600}).first, span(3, {top: 0, height: 600}).last], [0, 3]);
  assert.equal(span(0, {top: 0, height: 600}).last, 0);
});
