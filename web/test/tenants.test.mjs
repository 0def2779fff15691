import assert from 'node:assert/strict';
import {test} from 'node:test';
import {load} from './load.mjs';

const {axisTime, busiest, isRun, largest, onTheMean, steps, tree, usagePath} =
  await load('src/screens/tenants_data.ts');
const {knowTenants, oncePerTenant, placesOf, withTenants} = await load('src/tenants.ts');

const tenant = (name, parent, used = [1]) => ({name, ...(parent ? {parent} : {}), quota: 4, running: 0, queued: 0, used,
  used_now: 0, borrowed_now: 0, lent_now: 0, borrowed: [0], lent: [0]});

test('children stand below their parent, in the order given', () => {
  const list = [tenant('a1', 'a'), tenant('b'), tenant('a'), tenant('a2', 'a'), tenant('a1x', 'a1')];
  assert.deepEqual(tree(list).map(row => [row.tenant.name, row.depth, row.leaf]),
    [['b', 0, true], ['a', 0, false], ['a1', 1, false], ['a1x', 2, true], ['a2', 1, true]]);
});

test('no tenant is lost, whatever parents are named', () => {
  const list = [tenant('a', 'b'), tenant('b', 'a'), tenant('c', 'nobody'), tenant('d', 'd')];
  assert.deepEqual(tree(list).map(row => row.tenant.name).sort(), ['a', 'b', 'c', 'd']);
});

test('the address stays the same for a while, so that it is not asked anew every second', () => {
  const now = 1_800_000_007;
  assert.equal(usagePath('live', '', 'all', now), '/v1/usage?points=240');
  const hour = usagePath('live', '', 'hour', now);
  assert.equal(hour, usagePath('live', '', 'hour', now + 5));
  assert.notEqual(hour, usagePath('live', '', 'hour', now + 60));
  const from = Number(/from=(\d+)/.exec(hour)[1]);
  assert.ok(from <= now - 3600 && from > now - 3600 - 60, hour);
  assert.equal(usagePath('view', '3', 'hour', now), '/v1/usage?run=3&points=240');
  assert.equal(usagePath('view', '', 'day', now), '/v1/usage?run=0&points=240');
});

test('times near nought are those of a run', () => {
  assert.equal(isRun({from: 0}), true);
  assert.equal(isRun({from: 90_000}), true);
  assert.equal(isRun({from: 1_800_000_000}), false);
});

test('the last step lasts until the end', () => {
  assert.deepEqual(steps([1, 2, 3]), [1, 2, 3, 3]);
  assert.deepEqual(steps([]), []);
});

test('of a run that is over, the mean', () => {
  const mean = onTheMean({...tenant('a', '', [2, 4]), borrowed: [0, 1], lent: []});
  assert.deepEqual([mean.used_now, mean.borrowed_now, mean.lent_now], [3, 0.5, 0]);
});

test('of many tenants those that used the most have lines of their own', () => {
  const list = [tenant('a', '', [1, 1]), tenant('b', '', [5, 5]), tenant('c', '', [2, 4]), tenant('d', '', [6, 6])];
  assert.deepEqual(busiest(list, 4), {lines: list});
  const {lines, others} = busiest(list, 3);
  assert.deepEqual(lines.map(line => line.name), ['b', 'd'], 'in the order given');
  assert.deepEqual(others, {name: '2 others', used: [3, 5]});
});

test('times of a run are short on an axis', () => {
  assert.deepEqual([0, 45, 90, 3600, 5400, 86400, 129600].map(axisTime),
    ['0', '45 s', '1 min 30 s', '1 h', '1 h 30 min', '1 d', '1 d 12 h']);
});

test('one scale for the bars of all tenants', () => {
  const list = [{...tenant('a'), quota: 4, used_now: 2, lent_now: 3},
    {...tenant('b'), quota: 3, used_now: 1, lent_now: 0}];
  assert.equal(largest(list), 5);
});

test('a tenant without a name is the default one, once', () => {
  const whole = (name, used) => ({...tenant(name, '', used), used_now: 1, borrowed_now: 0, lent_now: 0, borrowed: [0],
    lent: [0]});
  const found = oncePerTenant([whole('', [1]), whole('b', [2]), whole('default', [4])]);
  assert.deepEqual(found.map(one => [one.name, one.used, one.used_now]), [['default', [5], 2], ['b', [2], 1]]);
});

test('a timeline has the tenants of its jobs only', () => {
  const line = withTenants({tenants: ['default', 'x', '', 'b'], jobs: {id: ['1', '2', '3'], tenant: [3, 2, 3]}});
  assert.deepEqual([line.tenants, line.jobs.tenant], [['default', 'b'], [1, 0, 1]]);
});

test('a tenant keeps its place among the colours whoever comes later', () => {
  const kept = new Map();
  assert.deepEqual(placesOf(['t3', 't0', ''], kept), [2, 1, 0]);
  assert.deepEqual(placesOf(['a', 't10', 't3', 'default'], kept), [3, 4, 2, 0]);
});

test('of more tenants than colors, those shown together have different colors', () => {
  const kept = new Map();
  const all = Array.from({length: 15}, (_, i) => `t${i}`);
  knowTenants(all, kept);
  // t12 is the 13th tenant and would have the color of t0.
  assert.deepEqual(placesOf(['t12', 't0', 't14', 't2'], kept), [1, 0, 3, 2]);
  assert.deepEqual(placesOf(['t2', 't14', 't0', 't12'], kept), [2, 3, 0, 1], 'the order of the names does not matter');
  assert.equal(new Set(placesOf(all.slice(3), kept)).size, 12);
  assert.ok(placesOf(all.slice(3), kept).every(place => place < 12));
  assert.deepEqual(placesOf(all, kept), all.map((_, i) => i), 'with all of them, colors repeat');
});

test('colors do not depend on the tenants that a timeline happens to show', () => {
  const line = withTenants({tenants: ['zoo', 'art', 'mid'], jobs: {id: ['1'], tenant: [0]}});
  const [zoo] = placesOf(line.tenants);
  const [art, mid] = placesOf(['art', 'mid']);
  assert.ok(art < mid && mid < zoo, `${[art, mid, zoo]}`);
});
