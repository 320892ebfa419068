# SPDX-License-Identifier: LGPL-2.1-or-later
"""Coding tools from Python: called, called without waiting, and one that is written there."""
import json
import os
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


harness.run([call_a_tool, call_without_waiting, cancel_a_call, a_tool_of_ones_own])
