# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism run with a way out, prism proxy, policy and log: against origins on this machine's loopback."""
import contextlib
import http.server
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import unittest

import base
import taptest


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        if self.path == '/hold':
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            self.server.holding.set()
            self.connection.settimeout(base.DEADLINE)
            with contextlib.suppress(ConnectionResetError):
                if self.connection.recv(1) != b'':
                    return
            self.server.cut.set()
            self.close_connection = True
            return
        if self.path == '/away':
            self.send_response(302)
            self.send_header('Location', f'http://evil.test:{self.server.server_port}/stolen')
            self.end_headers()
            return
        body = b'hello from outside\n'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Egress(base.Case):
    def setUp(self):
        super().setUp()
        self.origin = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Origin)
        self.origin.seen = []
        self.origin.holding, self.origin.cut = threading.Event(), threading.Event()
        self.port = self.origin.server_port
        thread = threading.Thread(target=self.origin.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.origin.server_close)
        self.addCleanup(self.origin.shutdown)
        self.place = f'localhost:{self.port}'
        self.url = f'http://localhost:{self.port}/'

    def policy(self, name='policy.json', **members):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
            json.dump(members, file)
        return name

    def allowed(self):
        return {'kind': 'static', 'rules': [{'host': 'localhost', 'port': self.port, 'allowPrivate': True}]}

    # --- run ---

    def test_allow(self):
        """the host that is allowed is reached, any other is not, and each is said with the option for it"""
        done = self.run_prism('run', '--allow-private', self.place, '--audit', 'audit.jsonl', '--', 'sh', '-c',
                              f'curl -sS {self.url}; curl -sS http://evil.test/x')
        self.assertIn(b'hello from outside', done.stdout, done)
        self.assertIn(b'no rule allows http://evil.test:80; whoever started this can allow it with --allow', done.stdout)
        self.assertIn(b'prism: denied: http://evil.test (no-rule); --allow http://evil.test would allow it', done.stderr)
        records = [json.loads(line) for line in self.read('audit.jsonl').splitlines()]
        self.assertEqual([(r['decision'], r['host'], r['port']) for r in records],
                         [('allow', 'localhost', self.port), ('deny', 'evil.test', 80)])
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.folder, 'audit.jsonl')).st_mode), 0o600)

    def test_private(self):
        """--allow does not let a private address be reached, and says what does"""
        done = self.run_prism('run', '--allow', self.place, '--', 'curl', '-sS', self.url)
        self.assertIn(f'--allow-private http://{self.place} would allow it'.encode(), done.stderr, done)
        self.assertEqual(self.origin.seen, [])

    def test_json(self):
        """--json lists each place once, and what the sandbox is then"""
        done = self.run_prism('run', '--json', '--allow-private', self.place, '--', 'sh', '-c',
                              f'curl -sS {self.url}; curl -sS {self.url}; curl -sS https://evil.test/; true')
        got = json.loads(done.stdout)
        self.assertEqual(got['egress'], {'allowed': [f'http://{self.place}'], 'denied': ['https://evil.test']})
        self.assertEqual((got['capabilities']['network_isolated'], got['capabilities']['egress_restricted']), (False, True))

    def test_no_host(self):
        """what is no host is said as it was asked for: its port is no part of an address"""
        script = ('for place in 127.1:22 [::1]:22 0x7f.1 a:b:22; do exec 3<>/dev/tcp/127.0.0.1/3128; '
                  'printf "CONNECT $place HTTP/1.1\\r\\nHost: $place\\r\\n\\r\\n" >&3; cat <&3; done')
        done = self.run_prism('run', '--json', '--network', 'egress', '--', 'bash', '-c', script)
        self.assertEqual(json.loads(done.stdout)['egress']['denied'],
                         ['https://127.1:22', 'https://[::1]:22', 'https://0x7f.1', 'https://a:b:22'], done)

    def test_deny_all(self):
        """--network egress alone lets nothing be reached"""
        done = self.run_prism('run', '--network', 'egress', '--', 'sh', '-c', f'curl -sS --noproxy "" {self.url}')
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED', done.stdout, done)
        self.assertEqual(self.origin.seen, [])

    def test_policy_file(self):
        """a policy file's rules, limits and paths hold; options add to it"""
        self.write('secret.txt', b'hidden\n')
        name = self.policy(egress=self.allowed(), limits={'max-fds': 77}, filesystem={'hide': ['secret.txt']})
        done = self.run_prism('run', '--policy', name, '--allow', 'other.test', '--', 'sh', '-c',
                              f'curl -sS {self.url}; ulimit -n; ls; curl -sS http://third.test/')
        self.assertEqual(done.stdout.splitlines()[:3], [b'hello from outside', b'77', b'policy.json'], done)
        self.assertIn(b'third.test', done.stderr)
        self.assertNotIn(b'other.test', done.stderr)

    def test_refused(self):
        """what contradicts itself, is malformed or is not there yet is refused with its name"""
        wrong = self.policy('wrong.json', egress={'kind': 'static', 'rules': [{'host': '*.example.com'}]})
        cases = [
            (['--audit', 'a'], '--audit'), (['--credential', 'a.test=X:HOME'], '--credential'),
            (['--network', 'none', '--allow', 'a.test'], 'contradict'), (['--network', 'bridge'], 'none or egress'),
            (['--allow', '*.a.test'], 'wildcards'), (['--allow', '10.0.0.0/8'], '--allow'),
            (['--preset', 'nope'], 'npm-registry'), (['--policy', wrong], '/egress/rules/0/host'),
            (['--policy', 'absent.json'], 'absent.json'),
            (['--allow', 'a.test', '--credential', 'a.test=X:NO_SUCH_VARIABLE'], 'no variable'),
            (['--allow', 'a.test', '--credential', 'a.test=X'], 'HOST=HEADER:ENVNAME'),
            (['--allow', 'a.test', '--credential', 'b.test=X:HOME'], 'allow https://b.test'),
            (['--allow', 'http://a.test', '--credential', 'a.test=X:HOME'], 'allow https://a.test'),
            (['--allow', 'a.test', '--audit', 'no/such/folder'], 'no/such/folder'),
            (['--allow', 'a.test', '--proxy-set', 'nope=1'], '--proxy-set nope'),
            (['--allow', 'a.test', '--require', 'network'], 'network'),
            (['--allow', 'a.test', '--set', 'netns=command'], 'netns'),
            (['--limit', 'request-bytes=1'], 'request-bytes'), (['--approve', 'maybe'], '--approve'),
        ]
        for options, word in cases:
            with self.subTest(options=options):
                done = self.run_prism('run', *options, '--', 'true')
                self.assertEqual((done.returncode, word in done.stderr.decode()), (125, True), done)

    def test_secret_is_not_said(self):
        """a credential given in the wrong form is not repeated in the message"""
        for text in ('a.test=s3cret', 'a.test:s3cret', 's3cret'):
            done = self.run_prism('run', '--allow', 'a.test', '--credential', text, '--', 'true')
            self.assertEqual((done.returncode, b's3cret' in done.stderr), (125, False), done)

    def test_redirect(self):
        """a redirect to a host that is not allowed is not followed"""
        done = self.run_prism('run', '--allow-private', self.place, '--', 'curl', '-sS', '-L', self.url + 'away')
        self.assertNotIn(b'hello', done.stdout, done)
        self.assertEqual([path for path, _ in self.origin.seen], ['/away'])

    def test_killed(self):
        """prism killed with a connection open: it is cut, and nothing of the sandbox is left"""
        marker = self.marker()
        with subprocess.Popen([base.PRISM, 'run', '--allow-private', self.place, '--', 'sh', '-c',
                               f'curl -sN {self.url}hold & exec sleep {marker}'], cwd=self.folder,
                              stdin=subprocess.DEVNULL) as running:
            self.assertTrue(self.origin.holding.wait(base.DEADLINE))
            self.assertTrue(self.is_running(marker))
            running.kill()
        self.assertTrue(self.origin.cut.wait(base.DEADLINE))
        self.assert_gone(marker)

    def test_credential(self):
        """a credential is not in the environment, and a host that speaks no TLS gets nothing of it"""
        done = self.run_prism('run', '--allow-private', f'https://{self.place}', '--credential', 'localhost=X-Token:SECRET_OF_TEST',
                              '--', 'sh', '-c', f'env; curl -sS -m 5 {self.url}', env={'SECRET_OF_TEST': 's3cret'})
        self.assertNotIn(b's3cret', done.stdout + done.stderr)
        self.assertNotIn(b's3cret', repr(self.origin.seen).encode())  # the origin speaks no TLS: it gets nothing

    # --- policy, log ---

    def test_fingerprint(self):
        """prism policy fingerprint prints the published value; --json and -v the rules"""
        name = self.policy(egress={'kind': 'static', 'rules': [
            {'host': '127.0.0.1', 'port': 8080, 'scheme': 'http', 'allowPrivate': True}]})
        known = '24b941874185b4221527489b64de6c577f5d213fd6b5af87414cc33993e9c238'
        self.assertEqual(self.run_prism('policy', 'fingerprint', name).stdout.decode(), known + '\n')
        got = json.loads(self.run_prism('policy', 'fingerprint', '--json', name).stdout)
        self.assertEqual((got['fingerprint'], got['kind'], [r['rule'] for r in got['rules']]),
                         (known, 'static', ['http|127.0.0.1|8080|1']))
        self.assertIn(b'http|127.0.0.1|8080|1\t', self.run_prism('policy', 'fingerprint', '-v', name).stdout)
        for arguments in (['policy'], ['policy', 'fingerprint'], ['policy', 'nope', name],
                          ['policy', 'fingerprint', self.policy('empty.json')]):
            self.assertEqual(self.run_prism(*arguments).returncode, 125, arguments)

    def test_log(self):
        """prism log shows one line a decision, made visible, and goes on past what is no record"""
        record = {'id': '11873524-f08b-42f1-b335-88188f3b3457', 'ts': '2026-11-29T18:33:19.506Z', 'decision': 'deny',
                  'host': 'evil\x1b[2J.test', 'port': 443, 'protocol': 'https', 'reasonId': 'no-rule'}
        lines = [json.dumps(record), 'nonsense', json.dumps(dict(record, host='evil.test')),
                 json.dumps(dict(record, host='good.test', decision='allow', reasonId=None) | {'bytesSent': 1, 'bytesReceived': 2})]
        lines[3] = lines[3].replace(', "reasonId": null', '')
        self.write('audit', '\n'.join(lines).encode() + b'\n')
        done = self.run_prism('log', 'audit')
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (1, 3), done)
        self.assertIn(b'line 2', done.stderr)
        self.assertNotIn(b'\x1b', done.stdout)
        self.assertIn(b'deny https://evil.test', done.stdout)
        self.assertIn(b'(no-rule); --allow https://evil.test would allow it', done.stdout)
        self.assertIn(b'allow https://good.test, 1 bytes out, 2 back', done.stdout)
        done = self.run_prism('log', '--denied', 'audit')
        self.assertEqual(len(done.stdout.splitlines()), 2, done)
        self.assertEqual(self.run_prism('log', 'absent').returncode, 125)

    def test_follow(self):
        """prism log -f shows what is added, also after the file was moved away"""
        record = ('{"id":"11873524-f08b-42f1-b335-88188f3b3457","ts":"2026-11-29T18:33:19.506Z","decision":"allow",'
                  '"host":"%s","port":80,"protocol":"http"}\n')
        path = os.path.join(self.folder, 'audit')
        self.write('audit', (record % 'one.test').encode())
        with subprocess.Popen([base.PRISM, 'log', '-f', path], stdout=subprocess.PIPE) as following:
            try:
                self.assertIn(b'one.test', following.stdout.readline())
                with open(path, 'a', encoding='ascii') as file:
                    file.write(record % 'two.test')
                self.assertIn(b'two.test', following.stdout.readline())
                os.rename(path, path + '.1')
                self.write('audit', (record % 'three.test').encode())
                self.assertIn(b'three.test', following.stdout.readline())
            finally:
                following.terminate()

    # --- proxy ---

    def start(self, *arguments, **options):
        proxy = subprocess.Popen([base.PRISM, 'proxy', *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, **options)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        self.addCleanup(proxy.stdout.close)
        self.addCleanup(proxy.stderr.close)
        return proxy

    def ask(self, endpoint, url=None):
        return subprocess.run(['curl', '-sS', '--proxy', endpoint, '--noproxy', '', url or self.url], capture_output=True,
                              timeout=base.DEADLINE, check=False).stdout

    def test_proxy(self):
        """prism proxy: its endpoint, a policy reload on SIGHUP, its attestation, a clean exit"""
        name = self.policy(egress=self.allowed())
        proxy = self.start('--policy', name, '--listen', '127.0.0.1:0', '--audit', 'audit', '--attest', 'attest.json')
        endpoint = proxy.stdout.readline().decode().strip()
        self.assertRegex(endpoint, r'^http://127\.0\.0\.1:\d+$')
        self.assertIn(b'hello', self.ask(endpoint))
        first = json.loads(self.read('attest.json'))
        self.assertEqual((first['proxyEndpoint'], first['policyVersion']), (endpoint, 0))
        os.rename(os.path.join(self.folder, 'audit'), os.path.join(self.folder, 'audit.1'))
        self.policy(egress={'kind': 'deny-all'})
        proxy.send_signal(signal.SIGHUP)
        self.assertIn(b'version 1', proxy.stderr.readline())
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED', self.ask(endpoint))
        self.assertEqual(json.loads(self.read('attest.json'))['policyVersion'], 1)
        self.write(name, b'{"egress": {"kind": "nope"}}')
        proxy.send_signal(signal.SIGHUP)
        self.assertIn(b'not reloaded: policy.json: /egress/kind', proxy.stderr.readline())
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED', self.ask(endpoint)) # the one before holds
        proxy.send_signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(base.DEADLINE), 0)
        self.assertEqual((self.read('audit.1').count(b'\n'), self.read('audit').count(b'\n')), (1, 2))

    def test_proxy_activated(self):
        """a socket of a service manager's is taken over, and it is told that the proxy is ready"""
        name = self.policy(egress=self.allowed())
        listening = socket.create_server(('127.0.0.1', 0))
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        told.bind(os.path.join(self.folder, 'notify'))
        told.settimeout(base.DEADLINE)
        # The descriptor has to be 3 and the process id its own: a shell sees to both.
        script = f'exec 3<&{listening.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        proxy = subprocess.Popen(['bash', '-c', script, 'sh', base.PRISM, 'proxy', '--policy', name], cwd=self.folder,
                                 pass_fds=[listening.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=dict(os.environ, NOTIFY_SOCKET=os.path.join(self.folder, 'notify')))
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        self.addCleanup(proxy.stdout.close)
        self.addCleanup(proxy.stderr.close)
        self.assertEqual(told.recv(100), b'READY=1')
        self.assertIn(b'hello', self.ask(f'http://127.0.0.1:{listening.getsockname()[1]}'))
        proxy.terminate()
        self.assertEqual((told.recv(100), proxy.wait(base.DEADLINE)), (b'STOPPING=1', 0))
        told.close()
        listening.close()

    def test_proxy_refused(self):
        """prism proxy refuses what it cannot do, by name"""
        name = self.policy(egress=self.allowed())
        taken = socket.create_server(('127.0.0.1', 0))
        for arguments, word in ((['--listen', '127.0.0.1:0'], '--policy'), (['--policy', name, '--listen', '0.0.0.0:3128'], 'loopback'),
                                (['--policy', name, '--listen', 'localhost:1'], '--listen'), (['--policy', 'absent'], 'absent'),
                                (['--policy', self.policy('none.json')], 'egress'), (['--policy', name, 'more'], 'proxy'),
                                (['--policy', name, '--listen', f'127.0.0.1:{taken.getsockname()[1]}'], 'in use')):
            done = self.run_prism('proxy', *arguments)
            self.assertEqual((done.returncode, word in done.stderr.decode()), (125, True), done)
        taken.close()

    def test_completion(self):
        """what can be completed: commands, presets, files"""
        self.assertIn(b'proxy\n', self.run_prism('complete', 'pro').stdout)
        self.assertIn(b'npm-registry\n', self.run_prism('complete', 'run', '--preset', '').stdout)
        self.assertEqual(self.run_prism('complete', 'log', '').stdout, b':files\n')
        self.assertEqual(self.run_prism('complete', 'policy', 'f').stdout, b'fingerprint\n')
        self.assertIn(b'--deny-direct-egress\n', self.run_prism('complete', 'proxy', '--d').stdout)


if __name__ == '__main__':
    taptest.main()
