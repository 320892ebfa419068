# SPDX-License-Identifier: LGPL-2.1-or-later
"""libprism from Python: backends that are used, and one that is written there."""
import ctypes
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

import harness
import scripted

ctypes.CDLL(os.path.join(os.environ['PRISM_BUILD_ROOT'], 'tests/lib/libprism-fake.so')).prism_fake_backend_get_type()
REGISTRY = Prism.Registry.get_default()
REGISTRY.add_type('fake', GObject.GType.from_name('PrismFakeBackend'), 0)
REGISTRY.add_type('scripted', scripted.Backend, 0)


def fails(domain, code, call, *args):
    try:
        call(*args)
    except GLib.Error as error:
        assert error.matches(domain, code), error
        return error
    raise AssertionError('no error')


def make(name='fake', **properties):
    folder = tempfile.mkdtemp()
    spec = Prism.SandboxSpec(workspace=Gio.File.new_for_path(folder), **properties)
    return REGISTRY.create_backend(name).create_sandbox(spec, None)


def until(done):
    context = GLib.MainContext.default()
    deadline = GLib.get_monotonic_time() + 30 * 1000000
    tick = GLib.timeout_add(20, lambda: True)  # what a thread appends wakes no context
    while not done():
        assert GLib.get_monotonic_time() < deadline, 'too late'
        context.iteration(True)
    GLib.source_remove(tick)


def a_command_runs():
    with make() as sandbox:
        result = sandbox.exec(Prism.Command.new(['sh', '-c', 'echo hi; echo no >&2; exit 3']), None)
        assert result.props.exit_code == 3
        assert result.get_outcome() == Prism.Outcome.EXITED
        assert result.get_stdout().get_data() == b'hi\n'
        assert result.props.stderr_bytes.get_data() == b'no\n'
        assert result.dup_stdout_text() == 'hi\n'
        assert not result.props.timed_out
        assert sandbox.props.capabilities.get_workspace_coherent()
        assert not sandbox.dup_capabilities().get_network_isolated()
        assert sandbox.props.status == Prism.SandboxStatus.RUNNING
    assert sandbox.get_status() == Prism.SandboxStatus.REMOVED


def properties_of_a_command():
    command = Prism.Command(argv=['sh', '-c', 'cat; printf %s "$NAME"'], env=['NAME=value'],
                            stdin_bytes=GLib.Bytes.new(b'input '), timeout_ms=20000)
    heard = []
    command.connect('output', lambda _, stream, data: heard.append((stream, data.get_data())))
    with make() as sandbox:
        assert sandbox.exec(command, None).get_stdout().get_data() == b'input value'
    assert b''.join(data for stream, data in heard if stream == Prism.Stream.STDOUT) == b'input value'


def asynchronous():
    answers = []
    with make() as sandbox:
        sandbox.exec_async(Prism.Command.new(['true']), None, lambda s, r: answers.append(s.exec_finish(r)))
        assert not answers
        until(lambda: answers)
        assert answers[0].props.exit_code == 0


def errors_say_what():
    with make() as sandbox:
        error = fails(Prism.sandbox_error_quark(), Prism.SandboxError.NOT_FOUND,
                      sandbox.exec, Prism.Command.new(['no-such-program']), None)
        assert error.message.startswith('fake: ')
    fails(Prism.sandbox_error_quark(), Prism.SandboxError.STATE, sandbox.exec, Prism.Command.new(['true']), None)


def refusals():
    error = fails(Prism.sandbox_error_quark(), Prism.SandboxError.REFUSED,
                  lambda: make(require=Prism.Controls.NETWORK | Prism.Controls.PROCESS))
    assert 'network' in error.message and 'process' in error.message
    limits = Prism.Limits.new(Prism.LimitsProfile.STRICT)
    fails(Prism.limit_error_quark(), Prism.LimitError.RANGE, limits.set, 'max-pids', 100000)
    limits.set_string('memory-bytes', '512M')
    assert limits.props.memory_bytes == 512 << 20
    limits.props.max_fds = -3
    fails(Prism.limit_error_quark(), Prism.LimitError.RANGE, lambda: make(limits=limits))


def files():
    with make() as sandbox:
        assert sandbox.write_file('a/b', GLib.Bytes.new(b'text'), 0o600, Prism.FileFlags.PARENTS, None)
        assert sandbox.read_file('a/b', 0, -1, None).get_data() == b'text'
        assert [e.get_path().rsplit('/', 1)[1] for e in sandbox.list_files('a', 0, None)] == ['b']
        entry = sandbox.stat_file('a/b', None)
        assert (entry.get_size(), entry.get_mode(), entry.get_file_type()) == (4, 0o600, Gio.FileType.REGULAR)
        fails(Prism.sandbox_error_quark(), Prism.SandboxError.NOT_FOUND, sandbox.stat_file, 'x', None)


def processes():
    with make() as sandbox:
        process = sandbox.start_process(Prism.Command.new(['cat']), None)
        process.get_stdin_stream().write_all(b'hello', None)
        assert process.get_stdout_stream().read_bytes(5, None).get_data() == b'hello'
        process.props.stdin_stream.close(None)
        assert process.wait(None).props.exit_code == 0


def health():
    report = REGISTRY.create_backend('fake').probe(None)
    assert [check.get_id() for check in report] == ['fake.nothing']
    assert report.get_status() == Prism.HealthStatus.WARN


def limits_have_bounds():
    limits = Prism.Limits.new(Prism.LimitsProfile.STRICT)
    assert Prism.object_get_bounds(limits, 'max-commands', Prism.LimitsProfile.STRICT) == (True, 100, 1, 256)
    assert Prism.object_get_bounds(limits, 'max-commands', Prism.LimitsProfile.STANDARD)[1] == 0
    assert not Prism.object_get_bounds(limits, 'profile', Prism.LimitsProfile.STANDARD)[0]


def capabilities_from_elsewhere():
    good = ('{"workspaceCoherent":true,"filesystemIsolated":true,"networkIsolated":false,"processIsolated":true,'
            '"privilegeIsolated":false,"egressRestricted":false}')
    assert Prism.Capabilities.parse_json(good, -1).get_process_isolated()
    assert Prism.Capabilities.parse_json(good.replace('true', '1'), -1).get_controls() == 0
    variant = Prism.Capabilities.parse_json(good, -1).to_variant()
    assert Prism.Capabilities.parse(variant).get_filesystem_isolated()


def several_threads():
    results = []

    def work():
        for number in range(20):
            results.append(sandbox.exec(Prism.Command.new_shell('exit %d' % number), None).props.exit_code == number)
    with make() as sandbox:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 80 and all(results)


# --- a backend that is written here ------------------------------------------------


def scripted_synchronous():
    with make('scripted') as sandbox:
        heard = []
        command = Prism.Command.new(['sh', '-c', 'echo out; exit 4'])
        command.connect('output', lambda _, stream, data: heard.append(data.get_data()))
        result = sandbox.exec(command, None)
        assert (result.props.exit_code, result.dup_stdout_text()) == (4, 'out\n')
        assert heard == [b'out\n']
        assert sandbox.read_file('x', 0, -1, None).get_data() == b'/workspace/x'
        assert sandbox.list_files('.', 0, None).get_item(0).get_size() == 3
        assert sandbox.export_tree('.', Gio.MemoryOutputStream.new_resizable(), None).get_bytes() == 3
        process = sandbox.start_process(Prism.Command.new(['sh', '-c', 'exit 6']), None)
        assert process.wait(None).props.exit_code == 6
    assert sandbox.get_status() == Prism.SandboxStatus.REMOVED


def scripted_asynchronous():
    answers = []
    sandbox = make('scripted')
    for _ in range(20):
        sandbox.exec_async(Prism.Command.new(['sh', '-c', 'exit 5']), None,
                           lambda s, r: answers.append(s.exec_finish(r).props.exit_code))
    until(lambda: len(answers) == 20)
    assert answers == [5] * 20


def scripted_backend_methods():
    backend = REGISTRY.create_backend('scripted')
    assert backend.list_sandboxes(None) == ['one', 'two']
    assert backend.reap(None) == 0
    assert backend.probe(None).get_item(0).get_remedy() == 'do this'
    error = fails(Prism.sandbox_error_quark(), Prism.SandboxError.REFUSED,
                  lambda: make('scripted', network=Prism.NetworkMode.EGRESS,
                               egress_policy=Prism.EgressPolicy.new_deny_all()))
    assert error.message == 'scripted: no network here'


def scripted_mistakes():
    sandbox = make('scripted')
    for word, code in (('dropped', Prism.SandboxError.FAILED),):
        fails(Prism.sandbox_error_quark(), code, sandbox.exec, Prism.Command.new([word]), None)
    fails(Prism.sandbox_error_quark(), Prism.SandboxError.NOT_SUPPORTED, sandbox.pause, None)


def scripted_only_in_its_thread():
    """A call from another thread runs where the script's object was made."""
    sandbox = make('scripted')
    codes = []

    def work():
        for number in range(10):
            codes.append(sandbox.exec(Prism.Command.new_shell('exit %d' % number), None).props.exit_code)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(codes) == 30)
    for thread in threads:
        thread.join()
    assert sorted(codes) == sorted(list(range(10)) * 3)
    assert sandbox.threads == {threading.get_ident()}


harness.run([
    a_command_runs, properties_of_a_command, asynchronous, errors_say_what, refusals, files, processes, health,
    limits_have_bounds, capabilities_from_elsewhere, several_threads, scripted_synchronous, scripted_asynchronous,
    scripted_backend_methods, scripted_mistakes, scripted_only_in_its_thread,
])
