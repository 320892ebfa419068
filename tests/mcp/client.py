# SPDX-License-Identifier: LGPL-2.1-or-later
"""A client of prism mcp that may send any bytes, and reads only lines of JSON."""
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = os.environ['PRISM_SOURCE_ROOT']
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'lib'))
PRISM = os.environ['PRISM_COMMAND']
DEADLINE = 60
LATEST = '2025-11-25'

for number in (signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def command_lines():
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    yield file.read()
            except OSError:
                pass


class Server:
    """One `prism mcp`. All that it writes is checked: whole lines, each a message."""

    def __init__(self, *options, env=None, folder=None):
        self.process = subprocess.Popen([PRISM, 'mcp', *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=folder, env={**os.environ, **(env or {})})
        self.heard = queue.Queue()
        self.raw = b''
        self.errors = b''
        self.last = 0
        self.aside = []
        self.readers = [threading.Thread(target=self._read, daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.raw += line
            try:
                assert line.endswith(b'\n'), 'no line feed at the end'
                self.heard.put(json.loads(line.decode('utf-8')))
            except (AssertionError, ValueError) as error:
                self.heard.put(error)
        self.heard.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b'\n')

    def next(self):
        """The next message, whatever it is; None: there are no more."""
        message = self.heard.get(timeout=DEADLINE)
        if isinstance(message, Exception):
            raise message
        return message

    def wait_for(self, wanted):
        """The next for which wanted() holds; what comes before it is kept aside."""
        while True:
            message = self.next()
            if message is None:
                raise EOFError(self.errors.decode(errors='replace'))
            if wanted(message):
                return message
            self.aside.append(message)

    def answer_to(self, number):
        return self.wait_for(lambda m: m.get('id') == number and 'method' not in m)

    def ask(self, method, params=None):
        """Sends a request; its number."""
        self.last += 1
        self.send({'jsonrpc': '2.0', 'id': self.last, 'method': method, **({} if params is None else {'params': params})})
        return self.last

    def request(self, method, params=None):
        return self.answer_to(self.ask(method, params))

    def notify(self, method, params=None):
        self.send({'jsonrpc': '2.0', 'method': method, **({} if params is None else {'params': params})})

    def initialize(self, revision=LATEST, capabilities=None):
        answer = self.request('initialize', {'protocolVersion': revision, 'capabilities': capabilities or {},
                                             'clientInfo': {'name': 'test', 'version': '1'}})
        self.notify('notifications/initialized')
        return answer

    def ask_tool(self, name, arguments=None, **more):
        return self.ask('tools/call', {'name': name, **({} if arguments is None else {'arguments': arguments}), **more})

    def tool(self, name, arguments=None, **more):
        return self.answer_to(self.ask_tool(name, arguments, **more))

    def cancel(self, number):
        self.notify('notifications/cancelled', {'requestId': number, 'reason': 'a test'})

    def close_input(self):
        self.process.stdin.close()

    def finish(self):
        """Closes the input; the exit status."""
        if not self.process.stdin.closed:
            self.close_input()
        return self.process.wait(timeout=DEADLINE)


def text_of(answer):
    return '\n'.join(part.get('text', '') for part in answer['result']['content'])


class Case(unittest.TestCase):
    maxDiff = None
    OPTIONS = ()

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='prism-mcp-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tree = os.path.join(self.folder, 'tree')
        os.mkdir(self.tree)

    def write(self, name, data):
        with open(os.path.join(self.folder, name), 'wb') as file:
            file.write(data)
        return os.path.join(self.folder, name)

    def start(self, *options, **more):
        server = Server('-b', 'native', '-w', self.tree, *self.OPTIONS, *options, **more)
        self.addCleanup(self._end, server)
        return server

    @staticmethod
    def _end(server):
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
        for reader in server.readers:
            reader.join()
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            try:
                stream.close()
            except OSError:
                pass

    def ready(self, *options, revision=LATEST, capabilities=None, **more):
        server = self.start(*options, **more)
        self.assertIn('result', server.initialize(revision, capabilities))
        return server

    @staticmethod
    def marker():
        """A number of seconds that nobody else sleeps: it is looked for in command lines."""
        return f'98764.{os.getpid()}{int.from_bytes(os.urandom(4), "big")}'

    def until(self, condition, what, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            os.sched_yield()

    @staticmethod
    def is_running(marker):
        return any(marker.encode() in line.split(b'\0') for line in command_lines())

    def assert_gone(self, marker):
        self.until(lambda: not self.is_running(marker), f'sleep {marker} is still there')

    def error_of(self, answer, code):
        self.assertIn('error', answer)
        self.assertEqual(answer['error']['code'], code, answer)
        return answer['error']['message']
