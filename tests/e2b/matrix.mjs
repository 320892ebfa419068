#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the failures that the local server is told to have are those of the service: what its own
// client makes of each was recorded (recorded/error-matrix.json), and is asked for again. Says TAP.
//
//   matrix.mjs RELEASE     2.49 or 2.51, of those that tests/lib/fetch-clients fetched
import fs from 'node:fs';
import assert from 'node:assert/strict';
import {Sandbox, apiKey, endServer, fault, sayTap, url} from './client.mjs';

delete process.env.E2B_API_KEY;
const options = {apiKey, apiUrl: url, sandboxUrl: url};
const recorded = JSON.parse(fs.readFileSync(new URL('recorded/error-matrix.json', import.meta.url))).results;
const MOST_RECORDED = 160; // characters of a message
const recordedId = 'i20a6fc7a53612456c293';
const sandbox = await Sandbox.create(options);

// --- failures ---------------------------------------------------------------------------------

const own = 'sandboxes/[^/]*';
const refuse = (pattern, status, body, headers) => ({refuse: [{path: pattern, status, times: 9, ...(headers ? {headers} : {}),
  body: typeof body === 'string' ? body : JSON.stringify(body)}]});
const saying = (pattern, status, message, headers) => refuse(pattern, status, {code: status, message}, headers);

function frame (flags, value) {
  const text = typeof value === 'string' ? Buffer.from(value) : Buffer.from(JSON.stringify(value)), head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, text]);
}
const start = frame(0, {event: {start: {pid: 7}}}), close = frame(2, {});
const event = value => frame(0, {event: value}), out = text => event({data: {stdout: text}});
const exit = (more = {}) => event({end: {exited: true, status: 'exit status 0', ...more}});
const ended = (code, message) => frame(2, {error: {code, message}});
const stream = (...frames) => ({early: Buffer.concat(frames).toString('hex')});

// --- what is called -----------------------------------------------------------------------------

const made = [];
const create = async () => { made.push(await Sandbox.create(options)); return 'created'; };
const createWithout = async () => { await Sandbox.create({...options, apiKey: undefined}); };
const setTimeoutOf = () => sandbox.setTimeout(61000), info = (more = {}) => () => Sandbox.getInfo(sandbox.sandboxId, {...options, ...more});
const pause = () => sandbox.pause(), network = () => sandbox.updateNetwork({}), stat = () => sandbox.files.getInfo('/n');
const run = (more = {}) => () => sandbox.commands.run('true', more), read = () => sandbox.files.read('/x'), write = () => sandbox.files.write('/x', 'x');
const running = () => sandbox.isRunning();

const START = '^POST /process.Process/Start', STAT = '^POST /filesystem.Filesystem/Stat', INFO = `^GET /${own}`;
const CREATE = '^POST /(v2/)?sandboxes$', FILES = '^GET /files[?]', UPLOAD = '^POST /files[?]';
const cases = {
  'rest-404-no-code-kill': [refuse(`^DELETE /${own}`, 404, {message: 'x'}), () => Sandbox.kill(sandbox.sandboxId, options)],
  'rest-404-no-code-info': [refuse(INFO, 404, {message: 'x'}), info()],
  'rest-404-empty-info': [refuse(INFO, 404, ''), info()],
  'rest-500-text': [refuse(INFO, 500, 'boom', {'Content-Type': 'text/plain'}), info()],
  'rest-pause-404': [saying(`^POST /${own}/pause`, 404, 'x'), pause],
  'rest-pause-409': [saying(`^POST /${own}/pause`, 409, 'conf'), pause],
  'rest-pause-409-nocode': [refuse(`^POST /${own}/pause`, 409, {message: 'conf'}), pause],
  'rest-pause-503': [saying(`^POST /${own}/pause`, 503, 'busy'), pause],
  'rest-network-409': [saying(`^PUT /${own}/network`, 409, 'conf'), network],
  'rest-network-404': [saying(`^PUT /${own}/network`, 404, 'x'), network],
  'rest-429-retryafter-0': [saying(INFO, 429, 'slow', {'Retry-After': '0'}), info()],
  'rest-429-retryafter-60': [saying(INFO, 429, 'slow', {'Retry-After': '60'}), info()],
  'rest-429-retryafter-date': [saying(INFO, 429, 'slow', {'Retry-After': 'Wed, 21 Oct 2026 07:28:00 GMT'}), info()],
  'rest-503-retryafter': [saying(INFO, 503, 'busy', {'Retry-After': '0'}), info()],
  'rest-timeout-hang': [{hang: [{path: INFO, times: 1}]}, info({requestTimeoutMs: 200})],
  'rest-conn-reset': [{cut: [{path: INFO, times: 1, at: 'request', reset: true}]}, info()],
  'unary-401-envd-json': [saying(STAT, 401, 'unauthorized access'), stat],
  'unary-502-proxy-json': [refuse(STAT, 502, {sandboxId: 'x', message: 'The sandbox was not found', code: 502}), stat],
  'unary-404-text': [refuse(STAT, 404, '404 page not found', {'Content-Type': 'text/plain'}), stat],
  'unary-429-retry-after': [refuse(STAT, 429, {code: 'resource_exhausted', message: 'm'}, {'Retry-After': '0'}), stat],
  'unary-unknown-fields': [refuse(STAT, 200, {entry: {name: 'n', type: 'FILE_TYPE_FILE', path: '/n', size: '7', more: [1]}, other: null}), stat],
  'unary-snake-case': [refuse(STAT, 200, {entry: {name: 'n', type: 'FILE_TYPE_FILE', path: '/n', modified_time: '2024-01-02T03:04:05.678Z', symlink_target: '/t'}}), stat],
  'unary-unknown-enum': [refuse(STAT, 200, {entry: {name: 'n', type: 'FILE_TYPE_OTHER', path: '/n'}}), stat],
  'unary-charset': [refuse(STAT, 200, {entry: {name: 'n', type: 'FILE_TYPE_FILE', path: '/n'}}, {'Content-Type': 'application/json; charset=utf-8'}), stat],
  'unary-proto-ct': [refuse(STAT, 200, {}, {'Content-Type': 'application/proto'}), stat],
  'stream-ok': [stream(start, exit(), close), run()],
  'stream-one-byte-chunks': [{...stream(start, out('w6k='), exit(), close), pieces: 1}, run()],
  'stream-split-utf8': [stream(start, out('ww=='), out('qQ=='), exit(), close), run()],
  'stream-urlsafe-b64': [stream(start, out('__4'), exit(), close), run()],
  'stream-explicit-exit0': [stream(start, exit({exitCode: 0}), close), run()],
  'stream-snake-exit_code': [stream(start, exit({exit_code: 5, status: 'exit status 5', error: 'exit status 5'}), close), run()],
  'stream-end-then-no-eos': [stream(start, exit()), run()],
  'stream-no-end-event': [stream(start, close), run()],
  'stream-no-start': [stream(exit(), close), run()],
  'stream-keepalive-before-start': [stream(event({keepalive: {}}), start, exit(), close), run()],
  'stream-empty-event': [stream(start, frame(0, {}), event({}), exit(), close), run()],
  'stream-error-not_found-first': [stream(ended('not_found', 'nf')), run()],
  'stream-error-unavailable-first': [stream(ended('unavailable', 'x')), run()],
  'stream-error-unauthenticated': [stream(ended('unauthenticated', "invalid username: 'zz'")), run()],
  'stream-error-after-start': [stream(start, ended('unknown', 'oops')), run()],
  'stream-error-deadline': [stream(start, ended('deadline_exceeded', 'context deadline exceeded')), run()],
  'stream-error-canceled': [stream(start, ended('canceled', 'context canceled')), run()],
  'stream-compressed-flag': [stream(start, frame(1, {}), close), run()],
  'stream-http-401-json': [saying(START, 401, 'm'), run()],
  'stream-http-502-json': [saying(START, 502, 'm'), run()],
  'stream-http-429': [saying(START, 429, 'm'), run()],
  'stream-http-500': [saying(START, 500, 'm'), run()],
  'stream-wrong-ct-json': [refuse(START, 200, {}), run()],
  'stream-drop-health-ok': [{cutStream: 40}, run()],
  'stream-drop-health-502': [{cutStream: 40, ...saying('^GET /health', 502, 'm')}, run()],
  'stream-hang-before-start': [{hang: [{path: START, times: 1}]}, run({requestTimeoutMs: 200})],
  'stream-eof-partial-envelope': [stream(start, Buffer.from([0, 0])), run()],
  'files-upload-textplain': [refuse(UPLOAD, 200, [{path: '/x', name: 'x', type: 'file'}], {'Content-Type': 'text/plain; charset=utf-8'}), write],
  'files-upload-empty-list': [refuse(UPLOAD, 200, []), write],
  'files-read-206?': [refuse(FILES, 206, 'ab', {'Content-Type': 'text/plain'}), read],
  'health-500': [saying('^GET /health', 500, 'x'), running],
  'old-envd': [refuse(CREATE, 201, {sandboxID: 'ix', templateID: 'base', clientID: 'c', envdVersion: '0.0.9'}), create],
  'rest-429-then-ok-post': [{refuse: [{path: CREATE, status: 429, times: 2, headers: {'Retry-After': '0'}, body: '{"code":429,"message":"slow"}'}]}, create],
  'no-api-key': [{}, createWithout],
  // It takes seconds, and says what Retry-After: 0 does; and of a key that is none a server thinks for itself.
  'rest-429-retryafter-1': null,
  'odd-api-key': null,
};
const codes = {canceled: 499, unknown: 500, invalid_argument: 400, deadline_exceeded: 504, not_found: 404, already_exists: 409, permission_denied: 403,
  resource_exhausted: 429, failed_precondition: 400, aborted: 409, out_of_range: 400, unimplemented: 501, internal: 500, unavailable: 503, data_loss: 500,
  unauthenticated: 401};

function caseOf (name) {
  const [, kind, status] = /^(rest-create|rest-timeout|files)-(\d+)$/.exec(name) ?? [], code = /^unary-(.*)$/.exec(name)?.[1];
  if (name in cases)
    return cases[name];
  if (kind === 'rest-create')
    return [saying(CREATE, Number(status), `msg${status}`), create];
  if (kind === 'rest-timeout')
    return [saying(`^POST /${own}/timeout`, Number(status), `msg${status}`), setTimeoutOf];
  if (kind === 'files')
    return [saying(FILES, Number(status), `m${status}`), read];
  assert.ok(code in codes, `${name} is not known`);
  return [refuse(STAT, codes[code], {code, message: 'm'}), stat];
}

// --- the comparison --------------------------------------------------------------------------------

async function requests () {
  const all = Object.values((await (await fetch(`${url}/counts`)).json()).requests);
  return all.reduce((sum, n) => sum + n, 0);
}

async function outcomeOf (func) {
  try {
    const value = await func();
    return value === undefined ? {} : {ok: JSON.parse(JSON.stringify(value))};
  } catch (error) {
    return {cls: error.constructor.name, msg: error.message, ...(error.statusCode === undefined ? {} : {statusCode: error.statusCode})};
  }
}

async function check (name) {
  const [faults, func] = caseOf(name), {ms, name: errorName, paths, requests: times, ...expected} = recorded[name], before = await requests();
  await fault(faults);
  const outcome = await outcomeOf(func), asked = await requests() - before;
  await fault({});
  if (expected.msg) {
    expected.msg = expected.msg.replaceAll(recordedId, sandbox.sandboxId);
    outcome.msg = outcome.msg?.slice(0, MOST_RECORDED);
  }
  await Promise.all(made.splice(0).map(one => one.kill()));
  assert.deepEqual({...outcome, asked}, {...expected, asked: times});
}

await sayTap(Object.keys(recorded).filter(name => cases[name] !== null), check);
await sandbox.kill();
await endServer();
process.exit();
