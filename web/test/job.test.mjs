import assert from 'node:assert/strict';
import test from 'node:test';
import {load} from './load.mjs';

const {LogBuffer, clean} = await load('src/job/logbuffer.ts');
const {pieces, linesWith, step} = await load('src/job/logsearch.ts');
const {outcomeOf, segmentsOf} = await load('src/job/segments.ts');
const {findLine, targetOf} = await load('src/job/logtarget.ts');
const {curvesOf} = await load('src/job/reports.ts');
const {endsOf} = await load('src/job/progress.tsx');
const {ticks} = await load('src/job/axis.ts');
const {aligned, reading, speedAt} = await load('src/job/curve.ts');
const {changed, difference, formOf, shellWord} = await load('src/job/request.ts');

test('a command can be pasted into a shell', () => {
  const words = ['sh', '-c', 'echo $HOME; it\'s', '', 'a/b-c.py', '--x=1'];
  assert.equal(words.map(shellWord).join(' '), `sh -c 'echo $HOME; it'\\''s' '' a/b-c.py --x=1`);
});

const {sentence} = await load('src/job/why.tsx');

test('a sentence that was cut is told in full', () => {
  const end = 'rank 0 ended with status 4: not retried, it failed the same way before';
  assert.equal(sentence({why: 'failed after 23 s: rank 0 ended with stat…', end}), `Failed after 23 s: ${end}`);
  assert.equal(sentence({why: 'waits for GPUs: it needs 4'}), 'Waits for GPUs: it needs 4');
  assert.equal(sentence({why: 'failed: something else…', end}), 'Failed: something else…');
});

const linesOf = buffer => buffer.blocks.flatMap(block => block.lines);

test('a line is what a terminal would show', () => {
  assert.equal(clean('\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain\r'), 'red and plain');
  assert.equal(clean(' 10%\r 20%\r 30%'), ' 30%');
  assert.equal(clean('a\tb\x00\x08c'), 'a\tbc');
  assert.equal(clean('<b>x</b>'), '<b>x</b>');
  assert.match(clean('x'.repeat(5000)), /^x{4000} … 1,000 more characters$/);
});

test('lines and escapes that come in pieces are put together', () => {
  const buffer = new LogBuffer();
  buffer.add('one\ntw');
  assert.deepEqual([linesOf(buffer), buffer.tail], [['one'], 'tw']);
  buffer.add('o \x1b[3');
  buffer.add('1mred\x1b[0m\n');
  assert.deepEqual([linesOf(buffer), buffer.tail], [['one', 'two red'], '']);
});

test('only the last lines are kept, and it is counted what was dropped', () => {
  const buffer = new LogBuffer(300);
  for (let i = 0; i < 1234; i++) buffer.add(`line ${i}\n`);
  const lines = linesOf(buffer);
  assert.ok(lines.length >= 300 && lines.length < 400);
  assert.equal(buffer.dropped + lines.length, 1234);
  assert.equal(lines[lines.length - 1], 'line 1233');
  assert.equal(lines[0], `line ${buffer.blocks[0].number}`);
});

test('a full block is the same object from then on', () => {
  const buffer = new LogBuffer();
  for (let i = 0; i < 150; i++) buffer.add(`${i}\n`);
  const first = buffer.blocks[0];
  buffer.add('more\n');
  assert.equal(buffer.blocks[0], first);
});

test('a line without end does not grow for ever', () => {
  const buffer = new LogBuffer();
  for (let i = 0; i < 5000; i++) buffer.add(`\r${i}% ${'#'.repeat(50)}`);
  assert.match(buffer.tail, /^4999% #+$/);
  assert.ok(buffer.rest.length < 70_000);
  for (let i = 0; i < 5000; i++) buffer.add('y'.repeat(100));
  assert.ok(buffer.rest.length < 70_000);
});

test('what is found is marked, and the pieces are the line', () => {
  assert.deepEqual(pieces('Loss and loss', 'loss'),
    [{text: 'Loss', hit: true}, {text: ' and ', hit: false}, {text: 'loss', hit: true}]);
  assert.deepEqual(pieces('nothing', 'loss'), [{text: 'nothing', hit: false}]);
  assert.deepEqual(pieces('', 'x'), [{text: '', hit: false}]);
  assert.equal(pieces('İ loss .*', '.*').map(piece => piece.text).join(''), 'İ loss .*');
});

test('found lines are gone through round and round', () => {
  const found = linesWith([{number: 200, lines: ['a', 'B', 'ab']}, {number: 300, lines: ['c', 'b']}], 'b');
  assert.deepEqual(found, [201, 202, 301]);
  assert.equal(step(found, 201, 1), 202);
  assert.equal(step(found, 301, 1), 201);
  assert.equal(step(found, 201, -1), 301);
  assert.equal(step([], 5, 1), -1);
});

const job = (leases, more = {}) => ({submitted: 100, leases, ...more});

test('waiting and leases follow each other', () => {
  const all = segmentsOf(job([
    {number: 2, where: 'b', state: 'running', started: 300},
    {number: 1, where: 'a', state: 'failed', started: 150, ended: 200, exit: 'exit status 1'}]), 400);
  assert.deepEqual(all.map(one => [one.from, one.to, one.tone]),
    [[100, 150, 'waits'], [150, 200, 'bad'], [200, 300, 'waits'], [300, 400, 'runs']]);
});

test('one that never ran has waited until now, or its end', () => {
  assert.deepEqual(segmentsOf(job([]), 130).map(one => [one.from, one.to]), [[100, 130]]);
  assert.deepEqual(segmentsOf(job([], {ended: 110}), 130).map(one => [one.from, one.to]), [[100, 110]]);
  assert.deepEqual(segmentsOf(job([{number: 1, where: 'a', state: 'starting'}]), 130).length, 1);
});

test('clocks that disagree make nothing negative', () => {
  const all = segmentsOf(job([{number: 1, where: 'a', state: 'running', started: 90}]), 80);
  for (const one of all) assert.ok(one.to >= one.from);
});

test('a preempted lease names the job it was stopped for', () => {
  const stopped = {number: 2, where: 'a', state: 'stopped', started: 300, ended: 400, exit: 'stopped on request'};
  const held = {...stopped, number: 1, started: 150, ended: 200};
  const events = [{at: 199, kind: 'held', words: 'held by ann'},
    {at: 399, kind: 'preempting', words: 'stopping for job 7, which is ahead of it by srtf'}];
  const all = job([held, stopped]);
  assert.equal(outcomeOf(held, all, events), 'stopped on request');
  assert.equal(outcomeOf(stopped, all, events), 'preempted for job 7, which is ahead of it by srtf');
  assert.equal(segmentsOf(all, 500, events)[3].words, 'preempted for job 7, which is ahead of it by srtf');
  assert.equal(outcomeOf({...stopped, state: 'failed', exit: 'exit status 1'}, all, events), 'exit status 1');
  assert.equal(outcomeOf(stopped, all, []), 'stopped on request', 'the manager drops old events');
});

test('a curve has a gap where the job had no lease, and only there', () => {
  const leases = [{number: 1, where: 'a', state: 'stopped', started: 100, ended: 200},
    {number: 2, where: 'a', state: 'starting'}, {number: 3, where: 'a', state: 'running', started: 300}];
  const progress = {at: [110, 150, 190, 310, 350], loss: [5, null, 4, 3, 2], rate: [null, null, null, null, null]};
  const curves = curvesOf(progress, leases);
  assert.deepEqual(curves.at, [110, 150, 190, 250, 310, 350]);
  assert.deepEqual(curves.loss, [5, undefined, 4, null, 3, 2]);
  assert.deepEqual(curvesOf({at: [310], loss: [3], rate: [1]}, leases).loss, [3]);
  assert.deepEqual(curvesOf(progress, leases.slice(0, 1)).loss, [5, undefined, 4, 3, 2]);
});

test('a predicted end has no range if both ends read the same', () => {
  const now = new Date(2026, 10, 3, 14, 20).getTime() / 1000;
  assert.equal(endsOf({low: 61, high: 119, words: ''}, now), '');
  assert.equal(endsOf({low: 61, high: 121, words: ''}, now), '14:21 to 14:22');
  assert.equal(endsOf({words: ''}, now), '');
});

const bufferOf = text => {
  const buffer = new LogBuffer(100);
  buffer.add(text);
  return buffer;
};

test('the line of a diagnosis is found in the output', () => {
  const failed = {number: 1, where: 'a', state: 'failed', evidence: 'Error: no memory', line: 3};
  const target = targetOf({lease: '1', line: '3'}, job([failed]));
  assert.deepEqual(target, {lease: 1, line: 3, text: 'Error: no memory'});
  assert.equal(targetOf({lease: '2', line: '3'}, job([failed])), undefined);
  assert.equal(targetOf({lease: '1', line: 'x'}, job([failed])), undefined);
  const text = 'Error: no memory\none\nError:\tno memory\nError: no memory\ntwo\n';
  assert.equal(findLine(bufferOf(text), target, true, true), 2, 'by its number');
  assert.equal(findLine(bufferOf(text), target, false, true), 3, 'the last such line if numbers are unknown');
  assert.equal(findLine(bufferOf('a\nb\nError: no memory'), target, true, true), 2, 'a line without end');
  assert.equal(findLine(bufferOf('a\nb\nc\n'), target, true, true), 2, 'a text that was overwritten');
  assert.equal(findLine(bufferOf('a\nb\nc\n'), target, true, false), -1, 'it may be on another node');
  assert.equal(findLine(bufferOf('a\nb\n'), target, true, true), -1);
  assert.equal(findLine(bufferOf('x: Error: no memory at\n'), {...target, text: '...no memory...'}, false, true), 0);
  assert.equal(findLine(bufferOf('a\n'.repeat(300)), {...target, text: ''}, true, true), -1, 'dropped');
});

test('ticks are at round times, and not too many', () => {
  for (const length of [3, 70, 4000, 90_000, 3e6, 4e7]) {
    const found = ticks(1_700_000_123, 1_700_000_123 + length, 8);
    assert.ok(found.length <= 9 && found.length > 0, `${length}: ${found.length}`);
    for (const tick of found) assert.ok(tick.share >= 0 && tick.share <= 1);
  }
  assert.deepEqual(ticks(5, 5), []);
});

const curve = {source: 'measured', cpus: [1, 2, 4], speed: [0.4, 0.7, 1], now: {cpus: 2, speed: 0.7}, need: 3};

test('a curve is read in a sentence', () => {
  assert.equal(reading(curve), 'With 2 CPUs the job runs at 70% of its maximum speed; nearly full speed needs 3.');
  assert.equal(reading({...curve, now: {cpus: 3, speed: 0.85}}),
    'With 3 CPUs the job runs at 85% of its maximum speed; more would hardly help.');
  assert.equal(reading({...curve, now: undefined, share: {cpus: 1, speed: 0.4}, need: undefined}),
    'With its share of 1 CPU the job would run at 40% of its maximum speed.');
  assert.equal(Math.round(speedAt(curve, 3) * 100), 85);
  assert.equal(speedAt(curve, 9), 1);
});

test('marks stand on the axis of the curve', () => {
  const {x, speed, marks} = aligned(curve);
  assert.deepEqual(x, [1, 2, 3, 4]);
  assert.deepEqual(speed, [0.4, 0.7, null, 1]);
  assert.deepEqual(marks.map(mark => mark.y.findIndex(y => y !== null)), [1, 2]);
  const same = aligned({...curve, share: {cpus: 3, speed: 0.85}}).marks;
  assert.deepEqual(same.map(mark => mark.name), ['now (2)', 'share, needs (3)']);
});

test('a changed request keeps the rest, and is for one job now', () => {
  const request = {name: 'a', gpus: 4, mem: '64G', command: ['x'], array: '0-9', hold: true, priority: 3, estimate: 60};
  const form = formOf(request);
  assert.deepEqual(changed(request, form), {name: 'a', gpus: 4, mem: '64G', command: ['x'], priority: 3, estimate: 60});
  const other = changed(request, {...form, gpus: '2', mem: '', cpus: 'many'});
  assert.deepEqual(other, {name: 'a', gpus: 2, cpus: 'many', command: ['x'], priority: 3, estimate: 60});
  assert.equal(form.estimate, '1m');
  const shown = [7200, 5400, 45, 0.5].map(time_limit => formOf({time_limit}).time_limit);
  assert.deepEqual(shown, ['2h', '90m', '45s', '0.5s']);
  assert.equal(difference(request, {...form, gpus: '2', mem: ''}), 'GPUs 2, Memory not set');
});
