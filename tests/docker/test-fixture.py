# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests' own Docker: it starts, it is private, and nothing of it is left, also when
who started it is killed."""
import os
import select
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))
import daemon  # noqa: E402
import taptest  # noqa: E402

WITH_DOCKER = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'with-docker')
# Tells where it is, runs a container that does not end, and waits for its stdin.
INSIDE = r'''
import os, sys
sys.path.insert(0, sys.argv[1])
import daemon
place = daemon.Place(folder=os.environ['PRISM_TEST_DOCKER_FOLDER'])
made = place.ask('POST', '/containers/create', {'Image': os.environ['PRISM_TEST_DOCKER_IMAGE'], 'Cmd': ['sleep', '1000'],
                 'HostConfig': {'NetworkMode': 'none', 'LogConfig': {'Type': 'none'}}})
place.ask('POST', f"/containers/{made['Id']}/start")
pid = place.ask('GET', f"/containers/{made['Id']}/json")['State']['Pid']
print(place.folder, pid, flush=True)
sys.stdin.read()
'''


def command_line(pid):
    with open(f'/proc/{pid}/cmdline', 'rb') as line:
        return line.read()


@unittest.skipIf(os.getuid() != 0, "a Docker of the tests' own takes root")
class Fixture(unittest.TestCase):
    def begin(self, *options):
        environment = {name: value for name, value in os.environ.items() if not name.startswith('PRISM_TEST_DOCKER')}
        process = subprocess.Popen([WITH_DOCKER, *options, sys.executable, '-c', INSIDE, os.path.dirname(WITH_DOCKER)], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        line = process.stdout.readline()
        self.assertNotEqual(line, '', 'with-docker says nothing')
        folder, pid = line.split()
        container = os.pidfd_open(int(pid))  # not its number, which another may have got when we look again
        self.addCleanup(os.close, container)
        # A start is answered before the command has replaced runc.
        daemon.until(f'sleep runs in {pid}', lambda: command_line(pid) == b'sleep\x001000\x00')
        return process, folder, container

    def gone(self, folder, container):
        daemon.until(lambda: f'nothing is left: {daemon.left(folder)}', lambda: not daemon.left(folder))
        self.assertEqual(select.select([container], [], [], daemon.PATIENCE)[0], [container], 'its container is gone')

    def test_ends(self):
        """When the command ends, its Docker and what runs there end."""
        process, folder, container = self.begin()
        process.stdin.close()
        self.assertEqual(process.wait(daemon.PATIENCE), 0)
        self.assertEqual(daemon.left(folder), [])
        self.gone(folder, container)

    def test_killed(self):
        """When with-docker is killed as well, and with live-restore, where containers outlive their daemon."""
        process, folder, container = self.begin('--live-restore')
        process.send_signal(signal.SIGKILL)
        process.stdin.close()
        process.wait()
        self.gone(folder, container)

    def test_interrupted(self):
        """SIGTERM goes to the command; its status is ours."""
        process, folder, container = self.begin()
        process.terminate()
        self.assertEqual(process.wait(daemon.PATIENCE), 128 + signal.SIGTERM)
        process.stdin.close()
        self.gone(folder, container)

    def test_twice(self):
        """Inside, another with-docker starts none of its own."""
        told = subprocess.run([WITH_DOCKER, 'env'], env={**os.environ, 'PRISM_TEST_DOCKER_FOLDER': '/nonexistent'}, stdout=subprocess.PIPE, check=True)
        self.assertIn(b'PRISM_TEST_DOCKER_FOLDER=/nonexistent', told.stdout)


taptest.main()
