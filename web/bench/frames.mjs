// Shared code of the browser benchmarks: serves the page with generated answers and measures frames.

import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const TYPES = {html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml'};

export const pause = ms => new Promise(done => setTimeout(done, ms));

// Builds and serves the page. `answers`: for each path, the answer, or a function of the query and the reply that
// returns it. A function that returns nothing has written the reply itself.
export async function serve(answers) {
  const dist = mkdtempSync(path.join(tmpdir(), 'muster-bench-'));
  execFileSync(process.execPath, [path.join(web, 'build.mjs'), dist], {stdio: 'inherit'});
  const server = http.createServer((request, reply) => {
    const url = new URL(request.url, 'http://here');
    const known = answers[url.pathname];
    if (known) {
      const told = typeof known === 'function' ? known(url.searchParams, reply) : known;
      if (told) reply.setHeader('Content-Type', 'application/json').end(JSON.stringify(told));
      return;
    }
    const file = url.pathname === '/' ? 'index.html' : path.basename(url.pathname);
    try {
      const bytes = readFileSync(path.join(dist, file));
      reply.setHeader('Content-Type', TYPES[file.split('.').pop()] ?? 'text/plain').end(bytes);
    } catch {
      reply.writeHead(404).end();
    }
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close() {
      server.close();
      server.closeAllConnections();
      rmSync(dist, {recursive: true, force: true});
    },
  };
}

// Runs in the page: records the time of every frame and the duration of its callbacks.
function watchFrames() {
  const record = window.frames_seen = {at: [], draw: []};
  const real = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = hook => real(time => {
    const begin = performance.now();
    hook(time);
    record.draw.push(performance.now() - begin);
  });
  const tick = () => {
    record.at.push(performance.now());  // Actual time, not the scheduled time.
    real(tick);
  };
  real(tick);
}

// Opens the page in a new browser, calls `use`, and closes the browser.
export async function browse(url, size, use) {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update']});
  try {
    const page = await browser.newPage({viewport: {width: Number(size.width), height: Number(size.height)}});
    await page.addInitScript(watchFrames);
    await page.addInitScript(() => localStorage.setItem('muster.ticket', 'any'));  // This server accepts any ticket.
    await page.goto(url);
    return await use(page);
  } finally {
    await browser.close();
  }
}

// Returns the frames during `act`.
export async function framesOf(page, act) {
  await page.evaluate(() => {
    window.frames_seen.at.length = window.frames_seen.draw.length = 0;
  });
  await act();
  return await page.evaluate(() => window.frames_seen);
}

const sorted = list => [...list].sort((a, b) => a - b);
const quantile = (list, part) => list[Math.min(list.length - 1, Math.floor(list.length * part))] ?? NaN;
const ms = n => n.toFixed(1);

// "p50 1.0 p99 2.0 worst 3.0"
export function spread(times) {
  const list = sorted(times);
  return `p50 ${ms(quantile(list, 0.5))} p99 ${ms(quantile(list, 0.99))} worst ${ms(list[list.length - 1])}`;
}

export const gaps = at => at.slice(1).map((time, i) => time - at[i]);

// Frames per second.
export const rateOf = at => 1000 * (at.length - 1) / (at[at.length - 1] - at[0]);
