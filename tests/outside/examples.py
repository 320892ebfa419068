# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example plug-ins, as their authors have them: built out of the tree, with nothing
but what is installed, and judged by the suite that is installed. The one in C as this
user, the one in Vala as an ordinary one; both at the same time, as most of it is waiting."""
import os
import shutil
import subprocess
import tempfile
import unittest

from installed import ROOT, environment, install, run

import taptest


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.umask(0o022)
        cls.folder = tempfile.mkdtemp()
        os.chmod(cls.folder, 0o755)
        cls.env = environment(*install(f'{cls.folder}/installed'))
        cls.suites = {}
        for name, how in (('plugin-c', []), ('plugin-vala', [f'{ROOT}/tests/lib/as-user'])):
            build = f'{cls.folder}/{name}'
            run('meson', 'setup', '--fatal-meson-warnings', build, f'{ROOT}/examples/{name}', env=cls.env)
            cls.said = run('ninja', '-C', build, env=cls.env)
            backend = 'bubblewrap' if name == 'plugin-c' else 'bubblewrap-vala'
            cls.suites[name] = subprocess.Popen(
                [*how, 'prism-conformance', backend, '--lacks', 'pause,detached'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                cwd=build, env=dict(cls.env, PRISM_PLUGIN_PATH=build))

    @classmethod
    def tearDownClass(cls):
        for suite in cls.suites.values():
            suite.kill()
            suite.communicate()
        shutil.rmtree(cls.folder)

    def keeps_the_contract(self, name):
        said = self.suites[name].communicate(timeout=280)[0]
        self.assertEqual(self.suites[name].returncode, 0, '\n'.join(l for l in said.splitlines() if not l.startswith('ok')))
        self.assertGreater(said.count('\nok '), 60)

    def test_c_contract(self):
        """the backend in C keeps the contract"""
        self.keeps_the_contract('plugin-c')

    def test_vala_contract(self):
        """the backend in Vala keeps the contract"""
        self.keeps_the_contract('plugin-vala')

    def test_c_own_tests(self):
        """its own tests pass"""
        run('meson', 'test', '-C', f'{self.folder}/plugin-c', 'arguments', env=self.env)

    def test_inspect(self):
        """prism inspect shows both, with their option; doctor probes them"""
        plugins = f'{self.folder}/plugin-c:{self.folder}/plugin-vala'
        for name in ('bubblewrap', 'bubblewrap-vala'):
            said = run('prism', 'inspect', name, env=dict(self.env, PRISM_PLUGIN_PATH=plugins))
            self.assertIn('0.1.0 fine', said)
            self.assertIn('program=string', said)

    def test_run(self):
        """prism run works with both, and a refused limit is named"""
        for name in ('bubblewrap', 'bubblewrap-vala'):
            env = dict(self.env, PRISM_PLUGIN_PATH=f'{self.folder}/plugin-c:{self.folder}/plugin-vala')
            work = tempfile.mkdtemp(dir=self.folder)
            said = run('prism', 'run', '-b', name, '-w', work, '--require', 'network,process', '--', 'sh', '-c',
                       'id -u; cat /proc/net/dev | wc -l; echo hi > out', env=env)
            self.assertEqual(said, '10001\n3\n')
            self.assertEqual(open(f'{work}/out').read(), 'hi\n')
            done = subprocess.run(['prism', 'run', '-b', name, '-w', work, '--limit', 'memory-bytes=1G', '--', 'true'],
                                  env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 125)
            self.assertIn('memory-bytes', done.stderr)

    def test_installs(self):
        """the project installs into libprism's folder for plug-ins"""
        run('meson', 'install', '-C', f'{self.folder}/plugin-c', '--destdir', f'{self.folder}/d', env=self.env)
        found = [f for _, _, files in os.walk(f'{self.folder}/d') for f in files]
        self.assertEqual(sorted(found), ['bubblewrap.plugin', 'bubblewrap.so'])
        self.assertTrue(any(path.endswith('libprism-1/plugins') for path, _, _ in os.walk(f'{self.folder}/d')))

    def test_conformance_says_no(self):
        """the suite fails, in its own words, for what is not there and for who breaks the contract"""
        env = dict(self.env, PRISM_PLUGIN_PATH=f'{self.folder}/plugin-c')
        for arguments, words in ((['no-such-backend'], 'there is no backend'), (['bubblewrap', '--set', 'x=1'], 'no such property'),
                                 (['bubblewrap', '--only', '/nothing'], 'no such case'), ([], 'which backend')):
            done = subprocess.run(['prism-conformance', *arguments], env=env, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ''))
            self.assertIn(words, done.stderr)
        done = subprocess.run(['prism-conformance', 'bubblewrap', '--set', 'program=/bin/false', '--only', '/life/pro'],
                              env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith('1..2\n# '))
        self.assertIn('\nnot ok 2 /life/probe\n', done.stdout)


if __name__ == '__main__':
    taptest.main()
