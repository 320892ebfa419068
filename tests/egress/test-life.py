# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is left of proxies and listeners that came and went: nothing. Alone in its
process, whose descriptors and threads are counted."""
import collections
import gc
import json
import os
import shutil
import tempfile
import unittest

import harness
from harness import Client, Proxy, policy, port_of
from gi.repository import Gio, GLib, Prism

import taptest


def count():
    gc.collect()
    kinds = collections.Counter()
    for fd in os.listdir('/proc/self/fd'):
        try:
            kinds[os.readlink(f'/proc/self/fd/{fd}').split(':')[0]] += 1
        except OSError:
            pass
    kinds['threads'] = len(os.listdir('/proc/self/task'))
    return kinds


class Leftovers(unittest.TestCase):
    def once(self):
        with Proxy() as proxy:
            listener = proxy.listen(('good.test',))
            with Client(listener) as client:
                client.get('http://evil.test/')
            taken = Prism.EgressListener.new_for_address(
                Gio.InetSocketAddress.new_from_string('127.0.0.1', port_of(listener)), policy())
            with self.assertRaises(GLib.Error):
                proxy.proxy.add_listener(taken, None)
            proxy.proxy.remove_listener(listener, None)
            self.assertIsNone(listener.dup_endpoint())

    def test_e_life_1(self):
        """E-LIFE-1: 100 proxies, each with a listener that failed, leave no descriptor and no thread"""
        for _ in range(3):
            self.once()
        base = count()
        for _ in range(100):
            self.once()
        harness.until(lambda: not count() - base, 'nothing is left')

    def test_last_listener(self):
        """the proxy ends with the last reference to a listener, whoever drops it"""
        base = count()
        for _ in range(20):
            proxy = Prism.Registry.get_default().create_egress_proxy('egress')
            proxy.start(None)
            listener = Prism.EgressListener.new_for_address(Gio.InetSocketAddress.new_from_string('127.0.0.1', 0), policy())
            proxy.add_listener(listener, None)
            del proxy
            gc.collect()
            with Client(listener) as client:
                self.assertEqual(client.get('http://evil.test/')[0], 403)
            del listener
            gc.collect()
        harness.until(lambda: not count() - base, 'nothing is left')


class Stuck(unittest.TestCase):
    """An audit file that cannot be written: its own listeners stand still, the others go on."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix='prism-audit-')
        self.addCleanup(shutil.rmtree, folder)
        self.path = os.path.join(folder, 'audit')

    def lines(self, fd, log):
        """Everything that comes out of the pipe until nothing waits."""
        data = b''
        while True:
            try:
                data += os.read(fd, 1 << 20)
            except BlockingIOError:
                try:
                    log.flush(0)
                    return [json.loads(line) for line in data.splitlines()]
                except GLib.Error:
                    pass

    def test_pipe_nobody_reads(self):
        """requests are refused in words, and counted; read again, every record is there, and what was refused"""
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        log, other = Prism.AuditLog.new_for_path(self.path), Prism.AuditLog.new()
        filler, filled = Prism.AuditRecord.new(Prism.AuditDecision.ALLOW, 'filler.test', 1, Prism.EgressScheme.HTTP), 0
        while log.add(filler):
            filled += 1
        with Proxy() as proxy, harness.Origin(harness.http()) as origin:
            place = f'http://good.test:{origin.port}/'
            stuck = proxy.listen(('good.test', origin.port, harness.HTTP, harness.PRIVATE), audit=log, label='stuck')
            free = proxy.listen(('good.test', origin.port, harness.HTTP, harness.PRIVATE), audit=other)
            with Client(stuck) as client:
                self.assertEqual(client.get(place)[0], 200)
            # Its record found no room: from now on nothing is let through there.
            with Client(stuck) as first, Client(stuck) as second:
                for client in (first, second):
                    client.send(f'GET {place} HTTP/1.1\r\nHost: good.test:{origin.port}\r\n\r\n'.encode())
                for _ in range(20):
                    with Client(free) as client:
                        self.assertEqual(client.get(place)[0], 200)
                for client in (first, second):
                    status, body = client.answer()
                    self.assertEqual(status, 503)
                    self.assertIn(b'ERR_PRISM_EGRESS_LIMIT: what this proxy does cannot be written down', body)
            self.assertEqual(len(origin.got), 21)
            self.assertEqual((proxy.proxy.dup_stats(stuck).get_denied(), proxy.proxy.dup_stats(free).get_denied()), (2, 0))
            records = self.lines(reader, log)
            harness.until(lambda: records.extend(self.lines(reader, log)) or len(records) > filled + 1, 'the pipe is read')
            self.assertEqual([r['host'] for r in records[:-1]], ['filler.test'] * filled + ['good.test'])
            self.assertEqual((records[-1]['reasonId'], records[-1]['decision'], records[-1]['reason']),
                             ('audit-stuck', 'deny', '2 requests were refused while nothing could be written down'))
            with Client(stuck) as client:
                self.assertEqual(client.get(place)[0], 200)
            harness.until(lambda: records.extend(self.lines(reader, log)) or len(records) == filled + 3, 'it goes on')
            self.assertEqual(other.get_allowed(), 20)

    def test_full_disk(self):
        """a disk without room: held up here, not there; what was never written is said at the end"""
        full, fine = Prism.AuditLog.new_for_path('/dev/full'), Prism.AuditLog.new_for_path(self.path)
        with Proxy() as proxy:
            stuck, free = proxy.listen(('good.test',), audit=full), proxy.listen(('good.test',), audit=fine)
            for _ in range(2):
                with Client(stuck) as client:
                    self.assertEqual(client.get('http://evil.test/')[0], 403)
            with Client(stuck) as held:
                held.send(b'GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')
                for _ in range(3):
                    with Client(free) as client:
                        self.assertEqual(client.get('http://evil.test/')[0], 403)
                self.assertEqual(held.answer()[0], 503)
        with open(self.path, encoding='utf-8') as file:
            self.assertEqual([json.loads(line)['host'] for line in file], ['evil.test'] * 3)


if __name__ == '__main__':
    taptest.main()
