# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asynchronous calls, cancelling, errors and many calls, from Python: as calls.c."""
import gc
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, Prism

import harness

REGISTRY = Prism.Registry.get_default()
SANDBOX = REGISTRY.create_backend('native').create_sandbox(Prism.SandboxSpec(), None)


def until(done):
    while not done():
        GLib.MainContext.default().iteration(True)


def asynchronous():
    codes = []
    for code in range(10):
        SANDBOX.exec_async(Prism.Command.new_shell(f'exit {code}'), None,
                           lambda sandbox, result, code=code: codes.append(sandbox.exec_finish(result).props.exit_code == code))
    until(lambda: len(codes) == 10)
    assert all(codes)


def cancel():
    cancellable, answers = Gio.Cancellable(), []
    command = Prism.Command.new_shell('echo on; sleep 1000')
    command.connect('output', lambda *_: cancellable.cancel())
    SANDBOX.exec_async(command, cancellable, lambda sandbox, result: answers.append(sandbox.exec_finish(result)))
    until(lambda: answers)
    assert answers[0].props.cancelled and answers[0].get_outcome() == Prism.Outcome.CANCELLED


def fails(domain, code, call, *args):
    try:
        call(*args)
    except GLib.Error as error:
        assert error.matches(domain, code), error
    else:
        raise AssertionError('no error')


def errors():
    cancellable = Gio.Cancellable()
    fails(Prism.sandbox_error_quark(), Prism.SandboxError.NOT_FOUND, SANDBOX.stat_file, 'missing', None)
    fails(Prism.plugin_error_quark(), Prism.PluginError.NOT_FOUND, REGISTRY.create_backend, 'none')
    fails(Prism.limit_error_quark(), Prism.LimitError.RANGE, Prism.Limits.new(Prism.LimitsProfile.STRICT).set, 'max-pids', 100000)
    cancellable.cancel()
    fails(Prism.sandbox_error_quark(), Prism.SandboxError.CANCELLED, SANDBOX.exec, Prism.Command.new_shell('true'), cancellable)


def memory_of():
    gc.collect()
    with open('/proc/self/status') as file:
        return int(re.search(r'VmRSS:\s*(\d+)', file.read()).group(1))


def call(times):
    for _ in range(times):
        assert SANDBOX.exec(Prism.Command.new(['true']), None).props.exit_code == 0
        assert SANDBOX.stat_file('.', None) and SANDBOX.dup_capabilities()


def memory():
    times = int(os.environ.get('PRISM_TEST_CALLS', 1000))
    call(times // 4 + 100)
    before = memory_of()
    call(times)
    print(f'# {times} calls: {memory_of() - before} KiB more')
    assert memory_of() - before < 512 + times / 8


def close():
    assert SANDBOX.close(None)


harness.run([asynchronous, cancel, errors, memory, close])
