// Makes the screenshots of the dashboard in README.md, from a real manager and simulated runs.
//
//   MUSTER_PROGRAMS=build/release/bin/muster:build/release/bin/trainer node tools/dash_pictures.mjs docs/img

import {execFileSync, spawn} from 'node:child_process';
import {chmodSync, copyFileSync} from 'node:fs';
import path from 'node:path';
import {launch, openTab} from '../tests/browser/chromium.mjs';
import {MUSTER, Manager, TRAINER, pause} from '../tests/browser/manager.mjs';

const CONFIG = `
nodes:
${['east', 'west'].flatMap(rack => [1, 2, 3, 4].map(i =>
    `  - {name: ${rack}-${i}, gpus: 8, cpus: 32, mem: 256, gpu_type: ${rack === 'east' ? 'a100' : 'v100'}, rack: ${rack}}`))
    .join('\n')}
scheduler: {policy: srtf, mechanism: tune}
tenants:
  list:
    - {name: vision, quota: 26}
    - {name: language, quota: 24}
    - {name: speech, quota: 10}
    - {name: default, quota: 4}
progress_every: 500ms
cgroup: none
`;
// Name, GPUs, tenant, model, hours.
const JOBS = [['llm-pretrain', 16, 'language', 'transformer', 20], ['resnet50-imagenet', 8, 'vision', 'res50', 6],
  ['gnmt-en-de', 8, 'language', 'gnmt', 9], ['shufflenet-prune', 4, 'vision', 'shufflenet', 3],
  ['alexnet-baseline', 4, 'vision', 'alexnet', 5], ['mobilenet-distill', 2, 'vision', 'mobilenet', 2],
  ['m5-keywords', 2, 'speech', 'm5', 3], ['lstm-forecast', 1, 'default', 'lstm', 1],
  ['res18-ablation', 4, 'vision', 'res18', 4], ['deepspeech-fr', 4, 'speech', 'deepspeech', 7],
  ['whisper-finetune', 16, 'speech', '', 12], ['vit-large', 8, 'vision', '', 10]];

const out = path.resolve(process.argv[2] ?? 'docs/img');
const browser = await launch();

async function shoot(address, hash, file, options) {
  const {page, context} = await openTab(browser, address, {viewport: {width: 1280, height: 720}, ...options});
  await page.goto(address);
  await page.getByRole('link', {name: 'Timeline'}).waitFor();
  await page.evaluate(to => location.hash = to, hash);
  await pause(4000);
  await page.screenshot({path: path.join(out, file)});
  await context.close();
}

const manager = new Manager(CONFIG);
try {
  await manager.start();
  copyFileSync(TRAINER, path.join(manager.base, 'trainer'));  // Keeps build paths out of the screenshots.
  chmodSync(path.join(manager.base, 'trainer'), 0o755);
  const {id: one} = (await manager.ask('POST', '/v1/jobs', {name: 'spirals', gpus: 2, tenant: 'speech',
    model: 'deepspeech', estimate: '2h', cwd: manager.base,
    command: ['./trainer', '--steps', '40000', '--load-ms', '2']})).body;
  for (const [name, gpus, tenant, model, hours] of JOBS) {
    manager.submit('--name', name, '--gpus', String(gpus), '--tenant', tenant, '--estimate', `${hours}h`,
      ...(model ? ['--model', model] : []), '--', 'sleep', '3600');
  }
  manager.cli('drain', 'west-4');
  await pause(40_000);
  await shoot(manager.address(), '#/fleet', 'fleet.png');
  await shoot(manager.address(), `#/job/${one}`, 'job.png', {viewport: {width: 1280, height: 900}});
  execFileSync(MUSTER, ['sim', '--policy', 'srtf', '--mechanism', 'proportional,tune', '--round', '300s', '--out', 'runs'],
    {cwd: manager.base, stdio: 'ignore'});
  const viewer = spawn(MUSTER, ['view', 'runs', '--port', '0'], {cwd: manager.base, stdio: ['ignore', 'pipe', 'ignore']});
  const address = await new Promise(done => viewer.stdout.once('data', bytes => done(String(bytes).trim())));
  await shoot(address, '#/timeline', 'timeline.png', {viewport: {width: 1280, height: 800}, colorScheme: 'dark'});
  viewer.kill();
} finally {
  await manager.close();
  await browser.close();
}
