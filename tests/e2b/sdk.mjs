#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the service's own client takes the local server for the service: its recorded
// scenarios again, with the outcomes that were recorded. Says TAP.
//
//   sdk.mjs FOLDER    a folder that has the client in its node_modules
import {spawn} from 'node:child_process';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import assert from 'node:assert/strict';

const require = createRequire(path.join(path.resolve(process.argv[2]), 'x.js'));
const sdk = require('e2b');
const {Sandbox} = sdk;
const server = spawn(process.execPath, [new URL('../lib/e2b-server.mjs', import.meta.url).pathname],
  {stdio: ['pipe', 'pipe', 'inherit']});
const line = await new Promise(answer => readline.createInterface(server.stdout).once('line', answer));
const url = `http://127.0.0.1:${line.split(' ')[1]}`;
const options = {apiKey: 'e2b_0123456789abcdef', apiUrl: url, sandboxUrl: url};
const box = fs.mkdtempSync(path.join(os.tmpdir(), 'e2b-sdk-'));
const at = name => path.join(box, name);
const fault = faults => fetch(`${url}/faults`, {method: 'PUT', body: JSON.stringify(faults)});
let n = 0, bad = 0, sandbox;

async function check (name, func) {
  try {
    await func();
    console.log(`ok ${++n} ${name}`);
  } catch (error) {
    bad++;
    console.log(`not ok ${++n} ${name}`);
    console.log(String(error.stack ?? error).replace(/^/gm, '# '));
  }
}

const rejects = async (promise, name, more = {}) => {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.constructor.name, name, error.message);
    for (const [key, value] of Object.entries(more))
      value instanceof RegExp ? assert.match(error[key], value) : assert.equal(error[key], value);
    return;
  }
  assert.fail(`no ${name}`);
};

await check('create-default', async () => {
  sandbox = await Sandbox.create({...options, metadata: {'a k': 'b&c'}, envs: {FOO: 'bar'}});
  assert.match(sandbox.sandboxId, /^i[a-z0-9]+$/);
});
await check('create-full', async () => {
  const one = await Sandbox.create('my-template', {...options, timeoutMs: 90500, allowInternetAccess: false,
    network: {allowOut: ['1.1.1.1', 'example.com', '*.example.org'], denyOut: ['0.0.0.0/0'], allowPublicTraffic: false}});
  assert.match(one.trafficAccessToken, /^ta_/);
  await one.kill();
});
await check('create-insecure', async () => {
  const one = await Sandbox.create({...options, secure: false});
  assert.equal((await one.commands.run('echo open')).stdout, 'open\n');
  await one.kill();
});
await check('create-refused', () => rejects(Sandbox.create({...options, network: {allowOut: ['example.com']}}), 'SandboxError'));
await check('create-unauthorized', () => rejects(Sandbox.create({...options, apiKey: 'e2b_xyz'}), 'AuthenticationError'));
await check('run', async () => {
  const result = await sandbox.commands.run('echo hi; echo err >&2');
  assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'hi\n', 'err\n']);
});
await check('run-opts', async () => {
  const result = await sandbox.commands.run('echo $FOO; pwd', {envs: {FOO: '\u00e9'}, cwd: '/tmp'});
  assert.equal(result.stdout, '\u00e9\n/tmp\n');
});
await check('run-exit3', () => rejects(sandbox.commands.run('exit 3'), 'CommandExitError', {exitCode: 3, message: 'exit status 3'}));
await check('run-signal', () => rejects(sandbox.commands.run('kill -9 $$'), 'CommandExitError', {message: 'signal: killed'}));
await check('run-timeout0', async () => assert.equal((await sandbox.commands.run('true', {timeoutMs: 0})).exitCode, 0));
await check('run-timeout-expires', () => rejects(sandbox.commands.run('sleep 30', {timeoutMs: 300}), 'TimeoutError', {message: /deadline_exceeded/}));
await check('run-bad-cwd', () => rejects(sandbox.commands.run('true', {cwd: '/nope'}), 'InvalidArgumentError', {message: "[invalid_argument] cwd '/nope' does not exist"}));
await check('background-stdin-kill', async () => {
  let got = '';
  const command = await sandbox.commands.run('cat', {background: true, stdin: true, onStdout: text => { got += text; }});
  await sandbox.commands.sendStdin(command.pid, 'hello\n');
  const listed = (await sandbox.commands.list()).filter(p => p.pid === command.pid);
  assert.deepEqual(listed.map(p => [p.cmd, p.args]), [['/bin/bash', ['-l', '-c', 'cat']]]);
  const other = await sandbox.commands.connect(command.pid);
  await sandbox.commands.closeStdin?.(command.pid);
  if (!sandbox.commands.closeStdin)
    await sandbox.commands.kill(command.pid);
  await Promise.allSettled([command.wait(), other.wait()]);
  assert.equal(got, 'hello\n');
  assert.equal(await sandbox.commands.kill(999999), false);
});
await check('background-kill', async () => {
  const command = await sandbox.commands.run('sleep 30', {background: true});
  assert.equal(await command.kill(), true);
  await rejects(command.wait(), 'CommandExitError', {exitCode: -1, error: 'signal: killed'});
});
await check('background-disconnect', async () => {
  const command = await sandbox.commands.run('sleep 30', {background: true});
  await command.disconnect();
  assert.ok((await sandbox.commands.list()).some(p => p.pid === command.pid));
  await sandbox.commands.kill(command.pid);
});
await check('connect-missing', () => rejects(sandbox.commands.connect(424242), 'NotFoundError', {message: '[not_found] process with pid 424242 not found'}));
await check('stdin-not-enabled', async () => {
  const command = await sandbox.commands.run('sleep 30', {background: true});
  await rejects(sandbox.commands.sendStdin(command.pid, 'x'), 'SandboxError', {message: /stdin not enabled or closed/});
  await command.kill();
});
await check('pty', async () => {
  let got = '';
  const pty = await sandbox.pty.create({cols: 80, rows: 24, onData: data => { got += Buffer.from(data).toString(); }});
  await sandbox.pty.resize(pty.pid, {cols: 100, rows: 30});
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('echo a$((1+1))b; exit 0\n'));
  await pty.wait();
  assert.match(got, /a2b/);
});
await check('files-write-read', async () => {
  const info = await sandbox.files.write(at('a.txt'), 'hello \u00e9\n');
  assert.deepEqual([info.path, info.name, info.type], [at('a.txt'), 'a.txt', 'file']);
  assert.equal(await sandbox.files.read(at('a.txt')), 'hello \u00e9\n');
});
await check('files-write-multi', async () => {
  const infos = await sandbox.files.write([{path: at('b.txt'), data: 'b'}, {path: at('sub dir/c.txt'), data: 'c'}]);
  assert.deepEqual(infos.map(i => i.path), [at('b.txt'), at('sub dir/c.txt')]);
});
await check('files-write-stream', async () => {
  await sandbox.files.write(at('s.txt'), new Blob(['streamed']).stream());
  assert.equal(await sandbox.files.read(at('s.txt')), 'streamed');
});
await check('files-read-missing', () => rejects(sandbox.files.read(at('missing')), 'FileNotFoundError'));
await check('files-read-dir', () => rejects(sandbox.files.read(box), 'InvalidArgumentError'));
await check('files-list', async () => {
  const names = (await sandbox.files.list(box, {depth: 2})).map(e => e.name);
  assert.deepEqual(names, ['a.txt', 'b.txt', 's.txt', 'sub dir', 'c.txt']);
  await rejects(sandbox.files.list(at('nope')), 'FileNotFoundError');
});
await check('files-info', async () => {
  const info = await sandbox.files.getInfo(at('a.txt'));
  assert.deepEqual([info.type, info.size, info.mode, info.permissions], ['file', 9, 0o644, '-rw-r--r--']);
});
await check('files-exists', async () => {
  assert.deepEqual([await sandbox.files.exists(at('a.txt')), await sandbox.files.exists(at('zzz'))], [true, false]);
});
await check('files-makedir', async () => {
  assert.deepEqual([await sandbox.files.makeDir(at('new/dir')), await sandbox.files.makeDir(at('new/dir'))], [true, false]);
});
await check('files-rename-remove', async () => {
  assert.equal((await sandbox.files.rename(at('b.txt'), at('b2.txt'))).path, at('b2.txt'));
  await sandbox.files.remove(at('b2.txt'));
  assert.equal(await sandbox.files.exists(at('b2.txt')), false);
});
await check('files-watch', async () => {
  const seen = new Promise(answer => sandbox.files.watchDir(box, event => event.name === 'w.txt' && event.type === 'create' && answer())
    .then(() => sandbox.files.write(at('w.txt'), 'w')));
  await seen;
});
await check('signed-urls', async () => {
  const answer = await fetch(await sandbox.downloadUrl(at('a.txt')));
  assert.equal(await answer.text(), 'hello \u00e9\n');
  const wrong = await fetch((await sandbox.downloadUrl(at('a.txt'))).replace('v1_', 'v1_x'));
  assert.equal(wrong.status, 401);
});
await check('get-info, list', async () => {
  const info = await Sandbox.getInfo(sandbox.sandboxId, options);
  assert.deepEqual([info.state, info.metadata['a k']], ['running', 'b&c']);
  const pages = Sandbox.list({...options, query: {metadata: {'a k': 'b&c'}, state: ['running', 'paused']}, limit: 10});
  assert.deepEqual((await pages.nextItems()).map(s => s.sandboxId), [sandbox.sandboxId]);
  const none = Sandbox.list({...options, query: {metadata: {'a k': 'other'}}});
  assert.deepEqual(await none.nextItems(), []);
});
await check('list-pages', async () => {
  const other = await Sandbox.create(options), pages = Sandbox.list({...options, limit: 1});
  assert.deepEqual([(await pages.nextItems()).length, (await pages.nextItems()).length, pages.hasNext], [1, 1, false]);
  await other.kill();
});
await check('set-timeout', () => Sandbox.setTimeout(sandbox.sandboxId, 61001, options));
await check('network', async () => {
  if (!sandbox.updateNetwork)
    return;
  await sandbox.updateNetwork({allowOut: ['8.8.8.8'], denyOut: ['0.0.0.0/0']});
  await rejects(sandbox.updateNetwork({denyOut: ['example.com']}), 'SandboxError');
});
await check('pause and resume', async () => {
  const command = await sandbox.commands.run('sleep 30', {background: true});
  const pause = id => (Sandbox.pause ?? Sandbox.betaPause).call(Sandbox, id, options);
  assert.equal(await pause(sandbox.sandboxId), true);
  assert.equal(await pause(sandbox.sandboxId), false);
  await rejects(sandbox.commands.run('true'), 'SandboxNotFoundError');
  assert.equal(await sandbox.isRunning(), false);
  await Promise.allSettled([command.wait()]);
  const again = await Sandbox.connect(sandbox.sandboxId, options);
  assert.equal((await again.commands.run('echo resumed')).stdout, 'resumed\n');
  assert.ok((await again.commands.list()).some(p => p.pid === command.pid));
  assert.equal(await again.commands.kill(command.pid), true);
});
await check('expiry', async () => {
  const one = await Sandbox.create({...options, timeoutMs: 1000});
  while (await one.isRunning())
    await new Promise(answer => setTimeout(answer, 100));
  await rejects(Sandbox.getInfo(one.sandboxId, options), 'SandboxNotFoundError');
});
await check('faults', async () => {
  await fault({pieces: 1});
  assert.equal((await sandbox.commands.run('echo bytes')).stdout, 'bytes\n');
  await fault({noEnd: 1});
  await assert.rejects(sandbox.commands.run('true'));
  await fault({refuse: [{path: 'GET /sandboxes', status: 503, times: 1}]});
  await assert.rejects(Sandbox.getInfo(sandbox.sandboxId, options));
  await fault({});
});
await check('kill', async () => {
  assert.deepEqual([await sandbox.kill(), await Sandbox.kill(sandbox.sandboxId, options)], [true, false]);
  await rejects(sandbox.commands.run('true'), 'SandboxNotFoundError');
  await rejects(Sandbox.getInfo(sandbox.sandboxId, options), 'SandboxNotFoundError');
});

console.log(`1..${n}`);
fs.rmSync(box, {recursive: true});
server.stdin.end();
process.exitCode = bad ? 1 : 0;
setTimeout(() => process.exit(), 1000).unref();
