// Measures how smoothly the timeline zooms and pans with 100,000 leases: wheel events in real Chromium.
//
//   node web/bench/timeline.mjs [--leases N] [--seconds S] [--width W] [--height H] [--report]
//
// Needs `npm ci` in web/ and /usr/bin/chromium (or CHROMIUM=...). Prints one line: frames per second during scrolling,
// number of redrawn frames, the median, 99th percentile and maximum time between frames, and the duration of a redraw.
// Exits with 1 below 55 frames per second, unless --report.

import {parseArgs} from 'node:util';
import {timeline} from './fake.mjs';
import {browse, framesOf, gaps, pause, rateOf, serve, spread} from './frames.mjs';

const {values} = parseArgs({options: {
  leases: {type: 'string', default: '100000'}, seconds: {type: 'string', default: '4'},
  width: {type: 'string', default: '1366'}, height: {type: 'string', default: '768'},
  report: {type: 'boolean', default: false},
}});

function answers(leases) {
  return {
    '/v1/me': {mode: 'view', user: 'bench', operator: false, now: 0, last_event: 0, screens: ['timeline']},
    '/v1/runs': {items: [{key: 0, kind: 'run', name: 'made up', about: `${leases.toLocaleString('en')} leases`}]},
    '/v1/timeline': timeline({leases}),
  };
}

// Turns the wheel for the given time: zooms in and out at different positions, then pans, then zooms rows.
async function turn(page, box, seconds) {
  const end = Date.now() + seconds * 1000;
  const at = part => box.x + 140 + (box.width - 160) * part;
  const sent = [];
  for (let n = 0; Date.now() < end; n++) {
    const phase = n % 240;
    if (n % 40 === 0) await page.mouse.move(at(0.2 + n / 40 % 5 * 0.15), box.y + box.height * 0.6);
    if (phase === 190) await page.keyboard.down('Shift');
    if (phase === 0) await page.keyboard.up('Shift');
    // Do not await each event: a user does not wait for the next frame, either.
    if (phase < 70) sent.push(page.mouse.wheel(0, -60));
    else if (phase < 120) sent.push(page.mouse.wheel(45, 0));
    else if (phase < 190) sent.push(page.mouse.wheel(0, 60));
    else sent.push(page.mouse.wheel(0, phase < 215 ? -60 : 60));
    await pause(8);
  }
  await Promise.all(sent);
  await page.keyboard.up('Shift');
}

async function measure(page) {
  const canvas = page.locator('canvas');
  await canvas.waitFor();
  const box = await canvas.boundingBox();
  await pause(500);
  await turn(page, box, 1);  // Warm-up, so that the code is compiled.
  return await framesOf(page, () => turn(page, box, Number(values.seconds)));
}

const known = answers(Number(values.leases));
const server = await serve(known);
try {
  const {at, draw} = await browse(`${server.url}#/timeline`, values, measure);
  const rate = rateOf(at);
  console.log(`${known['/v1/timeline'].bars.row.length} leases: ${rate.toFixed(1)} frames/s, ` +
    `${draw.length} of ${at.length} redrawn, frame ms ${spread(gaps(at))}, draw ms ${spread(draw)}`);
  if (rate < 55 && !values.report) process.exitCode = 1;
} finally {
  server.close();
}
