// A module of the page, bundled as it is for the browser, for tests that run in Node.

import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

// `entry` from web/: "src/format.ts".
export async function load(entry) {
  const {outputFiles} = await build({
    absWorkingDir: web, entryPoints: [entry], bundle: true, write: false, format: 'esm', target: ['es2021'],
    jsx: 'automatic', jsxImportSource: 'preact', loader: {'.css': 'empty'}, logLevel: 'error',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
