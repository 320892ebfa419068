# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests' images, from this machine's own files: nothing is downloaded. Each maker
returns (tar, changes): bytes or an iterator of bytes, and Dockerfile lines."""
import io
import os
import queue
import shutil
import subprocess
import tarfile
import tempfile
import threading


class Tar:
    """A tar in memory; a folder is made once, on the way."""

    def __init__(self, out=None):
        self.buffer = out or io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode='w' if out is None else 'w|', format=tarfile.GNU_FORMAT, bufsize=1 << 18)
        self.names = set()

    def new(self, path):
        if path in self.names:
            return False
        parent = os.path.dirname(path)
        if parent and parent != '/':
            self.folder(parent)
        self.names.add(path)
        return True

    def entry(self, path, kind, mode=0o755, content=b'', link=''):
        info = tarfile.TarInfo(path.lstrip('/'))
        info.type, info.mode, info.size, info.linkname = kind, mode, len(content), link
        self.tar.addfile(info, io.BytesIO(content))

    def folder(self, path, mode=0o755):
        if self.new(path):
            self.entry(path, tarfile.DIRTYPE, mode)

    def file(self, path, content, mode=0o644):
        if self.new(path):
            self.entry(path, tarfile.REGTYPE, mode, content)

    def link(self, path, target):
        if self.new(path):
            self.entry(path, tarfile.SYMTYPE, 0o777, link=target)

    def host(self, source, path=None):
        """A file or link of this machine's, at the same place."""
        path = path or source
        if os.path.islink(source):
            self.link(path, os.readlink(source))
        elif os.path.isfile(source) and self.new(path):
            info = self.tar.gettarinfo(source, path.lstrip('/'))
            if info.islnk():
                info.type, info.linkname, info.size = tarfile.REGTYPE, '', os.path.getsize(source)
            info.uid = info.gid = 0
            info.uname = info.gname = 'root'
            with open(source, 'rb') as content:
                self.tar.addfile(info, content)

    def close(self):
        self.tar.close()
        return self.buffer.getvalue() if isinstance(self.buffer, io.BytesIO) else b''


def add_busybox(tar):
    """Static; its applets are links, but the one of its own name and those that tar has already."""
    program = shutil.which('busybox', path='/bin:/usr/bin')
    if program is None:
        raise FileNotFoundError('no busybox (busybox-static)')
    tar.host(os.path.realpath(program), '/bin/busybox')
    for applet in subprocess.run([program, '--list'], capture_output=True, text=True, check=True).stdout.split():
        if applet != 'busybox':
            tar.link('/bin/' + applet, 'busybox')


def busybox():
    tar = Tar()
    add_busybox(tar)
    for name in ('etc', 'proc', 'sys', 'dev', 'tmp', 'usr', 'var'):
        tar.folder('/' + name, 0o1777 if name == 'tmp' else 0o755)
    return tar.close(), []


def empty():
    return Tar().close(), []


def compiled(text, *arguments, compiler='gcc'):
    """The bytes of a program."""
    with tempfile.TemporaryDirectory(prefix='prism-image-') as folder:
        source, program = folder + '/program.c', folder + '/program'
        with open(source, 'w', encoding='utf-8') as out:
            out.write(text)
        subprocess.run([compiler, '-Os', '-s', '-o', program, source, *arguments], check=True)
        with open(program, 'rb') as built:
            return built.read()


HELLO = r'''
#include <stdio.h>
#include <stdlib.h>
#include <pwd.h>
#include <unistd.h>
int main (int argc, char **argv)
{
  struct passwd *who = getpwuid (getuid ());
  const char *home = getenv ("HOME");
  printf ("%s %s %s\n", argc > 1 ? argv[1] : "hello", who ? who->pw_name : "nobody-known", home ? home : "homeless");
  return argc > 2 ? atoi (argv[2]) : 0;
}
'''


def noshell():
    """One static program and nothing else."""
    tar = Tar()
    tar.file('/hello', compiled(HELLO, '-static', compiler='musl-gcc'), 0o755)
    return tar.close(), []


def entrypoint():
    """An image that wants to be another: each of these lines must be without effect in a sandbox."""
    content, _ = busybox()
    return content, ['ENTRYPOINT ["/bin/sh", "-c", "echo the entrypoint ran; exit 9"]', 'CMD ["never"]', 'USER 0:0', 'WORKDIR /var', 'EXPOSE 80',
                     'ENV PATH=/image/bin:/bin LD_PRELOAD=/image/evil.so IMAGE_SAYS=hello', 'VOLUME /data',
                     'HEALTHCHECK --interval=1s CMD touch /tmp/the-health-check-ran', 'LABEL prism.sandbox=image prism.sandbox.id=image']


def musl():
    """Dynamic programs of another libc than this machine's; busybox is static."""
    loader = f'/lib/ld-musl-{os.uname().machine}.so.1'
    tar = Tar()
    add_busybox(tar)
    with open(os.path.realpath(loader), 'rb') as libc:
        tar.file(loader, libc.read(), 0o755)
    tar.file('/usr/bin/hello', compiled(HELLO, f'-Wl,-dynamic-linker,{loader}', compiler='musl-gcc'), 0o755)
    tar.folder('/etc')
    return tar.close(), []


def tools():
    """Busybox and what the contract's tests use besides: flock, with this machine's libc."""
    tar = Tar()
    add_busybox(tar)
    flock = shutil.which('flock')
    for path in [flock, *libraries([flock])]:
        real = os.path.realpath(path)
        with open(real, 'rb') as file:
            tar.file(path, file.read(), 0o755)
    tar.folder('/etc')
    return tar.close(), []


def git():
    """Busybox and git, with this machine's libc: what the coding tools want of an image."""
    tar = Tar()
    add_busybox(tar)
    program = shutil.which('git')
    core = subprocess.run([program, '--exec-path'], capture_output=True, text=True, check=True).stdout.strip()
    tar.host(os.path.realpath(program), '/usr/bin/git')
    for name in os.listdir(core):  # most are git itself by another name
        path = os.path.join(core, name)
        if os.path.realpath(path) == os.path.realpath(program):
            tar.link(path, '/usr/bin/git')
    for path in libraries([program]):
        tar.host(os.path.realpath(path), path)
    for name in ('etc', 'usr/share/git-core/templates'):
        tar.folder('/' + name)
    return tar.close(), []


def passwd():
    """With users of its own, one of whom has a home that cannot be written."""
    tar = Tar()
    add_busybox(tar)
    tar.file('/etc/passwd', b'root:x:0:0:root:/root:/bin/sh\ndev:x:1234:1234:Dev:/home/dev:/bin/sh\n')
    tar.file('/etc/group', b'root:x:0:\ndev:x:1234:\n')
    tar.folder('/home/dev', 0o700)
    return tar.close(), []


# --- git, npm, pip: as in a small Debian, of this machine's packages -----------------

PACKAGES = ['bash', 'git', 'python3-minimal', 'python3.11-minimal', 'libpython3-stdlib', 'libpython3.11-minimal', 'libpython3.11-stdlib', 'python3-pip',
            'python3-setuptools', 'python3-pkg-resources', 'python3-wheel', 'python3-distutils', 'python3-lib2to3', 'openssh-client', 'coreutils',
            'python3', 'media-types']
UNWANTED = ('/usr/share/doc/', '/usr/share/man/', '/usr/share/locale/', '/usr/share/lintian/', '/usr/share/info/', '/usr/share/gitweb/', '/usr/share/bug/',
            '/lib/systemd/', '/usr/lib/systemd/', '/usr/share/perl5/', '/etc/apparmor', '/usr/share/bash-completion/')


def package_files(names):
    told = subprocess.run(['dpkg-query', '-L', *names], capture_output=True, text=True, check=False).stdout
    return sorted({line for line in told.split('\n') if line.startswith('/') and not line.startswith(UNWANTED)})


def node_files():
    """Node and npm, from wherever they are installed."""
    found = []
    for name in ('node', 'npm', 'npx'):
        program = shutil.which(name)
        if program is None:
            raise FileNotFoundError(f'no {name}')
        found.append((program, program))
    npm = os.path.realpath(found[1][0])
    tops = [npm[:npm.index('/npm/') + 4]] if '/node_modules/npm/' in npm else ['/usr/share/nodejs', '/usr/share/node_modules']
    for top in tops:
        for folder, _, names in os.walk(top):
            if '/docs' not in folder and '/man' not in folder:
                found += [(os.path.join(folder, name),) * 2 for name in names]
    return found


def libraries(programs):
    """What ldd says that they need, and the loader."""
    needed = set()
    for at in range(0, len(programs), 200):
        told = subprocess.run(['ldd', *programs[at:at + 200]], capture_output=True, text=True, check=False).stdout
        for line in told.split('\n'):
            words = line.replace('=>', ' ').split()
            needed.update(word for word in words if word.startswith('/') and not word.endswith(':'))
    return needed


def merged(path):
    """/bin and its like are links to /usr."""
    first = path.split('/')[1]
    return '/usr' + path if first in ('bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32') else path


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, 'rb') as file:
        return file.read(4) == b'\x7fELF'


def write_work(out):
    tar = Tar(out)
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        tar.link('/' + name, 'usr/' + name)
    wanted = [(path, path) for path in package_files(PACKAGES)]
    node = node_files()
    wanted += node
    for program in ('node', 'npm', 'npx'):
        path = shutil.which(program)
        if os.path.islink(path) and not path.startswith(('/usr/bin/', '/bin/')):
            tar.link('/usr/bin/' + program, os.path.realpath(path))
    programs = [source for source, _ in wanted if is_elf(source)]
    wanted += [(path, path) for path in libraries(programs)]
    for source, path in wanted:
        real = os.path.realpath(source)
        if os.path.isdir(real):
            continue
        if os.path.islink(source) and os.path.isfile(real):
            tar.host(real, merged(real))
        if '__pycache__' not in path:
            tar.host(source, merged(path))
    for path in ('/usr/bin/sh', '/usr/bin/env'):
        tar.link(path, 'bash') if path.endswith('sh') else None
    for name in ('proc', 'sys', 'dev', 'tmp', 'var', 'etc', 'usr/local/bin'):
        tar.folder('/' + name)
    tar.close()


class Pipe(io.RawIOBase):
    """What one thread writes, another iterates over."""

    def __init__(self):
        super().__init__()
        self.chunks = queue.Queue(64)

    def writable(self):
        return True

    def write(self, data):
        self.chunks.put(bytes(data))
        return len(data)

    def chunks_until_end(self):
        while True:
            chunk = self.chunks.get()
            if isinstance(chunk, Exception):
                raise chunk
            if chunk is None:
                return
            yield chunk


def work():
    pipe = Pipe()

    def write():
        try:
            write_work(pipe)
            pipe.chunks.put(None)
        except Exception as error:  # handed to who reads
            pipe.chunks.put(error)

    threading.Thread(target=write, daemon=True).start()
    return pipe.chunks_until_end(), []


MAKERS = {function.__name__: function for function in (busybox, empty, noshell, entrypoint, git, musl, passwd, tools, work)}
SMALL = ('busybox', 'empty', 'noshell', 'entrypoint', 'musl', 'passwd', 'tools')
