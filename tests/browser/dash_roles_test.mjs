// Permissions on the dashboard: a user with a token, compared with an operator.
//
//   MUSTER_PROGRAMS=.../muster:.../trainer node --test dash_roles_test.mjs

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {openTab} from './chromium.mjs';
import {makeTokens, serving, twoServers} from './dashboard.mjs';
import {until} from './manager.mjs';
import {SCREENS, answers, go, open} from './screens.mjs';

const CONFIG = twoServers(2, {}, `
cgroup: none
grace: 1s
listen: {tcp: "127.0.0.1:0", tokens: tokens}
`);
const SECRET = 'secret-plan';
// All calls that return data about jobs.
const ANSWERS = ['/v1/fleet', '/v1/jobs?state=all&counts=1', '/v1/timeline', '/v1/usage', '/v1/nodes', '/v1/events'];

let tokens;
const {browser, manager} = await serving(CONFIG, starting => {
  tokens = makeTokens(starting, {ann: [], bob: [], boss: ['--operator']});
}, {shared: true});
const url = new URL(manager.address()).origin + '/';
const secret = manager.submit('--name', SECRET, '--gpus', '1', '--', 'sh', '-c', `echo ${SECRET}; exec sleep 600`);
await until(async () => (await manager.ask('GET', `/v1/jobs/${secret}`)).body.state === 'running', 'it runs');

// Signs in. `told` returns the bodies of answers (without streams) that contain the secret.
async function signedIn(user) {
  const tab = await openTab(browser, url);
  const told = [];
  await answers(tab.page, (body, from) => {
    told.push({from, body});
    return body;
  });
  await tab.page.goto(url);
  await tab.page.getByLabel('Ticket or token').fill(tokens[user]);
  await tab.page.getByRole('button', {name: 'Sign in'}).click();
  await tab.page.getByRole('link', {name: 'Queue'}).waitFor();
  return {...tab, told: () => told.filter(one => one.body.includes(SECRET))};
}

// Sends a request like the page, without the page.
async function asked(user, target, method = 'GET', body = undefined) {
  const answer = await fetch(new URL(target, url), {method, body: body && JSON.stringify(body),
    headers: {Authorization: `Bearer ${tokens[user]}`, ...(body && {'Content-Type': 'application/json'})}});
  return {status: answer.status, text: await answer.text()};
}

test('no answer tells a user of others\' jobs; an operator is told', async () => {
  for (const target of ANSWERS) {
    const [ann, boss] = [await asked('ann', target), await asked('boss', target)];
    assert.equal(ann.status, 200, target);
    assert.equal(ann.text.includes(SECRET), false, `${target} tells ann`);
    // Without this check, an answer that never contains the name would pass the one above.
    if (!['/v1/usage', '/v1/nodes'].includes(target)) {
      assert.equal(boss.text.includes(SECRET), true, `${target} does not tell the operator`);
    }
  }
  for (const part of ['', '/page', '/why', '/log?lease=1']) {
    const answer = await asked('ann', `/v1/jobs/${secret}${part}`);
    assert.ok([403, 404].includes(answer.status), `${part}: ${answer.status}`);
    assert.equal(answer.text.includes(SECRET), false, part);
    assert.equal((await asked('boss', `/v1/jobs/${secret}${part}`)).status, 200, part);
  }
  for (const deed of ['cancel', 'hold', 'release', 'retry']) {
    assert.ok([403, 404].includes((await asked('ann', `/v1/jobs/${secret}/${deed}`, 'POST', {})).status), deed);
  }
  // Hiding the button is not the protection: the manager itself rejects the request.
  for (const deed of ['drain', 'undrain']) {
    assert.equal((await asked('ann', `/v1/nodes/left/${deed}`, 'POST', {})).status, 403, deed);
  }
  assert.equal((await asked('ann', '/v1/whatif?policy=srtf')).status, 403);
  assert.equal((await manager.ask('GET', `/v1/jobs/${secret}`)).body.state, 'running');
});

// Submits a job that waits for all GPUs.
const waiting = async user => JSON.parse((await asked(user, '/v1/jobs', 'POST',
  {cwd: manager.base, gpus: 4, command: ['sleep', '600']})).text).id;
const cancel = id => manager.ask('POST', `/v1/jobs/${id}/cancel`);
const jobLinks = (page, where) => page.locator(`${where} a[href^="#/job/"]`).evaluateAll(links =>
  links.map(link => link.textContent));

async function showsHolder(page, id) {
  await go(page, `#/job/${id}`);
  await page.locator('.job-why .tree').getByText(`job ${secret} (`).first().waitFor();
}

test('a user\'s screens show no jobs of others and no buttons of operators', async () => {
  const ann = await signedIn('ann');
  for (const screen of SCREENS.filter(one => one !== 'compare')) await open(ann.page, screen);
  assert.equal(await ann.page.getByRole('link', {name: 'Compare'}).count(), 0);
  // Users see that the GPU is in use, but not by which job.
  await open(ann.page, 'fleet');
  await ann.page.locator(`.squares [role=img][aria-label="GPU 0 of left: job ${secret}"]`).waitFor();
  await go(ann.page, '#/nodes/left');
  await ann.page.locator('.node-panel').getByText('1 used').waitFor();
  await ann.page.locator('.node-panel').getByText('Jobs of other users are hidden. They use 1 GPU.').waitFor();
  assert.equal(await ann.page.getByRole('button', {name: 'Drain', exact: true}).count(), 0);
  await go(ann.page, `#/job/${secret}`);
  await ann.page.getByText(/Job \d+ not found|another user/).first().waitFor();
  // Her own job waits for two others, which she cannot open.
  const [bobs, anns] = [await waiting('bob'), await waiting('ann')];
  await showsHolder(ann.page, anns);
  assert.deepEqual(await jobLinks(ann.page, '.job-why'), []);
  const reserved = ann.page.locator('.totals').getByText(/reserved for job/);
  await open(ann.page, 'fleet');
  await reserved.filter({hasText: `job ${bobs}`}).waitFor();
  assert.deepEqual(await jobLinks(ann.page, '.totals'), []);
  await cancel(bobs);
  await reserved.getByRole('link', {name: `job ${anns}`}).waitFor();
  const boss = await signedIn('boss');
  await showsHolder(boss.page, anns);
  assert.match((await jobLinks(boss.page, '.job-why')).join(), new RegExp(`job ${secret} `));
  await cancel(anns);
  await boss.context.close();
  assert.deepEqual(ann.told(), []);
  ann.fine(/40[34] \((Forbidden|Not Found)\)/);
  await ann.context.close();
});

test('an operator\'s show them; a server that fails two users is in quarantine, and opened again', async () => {
  const boss = await signedIn('boss');
  await open(boss.page, 'queue');
  await boss.page.getByRole('row').filter({hasText: SECRET}).waitFor();
  assert.ok(boss.told().length > 0);
  await open(boss.page, 'nodes');
  const row = boss.page.getByRole('row').filter({hasText: 'left'});
  await row.filter({hasText: 'open'}).waitFor();
  for (const user of ['ann', 'bob']) {
    const answer = await asked(user, '/v1/jobs', 'POST', {cwd: manager.base, command: ['sh', '-c',
      'if [ $MUSTER_NODE = left ]; then kill -SEGV $$; fi']});
    const {id} = JSON.parse(answer.text);
    await until(async () => (await manager.ask('GET', `/v1/jobs/${id}`)).body.state === 'done', 'it ran elsewhere');
  }
  await row.filter({hasText: 'quarantined'}).filter({hasText: 'reported by 2 users'}).waitFor();
  await row.click();
  const panel = boss.page.locator('.node-panel');
  await panel.getByText('Next test').waitFor();
  await panel.getByRole('button', {name: 'End quarantine'}).click();
  const dialog = boss.page.locator('dialog[open]');
  await dialog.getByText('The node accepts jobs immediately, without passing a test.').waitFor();
  await dialog.getByRole('button', {name: 'End quarantine'}).click();
  await dialog.waitFor({state: 'hidden'});
  await row.filter({hasText: 'open'}).waitFor();
  await until(async () => (await manager.ask('GET', '/v1/nodes')).body.nodes[0].state === 'open', 'left is open');
  boss.fine();
});
