// Opens a page that muster wrote in a real browser and checks that everything on it works.
//
//   node page_check.mjs FILE.html|PROGRAM [DIR]
//
// PROGRAM: sample_page, which writes a page with all kinds of content. DIR gets screenshots (light, dark, narrow) and
// a PDF of the page. Needs `npm ci` in web/ and Chromium ($CHROMIUM, or /usr/bin/chromium). The exit status is 77
// without Chromium, and 1 if a check fails.

import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {launch, openTab} from './chromium.mjs';

const MOST_MS = 10_000;  // From opening the page until it is usable; much more than on an idle machine.

const [given, out] = process.argv.slice(2);
if (!given) {
  console.error('usage: node page_check.mjs FILE.html|PROGRAM [DIR]');
  process.exit(2);
}
if (out) mkdirSync(out, {recursive: true});
const scratch = mkdtempSync(path.join(tmpdir(), 'muster-page-'));

function written() {
  if (given.endsWith('.html')) return path.resolve(given);
  const made = path.join(scratch, 'sample.html');
  execFileSync(given, [made]);
  return made;
}

let wrong = 0;
function check(fine, what) {
  if (!fine) wrong++;
  if (!fine) console.log(`WRONG: ${what}`);
}

async function open(browser, file, options) {
  const tab = await openTab(browser, 'file:', {viewport: {width: 1280, height: 900}, ...options});
  const {page} = tab;
  page.on('requestfailed', request => check(false, `request failed: ${request.url()}`));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation',
      event => window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
  });
  await page.goto(pathToFileURL(file).href, {waitUntil: 'load'});
  return tab;
}

async function shoot(page, name) {
  if (!out) return;
  // Keeps the caret: hiding it would add a style, which the content security policy forbids.
  await page.screenshot({path: path.join(out, name), fullPage: true, caret: 'initial'});
}

// Waits until changes are painted and scroll events, which hide tips, have been delivered.
async function settle(page) {
  await page.evaluate(() => new Promise(done => requestAnimationFrame(
    () => requestAnimationFrame(done))));
}

const tipOf = page => page.evaluate(() => document.querySelector('#_tip .tip')?.textContent ?? '');

// Returns the number of colors, and a checksum of the pixels.
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

async function checkPlots(page) {
  const plots = await page.$$('figure.plot');
  for (const plot of plots) {
    const title = await plot.$eval('.name', node => node.textContent);
    const {kind, odd} = await plot.evaluate(figure => ({
      kind: figure.querySelector('.chart canvas') ? 'chart' : figure.querySelector('.bars') ? 'bars'
        : /No data/.test(figure.textContent) ? 'empty' : '',
      odd: /NaN|Infinity|undefined/.test(figure.textContent + [...figure.querySelectorAll('[aria-label], [style]')]
        .map(node => node.getAttribute('aria-label') + node.getAttribute('style')).join()),
    }));
    check(kind, `nothing drawn: ${title}`);
    check(!odd, `words or places that are no numbers: ${title}`);
    if (kind === 'chart') await checkChart(page, plot, title);
    if (kind === 'bars') await checkBars(page, plot, title);
    if (kind !== 'empty') await checkLegend(page, plot, kind, title);
  }
  return plots.length;
}

async function checkTip(page, box, title) {
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.4);
  await settle(page);
  const told = await tipOf(page);
  check(told.length > 0, `no tip under the mouse: ${title}`);
  check(!/NaN|undefined|Infinity/.test(told), `odd tip: ${title}: ${told}`);
  await page.mouse.move(2, 2);
  await settle(page);
  check(await tipOf(page) === '', `the tip stays: ${title}`);
}

async function checkKeys(page, box, title) {
  await box.focus();
  await settle(page);
  await page.keyboard.press('ArrowRight');
  await settle(page);
  check(await tipOf(page) !== '', `no tip by the keyboard: ${title}`);
  await page.keyboard.press('Escape');
  await settle(page);
  check(await tipOf(page) === '', `the tip stays after the keyboard: ${title}`);
}

async function checkChart(page, plot, title) {
  const chart = await plot.$('.chart');
  const canvas = await plot.$('canvas');
  await chart.scrollIntoViewIfNeeded();
  await settle(page);
  const drawn = await canvas.evaluate(colorsOf);
  check(drawn.count > 3, `the chart is blank: ${title}`);
  check(await chart.evaluate(node => node.role === 'img' && node.ariaLabel.length > 20), `no role or label: ${title}`);
  const box = await (await plot.$('.u-over')).boundingBox();
  await checkTip(page, box, title);
  await checkKeys(page, chart, title);
  if (title !== 'The cluster over time') return;
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, {steps: 4});
    await page.mouse.up();
  };
  await drag(0.3, 0.5);
  await settle(page);
  check((await canvas.evaluate(colorsOf)).sum !== drawn.sum, `dragging does not zoom: ${title}`);
  await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
  await settle(page);
  check((await canvas.evaluate(colorsOf)).sum === drawn.sum, `a double click does not show all: ${title}`);
  await page.mouse.move(2, 2);
}

async function checkBars(page, plot, title) {
  const one = await plot.$('.bars-up-one, .bars-flat-tracks');
  await one.scrollIntoViewIfNeeded();
  await settle(page);
  await checkTip(page, await one.boundingBox(), title);
  await checkKeys(page, await plot.$('.bars-up, .bars-flat'), title);
  const fills = await plot.$$eval('.bar-fill', nodes => nodes.map(node => [node.offsetWidth, node.offsetHeight]));
  check(fills.some(([wide, high]) => wide > 2 && high > 2), `the bars are flat: ${title}`);
}

// Hiding some series may change nothing, but not all of them.
async function checkLegend(page, plot, kind, title) {
  const buttons = await plot.$$('.series-legend button');
  const look = async () => {
    await settle(page);
    return kind === 'bars' ? await plot.$$eval('.bar-fill', nodes => nodes.length)
      : await plot.$eval('canvas', colorsOf).then(({sum}) => sum);
  };
  const before = await look();
  let hid = buttons.length === 0;
  for (const button of buttons) {
    await button.click();
    hid = hid || await look() !== before;
    check(await button.getAttribute('aria-pressed') === 'false', `the legend does not say what is hidden: ${title}`);
    await button.click();
    check(await look() === before, `the legend does not bring back: ${title}`);
  }
  check(hid, `the legend hides nothing: ${title}`);
  await page.mouse.move(2, 2);
}

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
    await page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.5);  // Then the chart gets wheel events.
    for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -120);
    let told = '';
    for (let i = 0; i < 40 && !told; i++) {  // Some GPUs are idle.
      await page.mouse.move(box.x + box.width * (0.3 + i / 80),
                            box.y + box.height * (0.2 + 0.7 * (i % 8) / 8));
      await settle(page);
      told = await tipOf(page);
    }
    const bare = /: 0 leases/.test(await canvas.getAttribute('aria-label'));
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

// One of each kind, because the browser blocks many consecutive downloads.
async function checkSaving(page) {
  const kinds = ['.plot:has(.chart) .save', '.plot:has(.bars) .save', '.gantt .save', '.table .save'];
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
  await settle(page);
  const dark = await ground();
  check(light !== dark, 'dark looks as light does');
  await page.waitForTimeout(100);
  await shoot(page, 'dark.png');
  await page.click('#_theme');
  check(await ground() === light, 'the button does not go from dark to light');
  await page.click('#_theme');
  check(await ground() === dark, 'the button does not go back to dark');
}

// As printed: about the width of A4 without margins, in the print style.
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
  const pdf = path.join(out ?? scratch, 'page.pdf');
  await page.pdf({path: pdf, format: 'A4', printBackground: true});
  check(statSync(pdf).size > 10000, 'the PDF is empty');
}

// Without the script the page has its text and tables, and uses the dark mode of the system.
async function checkWithoutScript(browser, file) {
  const {page} = await open(browser, file, {javaScriptEnabled: false, colorScheme: 'dark'});
  check(await page.locator('noscript').isVisible(), 'nothing says that plots need the script');
  check(await page.locator('.findings').first().isVisible() && await page.locator('.card').count() > 1,
    'without the script there are no findings');
  await shoot(page, 'no-script.png');
}

const file = written();
const browser = await launch();
try {
  const tab = await open(browser, file, {colorScheme: 'light', acceptDownloads: true});
  const {page} = tab;
  await page.waitForFunction(() => performance.getEntriesByName('page-drawn').length > 0);
  const after = await page.evaluate(() => Object.fromEntries(
    performance.getEntriesByType('mark').map(mark => [mark.name, Math.round(mark.startTime)])));
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
  // The browser warns because this script reads canvases.
  for (const words of tab.wrong.filter(words => !/willReadFrequently/.test(words))) check(false, words);
  await checkWithoutScript(browser, file);
  const kib = Math.round(statSync(file).size / 1024);
  console.log(`page_check: ${kib} KiB, alive after ${after['page-ready']} ms, all drawn after ` +
    `${after['page-drawn']} ms (${plots} plots, ${gantts} Gantt charts, ${tables} tables, ` +
    `${saved} files saved): ` +
    `${wrong === 0 ? 'all well' : `${wrong} wrong`}`);
} finally {
  await browser.close();
  rmSync(scratch, {recursive: true, force: true});
}
process.exit(wrong === 0 ? 0 : 1);
