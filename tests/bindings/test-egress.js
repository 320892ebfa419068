// SPDX-License-Identifier: LGPL-2.1-or-later
// The way out from JavaScript: policies, and a resolver and a proxy that are written there.
imports.gi.versions.Prism = '1';
const {Gio, GLib, GObject, Prism} = imports.gi;
const System = imports.system;
imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const harness = imports.harness;
const {assert} = harness;

const {HTTP, HTTPS} = Prism.EgressScheme;

const Resolver = GObject.registerClass({
    Implements: [Prism.EgressResolver],
}, class TestResolver extends GObject.Object {
    vfunc_resolve(operation) {
        operation.complete(['https://good.test']);
    }
});

const Proxy = GObject.registerClass({
    Implements: [Prism.EgressProxy],
    Properties: {
        'listener': GObject.ParamSpec.object('listener', '', '', GObject.ParamFlags.READABLE, Prism.EgressListener.$gtype),
    },
}, class TestProxy extends GObject.Object {
    get listener() {
        return null;
    }

    vfunc_get_name() {
        return 'js-proxy';
    }

    vfunc_start(operation) {
        operation.complete();
    }

    vfunc_stop(operation) {
        operation.complete();
    }

    vfunc_add_listener(operation) {
        operation.get_listener().opened('http://127.0.0.1:3128');
        operation.complete();
    }

    vfunc_remove_listener(operation) {
        operation.get_listener().closed();
        operation.complete();
    }

    vfunc_set_policy(operation) {
        operation.get_listener().apply_policy(operation.get_policy());
        operation.complete();
    }
});

const Half = GObject.registerClass({
    Implements: [Prism.EgressProxy],
    Properties: {
        'listener': GObject.ParamSpec.object('listener', '', '', GObject.ParamFlags.READABLE, Prism.EgressListener.$gtype),
    },
}, class TestHalf extends GObject.Object {
    get listener() {
        return null;
    }

    vfunc_get_name() {
        return 'half';
    }

    vfunc_start(operation) {
        operation.complete();
    }
});

function errorOf(call) {
    try {
        call();
    } catch (error) {
        return error;
    }
    throw new Error('no error');
}

function until(done) {
    const context = GLib.MainContext.default();
    let late = false;
    const timeout = GLib.timeout_add_seconds(GLib.PRIORITY_DEFAULT, 30, () => {
        late = true;
        return GLib.SOURCE_CONTINUE;
    });
    while (!done() && !late)
        context.iteration(true);
    GLib.source_remove(timeout);
    assert(!late, 'too late');
}

const tests = {
    policies() {
        const rules = Prism.EgressRule.parse('good.test', Prism.EgressRuleFlags.NONE);
        const policy = Prism.EgressPolicy.new_for_rules(rules, ['github']);
        assert(policy.get_rules().length === 8, 'rules');
        assert(policy.match('GOOD.test.', 80, HTTP).get_line() === 'http|good.test|80|0', 'match');
        assert(policy.match('evil.test', 80, HTTP) === null, 'no match');
        const error = errorOf(() => Prism.EgressPolicy.new_static(['*']));
        assert(error.matches(Prism.EgressError, Prism.EgressError.POLICY), `${error}`);
    },

    a_resolver() {
        const policy = Prism.EgressPolicy.new_resolver(new Resolver());
        assert(policy.resolve(null).match('good.test', 443, HTTPS) !== null, 'sync');
        let answers = 0;
        for (let i = 0; i < 3; i++) {
            policy.resolve_async(null, (source, result) => {
                assert(source.resolve_finish(result).match('good.test', 443, HTTPS) !== null, 'async');
                answers++;
            });
        }
        until(() => answers === 3);
    },

    a_proxy() {
        const proxy = new Proxy();
        const policy = Prism.EgressPolicy.new_static(['good.test']);
        const listener = new Prism.EgressListener({
            address: Gio.InetSocketAddress.new_from_string('127.0.0.1', 0),
            policy: Prism.EgressPolicy.new_deny_all(),
        });
        const heard = [];
        proxy.connect('audit', (_, record) => heard.push(record.get_host()));
        assert(proxy.start(null), 'start');
        assert(proxy.add_listener(listener, null), 'add');
        assert(proxy.set_policy(listener, policy, null), 'policy');
        assert(listener.policy_version === 1, 'version');
        assert(proxy.attest(listener).policy_fingerprint === policy.fingerprint, 'fingerprint');
        proxy.audit(Prism.AuditRecord.new(Prism.AuditDecision.DENY, 'evil.test', 80, HTTP));
        until(() => heard.length === 1);
        assert(heard[0] === 'evil.test', 'audit');
        assert(proxy.remove_listener(listener, null), 'remove');
        assert(proxy.stop(null), 'stop');
    },

    a_proxy_by_its_name() {
        const registry = Prism.Registry.new([]);
        registry.add_type('js', Proxy.$gtype, 0);
        assert(registry.get_egress_proxy_type(null) === Proxy.$gtype, 'type');
        assert(registry.get_egress_proxy_type('js') === Proxy.$gtype, 'type by name');
        const proxy = registry.create_egress_proxy('js');
        assert(proxy.start(null) && proxy.stop(null), 'start and stop');
        const error = errorOf(() => registry.get_egress_proxy_type('absent'));
        assert(error.matches(Prism.PluginError, Prism.PluginError.NOT_FOUND), `${error}`);
    },

    half_a_proxy() {
        let error = errorOf(() => Prism.Registry.new([]).add_type('half', Half.$gtype, 0));
        assert(error.matches(Prism.PluginError, Prism.PluginError.TYPE), `${error}`);
        assert(error.message.includes('stop()'), error.message);
        error = errorOf(() => new Half().stop(null));
        assert(error.matches(Prism.EgressError, Prism.EgressError.NOT_SUPPORTED), `${error}`);
        assert(error.message.startsWith('half: '), error.message);
    },
};

harness.run(tests, 50);
