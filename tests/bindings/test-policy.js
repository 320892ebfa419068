// SPDX-License-Identifier: LGPL-2.1-or-later
// A policy that is written in JavaScript, and the stock one, whose questions are answered from there.
imports.gi.versions.Prism = '1';
const {Gio, GLib, GObject, Prism} = imports.gi;
const System = imports.system;
imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const harness = imports.harness;
const {assert} = harness;

const Policy = GObject.registerClass({
    Implements: [Prism.Policy],
}, class TestPolicy extends GObject.Object {
    vfunc_check(operation) {
        const command = operation.get_action().command;
        if (command === 'throw')
            throw new Error('no idea');
        if (command === 'later') {
            const source = GLib.idle_source_new();
            source.set_callback(() => {
                operation.complete(Prism.Decision.new_allow());
                return GLib.SOURCE_REMOVE;
            });
            source.attach(GLib.MainContext.ref_thread_default());
        } else if (command === 'true') {
            operation.complete(Prism.Decision.new_allow());
        } else {
            operation.complete(Prism.Decision.new_deny('script', 'not this one'));
        }
    }
});

function action(command, more = {}) {
    return new Prism.Action({kind: 'shell', operation: 'execute', command, run_id: 'run', ...more});
}

function check(policy, about, cancellable = null) {
    return new Promise((resolve, reject) => {
        policy.check_async(about, cancellable, (source, result) => {
            try {
                resolve(source.check_finish(result));
            } catch (error) {
                reject(error);
            }
        });
    });
}

const tests = {
    async a_policy_in_javascript() {
        const policy = new Policy();
        assert(policy.check(action('true'), null).allowed, 'true');
        const denied = policy.check(action('rm'), null);
        assert(!denied.allowed && denied.reason_id === 'script' && denied.reason === 'not this one', 'rm');
        assert(policy.check(action('later'), null).allowed, 'later');
        assert((await check(policy, action('later'))).allowed, 'later, asynchronously');
    },

    async a_question_answered_later() {
        const folder = GLib.dir_make_tmp('prism-js-XXXXXX');
        const policy = new Prism.ApprovalPolicy({roots: [folder], approval_timeout_ms: 0});
        let asked = 0;
        policy.connect('approval-requested', (_, request) => {
            asked++;
            assert(request.pending && request.dup_text().includes('command: make test'), request.dup_text());
            GLib.timeout_add(GLib.PRIORITY_DEFAULT, 20, () => {
                assert(request.respond(Prism.ApprovalAnswer.ALLOW_ALWAYS), 'respond');
                assert(!request.respond(Prism.ApprovalAnswer.DENY), 'a second answer');
                return GLib.SOURCE_REMOVE;
            });
        });
        const about = () => action('make test', {directory: folder});
        const [first, second] = await Promise.all([check(policy, about()), check(policy, about())]);
        assert(first.allowed && second.allowed && asked === 1, `asked ${asked} times`);
        const third = await check(policy, about());
        assert(third.allowed && third.cached && asked === 1, 'remembered');
        assert((await check(policy, action('sudo id'))).reason_id === 'default-deny', 'default deny');
        GLib.rmdir(folder);
    },

    async a_question_nobody_waits_for() {
        const policy = new Prism.ApprovalPolicy({roots: ['/'], approval_timeout_ms: 0});
        const cancellable = new Gio.Cancellable();
        let kept = null;
        policy.connect('approval-requested', (_, request) => {
            kept = request;
            cancellable.cancel();
        });
        let caught = null;
        try {
            await check(policy, action('make'), cancellable);
        } catch (error) {
            caught = error;
        }
        assert(caught?.matches(Prism.PolicyError, Prism.PolicyError.CANCELLED), `${caught}`);
        assert(!kept.pending && !kept.respond(Prism.ApprovalAnswer.ALLOW), 'too late');
    },

    rules() {
        const policy = new Prism.ApprovalPolicy({roots: ['/']});
        policy.add_rule(Prism.CommandRule.new_prefix(['git', 'status'], Prism.Verdict.ALLOW, null));
        assert(policy.evaluate(action('git status')).allowed, 'git status');
        assert(policy.evaluate(action('git status; ls')).verdict === Prism.Verdict.ASK, 'a list');
        assert(Prism.shell_list_commands('a | b').join() === 'a,b', 'commands');
    },
};

harness.run(tests, 30);
