// Bundles the page into OUT: index.html, app.js, app.css, icon.svg, each also gzipped, as the program carries them.
//
//   node build.mjs OUT

import {copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUT');
  process.exit(2);
}
mkdirSync(out, {recursive: true});
await build({
  absWorkingDir: here,
  entryPoints: {app: 'src/main.tsx'},
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
for (const file of ['index.html', 'icon.svg']) copyFileSync(path.join(here, 'src', file), path.join(out, file));
for (const file of readdirSync(out).filter(name => /\.(html|js|css|svg)$/.test(name))) {
  const target = path.join(out, file);
  // Level 9 and no time or name in it: the same sources give the same bytes.
  writeFileSync(`${target}.gz`, gzipSync(readFileSync(target), {level: 9}));
}
