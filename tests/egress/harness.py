# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the egress proxy stand on: the proxy in this process, origins
on the loopback, clients that send bytes. No name and no byte leaves the machine:
names are a table, addresses are 127.0.0.x."""
import contextlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, Prism  # noqa: E402

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))

DEADLINE = 20  # seconds, for what comes at once on a quiet machine
PRIVATE = Prism.EgressRuleFlags.ALLOW_PRIVATE
UPGRADE = Prism.EgressRuleFlags.UPGRADE
HTTP, HTTPS, ANY = Prism.EgressScheme.HTTP, Prism.EgressScheme.HTTPS, Prism.EgressScheme.ANY


def until(condition, what='it'):
    """Waits for what other threads do; there is no event for it in this one."""
    end = time.monotonic() + DEADLINE
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f'{what} did not come true')
        time.sleep(0.005)
    return value


def rule(host, port=0, scheme=ANY, flags=PRIVATE):
    return Prism.EgressRule.new(host, port, scheme, flags)


def policy(*rules):
    return Prism.EgressPolicy.new_for_rules([r if isinstance(r, Prism.EgressRule) else rule(*r) for r in rules], None)


class Names(Gio.Resolver):
    """Names from a table: name → a list of addresses, or a function that gives one."""

    def __init__(self, table):
        super().__init__()
        self.table, self.asked = table, []

    def do_lookup_by_name(self, name, cancellable):
        self.asked.append(name)
        found = self.table.get(name)
        found = found() if callable(found) else found
        if not found:
            raise GLib.Error.new_literal(Gio.resolver_error_quark(), f'{name} is not known here',
                                         int(Gio.ResolverError.NOT_FOUND))
        return [Gio.InetAddress.new_from_string(a) for a in found]


class Proxy:
    """A started proxy whose records arrive in a thread of their own."""

    def __init__(self, names=None, **properties):
        self.records, self.changed = [], threading.Condition()
        self.proxy = Prism.Registry.get_default().create_egress_proxy('egress')
        self.names = Names({'good.test': ['127.0.0.1'], 'evil.test': ['127.0.0.1'], **(names or {})})
        self.proxy.props.resolver = self.names
        for name, value in properties.items():
            self.proxy.set_property(name, value)
        self.context = GLib.MainContext.new()
        self.ended = False
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.ready.wait(DEADLINE)
        self.listeners = []

    def _run(self):
        self.context.push_thread_default()
        self.proxy.connect('audit', self._audit)
        try:
            self.proxy.start(None)
        except GLib.Error:
            self.ended = True  # whoever adds a listener is told
        self.ready.set()
        while not self.ended:
            self.context.iteration(True)
        self.context.pop_thread_default()

    def _audit(self, proxy, record):
        with self.changed:
            self.records.append(record.copy())
            self.changed.notify_all()

    def listen(self, *rules, credentials=(), **properties):
        address = Gio.InetSocketAddress.new_from_string('127.0.0.1', 0)
        given = rules[0] if len(rules) == 1 and isinstance(rules[0], Prism.EgressPolicy) else policy(*rules)
        listener = Prism.EgressListener.new_for_address(address, given)
        for name, value in properties.items():
            listener.set_property(name, value)
        for credential in credentials:
            listener.add_credential(Prism.Credential.new(*credential))
        self.proxy.add_listener(listener, None)
        self.listeners.append(listener)
        return listener

    def record(self, test=lambda r: True, number=0):
        """The NUMBERth record that fits, when it has come."""
        with self.changed:
            def found():
                return [r for r in self.records if test(r)][number:]
            assert self.changed.wait_for(found, DEADLINE), [r.to_json() for r in self.records]
            return found()[0]

    def stop(self):
        self.proxy.stop(None)
        self.ended = True
        self.context.wakeup()
        self.thread.join(DEADLINE)

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.stop()


def port_of(listener):
    return int(listener.dup_endpoint().rsplit(':', 1)[1])


class Origin:
    """Answers each connection with a function in a thread; keeps what it was sent."""

    def __init__(self, serve, address='127.0.0.1', context=None, family=socket.AF_INET):
        self.serve, self.context = serve, context
        self.got, self.errors, self.names, self.connections = [], [], [], 0
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, 0))
        self.socket.listen(512)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(peer,), daemon=True).start()

    def _one(self, peer):
        peer.settimeout(DEADLINE)
        with contextlib.suppress(OSError), contextlib.closing(peer):
            if self.context:
                try:
                    peer = self.context.wrap_socket(peer, server_side=True)
                except (ssl.SSLError, OSError) as error:
                    self.errors.append(error)
                    return
            self.serve(self, peer)
            if self.context:
                with contextlib.suppress(OSError):
                    peer.unwrap()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.close()


def read_head(peer, rest=b''):
    """A head, and what came behind it."""
    data = rest
    while b'\r\n\r\n' not in data:
        more = peer.recv(65536)
        if not more:
            return data, b''
        data += more
    head, rest = data.split(b'\r\n\r\n', 1)
    return head + b'\r\n\r\n', rest


def read_all(peer):
    data = b''
    while True:
        more = peer.recv(1 << 20)
        if not more:
            return data
        data += more


def read_exactly(peer, size, rest=b''):
    while len(rest) < size:
        more = peer.recv(min(1 << 20, size - len(rest)))
        if not more:
            break
        rest += more
    return rest


def header(head, name):
    for line in head.split(b'\r\n')[1:]:
        key, _, value = line.partition(b':')
        if key.lower() == name.lower().encode():
            return value.strip().decode()
    return None


def body_of(head, peer, rest):
    """A body with a length or in chunks."""
    if header(head, 'transfer-encoding') == 'chunked':
        body, data = b'', rest
        while True:
            while b'\r\n' not in data:
                data += peer.recv(65536)
            size, data = data.split(b'\r\n', 1)
            size = int(size, 16)
            data = read_exactly(peer, size + 2, data)
            body, data = body + data[:size], data[size + 2:]
            if size == 0:
                return body
    length = header(head, 'content-length')
    return read_exactly(peer, int(length), rest) if length else b''


def http(answer=b'hello', status='200 OK', extra=b''):
    """Serves every request of a connection alike."""
    def serve(origin, peer):
        rest = b''
        while True:
            head, rest = read_head(peer, rest)
            if not head.endswith(b'\r\n\r\n'):
                return
            body = body_of(head, peer, rest)
            rest = b''
            origin.got.append((head, body))
            reply = answer(head, body) if callable(answer) else answer
            if isinstance(reply, tuple):
                line, more, reply = reply
            else:
                line, more = status, extra
            sent = b'' if head.startswith(b'HEAD') else reply
            peer.sendall(f'HTTP/1.1 {line}\r\nContent-Length: {len(reply)}\r\n'.encode() + more + b'\r\n' + sent)
            if header(head, 'connection') == 'close':
                return
    return serve


def raw(answer):
    """Reads one head and answers with these very bytes."""
    def serve(origin, peer):
        head, rest = read_head(peer)
        origin.got.append((head, rest))
        peer.sendall(answer)
    return serve


def echo(origin, peer):
    while data := peer.recv(1 << 18):
        peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)


class Client:
    """Bytes to a listener and back."""

    def __init__(self, listener):
        self.socket = socket.create_connection(('127.0.0.1', port_of(listener)), DEADLINE)
        self.socket.settimeout(DEADLINE)
        self.rest = b''

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def head(self):
        head, self.rest = read_head(self.socket, self.rest)
        return head

    def answer(self):
        """Status and body of one answer."""
        head = self.head()
        if not head:
            return 0, b''
        if header(head, 'content-length') is None and header(head, 'transfer-encoding') is None:
            body = self.rest + read_all(self.socket)
        else:
            body = body_of(head, self.socket, self.rest)
        self.rest = b''
        return int(head.split(b' ')[1]), body

    def get(self, url, *headers, method='GET'):
        host = url.split('/')[2]
        self.send('\r\n'.join([f'{method} {url} HTTP/1.1', f'Host: {host}', *headers, '', '']))
        return self.answer()

    def connect(self, place, *headers):
        """The status of a CONNECT."""
        self.send('\r\n'.join([f'CONNECT {place} HTTP/1.1', f'Host: {place}', *headers, '', '']))
        head = self.head()
        return int(head.split(b' ')[1]) if head else 0

    def closed(self):
        """Whether the other side ends it; what came before that is in rest."""
        try:
            self.rest += read_all(self.socket)
        except ConnectionResetError:
            pass
        return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *about):
        self.close()


def ask(listener, data):
    """One exchange: these bytes, then all that comes back until it is closed."""
    with Client(listener) as client:
        client.send(data)
        try:
            return read_all(client.socket)
        except ConnectionResetError:
            return b''


def status_of(answer):
    return int(answer.split(b' ')[1]) if answer.startswith(b'HTTP/') else 0


class Authority:
    """A certificate authority of one test, and what it signs."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='prism-egress-')
        self._openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                      '-subj', '/CN=test authority', '-keyout', self.path('ca.key'), '-out', self.path('ca.pem'),
                      '-addext', 'basicConstraints=critical,CA:TRUE')

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def _openssl(self, *args):
        subprocess.run(['openssl', *args], check=True, capture_output=True)

    def server(self, name, *more):
        """A TLS server's side for one name."""
        self._openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', f'/CN={name}',
                      '-keyout', self.path(name + '.key'), '-out', self.path(name + '.csr'))
        with open(self.path(name + '.ext'), 'w', encoding='ascii') as out:
            kind = 'IP' if name[0].isdigit() else 'DNS'
            out.write(f'subjectAltName={kind}:{name}\n')
        self._openssl('x509', '-req', '-in', self.path(name + '.csr'), '-CA', self.path('ca.pem'), '-CAkey',
                      self.path('ca.key'), '-CAcreateserial', '-days', '2', '-extfile', self.path(name + '.ext'), '-out',
                      self.path(name + '.pem'), *more)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name + '.pem'), self.path(name + '.key'))
        return context

    def client(self):
        return ssl.create_default_context(cafile=self.path('ca.pem'))
