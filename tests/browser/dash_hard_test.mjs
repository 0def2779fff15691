// The dashboard under difficult conditions: a wrong clock, a hidden tab, requests that hang, a manager that is replaced
// by another one, a job that is preempted, two tabs, and a browser without storage.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_hard_test.mjs

import assert from 'node:assert/strict';
import {writeFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import {openTab} from './chromium.mjs';
import {makeTokens, serving} from './dashboard.mjs';
import {until} from './manager.mjs';
import {GONE, headed} from './screens.mjs';

const config = policy => `
virtual_gpus: 4
cgroup: none
grace: 1s
progress_every: 200ms
scheduler: {policy: ${policy}, estimates: user, min_run: 0s}
listen: {tokens: tokens}
`;

let tokens;
const {browser, manager, open} = await serving(config('fifo'), starting => {
  tokens = makeTokens(starting, {ann: [], boss: ['--operator']});
}, {shared: true});
const {origin} = new URL(manager.address());

// Runs first in the page. Shifts its clock by `window.off` ms and shortens long timeouts. With `window.hasty` it also
// shortens the timeouts of requests.
function otherTime(off) {
  window.off = off;
  const now = Date.now.bind(Date);
  Date.now = () => now() + window.off;
  const soon = ms => ({20_000: window.hasty ? 1000 : 20_000, 10_000: 500, 5000: 400})[ms] ?? ms;
  for (const name of ['setTimeout', 'setInterval']) {
    const real = window[name].bind(window);
    window[name] = (hook, ms, ...rest) => real(hook, soon(ms), ...rest);
  }
}

async function opened(hash, off = 0) {
  const tab = await open({}, ({page}) => page.addInitScript(otherTime, off));
  await tab.page.locator('.link.live').waitFor();
  await tab.page.evaluate(to => location.hash = to, hash);
  return tab;
}

const running = async id =>
  until(async () => (await manager.ask('GET', `/v1/jobs/${id}`)).body.state === 'running', 'it runs');

for (const [how, off] of [['slow', -7.2e6], ['fast', 7.2e6]]) {
  test(`a clock that is two hours ${how} changes no time on the page`, async () => {
    const ids = ['runs', 'waits'].map(name => manager.submit('--name', name, '--gpus', '4', '--', 'sleep', '600'));
    await running(ids[0]);
    const tab = await opened(`#/job/${ids[1]}`, off);
    await tab.page.locator('.fact').filter({hasText: /^waited\s*[1-9][\d.]* (s|min)/}).waitFor();
    for (const screen of ['tenants', 'timeline']) {
      await tab.page.evaluate(to => location.hash = to, `#/${screen}?range=hour`);
      await tab.page.locator('canvas').first().waitFor();
      assert.equal(await tab.page.locator('.trouble').count(), 0, screen);
    }
    manager.cli('cancel', ...ids.map(String));
    tab.fine();
    await tab.context.close();
  });
}

const hide = (page, hidden) => page.evaluate(is => {
  Object.defineProperty(document, 'hidden', {configurable: true, get: () => is});
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

test('a tab that was hidden has the output it had, and more when it is asked for', async () => {
  const seen = path.join(manager.base, 'seen');  // The job waits for this file. The page has only the last 64 KiB.
  const long = '$(head -c 280 /dev/zero | tr "\\0" x)';
  const id = manager.submit('--name', 'talks', '--gpus', '1', '--', 'sh', '-c',
    `i=0; while :; do echo "line $((i += 1)) ${long}"; [ $i -lt 200 ] || sleep 0.1; ` +
    `while [ $i -eq 205 ] && [ ! -e ${seen} ]; do sleep 0.1; done; done`);
  await running(id);
  const tab = await opened(`#/job/${id}`);
  const log = tab.page.locator('.log');
  await log.getByText('line 205 ').waitFor();
  writeFileSync(seen, '');
  await log.scrollIntoViewIfNeeded();
  const fromEnd = () => log.evaluate(box => box.scrollHeight - box.scrollTop - box.clientHeight);
  for (const line of [220, 230]) {
    await log.getByText(`line ${line} `).waitFor();
    await until(async () => await fromEnd() < 30, 'long lines are followed');
  }
  await log.hover();
  await until(async () => {
    await tab.page.mouse.wheel(0, -600);
    return await tab.page.getByRole('button', {name: 'Follow the output'}).count() > 0;
  }, 'he has left the end');
  // textContent, because innerText omits blocks that are not on the screen (content-visibility).
  const before = await log.textContent();
  let streams = 0;
  tab.page.on('requestfailed', request => streams += request.url().includes('/log?') ? 1 : 0);
  await hide(tab.page, true);
  await until(() => streams > 0, 'the stream is left');
  await hide(tab.page, false);
  const since = tab.page.getByRole('button', {name: 'Show new output'});
  await since.waitFor();
  assert.equal(await tab.page.locator('.job-logs [role=alert]').count(), 0);
  assert.ok((await log.textContent()).startsWith(before.slice(0, 2000)), 'what was read is still there');
  await since.click();
  await tab.page.locator('.log-state.follows').waitFor();
  await until(async () => await fromEnd() < 30, 'the end is followed');
  manager.cli('cancel', String(id));
  tab.fine();
  await tab.context.close();
});

test('a request that hangs is given up, said, and asked again', async () => {
  const tab = await opened('#/queue');
  let hang = true;
  await tab.page.route('**/v1/nodes', route => hang ? undefined : route.continue());
  await tab.page.evaluate(() => {
    window.hasty = true;
    location.hash = '#/nodes';
  });
  await tab.page.getByText('The manager does not respond').waitFor();
  await headed(tab.page, 'a screen without data');
  await tab.page.evaluate(() => window.hasty = false);
  hang = false;
  await tab.page.getByRole('grid', {name: 'Nodes'}).waitFor();
  tab.fine();
  await tab.context.close();
});

test('through an outage the timeline stays; a manager with another scheduler is known as that', async () => {
  const id = manager.submit('--name', 'drawn', '--gpus', '1', '--', 'sleep', '600');
  await running(id);
  const tab = await opened('#/timeline');
  const canvas = await tab.page.locator('canvas').elementHandle();
  await canvas.focus();
  await tab.page.keyboard.press('+');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Shift+Tab');
  const asked = new Set();
  tab.page.on('request', request => request.url().includes('/v1/timeline') && asked.add(request.url()));
  await manager.end('SIGKILL');
  await tab.page.evaluate(() => window.off = 120_000);  // The URL for the last day has changed.
  await until(() => asked.size > 0, 'it is asked for at another address');
  await tab.page.locator('.trouble.gone').filter({hasText: 'may be out of date'}).waitFor();
  assert.ok(await canvas.evaluate(one => one.isConnected), 'the drawing was thrown away');
  assert.equal(await tab.page.getByText('Failed to fetch').count(), 0);
  manager.configure(config('srtf'));
  await manager.start();
  await tab.page.locator('.link.live').waitFor();
  await tab.page.locator('.trouble').waitFor({state: 'detached'});
  await tab.page.locator('.bar-words[title^=srtf]').waitFor();
  assert.ok(await canvas.evaluate(one => one.isConnected), 'the zoom was thrown away');
  manager.cli('cancel', String(id));
  tab.fine(GONE);
  await tab.context.close();
});

// Returns the widths in pixels of the empty parts of a chart between its colored parts.
const gapsOf = canvas => canvas.evaluate(drawn => {
  const {width, height} = drawn;
  const pen = Object.assign(document.createElement('canvas'), {width, height})
    .getContext('2d', {willReadFrequently: true});
  pen.drawImage(drawn, 0, 0);
  const {data} = pen.getImageData(0, 0, width, height);
  const has = x => Array.from({length: height}, (_, y) => data.slice(4 * (y * width + x), 4 * (y * width + x) + 3))
    .some(color => Math.max(...color) - Math.min(...color) > 60);
  const columns = Array.from({length: width}, (_, x) => has(x) ? '#' : ' ').join('').trim();
  return columns.split('#').map(part => part.length).filter(wide => wide > 0);
});

// Runs with srtf, which the manager has since the test above. GPUs: all, so that the short job preempts the long one.
test('a preempted job: its lease, its wait, its curve and its output', async () => {
  const submit = (name, estimate, ...command) =>
    manager.submit('--name', name, '--gpus', '4', '--estimate', estimate, '--', ...command);
  const long = submit('long', '9h', 'sh', '-c', 'i=900; while :; do echo "line $((i -= 1))"; sleep 0.1; ' +
    'echo "{\\"step\\":$((900 - i)),\\"total\\":800,\\"loss\\":0.$i}" >> $MUSTER_PROGRESS; done');
  const tab = await opened(`#/job/${long}`);
  const {page} = tab;
  const chart = page.locator('.series').filter({hasText: 'loss'}).locator('.chart');
  await chart.waitFor();
  const box = await page.locator('.log').boundingBox();
  assert.ok(box.y + 200 < page.viewportSize().height, `the output begins at ${box.y} px`);
  const short = submit('short', '1s', 'sleep', '1');
  const outcome = page.locator('.leases tr').filter({hasText: 'preempted'});
  await outcome.getByText(`preempted for job ${short}, which is ahead of it by srtf`).waitFor();
  assert.equal(await outcome.getByRole('link', {name: `job ${short}`}).count(), 1);
  await until(async () => (await gapsOf(chart.locator('canvas'))).some(wide => wide > 20), 'the curve has a gap');
  // Lines of output scroll its box, which must not hide the tip of the curve.
  // The page grows while the job changes its state, so the chart may leave the mouse.
  await until(async () => {
    const place = await chart.boundingBox();
    await page.mouse.move(place.x + place.width - 60, place.y + 40, {steps: 3});
    const lines = await page.locator('.log-line').count();
    await until(async () => await page.locator('.log-line').count() > lines + 8, 'more lines come');
    return /\d+:\d+:\d+\s+loss\s+0\.\d+/.test((await page.locator('.tip').allInnerTexts()).join());
  }, 'the tip stays while the output scrolls');
  const why = page.locator('.job-why').filter({hasText: 'of waiting'});
  await why.waitFor();
  assert.equal((await why.innerText()).match(/\d (s|min)\b/g).length, 1, 'one length of waiting');
  assert.doesNotMatch(await page.locator('.job').innerText(), /\((\d+:\d+) to \1\)/);
  manager.cli('cancel', String(long));
  tab.fine();
  await tab.context.close();
});

test('a what-if that finds the manager busy waits for its turn', async () => {
  const tab = await opened('#/compare');
  let times = 0;
  let free;
  const itsTurn = new Promise(done => free = done);
  await tab.page.route('**/v1/whatif?*', route => ++times === 1
    ? route.fulfill({status: 429, json: {error: 'another one is being simulated'}})
    : itsTurn.then(() => route.fulfill(
      {json: {title: 'It was its turn', facts: [], sections: [], notes: [], commands: []}})));
  await tab.page.locator('input[name=policy]').fill('srtf');
  await tab.page.getByRole('button', {name: 'Simulate'}).click();
  await tab.page.getByText('Another simulation is running').waitFor();
  free();
  await tab.page.getByRole('heading', {name: 'It was its turn'}).waitFor();
  tab.fine(/429/);
  await tab.context.close();
});

async function enter(page, token) {
  await page.getByLabel('Ticket or token').fill(token);
  await page.getByRole('button', {name: 'Sign in'}).click();
}

test('who signs in as another in one tab is that one in all', async () => {
  const tab = await openTab(browser, origin);
  await tab.page.goto(origin);
  await enter(tab.page, tokens.ann);
  await tab.page.locator('.who').filter({hasText: 'ann'}).waitFor();
  const other = await tab.context.newPage();
  await other.goto(`${origin}/#/nodes`);
  await other.locator('.who').filter({hasText: 'ann'}).waitFor();
  await tab.page.getByRole('button', {name: 'Sign out'}).click();
  await other.getByLabel('Ticket or token').waitFor();
  await enter(tab.page, tokens.boss);
  await other.locator('.who').filter({hasText: 'boss · operator'}).waitFor();
  tab.fine();
  await tab.context.close();
});

test('a browser that keeps nothing shows the page all the same', async () => {
  const tab = await open({}, ({page}) => page.addInitScript(() => Object.defineProperty(window, 'localStorage', {get() {
    throw new DOMException('forbidden', 'SecurityError');
  }})));
  await tab.page.locator('.link.live').waitFor();
  await tab.page.getByRole('button', {name: 'Dark theme'}).click();
  await tab.page.locator(':root[data-theme=dark]').waitFor();
  tab.fine();
  await tab.context.close();
});
