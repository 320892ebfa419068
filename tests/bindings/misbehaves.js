// SPDX-License-Identifier: LGPL-2.1-or-later
// A backend in JavaScript that does not keep its word: who calls it gets an answer, once, in
// time, synchronously and asynchronously.
imports.gi.versions.Prism = '1';
const {Gio, GLib, GObject, Prism} = imports.gi;
const System = imports.system;
imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const harness = imports.harness;
const {assert} = harness;

const kept = [];
const made = [];

function result() {
    return new Prism.Result({outcome: Prism.Outcome.EXITED, exitCode: 3});
}

const moods = {
    good(_sandbox, operation) {
        operation.complete(result());
    },
    twice(_sandbox, operation) {
        operation.complete(result());
        operation.complete(result());
        operation.fail_literal(Prism.sandbox_error_quark(), 0, 'and fails');
    },
    inside(sandbox, operation) {
        operation.complete(sandbox.exec(command('good'), null));
    },
    wrong(_sandbox, operation) {
        try {
            operation.complete('no result');
        } catch (error) {
            operation.fail_literal(Prism.sandbox_error_quark(), Prism.SandboxError.FAILED, `${error}`);
        }
    },
    nothing(_sandbox, operation) {
        try {
            operation.complete(null);
        } catch (error) {
            operation.fail_literal(Prism.sandbox_error_quark(), Prism.SandboxError.FAILED, `${error}`);
        }
    },
    never(_sandbox, operation) {
        kept.push(operation);
    },
    raises() {
        throw new Error('this is a bug of the script; it is meant');
    },
    drops() {
    },
};

const Sandbox = GObject.registerClass({
    Implements: [Prism.Sandbox],
}, class OddSandbox extends harness.Sandbox {
    static backend = 'odd';

    vfunc_exec(operation) {
        moods[operation.get_command().get_argv()[0]](this, operation);
    }

    vfunc_stat_file(operation) {
        kept.push(operation);
    }

    vfunc_close(operation) {
        this.closed = true;
        operation.complete();
    }
});

const Backend = GObject.registerClass({
    Implements: [Prism.Backend],
}, class OddBackend extends GObject.Object {
    vfunc_get_name() {
        return 'odd';
    }

    vfunc_probe() {
        throw new Error('this is a bug of the script; it is meant');
    }

    vfunc_create_sandbox(operation) {
        made.push(new Sandbox());
        operation.complete(made[made.length - 1]);
    }
});

const registry = Prism.Registry.get_default();
registry.add_type('odd', Backend.$gtype, 0);
const backend = registry.create_backend('odd');
const {FAILED, TIMEOUT, CANCELLED, REFUSED} = Prism.SandboxError;
const answered = {good: true, twice: true, inside: true, wrong: false, nothing: false};

function command(mood) {
    const line = Prism.Command.new([mood]);
    line.set_timeout_ms(1); // and the library's half a minute after it
    return line;
}

function codeOf(error) {
    assert(error instanceof GLib.Error && error.domain === Prism.sandbox_error_quark(), error);
    return error.code;
}

async function outcome(promise) {
    try {
        return await promise;
    } catch (error) {
        return codeOf(error);
    }
}

const tests = {
    async asynchronously() {
        const sandbox = backend.create_sandbox(new Prism.SandboxSpec(), null);
        for (const [mood, good] of Object.entries(answered)) {
            const got = await outcome(sandbox.exec_async(command(mood), null));
            assert(good ? got.exit_code === 3 : got === FAILED, `${mood}: ${got}`);
        }
    },

    async synchronously() {
        const sandbox = backend.create_sandbox(new Prism.SandboxSpec(), null);
        for (const [mood, good] of Object.entries(answered)) {
            let got;
            try {
                got = sandbox.exec(command(mood), null);
            } catch (error) {
                got = codeOf(error);
            }
            assert(good ? got.exit_code === 3 : got === FAILED, `${mood}: ${got}`);
        }
    },

    async lies() {
        const spec = new Prism.SandboxSpec({require: Prism.Controls.NETWORK});
        assert(await outcome(backend.create_sandbox_async(spec, null)) === REFUSED, 'refused');
        assert(made[made.length - 1].closed, 'closed');
    },

    // Cancelled and not, at the same time; and a synchronous one among them.
    async never() {
        const sandbox = backend.create_sandbox(new Prism.SandboxSpec(), null);
        const cancellable = new Gio.Cancellable();
        const waiting = ['never', 'raises', 'drops'].flatMap(mood => [
            outcome(sandbox.exec_async(command(mood), null)), outcome(sandbox.exec_async(command(mood), cancellable))]);
        waiting.push(outcome(sandbox.stat_file_async('x', null)), outcome(backend.probe_async(null)));
        cancellable.cancel();
        try {
            sandbox.exec(command('never'), null);
            assert(false, 'it was answered');
        } catch (error) {
            assert(codeOf(error) === TIMEOUT, error);
        }
        for (const got of await Promise.all(waiting))
            assert([TIMEOUT, CANCELLED, FAILED].includes(got), got);
        kept.filter(operation => operation instanceof Prism.ExecOperation).forEach(operation => operation.complete(result()));
    },
};

harness.run(tests, 100);
