#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// A server that speaks the hosted service's wire, for tests: both planes on one port of
// 127.0.0.1, real processes and real files of this machine, real times to live.
//
//   e2b-server.mjs [--port N]      says "listening PORT" and runs until its input ends
//
// What is faked: a sandbox is no machine but a set of processes; its network policy is
// checked, kept and shown, and not enforced; a pause with memory stops the processes.
//
// Faults are set by PUT /faults with a JSON object, and each is used up as it happens:
//   {"refuse": [{"path": REGEX, "status": N, "headers": {}, "body": TEXT, "times": N}],
//    "cut": [{"path": REGEX, "times": N, "after": true}],  the connection ends without an
//                                        answer; after: once the work is done
//    "cutStream": N      the next streams end after N bytes
//    "pieces": N         streams are sent N bytes at a time
//    "noEnd": N          the next N streams lack their end-of-stream message
//    "delayStart": MS    of every stream's first message
//    "every": N          each Nth command that is started meets a fault, of each kind in turn}
// GET /counts tells what was asked, and what lives.
import http from 'node:http';
import crypto from 'node:crypto';
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import path from 'node:path';
import zlib from 'node:zlib';
import {spawn} from 'node:child_process';
import os from 'node:os';

const ENVD_VERSION = '0.6.13', ENVD_PORT = '49983', MAX_SESSION_S = 24 * 3600;
const KEPT_MS = 30000; // an ended process can be connected to for so long
const CHUNK = 32 * 1024, MOST_BODY = 512 * 1024 * 1024;
const user = os.userInfo();
const signals = {SIGHUP: 'hangup', SIGINT: 'interrupt', SIGQUIT: 'quit', SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap', SIGABRT: 'aborted', SIGBUS: 'bus error', SIGFPE: 'floating point exception',
  SIGKILL: 'killed', SIGUSR1: 'user defined signal 1', SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2', SIGPIPE: 'broken pipe', SIGALRM: 'alarm clock', SIGTERM: 'terminated'};

const sandboxes = new Map(); // by id, living ones
const counts = {requests: {}, created: 0, streams: 0};
let faults = {}, started = 0, turn = 0;

class Failure extends Error {
  constructor (status, message, more = {}) { super(message); this.status = status; this.more = more; }
}

// Connect's codes and their statuses.
const codes = {canceled: 499, unknown: 500, invalid_argument: 400, deadline_exceeded: 504, not_found: 404,
  already_exists: 409, permission_denied: 403, resource_exhausted: 429, failed_precondition: 400, aborted: 409,
  out_of_range: 400, unimplemented: 501, internal: 500, unavailable: 503, data_loss: 500, unauthenticated: 401};
class RpcFailure extends Error {
  constructor (code, message) { super(message); this.code = code; }
}

const iso = ms => new Date(ms).toISOString();
const random = n => crypto.randomBytes(n).toString('hex');

// --- sandboxes ----------------------------------------------------------------------------

class Sandbox {
  constructor (body) {
    this.id = 'i' + random(10);
    this.template = body.templateID;
    this.state = 'running';
    this.startedAt = Date.now();
    this.token = body.secure === false ? null : 'ea_' + random(16);
    this.trafficToken = body.network?.allowPublicTraffic === false ? 'ta_' + random(16) : null;
    this.metadata = body.metadata ?? {};
    this.env = body.envVars ?? {};
    this.network = body.network ?? null;
    this.internet = body.allow_internet_access ?? null;
    this.autoPause = body.autoPause === true;
    this.autoPauseMemory = body.autoPauseMemory !== false;
    this.autoResume = body.autoResume?.enabled === true;
    this.processes = new Map();
    this.setEnd(body.timeout ?? 15);
  }

  setEnd (seconds) {
    this.endAt = Math.min(Date.now() + seconds * 1000, this.startedAt + MAX_SESSION_S * 1000);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.expire(), Math.max(this.endAt - Date.now(), 0));
  }

  expire () {
    if (this.state !== 'running')
      return;
    if (this.autoPause)
      this.pause(this.autoPauseMemory);
    else
      this.destroy();
  }

  pause (memory) {
    clearTimeout(this.timer);
    this.state = 'paused';
    this.memory = memory;
    this.endAt = Date.now();
    for (const process of this.processes.values()) {
      process.signal('SIGSTOP');
      process.cutSubscribers();
    }
    if (!memory)
      this.forgetProcesses();
  }

  forgetProcesses () {
    for (const process of this.processes.values()) {
      process.signal('SIGCONT');
      process.signal('SIGKILL');
    }
    this.processes.clear();
  }

  resume (seconds) {
    this.state = 'running';
    for (const process of this.processes.values())
      process.signal('SIGCONT');
    this.setEnd(seconds);
  }

  destroy () {
    clearTimeout(this.timer);
    sandboxes.delete(this.id);
    for (const process of this.processes.values()) {
      process.signal('SIGCONT');
      process.signal('SIGKILL');
      process.cutSubscribers();
    }
  }

  answer () {
    return {templateID: this.template, sandboxID: this.id, clientID: '6532622b', alias: this.template,
      envdVersion: ENVD_VERSION, ...(this.token ? {envdAccessToken: this.token} : {}),
      trafficAccessToken: this.trafficToken, domain: null};
  }

  listed () {
    return {templateID: this.template, alias: this.template, sandboxID: this.id, clientID: '6532622b',
      startedAt: iso(this.startedAt), endAt: iso(this.endAt), envdVersion: ENVD_VERSION, cpuCount: 2, memoryMB: 512,
      diskSizeMB: 1024, state: this.state, metadata: this.metadata, volumeMounts: []};
  }

  detail () {
    const {egressProxy, ...network} = this.network ?? {};
    if (egressProxy)
      network.egressProxy = {address: egressProxy.address, username: egressProxy.username};
    return {...this.listed(), ...(this.token ? {envdAccessToken: this.token} : {}), domain: null,
      allowInternetAccess: this.internet, network,
      lifecycle: {autoResume: this.autoResume, onTimeout: this.autoPause ? 'pause' : 'kill'}};
  }
}

const isAddress = text => /^(\d{1,3}\.){3}\d{1,3}(\/\d{1,2})?$/.test(text)
  && text.split('/')[0].split('.').every(n => Number(n) < 256) && Number(text.split('/')[1] ?? 32) <= 32;
const isName = text => text === '*' || /^(\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+$/i.test(text);

function checkNetwork (network) {
  const allow = network.allowOut ?? [], deny = network.denyOut ?? [];
  if (!Array.isArray(allow) || !Array.isArray(deny))
    throw new Failure(400, 'allowOut and denyOut are lists');
  for (const entry of deny)
    if (!isAddress(entry))
      throw new Failure(400, `invalid denied CIDR ${entry}`);
  for (const entry of [...allow, ...deny])
    if (isAddress(entry) && entry.startsWith('0.0.0.0') && entry !== '0.0.0.0/0')
      throw new Failure(400, `invalid CIDR ${entry}`);
  for (const entry of allow)
    if (!isAddress(entry)) {
      if (!isName(entry))
        throw new Failure(400, `invalid allowed entry ${entry}`);
      if (!deny.includes('0.0.0.0/0'))
        throw new Failure(400, 'when specifying allowed domains, you must include 0.0.0.0/0 in denyOut');
    }
}

function find (id) {
  const sandbox = sandboxes.get(id.split('-')[0]);
  if (!/^[a-z0-9-]+$/.test(id))
    throw new Failure(400, 'Invalid sandbox ID');
  if (!sandbox)
    throw new Failure(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
  return sandbox;
}

function create (body) {
  if (typeof body.templateID !== 'string' || body.templateID === '')
    throw new Failure(400, 'templateID is required');
  if (body.templateID.startsWith('missing'))
    throw new Failure(404, `template '${body.templateID}' not found`);
  if (body.timeout !== undefined && (!Number.isInteger(body.timeout) || body.timeout <= 0))
    throw new Failure(400, 'Timeout must be greater than 0');
  if (body.timeout > MAX_SESSION_S)
    throw new Failure(400, `Timeout cannot be greater than ${MAX_SESSION_S / 3600} hours`);
  if (body.autoPauseMemory === false && (!body.autoPause || body.autoResume?.enabled))
    throw new Failure(400, 'autoPauseMemory needs autoPause, and no autoResume');
  if (body.network?.allowPublicTraffic === false && body.secure === false)
    throw new Failure(400, 'allowPublicTraffic false needs secure');
  checkNetwork(body.network ?? {});
  const sandbox = new Sandbox(body);
  sandboxes.set(sandbox.id, sandbox);
  counts.created++;
  return sandbox;
}

function list (query) {
  const states = (query.get('state') ?? 'running,paused').split(',');
  const limit = Number(query.get('limit') ?? 100);
  const from = Number(query.get('nextToken') ?? 0);
  let found = [...sandboxes.values()].filter(s => states.includes(s.state)).reverse();
  if (!(limit >= 1 && limit <= 100))
    throw new Failure(400, 'limit is out of range');
  if (query.has('metadata'))
    for (const [key, value] of new URLSearchParams(query.get('metadata')))
      found = found.filter(s => s.metadata[decodeURIComponent(key)] === decodeURIComponent(value));
  return {body: found.slice(from, from + limit).map(s => s.listed()),
    headers: {'X-Total-Running': String(found.length), ...(from + limit < found.length ? {'X-Next-Token': String(from + limit)} : {})}};
}

function control (method, url, body) {
  const parts = url.pathname.split('/').filter(Boolean);
  if (parts[0] === 'v2')
    parts.shift();
  if (parts[0] !== 'sandboxes')
    throw new Failure(404, 'no such path');
  const [, id, what] = parts;
  if (id === undefined && method === 'GET')
    return {status: 200, ...list(url.searchParams)};
  if (id === undefined && method === 'POST')
    return {status: 201, body: create(url.pathname.startsWith('/v2') ? {secure: true, timeout: 300, ...body} : body).answer()};
  const sandbox = find(id);
  if (what === undefined && method === 'GET')
    return {status: 200, body: sandbox.detail()};
  if (what === undefined && method === 'DELETE') {
    sandbox.destroy();
    return {status: 204};
  }
  if (method === 'POST' && what === 'timeout') {
    if (sandbox.state !== 'running')
      throw new Failure(404, `Sandbox "${id}" is not running`);
    sandbox.setEnd(body.timeout);
    return {status: 204};
  }
  if (method === 'POST' && what === 'refreshes') {
    sandbox.setEnd(Math.max(body.duration ?? 15, (sandbox.endAt - Date.now()) / 1000));
    return {status: 204};
  }
  if (method === 'POST' && what === 'pause') {
    if (sandbox.state === 'paused')
      throw new Failure(409, 'already paused');
    sandbox.pause(body.memory !== false);
    return {status: 204};
  }
  if (method === 'POST' && (what === 'connect' || what === 'resume')) {
    const seconds = body.timeout ?? 300, was = sandbox.state;
    if (was === 'paused' && body.memory === false)
      sandbox.forgetProcesses();
    if (was === 'paused')
      sandbox.resume(seconds);
    else if (what === 'resume')
      throw new Failure(409, 'Sandbox is already running');
    else if (Date.now() + seconds * 1000 > sandbox.endAt)
      sandbox.setEnd(seconds);
    return {status: was === 'paused' ? 201 : 200, body: sandbox.answer()};
  }
  if (method === 'PUT' && what === 'network') {
    if (sandbox.state !== 'running')
      throw new Failure(404, `Sandbox "${id}" is not running`);
    checkNetwork(body);
    const {allow_internet_access: internet, ...network} = body;
    sandbox.network = {allowPublicTraffic: sandbox.network?.allowPublicTraffic, ...network};
    if (internet !== undefined)
      sandbox.internet = internet;
    return {status: 204};
  }
  if (method === 'POST' && what === 'snapshots')
    return {status: 201, body: {snapshotID: `${random(6)}:default`, names: body.name ? [`${body.name}:default`] : []}};
  if (method === 'GET' && what === 'metrics')
    return {status: 200, body: []};
  throw new Failure(404, 'no such path');
}

// A terminal's other end. Says the command's pid on descriptor 3, takes its size from 4, and
// ends as the command did.
const TERMINAL = `
import fcntl, os, pty, select, signal, struct, sys, termios
columns, rows, *argv = sys.argv[1:]
def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))
pid, master = pty.fork()
if pid == 0:
    os.close(3)
    os.close(4)
    resize(0, columns, rows)
    os.execv("/bin/sh", ["sh", "-c", 'exec "$0" "$@"', *argv])
os.write(3, b"%d\\n" % pid)
sources = [0, 4, master]
while master in sources:
    for fd in select.select(sources, [], [])[0]:
        try:
            data = os.read(fd, 16384)
        except OSError:
            data = b""
        if not data:
            sources.remove(fd)
        elif fd == 4:
            resize(master, *data.split(b"\\n")[-2].split())
        else:
            os.write(1 if fd == master else master, data)
status = os.waitpid(pid, 0)[1]
if os.WIFSIGNALED(status):
    signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
`;

// --- processes -----------------------------------------------------------------------------

class Process {
  constructor (sandbox, request, who) {
    const {cmd, args = [], envs = {}, cwd} = request.process ?? {};
    this.config = request.process;
    this.tag = request.tag;
    this.subscribers = new Set();
    this.closed = 0;
    const folder = resolve(cwd ?? '', who);
    if (!fs.existsSync(folder))
      throw new RpcFailure('invalid_argument', `cwd '${cwd}' does not exist`);
    this.pty = request.pty !== undefined;
    this.stdin = this.pty || request.stdin !== false;
    const options = {cwd: folder, detached: true,
      env: {PATH: process.env.PATH, HOME: user.homedir, USER: user.username, LOGNAME: user.username, ...sandbox.env,
        E2B_SANDBOX: 'true', E2B_SANDBOX_ID: sandbox.id, E2B_TEMPLATE_ID: sandbox.template, ...envs}};
    // By way of a shell that becomes it, so that what is not there is exit 127 and no error.
    if (this.pty)
      this.child = spawn('/usr/bin/python3', ['-c', TERMINAL, request.pty.size.cols, request.pty.size.rows, cmd, ...args].map(String),
        {...options, stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe']});
    else
      this.child = spawn('/bin/sh', ['-c', 'exec "$0" "$@"', cmd, ...args],
        {...options, stdio: [this.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe']});
    if (this.child.pid === undefined)
      throw new RpcFailure('internal', 'cannot start it');
    this.pid = this.child.pid;
    this.child.on('error', () => {});
    this.child.stdin?.on('error', () => {});
    this.child.stdio[4]?.on('error', () => {});
    // Of a terminal, the pid is its command's.
    this.ready = this.pty ? new Promise(answer => this.child.stdio[3].once('data', line => {
      this.pid = Number(line);
      answer();
    })) : Promise.resolve();
    for (const name of ['stdout', 'stderr']) {
      this.child[name].on('data', data => this.publish(this.pty ? 'pty' : name, data));
      this.child[name].on('error', () => {});
    }
    this.child.on('close', (code, signal) => this.finish(code, signal, () => sandbox.processes.delete(this.pid)));
    this.child.on('exit', (code, signal) => {
      // After a signal, what its children keep open is not waited for.
      if (this.signalled)
        setImmediate(() => this.finish(code, signal, () => sandbox.processes.delete(this.pid)));
    });
  }

  publish (name, data) {
    for (let at = 0; at < data.length; at += CHUNK)
      for (const subscriber of this.subscribers)
        subscriber.send({event: {data: {[name]: data.subarray(at, at + CHUNK).toString('base64')}}});
    if ([...this.subscribers].some(s => s.isFull())) {
      this.child.stdout.pause();
      this.child.stderr.pause();
    }
  }

  goOn () {
    if (![...this.subscribers].some(s => s.isFull())) {
      this.child.stdout.resume();
      this.child.stderr.resume();
    }
  }

  finish (code, signal, forget) {
    if (this.end)
      return;
    if (signal) {
      const status = `signal: ${signals[signal] ?? 'signal ' + os.constants.signals[signal]}`;
      this.end = {exitCode: -1, status, error: status};
    } else {
      const status = `exit status ${code}`;
      this.end = {...(code ? {exitCode: code} : {}), exited: true, status, ...(code ? {error: status} : {})};
    }
    for (const subscriber of this.subscribers)
      subscriber.finish(this.end);
    setTimeout(forget, KEPT_MS).unref();
  }

  signal (name) {
    try { process.kill(this.pid, name); } catch {}
  }

  cutSubscribers () {
    for (const subscriber of this.subscribers)
      subscriber.cut();
  }
}

function select (sandbox, body) {
  const wanted = body.process ?? {};
  const found = wanted.pid !== undefined ? sandbox.processes.get(Number(wanted.pid))
    : [...sandbox.processes.values()].find(p => p.tag === wanted.tag);
  if (!found)
    throw new RpcFailure('not_found', wanted.pid !== undefined ? `process with pid ${wanted.pid} not found`
      : `process with tag ${wanted.tag} not found`);
  return found;
}

const living = process => {
  if (process.end)
    throw new RpcFailure('not_found', `process with pid ${process.pid} not found`);
  return process;
};

const unaryProcess = {
  List: sandbox => {
    const processes = [...sandbox.processes.values()].filter(p => !p.end)
      .map(p => ({config: p.config, pid: p.pid, ...(p.tag ? {tag: p.tag} : {})}));
    return processes.length > 0 ? {processes} : {};
  },
  SendInput: (sandbox, body) => {
    const process = living(select(sandbox, body));
    if (process.pty !== (body.input?.pty !== undefined))
      throw new RpcFailure('internal', process.pty ? 'error writing to stdin: tty assigned to process'
        : 'error writing to tty: tty not assigned to process');
    if (!process.stdin || process.child.stdin.writableEnded)
      throw new RpcFailure('internal', 'error writing to stdin: stdin not enabled or closed');
    return new Promise(answer => process.child.stdin.write(Buffer.from(body.input?.pty ?? body.input?.stdin ?? '', 'base64'), () => answer({})));
  },
  CloseStdin: (sandbox, body) => {
    const process = living(select(sandbox, body));
    if (process.pty)
      throw new RpcFailure('unknown', 'tty assigned to process; send 0x04 instead');
    process.child.stdin?.end();
    return {};
  },
  SendSignal: (sandbox, body) => {
    const process = living(select(sandbox, body));
    if (!['SIGNAL_SIGTERM', 'SIGNAL_SIGKILL'].includes(body.signal))
      throw new RpcFailure('unimplemented', `invalid signal: ${body.signal}`);
    process.signalled = true;
    process.signal(body.signal.slice(7));
    return {};
  },
  Update: (sandbox, body) => {
    const process = living(select(sandbox, body)), size = body.pty?.size;
    if (!process.pty)
      throw new RpcFailure('internal', 'tty not assigned to process');
    process.child.stdio[4].write(`${size.cols} ${size.rows}\n`);
    return {};
  },
};

// --- streams -----------------------------------------------------------------------------------

function envelope (flags, value) {
  const payload = Buffer.from(JSON.stringify(value)), head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

class Subscriber {
  constructor (process, request, response) {
    this.process = process;
    this.response = response;
    const seconds = /^\d+$/.test(request.headers['keepalive-ping-interval'] ?? '') ? Number(request.headers['keepalive-ping-interval']) : 90;
    this.keepalive = setInterval(() => this.write(0, {event: {keepalive: {}}}), Math.max(seconds, 1) * 1000);
    this.period = this.keepalive;
    this.left = faults.cutStream ?? Infinity;
    this.noEnd = faults.noEnd > 0 && faults.noEnd--;
    if (faults.cutStream !== undefined)
      delete faults.cutStream;
    response.on('drain', () => process.goOn());
    response.on('close', () => this.drop());
    process.subscribers.add(this);
    counts.streams++;
    this.write(0, {event: {start: {pid: process.pid}}});
    if (process.end)
      this.finish(process.end);
  }

  isFull () { return this.response.writableNeedDrain; }

  write (flags, value) {
    let bytes = envelope(flags, value);
    if (this.done)
      return;
    if (bytes.length > this.left) {
      this.response.write(bytes.subarray(0, this.left), () => this.cut());
      this.done = true;
      return;
    }
    this.left -= bytes.length;
    const piece = faults.pieces ?? bytes.length;
    for (; bytes.length > 0; bytes = bytes.subarray(piece))
      this.response.write(bytes.subarray(0, piece));
  }

  send (value) {
    this.period.refresh();
    this.write(0, value);
  }

  finish (end) {
    this.write(0, {event: {end}});
    if (!this.done && this.noEnd)
      this.response.end();
    else if (!this.done)
      this.fail();
    this.done = true;
    this.drop();
  }

  fail (error) {
    this.response.end(envelope(2, error ? {error: {code: error.code, message: error.message}} : {}));
  }

  cut () { this.response.destroy(); }

  drop () {
    clearInterval(this.keepalive);
    if (this.process.subscribers.delete(this))
      this.process.goOn();
  }
}

async function streamProcess (method, sandbox, body, who, request, response) {
  const open = () => response.writeHead(200, {'Content-Type': 'application/connect+json', 'Connect-Accept-Encoding': 'gzip'});
  let process;
  try {
    if (method === 'Start') {
      process = new Process(sandbox, body, who);
      await process.ready;
      sandbox.processes.set(process.pid, process);
    } else {
      process = select(sandbox, body);
    }
  } catch (error) {
    if (!(error instanceof RpcFailure))
      throw error;
    open();
    response.end(envelope(2, {error: {code: error.code, message: error.message}}));
    return;
  }
  const begin = () => {
    open();
    const subscriber = new Subscriber(process, request, response);
    const ms = Number(request.headers['connect-timeout-ms']);
    if (!(ms > 0))
      return;
    setTimeout(() => {
      if (process.end || response.writableEnded)
        return;
      if (method === 'Start')
        process.signal('SIGKILL');
      subscriber.done = true;
      subscriber.drop();
      subscriber.fail({code: 'deadline_exceeded', message: 'the operation timed out'});
    }, ms);
  };
  if (faults.delayStart)
    setTimeout(begin, faults.delayStart);
  else
    begin();
}

// Of one folder, not of what is below it.
function watch (body, who, request, response) {
  const open = () => response.writeHead(200, {'Content-Type': 'application/connect+json'});
  let folder, watcher;
  const names = new Set();
  try {
    folder = resolve(body.path ?? '', who);
    if (!fs.existsSync(folder))
      throw new RpcFailure('not_found', `path ${folder} not found`);
    if (!fs.statSync(folder).isDirectory())
      throw new RpcFailure('invalid_argument', `path ${folder} not a directory`);
    fs.readdirSync(folder).forEach(name => names.add(name));
  } catch (error) {
    open();
    return response.end(envelope(2, {error: {code: error.code ?? 'internal', message: error.message}}));
  }
  open();
  response.write(envelope(0, {start: {}}));
  watcher = fs.watch(folder, (kind, name) => {
    const there = fs.existsSync(path.join(folder, name));
    const type = kind === 'change' ? 'WRITE' : !there ? 'REMOVE' : names.has(name) ? 'RENAME' : 'CREATE';
    there ? names.add(name) : names.delete(name);
    response.write(envelope(0, {filesystem: {name, type: `EVENT_TYPE_${type}`}}));
  });
  response.on('close', () => watcher.close());
}

// --- files ---------------------------------------------------------------------------------------

function resolve (name, who) {
  const home = who === user.username ? user.homedir : '/root';
  if (name === '' || name === '~')
    return home;
  if (name.startsWith('~/'))
    return path.join(home, name.slice(2));
  if (name.startsWith('~'))
    throw new RpcFailure('invalid_argument', 'expanding other users is not supported');
  return path.resolve(home, name);
}

function permissions (stat) {
  const letters = 'rwxrwxrwx';
  let text = stat.isSymbolicLink() ? 'L' : stat.isDirectory() ? 'd' : '-';
  for (let i = 0; i < 9; i++)
    text += stat.mode & (0o400 >> i) ? letters[i] : '-';
  return text;
}

function entry (name) {
  let stat, target;
  try {
    stat = fs.lstatSync(name);
  } catch (error) {
    throw new RpcFailure('not_found', `file not found: lstat ${name}: no such file or directory`);
  }
  let type = stat.isFile() ? 'FILE_TYPE_FILE' : stat.isDirectory() ? 'FILE_TYPE_DIRECTORY' : undefined;
  if (stat.isSymbolicLink()) {
    try {
      target = fs.realpathSync(name);
      type = fs.statSync(name).isDirectory() ? 'FILE_TYPE_DIRECTORY' : 'FILE_TYPE_FILE';
    } catch {
      target = fs.readlinkSync(name);
    }
  }
  return {name: path.basename(name), ...(type ? {type} : {}), path: name, mode: stat.mode & 0o777,
    permissions: permissions(stat), owner: user.username, group: user.username, modifiedTime: iso(stat.mtimeMs),
    ...(stat.size ? {size: String(stat.size)} : {}), ...(target ? {symlinkTarget: target} : {})};
}

function walk (folder, depth, entries) {
  for (const name of fs.readdirSync(folder).sort()) {
    const one = path.join(folder, name);
    entries.push(entry(one));
    if (depth > 1 && fs.lstatSync(one).isDirectory())
      walk(one, depth - 1, entries);
  }
  return entries;
}

const unaryFiles = {
  Stat: (sandbox, body, who) => ({entry: entry(resolve(body.path ?? '', who))}),
  ListDir: (sandbox, body, who) => {
    const folder = resolve(body.path ?? '', who);
    if (!fs.existsSync(folder))
      throw new RpcFailure('not_found', `path not found: lstat ${folder}: no such file or directory`);
    if (!fs.statSync(folder).isDirectory())
      throw new RpcFailure('invalid_argument', `path is not a directory: ${folder}`);
    const entries = walk(folder, body.depth || 1, []);
    return entries.length > 0 ? {entries} : {};
  },
  MakeDir: (sandbox, body, who) => {
    const folder = resolve(body.path ?? '', who);
    if (fs.existsSync(folder))
      throw fs.statSync(folder).isDirectory() ? new RpcFailure('already_exists', `directory already exists: ${folder}`)
        : new RpcFailure('invalid_argument', `path already exists but it is not a directory: ${folder}`);
    fs.mkdirSync(folder, {recursive: true, mode: 0o755});
    return {entry: entry(folder)};
  },
  Move: (sandbox, body, who) => {
    const source = resolve(body.source ?? '', who), destination = resolve(body.destination ?? '', who);
    entry(source);
    fs.mkdirSync(path.dirname(destination), {recursive: true});
    fs.renameSync(source, destination);
    return {entry: entry(destination)};
  },
  Remove: (sandbox, body, who) => {
    fs.rmSync(resolve(body.path ?? '', who), {recursive: true, force: true});
    return {};
  },
};

function signatureIsValid (sandbox, name, query, operation) {
  const expiration = query.get('signature_expiration');
  const text = [name, operation, query.get('username') ?? '', sandbox.token, ...(expiration ? [expiration] : [])].join(':');
  const wanted = 'v1_' + crypto.createHash('sha256').update(text).digest('base64').replace(/=+$/, '');
  if (!query.has('signature'))
    throw new Failure(401, 'missing signature query parameter');
  if (query.get('signature') !== wanted)
    throw new Failure(401, 'invalid signature');
  if (expiration && Number(expiration) < Date.now() / 1000)
    throw new Failure(401, 'signature is already expired');
}

function readFile (sandbox, url, who, request, response) {
  const name = resolve(url.searchParams.get('path') ?? '', who);
  let stat;
  try {
    stat = fs.statSync(name);
  } catch {
    throw new Failure(404, `path '${name}' does not exist`);
  }
  if (stat.isDirectory())
    throw new Failure(400, `path '${name}' is a directory`);
  const headers = {'Vary': 'Accept-Encoding', 'Content-Type': 'application/octet-stream'};
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (range) {
    const start = Number(range[1]), end = Math.min(range[2] ? Number(range[2]) : Infinity, stat.size - 1);
    if (start >= stat.size)
      throw new Failure(416, 'the range cannot be had');
    response.writeHead(206, {...headers, 'Content-Length': end - start + 1, 'Content-Range': `bytes ${start}-${end}/${stat.size}`});
    fs.createReadStream(name, {start, end}).pipe(response);
  } else if (/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    response.writeHead(200, {...headers, 'Content-Encoding': 'gzip'});
    fs.createReadStream(name).pipe(zlib.createGzip()).pipe(response);
  } else {
    response.writeHead(200, {...headers, 'Content-Length': stat.size});
    fs.createReadStream(name).pipe(response);
  }
}

function parseMultipart (body, boundary) {
  const files = [], mark = Buffer.from(`--${boundary}`);
  let at = body.indexOf(mark);
  while (at >= 0) {
    const start = at + mark.length, next = body.indexOf(mark, start);
    if (next < 0)
      break;
    const part = body.subarray(start + 2, next - 2), blank = part.indexOf('\r\n\r\n');
    const head = part.subarray(0, blank).toString();
    if (/name="file"/.test(head))
      files.push({name: /filename="([^"]*)"/.exec(head)?.[1], data: part.subarray(blank + 4)});
    at = next;
  }
  return files;
}

function writeFiles (sandbox, url, who, request, body) {
  const type = request.headers['content-type'] ?? '', wanted = url.searchParams.get('path');
  let files;
  if (request.headers['content-encoding'] === 'gzip')
    body = zlib.gunzipSync(body);
  if (type.startsWith('application/octet-stream')) {
    if (!wanted)
      throw new Failure(400, 'path is required');
    files = [{data: body}];
  } else if (type.startsWith('multipart/form-data')) {
    files = parseMultipart(body, /boundary="?([^";]+)/.exec(type)?.[1]);
  } else {
    throw new Failure(400, `unsupported content type ${type}`);
  }
  const answer = [], seen = new Set();
  const metadata = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith('x-metadata-'))
    .map(([name, value]) => [name.slice(11), value]));
  for (const file of files) {
    const name = resolve(wanted ?? file.name ?? '', who);
    if (seen.has(name))
      throw new Failure(400, 'you cannot upload multiple files to the same path');
    seen.add(name);
    fs.mkdirSync(path.dirname(name), {recursive: true});
    fs.writeFileSync(name, file.data);
    answer.push({path: name, name: path.basename(name), type: 'file', ...(Object.keys(metadata).length > 0 ? {metadata} : {})});
  }
  return answer;
}

// --- requests ---------------------------------------------------------------------------------------

async function readBody (request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MOST_BODY)
      throw new Failure(413, 'too large');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function reply (response, status, body, headers = {}) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  response.writeHead(status, text === undefined ? headers : {'Content-Type': 'application/json', ...headers});
  response.end(text);
}

function takeFault (kind, request) {
  const fault = (faults[kind] ?? []).find(f => new RegExp(f.path).test(`${request.method} ${request.url}`));
  if (fault && --fault.times <= 0)
    faults[kind].splice(faults[kind].indexOf(fault), 1);
  return fault;
}

function whoAsks (request) {
  const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '');
  const name = basic ? Buffer.from(basic[1], 'base64').toString().split(':')[0] : user.username;
  if (!['root', 'user', user.username].includes(name))
    throw new RpcFailure('unauthenticated', `invalid username: '${name}'`);
  return name;
}

function routeData (url, request) {
  const id = request.headers['e2b-sandbox-id'];
  let sandbox = id !== undefined ? sandboxes.get(id.split('-')[0]) : undefined;
  if (id === undefined && url.searchParams.has('signature'))
    sandbox = [...sandboxes.values()].find(s => {
      try {
        signatureIsValid(s, url.searchParams.get('path') ?? '', url.searchParams, request.method === 'GET' ? 'read' : 'write');
        return true;
      } catch { return false; }
    });
  if (id === undefined && !sandbox)
    throw new Failure(url.searchParams.has('signature') ? 401 : 400, url.searchParams.has('signature') ? 'invalid signature' : 'missing header');
  if (!sandbox || sandbox.state !== 'running')
    throw new Failure(502, 'The sandbox was not found', {sandboxId: id});
  if (request.headers['e2b-sandbox-port'] !== undefined && request.headers['e2b-sandbox-port'] !== ENVD_PORT)
    throw new Failure(502, 'The sandbox is running but port is not open', {sandboxId: id, port: Number(request.headers['e2b-sandbox-port'])});
  return sandbox;
}

async function data (url, request, response) {
  const sandbox = routeData(url, request), isFiles = url.pathname === '/files';
  const token = request.headers['x-access-token'];
  if (url.pathname === '/health')
    return reply(response, 204);
  if (sandbox.token && token !== undefined && token !== sandbox.token)
    throw new Failure(401, 'unauthorized access, please provide a valid access token');
  if (sandbox.token && token === undefined) {
    if (!isFiles)
      throw new Failure(401, 'unauthorized access, please provide a valid access token');
    signatureIsValid(sandbox, url.searchParams.get('path') ?? '', url.searchParams, request.method === 'GET' ? 'read' : 'write');
  }
  const body = await readBody(request);
  if (isFiles) {
    const who = url.searchParams.get('username') ?? user.username;
    if (request.method === 'GET')
      return readFile(sandbox, url, who, request, response);
    return reply(response, 200, writeFiles(sandbox, url, who, request, body), {'Content-Type': 'text/plain; charset=utf-8'});
  }
  const [, service, method] = /^\/(process\.Process|filesystem\.Filesystem)\/(\w+)$/.exec(url.pathname) ?? [];
  if (service === 'process.Process' && (method === 'Start' || method === 'Connect')) {
    if (!(request.headers['content-type'] ?? '').startsWith('application/connect+json'))
      throw new Failure(415, 'unsupported content type');
    let who;
    try { who = whoAsks(request); } catch (error) {
      response.writeHead(200, {'Content-Type': 'application/connect+json'});
      return response.end(envelope(2, {error: {code: error.code, message: error.message}}));
    }
    return streamProcess(method, sandbox, JSON.parse(body.subarray(5).toString()), who, request, response);
  }
  if (service === 'filesystem.Filesystem' && method === 'WatchDir')
    return watch(JSON.parse(body.subarray(5).toString()), whoAsks(request), request, response);
  const func = (service === 'process.Process' ? unaryProcess : service ? unaryFiles : {})[method];
  if (!func)
    throw new Failure(404, 'no such path');
  const answer = await func(sandbox, JSON.parse(body.toString() || '{}'), whoAsks(request));
  return reply(response, 200, answer);
}

// Refused; cut before, and after it began; cut within its output; without an end of stream.
function meetEvery (request) {
  if (!faults.every || !request.url.endsWith('/process.Process/Start') || ++started % faults.every !== 0)
    return;
  const kind = turn++ % 5;
  if (kind === 0)
    (faults.refuse ??= []).push({path: 'Process/Start', status: [429, 502, 503, 500][turn % 4], times: 1});
  else if (kind === 1)
    (faults.cut ??= []).push({path: 'Process/Start', times: 1});
  else if (kind === 4)
    faults.noEnd = 1;
  else
    faults.cutStream = kind === 2 ? 0 : 70;
}

async function handle (request, response) {
  const url = new URL(request.url, 'http://localhost');
  const plane = /^\/(v2\/)?sandboxes(\/|$)/.test(url.pathname) ? 'control' : 'data';
  if (url.pathname === '/faults') {
    faults = JSON.parse((await readBody(request)).toString() || '{}');
    return reply(response, 204);
  }
  if (url.pathname === '/counts')
    return reply(response, 200, {...counts, living: sandboxes.size,
      processes: [...sandboxes.values()].flatMap(s => [...s.processes.values()]).filter(p => !p.end).length});
  const key = `${request.method} ${url.pathname.replace(/\/i[0-9a-f]{20}/, '/ID')}`;
  counts.requests[key] = (counts.requests[key] ?? 0) + 1;
  meetEvery(request);
  const refuse = takeFault('refuse', request), cut = refuse ? undefined : takeFault('cut', request);
  if (refuse) {
    request.resume();
    response.writeHead(refuse.status, {'Content-Type': 'application/json', ...refuse.headers});
    return response.end(refuse.body ?? JSON.stringify({code: refuse.status, message: `injected ${refuse.status}`}));
  }
  if (cut && !cut.after)
    return request.socket.destroy();
  if (plane === 'data')
    return data(url, request, response);
  if (!/^e2b_[0-9a-f]+$/.test(request.headers['x-api-key'] ?? ''))
    throw new Failure(401, 'Invalid API key');
  let body;
  try { body = JSON.parse((await readBody(request)).toString() || '{}'); } catch (error) {
    throw error instanceof Failure ? error : new Failure(400, 'the body is no JSON');
  }
  const answer = control(request.method, url, body);
  if (cut)
    return request.socket.destroy();
  return reply(response, answer.status, answer.body, answer.headers);
}

const server = http.createServer((request, response) => {
  response.on('error', () => {});
  handle(request, response).catch(error => {
    if (response.headersSent)
      return response.destroy();
    if (error instanceof RpcFailure)
      return reply(response, codes[error.code], {code: error.code, message: error.message});
    if (error instanceof Failure)
      return reply(response, error.status, {...error.more, code: error.status, message: error.message});
    reply(response, error.code === 'ENOSPC' ? 507 : 500, {code: 500, message: String(error.message)});
  });
});
server.keepAliveTimeout = 60000;
server.requestTimeout = 0;

function quit () {
  for (const sandbox of [...sandboxes.values()])
    sandbox.destroy();
  process.exit(0);
}

const at = process.argv.indexOf('--port');
server.listen(at > 0 ? Number(process.argv[at + 1]) : 0, '127.0.0.1', () => {
  console.log(`listening ${server.address().port}`);
});
process.stdin.on('end', quit).on('error', quit).resume();
process.on('SIGTERM', quit);
