// Opens a page that muster wrote in a real browser and looks whether everything on it works.
//
//   NODE_PATH=.../node_modules node page_check.mjs FILE.html [DIR]
//
// Pictures of the page (light, dark, narrow) and its PDF go to DIR. Needs playwright-core, found by
// NODE_PATH or in the current directory, and Chromium ($CHROMIUM, or /usr/bin/chromium). Without
// playwright-core it says so and exits with 77; with 1 if something is wrong.

import {mkdirSync, readFileSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const MOST_MS = 1000;  // From opening the page until it can be used.

function findPlaywright() {
  const places = [process.cwd(), ...(process.env.NODE_PATH || '').split(':').filter(Boolean)
    .map(place => path.dirname(place))];
  for (const place of places) {
    try {
      return createRequire(path.join(place, 'here.js'))('playwright-core');
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  console.log('page_check: skipped: playwright-core is not installed (see NODE_PATH)');
  process.exit(77);
}

const {chromium} = findPlaywright();
const [file, out] = process.argv.slice(2);
if (!file) {
  console.error('usage: node page_check.mjs FILE.html [DIR]');
  process.exit(2);
}
if (out) mkdirSync(out, {recursive: true});

let wrong = 0;
function check(fine, what) {
  if (!fine) wrong++;
  if (!fine) console.log(`WRONG: ${what}`);
}

// What a page must not do in any case, from its first byte on.
function listen(page) {
  page.on('console', message => {
    const ours = /willReadFrequently/.test(message.text());  // This script reads the canvas.
    const bad = ['error', 'warning'].includes(message.type()) && !ours;
    check(!bad, `console: ${message.text()}`);
  });
  page.on('pageerror', error => check(false, `script: ${error.message}`));
  page.on('requestfailed', request => check(false, `request failed: ${request.url()}`));
  page.on('request', request => check(/^(file|blob|data):/.test(request.url()),
    `asks for ${request.url()}`));
  page.on('dialog', dialog => {
    check(false, `a dialog opened: ${dialog.message()}`);
    dialog.dismiss();
  });
}

async function open(browser, options) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  listen(page);
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation',
      event => window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
  });
  await page.goto(pathToFileURL(path.resolve(file)).href, {waitUntil: 'load'});
  return page;
}

async function shoot(page, name) {
  if (!out) return;
  // The caret is left alone: to hide it a style would be added, which the page's policy forbids.
  await page.screenshot({path: path.join(out, name), fullPage: true, caret: 'initial'});
}

async function checkPlots(page) {
  const plots = await page.$$('figure.plot');
  for (const plot of plots) {
    const title = await plot.$eval('.name', node => node.textContent);
    const drawn = await plot.$eval('svg', svg => ({
      marks: svg.querySelectorAll('.line, .bar, .dot').length,
      empty: svg.querySelector('.empty') !== null,
      odd: [...svg.querySelectorAll('*')].some(node => [...node.attributes].some(
        attribute => /NaN|Infinity|undefined/.test(attribute.value))),
      role: svg.getAttribute('role'),
      label: svg.getAttribute('aria-label'),
    }));
    check(drawn.marks > 0 || drawn.empty, `nothing drawn: ${title}`);
    check(!drawn.odd, `coordinates that are no numbers: ${title}`);
    check(drawn.role === 'img' && drawn.label, `no role or label: ${title}`);
    if (drawn.empty) continue;
    await checkHover(page, plot, title);
    await checkLegend(plot, title);
  }
  return plots.length;
}

// What was asked for is on the screen; the news of scrolling, which hides tips, has arrived.
async function settle(page) {
  await page.evaluate(() => new Promise(done => requestAnimationFrame(
    () => requestAnimationFrame(done))));
}

async function checkHover(page, plot, title) {
  const svg = await plot.$('svg');
  await svg.scrollIntoViewIfNeeded();
  await settle(page);
  const box = await svg.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.4);
  const told = await page.$eval('#_tip', tip => tip.hidden ? '' : tip.textContent);
  check(told.length > 0, `no tip under the mouse: ${title}`);
  check(!/NaN|undefined|Infinity/.test(told), `odd tip: ${title}: ${told}`);
  await page.mouse.move(2, 2);
  await svg.focus();
  await settle(page);
  await page.keyboard.press('ArrowRight');
  check(await page.$eval('#_tip', tip => !tip.hidden), `no tip by the keyboard: ${title}`);
  await page.keyboard.press('Escape');
  check(await page.$eval('#_tip', tip => tip.hidden), `the tip stays: ${title}`);
}

// Some series may have nothing to hide, but not all of them.
async function checkLegend(plot, title) {
  const buttons = await plot.$$('.legend button');
  const marks = () => plot.$$eval('svg .line, svg .bar, svg .dot', nodes => nodes.length);
  const before = await marks();
  let hid = buttons.length === 0;
  for (const button of buttons) {
    await button.click();
    hid = hid || await marks() < before;
    await button.click();
    check(await marks() === before, `the legend does not bring back: ${title}`);
  }
  check(hid, `the legend hides nothing: ${title}`);
}

const colorsOf = canvas => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set();
  let sum = 0;
  for (let i = 0; i < data.length; i += 4 * 7) {
    const color = data[i] << 16 | data[i + 1] << 8 | data[i + 2];
    colors.add(color);
    sum = (sum * 31 + color) >>> 0;
  }
  return {count: colors.size, sum};
};

async function checkGantts(page) {
  const gantts = await page.$$('figure.gantt');
  for (const gantt of gantts) {
    const canvas = await gantt.$('canvas');
    await canvas.scrollIntoViewIfNeeded();
    await page.mouse.move(2, 2);
    await settle(page);
    const before = await canvas.evaluate(colorsOf);
    check(before.count > 8, 'the Gantt chart is blank');
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
    for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -120);
    let told = '';
    for (let i = 0; i < 40 && !told; i++) {  // Some GPUs are idle.
      await page.mouse.move(box.x + box.width * (0.3 + i / 80),
                            box.y + box.height * (0.1 + 0.8 * (i % 8) / 8));
      await settle(page);
      told = await page.$eval('#_tip', tip => tip.hidden ? '' : tip.textContent);
    }
    const bare = /[.] 0 bars/.test(await canvas.getAttribute('aria-label'));
    check(bare || /GPU/.test(told), `no tip on the Gantt chart: '${told}'`);
    if (out) await canvas.screenshot({path: path.join(out, 'gantt-zoomed.png'), caret: 'initial'});
    await page.mouse.move(2, 2);
    await settle(page);
    const zoomed = await canvas.evaluate(colorsOf);
    check(zoomed.sum !== before.sum, 'the wheel does not zoom the Gantt chart');
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.5, {steps: 4});
    await page.mouse.up();
    await page.mouse.move(2, 2);
    await settle(page);
    check((await canvas.evaluate(colorsOf)).sum !== zoomed.sum, 'dragging does not move it');
    await canvas.dblclick();
    await page.mouse.move(2, 2);
    await settle(page);
    check((await canvas.evaluate(colorsOf)).sum === before.sum, 'a double click does not reset it');
  }
  return gantts.length;
}

async function checkTables(page) {
  const tables = await page.$$('.table');
  for (const table of tables) {
    const head = await table.$('th.num button');
    if (!head) continue;
    const column = await head.evaluate(button => button.parentNode.cellIndex);
    const values = () => table.$$eval('tbody tr', (rows, i) => rows.map(
      row => row.cells[i].dataset.v).filter(Boolean).map(Number), column);
    const written = await values();
    await head.click();
    const sorted = await values();
    check(sorted.every((value, i) => i === 0 || sorted[i - 1] >= value), 'a table does not sort');
    await head.click();
    await head.click();
    check(String(await values()) === String(written), 'a table does not come back');
  }
  return tables.length;
}

// One of each kind, because a browser grows suspicious of many downloads in a row.
async function checkSaving(page) {
  const kinds = ['.plot:has(.line) .save', '.plot:has(.bar) .save', '.gantt .save', '.table .save'];
  let saved = 0;
  for (const kind of kinds) {
    const button = await page.$(kind);
    if (!button) continue;
    saved++;
    const key = await button.getAttribute('data-key');
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    check(download.suggestedFilename() === `${key}.csv`, `saved under another name: ${key}`);
    const text = readFileSync(await download.path(), 'utf8');
    check(text.split('\n').length > 1 && text.includes(','), `nothing saved: ${key}`);
  }
  return saved;
}

async function checkWidth(page, width) {
  await page.setViewportSize({width, height: 900});
  await page.waitForTimeout(300);
  const over = await page.evaluate(() => {
    const root = document.documentElement;
    const far = [...document.querySelectorAll('main *, header *')].filter(node =>
      !node.closest('.box, pre') && node.getBoundingClientRect().right > root.clientWidth + 1);
    return {by: root.scrollWidth - root.clientWidth,
      who: far.slice(0, 3).map(node => `${node.tagName} '${node.textContent.slice(0, 30)}'`)};
  });
  check(over.by <= 0 && over.who.length === 0, `too wide at ${width}: by ${over.by}, ${over.who}`);
}

async function checkThemes(page) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.emulateMedia({colorScheme: 'dark'});
  const dark = await ground();
  check(light !== dark, 'dark looks as light does');
  await page.waitForTimeout(100);
  await shoot(page, 'dark.png');
  await page.click('#_theme');
  check(await ground() === light, 'the button does not go from dark to light');
  await page.click('#_theme');
  check(await ground() === dark, 'the button does not go back to dark');
}

// As on paper: about as wide as A4 within its margins, in the style for printing.
async function checkPrint(page) {
  await page.emulateMedia({media: 'print', colorScheme: 'dark'});
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.setViewportSize({width: 704, height: 1000});
  await page.waitForTimeout(300);
  const cut = await page.evaluate(() => [...document.querySelectorAll('main *')].filter(
    node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .slice(0, 3).map(node => `${node.tagName} '${node.textContent.slice(0, 30)}'`));
  check(cut.length === 0, `cut off on paper: ${cut}`);
  const hidden = await page.$eval('.toc', node => getComputedStyle(node).display === 'none');
  check(hidden, 'the contents are on paper');
  await shoot(page, 'print.png');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  await page.emulateMedia({media: 'screen', colorScheme: 'light'});
  const pdf = path.join(out || '/tmp', 'page.pdf');
  await page.pdf({path: pdf, format: 'A4', printBackground: true});
  check(statSync(pdf).size > 10000, 'the PDF is empty');
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox']});
try {
  const page = await open(browser, {colorScheme: 'light', acceptDownloads: true});
  await page.waitForTimeout(1000);
  const after = await page.evaluate(() => Object.fromEntries(
    performance.getEntriesByType('mark').map(mark => [mark.name, Math.round(mark.startTime)])));
  check('page-drawn' in after, 'the script did not come to its end');
  check(after['page-ready'] < MOST_MS, `alive only after ${after['page-ready']} ms`);
  await shoot(page, 'light.png');
  const plots = await checkPlots(page);
  const gantts = await checkGantts(page);
  const tables = await checkTables(page);
  const saved = await checkSaving(page);
  for (const width of [1280, 1000, 400]) {
    await checkWidth(page, width);
    if (width === 400) await shoot(page, 'narrow.png');
  }
  await page.setViewportSize({width: 1280, height: 900});
  await checkThemes(page);
  await checkPrint(page);
  for (const violation of await page.evaluate(() => window.violations)) check(false, violation);
  const kib = Math.round(statSync(file).size / 1024);
  console.log(`page_check: ${kib} KiB, alive after ${after['page-ready']} ms, all drawn after ` +
    `${after['page-drawn']} ms (${plots} plots, ${gantts} Gantt charts, ${tables} tables, ` +
    `${saved} files saved): ` +
    `${wrong === 0 ? 'all well' : `${wrong} wrong`}`);
} finally {
  await browser.close();
}
process.exit(wrong === 0 ? 0 : 1);
