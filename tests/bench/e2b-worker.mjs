// SPDX-License-Identifier: LGPL-2.1-or-later
// e2b-worker.mjs CLIENTS MODE FOLDER: e2b-app with the service's own client. The file is all zeros,
// which costs its compressed way down the least.
import {createRequire} from 'node:module';
import {createInterface} from 'node:readline';
import {performance} from 'node:perf_hooks';

const [clients, mode, folder] = process.argv.slice(2), SIZE = 64 * 1024 * 1024;
const {Sandbox} = createRequire(`${clients}/x.js`)('e2b-2.51');
const sandbox = await Sandbox.create(), path = `${folder}/client-bytes`;
const bytes = mode === 'up' || mode === 'down' ? new Uint8Array(SIZE).buffer : undefined;
if (mode === 'down')
  await sandbox.files.write(path, bytes);
console.log('ready');
for await (const line of createInterface({input: process.stdin})) {
  const start = performance.now();
  let fine;
  if (mode === 'up')
    fine = await sandbox.files.write(path, bytes);
  else if (mode === 'down')
    fine = (await sandbox.files.read(path, {format: 'bytes'})).length === SIZE;
  else
    fine = (await sandbox.commands.run('true')).exitCode === 0;
  const value = mode === 'memory' ? process.memoryUsage().rss / 1024 : (performance.now() - start) * 1000;
  console.log(fine ? value.toFixed(1) : '-1');
}
await sandbox.kill();
process.exit();
