# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend in Python that does not keep its word: who calls it gets an answer, once, in
time, synchronously, asynchronously and from threads; and it is only called in its own."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

import harness

READABLE = GObject.ParamFlags.READABLE
MAX_WAIT = 100
HERE = threading.get_ident()
KEPT = []


def result():
    return Prism.Result(outcome=Prism.Outcome.EXITED, exit_code=3)


class Sandbox(GObject.Object, Prism.Sandbox):
    id = GObject.Property(type=str, default='odd-1', flags=READABLE)
    backend_name = GObject.Property(type=str, default='odd', flags=READABLE)
    reference = GObject.Property(type=str, default=None, flags=READABLE)
    status = GObject.Property(type=Prism.SandboxStatus, default=Prism.SandboxStatus.RUNNING, flags=READABLE)

    def __init__(self):
        super().__init__()
        self.closed = 0
        self.elsewhere = 0

    @GObject.Property(type=Prism.Capabilities, flags=READABLE)
    def capabilities(self):
        self.elsewhere += threading.get_ident() != HERE
        return Prism.Capabilities.new(Prism.Controls.WORKSPACE, None)

    @GObject.Property(type=str, flags=READABLE)
    def workspace(self):
        self.elsewhere += threading.get_ident() != HERE
        return '/workspace'

    def do_read_file(self, operation):
        operation.complete_bytes(GLib.Bytes.new(operation.get_path().encode()))

    def do_exec(self, operation):
        self.elsewhere += threading.get_ident() != HERE
        mood = operation.get_command().get_argv()[0]
        getattr(self, mood)(operation)

    def good(self, operation):
        operation.complete(result())

    def drops(self, operation):
        pass

    def twice(self, operation):
        operation.complete(result())
        operation.complete(result())
        operation.fail_literal(Prism.sandbox_error_quark(), 0, 'and fails')

    def thread(self, operation):
        threading.Thread(target=operation.complete, args=(result(),)).start()

    def never(self, operation):
        KEPT.append(operation)

    def wrong(self, operation):
        try:
            operation.complete('no result')
        except TypeError:
            operation.fail_literal(Prism.sandbox_error_quark(), Prism.SandboxError.FAILED, 'a type error')

    def nothing(self, operation):
        try:
            operation.complete(None)
        except TypeError:
            pass

    def raises(self, operation):
        raise ValueError('this is a bug of the script; it is meant')

    def inside(self, operation):
        operation.complete(self.exec(Prism.Command.new(['good']), None))

    def do_stat_file(self, operation):
        KEPT.append(operation)

    def do_close(self, operation):
        self.closed += 1
        operation.complete()


class Backend(GObject.Object, Prism.Backend):
    made = []

    def do_get_name(self):
        return 'odd'

    def do_probe(self, operation):
        raise RuntimeError('this is a bug of the script; it is meant')

    def do_create_sandbox(self, operation):
        self.made.append(Sandbox())
        operation.complete(self.made[-1])


REGISTRY = Prism.Registry.get_default()
REGISTRY.add_type('odd', Backend, 0)
BACKEND = REGISTRY.create_backend('odd')
FAILED, TIMEOUT, CANCELLED = Prism.SandboxError.FAILED, Prism.SandboxError.TIMEOUT, Prism.SandboxError.CANCELLED
ANSWERS = 'answers'
MOODS = {'good': {ANSWERS}, 'twice': {ANSWERS}, 'thread': {ANSWERS}, 'inside': {ANSWERS}, 'drops': {FAILED}, 'nothing': {FAILED},
         'wrong': {FAILED}}


def make(**asked):
    return BACKEND.create_sandbox(Prism.SandboxSpec(**asked), None)


def command(mood):
    made = Prism.Command.new([mood])
    made.set_timeout_ms(1)  # and the library's half a minute after it
    return made


def outcome(call, *args):
    try:
        answer = call(*args)
        return ANSWERS if answer is not None else 'nothing at all'
    except GLib.Error as error:
        assert error.domain == GLib.quark_to_string(Prism.sandbox_error_quark()), error
        return error.code


def until(done):
    deadline = time.monotonic() + MAX_WAIT
    tick = GLib.timeout_add(20, lambda: True)
    while not done():
        assert time.monotonic() < deadline, 'never answered'
        GLib.MainContext.default().iteration(True)
    GLib.source_remove(tick)


def synchronously():
    sandbox = make()
    for mood, allowed in MOODS.items():
        assert outcome(sandbox.exec, command(mood), None) in allowed, mood


def asynchronously():
    sandbox, heard = make(), []
    for mood, allowed in MOODS.items():
        sandbox.exec_async(command(mood), None, lambda s, r, a=allowed: heard.append(outcome(s.exec_finish, r) in a))
    until(lambda: len(heard) == len(MOODS))
    for _ in range(20):
        GLib.MainContext.default().iteration(False)
    assert len(heard) == len(MOODS) and all(heard)


def from_threads():
    """The script is only called in the context it was made in, whoever calls."""
    sandbox, heard = make(), []

    def work(mood, allowed):
        good = outcome(sandbox.exec, command(mood), None) in allowed
        # The path is made of a property, which is the script's as well.
        good = good and sandbox.read_file('x', 0, -1, None).get_data() == b'/workspace/x'
        good = good and sandbox.dup_capabilities().get_workspace_coherent() and BACKEND.get_name() == 'odd'
        heard.append(good)
    threads = [threading.Thread(target=work, args=row) for row in list(MOODS.items()) * 3]
    for thread in threads:
        thread.start()
    until(lambda: len(heard) == len(threads))
    for thread in threads:
        thread.join()
    assert all(heard)
    assert sandbox.elsewhere == 0


def lies():
    """A sandbox without what is required is not handed out, and is closed."""
    assert outcome(lambda: make(require=Prism.Controls.NETWORK)) == Prism.SandboxError.REFUSED
    until(lambda: Backend.made[-1].closed == 1)


def never():
    """Synchronously, asynchronously, from threads; cancelled and not: all at the same time."""
    sandbox, heard, cancellable = make(), [], Gio.Cancellable()
    for mood in ('never', 'raises'):
        sandbox.exec_async(command(mood), None, lambda s, r: heard.append(outcome(s.exec_finish, r)))
        sandbox.exec_async(command(mood), cancellable, lambda s, r: heard.append(outcome(s.exec_finish, r)))
        threading.Thread(target=lambda m=mood: heard.append(outcome(sandbox.exec, command(m), None))).start()
    sandbox.stat_file_async('x', None, lambda s, r: heard.append(outcome(s.stat_file_finish, r)))
    BACKEND.probe_async(None, lambda b, r: heard.append(outcome(b.probe_finish, r)))
    until(lambda: KEPT)
    cancellable.cancel()
    # A call of a thread waits for this one's loop: it has to run before this one blocks.
    until(lambda: len(KEPT) == 4)
    assert outcome(sandbox.exec, command('never'), None) == TIMEOUT
    until(lambda: len(heard) == 8)
    assert set(heard) <= {TIMEOUT, CANCELLED, FAILED}, heard
    assert sandbox.elsewhere == 0
    # Late, into the void.
    for operation in KEPT:
        if isinstance(operation, Prism.ExecOperation):
            operation.complete(result())


harness.run([synchronously, asynchronously, from_threads, lies, never])
