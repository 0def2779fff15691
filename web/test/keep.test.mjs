// What is kept by the browser, and whose clock it is.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {store} = await load('src/store.ts');
const {serverNow, setClock} = await load('src/clock.ts');

function browser(kept, full = false) {
  Object.defineProperty(globalThis, 'localStorage', {configurable: true, get() {
    if (!kept) throw new Error('SecurityError');
    return {getItem: key => kept.get(key) ?? null, removeItem: key => kept.delete(key), setItem(key, value) {
      if (full) throw new Error('QuotaExceededError');
      kept.set(key, value);
    }};
  }});
}

test('what is kept is kept in the browser, and gone when another tab drops it', () => {
  const kept = new Map();
  browser(kept);
  store.set('a', '1');
  assert.deepEqual([store.get('a'), kept.get('a')], ['1', '1']);
  kept.delete('a');
  assert.equal(store.get('a'), '');
});

for (const [how, kept, full] of [['keeps nothing', undefined, false], ['has no room', new Map(), true]]) {
  test(`a browser that ${how} is as good while the page is open`, () => {
    browser(kept, full);
    store.set('a', '1');
    assert.equal(store.get('a'), '1');
    store.drop('a');
    assert.equal(store.get('a'), '');
  });
}

test('the clock is the manager\'s', () => {
  const here = Date.now() / 1000;
  assert.ok(Math.abs(serverNow() - here) < 5);
  setClock(here - 7200);
  assert.ok(Math.abs(serverNow() - (here - 7200)) < 5);
});
