// SPDX-License-Identifier: LGPL-2.1-or-later
/* exported _init */
// What makes libprism read naturally in JavaScript: its asynchronous methods
// return promises when they are given no callback. It adds no behaviour.
const {Gio} = imports.gi;

const METHODS = {
    Backend: ['probe', 'create_sandbox', 'connect_sandbox', 'list_sandboxes', 'reap'],
    Sandbox: [
        'exec', 'start_process', 'attach_process', 'read_file', 'write_file', 'list_files', 'stat_file',
        'remove_file', 'rename_file', 'make_directory', 'search', 'import_tree', 'export_tree',
        'set_network_policy', 'pause', 'resume', 'stop', 'kill', 'close',
    ],
    Process: ['send_signal', 'kill', 'resize', 'release', 'wait'],
};

function _init() {
    for (const [type, methods] of Object.entries(METHODS)) {
        for (const method of methods)
            Gio._promisify(this[type].prototype, `${method}_async`, `${method}_finish`);
    }
}
