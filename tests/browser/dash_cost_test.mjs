// The cost of the dashboard: the time until the first paint, and the memory after many live updates.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_cost_test.mjs
//
// MUSTER_DASH_SECONDS=3600 watches for an hour; without it, for a few seconds.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {serving} from './dashboard.mjs';
import {go, open} from './screens.mjs';

const SECONDS = Number(process.env.MUSTER_DASH_SECONDS ?? 15);
const FIRST_PAINT_MS = 500;

const {manager, open: openSite} = await serving('virtual_gpus: 8\ncgroup: none\ngrace: 1s\n');

test(`something is seen within ${FIRST_PAINT_MS} ms`, async () => {
  const times = [];
  for (let i = 0; i < 7; i++) {
    const tab = await openSite();
    await tab.page.getByRole('link', {name: 'Fleet'}).waitFor();
    times.push(await (await tab.page.waitForFunction(() =>
      performance.getEntriesByName('first-contentful-paint')[0]?.startTime)).jsonValue());
    await tab.context.close();
  }
  times.sort((a, b) => a - b);
  console.log(`first contentful paint: median ${Math.round(times[3])} ms, worst ${Math.round(times[6])} ms of 7`);
  assert.ok(times[3] < FIRST_PAINT_MS, `median of ${times.map(Math.round)} ms`);
});

// Returns the size of the heap after a garbage collection, and the numbers of elements and listeners.
async function weighed({client}) {
  await client.send('HeapProfiler.collectGarbage');
  const {usedSize} = await client.send('Runtime.getHeapUsage');
  const {nodes, jsEventListeners} = await client.send('Memory.getDOMCounters');
  return {heap: usedSize, elements: nodes, listeners: jsEventListeners};
}

async function watched(hash) {
  const tab = await openSite();
  await tab.page.getByRole('link', {name: 'Queue'}).waitFor();
  await go(tab.page, hash);
  return {...tab, client: await tab.context.newCDPSession(tab.page), weights: []};
}

const middle = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

// Compares the last quarter of the measurements with the second. The first quarter includes one-time allocations.
function flat(what, weights) {
  const n = weights.length;
  const [second, last] = [weights.slice(Math.ceil(n / 4), Math.max(Math.ceil(n / 4) + 1, Math.floor(n / 2))),
    weights.slice(Math.floor(n * 3 / 4))];
  const of = key => [middle(second.map(one => one[key])), middle(last.map(one => one[key]))];
  const [heap, elements, listeners] = ['heap', 'elements', 'listeners'].map(of);
  console.log(`${what}: heap ${heap.map(bytes => (bytes / 1e6).toFixed(2)).join(' to ')} MB, ` +
    `elements ${elements.join(' to ')}, listeners ${listeners.join(' to ')}`);
  assert.ok(heap[1] < heap[0] * 1.1 + 200_000, `${what}: the heap grows`);
  assert.ok(elements[1] <= elements[0] * 1.1 + 50, `${what}: elements are left behind`);
  assert.ok(listeners[1] <= listeners[0] + 2, `${what}: listeners are left behind`);
}

// The calls that screens make immediately after an event. The other screens wait some seconds and are only opened.
const ASKS = {fleet: '/v1/fleet', timeline: '', queue: '/v1/jobs', tenants: '', nodes: '/v1/nodes'};
const LEAST = 4;  // Minimum number of rounds through all screens.

test(`memory is flat over ${SECONDS} s of live updates and output`, async () => {
  // More lines than the page keeps, and then new lines continuously.
  const writer = manager.submit('--gpus', '1', '--', 'sh', '-c',
    'seq 20000; while :; do echo "and line $((i += 1))"; sleep 0.02; done');
  const reader = await watched(`#/job/${writer}`);
  await reader.page.locator('.log').getByText(/and line \d/).first().waitFor();
  const walker = await watched('#/fleet');
  const asked = path => walker.page.waitForResponse(answer => new URL(answer.url()).pathname === path);
  const end = Date.now() + SECONDS * 1000;
  let jobs = 0;
  while (Date.now() < end || walker.weights.length < LEAST) {
    await go(walker.page, `#/job/${writer}`);
    await walker.page.locator('.log').getByText(/and line \d/).first().waitFor();
    for (const [screen, path] of Object.entries(ASKS)) {
      await open(walker.page, screen);
      const again = path && asked(path);
      const id = manager.submit('--gpus', '1', '--', 'sleep', '600');
      await again;
      manager.cli('cancel', String(id));
      jobs++;
    }
    for (const tab of [walker, reader]) tab.weights.push(await weighed(tab));
  }
  console.log(`${jobs} jobs came and went`);
  flat('all screens', walker.weights);
  flat('output', reader.weights);
  walker.fine();
  reader.fine();
});
