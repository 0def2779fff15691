// A real manager for browser tests: a separate state directory, `muster serve`, and the command line.

import {execFileSync, spawn} from 'node:child_process';
import {
  chownSync, copyFileSync, mkdtempSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync,
} from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

export const [MUSTER, TRAINER] = (process.env.MUSTER_PROGRAMS ?? '').split(':');

export const pause = ms => new Promise(done => setTimeout(done, ms));

// Waits until `look` returns a true value and returns it.
export async function until(look, what, ms = 120_000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${ms / 1000} s: ${what}`);
    await pause(100);
  }
}

const NOBODY = 65534;

export class Manager {
  // `shared`: jobs of several users share the account of the manager. Root must not share its account, so root starts
  // the manager as the user `nobody`.
  constructor(config, {shared = false} = {}) {
    this.base = mkdtempSync(path.join(os.tmpdir(), 'muster-web-'));
    this.home = path.join(this.base, 'home');
    mkdirSync(this.home, {mode: 0o700});
    // A separate port: all managers prefer the same one, and another manager could take it during a restart.
    writeFileSync(path.join(this.home, 'browser-port'), `${20_000 + process.pid % 10_000}\n`);
    this.program = MUSTER;
    this.account = {};
    if (shared && process.getuid() === 0) this.runAsNobody();
    this.always = shared ? 'jobs_share_account: accepted\n' : '';
    this.configure(config);
  }

  runAsNobody() {
    this.account = {uid: NOBODY, gid: NOBODY};
    const programs = path.join(this.base, 'bin');
    mkdirSync(programs);
    for (const name of ['muster', 'muster-shim']) {
      copyFileSync(path.join(path.dirname(MUSTER), name), path.join(programs, name));
    }
    this.program = path.join(programs, 'muster');
    for (const each of [this.base, this.home, path.join(this.home, 'browser-port')]) this.give(each);
  }

  // Makes the manager's user the owner of a file that the test has written.
  give(file) {
    if (this.account.uid !== undefined) chownSync(file, this.account.uid, this.account.gid);
  }

  configure(config) {
    writeFileSync(path.join(this.home, 'config.yaml'), `${config}\n${this.always}`);
  }

  env(more = {}) {
    const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('MUSTER_'));
    return {...Object.fromEntries(kept), MUSTER_HOME: this.home, ...more};
  }

  async start() {
    const log = openSync(path.join(this.base, 'serve.log'), 'a');
    this.daemon = spawn(this.program, ['serve', '--home', this.home],
      {stdio: ['ignore', log, log], env: this.env(), detached: true, ...this.account});
    await until(() => {
      if (this.daemon.exitCode !== null) throw new Error(`the manager ended: ${this.log()}`);
      return this.ask('GET', '/healthz').then(answer => answer.status === 200, () => false);
    }, 'the manager serves', 60_000);
  }

  async end(signal = 'SIGTERM') {
    if (!this.daemon) return;
    const gone = new Promise(done => this.daemon.once('exit', done));
    this.daemon.kill(signal);
    await gone;
    this.daemon = null;
  }

  async cancelAll() {
    const jobs = async () => (await this.ask('GET', '/v1/jobs?limit=1000')).body.jobs;
    for (const {id} of await jobs()) await this.ask('POST', `/v1/jobs/${id}/cancel`);
    await until(async () => (await jobs()).length === 0, 'no job is left');
  }

  // Also ends the jobs: nothing may remain after the test.
  async close() {
    if (this.daemon) await this.cancelAll().catch(error => console.log(error.message));
    await this.end();
    rmSync(this.base, {recursive: true, force: true, maxRetries: 5});
  }

  log() {
    return readFileSync(path.join(this.base, 'serve.log'), 'utf8');
  }

  // Uses the Unix socket like the command line.
  ask(method, target, body) {
    return new Promise((done, failed) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const request = http.request({socketPath: path.join(this.home, 'muster.sock'), method, path: target,
        headers: {Host: 'localhost', ...(text && {'Content-Type': 'application/json'}),
          'Content-Length': Buffer.byteLength(text)}}, answer => {
        let all = '';
        answer.setEncoding('utf8');
        answer.on('data', part => all += part);
        answer.on('end', () => {
          try {
            done({status: answer.statusCode, body: JSON.parse(all)});
          } catch {
            done({status: answer.statusCode, body: all});
          }
        });
      });
      request.on('error', failed);
      request.end(text);
    });
  }

  cli(...words) {
    // Jobs start in this directory, which their user must be able to enter.
    const cwd = this.account.uid === undefined ? undefined : this.base;
    const options = {cwd, env: this.env(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']};
    return execFileSync(MUSTER, words, options).trim();
  }

  submit(...words) {
    return Number(this.cli('submit', ...words).split('\n')[0]);
  }

  // Returns the URL of the dashboard with a ticket.
  address() {
    return this.cli('view');
  }

  leases() {
    return readdirSync(path.join(this.home, 'leases'));
  }
}
