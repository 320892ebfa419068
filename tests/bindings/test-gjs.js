// SPDX-License-Identifier: LGPL-2.1-or-later
// libprism from JavaScript: a backend that is written here, and promises.
imports.gi.versions.Prism = '1';
const {Gio, GLib, GObject, Prism} = imports.gi;
const System = imports.system;
imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const harness = imports.harness;
const {assert} = harness;

const Sandbox = GObject.registerClass({
    Implements: [Prism.Sandbox],
}, class TestSandbox extends harness.Sandbox {
    static backend = 'js';

    vfunc_exec(operation) {
        if (operation.get_command().get_argv()[0] === 'dropped')
            return;
        const command = operation.get_command();
        const process = Gio.Subprocess.new(command.get_argv(), Gio.SubprocessFlags.STDOUT_PIPE);
        process.communicate_async(null, operation.get_cancellable(), (_, result) => {
            const [, out] = process.communicate_finish(result);
            operation.output(Prism.Stream.STDOUT, out);
            operation.complete(new Prism.Result({
                outcome: Prism.Outcome.EXITED,
                exitCode: process.get_exit_status(),
                stdoutBytes: out,
            }));
        });
    }

    vfunc_read_file(operation) {
        if (operation.get_path().endsWith('dropped'))
            return;
        operation.complete_bytes(new GLib.Bytes(operation.get_path()));
    }

    vfunc_stat_file(operation) {
        operation.fail_literal(Prism.sandbox_error_quark(), Prism.SandboxError.NOT_FOUND, 'nothing here');
    }

    vfunc_close(operation) {
        operation.complete();
    }
});

const Backend = GObject.registerClass({
    Implements: [Prism.Backend],
}, class TestBackend extends GObject.Object {
    vfunc_get_name() {
        return 'js';
    }

    vfunc_probe(operation) {
        operation.complete(Prism.HealthReport.new('js'));
    }

    vfunc_create_sandbox(operation) {
        operation.complete(new Sandbox());
    }
});

const registry = Prism.Registry.get_default();
registry.add_type('js', Backend.$gtype, 0);

function make(name) {
    const spec = new Prism.SandboxSpec({workspace: Gio.File.new_for_path(GLib.dir_make_tmp(null))});
    return registry.create_backend(name).create_sandbox_async(spec, null);
}

const tests = {
    async a_backend_in_javascript() {
        const sandbox = await make('js');
        const command = Prism.Command.new(['sh', '-c', 'echo hello; exit 3']);
        const heard = [];
        command.connect('output', (_, stream, bytes) => heard.push(bytes.get_size()));
        const result = await sandbox.exec_async(command, null);
        assert(result.exit_code === 3, 'exit code');
        assert(result.dup_stdout_text() === 'hello\n', 'stdout');
        assert(heard.length === 1 && heard[0] === 6, 'output signal');
        const bytes = await sandbox.read_file_async('x', 0, -1, null);
        assert(bytes.get_size() === '/workspace/x'.length, 'read_file');
        await sandbox.close_async(null);
    },

    async synchronous_calls() {
        const sandbox = await make('js');
        const result = sandbox.exec(Prism.Command.new(['sh', '-c', 'exit 4']), null);
        assert(result.exit_code === 4, 'exit code');
        assert(sandbox.capabilities.get_workspace_coherent(), 'capabilities');
        assert(!sandbox.capabilities.get_network_isolated(), 'capabilities');
    },

    async errors() {
        const sandbox = await make('js');
        for (const [call, code, message] of [
            [() => sandbox.stat_file_async('x', null), Prism.SandboxError.NOT_FOUND, 'js: nothing here'],
            [() => sandbox.pause_async(null), Prism.SandboxError.NOT_SUPPORTED, 'js: this backend does not have pause'],
        ]) {
            let caught = null;
            try {
                await call();
            } catch (error) {
                caught = error;
            }
            assert(caught !== null && caught.matches(Prism.SandboxError, code), `${code}: ${caught}`);
            assert(caught.message === message, caught.message);
        }
    },

    // Without a timeout there is no deadline that would end it: that nobody holds it any more does.
    async a_dropped_operation_fails() {
        const sandbox = await make('js');
        for (const call of [
            () => sandbox.exec_async(Prism.Command.new(['dropped']), null),
            () => sandbox.exec(Prism.Command.new(['dropped']), null),
            () => sandbox.read_file_async('dropped', 0, -1, null),
        ]) {
            let caught = null;
            try {
                await call();
            } catch (error) {
                caught = error;
            }
            assert(caught !== null && caught.matches(Prism.SandboxError, Prism.SandboxError.FAILED), `${caught}`);
        }
    },

    async many_at_once() {
        const sandbox = await make('js');
        const codes = [...Array(20).keys()];
        const results = await Promise.all(
            codes.map(code => sandbox.exec_async(Prism.Command.new_shell(`exit ${code}`), null)));
        assert(results.every((result, i) => result.exit_code === codes[i]), 'codes');
    },

    async native() {
        const sandbox = await make('native');
        const result = await sandbox.exec_async(Prism.Command.new(['sh', '-c', 'id -u; exit 7']), null);
        assert(result.exit_code === 7, 'exit code');
        assert(result.dup_stdout_text() === '10001\n', 'uid');
        assert(sandbox.capabilities.get_network_isolated(), 'network');
        await sandbox.close_async(null);
        assert(sandbox.status === Prism.SandboxStatus.REMOVED, 'status');
    },
};

harness.run(tests, 50);
