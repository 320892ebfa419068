// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults, which a test sets by PUT /faults with a JSON object. `path` is a regular expression
// over "METHOD /path?query"; what has `times` is used up.
//
//   "refuse": [{"path", "status", "headers", "body" | "hex", "times", "after"}]
//        answered so instead; after: once the work is done. A body of "repeat" bytes is long.
//   "cut": [{"path", "times", "at", "reset"}]   the connection ends: at "request" (before
//        anything is done), "body" (amid the request's), "done" (or "after": true; without an
//        answer), "head" (after the answer's first bytes), "half" (amid its body)
//   "hang": [{"path", "times"}]                 never answered
//   Of streams, each used up by the next one that starts:
//     "cutStream": N bytes and no more    "noEnd": N streams without their end-of-stream
//     "endError": {"code", "message"} in the end-of-stream, and no end of the process
//     "raw": HEX after the start event    "early": HEX instead of all
//   "pieces": N            of streams, so many bytes at a time
//   "delayStart": MS       of every stream's first message
//   "keepalive": MS        instead of what the client asks for
//   "every": N             each Nth call of process.Process meets one, of each kind in turn
//   "skew": SECONDS        of the service's clock
//   "most": N              sandboxes at once; more are 429
//   "session": SECONDS     the longest life that a plan allows
//   "transition": MS       for which a paused, resumed or killed sandbox is on its way: 409
//   "newId": true          a resumed sandbox has another id
import {envelope} from './wire.mjs';

export let faults = {};
let calls = 0, turn = 0;
export const tally = {met: 0, deadlines: 0}; // faults of `every`; requests that brought a deadline

export function setFaults (value) {
  faults = value;
  calls = turn = 0;
}

/** The fault of that kind that this request meets, which is used up by it. */
export function takeFault (kind, request) {
  const fault = (faults[kind] ?? []).find(f => new RegExp(f.path).test(`${request.method} ${request.url}`));
  if (fault && --fault.times <= 0)
    faults[kind].splice(faults[kind].indexOf(fault), 1);
  return fault;
}

/** A fault of streams that the next one uses up. */
export function takeOnce (name) {
  const value = faults[name];
  delete faults[name];
  return value;
}

// Each is certain to concern the call that it is made for. Of a stream: refused before and after
// the work, cut before, amid and after it, within a message, without an end; of others likewise.
const unary = [
  () => refuse(429), () => refuse(502), () => refuse(503), () => refuse(500), () => refuse(504, true),
  () => cut('request'), () => cut('done'), () => cut('half', true),
];
const stream = [
  () => refuse(429), () => refuse(502), () => refuse(503), () => refuse(500), () => refuse(503, true),
  () => cut('request'), () => cut('request', true), () => cut('done'), () => ({cutStream: 0}), () => ({cutStream: 3}), () => ({cutStream: 70}),
  () => ({noEnd: 1}), () => ({endError: {code: 'unavailable', message: 'injected'}}),
  () => ({early: envelope(2, {error: {code: 'internal', message: 'injected'}}).toString('hex')}),
];
const refuse = (status, after = false) => ({refuse: {status, after}});
const cut = (at, reset = false) => ({cut: {at, reset}});

/** The fault of `every` that this request meets: {refuse}, {cut}, or what a stream takes. */
export function meetEvery (request) {
  const [, method] = /\/process\.Process\/(\w+)$/.exec(request.url) ?? [];
  if (!faults.every || !method || ++calls % faults.every !== 0)
    return {};
  tally.met++;
  const kinds = method === 'Start' || method === 'Connect' ? stream : unary;
  return kinds[turn++ % kinds.length]();
}
