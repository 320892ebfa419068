// SPDX-License-Identifier: LGPL-2.1-or-later
/* exported _init */
// What makes libprism read naturally in JavaScript: its asynchronous methods
// return promises when they are given no callback; and what makes the rule hold
// that an operation which a script drops fails: a script's objects are only let
// go of when rubbish is collected, so that is done while operations are open.
const {Gio, GLib, GObject} = imports.gi;

const METHODS = {
    Backend: ['probe', 'create_sandbox', 'connect_sandbox', 'list_sandboxes', 'reap'],
    Sandbox: [
        'exec', 'start_process', 'attach_process', 'read_file', 'write_file', 'list_files', 'stat_file',
        'remove_file', 'rename_file', 'make_directory', 'search', 'import_tree', 'export_tree',
        'set_network_policy', 'pause', 'resume', 'stop', 'kill', 'close',
    ],
    Process: ['send_signal', 'kill', 'resize', 'release', 'wait'],
    Policy: ['check'],
    Tool: ['call'],
};

const FIRST_LOOK_MS = 500;
const LAST_LOOK_MS = 30000;
let collected = 0; // monotonic µs

function _collect() {
    const now = GLib.get_monotonic_time();
    if (now - collected > FIRST_LOOK_MS * 500)
        imports.system.gc();
    collected = GLib.get_monotonic_time();
}

// Tells what became of an operation without holding it; a WeakRef that is looked
// at would.
const _gone = new FinalizationRegistry(fate => (fate.gone = true));

// Looks from time to time, in the context that an answer would come from, until
// nobody holds the operation any more.
function _watch(operation) {
    const context = GLib.MainContext.ref_thread_default();
    const fate = {gone: false};
    const look = ms => {
        const source = GLib.timeout_source_new(ms);
        source.set_callback(() => {
            _collect();
            if (!fate.gone)
                look(Math.min(2 * ms, LAST_LOOK_MS));
            return GLib.SOURCE_REMOVE;
        });
        source.attach(context);
    };
    _gone.register(operation, fate);
    look(FIRST_LOOK_MS);
}

// Every method of a script's own that is handed an operation.
function _watchMethods(prototype, Operation) {
    const names = new Set(Object.values(METHODS).flat().map(name => `vfunc_${name}`));
    for (const name of Object.getOwnPropertyNames(prototype).filter(key => names.has(key))) {
        const method = prototype[name];
        prototype[name] = function (operation) {
            if (operation instanceof Operation)
                _watch(operation);
            return method.call(this, operation);
        };
    }
}

function _init() {
    for (const [type, methods] of Object.entries(METHODS)) {
        for (const method of methods)
            Gio._promisify(this[type].prototype, `${method}_async`, `${method}_finish`);
    }
    const Prism = this;
    const classInit = GObject.Object._classInit;
    GObject.Object._classInit = function (klass) {
        const types = Object.keys(METHODS).map(type => Prism[type]);
        const named = klass[GObject.interfaces] ?? [];
        if (named.some(iface => types.includes(iface)))
            _watchMethods(klass.prototype, Prism.Operation);
        return classInit.call(this, klass);
    };
}
