# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hosts that are killed, engines that are restarted. PRISM_TEST_WHOLE=1, as in ./dev soak,
asks for the whole count (200 kills, 50 hosts, 1,000 commands); ./dev test does a part."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import harness
import fake_dockerd as fake
import taptest
from gi.repository import Gio, GLib, Prism
from harness import IMAGE, Base, backend, daemon, until

WHOLE = os.environ.get('PRISM_TEST_WHOLE') == '1'
KILLS = 200 if WHOLE else 20
HOSTS = 50 if WHOLE else 6
COMMANDS = 1000 if WHOLE else 120
COUNTER = 'i=0; while :; do i=$((i+1)); echo line $i; usleep 20000; done # counter %s'


class Host(Base):
    """lifetime=host."""

    def test_killed(self):
        """SIGKILL at random moments of create, import, exec, export and close: no container, folder or socket stays."""
        for number in range(50):
            with open(os.path.join(self.folder, f'file-{number}'), 'wb') as out:
                out.write(os.urandom(20000))
        tar = os.path.join(tempfile.mkdtemp(prefix='prism-export-'), 'out.tar')
        self.addCleanup(harness.shutil.rmtree, os.path.dirname(tar), ignore_errors=True)
        argv = [os.environ['PRISM_COMMAND'], 'run', '-b', 'docker', '--set', f'socket={self.daemon().socket}', '--set', f'image={IMAGE}',
                '-w', self.folder, '--workspace-mode', 'copy', '--export', tar, '--', 'sh', '-c', 'usleep 50000; echo done > left']
        begun = time.monotonic()
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        whole = time.monotonic() - begun
        seed = random.randrange(1 << 30)
        print(f'# seed {seed}, one run takes {whole:.2f} s', flush=True)
        moments = random.Random(seed)
        for _ in range(KILLS):
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(moments.uniform(0, whole * 1.05))
            except subprocess.TimeoutExpired:
                process.kill()
            process.wait()
        self.assert_nothing_left()
        with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
            self.assertEqual([line for line in mounts if '/prism/docker/' in line and self.folder in line], [])

    def test_dropped(self):
        """A sandbox that is not closed, in a host that ends: the same."""
        code = ('import sys; sys.path.insert(0, sys.argv[1]); import harness; from gi.repository import Gio, Prism\n'
                'kept = harness.backend().create_sandbox(Prism.SandboxSpec(workspace=Gio.File.new_for_path(sys.argv[2])), None)\n'
                'print(kept.dup_id())')
        done = subprocess.run([sys.executable, '-c', code, os.path.dirname(os.path.realpath(__file__)), self.folder], stdout=subprocess.PIPE, text=True, check=True)
        self.assertRegex(done.stdout, '^[0-9a-f]{32}\n$')
        self.assert_nothing_left()


# --- detached ----------------------------------------------------------------------------

def be_host(reference, *processes):
    """Takes up what there is, or makes it; says so, and waits to be killed."""
    made = backend()
    if reference == 'new':
        limits = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
        limits.set('wall-time-ms', 900000)
        sandbox = made.create_sandbox(Prism.SandboxSpec(workspace=Gio.File.new_for_path(processes[0]), workspace_mode=Prism.WorkspaceMode.COPY,
                                                        lifetime=Prism.Lifetime.DETACHED, limits=limits), None)
        begun = [sandbox.start_process(Prism.Command.new(['sh', '-c', COUNTER % number]), None) for number in range(3)]
    else:
        sandbox = made.connect_sandbox(reference, None)
        begun = [sandbox.attach_process(process, None) for process in processes]
    lines = []
    for process in begun:
        data = b''
        while data.count(b'\n') < 3:
            more = process.get_stdout_stream().read_bytes(4096, None).get_data()
            if not more:
                raise SystemExit('a process has ended')
            data += more
        lines.append(data[:data.rindex(b'\n')].decode().split('\n'))
    # One that has just forked is seen twice, but not time and again.
    count = 'for n in 1 2 3 4 5 6 7 8 9; do c=$(ps -o args | grep -c "^sh -c i=0"); [ $c = 3 ] && break; usleep 7000; done; echo $c'
    running = sandbox.exec(Prism.Command.new(['sh', '-c', count]), None).get_stdout().get_data().decode().strip()
    firsts = ' '.join(f'{line[0].split()[-1]}-{line[-1].split()[-1]}-{len(line)}' for line in lines)
    print(sandbox.dup_reference(), running, firsts, *[process.dup_reference() for process in begun], flush=True)
    signal.pause()


class Detached(Base):
    makes_detached = True

    def host(self, *arguments):
        process = subprocess.Popen([sys.executable, os.path.realpath(__file__), '--host', *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        words = process.stdout.readline().split()
        self.assertEqual(len(words), 8, words)
        return process, words

    def end(self, reference):
        with harness.contextlib.suppress(GLib.Error):
            backend().connect_sandbox(reference, None).close(None)

    def test_found_again(self):
        """Hosts are killed with processes running: the next finds each with its log, none twice."""
        process, words = self.host('new', self.folder)
        reference, processes = words[0], words[5:]
        self.addCleanup(self.end, reference)
        last = [0, 0, 0]
        for _ in range(HOSTS):
            self.assertEqual(words[1], '3')
            for number, heard in enumerate(words[2:5]):
                first, to, count = map(int, heard.split('-'))
                self.assertEqual(to - first + 1, count, 'a line is missing')
                # The log is kept from its beginning, up to its bound.
                self.assertLessEqual(first, last[number] + 1, 'what was said meanwhile is lost')
                last[number] = max(last[number], to)
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.assertEqual(self.daemon().containers(f'prism.sandbox.id={reference.rsplit(":", 1)[-1]}')[0]['State'], 'running')
            process, words = self.host(reference, *processes)
            self.assertEqual((words[0], words[5:]), (reference, processes))
        process.kill()
        process.wait()
        self.assertIn(reference, backend().list_sandboxes(None))
        sandbox = backend().connect_sandbox(reference, None)
        for text in processes:
            sandbox.attach_process(text, None).kill(None)
        sandbox.close(None)

    def test_not_taken_for_another(self):
        """What is not this sandbox is refused: another's reference, a container that lost its labels or runs another image."""
        process, words = self.host('new', self.folder)
        process.kill()
        process.wait()
        reference = words[0]
        self.addCleanup(self.end, reference)
        kind, _, name = reference.rpartition(':')
        for wrong in (f'{kind}:' + name[::-1], kind + ':', reference + 'x', 'native:' + name, ''):
            with self.assertRaises(GLib.Error):
                backend().connect_sandbox(wrong, None)
        sandbox = backend().connect_sandbox(reference, None)
        for text in (words[5] + 'x', words[5][:-4] + 'AAAA', '', 'prism-docker-proc:e30'):
            with self.assertRaises(GLib.Error):
                sandbox.attach_process(text, None)
        # A second host: one at a time.
        self.fails('state', backend().connect_sandbox, reference, None)
        sandbox.close(None)

    def test_wall_time(self):
        """Detached needs a wall time, by which it ends alone."""
        self.fails(('invalid', 'refused'), lambda: self.make(lifetime=Prism.Lifetime.DETACHED), says='wall-time-ms')
        limits = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
        limits.set('wall-time-ms', 8000)
        code = self.make(lifetime=Prism.Lifetime.DETACHED, limits=limits, workspace_mode=Prism.WorkspaceMode.COPY)
        self.assertEqual(self.run_in(code, 'true')[:2], ('exited', 0))
        self.assert_nothing_left()

    def test_reap_by_another(self):
        """What another engine has is not reaped, though its host is dead: not by an engine that knows nothing of it."""
        process, words = self.host('new', self.folder)
        process.kill()
        process.wait()
        self.addCleanup(self.end, words[0])
        path = os.path.join(self.folder, 'another.sock')
        with fake.FakeDockerd(path, self.daemon().socket) as engine:
            engine.rule('GET', '.*/containers/json.*', fake.reply(200, b'[]', ['Content-Type: application/json']))
            another = backend()
            another.set_property('socket', path)
            another.reap(None)
            self.assertGreater(engine.count('GET', '.*/containers/json.*'), 0)
        sandbox = backend().connect_sandbox(words[0], None)
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
        sandbox.close(None)

    def test_reap(self):
        """Reaping removes what dead hosts left and nothing of the living."""
        living = self.make()
        stray = self.daemon().ask('POST', '/containers/create', {
            'Image': IMAGE, 'Cmd': ['true'], 'Labels': {'prism.sandbox': '1', 'prism.sandbox.id': '0' * 32, 'prism.sandbox.owner': str(os.getuid()),
                                                        'prism.sandbox.lifetime': 'host', 'prism.sandbox.host': 'another-boot:1:2:3'}})['Id']
        other = self.daemon().ask('POST', '/containers/create', {'Image': IMAGE, 'Cmd': ['true'], 'Labels': {'somebody': '1'}})['Id']
        self.addCleanup(self.daemon().call, 'DELETE', f'/containers/{stray}?force=1')
        self.addCleanup(self.daemon().call, 'DELETE', f'/containers/{other}?force=1')
        self.assertGreaterEqual(backend().reap(None), 1)
        self.assertEqual(self.daemon().call('GET', f'/containers/{stray}/json')[0], 404)
        self.assertEqual(self.daemon().call('GET', f'/containers/{other}/json')[0], 200)
        self.assertEqual(self.out(living, 'echo', 'on'), 'on\n')


class Restarts(Base):
    """dockerd goes and comes; a Docker of this test's own."""

    def begin(self, live_restore):
        place = daemon.Place()
        self.addCleanup(place.stop)
        place.start(live_restore=live_restore)
        self.image = place.image('busybox')
        return place

    def commands(self, place, how):
        """Commands all the while; outcomes, and the sandbox."""
        sandbox = backend(place, image=self.image).create_sandbox(self.spec(workspace_mode=Prism.WorkspaceMode.COPY), None)
        outcomes, over = {}, threading.Event()

        def restart():
            while not over.is_set():
                place.restart_dockerd(how)
                over.wait(0.3)
        thread = threading.Thread(target=restart)
        thread.start()
        try:
            for number in range(COMMANDS):
                try:
                    outcome, code, out, _ = self.run_in(sandbox, 'sh', '-c', f'echo {number}; usleep 5000; exit {number % 100}')
                    if outcome == 'exited':
                        self.assertEqual((out, code), (f'{number}\n', number % 100))
                    else:
                        self.assertEqual(code, -1)
                except GLib.Error as error:
                    outcome = harness.code_of(error)
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        finally:
            over.set()
            thread.join()
        return sandbox, outcomes

    def test_live_restore(self):
        """With live-restore every command goes on over the socket, and close finds the engine again."""
        place = self.begin(True)
        for how in (signal.SIGTERM, signal.SIGKILL):
            sandbox, outcomes = self.commands(place, how)
            self.assertEqual(outcomes, {'exited': COMMANDS})
            sandbox.close(None)
            until('no container', lambda: not place.containers())

    def test_without(self):
        """Without, a restart takes the container: lost is the word, and nothing remains."""
        place = self.begin(False)
        sandbox, outcomes = self.commands(place, signal.SIGTERM)
        self.assertLessEqual(set(outcomes), {'exited', 'lost', 'state'})
        self.assertIn(True, ['lost' in outcomes, 'state' in outcomes], outcomes)
        with harness.contextlib.suppress(GLib.Error):
            sandbox.close(None)
        until('no container', lambda: not place.containers())


if sys.argv[1:2] == ['--host']:
    be_host(*sys.argv[2:])
else:
    if os.getuid() != 0:
        del Restarts  # who restarts an engine has one of their own, which takes root
    taptest.main()
