// Every screen of a live manager at once, each in a browser's window of its own, in the dark: what is submitted on the
// command line shows on all of them, and so does what comes after the manager was killed and started again. None is
// loaded anew.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_screens_test.mjs

import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {serving, twoServers} from './dashboard.mjs';
import {until} from './manager.mjs';
import {GONE, SCREENS, go, opened, readable} from './screens.mjs';

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
    tabs[screen] = await openOn(screen === 'job' ? '#/job/1' : `#/${screen}`);  // There is none yet.
  }));
});

const everywhere = each => Promise.all(Object.entries(tabs).map(([screen, tab]) => each(screen, tab)));

const is = (id, state) =>
  until(async () => (await manager.ask('GET', `/v1/jobs/${id}`)).body.state === state, `job ${id} is ${state}`);

async function simulated(page) {
  await page.getByLabel('Who runs next').fill('srtf');
  await page.getByRole('button', {name: 'Simulate'}).click();
}

// What each screen says of a job that runs alone, of so many that there were.
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
  // It answers when it is asked: of the jobs that have run by then.
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
  await tabs.job.page.getByText('There is no job 1.').waitFor();
  await tabs.queue.page.getByText('Nothing runs and nothing waits.').waitFor();
  await tabs.timeline.page.getByText('No job has run in this time.').waitFor();
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

test('after the manager was killed and came back each goes on, with what happened since', async () => {
  const job = {id: 2, nth: 2, name: 'afterwards', gpus: 3, tenant: 'vision'};
  await everywhere((_, tab) => {
    tab.wrong.length = 0;
  });
  await manager.end('SIGKILL');
  await everywhere((_, tab) => tab.page.getByText('reconnecting…').first().waitFor());
  await manager.start();
  manager.cli('cancel', '1');
  await is(1, 'cancelled');  // It holds GPUs until then, and the next is to have the first.
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
