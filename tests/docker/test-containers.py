# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happens to a container by other hands, by its own limits and by names: each has
its own outcome or error, in time, and no exit code is made up."""
import os
import signal
import threading
import time

import harness
import taptest
from gi.repository import Gio, GLib, Prism
from harness import IMAGE, PLACE, Answer, Base, backend, code_of, until


def limits(**values):
    made = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
    for name, value in values.items():
        made.set(name.replace('_', '-'), value)
    return made


class ByOthers(Base):
    """Somebody uses the engine on our container."""

    def while_running(self, act, timeout_ms=60000):
        """A command runs, act(container) happens; the result, or the error, and how long it took from then."""
        sandbox = self.make()
        container = self.container(sandbox)
        command = Prism.Command.new(['sh', '-c', 'touch /workspace/begun; sleep 1000'])
        command.set_timeout_ms(timeout_ms)
        answer = Answer(lambda: sandbox.exec(command, None))
        until('the command runs', lambda: os.path.exists(os.path.join(self.folder, 'begun')))
        act(container)
        begun = time.monotonic()
        return sandbox, container, answer.get(), time.monotonic() - begun

    def judge_lost(self, result, took):
        self.assertEqual(result.get_outcome(), Prism.Outcome.LOST)
        self.assertEqual(result.props.exit_code, -1)
        self.assertLess(took, 10)

    def is_over(self, sandbox):
        self.fails(('lost', 'state'), sandbox.exec, Prism.Command.new(['true']), None)
        sandbox.close(None)
        self.assertEqual(sandbox.get_status(), Prism.SandboxStatus.REMOVED)

    def test_killed(self):
        """docker kill: the command is lost, not exit 137."""
        sandbox, _, result, took = self.while_running(lambda c: self.daemon().ask('POST', f'/containers/{c}/kill'))
        self.judge_lost(result, took)
        self.is_over(sandbox)

    def test_stopped(self):
        """docker stop."""
        sandbox, _, result, took = self.while_running(lambda c: self.daemon().call('POST', f'/containers/{c}/stop?t=1'))
        self.judge_lost(result, took)
        self.is_over(sandbox)

    def test_removed(self):
        """docker rm -f; closing what is gone is a success."""
        sandbox, _, result, took = self.while_running(lambda c: self.daemon().call('DELETE', f'/containers/{c}?force=1'))
        self.judge_lost(result, took)
        self.is_over(sandbox)

    def test_agent_killed(self):
        """The host kills pid 1."""
        def kill(container):
            os.kill(self.daemon().ask('GET', f'/containers/{container}/json')['State']['Pid'], signal.SIGKILL)
        if os.getuid() == 0:
            sandbox, _, result, took = self.while_running(kill)
            self.judge_lost(result, took)
            self.is_over(sandbox)

    def test_paused(self):
        """docker pause: a timeout holds all the same, cancel too, and what is resumed serves again or is said to be lost."""
        sandbox, container, result, took = self.while_running(lambda c: self.daemon().ask('POST', f'/containers/{c}/pause'), timeout_ms=1500)
        self.assertIn(result.get_outcome(), (Prism.Outcome.TIMED_OUT, Prism.Outcome.LOST))
        self.assertEqual(result.props.exit_code, -1)
        self.assertLess(took, 60)  # its timeout, and as long as an answer is waited for
        self.daemon().call('POST', f'/containers/{container}/unpause')
        try:
            self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
        except GLib.Error as error:
            self.assertIn(code_of(error), ('lost', 'state', 'failed'), error.message)
        sandbox.close(None)

    def test_closed_while_paused(self):
        """A paused container is removed as well."""
        sandbox = self.make()
        self.daemon().ask('POST', f'/containers/{self.container(sandbox)}/pause')
        sandbox.close(None)

    def test_own_pause(self):
        """Our own pause is the engine's: nothing runs meanwhile, and everything goes on."""
        sandbox = self.make()
        container = self.container(sandbox)
        process = sandbox.start_process(Prism.Command.new(['sh', '-c', 'while :; do echo x >> /workspace/beats; sleep 0.05; done']), None)
        beats = os.path.join(self.folder, 'beats')
        until('it beats', lambda: os.path.exists(beats) and os.path.getsize(beats) > 4)
        sandbox.pause(None)
        self.assertEqual(self.daemon().ask('GET', f'/containers/{container}/json')['State']['Status'], 'paused')
        self.assertEqual(sandbox.get_status(), Prism.SandboxStatus.STOPPED)
        size = os.path.getsize(beats)
        self.fails('state', sandbox.exec, Prism.Command.new(['true']), None)
        self.assertEqual(os.path.getsize(beats), size)
        sandbox.resume(None)
        until('it beats again', lambda: os.path.getsize(beats) > size)
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
        process.kill(None)

    def test_renamed(self):
        """Known by its id: another name changes nothing, and somebody else's of the old name is not touched."""
        sandbox = self.make()
        container = self.container(sandbox)
        name = self.inspect(sandbox)['Name'].lstrip('/')
        self.daemon().ask('POST', f'/containers/{container}/rename?name=another-{os.getpid()}')
        other = self.daemon().ask('POST', f'/containers/create?name={name}', {'Image': IMAGE, 'Cmd': ['true']})['Id']
        try:
            self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
            sandbox.close(None)
            self.assertEqual(self.daemon().call('GET', f'/containers/{container}/json')[0], 404)
            self.assertEqual(self.daemon().call('GET', f'/containers/{other}/json')[0], 200)
        finally:
            self.daemon().call('DELETE', f'/containers/{other}?force=1')


class ByItself(Base):
    """Its limits."""

    def test_memory(self):
        """A command past the memory limit is killed, which is said, and the sandbox serves on."""
        sandbox = self.make(limits=limits(memory_bytes=64 << 20))
        # busybox has no allocator to play with: a shell variable that doubles.
        outcome, code, _, _ = self.run_in(sandbox, 'sh', '-c', 'v=0123456789abcdef; while :; do v=$v$v; done')
        self.assertEqual((outcome, code), ('signalled', -1))
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
        result = sandbox.exec(Prism.Command.new(['sh', '-c', 'v=0123456789abcdef; while :; do v=$v$v; done; true']), None)
        self.assertEqual(result.get_term_signal(), signal.SIGKILL)

    def test_agent_out_of_memory(self):
        """Memory that nobody's size shows takes the container with it: lost, and that is the word."""
        sandbox = self.make(limits=limits(memory_bytes=48 << 20, tmp_bytes=256 << 20))
        outcome, code, _, _ = self.run_in(sandbox, 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/tmp/$i bs=1M count=32; done')
        self.assertIn(outcome, ('signalled', 'lost', 'exited'))
        self.assertNotEqual((outcome, code), ('exited', 0))
        if outcome != 'exited':
            self.assertEqual(code, -1)

    def test_full(self):
        """A full /tmp, a full workspace: no space left, said by the API as well; what is removed is room again."""
        sandbox = self.make(workspace_mode=Prism.WorkspaceMode.COPY, limits=limits(tmp_bytes=1 << 20, workspace_bytes=2 << 20))
        for place in ('/tmp', '/workspace'):
            outcome, code, _, err = self.run_in(sandbox, 'dd', 'if=/dev/zero', f'of={place}/big', 'bs=64k', 'count=100')
            self.assertEqual((outcome, code), ('exited', 1), err)
            self.assertIn('No space left on device', err)
        self.fails(('failed', 'limit', 'no-space'), sandbox.write_file, '/workspace/more', GLib.Bytes.new(b'x' * 100000), 0o600, Prism.FileFlags.NONE, None,
                   says='(?i)no space')
        self.assertEqual(self.run_in(sandbox, 'sh', '-c', 'rm /workspace/big /tmp/big; echo ok > /workspace/small; cat /workspace/small')[2], 'ok\n')
        sandbox.write_file('/workspace/more', GLib.Bytes.new(b'x' * 100000), 0o600, Prism.FileFlags.NONE, None)

    def test_import_too_large(self):
        """A workspace that does not fit: the limit by its name, before or while it goes in, and no container stays."""
        with open(os.path.join(self.folder, 'large'), 'wb') as out:
            out.write(os.urandom(3 << 20))
        self.fails(('limit', 'prism-tree-error-quark/' + str(int(Prism.TreeError.LIMIT))), lambda: self.make(workspace_mode=Prism.WorkspaceMode.COPY, limits=limits(workspace_bytes=1 << 20)),
                   says='(?i)workspace-bytes|no space|larger')

    def test_pids(self):
        """max-pids holds."""
        sandbox = self.make(limits=limits(max_pids=20))
        _, _, _, err = self.run_in(sandbox, 'sh', '-c', 'for i in $(seq 60); do sleep 5 & done; wait', timeout_ms=20000)
        self.assertRegex(err, "(?i)can't fork|resource temporarily")

        def serves():
            try:
                return self.run_in(sandbox, 'true')[:2] == ('exited', 0)
            except GLib.Error as error:  # while the last of them end
                self.assertEqual(code_of(error), 'limit')
                return False
        until('it serves again', serves)

    def test_wall(self):
        """The wall time ends it by itself."""
        sandbox = self.make(limits=limits(wall_time_ms=5000))
        outcome, code, _, _ = self.run_in(sandbox, 'sleep', '1000')
        self.assertEqual((outcome, code), ('wall-exceeded', -1))
        self.fails(('state', 'lost', 'limit'), sandbox.exec, Prism.Command.new(['true']), None)


class Commands(Base):
    """Exit codes and failures to start are two things (each as it was: 125, 126, 127, 137, 255)."""

    def test_codes(self):
        """Exit codes go through unchanged."""
        sandbox = self.make()
        for code in (0, 1, 2, 124, 125, 126, 127, 128, 137, 143, 254, 255):
            self.assertEqual(self.run_in(sandbox, 'sh', '-c', f'exit {code}')[:2], ('exited', code))
        for number in (1, 2, 6, 9, 15, 31):
            result = sandbox.exec(Prism.Command.new(['sh', '-c', f'kill -{number} $$']), None)
            self.assertEqual((result.get_outcome(), result.get_term_signal(), result.props.exit_code), (Prism.Outcome.SIGNALLED, number, -1))

    def test_not_started(self):
        """A missing program, a folder, a file without x, of another machine."""
        sandbox = self.make()
        os.mkdir(os.path.join(self.folder, 'folder'))
        for name, mode, content in (('plain', 0o644, b'#!/bin/sh\n'), ('other', 0o755, b'\x7fELF\x02\x01\x01\0' + bytes(8) + b'\x02\0\xf3\0' + bytes(60)),
                                    ('interpreter', 0o755, b'#!/no/such/interpreter\n')):
            with open(os.path.join(self.folder, name), 'wb') as out:
                out.write(content)
            os.chmod(os.path.join(self.folder, name), mode)
        for program, codes in (('no-such-program', 'not-found'), ('/workspace/nothing', 'not-found'), ('/workspace/folder', 'not-executable'),
                               ('/workspace/plain', 'not-executable'), ('/workspace/other', 'not-executable'),
                               ('/workspace/interpreter', ('not-found', 'not-executable'))):
            self.fails(codes, sandbox.exec, Prism.Command.new([program]), None)
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')

    def test_arguments(self):
        """Arguments are never shell syntax, and no option of the engine's."""
        sandbox = self.make()
        odd = ['--privileged', '-v', '/:/host', '$(id)', '; rm -rf /', "it's", '"', '\\', 'a\nb', '', '*', 'é']
        self.assertEqual(self.out(sandbox, 'printf', '%s|', *odd), '|'.join(odd) + '|')

    def test_stdin_and_streams(self):
        """Megabytes through; the two outputs stay apart; bytes are bytes."""
        sandbox = self.make()
        data = bytes(range(256)) * 8192
        command = Prism.Command.new(['sh', '-c', 'cat; echo err >&2'])
        command.set_stdin_bytes(GLib.Bytes.new(data))
        result = sandbox.exec(command, None)
        self.assertEqual(result.get_stdout().get_data(), data)
        self.assertEqual(result.get_stderr().get_data(), b'err\n')

    def test_cancel(self):
        """Cancelling ends what runs inside, not only the wait."""
        sandbox = self.make()
        cancellable = Gio.Cancellable()
        answer = Answer(lambda: sandbox.exec(Prism.Command.new(['sh', '-c', 'touch begun; (sleep 1000 &) ; sleep 1000']), cancellable))
        until('it runs', lambda: os.path.exists(os.path.join(self.folder, 'begun')))
        cancellable.cancel()
        self.assertEqual(answer.get().get_outcome(), Prism.Outcome.CANCELLED)
        self.assertNotIn('sleep', self.out(sandbox, 'ps'))

    def test_terminal(self):
        """A terminal of the container's own."""
        sandbox = self.make()
        command = Prism.Command.new(['sh', '-c', 'tty; stty size; echo $TERM'])
        command.set_pty_size(77, 33)
        output = harness.text(sandbox.exec(command, None).get_stdout())
        self.assertIn('/dev/pts/', output)
        self.assertIn('33 77', output)


class Names(Base):
    """Names and identities."""

    def test_again_and_again(self):
        """Created and closed without pause: never the last one's state."""
        made = backend()
        ids = set()
        for number in range(int(os.environ.get('PRISM_TEST_ROUNDS', '12'))):
            sandbox = made.create_sandbox(self.spec(workspace_mode=Prism.WorkspaceMode.COPY), None)
            ids.add(sandbox.dup_id())
            self.assertEqual(self.out(sandbox, 'sh', '-c', f'ls /tmp /workspace; echo {number} > /tmp/left; echo x > /workspace/left').split(), ['/tmp:', '/workspace:'])
            sandbox.close(None)
            self.assertEqual(len(ids), number + 1)

    def test_at_once(self):
        """Several at once, each its own."""
        def one(number):
            sandbox = backend().create_sandbox(self.spec(), None)
            try:
                return self.out(sandbox, 'sh', '-c', f'echo {number} > /tmp/mine; sleep 0.2; cat /tmp/mine'), sandbox.dup_id()
            finally:
                sandbox.close(None)
        answers = [Answer(lambda number=number: one(number)) for number in range(4)]
        got = [answer.get() for answer in answers]
        self.assertEqual([text for text, _ in got], [f'{number}\n' for number in range(4)])
        self.assertEqual(len({name for _, name in got}), 4)

    def test_image_missing(self):
        """An image that is not there is never pulled: what to do is said."""
        missing = IMAGE.rsplit(':', 1)[0] + ':' + '0' * 64
        self.fails('not-found', lambda: self.make({'image': missing}), says=['docker pull', '0' * 64])

    def test_image_unchanged(self):
        """An image is as it was after a sandbox wrote all it could."""
        before = PLACE.ask('GET', f'/images/{IMAGE}/json')
        count = len(PLACE.ask('GET', '/images/json?all=1'))
        sandbox = self.make()
        self.run_in(sandbox, 'sh', '-c', 'touch /x /bin/x /etc/x; rm -rf /bin /etc; echo')
        sandbox.close(None)
        self.assertEqual(PLACE.ask('GET', f'/images/{IMAGE}/json'), before)
        self.assertEqual(len(PLACE.ask('GET', '/images/json?all=1')), count)
        again = self.make()
        self.assertEqual(self.run_in(again, 'ls', '/bin/x', '/etc/x', '/x')[2], '')

    def test_labels(self):
        """It is found by its labels, which say whose it is; the digest is reported."""
        sandbox = self.make()
        labels = self.inspect(sandbox)['Config']['Labels']
        self.assertEqual(labels['prism.sandbox'], '1')
        self.assertTrue(labels['prism.sandbox.id'])
        status = sandbox.dup_capabilities()
        self.assertTrue(status.get_network_isolated() and status.get_filesystem_isolated() and status.get_process_isolated())
        self.assertTrue(status.get_egress_restricted() and status.get_workspace_coherent())
        self.assertFalse(status.get_privilege_isolated())  # a daemon without userns-remap

    def test_other_containers(self):
        """Nothing of another container is seen: processes, network, files, memory."""
        other = PLACE.ask('POST', '/containers/create', {
            'Image': IMAGE, 'Cmd': ['sh', '-c', 'echo secret > /tmp/secret; nc -l -p 7777 -e cat & sleep 777'], 'HostConfig': {'NetworkMode': 'none'}})['Id']
        try:
            PLACE.ask('POST', f'/containers/{other}/start')
            sandbox = self.make()
            self.assertNotIn('777', self.out(sandbox, 'ps', '-o', 'args'))
            self.assertEqual(self.out(sandbox, 'sh', '-c', 'cat /proc/net/route | wc -l; ls /sys/class/net'), '1\nlo\n')
            self.assertNotEqual(self.run_in(sandbox, 'sh', '-c', 'nc -w 1 127.0.0.1 7777 < /dev/null')[1], 0)
            self.assertNotEqual(self.run_in(sandbox, 'cat', '/tmp/secret')[1], 0)
        finally:
            PLACE.call('DELETE', f'/containers/{other}?force=1')

    def test_threads(self):
        """Sixteen commands at once over one channel."""
        sandbox = self.make()
        wrong = []

        def many(number):
            for turn in range(20):
                if self.run_in(sandbox, 'sh', '-c', f'echo {number} {turn}; exit {number}')[1:3] != (number, f'{number} {turn}\n'):
                    wrong.append((number, turn))
        threads = [threading.Thread(target=many, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


taptest.main()
