# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests against Docker stand on: sandboxes by the API as scripts see it, and a
look at what a daemon and this machine have left afterwards."""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))

import gi  # noqa: E402

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, Prism  # noqa: E402

import daemon  # noqa: E402
from daemon import until  # noqa: E402, F401

REGISTRY = Prism.Registry.get_default()
ERROR = Prism.sandbox_error_quark()
PLACE = daemon.Place(folder=os.environ['PRISM_TEST_DOCKER_FOLDER']) if os.environ.get('PRISM_TEST_DOCKER_FOLDER') else None
IMAGE = os.environ.get('PRISM_TEST_DOCKER_IMAGE')


def runtime_folder():
    """Where the sandboxes of this user have their folders."""
    top = os.environ.get('XDG_RUNTIME_DIR')
    return os.path.join(top, 'prism') if top and os.getuid() != 0 else '/run/prism'


def folders():
    """Those of docker's sandboxes."""
    return set(glob.glob(os.path.join(runtime_folder(), 'docker', '[0-9a-f]' * 32)))


def backend(place=None, **properties):
    made = REGISTRY.create_backend('docker')
    made.set_property('socket', (place or PLACE).socket)
    made.set_property('image', IMAGE)
    for name, value in properties.items():
        made.set_property(name.replace('_', '-'), value)
    return made


def text(data):
    return data.get_data().decode('utf-8', 'replace')


def code_of(error):
    """The nick of a sandbox error's code, or what else it is."""
    if error.domain == GLib.quark_to_string(ERROR):
        return Prism.SandboxError(error.code).value_nick
    return f'{error.domain}/{error.code}'


class Answer:
    """Waits for what was begun asynchronously in a context of its own thread."""

    def __init__(self, call):
        self.value = self.error = None
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(call,), daemon=True)
        self.thread.start()

    def run(self, call):
        try:
            self.value = call()
        except Exception as error:  # judged by who waits
            self.error = error
        self.done.set()

    def get(self, patience=daemon.PATIENCE):
        if not self.done.wait(patience):
            raise AssertionError(f'nothing came back within {patience} s')
        if self.error is not None:
            raise self.error
        return self.value


class Base(unittest.TestCase):
    """Each test: a folder, sandboxes, and nothing left of them."""

    place = None  # another daemon than the shared one
    makes_detached = False

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='prism-in-docker-'))
        os.chmod(self.folder, 0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.before = folders()
        self.known = {made['Id'] for made in self.daemon().containers()}
        self.addCleanup(self.assert_nothing_left)

    def daemon(self):
        return self.place or PLACE

    def of_another(self, made):
        """Whether a container is a test's that runs beside this one, of which each is a session of its own. Whose a
        detached one is cannot be seen while its host is killed."""
        labels = made['Labels'] or {}
        if labels.get('prism.sandbox.lifetime') == 'detached' and not self.makes_detached:
            return True
        try:
            return os.getsid(int(labels['prism.sandbox.host'].split(':')[2])) != os.getsid(0)
        except (KeyError, IndexError, ValueError, ProcessLookupError):
            return False

    def left(self):
        """{id: state} of the containers that were not there when the test began, and the folders."""
        kept = folders() - self.before
        made = [made for made in self.daemon().containers() if made['Id'] not in self.known]
        shared = PLACE.containers() if self.place and PLACE else []  # the folders are not a daemon's
        others = {made['Labels'].get('prism.sandbox.id') for made in made + shared if self.of_another(made)}
        return ({made['Id']: made['State'] for made in made if not self.of_another(made)},
                {folder for folder in kept if os.path.basename(folder) not in others})

    def assert_nothing_left(self):
        """What was not there when the test began is gone, or goes by itself."""
        there, kept = self.left()

        def gone():
            found = self.left()
            return not there.keys() & found[0].keys() and not kept & found[1]

        try:
            until('nothing is left', gone)
        except daemon.Failure:
            found = self.left()
            for container in there.keys() & found[0].keys():
                with contextlib.suppress(Exception):
                    self.daemon().call('DELETE', f'/containers/{container}?force=1&v=1')
            raise AssertionError(f'left behind: {found[0]} {kept & found[1]}') from None

    def spec(self, workspace=True, **properties):
        if workspace:
            properties['workspace'] = Gio.File.new_for_path(self.folder) if workspace is True else workspace
        return Prism.SandboxSpec(**properties)

    def make(self, options=None, **properties):
        sandbox = backend(self.daemon(), **(options or {})).create_sandbox(self.spec(**properties), None)
        self.addCleanup(self.close, sandbox)
        return sandbox

    @staticmethod
    def close(sandbox):
        with contextlib.suppress(GLib.Error):
            sandbox.close(None)

    def run_in(self, sandbox, *argv, stdin=None, timeout_ms=60000):
        """(outcome's nick, exit code, stdout, stderr)"""
        command = Prism.Command.new(list(argv))
        command.set_timeout_ms(timeout_ms)
        if stdin is not None:
            command.set_stdin_bytes(GLib.Bytes.new(stdin))
        result = sandbox.exec(command, None)
        return result.get_outcome().value_nick, result.props.exit_code, text(result.get_stdout()), text(result.get_stderr())

    def out(self, sandbox, *argv, **options):
        """Its stdout; anything but success fails."""
        outcome, code, out, err = self.run_in(sandbox, *argv, **options)
        self.assertEqual((outcome, code), ('exited', 0), f'{argv}: {out}{err}')
        return out

    def fails(self, codes, call, *arguments, says=None):
        """It is an error of the sandbox's domain with one of these codes; its message."""
        with self.assertRaises(GLib.Error) as raised:
            call(*arguments)
        error = raised.exception
        self.assertIn(code_of(error), (codes,) if isinstance(codes, str) else codes, error.message)
        for word in (says,) if isinstance(says, str) else says or ():
            self.assertRegex(error.message, word)
        return error.message

    def container(self, sandbox):
        """Its id at the daemon."""
        found = self.daemon().containers(f'prism.sandbox.id={sandbox.dup_id()}')
        self.assertEqual(len(found), 1, found)
        return found[0]['Id']

    def inspect(self, sandbox):
        return self.daemon().ask('GET', f'/containers/{self.container(sandbox)}/json')


def prism(*arguments, stdin=None, patience=daemon.PATIENCE, **environment):
    """The program: (status, stdout, stderr)."""
    run = subprocess.run([os.environ['PRISM_COMMAND'], *arguments], capture_output=True, input=stdin, timeout=patience,
                         env={**os.environ, **environment}, check=False)
    return run.returncode, run.stdout.decode('utf-8', 'replace'), run.stderr.decode('utf-8', 'replace')


def without_progress(message):
    return re.sub('\x1b\\[[0-9;]*[A-Za-z]|\r', '', message)
