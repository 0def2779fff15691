// A real browser for tests. It detects everything that a page must not do: errors, warnings, dialogs, and requests to
// other servers than the one under test.

import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../web/');
const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium';

// The browser itself must not send requests either.
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-default-apps', '--disable-extensions'];

export async function launch() {
  if (!existsSync(PROGRAM)) {
    console.log(`skipped: ${PROGRAM} is not installed`);
    process.exit(77);
  }
  const {chromium} = createRequire(web)('playwright-core');
  return await chromium.launch({executablePath: PROGRAM, args: QUIET, timeout: 120_000});
}

// Opens a tab with separate storage. `wrong` collects problems; `expected` matches problems that a test causes.
export async function openTab(browser, origin, options = {}) {
  const context = await browser.newContext({viewport: {width: 1360, height: 860}, ...options});
  const page = await context.newPage();
  const wrong = [];
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => wrong.push(`script: ${error.message}`));
  page.on('dialog', dialog => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', request => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:')) wrong.push(`asks for ${url}`);
  });
  page.setDefaultTimeout(120_000);  // Programs with sanitizers are slow on a busy machine.
  return {page, context, wrong, fine(expected = /^$/) {
    assert.deepEqual(wrong.filter(words => !expected.test(words)), []);
  }};
}
