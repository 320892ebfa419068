// SPDX-License-Identifier: LGPL-2.1-or-later
// Asynchronous calls, cancelling, errors and many calls, from JavaScript: as calls.c.
imports.gi.versions.Prism = '1';
const {Gio, GLib, Prism} = imports.gi;
const ByteArray = imports.byteArray;
const System = imports.system;
imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const harness = imports.harness;
const {assert} = harness;

const registry = Prism.Registry.get_default();
const sandbox = registry.create_backend('native').create_sandbox(new Prism.SandboxSpec(), null);

function fails(domain, code, call) {
    try {
        call();
    } catch (error) {
        assert(error.matches(domain, code), `${code}: ${error}`);
        return;
    }
    throw new Error('no error');
}

function memoryOf() {
    System.gc();
    const [, bytes] = GLib.file_get_contents('/proc/self/status');
    return parseInt(/VmRSS:\s*(\d+)/.exec(ByteArray.toString(bytes))[1]);
}

function call(times) {
    for (let i = 0; i < times; i++) {
        assert(sandbox.exec(Prism.Command.new(['true']), null).exit_code === 0, 'exit code');
        assert(sandbox.stat_file('.', null) && sandbox.dup_capabilities(), 'values');
        if (i % 100 === 0)
            System.gc();
    }
}

const tests = {
    async asynchronous() {
        const codes = [...Array(10).keys()];
        const results = await Promise.all(
            codes.map(code => sandbox.exec_async(Prism.Command.new_shell(`exit ${code}`), null)));
        assert(results.every((result, i) => result.exit_code === codes[i]), 'codes');
    },

    async cancel() {
        const cancellable = new Gio.Cancellable();
        const command = Prism.Command.new_shell('echo on; sleep 1000');
        command.connect('output', () => cancellable.cancel());
        const result = await sandbox.exec_async(command, cancellable);
        assert(result.cancelled && result.outcome === Prism.Outcome.CANCELLED, 'outcome');
    },

    async errors() {
        const cancellable = new Gio.Cancellable();
        const limits = Prism.Limits.new(Prism.LimitsProfile.STRICT);
        fails(Prism.SandboxError, Prism.SandboxError.NOT_FOUND, () => sandbox.stat_file('missing', null));
        fails(Prism.PluginError, Prism.PluginError.NOT_FOUND, () => registry.create_backend('none'));
        fails(Prism.LimitError, Prism.LimitError.RANGE, () => limits.set('max-pids', 100000));
        cancellable.cancel();
        fails(Prism.SandboxError, Prism.SandboxError.CANCELLED,
            () => sandbox.exec(Prism.Command.new_shell('true'), cancellable));
    },

    async memory() {
        const times = parseInt(GLib.getenv('PRISM_TEST_CALLS') ?? '1000');
        call(Math.floor(times / 4) + 100);
        const before = memoryOf();
        call(times);
        const more = memoryOf() - before;
        print(`# ${times} calls: ${more} KiB more`);
        assert(more < 1024 + times / 8, `${more} KiB`);
    },

    async close() {
        assert(await sandbox.close_async(null), 'close');
    },
};

harness.run(tests, 280);
