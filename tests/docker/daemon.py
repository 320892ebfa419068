# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Docker of the tests' own: containerd, dockerd and a registry, on private
sockets and folders, beside any other on the machine. Everything of it lies in one
temporary folder and one cgroup, and stop() leaves neither, nor a process or mount.

    with Place() as place:
        place.start(live_restore=True)
        digest = place.image('busybox')
"""
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import images

PATIENCE = 120  # seconds, for what takes two on an idle machine and fifteen on a busy one
API = '/v1.41'
ENVIRONMENT = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'LANG': 'C.UTF-8', 'HOME': '/nonexistent'}


class Failure(Exception):
    pass


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout=PATIENCE):
        super().__init__('docker', timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def until(what, check, patience=PATIENCE):
    """Waits for check() to be true. What is waited for sends no event. what may be a
    function: what to say when it did not come."""
    end = time.monotonic() + patience
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f'{what() if callable(what) else what}: not within {patience} s')
        time.sleep(0.02)


# --- what of a Docker is on this machine ------------------------------------------------

# What docker and containerd start; by name, since who looks at a log there is not ours to end.
PROGRAMS = ('dockerd', 'containerd', 'docker-registry', 'containerd-shim', 'containerd-shim-runc-v1', 'containerd-shim-runc-v2', 'runc',
            'docker-untar', 'docker-tar', 'docker-applyLayer', 'docker-init', 'docker-proxy', 'unpigz')


def control_groups(folder):
    """The control groups of its containers, one a hierarchy. crun makes folders of that name, with old process numbers in
    them, where a hierarchy is not mounted: those are none."""
    roots = ['/sys/fs/cgroup'] + [entry.path for entry in os.scandir('/sys/fs/cgroup') if entry.is_dir(follow_symlinks=False)]
    named = (os.path.join(root, os.path.basename(folder)) for root in roots)
    return [path for path in named if any(os.path.exists(os.path.join(path, kernels)) for kernels in ('tasks', 'cgroup.controllers'))]


def mount_points(folder):
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        points = [line.split()[4].encode().decode('unicode_escape') for line in mounts]
    return [point for point in points if point.startswith(folder + '/')]


def processes(folder):
    """{pid: its command line}: its programs, and whatever runs in its containers."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/cmdline', 'rb') as line:
            argv = line.read()
            if folder.encode() in argv and os.path.basename(argv.split(b'\0')[0]).decode(errors='replace') in PROGRAMS:
                found[int(pid)] = argv
    for group in control_groups(folder):
        for top, _, _ in os.walk(group):
            with contextlib.suppress(OSError), open(os.path.join(top, 'cgroup.procs'), encoding='ascii') as pids:
                found.update({int(pid): b'in ' + top.encode() for pid in pids})
    found.pop(0, None)  # of another pid namespace
    return found


def sockets(folder):
    """Those of its shims, which lie beside those of any other containerd's."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(folder), 'containerd-state', 'io.containerd.runtime.v2.task', '*', '*', 'address')):
        with contextlib.suppress(OSError), open(path, encoding='utf-8') as address:
            found.append(address.read().removeprefix('unix://'))
    return [path for path in found if os.path.isabs(path) and os.path.exists(path)]


def left(folder):
    """What a Docker of that folder has left behind."""
    return ([f'process {pid}: {argv!r}' for pid, argv in processes(folder).items()] + [f'mount {point}' for point in mount_points(folder)]
            + control_groups(folder) + sockets(folder) + ([folder] if os.path.exists(folder) else []))


class Place:
    """One private Docker. group: the gid that may use its socket. folder: one that
    runs already, which this then only asks, and does not stop."""

    def __init__(self, group=None, folder=None):
        self.own = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix='prism-docker-', dir='/tmp')  # a short path: it holds sockets
        self.group = group
        self.socket = os.path.join(self.folder, 'docker.sock')
        self.cgroup = '/' + os.path.basename(self.folder)
        self.containerd = self.dockerd = self.registry = None
        self.registry_at = None
        self.options = []
        if self.own:
            os.chmod(self.folder, 0o711)
            os.mkdir(self.path('images'))
            os.chmod(self.path('images'), 0o755 if group is None else 0o775)
            os.chown(self.path('images'), -1, -1 if group is None else group)
        else:
            with open(self.path('registry.at'), encoding='ascii') as told:
                self.registry_at = told.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    # --- its programs ---------------------------------------------------------------

    def spawn(self, name, argv):
        """In a session of its own: Ctrl-C is for who started us, who then stops all."""
        with open(self.path(name + '.log'), 'ab') as log:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=ENVIRONMENT, cwd='/', start_new_session=True)

    def log(self, name):
        with contextlib.suppress(OSError), open(self.path(name + '.log'), errors='replace') as log:
            return log.read()
        return ''

    def alive(self, name, process):
        if process.poll() is not None:
            raise Failure(f'{name} ended with {process.returncode}:\n{self.log(name)[-4000:]}')

    def start(self, live_restore=False, registry=True, options=()):
        """Starts what does not run yet; returns when it answers."""
        if registry and self.registry is None:
            self.start_registry()
        if self.containerd is None or self.containerd.poll() is not None:
            self.start_containerd()
        self.options = list(options) + (['--live-restore'] if live_restore else [])
        self.start_dockerd()

    def start_containerd(self):
        config = self.path('containerd.toml')
        with open(config, 'w', encoding='utf-8') as out:
            out.write(f'''version = 2
root = "{self.path('containerd')}"
state = "{self.path('containerd-state')}"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{self.path('containerd.sock')}"
[ttrpc]
  address = "{self.path('containerd.sock.ttrpc')}"
''')
        self.containerd = self.spawn('containerd', ['containerd', '--config', config])

    def start_dockerd(self):
        """Does not wait for containerd first: dockerd does."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path('docker.pid'))
        with open(self.path('daemon.json'), 'w', encoding='ascii') as out:
            out.write('{}')  # not the machine's
        argv = ['dockerd', '--config-file', self.path('daemon.json'), '--host', 'unix://' + self.socket, '--containerd', self.path('containerd.sock'),
                '--data-root', self.path('data'), '--exec-root', self.path('exec'), '--pidfile', self.path('docker.pid'),
                '--bridge', 'none', '--iptables=false', '--ip-forward=false', '--ip-masq=false', '--userland-proxy=false',
                '--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', self.cgroup, '--shutdown-timeout', '1', *self.options]
        if self.group is not None:
            argv += ['--group', str(self.group)]
        self.dockerd = self.spawn('dockerd', argv)
        until('dockerd answers', self.answers)

    def answers(self):
        for name, process in (('containerd', self.containerd), ('dockerd', self.dockerd)):
            if process is not None:  # another engine has its own
                self.alive(name, process)
        try:
            connection = Connection(self.socket, timeout=5)
            connection.request('GET', '/_ping')
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def start_registry(self):
        config = self.path('registry.yml')
        os.mkdir(self.path('registry'))
        with open(config, 'w', encoding='utf-8') as out:
            out.write(f'''version: 0.1
log: {{level: info, formatter: json}}
storage: {{filesystem: {{rootdirectory: "{self.path('registry')}"}}}}
http: {{addr: "127.0.0.1:0"}}
''')
        self.registry = self.spawn('registry', ['docker-registry', 'serve', config])

        def told():
            self.alive('registry', self.registry)
            return re.search(r'listening on (127\.0\.0\.1:\d+)', self.log('registry'))

        self.registry_at = until('the registry listens', told).group(1)
        with open(self.path('registry.at'), 'w', encoding='ascii') as out:
            out.write(self.registry_at)

    def stop_dockerd(self, how=signal.SIGTERM):
        """By its own pid. With live-restore, or SIGKILL, its containers live on."""
        if self.dockerd is None:
            return
        if self.dockerd.poll() is None:
            self.dockerd.send_signal(how)
        try:
            self.dockerd.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.dockerd.kill()
            self.dockerd.wait()
        self.dockerd = None

    def restart_dockerd(self, how=signal.SIGTERM):
        self.stop_dockerd(how)
        self.start_dockerd()

    # --- asking it ------------------------------------------------------------------

    def call(self, method, path, body=None, headers=None, patience=PATIENCE):
        """(status, bytes); a body that is a dict or list goes as JSON."""
        connection = Connection(self.socket, timeout=patience)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers['Content-Type'] = 'application/json'
        try:
            connection.request(method, API + path, body, headers)
        except BrokenPipeError:
            pass  # it answered before it had read all
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def ask(self, method, path, body=None, headers=None):
        """What it answers, parsed; anything but a success is a Failure."""
        status, data = self.call(method, path, body, headers)
        if status >= 400:
            raise Failure(f'{method} {path}: {status} {data[:500]!r}')
        return json.loads(data) if data[:1] in (b'{', b'[') else data

    def containers(self, label='prism.sandbox', everything=False):
        """Also those that do not run."""
        filters = {} if everything else {'label': [label]}
        return self.ask('GET', '/containers/json?all=1&filters=' + urllib.parse.quote(json.dumps(filters)))

    def image(self, name):
        """The reference of one of images.MAKERS, made when it is first asked for."""
        reference = self.path('images', name)
        with open(reference, 'r' if os.path.exists(reference) and not os.access(reference, os.W_OK) else 'a+', encoding='ascii') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            known = file.read()
            if not known:
                tar, changes = images.MAKERS[name]()
                known = self.import_image(name, tar, changes) if isinstance(tar, bytes) else self.pull_image(name, tar)
                file.write(known)
            return known

    def environment(self):
        """What the tests are told."""
        told = {'PRISM_TEST_DOCKER_FOLDER': self.folder, 'PRISM_TEST_DOCKER_SOCKET': self.socket}
        for name in images.SMALL:
            told['PRISM_TEST_DOCKER_IMAGE' + ('' if name == 'busybox' else '_' + name.upper())] = self.image(name)
        return told

    def import_image(self, name, tar, changes=()):
        """`docker import` of a tar, then a push, which gives it a digest: NAME@sha256:…"""
        repository = f'{self.registry_at}/prism-test'
        query = [('fromSrc', '-'), ('repo', repository), ('tag', name)] + [('changes', change) for change in changes]
        self.ask('POST', '/images/create?' + urllib.parse.urlencode(query), tar, {'Content-Type': 'application/x-tar'})
        status, told = self.call('POST', f'/images/{repository}/push?tag={name}', headers={'X-Registry-Auth': 'e30='})
        digest = re.search(rb'"Digest":"(sha256:[0-9a-f]{64})"', told)
        if status != 200 or not digest:
            raise Failure(f'push of {name}: {status} {told[-500:]!r}')
        return f'{repository}@{digest.group(1).decode()}'

    def upload(self, size, content, digest):
        registry = http.client.HTTPConnection(self.registry_at, timeout=PATIENCE)
        registry.request('POST', '/v2/prism-test/blobs/uploads/')
        answer = registry.getresponse()
        answer.read()
        where = answer.getheader('Location')
        registry.request('PUT', where + ('&' if '?' in where else '?') + 'digest=' + digest, content,
                         {'Content-Type': 'application/octet-stream', 'Content-Length': str(size)})
        answer = registry.getresponse()
        told = answer.read()
        if answer.status != 201:
            raise Failure(f'upload: {answer.status} {told[:300]!r}')

    def pull_image(self, name, tar):
        """For a large one: its layer goes to the registry as it is, and the daemon pulls that. An
        import and a push would compress 200 MB for nothing."""
        layer = hashlib.sha256()
        size = 0
        with tempfile.TemporaryFile(dir=self.path('images')) as spool:
            for chunk in tar:
                layer.update(chunk)
                size += len(chunk)
                spool.write(chunk)
            spool.seek(0)
            diff = 'sha256:' + layer.hexdigest()
            self.upload(size, spool, diff)
        machine = {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(os.uname().machine, os.uname().machine)
        config = json.dumps({'architecture': machine, 'os': 'linux', 'config': {}, 'rootfs': {'type': 'layers', 'diff_ids': [diff]}}).encode()
        about = 'sha256:' + hashlib.sha256(config).hexdigest()
        self.upload(len(config), config, about)
        kind = 'application/vnd.docker.distribution.manifest.v2+json'
        manifest = json.dumps({
            'schemaVersion': 2, 'mediaType': kind,
            'config': {'mediaType': 'application/vnd.docker.container.image.v1+json', 'size': len(config), 'digest': about},
            'layers': [{'mediaType': 'application/vnd.docker.image.rootfs.diff.tar', 'size': size, 'digest': diff}]}).encode()
        digest = 'sha256:' + hashlib.sha256(manifest).hexdigest()
        registry = http.client.HTTPConnection(self.registry_at, timeout=PATIENCE)
        registry.request('PUT', f'/v2/prism-test/manifests/{name}', manifest, {'Content-Type': kind})
        answer = registry.getresponse()
        told = answer.read()
        if answer.status != 201:
            raise Failure(f'manifest: {answer.status} {told[:300]!r}')
        reference = f'{self.registry_at}/prism-test@{digest}'
        status, told = self.call('POST', '/images/create?' + urllib.parse.urlencode({'fromImage': f'{self.registry_at}/prism-test', 'tag': digest}))
        if status != 200 or b'"error"' in told:
            raise Failure(f'pull of {name}: {status} {told[-500:]!r}')
        return reference

    # --- the end --------------------------------------------------------------------

    def stop(self):
        """All of it, whatever state it is in. Twice is as once."""
        if not self.own:
            return
        self.stop_dockerd()
        for process in (self.containerd, self.registry):
            if process is not None and process.poll() is None:
                process.terminate()
        for process in (self.containerd, self.registry):
            if process is not None:
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.containerd = self.registry = None
        until(lambda: f'nothing is left of it: {left(self.folder)}', self.clear)

    def clear(self):
        """Once through all that may be left; whether that was all. A shim outlives containerd, and its container outlives
        it. A process that is killed dies later, and until then it keeps its control group, its files and its mounts: who
        looks but once sees some of that stay."""
        self.thaw()
        ours = processes(self.folder)
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if ours:
            return False
        self.unmount()
        self.remove_control_groups()
        for path in sockets(self.folder):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        shutil.rmtree(self.folder, ignore_errors=True)
        return not left(self.folder)

    def thaw(self):
        """What is frozen does not die, where the freezer is a hierarchy of its own."""
        for group in control_groups(self.folder):
            for top, _, names in os.walk(group):
                if 'freezer.state' in names:
                    with contextlib.suppress(OSError), open(os.path.join(top, 'freezer.state'), 'w', encoding='ascii') as state:
                        state.write('THAWED')

    def unmount(self):
        libc = ctypes.CDLL(None, use_errno=True)
        for point in sorted(mount_points(self.folder), key=len, reverse=True):
            libc.umount2(point.encode(), 2)  # MNT_DETACH

    def remove_control_groups(self):
        for group in control_groups(self.folder):
            for top, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(top)
