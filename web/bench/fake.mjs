// Generated answers of GET /v1/timeline and /v1/jobs, for benchmarks and chart tests.

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
}

const TENANTS = ['vision', 'speech', 'language', 'robotics', 'ads', 'search'];
const CAUSES = ['did not wait', 'no free GPUs', 'GPUs free, but not together', 'quota', 'jobs before it',
  'node down'];
const ENDS = ['finished', 'preempted', 'failed', 'cancelled', 'running'];

function loadOf(bars, from, to, points) {
  const t = [], busy = [], waiting = [];
  const change = new Float64Array(points + 1);
  for (let i = 0; i < bars.begin.length; i++) {
    const at = x => Math.max(0, Math.min(points, Math.floor((x - from) / (to - from) * points)));
    change[at(bars.begin[i])]++;
    change[at(bars.begin[i] + bars.length[i])]--;
  }
  let now = 0;
  for (let k = 0; k < points; k++) {
    now += change[k];
    t.push(from + (to - from) * k / points);
    busy.push(now);
    waiting.push(Math.max(0, Math.round(18 + 16 * Math.sin(k / 37) + 9 * Math.sin(k / 5))));
  }
  return {t, busy, waiting};
}

// About `leases` bars on `servers` nodes with `gpus` GPUs each, from `from` to `to`. A job holds 1 to `gpus` adjacent
// GPUs.
export function timeline({servers = 128, gpus = 8, leases = 100_000, from = 0, to = 30 * 86400, unit = 'run',
  seed = 1}) {
  const draw = random(seed);
  const rows = servers * gpus;
  const jobs = {id: [], name: [], user: [], tenant: [], cause: [], gpus: []};
  const list = [];
  const mean = (to - from) * rows / leases;
  for (let server = 0; server < servers; server++) {
    const free = new Float64Array(gpus).fill(from);
    for (;;) {
      const wide = Math.min(gpus, [1, 1, 1, 2, 4, 8][Math.floor(draw() * 6)]);
      const first = Math.floor(draw() * (gpus / wide)) * wide;
      let begin = 0;
      for (let g = first; g < first + wide; g++) begin = Math.max(begin, free[g]);
      if (free.every(at => at >= to)) break;
      if (begin >= to) continue;
      begin += -Math.log(1 - draw()) * mean * 0.06;
      const length = Math.min(-Math.log(1 - draw()) * mean * 0.44 + 1, to - begin);
      if (length <= 0) {
        for (let g = first; g < first + wide; g++) free[g] = to;
        continue;
      }
      const job = jobs.id.length;
      jobs.id.push(String(job + 1));
      jobs.name.push(`train-${['resnet50', 'bert', 'gpt2', 'ssd', 'deepspeech'][job % 5]}-${job + 1}`);
      jobs.user.push(`user${Math.floor(draw() * 40)}`);
      jobs.tenant.push(Math.floor(draw() * draw() * TENANTS.length));
      jobs.cause.push(Math.floor(draw() * CAUSES.length));
      jobs.gpus.push(wide);
      const runs = begin + length >= to;
      const end = runs && unit === 'unix' ? 4 : draw() < 0.7 ? 0 : 1 + Math.floor(draw() * 3);
      for (let g = first; g < first + wide; g++) {
        list.push([server * gpus + g, job, begin, length, end]);
        free[g] = begin + length;
      }
    }
  }
  list.sort((a, b) => a[0] - b[0] || a[2] - b[2]);
  const column = k => list.map(bar => bar[k]);
  const bars = {row: column(0), job: column(1), begin: column(2), length: column(3), end: column(4)};
  return {
    from, to, unit, tenants: TENANTS, causes: CAUSES, jobs, bars, ends: ENDS, gpus: rows, thinned: '',
    servers: Array.from({length: servers}, (_, i) => ({name: `node-${String(i).padStart(3, '0')}`, gpus})),
    load: loadOf(bars, from, to, 2000),
  };
}

// Jobs as in GET /v1/jobs: a few are running, the rest are waiting.
export function jobs(many, seed = 1) {
  const draw = random(seed);
  const now = Date.now() / 1000;
  return Array.from({length: many}, (_, i) => {
    const gpus = [1, 1, 1, 2, 4, 8][Math.floor(draw() * 6)];
    const runs = i < 400;
    const submitted = now - draw() * 3 * 86400;
    return {id: i + 1, name: `train-${['resnet50', 'bert', 'gpt2', 'ssd', 'deepspeech'][i % 5]}-${i + 1}`,
      user: `user${Math.floor(draw() * 40)}`, tenant: TENANTS[Math.floor(draw() * TENANTS.length)],
      state: runs ? 'running' : 'queued', gpus, gpus_held: runs ? gpus : 0, priority: 0, submitted, leases_used: 1,
      ...(runs ? {started: submitted + 60, where: `node-${i % 128}:${i % 8}`}
        : {position: i - 399, why: `${gpus} GPUs requested, 0 free; ${i - 399} jobs before it`,
          eta: {soonest: now + i, likely: now + 2 * i, latest: now + 4 * i}})};
  });
}
