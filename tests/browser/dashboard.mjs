// The fixture of the dashboard tests: a manager, a browser, and tabs that are signed in.

import {execFileSync} from 'node:child_process';
import path from 'node:path';
import {after} from 'node:test';
import {launch, openTab} from './chromium.mjs';
import {MUSTER, Manager} from './manager.mjs';

// Returns a configuration with two nodes in two racks, and tenants with quotas: {vision: 4}. `more`: additional lines.
export function twoServers(gpus, tenants, more = '') {
  const server = (name, rack) => `  - {name: ${name}, gpus: ${gpus}, cpus: ${gpus}, mem: ${2 * gpus}, rack: ${rack}}\n`;
  const list = Object.entries(tenants).map(([name, quota]) => `    - {name: ${name}, quota: ${quota}}\n`).join('');
  return `nodes:\n${server('left', 'east')}${server('right', 'west')}` +
    `scheduler: {policy: fifo, placement: first-fit}\n${list && `tenants:\n  list:\n${list}`}${more}`;
}

// Creates tokens in the file `tokens` of the state directory. `roles`: options per user, {boss: ['--operator']}.
export function makeTokens(manager, roles) {
  const file = path.join(manager.home, 'tokens');
  const tokens = Object.fromEntries(Object.entries(roles).map(([user, more]) => [user,
    execFileSync(MUSTER, ['token', user, '--file', file, ...more],
      {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: manager.env()}).trim()]));
  manager.give(file);
  return tokens;
}

// Starts a browser and a manager; both end after the last test. Calls `prepare` with the manager before it starts.
export async function serving(config, prepare = () => {}, {shared = false} = {}) {
  const browser = await launch();
  const manager = new Manager(config, {shared});
  const close = async () => {
    await browser.close();
    await manager.close();
  };
  after(close);
  try {
    prepare(manager);
    await manager.start();
  } catch (error) {
    await close();
    throw error;
  }
  // Opens a tab that is signed in. Calls `ready` with it before it opens the page.
  const open = async (options = {}, ready = () => {}) => {
    const address = manager.address();
    const tab = await openTab(browser, new URL(address).origin, options);
    await ready(tab);
    await tab.page.goto(address);
    return tab;
  };
  return {browser, manager, open};
}
