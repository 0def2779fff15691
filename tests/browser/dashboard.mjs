// The fixture of the dashboard's tests: a manager that serves, a browser, and tabs that are signed in.

import {execFileSync} from 'node:child_process';
import path from 'node:path';
import {after} from 'node:test';
import {launch, openTab} from './chromium.mjs';
import {MUSTER, Manager} from './manager.mjs';

// Two servers in two racks, with tenants and their quotas: {vision: 4}. `more`: lines of the configuration.
export function twoServers(gpus, tenants, more = '') {
  const server = (name, rack) => `  - {name: ${name}, gpus: ${gpus}, cpus: ${gpus}, mem: ${2 * gpus}, rack: ${rack}}\n`;
  const list = Object.entries(tenants).map(([name, quota]) => `    - {name: ${name}, quota: ${quota}}\n`).join('');
  return `nodes:\n${server('left', 'east')}${server('right', 'west')}` +
    `scheduler: {policy: fifo, placement: first-fit}\n${list && `tenants:\n  list:\n${list}`}${more}`;
}

// In the file `tokens` of the manager's home; `roles`: options of each user, {boss: ['--operator']}.
export function makeTokens(manager, roles) {
  const file = path.join(manager.home, 'tokens');
  return Object.fromEntries(Object.entries(roles).map(([user, more]) => [user,
    execFileSync(MUSTER, ['token', user, '--file', file, ...more],
      {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: manager.env()}).trim()]));
}

// Both end after the last test. `prepare` is called with the manager before it starts.
export async function serving(config, prepare = () => {}) {
  const browser = await launch();
  const manager = new Manager(config);
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
  // A tab that is signed in; `ready` is called with it before it opens the page.
  const open = async (options = {}, ready = () => {}) => {
    const address = manager.address();
    const tab = await openTab(browser, new URL(address).origin, options);
    await ready(tab);
    await tab.page.goto(address);
    return tab;
  };
  return {browser, manager, open};
}
