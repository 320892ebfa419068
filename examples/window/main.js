// SPDX-License-Identifier: LGPL-2.1-or-later
// gjs -m main.js FOLDER [SCRIPT.json]
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Gtk from 'gi://Gtk?version=4.0';
import System from 'system';

import {AgentWindow, exampleScript} from './agent-window.js';

function readScript(path) {
    const [, bytes] = GLib.file_get_contents(path);
    return JSON.parse(new TextDecoder().decode(bytes));
}

if (ARGV.length < 1 || ARGV.length > 2) {
    printerr('usage: main.js FOLDER [SCRIPT.json]');
    System.exit(2);
}

const folder = Gio.File.new_for_commandline_arg(ARGV[0]);
const script = ARGV.length > 1 ? readScript(ARGV[1]) : exampleScript;
const app = new Gtk.Application({
    application_id: 'io.github.libprism.AgentWindow',
    flags: Gio.ApplicationFlags.NON_UNIQUE,
});
app.connect('activate', () => new AgentWindow({application: app, folder, script}).present());
app.run([]);
