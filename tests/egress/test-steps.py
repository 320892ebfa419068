# SPDX-License-Identifier: LGPL-2.1-or-later
"""The contract's steps of a plain request and of CONNECT, one after the other."""
import socket
import unittest

import harness
from harness import ANY, HTTP, HTTPS, UPGRADE, Client, Origin, Proxy, ask, echo, header, http, policy, port_of, raw, rule, status_of
from gi.repository import Gio, Prism

import taptest


class Plain(unittest.TestCase):
    """Plain HTTP."""

    def setUp(self):
        self.proxy = Proxy()
        self.addCleanup(self.proxy.stop)

    def origin(self, serve, **about):
        origin = Origin(serve, **about)
        self.addCleanup(origin.close)
        return origin

    def test_target(self):
        """1: absolute form, else Host; port 80; malformed is a 400 POLICY"""
        origin = self.origin(http())
        listener = self.proxy.listen(('good.test', origin.port))
        with Client(listener) as client:
            self.assertEqual(client.get(f'http://good.test:{origin.port}/a?b'), (200, b'hello'))
            client.send(f'GET /c HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
            self.assertEqual(client.answer(), (200, b'hello'))
        lines = [head.split(b'\r\n')[0] for head, _ in origin.got]
        self.assertEqual(lines, [b'GET /a?b HTTP/1.1', b'GET /c HTTP/1.1'])
        answer = ask(listener, 'GET nonsense HTTP/1.1\r\nHost: a\r\n\r\n')
        self.assertEqual(status_of(answer), 400)
        self.assertIn(b'ERR_PRISM_EGRESS_POLICY: ', answer)
        self.assertIn(b'http://good.test:80', ask(listener, 'GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n'))

    def test_loop(self):
        """2: the proxy itself is never asked, at none of its names, not after DNS either"""
        listener = self.proxy.listen(('127.0.0.1',), ('localhost',), ('self.test',), ('::1',), ('127.0.0.9',))
        self.proxy.names.table['self.test'] = ['127.0.0.1']
        port = port_of(listener)
        for host in ['127.0.0.1', 'localhost', 'LOCALHOST.', '[::1]', '[::ffff:127.0.0.1]', '127.0.0.9']:
            answer = ask(listener, f'GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n')
            self.assertEqual((host, status_of(answer)), (host, 400))
            self.assertEqual(status_of(ask(listener, f'CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n')), 400)
        self.assertEqual(status_of(ask(listener, f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n')), 400)
        answer = ask(listener, f'GET http://self.test:{port}/ HTTP/1.1\r\nHost: self.test:{port}\r\n\r\n')
        self.assertEqual(status_of(answer), 403)
        self.assertIn(b'this proxy itself', answer)
        other = self.proxy.listen(('127.0.0.1',))
        self.assertEqual(status_of(ask(other, f'CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n')), 400)

    def test_rule_before_name(self):
        """3: without a rule no name is asked for; the answer names the place and the option"""
        listener = self.proxy.listen(('good.test', 80))
        answer = ask(listener, 'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')
        self.assertEqual(status_of(answer), 403)
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED: no rule allows http://evil.test:80', answer)
        self.assertIn(b'--allow http://evil.test:80', answer)
        body = answer.split(b'\r\n\r\n')[1]
        self.assertEqual(body.count(b'\n'), 1)
        self.assertEqual(self.proxy.names.asked, [])
        record = self.proxy.record()
        self.assertEqual((record.get_decision(), record.get_host(), record.get_port(), record.get_reason_id()),
                         (Prism.AuditDecision.DENY, 'evil.test', 80, 'no-rule'))
        self.assertEqual(self.proxy.proxy.dup_stats(listener).get_denied(), 1)

    def test_literal(self):
        """4: an address that is not public needs allow-private"""
        listener = self.proxy.listen(rule('127.0.0.1', 0, ANY, 0), rule('10.1.2.3', 0, ANY, 0), credentials=[('127.0.0.1', 'A', 'b')])
        for host in ['127.0.0.1', '10.1.2.3']:
            answer = ask(listener, f'GET http://{host}:8080/ HTTP/1.1\r\nHost: {host}:8080\r\n\r\n')
            self.assertEqual(status_of(answer), 403)
            self.assertIn(b'ERR_PRISM_EGRESS_DNS: ', answer)
            self.assertIn(b'--allow-private', answer)

    def test_name(self):
        """5, 6: one look-up a connection, all answers screened, failure is a 502"""
        origin = self.origin(http())
        self.proxy.names.table.update({'mixed.test': ['127.0.0.1', '0.0.0.0'], 'public.test': ['127.0.0.1']})
        listener = self.proxy.listen(('good.test',), ('mixed.test',), rule('public.test', 0, ANY, 0), ('gone.test',))
        with Client(listener) as client:
            for _ in range(3):
                self.assertEqual(client.get(f'http://good.test:{origin.port}/')[0], 200)
        self.assertEqual(self.proxy.names.asked, ['good.test'])
        for host, status, reason in [('mixed.test', 403, 'address'), ('public.test', 403, 'address'), ('gone.test', 502, 'dns')]:
            answer = ask(listener, f'GET http://{host}:{origin.port}/ HTTP/1.1\r\nHost: {host}:{origin.port}\r\n\r\n')
            self.assertEqual((host, status_of(answer)), (host, status))
            self.assertIn(b'ERR_PRISM_EGRESS_DNS: ', answer)
            self.proxy.record(lambda r: r.get_host() == host and r.get_reason_id() == reason)
        self.assertEqual(origin.connections, 1)

    def test_forward(self):
        """8: Host is ours, hop-by-hop headers end here, others stay in order"""
        origin = self.origin(http())
        listener = self.proxy.listen(('good.test',))
        with Client(listener) as client:
            client.get(f'http://GOOD.test.:{origin.port}/', 'Proxy-Authorization: Basic x', 'Proxy-Connection: keep-alive',
                       'Keep-Alive: 5', 'Connection: X-Private, keep-alive', 'X-Private: 1', 'TE: trailers',
                       'Trailer: a', 'Upgrade: h2c', 'X-One: 1', 'X-Two:  2 ')
        head, _ = origin.got[0]
        self.assertEqual(head.decode().split('\r\n'),
                         ['GET / HTTP/1.1', f'Host: good.test:{origin.port}', 'X-One: 1', 'X-Two: 2', '', ''])

    def test_bodies(self):
        """8: a body with a length or in chunks arrives whole, and the next request is the next"""
        origin = self.origin(http(lambda head, body: body))
        listener = self.proxy.listen(('good.test',))
        big = bytes(range(256)) * 4096
        url = f'http://good.test:{origin.port}/'
        with Client(listener) as client:
            start = f'POST {url} HTTP/1.1\r\nHost: good.test:{origin.port}\r\n'.encode()
            client.send(start + b'Content-Length: %d\r\n\r\n' % len(big) + big)
            self.assertEqual(client.answer(), (200, big))
            client.send(start + b'Transfer-Encoding: chunked\r\n\r\n' + b'%x;x=y\r\n' % len(big) + big + b'\r\n0\r\nT: 1\r\n\r\n')
            self.assertEqual(client.answer(), (200, big))
            self.assertEqual(client.get(url), (200, b''))
        self.assertEqual(origin.connections, 1)
        self.assertNotIn(b'T: 1', origin.got[1][0])

    def test_request_limit(self):
        """9: a request over its cap is a 413, by length and by chunks"""
        origin = self.origin(http())
        listener = self.proxy.listen(('good.test',), request_bytes=1000)
        start = f'POST http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n'.encode()
        self.assertEqual(status_of(ask(listener, start + b'Content-Length: 1001\r\n\r\n' + b'x' * 1001)), 413)
        answer = ask(listener, start + b'Transfer-Encoding: chunked\r\n\r\n3e9\r\n' + b'x' * 1001 + b'\r\n0\r\n\r\n')
        self.assertEqual(status_of(answer), 413)
        self.assertIn(b'ERR_PRISM_EGRESS_LIMIT: ', answer)
        self.assertEqual(status_of(ask(listener, start + b'Connection: close\r\nContent-Length: 1000\r\n\r\n' + b'x' * 1000)), 200)

    def test_redirects(self):
        """10: GET is followed and decided anew, secrets stay, POST is not; too many is a 502 LIMIT"""
        second = self.origin(http(b'second'))
        where = {}
        first = self.origin(http(lambda head, body: ('302 Found', b'Location: ' + where['to'].encode() + b'\r\n', b'')))
        listener = self.proxy.listen(('good.test',), ('other.test', second.port), ('127.0.0.1', second.port))
        self.proxy.names.table['other.test'] = ['127.0.0.1']
        url = f'http://good.test:{first.port}/a/b'

        def get(to, *headers, method='GET'):
            where['to'] = to
            with Client(listener) as client:
                return client.get(url, 'Authorization: secret', 'Cookie: secret', 'X-Stays: 1', *headers, method=method)

        self.assertEqual(get(f'http://other.test:{second.port}/x#f'), (200, b'second'))
        head = second.got[0][0]
        self.assertTrue(head.startswith(b'GET /x HTTP/1.1\r\nHost: other.test:'))
        self.assertNotIn(b'secret', head)
        self.assertIn(b'X-Stays', head)
        self.assertEqual(get(f'http://other.test:{second.port}/', method='POST')[0], 302)
        self.assertEqual(get(f'http://evil.test:{second.port}/')[0], 403)
        self.assertEqual(get('file:///etc/passwd')[0], 502)
        self.assertEqual(get('http://u:p@good.test/')[0], 502)
        self.assertEqual(get('https://good.test/')[0], 302)
        count = len(first.got)
        status, body = get('c')
        self.assertEqual((status, len(first.got) - count), (502, 5))
        self.assertIn(b'ERR_PRISM_EGRESS_LIMIT: ', body)
        self.assertEqual([h.split(b' ')[1] for h, _ in first.got[-4:]], [b'/a/c'] * 4)

    def test_response_limit(self):
        """11: a response over its cap is a 502 if that is known at once, else it is cut"""
        answers = {'a': b'HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n' + b'x' * 1001,
                   'b': b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n' + b'x' * 1001 + b'\r\n0\r\n\r\n',
                   'c': b'HTTP/1.1 200 OK\r\n\r\n' + b'x' * 1001}
        for name, answer in answers.items():
            origin = self.origin(raw(answer))
            listener = self.proxy.listen(('good.test',), response_bytes=1000)
            got = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
            if name == 'a':
                self.assertEqual(status_of(got), 502)
                self.assertIn(b'ERR_PRISM_EGRESS_LIMIT: ', got)
            else:
                self.assertFalse(got.endswith(b'x' * 1001) or got.endswith(b'0\r\n\r\n'))
            self.proxy.record(lambda r: r.get_port() == origin.port and r.get_reason_id() == 'response-bytes')

    def test_deadline(self):
        """12: the deadline is a 504 LIMIT, and the upstream is left"""
        gone = []

        def serve(origin, peer):
            harness.read_head(peer)
            gone.append(peer.recv(1))

        origin = self.origin(serve)
        listener = self.proxy.listen(('good.test',), transfer_time_ms=2000)
        answer = ask(listener, f'GET http://good.test:{origin.port}/ HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n')
        self.assertEqual(status_of(answer), 504)
        self.assertIn(b'ERR_PRISM_EGRESS_LIMIT: ', answer)
        harness.until(lambda: gone == [b''], 'the upstream was left')

    def test_upstream_failures(self):
        """12: no connection, no answer and a malformed one are a 502 DNS"""
        listener = self.proxy.listen(('good.test',))
        closed = socket.socket()
        closed.bind(('127.0.0.1', 0))
        self.addCleanup(closed.close)
        ports = [closed.getsockname()[1]] + [self.origin(raw(a)).port for a in [
            b'', b'garbage\r\n\r\n', b'HTTP/1.1 200 OK\nA: b\r\n\r\n', b'HTTP/1.1 101 Switching Protocols\r\n\r\n',
            b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', b'HTTP/1.1 200 OK\r\nContent-']]
        for port in ports:
            answer = ask(listener, f'GET http://good.test:{port}/ HTTP/1.1\r\nHost: good.test:{port}\r\n\r\n')
            self.assertEqual(status_of(answer), 502)
            self.assertIn(b'ERR_PRISM_EGRESS_DNS: ', answer)
            self.assertEqual(self.proxy.record(lambda r: r.get_port() == port).get_decision(), Prism.AuditDecision.ALLOW)


class Tunnels(unittest.TestCase):
    """CONNECT."""

    def setUp(self):
        self.proxy = Proxy()
        self.addCleanup(self.proxy.stop)
        self.origin = Origin(echo)
        self.addCleanup(self.origin.close)

    def test_tunnel(self):
        """bytes both ways, and a record of them at the end"""
        listener = self.proxy.listen(('good.test', self.origin.port))
        data = bytes(range(256)) * 1000
        with Client(listener) as client:
            self.assertEqual(client.connect(f'good.test:{self.origin.port}'), 200)
            client.send(data)
            self.assertEqual(harness.read_exactly(client.socket, len(data)), data)
        record = self.proxy.record()
        self.assertEqual((record.get_decision(), record.get_bytes_sent(), record.get_bytes_received(), record.get_rule()),
                         (Prism.AuditDecision.ALLOW, len(data), len(data), f'*|good.test|{self.origin.port}|1'))
        stats = self.proxy.proxy.dup_stats(listener)
        self.assertEqual((stats.get_bytes_sent(), stats.get_bytes_received(), stats.get_total_connections()),
                         (len(data), len(data), 1))

    def test_refusals(self):
        """no port or a bad one 400, no https rule 403, no name or connection 502"""
        closed = socket.socket()
        closed.bind(('127.0.0.1', 0))
        self.addCleanup(closed.close)
        listener = self.proxy.listen(('good.test', self.origin.port, HTTP), ('good.test', closed.getsockname()[1], HTTPS), ('gone.test', 443))
        for place, status in [('good.test', 400), ('good.test:', 400), ('good.test:0', 400), (f'good.test:{self.origin.port}', 403),
                              ('evil.test:443', 403), ('gone.test:443', 502), (f'good.test:{closed.getsockname()[1]}', 502)]:
            with Client(listener) as client:
                self.assertEqual((place, client.connect(place)), (place, status))

    def test_caps(self):
        """a tunnel has caps each way, and a deadline"""
        port = self.origin.port
        up = self.proxy.listen(('good.test', port), request_bytes=1000)
        with Client(up) as client:
            client.connect(f'good.test:{port}')
            client.send(b'x' * 1000)
            self.assertEqual(harness.read_exactly(client.socket, 1000), b'x' * 1000)
            client.send(b'x')
            self.assertTrue(client.closed())
        self.proxy.record(lambda r: r.get_reason_id() == 'request-bytes' and r.get_bytes_sent() == 1000)
        down = self.proxy.listen(('good.test', port), response_bytes=1000)
        with Client(down) as client:
            client.connect(f'good.test:{port}')
            client.send(b'x' * 1001)
            client.closed()
            self.assertLessEqual(len(client.rest), 1000)
        self.proxy.record(lambda r: r.get_reason_id() == 'response-bytes')
        late = self.proxy.listen(('good.test', port), transfer_time_ms=2000)
        with Client(late) as client:
            client.connect(f'good.test:{port}')
            self.assertTrue(client.closed())
        self.proxy.record(lambda r: r.get_reason_id() == 'transfer-time')

    def test_idle(self):
        """silence ends a tunnel"""
        listener = self.proxy.listen(('good.test', self.origin.port), connection_idle_ms=2000)
        with Client(listener) as client:
            client.connect(f'good.test:{self.origin.port}')
            client.send(b'x')
            self.assertEqual(client.socket.recv(1), b'x')
            self.assertTrue(client.closed())
        self.proxy.record(lambda r: r.get_reason_id() == 'idle')


if __name__ == '__main__':
    taptest.main()
