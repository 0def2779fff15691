// The dashboard for files in a real browser: a comparison of simulated runs, a sweep, an analysis.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_view_test.mjs

import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {after, before, test} from 'node:test';
import os from 'node:os';
import path from 'node:path';
import {launch, openTab} from './chromium.mjs';
import {MUSTER, until} from './manager.mjs';
import {go as goTo, headed, open, readable} from './screens.mjs';

const EVIL = '<img src=x onerror=alert(1)>';
let browser;
let dir;
let server;
let tab;
const page = () => tab.page;

const muster = (...words) => execFileSync(MUSTER, words, {cwd: dir, stdio: ['ignore', 'pipe', 'pipe']});

// Replaces the values of a column in every third row.
function renamed(file, column, name) {
  const [head, ...rows] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const at = head.split(',').indexOf(column);
  assert.ok(at >= 0, head);
  writeFileSync(file, [head, ...rows.map((row, i) => {
    const cells = row.split(',');
    if (i % 3 === 0) cells[at] = name(cells[at]);
    return cells.join(',');
  })].join('\n') + '\n');
}

// Returns the URL that `muster view` prints; fails if it ends without one.
const printed = () => new Promise((done, failed) => {
  server.stdout.once('data', bytes => done(String(bytes).trim()));
  server.once('exit', status => failed(new Error(`muster view ended with ${status}`)));
});

before(async () => {
  browser = await launch();
  dir = mkdtempSync(path.join(os.tmpdir(), 'muster-view-'));
  muster('trace', 'generate', '--jobs', '400', '--rate', '20', '--gpu-mix', 'multi', '--out', 'jobs.csv');
  const trace = path.join(dir, 'jobs.csv');
  renamed(trace, 'user', () => EVIL);
  renamed(trace, 'tenant', () => `t${EVIL}`);
  muster('sim', '--trace', 'jobs.csv', '--cluster', '4x8', '--policy', 'fifo,srtf', '--round', '300s', '--out', 'runs');
  for (const run of readdirSync(path.join(dir, 'runs'))) {
    renamed(path.join(dir, 'runs', run, 'leases.csv'), 'server', name => name + EVIL);
  }
  muster('analyze', 'jobs.csv', '--out', 'study');
  writeFileSync(path.join(dir, 'grid.yaml'),
    'sim: {trace: jobs.csv, cluster: 4x8, policy: [fifo, srtf], round: 300s}\n');
  muster('sweep', 'grid.yaml', '--out', 'swept');
  server = spawn(MUSTER, ['view', 'runs', 'study', 'swept', '--port', '0'],
    {cwd: dir, stdio: ['ignore', 'pipe', 'inherit']});
  const address = await printed();
  tab = await openTab(browser, new URL(address).origin);
  await tab.page.goto(address);
});

after(async () => {
  await browser?.close();
  server?.kill();
  if (dir) rmSync(dir, {recursive: true, force: true});
});

const go = hash => goTo(page(), hash);

test('several runs open side by side', async () => {
  await page().getByText('Comparison of the runs').first().waitFor();
  await page().getByText(/times as fast/).first().waitFor();
  assert.ok(await page().locator('.uplot').count() >= 2, 'distributions are drawn');
  await page().getByText(/Gains and losses/).first().waitFor();
  tab.fine();
});

// Returns the current image, to detect changes.
const drawn = () => page().locator('canvas').first().evaluate(canvas => canvas.toDataURL());

test('the timeline is drawn, zooms and tells what is under the mouse', async () => {
  await go('#/timeline');
  const canvas = page().locator('canvas').first();
  await canvas.waitFor();
  await until(async () => (await drawn()).length > 5000, 'something is drawn');
  const whole = await drawn();
  const box = await canvas.boundingBox();
  let part = 0.4;
  await until(async () => {
    await page().mouse.move(box.x + box.width / 2, box.y + box.height * (part += 0.02));
    return await page().locator('.tip').filter({hasText: /GPU/}).count() > 0;
  }, 'a lease is under the mouse');
  for (let i = 0; i < 5; i++) await page().mouse.wheel(0, -240);
  await until(async () => await drawn() !== whole, 'it has zoomed');
  await page().mouse.move(0, 0);
  const near = await drawn();
  await page().getByRole('button', {name: 'All', exact: true}).click();
  await until(async () => await drawn() !== near, 'all of it is there again');
  tab.fine();
});

test('from lease to lease by keys; what files call servers is text', async () => {
  await go('#/timeline');
  await page().locator('canvas').first().focus();
  await until(async () => {
    await page().keyboard.press('n');
    return await page().locator('.tip').filter({hasText: EVIL}).count() > 0;
  }, 'a lease on the server with the odd name');
  assert.equal(await page().locator('img').count(), 0);
  tab.fine();
});

test('tenants open; what a trace calls its tenants and users is text', async () => {
  await go('#/tenants');
  await page().getByText('GPUs over time').first().waitFor();
  await page().locator('table.figures').getByText(`t${EVIL}`).waitFor();
  await go('#/compare');  // Gains and losses by user.
  await page().getByText(EVIL, {exact: true}).first().waitFor();
  assert.equal(await page().locator('img').count(), 0);
  tab.fine();
});

test('an analysis and a sweep open', async () => {
  await open(page(), 'pages');
  await page().getByRole('link', {name: /analysis/}).click();
  await page().getByRole('heading', {name: /History of/}).waitFor();
  await until(async () => await page().locator('table').count() > 3, 'its tables are there');
  await headed(page(), 'an analysis');
  await page().getByRole('link', {name: 'All reports'}).click();
  await page().getByRole('link', {name: /sweep/}).click();
  await page().getByRole('heading', {name: 'A sweep: swept'}).waitFor();
  await page().getByText('srtf has the shortest mean completion time').waitFor();
  for (const policy of ['fifo', 'srtf']) {
    await page().getByRole('row').filter({hasText: policy}).first().waitFor();
  }
  await page().locator('.bars').first().waitFor();
  tab.fine();
});

test('all of it can be read in the dark', async () => {
  await page().getByRole('button', {name: 'Dark theme'}).click();
  await page().locator(':root[data-theme=dark]').waitFor();
  for (const screen of ['compare', 'timeline', 'tenants', 'pages']) {
    await open(page(), screen);
    await readable(page(), screen);
  }
  tab.fine();
});

test('screens of a live manager are not offered, nor its addresses answered', async () => {
  assert.equal(await page().getByRole('link', {name: 'Fleet'}).count(), 0);
  await go('#/fleet');
  await page().getByText(/No such screen/).waitFor();
  tab.fine();
});
