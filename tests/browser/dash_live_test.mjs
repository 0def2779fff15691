// The dashboard of a live manager in a real browser: real jobs from submission to end, and actions on them.
// dash_screens_test.mjs tests the updates of each screen.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_live_test.mjs

import assert from 'node:assert/strict';
import {afterEach, test} from 'node:test';
import {openTab} from './chromium.mjs';
import {serving, twoServers} from './dashboard.mjs';
import {TRAINER, until} from './manager.mjs';
import {SCREENS, answers, go as goTo, headed, listFits, open} from './screens.mjs';

// More tenants than there are colors. In alphabetical order, team-0 and vision would get the same color.
const teams = Object.fromEntries(Array.from({length: 12}, (_, i) => [`team-${i}`, 0]));
const {browser, manager, open: openSite} = await serving(
  twoServers(4, {vision: 4, speech: 2, default: 2, ...teams}, 'grace: 2s\nprogress_every: 500ms\n'));
const tab = await openSite();
const page = () => tab.page;
await page().evaluate(() => window.stillHere = true);

afterEach(() => manager.cancelAll());  // Jobs that a failed test left.

const go = hash => goTo(page(), hash);
const shows = (text, options) => page().getByText(text, options).first().waitFor();
const sleeper = (...words) => manager.submit(...words, '--', 'sleep', '600');

test('a ticket signs in and leaves the address', async () => {
  await shows('live', {exact: true});
  assert.equal(new URL(page().url()).hash.includes('ticket'), false);
  assert.equal(await page().getByRole('link', {name: 'Fleet'}).count(), 1);
  tab.fine();
});

test('a job submitted on the command line shows up by itself, runs, and is over', async () => {
  await go('#/queue');
  const id = manager.submit('--name', 'spirals', '--gpus', '2', '--tenant', 'vision', '--', 'sh', '-c',
    `"$0" --steps 2000000 --load-ms 2 & while :; do echo "a line of step $((i += 1))"; sleep 0.2; done`, TRAINER);
  const row = page().getByRole('row').filter({hasText: 'spirals'});
  await row.filter({hasText: 'running'}).waitFor();
  await row.filter({hasText: '2/2'}).click();
  await page().getByRole('heading', {name: `spirals · job ${id}`}).waitFor();
  // Live output and progress.
  const log = page().locator('.log');
  await log.getByText(/a line of step \d/).first().waitFor();
  const lines = await log.locator('.log-line').count();
  await until(async () => await log.locator('.log-line').count() > lines + 2, 'more lines come');
  await page().locator('.job-column').getByText(/steps\/s|steps per second/).first().waitFor();
  await go('#/fleet');
  const used = words => page().locator('.stat').filter({has: page().getByText('used', {exact: true})})
    .getByText(words, {exact: true}).waitFor();
  await used('2');
  manager.cli('cancel', String(id));
  await used('0');
  assert.equal(await page().evaluate(() => window.stillHere), true, 'the page was loaded anew');
  tab.fine();
});

test('a job that waits says why, and what would help', async () => {
  const running = sleeper('--name', 'holder', '--gpus', '8', '--tenant', 'vision');
  const waiting = sleeper('--name', 'waiter', '--gpus', '4', '--tenant', 'speech');
  await go(`#/job/${waiting}`);
  await page().getByRole('heading', {name: `waiter · job ${waiting}`}).waitFor();
  await page().locator('.job-why .job-sentence').filter({hasText: 'it needs 4, 0 of 8 are free'})
    .waitFor();
  await page().locator('.job-why .ways li').first().waitFor();
  await page().locator('.job-why .tree').getByText(`job ${running} (`).first().waitFor();
  await headed(page(), 'a job that waits');
  await go('#/queue');
  await page().getByRole('row').filter({hasText: 'waiter'}).filter({hasText: 'queued'}).waitFor();
  await listFits(page(), /^Jobs/);
  await open(page(), 'nodes');
  await listFits(page(), /^Nodes/);
  await go('#/nodes/left');
  await page().getByRole('heading', {name: 'left'}).waitFor();
  await headed(page(), 'a node');
  await go('#/queue');
  manager.cli('cancel', String(running), String(waiting));
  await shows('No active jobs');
  tab.fine();
});

// Returns the number of pixels of the timeline that are not gray: leases in the colors of their tenants.
const coloured = () => page().locator('.gantt-box canvas').evaluate(canvas => {
  const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
  const pen = copy.getContext('2d', {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const {data} = pen.getImageData(0, 0, copy.width, copy.height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b] = data.slice(i, i + 3);
    if (Math.max(r, g, b) - Math.min(r, g, b) > 60) n++;
  }
  return n;
});

// Checks that at least `least` elements are there and that their colors differ.
async function differ(selector, least) {
  await page().locator(selector).nth(least - 1).waitFor();
  const colors = await page().locator(selector)
    .evaluateAll(all => all.map(one => getComputedStyle(one).backgroundColor));
  assert.equal(new Set(colors).size, colors.length, `${selector}: ${colors}`);
}

test('the fleet tells four stories; the queue says when; a share that is held is named', async () => {
  const held = ['vision', 'team-0'].map(tenant =>
    sleeper('--name', `borrower-${tenant}`, '--gpus', '4', '--tenant', tenant, '--estimate', '1h'));
  const waiting = sleeper('--name', 'owner', '--gpus', '4', '--tenant', 'default', '--estimate', '10m');
  const blocked = sleeper('--name', 'later', '--gpus', '1', '--tenant', 'default', '--after-any', String(waiting));
  await go('#/fleet');
  const looks = {Utilization: '.use, .unknown', Health: '.health-open', 'CPU-starved': '.speed, .unknown',
    Allocation: '.job'};
  for (const [mode, look] of Object.entries(looks)) {
    await page().getByRole('radio', {name: mode}).click();
    await page().locator(`[role=radio][aria-checked=true]`).filter({hasText: mode}).waitFor();
    await page().locator('.squares .gpu').and(page().locator(look)).nth(7).waitFor();  // All eight.
  }
  await page().getByRole('heading', {name: /east/}).first().waitFor();  // By rack.
  await differ('.legend .gpu.job', 2);
  await go('#/tenants');
  const cells = page().locator('table.figures tr').filter({hasText: 'default'}).locator('td');
  await until(async () => (await cells.allInnerTexts()).slice(-2).join() === '0,1', 'one job is queued, one blocked');
  await differ('section:has-text("All tenants") .series-legend .mark:not(.dashed)', 10);
  await page().getByRole('table', {name: 'Borrowed GPUs'}).getByRole('link', {name: /borrower/}).first()
    .waitFor();
  await go('#/timeline');
  await until(async () => await coloured() > 200, 'leases are drawn');
  await differ('.gantt-legend .mark', 2);
  await go('#/queue');  // Last, because the manager makes forecasts only every ten seconds.
  const row = page().getByRole('row').filter({hasText: 'owner'});
  await row.getByText(/^in \d|any moment|no prediction/).first().waitFor();
  for (const id of [...held, waiting, blocked]) manager.cli('cancel', String(id));
  tab.fine();
});

test('what-if: of a request, and of another scheduler', async () => {
  const id = sleeper('--name', 'asked-about', '--gpus', '8', '--tenant', 'vision');
  const waiting = sleeper('--name', 'too-large', '--gpus', '8', '--tenant', 'vision');
  // The page does not have the explanation yet when the simulation starts; the comparison must work anyway.
  let tell;
  const asked = new Promise(done => tell = done);
  await page().route(/\/why$/, async route => {
    await asked;
    await route.continue().catch(() => {});
  }, {times: 1});
  await go(`#/job/${waiting}`);
  await page().getByLabel('GPUs', {exact: true}).fill('1');
  await page().getByRole('button', {name: 'Predict'}).click();
  await page().locator('.outcome').filter({hasText: 'Current request, current position'}).locator('.badge').waitFor();
  await page().locator('.outcome').filter({hasText: 'With GPUs 1'}).locator('.badge').waitFor();
  tell();
  await go('#/compare');
  await page().locator('#known-policy option[value=srtf]').waitFor({state: 'attached'});
  await page().locator('input[name=policy]').fill('srtf');
  await page().getByRole('button', {name: 'Simulate', exact: true}).click();
  await page().getByText(/Actual and simulated results/).first().waitFor();
  await page().locator('input[name=policy]').fill('srft');
  await page().getByRole('button', {name: 'Simulate', exact: true}).click();
  await page().locator('main .trouble').filter({hasText: /did you mean.*srtf/i}).waitFor();
  for (const one of [id, waiting]) manager.cli('cancel', String(one));
  tab.fine(/400 \(Bad Request\)/);
  tab.wrong.length = 0;
});

async function act(button, confirm = button) {
  await page().getByRole('button', {name: button, exact: true}).first().click();
  const dialog = page().locator('dialog[open]');
  await dialog.getByRole('button', {name: confirm, exact: true}).click();
  await dialog.waitFor({state: 'hidden'});
}

test('hold, release, cancel and retry work, after a second word', async () => {
  const id = sleeper('--name', 'acted-on', '--gpus', '1');
  const state = async () => (await manager.ask('GET', `/v1/jobs/${id}`)).body.state;
  await until(async () => await state() === 'running', 'it runs');
  await go(`#/job/${id}`);
  await page().getByRole('button', {name: 'Hold', exact: true}).click();
  await page().locator('dialog[open]').getByRole('button', {name: 'Keep'}).click();
  assert.equal(await state(), 'running');
  await act('Hold');
  await until(async () => await state() === 'held', 'it is held');
  await page().getByRole('button', {name: 'Release', exact: true}).waitFor();
  await act('Release');
  await until(async () => await state() === 'running', 'it runs again');
  await page().getByRole('button', {name: 'Cancel', exact: true}).click();
  const dialog = page().getByRole('dialog', {name: `Cancel job ${id} (acted-on)?`});
  await dialog.waitFor();
  assert.deepEqual(await dialog.getByRole('button').allInnerTexts(), ['Keep', 'Cancel job']);
  await dialog.getByRole('button', {name: 'Keep'}).click();
  await act('Cancel', 'Cancel job');
  await until(async () => await state() === 'cancelled', 'it is cancelled');
  await page().getByRole('button', {name: 'Retry', exact: true}).waitFor();
  await act('Retry');
  await until(() => page().evaluate(old => location.hash.startsWith('#/job/') && location.hash !== `#/job/${old}`, id),
    'the new job is shown');
  const again = await page().evaluate(() => Number(location.hash.split('/')[2]));
  assert.equal((await manager.ask('GET', `/v1/jobs/${again}`)).body.name, 'acted-on');
  manager.cli('cancel', String(again));
  tab.fine();
});

test('a server is drained and opened again', async () => {
  await go('#/nodes/left');
  await act('Drain');
  await until(async () => (await manager.ask('GET', '/v1/nodes')).body.nodes[0].open === false, 'left is closed');
  await page().getByRole('button', {name: 'Undrain', exact: true}).waitFor();
  await shows('drained');
  await act('Undrain');
  await until(async () => (await manager.ask('GET', '/v1/nodes')).body.nodes[0].open === true, 'left is open');
  tab.fine();
});

const EVIL = '<img src=x onerror=document.body.dataset.hacked=1>';

async function nothingMade(where) {
  assert.equal(await where.locator('img, svg[onload], main script').count(), 0);
  assert.equal(await where.evaluate(() => document.body.dataset.hacked), undefined);
}

test('what people write is text and never markup', async () => {
  const names = [EVIL, '"><script>alert(1)<script>', '{{7*7}}${7*7}', '&lt;b&gt;'];
  const script = `echo '<img src=x onerror="document.body.dataset.hacked=1">'; echo '<script>alert(1)</script>'; ` +
    `echo 'RuntimeError: <svg onload=alert(1)>'; exit 3`;
  const ids = names.map(name => manager.submit('--name', name, '--gpus', '1', '--', 'sh', '-c', script));
  await until(async () => (await manager.ask('GET', '/v1/jobs')).body.total === 0, 'all have failed');
  await go('#/queue?state=ended');
  for (const name of names) await page().getByText(name, {exact: true}).first().waitFor();
  for (const [i, id] of ids.entries()) {
    await go(`#/job/${id}`);
    await page().getByRole('heading').filter({hasText: names[i]}).first().waitFor();
    await page().locator('.log').getByText('<script>alert(1)</script>').first().waitFor();
  }
  for (const screen of SCREENS) await open(page(), screen);
  await nothingMade(page());
  tab.fine();
});

test('the evidence of a diagnosis opens the output at its line', async () => {
  // More than the page loads at first.
  const id = manager.submit('--name', 'fails', '--gpus', '1', '--', 'sh', '-c', 'seq 30; ' +
    'echo "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"; seq -f %0300.0f 300; exit 1');
  await go(`#/job/${id}`);
  const link = page().locator('.evidence a').filter({hasText: 'line 31 of the output'});
  await link.nth(1).waitFor();  // The first is of the explanation, the second of the lease.
  const marked = page().locator('.log-line.here').filter({hasText: 'CUDA out of memory'});
  const inSight = () => marked.evaluate(line => {
    const [its, box] = [line, line.closest('.log')].map(one => one.getBoundingClientRect());
    return its.top >= Math.max(0, box.top) && its.bottom <= Math.min(innerHeight, box.bottom);
  });
  for (const each of [link.first(), link.last()]) {
    await each.click();
    await marked.waitFor();
    await until(inSight, 'the line is in sight');
    await page().getByRole('button', {name: 'Go to the end'}).click();
    await until(async () => !await inSight(), 'the end is in sight');
  }
  await page().reload();  // The address contains the line.
  await marked.waitFor();
  await until(inSight, 'the line is in sight');
  await page().evaluate(() => window.stillHere = true);
  tab.fine();
});

// The manager rejects such names. If it ever accepted them, the page would still show them as plain text.
test('nor are the names of servers, racks, tenants and users', async () => {
  const names = {left: `left${EVIL}`, east: `east${EVIL}`, vision: `vision${EVIL}`, somebody: `somebody${EVIL}`};
  const id = sleeper('--name', 'named', '--gpus', '2', '--tenant', 'vision');
  const other = await openSite({}, ({page: opening}) => answers(opening, body => body
    .replaceAll(/"(left|east|vision)\b/g, (_, name) => `"${names[name]}`)
    .replaceAll(/"user": ?"[^"]*"/g, `"user":"${names.somebody}"`)));
  const named = async (hash, ...which) => {
    await goTo(other.page, hash);
    for (const name of which) await other.page.locator('main').getByText(names[name]).first().waitFor();
    await nothingMade(other.page);
  };
  await named('#/fleet', 'left', 'east', 'vision');
  await named('#/queue', 'vision', 'somebody');
  await named(`#/job/${id}`, 'vision', 'somebody', 'left');
  await named('#/tenants', 'vision');
  await named('#/timeline', 'vision');
  await named('#/compare');
  await named('#/nodes', 'left', 'east');
  await other.page.locator('.who').getByText(names.somebody).waitFor();
  other.fine();
  await other.context.close();
});

test('without a ticket there is a sign-in, and a wrong one is refused', async () => {
  const other = await openTab(browser, new URL(page().url()).origin);
  await other.page.goto(new URL('/', page().url()).href);
  await other.page.getByLabel('Ticket or token').fill('muster-0000');
  await other.page.getByRole('button', {name: 'Sign in'}).click();
  await other.page.getByRole('alert').filter({hasText: 'invalid or expired'}).waitFor();
  await other.page.getByLabel('Ticket or token').fill(manager.address());
  await other.page.getByRole('button', {name: 'Sign in'}).click();
  await other.page.getByRole('link', {name: 'Fleet'}).waitFor();
  await other.page.getByRole('button', {name: 'Sign out'}).click();
  await other.page.getByLabel('Ticket or token').waitFor();
  // A URL pasted into an open page, and one with an invalid ticket, which does not sign the user out.
  await goTo(other.page, new URL(manager.address()).hash);
  await other.page.getByRole('link', {name: 'Fleet'}).waitFor();
  const refused = other.page.waitForResponse(answer => answer.status() === 401);
  await goTo(other.page, '#ticket=%');
  await refused;
  await other.page.getByRole('link', {name: 'Queue'}).click();
  await other.page.locator('nav a[aria-current=page]').filter({hasText: 'Queue'}).waitFor();
  other.fine(/401 \(Unauthorized\)/);
  await other.context.close();
});
