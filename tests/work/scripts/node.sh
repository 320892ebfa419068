#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# node: files, children (sync and async), workers, a server on localhost, who one is.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
cat >all.mjs <<'JS'
import assert from 'node:assert';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import { Worker } from 'node:worker_threads';

const user = os.userInfo();
assert.equal(user.username, process.env.USER);
assert.equal(user.homedir, os.homedir());
assert.ok(os.hostname().length > 0);
assert.ok(fs.statSync(os.tmpdir()).isDirectory());
fs.mkdirSync('a/b', { recursive: true });
fs.writeFileSync('a/b/file', 'text');
fs.symlinkSync('b/file', 'a/link');
fs.renameSync('a/b', 'a/c');
fs.renameSync('a/c', 'a/b');
assert.equal(fs.readFileSync('a/link', 'utf8'), 'text');
fs.rmSync('a', { recursive: true });
const child = spawnSync('/bin/sh', ['-c', 'echo out; echo err >&2; exit 3']);
assert.deepEqual([child.error, child.status, String(child.stdout), String(child.stderr)], [undefined, 3, 'out\n', 'err\n']);
assert.equal(String(execFileSync('cat', { input: 'x'.repeat(1 << 20) })).length, 1 << 20);
const code = await new Promise((resolve) => spawn('false', { stdio: 'inherit' }).on('exit', resolve));
assert.equal(code, 1);
const fromWorker = await new Promise((resolve, reject) => {
  const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
  worker.on('message', resolve).on('error', reject);
});
assert.equal(fromWorker, 42);
const server = http.createServer((request, response) => response.end('served')).listen(0, 'localhost');
await new Promise((resolve) => server.on('listening', resolve));
const answer = await fetch(`http://localhost:${server.address().port}/`);
assert.equal(await answer.text(), 'served');
server.close();
fs.watch('.', () => {}).close();
JS
node all.mjs
