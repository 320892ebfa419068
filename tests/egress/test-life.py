# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is left of proxies and listeners that came and went: nothing. Alone in its
process, whose descriptors and threads are counted."""
import collections
import gc
import os
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


if __name__ == '__main__':
    taptest.main()
