# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faults that other egress proxies had, each by its name in the list of cases."""
import hashlib
import os
import socket
import struct
import threading
import time
import unittest

import harness
from harness import ANY, HTTP, HTTPS, Client, Origin, Proxy, ask, echo, http, policy, port_of, raw, rule, status_of
from gi.repository import Gio, GLib, GObject, Prism

import taptest


class Base(unittest.TestCase):
    def setUp(self):
        self.proxy = Proxy()
        self.addCleanup(self.proxy.stop)

    def origin(self, serve=None, **about):
        origin = Origin(serve or http(), **about)
        self.addCleanup(origin.close)
        return origin

    def get(self, listener, place, *more):
        lines = [f'GET http://{place}/ HTTP/1.1', f'Host: {place}', 'Connection: close', *more, '', '']
        return status_of(ask(listener, '\r\n'.join(lines)))

    def connect(self, listener, place):
        with Client(listener) as client:
            return client.connect(place)


class Names(Base):
    def test_e_name_1(self):
        """E-NAME-1: one form of a name: a final dot and capitals change nothing, two dots are a 400"""
        origin = self.origin()
        listener = self.proxy.listen(('good.test', origin.port))
        for host in ['good.test', 'GOOD.test', 'good.test.', 'gOOd.TEST.']:
            self.assertEqual((host, self.get(listener, f'{host}:{origin.port}')), (host, 200))
            self.assertEqual(self.connect(listener, f'{host}:{origin.port}'), 200)
        for host in ['EVIL.test', 'evil.test.', 'eViL.TEST']:
            self.assertEqual((host, self.get(listener, f'{host}:{origin.port}')), (host, 403))
            self.assertEqual(self.connect(listener, f'{host}:{origin.port}'), 403)
        self.assertEqual(self.get(listener, f'good.test..:{origin.port}'), 400)
        self.proxy.record(number=10)
        self.assertLessEqual({r.get_host() for r in self.proxy.records if r.get_decision() == Prism.AuditDecision.ALLOW}, {'good.test'})
        self.assertTrue(all(head.startswith(f'GET / HTTP/1.1\r\nHost: good.test:{origin.port}\r\n'.encode()) for head, _ in origin.got))

    def test_e_name_2(self):
        """E-NAME-2: brackets are for IPv6 only"""
        listener = self.proxy.listen(('good.test',), ('evil.test',), ('::1',))
        for place in ['[good.test]:8443', '[evil.test]:8080', '[::1', '[::1]x:80', '[]:80', '[127.0.0.1]:80']:
            self.assertEqual((place, self.get(listener, place)), (place, 400))
            self.assertEqual((place, self.connect(listener, place)), (place, 400))
        answer = ask(listener, 'GET http://good.test/ HTTP/1.1\r\nHost: [good.test]\r\n\r\n')
        self.assertEqual(status_of(answer), 400)
        self.assertEqual(self.proxy.names.asked, [])
        self.proxy.record(lambda r: r.get_reason_id() == 'malformed', 12)

    def test_e_name_3(self):
        """E-NAME-3: an exact rule is for one host, and labels have borders"""
        listener = self.proxy.listen(('good.test', 80))
        for host, status in [('notgood.test', 403), ('good.test.evil.test', 403), ('sub.good.test', 403), ('good.test%2eevil.test', 400)]:
            self.assertEqual((host, self.get(listener, host)), (host, status))
        self.assertEqual(status_of(ask(listener, 'GET http://good.test evil.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n')), 400)
        origin = self.origin()
        wide = self.proxy.listen(('.good.test', origin.port))
        self.proxy.names.table['a.good.test'] = ['127.0.0.1']
        for host, status in [('good.test', 200), ('a.good.test', 200), ('notgood.test', 403)]:
            self.assertEqual((host, self.get(wide, f'{host}:{origin.port}')), (host, status))

    def test_e_name_4(self):
        """E-NAME-4: names that are not ASCII, and user names, are refused and not written down"""
        listener = self.proxy.listen(('xn--bcher-kva.test',), ('good.test',))
        for place in ['bücher.test', 'ｇｏｏｄ.test', 'good。test', 'go\u00adod.test', 'user:pa55word@127.0.0.1:8080', 'good.test:80@evil.test', 'evil.test\\@good.test']:
            self.assertEqual((place, self.get(listener, place)), (place, 400))
        self.proxy.record(number=6)
        self.assertNotIn('pa55word', ''.join(r.to_json() for r in self.proxy.records))

    def test_e_port_1(self):
        """E-PORT-1: a port is 1 to 65535 in plain decimal"""
        listener = self.proxy.listen(('good.test',))
        for port in ['0', '65616', '4294967376', '+80', '080', '80x', '', '-1', '65536', '80 ', '８０']:
            self.assertEqual((port, self.connect(listener, f'good.test:{port}')), (port, 400))
            self.assertEqual((port, self.get(listener, f'good.test:{port}')), (port, 400))
        self.assertEqual(self.connect(listener, 'good.test'), 400)


class Addresses(Base):
    def test_e_addr_1(self):
        """E-ADDR-1: an address is what its bytes are, and its class is said"""
        hosts = ['::ffff:127.0.0.1', '::FFFF:7f00:1', '::127.0.0.1', '0:0:0:0:0:ffff:a9fe:a9fe', '::1', 'fe80::1', '64:ff9b::7f00:1']
        listener = self.proxy.listen(*[rule(h, 0, ANY, 0) for h in hosts], *[rule(f'n{i}.test', 0, ANY, 0) for i in range(len(hosts))])
        for i, host in enumerate(hosts):
            self.assertEqual((host, self.get(listener, f'[{host}]:8080')), (host, 403))
            self.proxy.names.table[f'n{i}.test'] = [host]
            answer = ask(listener, f'GET http://n{i}.test/ HTTP/1.1\r\nHost: n{i}.test\r\n\r\n')
            self.assertEqual((host, status_of(answer)), (host, 403))
            self.assertRegex(answer, rb'is an? (loopback|link-local|metadata|translated) address')
        self.assertEqual(self.get(listener, '[fe80::1%25lo]:8080'), 400)

    def test_e_addr_3(self):
        """E-ADDR-3: numbers that only some programs read as addresses are refused"""
        listener = self.proxy.listen(('good.test',))
        for host in ['2130706433', '0177.0.0.1', '0x7f.1', '127.1', '0x7f000001', '010.0.0.1', '1.2.3.4.5']:
            self.assertEqual((host, self.get(listener, host)), (host, 400))
            self.assertEqual((host, self.connect(listener, f'{host}:443')), (host, 400))
        with self.assertRaises(GLib.Error):
            rule('0x7f.1')

    def test_e_addr_4(self):
        """E-ADDR-4: addresses that lead here or to secrets are refused, this machine's own too"""
        hits = self.origin(address='0.0.0.0')
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            own.connect(('192.0.2.1', 9))
            mine = [own.getsockname()[0]]
        except OSError:
            mine = []
        finally:
            own.close()
        listener = self.proxy.listen(rule('n.test', 0, ANY, 0))
        for address in ['0.0.0.0', '::', '100.64.0.1', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254',
                        '255.255.255.255', '224.0.0.1', '169.254.169.254', *mine]:
            self.proxy.names.table['n.test'] = [address]
            self.assertEqual((address, self.get(listener, f'n.test:{hits.port}')), (address, 403))
        private = self.proxy.listen(('n.test',))
        for address in ['0.0.0.0', '::', '255.255.255.255', '224.0.0.1', '169.254.169.254', 'fd00:ec2::254']:
            self.proxy.names.table['n.test'] = [address]
            self.assertEqual((address, self.get(private, f'n.test:{hits.port}')), (address, 403))
        self.assertEqual(hits.connections, 0)

    def test_e_dns_1(self):
        """E-DNS-1: a name that leads elsewhere the second time is asked once a connection"""
        right, wrong = self.origin(address='127.0.0.2'), self.origin(address='127.0.0.1')
        wrong.close()
        wrong = Origin(http(), address='127.0.0.3')
        self.addCleanup(wrong.close)
        turns = iter(range(10 ** 6))
        self.proxy.names.table['n.test'] = lambda: ['127.0.0.2' if next(turns) % 2 == 0 else '10.9.9.9']
        listener = self.proxy.listen(('n.test', right.port))
        for i in range(100):
            # Every second connection is told the other address: it goes there, or nowhere.
            if i % 2 == 0:
                self.assertEqual(self.get(listener, f'n.test:{right.port}'), 200)
            else:
                next(turns)
        self.assertEqual(len(self.proxy.names.asked), 50)
        self.assertEqual((right.connections, wrong.connections), (50, 0))


class Framing(Base):
    def test_e_http_1(self):
        """E-HTTP-1: a message of two lengths is a 400, and nothing goes up"""
        origin = self.origin()
        listener = self.proxy.listen(('good.test', origin.port))
        start = f'POST http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n'
        for framing in ['Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', 'Content-Length: 5\r\nContent-Length: 6\r\n',
                        'Content-Length: +5\r\n', 'Content-Length: 5, 5\r\n', 'Content-Length: 5,6\r\n',
                        'Transfer-Encoding: chunked, identity\r\n', 'Transfer-Encoding: \tchunked,\r\n']:
            answer = ask(listener, start + framing + '\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')
            self.assertEqual((framing, status_of(answer), answer.count(b'HTTP/1.1 ')), (framing, 400, 1))
        self.assertEqual(origin.connections, 0)

    def test_e_http_3(self):
        """E-HTTP-3: chunks are read strictly, in both directions, and both sides are closed"""
        bad = ['5\nhello\r\n0\r\n\r\n', '5;ext\nhello\r\n0\r\n\r\n', '5\r\nhelloX\r\n0\r\n\r\n', 'FFFFFFFFFFFFFFFF\r\nx',
               '0x5\r\nhello\r\n0\r\n\r\n', '5 \r\nhello\r\n0\r\n\r\n', '-1\r\n\r\n', '5\r\nhello\r\n0\r\nHost evil.test\r\n\r\n']
        got = []

        def serve(origin, peer):
            head, rest = harness.read_head(peer)
            got.append(rest + harness.read_all(peer))

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test',))
        start = f'POST http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\nTransfer-Encoding: chunked\r\n\r\n'
        for body in bad:
            answer = ask(listener, start + body)
            self.assertEqual((body, status_of(answer)), (body, 400))
        for body in bad:
            origin = self.origin(raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' + body.encode()))
            answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
            self.assertFalse(answer.endswith(b'0\r\n\r\n'), body)
        with Client(listener) as client:
            trailers = self.origin(raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nHost: evil.test\r\n\r\n'))
            client.send(f'GET http://good.test:{trailers.port}/ HTTP/1.1\r\nHost: good.test:{trailers.port}\r\n\r\n')
            self.assertEqual(client.answer(), (200, b'hi'))

    def test_e_http_4(self):
        """E-HTTP-4: what is asked for is one place, and it is not the proxy"""
        origin = self.origin()
        port = origin.port
        listener = self.proxy.listen(('good.test',), ('evil.test',))
        for request in [f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n',
                        f'GET http://good.test:{port}/ HTTP/1.1\r\n\r\n',
                        f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:{port}\r\nHost: good.test:{port}\r\n\r\n',
                        f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:81\r\n\r\n',
                        f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test\r\n\r\n',
                        f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: \r\n\r\n',
                        f'GET http://good.test:{port}/#x HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n',
                        f'OPTIONS * HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n',
                        f'CONNECT good.test:{port} HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n',
                        f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port_of(listener)}\r\n\r\n']:
            self.assertEqual((request, status_of(ask(listener, request))), (request, 400))
        self.assertEqual(origin.connections, 0)

    def test_e_http_7(self):
        """E-HTTP-7: nothing becomes a second header; escapes stay what they are"""
        origin = self.origin()
        listener = self.proxy.listen(('good.test',))
        url, host = f'http://good.test:{origin.port}/', f'Host: good.test:{origin.port}\r\n'
        for head, status in [(f'GET {url} HTTP/1.1\r\n{host}A: b\rX: 1\r\n\r\n', 400), (f'GET {url} HTTP/1.1\r\n{host}A: b\r\n c\r\n\r\n', 400),
                             (f'GET {url} HTTP/1.1\r\n{host}A : b\r\n\r\n', 400), (f'GET {url} HTTP/1.1\r\n{host}Ab\r\n\r\n', 400),
                             (f'GET {url} HTTP/1.1\r\n{host}A: \0\r\n\r\n', 400), (f'GET {url} HTTP/1.1\r\n{host}A: {"b" * 70000}\r\n\r\n', 431),
                             (f'GET {url} HTTP/1.1\r\n{host}' + 'A: b\r\n' * 2000 + '\r\n', 431)]:
            self.assertEqual((head[:120], status_of(ask(listener, head))), (head[:120], status))
        self.assertEqual(origin.connections, 0)
        with Client(listener) as client:
            self.assertEqual(client.get(f'{url}%0d%0aX:%201')[0], 200)
        self.assertTrue(origin.got[0][0].startswith(b'GET /%0d%0aX:%201 HTTP/1.1\r\n'))

    def test_e_tcp_4(self):
        """E-TCP-4: 100-continue, HEAD, 204, 304, HTTP/1.0 and answers without a length"""
        def serve(origin, peer):
            rest = b''
            while True:
                head, rest = harness.read_head(peer, rest)
                if not head.endswith(b'\r\n\r\n'):
                    return
                path = head.split(b' ')[1]
                if path == b'/100':
                    peer.sendall(b'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n')
                    body = harness.body_of(head, peer, rest)
                    rest = b''
                    peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s' % (len(str(len(body))), str(len(body)).encode()))
                elif path == b'/417':
                    peer.sendall(b'HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno')
                elif path == b'/head':
                    peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n')
                elif path == b'/304':
                    peer.sendall(b'HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n')
                elif path == b'/stray':
                    peer.sendall(b'HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil')
                elif path == b'/close':
                    peer.sendall(b'HTTP/1.0 200 OK\r\n\r\nto the end')
                    return
                else:
                    peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext')

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test',))
        url, host = f'http://good.test:{origin.port}', f'Host: good.test:{origin.port}'
        big = b'x' * 2000000
        with Client(listener) as client:
            client.send(f'PUT {url}/100 HTTP/1.1\r\n{host}\r\nExpect: 100-continue\r\nContent-Length: {len(big)}\r\n\r\n')
            self.assertTrue(client.head().startswith(b'HTTP/1.1 103'))
            self.assertTrue(client.head().startswith(b'HTTP/1.1 100'))
            client.send(big)
            self.assertEqual(client.answer(), (200, b'2000000'))
            client.send(f'HEAD {url}/head HTTP/1.1\r\n{host}\r\n\r\n')
            self.assertIn(b'Content-Length: 500', client.head())
            client.send(f'GET {url}/304 HTTP/1.1\r\n{host}\r\n\r\n')
            self.assertTrue(client.head().startswith(b'HTTP/1.1 304'))
            self.assertEqual(client.get(f'{url}/'), (200, b'next'))
            client.send(f'GET {url}/stray HTTP/1.1\r\n{host}\r\n\r\n')
            self.assertTrue(client.head().startswith(b'HTTP/1.1 304'))
            self.assertEqual(client.get(f'{url}/'), (200, b'next'))
            client.send(f'PUT {url}/417 HTTP/1.1\r\n{host}\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
            self.assertEqual(client.answer(), (417, b'no'))
            self.assertTrue(client.closed())
        self.assertTrue(ask(listener, f'GET {url}/close HTTP/1.1\r\n{host}\r\n\r\n').endswith(b'\r\n\r\nto the end'))
        with Client(listener) as client:
            for _ in range(2):
                client.send(f'GET {url}/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
                self.assertEqual(client.answer(), (200, b'next'))
        self.assertTrue(ask(listener, f'GET {url}/ HTTP/1.0\r\n\r\n').endswith(b'next'))

    def test_pipelined(self):
        """requests that come at once are answered in order, however they are cut"""
        origin = self.origin(http(lambda head, body: head.split(b' ')[1]))
        listener = self.proxy.listen(('good.test',))
        many = b''.join(f'GET http://good.test:{origin.port}/{i} HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n'.encode() for i in range(50))
        for step in 1, 7, 100, len(many):
            with Client(listener) as client:
                for at in range(0, len(many), step):
                    client.send(many[at:at + step])
                bodies, data = [], b''
                while len(bodies) < 50:
                    head, data = harness.read_head(client.socket, data)
                    length = int(harness.header(head, 'content-length'))
                    data = harness.read_exactly(client.socket, length, data) if len(data) < length else data
                    bodies.append(data[:length])
                    data = data[length:]
            self.assertEqual(bodies, [b'/%d' % i for i in range(50)])

    def test_half_closed(self):
        """a client that ends its half behind a large body, with a slow origin, loses nothing"""
        read = threading.Event()

        def serve(origin, peer):
            _, data = harness.read_head(peer)
            read.wait(harness.DEADLINE)
            count, end = data.count(b'x'), data[-5:]
            while count < 8000000 or (origin.chunked and end != b'0\r\n\r\n'):
                data = peer.recv(1 << 18)
                if not data:
                    break
                count, end = count + data.count(b'x'), (end + data)[-5:]
            peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d' % (len(str(count)), count))

        for chunked in False, True:
            read.clear()
            origin = self.origin(serve)
            origin.chunked = chunked
            listener = self.proxy.listen(('good.test', origin.port))
            body = b'x' * 8000000
            framing = b'Transfer-Encoding: chunked' if chunked else b'Content-Length: %d' % len(body)
            sent = b'%x\r\n%s\r\n0\r\n\r\n' % (len(body), body) if chunked else body
            with Client(listener) as client:
                threading.Timer(0.3, read.set).start()
                client.send(f'PUT http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n'.encode() + framing + b'\r\n\r\n' + sent)
                client.socket.shutdown(socket.SHUT_WR)
                self.assertEqual(client.answer(), (200, b'8000000'))

    def test_kept_upstream(self):
        """an upstream that ended a kept connection is dialled again"""
        def serve(origin, peer):
            origin.got.append(harness.read_head(peer))
            peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test',))
        with Client(listener) as client:
            for _ in range(20):
                self.assertEqual(client.get(f'http://good.test:{origin.port}/'), (200, b'hi'))


class Tunnels(Base):
    def tunnel(self, listener, port):
        client = Client(listener)
        self.addCleanup(client.close)
        self.assertEqual(client.connect(f'good.test:{port}'), 200)
        return client

    def test_e_tcp_2(self):
        """E-TCP-2: half a tunnel is closed, and the other half loses nothing"""
        big = os.urandom(5 << 20)

        def serve(origin, peer):
            origin.got.append(harness.read_all(peer))
            peer.sendall(big)

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test', origin.port))
        client = self.tunnel(listener, origin.port)
        client.send(b'question')
        client.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(harness.read_all(client.socket), big)
        self.assertEqual(origin.got, [b'question'])

        def mirror(origin, peer):
            peer.sendall(b'banner')
            peer.shutdown(socket.SHUT_WR)
            origin.got.append(harness.read_all(peer))

        origin = self.origin(mirror)
        client = self.tunnel(self.proxy.listen(('good.test', origin.port), check_server_name=False), origin.port)
        self.assertEqual(client.rest + harness.read_all(client.socket), b'banner')
        client.send(big)
        client.socket.shutdown(socket.SHUT_WR)
        harness.until(lambda: origin.got, 'the upstream had all')
        self.assertEqual(hashlib.sha256(origin.got[0]).digest(), hashlib.sha256(big).digest())
        self.proxy.record(lambda r: r.get_bytes_sent() == len(big) and r.get_bytes_received() == 6)

    def test_e_tcp_3(self):
        """E-TCP-3: what came with the head, what a slow reader has not read, what came before a reset"""
        early, late = os.urandom(65536), os.urandom(1 << 20)

        def serve(origin, peer):
            data = harness.read_exactly(peer, len(early))
            origin.got.append(data)
            peer.sendall(late)
            if origin.reset:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                origin.sent.wait(harness.DEADLINE)

        for reset in False, True:
            origin = self.origin(serve)
            origin.reset, origin.sent = reset, threading.Event()
            listener = self.proxy.listen(('good.test', origin.port))
            with Client(listener) as client:
                client.send(f'CONNECT good.test:{origin.port} HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n'.encode() + early)
                client.head()
                got = client.rest
                if reset:
                    # The reset comes when everything is on its way.
                    got = harness.read_exactly(client.socket, len(late) - 10, got)
                    origin.sent.set()
                try:
                    got += harness.read_all(client.socket)
                except ConnectionResetError:
                    pass
                self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(late).digest())
            self.assertEqual(origin.got, [early])
            self.proxy.record(lambda r: r.get_port() == origin.port and r.get_bytes_received() == len(late) and r.get_bytes_sent() == len(early))

    def test_no_truncation(self):
        """100 transfers whose upstream closes after its last byte are whole"""
        big = os.urandom(1 << 20) * 4
        digest = hashlib.sha256(big).digest()

        def serve(origin, peer):
            peer.recv(1)
            peer.sendall(big)

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test', origin.port))
        whole = []

        def one():
            for _ in range(25):
                with Client(listener) as client:
                    client.connect(f'good.test:{origin.port}')
                    client.send(b'x')
                    whole.append(hashlib.sha256(client.rest + harness.read_all(client.socket)).digest() == digest)

        threads = [threading.Thread(target=one) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(whole), whole.count(True)), (100, 100))

    def test_fast_then_silent(self):
        """a stream at full speed that pauses: what it said last arrives all the same, both ways"""
        block, tail = bytes(1 << 20), b'and this is all'

        def serve(origin, peer):
            for _ in range(8):
                for _ in range(24):
                    peer.sendall(block)
                peer.sendall(tail)
                if harness.read_exactly(peer, 24 * len(block) + len(tail))[-len(tail):] != tail:
                    return
            peer.sendall(b'whole')

        origin = self.origin(serve)
        client = self.tunnel(self.proxy.listen(('good.test', origin.port)), origin.port)
        for _ in range(8):
            got = harness.read_exactly(client.socket, 24 * len(block) + len(tail), client.rest)
            client.rest = b''
            self.assertTrue(got.endswith(tail))
            for _ in range(24):
                client.send(block)
            client.send(tail)
        self.assertEqual(harness.read_exactly(client.socket, 5), b'whole')

    def test_e_tcp_1(self):
        """E-TCP-1: slow peers are cut, and stand in nobody's way meanwhile"""
        origin = self.origin()
        silent = self.origin(lambda origin, peer: peer.recv(1))
        listener = self.proxy.listen(('good.test', origin.port), ('good.test', silent.port, HTTPS), request_head_ms=5000)
        slow = [Client(listener) for _ in range(300)]
        for client in slow:
            client.send('G')
        held = [Client(listener) for _ in range(50)]
        for client in held:
            self.assertEqual(client.connect(f'good.test:{silent.port}'), 200)
        start = time.monotonic()
        self.assertEqual(self.get(listener, f'good.test:{origin.port}'), 200)
        self.assertLess(time.monotonic() - start, 4.5)  # not after the slow ones were cut
        for client in slow:
            self.assertEqual(client.answer()[0], 408)
            client.close()
        for client in held:
            self.assertTrue(client.closed())
            client.close()
        harness.until(lambda: self.proxy.proxy.dup_stats(listener).get_active_connections() == 0)
        # Slow and steady is neither.
        steady = self.origin(http(lambda head, body: str(len(body)).encode()))
        listener = self.proxy.listen(('good.test', steady.port), request_head_ms=1000)
        with Client(listener) as client:
            client.send(f'PUT http://good.test:{steady.port}/ HTTP/1.1\r\nHost: good.test:{steady.port}\r\nContent-Length: 20\r\n\r\n')
            for _ in range(20):
                client.send(b'x')
                time.sleep(0.07)
            self.assertEqual(client.answer(), (200, b'20'))

    def test_queue(self):
        """four times as many requests as may be under way wait; more are a 503"""
        gate = threading.Event()

        def serve(origin, peer):
            harness.read_head(peer)
            gate.wait(harness.DEADLINE)
            peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test', origin.port), concurrent_connections=2)
        clients = [Client(listener) for _ in range(11)]
        for client in clients:
            client.send(f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.proxy.record(lambda r: r.get_reason_id() == 'concurrent-connections')
        gate.set()
        statuses = []
        for client in clients:
            statuses.append(client.answer()[0])
            client.close()
        self.assertEqual(sorted(statuses), [200] * 10 + [503])
        self.assertLessEqual(origin.connections, 10)


class Changes(Base):
    def test_e_live_1(self):
        """E-LIVE-1: a new policy holds at once, cuts what it does not allow, and says its number"""
        origin, other = self.origin(echo), self.origin(echo)
        plain = self.origin()
        listener = self.proxy.listen(('good.test', origin.port), ('good.test', other.port), ('good.test', plain.port))
        cut, kept, idle = Client(listener), Client(listener), Client(listener)
        self.assertEqual((cut.connect(f'good.test:{origin.port}'), kept.connect(f'good.test:{other.port}')), (200, 200))
        for client in cut, kept:
            client.send(b'x')
            self.assertEqual(client.socket.recv(1), b'x')
        self.assertEqual(idle.get(f'http://good.test:{plain.port}/')[0], 200)
        self.proxy.proxy.set_policy(listener, policy(('good.test', other.port)), None)
        self.assertTrue(cut.closed())
        kept.send(b'y')
        self.assertEqual(kept.socket.recv(1), b'y')
        self.assertEqual(idle.get(f'http://good.test:{plain.port}/')[0], 403)
        record = self.proxy.record(lambda r: r.get_reason_id() == 'policy-changed')
        self.assertEqual((record.get_decision(), record.get_bytes_sent()), (Prism.AuditDecision.DENY, 1))
        self.assertEqual(self.proxy.record(lambda r: r.get_reason_id() == 'no-rule').get_policy_version(), 1)
        self.proxy.proxy.set_policy(listener, policy(('good.test', plain.port)), None)
        self.assertTrue(kept.closed())
        self.assertEqual(self.get(listener, f'good.test:{plain.port}'), 200)
        with self.assertRaises(GLib.Error):
            self.proxy.proxy.set_policy(listener, Prism.EgressPolicy.new_static([f'http://h{i}.test' for i in range(70000)]), None)
        self.assertEqual(self.get(listener, f'good.test:{plain.port}'), 200)
        for client in cut, kept, idle:
            client.close()

    def test_many_changes(self):
        """E-LIVE-1: 1,000 changes under load lose nothing"""
        origin = self.origin()
        listener = self.proxy.listen(('good.test', origin.port))
        narrow, wide = policy(('evil.test', 1)), policy(('good.test', origin.port))
        end, seen = threading.Event(), set()

        def load():
            while not end.is_set():
                with Client(listener) as client:
                    for _ in range(20):
                        try:
                            status = client.get(f'http://good.test:{origin.port}/')[0]
                        except ConnectionResetError:
                            break
                        seen.add(status)
                        if status != 200:
                            break

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(1000):
            self.proxy.proxy.set_policy(listener, wide if i % 2 else narrow, None)
        end.set()
        for thread in threads:
            thread.join()
        self.assertLessEqual(seen, {0, 200, 403})
        self.assertEqual(self.get(listener, f'good.test:{origin.port}'), 200)
        self.assertEqual(listener.props.policy_version, 1000)

    def test_resolver_policy(self):
        """a policy that is asked for: each request by the rules of now, and failure denies"""
        origin = self.origin()
        state = {'rules': [f'http://good.test:{origin.port}']}

        class Rules(GObject.Object, Prism.EgressResolver):
            def do_resolve(self, operation):
                if state['rules'] is None:
                    raise RuntimeError('no database')
                operation.complete(state['rules'])

        context = GLib.MainContext.default()
        end = threading.Event()
        rules = Rules()
        listener = self.proxy.listen(Prism.EgressPolicy.new_resolver(rules))
        statuses = []

        def load():
            statuses.append(self.get(listener, f'good.test:{origin.port}'))
            statuses.append(self.get(listener, f'evil.test:{origin.port}'))
            end.set()
            context.wakeup()

        threading.Thread(target=load).start()
        while not end.is_set():
            context.iteration(True)
        # The rule has no allow-private: it is asked, and the address is refused.
        self.assertEqual(statuses, [403, 403])
        self.proxy.record(lambda r: r.get_reason_id() == 'address')
        self.proxy.record(lambda r: r.get_reason_id() == 'no-rule')

    def test_restart(self):
        """a proxy that is stopped ends its connections, and can be started again"""
        origin = self.origin(echo)
        listener = self.proxy.listen(('good.test', origin.port))
        with Client(listener) as client:
            client.connect(f'good.test:{origin.port}')
            client.send(b'x')
            self.assertEqual(client.socket.recv(1), b'x')
            self.proxy.proxy.stop(None)
            self.assertTrue(client.closed())
        self.assertIsNone(listener.dup_endpoint())
        self.proxy.record(lambda r: r.get_reason_id() == 'stopped')
        self.proxy.proxy.start(None)
        again = self.proxy.listen(('good.test', origin.port))
        self.assertEqual(self.connect(again, f'good.test:{origin.port}'), 200)

    def test_places(self):
        """a Unix socket and a socket that was given are listened on like any other"""
        origin = self.origin()
        path = f'/tmp/prism-egress-{os.getpid()}.sock'
        for _ in range(2):
            listener = Prism.EgressListener.new_for_address(Gio.UnixSocketAddress.new(path), policy(('good.test',)))
            self.proxy.proxy.add_listener(listener, None)
            self.assertEqual(listener.dup_endpoint(), f'unix:{path}')
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(path)
                peer.sendall(f'GET http://good.test:{origin.port}/ HTTP/1.0\r\n\r\n'.encode())
                self.assertEqual(status_of(harness.read_all(peer)), 200)
            self.proxy.proxy.remove_listener(listener, None)
            self.assertFalse(os.path.exists(path))
        given = socket.socket()
        given.bind(('127.0.0.1', 0))
        given.listen(1)
        listener = Prism.EgressListener.new_for_socket(Gio.Socket.new_from_fd(os.dup(given.fileno())), policy(('good.test',)))
        listener.props.label = 'sandbox-1'
        self.proxy.proxy.add_listener(listener, None)
        self.assertEqual(port_of(listener), given.getsockname()[1])
        self.assertEqual(self.get(listener, f'good.test:{origin.port}'), 200)
        self.assertEqual(self.proxy.record(lambda r: r.get_sandbox_id() == 'sandbox-1').get_decision(), Prism.AuditDecision.ALLOW)
        given.close()

    def test_parent(self):
        """a parent proxy is gone through; names are its to resolve, and the record says so"""
        authority = harness.Authority()
        self.addCleanup(authority.folder.cleanup)
        plain, secure = self.origin(), self.origin(context=authority.server('good.test'))
        parent = self.proxy.listen(('good.test', plain.port), ('good.test', secure.port))
        child = Proxy(parent_proxy=parent.dup_endpoint(), trust_file=authority.path('ca.pem'))
        self.addCleanup(child.stop)
        child.names.table.clear()
        listener = child.listen(('good.test', plain.port), ('good.test', secure.port, ANY, harness.PRIVATE | harness.UPGRADE),
                                ('evil.test',), rule('127.0.0.1', 0, ANY, 0))
        with Client(listener) as client:
            for _ in range(2):
                self.assertEqual(client.get(f'http://good.test:{plain.port}/'), (200, b'hello'))
            self.assertEqual(client.get(f'http://good.test:{secure.port}/'), (200, b'hello'))
        with Client(listener) as client:
            self.assertEqual(client.connect(f'good.test:{secure.port}'), 200)
            with authority.client().wrap_socket(client.socket, server_hostname='good.test') as tls:
                tls.sendall(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
                self.assertTrue(tls.recv(100).startswith(b'HTTP/1.1 200'))
        self.assertEqual(self.connect(listener, 'evil.test:443'), 502)
        self.assertEqual(self.get(listener, f'127.0.0.1:{plain.port}'), 403)
        self.assertEqual(child.names.asked, [])
        child.record(lambda r: r.get_reason_id() == 'unscreened', 3)
        with self.assertRaises(GLib.Error):
            Proxy(parent_proxy='ftp://x').listen(('good.test',))

    def test_attestation(self):
        """an attestation says what is in force, signed if there is a key"""
        import subprocess
        key = subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519'], check=True, capture_output=True, text=True).stdout
        public = subprocess.run(['openssl', 'pkey', '-pubout'], input=key, check=True, capture_output=True, text=True).stdout
        listener = self.proxy.listen(('good.test', 443, HTTPS, 0), deny_direct_egress=True)
        plain = self.proxy.proxy.attest(listener)
        self.assertIsNone(plain.get_signature())
        self.proxy.proxy.set_property('attest-key', key)
        signed = self.proxy.proxy.attest(listener)
        self.assertTrue(signed.verify(public))
        self.assertEqual(signed.get_policy_fingerprint(), listener.props.policy.get_fingerprint())
        self.assertEqual(signed.get_proxy_endpoint(), listener.dup_endpoint())
        self.assertTrue(signed.get_deny_direct_egress())


if __name__ == '__main__':
    taptest.main()
