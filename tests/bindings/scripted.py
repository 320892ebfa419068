# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend in Python, as an application or a plug-in would write one."""
import threading

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

READABLE = GObject.ParamFlags.READABLE


class Process(GObject.Object, Prism.Process):
    reference = GObject.Property(type=str, default='scripted-process', flags=READABLE)

    def __init__(self, subprocess):
        super().__init__()
        self.subprocess = subprocess

    @GObject.Property(type=Gio.OutputStream, flags=READABLE)
    def stdin_stream(self):
        return self.subprocess.get_stdin_pipe()

    @GObject.Property(type=Gio.InputStream, flags=READABLE)
    def stdout_stream(self):
        return self.subprocess.get_stdout_pipe()

    @GObject.Property(type=Gio.InputStream, flags=READABLE)
    def stderr_stream(self):
        return None

    def do_wait(self, operation):
        def ended(subprocess, result):
            subprocess.wait_finish(result)
            operation.complete(Prism.Result(outcome=Prism.Outcome.EXITED, exit_code=subprocess.get_exit_status()))
        self.subprocess.wait_async(operation.get_cancellable(), ended)


class Sandbox(GObject.Object, Prism.Sandbox):
    id = GObject.Property(type=str, default='scripted-1', flags=READABLE)
    backend_name = GObject.Property(type=str, default='scripted', flags=READABLE)
    workspace = GObject.Property(type=str, default='/workspace', flags=READABLE)
    reference = GObject.Property(type=str, default=None, flags=READABLE)

    def __init__(self):
        super().__init__()
        self.state = Prism.SandboxStatus.RUNNING
        self.threads = set()

    @GObject.Property(type=Prism.SandboxStatus, default=Prism.SandboxStatus.RUNNING, flags=READABLE)
    def status(self):
        return self.state

    @GObject.Property(type=Prism.Capabilities, flags=READABLE)
    def capabilities(self):
        return Prism.Capabilities.new(Prism.Controls.WORKSPACE, None)

    def spawn(self, command):
        return Gio.Subprocess.new(command.get_argv(), Gio.SubprocessFlags.STDOUT_PIPE
                                  | Gio.SubprocessFlags.STDERR_PIPE | Gio.SubprocessFlags.STDIN_PIPE)

    def do_exec(self, operation):
        self.threads.add(threading.get_ident())
        command = operation.get_command()
        if command.get_argv()[0] == 'dropped':
            return
        if command.get_argv()[0] == 'raises':
            raise ValueError('a bug of the script')
        subprocess = self.spawn(command)

        def ended(subprocess, result):
            _, out, err = subprocess.communicate_finish(result)
            operation.output(Prism.Stream.STDOUT, out)
            operation.complete(Prism.Result(outcome=Prism.Outcome.EXITED, exit_code=subprocess.get_exit_status(),
                                            stdout_bytes=out, stderr_bytes=err))
        subprocess.communicate_async(command.get_stdin_bytes() or GLib.Bytes.new(b''), operation.get_cancellable(), ended)

    def do_start_process(self, operation):
        operation.complete(Process(self.spawn(operation.get_command())))

    def do_read_file(self, operation):
        operation.complete_bytes(GLib.Bytes.new(operation.get_path().encode()))

    def do_list_files(self, operation):
        entries = Gio.ListStore.new(Prism.FileEntry)
        entries.append(Prism.FileEntry.new('/workspace/a', Gio.FileType.REGULAR, 3, 0o644, 0))
        operation.complete_entries(entries)

    def do_export_tree(self, operation):
        operation.get_stream().write_all(b'tar', None)
        operation.progress(1, 3, 3)
        operation.complete(Prism.TreeIdentity.new('0' * 64, 1, 3))

    def do_close(self, operation):
        self.state = Prism.SandboxStatus.REMOVED
        operation.complete()


class Backend(GObject.Object, Prism.Backend):
    def do_get_name(self):
        return 'scripted'

    def do_probe(self, operation):
        report = Prism.HealthReport.new('scripted')
        report.add(Prism.HealthCheck.new('scripted.check', Prism.HealthStatus.WARN, 'seen', 'do this',
                                         Prism.Controls.FILESYSTEM))
        operation.complete(report)

    def do_create_sandbox(self, operation):
        if operation.get_spec().get_network() != Prism.NetworkMode.NONE:
            operation.fail(GLib.Error.new_literal(Prism.sandbox_error_quark(), 'no network here',
                                                  Prism.SandboxError.REFUSED))
            return
        operation.complete(Sandbox())

    def do_list_sandboxes(self, operation):
        operation.complete(['one', 'two'])

    def do_reap(self, operation):
        operation.complete(0)
