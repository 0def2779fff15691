// What the Gantt chart draws and finds, checked against slow and simple ways to do the same.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {timeline} from '../bench/fake.mjs';
import {load} from './load.mjs';

const {prepare, firstBeyond, grow} = await load('src/gantt/data.ts');
const {Pane, TimeView, rowAt, topOfRow, rowView, tickStep, ticks, clockTime, nameEvery} =
  await load('src/gantt/layout.ts');
const {drawRows, drawStrip, drawLit, inkOn, mix, pixel} = await load('src/gantt/draw.ts');
const {legendOf, makeShades} = await load('src/gantt/shades.ts');
const {runTime} = await load('src/format.ts');
const {barAt, neighbour, rowOfBar} = await load('src/gantt/hit.ts');
const {frameOf, heightFor} = await load('src/gantt/frame.ts');

const GROUND = 0xff000000;
const surface = (width, height) =>
  ({px: new Uint32Array(width * height), width, blank: new Uint32Array(width).fill(GROUND)});

// servers: GPUs of each; bars: [row, job, begin, length].
function made(servers, list, jobs = 3) {
  const column = k => list.map(bar => bar[k]);
  const empty = Array.from({length: jobs}, () => '');
  return {
    from: 0, to: 100, unit: 'run', tenants: ['t'], causes: [], gpus: servers.reduce((a, b) => a + b, 0), thinned: '',
    servers: servers.map((gpus, i) => ({name: `s${i}`, gpus})),
    jobs: {id: empty.map((_, i) => String(i + 1)), name: empty, user: empty, tenant: empty.map(() => 0),
      cause: empty.map(() => 0), gpus: empty.map(() => 1)},
    bars: {row: column(0), job: column(1), begin: column(2), length: column(3), end: list.map(bar => bar[4] ?? 0)},
    ends: ['finished', 'running'], load: {t: [], busy: [], waiting: []},
  };
}

test('rows, servers and jobs find their bars', () => {
  const bars = prepare(made([2, 1], [[0, 0, 0, 10], [0, 1, 10, 5], [2, 0, 3, 4], [2, 2, 8, 2]]));
  assert.equal(bars.rows, 3);
  assert.deepEqual([...bars.first], [0, 2, 2, 4]);
  assert.deepEqual([...bars.serverOf], [0, 0, 1]);
  assert.deepEqual([...bars.before], [0, 10, 0, 4]);
  assert.deepEqual([...bars.ofJob.slice(bars.jobFirst[0], bars.jobFirst[1])], [0, 2]);
  assert.deepEqual([0, 1, 2, 3].map(bar => rowOfBar(bars, bar)), [0, 0, 2, 2]);
  assert.equal(bars.jobOf.get('3'), 2);
});

test('what runs reaches to now, and no further back', () => {
  const bars = prepare(made([1], [[0, 0, 0, 10], [0, 1, 20, 5, 1]]));
  grow(bars, 60);
  assert.deepEqual([...bars.stop], [10, 60]);
  grow(bars, 40);
  assert.deepEqual([...bars.stop], [10, 60]);
});

test('firstBeyond is a search', () => {
  const at = Float64Array.from({length: 57}, (_, i) => Math.floor(i / 3));
  for (let t = -1; t < 21; t += 0.5) {
    for (const from of [0, 1, 20, 56, 57]) {
      let slow = from;
      while (slow < 57 && at[slow] <= t) slow++;
      assert.equal(firstBeyond(at, from, 57, t), slow);
    }
  }
});

test('a window zooms around a place, moves, and stays inside', () => {
  const pane = new Pane(0, 100, 1);
  pane.zoom(0.5, 0.25);
  assert.deepEqual([pane.from, pane.to], [12.5, 62.5]);
  pane.pan(10);
  assert.deepEqual([pane.from, pane.to], [50, 100]);
  pane.zoom(1e-9, 0);
  assert.equal(pane.span, 1);
  pane.zoom(1e9);
  assert.ok(pane.isAll);
});

test('new bounds keep the zoom, and follow the end for one who looks at it', () => {
  const view = new TimeView(0, 1000, 'unix');
  view.setBounds(0, 1010);
  assert.deepEqual([view.from, view.to], [0, 1010]);
  view.show(910, 1010);
  view.setBounds(0, 1020);
  assert.deepEqual([view.from, view.to], [920, 1020]);
  view.show(100, 200);
  view.setBounds(60, 1030);
  assert.deepEqual([view.from, view.to], [100, 200]);
  view.setBounds(150, 1030);
  assert.deepEqual([view.from, view.to], [150, 250]);
});

test('lines of pixels and rows agree', () => {
  for (const [rows, height, from, to] of [[7, 100, 0, 7], [7, 100, 1.3, 4.9], [500, 100, 0, 500],
    [500, 100, 20, 270]]) {
    const pane = rowView(rows);
    pane.show(from, to);
    for (let y = 0; y < height; y++) {
      const row = rowAt(y, pane, height);
      assert.ok(topOfRow(row, pane, height) <= y && y <= Math.max(topOfRow(row + 1, pane, height), y), `${y} ${row}`);
    }
  }
});

test('ticks are few, round and in the window', () => {
  const out = new Float64Array(50);
  for (const span of [3, 100, 4000, 90_000, 1e6, 3e7, 1e9]) {
    const step = tickStep(span, 10);
    const n = ticks(5, 5 + span, step, 0, out);
    assert.ok(n >= 1 && n <= 11, `${span}: ${n}`);
    for (let i = 0; i < n; i++) assert.ok(out[i] >= 5 && out[i] <= 5 + span && out[i] % step === 0);
  }
  // Days begin at midnight of the place.
  assert.equal(ticks(0, 86400 * 2, 86400, 3600, out), 2);
  assert.equal(out[0], 86400 - 3600);
});

test('times in words', () => {
  assert.equal(runTime(0), '0');
  assert.equal(runTime(90), '1 min 30 s');
  assert.equal(runTime(7 * 86400 + 3 * 3600, 86400), '7 d');
  assert.equal(runTime(2 * 86400 + 6 * 3600 + 60, 3600), '2 d 6 h');
  const noon = new Date(2026, 10, 3, 12, 5, 9).getTime() / 1000;
  assert.equal(clockTime(noon, 60), '12:05');
  assert.equal(clockTime(noon, 1), '12:05:09');
  assert.equal(clockTime(noon, 86400), 'Nov 3');
  assert.equal(nameEvery(4, 13), 4);
  assert.equal(nameEvery(40, 13), 1);
});

test('a bar fills its pixels, and a row its lines but the last', () => {
  const bars = prepare(made([1], [[0, 0, 10, 30], [0, 1, 40, 20]]));
  const to = surface(100, 10);
  const colors = Uint32Array.of(0xff0000aa, 0xff00bb00, 0xffcc0000);
  drawRows(to, 0, 10, bars, new Pane(0, 100, 1), rowView(1), colors, {ground: GROUND, line: 1});
  for (const y of [0, 5, 8]) {
    const line = to.px.subarray(y * 100, y * 100 + 100);
    assert.equal(line[9], GROUND);
    assert.ok(line.subarray(10, 39).every(color => color === colors[0]));
    assert.equal(line[39], GROUND, 'a gap before the neighbour');
    assert.ok(line.subarray(40, 59).every(color => color === colors[1]));
    assert.ok(line.subarray(60).every(color => color === GROUND));
  }
  assert.ok(to.px.subarray(900).every(color => color === GROUND), 'a gap below the row');
});

test('what is smaller than a pixel is as strong as the time it held', () => {
  // In each second half of it held, in 10 leases; 100 seconds in 20 pixels.
  const list = Array.from({length: 1000}, (_, i) => [0, 0, i * 0.1, 0.05]);
  const to = surface(20, 1);
  drawRows(to, 0, 1, prepare(made([1], list)), new Pane(0, 100, 1), rowView(1),
    Uint32Array.of(0xff0000ff), {ground: GROUND, line: 1});
  for (const color of to.px) assert.ok(Math.abs((color & 255) - 128) <= 2, String(color & 255));
});

test('one short lease in a long time can be seen', () => {
  const to = surface(50, 1);
  drawRows(to, 0, 1, prepare(made([1], [[0, 0, 50, 0.001]])), new Pane(0, 100, 1), rowView(1),
    Uint32Array.of(0xff0000ff), {ground: GROUND, line: 1});
  assert.equal(to.px.filter(color => color !== GROUND).length, 1);
  assert.ok((to.px[25] & 255) > 50);
});

test('every pixel is written once whatever the window, and colours are of jobs that are there', () => {
  const line = timeline({servers: 20, gpus: 8, leases: 8000});
  const bars = prepare(line);
  const colors = new Uint32Array(line.jobs.id.length).fill(0xff0000ff);
  for (const [from, to, top, bottom, width, height] of [[0, 1, 0, 1, 300, 200], [0.3, 0.31, 0, 1, 300, 97],
    [0.5, 0.50001, 0.2, 0.3, 801, 333], [0, 1, 0.9, 1, 100, 400], [0, 1, 0, 1, 64, 20]]) {
    const time = new Pane(line.from, line.to, 1);
    time.show(line.to * from, line.to * to);
    const rows = rowView(bars.rows);
    rows.show(bars.rows * top, bars.rows * bottom);
    const out = surface(width, height);
    drawRows(out, 0, height, bars, time, rows, colors, {ground: GROUND, line: 0xff0000ff});
    for (const color of out.px) assert.equal((color & 0xffffff00) >>> 0, GROUND);
    // Where a line is fully coloured, there is a lease.
    for (let x = 2; x < width - 2; x += 7) {
      for (let y = 0; y < height; y += 5) {
        const strong = out.px[y * width + x] === 0xff0000ff;
        const isServerLine = height / rows.span * 8 >= 8;
        if (strong && !isServerLine) assert.ok(barAt(bars, time, rows, width, height, x + 0.5, y, 1) >= 0);
      }
    }
  }
});

test('the bar under the pointer is that of a slow search', () => {
  const line = timeline({servers: 3, gpus: 4, leases: 600});
  const bars = prepare(line);
  const time = new Pane(line.from, line.to, 1);
  time.show(line.to * 0.2, line.to * 0.4);
  const rows = rowView(bars.rows);
  for (let x = 0; x < 500; x += 3) {
    for (let y = 0; y < 120; y += 7) {
      const t = time.from + x / 500 * time.span;
      const row = rowAt(y, rows, 120);
      const slow = line.bars.row.findIndex((at, i) => at === row && bars.begin[i] <= t && t < bars.stop[i]);
      const found = barAt(bars, time, rows, 500, 120, x, y, 0);
      if (slow >= 0) assert.equal(found, slow);
      else assert.ok(found < 0);
    }
  }
  assert.equal(barAt(bars, time, rows, 500, 120, -1, 5), -1);
});

test('the keyboard goes from lease to lease in sight, there and back', () => {
  const line = timeline({servers: 4, gpus: 4, leases: 400});
  const bars = prepare(line);
  const time = new Pane(line.from, line.to, 1);
  time.show(line.to * 0.4, line.to * 0.5);
  const rows = rowView(bars.rows);
  rows.show(3, 9);
  const inSight = line.bars.row.flatMap((row, i) =>
    row >= 3 && row < 9 && bars.stop[i] > time.from && bars.begin[i] < time.to ? [i] : []);
  const walk = way => {
    const seen = [];
    let [row, begin] = [way > 0 ? -1 : bars.rows, 0];
    for (let bar; (bar = neighbour(bars, time, rows, row, begin, way)) >= 0;) {
      seen.push(bar);
      [row, begin] = [rowOfBar(bars, bar), bars.begin[bar]];
    }
    return seen;
  };
  assert.ok(inSight.length > 10);
  assert.deepEqual(walk(1), inSight);
  assert.deepEqual(walk(-1), inSight.reverse());
});

test('a lit job is above all, wherever it is in sight', () => {
  const bars = prepare(made([300], [[150, 1, 50, 0.01]]));
  const to = surface(100, 20);
  to.px.fill(GROUND);
  drawLit(to, 0, 20, bars, new Pane(0, 100, 1), rowView(300), 1, 7, rowOfBar);
  assert.deepEqual([...to.px].flatMap((color, i) => color === 7 ? [i] : []), [10 * 100 + 50]);
});

test('a strip is full up to the least, soft up to the most', () => {
  const to = surface(4, 10);
  drawStrip(to, 0, 10, Float64Array.of(0, 25, 30, 50), Float64Array.of(10, 2, 8, 0), 10, new Pane(0, 100, 1), 5, 6);
  const column = x => Array.from({length: 10}, (_, y) => to.px[y * 4 + x]);
  assert.equal(column(0).filter(color => color === 5).length, 2);
  assert.equal(column(0).filter(color => color === 6).length, 8);
  assert.deepEqual(column(3), Array(10).fill(GROUND));
});

test('colours', () => {
  assert.equal(pixel('#123456'), 0xff563412);
  assert.equal(mix(0xff000000, 0xffffffff, 256), 0xffffffff);
  assert.equal(mix(0xff102030, 0xff506070, 0), 0xff102030);
});

function contrast(a, b) {
  const light = color => [0, 8, 16].map(shift => (color >>> shift & 255) / 255)
    .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test('a name can be read on a bar of any colour', () => {
  for (let red = 0; red < 256; red += 15) {
    for (let green = 0; green < 256; green += 15) {
      for (let blue = 0; blue < 256; blue += 15) {
        const bar = (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
        assert.ok(contrast(bar, pixel(inkOn(bar))) >= 4.5, bar.toString(16));
      }
    }
  }
});

test('what stands out does so by its name, whatever its place in the list', () => {
  globalThis.document = {documentElement: null};
  globalThis.getComputedStyle = () => ({getPropertyValue: () => '#ffffff'});
  const line = made([1], [], 3);
  const with_ = (tenants, tenant) => ({...line, tenants, jobs: {...line.jobs, tenant}});
  const dimmed = (one, only) => {
    const {own, full} = makeShades(one, 'tenant', only);
    return [...own].map((color, i) => color !== full[i]);
  };
  const before = with_(['a', 'b'], [0, 1, 1]);
  const after = with_(['b', 'c', 'a'], [2, 0, 0]);
  assert.deepEqual(dimmed(before, 'b'), [true, false, false]);
  assert.deepEqual(dimmed(after, 'b'), [true, false, false]);
  assert.deepEqual(dimmed(after, 'gone'), [false, false, false]);
  assert.deepEqual(dimmed(after, null), [false, false, false]);
  assert.deepEqual(legendOf(after, 'tenant').map(entry => entry.name), ['b', 'a']);
});

test('the parts of a frame do not overlap', () => {
  for (const width of [320, 1300]) {
    const frame = frameOf(width, 500, true);
    assert.ok(frame.strips[1] >= frame.stripHeight && frame.axis >= frame.strips[1] + frame.stripHeight);
    assert.equal(frame.top, frame.axis + frame.axisHeight);
    assert.equal(frame.top + frame.height, 500);
  }
  assert.ok(heightFor(4, 800, true) < 250 && heightFor(1000, 800, true) === 800);
});
