# SPDX-License-Identifier: LGPL-2.1-or-later
"""Engines of the tests' own that are set up otherwise than daemon.Place: whose users are
others of the host's, that are an ordinary user's, that are podman's. In the environment
of `apart`; each is used as a Place is."""
import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile

import daemon

USER = os.environ.get('PRISM_TEST_USER', 'prism-test')  # told by apart, as is what ids it may map


class Noting(daemon.Place):
    """With crun, and with a runtime of a name of its own that notes what it is asked and is crun."""

    def start(self, **options):
        self.notes = self.path('notes')
        script = self.path('noting')
        with open(script, 'w', encoding='ascii') as out:
            out.write(f'#!/bin/sh\necho "$@" >> {self.notes}\nexec crun "$@"\n')
        os.chmod(script, 0o755)
        super().start(options=['--add-runtime', 'crun=' + shutil.which('crun'), '--add-runtime', 'noting=' + script], **options)

    def noted(self):
        with open(self.notes, encoding='utf-8') as notes:
            return notes.read()


class Remapped(daemon.Place):
    """userns-remap: its containers' users are others of the host's."""

    def start(self, **options):
        super().start(options=['--userns-remap', f'{USER}:{USER}'], **options)


class Rootless(daemon.Place):
    """An ordinary user's own, in a user namespace: rootlesskit, and dockerd with its own containerd. It is on the
    host's network, which no container is."""

    def __init__(self):
        user = pwd.getpwnam(USER)
        self.ids = user.pw_uid, user.pw_gid
        super().__init__()
        for path in (self.folder, self.path('images')):
            os.chown(path, *self.ids)
        for name in ('home', 'run'):
            os.mkdir(self.path(name), 0o700)
            os.chown(self.path(name), *self.ids)

    def start(self):
        self.start_registry()
        with open(self.path('daemon.json'), 'w', encoding='ascii') as out:
            out.write('{}')
        dockerd = ['dockerd', '--rootless', '--config-file', self.path('daemon.json'), '--host', 'unix://' + self.socket,
                   '--data-root', self.path('data'), '--exec-root', self.path('exec'), '--pidfile', self.path('docker.pid'), '--bridge', 'none',
                   '--iptables=false', '--ip-forward=false', '--ip-masq=false', '--userland-proxy=false', '--shutdown-timeout', '1']
        uid, gid = map(str, self.ids)
        self.dockerd = self.spawn('dockerd', [
            'env', 'HOME=' + self.path('home'), 'XDG_RUNTIME_DIR=' + self.path('run'), 'setpriv', '--reuid', uid, '--regid', gid, '--clear-groups',
            'rootlesskit', '--net=host', '--copy-up=/etc', '--copy-up=/run', '--state-dir', self.path('rootlesskit'),
            'sh', '-c', 'rm -f /run/docker /run/containerd; exec "$@"', 'sh', *dockerd])
        daemon.until('dockerd answers', self.answers)


class Podman(daemon.Place):
    """Its service, with storage of its own. An image's digest is podman's own word: no registry is needed."""

    before = frozenset()  # what there was of its control groups

    def start(self):
        for name, text in (('containers.conf', ''), ('registries.conf', ''), ('storage.conf', '[storage]\ndriver = "overlay"\n'
                            f'graphroot = "{self.path("root")}"\nrunroot = "{self.path("run")}"\n')):
            with open(self.path(name), 'w', encoding='ascii') as out:
                out.write(text)
        self.before = self.parents()
        self.dockerd = self.spawn('dockerd', [*self.command(), 'system', 'service', '--time=0', 'unix://' + self.socket])
        daemon.until('podman answers', self.answers)

    def command(self):
        return ['env', 'HOME=' + self.folder, 'TMPDIR=' + self.folder, 'CONTAINERS_CONF=' + self.path('containers.conf'),
                'CONTAINERS_STORAGE_CONF=' + self.path('storage.conf'), 'CONTAINERS_REGISTRIES_CONF=' + self.path('registries.conf'),
                'podman', '--root', self.path('root'), '--runroot', self.path('run'), '--tmpdir', self.path('tmp'),
                '--cgroup-manager', 'cgroupfs', '--events-backend', 'none']

    @staticmethod
    def parents():
        """The control groups that podman's containers are in; it has one name for them."""
        tops = ['/sys/fs/cgroup'] + [entry.path for entry in os.scandir('/sys/fs/cgroup') if entry.is_dir(follow_symlinks=False)]
        return {path for path in (os.path.join(top, 'libpod_parent') for top in tops) if os.path.isdir(path)}

    def import_image(self, name, tar, changes=()):
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.write(tar)
            file.flush()
            options = [word for change in changes for word in ('--change', change)]
            subprocess.run([*self.command(), 'import', *options, file.name, f'localhost/prism-test:{name}'], env=daemon.ENVIRONMENT, cwd='/', check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.ask('GET', f'/images/localhost/prism-test:{name}/json')['RepoDigests'][0]

    def stop(self):
        self.stop_dockerd()
        if os.path.exists(self.folder):
            subprocess.run([*self.command(), 'rm', '--all', '--force', '--time', '0'], env=daemon.ENVIRONMENT, cwd='/', check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=daemon.PATIENCE)
        super().stop()
        for path in self.parents() - self.before:
            for folder, _, _ in os.walk(path, topdown=False):
                with contextlib.suppress(OSError):  # others' podman
                    os.rmdir(folder)
