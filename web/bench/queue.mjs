// Measures how smoothly the queue scrolls with 50,000 jobs: wheel events in real Chromium, while the data changes.
//
//   node web/bench/queue.mjs [--jobs N] [--seconds S] [--width W] [--height H] [--report]
//
// Same requirements as timeline.mjs. Prints one line: frames per second during scrolling, number of frames with new
// rows, number of frames with rows that were not loaded yet, and the median, 99th percentile and maximum time between
// frames. Exits with 1 below 55 frames per second, unless --report.

import {parseArgs} from 'node:util';
import {jobs} from './fake.mjs';
import {browse, framesOf, gaps, pause, rateOf, serve, spread} from './frames.mjs';

const {values} = parseArgs({options: {
  jobs: {type: 'string', default: '50000'}, seconds: {type: 'string', default: '6'},
  width: {type: 'string', default: '1366'}, height: {type: 'string', default: '768'},
  report: {type: 'boolean', default: false},
}});

// Event stream with one event per second, so that the page keeps reloading the visible rows.
function events(_query, reply) {
  reply.setHeader('Content-Type', 'text/event-stream').write(': here\n\n');
  let n = 0;
  const timer = setInterval(() => reply.write(`id: ${++n}\nevent: started\ndata: {}\n\n`), 1000);
  reply.on('close', () => clearInterval(timer));
}

function answers(all) {
  const counts = {};
  for (const job of all) counts[job.state] = (counts[job.state] ?? 0) + 1;
  return {
    '/v1/me': {mode: 'live', user: 'bench', operator: true, now: Date.now() / 1000, last_event: 0, screens: ['queue'],
      scheduler: 'fifo', cluster: '128 nodes, 1024 GPUs'},
    '/v1/events': events,
    '/v1/jobs': query => {
      const offset = Number(query.get('offset'));
      return {jobs: all.slice(offset, offset + Number(query.get('limit'))), total: all.length, counts};
    },
  };
}

// Scrolls for the given time: slowly as a reader, then very fast, and back.
async function turn(page, seconds) {
  const end = Date.now() + seconds * 1000;
  const sent = [];
  for (let n = 0; Date.now() < end; n++) {
    const phase = n % 200;
    const step = phase < 90 ? 40 : phase < 140 ? 900 : phase < 190 ? -700 : -40;
    sent.push(page.mouse.wheel(0, step));
    await pause(8);
  }
  await Promise.all(sent);
}

// Runs in the page: records the visible rows of each frame.
function watchRows() {
  const record = window.rows_seen = {moved: 0, missing: 0};
  let before = '';
  const look = () => {
    const box = document.querySelector('[role=grid]').getBoundingClientRect();
    const rows = [...document.querySelectorAll('.vrow')].filter(row => {
      const {top, bottom} = row.getBoundingClientRect();
      return bottom > box.top + 34 && top < box.bottom;
    });
    const now = rows[0]?.id ?? '';
    if (now !== before) record.moved++;
    if (rows.length === 0 || rows.some(row => row.children.length < 2)) record.missing++;
    before = now;
    setTimeout(() => requestAnimationFrame(look));
  };
  requestAnimationFrame(look);
}

async function measure(page) {
  const grid = page.getByRole('grid');
  await grid.waitFor();
  const box = await grid.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await turn(page, 1);  // Warm-up, so that the code is compiled.
  await page.evaluate(watchRows);
  const frames = await framesOf(page, () => turn(page, Number(values.seconds)));
  return {...frames, rows: await page.evaluate(() => window.rows_seen)};
}

const all = jobs(Number(values.jobs));
const server = await serve(answers(all));
try {
  const {at, rows} = await browse(`${server.url}#/queue`, values, measure);
  const rate = rateOf(at);
  console.log(`${all.length} jobs: ${rate.toFixed(1)} frames/s, new rows in ${rows.moved} of ${at.length}, ` +
    `missing rows in ${rows.missing}, frame ms ${spread(gaps(at))}`);
  if (rate < 55 && !values.report) process.exitCode = 1;
} finally {
  server.close();
}
