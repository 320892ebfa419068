# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a session of prism mcp ends, and what is left of it: nothing."""
import glob
import json
import os
import signal
import subprocess

import client
from client import Case, text_of


def tool_call(number, command):
    return {'jsonrpc': '2.0', 'id': number, 'method': 'tools/call',
            'params': {'name': 'shell', 'arguments': {'command': command}}}


SCRIPT = [{'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params':
           {'protocolVersion': client.LATEST, 'capabilities': {}, 'clientInfo': {'name': 't', 'version': '1'}}},
          {'jsonrpc': '2.0', 'method': 'notifications/initialized'},
          {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}, tool_call(2, 'echo hi')]


def runtime_folders(sandbox):
    """What lies about for a sandbox while it lives: control groups, where it has some."""
    base = '/run' if os.getuid() == 0 else os.environ['XDG_RUNTIME_DIR']
    for pattern in ('/sys/fs/cgroup/*{}*', '/sys/fs/cgroup/*/*{}*', '/sys/fs/cgroup/*/*/*{}*', base + '/prism/*{}*'):
        yield from glob.glob(pattern.format(sandbox))


def sandbox_of(server):
    return json.loads(server.request('resources/read', {'uri': 'prism://sandbox'})['result']['contents'][0]['text'])['id']


class Ends(Case):
    OPTIONS = ('--approve', 'always')

    def busy(self):
        """A server whose tool runs a command that does not end."""
        server = self.ready()
        marker = self.marker()
        number = server.ask_tool('shell', {'command': f'sleep {marker} & sleep {marker}; true'})
        self.until(lambda: self.is_running(marker), 'the command')
        return server, marker, number

    @staticmethod
    def outcomes(server):
        audit = server.request('resources/read', {'uri': 'prism://audit'})['result']['contents'][0]['text']
        return sorted(one['outcome'] for one in map(json.loads, audit.splitlines()) if one['kind'] == 'call')

    def test_cancel(self):
        """a call that is cancelled is killed, is not answered, and is in the audit"""
        server, marker, number = self.busy()
        server.cancel(number)
        self.assert_gone(marker)
        self.assertIn('hi', text_of(server.tool('shell', {'command': 'echo hi'})))
        self.assertFalse([m for m in server.aside if m.get('id') == number])
        self.until(lambda: self.outcomes(server) == ['cancelled', 'ok'], 'the audit')
        self.assertEqual(server.finish(), 0)
        self.assertIsNone(server.next())

    def test_end_of_input(self):
        """the end of the input ends all of it, with status 0"""
        server, marker, _ = self.busy()
        sandbox = sandbox_of(server)
        server.close_input()
        self.assertEqual(server.process.wait(timeout=client.DEADLINE), 0)
        self.assert_gone(marker)
        self.until(lambda: not list(runtime_folders(sandbox)), 'the runtime folder')

    def test_end_inside_a_line(self):
        """an input that ends in the middle of a message"""
        server = self.ready()
        server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell","arguments":{"comm')
        self.assertEqual(server.finish(), 0)
        self.assertIsNone(server.next())
        server.readers[1].join()
        self.assertIn(b'dropped', server.errors)

    def test_output_closed(self):
        """a client that no longer reads is gone"""
        marker = self.marker()
        process = subprocess.Popen([client.PRISM, 'mcp', '-w', self.tree, *self.OPTIONS], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for message in SCRIPT[:2] + [tool_call(1, f'sleep {marker}')]:
            process.stdin.write(json.dumps(message).encode() + b'\n')
        process.stdin.flush()
        self.until(lambda: self.is_running(marker), 'the command')
        process.stdout.close()
        self.assertEqual(process.wait(timeout=client.DEADLINE), 0)
        process.stdin.close()
        self.assert_gone(marker)

    def test_signals(self):
        """SIGTERM and SIGINT end the sandbox first"""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number=number):
                server, marker, _ = self.busy()
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(timeout=client.DEADLINE), 128 + number)
                self.assert_gone(marker)

    def test_killed(self):
        """SIGKILL leaves nothing either"""
        server, marker, _ = self.busy()
        sandbox = sandbox_of(server)
        server.process.kill()
        server.process.wait()
        self.assert_gone(marker)
        self.until(lambda: not list(runtime_folders(sandbox)), 'the runtime folder')

    def test_script(self):
        """all at once and the end of the input: what is quick is answered"""
        done = subprocess.run([client.PRISM, 'mcp', '-w', self.tree, '--approve', 'always'],
                              input='\n'.join(map(json.dumps, SCRIPT)).encode(), capture_output=True, check=True,
                              timeout=client.DEADLINE)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([one['id'] for one in answers], [0, 1, 2][:len(answers)])
        self.assertGreaterEqual(len(answers), 2)

    def test_two_servers(self):
        """two sessions on one tree know nothing of each other, and one's end is not the other's"""
        first, marker, _ = self.busy()
        second = self.ready()
        self.assertEqual(second.finish(), 0)
        self.assertTrue(self.is_running(marker))
        self.assertEqual(first.finish(), 0)
        self.assert_gone(marker)

    def test_export(self):
        """with --export the copy is written out at the end"""
        target = os.path.join(self.folder, 'out.tar')
        server = self.ready('--workspace-mode', 'copy', '--export', target)
        self.assertFalse(server.tool('write', {'path': 'new.txt', 'content': 'x'})['result']['isError'])
        self.assertEqual(server.finish(), 0)
        names = subprocess.run(['tar', 'tf', target], capture_output=True, check=True).stdout
        self.assertIn(b'new.txt', names)
        self.assertEqual(os.listdir(self.tree), [])


if __name__ == '__main__':
    import taptest
    taptest.main()
