# SPDX-License-Identifier: LGPL-2.1-or-later
"""TLS: requests that are upgraded on their way out, their credentials, and the name
in a tunnel's TLS. Every certificate is made here."""
import socket
import ssl
import unittest

import harness
from harness import ANY, HTTP, HTTPS, PRIVATE, UPGRADE, Authority, Client, Origin, Proxy, ask, header, http, rule, status_of
from gi.repository import GLib, Prism

import taptest

SECRET = 'Bearer s3cr3t-t0k3n-of-nobody'


def setUpModule():
    global authority, good, evil
    authority = Authority()
    good, evil = authority.server('good.test'), authority.server('evil.test')


def tearDownModule():
    authority.folder.cleanup()


class Base(unittest.TestCase):
    def setUp(self):
        self.proxy = Proxy(trust_file=authority.path('ca.pem'))
        self.addCleanup(self.proxy.stop)

    def origin(self, serve, context=None):
        origin = Origin(serve, context=context)
        self.addCleanup(origin.close)
        return origin


class Upgrade(Base):
    """http to the proxy, https outside."""

    def test_upgrade(self):
        """a rule with upgrade: TLS outside, whole answers, one connection for many requests"""
        big = bytes(range(256)) * 8192
        origin = self.origin(http(lambda head, body: big if b'/big' in head else body), good)
        listener = self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE))
        url = f'http://good.test:{origin.port}'
        with Client(listener) as client:
            self.assertEqual(client.get(f'{url}/big'), (200, big))
            self.assertEqual(client.get(f'{url}/big'), (200, big))
            client.send(f'POST {url}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\nContent-Length: {len(big)}\r\n\r\n'.encode() + big)
            self.assertEqual(client.answer(), (200, big))
        self.assertEqual(origin.connections, 1)
        self.assertIn(f'Host: good.test:{origin.port}\r\n'.encode(), origin.got[0][0])
        self.assertEqual(self.proxy.record().get_protocol(), HTTPS)

    def test_peer(self):
        """7: the peer is verified before a byte goes out"""
        wrong = self.origin(http(), evil)

        def speak_clear(origin, peer):
            peer.recv(65536)
            peer.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n')

        plain = self.origin(speak_clear)
        listener = self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE), credentials=[('good.test', 'Authorization', SECRET)])
        for origin in wrong, plain:
            answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
            self.assertEqual(status_of(answer), 502)
            self.assertIn(b'nothing was sent', answer)
            self.assertEqual(origin.got, [])
            self.assertNotIn(SECRET.encode(), answer)
        strange = Proxy()
        self.addCleanup(strange.stop)
        listener = strange.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE))
        origin = self.origin(http(), good)
        answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.assertEqual(status_of(answer), 502)

    def test_absolute_https(self):
        """https in the request line is accepted only under an upgrade rule"""
        origin = self.origin(http(), good)
        request = f'GET https://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\nConnection: close\r\n\r\n'
        self.assertEqual(status_of(ask(self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE)), request)), 200)
        answer = ask(self.proxy.listen(rule('good.test')), request)
        self.assertEqual(status_of(answer), 403)
        self.assertIn(f'CONNECT good.test:{origin.port}'.encode(), answer)

    def test_slow_handshake(self):
        """an upstream that says nothing in TLS ends with a deadline"""
        origin = self.origin(lambda origin, peer: harness.read_all(peer))
        listener = self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE), transfer_time_ms=300)
        answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.assertEqual(status_of(answer), 504)

    def test_cut(self):
        """an answer whose TLS is cut is not taken for a whole one"""
        def serve(origin, peer):
            harness.read_head(peer)
            peer.sendall(b'HTTP/1.1 200 OK\r\n\r\nhalf')
            peer.unwrap = lambda: (_ for _ in ()).throw(OSError())
            socket.socket.shutdown(peer, socket.SHUT_RDWR)

        origin = self.origin(serve, good)
        listener = self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE))
        with Client(listener) as client:
            client.send(f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
            with self.assertRaises(ConnectionResetError):
                harness.read_all(client.socket)


class Credentials(Base):
    """E-CRED: the secret goes to its host, in TLS, and nowhere else."""

    def listen(self, *rules, **more):
        return self.proxy.listen(*rules, credentials=[('good.test', 'Authorization', SECRET)], **more)

    def test_stamped(self):
        """E-CRED-3: it replaces what the client sent, in any spelling"""
        origin = self.origin(http(), good)
        listener = self.listen(rule('good.test'))
        with Client(listener) as client:
            status, _ = client.get(f'http://good.test:{origin.port}/', 'Authorization: mine', 'authorization: mine', 'AUTHORIZATION: mine')
        self.assertEqual(status, 200)
        head = origin.got[0][0].decode()
        self.assertEqual(head.count(SECRET), 1)
        self.assertNotIn('mine', head)

    def test_never_plain(self):
        """E-CRED-3: never in clear, and CONNECT to its host says how"""
        origin = self.origin(http())
        listener = self.listen(rule('good.test', 0, HTTP), rule('good.test', 443))
        answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.assertEqual(status_of(answer), 403)
        answer = ask(listener, 'CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n')
        self.assertEqual(status_of(answer), 403)
        self.assertIn(b'ask for http://good.test', answer)
        self.assertEqual(origin.got, [])
        self.proxy.record(lambda r: r.get_reason_id() == 'credential')

    def test_redirects(self):
        """E-CRED-1: it does not follow a redirect to another place"""
        where = {}
        start = self.origin(http(lambda head, body: ('302 Found', b'Location: ' + where['to'].encode() + b'\r\n', b'')), good)
        other = self.origin(http(), evil)
        clear = self.origin(http())
        same = self.origin(http(), good)
        listener = self.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE), rule('evil.test', other.port, ANY, PRIVATE | UPGRADE),
                               rule('evil.test', clear.port, HTTP))
        for to in [f'https://evil.test:{other.port}/', f'http://evil.test:{clear.port}/', f'https://GOOD.test.:{same.port}/']:
            where['to'] = to
            with Client(listener) as client:
                self.assertEqual((to, client.get(f'http://good.test:{start.port}/', 'Authorization: mine')[0]), (to, 200))
        for origin in other, clear:
            self.assertNotIn(SECRET.encode(), origin.got[0][0])
            self.assertNotIn(b'mine', origin.got[0][0])
        self.assertIn(SECRET.encode(), same.got[0][0])
        self.assertIn(SECRET.encode(), start.got[0][0])

    def test_secrecy(self):
        """E-CRED-4: it is in no answer of ours, no record, no property, no error"""
        origin = self.origin(http(), evil)
        listener = self.listen(rule('good.test'))
        answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        answer += ask(listener, f'TRACE http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.assertIn(b'HTTP/1.1 405', answer)
        self.assertNotIn(b's3cr3t', answer)
        self.proxy.record(number=1)
        for record in self.proxy.records:
            self.assertNotIn('s3cr3t', record.to_json())
        with self.assertRaises(GLib.Error) as caught:
            Prism.Credential.new('good.test', 'Authorization', SECRET + '\n')
        self.assertIn('newline', caught.exception.message)
        self.assertNotIn('s3cr3t', caught.exception.message)

    def test_other_listener(self):
        """E-CRED-3: another sandbox's listener does not have it"""
        origin = self.origin(http(), good)
        self.listen(rule('good.test'))
        other = self.proxy.listen(rule('good.test', 0, ANY, PRIVATE | UPGRADE))
        with Client(other) as client:
            self.assertEqual(client.get(f'http://good.test:{origin.port}/')[0], 200)
        self.assertNotIn(b'uthorization', origin.got[0][0])


class ServerName(Base):
    """E-HTTP-6: a tunnel's TLS has to name the tunnel's host."""

    def tunnel(self, listener, origin):
        client = Client(listener)
        self.addCleanup(client.close)
        self.assertEqual(client.connect(f'good.test:{origin.port}'), 200)
        return client

    def wrap(self, client, name):
        context = authority.client()
        context.check_hostname = False
        return context.wrap_socket(client.socket, server_hostname=name)

    def test_right_name(self):
        """the right name passes, in any case, and in pieces"""
        origin = self.origin(http(), good)
        listener = self.proxy.listen(('good.test', origin.port, HTTPS))
        for name in ['good.test', 'GOOD.test']:
            client = self.tunnel(listener, origin)
            with self.wrap(client, name) as tls:
                tls.sendall(b'GET / HTTP/1.1\r\nHost: good.test\r\n\r\n')
                self.assertTrue(tls.recv(100).startswith(b'HTTP/1.1 200'))
        hello = self.hello('good.test')
        client = self.tunnel(listener, origin)
        for at in range(0, len(hello), 7):
            client.send(hello[at:at + 7])
        self.assertEqual(client.socket.recv(1), b'\x16')
        client = self.tunnel(listener, origin)
        for at in range(5, len(hello), 40):
            piece = hello[at:at + 40]
            client.send(b'\x16\x03\x01' + len(piece).to_bytes(2, 'big') + piece)
        self.assertEqual(client.socket.recv(1), b'\x16')

    @staticmethod
    def hello(name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            context.wrap_bio(ours, theirs, server_hostname=name).do_handshake()
        except ssl.SSLWantReadError:
            pass
        return theirs.read()

    def test_wrong_name(self):
        """another name, none, no TLS and garbage are cut before a byte goes up"""
        got = []

        def serve(origin, peer):
            got.append(peer.recv(100))

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test', origin.port, HTTPS))
        named = self.hello('good.test')
        for first in [self.hello('evil.test'), self.hello('good.test.evil.test'), self.hello(None), b'GET / HTTP/1.1\r\n\r\n',
                      b'\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00', b'\x16\x03\x01\xff\xff', named[:9] + b'\xff' * 40 + named[49:]]:
            client = self.tunnel(listener, origin)
            client.send(first)
            self.assertTrue(client.closed())
            self.assertEqual(client.rest, b'')
        harness.until(lambda: len(got) == 7)
        self.assertEqual(set(got), {b''})
        self.proxy.record(lambda r: r.get_reason_id() == 'server-name', 6)

    def test_silence(self):
        """a client that says nothing is cut after request-head-ms"""
        origin = self.origin(lambda origin, peer: peer.recv(1))
        listener = self.proxy.listen(('good.test', origin.port, HTTPS), request_head_ms=2000)
        client = self.tunnel(listener, origin)
        self.assertTrue(client.closed())

    def test_any_scheme(self):
        """a rule for any scheme lets other protocols through, and still no other name"""
        def serve(origin, peer):
            peer.sendall(b'SSH-2.0-x\r\n')
            peer.sendall(peer.recv(100))

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test', origin.port))
        client = self.tunnel(listener, origin)
        self.assertEqual(harness.read_exactly(client.socket, 11, client.rest), b'SSH-2.0-x\r\n')
        client.send(b'SSH-2.0-y\r\n')
        self.assertEqual(harness.read_exactly(client.socket, 11), b'SSH-2.0-y\r\n')
        client = self.tunnel(listener, origin)
        client.send(self.hello('evil.test'))
        self.assertTrue(client.closed())
        self.proxy.record(lambda r: r.get_reason_id() == 'server-name')

    def test_off(self):
        """check-server-name can be turned off"""
        origin = self.origin(harness.echo)
        listener = self.proxy.listen(('good.test', origin.port, HTTPS), check_server_name=False)
        client = self.tunnel(listener, origin)
        hello = self.hello('evil.test')
        client.send(hello)
        self.assertEqual(harness.read_exactly(client.socket, len(hello)), hello)

    def test_address(self):
        """TLS to an address names nothing"""
        origin = self.origin(http(), authority.server('127.0.0.1'))
        listener = self.proxy.listen(('127.0.0.1', origin.port, HTTPS))
        client = Client(listener)
        self.addCleanup(client.close)
        self.assertEqual(client.connect(f'127.0.0.1:{origin.port}'), 200)
        with authority.client().wrap_socket(client.socket, server_hostname='127.0.0.1') as tls:
            tls.sendall(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
            self.assertTrue(tls.recv(100).startswith(b'HTTP/1.1 200'))


if __name__ == '__main__':
    taptest.main()
