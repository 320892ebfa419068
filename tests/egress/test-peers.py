# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ordinary programs through the proxy: each is told of it as it is told inside a
sandbox, by environment variables, and talks to an origin on the loopback."""
import hashlib
import json
import os
import subprocess
import tempfile
import threading
import unittest

import harness
from harness import ANY, HTTP, HTTPS, PRIVATE, UPGRADE, Authority, Origin, Proxy, http, port_of, rule
from gi.repository import Prism

import taptest

BODY = bytes(range(256)) * 400


def setUpModule():
    global authority, good
    authority = Authority()
    good = authority.server('good.test')


def tearDownModule():
    authority.folder.cleanup()


class Peers(unittest.TestCase):
    def setUp(self):
        self.proxy = Proxy(trust_file=authority.path('ca.pem'))
        self.addCleanup(self.proxy.stop)
        self.plain = Origin(http(self.reply))
        self.addCleanup(self.plain.close)
        self.tls = Origin(http(self.reply), context=good)
        self.addCleanup(self.tls.close)
        self.listener = self.proxy.listen(('good.test', self.plain.port, HTTP), ('good.test', self.tls.port, HTTPS))
        self.folder = tempfile.TemporaryDirectory(prefix='prism-peers-')
        self.addCleanup(self.folder.cleanup)

    @staticmethod
    def reply(head, body):
        return body or BODY

    def env(self, listener=None):
        where = (listener or self.listener).dup_endpoint()
        env = {'PATH': os.environ['PATH'], 'HOME': self.folder.name, 'LC_ALL': 'C.UTF-8', 'no_proxy': 'localhost', 'NO_PROXY': 'localhost'}
        env.update({name: where for name in ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']})
        env.update(SSL_CERT_FILE=authority.path('ca.pem'), CURL_CA_BUNDLE=authority.path('ca.pem'), GIT_SSL_CAINFO=authority.path('ca.pem'),
                   NODE_EXTRA_CA_CERTS=authority.path('ca.pem'), GIT_TERMINAL_PROMPT='0')
        return env

    def run_it(self, *argv, listener=None, **more):
        env = {**self.env(listener), **more.pop('env', {})}
        return subprocess.run(argv, env=env, cwd=self.folder.name, capture_output=True, timeout=60, check=False, **more)

    def urls(self):
        return [f'http://good.test:{self.plain.port}/a', f'https://good.test:{self.tls.port}/a']

    def test_curl(self):
        """curl: GET, POST, HEAD, upload without a length, a refusal in words"""
        for url in self.urls():
            self.assertEqual(self.run_it('curl', '-sSf', url).stdout, BODY)
            self.assertEqual(self.run_it('curl', '-sSf', '--data-binary', '@-', url, input=BODY).stdout, BODY)
            self.assertIn(b'200', self.run_it('curl', '-sSfI', url).stdout)
            self.assertEqual(self.run_it('curl', '-sSf', '-H', 'Expect:', '-T', '-', url, input=BODY * 20).stdout, BODY * 20)
            self.assertEqual(self.run_it('curl', '-sSf', url, url).stdout, BODY * 2)
        refused = self.run_it('curl', '-sS', 'http://evil.test/')
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED: no rule allows http://evil.test:80', refused.stdout)
        self.assertIn(b'403', self.run_it('curl', '-sS', 'https://evil.test/').stderr)

    def test_wget(self):
        """wget: both schemes"""
        for url in self.urls():
            done = self.run_it('wget', '-q', '-O', '-', '--ca-certificate', authority.path('ca.pem'), url)
            self.assertEqual((done.stdout, done.stderr), (BODY, b''))
        self.assertEqual(self.run_it('wget', '-q', '-O', '-', 'http://evil.test/').returncode, 8)

    def test_urllib(self):
        """Python's urllib: both schemes, and what it says of a refusal"""
        program = ('import sys, urllib.request as r, urllib.error as e\n'
                   'for u in sys.argv[1:]: sys.stdout.buffer.write(r.urlopen(u, timeout=20).read())\n'
                   'try: r.urlopen("http://evil.test/")\n'
                   'except e.HTTPError as f: sys.stdout.buffer.write(f.read())\n')
        done = self.run_it('/usr/bin/python3', '-c', program, *self.urls())
        self.assertEqual(done.stderr, b'')
        self.assertTrue(done.stdout.startswith(BODY * 2))
        self.assertIn(b'ERR_PRISM_EGRESS_DENIED', done.stdout)

    def test_node(self):
        """node: requests by http and https agents of its own, with its proxy support where it has that"""
        program = ('const http = require("http"), tls = require("tls"), fs = require("fs");'
                   'const [plain, secure] = process.argv.slice(1).map(u => new URL(u));'
                   'const proxy = new URL(process.env.http_proxy), at = {host: proxy.hostname, port: proxy.port};'
                   'const gather = (s, done) => { const all = []; s.on("data", d => all.push(d)); s.on("end", () => done(Buffer.concat(all))); };'
                   'http.get({...at, path: plain.href, headers: {host: plain.host}}, r => gather(r, b => {'
                   '  console.log(r.statusCode, b.length);'
                   '  const c = http.request({...at, method: "CONNECT", path: secure.host, headers: {host: secure.host}});'
                   '  c.on("connect", (r, s) => { const t = tls.connect({socket: s, servername: secure.hostname}, () =>'
                   '    t.write(`GET /a HTTP/1.1\\r\\nHost: ${secure.host}\\r\\nConnection: close\\r\\n\\r\\n`));'
                   '    t.on("error", e => console.log(e.message));'
                   '    gather(t, b => { console.log(r.statusCode, b.length); process.exit(0); }); }); c.end(); }));'
                   )
        done = self.run_it('node', '-e', program, *self.urls())
        self.assertEqual(done.stderr, b'')
        lines = done.stdout.split(b'\n')
        self.assertEqual(lines[0], b'200 %d' % len(BODY))
        self.assertRegex(lines[1], rb'200 \d{6}')

    def test_node_fetch(self):
        """node's fetch, where it has proxy support"""
        if int(self.run_it('node', '-p', 'process.versions.node').stdout.split(b'.')[0]) < 24:
            return
        program = ('(async () => { for (const u of process.argv.slice(1))'
                   ' console.log((await (await fetch(u)).arrayBuffer()).byteLength); })();')
        done = self.run_it('node', '-e', program, *self.urls(), env={'NODE_USE_ENV_PROXY': '1'})
        self.assertEqual(done.stdout.split(), [b'%d' % len(BODY)] * 2)

    def test_git(self):
        """git: clone and push over https, through the tunnel"""
        work, bare = os.path.join(self.folder.name, 'work'), os.path.join(self.folder.name, 'srv', 'repo.git')
        quiet = {'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@example.org',
                 'GIT_COMMITTER_NAME': 'a', 'GIT_COMMITTER_EMAIL': 'a@example.org'}
        for argv in [['init', '-q', '--bare', bare], ['-C', bare, 'config', 'http.receivepack', 'true'], ['init', '-q', '-b', 'main', work]]:
            self.assertEqual(self.run_it('git', *argv, env=quiet).returncode, 0)
        with open(os.path.join(work, 'big'), 'wb') as out:
            out.write(os.urandom(3 << 20))
        for argv in [['add', '.'], ['commit', '-q', '-m', 'one'], ['push', '-q', bare, 'main']]:
            done = self.run_it('git', '-C', work, *argv, env=quiet)
            self.assertEqual((argv, done.returncode, done.stderr), (argv, 0, b''))
        origin = Origin(self.git_backend, context=good)
        self.addCleanup(origin.close)
        listener = self.proxy.listen(('good.test', origin.port, HTTPS))
        url = f'https://good.test:{origin.port}/repo.git'
        done = self.run_it('git', 'clone', '-q', '-b', 'main', url, 'clone', listener=listener, env=quiet)
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        clone = os.path.join(self.folder.name, 'clone')
        with open(os.path.join(clone, 'big'), 'rb') as one, open(os.path.join(work, 'big'), 'rb') as two:
            self.assertEqual(hashlib.sha256(one.read()).digest(), hashlib.sha256(two.read()).digest())
        with open(os.path.join(clone, 'more'), 'wb') as out:
            out.write(os.urandom(2 << 20))
        for argv in [['add', '.'], ['commit', '-q', '-m', 'two'], ['push', '-q', 'origin', 'HEAD:second']]:
            done = self.run_it('git', '-C', clone, *argv, listener=listener, env=quiet)
            self.assertEqual((argv, done.returncode), (argv, 0), done.stderr)
        self.assertEqual(self.run_it('git', '-C', bare, 'rev-parse', 'second', env=quiet).stdout,
                         self.run_it('git', '-C', clone, 'rev-parse', 'HEAD', env=quiet).stdout)
        denied = self.run_it('git', 'clone', '-q', 'https://evil.test/repo.git', 'no', listener=listener, env=quiet)
        self.assertIn(b'403', denied.stderr)

    def git_backend(self, origin, peer):
        rest = b''
        while True:
            head, rest = harness.read_head(peer, rest)
            if not head.endswith(b'\r\n\r\n'):
                return
            if harness.header(head, 'expect'):
                peer.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
            body, rest = harness.body_of(head, peer, rest), b''
            method, target = head.split(b' ')[:2]
            path, _, query = target.decode().partition('?')
            env = {'PATH': os.environ['PATH'], 'GIT_PROJECT_ROOT': os.path.join(self.folder.name, 'srv'), 'GIT_HTTP_EXPORT_ALL': '1',
                   'PATH_INFO': path, 'QUERY_STRING': query, 'REQUEST_METHOD': method.decode(), 'REMOTE_ADDR': '127.0.0.1',
                   'CONTENT_TYPE': harness.header(head, 'content-type') or '', 'CONTENT_LENGTH': str(len(body)),
                   'HTTP_CONTENT_ENCODING': harness.header(head, 'content-encoding') or '', 'GIT_PROTOCOL': harness.header(head, 'git-protocol') or '',
                   'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*'}
            out = subprocess.run(['git', 'http-backend'], env=env, input=body, capture_output=True, check=True).stdout
            fields, _, content = out.partition(b'\r\n\r\n')
            status = harness.header(b'x\r\n' + fields, 'status') or '200 OK'
            kept = b''.join(line + b'\r\n' for line in fields.split(b'\r\n') if not line.lower().startswith(b'status:'))
            peer.sendall(f'HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n'.encode() + kept + b'\r\n' + content)

    def test_npm(self):
        """npm: installs from a registry of ours, with a token that only the proxy has"""
        token = 'npm-t0k3n-of-nobody'
        package = os.path.join(self.folder.name, 'package')
        os.mkdir(package)
        with open(os.path.join(package, 'package.json'), 'w', encoding='utf-8') as out:
            json.dump({'name': 'left', 'version': '1.2.3', 'main': 'index.js'}, out)
        with open(os.path.join(package, 'index.js'), 'w', encoding='utf-8') as out:
            out.write('module.exports = 42;\n')
        self.assertEqual(self.run_it('tar', '-czf', 'left.tgz', 'package').returncode, 0)
        with open(os.path.join(self.folder.name, 'left.tgz'), 'rb') as data:
            archive = data.read()

        def registry(head, body):
            if f'authorization: Bearer {token}'.encode().lower() not in head.lower():
                return ('401 Unauthorized', b'', b'{}')
            if b'.tgz' in head.split(b'\r\n')[0]:
                return ('200 OK', b'Content-Type: application/octet-stream\r\n', archive)
            about = {'name': 'left', 'dist-tags': {'latest': '1.2.3'}, 'versions': {'1.2.3': {
                'name': 'left', 'version': '1.2.3', 'dist': {
                    'tarball': f'http://good.test:{origin.port}/left/-/left-1.2.3.tgz',
                    'shasum': hashlib.sha1(archive).hexdigest()}}}}
            return ('200 OK', b'Content-Type: application/json\r\n', json.dumps(about).encode())

        origin = Origin(http(registry), context=good)
        self.addCleanup(origin.close)
        listener = self.proxy.listen(rule('good.test', origin.port), credentials=[('good.test', 'Authorization', f'Bearer {token}')])
        app = os.path.join(self.folder.name, 'app')
        os.mkdir(app)
        done = subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--no-update-notifier', '--fetch-retries=0',
                               f'--registry=http://good.test:{origin.port}/', 'left'], cwd=app, timeout=90, check=False,
                              env={**self.env(listener), 'npm_config_cache': os.path.join(self.folder.name, 'cache')},
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.run_it('node', '-p', 'require("./app/node_modules/left")').stdout, b'42\n')
        for root, _, files in os.walk(self.folder.name):
            for name in files:
                with open(os.path.join(root, name), 'rb') as data:
                    self.assertNotIn(token.encode(), data.read(), name)


if __name__ == '__main__':
    taptest.main()
