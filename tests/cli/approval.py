# SPDX-License-Identifier: LGPL-2.1-or-later
"""What waits for an answer: --suspend, and prism approval."""
import json
import os

import base

import taptest


class Approvals(base.Case):
    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.folder, 'tree')
        self.kept = os.path.join(self.folder, 'kept')
        os.mkdir(self.tree)

    def command(self, *words, **more):
        return self.run_prism('run', '--suspend', self.kept, '--', *words, cwd=self.tree, **more)

    def approval(self, *words, status=0):
        done = self.run_prism('approval', *words)
        self.assertEqual(done.returncode, status, done)
        return done

    def listed(self, *more):
        return json.loads(self.approval('list', '--json', *more, self.kept).stdout)

    def test_run(self):
        """a command waits, is allowed, runs once, and waits again"""
        self.assertEqual(json.loads(self.approval('list', '--json', self.kept).stdout), [])
        done = self.command('sh', '-c', 'echo done >> log')
        self.assertEqual((done.returncode, b'suspended' in done.stderr, b'prism approval show' in done.stderr),
                         (126, True, True), done)
        self.assertEqual(os.listdir(self.tree), [])
        waits = self.listed()
        self.assertEqual([(one['state'], one['reason']) for one in waits], [('pending', 'approval')])
        self.assertIn('echo done >> log', waits[0]['text'])
        offered = self.run_prism('complete', '--', 'approval', 'allow', self.kept, '').stdout.decode().split()
        self.assertEqual(offered, [waits[0]['id']])
        self.assertIn(b'forget', self.run_prism('complete', '--', 'approval', 'f').stdout)
        self.approval('allow', self.kept, waits[0]['id'][:8])
        self.approval('deny', self.kept, waits[0]['id'], status=125)
        self.assertEqual(self.command('sh', '-c', 'echo other').returncode, 126)
        self.assertEqual(self.command('sh', '-c', 'echo done >> log').returncode, 0)
        self.assertEqual(self.command('sh', '-c', 'echo done >> log').returncode, 126)
        with open(os.path.join(self.tree, 'log'), encoding='ascii') as file:
            self.assertEqual(file.read(), 'done\n')
        over = [one for one in self.listed('-a') if one['id'] == waits[0]['id']][0]
        self.assertEqual((over['state'], over['outcome']), ('ended', 'ok'))
        self.assertTrue(over['answered_by'])
        self.approval('forget', self.kept, over['id'])
        self.assertNotIn(over['id'], [one['id'] for one in self.listed('-a')])

    def test_denied(self):
        """who says no is told"""
        self.assertEqual(self.command('true').returncode, 126)
        one = self.listed()[0]
        self.assertIn(one['id'].encode(), self.approval('show', self.kept, one['id']).stdout)
        self.approval('deny', self.kept, one['id'])
        done = self.command('true')
        self.assertEqual((done.returncode, b'said no' in done.stderr), (126, True), done)
        self.assertEqual(self.listed(), [])

    def test_tool(self):
        """a tool's call and a model's question wait, too"""
        write = ('tool', 'call', 'write', '{"path": "a", "content": "x"}', '--suspend', self.kept)
        self.assertEqual(self.run_prism(*write, cwd=self.tree).returncode, 126)
        self.approval('allow', self.kept, self.listed()[0]['id'])
        self.assertEqual(self.run_prism(*write, cwd=self.tree).returncode, 0)
        self.assertEqual(os.listdir(self.tree), ['a'])
        question = json.dumps({'question': 'which?', 'options': [{'id': 'a', 'label': 'A'}, {'id': 'b', 'label': 'B'}]})
        ask = ('tool', 'call', 'ask_user_decision', question, '--suspend', self.kept)
        self.assertEqual(self.run_prism(*ask, cwd=self.tree).returncode, 126)
        one = self.listed()[0]
        self.assertEqual(one['reason'], 'ask_user_decision')
        self.approval('allow', self.kept, one['id'], status=125)
        self.approval('answer', self.kept, one['id'], 'c', status=125)
        self.approval('answer', self.kept, one['id'], 'b')
        self.assertIn(b'the user chose B (b)', self.run_prism(*ask, cwd=self.tree).stdout)

    def test_refused(self):
        """where the sandbox could answer itself, what contradicts, and what is not there"""
        os.symlink(self.tree, os.path.join(self.folder, 'link'))
        for options, words in ((['--suspend', 'kept'], b'answer itself'),
                               (['--suspend', os.path.join(self.folder, 'link', 'x')], b'answer itself'),
                               (['--suspend', self.kept, '--rw', self.folder], b'answer itself'),
                               (['--suspend', self.kept, '--approve', 'always'], b'contradict')):
            with self.subTest(options=options):
                done = self.run_prism('run', *options, '--', 'true', cwd=self.tree)
                self.assertEqual((done.returncode, words in done.stderr), (125, True), done)
        for words in ((), ('list',), ('allow', self.kept), ('frob', self.kept, 'x'), ('allow', self.kept, 'x'),
                      ('allow', self.kept, '../x')):
            with self.subTest(words=words):
                self.approval(*words, status=125)
        os.mkdir(self.kept, 0o700)
        os.chmod(self.kept, 0o777)
        self.assertEqual(self.command('true').returncode, 126)
        self.assertIn(b'mode 0700', self.approval('list', self.kept, status=125).stderr)


if __name__ == '__main__':
    taptest.main()
