// SPDX-License-Identifier: LGPL-2.1-or-later
// A proxy that writes down what a client and the local server say to each other, in the form of
// tests/e2b/recorded, and the form in which two such records are compared.
import http from 'node:http';
import zlib from 'node:zlib';

/** A proxy in front of the server at url. take() gives the exchanges since the last one. */
export async function record (url) {
  let exchanges = [];
  const proxy = http.createServer((request, response) => {
    const one = {method: request.method, url: request.url, headers: request.headers, sent: [], heard: []};
    exchanges.push(one);
    one.ended = new Promise(answer => response.on('close', answer));
    request.on('data', bytes => one.sent.push(bytes));
    const onward = http.request(url + request.url, {method: request.method, headers: {...request.headers, host: new URL(url).host}}, answer => {
      Object.assign(one, {status: answer.statusCode, answerHeaders: answer.headers});
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.on('data', bytes => one.heard.push(bytes));
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise(answer => proxy.listen(0, '127.0.0.1', answer));
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    async take () {
      const all = exchanges;
      exchanges = [];
      await Promise.all(all.map(one => one.ended));
      return all.map(one => ({method: one.method, url: one.url, headers: one.headers, body: Buffer.concat(one.sent), status: one.status,
        answerHeaders: one.answerHeaders ?? {}, answer: Buffer.concat(one.heard)}));
    },
    close () {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}

/** An exchange of tests/e2b/recorded in the same form. */
export function fromRecorded (one) {
  const lower = list => Object.fromEntries(list.map(([name, value]) => [name.toLowerCase(), value]));
  const {frames, body, bodyText, headers = {}, status} = one.response;
  const sent = one.bodyHex !== undefined ? Buffer.from(one.bodyHex, 'hex') : one.body !== undefined ? Buffer.from(JSON.stringify(one.body))
    : Buffer.from(one.bodyText ?? '', 'latin1');
  return {method: one.method, url: one.url, headers: lower(one.headers), body: sent, status,
    answerHeaders: lower(Object.entries(headers)),
    answer: frames ? Buffer.concat(frames.map(f => Buffer.from(f.hex, 'hex'))) : body !== undefined ? Buffer.from(JSON.stringify(body))
      : Buffer.from(bodyText ?? '', 'latin1')};
}

function envelopes (bytes) {
  const found = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const size = bytes.readUInt32BE(at + 1);
    found.push({flags: bytes[at], value: JSON.parse(bytes.subarray(at + 5, at + 5 + size).toString())});
    at += 5 + size;
  }
  return found;
}

// How output is cut into messages is not said, nor how many keepalives fit; a terminal's
// output is its shell's. A deadline is kept by both ends, and either may be first.
function streamOf (bytes) {
  const output = {}, seen = [];
  for (const {flags, value} of envelopes(bytes)) {
    const [stream, text] = Object.entries(value.event?.data ?? {})[0] ?? [];
    if (stream)
      output[stream] = stream === 'pty' ? '…' : (output[stream] ?? '') + Buffer.from(text, 'base64').toString('latin1');
    else if (value.error?.code === 'deadline_exceeded')
      continue;
    else if (!value.event?.keepalive || !seen.some(s => s.value.event?.keepalive))
      seen.push({flags, value});
  }
  return {output, seen};
}

/** What differs from run to run has one name; what is left must be the same. */
export function scrub (value, box) {
  const text = JSON.stringify(value ?? null).replaceAll(box, '/BOX').replaceAll(encodeURIComponent(box), '%2FBOX');
  return JSON.parse(text
    .replace(/i[0-9a-f]{20}/g, 'ID').replace(/\b(ea|ta)_\w+/g, '$1_TOKEN').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/"pid":\d+/g, '"pid":0').replace(/127\.0\.0\.1:(\d+|PORT)/g, 'HOST').replace(/v1_[\w%+/]+/g, 'SIGNATURE')
    .replace(/signature_expiration=\d+/g, 'signature_expiration=N').replace(/"(owner|group)":"[^"]*"/g, '"$1":"…"')
    .replace(/"alias":"[^"]*",?/g, '').replace(/"(snapshotI[dD])":"[^"]*"/g, '"$1":"…"')
    .replace(/"timestampUnix":\d+/g, '"timestampUnix":0'), (key, member) => {
    if (member?.permissions?.startsWith?.('d'))
      delete member.size; // a file system's own affair
    if (member?.permissions)
      delete member.metadata; // recorded of a server that forgot it
    return member;
  });
}

const compared = ['authorization', 'connect-timeout-ms', 'connect-protocol-version', 'content-encoding', 'keepalive-ping-interval',
  'e2b-sandbox-id', 'e2b-sandbox-port', 'x-access-token', 'accept-encoding', 'x-metadata-key'];

function bodyOf (one) {
  const type = one.headers['content-type'] ?? '';
  if (type.startsWith('multipart/'))
    return one.body.toString('latin1').replaceAll(/boundary=(.*)/.exec(type)[1], 'BOUNDARY');
  if (type === 'application/connect+json')
    return envelopes(one.body);
  if (type === 'application/json')
    return JSON.parse(one.body.toString() || 'null');
  return (one.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(one.body) : one.body).toString('latin1');
}

function answerOf (one) {
  const type = one.answerHeaders['content-type'] ?? '';
  if (type === 'application/connect+json')
    return streamOf(one.answer);
  if (one.answerHeaders['content-encoding'] === 'gzip')
    return 'gzip'; // two compressors need not say the same; what comes of it is in the outcome
  const text = one.answer.toString();
  try { return JSON.parse(text); } catch { return text; }
}

/** Of an exchange: what was asked, and what was answered. */
export function essence (one, box) {
  const type = (one.headers['content-type'] ?? '').replace(/boundary=.*/, 'boundary=…');
  return scrub({method: one.method, url: one.url, type, headers: compared.map(name => one.headers[name] ?? null), body: bodyOf(one),
    status: one.status, encoding: one.answerHeaders['content-encoding'] ?? null, answer: answerOf(one)}, box);
}
