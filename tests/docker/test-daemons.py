# SPDX-License-Identifier: LGPL-2.1-or-later
"""Engines that are absent, slow, wrong or cut: each is an error that says so, in its
time, and nothing is left behind. The fake stands before the real one and spoils one
answer of a whole life."""
import json
import os
import shutil
import socket
import tempfile
import time

import harness

import fake_dockerd as fake
import taptest
from gi.repository import GLib, Prism
from harness import Answer, Base, backend, code_of

LIMIT_MS = 3000
PING = ('GET', '/_ping')
CREATE = ('POST', '/containers/create')
START = ('POST', '/containers/[^/]+/start')
REMOVE = ('DELETE', '/containers/[^/]+')
INSPECT = ('GET', '/containers/[^/]+/json')
IMAGE = ('GET', '/images/.+/json')


class Daemons(Base):
    def setUp(self):
        super().setUp()
        self.beside = tempfile.mkdtemp(prefix='prism-engine-')
        self.addCleanup(shutil.rmtree, self.beside, ignore_errors=True)
        self.path = os.path.join(self.beside, 'engine.sock')

    def stand_before(self, upstream=True):
        made = fake.FakeDockerd(self.path, self.daemon().socket if upstream else None)
        self.addCleanup(made.stop)
        return made

    def create(self, startup_ms=LIMIT_MS, **properties):
        made = backend(self.daemon())
        made.set_property('socket', self.path)
        limits = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
        limits.set('startup-timeout-ms', startup_ms)
        limits.set('cleanup-deadline-ms', 5000)
        properties.setdefault('workspace_mode', Prism.WorkspaceMode.COPY)
        sandbox = made.create_sandbox(self.spec(limits=limits, **properties), None)
        self.addCleanup(self.close, sandbox)
        return sandbox

    def refused(self, codes, says=(), within=LIMIT_MS + 12000, **options):
        """Creation fails so, soon; what it says."""
        begun = time.monotonic()
        message = self.fails(codes, lambda: self.create(**options), says=says)
        self.assertLess((time.monotonic() - begun) * 1000, within)
        self.assertNotIn('\n', message)
        return message

    # --- none, or none for us ----------------------------------------------------------

    def test_absent(self):
        """No socket there: the path and what to do are named."""
        self.refused('unavailable', [self.path, 'socket'])

    def test_nobody_listens(self):
        """A socket that nobody listens on any more."""
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path)
        self.refused('unavailable', self.path)

    def test_no_socket(self):
        """A file, a folder."""
        with open(self.path, 'w', encoding='ascii'):
            pass
        self.refused(('unavailable', 'failed', 'denied'), self.path)
        os.unlink(self.path)
        os.mkdir(self.path)
        self.refused(('unavailable', 'failed', 'denied'), self.path)
        os.rmdir(self.path)

    # --- slow --------------------------------------------------------------------------

    def test_silent(self):
        """Takes connections and says nothing: the startup limit holds for each step."""
        for step in (PING, IMAGE, CREATE, START):
            with self.subTest(step=step):
                with fake.FakeDockerd(self.path, self.daemon().socket) as engine:
                    engine.rule(*step, fake.hang())
                    self.refused('timeout')
                self.assert_nothing_left()

    def test_drip(self):
        """A byte at a time: the limit is on the whole."""
        engine = self.stand_before(upstream=False)
        engine.rule('*', '.*', fake.slow(b'HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nX-Long: ' + b'x' * 4000))
        self.refused('timeout')

    def test_cancelled(self):
        """Cancelling does not wait for it."""
        engine = self.stand_before(upstream=False)
        engine.rule('*', '.*', fake.hang())
        made = backend(self.daemon())
        made.set_property('socket', self.path)
        cancellable = harness.Gio.Cancellable()
        answer = Answer(lambda: made.create_sandbox(self.spec(workspace_mode=Prism.WorkspaceMode.COPY), cancellable))
        harness.until('it was asked', lambda: engine.asked)
        cancellable.cancel()
        begun = time.monotonic()
        with self.assertRaises(GLib.Error) as raised:
            answer.get(20)
        self.assertIn(code_of(raised.exception), ('cancelled', f'{GLib.quark_to_string(harness.Gio.io_error_quark())}/{int(harness.Gio.IOErrorEnum.CANCELLED)}'))
        self.assertLess(time.monotonic() - begun, 10)

    # --- wrong -------------------------------------------------------------------------

    GARBAGE = {
        'no HTTP': fake.raw(b'hello, who is there?\r\n' * 100, then_close=True),
        'TLS': fake.raw(bytes([21, 3, 1, 0, 2, 2, 70]), then_close=True),
        'nothing': fake.close(),
        'a head without end': fake.endless(b'HTTP/1.1 200 OK\r\n', b'X-More: and more\r\n' * 1000),
        'a body without end': fake.endless(b'HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n\r\n', b'x' * 65536),
        'chunks without end': fake.endless(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', b'1000\r\n' + b'[' * 4096 + b'\r\n'),
        'a wrong length': fake.raw(b'HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: -5\r\n\r\n{}', then_close=True),
        'a huge length': fake.raw(b'HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 99999999999999999999\r\n\r\n{}', then_close=True),
        'half a body': fake.raw(b'HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 5000\r\n\r\n{"a":', then_close=True),
        'a bad chunk': fake.raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n', then_close=True),
        'NUL bytes': fake.raw(b'\0' * 5000, then_close=True),
        'a redirect': fake.reply(302, b'', ['Location: http://127.0.0.1:1/']),
        'an error page': fake.reply(500, b'<html><body>Oh\nno</body></html>'),
        'no JSON': fake.reply(200, b'OK, I will'),
        'a list': fake.reply(200, b'[]'),
        'nothing in it': fake.reply(200, b'{}'),
        'a nest': fake.reply(200, b'[' * 200000),
        'other types': fake.reply(200, {'Id': 7, 'State': [], 'Config': 'x', 'RepoDigests': {}, 'Message': None, 'message': ['x']}),
        'an id that is none': fake.reply(201, {'Id': '../../../etc', 'Warnings': []}),
        'an id with an option': fake.reply(201, {'Id': '-f', 'Warnings': []}),
        'not UTF-8': fake.reply(200, b'{"Id":"\xff\xfe\xfd"}'),
        'text for terminals': fake.reply(500, {'message': 'boo\x1b[2J\x1b]0;evil\x07\r\nsecond line ' + 'x' * 5000}),
    }

    def test_garbage(self):
        """Every kind of rubbish at every step: an error, in time, nothing left."""
        for step in (PING, IMAGE, CREATE, START, INSPECT):
            for kind, act in self.GARBAGE.items():
                with self.subTest(step=step, kind=kind), fake.FakeDockerd(self.path, self.daemon().socket) as engine:
                    engine.rule(*step, act)
                    if step != CREATE:
                        # What is not needed of an answer may be wrong; the agent dials whatever the engine says of it.
                        try:
                            sandbox = self.create()
                        except GLib.Error as error:
                            self.judge_message(error.message)
                            self.assertIn(code_of(error), self.CODES, error.message)
                        else:
                            engine.forget()
                            self.assertEqual(self.run_in(sandbox, 'true')[:2], ('exited', 0))
                            sandbox.close(None)
                        continue
                    self.judge_message(self.refused(self.CODES))

    CODES = ('failed', 'unavailable', 'not-found', 'refused', 'timeout', 'limit', 'lost', 'state')

    def judge_message(self, message):
        self.assertTrue(message.isprintable(), message)
        self.assertLess(len(message), 2000)

    def test_too_old(self):
        """An engine of another time: its version is no riddle."""
        for version in ('1.24', '1.39', '0', 'x', '2.0', '1.9999999999999999999'):
            with self.subTest(version=version), fake.FakeDockerd(self.path) as engine:
                engine.rule(*PING, fake.raw(f'HTTP/1.1 200 OK\r\nApi-Version: {version}\r\nContent-Length: 2\r\n\r\nOK'.encode()))
                self.refused('unavailable', self.path)

    # --- cut, in the midst of a life -----------------------------------------------------

    def test_cut_create(self):
        """The answer to a create is cut: the container was made, and is removed by its name."""
        for after in (0, 1, 20, 200):
            with self.subTest(after=after):
                with fake.FakeDockerd(self.path, self.daemon().socket) as engine:
                    engine.rule(*CREATE, fake.cut(after), times=1)
                    self.refused(('failed', 'unavailable', 'lost'))
                self.assert_nothing_left()

    def test_cut_start(self):
        """A start whose answer is cut: error or not, nothing is left after it."""
        for after in (0, 10):
            with self.subTest(after=after):
                with fake.FakeDockerd(self.path, self.daemon().socket) as engine:
                    engine.rule(*START, fake.cut(after), times=1)
                    try:
                        sandbox = self.create()
                    except GLib.Error as error:
                        self.assertIn(code_of(error), ('failed', 'lost', 'unavailable'), error.message)
                    else:
                        self.assertEqual(self.run_in(sandbox, 'true')[:2], ('exited', 0))
                        sandbox.close(None)
                self.assert_nothing_left()

    def test_start_refused(self):
        """A start that the engine refuses: its words, and the container is removed."""
        engine = self.stand_before()
        engine.rule(*START, fake.reply(500, {'message': 'OCI runtime create failed: no space left on device'}))
        self.refused('failed', 'no space left on device')
        self.assertGreaterEqual(engine.count(*REMOVE), 1)

    def test_create_conflict(self):
        """A name that is taken: told apart from other failures."""
        engine = self.stand_before()
        engine.rule(*CREATE, fake.reply(409, {'message': 'Conflict. The container name "/x" is already in use'}))
        self.refused(('state', 'failed'), 'already in use')

    def test_remove_fails(self):
        """An engine that does not remove: close says so, in time."""
        engine = self.stand_before()
        sandbox = self.create()
        container = self.container(sandbox)
        engine.rule(*REMOVE, fake.reply(500, {'message': 'device or resource busy'}))
        self.fails(('failed', 'timeout'), sandbox.close, None)
        engine.forget()
        self.daemon().call('DELETE', f'/containers/{container}?force=1&v=1')

    def test_goes_away(self):
        """The engine is gone while commands run: they go on over the agent's socket, and close says what it could not do."""
        engine = self.stand_before()
        sandbox = self.create()
        engine.stop()
        self.assertEqual(self.out(sandbox, 'echo', 'still here'), 'still here\n')
        try:
            sandbox.close(None)
        except GLib.Error as error:
            self.assertIn(code_of(error), ('unavailable', 'failed'), error.message)
        # The agent ended with its host's connection; the keeper removes what it left when there is an engine again.
        self.stand_before()
        self.assert_nothing_left()

    # --- what it says is not believed ----------------------------------------------------

    def test_another_pid(self):
        """It names another process than the one that dialled."""
        engine = self.stand_before()

        def other(answer):
            answer['State']['Pid'] = os.getpid()
            return answer

        engine.rule(*INSPECT, fake.changed(other))
        try:
            sandbox = self.create()
        except GLib.Error as error:
            self.assertIn(code_of(error), ('failed', 'lost', 'timeout', 'refused', 'denied'), error.message)
        else:
            # The kernel's own word (its cgroup) may outweigh the engine's.
            self.assertEqual(self.out(sandbox, 'id', '-u'), '10001\n')
            sandbox.close(None)

    def test_weaker_than_asked(self):
        """It says of the container that it is less confined than was asked for: not claimed, or refused."""
        weaker = {
            'network': lambda answer: answer['HostConfig'].update(NetworkMode='host'),
            'privileged': lambda answer: answer['HostConfig'].update(Privileged=True),
            'capabilities': lambda answer: answer['HostConfig'].update(CapDrop=[], CapAdd=['SYS_ADMIN']),
            'pid mode': lambda answer: answer['HostConfig'].update(PidMode='host'),
            'writable': lambda answer: answer['HostConfig'].update(ReadonlyRootfs=False),
            'a mount': lambda answer: answer['Mounts'].append({'Type': 'bind', 'Source': '/', 'Destination': '/host', 'Mode': '', 'RW': True, 'Propagation': 'rprivate'}),
        }
        for what, change in weaker.items():
            with self.subTest(what=what), fake.FakeDockerd(self.path, self.daemon().socket) as engine:
                def worse(answer, change=change):
                    change(answer)
                    return answer
                engine.rule(*INSPECT, fake.changed(worse))
                try:
                    sandbox = self.create()
                except GLib.Error as error:
                    self.assertIn(code_of(error), ('refused', 'failed'), error.message)
                    continue
                capabilities = sandbox.dup_capabilities()
                claimed = (capabilities.get_network_isolated(), capabilities.get_filesystem_isolated(), capabilities.get_process_isolated(),
                           capabilities.get_egress_restricted())
                engine.forget()
                sandbox.close(None)
                self.assertIn(False, claimed, f'{what}: everything is claimed still')

    def test_what_is_asked(self):
        """What goes to the engine: no secret of the environment, nothing but what the contract lists."""
        engine = self.stand_before()
        os.environ['SOME_HOST_SECRET'] = 'not-for-anybody'
        spec_secret = self.spec(workspace_mode=Prism.WorkspaceMode.COPY)
        spec_secret.add_secret('TOKEN', 's3cr3t-of-the-caller')
        made = backend(self.daemon())
        made.set_property('socket', self.path)
        sandbox = made.create_sandbox(spec_secret, None)
        self.addCleanup(self.close, sandbox)
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'echo $TOKEN'), 's3cr3t-of-the-caller\n')
        everything = b''.join(body + path.encode() for _, path, body in engine.asked)
        for secret in (b'not-for-anybody', b's3cr3t-of-the-caller'):
            self.assertNotIn(secret, everything)
        self.assertNotIn(b's3cr3t', json.dumps(self.inspect(sandbox)).encode())
        body = next(json.loads(body) for method, path, body in engine.asked if method == 'POST' and '/create' in path)
        host = body['HostConfig']
        self.assertEqual(host['CapDrop'], ['ALL'])
        self.assertEqual((host['NetworkMode'], host['ReadonlyRootfs'], host['IpcMode']), ('none', True, 'private'))
        self.assertEqual(host['LogConfig']['Type'], 'none')
        self.assertFalse(host.get('Privileged') or host.get('Init') or host.get('CapAdd') or host.get('Devices') or body.get('Tty'))
        self.assertIn('no-new-privileges', ' '.join(host['SecurityOpt']))
        self.assertEqual(body['Healthcheck'], {'Test': ['NONE']})
        self.assertNotIn('docker.sock', json.dumps(body))
        self.assertEqual(host['Memory'], host['MemorySwap'])
        sandbox.close(None)


taptest.main()
