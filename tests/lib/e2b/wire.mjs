// SPDX-License-Identifier: LGPL-2.1-or-later
// The wire's forms: failures of both kinds, envelopes, bodies.
import fs from 'node:fs';
import os from 'node:os';

export const ENVD_VERSION = '0.6.13', ENVD_PORT = '49983';
const MOST_BODY = 512 * 1024 * 1024;
export const user = whoRuns();

// A user who has no line in /etc/passwd can run it too.
function whoRuns () {
  try { return os.userInfo(); } catch { return {username: String(process.getuid()), homedir: os.homedir()}; }
}

/** What REST and the plain endpoints refuse: a status, and the same number in the body. */
export class Failure extends Error {
  constructor (status, message, more = {}) { super(message); this.status = status; this.more = more; }
}

/** What a method of the agent refuses: one of Connect's codes. */
export class RpcFailure extends Error {
  constructor (code, message) { super(message); this.code = code; }
}

const codes = {canceled: 499, unknown: 500, invalid_argument: 400, deadline_exceeded: 504, not_found: 404,
  already_exists: 409, permission_denied: 403, resource_exhausted: 429, failed_precondition: 400, aborted: 409,
  out_of_range: 400, unimplemented: 501, internal: 500, unavailable: 503, data_loss: 500, unauthenticated: 401};

export function envelope (flags, value) {
  const payload = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)), head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** The one envelope that the request of a stream is. */
export function unwrap (body) {
  if (body.length < 5 || body[0] !== 0 || body.readUInt32BE(1) !== body.length - 5)
    throw new RpcFailure('invalid_argument', 'protocol error: incomplete envelope');
  return parse(body.subarray(5));
}

export function parse (body) {
  try { return JSON.parse(body.toString() || '{}'); } catch { throw new RpcFailure('invalid_argument', 'the body is no JSON'); }
}

export async function readBody (request) {
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

/** The answer that a failure is, as [status, body]. */
export function answerOf (error) {
  if (error instanceof RpcFailure)
    return [codes[error.code], {code: error.code, message: error.message}];
  if (error instanceof Failure)
    return [error.status, {...error.more, code: error.status, message: error.message}];
  const status = error.code === 'ENOSPC' || error.code === 'EDQUOT' ? 507 : 500;
  return [status, {code: status, message: String(error.message)}];
}

export const iso = ms => new Date(ms).toISOString();

export function nameOf (id, file) {
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    const [name, , number] = line.split(':');
    if (Number(number) === id && name)
      return name;
  }
  return String(id);
}
