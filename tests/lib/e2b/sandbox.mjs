// SPDX-License-Identifier: LGPL-2.1-or-later
// The control plane: sandboxes, their time, pause and network policy.
import crypto from 'node:crypto';
import fs from 'node:fs';
import {ENVD_VERSION, Failure, iso} from './wire.mjs';
import {faults} from './faults.mjs';

const MAX_SESSION_S = 24 * 3600;
const ALL = '0.0.0.0/0';
export const sandboxes = new Map(); // by id, living ones
const snapshots = new Map(); // templates that were made of sandboxes
// The account's own, as GET /templates lists them; a sandbox is made of any.
const templates = [{templateID: 'tmpl0123456789abcdef', buildID: 'b1', cpuCount: 2, memoryMB: 512, diskSizeMB: 1024, public: false,
  aliases: ['my-template'], names: ['team/my-template'], createdAt: '2026-01-02T03:04:05Z', spawnCount: 0, buildCount: 1}];
export const counts = {created: 0, resumed: 0};

const random = n => crypto.randomBytes(n).toString('hex');
export const now = () => Date.now() + (faults.skew ?? 0) * 1000;
const session = () => faults.session ?? MAX_SESSION_S;

// Every process of this machine that is the sandbox's: those that run, what is in their sessions,
// and what has the sandbox's name in its environment. The number of one that ended may be another's.
function members (sandbox) {
  const found = [], own = new Set([...sandbox.processes.values()].filter(p => !p.end).flatMap(p => [p.pid, p.child.pid]));
  const marks = sandbox.ids.map(id => `E2B_SANDBOX_ID=${id}`);
  for (const pid of fs.readdirSync('/proc').filter(name => /^\d+$/.test(name)).map(Number)) {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1'), fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' || pid === process.pid)
        continue;
      if (own.has(pid) || own.has(Number(fields[3]))
          || fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').some(text => marks.includes(text)))
        found.push(pid);
    } catch {} // it ended, or is another user's
  }
  return found;
}

function signalAll (sandbox, name) {
  // Until none is new: what is being started meanwhile inherits the same.
  for (const seen = new Set(); ;) {
    const fresh = members(sandbox).filter(pid => !seen.has(pid));
    if (fresh.length === 0)
      return;
    for (const pid of fresh) {
      seen.add(pid);
      try { process.kill(pid, name); } catch {}
    }
  }
}

export class Sandbox {
  constructor (body, snapshot) {
    this.id = 'i' + random(10);
    this.ids = [this.id]; // all it ever had
    this.template = body.templateID;
    this.state = 'running';
    this.startedAt = now();
    this.token = body.secure === false ? null : 'ea_' + random(16);
    this.trafficToken = body.network?.allowPublicTraffic === false ? 'ta_' + random(16) : null;
    this.metadata = body.metadata ?? {};
    this.env = body.envVars ?? {};
    this.network = body.network ?? null;
    this.internet = body.allow_internet_access ?? null;
    this.live = {internet: body.allow_internet_access, ...body.network};
    this.autoPause = body.autoPause === true;
    this.autoPauseMemory = body.autoPauseMemory !== false;
    this.autoResume = body.autoResume?.enabled === true;
    this.volumes = body.volumeMounts ?? [];
    this.snapshot = snapshot;
    this.processes = new Map();
    this.xattrs = new Map(); // of files, by path
    this.setEnd(body.timeout ?? 15);
  }

  setEnd (seconds) {
    this.endAt = Math.min(now() + seconds * 1000, this.startedAt + session() * 1000);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.expire(), Math.max(this.endAt - now(), 0));
  }

  extend (seconds) {
    if (now() + seconds * 1000 > this.endAt)
      this.setEnd(seconds);
  }

  expire () {
    if (this.state !== 'running')
      return;
    if (this.autoPause)
      this.pause(this.autoPauseMemory);
    else
      this.destroy();
  }

  // On its way, other operations are refused, as the service does.
  travel () {
    this.busyUntil = Date.now() + (faults.transition ?? 0);
  }

  checkStill () {
    if (Date.now() < this.busyUntil)
      throw new Failure(409, `Sandbox "${this.id}" is in transition`);
  }

  pause (memory) {
    clearTimeout(this.timer);
    this.state = 'paused';
    this.memory = memory;
    this.endAt = now();
    this.travel();
    if (memory)
      signalAll(this, 'SIGSTOP');
    for (const process of this.processes.values())
      process.cutSubscribers();
    if (!memory)
      this.forgetProcesses();
  }

  // What a cold start loses: the processes, and the variables, which the agent had in its memory.
  forgetProcesses () {
    signalAll(this, 'SIGKILL');
    this.processes.clear();
    this.env = {};
  }

  resume (seconds) {
    this.state = 'running';
    this.busyUntil = 0; // connect waits for the way to end
    counts.resumed++;
    // A running one's rules are what is stored, not what the last change left out.
    this.live = {internet: this.internet ?? undefined, ...this.network};
    if (faults.newId) {
      sandboxes.delete(this.id);
      this.id = 'i' + random(10);
      this.ids.push(this.id);
      sandboxes.set(this.id, this);
    }
    signalAll(this, 'SIGCONT');
    this.startedAt = now();
    this.setEnd(seconds);
  }

  destroy () {
    clearTimeout(this.timer);
    sandboxes.delete(this.id);
    signalAll(this, 'SIGKILL');
    for (const process of this.processes.values())
      process.cutSubscribers();
  }

  isOpen () {
    return this.state === 'running' && this.live.internet !== false && !(this.live.denyOut ?? []).includes(ALL);
  }

  answer () {
    return {templateID: this.template, sandboxID: this.id, clientID: '6532622b', alias: this.template,
      envdVersion: ENVD_VERSION, ...(this.token ? {envdAccessToken: this.token} : {}),
      trafficAccessToken: this.trafficToken, domain: null};
  }

  listed () {
    return {templateID: this.template, alias: this.template, sandboxID: this.id, clientID: '6532622b',
      startedAt: iso(this.startedAt), endAt: iso(this.endAt), envdVersion: ENVD_VERSION, cpuCount: 2, memoryMB: 512,
      diskSizeMB: 512, state: this.state, metadata: this.metadata, volumeMounts: this.volumes};
  }

  detail () {
    const {egressProxy, ...network} = this.network ?? {};
    if (egressProxy)
      network.egressProxy = {address: egressProxy.address, username: egressProxy.username};
    return {...this.listed(), ...(this.token ? {envdAccessToken: this.token} : {}), domain: null,
      allowInternetAccess: this.internet, ...(this.network ? {network} : {}),
      lifecycle: {autoResume: this.autoResume, onTimeout: this.autoPause ? 'pause' : 'kill'}};
  }

  metrics () {
    return {timestamp: iso(now()), timestampUnix: Math.floor(now() / 1000), cpuCount: 2, cpuUsedPct: 1.5, memUsed: 1, memTotal: 2,
      memCache: 0, diskUsed: 1, diskTotal: 2};
  }
}

// --- network policy: checked, kept and shown, and not enforced ------------------------------------

const isAddress = text => /^(\d{1,3}\.){3}\d{1,3}(\/\d{1,2})?$/.test(text)
  && text.split('/')[0].split('.').every(n => Number(n) < 256) && Number(text.split('/')[1] ?? 32) <= 32;
const isName = text => text === '*' || /^(\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+$/i.test(text);
const isPrivate = text => /^(10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/.test(text);

function checkNetwork (network) {
  const allow = network.allowOut ?? [], deny = network.denyOut ?? [], rules = Object.entries(network.rules ?? {});
  if (!Array.isArray(allow) || !Array.isArray(deny))
    throw new Failure(400, 'allowOut and denyOut are lists');
  for (const entry of deny)
    if (!isAddress(entry))
      throw new Failure(400, `invalid denied CIDR ${entry}`);
  for (const entry of [...allow, ...deny])
    if (isAddress(entry) && entry.startsWith('0.0.0.0') && entry !== ALL)
      throw new Failure(400, `invalid CIDR ${entry}`);
  for (const entry of allow)
    if (!isAddress(entry)) {
      if (!isName(entry))
        throw new Failure(400, `invalid allowed entry ${entry}`);
      if (!deny.includes(ALL))
        throw new Failure(400, 'when specifying allowed domains, you must include 0.0.0.0/0 in denyOut');
    }
  if (network.egressProxy && isPrivate(network.egressProxy.address))
    throw new Failure(400, 'the egress proxy has a private address');
  if (rules.length > 10 || rules.some(([, list]) => list.length > 1))
    throw new Failure(400, 'too many rules');
  for (const headers of rules.flatMap(([, list]) => list.map(rule => Object.entries(rule.transform?.headers ?? {}))))
    if (headers.length > 20 || headers.some(([name, value]) => name.length > 64 || value.length > 2048))
      throw new Failure(400, 'too many headers, or too long ones');
}

// --- what is asked ----------------------------------------------------------------------------------

export function find (id) {
  if (!/^[a-z0-9]+(-[a-z0-9]+)?$/.test(id))
    throw new Failure(400, 'Invalid sandbox ID');
  const sandbox = sandboxes.get(id.split('-')[0]);
  if (!sandbox)
    throw new Failure(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
  return sandbox;
}

function checkSeconds (seconds, least) {
  if (!Number.isInteger(seconds) || seconds < least)
    throw new Failure(400, least > 0 ? 'Timeout must be greater than 0' : 'Timeout must not be negative');
  if (seconds > session())
    throw new Failure(400, `Timeout cannot be greater than ${session() / 3600} hours`);
}

function checkRoom () {
  if ([...sandboxes.values()].filter(s => s.state === 'running').length >= (faults.most ?? Infinity))
    throw new Failure(429, 'you have reached the maximum number of concurrent sandboxes');
}

function isTexts (map) {
  return map === undefined || (map !== null && typeof map === 'object' && Object.values(map).every(v => typeof v === 'string'));
}

function create (body) {
  if (typeof body.templateID !== 'string' || body.templateID === '')
    throw new Failure(400, 'templateID is required');
  if (body.templateID.startsWith('missing') || (body.templateID.includes(':') && !snapshots.has(body.templateID)))
    throw new Failure(404, `template '${body.templateID}' not found`);
  if (!isTexts(body.metadata) || !isTexts(body.envVars))
    throw new Failure(400, 'metadata and envVars map texts to texts');
  if (body.timeout !== undefined)
    checkSeconds(body.timeout, 1);
  if (body.autoPauseMemory === false && (!body.autoPause || body.autoResume?.enabled))
    throw new Failure(400, 'autoPauseMemory needs autoPause, and no autoResume');
  if (body.network?.allowPublicTraffic === false && body.secure !== true)
    throw new Failure(400, 'allowPublicTraffic false needs secure');
  checkNetwork(body.network ?? {});
  checkRoom();
  const sandbox = new Sandbox(body, snapshots.get(body.templateID));
  sandboxes.set(sandbox.id, sandbox);
  counts.created++;
  return sandbox;
}

function list (query) {
  const states = (query.get('state') ?? 'running,paused').split(',');
  const limit = Number(query.get('limit') ?? 100), from = Number(query.get('nextToken') ?? 0);
  let found = [...sandboxes.values()].filter(s => states.includes(s.state));
  if (!(limit >= 1 && limit <= 100))
    throw new Failure(400, 'limit is out of range');
  if (query.get('order') !== 'asc')
    found.reverse();
  if (query.has('template'))
    found = found.filter(s => s.template === query.get('template'));
  if (query.has('startedAfter'))
    found = found.filter(s => s.startedAt > Date.parse(query.get('startedAfter')));
  if (query.has('metadata'))
    for (const [key, value] of new URLSearchParams(query.get('metadata')))
      found = found.filter(s => s.metadata[decodeURIComponent(key)] === decodeURIComponent(value));
  return {status: 200, body: found.slice(from, from + limit).map(s => s.listed()),
    headers: {'X-Total-Running': String([...sandboxes.values()].filter(s => s.state === 'running').length),
      ...(from + limit < found.length ? {'X-Next-Token': String(from + limit)} : {})}};
}

function connect (sandbox, body, what) {
  const seconds = body.timeout ?? 300, was = sandbox.state;
  checkSeconds(seconds, 0);
  if (was === 'running' && what === 'resume')
    throw new Failure(409, 'Sandbox is already running');
  if (was === 'running') {
    sandbox.extend(seconds);
    return {status: 200, body: sandbox.answer()};
  }
  checkRoom();
  if (body.memory === false)
    sandbox.forgetProcesses();
  sandbox.resume(seconds);
  return {status: 201, body: sandbox.answer()};
}

function setNetwork (sandbox, body) {
  const {allow_internet_access: internet, ...network} = body;
  checkNetwork(body);
  if (sandbox.network?.allowPublicTraffic !== undefined)
    network.allowPublicTraffic = sandbox.network.allowPublicTraffic;
  sandbox.network = network;
  // As the service does: without the flag the running rules are of this body alone, and the
  // flag that is kept stays what it was.
  sandbox.live = {internet, ...network};
  if (internet !== undefined)
    sandbox.internet = internet;
  return {status: 204};
}

function fork (sandbox, body) {
  const count = body.count ?? 1;
  if (!(count >= 1 && count <= 100))
    throw new Failure(400, 'count is out of range');
  return {status: 201, body: Array.from({length: count}, () => {
    try {
      return {sandbox: create({templateID: sandbox.template, timeout: body.timeout ?? 300, metadata: sandbox.metadata,
        network: sandbox.network ?? undefined, allow_internet_access: sandbox.internet ?? undefined,
        secure: sandbox.token !== null}).answer()};
    } catch (error) {
      return {error: {code: error.status, message: error.message}};
    }
  })};
}

function takeSnapshot (sandbox, body) {
  const names = body.name ? [`team/${body.name}:default`] : [], id = `${random(6)}:default`;
  for (const name of [id, ...names])
    snapshots.set(name, {of: sandbox.id, names});
  return {status: 201, body: {snapshotID: id, names}};
}

const operations = {
  'GET ': sandbox => ({status: 200, body: sandbox.detail()}),
  'DELETE ': sandbox => { sandbox.destroy(); return {status: 204}; },
  'POST timeout': (sandbox, body) => { checkSeconds(body.timeout, 0); sandbox.setEnd(body.timeout); return {status: 204}; },
  'POST refreshes': (sandbox, body) => {
    if (!((body.duration ?? 15) >= 0 && (body.duration ?? 15) <= 3600))
      throw new Failure(400, 'duration is out of range');
    sandbox.extend(body.duration ?? 15);
    return {status: 204};
  },
  'POST pause': (sandbox, body) => {
    if (sandbox.state === 'paused')
      throw new Failure(409, 'already paused');
    sandbox.pause(body.memory !== false);
    return {status: 204};
  },
  'POST connect': (sandbox, body) => connect(sandbox, body, 'connect'),
  'POST resume': (sandbox, body) => connect(sandbox, body, 'resume'),
  'PUT network': setNetwork,
  'POST snapshots': takeSnapshot,
  'POST fork': fork,
  'GET metrics': sandbox => ({status: 200, body: [sandbox.metrics()]}),
  'GET logs': () => ({status: 200, body: {logs: []}}),
};
const needRunning = ['POST timeout', 'POST refreshes', 'PUT network', 'POST snapshots', 'POST fork'];

export const isControl = pathname => /^\/(v2\/)?(sandboxes|snapshots|templates)(\/|$)/.test(pathname);

export function control (method, url, body) {
  const parts = url.pathname.split('/').filter(Boolean), isNew = parts[0] === 'v2';
  const [kind, id, what = ''] = isNew ? parts.slice(1) : parts;
  if (kind === 'snapshots' && method === 'GET')
    return {status: 200, body: [...snapshots].filter(([name]) => !name.includes('/')).map(([name, s]) => ({snapshotID: name, names: s.names}))};
  if (kind === 'templates' && id === undefined && method === 'GET')
    return {status: 200, body: templates};
  if (kind === 'templates' && method === 'DELETE') {
    const name = decodeURIComponent(id);
    if (!snapshots.delete(name))
      throw new Failure(404, `template '${name}' not found`);
    return {status: 204};
  }
  if (kind === 'sandboxes' && id === undefined && method === 'GET')
    return list(url.searchParams);
  if (kind === 'sandboxes' && id === undefined && method === 'POST')
    return {status: 201, body: create(isNew ? {timeout: 300, ...body, secure: true} : body).answer()};
  const operation = kind === 'sandboxes' ? operations[`${method} ${what}`] : undefined;
  if (id === undefined || !operation)
    throw new Failure(404, 'no such path');
  const sandbox = find(id);
  if (method !== 'GET' && what !== 'connect')
    sandbox.checkStill();
  if (needRunning.includes(`${method} ${what}`) && sandbox.state !== 'running')
    throw new Failure(404, `Sandbox "${id}" is not running`);
  return operation(sandbox, body);
}
