# SPDX-License-Identifier: LGPL-2.1-or-later
"""Coding tools from Python: called, called without waiting, and one that is written there."""
import json
import os
import signal
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

import harness


class Shout(GObject.Object, Prism.Tool):
    """Says it louder; fails where there is nothing to say."""
    __gtype_name__ = 'Shout'
    name = GObject.Property(type=str, default='shout', flags=GObject.ParamFlags.READABLE)
    description = GObject.Property(type=str, default='Says it louder', flags=GObject.ParamFlags.READABLE)
    input_schema = GObject.Property(type=str, flags=GObject.ParamFlags.READABLE,
                                    default='{"type":"object","properties":{"text":{"type":"string"}}}')
    effect = GObject.Property(type=Prism.Effect, default=Prism.Effect.NONE, flags=GObject.ParamFlags.READABLE)
    exclusive = GObject.Property(type=bool, default=False, flags=GObject.ParamFlags.READABLE)

    def do_call(self, operation):
        text = json.loads(operation.get_arguments()).get('text')
        if text is None:
            operation.complete(Prism.ToolResult.new_failure(Prism.ToolError.INVALID, 'send text'))
            return
        operation.report('taking a breath')
        result = Prism.ToolResult.new_text(text.upper())
        result.set_metadata('{"loud": true}')
        operation.complete(result)


class Count(GObject.Object, Prism.Tool):
    """Works on the composition's tree: counts the words of a file, and writes the number beside it."""
    __gtype_name__ = 'Count'
    name = GObject.Property(type=str, default='count', flags=GObject.ParamFlags.READABLE)
    description = GObject.Property(type=str, default='Counts words', flags=GObject.ParamFlags.READABLE)
    input_schema = GObject.Property(type=str, flags=GObject.ParamFlags.READABLE,
                                    default='{"type":"object","properties":{"path":{"type":"string"}}}')
    effect = GObject.Property(type=Prism.Effect, default=Prism.Effect.LOCAL_MUTATION, flags=GObject.ParamFlags.READABLE)
    exclusive = GObject.Property(type=bool, default=False, flags=GObject.ParamFlags.READABLE)
    composition = None

    def do_call(self, operation):
        path = json.loads(operation.get_arguments())['path']
        try:
            words = len(self.composition.read_file(path, 0, 1 << 20, None).get_data().split())
            self.composition.write_file(path + '.count', GLib.Bytes.new(b'%d' % words), 0, None)
        except GLib.Error as error:
            operation.complete(Prism.ToolResult.new_failure(Prism.ToolError(error.code), error.message))
            return
        operation.complete(Prism.ToolResult.new_text('%d words' % words))


def compose():
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, 'a.txt'), 'w', encoding='utf-8') as file:
        file.write('one\ntwo\n')
    composition = Prism.Composition.new(Prism.CompositionMode.HOST)
    composition.set_folder(Gio.File.new_for_path(folder))
    composition.add_tool(Shout())
    composition.bind(None)
    return composition


def call_a_tool():
    read = compose().find_tool('read')
    assert json.loads(read.dup_input_schema())['required'] == ['path']
    assert read.get_effect() == Prism.Effect.NONE
    result = read.call('{"path": "a.txt"}', None, None)
    assert not result.get_failed() and result.dup_text() == 'one\ntwo\n'
    assert json.loads(result.get_metadata())['truncation']['totalLines'] == 2
    result = read.call('{"path": "../a.txt"}', None, None)
    assert result.get_failed() and result.get_code() == Prism.ToolError.ESCAPE, result.get_message()
    assert json.loads(result.to_json())['error']['code'] == 'escape'


def own_tool_on_the_tree():
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, 'a.txt'), 'w', encoding='utf-8') as file:
        file.write('one two\nthree\n')
    composition = Prism.Composition.new(Prism.CompositionMode.HOST)
    composition.set_folder(Gio.File.new_for_path(folder))
    own = Count()
    own.composition = composition
    composition.add_tool(own)
    composition.bind(None)
    count = composition.find_tool('count')
    assert count.call('{"path": "a.txt"}', None, None).dup_text() == '3 words'
    assert composition.find_tool('read').call('{"path": "a.txt.count"}', None, None).dup_text() == '3'
    assert count.call('{"path": "../a.txt"}', None, None).get_code() == Prism.ToolError.ESCAPE
    names = [os.path.basename(entry.get_path()) for entry in composition.list_files('.', False, None)]
    assert names == ['a.txt', 'a.txt.count'], names
    result = composition.exec(Prism.Command.new(['cat', 'a.txt.count']), None)
    assert result.get_stdout().get_data() == b'3'
    composition.remove_file('a.txt.count', False, None)
    assert not os.path.exists(os.path.join(folder, 'a.txt.count'))


def documents_are_read():
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, 'd.pdf'), 'wb') as file:
        file.write(b'%PDF-1.4 hello')
    composition = Prism.Composition.new(Prism.CompositionMode.HOST)
    composition.set_folder(Gio.File.new_for_path(folder))
    composition.bind(None)
    seen = []

    def found(_composition, conversion):
        seen.append((conversion.get_path(), conversion.get_media_type()))
        return conversion.give_text(conversion.get_bytes().get_data()[9:].decode(), 1, None)
    composition.connect('file-found', found)
    result = composition.find_tool('read').call('{"path": "d.pdf"}', None, None)
    assert result.dup_text() == 'hello', result.get_message()
    assert json.loads(result.get_metadata())['document'] == {'format': 'pdf', 'pages': 1, 'truncatedBy': None}
    assert seen == [('d.pdf', 'application/pdf')]


def call_without_waiting():
    loop = GLib.MainLoop()
    shell = compose().find_tool('shell')
    got, said = [], []
    context = Prism.ToolContext.new('run', None, None)
    context.connect('progress', lambda _context, text: said.append((text, threading.current_thread())))

    def done(tool, answer):
        got.append(tool.call_finish(answer).dup_text())
        loop.quit()
    shell.call_async('{"command": "echo begun; cat a.txt"}', context, None, done)
    loop.run()
    assert got == ['begun\none\ntwo\n'], got
    assert all(thread is threading.main_thread() for _text, thread in said)


def cancel_a_call():
    loop = GLib.MainLoop()
    cancellable = Gio.Cancellable()
    wrong = []

    def done(tool, answer):
        try:
            tool.call_finish(answer)
        except GLib.Error as error:
            wrong.append(error)
        loop.quit()
    compose().find_tool('shell').call_async('{"command": "sleep 100"}', None, cancellable, done)
    GLib.idle_add(cancellable.cancel)
    loop.run()
    assert wrong and wrong[0].matches(Prism.tool_error_quark(), Prism.ToolError.CANCELLED), wrong


def an_end_that_nobody_saw():
    composition = compose()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = composition.exec(Prism.Command.new(['false']), None)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert result.get_outcome() == Prism.Outcome.LOST, result.get_outcome()
    assert result.get_exit_code() == -1 and 'SIGCHLD' in result.get_reason(), result.get_reason()
    assert composition.exec(Prism.Command.new(['false']), None).get_exit_code() == 1


def a_tool_of_ones_own():
    composition = compose()
    tool = composition.find_tool('shout')
    context = Prism.ToolContext.new(None, None, None)
    said = []
    context.connect('progress', lambda _context, text: said.append(text))
    result = tool.call('{"text": "hi"}', context, None)
    assert result.dup_text() == 'HI' and json.loads(result.get_metadata()) == {'loud': True}
    assert said == ['taking a breath'], said
    assert tool.call('{}', None, None).get_message() == 'send text'
    assert tool.call('no', None, None).get_code() == Prism.ToolError.INVALID
    assert [tool.dup_name() for tool in composition.get_tools()][-1] == 'shout'


harness.run([call_a_tool, own_tool_on_the_tree, documents_are_read, call_without_waiting, cancel_a_call,
             an_end_that_nobody_saw, a_tool_of_ones_own])
