// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests in JavaScript share: a sandbox that does nothing yet, and how tests are run and told.
imports.gi.versions.Prism = '1';
const {GLib, GObject, Prism} = imports.gi;
const System = imports.system;

const READABLE = GObject.ParamFlags.READABLE;

// To derive from, naming Prism.Sandbox again; the class says its backend's name as `backend`.
var Sandbox = GObject.registerClass({
    GTypeFlags: GObject.TypeFlags.ABSTRACT,
    Implements: [Prism.Sandbox],
    Properties: {
        'id': GObject.ParamSpec.string('id', '', '', READABLE, ''),
        'backend-name': GObject.ParamSpec.string('backend-name', '', '', READABLE, ''),
        'status': GObject.ParamSpec.enum('status', '', '', READABLE, Prism.SandboxStatus.$gtype, 0),
        'workspace': GObject.ParamSpec.string('workspace', '', '', READABLE, ''),
        'capabilities': GObject.ParamSpec.boxed('capabilities', '', '', READABLE, Prism.Capabilities.$gtype),
        'reference': GObject.ParamSpec.string('reference', '', '', READABLE, ''),
    },
}, class HarnessSandbox extends GObject.Object {
    get id() {
        return `${this.constructor.backend}-1`;
    }

    get backend_name() {
        return this.constructor.backend;
    }

    get status() {
        return Prism.SandboxStatus.RUNNING;
    }

    get workspace() {
        return '/workspace';
    }

    get capabilities() {
        return Prism.Capabilities.new(Prism.Controls.WORKSPACE, null);
    }

    get reference() {
        return null;
    }
});

var assert = function (good, what) {
    if (!good)
        throw new Error(`not so: ${what}`);
};

async function runAll(tests) {
    let number = 0, failed = 0;
    print(`1..${Object.keys(tests).length}`);
    for (const [name, test] of Object.entries(tests)) {
        number++;
        try {
            await test();
            print(`ok ${number} ${name}`);
        } catch (error) {
            failed++;
            print(`# ${error}\n# ${error.stack}`.trimEnd().replaceAll('\n', '\n# '));
            print(`not ok ${number} ${name}`);
        }
    }
    return failed;
}

// One after the other, in this many seconds together; ends the program.
var run = function (tests, seconds) {
    const loop = GLib.MainLoop.new(null, false);
    let failed = 1;
    GLib.timeout_add_seconds(GLib.PRIORITY_DEFAULT, seconds, () => loop.quit());
    runAll(tests).then(count => {
        failed = count;
    }).finally(() => loop.quit());
    loop.run();
    System.exit(failed);
};
