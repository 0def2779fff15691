import assert from 'node:assert/strict';
import test from 'node:test';
import {load} from './load.mjs';

const {Windows} = await load('src/queue/windows.ts');
const {Feeder} = await load('src/queue/feeder.ts');

const rows = (from, to) => Array.from({length: to - from}, (_, i) => from + i);
const pause = ms => new Promise(done => setTimeout(done, ms));

test('rows are found in their window', () => {
  const windows = new Windows(10, 4);
  windows.put(2, rows(20, 30), 1000);
  assert.equal(windows.row(25), 25);
  assert.equal(windows.row(19), undefined);
  assert.deepEqual(windows.covering(18, 31), [1, 2, 3]);
  assert.deepEqual(windows.wanting(18, 31), [1, 3]);
});

test('what was used longest ago is forgotten', () => {
  const windows = new Windows(10, 3);
  for (const n of [0, 1, 2]) windows.put(n, rows(n * 10, n * 10 + 10), 1000);
  windows.wanting(0, 5);
  windows.put(9, rows(90, 100), 1000);
  assert.equal(windows.count, 3);
  assert.equal(windows.row(0), 0);
  assert.equal(windows.row(10), undefined);
});

test('aged rows are still shown, and wanted again', () => {
  const windows = new Windows(10, 3);
  windows.put(0, rows(0, 10), 10);
  windows.age();
  assert.equal(windows.row(3), 3);
  assert.deepEqual(windows.wanting(0, 10), [0]);
});

test('a list that shrinks loses what is beyond its end', () => {
  const windows = new Windows(10, 9);
  for (const n of [0, 1, 2]) windows.put(n, rows(n * 10, n * 10 + 10), 30);
  windows.put(0, rows(0, 5), 5);
  assert.equal(windows.count, 1);
});

// A server that counts what is asked of it.
function server(total, ms = 5) {
  const seen = {asked: [], aborted: 0, most: 0, now: 0};
  const answer = async (offset, limit, signal) => {
    seen.asked.push(offset);
    seen.most = Math.max(seen.most, ++seen.now);
    try {
      await pause(ms);
      if (signal.aborted) {
        seen.aborted++;
        throw new DOMException('gone', 'AbortError');
      }
      return {rows: rows(offset, Math.min(total, offset + limit)), total};
    } finally {
      seen.now--;
    }
  };
  return {seen, answer};
}

test('scrolling through 50,000 rows asks for little, and ends with what is in sight', async () => {
  const {seen, answer} = server(50_000, 30);
  const feeder = new Feeder(answer, () => {}, 100, 8);
  await pause(50);
  for (let at = 0; at < 49_900; at += 500) {
    feeder.see(at, at + 50);
    await pause(2);
  }
  feeder.see(49_950, 50_000);
  for (let i = 0; i < 600 && feeder.windows.row(49_999) === undefined; i++) await pause(50);
  assert.equal(feeder.windows.row(49_999), 49_999);
  assert.ok(seen.asked.length < 12, `asked ${seen.asked.length} times`);
  assert.ok(seen.most <= 2);
  assert.ok(feeder.windows.count <= 8);
  feeder.stop();
});

test('a refresh asks only for what is in sight', async () => {
  const {seen, answer} = server(1000);
  const feeder = new Feeder(answer, () => {}, 100, 8);
  await pause(20);
  feeder.see(90, 130);
  await pause(150);
  seen.asked.length = 0;
  feeder.refresh();
  feeder.refresh();
  await pause(60);
  assert.deepEqual([...new Set(seen.asked)].sort(), [0, 100]);
  assert.ok(seen.asked.length <= 4);
  feeder.stop();
});

test('after a failure it waits until it is told to try again', async () => {
  let asked = 0;
  const feeder = new Feeder(async () => {
    asked++;
    if (asked === 1) throw new Error('no answer');
    return {rows: [7], total: 1};
  }, () => {});
  await pause(10);
  assert.equal(feeder.error.message, 'no answer');
  assert.equal(asked, 1);
  feeder.refresh();
  await pause(10);
  assert.equal(feeder.error, undefined);
  assert.equal(feeder.windows.row(0), 7);
});
