# SPDX-License-Identifier: LGPL-2.1-or-later
"""The way out of a container: with network=egress one through the proxy and no other;
with a custom network what its maker attests, and not before that holds. Names are a
table, origins are on the loopback, and the container has no network at all."""
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading

import harness

import fake_dockerd as fake
import taptest
from gi.repository import Gio, GLib, GObject, Prism
from harness import IMAGE, PLACE, Answer, Base, backend, until

EGRESS = os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'egress')
EVERY = Prism.Controls.FILESYSTEM | Prism.Controls.PROCESS | Prism.Controls.EGRESS | Prism.Controls.WORKSPACE


def of_egress(name):
    """A module of tests/egress, where another is called harness."""
    spec = importlib.util.spec_from_file_location(name.replace('-', '_'), os.path.join(EGRESS, name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


wire = of_egress('harness')
sys.modules['harness'] = wire
native = of_egress('test-sandbox')
sys.modules['harness'] = harness


class Way(Base):
    def proxy(self, names=None, **properties):
        proxy = wire.Proxy(names, **properties)
        self.addCleanup(proxy.stop)
        return proxy

    def origin(self, serve=None):
        origin = wire.Origin(serve or wire.http(b'the good host'))
        self.addCleanup(origin.close)
        return origin

    def spec_for(self, proxy, policy, **properties):
        return self.spec(network=Prism.NetworkMode.EGRESS, egress_policy=policy, egress_proxy=proxy.proxy, **properties)

    def make_out(self, proxy, policy, **properties):
        sandbox = backend(self.daemon()).create_sandbox(self.spec_for(proxy, policy, **properties), None)
        self.addCleanup(self.close, sandbox)
        return sandbox

    def ask(self, sandbox, request):
        """What the proxy answers: status and body. (Debian's busybox wget cannot use a proxy: it crashes.)"""
        answer = self.out(sandbox, 'sh', '-c', f"printf '{request}Connection: close\\r\\n\\r\\n' | nc -w 20 127.0.0.1 3128")
        head, _, body = answer.partition('\r\n\r\n')
        return int(head.split()[1]), body

    def get(self, sandbox, host):
        return self.ask(sandbox, f'GET http://{host}/ HTTP/1.1\\r\\nHost: {host}\\r\\n')

    def reached(self, sandbox, host, says='the good host'):
        self.assertEqual(self.get(sandbox, host), (200, says))

    def refused(self, sandbox, host):
        self.assertEqual(self.get(sandbox, host)[0], 403)
        self.assertEqual(self.ask(sandbox, f'CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n')[0], 403)


class OneHost(Way):
    """One host and port, and nothing else."""

    def test_allowed_and_denied(self):
        """An allowed host answers; another, another port and an address are refused, and each is in the audit."""
        good, evil, proxy = self.origin(), self.origin(), self.proxy()
        audit = os.path.join(tempfile.mkdtemp(prefix='prism-audit-'), 'audit')
        self.addCleanup(lambda: (os.path.exists(audit) and os.unlink(audit), os.rmdir(os.path.dirname(audit))))
        sandbox = self.make_out(proxy, wire.policy(('good.test', good.port)), audit=Prism.AuditLog.new_for_path(audit), require=EVERY)
        self.reached(sandbox, f'good.test:{good.port}')
        for host in (f'evil.test:{evil.port}', f'good.test:{evil.port}', f'127.0.0.1:{evil.port}', f'127.0.0.1:{good.port}'):
            self.refused(sandbox, host)
        self.assertEqual((good.connections, evil.connections), (1, 0))
        self.assertEqual(set(proxy.names.asked), {'good.test'})
        denied = proxy.record(lambda r: r.get_host() == 'evil.test')
        self.assertEqual((denied.get_reason_id(), denied.get_port()), ('no-rule', evil.port))

        def written():
            with open(audit, encoding='utf-8') as file:
                return [line for line in map(json.loads, file) if 'evil.test' in json.dumps(line)]
        self.assertIn('no-rule', json.dumps(until('the audit has it', written)))

    def test_nothing_else(self):
        """No interface but lo, no route, no name server, nothing that listens but the way out."""
        good = self.origin()
        sandbox = self.make_out(self.proxy(), wire.policy(('good.test', good.port)))
        told = self.inspect(sandbox)
        self.assertEqual(told['HostConfig']['NetworkMode'], 'none')
        self.assertEqual(self.out(sandbox, 'ls', '/sys/class/net'), 'lo\n')
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'cat /proc/net/route | wc -l; grep -vc " lo$" /proc/net/ipv6_route || true').split(), ['1', '0'])
        self.assertNotEqual(self.run_in(sandbox, 'nslookup', 'good.test')[1], 0)
        self.assertNotEqual(self.run_in(sandbox, 'nslookup', 'good.test', '127.0.0.1')[1], 0)
        self.assertNotEqual(self.run_in(sandbox, 'ping', '-c', '1', '-W', '1', 'good.test')[1], 0)
        for address in ('127.0.0.1', '127.0.0.2', '192.0.2.1', '169.254.169.254', *native.own_addresses()):
            self.assertNotEqual(self.run_in(sandbox, 'nc', '-w', '2', address, str(good.port), stdin=b'x')[1], 0, address)
        self.assertNotEqual(self.run_in(sandbox, 'env', '-u', 'http_proxy', 'wget', '-T', '5', '-O', '-', f'http://good.test:{good.port}/')[1], 0)
        listening = [line.split()[1] for line in self.out(sandbox, 'cat', '/proc/net/tcp', '/proc/net/tcp6').split('\n')[1:] if ' 0A ' in line]
        self.assertEqual(listening, ['0100007F:0C38'])
        self.assertEqual(good.connections, 0)

    def test_claims(self):
        """What is claimed: egress, and not that there is no network."""
        good, proxy = self.origin(), self.proxy()
        policy = wire.policy(('good.test', good.port))
        limits = Prism.Limits.new(Prism.LimitsProfile.STANDARD)
        limits.set('wall-time-ms', 60000)
        has = self.make_out(proxy, policy, require=EVERY).dup_capabilities()
        self.assertEqual((has.get_egress_restricted(), has.get_network_isolated()), (True, False))
        self.fails('refused', lambda: self.make_out(proxy, policy, require=Prism.Controls.NETWORK), says='(?i)network')
        self.fails('refused', lambda: self.make_out(proxy, policy, lifetime=Prism.Lifetime.DETACHED, limits=limits), says='detached')
        self.fails(('refused', 'invalid'), lambda: self.make(network=Prism.NetworkMode.EGRESS), says='egress-policy')

    def test_two_of_one_proxy(self):
        """Each by its own policy; one that ends takes nothing of the other's along."""
        one, two, proxy = self.origin(), self.origin(wire.http(b'the other')), self.proxy({'other.test': ['127.0.0.1']})
        first = self.make_out(proxy, wire.policy(('good.test', one.port)))
        second = self.make_out(proxy, wire.policy(('other.test', two.port)))
        self.reached(first, f'good.test:{one.port}')
        self.refused(first, f'other.test:{two.port}')
        self.refused(second, f'good.test:{one.port}')
        first.close(None)
        self.reached(second, f'other.test:{two.port}', 'the other')

    def test_ends(self):
        """Closed, killed, or removed by others with a tunnel open: the proxy keeps nothing of it."""
        echo, proxy = self.origin(wire.echo), self.proxy()
        for end in (lambda s: s.close(None), lambda s: s.kill(None), lambda s: PLACE.call('DELETE', f'/containers/{self.container(s)}?force=1')):
            sandbox = self.make_out(proxy, wire.policy(('good.test', echo.port)))
            tunnel = Tunnel(self, sandbox, f'good.test:{echo.port}')
            end(sandbox)
            with contextlib.suppress(GLib.Error):
                tunnel.answer.get()
            sandbox.close(None)
            until('the tunnel is gone', lambda: proxy.proxy.dup_stats(None).get_active_connections() == 0)


class Tunnel:
    """A tunnel from inside that stays open until somebody cuts it."""

    def __init__(self, test, sandbox, place):
        self.told, self.changed = b'', threading.Condition()
        command = Prism.Command.new(['sh', '-c', f"(printf 'CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\nping'; sleep 1000) | nc 127.0.0.1 3128; echo cut"])
        command.connect('output', self.output)
        command.set_timeout_ms(60000)
        self.answer = Answer(lambda: sandbox.exec(command, None))
        with self.changed:
            test.assertTrue(self.changed.wait_for(lambda: b' 200 ' in self.told and b'ping' in self.told, 30), self.told)

    def output(self, command, stream, data):
        with self.changed:
            self.told += data.get_data()
            self.changed.notify_all()

    def is_cut(self, test):
        with self.changed:
            test.assertTrue(self.changed.wait_for(lambda: b'cut' in self.told, 30), self.told)


class Policies(Way):
    """Every kind, and changes of it."""

    def test_live(self):
        """Narrowed, it is cut and refused at once; widened, let through again."""
        echo, good, proxy = self.origin(wire.echo), self.origin(), self.proxy()
        policy = wire.policy(('good.test', echo.port), ('good.test', good.port))
        sandbox = self.make_out(proxy, policy)
        tunnel = Tunnel(self, sandbox, f'good.test:{echo.port}')
        self.reached(sandbox, f'good.test:{good.port}')
        sandbox.set_network_policy(Prism.EgressPolicy.new_deny_all(), None)
        until('the tunnel is cut', lambda: proxy.proxy.dup_stats(None).get_active_connections() == 0)
        self.refused(sandbox, f'good.test:{good.port}')
        sandbox.set_network_policy(policy, None)
        self.reached(sandbox, f'good.test:{good.port}')
        self.assertEqual({r.get_policy_version() for r in proxy.records if r.get_port() == good.port}, {0, 1, 2})
        del tunnel

    def test_deny_all(self):
        """deny-all: nothing, and that is claimed; it may be widened later."""
        good, proxy = self.origin(), self.proxy()
        sandbox = self.make_out(proxy, Prism.EgressPolicy.new_deny_all(), require=EVERY)
        self.refused(sandbox, f'good.test:{good.port}')
        self.assertEqual((good.connections, proxy.names.asked), (0, []))
        sandbox.set_network_policy(wire.policy(('good.test', good.port)), None)
        self.reached(sandbox, f'good.test:{good.port}')

    def test_allow_all(self):
        """allow-all: every name, but no address of this machine; nothing is claimed, and required it is refused."""
        good, proxy = self.origin(), self.proxy()
        sandbox = self.make_out(proxy, Prism.EgressPolicy.new_allow_all())
        self.assertFalse(sandbox.dup_capabilities().get_egress_restricted())
        self.refused(sandbox, f'good.test:{good.port}')
        self.assertEqual(proxy.record(lambda r: r.get_host() == 'good.test').get_reason_id(), 'address')
        self.assertEqual(self.out(sandbox, 'ls', '/sys/class/net'), 'lo\n')
        self.fails(('refused', 'invalid'), lambda: self.make_out(proxy, Prism.EgressPolicy.new_allow_all(), require=Prism.Controls.EGRESS), says='egress')

    def test_not_wider_than_required(self):
        """A sandbox that was required to have it restricted is not opened to everything."""
        sandbox = self.make_out(self.proxy(), Prism.EgressPolicy.new_deny_all(), require=Prism.Controls.EGRESS)
        with self.assertRaises(GLib.Error):
            sandbox.set_network_policy(Prism.EgressPolicy.new_allow_all(), None)

    def test_resolver(self):
        """resolver: by the rules of now, and where it fails nothing is reached."""
        good, proxy = self.origin(), self.proxy()
        rules = [[f'http://good.test:{good.port}'], None]

        class Rules(GObject.Object, Prism.EgressResolver):
            def do_resolve(self, operation):
                if rules[0] is None:
                    operation.fail_literal(Gio.io_error_quark(), Gio.IOErrorEnum.FAILED, 'the database is away')
                else:
                    operation.complete(rules[0])

        sandbox = self.make_out(proxy, Prism.EgressPolicy.new_resolver(Rules()), require=EVERY)
        self.aside(lambda: self.refused(sandbox, f'good.test:{good.port}'))
        self.aside(lambda: self.refused(sandbox, f'evil.test:{good.port}'))
        # By its rule it may be reached, by its address (ours) not: a line of text cannot allow that.
        self.assertEqual(proxy.record(lambda r: r.get_host() == 'good.test').get_reason_id(), 'address')
        self.assertEqual(proxy.record(lambda r: r.get_host() == 'evil.test').get_reason_id(), 'no-rule')
        rules[0] = None
        self.aside(lambda: self.refused(sandbox, f'good.test:{good.port}'))
        self.assertEqual(good.connections, 0)

    def aside(self, call):
        """In a thread, while this one serves the resolver."""
        context = GLib.MainContext.default()
        answer = Answer(lambda: (call(), context.wakeup()))
        late = []
        timer = GLib.timeout_add_seconds(60, lambda: late.append(True) or True)
        wake = GLib.timeout_add(50, lambda: True)
        while not answer.done.is_set() and not late:
            context.iteration(True)
        GLib.source_remove(timer)
        GLib.source_remove(wake)
        answer.get(1)

    def test_without(self):
        """Without a way out there is no policy to change."""
        sandbox = self.make()
        with self.assertRaises(GLib.Error) as raised:
            sandbox.set_network_policy(Prism.EgressPolicy.new_deny_all(), None)
        self.assertIn('network=egress', raised.exception.message)


class EveryWay(native.OneHost):
    """The sixty ways round one allowed host, in a container."""

    curl = False
    test_sharp = test_network_only = None

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.backend = backend(image=PLACE.image('work'))


class Custom(Base):
    """A network that somebody made at the engine."""

    def setUp(self):
        super().setUp()
        self.name = f'prism-test-{os.getpid()}-{os.path.basename(self.folder)}'
        self.network = PLACE.ask('POST', '/networks/create', {'Name': self.name, 'Driver': 'bridge', 'Internal': True})['Id']
        # Before what looks whether anything is left, and after what closes the sandboxes.
        self.addCleanup(PLACE.call, 'DELETE', f'/networks/{self.network}')
        self.key = subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519'], check=True, capture_output=True, text=True).stdout
        self.public = self.public_of(self.key)
        beside = tempfile.mkdtemp(prefix='prism-engine-')
        self.path = os.path.join(beside, 'engine.sock')
        self.engine = fake.FakeDockerd(self.path, PLACE.socket)
        self.addCleanup(lambda: (self.engine.stop(), os.rmdir(beside)))

    @staticmethod
    def public_of(key):
        return subprocess.run(['openssl', 'pkey', '-pubout'], input=key, check=True, capture_output=True, text=True).stdout

    @staticmethod
    def attest(policy=None, deny=True, endpoint='http://198.51.100.7:3128', version=3, started=None, key=None):
        policy = policy or Prism.EgressPolicy.new_static(['good.test'])
        made = Prism.Attestation.new(endpoint, deny, policy.get_fingerprint(), version, started or GLib.DateTime.new_now_utc())
        return made.sign(key) if key else made

    def custom(self, attestation=None, key=None, **properties):
        options = {'network': self.name}
        if attestation is not None:
            options['attestation'] = attestation if isinstance(attestation, str) else attestation.to_json()
        if key is not None:
            options['attestation_key'] = key
        made = backend(**options)
        made.set_property('socket', self.path)
        properties.setdefault('network', Prism.NetworkMode.CUSTOM)
        sandbox = made.create_sandbox(self.spec(**properties), None)
        self.addCleanup(self.close, sandbox)
        return sandbox

    def refused(self, says, *arguments, **options):
        """It is, with these words, and the engine was not asked to make anything."""
        self.fails('refused', lambda: self.custom(*arguments, **options), says=says)
        self.assertEqual(self.engine.count('POST', '/containers/create'), 0)

    def test_without(self):
        """Without an attestation nothing is claimed of it, and where that is required it is refused."""
        self.refused('attestation', require=Prism.Controls.EGRESS)
        self.refused('attestation', key=self.public)
        sandbox = self.custom()
        has = sandbox.dup_capabilities()
        self.assertEqual((has.get_egress_restricted(), has.get_network_isolated(), has.get_process_isolated()), (False, False, True))
        self.assertFalse([label for label in self.inspect(sandbox)['Config']['Labels'] if label.startswith('prism.egress.')])

    def judge_accepted(self, sandbox, attestation):
        has = sandbox.dup_capabilities()
        self.assertEqual((has.get_egress_restricted(), has.get_network_isolated()), (True, False))
        self.assertIn('claimed, not proved', has.get_evidence('egress'))
        told = self.inspect(sandbox)
        self.assertEqual(told['HostConfig']['NetworkMode'], self.name)
        self.assertEqual({name: value for name, value in told['Config']['Labels'].items() if name.startswith('prism.egress.')},
                         {'prism.egress.endpoint': 'http://198.51.100.7:3128', 'prism.egress.fingerprint': attestation.get_policy_fingerprint(),
                          'prism.egress.policyVersion': '3', 'prism.egress.denyDirect': '1'})
        self.assertIn('eth0', self.out(sandbox, 'ls', '/sys/class/net'))

    def test_valid(self):
        """With a valid one: claimed, and its labels say what by."""
        attestation = self.attest()
        self.judge_accepted(self.custom(attestation, require=Prism.Controls.EGRESS), attestation)

    def test_signed(self):
        """With one that is signed as it must be."""
        attestation = self.attest(key=self.key)
        self.judge_accepted(self.custom(attestation, self.public, require=Prism.Controls.EGRESS), attestation)

    def test_mismatched(self):
        """Signed by another, by nobody, or changed since: refused before anything is made."""
        other = subprocess.run(['openssl', 'genpkey', '-algorithm', 'ed25519'], check=True, capture_output=True, text=True).stdout
        self.refused('attestation', self.attest(key=other), self.public)
        self.refused('attestation', self.attest(), self.public)
        changed = json.loads(self.attest(key=self.key).to_json())
        for name, value in (('policyVersion', 4), ('proxyEndpoint', 'http://198.51.100.8:3128'), ('policyFingerprint', 'a' * 64)):
            self.refused('attestation', json.dumps({**changed, name: value}), self.public)
        self.refused('attestation', self.attest(key=self.key), 'no key')

    def test_invalid(self):
        """Malformed, not denying direct egress, of a time to come: refused before anything is made."""
        good = json.loads(self.attest().to_json())
        for name, value in (('denyDirectEgress', False), ('denyDirectEgress', 1), ('policyFingerprint', 'A' * 64), ('policyFingerprint', 'a' * 63), ('policyVersion', -1),
                            ('policyVersion', 1.5), ('startedAt', 'yesterday'), ('proxyEndpoint', 'ftp://x:1'), ('proxyEndpoint', 'http://x'), ('more', 1)):
            with self.subTest(name=name, value=value):
                self.refused('attestation', json.dumps({**good, name: value}))
        for name in good:
            self.refused('attestation', json.dumps({key: value for key, value in good.items() if key != name}))
        for text in ('', '{', '[]', 'null', '{}'):
            self.refused('attestation', text)
        self.refused('attestation.*started', self.attest(started=GLib.DateTime.new_now_utc().add_days(1)))

    def test_open(self):
        """An attested policy that lets everything through restricts nothing."""
        attestation = self.attest(Prism.EgressPolicy.new_allow_all())
        self.refused('everything', attestation, require=Prism.Controls.EGRESS)
        self.assertFalse(self.custom(attestation).dup_capabilities().get_egress_restricted())

    def test_elsewhere(self):
        """An attestation is for a custom network; a policy, a credential and its labels are not."""
        self.refused('attestation', self.attest(), network=Prism.NetworkMode.NONE)
        with self.assertRaises(GLib.Error):
            self.custom(self.attest(), egress_policy=Prism.EgressPolicy.new_deny_all())
        with self.assertRaises(GLib.Error):
            self.custom(self.attest(), labels=['prism.egress.denyDirect=0'])
        self.assertEqual(self.engine.count('POST', '/containers/create'), 0)


taptest.main()
