// The dashboard with the keyboard only: each screen can be reached, and each action can be done without a mouse.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_keys_test.mjs

import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {serving, twoServers} from './dashboard.mjs';
import {until} from './manager.mjs';
import {SCREENS, opened, readable} from './screens.mjs';

const {manager, open} = await serving(twoServers(2, {vision: 2, speech: 2}, 'grace: 1s\n'));
const tab = await open();
const page = () => tab.page;
const ids = {};

const sleeper = (name, gpus, tenant) => {
  ids[name] = manager.submit('--name', name, '--gpus', String(gpus), '--tenant', tenant, '--', 'sleep', '600');
};
const job = async name => (await manager.ask('GET', `/v1/jobs/${ids[name]}`)).body;

before(async () => {
  await page().getByText('live', {exact: true}).waitFor();
  await page().evaluate(() => {
    window.stillHere = true;
    window.taken = [];  // Keys that the page handles itself.
    addEventListener('keydown', event => event.defaultPrevented && window.taken.push(event.key));
  });
  sleeper('runner', 2, 'vision');
  sleeper('second', 4, 'vision');
  sleeper('third', 4, 'vision');
  await until(async () => (await job('runner')).state === 'running', 'it runs');
});

const press = async (...keys) => {
  for (const key of keys) await page().keyboard.press(key);
};

const focused = () => page().evaluate(() => {
  const element = document.activeElement;
  return {where: element.id || element.localName, seen: element.matches(':focus-visible'),
    inGrid: Boolean(element.closest('[role=grid]')), inRow: Boolean(element.closest('.vrow'))};
});

// Presses Tab until the element has the focus. The focus must be visible.
async function tabTo(selector, text) {
  const there = () => page().evaluate(([what, words]) => {
    const element = document.activeElement;
    return element.matches(what) && (!words || (element.ariaLabel ?? element.textContent).includes(words));
  }, [selector, text]);
  for (let i = 0; i < 120; i++) {
    await press('Tab');
    if (!await there()) continue;
    assert.ok((await focused()).seen, `${selector} has the focus and does not show it`);
    return;
  }
  assert.fail(`Tab does not reach ${selector} ${text ?? ''}`);
}

async function screen(name) {
  await tabTo(`nav a[href="#/${name}"]`);
  await press('Enter');
  await opened(page(), name);
}

const heading = words => page().getByRole('heading', {name: words}).first().waitFor();
const somewhere = async what => assert.notEqual((await focused()).where, 'body', `the focus is lost ${what}`);

test('the first Tab skips the bar; each screen is reached and read, light and dark', async () => {
  await press('Tab', 'Enter');
  assert.equal((await focused()).where, 'main');
  for (const name of SCREENS) {
    await screen(name);
    await readable(page(), `${name}, light`);
  }
  await tabTo('button', 'Dark theme');
  await press('Enter');
  await page().locator(':root[data-theme=dark]').waitFor();
  for (const name of SCREENS) {
    await screen(name);
    await readable(page(), `${name}, dark`);
  }
  tab.fine();
});

test('fleet: arrows choose what colours show and go from GPU to GPU; Enter opens the job', async () => {
  await screen('fleet');
  await tabTo('[role=radio]', 'Allocation');
  await press('ArrowRight');
  await page().locator('[role=radio][aria-checked=true]:focus').filter({hasText: 'Utilization'}).waitFor();
  // From the name of another node, an arrow key goes to that node and not to the first one.
  await tabTo('.server-name a', 'right');
  await press('ArrowRight');
  assert.match(await page().locator('.gpu:focus').getAttribute('aria-label'), /^GPU 0 of right/);
  await press('ArrowUp');
  assert.match(await page().locator('.gpu:focus').getAttribute('aria-label'), /^GPU 0 of left: job \d+, runner/);
  await page().locator('.tip').getByText('runner').waitFor();
  await press('Enter');
  await heading(/runner/);
  await somewhere('on the job\'s page');
});

test('keys that are the browser\'s are left to it', async () => {
  await screen('fleet');
  await page().evaluate(() => window.taken.length = 0);
  for (const place of ['[role=radio][aria-checked=true]', '.map', '.server-name a']) {
    await tabTo(place);
    await press('Alt+ArrowLeft', 'Control+ArrowRight', 'Meta+ArrowLeft');
  }
  await screen('queue');
  await tabTo('[role=grid]');
  await press('Alt+ArrowDown', 'Control+End');
  assert.deepEqual(await page().evaluate(() => window.taken), []);
  await press('ArrowDown');
  assert.deepEqual(await page().evaluate(() => window.taken), ['ArrowDown']);
});

const chosen = () => page().locator('.vrow[aria-selected=true]');

test('queue: a search, a row and its page; the choice stays with its job while the list moves', async () => {
  await screen('queue');
  await press('/');
  await page().keyboard.type('third');
  await page().getByRole('row').filter({hasText: 'second'}).waitFor({state: 'detached'});
  // The results for the whole word: a slow user has seen results for its parts before.
  await page().waitForFunction(() => location.hash.includes('search=third') && !document.querySelector('.queue.old'));
  await tabTo('[role=grid]');
  await press('ArrowDown', 'Enter');
  await heading(/third/);
  await somewhere('on the job\'s page');
  await page().goBack();
  await chosen().filter({hasText: 'third'}).waitFor();
  await page().locator('[role=grid]:focus').waitFor();  // The focus is where it was.
  await press('/', 'Escape');
  await page().getByRole('row').filter({hasText: 'second'}).waitFor();
  await tabTo('[role=grid]');
  await press('End');
  await chosen().filter({hasText: 'third'}).waitFor();
  for (let at = await focused(); at.inGrid; at = await focused()) {
    assert.equal(at.inRow, false, 'a link in a row has the focus: another job may come under it');
    await press('Tab');
  }
  await tabTo('[role=grid]');
  manager.cli('cancel', String(ids.second));
  await page().getByRole('row').filter({hasText: 'second'}).waitFor({state: 'detached'});
  await chosen().filter({hasText: 'third'}).waitFor();
  await press('Enter');
  await heading(/third/);
});

// Presses a button of a job or a node, and the one of its dialog. Tab then continues from there.
async function act(name) {
  await tabTo('button', name);
  await press('Enter');
  await page().locator('dialog[open]').waitFor();
  await tabTo('dialog[open] button', name);
  await press('Enter');
  await page().locator('dialog[open]').waitFor({state: 'hidden'});
  assert.equal(await page().evaluate(() => Boolean(document.activeElement.closest('[aria-label=Actions]'))), true,
    `the focus is lost after ${name}`);
}

test('job: held and released; a question stays open when its job ends meanwhile', async () => {
  await page().waitForFunction(() => document.querySelector('.job-actions button'));
  await act('Hold');
  await until(async () => (await job('third')).state === 'held', 'it is held');
  await page().getByRole('button', {name: 'Release'}).waitFor();
  await somewhere('when the buttons change');
  await act('Release');
  await until(async () => (await job('third')).state === 'queued', 'it waits again');
  await page().locator('.job-title .badge').filter({hasText: 'queued'}).waitFor();
  await tabTo('button', 'Cancel');
  await press('Enter');
  const dialog = page().locator('dialog[open]');
  await dialog.waitFor();
  manager.cli('cancel', String(ids.third));
  await page().locator('.job-title .badge').filter({hasText: 'cancelled'}).waitFor();
  await tabTo('dialog[open] button', 'Cancel job');
  await press('Enter');
  await dialog.getByRole('alert').waitFor();
  await press('Escape');
  await dialog.waitFor({state: 'hidden'});
  await page().getByRole('button', {name: 'Cancel', exact: true}).waitFor({state: 'detached'});
  tab.fine(/409 \(Conflict\)/);
  tab.wrong.length = 0;
});

test('tenants, timeline and compare', async () => {
  await screen('tenants');
  await tabTo('td a', 'speech');
  await press('Enter');
  await heading('speech: GPUs over time');
  await screen('timeline');
  await tabTo('canvas');
  await press('0', '+');
  await page().getByRole('status').filter({hasText: 'Visible'}).waitFor();
  await press('n');
  await page().getByRole('status').filter({hasText: /job \d+, runner/}).waitFor();
  await press('Enter');
  await heading(/runner/);
  await screen('compare');
  await tabTo('input[name=policy]');
  await page().keyboard.type('srtf');
  await press('Enter');
  await page().getByText(/Actual and simulated results/).first().waitFor();
  tab.fine();
});

test('nodes: one is opened, drained, opened again and closed', async () => {
  const state = async () => (await manager.ask('GET', '/v1/nodes')).body.nodes.find(one => one.name === 'right').state;
  await screen('nodes');
  await tabTo('[role=grid]');
  await press('End', 'Enter');
  await heading('right');
  await act('Drain');
  await until(async () => await state() === 'drained', 'it is drained');
  await page().getByRole('button', {name: 'Undrain'}).waitFor();
  await act('Undrain');
  await until(async () => await state() === 'open', 'it is open');
  await press('Escape');
  await page().locator('.node-panel').waitFor({state: 'detached'});
  assert.equal(await page().evaluate(() => window.stillHere), true, 'the page was loaded anew');
  tab.fine();
});
