# SPDX-License-Identifier: LGPL-2.1-or-later
"""Users in images, and images with a shell or nothing, an entry point, another libc."""
import os

from harness import PLACE, Base, GLib, Prism

import taptest

COPY = Prism.WorkspaceMode.COPY
WHO = os.getuid() or 10001  # who commands run as


class Images(Base):
    def image(self, name, user=None, **properties):
        options = {'image': PLACE.image(name)}
        if user:
            options['user'] = user
        return self.make(options, **properties)

    def test_empty(self):
        """An image without anything: files go in and out, what is brought along runs."""
        with open('/bin/busybox', 'rb') as program, open(os.path.join(self.folder, 'busybox'), 'wb') as out:
            out.write(program.read())
        os.chmod(os.path.join(self.folder, 'busybox'), 0o755)
        sandbox = self.image('empty')
        self.fails('not-found', sandbox.exec, Prism.Command.new(['true']), None)
        self.fails('not-found', sandbox.exec, Prism.Command.new_shell('true'), None, says='/bin/sh')
        self.assertEqual(self.out(sandbox, '/workspace/busybox', 'id', '-u'), f'{WHO}\n')
        self.assertEqual(self.out(sandbox, '/workspace/busybox', 'whoami'), 'prism\n')
        sandbox.write_file('/tmp/x', GLib.Bytes.new(b'text'), 0o600, Prism.FileFlags.NONE, None)
        self.assertEqual(sandbox.read_file('/tmp/x', 0, -1, None).get_data(), b'text')

    def test_no_shell(self):
        """One static program."""
        sandbox = self.image('noshell')
        self.assertEqual(self.out(sandbox, '/hello', 'hi'), 'hi prism /home/prism\n')
        self.assertEqual(self.run_in(sandbox, '/hello', 'hi', '77')[:2], ('exited', 77))
        self.fails('not-found', sandbox.exec, Prism.Command.new_shell('true'), None)

    def test_other_libc(self):
        """Programs of musl know the user as well."""
        sandbox = self.image('musl', user='1234:1234', workspace_mode=COPY)
        self.assertEqual(self.out(sandbox, 'hello', 'musl'), 'musl prism /home/prism\n')

    def test_entry_point(self):
        """Entry point, command, user, folder, health check, labels and volumes of an image are without effect."""
        before = PLACE.ask('GET', '/volumes')['Volumes'] or []
        sandbox = self.image('entrypoint')
        told = self.inspect(sandbox)
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'id -u; id -g; pwd; cat /proc/1/comm'), f'{WHO}\n{WHO}\n/workspace\nagent\n')
        self.assertEqual(told['Config']['Healthcheck']['Test'], ['NONE'])
        self.assertNotIn('volume', [mount['Type'] for mount in told['Mounts']])
        self.assertEqual(told['Config']['Labels']['prism.sandbox.id'], sandbox.dup_id())
        self.assertNotIn('LD_PRELOAD', self.out(sandbox, 'env'))
        self.assertEqual(self.run_in(sandbox, 'sh', '-c', 'echo x > /data/x && cat /data/x')[1:3], (0, 'x\n'))
        sandbox.close(None)
        self.assertEqual(PLACE.ask('GET', '/volumes')['Volumes'] or [], before)

    def test_own_users(self):
        """An image's own users stay known; a uid of its is somebody with a home that can be written."""
        for user in ('1234:1234', '4321:4321'):
            sandbox = self.image('passwd', user=user, workspace_mode=COPY)
            self.assertIn(self.out(sandbox, 'whoami').strip(), ('prism', 'dev'))
            self.assertEqual(self.out(sandbox, 'sh', '-c', 'echo x > ~/x && cat "$HOME/x"'), 'x\n')
            self.assertIn('root:', self.out(sandbox, 'cat', '/etc/passwd'))
            self.assertIn('dev:', self.out(sandbox, 'cat', '/etc/passwd'))

    def test_tools(self):
        """A numeric uid without an entry: git, npm, pip, ssh and python know who and where they are."""
        sandbox = self.image('work', user='1234:1234', workspace_mode=COPY)
        self.assertEqual(self.out(sandbox, 'python3', '-c', 'import os, pwd, pathlib; print(pwd.getpwuid(os.getuid()).pw_name, os.path.expanduser("~"), pathlib.Path.home(), os.getuid())'),
                         'prism /home/prism /home/prism 1234\n')
        self.out(sandbox, 'bash', '-c', 'git config --global user.email a@b && git config --global user.name A && git init -q . && echo x > x && git add x '
                 '&& git commit -qm one && git log --format=%s && git status --porcelain')
        self.assertEqual(self.out(sandbox, 'node', '-e', 'const o = require("os"); console.log(o.userInfo().username, o.homedir())'), 'prism /home/prism\n')
        self.out(sandbox, 'bash', '-c', 'mkdir -p pkg && cd pkg && npm init -y > /dev/null && npm pkg set scripts.test="echo tested" && npm test && mkdir -p ../dep '
                 '&& cd ../dep && npm init -y > /dev/null && cd ../pkg && npm install --offline --no-audit --no-fund ../dep && ls node_modules', timeout_ms=120000)
        self.assertIn('pip ', self.out(sandbox, 'python3', '-m', 'pip', '--version'))
        self.out(sandbox, 'bash', '-c', r'mkdir -p /tmp/p/m && cd /tmp/p && touch m/__init__.py && printf "from setuptools import setup\nsetup(name=\"m\", version=\"1\", packages=[\"m\"])\n" > setup.py '
                 '&& python3 -m pip install --user --no-index --no-build-isolation --no-deps --break-system-packages . && cd / && python3 -c "import m"', timeout_ms=120000)
        self.assertIn('OpenSSH', ''.join(self.run_in(sandbox, 'ssh', '-V')[2:]))

    def test_small_tmp(self):
        """The same with a /tmp of one megabyte: full is said, and it goes on."""
        limits = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
        limits.set('tmp-bytes', 1 << 20)
        sandbox = self.make({'image': PLACE.image('busybox'), 'user': '1234:1234'}, limits=limits, workspace_mode=COPY)
        self.assertIn('No space left', self.run_in(sandbox, 'dd', 'if=/dev/zero', 'of=/tmp/x', 'bs=64k', 'count=40')[3])
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')


taptest.main()
