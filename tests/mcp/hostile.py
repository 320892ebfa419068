# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism mcp and a client that sends whatever it likes: each wrong thing has its answer, and the session goes on."""
import json
import os
import signal
import subprocess

import client
from client import Case, text_of

PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}\n'


class Framing(Case):
    OPTIONS = ('--approve', 'always')

    def assert_lives(self, server):
        server.send_bytes(PING)
        self.assertEqual(server.answer_to('ping'), {'jsonrpc': '2.0', 'id': 'ping', 'result': {}})

    def test_wrong_lines(self):
        """each wrong line has its answer"""
        server = self.ready()
        for line, code, number in (
                (b'not json', -32700, None), (b'\xff\xfe\xfd', -32700, None), (b'{"jsonrpc":"2.0","id":1', -32700, None),
                (b'{}', -32600, None), (b'[]', -32600, None), (b'"x"', -32600, None), (b'null', -32600, None),
                (b'[' * 100000, -32700, None), (b'[' + b'0,' * 300000 + b'0]', -32700, None),
                (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32600, None),
                (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}', -32601, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}', -32602, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}', -32602, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shell","arguments":[]}}', -32602, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"2"}}', -32602, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}', -32002, 7),
                (b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}', -32600, 7)):
            with self.subTest(line=line[:80]):
                server.send_bytes(line + b'\n')
                answer = server.wait_for(lambda m: 'error' in m)
                self.assertEqual((answer['error']['code'], answer['id']), (code, number))
                self.assert_lives(server)
        self.assertEqual(server.finish(), 0)

    def test_long_line(self):
        """a line of 100 MB is dropped, and the next one is read"""
        server = self.ready()
        for _ in range(100):
            server.send_bytes(b' ' * 1000000 if _ % 2 else b'x' * 1000000)
        server.send_bytes(b'\n')
        answer = server.wait_for(lambda m: 'error' in m)
        self.assertEqual((answer['error']['code'], answer['id']), (-32600, None))
        self.assert_lives(server)
        with open(f'/proc/{server.process.pid}/status', encoding='ascii') as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith('VmHWM'))
        self.assertLess(peak, 200000)

    def test_pieces(self):
        """bytes one by one, CR LF, blank lines, two messages in one write"""
        server = self.ready()
        for byte in PING:
            server.send_bytes(bytes([byte]))
        self.assertEqual(server.answer_to('ping')['result'], {})
        server.send_bytes(b'\r\n\n  \n' + PING.replace(b'\n', b'\r\n') + PING)
        for _ in range(2):
            self.assertEqual(server.answer_to('ping')['result'], {})

    def test_before_initialize(self):
        """nothing but ping is answered before initialize"""
        server = self.start()
        server.notify('notifications/initialized')
        server.notify('notifications/cancelled', {'requestId': 1})
        server.send_bytes(PING)
        self.assertEqual(server.next(), {'jsonrpc': '2.0', 'id': 'ping', 'result': {}})
        self.error_of(server.request('tools/list'), -32600)
        self.assertEqual(server.initialize()['result']['protocolVersion'], client.LATEST)
        self.assertIn('result', server.request('tools/list'))

    def test_revisions(self):
        """the three revisions, and what is not known"""
        for wanted, agreed in (('2025-11-25', '2025-11-25'), ('2025-06-18', '2025-06-18'), ('2025-03-26', '2025-03-26'),
                               ('2024-11-05', '2025-11-25'), ('9999-99-99', '2025-11-25')):
            with self.subTest(wanted=wanted):
                server = self.start()
                self.assertEqual(server.initialize(wanted)['result']['protocolVersion'], agreed)
                tools = server.request('tools/list')['result']['tools']
                self.assertEqual(all('title' in tool for tool in tools), agreed != '2025-03-26')
                result = server.tool('shell', {'command': 'echo hi'})['result']
                self.assertIn('hi', result['content'][0]['text'])
                self.assertEqual('structuredContent' in result, agreed != '2025-03-26')
                server.send_bytes(b'[' + PING.strip() + b',' + PING.strip().replace(b'"ping",', b'2,', 1) + b']\n')
                message = server.next()
                if agreed == '2025-03-26':
                    self.assertEqual([one['id'] for one in message], ['ping', 2])
                else:
                    self.assertEqual((message['error']['code'], message['id']), (-32600, None))
                self.assertEqual(server.finish(), 0)

    def test_ids(self):
        """an id that is in use, and one that is used again"""
        server = self.ready()
        marker = self.marker()
        server.send({'jsonrpc': '2.0', 'id': 'same', 'method': 'tools/call',
                     'params': {'name': 'shell', 'arguments': {'command': f'sleep {marker}'}}})
        self.until(lambda: self.is_running(marker), 'the command')
        server.send({'jsonrpc': '2.0', 'id': 'same', 'method': 'tools/list'})
        answer = server.wait_for(lambda m: 'error' in m)
        self.assertEqual((answer['error']['code'], answer['id']), (-32600, None))
        server.cancel('same')
        self.assert_gone(marker)
        self.until(lambda: 'result' in self.try_id(server), 'the id to be free')

    def try_id(self, server):
        server.send({'jsonrpc': '2.0', 'id': 'same', 'method': 'tools/list'})
        return server.wait_for(lambda m: m.get('id', 0) in ('same', None))

    def test_answers_to_nothing(self):
        """answers that nobody waits for are passed over"""
        server = self.ready(capabilities={'elicitation': {}})
        for number in (1, 99, 'x', None):
            server.send({'jsonrpc': '2.0', 'id': number, 'error': {'code': -1, 'message': 'x'}})
        server.send({'jsonrpc': '2.0', 'id': 1, 'result': {'action': 'accept', 'content': {'decision': 'allow'}}})
        self.assert_lives(server)

    def test_text(self):
        """strings that no tool can take are a tool's error; what a tool prints is always UTF-8"""
        server = self.ready()
        for text in ('"a\\u0000b"', '"\\ud800"', '99999999999999999999'):
            server.send_bytes(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read","arguments":'
                              b'{"path":' + text.encode() + b'}}}\n')
            answer = server.answer_to(5)
            self.assertTrue(answer['result']['isError'], answer)
        for command in ("printf '\\377\\376\\000\\355\\240\\200 \\342\\200\\250 x\\033[2K'", "head -c 3000000 /dev/urandom",
                        "yes '\u2028\u0085' | head -c 100000"):
            answer = server.tool('shell', {'command': command})
            self.assertFalse(answer['result']['isError'], answer)
        self.assertNotIn('\u2028'.encode(), server.raw)
        self.assertNotIn('\u0085'.encode(), server.raw)
        self.assert_lives(server)

    def test_arguments(self):
        """arguments that are wrong in any way are told to the model, and the tree is as it was"""
        server = self.ready()
        with open(os.path.join(self.tree, 'file'), 'wb') as file:
            file.write(b'as it was\n')
        for name, arguments in (('read', {}), ('read', {'path': 5}), ('read', {'path': 'file', 'unknown': 1}),
                                ('read', {'path': ['file']}), ('read', {'path': 'file', 'offset': 'x'}),
                                ('read', {'path': '../../etc/passwd'}), ('read', {'path': '/etc/shadow'}),
                                ('write', {'path': 'file'}), ('write', {'path': 'file', 'content': {}}),
                                ('write', {'path': '../out', 'content': 'x'}),
                                ('edit', {'path': 'file', 'edits': 'nonsense'}),
                                ('edit', {'path': 'file', 'edits': []}),
                                ('delete', {'path': '.'}), ('move', {'from': 'file'}),
                                ('shell', {'command': ''}), ('shell', {'command': 'true', 'timeout': -1}),
                                ('shell', {'command': 'x' * 3000000}),
                                ('repo_search', {'query': ''}), ('glob', {'pattern': 'x' * 10000})):
            with self.subTest(name=name, arguments=str(arguments)[:60]):
                answer = server.tool(name, arguments)
                self.assertTrue(answer['result']['isError'], answer)
                self.assertTrue(text_of(answer).strip())
        self.assertEqual(os.listdir(self.tree), ['file'])
        with open(os.path.join(self.tree, 'file'), 'rb') as file:
            self.assertEqual(file.read(), b'as it was\n')
        self.assert_lives(server)

    def test_events(self):
        """a denial and a changed file are in the audit and, the denial, among the client's log messages"""
        policy = self.write('policy.json', json.dumps({
            'roots': [self.tree], 'commandRules': [{'match': 'word', 'pattern': 'rm', 'action': 'deny'}]}).encode())
        server = self.ready('--policy', policy)
        self.assertIn('result', server.request('logging/setLevel', {'level': 'info'}))
        said = text_of(server.tool('shell', {'command': 'rm -r \u202ex'}))
        self.assertIn('rule-denied', said)
        self.assertIn('rule: commandRules/0', said)
        told = [m['params'] for m in server.aside if m.get('method') == 'notifications/message'
                and m['params']['logger'] == 'prism/permission']
        self.assertEqual([one['level'] for one in told], ['notice'])
        self.assertIn('rule-denied', told[0]['data'])
        self.assertFalse(server.tool('write', {'path': 'a', 'content': 'x'})['result']['isError'])
        text = server.request('resources/read', {'uri': 'prism://audit'})['result']['contents'][0]['text']
        lines = [json.loads(line) for line in text.splitlines()]
        denied = next(line for line in lines if line['kind'] == 'permission_denied')
        self.assertEqual((denied['tool'], denied['reason_id'], denied['call']), ('shell', 'rule-denied', '3'))
        self.assertIn('commandRules/0', denied['rule'])
        changed = next(line for line in lines if line['kind'] == 'file_changed')
        self.assertEqual((changed['path'], changed['operation'], changed['call']), ('/workspace/a', 'write', '4'))
        self.assertNotIn('\u202e'.encode(), server.raw)

    def test_many_calls(self):
        """hundreds of calls at once are each answered once"""
        server = self.ready()
        numbers = [server.ask_tool('shell', {'command': f'echo {i}'}) for i in range(200)]
        answers = {}
        while len(answers) < len(numbers):
            message = server.next()
            self.assertNotIn(message['id'], answers)
            answers[message['id']] = message
        for i, number in enumerate(numbers):
            self.assertEqual(text_of(answers[number]).split('\n')[0], str(i))

    def test_flood_unread(self):
        """a client that asks and asks and never reads is kept waiting, and costs no memory"""
        server = self.ready()
        os.kill(server.process.pid, 0)
        reader, writer = os.pipe()
        os.close(writer)
        os.close(reader)
        for _ in range(20000):
            server.send_bytes(PING)
        for _ in range(20000):
            server.answer_to('ping')
        self.assert_lives(server)


class Suspended(Case):
    def test_unasked(self):
        """who cannot be asked: the answer says who could change that, and how"""
        server = self.ready()
        said = text_of(server.tool('write', {'path': 'a', 'content': 'x'}))
        for words in ('approval-required', '--suspend', '--approve always'):
            self.assertIn(words, said)

    def test_suspended(self):
        """what needs approval waits in a folder for somebody else, and is allowed once"""
        kept = os.path.join(self.folder, 'kept')
        server = self.ready('--suspend', kept)
        answer = server.tool('write', {'path': 'a', 'content': 'x'})
        self.assertEqual((answer['result']['isError'], answer['result']['_meta']['prism/outcome']), (True, 'suspended'))
        found = answer['result']['structuredContent']['suspension']['id']
        self.assertEqual(os.listdir(self.tree), [])
        told = [m['params']['data'] for m in server.aside if m.get('method') == 'notifications/message']
        self.assertTrue(any(f'prism approval show {kept} {found}' in text for text in told), told)
        self.assertEqual(server.finish(), 0)
        subprocess.run([client.PRISM, 'approval', 'allow', kept, found], check=True, timeout=client.DEADLINE)
        server = self.ready('--suspend', kept)
        self.assertFalse(server.tool('write', {'path': 'a', 'content': 'x'})['result']['isError'])
        self.assertEqual(os.listdir(self.tree), ['a'])
        answer = server.tool('write', {'path': 'a', 'content': 'x'})
        self.assertEqual(answer['result']['_meta']['prism/outcome'], 'suspended')


class Output(Case):
    OPTIONS = ('--approve', 'always')

    def test_nothing_but_protocol(self):
        """with all of GLib's messages on, what is on the standard output is protocol"""
        server = self.ready(env={'G_MESSAGES_DEBUG': 'all', 'G_ENABLE_DIAGNOSTIC': '1'})
        self.assertIn('hi', text_of(server.tool('shell', {'command': 'echo hi; echo to-err >&2'})))
        self.assertEqual(server.finish(), 0)
        self.assertIsNone(server.next())

    def test_noisy_plugin(self):
        """a plug-in that prints by every way there is, while it serves, prints nowhere into the protocol"""
        server = self.start('-b', 'noisy', env={'PRISM_PLUGIN_PATH': os.environ['PRISM_NOISY_PLUGIN'] + ':'
                                                + os.environ['PRISM_PLUGIN_PATH'], 'G_MESSAGES_DEBUG': 'all'})
        self.assertIn('result', server.initialize())
        for i in range(20):
            self.assertIn(f'hi {i}', text_of(server.tool('shell', {'command': f'echo hi {i}'})))
        self.assertEqual(server.finish(), 0)
        self.assertIsNone(server.next())
        server.readers[1].join()
        self.assertNotIn(b'noise: ', server.raw)
        for way in (b'printf, constructor', b'puts', b'g_print, created', b'write', b'printf, thread'):
            self.assertIn(b'noise: ' + way, server.errors)

    def test_not_inherited(self):
        """commands have neither end of the protocol"""
        server = self.ready()
        answer = server.tool('shell', {'command': 'readlink /proc/self/fd/0; head -c 1 | wc -c; ls /proc/$$/fd | wc -w'})
        self.assertIn('\n0', text_of(answer))
        self.assertEqual(server.finish(), 0)

    def test_bad_options(self):
        """what cannot be is said at once, on the standard error, with status 125"""
        rootless = self.write('policy.json', b'{"commandRules": []}')
        for options, words in ((['--json'], b'--json'), (['-t'], b'--tty'), (['--timeout', '3s'], b'--timeout'),
                               (['--', 'ls'], b'left over'), (['-b', 'nope'], b'nope'), (['--limit', 'x=1'], b'--limit'),
                               (['--policy', '/nonexistent'], b'/nonexistent'),
                               (['--approve', 'maybe'], b'--approve'), (['--policy', rootless], b'roots')):
            with self.subTest(options=options):
                server = self.start(*options)
                self.assertEqual(server.finish(), 125)
                self.assertIsNone(server.next())
                server.readers[1].join()
                self.assertIn(words, server.errors)

    def test_no_sandbox(self):
        """where there can be no sandbox, initialize says why"""
        server = self.start(env={'PRISM_AGENT': '/nonexistent'})
        message = server.request('initialize', {'protocolVersion': client.LATEST, 'capabilities': {},
                                                'clientInfo': {'name': 'test', 'version': '1'}})
        self.assertEqual(message['error']['code'], -32603)
        self.assertIn('/nonexistent', message['error']['message'])
        self.assertEqual(server.process.wait(timeout=client.DEADLINE), 125)

    def test_slow_reader(self):
        """what a client does not read waits, whole"""
        server = self.start()
        os.kill(server.process.pid, signal.SIGSTOP)
        os.kill(server.process.pid, signal.SIGCONT)
        server.initialize()
        answer = server.tool('shell', {'command': 'seq 1 300000'})
        self.assertIn('300000', text_of(answer))


if __name__ == '__main__':
    import taptest
    taptest.main()
