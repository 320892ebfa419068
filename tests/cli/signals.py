# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism when signals reach it."""
import os
import signal
import subprocess

import base
from base import DEADLINE, PRISM

import taptest


class Signals(base.Case):
    def start(self, script, *options, **more):
        process = subprocess.Popen([PRISM, 'run', *options, '--', 'sh', '-c', script], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(lambda: (process.kill(), process.communicate()) if process.poll() is None else None)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertEqual(process.stdout.readline(), b'ready\n')
        return process

    def test_ends_the_sandbox(self):
        """SIGINT, SIGTERM, SIGHUP, SIGQUIT: the sandbox first, then 128 + N"""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number):
                marker = self.marker()
                process = self.start(f'sleep {marker} & setsid sleep {marker} & echo ready; sleep {marker}')
                process.send_signal(number)
                self.assertEqual(process.wait(DEADLINE), 128 + number)
                self.assertFalse(self.is_running(marker))

    def test_insists(self):
        """a command that ignores what it is sent ends all the same; a second signal does not wait for that"""
        marker = self.marker()
        process = self.start(f'trap "" TERM INT HUP; echo ready; while :; do sleep {marker}; done')
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(DEADLINE), (130, 143))
        self.assert_gone(marker)

    def test_killed(self):
        """a prism that is killed leaves nothing running"""
        marker = self.marker()
        process = self.start(f'sleep {marker} & setsid sleep {marker} & echo ready; sleep {marker}')
        process.kill()
        process.wait(DEADLINE)
        self.assert_gone(marker)

    def test_reader_hangs(self):
        """a signal is heard while nobody reads the output"""
        marker = self.marker()
        process = self.start(f'echo ready; yes {marker}')
        self.until(lambda: self.state(process.pid) == 'S', 'prism never waited')
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 143)
        self.assert_gone(marker)

    @staticmethod
    def state(pid):
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as file:
            return file.read().rsplit(')', 1)[1].split()[0]

    def test_ignored(self):
        """what was ignored when prism started stays ignored (nohup)"""
        process = self.start('echo ready; read line < fifo; exit 3',
                             preexec_fn=lambda: (signal.signal(signal.SIGHUP, signal.SIG_IGN), os.mkfifo('fifo')))
        process.send_signal(signal.SIGHUP)
        with open(os.path.join(self.folder, 'fifo'), 'w', encoding='ascii') as fifo:
            fifo.write('go\n')
        self.assertEqual(process.wait(DEADLINE), 3)

    def test_export_interrupted(self):
        """interrupted, --export leaves no file"""
        process = self.start('echo ready; sleep 1000', '--workspace-mode', 'copy', '--export', 'out.tar')
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 143)
        self.assertEqual(os.listdir(self.folder), [])

    def start_removing(self):
        """A prism whose command has ended, and whose launcher goes when it is told to."""
        agent, self.go = os.path.join(self.folder, 'agent'), os.path.join(self.folder, 'go')
        os.mkfifo(self.go)
        self.write('agent', f'#!/bin/sh\n{os.environ["PRISM_AGENT"]} "$@"\n'
                            f'mkdir {agent}.over\nread line <{self.go}\n'.encode())
        os.chmod(agent, 0o755)
        process = self.start('echo ready', env=dict(os.environ, PRISM_AGENT=agent))
        self.until(lambda: os.path.isdir(agent + '.over'), 'the agent does not end')
        return process

    def let_go(self):
        with open(self.go, 'w', encoding='ascii') as fifo:
            fifo.write('go\n')

    def test_while_removing(self):
        """while the sandbox is removed a signal does not end prism, but is what it ends with"""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number):
                process = self.start_removing()
                process.send_signal(number)
                self.let_go()
                self.assertEqual(process.wait(DEADLINE), 128 + number)
                self.tidy()

    def tidy(self):
        os.rmdir(os.path.join(self.folder, 'agent.over'))
        os.remove(self.go)

    def test_insists_while_removing(self):
        """a second signal does not wait for that"""
        process = self.start_removing()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(DEADLINE), (130, 143))
        self.let_go()

    def test_nothing_while_removing(self):
        """without one, the command's own status stays; what means nothing to prism is not heard"""
        process = self.start_removing()
        process.send_signal(signal.SIGWINCH)
        process.send_signal(signal.SIGCONT)
        self.let_go()
        self.assertEqual(process.wait(DEADLINE), 0)


if __name__ == '__main__':
    taptest.main()
