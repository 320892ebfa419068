# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism tool list and prism tool call."""
import json
import os
import signal
import subprocess
import tarfile

import base

import taptest


class Tools(base.Case):
    def call(self, name, *arguments, **options):
        arguments = [argument if isinstance(argument, str) else json.dumps(argument) for argument in arguments]
        return self.run_prism('tool', 'call', name, *arguments, **options)

    def test_list(self):
        """a line for each tool; with --json its schema, which refuses what it does not name"""
        done = self.run_prism('tool', 'list')
        names = [line.split()[0] for line in done.stdout.decode().splitlines()]
        self.assertEqual((done.returncode, done.stderr), (0, b''), done)
        listed = json.loads(self.run_prism('tool', 'list', '--json').stdout)
        self.assertEqual([tool['name'] for tool in listed], names)
        self.assertEqual(names[:3], ['shell', 'read', 'write'])
        self.assertLess({'git_status', 'git_commit', 'coding_check', 'ask_user_decision'}, set(names))
        for tool in listed:
            self.assertEqual(tool['input_schema']['additionalProperties'], False, tool)
            self.assertIn(tool['effect'], ('none', 'local_mutation', 'external_mutation'))

    def test_call(self):
        """text on standard output as it is; options before or after; - reads the arguments"""
        self.write('a.txt', b'one\ntwo\n')
        arguments = {'path': 'a.txt', 'limit': 5}
        for done in (self.call('read', arguments), self.call('read', arguments, '-w', '.'),
                     self.run_prism('tool', 'call', '-w', '.', 'read', json.dumps(arguments)),
                     self.call('read', '-', input=json.dumps(arguments).encode())):
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'one\ntwo\n', b''), done)

    def test_json(self):
        """--json: content and metadata, of an image too"""
        self.write('p.png', b'\x89PNG\r\n\x1a\nrest')
        got = json.loads(self.call('read', {'path': 'p.png'}, '--json').stdout)
        self.assertEqual((got['content'][0]['type'], got['metadata']['image']['mimeType']), ('image', 'image/png'), got)
        done = self.call('read', {'path': 'p.png'})
        self.assertEqual((done.returncode, b'image/png' in done.stderr), (0, True), done)
        got = json.loads(self.call('shell', {'command': 'exit 3'}, '--json').stdout)
        self.assertEqual(got['metadata']['exitCode'], 3, got)

    def test_export(self):
        """--export writes the copy out after a call, too"""
        done = self.call('write', {'path': 'new', 'content': 'hi'}, '--workspace-mode', 'copy', '--export', 'out.tar')
        self.assertEqual((done.returncode, b'exported out.tar: sha256 ' in done.stderr), (0, True), done)
        with tarfile.open(os.path.join(self.folder, 'out.tar')) as archive:
            self.assertIn('new', {name.lstrip('./') for name in archive.getnames()})
        self.assertEqual(os.listdir(self.folder), ['out.tar'])

    def test_options(self):
        """an option of run that would be taken and do nothing is refused"""
        for options in (['--timeout', '1s'], ['-t'], ['-T'], ['-n']):
            with self.subTest(options):
                done = self.call('write', {'path': 'new', 'content': 'hi'}, *options)
                self.assertEqual((done.returncode, b'are for prism run' in done.stderr or b'is for prism run' in done.stderr),
                                 (125, True), done)
        self.assertEqual(os.listdir(self.folder), [])

    def test_changes(self):
        """what a tool writes is in the workspace, and what it may not reach is as it was"""
        done = self.call('write', {'path': 'new/file', 'content': 'hi\n'})
        self.assertEqual((done.returncode, self.read('new/file')), (0, b'hi\n'), done)
        os.symlink('/etc', os.path.join(self.folder, 'out'))
        for name, arguments in (('write', {'path': 'out/x', 'content': ''}), ('read', {'path': '/etc/passwd'}),
                                ('read', {'path': 'out/passwd'}), ('delete', {'path': '..', 'recursive': True})):
            with self.subTest(name=name, arguments=arguments):
                done = self.call(name, arguments)
                self.assertEqual((done.returncode, b'outside' in done.stderr or b'link' in done.stderr), (1, True), done)

    def test_failures(self):
        """1 where the tool failed, 124 after its time, and the message says what to send"""
        for name, arguments, status, word in (
                ('read', {'path': 'none'}, 1, b'none'), ('read', {}, 1, b'send: path'),
                ('read', {'path': 'a', 'x': 1}, 1, b'unknown parameter'), ('read', '{"path"', 1, b'line 1'),
                ('read', '[]', 1, b'one JSON object'), ('glob', {'pattern': '../*'}, 1, b'pattern'),
                ('shell', {'command': 'sleep 60', 'timeout': 1}, 124, b'ended after 1 s'),
                ('ask_user_decision', {'question': 'q', 'options': [{'id': 'a', 'label': 'A'}, {'id': 'b', 'label': 'B'}]},
                 1, b'nobody to ask')):
            with self.subTest(name=name, arguments=arguments):
                done = self.call(name, arguments)
                self.assertEqual((done.returncode, word in done.stderr), (status, True), done)

    def test_usage(self):
        """what is no call is 125"""
        for arguments in ((), ('call',), ('call', 'read'), ('call', 'none', '{}'), ('frobnicate',), ('list', 'x'),
                          ('call', 'read', '{}', 'more'), ('call', 'read', '{}', '--no-such-option')):
            with self.subTest(arguments=arguments):
                done = self.run_prism('tool', *arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr != b''), (125, b'', True), done)

    def test_policy(self):
        """--policy is asked, and its no is 126 with the rule's reason"""
        with open(os.path.join(self.folder, 'policy.json'), 'w', encoding='utf-8') as file:
            json.dump({'roots': ['.'], 'commandRules': [
                {'match': 'word', 'pattern': 'touch', 'action': 'deny', 'reason': 'no touching'},
                {'match': 'prefix', 'pattern': ['echo'], 'action': 'allow'}]}, file)
        done = self.call('shell', {'command': 'touch a'}, '--policy', 'policy.json')
        self.assertEqual((done.returncode, b'no touching' in done.stderr), (126, True), done)
        self.assertNotIn('a', os.listdir(self.folder))
        done = self.call('shell', {'command': 'echo may'}, '--policy', 'policy.json')
        self.assertEqual((done.returncode, done.stdout), (0, b'may\n'), done)

    def test_signal(self):
        """a signal ends what the tool runs, and leaves nothing"""
        marker = self.marker()
        with subprocess.Popen([base.PRISM, 'tool', 'call', 'shell', json.dumps({'command': f'sleep {marker}'})],
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as prism:
            self.until(lambda: self.is_running(marker), 'the command runs')
            prism.send_signal(signal.SIGTERM)
            prism.communicate(timeout=base.DEADLINE)
        self.assertEqual(prism.returncode, 128 + signal.SIGTERM)
        self.assert_gone(marker)


if __name__ == '__main__':
    taptest.main()
