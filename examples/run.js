// SPDX-License-Identifier: LGPL-2.1-or-later
// run.js FOLDER -- COMMAND [ARG...]
imports.gi.versions.Prism = '1';
const {Gio, Prism} = imports.gi;
const ByteArray = imports.byteArray;
const System = imports.system;

const output = new Gio.UnixOutputStream({fd: 1, close_fd: false});

function run(path, argv) {
    const spec = new Prism.SandboxSpec({
        workspace: Gio.File.new_for_path(path),
        workspace_mode: Prism.WorkspaceMode.READONLY,
    });
    const command = Prism.Command.new(argv);
    command.connect('output', (_command, _stream, bytes) => output.write_bytes(bytes, null));
    const backend = Prism.Registry.get_default().create_backend('native');
    const sandbox = backend.create_sandbox(spec, null);
    try {
        const isolated = sandbox.capabilities.get_network_isolated();
        const result = sandbox.exec(command, null);
        const line = `exit code ${result.exit_code}, network isolated: ${isolated ? 'yes' : 'no'}\n`;
        output.write_all(ByteArray.fromString(line), null);
    } finally {
        sandbox.close(null);
    }
}

if (ARGV.length < 3 || ARGV[1] !== '--') {
    printerr('usage: run.js FOLDER -- COMMAND [ARG...]');
    System.exit(2);
}
try {
    run(ARGV[0], ARGV.slice(2));
} catch (error) {
    printerr(error.message);
    System.exit(1);
}
