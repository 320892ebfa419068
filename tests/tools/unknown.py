# SPDX-License-Identifier: LGPL-2.1-or-later
"""A sandbox whose answer to a change never comes: what its tree shows proves that the change was
made, or nobody knows. Each tool that changes files, done and not done, late and lost."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'bindings'))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, Prism

import harness
import scripted


class Vague(scripted.Sandbox):
    """Files in memory. A change is made, or not, and then there is no answer."""
    __gtype_name__ = 'Vague'

    def __init__(self, code, does):
        super().__init__()
        self.files = {'/workspace/a': b'one two\n', '/workspace/b': b'b\n'}
        self.code = code
        self.does = does

    def fail(self, operation, code, message):
        operation.fail(GLib.Error.new_literal(Prism.sandbox_error_quark(), message, code))

    def change(self, operation, func):
        if self.does:
            func()
        self.fail(operation, self.code, 'no answer')

    def do_read_file(self, operation):
        path, at = operation.get_path(), operation.get_offset()
        if path not in self.files:
            return self.fail(operation, Prism.SandboxError.NOT_FOUND, 'there is no ' + path)
        operation.complete_bytes(GLib.Bytes.new(self.files[path][at:at + operation.get_length()]))

    def do_stat_file(self, operation):
        path = operation.get_path()
        if path not in self.files:
            return self.fail(operation, Prism.SandboxError.NOT_FOUND, 'there is no ' + path)
        operation.complete_entry(Prism.FileEntry.new(path, Gio.FileType.REGULAR, len(self.files[path]), 0o644, 0))

    def do_write_file(self, operation):
        self.change(operation, lambda: self.files.update({operation.get_path(): operation.get_bytes().get_data()}))

    def do_remove_file(self, operation):
        self.change(operation, lambda: self.files.pop(operation.get_path()))

    def do_rename_file(self, operation):
        self.change(operation, lambda: self.files.update(
            {operation.get_destination(): self.files.pop(operation.get_path())}))


CALLS = [('write', {'path': 'a', 'content': 'new\n'}),
         ('write', {'path': 'fresh', 'content': 'new\n'}),
         ('edit', {'path': 'a', 'edits': [{'oldText': 'two', 'newText': '2'}]}),
         ('delete', {'path': 'a'}),
         ('move', {'from': 'a', 'to': 'c'})]


def call(code, does, name, arguments):
    sandbox = Vague(code, does)
    before = dict(sandbox.files)
    composition = Prism.Composition.new(Prism.CompositionMode.SANDBOX)
    composition.set_sandbox(sandbox)
    composition.bind(None)
    changed = []
    composition.connect('file-changed', lambda _self, path, _operation, _call: changed.append(path))
    result = composition.find_tool(name).call(json.dumps(arguments), None, None)
    return result, changed, sandbox.files != before


def proven():
    for code in (Prism.SandboxError.TIMEOUT, Prism.SandboxError.LOST):
        for name, arguments in CALLS:
            result, changed, different = call(code, True, name, arguments)
            assert not result.get_failed(), (name, result.get_message())
            assert json.loads(result.get_metadata())['reconciled'], name
            assert different and len(changed) == 1, name


def not_known():
    for code in (Prism.SandboxError.TIMEOUT, Prism.SandboxError.LOST):
        for name, arguments in CALLS:
            result, changed, different = call(code, False, name, arguments)
            assert result.get_failed() and result.get_code() == Prism.ToolError.UNKNOWN, (name, result.get_code())
            assert 'whether it was done is not known' in result.get_message(), result.get_message()
            assert not different and not changed, name


def known():
    for name, arguments in CALLS:
        result, changed, _different = call(Prism.SandboxError.DENIED, False, name, arguments)
        assert result.get_failed() and 'not known' not in result.get_message(), result.get_message()
        assert not changed


harness.run([proven, not_known, known])
