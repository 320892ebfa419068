# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a policy file decides about commands: prism policy check, and who is asked by prism run."""
import json
import os
import re

import base
import terminal

import taptest

RULES = [
    {'match': 'word', 'pattern': 'touch', 'action': 'deny', 'reason': 'no touching'},
    {'match': 'prefix', 'pattern': ['true'], 'action': 'allow'},
    {'match': 'prefix', 'pattern': ['sh', '-c'], 'action': 'allow'},
    {'match': 'prefix', 'pattern': ['echo', 'secret'], 'action': 'requireApproval', 'reason': 'it tells'},
]


class Policies(base.Case):
    def setUp(self):
        super().setUp()
        self.path = self.policy('policy.json', roots=['.'], commandRules=RULES)

    def policy(self, name, **members):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
            json.dump(members, file)
        return name

    def check(self, *arguments, policy='policy.json'):
        return self.run_prism('policy', 'check', '--policy', policy, *arguments)

    def test_statuses(self):
        """0 allowed, 126 denied, 3 needs approval, and each says which rule and why"""
        for command, status, words in (
                (['true'], 0, ['allowed', 'commandRules/1']),
                (['touch', 'a'], 126, ['rule-denied', 'commandRules/0', 'no touching']),
                (['true; touch a'], 126, ['rule-denied', 'touch a: no touching']),
                (['sh -c "true; touch a"'], 126, ['touch a']),
                (['rm -fr /'], 126, ['default-deny', 'built-in']),
                (['su""do id'], 126, ['default-deny', 'sudo id']),
                (['npm', 'test'], 3, ['approval-required', '"pattern":["npm","test"]']),
                (['true $x'], 3, ['known only once it runs']),
                (['true; true'], 3, ['more than one plain command']),
                (['echo secret'], 3, ['commandRules/3', 'it tells'])):
            with self.subTest(command=command):
                done = self.check('--', *command)
                self.assertEqual(done.returncode, status, done)
                for word in words:
                    self.assertIn(word, done.stdout.decode())

    def test_documents(self):
        """each policy that the documents show is one"""
        shown = 0
        for name in ('docs/mcp.md', 'docs/policy-format.md', 'README.md', 'docs/first-hour.md', 'docs/embedding.md'):
            with open(os.path.join(base.SOURCE, name), encoding='utf-8') as file:
                for text in re.findall(r'^```json\n(.*?)^```$', file.read(), re.M | re.S):
                    members = json.loads(text)
                    if not {'roots', 'commandRules', 'egress', 'filesystem'} & set(members):
                        continue
                    shown += 1
                    with self.subTest(name=name, text=text):
                        members.pop('credentials', None)
                        done = self.check('--print', policy=self.policy('shown.json', **members))
                        self.assertEqual(done.returncode, 0, done)
        self.assertGreater(shown, 1)
        done = self.check('--print', policy=self.policy('kind.json', egress={'presets': ['github']}))
        self.assertEqual((done.returncode, b'missing; it is deny-all, allow-all or static' in done.stderr), (125, True), done)

    def test_paths(self):
        """paths are held against the roots, links and all"""
        os.symlink('/etc', os.path.join(self.folder, 'out'))
        for kind, path, status in (('read', 'policy.json', 0), ('read', 'absent', 0), ('read', '/etc/passwd', 126),
                                   ('read', 'out/passwd', 126), ('read', '../x', 126), ('write', 'new/file', 3),
                                   ('write', 'out/x', 126), ('delete', 'out', 3), ('delete', '.', 126),
                                   ('repo_search', '.', 0), ('frobnicate', 'policy.json', 3)):
            with self.subTest(kind=kind, path=path):
                done = self.check('--kind', kind, '--path', path)
                self.assertEqual(done.returncode, status, done)
        done = self.check('--directory', '/', '--', 'true')
        self.assertEqual((done.returncode, b'path-outside-roots' in done.stdout), (126, True), done)

    def test_read_only(self):
        """read-only: what has no effect, by its effect"""
        policy = self.policy('read.json', roots=['.'], readOnly=True, commandRules=RULES)
        for arguments, status in ((['--kind', 'read', '--path', '.'], 0), (['--kind', 'glob', '--path', '.'], 0),
                                  (['--kind', 'git', '--operation', 'status'], 0), (['--kind', 'git', '--operation', 'commit'], 126),
                                  (['--kind', 'write', '--path', 'a'], 126), (['--', 'true'], 126)):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.check(*arguments, policy=policy).returncode, status)

    def test_json(self):
        """--json: one object with verdict, rule, reason and what is in the line"""
        done = self.check('--json', '--', 'true && echo "$(touch a)"')
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got['verdict'], got['allowed'], got['reason_id']), (126, 'denied', False, 'rule-denied'), got)
        self.assertEqual(got['commands'], ['true', 'echo $(...)', 'touch a'])
        got = json.loads(self.check('--json', '--', 'git', 'log').stdout)
        self.assertEqual((got['verdict'], got['commands'], got['uncertain']), ('needs_approval', ['git log'], None), got)
        got = json.loads(self.check('--json', '--', 'true').stdout)
        self.assertEqual((got['verdict'], got['exclusive'], got['reason_id'], got['warnings']), ('allowed', True, None, []), got)

    def test_print(self):
        """--print: the whole of it, defaults said, presets expanded, and it says the same when read again"""
        self.policy('egress.json', roots=['.'], egress={'kind': 'static', 'presets': ['github']})
        done = self.check('--print', policy='egress.json')
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got['roots'], got['approval']), (0, [self.folder], {'cache': 'none', 'timeoutMs': 30000}), got)
        self.assertIn('github.com', [rule['host'] for rule in got['egress']['rules']])
        self.write('again.json', done.stdout)
        self.assertEqual(self.check('--print', policy='again.json').stdout, done.stdout)

    def test_errors(self):
        """what is no question, or no policy, is 125 and says what to do"""
        wrong = self.policy('wrong.json', commandRules=[{'match': 'regex', 'pattern': '(a', 'action': 'deny'}])
        self.policy('hosts.json', egress={'kind': 'deny-all'})
        for arguments, word in ((['--policy', wrong, '--', 'true'], b'/commandRules/0/pattern'),
                                (['--policy', 'absent.json', '--', 'true'], b'absent.json'), (['--', 'true'], b'--policy'),
                                (['--policy', 'policy.json'], b'say what about'),
                                (['--policy', 'hosts.json', '--', 'true'], b'says nothing of actions'),
                                (['--policy', 'policy.json', '--kind', 'read', '--', 'true'], b'of kind shell')):
            with self.subTest(arguments=arguments):
                done = self.run_prism('policy', 'check', *arguments)
                self.assertEqual((done.returncode, word in done.stderr), (125, True), done)

    def test_worked_examples(self):
        """each line of the documents' worked examples gets the verdict that stands beside it"""
        policies = os.path.join(base.SOURCE, 'examples', 'policies')
        with open(os.path.join(base.SOURCE, 'docs', 'policy-format.md'), encoding='utf-8') as file:
            part = file.read().split('### Worked examples')[1].split('\n## ')[0]
        rows = re.findall(r'^\| `(.+?)` \| (allowed|needs approval|denied) \|', part, re.M)
        self.assertGreater(len(rows), 15)
        for line, verdict in rows:
            with self.subTest(line=line):
                done = self.check('--', line.replace('\\|', '|'), policy=os.path.join(policies, 'coding-agent.json'))
                self.assertEqual(done.returncode, {'allowed': 0, 'needs approval': 3, 'denied': 126}[verdict], done)
        for name in os.listdir(policies):
            if name.endswith('.json'):
                self.assertEqual(self.check('--print', policy=os.path.join(policies, name)).returncode, 0, name)

    def test_warning(self):
        """a rule that allows more than it looks like is pointed out"""
        self.policy('wide.json', roots=['.'], commandRules=[{'match': 'prefix', 'pattern': ['env'], 'action': 'allow'},
                                                            {'match': 'glob', 'pattern': 'ls*', 'action': 'allow'}])
        done = self.check('--', 'ls', policy='wide.json')
        self.assertEqual((done.returncode, b'commandRules/0: env runs' in done.stderr, b'commandRules/1: only match=prefix' in done.stderr),
                         (3, True, True), done)

    def test_run(self):
        """prism run: allowed runs, denied is 126 before there is a sandbox, and without a terminal nobody is asked"""
        done = self.run_prism('run', '--policy', self.path, '--', 'true')
        self.assertEqual((done.returncode, done.stderr), (0, b''), done)
        done = self.run_prism('run', '--policy', self.path, '--', 'touch', 'mark')
        self.assertEqual((done.returncode, b'no touching' in done.stderr), (126, True), done)
        for mode in ([], ['--approve', 'never'], ['--approve', 'ask']):
            done = self.run_prism('run', '--policy', self.path, *mode, '--', 'id', start_new_session=True)
            self.assertEqual((done.returncode, b'nobody is there to be asked' in done.stderr), (126, True), done)
        done = self.run_prism('run', '--policy', self.path, '--approve', 'always', '--', 'id')
        self.assertEqual((done.returncode, b'uid=' in done.stdout), (0, True), done)
        done = self.run_prism('run', '--policy', self.path, '--approve', 'always', '--', 'touch', 'mark')
        self.assertEqual(done.returncode, 126, done)
        done = self.run_prism('run', '--json', '--policy', self.path, '--', 'touch', 'mark')
        self.assertEqual((done.returncode, json.loads(done.stdout)['error']['code']), (126, 'denied'), done)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'mark')))

    def test_outside(self):
        """a workspace outside of the roots is denied"""
        os.mkdir(os.path.join(self.folder, 'inner'))
        policy = self.policy('inner.json', roots=['inner'], commandRules=RULES)
        self.assertEqual(self.run_prism('run', '--policy', policy, '--', 'true').returncode, 126)
        self.assertEqual(self.run_prism('run', '-w', 'inner', '--policy', policy, '--', 'true').returncode, 0)

    def ask(self, answer, *command, options=()):
        shown = terminal.Terminal(self, ['run', '--no-tty', *(options or ('--policy', self.path)), '--', *command])
        shown.expect(b'Allow?')
        shown.type(answer)
        status = shown.wait()
        return status, shown.seen.decode(errors='replace')

    def test_terminal(self):
        """on a terminal the question shows command, directory and why; y, n, a, and nothing else counts"""
        status, seen = self.ask(b'y\n', 'echo', 'secret')
        self.assertEqual(status, 0, seen)
        for word in ('program: echo secret', f'directory: {self.folder}', 'why: it tells', 'rule: commandRules/3', 'a: always'):
            self.assertIn(word, seen)
        for answer, status in ((b'a\n', 0), (b'n\n', 126), (b'\x04', 126), (b'perhaps\nwhy\nno way\n', 126),
                               (b'yesyesyesyesyesyesyes\nn\n', 126)):
            with self.subTest(answer=answer):
                got, seen = self.ask(answer, 'echo', 'secret')
                self.assertEqual(got, status, seen)

    def test_terminal_without_file(self):
        """--approve ask without a policy file asks about the command, and variables are shown, passed-on ones by name"""
        status, seen = self.ask(b'y\n', 'echo', 'done', options=('--approve', 'ask', '-e', 'A=b c', '-e', 'HOME'))
        self.assertEqual((status, 'environment: A=b c' in seen, 'environment: HOME=(passed on)' in seen), (0, True, True), seen)

    def test_spoofing(self):
        """what would move the cursor, turn the line round or take room unseen is written out"""
        status, seen = self.ask(b'n\n', 'echo', '\x1b[2K\rsafe', '\u202egnp.exe', 'a' + ' ' * 300 + 'rm', '\n' * 50)
        self.assertEqual(status, 126, seen)
        for word in ('\\x1b[2K\\rsafe', '\\u{202e}gnp', '[300 spaces]', '[50 line ends]', 'note: characters that cannot be seen'):
            self.assertIn(word, seen)
        self.assertNotIn('\u202e', seen)

    def test_shell(self):
        """prism shell is asked about as what it is"""
        done = self.run_prism('shell', '--policy', self.path, input=b'exit\n')
        self.assertEqual(done.returncode, 126, done)
        done = self.run_prism('shell', '--policy', self.path, '--approve', 'always', input=b'exit 3\n')
        self.assertEqual(done.returncode, 3, done)


if __name__ == '__main__':
    taptest.main()
