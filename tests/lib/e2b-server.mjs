#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// A server that speaks the hosted service's wire, for tests: both planes on one port of
// 127.0.0.1, real processes and real files of this machine, real times to live.
//
//   e2b-server.mjs [--port N] [--tls CERTIFICATE KEY] [--apart]
//
// says "listening PORT" and runs until its input ends, or a SIGTERM comes; then everything
// that its sandboxes started is ended. With --tls it has HTTP/2 for who offers it, like the service.
//
// --apart: in a room of bubblewrap's, where no file of this machine is but its programs, and
// /workspace, /home/user and /tmp are new ones; every process in there ends with it.
//
// What is faked: a sandbox is no machine but a set of processes, all of one user; files are
// those of this machine, or of the room; its network policy is checked, kept and shown, and not enforced; a
// pause with memory stops the processes; a snapshot and a fork have the settings of their
// sandbox and none of its processes.
//
// PUT /faults sets faults (e2b/faults.mjs says which). GET /counts tells what was asked, and
// what lives. The modules beside it are in e2b/.
import http from 'node:http';
import http2 from 'node:http2';
import fs from 'node:fs';
import path from 'node:path';
import {spawn} from 'node:child_process';
import {ENVD_PORT, Failure, RpcFailure, answerOf, parse, readBody, unwrap, user} from './e2b/wire.mjs';
import {faults, meetEvery, setFaults, takeFault, tally} from './e2b/faults.mjs';
import {control, counts, isControl, now, sandboxes} from './e2b/sandbox.mjs';
import {refuseStream, streamProcess, streams, unaryProcess} from './e2b/process.mjs';
import {checkSignature, compose, readFile, unaryFiles, watch, writeFiles} from './e2b/files.mjs';

const asked = {}; // how often, by method and path
let http2Asked = 0;

function reply (response, status, body, headers = {}) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  response.writeHead(status, text === undefined ? headers : {'Content-Type': 'application/json', ...headers});
  response.end(text);
}

// --- the data plane -----------------------------------------------------------------------

function whoAsks (request) {
  const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '');
  return checkUser(basic ? Buffer.from(basic[1], 'base64').toString().split(':')[0] : user.username,
    name => new RpcFailure('unauthenticated', `invalid username: '${name}'`));
}

function checkUser (name, failure) {
  if (!['root', 'user', user.username].includes(name))
    throw failure(name);
  return name;
}

// A signed address of a shared host has no sandbox's name in it: whose signature it is.
function findSigned (request, query) {
  const operation = request.method === 'GET' ? 'read' : 'write';
  return [...sandboxes.values()].find(sandbox => {
    try { checkSignature(sandbox, query, operation); return true; } catch { return false; }
  });
}

function routeData (url, request) {
  const [, hostPort, hostId] = /^(\d+)-([a-z0-9]+)\./.exec(request.headers.host ?? '') ?? [];
  const id = request.headers['e2b-sandbox-id'] ?? hostId, port = request.headers['e2b-sandbox-port'] ?? hostPort;
  const signed = id === undefined && url.searchParams.has('signature');
  const sandbox = id !== undefined ? sandboxes.get(id.split('-')[0]) : signed ? findSigned(request, url.searchParams) : undefined;
  if (signed && !sandbox)
    throw new Failure(401, 'invalid signature');
  if (!signed && (id === undefined || port === undefined))
    throw new Failure(400, 'missing header');
  if (sandbox?.state === 'paused' && sandbox.autoResume && sandbox.memory) {
    if (request.headers['x-access-token'] !== undefined && request.headers['x-access-token'] !== sandbox.token)
      throw new Failure(403, 'invalid token');
    sandbox.checkStill();
    sandbox.resume(300);
  }
  if (sandbox?.state !== 'running')
    throw new Failure(502, 'The sandbox was not found', {sandboxId: id});
  if (!signed && port !== ENVD_PORT) {
    if (sandbox.trafficToken && request.headers['e2b-traffic-access-token'] !== sandbox.trafficToken)
      throw new Failure(403, 'invalid traffic access token', {sandboxId: id});
    throw new Failure(502, 'The sandbox is running but port is not open', {sandboxId: id, port: Number(port)});
  }
  return sandbox;
}

function checkToken (sandbox, url, request) {
  const token = request.headers['x-access-token'];
  if (!sandbox.token || token === sandbox.token)
    return;
  if (token !== undefined || url.pathname !== '/files')
    throw new Failure(401, 'unauthorized access, please provide a valid access token');
  checkSignature(sandbox, url.searchParams, request.method === 'GET' ? 'read' : 'write');
}

async function plain (sandbox, url, request, response) {
  const method = `${request.method} ${url.pathname}`;
  const who = checkUser(url.searchParams.get('username') ?? user.username, name => new Failure(401, `invalid username: '${name}'`));
  switch (method) {
    case 'GET /files':
      return readFile(url, who, request, response);
    case 'POST /files': {
      const written = await writeFiles(sandbox, url, who, request);
      // The agent does not say that it is JSON.
      return request.instead ? request.instead() : reply(response, 200, written, {'Content-Type': 'text/plain; charset=utf-8'});
    }
    case 'POST /files/compose':
      return reply(response, 200, compose(sandbox, parse(await readBody(request))));
    case 'GET /metrics':
      return reply(response, 200, {ts: Math.floor(now() / 1000), cpu_count: 2, cpu_used_pct: 1.5, mem_total: 2, mem_used: 1, mem_cache: 0,
        disk_used: 1, disk_total: 2});
    case 'GET /envs':
      return reply(response, 200, sandbox.env);
    default:
      throw new Failure(404, 'no such path');
  }
}

async function data (url, request, response) {
  const sandbox = routeData(url, request);
  if (url.pathname === '/health')
    return reply(response, 204);
  checkToken(sandbox, url, request);
  const [, service, method] = /^\/(process\.Process|filesystem\.Filesystem)\/(\w+)$/.exec(url.pathname) ?? [];
  if (!service)
    return plain(sandbox, url, request, response);
  if (request.method !== 'POST')
    throw new Failure(405, 'method not allowed');
  const isStream = ['Start', 'Connect', 'WatchDir'].includes(method);
  const type = (request.headers['content-type'] ?? '').split(';')[0].trim();
  if (type !== (isStream ? 'application/connect+json' : 'application/json'))
    throw new Failure(415, `unsupported content type ${type}`);
  const body = await readBody(request);
  if (isStream)
    try {
      const who = whoAsks(request), message = unwrap(body);
      return await (method === 'WatchDir' ? watch(message, who, request, response)
        : streamProcess(method, sandbox, message, who, request, response));
    } catch (error) {
      if (!(error instanceof RpcFailure) || response.headersSent)
        throw error;
      return refuseStream(response, error);
    }
  const func = (service === 'process.Process' ? unaryProcess : unaryFiles)[method];
  if (!func)
    throw new Failure(404, 'no such path');
  const answer = await func(sandbox, parse(body), whoAsks(request));
  return request.instead ? request.instead() : reply(response, 200, answer);
}

// --- requests ---------------------------------------------------------------------------------

function end (socket, reset) {
  reset ? socket.resetAndDestroy() : socket.destroy();
}

// The connection ends where the fault says.
function cutAnswer (fault, request, response) {
  const socket = request.socket, at = fault.after ? 'done' : fault.at ?? 'request';
  if (at === 'request')
    return end(socket, fault.reset);
  if (at === 'body') {
    request.once('data', () => end(socket, fault.reset)).once('end', () => end(socket, fault.reset));
    return undefined;
  }
  if (at === 'done') {
    request.instead = () => end(socket, fault.reset);
    return false;
  }
  // Of what would have been said, the first bytes or half.
  const write = socket.write;
  socket.write = (bytes, ...more) => {
    const all = Buffer.from(bytes, typeof more[0] === 'string' ? more[0] : 'utf8');
    write.call(socket, all.subarray(0, at === 'head' ? Math.min(20, all.length) : Math.ceil(all.length / 2)), () => end(socket, fault.reset));
    socket.write = () => true;
    return true;
  };
  if (response.socket === socket)
    socket.uncork?.();
  return false;
}

function refused (fault, response) {
  const body = fault.hex !== undefined ? Buffer.from(fault.hex, 'hex')
    : fault.repeat ? Buffer.alloc(fault.repeat, fault.body ?? 'x')
    : fault.body ?? JSON.stringify({code: fault.status, message: `injected ${fault.status}`});
  response.writeHead(fault.status, {'Content-Type': 'application/json', ...fault.headers});
  response.end(body);
}

async function own (url, request, response, server) {
  if (url.pathname === '/faults') {
    setFaults(JSON.parse((await readBody(request)).toString() || '{}'));
    return reply(response, 204);
  }
  const connections = await new Promise(answer => server.getConnections((error, n) => answer(n)));
  const all = [...sandboxes.values()];
  return reply(response, 200, {requests: asked, ...counts, streams: streams.all, http2: http2Asked, following: streams.now, connections, met: tally.met, deadlines: tally.deadlines,
    tokens: all.map(s => s.token),
    living: sandboxes.size, open: all.filter(s => s.isOpen()).length,
    processes: all.flatMap(s => [...s.processes.values()]).filter(p => !p.end).length});
}

async function handle (server, request, response) {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/faults' || url.pathname === '/counts')
    return own(url, request, response, server);
  const key = `${request.method} ${url.pathname.replace(/\/i[0-9a-f]{20}/, '/ID')}`;
  asked[key] = (asked[key] ?? 0) + 1;
  http2Asked += request.httpVersionMajor === 2;
  if (request.headers['connect-timeout-ms'] !== undefined)
    tally.deadlines++;
  if (faults.skew)
    response.setHeader('Date', new Date(now()).toUTCString());
  const {refuse: refuseNow, cut: cutNow, ...fault} = meetEvery(request);
  request.fault = fault;
  if (takeFault('hang', request))
    return undefined;
  const refuse = refuseNow ?? takeFault('refuse', request), cut = refuse ? undefined : cutNow ?? takeFault('cut', request);
  if (refuse && !refuse.after) {
    request.resume();
    return refused(refuse, response);
  }
  if (refuse)
    request.instead = () => refused(refuse, response);
  if (cut && cutAnswer(cut, request, response) !== false)
    return undefined;
  if (!isControl(url.pathname))
    return data(url, request, response);
  if (!/^e2b_[0-9a-f]+$/.test(request.headers['x-api-key'] ?? ''))
    throw new Failure(401, 'Invalid API key');
  let body;
  try { body = JSON.parse((await readBody(request)).toString() || '{}'); } catch (error) {
    throw error instanceof Failure ? error : new Failure(400, 'the body is no JSON');
  }
  const answer = control(request.method, url, body);
  return request.instead ? request.instead() : reply(response, answer.status, answer.body, answer.headers);
}

function listen (request, response) {
  response.on('error', () => {});
  request.on('error', () => {});
  handle(this, request, response).catch(error => {
    if (response.headersSent || response.destroyed)
      return response.destroy();
    const [status, body] = answerOf(error);
    return reply(response, status, body, status === 416 ? {'Content-Range': `bytes */${error.more.size}`} : {});
  });
}

function quit () {
  for (const sandbox of [...sandboxes.values()])
    sandbox.destroy();
  process.exit(0);
}

const option = name => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv.slice(at + 1) : undefined;
};

// This program once more, in a room of its own. It has this one's input and output.
function moveApart () {
  const script = process.argv[1], seen = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/opt', '/etc', path.dirname(script),
    path.dirname(process.execPath)].filter(name => fs.existsSync(name));
  const child = spawn('bwrap', ['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp',
    '--dir', '/workspace', '--dir', '/home/user', '--dir', '/root', ...seen.flatMap(name => ['--ro-bind', name, name]), '--setenv', 'HOME', '/home/user',
    process.execPath, script, ...process.argv.slice(2).filter(text => text !== '--apart')], {stdio: 'inherit'});
  child.on('error', error => { console.error(`e2b-server: bwrap: ${error.message}`); process.exit(1); });
  child.on('exit', code => process.exit(code ?? 1));
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

function serve () {
  const tls = option('--tls');
  const server = tls ? http2.createSecureServer({cert: fs.readFileSync(tls[0]), key: fs.readFileSync(tls[1]), allowHTTP1: true}, listen) : http.createServer(listen);
  server.keepAliveTimeout = 60000;
  server.requestTimeout = 0;
  server.on('clientError', (error, socket) => socket.destroy());
  server.listen(Number(option('--port')?.[0] ?? 0), '127.0.0.1', () => console.log(`listening ${server.address().port}`));
  process.stdin.on('end', quit).on('error', quit).resume();
  process.on('SIGTERM', quit);
}

option('--apart') ? moveApart() : serve();
