# SPDX-License-Identifier: LGPL-2.1-or-later
"""run.py FOLDER -- COMMAND [ARG...]"""
import sys

import gi
gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, Prism  # noqa: E402


def on_output(command, stream, data):
    sys.stdout.buffer.write(data.get_data())
    sys.stdout.flush()


def run(path, argv):
    spec = Prism.SandboxSpec(workspace=Gio.File.new_for_path(path), workspace_mode=Prism.WorkspaceMode.READONLY)
    command = Prism.Command.new(argv)
    command.connect('output', on_output)
    backend = Prism.Registry.get_default().create_backend('native')
    sandbox = backend.create_sandbox(spec, None)
    try:
        isolated = sandbox.props.capabilities.get_network_isolated()
        result = sandbox.exec(command, None)
        print(f"exit code {result.props.exit_code}, network isolated: {'yes' if isolated else 'no'}")
    finally:
        sandbox.close(None)


if len(sys.argv) < 4 or sys.argv[2] != '--':
    sys.exit('usage: run.py FOLDER -- COMMAND [ARG...]')
try:
    run(sys.argv[1], sys.argv[3:])
except GLib.Error as error:
    sys.exit(error.message)
