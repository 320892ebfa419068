# SPDX-License-Identifier: LGPL-2.1-or-later
"""The way out from Python: policies, and a resolver and a proxy that are written there."""
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

import harness

HTTP, HTTPS = Prism.EgressScheme.HTTP, Prism.EgressScheme.HTTPS


def fails(code, call, *args):
    try:
        call(*args)
    except GLib.Error as error:
        assert error.matches(Prism.egress_error_quark(), code), error
        return error.message
    raise AssertionError('no error')


def until(done):
    context = GLib.MainContext.default()
    late = []
    timeout = GLib.timeout_add_seconds(30, late.append, True)
    while not done():
        assert not late, 'too late'
        context.iteration(True)
    GLib.source_remove(timeout)


class Resolver(GObject.Object, Prism.EgressResolver):
    def __init__(self):
        super().__init__()
        self.asked = 0
        self.threads = set()

    def do_resolve(self, operation):
        self.asked += 1
        self.threads.add(threading.get_ident())
        operation.complete(['https://good.test'])


class Proxy(GObject.Object, Prism.EgressProxy):
    listener = GObject.Property(type=Prism.EgressListener)

    def do_get_name(self):
        return 'python-proxy'

    def do_start(self, operation):
        operation.complete()

    def do_stop(self, operation):
        operation.complete()

    def do_add_listener(self, operation):
        operation.get_listener().opened('http://127.0.0.1:3128')
        operation.complete()

    def do_remove_listener(self, operation):
        operation.get_listener().closed()
        operation.complete()

    def do_set_policy(self, operation):
        operation.get_listener().apply_policy(operation.get_policy())
        operation.complete()


def policies():
    policy = Prism.EgressPolicy.new_static(['api.example.com', 'https://.example.org:8443'])
    assert policy.props.kind == Prism.EgressPolicyKind.STATIC
    assert len(policy.props.fingerprint) == 64
    assert policy.match('API.example.com.', 443, HTTPS).get_line() == 'https|api.example.com|443|0'
    assert policy.match('api.example.com', 443, HTTP) is None
    assert 'wildcards' in fails(Prism.EgressError.POLICY, Prism.EgressPolicy.new_static, ['*'])


def rules_outlive_their_policy():
    policy = Prism.EgressPolicy.new_static(['good.test'])
    rules = policy.get_rules()
    rule = policy.match('good.test', 80, HTTP)
    del policy
    assert [r.get_line() for r in rules] == ['http|good.test|80|0', 'https|good.test|443|0']
    assert rule.get_host() == 'good.test'


def presets_and_rules():
    rule = Prism.EgressRule.new('[::1]', 8080, HTTP, Prism.EgressRuleFlags.ALLOW_PRIVATE)
    assert rule.allows_address(Gio.InetAddress.new_from_string('::1'))
    policy = Prism.EgressPolicy.new_for_rules([rule] + Prism.EgressRule.parse('good.test', 0), ['github'])
    assert policy.props.presets == ['github'] and len(policy.get_rules()) == 9
    assert 'github' in Prism.EgressPolicy.list_presets()
    assert all(r.get_origin().startswith('preset pip: ') for r in Prism.EgressPolicy.load_preset('pip'))


def hosts_and_addresses():
    assert Prism.egress_split_authority('[::1]:80')[1:] == ('::1', 80)
    assert Prism.egress_normalize_host('GOOD.Test.') == 'good.test'
    assert Prism.AddressClass.from_string('169.254.169.254') == Prism.AddressClass.METADATA
    assert Prism.AddressClass.get_word(Prism.AddressClass.from_bytes([127, 0, 0, 1])) == 'loopback'


def a_resolver_in_python():
    resolver = Resolver()
    policy = Prism.EgressPolicy.new_resolver(resolver)
    assert policy.resolve(None).match('good.test', 443, HTTPS) is not None
    assert policy.props.fingerprint is None and policy.props.resolver is resolver
    answers = []
    for _ in range(3):
        policy.resolve_async(None, lambda p, result: answers.append(p.resolve_finish(result)))
    until(lambda: len(answers) == 3)
    assert resolver.threads == {threading.get_ident()}


def a_resolver_that_fails():
    class Failing(GObject.Object, Prism.EgressResolver):
        def do_resolve(self, operation):
            operation.fail_literal(Gio.io_error_quark(), Gio.IOErrorEnum.FAILED, 'the database is away')

    policy = Prism.EgressPolicy.new_resolver(Failing())
    assert 'the database is away' in fails(Prism.EgressError.DENIED, policy.resolve, None)


def a_proxy_in_python():
    proxy, heard = Proxy(), []
    proxy.connect('audit', lambda _, record: heard.append(record.get_host()))
    assert proxy.start(None)
    policy = Prism.EgressPolicy.new_deny_all()
    listener = Prism.EgressListener(address=Gio.InetSocketAddress.new_from_string('127.0.0.1', 0), policy=policy)
    assert proxy.add_listener(listener, None)
    assert listener.props.endpoint == 'http://127.0.0.1:3128'
    assert proxy.set_policy(listener, Prism.EgressPolicy.new_static(['good.test']), None)
    assert listener.props.policy_version == 1
    attestation = proxy.attest(listener)
    assert Prism.Attestation.new_from_json(attestation.to_json(), -1).to_json() == attestation.to_json()
    assert proxy.audit(Prism.AuditRecord.new(Prism.AuditDecision.DENY, 'evil.test', 80, HTTP))
    until(lambda: heard == ['evil.test'])
    assert proxy.remove_listener(listener, None) and listener.props.endpoint is None
    assert proxy.stop(None)


def a_proxy_by_its_name():
    registry = Prism.Registry.new([])
    registry.add_type('python', Proxy, 7)
    assert registry.get_egress_proxy_type('python') == registry.get_egress_proxy_type(None) == Proxy.__gtype__
    assert registry.list_egress_proxies() == ['python'] and registry.list_backends() == []
    proxy = registry.create_egress_proxy(None)
    assert isinstance(proxy, Proxy) and proxy.get_name() == 'python-proxy' and proxy.start(None)
    try:
        registry.get_egress_proxy_type('absent')
        raise AssertionError('no error')
    except GLib.Error as error:
        assert error.matches(Prism.plugin_error_quark(), Prism.PluginError.NOT_FOUND) and 'python' in error.message


def half_a_proxy_is_refused():
    class Half(GObject.Object, Prism.EgressProxy):
        listener = GObject.Property(type=Prism.EgressListener)

        def do_get_name(self):
            return 'half'

    try:
        Prism.Registry.new([]).add_type('half', Half, 0)
        raise AssertionError('no error')
    except GLib.Error as error:
        assert error.matches(Prism.plugin_error_quark(), Prism.PluginError.TYPE) and 'start()' in error.message


def a_credential_stays_outside():
    credential = Prism.Credential.new('api.example.com', 'Authorization', 'Bearer s3cr3t')
    assert not hasattr(credential, 'reveal')
    assert sorted(p.name for p in credential.list_properties()) == ['header', 'host']
    message = fails(Prism.EgressError.POLICY, Prism.Credential.new, 'api.example.com', 'Authorization', 's3cr3t\n')
    assert 'newline' in message and 's3cr3t' not in message


harness.run([policies, rules_outlive_their_policy, presets_and_rules, hosts_and_addresses, a_resolver_in_python,
             a_resolver_that_fails, a_proxy_in_python, a_proxy_by_its_name, half_a_proxy_is_refused,
             a_credential_stays_outside])
