# SPDX-License-Identifier: LGPL-2.1-or-later
"""An engine that is not what it should be: a server on a unix socket that speaks the
Engine API, or does not. With an upstream it hands on to a real dockerd what no rule
meets, so that one answer of a whole life can be late, wrong or cut.

    with FakeDockerd(path, upstream=socket) as fake:
        fake.rule('POST', '/containers/[^/]+/start', cut(after=10))

A rule holds for its first `times` requests; later rules win over earlier ones. What was asked is in fake.asked."""
import contextlib
import json
import os
import re
import socket
import threading

MOST = 1 << 20


class Gone(Exception):
    pass


# --- what may be done with a request: functions of (fake, client, request) -----------

def reply(status, body=b'', headers=(), reason='Whatever'):
    """An answer as it should be in form."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    lines = [f'HTTP/1.1 {status} {reason}', 'Api-Version: 1.41', 'Content-Type: application/json', f'Content-Length: {len(body)}', *headers]
    return raw('\r\n'.join(lines).encode() + b'\r\n\r\n' + body)


def raw(data, then_close=False):
    """Bytes, and the connection stays open or not."""
    def act(fake, client, _):
        client.sendall(data)
        if then_close:
            raise Gone
    return act


def close():
    return raw(b'', then_close=True)


def hang():
    """Nothing, until the client goes or the server stops."""
    def act(fake, client, _):
        fake.wait_gone(client)
        raise Gone
    return act


def endless(head, chunk):
    """Without an end."""
    def act(fake, client, _):
        client.sendall(head)
        while not fake.stopping.is_set():
            client.sendall(chunk)
    return act


def slow(data):
    """A byte at a time, always in time for a bound on each, never for one on all."""
    def act(fake, client, _):
        for at in range(len(data)):
            client.sendall(data[at:at + 1])
            if fake.stopping.wait(0.2):
                raise Gone
    return act


def cut(after=0, upstream_first=True):
    """The real answer, up to that byte."""
    def act(fake, client, request):
        answer = fake.ask_upstream(request) if upstream_first else b''
        client.sendall(answer[:after])
        raise Gone
    return act


def changed(change):
    """The real answer's body (JSON) through a function; its status stays."""
    def act(fake, client, request):
        head, _, body = fake.ask_upstream(request).partition(b'\r\n\r\n')
        status = int(head.split()[1])
        if b'chunked' in head.lower():
            body = unchunk(body)
        reply(status, change(json.loads(body)))(fake, client, request)
    return act


def afterwards(do):
    """The real answer, and do() before the client has it."""
    def act(fake, client, request):
        answer = fake.ask_upstream(request)
        do()
        client.sendall(answer)
    return act


def unchunk(body):
    out = b''
    while body:
        size, _, body = body.partition(b'\r\n')
        length = int(size, 16)
        if not length:
            break
        out, body = out + body[:length], body[length + 2:]
    return out


class Rule:
    def __init__(self, method, path, act, times):
        self.method, self.path, self.act, self.times = method, re.compile(r'(?:/v1\.\d+)?' + path + r'(?:\?.*)?$'), act, times

    def meets(self, method, path):
        return self.times != 0 and self.method in (method, '*') and self.path.match(path)


class FakeDockerd:
    def __init__(self, path, upstream=None, mode=0o666):
        self.path, self.upstream = path, upstream
        self.rules, self.asked, self.lock = [], [], threading.Lock()
        self.stopping = threading.Event()
        self.clients = set()
        self.server = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.server.bind(path)
        os.chmod(path, mode)
        self.server.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def rule(self, method, path, act, times=-1):
        with self.lock:
            self.rules.insert(0, Rule(method, path, act, times))

    def forget(self):
        with self.lock:
            self.rules.clear()

    def count(self, method, path):
        """How often that was asked for."""
        pattern = Rule(method, path, None, -1)
        with self.lock:
            return sum(1 for asked in self.asked if pattern.meets(*asked[:2]))

    def stop(self):
        self.stopping.set()
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        with self.lock:
            clients = list(self.clients)
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    # --- serving --------------------------------------------------------------------

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            with self.lock:
                self.clients.add(client)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            while not self.stopping.is_set():
                request = self.read_request(client)
                self.answer(client, request)
        except (Gone, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.clients.discard(client)
            client.close()

    def read_request(self, client):
        data = b''
        while b'\r\n\r\n' not in data:
            more = client.recv(65536)
            if not more or len(data) > MOST:
                raise Gone
            data += more
        head, _, body = data.partition(b'\r\n\r\n')
        length = re.search(rb'(?i)\r\ncontent-length: *(\d+)', head)
        want = int(length[1]) if length else 0
        while len(body) < want:
            more = client.recv(65536)
            if not more:
                raise Gone
            body += more
        method, path, _ = head.split(b'\r\n')[0].decode().split(' ')
        return method, path, head, body

    def answer(self, client, request):
        method, path, _, body = request
        with self.lock:
            self.asked.append((method, path, body))
            rule = next((rule for rule in self.rules if rule.meets(method, path)), None)
            if rule is not None and rule.times > 0:
                rule.times -= 1
        if rule is not None:
            rule.act(self, client, request)
        elif self.upstream is not None:
            self.relay(client, request)
        else:
            reply(404, {'message': f'{method} {path}: no such thing here'})(self, client, request)

    def dial(self, request):
        _, _, head, body = request
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.upstream)
        # One connection for each: its end is the answer's end.
        lines = [line for line in head.split(b'\r\n') if not line.lower().startswith(b'connection:')]
        server.sendall(b'\r\n'.join(lines) + b'\r\nConnection: close\r\n\r\n' + body)
        return server

    def ask_upstream(self, request):
        """The whole answer, as it came."""
        with self.dial(request) as server:
            answer = b''
            while True:
                more = server.recv(65536)
                if not more:
                    return answer
                answer += more

    def relay(self, client, request):
        with self.dial(request) as server:
            while True:
                more = server.recv(65536)
                if not more:
                    break
                client.sendall(more)
        raise Gone  # the answer said so

    def wait_gone(self, client):
        client.settimeout(0.1)
        while not self.stopping.is_set():
            try:
                if not client.recv(65536):
                    return
            except socket.timeout:
                continue
            except OSError:
                return
