# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the program share."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.environ['PRISM_SOURCE_ROOT']
PRISM = os.environ['PRISM_COMMAND']
# For what takes milliseconds: only a machine at its limits, or a hang, gets there.
DEADLINE = 60
sys.path.insert(0, os.path.join(SOURCE, 'tests', 'lib'))


@contextlib.contextmanager
def opened(path, flags):
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def processes():
    """The command lines of all processes there are."""
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            with contextlib.suppress(OSError):
                with open(f'/proc/{pid}/cmdline', 'rb') as file:
                    yield file.read()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='prism-cli-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_prism(self, *arguments, cwd=None, env=None, timeout=DEADLINE, **options):
        if 'input' not in options:
            options.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.run([PRISM, *arguments], cwd=cwd or self.folder, env=dict(os.environ, **(env or {})),
                              capture_output=True, timeout=timeout, check=False, **options)

    def write(self, name, data):
        with open(os.path.join(self.folder, name), 'wb') as file:
            file.write(data)

    def read(self, name):
        with open(os.path.join(self.folder, name), 'rb') as file:
            return file.read()

    @staticmethod
    def marker():
        """A number of seconds that nobody else sleeps: it is looked for in command lines."""
        return f'98765.{os.getpid()}{int.from_bytes(os.urandom(4), "big")}'

    def until(self, condition, what):
        """Waits for an event that only polling can see, with a deadline."""
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            os.sched_yield()

    def is_running(self, marker):
        return any(marker.encode() in line.split(b'\0') for line in processes())

    def assert_gone(self, marker):
        self.until(lambda: not self.is_running(marker), f'sleep {marker} is still there')
