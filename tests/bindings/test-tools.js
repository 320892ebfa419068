// SPDX-License-Identifier: LGPL-2.1-or-later
// A coding tool from JavaScript.
imports.gi.versions.Prism = '1';
const {Gio, GLib, Prism} = imports.gi;
const System = imports.system;

const folder = GLib.dir_make_tmp('prism-tools-XXXXXX');
GLib.file_set_contents(GLib.build_filenamev([folder, 'a.txt']), 'one\ntwo\n');
const composition = Prism.Composition.new(Prism.CompositionMode.HOST);
composition.set_folder(Gio.File.new_for_path(folder));
composition.bind(null);

function check(right, what) {
    print(`${right ? 'ok' : 'not ok'} ${what}`);
    if (!right)
        failed = true;
}

let failed = false;
print('1..4');
const edit = composition.find_tool('edit');
let result = edit.call(JSON.stringify({path: 'a.txt', edits: [{oldText: 'two', newText: '2'}]}), null, null);
check(!result.get_failed(), '1 edits');
check(JSON.parse(result.get_metadata()).firstChangedLine === 2, '2 says what changed');
result = composition.find_tool('read').call('{"path": "a.txt", "offset": 2}', null, null);
check(result.dup_text() === '2\n', '3 reads');
result = composition.find_tool('delete').call('{"path": "/etc/passwd"}', null, null);
check(result.get_failed() && result.get_code() === Prism.ToolError.ESCAPE, '4 stays inside');
for (const path of ['a.txt', ''])
    Gio.File.new_for_path(GLib.build_filenamev([folder, path])).delete(null);
System.exit(failed ? 1 : 0);
