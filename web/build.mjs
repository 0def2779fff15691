// Bundles the files that the program embeds into OUT. The dashboard: index.html, app.js, app.css and icon.svg, each
// also gzipped. With --report, the files for HTML reports: report.js, report.css and policy.txt, which allows only
// these.
//
//   node build.mjs OUT [--report]

import {createHash} from 'node:crypto';
import {copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const [out, option] = process.argv.slice(2);
if (!out || (option && option !== '--report')) {
  console.error('usage: node build.mjs OUT [--report]');
  process.exit(2);
}
mkdirSync(out, {recursive: true});
await build({
  absWorkingDir: here,
  entryPoints: option ? {report: 'src/report/main.tsx'} : {app: 'src/main.tsx'},
  outdir: path.resolve(out),
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2021'],
  charset: 'ascii',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});
if (option) writePolicy();
else writeDashboard();

// Writes the Content-Security-Policy of a page with inline style and script.
function writePolicy() {
  const hash = file => createHash('sha256').update(readFileSync(path.join(out, file))).digest('base64');
  writeFileSync(path.join(out, 'policy.txt'), `default-src 'none'; style-src 'sha256-${hash('report.css')}'; ` +
    `script-src 'sha256-${hash('report.js')}'; base-uri 'none'; form-action 'none'`);
}

function writeDashboard() {
  for (const file of ['index.html', 'icon.svg']) copyFileSync(path.join(here, 'src', file), path.join(out, file));
  for (const file of readdirSync(out).filter(name => /\.(html|js|css|svg)$/.test(name))) {
    const target = path.join(out, file);
    // gzipSync stores no time or name, so the same sources give the same bytes.
    writeFileSync(`${target}.gz`, gzipSync(readFileSync(target), {level: 9}));
  }
}
