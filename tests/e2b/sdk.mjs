#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the service's own client takes the local server for the service. Each scenario of
// tests/e2b/recorded is run again, by both releases of the client; what is asked, answered and
// made of it is compared with what was recorded. Says TAP.
//
//   sdk.mjs RELEASE     2.49 or 2.51, of those that tests/lib/fetch-clients fetched
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import assert from 'node:assert/strict';
import {Sandbox, apiKey, endServer, fault, release, sayTap, url as direct} from './client.mjs';
import {essence, fromRecorded, record, scrub} from './recorder.mjs';

const isNew = release === '2.51';
const proxy = await record(direct);
const options = {apiKey, apiUrl: proxy.url, sandboxUrl: proxy.url};
const unseen = {apiKey, apiUrl: direct, sandboxUrl: direct}; // beside what is compared
const box = fs.mkdtempSync(path.join(os.tmpdir(), 'e2b-sdk-'));
const at = name => path.join(box, name);
const folder = new URL('recorded/', import.meta.url).pathname;
let sandbox, gone;

async function collect (func) {
  try {
    return {ok: await func()};
  } catch (error) {
    return {error: {class: error.constructor.name, name: error.name, message: error.message}};
  }
}

/** In the order in which they were recorded: one sandbox lives through most of them. */
const scenarios = {
  'create-default': async () => {
    sandbox = await Sandbox.create(options);
    return {id: sandbox.sandboxId, host3000: sandbox.getHost(3000), domain: sandbox.sandboxDomain};
  },
  'create-full': async () => {
    const one = await Sandbox.create('my-template', {...options, metadata: {a: 'b c'}, envs: {FOO: 'bar'}, timeoutMs: 90500,
      ...(isNew ? {} : {secure: true}), allowInternetAccess: false,
      network: {allowOut: ['1.1.1.1', 'example.com', '*.example.org'], denyOut: ['0.0.0.0/0'],
        egressProxy: {address: 'proxy.example.com:1080', username: 'u', password: 'p'},
        rules: {'api.example.com': [{transform: {headers: {Authorization: 'Bearer x'}}}]}, allowPublicTraffic: false,
        maskRequestHost: 'localhost:${PORT}', httpsPorts: [3000]},
      lifecycle: {onTimeout: {action: 'pause', keepMemory: false}}, volumeMounts: {'/mnt/v': 'vol1'}});
    await one.kill();
    return {tat: one.trafficAccessToken};
  },
  'create-autoresume': async () => {
    const one = await Sandbox.create({...options, lifecycle: {onTimeout: 'pause', autoResume: true}});
    await one.kill();
    return null;
  },
  'create-insecure': async () => {
    const one = await Sandbox.create({...options, secure: false}), url = await one.downloadUrl('/x y');
    await one.kill();
    return {url};
  },
  'run': () => sandbox.commands.run('echo hi; echo err >&2'),
  'run-opts': () => sandbox.commands.run('echo $FOO; pwd', {envs: {FOO: '\u00e9'}, cwd: '/tmp', user: 'root', timeoutMs: 5000}),
  'run-exit3': () => sandbox.commands.run('exit 3'),
  'run-timeout0': () => sandbox.commands.run('true', {timeoutMs: 0}),
  'run-timeout-expires': () => sandbox.commands.run('sleep 3', {timeoutMs: 300}),
  'run-bad-cwd': () => sandbox.commands.run('true', {cwd: '/nope'}),
  'run-signal': () => sandbox.commands.run('kill -9 $$'),
  'background-stdin-kill': async () => {
    let got = '', heard;
    const all = new Promise(answer => { heard = answer; });
    const command = await sandbox.commands.run('cat', {background: true, stdin: true, onStdout: text => {
      got += text;
      if (got.split('\n').length > 2)
        heard();
    }});
    // Who comes later hears nothing of before: it is held until both are there, as they were when this was recorded.
    process.kill(command.pid, 'SIGSTOP');
    await sandbox.commands.sendStdin(command.pid, 'hello\n');
    const list = await sandbox.commands.list();
    const other = await sandbox.commands.connect(command.pid);
    process.kill(command.pid, 'SIGCONT');
    await sandbox.commands.sendStdin(command.pid, new Uint8Array([0xff, 0xfe, 0x0a]));
    await all;
    await sandbox.commands.closeStdin(command.pid);
    const w = await command.wait();
    await other.wait();
    return {list, got, w, stdout: command.stdout, killGone: await sandbox.commands.kill(999999)};
  },
  'background-kill': async () => {
    const command = await sandbox.commands.run('sleep 30', {background: true}), k = await command.kill();
    const error = await command.wait().catch(e => e);
    return {k, e: {c: error.constructor.name, exitCode: error.exitCode, error: error.error, m: error.message}};
  },
  'background-disconnect': async () => {
    const command = await sandbox.commands.run('sleep 1', {background: true});
    await command.disconnect();
    return {alive: fs.existsSync(`/proc/${command.pid}`)};
  },
  'connect-missing': () => sandbox.commands.connect(424242),
  'stdin-not-enabled': async () => {
    const command = await sandbox.commands.run('sleep 30', {background: true});
    try {
      return await sandbox.commands.sendStdin(command.pid, 'x');
    } finally {
      await command.kill();
      await command.wait().catch(() => {});
    }
  },
  'keepalive': async () => {
    await fault({keepalive: 60});
    try { return await sandbox.commands.run('sleep 0.35; echo done'); } finally { await fault({}); }
  },
  'pty': async () => {
    let got = '', heard;
    const seen = new Promise(answer => { heard = answer; });
    const pty = await sandbox.pty.create({cols: 80, rows: 24, onData: data => {
      got += Buffer.from(data).toString();
      if (got.includes('pty-2'))
        heard(true);
    }});
    await sandbox.pty.resize(pty.pid, {cols: 100, rows: 40});
    await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('echo pty-$((1+1))\n'));
    const has = await seen, k = await sandbox.pty.kill(pty.pid);
    await pty.wait().catch(() => {});
    return {has, k};
  },
  'files-write-text': () => sandbox.files.write(at('a.txt'), 'hello \u00e9'),
  'files-write-multi': () => sandbox.files.write([{path: at('b.txt'), data: 'B'}, {path: at('sub dir/c.txt'), data: 'C'}]),
  'files-write-octet': () => sandbox.files.write(at('o.bin'), new Uint8Array([0, 1, 255]).buffer, {useOctetStream: true, metadata: {key: 'v'}}),
  'files-write-gzip': () => sandbox.files.write(at('g.txt'), recordedText('files-write-gzip'), {gzip: true}),
  'files-write-stream': () => sandbox.files.write(at('s.txt'), new Blob(['streamed']).stream()),
  'files-write-user': () => sandbox.files.write(at('u.txt'), 'U', {user: 'root'}),
  'files-read': async () => ({t: await sandbox.files.read(at('a.txt')), b: [...await sandbox.files.read(at('o.bin'), {format: 'bytes'})]}),
  'files-read-empty': async () => {
    fs.writeFileSync(at('empty'), '');
    return {t: await sandbox.files.read(at('empty'))};
  },
  // Recorded of an agent that does not compress; this one does.
  'files-read-empty-identity': async () => ({t: await sandbox.files.read(at('empty'))}),
  'files-read-missing': () => sandbox.files.read(at('missing')),
  'files-read-dir': () => sandbox.files.read(box),
  'files-list': () => sandbox.files.list(box, {depth: 2}),
  'files-list-missing': () => sandbox.files.list(at('nope')),
  'files-makedir': async () => [await sandbox.files.makeDir(at('new/dir')), await sandbox.files.makeDir(at('new/dir'))],
  'files-exists': async () => [await sandbox.files.exists(at('a.txt')), await sandbox.files.exists(at('zzz'))],
  'files-info': () => sandbox.files.getInfo(at('a.txt'), {user: 'root'}),
  'files-rename': () => sandbox.files.rename(at('b.txt'), at('b2.txt')),
  'files-remove': async () => {
    await sandbox.files.remove(at('b2.txt'));
    await sandbox.files.remove(at('b2.txt'));
    return null;
  },
  'files-watch': async () => {
    const events = [];
    let heard;
    const both = new Promise(answer => { heard = answer; });
    const handle = await sandbox.files.watchDir(box, event => {
      events.push({name: event.name, type: event.type});
      if (event.type === 'write')
        heard();
    });
    fs.writeFileSync(at('w.txt'), 'w');
    await both;
    await handle.stop();
    return events.slice(0, 2);
  },
  'signed-urls': async () => {
    const d = await sandbox.downloadUrl(at('a.txt')), d2 = await sandbox.downloadUrl(at('a.txt'), {user: 'root', useSignatureExpiration: 60});
    const u = await sandbox.uploadUrl(at('up.txt')), form = new FormData();
    form.append('file', new Blob(['up']), 'x');
    return {d, d2, u, r1: await (await fetch(d)).text(), r2: await (await fetch(d2)).text(),
      r3: await (await fetch(u, {method: 'POST', body: form})).json(), bad: await (await fetch(d.replace('v1_', 'v1_x'))).json(),
      token: sandbox.envdAccessToken};
  },
  'set-timeout': async () => { await sandbox.setTimeout(61001); return null; },
  'get-info': () => sandbox.getInfo(),
  'is-running': () => sandbox.isRunning(),
  'update-network': async () => {
    await sandbox.updateNetwork({allowOut: ['8.8.8.8'], denyOut: ['0.0.0.0/0'], allowInternetAccess: false});
    return null;
  },
  'update-network-clear': async () => { await sandbox.updateNetwork({}); return null; },
  'metrics': () => sandbox.getMetrics(),
  'snapshot': () => sandbox.createSnapshot({name: 'n'}).then(made => ({...made, names: made.names.map(name => name.replace('/n:', '/snap:'))})),
  'pause': async () => [await sandbox.pause(), await sandbox.pause()],
  'paused-run': () => sandbox.commands.run('true'),
  'paused-read': () => sandbox.files.read('/x'),
  'paused-isrunning': () => sandbox.isRunning(),
  'list': async () => {
    const one = await Sandbox.create({...unseen, metadata: {'a k': 'b&c'}});
    await one.pause();
    const pages = Sandbox.list({...options, query: {metadata: {'a k': 'b&c'}, state: ['running', 'paused']}, limit: 10});
    const found = await pages.nextItems();
    await one.kill();
    return found.map(s => s.state);
  },
  'list-pages': async () => {
    const one = await Sandbox.create(options), pages = Sandbox.list({...options, limit: 1});
    const sizes = [(await pages.nextItems()).length, (await pages.nextItems()).length];
    assert.equal(pages.hasNext, false);
    await one.kill();
    return sizes;
  },
  'connect-resume': async () => {
    await Sandbox.connect(sandbox.sandboxId, {...options, timeoutMs: 30000});
    await sandbox.connect();
    return (await sandbox.commands.run('echo resumed')).stdout;
  },
  'pause-fs-only': () => sandbox.pause({keepMemory: false}),
  'connect-reboot': async () => { await sandbox.connect({onResume: 'reboot'}); return null; },
  'fork': async () => {
    await fault({most: 2});
    const made = await sandbox.fork({count: 2});
    await fault({});
    await Promise.all(made.filter(one => !(one instanceof Error)).map(one => Sandbox.kill(one.sandboxId, unseen)));
    return made.map(one => one instanceof Error ? one.constructor.name : 'sandbox');
  },
  'kill': async () => { gone = sandbox.sandboxId; return [await sandbox.kill(), await sandbox.kill()]; },
  'after-kill-run': () => sandbox.commands.run('true'),
  'after-kill-list': () => sandbox.files.list('/'),
  'after-kill-info': () => Sandbox.getInfo(gone, options),
  'after-kill-settimeout': () => Sandbox.setTimeout(gone, 1000, options),
  'after-kill-connect': () => Sandbox.connect(gone, options),
};

// The newer release has no sandbox without a token.
const older = ['create-insecure'];
// Recorded of a server that compressed nothing, listed all that it knew of a sandbox, and said of
// a fork that it was the same one: what is asked is compared, and what comes of it.
const answeredOtherwise = ['files-read-empty-identity', 'list', 'list-pages', 'fork', 'snapshot'];

function recordedText (name) {
  return essence(fromRecorded(recordedOf(name).exchanges[0]), '/tmp/e2b/box').body;
}

function recordedOf (name) {
  const own = path.join(folder, 'v2.51.0', `${name}.json`);
  return JSON.parse(fs.readFileSync(isNew && fs.existsSync(own) ? own : path.join(folder, `${name}.json`)));
}

// Of the older release's record, what the newer one is known to say in another way: the paths of
// create and connect, and values that it leaves to the server.
function renew (value, recorded) {
  if (!isNew)
    return value;
  const text = JSON.stringify(value).replaceAll('"allowInternetAccess":true', '"allowInternetAccess":null')
    .replace(/"allowInternetAccess":null,?/g, '').replace(/,\}/g, '}');
  const one = JSON.parse(text);
  if (recorded.sdk === '2.51.0' || one === null || typeof one.url !== 'string')
    return one;
  one.url = one.url.replace(/^\/v2\/sandboxes($|\/)(?!\?)/, '/sandboxes$1');
  if (/^\/sandboxes($|\/ID\/(connect|pause|fork)$)/.test(one.url)) {
    delete one.body;
    delete one.type;
  }
  return one;
}

async function check (name) {
  const recorded = recordedOf(name), outcome = await collect(scenarios[name]), exchanges = await proxy.take();
  const form = (value, where) => renew(scrub(value, where), recorded);
  assert.deepEqual(form(JSON.parse(JSON.stringify(outcome)), box), form(recorded.sdkResult, '/tmp/e2b/box'));
  const theirs = recorded.exchanges.map(one => renew(essence(fromRecorded(one), '/tmp/e2b/box'), recorded));
  const ours = exchanges.map(one => renew(essence(one, box), recorded));
  for (const one of [...theirs, ...ours].filter(() => answeredOtherwise.includes(name)))
    ['answer', 'encoding'].forEach(member => delete one[member]);
  assert.deepEqual(ours, theirs);
}

const names = Object.keys(scenarios).filter(name => !isNew || !older.includes(name));
const missing = fs.readdirSync(folder).filter(file => file.endsWith('.json') && file !== 'error-matrix.json')
  .map(file => file.slice(0, -5)).filter(name => !(name in scenarios));
const everyOne = 'every recorded scenario is run';
await sayTap([...names, everyOne], name => name === everyOne ? assert.deepEqual(missing, []) : check(name));
fs.rmSync(box, {recursive: true});
proxy.close();
await endServer();
process.exit();
