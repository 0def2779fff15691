// All screens of a live manager at the same time, each in a separate window, in dark mode. They show jobs that are
// submitted on the command line, also after the manager was killed and restarted, without reloading the page.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_screens_test.mjs

import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {serving, twoServers} from './dashboard.mjs';
import {until} from './manager.mjs';
import {GONE, SCREENS, go, headed, opened, readable} from './screens.mjs';

const {manager, open} = await serving(twoServers(4, {vision: 4, speech: 4}, 'grace: 2s\n'));
const tabs = {};

async function openOn(hash) {
  const tab = await open({colorScheme: 'dark'});
  await tab.page.getByText('live', {exact: true}).waitFor();
  await tab.page.evaluate(() => window.stillHere = true);
  await go(tab.page, hash);
  return tab;
}

before(async () => {
  await Promise.all([...SCREENS, 'job'].map(async screen => {
    tabs[screen] = await openOn(screen === 'job' ? '#/job/1' : `#/${screen}`);  // The job does not exist yet.
  }));
});

const everywhere = each => Promise.all(Object.entries(tabs).map(([screen, tab]) => each(screen, tab)));

const is = (id, state) =>
  until(async () => (await manager.ask('GET', `/v1/jobs/${id}`)).body.state === state, `job ${id} is ${state}`);

async function simulated(page) {
  await page.locator('input[name=policy]').fill('srtf');
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
}

// Waits until each screen shows `job`: the only running job, and the `nth` job in total.
const TELLS = {
  fleet: (page, job) => page.locator(`.squares a[aria-label$="job ${job.id}, ${job.name}"]`).nth(job.gpus - 1)
    .waitFor(),
  queue: (page, job) => page.getByRole('row').filter({hasText: job.name}).filter({hasText: 'running'})
    .filter({hasText: `${job.gpus}/${job.gpus}`}).waitFor(),
  job: async (page, job) => {
    await page.getByRole('heading', {name: `${job.name} · job ${job.id}`}).waitFor();
    await page.locator('.job-title .badge').filter({hasText: 'running'}).waitFor();
    await page.locator('.log').getByText(`hello of ${job.name}`).waitFor();
  },
  tenants: (page, job) => page.locator('table.figures tr').filter({hasText: job.tenant})
    .getByRole('img', {name: `${job.gpus} used of a quota of 4`}).waitFor(),
  timeline: (page, job) => page.locator(`canvas[aria-label*=" of ${job.nth} job"]`).waitFor(),
  // This screen simulates on request, with the jobs that have run until then.
  compare: async (page, job) => {
    await is(job.id, 'running');
    await simulated(page);
    await page.locator('.page').getByText(new RegExp(`^${job.nth} jobs? of `)).first().waitFor();
  },
  nodes: (page, job) => page.getByRole('row').filter({hasText: 'left'}).filter({hasText: `${job.gpus} of 4`}).waitFor(),
};

function submitted(job) {
  const id = manager.submit('--name', job.name, '--gpus', String(job.gpus), '--tenant', job.tenant, '--', 'sh', '-c',
    `echo hello of ${job.name}; exec sleep 600`);
  assert.equal(id, job.id);
}

test('all screens open, with nothing on them', async () => {
  for (const screen of SCREENS) await opened(tabs[screen].page, screen);
  await tabs.job.page.getByText('Job 1 not found').waitFor();
  await headed(tabs.job.page, 'a job that does not exist');
  await tabs.queue.page.getByText('No active jobs').waitFor();
  await tabs.timeline.page.getByText('No job has run in this period').waitFor();
  await everywhere((screen, tab) => tab.fine(screen === 'job' ? /404 \(Not Found\)/ : undefined));
});

test('a job submitted on the command line shows on every one of them by itself', async () => {
  const job = {id: 1, nth: 1, name: 'newcomer', gpus: 2, tenant: 'speech'};
  submitted(job);
  await everywhere((screen, tab) => TELLS[screen](tab.page, job));
  await everywhere((screen, tab) => readable(tab.page, screen));
  await everywhere(async (screen, tab) => {
    assert.equal(await tab.page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    assert.equal(await tab.page.evaluate(() => window.stillHere), true, `${screen} was loaded anew`);
  });
});

// Waits until these buttons are disabled and the page gives the reason, or until they are enabled.
async function offered(tab, disabled, ...names) {
  for (const name of names) {
    const button = tab.page.getByRole('button', {name, exact: true, disabled});
    await button.waitFor();
    assert.equal(/no connection/i.test(await button.getAttribute('title') ?? ''), disabled, name);
  }
  const reason = tab.page.getByRole('status').filter({hasText: 'Actions are disabled: no connection to the manager.'});
  await reason.first().waitFor({state: disabled ? 'visible' : 'detached'});
}

test('after the manager was killed and came back each goes on, with what happened since', async () => {
  const job = {id: 2, nth: 2, name: 'afterwards', gpus: 3, tenant: 'vision'};
  await everywhere((_, tab) => {
    tab.wrong.length = 0;
  });
  await go(tabs.nodes.page, '#/nodes/left');
  await tabs.job.page.getByRole('button', {name: 'Hold', exact: true}).click();
  const dialog = {page: tabs.job.page.locator('dialog[open]')};
  await offered(dialog, false, 'Hold', 'Keep');
  await manager.end('SIGKILL');
  await everywhere((_, tab) => tab.page.getByText('reconnecting…').first().waitFor());
  await offered(dialog, true, 'Hold');
  await dialog.page.getByRole('button', {name: 'Keep'}).click();
  const buttons = [[tabs.job, 'Cancel', 'Hold', 'Predict'], [tabs.nodes, 'Drain'], [tabs.compare, 'Simulate']];
  for (const [tab, ...names] of buttons) await offered(tab, true, ...names);
  await manager.start();
  for (const [tab, ...names] of buttons) await offered(tab, false, ...names);
  manager.cli('cancel', '1');
  await is(1, 'cancelled');  // It holds GPUs until then, and the next job must get the first GPUs.
  submitted(job);
  await everywhere((_, tab) => tab.page.getByText('live', {exact: true}).waitFor());
  await tabs.job.page.locator('.job-title .badge').filter({hasText: 'cancelled'}).waitFor();
  await go(tabs.job.page, '#/job/2');
  await everywhere((screen, tab) => TELLS[screen](tab.page, job));
  await everywhere(async (screen, tab) => {
    assert.equal(await tab.page.evaluate(() => window.stillHere), true, `${screen} was loaded anew`);
    tab.fine(GONE);
  });
});
