# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plug-ins that are broken in one way each, as `prism inspect` and `prism run`
meet them. Nothing of them may take the program down, and each refusal says why."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ['PRISM_BUILD_ROOT']
PRISM = os.environ['PRISM_COMMAND']
MADE = os.path.join(BUILD, 'tests', 'plugins')
sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))
import taptest  # noqa: E402


class Plugins(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix='prism-plugins-')
        self.addCleanup(shutil.rmtree, self.top)
        os.chmod(self.top, 0o755)

    def folder(self, *names, into=None):
        """A folder of its own with copies of these fixtures."""
        path = os.path.join(self.top, into or '-'.join(names))
        os.makedirs(path, mode=0o755, exist_ok=True)
        for name in names:
            for suffix in ('.so', '.plugin'):
                source = os.path.join(MADE, name, name + suffix)
                if os.path.exists(source):
                    target = os.path.join(path, name + suffix)
                    shutil.copyfile(source, target)
                    os.chmod(target, 0o644)
        return path

    def prism(self, *arguments, path=(), env=None, timeout=90):
        full = dict(os.environ, PRISM_PLUGIN_PATH=':'.join(path), PRISM_PLUGIN_DIR='')
        # A sanitizer would turn a crash into an exit status of its own.
        full['ASAN_OPTIONS'] = ':'.join(filter(None, [full.get('ASAN_OPTIONS'), 'handle_segv=0']))
        full.update(env or {})
        return subprocess.run([PRISM, *arguments], env=full, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)

    def inspect(self, *path, env=None):
        done = self.prism('inspect', '--json', path=path, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        plugins = json.loads(done.stdout)['plugins']
        return {p['name']: p for p in plugins} if len({p['name'] for p in plugins}) == len(plugins) else plugins

    def refused(self, name, code, words, backend=None):
        """The fixture is refused with that code, in inspect and, where it is asked for, in run; the good one beside it
        works."""
        folder = self.folder(name, 'good')
        plugins = self.inspect(folder)
        self.assertEqual(plugins['good']['state'], 'loaded', plugins['good'])
        entry = plugins.get(name) or plugins[name + '.so']
        self.assertEqual(entry['state'], 'refused', entry)
        self.assertEqual((entry['error']['domain'], entry['error']['code']), ('prism-plugin-error-quark', code), entry)
        for word in words:
            self.assertIn(word, entry['error']['message'])
        text = self.prism('inspect', path=[folder])
        self.assertEqual(text.returncode, 0)
        self.assertIn('refused', text.stdout)
        if backend:
            done = self.prism('run', '-b', backend, '--', 'true', path=[folder])
            self.assertEqual(done.returncode, 125, done)
            self.assertTrue(any(line.startswith('prism: ') for line in done.stderr.splitlines()), done.stderr)
            self.assertIn(words[0], done.stderr)
        return entry

    def test_good(self):
        """what is right is loaded, and its properties are listed with type, default and bounds"""
        entry = self.inspect(self.folder('good'))['good']
        self.assertEqual((entry['state'], entry['error'], entry['version'], entry['licence'], entry['abi']),
                         ('loaded', None, '1.2.3', 'LGPL-2.1-or-later', '1.0'))
        backend = entry['backends'][0]
        self.assertEqual((backend['name'], backend['type_name']), ('good', 'FixtureGood'))
        properties = {p['name']: p for p in backend['properties']}
        self.assertEqual(list(properties), ['colour', 'label', 'loud', 'size'])
        self.assertEqual((properties['colour']['type'], properties['colour']['default'], properties['colour']['choices']),
                         ('enum', 'dark-blue', ['red', 'dark-blue']))
        self.assertEqual(properties['size']['bounds'], {'standard': {'default': 7, 'minimum': 1, 'maximum': 100},
                                                        'strict': {'default': 7, 'minimum': 1, 'maximum': 10}})
        text = self.prism('inspect', 'good', path=[self.folder('good')])
        self.assertEqual(text.returncode, 0)
        for word in ('good 1.2.3 fine', 'colour=enum: red|dark-blue, default dark-blue', 'size=integer (1 … 100)'):
            self.assertIn(word, text.stdout)

    def test_good_proxy(self):
        """an egress proxy is shown as a backend is, with what it can do and its listeners' limits"""
        path = [self.folder('good-proxy')]
        entry = self.inspect(*path)['good-proxy']
        self.assertEqual((entry['state'], entry['error'], entry['offers'], entry['egress_proxies'], entry['backends']),
                         ('loaded', None, [], ['good-proxy'], []))
        proxy = entry['proxies'][0]
        self.assertEqual((proxy['name'], proxy['type_name'], proxy['capabilities']),
                         ('good-proxy', 'FixtureGoodProxy', {'statistics': False, 'signed_attestations': False}))
        properties = {p['name']: p for p in proxy['properties']}
        self.assertEqual({name: p['settable'] for name, p in properties.items()},
                         {'key': False, 'listener': False, 'place': True, 'size': True})
        self.assertEqual((properties['place']['default'], properties['size']['bounds']['strict']),
                         ('here', {'default': 6, 'minimum': 1, 'maximum': 10}))
        limits = {p['name']: p['bounds'] for p in proxy['limits']}
        self.assertEqual(limits['concurrent-connections'], {'standard': {'default': 256, 'minimum': 1, 'maximum': 65536},
                                                            'strict': {'default': 32, 'minimum': 1, 'maximum': 256}})
        self.assertNotIn('label', limits)
        text = self.prism('inspect', 'good-proxy', path=path)
        self.assertEqual(text.returncode, 0)
        for word in ('egress proxy good-proxy, set with --proxy-set', 'place=string, default here', 'does not count',
                     'size=integer (1 … 100), default 7; strict: 1 … 10, default 6', 'key=string, set by a program only',
                     'redirect-hops=integer (1 … 10), default 5\n'):
            self.assertIn(word, text.stdout)

    def test_doctor_good_proxy(self):
        """doctor finds out that this proxy does not do what it is there for, and says what to do"""
        done = self.prism('doctor', '--json', 'good-proxy', path=[self.folder('good-proxy')])
        got = json.loads(done.stdout)
        check = got['proxies'][0]['checks'][0]
        self.assertEqual((done.returncode, got['backends'], check['id'], check['status']), (1, [], 'egress.start', 'fail'))
        self.assertIn('listens nowhere', check['summary'])
        self.assertTrue(check['remedy'])

    def test_proxy_settings(self):
        """--proxy-set goes by the properties alone, construct-only ones too; a secret is not taken from it"""
        path = [self.folder('good', 'good-proxy')]
        arguments = ['run', '-b', 'good', '-w', self.top, '--network', 'egress']
        for setting, words in (('nosuch=1', ['--proxy-set nosuch', 'the egress proxy has no such property', 'place, size']), ('size=many', ['--proxy-set size']),
                               ('noequals', ['--proxy-set noequals', 'NAME=VALUE']), ('key=s3cr3t', ['--proxy-set key', 'secret']),
                               ('listener=x', ['--proxy-set listener', 'text cannot say'])):
            with self.subTest(setting):
                done = self.prism(*arguments, '--proxy-set', setting, '--', 'true', path=path)
                self.assertEqual(done.returncode, 125)
                self.assertNotIn('s3cr3t', done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)
        for setting in ('place=there', 'size=4'):
            with self.subTest(setting):
                done = self.prism(*arguments, '--proxy-set', setting, '--', 'true', path=path)
                self.assertIn('encloses nothing', done.stderr)
        done = self.prism('complete', 'run', '--proxy-set', '', path=path)
        self.assertEqual(done.stdout.split(), ['place=', 'size='])

    def test_settings(self):
        """--set goes by the properties alone; what does not fit is refused by name"""
        folder = self.folder('good')
        for setting, words in (('colour=green', ['colour', 'red, dark-blue']), ('nosuch=1', ['nosuch', 'colour, label']),
                               ('loud=maybe', ['loud', 'true or false']), ('size=many', ['size', 'whole number']),
                               ('noequals', ['NAME=VALUE'])):
            with self.subTest(setting):
                done = self.prism('run', '-b', 'good', '--set', setting, '--', 'true', path=[folder])
                self.assertEqual(done.returncode, 125)
                for word in words:
                    self.assertIn(word, done.stderr)
        for setting in ('colour=red', 'loud=yes', 'size=4K', 'label='):
            with self.subTest(setting):
                done = self.prism('run', '-b', 'good', '-w', self.top, '--set', setting, '--', 'true', path=[folder])
                self.assertIn('encloses nothing', done.stderr)

    def test_wrong_abi(self):
        """another major ABI: refused by the manifest, its code does not run"""
        self.refused('wrong-abi', 'abi', ['made for plug-in ABI 9.0'], 'wrong-abi')

    def test_newer_minor(self):
        """a newer minor ABI: refused by the manifest, its code does not run"""
        self.refused('newer-minor', 'abi', ['newer', 'update libprism'], 'newer-minor')

    def test_name_mismatch(self):
        self.refused('name-mismatch', 'manifest', ['other-name', 'one build'], 'name-mismatch')

    def test_version_mismatch(self):
        self.refused('version-mismatch', 'manifest', ['1.2.2', '1.2.3'], 'version-mismatch')

    def test_missing_symbol(self):
        self.refused('missing-symbol', 'load', ['prism_plugin_descriptor'], 'missing-symbol')

    def test_unresolved_symbol(self):
        """all symbols are bound when it is opened: a missing one is an error, not a death later"""
        self.refused('unresolved-symbol', 'load', ['prism_function_of_a_later_version'], 'unresolved-symbol')

    def test_no_manifest(self):
        self.refused('no-manifest', 'manifest', ['has no manifest'])

    def test_bad_manifest(self):
        self.refused('bad-manifest', 'manifest', ['not a key file'], 'bad-manifest')

    def test_no_module(self):
        self.refused('no-module', 'manifest', ['no-module.so does not exist'], 'no-module')

    def test_crash_on_load(self):
        """one that crashes is a message"""
        self.refused('crash-on-load', 'load', ['crashes when it is loaded', 'signal 11'])

    def test_exit_on_load(self):
        self.refused('exit-on-load', 'load', ['ends the program'])

    def test_hang_on_load(self):
        """one that hangs is a message, after a bounded time"""
        self.refused('hang-on-load', 'load', ['hangs when it is loaded'])

    def test_duplicate_type(self):
        self.refused('duplicate-type', 'type', ['could not be registered'], 'duplicate-type')

    def test_wrong_interface(self):
        self.refused('wrong-interface', 'type', ['GCancellable does not implement the interface PrismBackend'],
                     'wrong-interface')

    def test_half_interface(self):
        self.refused('half-interface', 'type', ['create_sandbox'], 'half-interface')

    def test_undeclared(self):
        """adds more than its manifest names: all of it goes, the declared as well"""
        self.refused('undeclared', 'manifest', ['adds the backend “native”'], 'undeclared')

    def test_refuses(self):
        """adds less than its manifest names"""
        self.refused('refuses', 'manifest', ['does not add'], 'refuses')

    def test_writable(self):
        """a file or folder that others can write to is refused, unread"""
        for what, mode, words in (('good.plugin', 0o666, 'everybody'), ('good.so', 0o602, 'everybody'),
                                  ('good.so', 0o664, 'its whole group'), ('', 0o777, 'everybody'),
                                  ('', 0o1777, 'everybody'), ('', 0o775, 'its whole group')):
            with self.subTest(what=what or 'the folder', mode=oct(mode)):
                folder = self.folder('good', into='writable')
                os.chmod(os.path.join(folder, what), mode)
                entry = self.inspect(folder)['good']
                self.assertEqual((entry['state'], entry['error']['code']), ('refused', 'untrusted'), entry)
                self.assertIn(words, entry['error']['message'])
                self.assertIn('chmod go-w', entry['error']['message'])
                done = self.prism('run', '-b', 'good', '--', 'true', path=[folder])
                self.assertEqual((done.returncode, words in done.stderr), (125, True), done)
                os.chmod(folder, 0o755)
                shutil.rmtree(folder)

    def test_writable_above(self):
        """a folder above in which everybody can rename is refused; a sticky one is not"""
        above = os.path.join(self.top, 'above')
        os.mkdir(above)
        folder = self.folder('good', into='above/plugins')
        for mode, state in ((0o777, 'refused'), (0o1777, 'loaded')):
            with self.subTest(oct(mode)):
                os.chmod(above, mode)
                self.assertEqual(self.inspect(folder)['good']['state'], state)
        os.chmod(above, 0o777)
        entry = self.inspect(self.folder('good-proxy'), folder)['good']
        self.assertEqual(entry['state'], 'refused')
        self.assertIn(f'{above}, above the plug-in folder {folder}, can be written by everybody', entry['error']['message'])
        other = self.folder('good-proxy', into='above/others')
        self.assertEqual({e['state'] for e in self.inspect(folder, other).values()}, {'refused'})

    def test_links(self):
        """a link leads to where nobody checked"""
        folder = self.folder('good')
        os.rename(os.path.join(folder, 'good.so'), os.path.join(self.top, 'good.so'))
        os.symlink(os.path.join(self.top, 'good.so'), os.path.join(folder, 'good.so'))
        entry = self.inspect(folder)['good']
        self.assertEqual((entry['state'], entry['error']['code']), ('refused', 'untrusted'), entry)
        self.assertIn('symbolic link', entry['error']['message'])

    @unittest.skipIf(os.getuid() != 0, 'another owner can only be set by root')
    def test_foreign_owner(self):
        """what belongs to neither root nor the caller is refused"""
        for what in ('good.plugin', 'good.so', ''):
            with self.subTest(what or 'the folder'):
                folder = self.folder('good', into='foreign')
                os.chown(os.path.join(folder, what), 65534, 65534)
                entry = self.inspect(folder)['good']
                self.assertEqual((entry['state'], entry['error']['code']), ('refused', 'untrusted'), entry)
                self.assertIn('belongs to user 65534', entry['error']['message'])
                shutil.rmtree(folder)

    def test_shadowed(self):
        """of one name the first folder's counts, be it refused"""
        first, second = self.folder('good', into='first'), self.folder('good', into='second')
        plugins = self.inspect(first, second)
        self.assertEqual([(p['manifest'], p['state']) for p in plugins],
                         [(first + '/good.plugin', 'loaded'), (second + '/good.plugin', 'shadowed')])
        os.chmod(first + '/good.so', 0o666)
        plugins = self.inspect(first, second)
        self.assertEqual([p['state'] for p in plugins], ['refused', 'shadowed'])
        done = self.prism('run', '-b', 'good', '--', 'true', path=[first, second])
        self.assertEqual((done.returncode, 'everybody' in done.stderr), (125, True), done)

    def test_folders(self):
        """folders that are not there, or not absolute, are said; the built-in one can be replaced and emptied"""
        good = self.folder('good')
        plugins = self.inspect('/nonexistent/plugins', 'relative', good)
        self.assertEqual(plugins['good']['state'], 'loaded')
        self.assertEqual(plugins['/nonexistent/plugins']['error']['code'], 'not_found')
        self.assertEqual(plugins['relative']['error']['code'], 'untrusted')
        self.assertEqual(list(self.inspect(env={'PRISM_PLUGIN_DIR': good, 'PRISM_PLUGIN_PATH': ''})), ['good'])
        self.assertEqual(self.inspect(env={'PRISM_PLUGIN_DIR': '', 'PRISM_PLUGIN_PATH': ''}), {})

    def test_unknown(self):
        """asking for what there is not lists what there is"""
        done = self.prism('run', '-b', 'nosuch', '--', 'true', path=[self.folder('good')])
        self.assertEqual(done.returncode, 125)
        self.assertIn('there is no backend “nosuch”; there is: good', done.stderr)

    def test_hostile_names(self):
        """a manifest's text and a file's name cannot play with the terminal"""
        folder = self.folder('good')
        with open(os.path.join(folder, 'good.plugin'), 'a', encoding='utf-8') as manifest:
            manifest.write('Description=\x1b[2Jboo\n')
        with open(os.path.join(folder, 'a\x1b[31mb\n.plugin'), 'w', encoding='utf-8') as manifest:
            manifest.write('[Plugin]\n')
        done = self.prism('inspect', path=[folder])
        self.assertEqual(done.returncode, 0)
        self.assertNotIn('\x1b', done.stdout)
        self.assertIn('cannot be shown', done.stdout)

    def test_doctor(self):
        """doctor reports each backend, the broken ones too, and its status says what it found"""
        folder = self.folder('good', 'crash-on-load')
        done = self.prism('doctor', '--json', path=[folder])
        self.assertEqual(done.returncode, 1, done)
        backends = {b['name']: b for b in json.loads(done.stdout)['backends']}
        self.assertEqual((backends['good']['status'], backends['crash-on-load']['status']), ('warn', 'fail'))
        self.assertEqual(backends['good']['checks'][0]['remedy'], 'use another')
        self.assertEqual(self.prism('doctor', 'good', path=[folder]).returncode, 0)
        self.assertEqual(self.prism('doctor', 'crash-on-load', path=[folder]).returncode, 1)
        self.assertEqual(self.prism('doctor', 'nosuch', path=[folder]).returncode, 78)
        self.assertEqual(self.prism('doctor').returncode, 2)

    @unittest.skipIf(os.getuid() != 0, 'a set-user-id file of another can only be made by root')
    def test_at_secure(self):
        """a process with more rights than its caller ignores the variables"""
        program = os.path.join(self.top, 'list-plugins')
        folder = self.folder('good')
        shutil.copyfile(os.path.join(MADE, 'list-plugins'), program)
        os.chmod(program, 0o755)
        for mode, expected in ((0o755, 'good 0\n'), (0o4755, '')):
            with self.subTest(oct(mode)):
                os.chown(program, 0, 0)
                os.chmod(program, mode)
                done = subprocess.run([program], capture_output=True, text=True, user=65534, group=65534,
                                      env={'PRISM_PLUGIN_DIR': folder, 'PRISM_PLUGIN_PATH': folder}, timeout=90)
                lines = [line for line in done.stdout.splitlines(True) if line.startswith('good')]
                self.assertEqual((done.returncode, ''.join(lines[:1]), done.stderr), (0, expected, ''))


taptest.main()
