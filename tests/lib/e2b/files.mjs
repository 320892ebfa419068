// SPDX-License-Identifier: LGPL-2.1-or-later
// The agent's files, which are this machine's: its methods, and the plain endpoint /files.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import {pipeline} from 'node:stream/promises';
import {Failure, RpcFailure, envelope, iso, nameOf, readBody, user} from './wire.mjs';
import {faults} from './faults.mjs';

const BUFFER = 1024 * 1024;
const MOST_METADATA = 4096;

export function resolve (name, who) {
  const home = who === 'root' ? '/root' : user.homedir;
  if (name.includes('\0'))
    throw new RpcFailure('invalid_argument', 'a path has no NUL');
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

function entry (name, sandbox) {
  let stat, target;
  try {
    stat = fs.lstatSync(name);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
      throw new RpcFailure('internal', error.message);
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
  const metadata = sandbox.xattrs.get(name);
  return {name: path.basename(name), ...(type ? {type} : {}), path: name, mode: stat.mode & 0o777,
    permissions: permissions(stat), owner: nameOf(stat.uid, '/etc/passwd'), group: nameOf(stat.gid, '/etc/group'),
    modifiedTime: iso(stat.mtimeMs), ...(stat.size ? {size: String(stat.size)} : {}),
    ...(target ? {symlinkTarget: target} : {}), ...(metadata ? {metadata} : {})};
}

// A name that is no UTF-8 is one that the whole answer cannot say.
function namesIn (folder) {
  return fs.readdirSync(folder, {encoding: 'buffer'}).map(bytes => {
    const name = bytes.toString();
    if (!Buffer.from(name).equals(bytes))
      throw new RpcFailure('internal', 'string field contains invalid UTF-8');
    return name;
  }).sort();
}

function walk (folder, depth, entries, sandbox) {
  for (const name of namesIn(folder)) {
    const one = path.join(folder, name);
    try {
      entries.push(entry(one, sandbox));
      if (depth > 1 && fs.lstatSync(one).isDirectory())
        walk(one, depth - 1, entries, sandbox);
    } catch (error) {
      if (error.code !== 'not_found' && error.code !== 'ENOENT')
        throw error; // else it is gone meanwhile
    }
  }
  return entries;
}

const statOf = name => fs.statSync(name, {throwIfNoEntry: false});

export const unaryFiles = {
  Stat: (sandbox, body, who) => ({entry: entry(resolve(body.path ?? '', who), sandbox)}),
  ListDir: (sandbox, body, who) => {
    const folder = resolve(body.path ?? '', who);
    let stat;
    try { stat = statOf(folder); } catch (error) {
      throw new RpcFailure(error.code === 'ELOOP' ? 'failed_precondition' : 'not_found', error.message);
    }
    if (!stat)
      throw new RpcFailure('not_found', `path not found: lstat ${folder}: no such file or directory`);
    if (!stat.isDirectory())
      throw new RpcFailure('invalid_argument', `path is not a directory: ${folder}`);
    const entries = walk(folder, body.depth || 1, [], sandbox);
    return entries.length > 0 ? {entries} : {};
  },
  MakeDir: (sandbox, body, who) => {
    const folder = resolve(body.path ?? '', who), stat = statOf(folder);
    if (stat)
      throw stat.isDirectory() ? new RpcFailure('already_exists', `directory already exists: ${folder}`)
        : new RpcFailure('invalid_argument', `path already exists but it is not a directory: ${folder}`);
    fs.mkdirSync(folder, {recursive: true, mode: 0o755});
    return {entry: entry(folder, sandbox)};
  },
  Move: (sandbox, body, who) => {
    const source = resolve(body.source ?? '', who), destination = resolve(body.destination ?? '', who);
    entry(source, sandbox);
    fs.mkdirSync(path.dirname(destination), {recursive: true});
    fs.renameSync(source, destination);
    return {entry: entry(destination, sandbox)};
  },
  Remove: (sandbox, body, who) => {
    fs.rmSync(resolve(body.path ?? '', who), {recursive: true, force: true});
    return {};
  },
  ...watchers(),
};

// --- changes ---------------------------------------------------------------------------------

// Of one folder, not of what is below it.
function follow (folder, happened) {
  const stat = statOf(folder);
  if (!stat)
    throw new RpcFailure('not_found', `path ${folder} not found`);
  if (!stat.isDirectory())
    throw new RpcFailure('invalid_argument', `path ${folder} not a directory`);
  const names = new Set(fs.readdirSync(folder));
  return fs.watch(folder, (kind, name) => {
    const there = fs.existsSync(path.join(folder, name));
    const type = kind === 'change' ? 'WRITE' : !there ? 'REMOVE' : names.has(name) ? 'RENAME' : 'CREATE';
    there ? names.add(name) : names.delete(name);
    happened({name, type: `EVENT_TYPE_${type}`});
  });
}

export function watch (body, who, request, response) {
  const watcher = follow(resolve(body.path ?? '', who), event => response.write(envelope(0, {filesystem: event})));
  response.writeHead(200, {'Content-Type': 'application/connect+json', 'Connect-Accept-Encoding': 'gzip'});
  response.write(envelope(0, {start: {}}));
  const keepalive = setInterval(() => response.write(envelope(0, {keepalive: {}})),
    faults.keepalive ?? (Number(request.headers['keepalive-ping-interval']) || 90) * 1000);
  response.on('close', () => {
    clearInterval(keepalive);
    watcher.close();
  });
}

function watchers () {
  const all = new Map();
  const known = body => {
    const one = all.get(body.watcherId);
    if (!one)
      throw new RpcFailure('not_found', `watcher with id ${body.watcherId} not found`);
    return one;
  };
  return {
    CreateWatcher: (sandbox, body, who) => {
      const watcherId = crypto.randomUUID(), one = {events: []};
      one.watcher = follow(resolve(body.path ?? '', who), event => one.events.push(event));
      all.set(watcherId, one);
      return {watcherId};
    },
    GetWatcherEvents: (sandbox, body) => ({events: known(body).events.splice(0)}),
    RemoveWatcher: (sandbox, body) => {
      known(body).watcher.close();
      all.delete(body.watcherId);
      return {};
    },
  };
}

// --- /files --------------------------------------------------------------------------------------

export function checkSignature (sandbox, query, operation) {
  const expiration = query.get('signature_expiration');
  const text = [query.get('path') ?? '', operation, query.get('username') ?? '', sandbox.token, ...(expiration ? [expiration] : [])].join(':');
  const wanted = 'v1_' + crypto.createHash('sha256').update(text).digest('base64').replace(/=+$/, '');
  if (!query.has('signature'))
    throw new Failure(401, 'missing signature query parameter');
  if (query.get('signature') !== wanted)
    throw new Failure(401, 'invalid signature');
  if (expiration && Number(expiration) < Date.now() / 1000)
    throw new Failure(401, 'signature is already expired');
}

function rangeOf (text, size) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(text ?? '') ?? [];
  if (first === undefined || (first === '' && last === ''))
    return undefined;
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first !== '' && last !== '' ? Math.min(Number(last), size - 1) : size - 1;
  if (start >= size || end < start)
    throw new Failure(416, 'the range cannot be had', {size});
  return {start, end};
}

export async function readFile (url, who, request, response) {
  const name = resolve(url.searchParams.get('path') ?? '', who), stat = statOf(name);
  const accepts = request.headers['accept-encoding'] ?? '';
  if (!stat)
    throw new Failure(404, `path '${name}' does not exist`);
  if (stat.isDirectory())
    throw new Failure(400, `path '${name}' is a directory`);
  const headers = {'Vary': 'Accept-Encoding', 'Content-Type': 'application/octet-stream', 'Last-Modified': stat.mtime.toUTCString(),
    'Content-Disposition': `inline; filename=${JSON.stringify(encodeURIComponent(path.basename(name)))}`};
  const range = rangeOf(request.headers.range, stat.size);
  const since = Date.parse(request.headers['if-modified-since'] ?? '');
  if (since >= Math.floor(stat.mtimeMs / 1000) * 1000) {
    response.writeHead(304, headers);
    return response.end();
  }
  if (!range && /\bgzip\b/.test(accepts)) {
    response.writeHead(200, {...headers, 'Content-Encoding': 'gzip'});
    return pipeline(fs.createReadStream(name, {highWaterMark: BUFFER}), zlib.createGzip(), response);
  }
  if (/\b(identity|\*);\s*q=0(\.0*)?\s*(,|$)/.test(accepts))
    throw new Failure(406, 'no acceptable encoding');
  const {start, end} = range ?? {start: 0, end: stat.size - 1};
  response.writeHead(range ? 206 : 200, {...headers, 'Accept-Ranges': 'bytes', 'Content-Length': end - start + 1,
    ...(range ? {'Content-Range': `bytes ${start}-${end}/${stat.size}`} : {})});
  if (end < start)
    return response.end();
  return pipeline(fs.createReadStream(name, {start, end, highWaterMark: BUFFER}), response);
}

function parseMultipart (body, boundary) {
  const files = [], mark = Buffer.from(`--${boundary}`);
  for (let at = body.indexOf(mark); at >= 0;) {
    const start = at + mark.length, next = body.indexOf(mark, start);
    if (next < 0)
      break;
    const part = body.subarray(start + 2, next - 2), blank = part.indexOf('\r\n\r\n'), head = part.subarray(0, blank).toString();
    if (/name="file"/.test(head))
      files.push({name: /filename="([^"]*)"/.exec(head)?.[1], data: part.subarray(blank + 4)});
    at = next;
  }
  return files;
}

function metadataOf (headers) {
  const metadata = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-metadata-'))
    .map(([name, value]) => [name.slice(11), value]));
  if (JSON.stringify(metadata).length > MOST_METADATA)
    throw new Failure(400, 'too much metadata');
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

export async function writeFiles (sandbox, url, who, request) {
  const type = request.headers['content-type'] ?? '', wanted = url.searchParams.get('path');
  const zipped = request.headers['content-encoding'] === 'gzip', metadata = metadataOf(request.headers);
  const answer = [];
  const wrote = name => {
    metadata ? sandbox.xattrs.set(name, metadata) : sandbox.xattrs.delete(name);
    answer.push({path: name, name: path.basename(name), type: 'file', ...(metadata ? {metadata} : {})});
  };
  const prepare = name => {
    if (statOf(name)?.isDirectory())
      throw new Failure(400, `path is a directory: ${name}`);
    fs.mkdirSync(path.dirname(name), {recursive: true});
  };
  if (type.startsWith('application/octet-stream')) {
    if (!wanted)
      throw new Failure(400, 'path is required');
    const name = resolve(wanted, who);
    prepare(name);
    await pipeline([request, ...(zipped ? [zlib.createGunzip()] : []), fs.createWriteStream(name, {highWaterMark: BUFFER})]);
    wrote(name);
    return answer;
  }
  if (!type.startsWith('multipart/form-data'))
    throw new Failure(400, `unsupported content type ${type}`);
  const body = await readBody(request);
  const files = parseMultipart(zipped ? zlib.gunzipSync(body) : body, /boundary="?([^";]+)/.exec(type)?.[1]);
  const names = files.map(file => resolve(wanted ?? file.name ?? '', who));
  if (new Set(names).size !== names.length)
    throw new Failure(400, 'you cannot upload multiple files to the same path');
  for (const [i, name] of names.entries()) {
    prepare(name);
    await fs.promises.writeFile(name, files[i].data);
    wrote(name);
  }
  return answer;
}

/** POST /files/compose: several files become one, and go. */
export function compose (sandbox, body) {
  const who = body.username ?? user.username, sources = (body.source_paths ?? []).map(name => resolve(name, who));
  if (!body.destination || sources.length === 0)
    throw new Failure(400, 'source_paths and destination are required');
  const destination = resolve(body.destination, who);
  for (const name of sources)
    if (!statOf(name)?.isFile())
      throw new Failure(404, `path '${name}' does not exist`);
  fs.mkdirSync(path.dirname(destination), {recursive: true});
  const all = Buffer.concat(sources.map(name => fs.readFileSync(name)));
  fs.writeFileSync(destination, all);
  sources.filter(name => name !== destination).forEach(name => fs.rmSync(name));
  return {path: destination, name: path.basename(destination), type: 'file'};
}
