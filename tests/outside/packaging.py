# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a packager relies on: where files go, by which tag they are told apart, and that each
file is what its readers take it for."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from installed import BUILD, ROOT, environment, install, run

import taptest

PACKAGES = {'runtime': 'libprism-1-0', 'devel': 'libprism-dev', 'typelib': 'gir1.2-prism-1', 'python-runtime': 'python3-prism',
            'bin': 'prism-sandbox', 'i18n': 'prism-sandbox', 'tests': 'libprism-tests'}


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        os.chmod(cls.folder, 0o755)
        cls.prefix, cls.libdir = install(f'{cls.folder}/all')
        cls.env = environment(cls.prefix, cls.libdir)
        with open(f'{BUILD}/meson-info/intro-install_plan.json') as file:
            plan = json.load(file)
        cls.plan = {entry['destination']: entry['tag'] for kind in plan.values() for entry in kind.values()}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_tags(self):
        """every file has a tag, and every tag a package"""
        with open(f'{ROOT}/data/debian/control.in') as file:
            control = file.read()
        for destination, tag in self.plan.items():
            with self.subTest(destination):
                package = PACKAGES.get(tag) or (tag or '').startswith('plugin-')
                self.assertTrue(package, f'the tag {tag} is for no package')
                if package is not True:
                    self.assertIn(f'Package: {package}\n', control)
                else:
                    self.assertTrue(os.path.exists(f'{ROOT}/plugins/{tag[7:]}/{tag[7:]}.plugin.in'))

    def test_only_what_is_asked(self):
        """what runs needs nothing of what is for developers: --tags runtime,bin,plugin-native is enough"""
        tags = [f'plugin-{name}' for name in os.listdir(f'{ROOT}/plugins') if f'plugin-{name}' in self.plan.values()]
        folder = f'{self.folder}/some'
        run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', folder, '--tags', ','.join(['runtime', 'bin', *tags]))
        prefix = folder + self.prefix[len(f'{self.folder}/all'):]
        libdir = prefix + self.libdir[len(self.prefix):]
        self.assertFalse(os.path.exists(f'{prefix}/include'))
        said = run('prism', 'run', '-w', self.folder, '--workspace-mode', 'readonly', '--', 'id', '-u', env=environment(prefix, libdir))
        self.assertEqual(said, '10001\n')

    def test_pkg_config(self):
        """the .pc names where plug-ins go, their interface, and the agent"""
        ask = lambda what: run('pkg-config', f'--variable={what}', 'libprism-1', env=self.env).strip()
        self.assertEqual(ask('plugin_abi'), '1.0')
        self.assertTrue(os.path.isdir(ask('pluginsdir')))
        self.assertTrue(os.access(ask('agent'), os.X_OK))
        with open(f'{ROOT}/libprism/base/prism-version.h.in') as file:
            abi = re.findall(r'PRISM_PLUGIN_ABI_M\w+OR (\d+)', file.read())
        self.assertEqual('.'.join(abi), '1.0')

    def test_versioned(self):
        """the library and all that goes with it carry the version of the API"""
        files = [f'{self.libdir}/{name}' for name in ('libprism-1.so.0', 'libprism-1.so', 'libprism-1/modules/prism-archive.so')]
        files.append(f'{self.prefix}/include/libprism/prism.h')
        with open(f'{BUILD}/meson-info/intro-buildoptions.json') as file:
            bindings = next(option['value'] for option in json.load(file) if option['name'] == 'introspection')
        if bindings != 'disabled':
            files += [f'{self.libdir}/girepository-1.0/Prism-1.typelib', f'{self.prefix}/share/gir-1.0/Prism-1.gir',
                      f'{self.prefix}/share/vala/vapi/libprism-1.vapi']
        for name in files:
            self.assertTrue(os.path.exists(name), name)

    def test_metainfo(self):
        """AppStream takes its file"""
        run('appstreamcli', 'validate', '--no-net', f'{self.prefix}/share/metainfo/io.github.libprism.prism.metainfo.xml')

    def test_man_pages(self):
        """man shows the pages without a warning"""
        for page in ('man1/prism.1', 'man1/prism-conformance.1', 'man5/prism-plugin.5'):
            done = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-Z', f'{self.prefix}/share/man/{page}'], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_fish(self):
        """fish completes what prism offers"""
        script = f'source {self.prefix}/share/fish/vendor_completions.d/prism.fish; complete -C "prism run --work"; complete -C "prism run --backend n"'
        said = run('fish', '--no-config', '-c', script, env=dict(self.env, HOME=self.folder, XDG_DATA_HOME=self.folder))
        self.assertEqual(sorted(line.split('\t')[0] for line in said.splitlines()), ['--workspace', '--workspace-mode', 'native'])

    def test_zsh(self):
        """zsh completes what prism offers"""
        # What the completion system would be given, printed.
        script = f'''
          compadd() {{ local word dashes=1; for word; do if ((dashes)) && [[ $word == -* && $word != --work* ]]; then [[ $word == -- ]] && dashes=0; continue; fi; print -r -- "$word"; done }}
          compdef() {{ }}
          _files() {{ print :files }}
          words=(prism run --work) CURRENT=3
          source {self.prefix}/share/zsh/site-functions/_prism'''
        said = run('zsh', '-f', '-c', script, env=dict(self.env, HOME=self.folder))
        self.assertIn('--workspace-mode', said)


if __name__ == '__main__':
    taptest.main()
