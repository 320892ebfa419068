// SPDX-License-Identifier: LGPL-2.1-or-later
// The agent's processes, which are this machine's, and the streams that follow them.
import fs from 'node:fs';
import os from 'node:os';
import {spawn} from 'node:child_process';
import {RpcFailure, envelope, user} from './wire.mjs';
import {faults, takeOnce} from './faults.mjs';
import {resolve} from './files.mjs';

const KEPT_MS = 30000; // an ended process can be connected to for so long
const CHUNK = 32 * 1024, PTY_CHUNK = 16 * 1024;
export const streams = {now: 0, all: 0};
const signals = {SIGHUP: 'hangup', SIGINT: 'interrupt', SIGQUIT: 'quit', SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap', SIGABRT: 'aborted', SIGBUS: 'bus error', SIGFPE: 'floating point exception',
  SIGKILL: 'killed', SIGUSR1: 'user defined signal 1', SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2', SIGPIPE: 'broken pipe', SIGALRM: 'alarm clock', SIGTERM: 'terminated'};

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
    if os.WTERMSIG(status) != signal.SIGKILL:
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
`;

// A command is not reaped before its output is at its end, as the agent's are not: until then it
// is a zombie. Says its pid on descriptor 3, waits for the end of 4, and ends as it did.
const KEEPER = `
open P, ">&=", 3; open W, "<&=", 4;
$pid = fork;
if (!$pid) { close P; close W; exec "/bin/sh", "-c", q(exec "$0" "$@"), @ARGV; exit 127 }
syswrite P, "$pid\n"; close P; close STDIN; close STDOUT; close STDERR;
sysread W, $x, 1; waitpid $pid, 0;
kill $? & 127, $$ if $? & 127;
exit $? >> 8;
`;

class Process {
  constructor (sandbox, request, who) {
    const {cmd, args = [], envs = {}, cwd} = request.process ?? {};
    if (typeof cmd !== 'string' || cmd === '')
      throw new RpcFailure('invalid_argument', 'there is no command');
    this.config = request.process;
    this.tag = request.tag;
    this.subscribers = new Set();
    this.waiting = []; // output before who started it listens
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
      this.child = spawn('/usr/bin/perl', ['-e', KEEPER, '--', cmd, ...args],
        {...options, stdio: [this.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe', 'pipe']});
    this.child.on('error', () => {});
    if (this.child.pid === undefined)
      throw new RpcFailure('internal', 'cannot start it');
    this.pid = this.child.pid;
    this.child.stdin?.on('error', () => {});
    this.child.stdio[4]?.on('error', () => {});
    // The pid is the command's, not that of who waits for it.
    this.ready = new Promise(answer => this.child.stdio[3].once('data', line => {
      this.pid = Number(line);
      answer();
    }).once('close', answer));
    this.child.stdio[3].on('error', () => {});
    let open = 2;
    for (const name of ['stdout', 'stderr']) {
      this.child[name].on('data', data => this.publish(this.pty ? 'pty' : name, data));
      this.child[name].on('error', () => {});
      this.child[name].on('close', () => --open === 0 && this.reap());
    }
    const forget = () => sandbox.processes.delete(this.pid);
    this.child.on('close', (code, signal) => this.finish(code, signal, forget));
    // After a signal, what its children keep open is not waited for.
    this.child.on('exit', (code, signal) => this.signalled && setImmediate(() => this.finish(code, signal, forget)));
  }

  // All subscribers hear all of it, and the slowest holds the process up.
  publish (name, data) {
    if (this.waiting)
      return void this.waiting.push([name, data]);
    const piece = this.pty ? PTY_CHUNK : CHUNK;
    for (let at = 0; at < data.length && this.subscribers.size > 0; at += piece) {
      const bytes = envelope(0, {event: {data: {[name]: data.subarray(at, at + piece).toString('base64')}}});
      for (const subscriber of this.subscribers)
        subscriber.send(bytes);
    }
    if ([...this.subscribers].some(s => s.isFull())) {
      this.child.stdout.pause();
      this.child.stderr.pause();
    }
  }

  begin () {
    const waiting = this.waiting ?? [];
    this.waiting = null;
    waiting.forEach(([name, data]) => this.publish(name, data));
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
    for (const subscriber of [...this.subscribers])
      subscriber.finish(this.end);
    setTimeout(forget, KEPT_MS).unref();
  }

  reap () {
    if (!this.pty)
      this.child.stdio[4].end();
  }

  signal (name) {
    if (!this.end)
      try { process.kill(this.pid, name); } catch {}
  }

  cutSubscribers () {
    for (const subscriber of [...this.subscribers])
      subscriber.cut();
  }
}

function select (sandbox, body) {
  const wanted = body.process ?? {};
  const found = wanted.pid !== undefined ? sandbox.processes.get(Number(wanted.pid))
    : [...sandbox.processes.values()].find(p => p.tag !== undefined && p.tag === wanted.tag);
  if (!found)
    throw new RpcFailure('not_found', wanted.pid !== undefined ? `process with pid ${wanted.pid} not found`
      : `process with tag ${wanted.tag} not found`);
  return found;
}

function living (process) {
  if (process.end)
    throw new RpcFailure('not_found', `process with pid ${process.pid} not found`);
  return process;
}

export const unaryProcess = {
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
    process.reap();
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

const STREAM = {'Content-Type': 'application/connect+json', 'Connect-Accept-Encoding': 'gzip'};

/** What a stream that fails before anything was sent is: its end alone, and HTTP 200. */
export function refuseStream (response, error) {
  const {code = 'internal', message} = error instanceof RpcFailure ? error : {message: error.message};
  response.writeHead(200, STREAM);
  response.end(envelope(2, {error: {code, message}}));
}

class Subscriber {
  constructor (process, request, response) {
    const asked = /^\d+$/.test(request.headers['keepalive-ping-interval'] ?? '') ? Number(request.headers['keepalive-ping-interval']) : 90;
    const fault = request.fault ?? {}, own = name => fault[name] ?? takeOnce(name);
    this.process = process;
    this.response = response;
    this.keepalive = setInterval(() => this.write(envelope(0, {event: {keepalive: {}}})), faults.keepalive ?? Math.max(asked, 1) * 1000);
    this.left = own('cutStream') ?? Infinity;
    this.noEnd = fault.noEnd || (faults.noEnd > 0 && faults.noEnd--);
    this.endError = own('endError');
    response.on('drain', () => process.goOn());
    response.on('close', () => this.drop());
    process.subscribers.add(this);
    streams.all++;
    streams.now++;
    this.write(envelope(0, {event: {start: {pid: process.pid}}}));
    process.begin();
    const raw = own('raw');
    if (raw !== undefined)
      this.write(Buffer.from(raw, 'hex'));
    if (process.end)
      this.finish(process.end);
  }

  isFull () { return this.response.writableNeedDrain; }

  write (bytes) {
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

  send (bytes) {
    this.keepalive.refresh();
    this.write(bytes);
  }

  finish (end) {
    if (!this.endError)
      this.write(envelope(0, {event: {end}}));
    if (!this.done && this.noEnd)
      this.response.end();
    else if (!this.done)
      this.fail(this.endError);
    this.drop();
  }

  fail (error) {
    this.write(envelope(2, error ? {error: {code: error.code, message: error.message}} : {}));
    if (!this.done)
      this.response.end();
    this.done = true;
  }

  cut () {
    this.done = true;
    this.response.destroy();
  }

  drop () {
    clearInterval(this.keepalive);
    if (this.process.subscribers.delete(this)) {
      streams.now--;
      this.process.goOn();
    }
  }
}

/** Process/Start and Process/Connect. */
export async function streamProcess (method, sandbox, body, who, request, response) {
  let process;
  // An error before the start is one of a command that did not begin.
  const early = request.fault?.early ?? takeOnce('early');
  if (early !== undefined) {
    response.writeHead(200, STREAM);
    return response.end(Buffer.from(early, 'hex'));
  }
  if (method === 'Start') {
    process = new Process(sandbox, body, who);
    await process.ready;
    sandbox.processes.set(process.pid, process);
  } else {
    process = select(sandbox, body);
  }
  if (request.instead) {
    process.begin();
    return request.instead();
  }
  const begin = () => {
    response.writeHead(200, STREAM);
    const subscriber = new Subscriber(process, request, response);
    const ms = Number(request.headers['connect-timeout-ms']);
    if (!(ms > 0))
      return;
    // It holds for the process that was started, whether or not anybody still listens.
    setTimeout(() => {
      if (process.end)
        return;
      if (method === 'Start') {
        process.signal('SIGKILL');
        process.reap();
      }
      if (!subscriber.done)
        subscriber.fail({code: 'deadline_exceeded', message: 'the operation timed out'});
      subscriber.drop();
    }, ms).unref();
  };
  if (faults.delayStart)
    setTimeout(begin, faults.delayStart);
  else
    begin();
}
